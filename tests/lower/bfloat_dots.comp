// SPDX-License-Identifier: MIT
// Dot products of bf16 on a target that has the type and no such products: they are sums in f32,
// and the type stays.
// RUN: %heddle compile %s --for tests/lower/khr.json --emit spirv -o %t.spv | %filecheck %s && \
// RUN: %spirv-val --target-env vulkan1.3 %t.spv && \
// RUN: %spirv-dis %t.spv | %filecheck %s --check-prefix=SUMS
// RUN: BINDS="--bind 0=rand:f32[64,4] --bind 1=zeros:f32[64]"; \
// RUN: %heddle run %s --device reference --groups 2 $BINDS --out 1=%t.npy && \
// RUN: %heddle run %t.spv --groups 2 $BINDS --compare 1=%t.npy --tolerance 0
// RUN: %heddle compile %s --for heddle --emit spirv -o %t.own.spv && \
// RUN: %spirv-dis %t.own.spv | %filecheck %s --check-prefix=DOT
// CHECK: OpDot {{ *}}{{[0-9]+}} {{ *}}small_floats {{ *}}sums in f32
// SUMS: OpCapability BFloat16TypeKHR
// SUMS-NOT: BFloat16DotProductKHR
// SUMS: OpTypeFloat 16 BFloat16KHR
// SUMS-NOT: OpDot
// DOT: OpCapability BFloat16DotProductKHR
// DOT: OpDot
#version 460
#extension GL_EXT_bfloat16 : require

layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { vec4 a[]; };
layout(binding = 1) writeonly buffer C { float c[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    vec4 v = floor(a[i] * 4);
    bf16vec4 x = bf16vec4(v), y = bf16vec4(v.wzyx);
    c[i] = float(dot(x, y)) + float(dot(x.xyz, y.yzw));
}
