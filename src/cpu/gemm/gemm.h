/* SPDX-License-Identifier: MIT
 *
 * gemm: register-blocked multiply-add kernels as LLVM functions, one a shape.
 *
 * A group is a grid of rows x cols accumulator tiles of M x N, each receiving the sum of `steps`
 * products of an M x K and a K x N tile; the tiles of a grid row share their A tiles, those of a
 * column their B tiles. gemm_call writes the tiles' addresses into a table and calls the shape's
 * function, which packs what must be packed and runs the micro-kernel. Design rules 1 to 4, 9 and
 * 10 of docs/PERFORMANCE.md.
 */
#ifndef HEDDLE_CPU_GEMM_GEMM_H
#define HEDDLE_CPU_GEMM_GEMM_H

#include "cpu/machine/machine.h"
#include "llvm/comp.h"

/* A tile in memory: address of element (0, 0) and the bytes from one row (column-major: column) to
 * the next. In an even shape an operand's first step stands for all, `apart` bytes from one to the
 * next. */
typedef struct GemmView {
    LLVMValueRef ptr, stride, apart;
} GemmView;

typedef struct GemmShape {      /* compared as bytes: zero-initialise */
    uint16_t M, N, K;           /* one tile */
    uint16_t rows, cols, steps; /* the grid */
    uint8_t a, b, c;            /* Comp */
    bool a_col, b_col, c_col;   /* column-major in memory */
    /* lies in workgroup memory or the frame: reading it again is cheap */
    bool a_near, b_near;
    bool c_dense;                /* C's tiles are dense: their stride need not be looked up */
    bool prefetch_a, prefetch_b; /* the call may say where a later one's A and B are */
    /* integer: the sum of products is added to C with saturation; steps == 1 */
    bool saturate;
    bool c_other_sign; /* saturating: one of C and the result is signed */
    bool denormals;    /* float: the sums' are to be kept */
    bool specials;     /* f16: operands may be infinite or NaNs; chosen by the kernels themselves */
    bool even;         /* each row's and each column's steps lie at one distance */
    /* C may count as zeros, and the sums go elsewhere; where it is even, too, there may be several
     * times the steps: GemmCall.to, fresh, times */
    bool moves;
    bool some_rows; /* rows = 1, C row-major: the tiles' first rows are wanted: GemmCall.lines */
} GemmShape;

/* engines.c: the instruction sets (CPU_...) of a machine that code makes use of. */
uint32_t cpu_sets_used(const CpuTarget *t);

typedef struct Gemm Gemm; /* the kernels of one LLVM module */
Gemm *gemm_new(Arena *a, LLVMModuleRef module, const CpuTarget *t);

/* Bytes of scratch memory (64-byte aligned) and of the address table that a call needs. */
uint64_t gemm_scratch_bytes(Gemm *g, const GemmShape *s);
uint32_t gemm_table_entries(const GemmShape *s);           /* of 8 bytes */
bool gemm_has_tiles(Gemm *g);                              /* some kernel needs cpu_tiles_begin */
const char *gemm_engine_name(Gemm *g, const GemmShape *s); /* what forms the products */
/* Bytes of the operand that a call packs and that another call could share, 0: none worth it; how
 * many entries of the table it is made of. */
uint64_t gemm_panel_bytes(Gemm *g, const GemmShape *s);
uint32_t gemm_panel_entries(const GemmShape *s);

/* One call of a kernel. */
typedef struct GemmCall {
    GemmShape shape;
    const GemmView *a, *b, *c; /* rows x steps, steps x cols (even: one step), rows x cols */
    LLVMValueRef table, scratch;
    LLVMValueRef cold; /* i1: A and B are likely in no near cache */
    /* with shape.prefetch_...: i64, bytes from A's and B's tiles to those of a later call, 0: not
     * known; i1: they are to be prefetched */
    LLVMValueRef ahead_a, ahead_b, prefetch;
    /* Where the packed operand may be shared: a CpuPanelFn, its first argument, and the address of
     * the i32 that it leaves there; else NULL. */
    LLVMValueRef panel, env, packed;
    /* With shape.moves: the sums' places, as gemm_fill_sums wrote them (NULL: where C lies); i1: C
     * counts as zeros, whatever lies there; i64: so many times the steps (NULL: once). */
    LLVMValueRef to, fresh, times;
    /* With shape.some_rows: i64, so many of the first rows, one at least. What becomes of C's other
     * rows is not said. */
    LLVMValueRef lines;
} GemmCall;

/* All emit at the builder's position. A call is made of two parts, which may be apart: the table is
 * filled, which takes all views; the kernel runs, which takes none. */
void gemm_call(Gemm *g, LLVMBuilderRef b, const GemmCall *c);
void gemm_fill(Gemm *g, LLVMBuilderRef b, const GemmCall *c);
void gemm_run(Gemm *g, LLVMBuilderRef b, const GemmCall *c);
/* At most so many times the steps; i1: whether the views' steps are the next ones behind those that
 * the table has `times` times. */
uint32_t gemm_most_times(Gemm *g, const GemmShape *s);
LLVMValueRef gemm_follows(Gemm *g, LLVMBuilderRef b, const GemmCall *c);
/* Fills in GemmCall.to, of rows x cols entries of 16 bytes. The sums have one stride. */
void gemm_fill_sums(Gemm *g, LLVMBuilderRef b, const GemmCall *c, const GemmView *sums);

#endif
