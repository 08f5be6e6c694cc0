/* SPDX-License-Identifier: MIT
 *
 * opencl: compiles OpenCL C (all of 1.2, the commonly used part of 3.0, cooperative matrices) to
 * LLVM IR with a front end of heddle's own, and on to SPIR-V with LLVM's SPIR-V target.
 *
 * The IR is what LLVM's SPIR-V target reads: builtin functions are calls of their Itanium-mangled
 * OpenCL names, a matrix is target("spirv.CooperativeMatrixKHR", T, scope, rows, columns, use), and
 * what is done with it are calls whose names start with
 *
 *     _Z32__spirv_CooperativeMatrixLoadKHR    _Z33__spirv_CooperativeMatrixStoreKHR
 *     _Z34__spirv_CooperativeMatrixMulAddKHR  which the target knows, and
 *     _Z34__spirv_CooperativeMatrixBinaryAdd  ..Sub ..Mul ..Div,
 *     _Z34__spirv_CooperativeMatrixScalarMul  ..Neg, which it does not.
 *
 * A matrix in the parameters of such a name is the vendor type CoopMat_T_SCOPE_ROWS_COLUMNS_USE,
 * where T tells the component with its sign: f16 f32 f64 s8 u8 s16 u16 s32 u32 s64 u64.
 */
#ifndef HEDDLE_OPENCL_H
#define HEDDLE_OPENCL_H

#include "base/base.h"

struct SpvModule;

typedef struct OclDefine {
    const char *name, *value; /* NULL = 1 */
} OclDefine;

typedef struct OclOptions {
    const char *const *include_dirs;
    uint32_t n_include_dirs;
    const OclDefine *defines;
    uint32_t n_defines;
    bool vulkan;    /* for pass_shader: one function a kernel, structured */
    bool variables; /* not for it: they stay in memory, for debuggers */
} OclOptions;

/* A translation unit: its bytes, and its name for messages and for finding quoted includes. */
typedef struct OclSource {
    const char *text;
    size_t size;
    const char *name;
} OclSource;

/* All report errors through the sink and then return NULL. The texts are in `arena`. */
char *ocl_to_ast(Arena *arena, const OclSource *source, const OclOptions *options, DiagSink *sink);
char *ocl_to_llvm(Arena *arena, const OclSource *source, const OclOptions *options, DiagSink *sink);
/* All the way to SPIR-V. */
struct SpvModule *ocl_compile(Arena *arena, const OclSource *source, const OclOptions *options,
                              DiagSink *sink);

#endif
