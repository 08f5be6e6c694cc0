/* SPDX-License-Identifier: MIT
 *
 * A kernel that needs the layer where a driver has no matrices, and what comes of it.
 */
#ifndef HEDDLE_TESTS_LAYER_FAMILY_H
#define HEDDLE_TESTS_LAYER_FAMILY_H

#include "../vulkan/gpu.h"

/* The product of two matrices of K, which a constant decides, times the identity. */
static const char *const product =
    "#version 460\n"
    "#extension GL_KHR_cooperative_matrix : require\n"
    "#extension GL_KHR_memory_scope_semantics : require\n"
    "layout(local_size_x = 32) in;\n"
    "layout(constant_id = 7) const uint K = 16;\n"
    "layout(binding = 0) buffer A { float a[]; };\n"
    "layout(binding = 1) buffer C { float c[]; };\n"
    "void main() {\n"
    "    coopmat<float, gl_ScopeSubgroup, 16, K, gl_MatrixUseA> x;\n"
    "    coopmat<float, gl_ScopeSubgroup, K, 16, gl_MatrixUseB> y;\n"
    "    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> z;\n"
    "    coopMatLoad(x, a, 0, K, gl_CooperativeMatrixLayoutRowMajor);\n"
    "    coopMatLoad(y, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
    "    z = coopMatMulAdd(x, y, coopmat<float, gl_ScopeSubgroup, 16, 16,\n"
    "                                    gl_MatrixUseAccumulator>(0));\n"
    "    coopMatStore(z, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
    "}\n";

/* One workgroup, from the buffer of binding 0 to that of 1. */
static inline VkResult dispatch(Gpu *g, GpuProgram *p, const GpuBuffer *from, const GpuBuffer *to)
{
    const GpuBuffer *buffers[] = { from, to };
    for (uint32_t k = 0; k < 2; k++)
        gpu_write(g, p->set, k, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers[k]->buffer, 0,
                  VK_WHOLE_SIZE);
    VkCommandBuffer b = gpu_begin(g);
    gpu_bind(b, p);
    VK(CmdDispatch)(b, 1, 1, 1);
    return gpu_finish(g, b);
}

static inline void run(Gpu *g, GpuProgram *p, uint32_t k, bool *right)
{
    GpuBuffer a, c;
    *right = !gpu_buffer(g, 4 * 16 * k, &a) && !gpu_buffer(g, 4 * 256, &c);
    float *x = a.data, *z = c.data;
    for (uint32_t i = 0; i < 16 * k; i++)
        x[i] = (float)(i % 7);
    memset(z, 0, 4 * 256);
    *right &= !dispatch(g, p, &a, &c);
    for (uint32_t i = 0; i < 256; i++) {
        float sum = 0;
        for (uint32_t e = 0; e < k; e++)
            sum += x[i / 16 * k + e] * x[e * 16 + i % 16];
        *right &= sum == z[i];
    }
    gpu_buffer_free(g, &a);
    gpu_buffer_free(g, &c);
}

#endif
