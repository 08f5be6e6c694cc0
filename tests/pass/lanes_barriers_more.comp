// SPDX-License-Identifier: MIT
//
// Barriers that stand in other orders than they were made in, and values around them: in a loop that
// its middle leaves, whose first barrier LLVM copies in front of it (ROTATED); behind the one that
// fills workgroup memory with zeros (ZEROS); a value that is made again from another one where that
// one is not read (AGAIN).
//
// RUN: D="--bind 0=rand:u32[512]@1 --bind 1=zeros:u32[512] --groups 1"; \
// RUN: for K in ROTATED ZEROS AGAIN; do \
// RUN:   %heddle run %s $D -D $K --device reference --out 1=%t.npy && \
// RUN:   for W in 8 16 32 64; do %heddle run %s $D -D $K --subgroup-size $W --compare 1=%t.npy --tolerance 0 || exit 1; done; \
// RUN:   for I in %levels; do %heddle run %s $D -D $K --isa $I --compare 1=%t.npy --tolerance 0 || exit 1; done; \
// RUN: done

#version 460
#extension GL_EXT_null_initializer : require

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
#ifdef ZEROS
shared uint t[128] = {};
#else
shared uint t[128];
#endif

void main()
{
    uint l = gl_LocalInvocationIndex;
#ifdef ROTATED
    uint sum = a[l], n = a[200] % 5 + 3;
    t[l] = sum;
    for (uint i = 0;; i++) {
        barrier();
        if (i >= n)
            break;
        uint x = t[(l + 37 + i) % 128];
        barrier();
        sum = sum * 3 + x;
        t[l] = sum;
    }
    b[l] = sum;
#endif
#ifdef ZEROS
    b[l + 128] = a[l] + 5;
    memoryBarrierBuffer();
    barrier();
    b[l] = b[128 + (l ^ 64)] + t[l];
    t[l] = a[l];
    barrier();
    b[l + 256] = t[l ^ 96];
#endif
#ifdef AGAIN
    uint x = 0, i = 0, n = a[200] % 5 + 3, r = 0;
    do {
        x = x * 5 + a[(l + i) % 256];
        i++;
    } while (i < n);
    uint m = x + 12345;
    t[l] = m;
    if (a[201] > 0) { // all do, and find no such number
        barrier();
        if (a[202] == 0xffffffff) {
            r = x * x + t[l ^ 64];
            b[l + 128] = r;
        }
    } else {
        b[l + 256] = x;
    }
    barrier();
    b[l] = m + t[l ^ 32];
    b[l + 384] = r;
#endif
}
