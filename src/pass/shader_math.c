/* SPDX-License-Identifier: MIT
 *
 * shader, functions: OpenCL.std in GLSL.std.450 and core instructions. A row of the table has an
 * expression in Polish notation, operators behind their operands:
 *
 *     x y z        the function's operands          =a a   names a value, and is it then
 *     1 0.5        a number of x's type             1i     an integer of x's width
 *     normal       the smallest number that is normal
 *     lowest w     x's sign bit; its width in bits, as integers
 *     bits float   the same bits as an integer; as x's type again
 *     ?            condition, value if so, value if not
 *     FMul Exp2    an instruction, core or of GLSL.std.450; but for these:
 *     BitCount     of any width
 *     UMulHigh     the high half of a product; SMulHigh
 *     Wider        an integer as one of the result's type
 *
 * Vectors go component by component, as the instructions do. Accuracy is Vulkan's.
 */
#include "pass/shader.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Row {
    uint16_t function;
    uint8_t widths;             /* bytes of x's component that it is good for, or'd */
    const char *expression;
} Row;

enum { ANY = 15, SHORT = 6 /* 16 and 32 bits */, UP_TO_4 = 7 };

static const Row rows[] = {
#define ROW(name, widths, expression) { OpenCLstd_##name, widths, expression },
#include "pass/shader_math.def"
};

enum { MAX_DEPTH = 16 };

typedef struct Evaluation {
    Shader *s;
    SpvId type;                 /* of the result */
    const SpvType *x;           /* of the first operand */
    const SpvId *operands;
    SpvId named[26];
    SpvId stack[MAX_DEPTH];
    uint32_t n;
} Evaluation;

static const SpvType *component(const SpvType *t) { return t->kind == SPV_VECTOR ? t->element : t; }

static SpvId shaped(Evaluation *e, SpvId scalar)
{
    SpvModule *m = e->s->m;
    return e->x->kind == SPV_VECTOR ? spv_vector_type(m, scalar, e->x->count) : scalar;
}

static SpvId constant(Evaluation *e, SpvId scalar, uint64_t bits)
{
    SpvModule *m = e->s->m;
    SpvId one = spv_number_constant(m, scalar, bits), parts[16];
    if (e->x->kind != SPV_VECTOR)
        return one;
    for (uint32_t k = 0; k < e->x->count; k++)
        parts[k] = one;
    return spv_composite_constant(m, shaped(e, scalar), parts, e->x->count);
}

uint64_t shader_float_bits(double value, uint32_t bits)
{
    uint64_t u;
    float f = (float)value;
    uint32_t v;
    memcpy(&u, &value, sizeof u);
    memcpy(&v, &f, sizeof v);
    return bits == 64 ? u : bits == 32 ? v : f16_from_double(value);
}

static SpvId number(Evaluation *e, const char *word, size_t n)
{
    const SpvType *c = component(e->x);
    SpvId integer = spv_int_type(e->s->m, c->bits, false);
    double value = strtod(word, NULL);
    if (c->kind == SPV_INT || word[n - 1] == 'i')
        return constant(e, integer, (uint64_t)(int64_t)value);
    return constant(e, c->id, shader_float_bits(value, c->bits));
}

static SpvId pop(Evaluation *e) { return e->n ? e->stack[--e->n] : 0; }

static SpvId bitcast(Evaluation *e, SpvId value, SpvId type)
{
    return spv_type_of(e->s->m, value)->id == type ? value
                                                   : EMIT(e->s, SpvOpBitcast, type, value);
}

static SpvId choose(Evaluation *e)
{
    SpvId no = pop(e), yes = pop(e), condition = pop(e);
    return EMIT(e->s, SpvOpSelect, spv_type_of(e->s->m, yes)->id, condition, yes, no);
}

static bool is(const char *word, size_t n, const char *name)
{
    return strlen(name) == n && !memcmp(word, name, n);
}

static bool gives_bool(uint16_t op)
{
    return (op >= SpvOpIsNan && op <= SpvOpFUnordGreaterThanEqual);
}

/* Number of the instruction of GLSL.std.450; false: there is none of that name. */
static bool glsl(const char *word, size_t n, uint32_t *number, uint32_t *operands)
{
    uint32_t count;
    const SpvExtInst *all = spv_ext_insts(SPV_SET_GLSLstd450, &count);
    for (uint32_t k = 0; k < count; k++) {
        if (!is(word, n, all[k].name))
            continue;
        *number = all[k].number;
        *operands = all[k].n_operands;
        return true;
    }
    return false;
}

