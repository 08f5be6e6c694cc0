// SPDX-License-Identifier: MIT
// Arrays of lanes that become matrices again. What is the same function of all components of rows
// of others, and of numbers of the lane, is made where the elements are, without those arrays;
// whatever differs from place to place is not, but for constants in one or two of them. Subgroups of
// 64 that are two of 32 have their own rows, so that no barrier is the workgroup's.
// RUN: B="--bind 0=randn:f32[64,64]@1 --bind 1=randn:f32[64,64]@2"; \
// RUN: for p in tiles.json:32 tiles.json:64 own.json:64; do for w in ROWS COLUMNS; do \
// RUN:   W="-D $w -D LANES=${p#*:} --subgroup-size ${p#*:}" P="--for %S/${p%:*} --subgroup-size ${p#*:}"; \
// RUN:   %heddle compile %s $W --emit passes -o %t.spvasm && \
// RUN:   %heddle compile %t.spvasm $P --emit spirv -o %t.spv | %filecheck %s && \
// RUN:   %spirv-val --target-env vulkan1.3 %t.spv && \
// RUN:   %heddle run %s $W --device reference $B --bind 2=zeros:f32[5,64,64] --out 2=%t.npy && \
// RUN:   %heddle run %t.spvasm $P $B --bind 2=zeros:f32[5,64,64] --compare 2=%t.npy --tolerance 1e-6 || exit 1; \
// RUN: done; done
// RUN: %heddle compile %s -D ROWS -D LANES=64 --subgroup-size 64 --emit passes -o %t.spvasm && \
// RUN: %heddle compile %t.spvasm --for %S/own.json --subgroup-size 64 --emit spirv -o %t.spv && \
// RUN: %spirv-dis %t.spv | %filecheck %s --check-prefix OWN
// What asks for tiles of the target gets such a module by itself, loops over arrays and all, and
// tiles although matrices could stay as they are:
// RUN: B="--bind 0=randn:f32[64,64]@1 --bind 1=randn:f32[64,64]@2"; \
// RUN: for n in 32 64; do for w in ROWS COLUMNS; do \
// RUN:   W="-D $w -D LANES=$n -D LOOPS --subgroup-size $n"; \
// RUN:   %heddle compile %s $W --for %S/flexible.json --emit spirv -o %t.spv | %filecheck %s && \
// RUN:   %spirv-val --target-env vulkan1.3 %t.spv && \
// RUN:   %heddle run %s $W --device reference $B --bind 2=zeros:f32[5,64,64] --out 2=%t.npy && \
// RUN:   %heddle run %t.spv --subgroup-size 32 $B --bind 2=zeros:f32[5,64,64] --compare 2=%t.npy --tolerance 1e-6 || \
// RUN:     exit 1; \
// RUN: done; done
// CHECK: OpCompositeConstructCoopMatQCOM {{ *}}3 {{ *}}lower_qcom {{ *}}made of others' elements
// CHECK: OpCompositeExtractCoopMatQCOM {{ *}}2 {{ *}}lower_qcom {{ *}}workgroup memory
// CHECK: OpCompositeConstructCoopMatQCOM {{ *}}2 {{ *}}lower_qcom {{ *}}workgroup memory
// OWN: OpControlBarrier %uint_3 %uint_3
// OWN-NOT: OpControlBarrier %uint_2
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_QCOM_cooperative_matrix_conversion : require
layout(local_size_x = LANES) in;
layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) readonly buffer Other { float y[]; };
layout(set = 0, binding = 2) writeonly buffer Out { float z[]; };

const int ROW_MAJOR = gl_CooperativeMatrixLayoutRowMajor;
#ifdef ROWS
const int N = 16;
#define Matrix coopmat<float, gl_ScopeSubgroup, LANES, N, gl_MatrixUseAccumulator>
#else
const int N = 8;
#define Matrix coopmat<float, gl_ScopeSubgroup, N, LANES, gl_MatrixUseB>
#endif

#ifdef LOOPS
#define EACH
#else
#define EACH [[unroll]]
#endif
#define TAKE(what, n)                                                                              \
    {                                                                                              \
        Matrix m;                                                                                  \
        EACH for (int k = 0; k < N; k++)                                                           \
            made[k] = (what);                                                                      \
        vectorToCoopmatQCOM(made, m);                                                              \
        coopMatStore(m, z, (n) * 64 * 64, 64, ROW_MAJOR);                                          \
    }

void main()
{
    Matrix a, b;
    coopMatLoad(a, x, 0, 64, ROW_MAJOR);
    coopMatLoad(b, y, 0, 64, ROW_MAJOR);
    float one[N], two[N], made[N];
    coopmatToVectorQCOM(a, one);
    coopmatToVectorQCOM(b, two);
    float lane = x[gl_SubgroupInvocationID], next = y[gl_SubgroupInvocationID + 64];
    TAKE(one[k] * lane, 0)
    TAKE(k == N - 3 ? 2.0 : max(one[k], 0.0), 1)
    TAKE(mix(two[k] * one[k] - lane, one[k] + next, abs(two[k]) > lane), 2)
    TAKE(one[(k + 1) % N] * lane, 3)
    TAKE(two[k] * x[k], 4)
}
