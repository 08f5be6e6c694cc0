/* SPDX-License-Identifier: MIT
 *
 * ir: what building LLVM IR takes again and again, for scalars and vectors alike. Nothing here
 * knows of lanes, invocations or SPIR-V. As with LLVM's own builder, operations on constants give
 * constants.
 */
#ifndef HEDDLE_LLVM_IR_H
#define HEDDLE_LLVM_IR_H

#include <llvm-c/Core.h>
#include <llvm/Config/llvm-config.h>
#include <stdbool.h>
#include <stdint.h>

enum { IR_MAX_LANES = 1024 }; /* of vectors that are shuffled, and of constant ones */

/* ---- types ----------------------------------------------------------------------------------- */

LLVMTypeRef ir_element(LLVMTypeRef t);     /* of a vector; of a scalar itself */
LLVMTypeRef ir_element_of(LLVMValueRef v); /* of its type */
/* `like` with its element type replaced: the same number of lanes. */
LLVMTypeRef ir_type_like(LLVMTypeRef like, LLVMTypeRef element);
bool ir_is_vector(LLVMValueRef v);

/* ---- constants, in every lane where the type is a vector ------------------------------------- */

LLVMValueRef ir_int(LLVMTypeRef t, uint64_t x); /* x's low bits; sign-extended past 64 */
LLVMValueRef ir_real(LLVMTypeRef t, double x);
LLVMValueRef ir_inum(LLVMValueRef like, uint64_t x); /* of the type of `like` */
LLVMValueRef ir_fnum(LLVMValueRef like, double x);
bool ir_is_int(LLVMValueRef v, uint64_t x); /* a scalar constant of that value */

/* ---- vectors --------------------------------------------------------------------------------- */

LLVMValueRef ir_splat(LLVMBuilderRef b, LLVMValueRef x, uint32_t n); /* <n x T> of a T */
LLVMValueRef ir_splatted(LLVMValueRef v); /* which T, of no constant's; NULL: it is no splat */
/* <n x T> whose lane k is lane lanes[k] of x and y one behind the other, poison where that is
 * negative. y NULL: poison. */
LLVMValueRef ir_shuffle(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, const int *lanes,
                        uint32_t n);
LLVMValueRef ir_part(LLVMBuilderRef b, LLVMValueRef v, uint32_t from, uint32_t n); /* n lanes */
/* n vectors of one type, a power of two, one behind the other. Overwrites them. */
LLVMValueRef ir_concatenate(LLVMBuilderRef b, LLVMValueRef *v, uint32_t n);

/* ---- memory ---------------------------------------------------------------------------------- */

/* p + bytes, an integer or a vector of them: getelementptr of bytes, and one with `inbounds`, which
 * promises that both ends are of one object. */
LLVMValueRef ir_at(LLVMBuilderRef b, LLVMValueRef p, LLVMValueRef bytes);
LLVMValueRef ir_at_inbounds(LLVMBuilderRef b, LLVMValueRef p, LLVMValueRef bytes);
LLVMValueRef ir_load(LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef p, unsigned align);
void ir_store(LLVMBuilderRef b, LLVMValueRef v, LLVMValueRef p, unsigned align);

/* ---- intrinsics ------------------------------------------------------------------------------ */

/* Calls the overloaded intrinsic `name` ("llvm.fma"), overloaded on `types`. */
LLVMValueRef ir_intrinsic(LLVMBuilderRef b, const char *name, LLVMTypeRef *types, unsigned n_types,
                          LLVMValueRef *args, unsigned n_args);
/* Of one and two operands, overloaded on their type. */
LLVMValueRef ir_unary(LLVMBuilderRef b, const char *name, LLVMValueRef x);
LLVMValueRef ir_binary(LLVMBuilderRef b, const char *name, LLVMValueRef x, LLVMValueRef y);
/* The lesser and the greater of two numbers; of a number and a NaN, a signalling one too, the
 * number. */
LLVMValueRef ir_lesser(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef ir_greater(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y);
/* For masked accesses: loads and gathers of (address, mask, other), number 0 the address; stores
 * and scatters of (value, address, mask), number 1. */
LLVMValueRef ir_masked(LLVMBuilderRef b, const char *name, const LLVMValueRef args[3],
                       unsigned address, unsigned align);
/* The same of a call that there is; returns the alignment. */
unsigned ir_masked_args(LLVMValueRef call, unsigned address, LLVMValueRef args[3]);
bool ir_calls(LLVMValueRef i, const char *intrinsic); /* of any types */
/* An instruction on vectors of 16, 32 and 64 bytes: x86's dot products of bytes. */
typedef struct IrForms {
    const char *name[3];
} IrForms;
extern const IrForms ir_vpdpbusd, ir_vpmaddubsw, ir_vpmaddwd;

/* The target's assembly, with LLVM's constraints. */
typedef struct IrAsm {
    const char *text, *constraints;
    bool has_effects;
} IrAsm;
enum { IR_MAX_ASM = 256 }; /* arguments */
LLVMValueRef ir_asm(LLVMBuilderRef b, const IrAsm *code, LLVMTypeRef result, LLVMValueRef *args,
                    unsigned n);

/* Metadata without operands: the instruction is of that kind. */
void ir_mark(LLVMValueRef i, const char *kind);
/* A conditional branch nearly always goes to its first target, or to its second. */
void ir_expect(LLVMValueRef branch, bool first);

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Moves what stands before `cut`, which is not a phi, to a new block in front of its block, to
 * which all branches lead then. Returns it, with the builder at its end. */
LLVMBasicBlockRef ir_cut_before(LLVMBuilderRef b, LLVMBasicBlockRef block, LLVMValueRef cut);
/* Before what follows an instruction; of a phi, before what is none. */
void ir_build_behind(LLVMBuilderRef b, LLVMValueRef i);
void ir_build_at_top(LLVMBuilderRef b, LLVMBasicBlockRef block); /* behind phis */

/* ---- LLVM 19 -------------------------------------------------------------------------------- */

#if LLVM_VERSION_MAJOR < 20
/* Its C API has no scopes of atomics. All are the whole system's here, as wide as any other scope,
 * so that the code is right and no more than slower. */
#define LLVMGetSyncScopeID(context, name, length) ((void)(context), (void)(name), 0u)
#define LLVMSetAtomicSyncScopeID(inst, scope)     ((void)(scope))
#define LLVMBuildFenceSyncScope(b, order, scope, name)                                             \
    ((void)(scope), LLVMBuildFence(b, order, false, name))
#define LLVMBuildAtomicRMWSyncScope(b, op, at, value, order, scope)                                \
    ((void)(scope), LLVMBuildAtomicRMW(b, op, at, value, order, false))
#define LLVMBuildAtomicCmpXchgSyncScope(b, at, expected, value, success, failure, scope)           \
    ((void)(scope), LLVMBuildAtomicCmpXchg(b, at, expected, value, success, failure, false))
#endif

#endif
