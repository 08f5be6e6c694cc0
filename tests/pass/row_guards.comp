// SPDX-License-Identifier: MIT
//
// Invocations that walk along rows of their own, with tests in the loop that can be told ahead: as
// many steps as all of the tests hold for are one block, whose loads are transposed. Tests that hold
// again later, of each invocation its own, inverted, several, with numbers of both ways; and those
// of what was loaded, which cannot be told. So are loops that ask to be unrolled, but not where the
// test is one of the counter alone, of which nothing is left then.
//
// RUN: %heddle compile %s --isa x86-64-v4 -D "TEST=k<n" --emit passes -o %t.spvasm && \
// RUN:   %filecheck %s < %t.spvasm
// RUN: %heddle compile %s --isa x86-64-v4 -D "TEST=k<n" -D "ASK=[[unroll]]" --emit passes \
// RUN:   -o %t.spvasm && %filecheck %s < %t.spvasm
// RUN: %heddle compile %s --isa x86-64-v4 -D "TEST=(k&4)==0" -D "ASK=[[unroll]]" --emit passes \
// RUN:   -o %t.spvasm && %filecheck %s --check-prefix=NO_TEST < %t.spvasm
// RUN: %heddle compile %s --isa x86-64-v4 -D "TEST=a[row*64+k]<77" --emit passes -o %t.spvasm && \
// RUN:   %filecheck %s --check-prefix=LOADED < %t.spvasm
// RUN: B="--groups 1 --bind 0=rand:u32[4096]@1 --bind 1=zeros:u32[128]"; \
// RUN: for T in "k<n" "!(k>=n)" "((k*5+n)&7)!=0" "k+row<n*2" "k%9!=int(row)%9" "k<n||row<7" \
// RUN:     "n>2" "n<2" "a[row*64+k]<77" "k>n-9&&k<n"; do for N in 0 37 90; do \
// RUN:   for M in 1 "1 -D ASK=[[unroll]]" 2 3; do D="-D TEST=$T -D MODE=$M $B --push list:s32:$N"; \
// RUN:     %heddle run %s $D --device reference --out 1=%t.npy > /dev/null && \
// RUN:     %heddle run %s $D --compare 1=%t.npy --tolerance 0 > /dev/null || exit 1; \
// RUN:   done; done; \
// RUN:   for I in %levels; do %heddle run %s $D --isa $I --compare 1=%t.npy --tolerance 0 > /dev/null || exit 1; done; \
// RUN: done

// CHECK-COUNT-15: OpLogicalAnd
// CHECK-COUNT-8: OpLoad %uint
// CHECK: OpBranch
// LOADED-NOT: OpLogicalAnd
// NO_TEST-NOT: OpBranchConditional

#version 460
#extension GL_EXT_control_flow_attributes : enable

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer B { uint b[]; };
layout(push_constant) uniform Sizes { int n; };

#ifndef MODE
#define MODE 1
#endif
#ifndef ASK
#define ASK
#endif

void main()
{
    uint row = gl_GlobalInvocationID.x, sum = 1, others = 0, last = 5;
    ASK for (int k = 0; k < 60; k++) {
#if MODE == 1
        if (TEST)
            sum = sum * 3 + a[row * 64 + k];
#elif MODE == 2
        uint x = TEST ? a[row * 64 + k] : 9;
        if ((k & 16) == 0)
            others += x * 5;
        sum = sum * 3 + x;
#else
        uint x = a[row * 64 + k];
        if (TEST) {
            sum += x;
            last = x;
        }
        others ^= x;
#endif
    }
    b[row] = sum + others * 7 + last + uint(n);
}
