/* SPDX-License-Identifier: MIT
 *
 * shader, functions: OpenCL.std in GLSL.std.450 and core instructions. A row of the table has an
 * expression in Polish notation, operators behind their operands:
 *
 *     x y z        the function's operands          =a a   names a value, and is it then
 *     1 0.5        a number of x's type             1i     an integer of x's width
 *     1l           an integer of 32 bits            Int    an integer of x's width as such a one
 *     normal       the smallest number that is normal
 *     inf below    infinity; the largest number below 1
 *     lowest w     x's sign bit; its width in bits, as integers
 *     mant bias    the mantissa's bits; the exponent's bias, all its bits, as integers
 *     ones
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

typedef struct MathRow {
    uint16_t function;
    uint8_t widths; /* bytes of x's component that it is good for, or'd */
    const char *expression;
} MathRow;

/* SHORT: 16 and 32 bits; FLOAT: 32, and 16 by way of that */
enum { ANY = 15, SHORT = 6, UP_TO_4 = 7, BY_FLOAT = 16, FLOAT = BY_FLOAT | SHORT };

static const MathRow rows[] = {
#define ROW(name, widths, expression) { OpenCLstd_##name, widths, expression },
#include "pass/shader_math.def"
};

enum { MAX_DEPTH = 16 };

typedef struct Evaluation {
    Shader *s;
    SpvId type;       /* of the result */
    const SpvType *x; /* of the first operand */
    const SpvId *operands;
    SpvId named[26];
    SpvId stack[MAX_DEPTH];
    uint32_t n;
} Evaluation;

static const SpvType *component_of(const SpvType *t)
{
    return t->kind == SPV_VECTOR ? t->element : t;
}

static SpvId shaped(Evaluation *e, SpvId scalar)
{
    SpvModule *m = e->s->m;
    return e->x->kind == SPV_VECTOR ? spv_vector_type(m, scalar, e->x->count) : scalar;
}

static SpvId constant_of(Evaluation *e, SpvId scalar, uint64_t bits)
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

static SpvId number_of(Evaluation *e, const char *word, size_t n)
{
    const SpvType *c = component_of(e->x);
    SpvId integer = spv_int_type(e->s->m, c->bits, false);
    double value = strtod(word, NULL);
    if (word[n - 1] == 'l')
        return constant_of(e, e->s->u32, (uint32_t)(int64_t)value);
    if (c->kind == SPV_INT || word[n - 1] == 'i')
        return constant_of(e, integer, (uint64_t)(int64_t)value);
    return constant_of(e, c->id, shader_float_bits(value, c->bits));
}

static SpvId pop(Evaluation *e) { return e->n ? e->stack[--e->n] : 0; }

static SpvId bitcast_to(Evaluation *e, SpvId value, SpvId type)
{
    return spv_type_of(e->s->m, value)->id == type ? value : EMIT(e->s, SpvOpBitcast, type, value);
}

