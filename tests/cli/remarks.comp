// SPDX-License-Identifier: MIT
// --remarks: what the code generator has to say of a line, one a line; nothing of what is as it
// should be. Each kind of the table has its line here, but for those of matrices, which have a
// kernel of their own.
// RUN: %heddle compile %s --remarks > %t.txt && %filecheck %s --input-file %t.txt
// RUN: not grep -n 'remarks.comp:4[1-3]:' %t.txt
// RUN: %heddle compile %s --remarks --subgroup-size 64 | grep 'gather of 64 lanes'
// RUN: %heddle compile %s --remarks -o %t.out && cmp %t.out %t.txt
// CHECK-DAG: remarks.comp:[[@LINE+29]]: remark: gather of 32 lanes: stride 1032 bytes{{.*}} [gather]
// CHECK-DAG: remarks.comp:[[@LINE+29]]: remark: gather of 32 lanes: their index follows no pattern that is known [gather]
// CHECK-DAG: remarks.comp:[[@LINE+29]]: remark: divergent: lanes part here; {{.*}} [divergent-branch]
// CHECK-DAG: remarks.comp:[[@LINE+32]]: remark: divergent: lanes leave the loop {{.*}} [divergent-loop]
// CHECK-DAG: remarks.comp:{{[0-9]+}}: remark: private array 'own' of 64 bytes stays in memory: an index into it varies [private-memory]
// CHECK-DAG: remarks.comp:[[@LINE+34]]: remark: gather of 32 lanes: an index into their private memory varies [gather]
// CHECK-DAG: remarks.comp:[[@LINE+34]]: remark: an atomic for each lane, one after the other: their addresses may differ [atomic]
// CHECK-DAG: remarks.comp:[[@LINE+34]]: remark: scatter of 32 lanes: stride 36 bytes{{.*}} [gather]
#version 450
layout(local_size_x = 32) in;
struct Part
{
    float a, b, c[127];
};
layout(binding = 0) readonly buffer X
{
    Part parts[];
};
layout(binding = 1) buffer Y
{
    uint y[];
};

void main()
{
    uint i = gl_GlobalInvocationID.x;
    float plain = float(y[i]);
    uint own[16];

    float v = parts[2 * i].a;
    v += parts[y[i] & 7u].b;
    if (v > plain)
        v = sqrt(v) + parts[0].c[i & 3u];
    for (uint k = 0u; k < 16u; k++)
        own[k] = y[i] + k;
    while (v > 1.0)
        v = v * 0.5 - float(i);
    for (uint k = 0u; k < 4u; k++)
        own[y[k] & 15u] += i;
    uint last = own[y[i] & 15u];
    atomicAdd(y[last & 63u], 1u);
    y[9u * i + 64u] = uint(v);
}
