// SPDX-License-Identifier: MIT
//
// What a row of lanes reads in an outermost loop is prefetched some pages further on, or where a workgroup
// reads more than that, where the next workgroup's row begins; loads of the same lines are prefetched together, also where lanes take pieces of
// blocks of 18 bytes, and what is left of a row behind the loop. Not in a loop over rows, not what stays where it is, not what lies far apart, and
// not what the next workgroup reads as well (those that follow one another have the same y).
//
// RUN: %heddle compile %s -D ROW --isa x86-64-v4 --emit llvm-plain | %filecheck %s
// RUN: for K in NESTED STAYS APART ALIKE; do %heddle compile %s -D $K --isa x86-64-v4 --emit llvm-plain | \
// RUN:   %filecheck %s --check-prefix=NONE || exit 1; done
// RUN: %heddle compile %s -D BLOCKS --isa x86-64-v4 --emit llvm-plain | %filecheck %s --check-prefix=BLOCKS
// RUN: %heddle compile %s -D REST --isa x86-64-v4 --emit llvm-plain | %filecheck %s --check-prefix=REST
// RUN: for D in ROW REST; do data="%s -D $D --bind 0=rand:s32[16384]@1 --bind 1=zeros:s32[128] --groups 4" && \
// RUN:   %heddle run $data --device reference --out 1=%t.npy && for R in "" --robust; do \
// RUN:   %heddle run $data $R --compare 1=%t.npy --tolerance 0 || exit 1; done; done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK: select i1 {{.*}}, i64 16384, i64 0
// CHECK: call void @llvm.prefetch
// CHECK: call void @llvm.prefetch
// CHECK: call void @llvm.prefetch
// CHECK: call void @llvm.prefetch
// CHECK: load <
// CHECK-NOT: call void @llvm.prefetch
// CHECK: }

// BLOCKS-LABEL: define {{.*}}@heddle_kernel(
// BLOCKS: select i1 {{.*}}, i64 8192, i64 0
// BLOCKS-COUNT-3: call void @llvm.prefetch
// BLOCKS-NOT: call void @llvm.prefetch
// BLOCKS: }

// REST-LABEL: define {{.*}}@heddle_kernel(
// REST-COUNT-8: call void @llvm.prefetch
// REST: latch:
// REST-COUNT-4: call void @llvm.prefetch
// REST-NOT: call void @llvm.prefetch
// REST: }

// NONE-LABEL: define {{.*}}@heddle_kernel(
// NONE-NOT: call void @llvm.prefetch
// NONE: }

#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { ivec2 a[]; };
struct Block {
    uint16_t scale;
    uint16_t q[8];
};
layout(binding = 0) readonly buffer B { Block b[]; };
layout(binding = 1) writeonly buffer S { int s[]; };

void main()
{
    uint row = gl_WorkGroupID.x * 2048, tid = gl_LocalInvocationID.x;
    int sum = 0;
#if defined(ROW)
    for (uint i = 0; i < gl_NumWorkGroups.x * 8; i++)
        sum += a[row + i * 64 + tid].x * a[row + i * 64 + tid + 1].y;
#elif defined(REST)
    uint i = 0, n = gl_NumWorkGroups.x * 256 + gl_WorkGroupID.x * 32;
    for (; i + 32 < n; i += 64)
        sum += a[row + i + tid].x * a[row + i + 32 + tid].y;
    if (i < n)
        sum += a[row + i + tid].x;
#elif defined(BLOCKS)
    for (uint i = 0; i < gl_NumWorkGroups.x; i++) {
        uint block = gl_WorkGroupID.x * 64 + i * 8 + tid / 4;
        sum += int(b[block].q[tid % 4 * 2]) - int(b[block].q[tid % 4 * 2 + 1]) * int(b[block].scale);
    }
#elif defined(ALIKE)
    for (uint i = 0; i < gl_NumWorkGroups.x * 8; i++)
        sum += a[gl_WorkGroupID.y * 2048 + i * 64 + tid].x;
#elif defined(NESTED)
    for (uint j = 0; j < gl_NumWorkGroups.x; j++)
        for (uint i = 0; i < gl_NumWorkGroups.x * 2; i++)
            sum += a[row + j * 512 + i * 32 + tid].x;
#elif defined(STAYS)
    for (uint i = 0; i < gl_NumWorkGroups.x; i++)
        sum = sum * 3 + a[row + tid].x;
#else
    for (uint i = 0; i < gl_NumWorkGroups.x; i++)
        sum += a[row + i * 32 + tid * 8].x;
#endif
    s[gl_GlobalInvocationID.x] = sum;
}
