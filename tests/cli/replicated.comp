// SPDX-License-Identifier: MIT
// SPV_EXT_replicated_composites and SpecConstantOp of a matrix: all its elements are its one constituent.
// RUN: %heddle run %s --spec 0=2 --bind 0=zeros:f32[4] --compare 0=list:f32:2,2,1,1 2>&1 | %filecheck %s
// RUN: %heddle run %s --spec 0=2 --bind 0=zeros:f32[4] --compare 0=list:f32:2,2,1,1 --device reference 2>&1 \
// RUN:   | %filecheck %s
// CHECK: 0 of 4 differ
#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_spec_constant_composites : require
#pragma use_replicated_composites
layout(local_size_x = 64) in;
layout(binding = 0) buffer Output { float out_[4]; };
layout(constant_id = 0) const float x = 1;
layout(constant_id = 1) const uint rows = 32;
layout(constant_id = 2) const uint cols = 16;
#define MATRIX coopmat<float16_t, gl_ScopeSubgroup, rows, cols, gl_MatrixUseA>
const MATRIX a = MATRIX(x);
void main()
{
    float one = 1;
    MATRIX b = MATRIX(one);
    if (gl_LocalInvocationIndex == 0)
        out_ = float[](float(a[0]), float(a[1]), float(b[0]), float(b[1]));
}
