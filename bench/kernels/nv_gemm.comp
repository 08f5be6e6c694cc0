// SPDX-License-Identifier: MIT
// C = A * B, row-major, of any size, at workgroup scope: a workgroup holds a TM x TN accumulator.
// LOADS 0: plain loads; 1: through tensor layouts of undefined clamp mode (whole tiles only); 2:
// through layouts that clamp, and tiles of EDGE where no more is left. BLOCKS: B is N x K in blocks
// along k, of q4_0 (a scale and 32 values of four bits) or, if Q4_K is defined, of that; else B16
// asks for N x K in f16, all of them loaded through a view that swaps.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_GOOGLE_include_directive : require

#ifndef AB
#define AB float
#endif
#ifndef TM
#define TM 256
#define TN 256
#define TK 64
#endif
#define EDGE (TM / 8)
#ifndef LOADS
#define LOADS 2
#endif
#ifndef CLAMP
#define CLAMP (LOADS == 1 ? 0 : 1)
#endif

layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer InputA { AB a[]; };
layout(set = 0, binding = 1) readonly buffer InputB { AB b[]; };
layout(set = 0, binding = 2) writeonly buffer Output { float c[]; };
layout(push_constant) uniform Sizes { uint m, n, k; };

#ifdef Q4_K
#include "../../examples/quants.glsl"
AB decode(const in Block x, const in uint block[2], const in uint in_block[2])
{
    return AB(element(x, in_block[1]));
}
#elif defined BLOCKS
#define BLOCK 32
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Block {
    float16_t scale;
    uint8_t q[16];
};
AB decode(const in Block x, const in uint block[2], const in uint in_block[2])
{
    uint i = in_block[1], q = x.q[i & 15];
    return AB(float(int(i < 16 ? q & 15 : q >> 4) - 8) * float(x.scale));
}
#endif

#ifdef BLOCKS
#define LAYOUT_B tb = setTensorLayoutDimensionNV(setTensorLayoutBlockSizeNV(tb, 1, BLOCK), n, k)
#elif defined B16
#define LAYOUT_B tb = setTensorLayoutDimensionNV(tb, n, k)
#else
#define LAYOUT_B tb = setTensorLayoutDimensionNV(tb, k, n)
#endif
#if LOADS == 0
#define LOAD_A(H) coopMatLoad(x, a, row * k + i, k, gl_CooperativeMatrixLayoutRowMajor)
#define LOAD_B(W) coopMatLoad(y, b, i * n + col, n, gl_CooperativeMatrixLayoutRowMajor)
#define STORE(H, W) coopMatStore(sum, c, row * n + col, n, gl_CooperativeMatrixLayoutRowMajor)
#else
#define LOAD_A(H) coopMatLoadTensorNV(x, a, 0, sliceTensorLayoutNV(ta, row, H, i, TK))
#define STORE(H, W) coopMatStoreTensorNV(sum, c, 0, sliceTensorLayoutNV(tc, row, H, col, W))
#ifdef BLOCKS
#define LOAD_B(W) coopMatLoadTensorNV(y, b, 0, sliceTensorLayoutNV(tb, col, W, i, TK), \
                                      createTensorViewNV(2, false, 1, 0), decode)
#elif defined B16
#define LOAD_B(W) coopMatLoadTensorNV(y, b, 0, sliceTensorLayoutNV(tb, col, W, i, TK), \
                                      createTensorViewNV(2, false, 1, 0))
#else
#define LOAD_B(W) coopMatLoadTensorNV(y, b, 0, sliceTensorLayoutNV(tb, i, TK, col, W))
#endif
#endif

/* A tile of H x W. */
#define MULTIPLY(H, W)                                                                      \
    {                                                                                       \
        coopmat<float, gl_ScopeWorkgroup, H, W, gl_MatrixUseAccumulator> sum =              \
            coopmat<float, gl_ScopeWorkgroup, H, W, gl_MatrixUseAccumulator>(0.0);          \
        for (uint i = 0; i < k; i += TK) {                                                  \
            coopmat<AB, gl_ScopeWorkgroup, H, TK, gl_MatrixUseA> x;                         \
            coopmat<AB, gl_ScopeWorkgroup, TK, W, gl_MatrixUseB> y;                         \
            LOAD_A(H);                                                                      \
            LOAD_B(W);                                                                      \
            sum = coopMatMulAdd(x, y, sum);                                                 \
        }                                                                                   \
        STORE(H, W);                                                                        \
    }

void main()
{
    uint row = gl_WorkGroupID.y * TM, col = gl_WorkGroupID.x * TN;
    tensorLayoutNV<2, CLAMP> ta = createTensorLayoutNV(2, CLAMP), tb = createTensorLayoutNV(2, CLAMP);
    tensorLayoutNV<2, CLAMP> tc = createTensorLayoutNV(2, CLAMP);
    ta = setTensorLayoutDimensionNV(ta, m, k);
    tc = setTensorLayoutDimensionNV(tc, m, n);
    LAYOUT_B;
#if LOADS == 2
    bool low = m - row <= EDGE, narrow = n - col <= EDGE;
    if (low && narrow)
        MULTIPLY(EDGE, EDGE)
    else if (low)
        MULTIPLY(EDGE, TN)
    else if (narrow)
        MULTIPLY(TM, EDGE)
    else
#endif
        MULTIPLY(TM, TN)
}
