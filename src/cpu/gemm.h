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
#ifndef HEDDLE_CPU_GEMM_H
#define HEDDLE_CPU_GEMM_H

#include "cpu/cpu.h"
#include <llvm-c/Core.h>

/* Component types of matrices as they lie in memory. */
typedef enum Comp {
    COMP_F16, COMP_BF16, COMP_F32, COMP_F64, COMP_E4M3, COMP_E5M2,
    COMP_E2M1, COMP_E3M2, COMP_E2M3, COMP_E8M0, COMP_MXINT8,
    /* unsigned next to signed */
    COMP_S8, COMP_U8, COMP_S16, COMP_U16, COMP_S32, COMP_U32, COMP_S64, COMP_U64, COMP_COUNT
} Comp;
Comp comp_of(const SpvType *scalar);            /* of an int or float type */
uint32_t comp_bytes(Comp c);
bool comp_is_float(Comp c);
bool comp_is_arithmetic(Comp c);                /* others are only converted from */
bool comp_is_signed(Comp c);
/* An integer type read as signed or unsigned, as instructions and their operand flags say and not
 * the types; others are themselves. */
Comp comp_with_sign(Comp c, bool is_signed);
const char *comp_name(Comp c);                  /* "f16" */
/* The LLVM type of a component; smaller than 16 bits: i8. */
LLVMTypeRef comp_type(LLVMContextRef cx, Comp c);

/* A tile in memory: address of element (0, 0) and the bytes from one row (column-major: column) to
 * the next. */
typedef struct TileView { LLVMValueRef ptr, stride; } TileView;

typedef struct GemmShape {      /* compared as bytes: zero-initialise */
    uint16_t M, N, K;           /* one tile */
    uint16_t rows, cols, steps; /* the grid */
    uint8_t a, b, c;            /* Comp */
    bool a_col, b_col, c_col;   /* column-major in memory */
    /* lies in workgroup memory or the frame: reading it again is cheap */
    bool a_near, b_near;
    bool c_dense;               /* C's tiles are dense: their stride need not be looked up */
    bool ahead_a, ahead_b;      /* the call may say where the next ones' A and B are */
    /* integer: the sum of products is added to C with saturation; steps == 1 */
    bool saturate;
} GemmShape;

typedef struct Gemm Gemm;       /* the kernels of one LLVM module */
Gemm *gemm_new(Arena *a, LLVMModuleRef module, const CpuTarget *t);

/* Bytes of scratch memory (64-byte aligned) and of the address table that a call needs. */
uint64_t gemm_scratch_bytes(Gemm *g, const GemmShape *s);
uint32_t gemm_table_entries(const GemmShape *s);    /* of 8 bytes */

/* What a call knows of where its operands are. */
typedef struct GemmWhere {
    LLVMValueRef far;           /* i1: A and B are likely in no near cache */
    /* with shape.ahead: i64, bytes from A's and B's tiles to those of a later call, 0: not known */
    LLVMValueRef ahead_a, ahead_b, asked;
} GemmWhere;

/* a: rows x steps, b: steps x cols, c: rows x cols views. Emits at the builder's position. */
void gemm_call(Gemm *g, LLVMBuilderRef b, const GemmShape *s, const TileView *a, const TileView *bt,
               const TileView *c, LLVMValueRef table, LLVMValueRef scratch, const GemmWhere *where);

#endif
