/* SPDX-License-Identifier: MIT
 *
 * Rows of counts, one a line of the source: row 0 for what is of no line, and one for each place
 * that code was built for. A subgroup is counted on a line once a block.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <stdlib.h>

typedef struct LanesRows {
    VEC(EmitPlace) places; /* row n's is n - 1 */
    Map known;             /* hash of a place -> row */
    Map seen;              /* hash of function, block and row */
} LanesRows;

void rows_begin(Emit *e) { lanes_of(e)->rows = NEW(e->arena, LanesRows); }

uint32_t rows_here(Emit *e)
{
    LanesRows *r = lanes_of(e)->rows;
    EmitPlace p = r ? debug_place(e) : (EmitPlace){ 0 };
    if (!p.file)
        return 0;
    uint64_t found, key = hash_bytes(p.file, strlen(p.file), p.line);
    if (map_get(&r->known, key, &found))
        return (uint32_t)found;
    vec_push(e->arena, &r->places, p);
    map_put(e->arena, &r->known, key, r->places.len);
    return (uint32_t)r->places.len;
}

/* Operations on floating-point numbers, a component of the result; of a product with a vector or
 * with a matrix, a component of the first operand. */
static const struct {
    uint16_t op;
    bool of_operand;
    uint8_t n;
} arithmetic[] = {
    { SpvOpFAdd, false, 1 },
    { SpvOpFSub, false, 1 },
    { SpvOpFMul, false, 1 },
    { SpvOpFDiv, false, 1 },
    { SpvOpFRem, false, 1 },
    { SpvOpFMod, false, 1 },
    { SpvOpVectorTimesScalar, false, 1 },
    { SpvOpMatrixTimesScalar, false, 1 },
    { SpvOpDot, true, 2 },
    { SpvOpMatrixTimesVector, true, 2 },
    { SpvOpExtInst, false, 1 }, /* of a number: one, however it is computed; fma: two */
};

static bool is_fma(const Emit *e, const SpvInst *i)
{
    enum { GLSL_FMA = 50, OPENCL_FMA = 26, OPENCL_MAD = 42 };
    uint32_t number = spv_operand(i, 1);
    return e->entry->model == SpvExecutionModelKernel ? number == OPENCL_FMA || number == OPENCL_MAD
                                                      : number == GLSL_FMA;
}

static bool is_float(const SpvType *t)
{
    while (t && (t->kind == SPV_VECTOR || t->kind == SPV_MATRIX))
        t = t->element;
    return t && t->kind == SPV_FLOAT;
}

/* 0: it is none. */
static uint64_t operations(Emit *e, const SpvInst *i)
{
    for (uint32_t k = 0; k < COUNT_OF(arithmetic); k++) {
        if (arithmetic[k].op != i->op || !i->type || !is_float(spv_type(e->module, i->type)))
            continue;
        const SpvType *t = arithmetic[k].of_operand ? spv_type_of(e->module, spv_operand(i, 0))
                                                    : spv_type(e->module, i->type);
        uint32_t each = i->op == SpvOpExtInst && is_fma(e, i) ? 2 : arithmetic[k].n;
        return (uint64_t)each * emit_n_leaves(e, t);
    }
    return 0;
}

/* What is the same for all lanes is computed once. */
static void count_arithmetic(Emit *e, const SpvInst *i)
{
    uint64_t n = operations(e, i);
    lanes_count(e, DEVICE_STAT_ARITHMETIC, e->uniformity->varying[i->id] ? lanes_mask(e) : NULL, n);
}

void rows_reached(Emit *e, const SpvInst *i)
{
    LanesRows *r = lanes_of(e)->rows;
    uint32_t row = r ? rows_here(e) : 0;
    if (row)
        count_arithmetic(e, i);
    uint64_t found, key[3] = { (uintptr_t)e->fn, e->position, row };
    uint64_t hash = hash_bytes(key, sizeof key, 0);
    if (!row || map_get(&r->seen, hash, &found))
        return;
    map_put(e->arena, &r->seen, hash, 1);
    lanes_count(e, DEVICE_STAT_EXECUTIONS, NULL, 1);
    lanes_count(e, DEVICE_STAT_INVOCATIONS, lanes_mask(e), 1);
}

bool rows_keep(const Emit *e, CpuKernel *k)
{
    const LanesRows *r = lanes_of(e)->rows;
    uint32_t n = r ? (uint32_t)r->places.len : 0;
    k->rows = calloc(n + (size_t)1, sizeof *k->rows);
    for (uint32_t i = 0; k->rows && i < n; i++) {
        char *file = strdup(r->places.data[i].file);
        if (!file)
            return false;
        k->rows[k->n_rows++] = (CpuRow){ file, r->places.data[i].line };
    }
    return k->rows != NULL;
}
