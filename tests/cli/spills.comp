// SPDX-License-Identifier: MIT
// Vectors that find no register are kept where none straddles two cache lines, which the ABI's
// alignment of the stack does not see to.
// RUN: %heddle compile %s --isa x86-64-v4 --emit native | %filecheck %s --check-prefix=LINES
// RUN: %heddle compile %s --isa x86-64-v3 --emit native | %filecheck %s --check-prefix=HALVES
// LINES: andq $-64, %rsp
// LINES-NOT: vmovups %zmm{{[0-9]+}}, {{[0-9]+}}(%rsp)
// LINES: vmovaps %zmm{{[0-9]+}}, {{[0-9]+}}(%rsp)
// HALVES: andq $-32, %rsp
// HALVES-NOT: vmovups %ymm{{[0-9]+}}, {{[0-9]+}}(%rsp)
// HALVES: vmovaps %ymm{{[0-9]+}}, {{[0-9]+}}(%rsp)
#version 460
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push { uint n; };

void main()
{
    uint id = gl_LocalInvocationID.x;
    float sum[40];
    for (uint k = 0; k < 40; k++)
        sum[k] = 0;
    for (uint i = 0; i < n; i++)
        for (uint k = 0; k < 40; k++)
            sum[k] += x[i * 1280 + k * 32 + id];
    for (uint k = 0; k < 40; k++)
        y[k * 32 + id] = sum[k];
}
