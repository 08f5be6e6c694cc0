// SPDX-License-Identifier: MIT
// Workgroups that read the same in a loop (a row each of a matrix, and the vector that it is
// multiplied by): two are done in a call, which reads the vector once. Rows that are left over, and
// workgroups that branch differently, are done one by one. Of a grid with several rows of workgroups,
// and in larger subgroups. Private memory that is indexed is each workgroup's own.
// RUN: %heddle compile %s --emit passes | %filecheck %s
// RUN: %heddle compile %s --emit passes --tier fast | %filecheck %s --check-prefix=ONE
// RUN: %heddle compile %s -D SHARED --emit passes | %filecheck %s --check-prefix=ONE
// RUN: %heddle compile %s -D COUNTED --emit passes | %filecheck %s --check-prefix=ONE
// RUN: %heddle compile %s -D COHERENT=coherent --emit passes | %filecheck %s --check-prefix=ONE
// RUN: for g in 1,1,1 2,1,1 7,3,2 40,1,1; do for rows in 1 6 37 1000; do \
// RUN:   ARRAYS="--groups $g --bind 0=randn:f32[240,70] --bind 1=randn:f32[70] --bind 2=zeros:f32[240,4] --push list:u32:$rows,70"; \
// RUN:   %heddle run %s $ARRAYS --device reference --out 2=%t.npy || exit 1; \
// RUN:   for level in %levels; do \
// RUN:     %heddle run %s $ARRAYS --tier full --isa $level --compare 2=%t.npy --tolerance 1e-5 || exit 1; done; done || exit 1; done
// RUN: ARRAYS="--groups 7,3,2 --bind 0=randn:f32[240,70] --bind 1=randn:f32[70] --bind 2=zeros:f32[240,4] --push list:u32:40,70"; \
// RUN: for w in 32 64 128; do for t in 1 3; do \
// RUN:   %heddle run %s $ARRAYS --device reference --subgroup-size $w --out 2=%t.npy && \
// RUN:   %heddle run %s $ARRAYS --tier full --subgroup-size $w --threads $t --compare 2=%t.npy --tolerance 1e-5 && \
// RUN:   %heddle run %s $ARRAYS --tier full --robust --subgroup-size $w --compare 2=%t.npy --tolerance 1e-5 || exit 1; done; done
// CHECK: OpDecorate [[LEFT:%[0-9]+]] Location 0
// CHECK: OpDecorate [[DONE:%[0-9]+]] Location 0
// CHECK: OpLoad %uint [[LEFT]]
// CHECK: OpStore [[DONE]] %uint_2
// ONE-NOT: Location
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

#ifndef COHERENT
#define COHERENT
#endif

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly COHERENT buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer X { float x[]; };
layout(set = 0, binding = 2) buffer Y { float y[]; };
#ifdef COUNTED
layout(set = 0, binding = 3) buffer Count { uint count; };
#endif
layout(push_constant) uniform P { uint rows, columns; };
#ifdef SHARED
shared float kept[32];
#endif

void product(uint row, uint of)
{
    float sum = 0.0, held[4] = { 0.0, 0.0, 0.0, 0.0 };
    for (uint k = gl_LocalInvocationID.x; k < columns; k += 32) {
        sum += a[row * columns + k] * x[k];
        held[(k + row) % 4] += a[row * columns + k];
    }
#ifdef SHARED
    kept[gl_LocalInvocationID.x] = sum;
    barrier();
    sum = kept[31 - gl_LocalInvocationID.x];
#endif
    float all = subgroupAdd(sum), some = subgroupAdd(held[columns % 4]);
#ifdef COUNTED
    atomicAdd(count, 1u);
#endif
    if (gl_LocalInvocationID.x == 0) {
        y[4 * of] = all;
        y[4 * of + 1] += some;
    }
    if (gl_LocalInvocationID.x == row % 32)
        y[4 * of + 2] = held[row % 4] + float(of);
}

void main()
{
    uint of = gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z);
    uint row = of * 3 % 240;
    if (of < rows) {
        product(row, of);
    } else {
        if (of == rows)
            return;
        y[4 * of + 3] = -1.0;
    }
}
