/* SPDX-License-Identifier: MIT
 *
 * gemm_internal: what the makers of multiply-add kernels share; src/cpu/gemm only.
 *
 * A kernel is planned (plan.c) around an engine (engines.c), then written: prefetches
 * (prefetch.c), packing (pack.c), and the products, of vectors (kernel.c) or of tiles (tiles.c).
 */
#ifndef HEDDLE_CPU_GEMM_INTERNAL_H
#define HEDDLE_CPU_GEMM_INTERNAL_H

#include "cpu/gemm/gemm.h"

#include "llvm/arith.h"
#include "llvm/ir.h"

typedef struct GemmEngine GemmEngine;
typedef struct GemmGen GemmGen;
typedef struct GemmPlan GemmPlan;

/* What the fixed arrays have room for. A vector has at most 512 bits, so 64 lanes of a byte (four
 * times 16 lanes of four while B's rows are joined), and at most 64 tiles in it; a block takes at
 * most the registers that there are (plan_block). */
enum { MOST_LANES = 64, MOST_REGISTERS = 32, MOST_VECTORS = 4, MOST_GROUP = 8 };

/* ---- engines.c ------------------------------------------------------------------------------- */

/* In place of a component type. */
enum { GEMM_COMPUTE = COMP_COUNT, GEMM_AS_IT_LIES };

/* A way to form products. The first row of the table that takes a shape's types, on a machine that
 * has what it needs, makes its kernel. */
struct GemmEngine {
    const char *name;
    uint32_t needs;   /* instruction sets: CPU_... */
    uint32_t a, b, c; /* component types that it takes: bits 1 << Comp; 0: any */
    /* what else it wants of a shape; NULL: nothing */
    bool (*fits)(const GemmEngine *e, const GemmShape *s);
    uint8_t group;   /* k a unit: so many elements, side by side, make a lane */
    uint8_t compute; /* Comp of the sums; GEMM_COMPUTE: chosen by the types */
    /* Comp that A and B are converted to while they are packed, GEMM_COMPUTE, GEMM_AS_IT_LIES */
    uint8_t operand;
    /* an element is the sum of so many operands, packed apart, each of which is multiplied by each;
     * 0 is 1 */
    uint8_t limbs;
    bool mixed_signs; /* multiplies unsigned by signed only: one of two like signs is biased */
    bool two_steps;   /* a product and a sum, by an instruction each */
    bool flushes;     /* takes denormals of sums, and makes them, zeros */
    /* a product is of two rows of A by two columns of B: sums of two rows by two columns lie in a
     * vector (kernel.c) */
    bool pairs;
    /* acc + a * b, of vectors of lanes. NULL: C lives in tile registers (tiles.c) */
    LLVMValueRef (*product)(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b);
    const char *(*tile_product)(const GemmPlan *p); /* its instruction's intrinsic */
};

const GemmEngine *gemm_engine(const GemmShape *s, const CpuTarget *t);

/* ---- plan.c ---------------------------------------------------------------------------------- */

/* One run of columns of a tile within a vector of the panel. */
typedef struct GemmPiece {
    uint16_t tile, column, width, lane;
} GemmPiece;

struct GemmPlan {
    GemmShape s;     /* normalised: C row-major */
    bool transposed; /* s has A and B swapped against the caller's */
    const GemmEngine *engine;
    const CpuTuning *tuning;
    /* bytes are biased by 128 to the other signedness: B's; A's, where it is packed anyway */
    bool flip_a, flip_b;
    bool pack_a, pack_b;
    IrComp compute;              /* type of the products' sums */
    IrComp operand_a, operand_b; /* of the elements in a unit */
    uint32_t unit;               /* bytes of one unit of A or of a lane of B */
    uint32_t lanes;              /* of a vector: columns */
    uint32_t n_vectors;          /* in a row of the panel */
    uint32_t max_pieces;
    GemmPiece *pieces; /* n_vectors x max_pieces, width 0 ends */
    uint32_t block_rows, block_vectors;
    uint32_t units; /* of one tile's K */
    uint32_t times; /* at most so many times the steps */
};

void gemm_plan(Arena *a, GemmPlan *p, const GemmShape *s, const CpuTarget *t);
/* Products and sums are instructions of their own. */
bool gemm_adds_apart(const GemmPlan *p);
uint64_t gemm_vector_bytes(const GemmPlan *p);
/* The panel: so many vectors are side by side; from one unit's row of them to the next; from so
 * many vectors to the next. */
