/* SPDX-License-Identifier: MIT
 *
 * What the files of emit/ tell each other and nobody else.
 */
#ifndef HEDDLE_EMIT_INTERNAL_H
#define HEDDLE_EMIT_INTERNAL_H

#include "emit/emit.h"
#include "emit/target.h"

/* Tables of rules. The last row of each has no function. */
extern const EmitRule emit_rules_value[];   /* value.c */
extern const EmitRule emit_rules_arith[];   /* ops.c: arithmetic, bits, extended instructions */
extern const EmitRule emit_rules_memory[];  /* memory.c */
extern const EmitRule emit_rules_pointer[]; /* debug.c */
void debug_begin(Emit *e);
void debug_end(Emit *e);

/* pointer.c */
extern const EmitRule emit_rules_address[]; /* address.c */
extern const EmitRule emit_rules_tensor[];  /* tensor.c: tensor layouts and views */

/* value.c */
void value_begin(Emit *e);

/* variables.c */
bool variables_begin(Emit *e);
/* for a function that e->caller calls */
void variables_begin_called(Emit *e);
EmitPointer *variable_pointer(Emit *e, const SpvInst *variable);
typedef struct EmitInput {
    LV *leaves;
    EmitAffine *affine;
    uint32_t n;
} EmitInput;
const EmitInput *variable_input(Emit *e, SpvId variable); /* the leaves of an input variable */
/* Sets the base and the limit to those of the descriptor's buffer. */
void variable_use_descriptor(Emit *e, LLVMBuilderRef b, EmitPointer *p, LV descriptor);

/* pointer.c */
EmitPointer *pointer_from_leaves(Emit *e, const SpvType *type, const LV *leaves,
                                 const EmitAffine *affine);
/* Moves a pointer by `index` times `stride` bytes. */
void pointer_add_index(Emit *e, EmitPointer *p, SpvId index, int64_t stride);
LV pointer_to_address(Emit *e, LV pointer); /* lane-wise, as i64 */
LV pointer_from_address(Emit *e, LV address);

/* address.c */
void address_bitcast(Emit *e, const SpvInst *i); /* OpBitcast from or to a pointer */

/* arguments.c */
bool arguments_begin(Emit *e);
/* A parameter's value, in the entry block. False: `i` is no parameter of a kernel. */
bool arguments_value(Emit *e, const SpvInst *i, EmitValue *v);
void arguments_variable(Emit *e, const SpvInst *variable, EmitPointer *p);

#endif
