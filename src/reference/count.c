/* SPDX-License-Identifier: MIT
 *
 * What a dispatch does, for HeddleStats: operations on whole matrices and barriers, once for each
 * subgroup that carries them out, as the cpu device counts them. In: a decoded instruction. Out:
 * one that runs the same handler, or the same collective one, and counts.
 */
#include "reference/machine.h"

#include <stddef.h>

typedef struct CountRow {
    uint16_t op;
    size_t times, bytes; /* where in RefCounts; bytes 0: none are moved */
} CountRow;

struct RCount {
    Handler *run;
    Collective *together;
    const CountRow *row;
    uint64_t bytes, flops;
};

#define AT(counter) offsetof(RefCounts, counter)

/* clang-format off */
static const CountRow rows[] = {
    { SpvOpCooperativeMatrixLoadKHR, AT(matrix_loads), AT(bytes_loaded) },
    { SpvOpCooperativeMatrixLoadTensorNV, AT(matrix_loads), AT(bytes_loaded) },
    { SpvOpCooperativeMatrixStoreKHR, AT(matrix_stores), AT(bytes_stored) },
    { SpvOpCooperativeMatrixStoreTensorNV, AT(matrix_stores), AT(bytes_stored) },
    { SpvOpCooperativeMatrixMulAddKHR, AT(muladds), 0 },
    { SpvOpCooperativeMatrixConvertNV, AT(conversions), 0 },
    { SpvOpCooperativeMatrixTransposeNV, AT(conversions), 0 },
    { SpvOpCompositeConstructCoopMatQCOM, AT(conversions), 0 },
    { SpvOpCompositeExtractCoopMatQCOM, AT(conversions), 0 },
    { SpvOpConvertFToU, AT(conversions), 0 },
    { SpvOpConvertFToS, AT(conversions), 0 },
    { SpvOpConvertSToF, AT(conversions), 0 },
    { SpvOpConvertUToF, AT(conversions), 0 },
    { SpvOpUConvert, AT(conversions), 0 },
    { SpvOpSConvert, AT(conversions), 0 },
    { SpvOpFConvert, AT(conversions), 0 },
    { SpvOpControlBarrier, AT(barriers), 0 },
};
/* clang-format on */

static void add(RMachine *m, const struct RCount *c, uint64_t times)
{
    char *base = (char *)&m->counts;
    *(uint64_t *)(base + c->row->times) += times;
    if (c->row->bytes)
        *(uint64_t *)(base + c->row->bytes) += times * c->bytes;
    m->counts.flops += times * c->flops;
}

/* The first of those that hold a matrix speaks for all. */
static RStep step_run(RMachine *m, RInv *v, const RInst *i)
{
    bool first = !(i->type->scope == SpvScopeSubgroup ? v->lane : v->index);
    if (first)
        add(m, i->count, 1);
    return i->count->run(m, v, i);
}

static void all_run(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    bool barrier = i->op == SpvOpControlBarrier;
    add(m, i->count, barrier ? (n + m->width - 1) / m->width : 1);
    i->count->together(m, set, n, i);
}

static const CountRow *row_of(uint16_t op)
{
    for (uint32_t k = 0; k < COUNT_OF(rows); k++)
        if (rows[k].op == op)
            return &rows[k];
    return NULL;
}

static bool is_counted(const RInst *i, const RType *matrix)
{
    bool whole = i->op != SpvOpControlBarrier || i->scope == SpvScopeWorkgroup;
    bool has_matrix = i->op == SpvOpControlBarrier || i->op == SpvOpCompositeExtractCoopMatQCOM ||
                      (matrix && matrix->kind == SPV_COOPMAT);
    return whole && has_matrix;
}

void count_prepare(RMachine *m, RInst *i)
{
    struct RCount c = { i->run, i->together, row_of(i->op), 0, 0 };
    bool stores =
        i->op == SpvOpCooperativeMatrixStoreKHR || i->op == SpvOpCooperativeMatrixStoreTensorNV;
    const RType *matrix = c.row && stores ? operand_type(m, i, 1) : i->type;
    if (!m->d->count || !c.row || !is_counted(i, matrix))
        return;
    if (c.row->bytes)
        c.bytes = (uint64_t)matrix->rows * matrix->cols * matrix->element->size;
    if (i->op == SpvOpCooperativeMatrixMulAddKHR)
        c.flops = 2ull * matrix->rows * matrix->cols * i->at->cols;
    i->count = arena_copy(m->arena, &c, sizeof c);
    if (c.together)
        i->together = all_run;
    else
        i->run = step_run;
}
