/* SPDX-License-Identifier: MIT
 *
 * LLVM IR to SPIR-V: LLVM's own SPIR-V target makes the instructions, link.c turns the calls
 * that it leaves into instructions.
 */
#ifndef HEDDLE_OPENCL_SPIRV_TARGET_H
#define HEDDLE_OPENCL_SPIRV_TARGET_H

#include "spirv/spirv.h"

struct LLVMOpaqueContext;
struct LLVMOpaqueModule;
struct LLVMOpaqueValue;

/* A kernel's attribute: where it is in the source, "line:column:file". */
#define OCL_PLACE "heddle.place"

typedef enum OclSpirv {
    OCL_SPIRV_KERNELS,
    OCL_SPIRV_STRUCTURED,    /* selections and loops nest, each with one way out: for pass_shader */
    OCL_SPIRV_WITH_VARIABLES /* of numbers, for debuggers */
} OclSpirv;

/* The module in SPIR-V for OpenCL: Kernel, Physical64. Takes `ir` and its context, whatever comes
 * of it. `name` is what diagnostics call the module. NULL after reporting. */
SpvModule *ocl_spirv(Arena *arena, struct LLVMOpaqueModule *ir, OclSpirv form, const char *name,
                     DiagSink *sink);

/* pointers.c: the pointers in memory that is not constant are integers, and truncations that are
 * widened again masks. */
void ocl_lower_pointers(struct LLVMOpaqueModule *m);

/* places.c: debug locations become parts of names, and these, in the module that LLVM's target
 * made, the positions of instructions. */
void ocl_name_places(struct LLVMOpaqueModule *m);
void ocl_take_places(SpvModule *m);
/* Names an instruction that has a debug location, a variable that is kept for debuggers. */
void ocl_name_kept(struct LLVMOpaqueValue *variable, const char *name);
bool ocl_is_kept(struct LLVMOpaqueValue *variable);

/* keep.c: variables of numbers stay in memory, beside what becomes of them. */
void ocl_keep_variables(struct LLVMOpaqueModule *m);
/* Those of inlined functions too, which LLVM says end with these. */
void ocl_keep_inlined(struct LLVMOpaqueModule *m);

/* loops.c: hints how to unroll loops are in the names of their first blocks. */
void ocl_name_loops(struct LLVMOpaqueModule *m);

/* Calls of functions without a body that are named after an instruction become it. Names are plain
 * or Itanium-mangled, and may end in anything that begins with '.' or '_':
 *
 *     __spirv_FAdd, __spirv_MatrixTimesScalar, ...    any instruction of ids alone
 *     __spirv_CooperativeMatrixBinaryAdd Sub Mul Div, __spirv_CooperativeMatrixScalarMul Neg
 *
 * which of the latter's instructions it is, the matrix's component says; of a division a name that
 * contains "CoopMat_u" that it is unsigned. So do calls of OpenCL C's functions that LLVM's target
 * does not know. Modules whose memory model is not OpenCL's stay as they are. False after reporting
 * a call that does not fit. */
bool ocl_link(SpvModule *m, DiagSink *sink);

#endif
