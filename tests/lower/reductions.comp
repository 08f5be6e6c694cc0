// SPDX-License-Identifier: MIT
// Reductions where it is known who holds which element: of rows, columns and all of them by calls
// and shuffles, without workgroup memory and barriers; of squares of 2 x 2 through it. What a
// driver answered, and arrays of elements. (A bit of an invocation's number that leads to another
// row and another column: through it, too.)
// RUN: for p in tests/lower/asked.json lavapipe; do for m in Row Column RowAndColumn; do \
// RUN:     sed "s/ReduceRowNV/Reduce${m}NV/" %s > %t.comp && \
// RUN:     %heddle compile %t.comp --for $p --emit spirv -o %t.spv | %filecheck %s && \
// RUN:     %spirv-val --target-env vulkan1.3 %t.spv && \
// RUN:     %spirv-dis %t.spv | %filecheck %s --check-prefix=HELD || exit 1; done; done
// RUN: sed "s/ReduceRowNV/Reduce2x2NV/; s/, 32, 32, gl_MatrixUseAccumulator> n/, 16, 16, gl_MatrixUseAccumulator> n/; s/m = n \*.*/m += m;/" %s > %t.comp && \
// RUN: %heddle compile %t.comp --for tests/lower/asked.json --emit spirv -o %t.spv | %filecheck %s --check-prefix=SQUARES
// RUN: sed "s/\"f32\", \"use\": \"c\", \"rows\": 16, \"columns\": 16, \"lane_rows\": \[0, 0, 0, 0, 1\]/\"f32\", \"use\": \"c\", \"rows\": 16, \"columns\": 16, \"lane_rows\": [0, 0, 0, 2, 1]/" tests/lower/asked.json > %t.json && \
// RUN: %heddle compile %s --for %t.json --emit spirv -o %t.spv | %filecheck %s --check-prefix=SQUARES
// CHECK: OpCooperativeMatrixReduceEXT {{ *}}1 {{ *}}lower_nv2 {{ *}}calls and shuffles
// HELD-NOT: {{OpControlBarrier|OpVariable .* Workgroup}}
// HELD: OpFunctionCall
// HELD-NOT: {{OpControlBarrier|OpVariable .* Workgroup}}
// SQUARES: OpCooperativeMatrixReduceEXT {{ *}}1 {{ *}}lower_nv2 {{ *}}workgroup memory, calls by parts
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { float a[]; };

float add(const in float x, const in float y) { return x + y; }

void main()
{
    coopmat<float, gl_ScopeSubgroup, 32, 32, gl_MatrixUseAccumulator> m;
    coopmat<float, gl_ScopeSubgroup, 32, 32, gl_MatrixUseAccumulator> n;
    coopMatLoad(m, a, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
    for (uint k = 0; k < 100; k++) {
        coopMatReduceNV(n, m, gl_CooperativeMatrixReduceRowNV, add);
        m = n * 0.03125;
    }
    coopMatStore(m, a, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
}
