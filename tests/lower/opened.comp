// SPDX-License-Identifier: MIT
// Kernels that passes go over before they are lowered, since they make matrices of others' rows.
// With WIDTH nobody says how large subgroups are, so that they are as large as its matrices want, and
// what a matrix' length is must agree. With LEAVES, unrolled, it would be left from within its loops in
// a way that cannot be structured, so that it stays as it was. With PRODUCTS, tiles whose owners are
// known would suit one and make elements of the other's matrices, so that all stay as they are.
// RUN: B="--bind 0=randn:f32[64,64]@1 --bind 1=zeros:f32[65,64] --bind 2=randn:f16[64,64]@2 --bind 3=list:u32:1,0,2,3,1,1,1,1"; \
// RUN: for w in WIDTH:64 LEAVES:32 PRODUCTS:32; do n=${w#*:} w=${w%:*}; \
// RUN:   %heddle compile %s -D $w -D LANES=$n --for %S/flexible.json --emit spirv -o %t.spv | %filecheck %s --check-prefix $w && \
// RUN:   %spirv-val --target-env vulkan1.3 %t.spv && \
// RUN:   %heddle run %s -D $w -D LANES=$n --subgroup-size $n --device reference $B --out 1=%t.npy && \
// RUN:   %heddle run %t.spv --subgroup-size 32 $B --compare 1=%t.npy --tolerance 1e-5 || exit 1; \
// RUN: done
// WIDTH: OpCompositeConstructCoopMatQCOM {{ *}}1 {{ *}}lower_qcom {{ *}}made of others' elements
// LEAVES: OpCompositeConstructCoopMatQCOM {{ *}}1 {{ *}}lower_qcom {{ *}}workgroup memory
// PRODUCTS-NOT: sums of products
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_QCOM_cooperative_matrix_conversion : require
layout(local_size_x = LANES) in;
layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) buffer Out { float z[]; };
layout(set = 0, binding = 2) readonly buffer Halves { float16_t h[]; };
layout(set = 0, binding = 3) readonly buffer Numbers { uint numbers[]; };
const int N = 16, ROW_MAJOR = gl_CooperativeMatrixLayoutRowMajor;
#define Sum coopmat<float, gl_ScopeSubgroup, LANES, N, gl_MatrixUseAccumulator>

Sum scaled(Sum a, float by)
{
    float one[N], made[N];
    Sum m;
    coopmatToVectorQCOM(a, one);
    for (int k = 0; k < N; k++)
        made[k] = one[k] * by;
    vectorToCoopmatQCOM(made, m);
    return m;
}

void main()
{
    Sum sum;
    coopMatLoad(sum, x, 0, 64, ROW_MAJOR);
    float lane = x[gl_SubgroupInvocationID];
#ifdef PRODUCTS
    coopmat<float16_t, gl_ScopeSubgroup, LANES, 16, gl_MatrixUseA> a;
    coopmat<float16_t, gl_ScopeSubgroup, 16, N, gl_MatrixUseB> b;
    coopmat<float, gl_ScopeSubgroup, LANES, 8, gl_MatrixUseA> c;
    coopmat<float, gl_ScopeSubgroup, 8, N, gl_MatrixUseB> d;
    coopMatLoad(a, h, 0, 64, ROW_MAJOR);
    coopMatLoad(b, h, 0, 64, ROW_MAJOR);
    coopMatLoad(c, x, 0, 64, ROW_MAJOR);
    coopMatLoad(d, x, 0, 64, ROW_MAJOR);
    sum = coopMatMulAdd(c, d, coopMatMulAdd(a, b, sum));
#endif
    sum = scaled(sum, lane);
#ifdef WIDTH
    for (int k = 0; k < sum.length(); k++)
        sum[k] = sum[k] + 1.0;
    z[64 * 64 + gl_LocalInvocationIndex] = sum.length() * LANES;
#endif
#ifdef LEAVES
    for (uint k = 0;;) {
        for (int q = 0; q < 1000000; q++) {
            if (numbers[k] == 7) {
                coopMatStore(sum, z, 0, 64, ROW_MAJOR);
                return;
            }
            if (q > 3)
                break;
        }
        k++;
        if (k == 4) {
            coopMatStore(sum, z, 0, 64, ROW_MAJOR);
            return;
        }
    }
#else
    coopMatStore(sum, z, 0, 64, ROW_MAJOR);
#endif
}