static bool core(const char *word, size_t n, uint16_t *op, uint32_t *operands)
{
    uint32_t count;
    const SpvOpInfo *all = spv_all_ops(&count);
    for (uint32_t k = 0; k < count; k++) {
        if (!is(word, n, all[k].name + 2))
            continue;
        *op = all[k].op;
        *operands = all[k].n_operands;
        return true;
    }
    return false;
}

/* Of 32 bits, which is all that Vulkan counts in. */
static SpvId count_bits(Evaluation *e, SpvId value)
{
    Shader *s = e->s;
    uint32_t bits = component(e->x)->bits;
    SpvId words = shaped(e, s->u32);
    if (bits == 32)
        return EMIT(s, SpvOpBitCount, words, value);
    SpvId n = EMIT(s, SpvOpBitCount, words, EMIT(s, SpvOpUConvert, words, value));
    if (bits == 64) {
        SpvId half = constant(e, component(e->x)->id, 32);
        SpvId high = EMIT(s, SpvOpShiftRightLogical, e->x->id, value, half);
        high = EMIT(s, SpvOpBitCount, words, EMIT(s, SpvOpUConvert, words, high));
        n = EMIT(s, SpvOpIAdd, words, n, high);
    }
    return EMIT(s, SpvOpUConvert, e->x->id, n);
}

static SpvId multiply_high(Evaluation *e, uint16_t op)
{
    Shader *s = e->s;
    SpvId y = pop(e), x = pop(e), type = spv_type_of(s->m, x)->id;
    SpvId both = shader_global(s, SpvOpTypeStruct, 0, (uint32_t[]){ type, type }, 2);
    return EMIT(s, SpvOpCompositeExtract, type, EMIT(s, op, both, x, y), 1);
}

static SpvId instruction(Evaluation *e, const char *word, size_t n)
{
    Shader *s = e->s;
    uint32_t words[6], count = 0, number = 0;
    uint16_t op = SpvOpExtInst;
    bool own = glsl(word, n, &number, &count);
    if (!own && !core(word, n, &op, &count))
        return 0;
    uint32_t at = own ? 2 : 0;
    words[0] = s->glsl;
    words[1] = number;
    for (uint32_t k = count; k-- > 0;)
        words[at + k] = pop(e);
    SpvId type = spv_type_of(s->m, words[at])->id;
    if (own && (number == GLSLstd450Length || number == GLSLstd450Distance))
        type = e->type;
    else if (!own && gives_bool(op))
        type = shaped(e, s->bool_);
    else if (!own && (op == SpvOpUConvert || op == SpvOpSConvert || op == SpvOpFConvert ||
                      op == SpvOpConvertFToS || op == SpvOpConvertSToF))
        type = e->type;
    return shader_emit(s, op, type, words, at + count);
}

static SpvId word_value(Evaluation *e, const char *word, size_t n)
{
    const SpvType *c = component(e->x);
    SpvId integer = spv_int_type(e->s->m, c->bits, false);
    if (n == 1 && *word >= 'x' && *word <= 'z')
        return e->operands[*word - 'x'];
    if (n == 1 && islower((unsigned char)*word) && *word != 'w')
        return e->named[*word - 'a'];
    if (isdigit((unsigned char)*word) || (*word == '-' && n > 1))
        return number(e, word, n);
    if (*word == '?')
        return choose(e);
    if (is(word, n, "w"))
        return constant(e, integer, c->bits);
    if (is(word, n, "lowest"))
        return constant(e, integer, UINT64_C(1) << (c->bits - 1));
    if (is(word, n, "normal")) /* the smallest number that is */
        return constant(e, c->id, c->bits == 64 ? UINT64_C(1) << 52
                                  : c->bits == 32 ? UINT64_C(1) << 23 : UINT64_C(1) << 10);
    if (is(word, n, "bits"))
        return bitcast(e, pop(e), shaped(e, integer));
    if (is(word, n, "float"))
        return bitcast(e, pop(e), e->x->id);
    if (is(word, n, "Wider"))
        return EMIT(e->s, SpvOpUConvert, e->type, pop(e));
    if (is(word, n, "BitCount"))
        return count_bits(e, pop(e));
    if (is(word, n, "UMulHigh") || is(word, n, "SMulHigh"))
        return multiply_high(e, *word == 'U' ? SpvOpUMulExtended : SpvOpSMulExtended);
    return instruction(e, word, n);
}

