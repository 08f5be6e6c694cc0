/* SPDX-License-Identifier: MIT
 *
 * What the files of nvptx/ tell each other and nobody else.
 */
#ifndef HEDDLE_NVPTX_INTERNAL_H
#define HEDDLE_NVPTX_INTERNAL_H

#include "emit/ops.h"
#include "emit/target.h"
#include "nvptx/nvptx.h"

#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>

/* NVPTX's address spaces. */
enum { SPACE_GENERIC = 0, SPACE_GLOBAL = 1, SPACE_SHARED = 3, SPACE_CONSTANT = 4, SPACE_LOCAL = 5 };

/* target.c: the table that emit knows threads by */
extern const EmitTarget threads_target;
/* How large the kernel's parameter is, once that is known: a multiple of 8. */
void threads_set_parameter(Emit *e, uint32_t bytes);
LV threads_env(Emit *e, LLVMBuilderRef b, LT type, size_t offset); /* a field of NvptxEnv */
LV threads_register(Emit *e, const char *name); /* a special register: "tid.x"; i32 */
/* A call of an intrinsic that is not overloaded, of that type, declared here where need be. */
LV threads_call(Emit *e, const char *name, LT result, LV *args, unsigned n);
/* PTX that a whole warp runs together. */
LV threads_asm(Emit *e, const IrAsm *code, LT result, LV *args, unsigned n);

/* builtin.c */
bool threads_builtin(Emit *e, const SpvInst *variable, LV *leaves, EmitAffine *affine, uint32_t n);
LV threads_lane(Emit *e);        /* i32, of the subgroup; in the entry block */
LV threads_local_index(Emit *e); /* i32, here */
/* i1, where workgroups are fused: whether the dispatch has this one. The others take the number of
 * one that it has. */
LV threads_exists(Emit *e);
LV threads_invocations(Emit *e); /* of the workgroup */
LV threads_local_size(Emit *e, uint32_t axis);
LV threads_members(Emit *e); /* i32: the warp's lanes that the subgroup has */

/* access.c */
LV threads_address(Emit *e, const EmitPointer *p, int64_t byte, uint32_t size);
void threads_load(Emit *e, const EmitPointer *p, LV *leaves);
void threads_store(Emit *e, const EmitPointer *p, const LV *leaves);
/* Those that were put off. */
void threads_store_later(Emit *e);
/* What comes before an instruction, and the instruction if it is one that matrix.c knows. */
bool threads_inst(Emit *e, const SpvInst *i);
LV threads_load_leaf(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t);
void threads_store_leaf(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t, LV v);
void threads_copy_sized(Emit *e, const SpvInst *i);
/* The address in the address space of the memory that p's storage class names. */
LV threads_narrowed(Emit *e, const EmitPointer *p, LV address);
/* i1: whether [byte, byte + size) is inside; NULL: no need to ask. */
LV threads_inside(Emit *e, const EmitPointer *p, int64_t byte, uint32_t size);

/* access.c: two ways of an access, without tests where all of it is inside (which comes first) and
 * with them. either_next ends the one and goes on with the other, then behind both; it returns the
 * block that ended. */
typedef struct NvptxEither {
    LLVMBasicBlockRef edge, done;
} NvptxEither;
NvptxEither either_begin(Emit *e, LV inside);
LLVMBasicBlockRef either_next(Emit *e, const NvptxEither *x, LLVMBasicBlockRef next);

/* flow.c */
bool threads_plan(Emit *e);
void threads_blocks(Emit *e);
/* Whether all of the subgroup's invocations that there are run the current block together. */
bool threads_together(const Emit *e);
unsigned threads_scope(Emit *e, uint32_t scope); /* LLVM's number of a SpvScope */
void threads_fence(Emit *e, uint32_t scope, uint32_t semantics);
void threads_barrier(Emit *e);

extern const EmitRule threads_rules_flow[], threads_rules_subgroup[], threads_rules_atomic[],
    threads_rules_group[];

/* group.c: of a whole workgroup */
void threads_group_inst(Emit *e, const SpvInst *i);

/* subgroup.c: what a thread's `mask` names are the lanes that run the current block together */
LV threads_mask(Emit *e);
/* A word of lanes of the warp, as one of the subgroup's. */
LV threads_from_warp(Emit *e, LV word);
/* Lane `lane`'s value of v, a scalar of any type; lanes that are not there give anything. */
LV threads_shuffle(Emit *e, LV mask, LV v, LV lane);

/* matrix.c: matrices that lower/ left, of 16 x 16 tiles, each an array of 8 elements */
bool threads_matrices(Emit *e); /* rewrites the types of e->module; false after reporting */
bool threads_matrix_inst(Emit *e, const SpvInst *i);
/* Bytes of low and high by number, the first in the selector's lowest digit. */
LV threads_bytes_of(Emit *e, LV low, LV high, uint32_t selector);
void threads_load_matrices(Emit *e); /* those that were put off */

/* math.c: EmitTarget.approximate */
LV threads_approximate(Emit *e, const SpvInst *i, uint32_t number, LV x, LV y);

/* print.c: EmitTarget.print, and what the host shows it by: true unless there is no memory */
void threads_print(Emit *e, const EmitPrint *p);
bool prints_keep(const Emit *e, NvptxKernel *k);
void prints_free(NvptxKernel *k);

/* masks.c: the warp's ballot. It has no effect, so that LLVM removes what nobody reads. */
#define NVPTX_VOTE "llvm.nvvm.vote.ballot.sync"
LV masks_vote(LLVMBuilderRef b, LV mask, LV condition);

/* masks.c: calls of MASK_NAME stand for masks. The first makes the function structured. */
#define MASK_NAME "heddle_mask"
LLVMErrorRef masks_structure(LLVMModuleRef module, LLVMTargetMachineRef machine);
void masks_resolve(LLVMModuleRef module, LV kernel, LV members);
/* Calls of NEVER_NAME, which is false, hold blocks in their loops until then. */
#define NEVER_NAME "heddle_never"
void masks_close(LLVMModuleRef module);

enum { NVPTX_KERNEL_CONVENTION = 71 }; /* LLVM's calling convention of kernels */

/* doubles.c: defines what the C library would; false: says why it cannot. */
bool doubles_define(LLVMModuleRef module, char *said, size_t size);

/* ptx.c */
typedef struct NvptxRequest {
    const char *isa;
    bool optimise;
    LV members; /* the warp's lanes that exist, where calls of MASK_NAME remain; else NULL */
    NvptxEmit emit;
} NvptxRequest;
/* Takes the module and its context; fills in out->ptx and text. False after reporting. */
bool ptx_of_module(LLVMModuleRef module, LLVMContextRef context, const NvptxRequest *r,
                   NvptxKernel *out, DiagSink *sink);

/* Of one function: Emit.own. */
typedef struct NvptxThreads {
    LV lane, members; /* NULL: not asked for yet */
    bool has_masks;
    bool exact;
    uint32_t capability;             /* of the target: 90 for sm_90a */
    LLVMBasicBlockRef *first, *last; /* by Cfg position: where it begins and ends */
    LLVMBasicBlockRef *stays;        /* NULL, or the block that leads back (flow.c) */
    LLVMBasicBlockRef exit;
    struct NvptxMatrices *matrices; /* matrix.c's */
    bool has_matrices;
    struct NvptxLater *later; /* access.c's */
    VEC(const EmitPrint *) prints;
    struct NvptxFusion *fusion; /* fuse.c's; NULL: a block is a workgroup */
} NvptxThreads;
static inline NvptxThreads *threads_of(const Emit *e) { return e->own; }

#endif
