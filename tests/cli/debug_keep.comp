// SPDX-License-Identifier: MIT
// What -g --no-optimisation keeps for debuggers is written where the variable is, by stores, calls and
// instructions that take pointers, and changes no result; without either there is nothing of it.
// RUN: %heddle compile %s -g --no-optimisation --emit passes | %filecheck %s
// RUN: HEDDLE_DEBUG=variables %heddle compile %s --emit passes | %filecheck %s
// RUN: %heddle compile %s -g --emit passes | %filecheck %s --check-prefix=NONE
// RUN: %heddle compile %s --no-optimisation --emit passes | %filecheck %s --check-prefix=NONE
// RUN: %heddle run %s -g --no-optimisation --groups 1 --bind 0=iota:f32[64] --out 0=%t.npy > /dev/null
// RUN: %heddle run %s --groups 1 --bind 0=iota:f32[64] --compare 0=%t.npy --tolerance 0
// RUN: %heddle run %s --groups 1 --device reference --bind 0=iota:f32[64] --compare 0=%t.npy --tolerance 0
// CHECK: %total = OpVariable %_ptr_Function_float Function
// CHECK: OpStore %total %{{[0-9]+}} Volatile
// CHECK: [[TWICE:%[0-9]+]] = OpFMul %float %{{[0-9]+}} %float_2
// CHECK: OpStore %{{r[_0-9]*}} [[TWICE]] Volatile
// CHECK: OpStore %whole %{{[0-9]+}} Volatile
// CHECK: OpStore %total %{{[0-9]+}} Volatile
// NONE-NOT: Volatile
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X
{
    float x[];
};

void twice(float v, out float r)
{
    r = v * 2.0;
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    float total = x[i], whole, part;
    twice(total, part);
    for (int k = 0; k < 3; k++) {
        vec3 u = vec3(total, k, 1.5);
        u.yz += part;
        total += modf(u.x + u.y + u.z, whole);
        twice(whole, part);
    }
    x[i] = total + part;
}
