// SPDX-License-Identifier: MIT
// What glslang lets through, heddle names by its place in the source: a tangled instruction in a
// function of every element, and, while running, a slice that leaves the tensor.
// RUN: status 1 %heddle check %s -D SUM=subgroupAdd 2>&1 | %filecheck %s --check-prefix=TANGLED
// TANGLED: nv_check.comp:39:{{.*}}error: OpGroupNonUniformFAdd in 'doubled{{.*}}', which is called for
// TANGLED-SAME: [nv-tangled (SPV_NV_cooperative_matrix2, Validation Rules)]
// RUN: %heddle run %s -D SUM= --check --bind 0=iota:f32[1024]
// RUN: status 1 %heddle run %s -D SUM= --check --spec 0=17 --bind 0=iota:f32[1024] 2>&1 \
// RUN:   | %filecheck %s --check-prefix=OUTSIDE
// OUTSIDE: nv_check.comp:48:{{.*}}error: coordinate 32 is outside dimension 1, which has 32, and the
// Layouts go through variables, which static rules look through.
// RUN: status 1 %heddle check %s -D SUM= -D BLOCKS=4 2>&1 | %filecheck %s --check-prefix=BLOCKS
// BLOCKS: nv_check.comp:{{.*}}error: a store with blocks of 4 elements in dimension 1 {{.*}}[nv-store-blocks (
// RUN: %heddle check %s -D SUM= -D ROWS=1 2>&1 | %filecheck %s --check-prefix=ROWS
// ROWS: nv_check.comp:{{.*}}warning: a matrix of 256 elements is stored to a slice of 16, where they race
// RUN: status 1 %heddle run %s -D SUM= -D ROWS=4 --check --bind 0=iota:f32[1024] 2>&1 \
// RUN:   | %filecheck %s --check-prefix=RACE
// RACE: error: elements (0, 0) and (4, 0) of the matrix go to one element of the tensor; {{.*}}[data-race]
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint FIRST = 16;
layout(set = 0, binding = 0) buffer Data { float data[]; };

#ifndef SUM
#define SUM
#endif

float doubled(const in uint row, const in uint column, const in float x)
{
    float y = x + x;
    return
        SUM(y);
}

void main()
{
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
    tensorLayoutNV<2> t = setTensorLayoutDimensionNV(createTensorLayoutNV(2), 32, 32);
    t = sliceTensorLayoutNV(t, 0, 16, FIRST, 16);
    coopMatLoadTensorNV(
        m, data, 0, t);
    coopMatPerElementNV(m, m, doubled);
    coopMatStoreTensorNV(m, data, 0, t);
#ifdef BLOCKS
    t = setTensorLayoutBlockSizeNV(t, 1, BLOCKS);
    coopMatStoreTensorNV(m, data, 0, t);
#endif
#ifdef ROWS
    t = sliceTensorLayoutNV(t, 0, ROWS, 0, 16);
    coopMatStoreTensorNV(m, data, 0, t);
#endif
}
