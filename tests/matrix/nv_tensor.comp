// SPDX-License-Identifier: MIT
// RUN: %glslang --target-env vulkan1.3 -V %s -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle compile %s --for subgroup32 | %filecheck %s
// CHECK-NOT: OpS{{Mod|Rem}}
// A tensor to a matrix, and a matrix to a tensor, through one layout and (VIEW) one view: CLAMP, DIMS
// and VIEW by definition, block sizes, dimensions, strides, slice and clip from the first buffer, or
// from a definition as well (NUMBERS).
// What a clipped load leaves alone is the matrix that is stored.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_bfloat16 : enable

#ifndef T
#define T float16_t
#define SCOPE gl_ScopeWorkgroup
#define USE gl_MatrixUseAccumulator
#define CLAMP gl_CooperativeMatrixClampModeMirrorRepeatNV
#define DIMS 3
#define STRIDES 1
#define VIEW 3, true, 1, 0, 2
#define VIEW_DIMS 3
#define VIEW_STRIDES 1
#endif

layout(local_size_x_id = 10) in;
layout(constant_id = 0) const uint M = 16;
layout(constant_id = 1) const uint N = 16;

#ifdef NUMBERS
const uint p[40] = uint[40](NUMBERS);
#else
layout(set = 0, binding = 0) readonly buffer Numbers { uint p[]; };
#endif
layout(set = 0, binding = 1) readonly buffer TensorIn { T tensor_in[]; };
layout(set = 0, binding = 2) readonly buffer MatrixIn { T matrix_in[]; };
layout(set = 0, binding = 3) writeonly buffer MatrixOut { T matrix_out[]; };
layout(set = 0, binding = 4) writeonly buffer TensorOut { T tensor_out[]; };

#define BLOCK(k) p[k]
#define SIZE(k) p[5 + k]
#define STRIDE(k) p[10 + k]
#define PART(k) p[15 + 2 * k], p[16 + 2 * k]
#define VIEW_SIZE(k) p[26 + k]
#define VIEW_STRIDE(k) p[31 + k]
#define EACH1(f) f(0)
#define EACH2(f) f(0), f(1)
#define EACH3(f) f(0), f(1), f(2)
#define EACH4(f) f(0), f(1), f(2), f(3)
#define EACH5(f) f(0), f(1), f(2), f(3), f(4)
#define PASTE(a, b) a##b
#define EACH(n, f) PASTE(EACH, n)(f)

void main()
{
    coopmat<T, SCOPE, M, N, USE> loaded, stored;
    tensorLayoutNV<DIMS, CLAMP> t = createTensorLayoutNV(DIMS, CLAMP);
    t = setTensorLayoutBlockSizeNV(t, EACH(DIMS, BLOCK));
    t = setTensorLayoutDimensionNV(t, EACH(DIMS, SIZE));
#ifdef STRIDES
    t = setTensorLayoutStrideNV(t, EACH(DIMS, STRIDE));
#endif
    t = setTensorLayoutClampValueNV(t, p[25]);
    t = sliceTensorLayoutNV(t, EACH(DIMS, PART));
    coopMatLoad(stored, matrix_in, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    loaded = stored;
#ifdef VIEW
    tensorViewNV<VIEW> v = createTensorViewNV(VIEW);
#ifdef VIEW_DIMS
    v = setTensorViewDimensionsNV(v, EACH(VIEW_DIMS, VIEW_SIZE));
#ifdef VIEW_STRIDES
    v = setTensorViewStrideNV(v, EACH(VIEW_DIMS, VIEW_STRIDE));
#endif
#endif
    v = setTensorViewClipNV(v, p[36], p[37], p[38], p[39]);
    coopMatLoadTensorNV(loaded, tensor_in, 0, t, v);
#ifndef LOADS_ONLY
    coopMatStoreTensorNV(stored, tensor_out, 0, t, v);
#endif
#else
    coopMatLoadTensorNV(loaded, tensor_in, 0, t);
#ifndef LOADS_ONLY
    coopMatStoreTensorNV(stored, tensor_out, 0, t);
#endif
#endif
    coopMatStore(loaded, matrix_out, 0, N, gl_CooperativeMatrixLayoutRowMajor);
}