uint32_t gemm_side_by_side(const GemmPlan *p);
uint64_t gemm_row_bytes(const GemmPlan *p);
uint64_t gemm_block_bytes(const GemmPlan *p);
/* From an operand's upper limbs to its lower ones, in a block of the panel or in packed A. */
uint32_t gemm_limbs(const GemmPlan *p);
uint64_t gemm_limb_of_b(const GemmPlan *p);
uint64_t gemm_limb_of_a(const GemmPlan *p);
/* A tile register's elements of C may be several tiles', which need not lie side by side; then they
 * are gathered in memory of their own: 2 x 2 registers' lines of 64 bytes. */
bool gemm_gathers(const GemmPlan *p);
enum { GATHERED_BYTES = 2 * 2 * 16 * 64 };
/* The scratch memory: panel with its column sums and, of limbs, a word that is not zero where an
 * element had none (it is infinite or a NaN); packed A with such a word; gathered C; list of
 * prefetches, each 64-byte aligned. */
uint64_t gemm_sums_offset(const GemmPlan *p);
uint64_t gemm_specials_of_b(const GemmPlan *p);
uint64_t gemm_specials_of_a(const GemmPlan *p);
uint64_t gemm_packed_a_offset(const GemmPlan *p);
uint64_t gemm_gathered_offset(const GemmPlan *p);
uint64_t gemm_list_offset(const GemmPlan *p);
/* The shape of the kernel that takes over where limbs do not do. */
GemmShape gemm_of_specials(const GemmShape *s);
/* The table's three parts; where one begins, and how far its entries are apart, in bytes. An entry
 * is a tile's address and stride, and where the shape is even the distance of its steps. */
typedef enum GemmPart { PART_A, PART_B, PART_C } GemmPart;
uint32_t gemm_part_offset(const GemmShape *s, GemmPart part);
uint32_t gemm_entry_bytes(const GemmShape *s, GemmPart part);

/* ---- ir.c ------------------------------------------------------------------------------------ */

typedef struct GemmKernel {
    GemmShape key;
    LLVMValueRef fn;
} GemmKernel;

struct Gemm {
    Arena *arena;
    LLVMModuleRef module;
    LLVMContextRef cx;
    const CpuTarget *target;
    VEC(GemmKernel) kernels;
    bool tiles; /* one of them works on tile registers */
};

LLVMValueRef gemm_kernel(Gemm *g, const GemmShape *s); /* the shape's */

/* State of one function being emitted. */
struct GemmGen {
    Gemm *gemm;
    const GemmPlan *p;
    const GemmShape *shape; /* as it was before it was normalised */
    LLVMContextRef cx;
    LLVMBuilderRef b;
    LLVMValueRef fn, table, scratch;
    LLVMValueRef panel;            /* B's, and behind it the column sums */
    LLVMValueRef packed;           /* i1: they are there */
    LLVMValueRef cold;             /* i1: A and B are likely in no near cache */
    LLVMValueRef ahead_a, ahead_b; /* i64: GemmCall's, of the normalised shape */
    LLVMValueRef to, fresh;        /* GemmCall's */
    LLVMValueRef steps;            /* i64: of this call */
    LLVMValueRef lines;            /* i64: rows of a tile that are wanted; all: s.M */
    /* i1: the steps' tiles lie one behind the other, so k runs through */
    LLVMValueRef contiguous;
    LLVMValueRef in_place; /* i1: tile registers are loaded with A where it lies */
    LLVMTypeRef i1, i8, i16, i32, i64, ptr;
    LLVMTypeRef lane, vector; /* what one unit is, in the engine's product; those of B */
    LLVMTypeRef sums;         /* a vector of C */
    /* i64: in a run of like vectors, how far on tiles, columns and vectors are; NULL: not at all */
    LLVMValueRef more_tiles, more_columns, more_vectors;
};

static inline LLVMValueRef k64(const GemmGen *g, uint64_t v)
{
    return LLVMConstInt(g->i64, v, false);
}
static inline LLVMValueRef add(GemmGen *g, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildAdd(g->b, a, b, "");
}
static inline LLVMValueRef mul(GemmGen *g, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildMul(g->b, a, b, "");
}
static inline LLVMValueRef at(GemmGen *g, LLVMValueRef base, LLVMValueRef bytes)
{
    return ir_at_inbounds(g->b, base, bytes);
}
/* The same value, of which LLVM does not know what it is made of; in a register as the constraint
 * of inline assembly says. */
LLVMValueRef gemm_opaque(GemmGen *g, LLVMValueRef v, const char *constraint);
LLVMValueRef gemm_opaque_vector(GemmGen *g, LLVMValueRef v);

