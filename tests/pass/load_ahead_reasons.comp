// SPDX-License-Identifier: MIT
// More of what keeps a loop that asks for wait queues as it is, or one of its loads: see load_ahead.comp.
// RUN: %heddle compile %s --pipeline --emit spirv --stats -o %t.spv | %filecheck %s
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle run %s --bind 0=randn:f32[4096]@1 --bind 1=zeros:f32[288] --push list:u32:2 \
// RUN:   --out 1=%t.npy
// RUN: %heddle run %t.spv --bind 0=randn:f32[4096]@1 --bind 1=zeros:f32[288] --push list:u32:2 \
// RUN:   --compare 1=%t.npy --tolerance 0
// CHECK: {{2 *0 *0}} it is unrolled: it indexes matrices by what it counts
// CHECK-NEXT: {{2 *2 *1}} the loop is left between its loads
// CHECK-NEXT: {{2 *1 *0}} a load calls a function, and the loop writes memory
// CHECK-NEXT: {{2 *0 *0}} the kernel would grow too large
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_buffer_reference : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_QCOM_multiple_wait_queues : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly restrict buffer A { float a[]; };
layout(binding = 1) buffer C { float c[]; };
layout(push_constant) uniform P { uint n; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Element { float x; };
float decode(const in Element e, const in uint block[2], const in uint within[2]) { return e.x; }
#define AHEAD [[multiple_wait_queuesQCOM(2)]]
#define STEP x = x * 0.5 + float(i);
#define TIMES(X) X X X X X X X X X X X X
#define MATRIX coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
void main()
{
    uint t = gl_LocalInvocationID.x;
    float x = 0;
    MATRIX m[2], sum = MATRIX(0.0);
    AHEAD
    for (uint i = 0; i < 2; i++) {
        coopMatLoad(m[i], a, i * 256, 16, gl_CooperativeMatrixLayoutRowMajor);
        sum += m[i];
    }
    AHEAD
    for (uint i = 0;; i++) {
        float y = a[i * 32 + t];
        if (i >= n)
            break;
        x += y * a[i * 64 + t];
    }
    tensorLayoutNV<2> l = setTensorLayoutDimensionNV(createTensorLayoutNV(2), 64, 64);
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> d;
    AHEAD
    for (uint i = 0; i < n; i++) {
        coopMatLoadTensorNV(d, a, 0, sliceTensorLayoutNV(l, i * 16, 16, 0, 16), decode);
        c[256 + t] = float(i);
    }
    AHEAD
    for (uint i = 0; i < n; i++) {
        x += a[i * 32 + t];
        TIMES(TIMES(TIMES(STEP STEP STEP STEP STEP STEP)))
    }
    for (uint i = 0; i < d.length(); i++)
        x += d[i];
    coopMatStore(sum, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    c[256 + t] += x;
}
