// SPDX-License-Identifier: MIT
// Loads (or STOREs) the 64 x 64 elements of a matrix again and again, in two places by turns. WHAT 0
// does so row by row with a plain load; 1 by a view that clips off the last four rows; 2 by a view
// of four dimensions, of constant sizes or (RUNTIME) of sizes that come with the dispatch; 3 by a
// slice whose lines are SPAN long; 4 past the tensor's edge, where CLAMP says what is there; 5
// transposed by a view; 6 column by column with a plain load.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require

#ifndef T
#define T float16_t
#endif
#ifndef CLAMP
#define CLAMP 0
#endif
#ifndef SPAN
#define SPAN 64
#endif

const uint N = 64, LD = 256;
// Not where a page begins or ends: what is beyond it is not read, but masking it costs.
#define START (WHAT == 4 ? LD : 0)
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer From { T from[]; };
layout(set = 0, binding = 1) buffer To { T to[]; };
layout(push_constant) uniform Push { uint rounds, two, four, eight, sixty_four; };

#ifdef RUNTIME
#define SIZE(constant, variable) (variable)
#else
#define SIZE(constant, variable) (constant)
#endif
#ifdef STORE
#define PLAIN(at, ld, order) coopMatStore(x, to, at, ld, order)
#define TENSOR(slice) coopMatStoreTensorNV(x, to, START, slice)
#define VIEWED(slice) coopMatStoreTensorNV(x, to, START, slice, v)
#else
#define PLAIN(at, ld, order) coopMatLoad(x, from, at, ld, order)
#define TENSOR(slice) coopMatLoadTensorNV(x, from, START, slice)
#define VIEWED(slice) coopMatLoadTensorNV(x, from, START, slice, v)
#endif

void main()
{
    coopmat<T, gl_ScopeSubgroup, N, N, gl_MatrixUseAccumulator> x;
    coopMatLoad(x, from, 0, LD, gl_CooperativeMatrixLayoutRowMajor);
    tensorLayoutNV<2, CLAMP> t = createTensorLayoutNV(2, CLAMP);
    t = setTensorLayoutDimensionNV(t, LD - 2, LD);
    for (uint r = 0; r < rounds; r++) {
        uint place = (r & 1) * N;
#if WHAT == 0
        PLAIN(place * LD, LD, gl_CooperativeMatrixLayoutRowMajor);
#elif WHAT == 1
        tensorViewNV<2, false, 0, 1> v = createTensorViewNV(2, false, 0, 1);
        v = setTensorViewClipNV(v, 0, N - 4, 0, N);
        VIEWED(sliceTensorLayoutNV(t, place, N, 0, N));
#elif WHAT == 2
        tensorLayoutNV<4> t4 = createTensorLayoutNV(4);
        t4 = setTensorLayoutDimensionNV(t4, 4, 8, 8, LD);
        tensorViewNV<4, true, 0, 2, 1, 3> v = createTensorViewNV(4, true, 0, 2, 1, 3);
        v = setTensorViewDimensionsNV(v, SIZE(2, two), SIZE(8, eight), SIZE(4, four),
                                      SIZE(N, sixty_four));
        v = setTensorViewStrideNV(v, SIZE(2048, eight * four * sixty_four),
                                  SIZE(256, four * sixty_four), SIZE(N, sixty_four), 1);
        VIEWED(sliceTensorLayoutNV(t4, (r & 1) * 2, 2, 0, 8, 0, 4, 0, N));
#elif WHAT == 3
        TENSOR(sliceTensorLayoutNV(t, place, N * N / SPAN, 0, SPAN));
#elif WHAT == 4
        TENSOR(sliceTensorLayoutNV(t, place - 4, N, -4, N));
#elif WHAT == 5
        tensorViewNV<2, false, 1, 0> v = createTensorViewNV(2, false, 1, 0);
        VIEWED(sliceTensorLayoutNV(t, place, N, 0, N));
#else
        PLAIN(place * LD, LD, gl_CooperativeMatrixLayoutColumnMajor);
#endif
    }
    coopMatStore(x, to, 0, LD, gl_CooperativeMatrixLayoutRowMajor);
}
