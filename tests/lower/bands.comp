// SPDX-License-Identifier: MIT
// Reductions of matrices that four subgroups have no memory to stage as wholes: a few rows after the
// other are. Of squares of 2 x 2 those who hold elements of the result make them; rows that no
// shuffles combine (of 24 columns) are kept in workgroup memory until all are done.
// RUN: for m in "2x2 64 24 32 12" "2x2 64 64 32 32" "Row 64 24 64 24" "Row 64 24 64 40"; do set -- $m; \
// RUN:   sed "s/MODE/Reduce$1NV/; s/%R/$2/g; s/%C/$3/g; s/%r/$4/g; s/%c/$5/g" %s > %t.comp; \
// RUN:   ARRAYS="--bind 0=randn:f32[4,$2,$3]@1 --bind 1=zeros:f32[4,$4,$5]"; \
// RUN:   %heddle run %t.comp $ARRAYS --out 1=%t.npy || exit 1; \
// RUN:   for bytes in 65536 16384; do \
// RUN:     sed "s/\"workgroup_memory\": [0-9]*/\"workgroup_memory\": $bytes/" tests/lower/none.json > %t.json; \
// RUN:     %heddle compile %t.comp --for %t.json --subgroup-size 32 --emit spirv -o %t.spv | %filecheck %s && \
// RUN:     %spirv-val --target-env vulkan1.3 %t.spv && \
// RUN:     for d in cpu reference; do \
// RUN:       %heddle run %t.spv --device $d $ARRAYS --compare 1=%t.npy --tolerance 1e-5 || exit 1; done || exit 1; done || exit 1; done
// CHECK: OpCooperativeMatrixReduceEXT {{ *}}1 {{ *}}lower_nv2 {{ *}}workgroup memory, calls by parts
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) writeonly buffer B { float b[]; };

float add(const in float x, const in float y) { return x + y; }

void main()
{
    coopmat<float, gl_ScopeSubgroup, %R, %C, gl_MatrixUseAccumulator> m;
    coopmat<float, gl_ScopeSubgroup, %r, %c, gl_MatrixUseAccumulator> n;
    coopMatLoad(m, a, gl_SubgroupID * %R * %C, %C, gl_CooperativeMatrixLayoutRowMajor);
    coopMatReduceNV(n, m, gl_CooperativeMatrixMODE, add);
    coopMatStore(n, b, gl_SubgroupID * %r * %c, %c, gl_CooperativeMatrixLayoutRowMajor);
}
