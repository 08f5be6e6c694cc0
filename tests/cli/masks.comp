// SPDX-License-Identifier: MIT
// Masks that live across blocks are vectors of bytes where the machine has no registers for them,
// and not a register for each lane.
// RUN: %heddle compile %s --isa x86-64-v3 --subgroup-size 64 --emit native | %filecheck %s
// RUN: %heddle compile %s --isa x86-64-v2 --subgroup-size 32 --emit native | %filecheck %s
// RUN: %heddle run %s --bind 0=rand:u32[128]@1 --bind 1=zeros:u32[128] --groups 1 \
// RUN:   --device reference --out 1=%t.npy
// RUN: for I in %levels; do for W in 8 16 32 64 128; do \
// RUN:   for O in "" --no-optimisation "--tier fast" --robust; do \
// RUN:   %heddle run %s --bind 0=rand:u32[128]@1 --bind 1=zeros:u32[128] --groups 1 --isa $I \
// RUN:     --subgroup-size $W $O --compare 1=%t.npy --tolerance 0 || exit 1; done; done; done

// CHECK: pmovmskb
// CHECK-NOT: pextrb
// CHECK-NOT: pinsrb
// CHECK: .size heddle_kernel
#version 460
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { uint y[]; };

void main()
{
    uint i = gl_LocalInvocationIndex, n = x[i], sum = 0;
    for (uint k = 0; n != 1 && k < 300; k++) {
        if ((n & 1) == 1) {
            n = 3 * n + 1;
            for (uint j = n & 7; j > 1; j -= 2)
                sum += j ^ k;
        } else {
            n /= 2;
        }
        if (n == x[k & 127])
            break;
        sum = sum * 5 + n;
    }
    y[i] = sum;
}
