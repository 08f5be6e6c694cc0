// SPDX-License-Identifier: MIT
//
// Invocations run one of two numbers of rounds, some one more than others. What follows is there
// twice, once for subgroups whose invocations have all chosen alike; but not if subgroups of a
// workgroup meet in it at a barrier, whose ways would part, nor (SOME) where only some come to it. It
// may lie in a selection (WITHIN).
//
// RUN: %heddle compile %s -D LOCAL=32 --emit passes --subgroup-size 32 -o %t.spvasm
// RUN: %spirv-as --target-env vulkan1.3 %t.spvasm -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %filecheck %s < %t.spvasm
// RUN: %heddle compile %s -D LOCAL=64 --emit passes --subgroup-size 64 | %filecheck %s
// RUN: %heddle compile %s -D LOCAL=64 --emit passes --subgroup-size 32 | %filecheck %s --check-prefix=MEET
// RUN: %heddle compile %s -D LOCAL=32 -D SOME --emit passes | %filecheck %s --check-prefix=MEET
// RUN: %heddle compile %s -D LOCAL=32 -D WITHIN --emit passes | %filecheck %s
// RUN: for N in 7 257 500 768; do for L in 32 64; do for V in ALL WITHIN SOME; do \
// RUN:   D="--bind 0=rand:u32[4096]@1 --bind 1=zeros:u32[256] --groups 3 --push list:u32:$N -D LOCAL=$L -D $V"; \
// RUN:   %heddle run %s $D --device reference --check --out 1=%t.npy && for I in %levels; do \
// RUN:     %heddle run %s $D --isa $I --compare 1=%t.npy --tolerance 0 || exit 1; done || exit 1; \
// RUN:   for W in 8 16 128; do [ $N != 500 ] || \
// RUN:     %heddle run %s $D --subgroup-size $W --compare 1=%t.npy --tolerance 0 || exit 1; done; \
// RUN: done; done; done

// CHECK: [[N:%[0-9]+]] = {{OpPhi|OpSelect}} %uint
// CHECK: [[A:%[0-9]+]] = OpGroupNonUniformAll
// CHECK: [[B:%[0-9]+]] = OpGroupNonUniformAll
// CHECK: [[ALIKE:%[0-9]+]] = OpLogicalOr %bool [[A]] [[B]]
// CHECK: OpBranchConditional [[ALIKE]]
// CHECK: OpUnreachable

// MEET-NOT: OpLogicalOr
#version 460
layout(local_size_x = LOCAL) in;
layout(set = 0, binding = 0) readonly buffer X { uint x[4096]; };
layout(set = 0, binding = 1) buffer Y { uint y[]; };
layout(push_constant) uniform Push { uint size; };
shared uint sums[LOCAL];

uint added(uint mine)
{
    uint rounds = size / (LOCAL * 8), sum = 0, i = 0;
    if (rounds * LOCAL * 8 + mine < size)
        rounds++;
    for (; i < (rounds & ~1u); i += 2)
        sum = sum * 3 + x[i * LOCAL * 8 + mine + gl_WorkGroupID.x] + x[(i + 1) * LOCAL * 8 + mine];
    for (; i < rounds; i++)
        sum += x[i * LOCAL * 8 + mine] * 5 + i;
    return sum + rounds;
}

void main()
{
    uint mine = gl_LocalInvocationIndex * 8, sum = 7;
    if (gl_WorkGroupID.x == 2 && size == 7)
        return;
#if defined WITHIN
    if (gl_WorkGroupID.x < size % 4)
        sum = added(mine);
#elif defined SOME
    if (x[mine] % 4 != 0)
        sum = added(mine);
#else
    sum = added(mine);
#endif
    sums[gl_LocalInvocationIndex] = sum;
    barrier();
    y[gl_GlobalInvocationID.x] = sums[LOCAL - 1 - gl_LocalInvocationIndex] * 7 + sum;
}
