// SPDX-License-Identifier: MIT
//
// A loop that invocations leave by a counter of their own has a copy in front of it, which a vote
// ends: iterations that all invocations run take no masks. Where another finds that none would go on,
// the loop itself is passed over.
//
// RUN: %heddle compile %s --emit passes -o %t.spv && %heddle compile %t.spv --emit asm | %filecheck %s
// RUN: %heddle compile %s --isa x86-64-v3 --emit llvm-plain | %filecheck %s --check-prefix=LANES
// RUN: for N in 1 100 1000; do \
// RUN:   D="--bind 0=rand:u32[1000]@1 --bind 1=zeros:u32[256] --groups 2 --push list:u32:$N"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && for I in %levels; do \
// RUN:     %heddle run %s $D --isa $I --compare 1=%t.npy --tolerance 0 || exit 1; done || exit 1; \
// RUN: done; for W in 8 128; do \
// RUN:   %heddle run %s $D --subgroup-size $W --compare 1=%t.npy --tolerance 0 || exit 1; done

// CHECK: OpGroupNonUniformAll
// CHECK: OpLoopMerge [[OUT:%[0-9]+]]
// CHECK: [[OUT]] = OpLabel
// CHECK: [[NONE:%[0-9]+]] = OpGroupNonUniformAll
// CHECK: OpSelectionMerge [[EXIT:%[0-9]+]]
// CHECK-NEXT: OpBranchConditional [[NONE]] [[EXIT]]
// CHECK-NOT: OpGroupNonUniformAll

// LANES: load <32 x i32>
// LANES: {{masked.load|load <32 x i32>}}
#version 460
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer X { uint x[1000]; };
layout(set = 0, binding = 1) buffer Y { uint y[]; };
layout(push_constant) uniform Push { uint n; };

void main()
{
    uint i = gl_LocalInvocationIndex, sum = gl_WorkGroupID.x, least = min(n, 1000), last = i;
    for (uint k = i; k < least; k += 128) {
        sum = sum * 3 + x[k];
        if ((x[k] & 1) == 1)
            sum ^= k;
        last = k;
    }
    /* one that ends by what it computes stays as it is */
    for (uint k = 0; (sum & 7) != 0 && k < 100; sum += x[k++])
        ;
    y[gl_GlobalInvocationID.x] = sum * 1000 + last;
}
