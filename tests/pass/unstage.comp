// SPDX-License-Identifier: MIT
//
// Tiles that a workgroup fills once are computed where they are read.
//
// With a border, whatever is outside of the array, and by either way to go through the tile; of two
// dimensions; two of them; read in loops; what invocations have filled themselves; in a loop around:
// RUN: for K in BORDER TESTED CLAMPED FLAT SQUARE TWO LOOPED OWN AROUND; do \
// RUN:   %heddle compile %s -D $K --emit passes | %filecheck %s --check-prefix=GONE || exit 1; done
// RUN: for K in BORDER TESTED FLAT TWO; do \
// RUN:   %heddle compile %s -D $K --emit passes | %filecheck %s --check-prefix=STRAIGHT || exit 1; done
//
// Not where a tile is filled by columns of the array, also clamped ones, by two stores, or partly; where it is read too
// often for tests, or in a loop around by too many invocations, or written again; where the array is written, too, volatile, or read by what was read; where what it
// is filled with takes long to compute, differs by invocation, or comes from the tile itself:
// RUN: for K in TURNED COLUMNS HALVES PARTLY OFTEN SHARED AGAIN WRITTEN VOLATILE INDIRECT SLOW MINE; do \
// RUN:   %heddle compile %s -D $K --emit passes | %filecheck %s --check-prefix=STAYS || exit 1; done
//
// RUN: for K in BORDER TESTED CLAMPED FLAT SQUARE TWO LOOPED OWN TURNED COLUMNS HALVES AROUND OFTEN SHARED AGAIN WRITTEN HEADER COUNTED \
// RUN:   VOLATILE INDIRECT SLOW MINE; do for R in "" --robust; do \
// RUN:   run="%heddle run %s -D $K $R --bind 0=iota:f32[4096] --bind 1=randn:f32[4096]@2"; \
// RUN:   run="$run --bind 2=zeros:f32[4096] --push list:u32:40 --groups 2,4"; \
// RUN:   $run --device reference --out 2=%t.npy || exit 1; for I in host x86-64-v3; do \
// RUN:     $run --isa $I --compare 2=%t.npy || { echo $K; exit 1; }; done; done; done

// GONE-NOT: {{.*}} = OpVariable {{.*}} Workgroup
// GONE-NOT: OpControlBarrier
// GONE: OpReturn

// STRAIGHT-NOT: OpLoopMerge
// STRAIGHT: OpReturn

// STAYS: OpVariable {{.*}} Workgroup
// STAYS: OpControlBarrier

#version 460
#extension GL_EXT_control_flow_attributes : require
#define X 16
#if defined AROUND || defined SHARED // so few that they run side by side on any machine
#define Y 4
#else
#define Y 8
#endif
layout(local_size_x = X, local_size_y = Y) in;

#ifdef WRITTEN
layout(binding = 0) buffer A { float a[]; };
#elif defined VOLATILE
layout(binding = 0) volatile readonly buffer A { float a[]; };
#else
layout(binding = 0) readonly buffer A { float a[]; };
#endif
layout(binding = 1) readonly buffer B { float b[]; };
layout(binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Sizes { int n; };

#define W (X + 2)
#define H (Y + 2)
#ifdef SQUARE
shared float tile[H][W];
#define TILE(i, j) tile[j][i]
#else
shared float tile[H * W];
#define TILE(i, j) tile[(j) * W + (i)]
#endif
#ifdef TWO
shared float other[H * W];
#endif

#ifdef TESTED
#define AT(u, v) ((u) >= 0 && (u) < n && (v) >= 0 && (v) < n ? a[(v) * n + (u)] : -1.0)
#elif defined OFTEN
#define AT(u, v) ((u) >= 0 && (u) < n ? a[((v) + 1) * n + (u)] : -1.0)
#elif defined CLAMPED
#define AT(u, v) a[clamp(v, 0, n - 1) * n + clamp(u, 0, n - 1)]
#elif defined INDIRECT
#define AT(u, v) a[int(a[((v) + 1) * n + (u) + 1]) % 256]
#elif defined SLOW
#define AT(u, v) sqrt(a[((v) + 1) * n + (u) + 1])
#elif defined MINE
#define AT(u, v) (a[((v) + 1) * n + (u) + 1] + float(gl_LocalInvocationIndex))
#else
#define AT(u, v) a[((v) + 1) * n + (u) + 1]
#endif

void main()
{
    int x = int(gl_GlobalInvocationID.x), y = int(gl_GlobalInvocationID.y);
    int lx = int(gl_LocalInvocationID.x), ly = int(gl_LocalInvocationID.y);
    int x0 = x - lx, y0 = y - ly;
    float sum = 0;
#if defined HEADER || defined COUNTED
    int lid = int(gl_LocalInvocationIndex);
#ifdef HEADER
    for (int k = 0; tile[lid] = a[lid + k * n], k < 3; k++)
        ;
#else
    for (int k = 0; k < 1; k++) {
        tile[lid] = float(k + n);
        barrier();
    }
#endif
    barrier();
    sum = tile[lid];
#else
#if defined AROUND || defined SHARED
    for (int k = 0; k < n; k += 8) {
        y0 = k;
        barrier();
#endif
#ifdef FLAT
    for (int e = int(gl_LocalInvocationIndex); e < W * H; e += X * Y) {
        int i = e % W, j = e / W;
#elif defined OWN
    {
        int i = lx, j = ly;
#elif defined PARTLY
    for (int j = ly; j < H - 1; j += Y) [[dont_unroll]] for (int i = lx; i < W; i += X) {
#else
    for (int j = ly; j < H; j += Y) [[dont_unroll]] for (int i = lx; i < W; i += X) {
#endif
#ifdef TURNED
        TILE(i, j) = AT(y0 + j - 1, x0 + i - 1);
#elif defined COLUMNS
        TILE(i, j) = a[clamp(x0 + i - 1, 0, 39) * 64 + clamp(y0 + j - 1, 0, n - 1)];
#elif defined HALVES
        if (i < 8)
            TILE(i, j) = AT(x0 + i - 1, y0 + j - 1);
        else
            TILE(i, j) = b[j];
#else
        TILE(i, j) = AT(x0 + i - 1, y0 + j - 1);
#endif
#ifdef TWO
        other[j * W + i] = b[(y0 + j) * n + x0 + i];
#endif
    }
    barrier();
#ifdef OWN
    sum = TILE(lx, ly) - TILE(lx ^ 0, 0);
#elif defined LOOPED || defined OFTEN
    [[dont_unroll]] for (int j = 0; j < 3; j++) [[unroll]] for (int i = 0; i < 3; i++)
        sum = sum * 0.5 + TILE(lx + i, ly + j);
#elif defined SHARED
    for (int j = 0; j < 3; j++) for (int i = 0; i < X; i++)
        sum = sum * 0.5 + TILE(i, ly + j);
#elif defined TWO
    sum = TILE(lx, ly) + TILE(lx + 2, ly + 1) * other[ly * W + lx + 1];
#else
    sum += TILE(lx, ly) + TILE(lx + 2, ly + 1) * 2.0 - TILE(lx + 1, ly + 2);
#endif
#if defined AROUND || defined SHARED
    }
#elif defined AGAIN
    barrier();
    TILE(lx, ly) = sum;
    barrier();
    sum = TILE(lx, 0);
#elif defined WRITTEN
    if (n > 1000)
        a[x] = sum;
#endif
#endif
    c[y * 64 + x] = sum;
}
