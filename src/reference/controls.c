/* SPDX-License-Identifier: MIT
 *
 * Float controls (SPV_KHR_float_controls) around an instruction. In: a decoded instruction. Out:
 * one that runs the same handler on operands, and gives results, whose denormals of the widths
 * asked for are zeros of the same sign (DenormFlushToZero); with the machine rounding towards zero,
 * since two such roundings, of a double and then to the width, are one (RoundingModeRTZ).
 *
 * VK_KHR_shader_float_controls, issue 1, says what is flushed: conversions, arithmetic, relations
 * and the extended instructions. What is rounded: conversions and arithmetic.
 */
#include "reference/machine.h"

#include <fenv.h>

enum { MAX_OPERANDS = 4, MAX_LEAVES = 16 };

typedef struct FlushedPart {
    Ref at;
    uint32_t n;
    RFmt fmt;
} FlushedPart;

struct RControls {
    Handler *run;
    bool towards_zero;
    FlushedPart operand[MAX_OPERANDS], result;
    uint32_t n_operands;
};

static uint64_t flushed(RFmt f, uint64_t x)
{
    uint64_t sign = f == FMT_F16 ? 0x8000 : f == FMT_F32 ? 1ull << 31 : 1ull << 63;
    uint64_t exponent = f == FMT_F16 ? 0x7c00 : f == FMT_F32 ? 0xffull << 23 : 0x7ffull << 52;
    return x & exponent ? x : x & sign;
}

uint64_t controls_flush(const RMachine *m, RFmt f, uint64_t x)
{
    bool is =
        (f == FMT_F16 && m->ftz[1]) || (f == FMT_F32 && m->ftz[2]) || (f == FMT_F64 && m->ftz[3]);
    return is ? flushed(f, x) : x;
}

static RStep step_run(RMachine *m, RInv *v, const RInst *i)
{
    const struct RControls *f = i->controls;
    uint64_t kept[MAX_OPERANDS][MAX_LEAVES];
    for (uint32_t k = 0; k < f->n_operands; k++) {
        uint64_t *x = leaf(v, f->operand[k].at);
        memcpy(kept[k], x, f->operand[k].n * sizeof *x);
        for (uint32_t c = 0; c < f->operand[k].n; c++)
            x[c] = flushed(f->operand[k].fmt, x[c]);
    }
    if (f->towards_zero)
        fesetround(FE_TOWARDZERO);
    RStep s = f->run(m, v, i);
    if (f->towards_zero)
        fesetround(FE_TONEAREST);
    for (uint32_t k = f->n_operands; k-- > 0;)
        memcpy(leaf(v, f->operand[k].at), kept[k], f->operand[k].n * sizeof(uint64_t));
    for (uint32_t c = 0; c < f->result.n; c++)
        leaf(v, f->result.at)[c] = flushed(f->result.fmt, leaf(v, f->result.at)[c]);
    return s;
}

/* False when nothing of that type is flushed. */
static bool part_flushed(RMachine *m, const RType *t, Ref at, FlushedPart *p)
{
    const RType *s = t && !type_is_wide(t) ? type_scalar(t) : NULL;
    *p = (FlushedPart){ at, s ? t->leaves : 0, s ? fmt_of(s) : FMT_NONE };
    return s && s->kind == SPV_FLOAT && s->format == SPV_IEEE && t->leaves <= MAX_LEAVES &&
           m->ftz[s->bits == 16   ? 1
                  : s->bits == 32 ? 2
                                  : 3];
}

static bool is_rounded(uint16_t op)
{
    switch (op) {
    case SpvOpConvertFToU:
    case SpvOpConvertFToS:
    case SpvOpConvertSToF:
    case SpvOpConvertUToF:
    case SpvOpFConvert:
    case SpvOpFNegate:
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
    case SpvOpFmaKHR: return true;
    default: return false;
    }
}

static bool is_flushed(uint16_t op)
{
    return is_rounded(op) || op == SpvOpExtInst ||
           (op >= SpvOpLessOrGreater && op <= SpvOpFUnordGreaterThanEqual);
}

void controls_prepare(RMachine *m, RInst *i)
{
    struct RControls f = { .run = i->run };
    uint16_t at[8];
    uint32_t n;
    f.towards_zero = i->rtz && is_rounded(i->op) &&
                     !spv_decoration(m->module, i->src->id, -1, SpvDecorationFPRoundingMode, &n);
    if (!f.towards_zero && (!is_flushed(i->op) || !(m->ftz[1] || m->ftz[2] || m->ftz[3])))
        return;
    n = MIN(spv_id_operands(i->src, at, COUNT_OF(at)), COUNT_OF(at));
    for (uint32_t k = i->op == SpvOpExtInst; k < n && f.n_operands < MAX_OPERANDS; k++) {
        SpvId id = i->src->words[at[k]];
        f.n_operands += part_flushed(m, m->value_types[id], m->refs[id], &f.operand[f.n_operands]);
    }
    if (!part_flushed(m, i->type, i->dst, &f.result))
        f.result.n = 0;
    i->controls = arena_copy(m->arena, &f, sizeof f);
    i->run = step_run;
}
