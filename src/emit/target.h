/* SPDX-License-Identifier: MIT
 *
 * target: what emit needs to know about a machine. This table is all that differs: how many
 * invocations a value stands for, where variables live, how memory is accessed, what a barrier is,
 * and in which order blocks are laid out. A target adds rules for opcodes that depend on it
 * (subgroup operations, atomics, images), and takes over matrices with `inst`.
 *
 * All functions run on one thread, and add code at e->b.
 */
#ifndef HEDDLE_EMIT_TARGET_H
#define HEDDLE_EMIT_TARGET_H

#include "emit/emit.h"

/* What a dispatch passes to a kernel. */
typedef enum EmitGiven {
    EMIT_GIVEN_SLOTS,  /* ptr: an array by slot number, of pointers to the slot's descriptors */
    EMIT_GIVEN_COUNTS, /* ptr: an array of i32 by slot number, the number of its descriptors */
    EMIT_GIVEN_PUSH,   /* ptr: push constants, or an OpenCL kernel's arguments */
    EMIT_GIVEN_SHARED, /* ptr: workgroup memory */
    EMIT_GIVEN_SHARED_BYTES, /* i64: its size, with what the dispatch adds */
    EMIT_GIVEN_OUTPUT        /* ptr: an i32, PassCoarse.groups if they were done; of Emit.output */
} EmitGiven;

/* A call of printf: the id of its format, and the leaves of its arguments as 64 bits each. Beside
 * them the characters that the format, and what a word points to, is where the module tells; else
 * NULL. */
typedef struct EmitPrint {
    SpvId format;
    LV *words;
    uint32_t n_words;
    const char *text, **texts;
} EmitPrint;

/* All functions must be there unless their comment says that they may be NULL. */
struct EmitTarget {
    const char *name; /* in messages: "the CPU" */
    bool lanes;       /* a varying leaf is <W x T>; false: an invocation is a thread */
    /* Tables of rules beside emit's own, each ended by a row without a function. The list ends with
     * a NULL, and is never NULL itself. */
    const EmitRule *const *rules;

    /* ---- the function, in this order ---- */
    bool (*begin)(Emit *e); /* the entry block is open; may define values */
    bool (*plan)(Emit *e);  /* variables are known */
    /* Emits the blocks (with emit_block_insts), their phis and their terminators. */
    void (*blocks)(Emit *e);
    /* Called first for every instruction. False: it did not handle it. NULL: it handles none. */
    bool (*inst)(Emit *e, const SpvInst *i);

    /* ---- for who lays out the blocks: what matrices have to do there. emit calls `prepare`
     * alone, the others are between `blocks` and them, or NULL ---- */
    void (*block_begin)(Emit *e); /* block e->position is entered */
    void (*block_end)(Emit *e);   /* before the terminator and the edges */
    /* At the end of block `from`, once for each edge (positions), when the edge's other phis have
     * been stored. On a back edge (to <= from) it may yield. */
    void (*edge)(Emit *e, uint32_t from, uint32_t to);
    /* Called before the instructions of a block. NULL: nothing to do. */
    void (*prepare)(Emit *e, SpvBlock *block);
    /* Called before an instruction, with its place in the source. NULL: nothing to do. */
    void (*reached)(Emit *e, const SpvInst *i);

    /* ---- values ---- */
    /* Called when `v` has been computed, in the current block. */
    void (*defined)(Emit *e, const SpvInst *i, EmitValue *v);
    /* What `v`, which was computed in another block, is in the current one. */
    const EmitValue *(*elsewhere)(Emit *e, const SpvInst *i, const EmitValue *v);
    /* The scalar that all active invocations have alike in a <W x T>. NULL without lanes. */
    LV (*uniform)(Emit *e, LV v);

    /* ---- memory ---- */
    LV (*given)(Emit *e, LLVMBuilderRef b, EmitGiven what);
    /* ptr: the descriptors of that slot. NULL: they are found by EMIT_GIVEN_SLOTS, which is not
     * used otherwise. */
    LV (*descriptors)(Emit *e, LLVMBuilderRef b, uint32_t slot);
    /* A variable in storage Function or Private: sets its base, and how it is spread over
     * invocations. */
    void (*own_variable)(Emit *e, const SpvInst *variable, EmitPointer *p);
    /* A copy of `size` bytes that an invocation may change: its base and spread. Called in the
     * entry block. */
    EmitPointer (*own_copy)(Emit *e, LV from, uint64_t size, uint64_t align);
    /* The leaves of an input variable, in the entry block; affine has room for as many. False after
     * reporting. */
    bool (*builtin)(Emit *e, const SpvInst *variable, LV *leaves, EmitAffine *affine, uint32_t n);
    /* Fills workgroup memory with zeros, in the entry block, and waits until it is done. */
    void (*zero_shared)(Emit *e, LV base, uint64_t bytes);
    /* Moves p by an index that is <W x T>. NULL without lanes. */
    void (*add_lanes)(Emit *e, EmitPointer *p, LV index, EmitAffine affine, int64_t stride);
    LV (*address)(Emit *e, const EmitPointer *p, int64_t byte, uint32_t size);
    void (*load)(Emit *e, const EmitPointer *p, LV *leaves);
    void (*store)(Emit *e, const EmitPointer *p, const LV *leaves);
    LV (*load_leaf)(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t);
    void (*store_leaf)(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t, LV v);
    void (*load_opaque)(Emit *e, const EmitPointer *p, LV *leaves); /* images and samplers */
    void (*copy_sized)(Emit *e, const SpvInst *i);
    /* For a load or store: i1, whether all that it accesses is inside, if several accesses share
     * that test; NULL: the access tests for itself. */
    LV (*inside)(Emit *e, const SpvInst *i);
    /* Prefetches for an OpLoad in a loop with wait queues, or in one that leaps through memory. */
    void (*prefetch)(Emit *e, const SpvInst *i, const EmitPointer *p);
    /* Loads together with loads that follow, or takes what was loaded with one before. False: it is
     * to be loaded alone. NULL: always. */
    bool (*load_together)(Emit *e, const SpvInst *i, const EmitPointer *p, LV *leaves);
    /* i1 (or lanes of it): whether a generic address points to workgroup memory, or to an
     * invocation's own. */
    void (*memory_of)(Emit *e, LV address, LV *shared, LV *own);
    /* Called before anything that may write memory or wait: finishes what was put off. */
    void (*settle)(Emit *e);

    void (*print)(Emit *e, const EmitPrint *p);

    /* ---- arithmetic ---- */
    /* What the machine computes by itself, within the API's precision: a function of GLSL.std.450,
     * or, of number 0, x / y. NULL: emit has to; as a member, of everything. */
    LV (*approximate)(Emit *e, const SpvInst *i, uint32_t number, LV x, LV y);
    /* OpDot, of vectors with n components. NULL: emit has to compute it; as a member, always. */
    LV (*dot)(Emit *e, const SpvInst *i, const LV *x, const LV *y, uint32_t n);
    /* The dot product, in 32 bits, of the four bytes of x and of y. NULL: emit has to compute it;
     * as a member, always. */
    LV (*dot4)(Emit *e, LV x, LV y, bool x_signed, bool y_signed);
    /* A wider float, where the machine has more for it than arith_convert assumes. NULL: it does
     * not; as a member, never. */
    LV (*widen)(Emit *e, LV x, IrComp from, IrComp to);
};

#endif
