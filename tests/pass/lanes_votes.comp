// SPDX-License-Identifier: MIT
//
// Votes about numbers that count up over the lanes are decided by the furthest lane, also where the
// numbers wrap, and of expressions by their parts (vote.c). Loops that pass_whole copied compare
// nothing lane by lane.
//
// RUN: %heddle compile %s -D STEP=1 -D LOOP --subgroup-size 64 --isa x86-64-v3 --emit native | \
// RUN:   %filecheck %s
// RUN: for SW in 1,8 1,64 -1,32 -7,128 65535,16; do IFS=, read S W <<< $SW; \
// RUN:   D="-D STEP=$S --subgroup-size $W --bind 0=list:s32:0,1,-1,5,-5,63,64,65,127,128,2147483647,-2147483648,2147483600,-2147483600,16,-64"; \
// RUN:   D="$D --bind 1=zeros:u32[128] --groups 1"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && \
// RUN:   %heddle run %s $D --compare 1=%t.npy --tolerance 0 && \
// RUN:   %heddle run %s $D --no-optimisation --compare 1=%t.npy --tolerance 0 || exit 1; done
// RUN: for TS in uint8_t,3 uint8_t,-7 int8_t,3 int8_t,1000 uint16_t,600 int16_t,-7 int64_t,5; do IFS=, read T S <<< $TS; \
// RUN:   for W in 8 64 128; do \
// RUN:   D="-D T=$T -D STEP=$S --subgroup-size $W --bind 0=rand:s32[16]@1 --bind 1=zeros:u32[128] --groups 1"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && \
// RUN:   %heddle run %s $D --compare 1=%t.npy --tolerance 0 || exit 1; done; done
// RUN: %heddle compile %s -D CHAIN --emit native -o %t.s

// CHECK: heddle_kernel
// CHECK: prefetcht0
// CHECK-NOT: vpcmpgtd
// CHECK: vaddps
// CHECK-NOT: vpcmpgtd
// CHECK: vaddps

#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

#ifdef LOOP
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer O { float o[]; };
layout(push_constant) uniform P { uint n; };
shared float sums[256];

void main()
{
    float sum = 0;
    for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256)
        sum += a[i];
    sums[gl_LocalInvocationID.x] = sum;
    barrier();
    o[gl_GlobalInvocationID.x] = sums[gl_LocalInvocationID.x ^ 1];
}
#elif defined(CHAIN) /* with two ways to each of forty conditions, and so on */
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) writeonly buffer O { uint o[]; };
void main()
{
    int i = int(gl_SubgroupInvocationID) + a[0];
    bool q = i < a[1];
    [[unroll]] for (int k = 0; k < 40; k++) {
        bool x = q && i < a[2 + k], y = q && i > a[3 + k];
        q = x && y;
    }
    o[gl_GlobalInvocationID.x] = subgroupAll(q) ? 1 : 0;
}
#elif defined(T) /* of other sizes; some wrap more than once in a subgroup */
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) writeonly buffer O { uint o[]; };
void main()
{
    uint votes = 0;
    for (int k = 0; k < 16; k++) {
        T i = T(a[k]) + T(gl_SubgroupInvocationID) * T(STEP), bound = T(a[(k * 7 + 3) % 16]);
        votes = votes * 31 + (subgroupAll(i < bound) ? 1 : 0);
        votes = votes * 31 + (subgroupAny(i < bound) ? 1 : 0);
        votes = votes * 31 + (subgroupAll(i >= bound) ? 1 : 0);
        votes = votes * 31 + (subgroupAny(i > bound) ? 1 : 0);
    }
    o[gl_GlobalInvocationID.x] = votes;
}
#else
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer A { int numbers[]; };
layout(set = 0, binding = 1) writeonly buffer O { uint o[]; };

/* Of an order and its opposite, and of what is a part of more. */
uint votes(bool p, bool q)
{
    uint r = subgroupAll(p) ? 1 : 0;
    r = r << 1 | (subgroupAny(p) ? 1 : 0);
    r = r << 1 | (subgroupAll(!p) ? 1 : 0);
    r = r << 1 | (subgroupAny(!p) ? 1 : 0);
    r = r << 1 | (subgroupAll(p && q) ? 1 : 0);
    r = r << 1 | (subgroupAny(p || q) ? 1 : 0);
    return r;
}

uint mix_in(uint hash, uint more) { return (hash ^ more) * 2654435761u; }

void main()
{
    int count = numbers.length();
    for (int k = 0; k < count; k++) {
        int first = numbers[k], i = first + int(gl_SubgroupInvocationID) * STEP;
        uint u = uint(i), hash = 0;
        for (int j = 0; j < count; j++) {
            int bound = numbers[j];
            uint v = uint(bound);
            bool odd = (i & 1) != 0;
            hash = mix_in(hash, votes(i < bound, odd));
            hash = mix_in(hash, votes(i <= bound, i > first - 8));
            hash = mix_in(hash, votes(bound < i, !(i >= bound + 5)));
            hash = mix_in(hash, votes(i >= bound, odd));
            hash = mix_in(hash, votes(u < v, u > v - 100));
            hash = mix_in(hash, votes(v >= u, odd));
            hash = mix_in(hash, votes(u > v, i < bound));
            hash = mix_in(hash, votes(u >= v, odd));
            if ((j & 1) != 0 && odd) /* not by all lanes */
                hash = mix_in(hash, votes(i < bound, u < v));
        }
        o[k + int(gl_SubgroupInvocationID % 8) * 16] = hash;
    }
}
#endif
