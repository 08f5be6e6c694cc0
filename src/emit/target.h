/* SPDX-License-Identifier: MIT
 *
 * target: what emit must be told of a machine. Emission is the same for all but for what is in this
 * table: how many invocations a value is of, where variables live, how memory is reached, what
 * happens at barriers, and in which order blocks are laid out. A target adds rules for opcodes that
 * hang on it (subgroup operations, atomics, images), and takes over matrices by `inst`.
 *
 * All functions are called with e->b where the code goes, on one thread.
 */
#ifndef HEDDLE_EMIT_TARGET_H
#define HEDDLE_EMIT_TARGET_H

#include "emit/emit.h"

/* What a kernel is told by its dispatch. */
typedef enum EmitGiven {
    EMIT_GIVEN_SLOTS,       /* ptr: by slot number a ptr to its descriptors */
    EMIT_GIVEN_COUNTS,      /* ptr: by slot number an i32, how many descriptors it has */
    EMIT_GIVEN_PUSH,        /* ptr: push constants, or an OpenCL kernel's arguments */
    EMIT_GIVEN_SHARED,      /* ptr: workgroup memory */
    EMIT_GIVEN_SHARED_BYTES /* i64: how much there is, with the dispatch's own */
} EmitGiven;

/* A call of printf: its format's id, and the leaves of its arguments, each as 64 bits. */
typedef struct EmitPrint {
    SpvId format;
    LV *words;
    uint32_t n_words;
} EmitPrint;

/* What may be NULL says so; a target has all the rest. */
struct EmitTarget {
    const char *name; /* in messages: "the CPU" */
    bool lanes;       /* a varying leaf is <W x T>; false: an invocation is a thread */
    /* Tables of rules beside emit's own, each with a last row without a function. A NULL ends
     * them, and is there even if they are none. */
    const EmitRule *const *rules;

    /* ---- the function, in this order ---- */
    bool (*begin)(Emit *e); /* the entry block is open; values may be defined */
    bool (*plan)(Emit *e);  /* variables are known */
    /* Emits the blocks, by emit_block_insts, their phis and terminators. */
    void (*blocks)(Emit *e);
    /* Asked first for every instruction. False: not one of its. NULL: none is. */
    bool (*inst)(Emit *e, const SpvInst *i);

    /* ---- for who lays out the blocks: what matrices have to do there. emit calls `prepare`
     * alone, the others are between `blocks` and them, or NULL ---- */
    void (*block_begin)(Emit *e); /* e->position is entered */
    void (*block_end)(Emit *e);   /* before the terminator and the edges */
    /* At the end of block `from`, once for each edge, where its other phi values are stored;
     * positions. On a back edge (to <= from) it may yield. */
    void (*edge)(Emit *e, uint32_t from, uint32_t to);
    /* Before the instructions of a block. NULL: nothing. */
    void (*prepare)(Emit *e, SpvBlock *block);

    /* ---- values ---- */
    /* `v` was computed in the current block. */
    void (*defined)(Emit *e, const SpvInst *i, Value *v);
    /* What `v`, of another block, is in the current one. */
    const Value *(*elsewhere)(Emit *e, const SpvInst *i, const Value *v);
    /* The one value of a <W x T> that all active invocations have alike. NULL without lanes. */
    LV (*uniform)(Emit *e, LV v);

    /* ---- memory ---- */
    LV (*given)(Emit *e, LLVMBuilderRef b, EmitGiven what);
    /* ptr: the descriptors of that slot. NULL: by EMIT_GIVEN_SLOTS, which is not asked for else. */
    LV (*descriptors)(Emit *e, LLVMBuilderRef b, uint32_t slot);
    /* A variable of storage Function or Private: base, and how it is spread over invocations. */
    void (*own_variable)(Emit *e, const SpvInst *variable, Pointer *p);
    /* A copy of `size` bytes that an invocation may change: base and spread. In the entry block. */
    Pointer (*own_copy)(Emit *e, LV from, uint64_t size, uint64_t align);
    /* Leaves of an input variable, in the entry block; affine has room for as many. False after
     * reporting. */
    bool (*builtin)(Emit *e, const SpvInst *variable, LV *leaves, Affine *affine, uint32_t n);
    /* Workgroup memory that starts as zeros, in the entry block; who reads it has waited. */
    void (*zero_shared)(Emit *e, LV base, uint64_t bytes);
    /* Moves p by an index that is <W x T>. NULL without lanes. */
    void (*add_lanes)(Emit *e, Pointer *p, LV index, Affine affine, int64_t stride);
    LV (*address)(Emit *e, const Pointer *p, int64_t byte, uint32_t size);
    void (*load)(Emit *e, const Pointer *p, LV *leaves);
    void (*store)(Emit *e, const Pointer *p, const LV *leaves);
    LV (*load_leaf)(Emit *e, const Pointer *p, int64_t byte, const SpvType *t);
    void (*store_leaf)(Emit *e, const Pointer *p, int64_t byte, const SpvType *t, LV v);
    void (*load_opaque)(Emit *e, const Pointer *p, LV *leaves); /* images and samplers */
    void (*copy_sized)(Emit *e, const SpvInst *i);
    /* Of a load or store: i1, whether all it reaches for is inside, where several accesses share
     * the question; NULL: it asks itself. */
    LV (*inside)(Emit *e, const SpvInst *i);
    /* What an OpLoad of a loop with wait queues looks ahead to. */
    void (*prefetch)(Emit *e, const SpvInst *i, const Pointer *p);
    /* i1 (or lanes of it): whether a generic address leads to workgroup memory, or to an
     * invocation's own. */
    void (*memory_of)(Emit *e, LV address, LV *shared, LV *own);
    /* Before anything that may write memory or wait: what was put off is done by now. */
    void (*settle)(Emit *e);

    void (*print)(Emit *e, const EmitPrint *p);
};

#endif
