// SPDX-License-Identifier: MIT
// Arrays of lanes to a matrix and back: T components, E the arrays' elements, USE; sizes by
// specialisation. A matrix of M x N with arrays of LENGTH elements comes in as arrays and as a
// matrix, and goes out as the other.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_QCOM_cooperative_matrix_conversion : require

layout(local_size_x_id = 10) in;
layout(constant_id = 0) const uint M = 8;
layout(constant_id = 1) const uint N = 8;
layout(constant_id = 2) const uint LENGTH = 8;

layout(set = 0, binding = 0) readonly buffer Arrays { E arrays_in[]; };
layout(set = 0, binding = 1) readonly buffer Matrix { T matrix_in[]; };
layout(set = 0, binding = 2) writeonly buffer ArraysOut { E arrays_out[]; };
layout(set = 0, binding = 3) writeonly buffer MatrixOut { T matrix_out[]; };
layout(set = 0, binding = 4) writeonly buffer Both { E both_out[]; };

struct Holder { uint before; E array[LENGTH]; };

void fill(out E a[LENGTH])
{
    for (uint k = 0; k < LENGTH; k++)
        a[k] = arrays_in[gl_SubgroupInvocationID * LENGTH + k];
}

void main()
{
    coopmat<T, gl_ScopeSubgroup, M, N, USE> m, made;
    E a[LENGTH];
    Holder h;
    fill(h.array);
    vectorToCoopmatQCOM(h.array, made);
    coopMatStore(made, matrix_out, 0, N, gl_CooperativeMatrixLayoutRowMajor);

    coopMatLoad(m, matrix_in, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    coopmatToVectorQCOM(m, a);
    for (uint k = 0; k < LENGTH; k++)
        arrays_out[gl_SubgroupInvocationID * LENGTH + k] = a[k];

    E b[LENGTH];
    vectorToCoopmatQCOM(a, m);
    coopmatToVectorQCOM(m, b);
    for (uint k = 0; k < LENGTH; k++)
        both_out[gl_SubgroupInvocationID * LENGTH + k] = b[k];
}
