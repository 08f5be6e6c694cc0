// SPDX-License-Identifier: MIT
// An accumulator of tiles is values of a loop, not a variable that is loaded and stored whole; that
// loads may have to go element by element at the edges keeps no tiles in memory either, though it
// is known who holds what. Subgroups' rows of workgroup memory are in an array of one dimension.
//
// RUN: %heddle compile %s --for tests/lower/asked.json -o %t.spv && %spirv-val --target-env \
// RUN: vulkan1.3 %t.spv && %spirv-dis --no-color %t.spv | %filecheck %s
// CHECK-DAG: [[TILE:%[0-9]+]] = OpTypeCooperativeMatrixKHR %float %uint_3 %uint_16 %uint_16 %uint_2
// CHECK-DAG: [[STAGED:%[0-9]+]] = OpVariable %_ptr_Workgroup__arr_half_uint_{{[0-9]+}} Workgroup
// CHECK: OpFunction
// CHECK-NOT: OpVariable %_ptr_Function__arr_{{[0-9]+}}_uint_16 Function
// CHECK-COUNT-16: OpPhi [[TILE]]
// CHECK: OpAccessChain %_ptr_Workgroup_half [[STAGED]] %{{[a-z0-9_]+}}{{$}}
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 128) in;
layout(push_constant) uniform P { uint n; };

const uint CLAMP = gl_CooperativeMatrixClampModeConstantNV;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };

void main()
{
    tensorLayoutNV<2, CLAMP> t = createTensorLayoutNV(2, CLAMP);
    t = setTensorLayoutDimensionNV(t, n, n);
    coopmat<float, gl_ScopeWorkgroup, 128, 128, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeWorkgroup, 128, 128, gl_MatrixUseAccumulator>(0);
    for (uint k = 0; k < n; k += 32) {
        coopmat<float16_t, gl_ScopeWorkgroup, 128, 32, gl_MatrixUseA> x;
        coopmat<float16_t, gl_ScopeWorkgroup, 32, 128, gl_MatrixUseB> y;
        coopMatLoadTensorNV(x, a, 0, sliceTensorLayoutNV(t, 0, 128, k, 32));
        coopMatLoadTensorNV(y, b, 0, sliceTensorLayoutNV(t, k, 32, 0, 128));
        sum = coopMatMulAdd(x, y, sum);
    }
    coopMatStoreTensorNV(sum, c, 0, sliceTensorLayoutNV(t, 0, 128, 0, 128));
}
