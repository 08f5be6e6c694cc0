// SPDX-License-Identifier: MIT
//
// A tile that is a little larger than the workgroup that copies it, so that invocations do not run
// the loops equally often: as often as the first one runs them, with a test, and without loops; also
// with a way out. Loops stay if they leave steps out by `continue`, if numbers go from iteration to
// iteration or out of them, if the condition or the step does more than count, and if they have many.
//
// RUN: for M in 1 4 6; do %heddle compile %s -D MODE=$M --isa x86-64-v4 --emit passes -o %t.spvasm && \
// RUN:   %filecheck %s < %t.spvasm && \
// RUN:   %spirv-as --target-env vulkan1.3 %t.spvasm -o %t.spv && \
// RUN:   %spirv-val --target-env vulkan1.3 %t.spv || exit 1; done
// RUN: for M in 2 3 5 7; do %heddle compile %s -D MODE=$M --isa x86-64-v4 --emit passes -o %t.spvasm && \
// RUN:   %filecheck %s --check-prefix=LOOP < %t.spvasm && \
// RUN:   %spirv-as --target-env vulkan1.3 %t.spvasm -o %t.spv && \
// RUN:   %spirv-val --target-env vulkan1.3 %t.spv || exit 1; done
// RUN: for M in 1 2 3 4 5 6 7 8 9 10; do for L in 8:8 16:4 64:1 5:3; do for N in 0 19; do \
// RUN:   D="-D MODE=$M -D LX=${L%%:*} -D LY=${L##*:} --groups 2,2"; \
// RUN:   B="--bind 0=rand:u32[1600]@1 --bind 1=rand:u32[8192]@2 --push list:s32:$N"; \
// RUN:   %heddle run %s $D $B --device reference --out 1=%t.npy > /dev/null || exit 1; \
// RUN:   for I in host x86-64-v3; do \
// RUN:     %heddle run %s $D $B --isa $I --compare 1=%t.npy --tolerance 0 > /dev/null || exit 1; \
// RUN:   done; done; done; done
// RUN: for I in %levels; do D="-D MODE=2 --groups 2,2"; \
// RUN:   B="--bind 0=rand:u32[1600]@1 --bind 1=rand:u32[8192]@2 --push list:s32:31"; \
// RUN:   %heddle run %s $D $B --device reference --out 1=%t.npy > /dev/null && \
// RUN:   %heddle run %s $D $B --isa $I --compare 1=%t.npy --tolerance 0 > /dev/null || exit 1; done

// CHECK-NOT: OpLoopMerge
// LOOP: OpLoopMerge

#version 460

#ifndef LX
#define LX 8
#define LY 8
#endif
#define WIDE (LX + 2)
#define HIGH (LY + 2)

layout(local_size_x = LX, local_size_y = LY) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform Sizes { uint n; };
shared uint tile[WIDE * HIGH];
shared uint others[WIDE * HIGH + LX * LY], more[WIDE * HIGH];
#define FILL(k)                                                 \
    if (y * LX + x + k * LX * LY < WIDE * HIGH)                 \
        tile[y * LX + x + k * LX * LY] = 3;

uint at(int u, int v) { return uint(u) < n ? a[(v & 31) * 40 + u] : 7; }

void main()
{
    int x = int(gl_LocalInvocationID.x), y = int(gl_LocalInvocationID.y), end = x;
    int left = int(gl_WorkGroupID.x) * LX - 1, top = int(gl_WorkGroupID.y) * LY - 1;
    uint sum = 0;
    FILL(0) FILL(1) FILL(2) FILL(3)
#if MODE >= 8
    for (int k = y * LX + x; k < WIDE * HIGH + LX * LY; k += LX * LY)
        others[k] = uint(k) * 9;
    for (int k = y * LX + x; k < WIDE * HIGH; k += LX * LY)
        more[k] = uint(k);
#endif
    barrier();
#if MODE == 6
    for (int k = y * LX + x; k <= WIDE * HIGH - 1; k += LX * LY)
        tile[k] = at(left + k % WIDE, top + k / WIDE);
#else
    for (int j = y; j < HIGH; j += LY)
        for (int i = x; i < WIDE; i += LX) {
#if MODE == 2
            if (((i + j + n) & 3) == 0)
                continue;
#elif MODE == 3
            sum = sum * 3 + uint(i);
#elif MODE == 4
            if (((i + j + n) & 7) == 7)
                break;
#endif
            tile[j * WIDE + i] = at(left + i, top + j);
#if MODE == 5
            end = i;
#endif
        }
#endif
#if MODE == 7
    for (int k = y * LX + x; k < 12 * LX * LY - 3; k += LX * LY)
        sum = max(sum, uint(k) * 5 + uint(n));
#endif
#if MODE == 8
    for (int k = y * LX + x; k < WIDE * HIGH; others[k] += 5, k += LX * LY)
        more[k] += 1;
#elif MODE == 9
    for (int k = y * LX + x; others[k] += 3, k < WIDE * HIGH; k += LX * LY)
        more[k] += 1;
#elif MODE == 10
    uint v = n;
    for (int k = y * LX + x; k < WIDE * HIGH; k += LX * LY, more[k] += v)
        v = others[k] & 3;
#endif
    barrier();
    int self = ((int(gl_WorkGroupID.y) * 2 + int(gl_WorkGroupID.x)) * LY + y) * LX + x;
    for (int k = 0; k < 9; k++)
        sum = sum * 5 + tile[(y + k / 3) * WIDE + x + k % 3] + tile[k * (WIDE * HIGH - 1) / 8];
#if MODE >= 8
    for (int k = y * LX + x; k < WIDE * HIGH + LX * LY; k += LX * LY)
        sum += others[k] * uint(k + 1) + more[min(k, WIDE * HIGH - 1)];
#endif
    b[self] = sum + uint(end);
}
