/* SPDX-License-Identifier: MIT
 *
 * Where a NaN or an infinity comes from: arithmetic whose result is one, though none of its
 * operands is. In: a decoded instruction. Out: one that runs the same handler, or the same
 * collective one, and then looks at its floats. What was made of a NaN or an infinity is silent, so
 * each is told of where it arose. Loads, copies and constants make none.
 */
#include "reference/machine.h"

#include <math.h>
#include <stdio.h>

enum { MAX_PARTS = 4 };

typedef struct FinitePart {
    Ref at;
    uint32_t n;
    RFmt fmt;
} FinitePart;

struct RFinite {
    Handler *run;
    Collective *together;
    FinitePart operand[MAX_PARTS], result;
    uint32_t n_operands;
    const char *name;
};

static bool is_finite_at(const RInv *v, const FinitePart *p, uint32_t k)
{
    return unset(v, p->at)[k] || isfinite(fmt_get(p->fmt, leaf(v, p->at)[k]));
}

/* Whether what component `c` of the result is made of is finite: that component of operands that
 * have as many, all of others. */
static bool operands_finite(const struct RFinite *f, const RInv *v, uint32_t c)
{
    for (uint32_t o = 0; o < f->n_operands; o++) {
        const FinitePart *p = &f->operand[o];
        bool same = p->n == f->result.n;
        for (uint32_t k = same ? c : 0; k < (same ? c + 1 : p->n); k++)
            if (!is_finite_at(v, p, k))
                return false;
    }
    return true;
}

static const char *result_name(const struct RFinite *f, const RInv *v, uint32_t c)
{
    double x = fmt_get(f->result.fmt, leaf(v, f->result.at)[c]);
    return isnan(x) ? "NaN" : x > 0 ? "infinity" : "-infinity";
}

/* The operands of component `c`, where it has one number of each. */
static void operand_text(const struct RFinite *f, const RInv *v, uint32_t c, char *text,
                         size_t size)
{
    size_t at = 0;
    *text = 0;
    for (uint32_t o = 0; o < f->n_operands && at < size; o++) {
        const FinitePart *p = &f->operand[o];
        if (p->n != 1 && p->n != f->result.n)
            return;
        const char *between = !o ? " of " : o + 1 < f->n_operands ? ", " : " and ";
        at += (size_t)snprintf(text + at, size - at, "%s%g", between,
                               fmt_get(p->fmt, leaf(v, p->at)[p->n == 1 ? 0 : c]));
    }
}

static void look_at(RMachine *m, RInv *v, const RInst *i)
{
    const struct RFinite *f = i->finite;
    char operands[160];
    for (uint32_t c = 0; c < f->result.n; c++) {
        if (is_finite_at(v, &f->result, c) || !operands_finite(f, v, c))
            continue;
        if (found_again(m, i, REF_NOT_FINITE))
            return;
        operand_text(f, v, c, operands, sizeof operands);
        found(m, v, i, REF_NOT_FINITE, "%s makes %s%s", f->name, result_name(f, v, c), operands);
        return;
    }
}

static RStep step_run(RMachine *m, RInv *v, const RInst *i)
{
    RStep s = i->finite->run(m, v, i);
    look_at(m, v, i);
    return s;
}

/* What a result of a group is made of may be anybody's. */
static void all_run(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    const struct RFinite *f = i->finite;
    bool finite = true;
    for (uint32_t k = 0; k < n && finite; k++)
        for (uint32_t c = 0; c < f->result.n && finite; c++)
            finite = operands_finite(f, set[k], c);
    f->together(m, set, n, i);
    for (uint32_t k = 0; k < n && finite; k++)
        for (uint32_t c = 0; c < f->result.n && finite; c++) {
            finite = is_finite_at(set[k], &f->result, c);
            if (!finite && !found_again(m, i, REF_NOT_FINITE))
                found(m, set[k], i, REF_NOT_FINITE, "%s makes %s of finite %s", f->name,
                      result_name(f, set[k], c),
                      i->type->kind == SPV_COOPMAT ? "matrices" : "values");
        }
}

static bool is_arithmetic(uint16_t op)
{
    switch (op) {
    case SpvOpConvertSToF:
    case SpvOpConvertUToF:
    case SpvOpFConvert:
    case SpvOpQuantizeToF16:
    case SpvOpFAdd:
    case SpvOpFSub:
    case SpvOpFMul:
    case SpvOpFDiv:
    case SpvOpFRem:
    case SpvOpFMod:
    case SpvOpVectorTimesScalar:
    case SpvOpMatrixTimesScalar:
    case SpvOpVectorTimesMatrix:
    case SpvOpMatrixTimesVector:
    case SpvOpMatrixTimesMatrix:
    case SpvOpOuterProduct:
    case SpvOpDot:
    case SpvOpFmaKHR:
    case SpvOpExtInst:
    case SpvOpGroupFAdd:
    case SpvOpGroupFMulKHR:
    case SpvOpGroupNonUniformFAdd:
    case SpvOpGroupNonUniformFMul:
    case SpvOpCooperativeMatrixMulAddKHR: return true;
    default: return false;
    }
}

static bool part_of(const RType *t, Ref at, FinitePart *p)
{
    const RType *s = t && !type_is_wide(t) ? type_scalar(t) : NULL;
    *p = (FinitePart){ at, s ? t->leaves : 0, s ? fmt_of(s) : FMT_NONE };
    return s && s->kind == SPV_FLOAT && p->fmt < FMT_E2M1;
}

/* "Sqrt" of an extended instruction, else the opcode's. */
static const char *name_of_inst(RMachine *m, const SpvInst *i)
{
    const SpvInst *set = i->op == SpvOpExtInst ? spv_def(m->module, spv_operand(i, 0)) : NULL;
    const SpvExtInst *x =
        set ? spv_ext_inst(spv_set_by_name(spv_string(set, 0, NULL)), spv_operand(i, 1)) : NULL;
    return x ? x->name : spv_op_name(i->op);
}

void finite_prepare(RMachine *m, RInst *i)
{
    struct RFinite f = { .run = i->run, .together = i->together };
    uint16_t at[8];
    if (!checking(m, REF_NOT_FINITE) || !is_arithmetic(i->op) ||
        !part_of(i->type, i->dst, &f.result))
        return;
    uint32_t n = MIN(spv_id_operands(i->src, at, COUNT_OF(at)), COUNT_OF(at));
    for (uint32_t k = i->op == SpvOpExtInst; k < n && f.n_operands < MAX_PARTS; k++) {
        SpvId id = i->src->words[at[k]];
        f.n_operands += part_of(m->value_types[id], m->refs[id], &f.operand[f.n_operands]);
    }
    /* an extended instruction without one takes floats apart from integers, say */
    if (i->op == SpvOpExtInst && !f.n_operands)
        return;
    f.name = name_of_inst(m, i->src);
    i->finite = arena_copy(m->arena, &f, sizeof f);
    if (f.together)
        i->together = all_run;
    else
        i->run = step_run;
}
