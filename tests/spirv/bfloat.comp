#version 460
// bfloat16, with cooperative matrices and a dot product.
#extension GL_EXT_bfloat16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 32) in;
layout(constant_id = 0) const bfloat16_t K = bfloat16_t(1.25);
layout(binding = 0) buffer A { bfloat16_t a[]; };
layout(binding = 1) buffer C { float c[]; };
void main() {
    coopmat<bfloat16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;
    coopmat<bfloat16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> n =
        coopmat<bfloat16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>(K);
    coopMatLoad(m, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> acc =
        coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(-0.0);
    acc = coopMatMulAdd(m, n, acc);
    coopMatStore(acc, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    a[0] = bfloat16_t(float(a[1]) + 3.5);
}