static SpvId choose_value(Evaluation *e)
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
    uint32_t bits = component_of(e->x)->bits;
    SpvId words = shaped(e, s->u32);
    if (bits == 32)
        return EMIT(s, SpvOpBitCount, words, value);
    SpvId n = EMIT(s, SpvOpBitCount, words, EMIT(s, SpvOpUConvert, words, value));
    if (bits == 64) {
        SpvId half = constant_of(e, component_of(e->x)->id, 32);
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

/* What a floating-point type consists of. */
static SpvId trait(Evaluation *e, const char *word, size_t n)
{
    const SpvType *c = component_of(e->x);
    uint64_t mant = c->bits == 64 ? 52 : c->bits == 32 ? 23 : c->bits == 16 ? 10 : 0;
    uint64_t ones = (UINT64_C(1) << (c->bits - 1 - mant)) - 1;
    const struct {
        const char *name;
        bool is_float;
        uint64_t bits;
    } traits[] = {
        { "w", false, c->bits },       { "lowest", false, UINT64_C(1) << (c->bits - 1) },
        { "mant", false, mant },       { "bias", false, ones >> 1 },
        { "ones", false, ones },       { "normal", true, UINT64_C(1) << mant },
        { "inf", true, ones << mant }, { "below", true, ((ones >> 1) << mant) - 1 },
    };
    for (uint32_t k = 0; k < COUNT_OF(traits); k++)
        if (is(word, n, traits[k].name))
            return constant_of(e,
                               traits[k].is_float ? c->id : spv_int_type(e->s->m, c->bits, false),
                               traits[k].bits);
    return 0;
}

static SpvId short_integer(Evaluation *e, SpvId value)
{
    uint32_t bits = component_of(spv_type_of(e->s->m, value))->bits;
    SpvId type = shaped(e, e->s->u32);
    return bits == 32 ? value : EMIT(e->s, bits < 32 ? SpvOpSConvert : SpvOpUConvert, type, value);
}

static SpvId word_value(Evaluation *e, const char *word, size_t n)
{
    const SpvType *c = component_of(e->x);
    SpvId integer = spv_int_type(e->s->m, c->bits, false);
    if (n == 1 && *word >= 'x' && *word <= 'z')
        return e->operands[*word - 'x'];
    if (n == 1 && islower((unsigned char)*word) && *word != 'w')
        return e->named[*word - 'a'];
    if (isdigit((unsigned char)*word) || (*word == '-' && n > 1))
        return number_of(e, word, n);
    if (*word == '?')
        return choose_value(e);
    if (is(word, n, "Int"))
        return short_integer(e, pop(e));
    if (is(word, n, "bits"))
        return bitcast_to(e, pop(e), shaped(e, integer));
    if (is(word, n, "float"))
        return bitcast_to(e, pop(e), e->x->id);
    if (is(word, n, "Wider"))
        return EMIT(e->s, SpvOpUConvert, e->type, pop(e));
    if (is(word, n, "BitCount"))
        return count_bits(e, pop(e));
    if (is(word, n, "UMulHigh") || is(word, n, "SMulHigh"))
        return multiply_high(e, *word == 'U' ? SpvOpUMulExtended : SpvOpSMulExtended);
    SpvId value = trait(e, word, n);
    return value ? value : instruction(e, word, n);
}

SpvId shader_evaluate(Shader *s, const char *expression, SpvId type, const SpvId *operands)
{
    Evaluation e = { .s = s,
                     .type = type,
                     .operands = operands,
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

/* Of integers: of 32 bits. */
typedef struct Storing {
    uint16_t function;
    uint8_t widths;
    bool integers;
    const char *stored, *result;
} Storing;

static const Storing storing[] = {
#define STORING(name, widths, integers, stored, result)                                            \
    { OpenCLstd_##name, widths, integers, stored, result },
#include "pass/shader_math.def"
};

/* An expression of floats, for halves too where that is asked for. */
static SpvId evaluate(Shader *s, uint8_t widths, const char *expression, SpvId type,
                      const SpvId *operands, uint32_t n)
{
    const SpvType *x = spv_type_of(s->m, operands[0]), *t = spv_type(s->m, type);
    SpvId wide[3];
    if (!(widths & BY_FLOAT) || component_of(x)->kind != SPV_FLOAT || component_of(x)->bits != 16)
        return shader_evaluate(s, expression, type, operands);
    SpvId to = spv_float_type(s->m, 32);
    to = x->kind == SPV_VECTOR ? spv_vector_type(s->m, to, x->count) : to;
    for (uint32_t k = 0; k < MIN(n, 3); k++)
        wide[k] = spv_type_of(s->m, operands[k]) == x ? EMIT(s, SpvOpFConvert, to, operands[k])
                                                      : operands[k];
    bool back = component_of(t)->kind == SPV_FLOAT;
    SpvId value = shader_evaluate(s, expression, back ? to : type, wide);
    return back ? EMIT(s, SpvOpFConvert, type, value) : value;
}

/* With a second result, which is stored. */
static ShaderFate store_two_results(Shader *s, const SpvInst *i, const Storing *r, SpvId *to)
{
    const SpvId *operands = i->words + i->first_operand + 2;
    const SpvType *x = spv_type(s->m, i->type);
    uint32_t n = spv_n_operands(i) - 3;
    SpvId type = x->id;
    if (r->integers)
        type = x->kind == SPV_VECTOR ? spv_vector_type(s->m, s->u32, x->count) : s->u32;
    SpvId stored = evaluate(s, r->widths, r->stored, type, operands, n);
    *to = evaluate(s, r->widths, r->result, i->type, operands, n);
    return shader_store(s, i, operands[n], stored) ? FATE_GONE : FATE_ERROR;
}

static ShaderFate refuse_math(Shader *s, const SpvInst *i, bool other_width, uint32_t bits)
{
    const SpvExtInst *info = spv_ext_inst(SPV_SET_OpenCLstd_, spv_operand(i, 1));
    char text[128];
    snprintf(text, sizeof text, "the function %s%s", info ? info->name : "of OpenCL.std",
             !other_width ? ""
             : bits == 64 ? " of 64 bits"
             : bits == 8  ? " of 8 bits"
                          : " of 16 bits");
    shader_refuse(s, i, text);
    return FATE_ERROR;
}

/* A shuffle by a mask that is a constant. */
static ShaderFate shuffle_vectors(Shader *s, SpvInst *i, SpvId *to)
{
    bool two = spv_operand(i, 1) == OpenCLstd_shuffle2;
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 2));
    SpvId mask = spv_operand(i, two ? 4 : 3);
    uint32_t n = spv_type_of(s->m, mask)->count, all = t->count * (two ? 2 : 1);
    PassFold fold = fold_open(s->m, s->a);
    PassFoldValue v;
    if (!fold_read(&fold, mask, &v))
        return shader_refuse(s, i, "a shuffle by a mask that is not constant"), FATE_ERROR;
    uint32_t words[18] = { spv_operand(i, 2), spv_operand(i, two ? 3 : 2) };
    for (uint32_t k = 0; k < n; k++)
        words[2 + k] = (uint32_t)v.bits[k] & (all - 1);
    *to = shader_emit(s, SpvOpVectorShuffle, i->type, words, 2 + n);
    return FATE_GONE;
}

ShaderFate shader_function(Shader *s, SpvInst *i, SpvId *to)
{
    uint16_t function = (uint16_t)spv_operand(i, 1);
    if (function == OpenCLstd_prefetch)
        return FATE_GONE;
    if (function == OpenCLstd_printf)
        return shader_print(s, i, to);
    if (function == OpenCLstd_shuffle || function == OpenCLstd_shuffle2)
        return shuffle_vectors(s, i, to);
    const SpvType *x = spv_n_operands(i) > 2 ? spv_type_of(s->m, spv_operand(i, 2)) : NULL;
    if (!x || (x->kind != SPV_INT && x->kind != SPV_FLOAT && x->kind != SPV_VECTOR))
        return refuse_math(s, i, false, 0);
    const SpvId *operands = i->words + i->first_operand + 2;
    bool other_width = false;
    uint32_t bits = component_of(x)->bits;
    for (uint32_t k = 0; k < COUNT_OF(storing); k++) {
        if (storing[k].function != function)
            continue;
        other_width = true;
        if (storing[k].widths & bits / 8)
            return store_two_results(s, i, &storing[k], to);
    }
    if (function == OpenCLstd_select) {
        *to = shader_evaluate(
            s, x->kind == SPV_VECTOR ? "z 0i SLessThan y x ?" : "z 0i INotEqual y x ?", i->type,
            operands);
        return FATE_GONE;
    }
    const MathRow *row = NULL;
    for (uint32_t k = 0; k < COUNT_OF(rows) && !row; k++) {
        other_width |= rows[k].function == function;
        row = rows[k].function == function && rows[k].widths & bits / 8 ? &rows[k] : NULL;
    }
    if (!row)
        return refuse_math(s, i, other_width, bits);
    *to = evaluate(s, row->widths, row->expression, i->type, operands, spv_n_operands(i) - 2);
    if (function == OpenCLstd_fma) /* one operation, rounded once */
        vec_push(s->a, &s->exact_ids, *to);
    return FATE_GONE;
}
