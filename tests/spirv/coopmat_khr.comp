#version 460
// SPV_KHR_cooperative_matrix: load, store, multiply-add, arithmetic, length, elements, arrays, calls.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
layout(constant_id = 0) const uint M = 16;
layout(constant_id = 1) const uint K = 16;
layout(binding = 0) readonly buffer A { float16_t a[]; };
layout(binding = 1) readonly buffer B { float16_t b[]; };
layout(binding = 2) buffer C { float c[]; };
layout(binding = 3) buffer S { int8_t s[]; };
shared vec4 tile[256];
#define MAT(T, R, Cl, U) coopmat<T, gl_ScopeSubgroup, R, Cl, U>
MAT(float, 16, 16, gl_MatrixUseAccumulator) twice(MAT(float, 16, 16, gl_MatrixUseAccumulator) m) {
    return m + m * 2.0;
}
struct Pair { MAT(float16_t, 16, 16, gl_MatrixUseA) a; MAT(float16_t, 16, 16, gl_MatrixUseB) b; };
void main() {
    MAT(float, 16, 16, gl_MatrixUseAccumulator) acc = MAT(float, 16, 16, gl_MatrixUseAccumulator)(0.0);
    MAT(float16_t, M, K, gl_MatrixUseA) spec;
    coopMatLoad(spec, a, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
    Pair p;
    for (uint k = 0; k < 4; k++) {
        coopMatLoad(p.a, a, k * 16, 64, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(p.b, b, k * 16 * 64, 64, gl_CooperativeMatrixLayoutRowMajor);
        acc = coopMatMulAdd(p.a, p.b, acc);
    }
    MAT(int8_t, 16, 32, gl_MatrixUseA) sa;
    MAT(int8_t, 32, 16, gl_MatrixUseB) sb;
    MAT(int, 16, 16, gl_MatrixUseAccumulator) sc = MAT(int, 16, 16, gl_MatrixUseAccumulator)(1);
    coopMatLoad(sa, s, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(sb, s, 512, 16, gl_CooperativeMatrixLayoutRowMajor);
    sc = coopMatMulAdd(sa, sb, sc, gl_MatrixOperandsSaturatingAccumulation);
    for (int i = 0; i < sc.length(); i++) sc[i] += i;
    acc = twice(acc) - MAT(float, 16, 16, gl_MatrixUseAccumulator)(sc);
    if (acc[0] < 0.0) acc = -acc;
    coopMatStore(acc, tile, 0, 4, gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    coopMatStore(acc, c, gl_WorkGroupID.x * 256, 16, gl_CooperativeMatrixLayoutColumnMajor);
}
