// SPDX-License-Identifier: MIT
// Arrays of tensor layouts and views, in structures, in arrays, in Private variables and as a function's
// argument, at indices that only the buffer knows: what is loaded through an element less what is loaded
// through the layout or view that was put there.
// RUN: %heddle run %s --bind 0=list:u32:0,1,2,1,2 --bind 1=iota:f32[1024] --bind 2=full:9:f32[640] \
// RUN:   --compare 2=zeros:f32[640] --tolerance 0
// RUN: %heddle run %s --bind 0=list:u32:0,1,2,1,2 --bind 1=iota:f32[1024] --bind 2=full:9:f32[640] \
// RUN:   --compare 2=zeros:f32[640] --tolerance 0 --no-optimisation --subgroup-size 8
// RUN: %heddle run %s --bind 0=list:u32:0,1,2,1,2 --bind 1=iota:f32[1024] --bind 2=full:9:f32[640] \
// RUN:   --compare 2=zeros:f32[640] --tolerance 0 --robust -D SCOPE=gl_ScopeWorkgroup
// RUN: %heddle run %s --bind 0=list:u32:0,1,2,1,2 --bind 1=iota:f32[1024] --bind 2=full:9:f32[640] \
// RUN:   --compare 2=zeros:f32[640] --tolerance 0 --device reference --check
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require

#ifndef SCOPE
#define SCOPE gl_ScopeSubgroup
#endif
#define Layout tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV>
#define View tensorViewNV<2, false, 1, 0>
#define Matrix coopmat<float, SCOPE, 8, 8, gl_MatrixUseAccumulator>

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer Numbers { uint p[]; };
layout(set = 0, binding = 1) readonly buffer In { float a[]; };
layout(set = 0, binding = 2) writeonly buffer Out { float o[]; };

struct Part { uint z; Layout l; View v[2]; };
Layout shared_by_functions[3];
uint n = 0;

Layout slice(uint k)
{
    Layout t = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    t = setTensorLayoutDimensionNV(t, 32, 32);
    return sliceTensorLayoutNV(t, int(k) * 10, 8, int(k) * 13, 8);
}

View view(uint k)
{
    View v = createTensorViewNV(2, false, 1, 0);
    return setTensorViewClipNV(v, k, 8 - k, 0, 8 - k);
}

void difference(Matrix x, Matrix y)
{
    coopMatStore(x - y, o, 64 * n, 8, gl_CooperativeMatrixLayoutRowMajor);
    n++;
}

void compare(Layout t, uint k)
{
    Matrix x, y;
    coopMatLoadTensorNV(x, a, 0, t);
    coopMatLoadTensorNV(y, a, 0, slice(k));
    difference(x, y);
}

void compare_view(View v, uint k)
{
    Matrix x = Matrix(float(k)), y = x;
    coopMatLoadTensorNV(x, a, 0, slice(1), v);
    coopMatLoadTensorNV(y, a, 0, slice(1), view(k));
    difference(x, y);
}

void one_of(Layout t[3], uint k) { compare(t[k], k); }

void main()
{
    Layout ls[3], table[2][3];
    Part parts[2];
    for (uint k = 0; k < 3; k++) {
        ls[k] = slice(k);
        shared_by_functions[k] = slice(k);
        table[p[0]][k] = slice(k);
        table[p[1]][k] = slice(2 - k);
    }
    parts[p[0]].l = slice(2);
    parts[p[1]].l = slice(1);
    parts[p[0]].v[p[1]] = view(2);
    parts[p[1]].v[0] = view(3);
    compare(ls[p[1]], 1);
    compare(shared_by_functions[p[2]], 2);
    compare(table[p[1]][p[2]], 0);
    compare(parts[p[3]].l, 1);
    compare_view(parts[0].v[p[3]], 2);
    compare_view(parts[p[1]].v[p[0]], 3);
    one_of(ls, p[4]);
    for (uint k = 0; k < 3; k++)
        compare(ls[p[k]], k);
}
