// SPDX-License-Identifier: MIT
// A kernel into which so many loops are inlined is translated with its loops: unrolled one by one
// they take LLVM the longer the more there are. They compute the same.
// RUN: %heddle compile %s --emit asm -o - | %filecheck %s
// RUN: for D in cpu reference; do %heddle run %s --bind 0=zeros:u32[32] --global 32 --device $D \
// RUN:   --compare 0=full:3072:u32[32] --tolerance 0 || exit 1; done
// CHECK-COUNT-1025: OpBranchConditional
// CHECK-NOT: OpBranchConditional
void add(uint *sums, uint n)
{
    for (uint k = 0; k < n; k++)
        if (sums[k & 7] < 1000000)
            sums[k & 7] += k;
}

#define FOUR(n)       add(sums, n); add(sums, n); add(sums, n); add(sums, n);
#define SIXTEEN(n)    FOUR(n) FOUR(n) FOUR(n) FOUR(n)
#define SIXTY_FOUR(n) SIXTEEN(n) SIXTEEN(n) SIXTEEN(n) SIXTEEN(n)

kernel void k(global uint *o)
{
    uint sums[8] = { 0 }, all = 0;
    SIXTY_FOUR(4) SIXTY_FOUR(4) SIXTY_FOUR(4) SIXTY_FOUR(4)
    SIXTY_FOUR(4) SIXTY_FOUR(4) SIXTY_FOUR(4) SIXTY_FOUR(4)
    for (uint k = 0; k < 8; k++)
        all += sums[k];
    o[get_global_id(0)] = all;
}
