#version 460
// SPV_QCOM_cooperative_matrix_conversion: vectors to matrices and back.
#extension GL_KHR_cooperative_matrix : require
#extension GL_QCOM_cooperative_matrix_conversion : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer A { uint a[]; };
layout(binding = 1) buffer C { float c[]; };
void main() {
    uint va[8];
    float vc[64];
    for (int i = 0; i < 8; i++) va[i] = a[gl_LocalInvocationIndex * 8 + i];
    coopmat<float16_t, gl_ScopeSubgroup, 64, 16, gl_MatrixUseA> m;
    vectorToCoopmatQCOM(va, m);
    coopmat<float, gl_ScopeSubgroup, 64, 64, gl_MatrixUseAccumulator> acc;
    coopmatToVectorQCOM(acc, vc);
    c[0] = vc[1];
}
