// SPDX-License-Identifier: MIT
//
// Bytes of sums of bytes, of two and three of each (src/cpu/jit/words.c): luma of pixels, and what is made of it.
//
// RUN: for P in 2 3 4; do for Q in 2 3 4; do D="-D P=$P -D Q=$Q --bind 0=rand:u32[64]@1 --bind 1=rand:u32[64]@2 --bind 2=zeros:u32[64] --groups 1"; \
// RUN:   %heddle run %s $D --device reference --out 2=%t.npy && for I in %levels; do \
// RUN:     %heddle run %s $D --isa $I --compare 2=%t.npy --tolerance 0 || exit 1; \
// RUN: done || exit 1; done || exit 1; done
#version 460
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) readonly buffer B { uint b[]; };
layout(set = 0, binding = 2) writeonly buffer C { uint c[]; };
#define BYTE(x, k) ((x) >> 8 * (k) & 255u)

void main()
{
    uint i = gl_GlobalInvocationID.x, x = a[i] * 0x9e3779b1u, y = b[i] * 0x85ebca6bu, s = y, t = y * y, u = x ^ y;
    for (int k = 0; k < P; k++)
        s += BYTE(x, k) * (3 + 74 * k);
    for (int k = 0; k < Q; k++)
        t += BYTE(s, k) * (7 + 82 * k);
    for (int k = 0; k < Q; k++)
        u += BYTE(s, k) * BYTE(y, k);
    for (int k = 0; k < P; k++)
        u += BYTE(t, k) * BYTE(u, 1);
    c[i] = t * 31 + u;
}
