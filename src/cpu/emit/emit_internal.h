/* SPDX-License-Identifier: MIT
 *
 * What emit.c, flow.c, value.c, memory.c, image.c and builtin.c tell each other and nobody else.
 */
#ifndef HEDDLE_CPU_EMIT_EMIT_INTERNAL_H
#define HEDDLE_CPU_EMIT_EMIT_INTERNAL_H

#include "cpu/emit/emit.h"

/* emit.c */
const EmitRule *emit_rule(const Emit *e, uint16_t op);
void emit_inst(Emit *e, const SpvInst *i);
void emit_open_function(Emit *e);                   /* builders for the body of e->fn */
void emit_close_function(Emit *e);
void emit_block_insts(Emit *e, SpvBlock *block);    /* all but the terminator */

/* called.c */
void called_return(Emit *e, const SpvInst *i);      /* OpReturnValue, for the active lanes */
void called_exit(Emit *e);                          /* ends the function */
/* What is uniform in the entry point, beside which such functions may be left. */
Uniformity *called_uniformity(Arena *a, SpvModule *m, const Cfg *c, uint32_t W, DiagSink *sink);

/* value.c */
void value_begin(Emit *e);
/* Of a parameter: good everywhere. */
void value_set_parameter(Emit *e, const SpvInst *i, const LV *leaves);
void value_set_affine(Emit *e, const SpvInst *i, const LV *leaves, uint32_t n,
                      const Affine *affine);

/* slot.c: variables of the linearised function, which become SSA values. */
typedef struct Slot Slot;
Slot *slot_new(Emit *e, LT type, uint32_t home, bool zero);
void slot_store(Emit *e, const Slot *s, LV v);      /* at the current place */
LV slot_load(Emit *e, const Slot *s);

/* affine.c */
Affine value_affine(Emit *e, const Value *v, uint32_t k);
/* The scalars in an Affine, kept for other blocks. */
typedef struct AffineSlots { Slot *of[AFFINE_GROUPS + 1]; } AffineSlots;
void affine_store(Emit *e, AffineSlots *slots, uint32_t home, const Affine *a);
Affine affine_load(Emit *e, const AffineSlots *slots, Affine a);
/* What two numbers have in common: both are brought to the smaller group, and their condition. */
Affine affine_join(Emit *e, Affine *a, Affine *b);
void affine_result(Emit *e, const SpvInst *i, Value *v);    /* fills v->affine */

/* flow.c */
enum { SLOT_NONE, SLOT_PLAIN, SLOT_MASKED };
bool flow_plan(Emit *e);                            /* after value_begin, memory_begin */
void flow_emit(Emit *e);
int flow_needs_slot(const Emit *e, SpvId id);
uint32_t flow_slot_home(const Emit *e, SpvId id);
void flow_barrier(Emit *e);                         /* waits for the workgroup's other subgroups */
LLVMBuilderRef flow_top(Emit *e);                   /* at the top of the current block */

/* memory.c */
bool memory_begin(Emit *e);
/* For a function that `caller` calls. */
void memory_begin_called(Emit *e, const Emit *caller);
Pointer *memory_variable(Emit *e, const SpvInst *variable);
Pointer *memory_pointer_from_leaves(Emit *e, const SpvType *type, const LV *leaves,
                                    const Affine *affine);
/* cheap address arithmetic: emitted again where used */
bool memory_is_chain(Emit *e, const SpvInst *i);
void memory_chain_again(Emit *e, const SpvInst *i);
void memory_bitcast(Emit *e, const SpvInst *i);     /* OpBitcast from or to a pointer */
/* Moves a pointer by `index` times `stride` bytes. */
void memory_add_index(Emit *e, Pointer *p, SpvId index, int64_t stride);
void memory_before_write(Emit *e, const Pointer *p);
/* Of a Function or Private variable that can be addressed: for all lanes. */
uint64_t memory_private_bytes(Emit *e, SpvId variable);
LV memory_dropped(Emit *e);                         /* 64 bytes that nobody reads */
void memory_load_builtin(Emit *e, const Pointer *p, LV *leaves);

/* address.c */
/* A scalar of an access, `byte` bytes into the pointee. */
typedef struct AccessPart { int64_t byte; const SpvType *type; } AccessPart;
bool address_checked(Emit *e, const Pointer *p);    /* robust access asks whether it is inside */
/* Bytes behind base, modulo 2^64: i64 or <W x i64>. Not for LAYOUT_LANES. */
LV address_offset(Emit *e, const Pointer *p, int64_t byte);
/* base + (offset + constant + byte) * scale: without the lanes' part */
LV address_uniform(Emit *e, const Pointer *p, int64_t byte, int64_t scale);
LV address_group(Emit *e, const Pointer *p, int64_t byte, uint32_t group); /* its first lane's */
LV address_clamp(Emit *e, LV x, int64_t least, int64_t most);   /* signed, lane-wise */
int64_t address_lane_stride(const Pointer *p);      /* bytes between lanes of a group */
/* i1: whether by their group's first, without wrapping, all lanes are signed numbers from least to
 * most. NULL: the firsts are not known. */
LV address_firsts_within(Emit *e, const Affine *a, int64_t least, int64_t most);
/* i1: whether all groups of lanes are inside, by the address of their first. NULL where each lane
 * must be asked, or need not. */
LV address_all_inside(Emit *e, const Pointer *p, const AccessPart *part, uint32_t n);
/* The same for several accesses, by one test for as many as possible; test[k] stays NULL where the
 * access must ask itself. */
void access_inside(Emit *e, const Pointer *p, uint32_t n, LV *test);

void memory_copy_sized(Emit *e, const SpvInst *i);   /* copy.c */

/* access.c: the scalars of the pointee, in order */
AccessPart *access_parts(Emit *e, const Pointer *p, uint32_t *n);

/* together.c: accesses of a block that share a test */
void together_block(Emit *e, SpvBlock *block);      /* before its first instruction */
/* What that test says of a load or store, i1; NULL: it has none. */
LV together_inside(Emit *e, const SpvInst *i);

/* image.c */
bool emit_is_opaque(const SpvType *t);              /* (an array of) images, samplers or both */
void image_load(Emit *e, const Pointer *p, LV *leaves);

/* kernel.c */
bool kernel_begin(Emit *e);
/* In the entry block; false: none of the kernel's. */
bool kernel_parameter(Emit *e, const SpvInst *i, Value *v);
void kernel_variable(Emit *e, const SpvInst *variable, Pointer *p);

/* builtin.c */
bool builtin_begin(Emit *e);                        /* entry mask, lane ids */
/* Leaves of an input variable, in the entry block; affine has room for as many. False after
 * reporting. */
bool builtin_value(Emit *e, const SpvInst *variable, LV *leaves, Affine *affine, uint32_t n);

#endif
