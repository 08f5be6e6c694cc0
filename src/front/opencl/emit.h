/* SPDX-License-Identifier: MIT
 *
 * What the files that make LLVM IR tell each other.
 *
 * A bool is i1 as a value and i8 in memory. A structure or union as a value is a pointer to it in
 * private memory. Nothing here optimises: variables are allocas, as in clang -O0.
 */
#ifndef HEDDLE_OPENCL_EMIT_H
#define HEDDLE_OPENCL_EMIT_H

#include <llvm-c/Core.h>

#include "front/opencl/internal.h"

typedef struct Emit {
    Ocl *o;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder, entry;      /* entry: where allocas go */
    LLVMTypeRef i1, i8, i32, i64, void_type;
    Symbol *symbol;
    LLVMValueRef function, result;      /* result: where a structure goes */
    LLVMBasicBlockRef break_to, continue_to;
    uint32_t strings;
    bool has_matrix_arrays;             /* in this function, so far */
} Emit;

/* A place that can be read and written: memory, lanes of a vector in it, or bits in it. */
typedef struct Place {
    LLVMValueRef pointer;
    Type *type;                         /* of the whole vector for lanes */
    const uint8_t *lanes;               /* a swizzle's */
    uint32_t n;
    LLVMValueRef index;                 /* one lane, by number */
    const Member *bits;
    bool is_volatile;
} Place;

/* emit.c */
LLVMValueRef ocl_emit_function(Emit *e, Symbol *s);     /* declares it, the body comes later */
LLVMValueRef ocl_emit_global(Emit *e, Symbol *s);
LLVMValueRef ocl_emit_string(Emit *e, const Node *n);
LLVMValueRef ocl_external(Emit *e, const char *name, LLVMTypeRef type, bool pure);

/* emit_type.c */
LLVMTypeRef ocl_value_type(Emit *e, Type *t);
LLVMTypeRef ocl_memory_type(Emit *e, Type *t);
LLVMTypeRef ocl_record_llvm(Emit *e, Record *r);
LLVMValueRef ocl_constant(Emit *e, Type *t, const Node *n);     /* as it lies in memory */
bool ocl_has_address(const Node *n);                    /* a constant initialiser */
bool ocl_is_whole_address(Emit *e, const Node *n);      /* of a variable or a string */
LLVMValueRef ocl_constant_value(Emit *e, const Type *t, const Value *v);

/* emit_expr.c */
LLVMValueRef ocl_emit_value(Emit *e, Node *n);
Place ocl_emit_place(Emit *e, Node *n);
LLVMValueRef ocl_emit_condition(Emit *e, Node *n);      /* i1 */
void ocl_emit_into(Emit *e, LLVMValueRef pointer, Type *t, Node *n);    /* initialises memory */
LLVMValueRef ocl_load(Emit *e, const Place *p);
void ocl_store(Emit *e, const Place *p, LLVMValueRef v);
LLVMValueRef ocl_variable(Emit *e, Type *t, const char *name);
void ocl_copy(Emit *e, Type *t, LLVMValueRef to, LLVMValueRef from);
LLVMBasicBlockRef ocl_block(Emit *e, const char *name);
void ocl_go(Emit *e, LLVMBasicBlockRef to);     /* branches unless the block has ended */
void ocl_start(Emit *e, LLVMBasicBlockRef b);

/* emit_call.c */
LLVMValueRef ocl_emit_call(Emit *e, Node *n);
LLVMValueRef ocl_emit_builtin(Emit *e, Node *n);
LLVMValueRef ocl_emit_matrix(Emit *e, Node *n);
LLVMValueRef ocl_emit_zeros(Emit *e, Type *t);          /* a matrix */

/* emit_stmt.c */
void ocl_emit_statement(Emit *e, Node *n);
LLVMValueRef ocl_emit_statements(Emit *e, Node *n);     /* in an expression */

#endif