/* Loops run at least once: every count here is a positive constant, or a choice of two. */
typedef struct GemmLoop {
    LLVMBasicBlockRef body;
    LLVMValueRef i, *phi;
    uint32_t n;
} GemmLoop;
GemmLoop gemm_loop_begin(GemmGen *g, LLVMValueRef *carry, uint32_t n);
/* Ends the body; `next` are the carried values' new ones, on return theirs after the loop. */
void gemm_loop_end(GemmGen *g, GemmLoop *l, uint64_t step, LLVMValueRef to, LLVMValueRef *next);

/* Blocks of vectors that differ only in where they lie: the code for one is a loop's body. */
typedef struct GemmRun {
    uint32_t first, n, blocks; /* vectors; a block's; how many blocks */
    int32_t tiles, columns;    /* from a block to the next */
    bool looped;
    GemmLoop loop;
} GemmRun;
GemmRun gemm_run_begin(GemmGen *g, uint32_t first, uint32_t most);
uint32_t gemm_run_end(GemmGen *g, GemmRun *r); /* the first vector behind */
/* Where a piece is, in a run too: its tile; its column, in units of so many bytes. */
LLVMValueRef gemm_piece_tile(GemmGen *g, const GemmPiece *pc);
LLVMValueRef gemm_piece_column(GemmGen *g, const GemmPiece *pc, uint64_t unit);
/* Where a vector is, in a run too: bytes from the panel's start; from the column sums' start. */
LLVMValueRef gemm_vector_offset(GemmGen *g, uint32_t v);
LLVMValueRef gemm_sums_of_vector(GemmGen *g, uint32_t v);
/* Puts a piece's elements into its lanes of `v`, the others kept; takes them out again. */
LLVMValueRef gemm_place(GemmGen *g, LLVMValueRef v, LLVMValueRef part, const GemmPiece *pc);
LLVMValueRef gemm_extract(GemmGen *g, LLVMValueRef v, const GemmPiece *pc);

GemmView gemm_table_at(GemmGen *g, GemmPart part, LLVMValueRef index);
GemmView gemm_a_tile(GemmGen *g, LLVMValueRef row, LLVMValueRef step);
GemmView gemm_b_tile(GemmGen *g, LLVMValueRef step, LLVMValueRef col);
typedef GemmView GemmTilesOfC(GemmGen *g, LLVMValueRef row, LLVMValueRef col);
GemmTilesOfC gemm_c_tile, gemm_sums_tile; /* C; where the sums go */

/* ---- pack.c ---------------------------------------------------------------------------------- */

LLVMValueRef gemm_panel(GemmGen *g);
LLVMValueRef gemm_column_sums(GemmGen *g);
LLVMValueRef gemm_packed_a(GemmGen *g);
/* Sums of an operand's bytes become what undoes the bias of the other. */
LLVMValueRef gemm_unbias(GemmGen *g, LLVMValueRef sums, bool is_signed);
void gemm_pack_a(GemmGen *g);
void gemm_pack_b(GemmGen *g);
/* Once both are packed: the kernel ends here where an element has no limbs, after the one without
 * limbs has run. */
void gemm_leave_specials(GemmGen *g);
/* Before either is: so does one for whose few rows making limbs does not pay. */
void gemm_leave_few(GemmGen *g);

/* ---- prefetch.c ------------------------------------------------------------------------------ */

void gemm_prefetch(GemmGen *g, LLVMValueRef p); /* a cache line, into the nearest */
uint32_t gemm_n_prefetches(const GemmPlan *p);  /* cache lines of a later call's operands */
void gemm_list_prefetches(GemmGen *g);
/* Some of them, in each of `of` places that a call comes to in turn. */
void gemm_prefetch_some(GemmGen *g, LLVMValueRef place, uint32_t of);
/* This call's A: all of it, or a block's rows, whichever this kernel does. */
void gemm_prefetch_a(GemmGen *g);
void gemm_prefetch_rows(GemmGen *g, LLVMValueRef tile, LLVMValueRef row);
void gemm_prefetch_next_rows(GemmGen *g, LLVMValueRef tile, LLVMValueRef row);

/* ---- kernel.c, tiles.c ----------------------------------------------------------------------- */

/* i1: in an even shape, each step's A tiles follow those of the one before. */
LLVMValueRef gemm_a_follows(GemmGen *g);
/* i1: every step's A tiles (and B tiles, where they are read in place) follow the one before. */
LLVMValueRef gemm_steps_contiguous(GemmGen *g);
void gemm_blocks(GemmGen *g);
void gemm_tiles(GemmGen *g);

#endif
