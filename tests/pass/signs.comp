// SPDX-License-Identifier: MIT
//
// Signed divisions, remainders and shifts of numbers that cannot be negative are unsigned ones, so
// that lanes side by side load and store side by side; of others they stay what they are: counters
// that begin or become negative, or wrap.
//
// RUN: %heddle compile %s --isa x86-64-v4 --emit passes -o %t.spvasm && %filecheck %s < %t.spvasm
// RUN: %heddle compile %s --isa x86-64-v4 -D AT=at --emit llvm | \
// RUN:   %filecheck %s --check-prefix=ROWS --implicit-check-not=gather
// RUN: %heddle compile %s -D START=self-3 --emit passes -o %t.spvasm && \
// RUN:   %filecheck %s --check-prefix=NEGATIVE < %t.spvasm
// RUN: %heddle compile %s -D STEP=2147483392 --emit passes -o %t.spvasm && \
// RUN:   %filecheck %s --check-prefix=NEGATIVE < %t.spvasm
// RUN: for V in "" "-D START=self-3" "-D START=self-300" "-D STEP=2147483392 -D BOUND=300" \
// RUN:     "-D STEP=2147483392 -D BOUND=2147483647" "-D START=self*8388608 -D BOUND=2147480000 -D STEP=8000000" \
// RUN:     "-D START=self*8388607 -D BOUND=2147483647 -D STEP=999999999" "-D TURN" "-D TURN -D START=self-3" \
// RUN:     "-D STEP=7 -D BOUND=300" "-D TURN -D STEP=2147483392 -D BOUND=300"; do \
// RUN:   D="$V --bind 0=rand:u32[512]@1 --bind 1=zeros:s32[512] --push list:s32:16 --groups 1"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && \
// RUN:   %heddle run %s $D --compare 1=%t.npy --tolerance 0 && \
// RUN:   for I in %levels; do %heddle run %s $D --isa $I --compare 1=%t.npy --tolerance 0 || exit 1; done || exit 1; \
// RUN: done

// CHECK: OpUDiv %uint
// CHECK: OpUMod %uint
// CHECK-NOT: OpSDiv
// ROWS: load <{{8|16|32}} x i32>
// NEGATIVE: OpSDiv
// NEGATIVE-NOT: OpUDiv

#version 460

layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) readonly buffer A { int a[]; };
layout(set = 0, binding = 1) buffer B { int b[]; };
layout(push_constant) uniform Sizes { int n; };

#ifndef START
#define START self
#endif
#ifndef STEP
#define STEP 256
#endif
#ifndef AT
#define AT at & 511
#endif
#ifndef BOUND
#define BOUND 512
#endif

void main()
{
    int self = int(gl_LocalInvocationID.y) * 16 + int(gl_LocalInvocationID.x), sum = 0, rounds = 0;
    int i = START;
#ifdef TURN // the test at the end
    do {
#else
    for (; i < BOUND; i += STEP) {
#endif
        int at = (i / 16) * n + i % 16;
        sum = sum * 31 + a[AT] + i / 8 * 3 + i % 32 * 5 + (i >> 2);
        if (++rounds == 9)
            break;
#ifdef TURN
        i += STEP;
    } while (i < BOUND);
#else
    }
#endif
    b[self] = sum;
    b[self + 256] = rounds;
}
