#version 460
// SPV_NV_cooperative_matrix2 and SPV_NV_tensor_addressing: reduce, per-element, transpose, decode, clamp.
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 128) in;
layout(binding = 0) buffer A { float16_t a[]; };
layout(binding = 1) buffer B { uint8_t b[]; };
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Q { uint8_t q[32]; float16_t d; };
float16_t decode(const in Q bl, const in uint32_t blockCoords[2], const in uint32_t coordInBlock[2]) {
    return bl.d * float16_t(bl.q[coordInBlock[1]]);
}
float16_t biggest(const in float16_t x, const in float16_t y) { return max(x, y); }
float16_t relu(const in uint32_t r, const in uint32_t c, const in float16_t e, const in float16_t k) {
    return r == c ? e : max(e, k);
}
void main() {
    coopmat<float16_t, gl_ScopeWorkgroup, 64, 32, gl_MatrixUseA> m;
    coopmat<float16_t, gl_ScopeWorkgroup, 32, 64, gl_MatrixUseB> n;
    coopmat<float16_t, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseAccumulator> acc =
        coopmat<float16_t, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseAccumulator>(0.0hf);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> t =
        createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    t = setTensorLayoutDimensionNV(t, 256, 128);
    t = setTensorLayoutStrideNV(t, 128, 1);
    t = setTensorLayoutClampValueNV(t, 0x3c00);
    t = sliceTensorLayoutNV(t, 64, 64, 32, 32);
    coopMatLoadTensorNV(m, a, 0, t);
    tensorViewNV<2, false, 1, 0> v = createTensorViewNV(2, false, 1, 0);
    coopMatLoadTensorNV(n, a, 0, sliceTensorLayoutNV(t, 0, 64, 0, 32), v);
    tensorLayoutNV<2> tq = createTensorLayoutNV(2);
    tq = setTensorLayoutBlockSizeNV(tq, 1, 32);
    tq = setTensorLayoutDimensionNV(tq, 32, 64);
    coopMatLoadTensorNV(n, b, 0, tq, decode);
    acc = coopMatMulAdd(m, n, acc);
    coopmat<float16_t, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseAccumulator> red;
    coopMatReduceNV(red, acc, gl_CooperativeMatrixReduceRowNV, biggest);
    coopMatPerElementNV(red, acc, relu, 0.5hf);
    coopmat<float16_t, gl_ScopeWorkgroup, 64, 64, gl_MatrixUseB> tr;
    coopMatTransposeNV(tr, red);
    coopMatStoreTensorNV(red, a, 0, sliceTensorLayoutNV(t, 0, 64, 0, 64));
}
