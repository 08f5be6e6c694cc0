#version 460
// 8-bit floating-point in buffers and cooperative matrices.
#extension GL_EXT_float_e4m3 : require
#extension GL_EXT_float_e5m2 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 32) in;
layout(binding = 0) buffer A { floate4m3_t a[]; };
layout(binding = 1) buffer B { floate5m2_t b[]; };
layout(binding = 2) buffer C { float c[]; };
void main() {
    coopmat<floate4m3_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;
    coopmat<floate5m2_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> n;
    coopMatLoad(m, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(n, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    a[0] = floate4m3_t(1.5);
    b[0] = floate5m2_t(-57344.0);
    c[0] = float(a[1]) + float(b[1]);
}
