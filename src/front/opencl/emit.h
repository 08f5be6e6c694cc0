/* SPDX-License-Identifier: MIT
 *
 * What the files that emit LLVM IR share.
 *
 * A bool is i1 as a value and i8 in memory. A structure or union as a value is a pointer to it in
 * private memory. Nothing here optimises: variables are allocas, as in clang -O0.
 */
#ifndef HEDDLE_OPENCL_EMIT_H
#define HEDDLE_OPENCL_EMIT_H

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#include "front/opencl/internal.h"

typedef struct OclEmit {
    Ocl *o;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder, entry; /* entry: where allocas go */
    LLVMTypeRef i1, i8, i32, i64, void_type;
    OclSymbol *symbol;
    LLVMValueRef function, result; /* result: where a structure goes */
    LLVMBasicBlockRef break_to, continue_to;
    uint32_t strings;
    bool has_arrays, has_matrix_arrays; /* in this function, so far */
    bool tests;                         /* of what is no constant, in the innermost loop, so far */
    /* places.c's; NULL: positions are of no interest */
    LLVMDIBuilderRef places;
    LLVMMetadataRef scope; /* the function */
    const char *scope_file;
} OclEmit;

/* A place that can be read and written: memory, lanes of a vector in it, or bits in it. */
typedef struct OclPlace {
    LLVMValueRef pointer;
    OclType *type;        /* of the whole vector for lanes */
    const uint8_t *lanes; /* a swizzle's */
    uint32_t n;
    LLVMValueRef index; /* one lane, by number */
    const OclMember *bits;
    bool is_volatile;
} OclPlace;

/* emit.c */
LLVMValueRef ocl_emit_function(OclEmit *e, OclSymbol *s); /* declares it, the body comes later */
LLVMValueRef ocl_emit_global(OclEmit *e, OclSymbol *s);
LLVMValueRef ocl_emit_string(OclEmit *e, const OclNode *n);
LLVMValueRef ocl_external(OclEmit *e, const char *name, LLVMTypeRef type, bool pure);

/* places.c */
void ocl_places_begin(OclEmit *e); /* before any function */
void ocl_places_end(OclEmit *e);
void ocl_places_function(OclEmit *e, LLVMValueRef f, const char *name, OclLoc loc);
/* What is built from here on is of that place. Returns what it was of, for ocl_places_back. */
LLVMMetadataRef ocl_places_at(OclEmit *e, OclLoc loc);
void ocl_places_back(OclEmit *e, LLVMMetadataRef to);

/* emit_type.c */
LLVMTypeRef ocl_value_type(OclEmit *e, OclType *t);
LLVMTypeRef ocl_memory_type(OclEmit *e, OclType *t);
LLVMTypeRef ocl_record_llvm(OclEmit *e, OclRecord *r);
LLVMValueRef ocl_constant(OclEmit *e, OclType *t, const OclNode *n); /* as it lies in memory */
bool ocl_has_address(const OclNode *n);                              /* a constant initialiser */
bool ocl_is_whole_address(OclEmit *e, const OclNode *n);             /* of a variable or a string */
LLVMValueRef ocl_constant_value(OclEmit *e, const OclType *t, const OclValue *v);

/* emit_expr.c */
LLVMValueRef ocl_emit_value(OclEmit *e, OclNode *n);
OclPlace ocl_emit_place(OclEmit *e, OclNode *n);
LLVMValueRef ocl_emit_condition(OclEmit *e, OclNode *n); /* i1 */
void ocl_emit_into(OclEmit *e, LLVMValueRef pointer, OclType *t,
                   OclNode *n); /* initialises memory */
LLVMValueRef ocl_load(OclEmit *e, const OclPlace *p);
void ocl_store(OclEmit *e, const OclPlace *p, LLVMValueRef v);
LLVMValueRef ocl_variable(OclEmit *e, OclType *t, const char *name);
void ocl_copy(OclEmit *e, OclType *t, LLVMValueRef to, LLVMValueRef from);
LLVMBasicBlockRef ocl_block(OclEmit *e, const char *name);
void ocl_go(OclEmit *e, LLVMBasicBlockRef to); /* branches unless the block has ended */
void ocl_start(OclEmit *e, LLVMBasicBlockRef b);

/* emit_call.c */
LLVMValueRef ocl_emit_call(OclEmit *e, OclNode *n);
LLVMValueRef ocl_emit_builtin(OclEmit *e, OclNode *n);
LLVMValueRef ocl_emit_mad(OclEmit *e, OclType *t, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z);
LLVMValueRef ocl_emit_matrix(OclEmit *e, OclNode *n);
LLVMValueRef ocl_emit_zeros(OclEmit *e, OclType *t); /* a matrix */

/* emit_stmt.c */
void ocl_emit_statement(OclEmit *e, OclNode *n);
LLVMValueRef ocl_emit_statements(OclEmit *e, OclNode *n); /* in an expression */

#endif