SpvId shader_evaluate(Shader *s, const char *expression, SpvId type, const SpvId *operands)
{
    Evaluation e = { .s = s, .type = type, .operands = operands,
                     .x = spv_type_of(s->m, operands[0]) };
    for (const char *p = expression; *p;) {
        size_t n = strcspn(p, " ");
        SpvId value = *p == '=' ? 0 : word_value(&e, p, n);
        if (!value)
            e.named[p[1] - 'a'] = pop(&e);
        else if (e.n < MAX_DEPTH)
            e.stack[e.n++] = value;
        p += n + strspn(p + n, " ");
    }
    return pop(&e);
}

/* ---- functions with a pointer or a length ---------------------------------------------------- */

typedef struct Storing { uint16_t function; const char *stored, *result; } Storing;

static const Storing storing[] = {
    { OpenCLstd_sincos, "x Cos", "x Sin" },
    { OpenCLstd_fract, "x Floor", "x Fract 0x1.fffffep-1 FMin" },
    { OpenCLstd_modf, "x Trunc", "x x Trunc FSub" },
};

static const char *expression_of(uint16_t function, uint32_t bits, bool *other_width)
{
    const char *found = NULL;
    for (uint32_t k = 0; k < COUNT_OF(rows) && !found; k++) {
        if (rows[k].function != function)
            continue;
        *other_width = true;
        found = rows[k].widths & bits / 8 ? rows[k].expression : NULL;
    }
    return found;
}

static Fate refuse(Shader *s, const SpvInst *i, bool other_width, uint32_t bits)
{
    const SpvExtInst *info = spv_ext_inst(SPV_SET_OpenCLstd_, spv_operand(i, 1));
    char text[128];
    snprintf(text, sizeof text, "the function %s%s", info ? info->name : "of OpenCL.std",
             !other_width ? "" : bits == 64 ? " of 64 bits" : bits == 8 ? " of 8 bits"
                                                                        : " of 16 bits");
    shader_refuse(s, i, text);
    return FATE_ERROR;
}

/* A shuffle by a mask that is a constant. */
static Fate shuffle(Shader *s, SpvInst *i, SpvId *to)
{
    bool two = spv_operand(i, 1) == OpenCLstd_shuffle2;
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 2));
    SpvId mask = spv_operand(i, two ? 4 : 3);
    uint32_t n = spv_type_of(s->m, mask)->count, all = t->count * (two ? 2 : 1);
    Fold fold = fold_open(s->m, s->a);
    FoldValue v;
    if (!fold_read(&fold, mask, &v))
        return shader_refuse(s, i, "a shuffle by a mask that is not constant"), FATE_ERROR;
    uint32_t words[18] = { spv_operand(i, 2), spv_operand(i, two ? 3 : 2) };
    for (uint32_t k = 0; k < n; k++)
        words[2 + k] = (uint32_t)v.bits[k] & (all - 1);
    *to = shader_emit(s, SpvOpVectorShuffle, i->type, words, 2 + n);
    return FATE_GONE;
}

Fate shader_function(Shader *s, SpvInst *i, SpvId *to)
{
    uint16_t function = (uint16_t)spv_operand(i, 1);
    if (function == OpenCLstd_prefetch)
        return FATE_GONE;
    if (function == OpenCLstd_shuffle || function == OpenCLstd_shuffle2)
        return shuffle(s, i, to);
    const SpvType *x = spv_n_operands(i) > 2 ? spv_type_of(s->m, spv_operand(i, 2)) : NULL;
    if (!x || (x->kind != SPV_INT && x->kind != SPV_FLOAT && x->kind != SPV_VECTOR))
        return refuse(s, i, false, 0);
    const SpvId *operands = i->words + i->first_operand + 2;
    for (uint32_t k = 0; k < COUNT_OF(storing); k++) {
        if (storing[k].function != function || component(x)->bits == 64)
            continue;
        SpvId stored = shader_evaluate(s, storing[k].stored, i->type, operands);
        *to = shader_evaluate(s, storing[k].result, i->type, operands);
        return shader_store(s, i, spv_operand(i, 3), stored) ? FATE_GONE : FATE_ERROR;
    }
    bool other_width = false;
    if (function == OpenCLstd_select) {
        *to = shader_evaluate(s, x->kind == SPV_VECTOR ? "z 0i SLessThan y x ?"
                                                       : "z 0i INotEqual y x ?",
                              i->type, operands);
        return FATE_GONE;
    }
    const char *expression = expression_of(function, component(x)->bits, &other_width);
    if (!expression)
        return refuse(s, i, other_width, component(x)->bits);
    *to = shader_evaluate(s, expression, i->type, operands);
    if (function == OpenCLstd_fma) /* one operation, rounded once */
        vec_push(s->a, &s->exact_ids, *to);
    return FATE_GONE;
}
