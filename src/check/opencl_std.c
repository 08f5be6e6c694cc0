/* SPDX-License-Identifier: MIT
 *
 * Operands of OpenCL.std's instructions. A row of `shapes` says in letters what an instruction
 * gives and takes. Each has one generic type: its result's, or that of the first operand where the
 * result's is another one. A capital letter stands for it and says what it may be; a small one for
 * a type that hangs on it, or for something else altogether. (native_ and half_ functions, which
 * OpenCL C has for float alone, are of any width here: other compilers use them so.)
 */
#include "check/internal.h"

typedef struct Shape {
    char result;
    const char *operands;
} Shape;

/* Widths, and numbers of components, are masks. */
typedef struct Class {
    char letter;
    bool ints, floats;
    uint8_t bits;
    uint32_t counts;
} Class;

enum {
    FLOATS = 16 | 32 | 64,
    ALL_BITS = 8 | 16 | 32 | 64,
    SCALAR = 1 << 1,
    POWERS = 1 << 2 | 1 << 4 | 1 << 8 | 1 << 16,
    VECTORS = POWERS | 1 << 3,
    ALL = SCALAR | VECTORS
};

static const Class classes[] = {
    { 'F', false, true, FLOATS, ALL },
    { 'D', false, true, FLOATS, SCALAR | 1 << 2 | 1 << 3 | 1 << 4 }, /* a distance's */
    { 'X', false, true, FLOATS, 1 << 3 | 1 << 4 },
    { 'H', false, true, FLOATS, SCALAR },
    { 'K', false, true, FLOATS, VECTORS },
    { 'R', false, true, 32 | 64, SCALAR }, /* what is rounded to half */
    { 'Q', false, true, 32 | 64, VECTORS },
    { 'I', true, false, ALL_BITS, ALL },
    { 'U', true, false, 32, ALL },
    { 'W', true, false, 16 | 32 | 64, ALL },
    { 'G', true, true, ALL_BITS, ALL },
    { 'V', true, true, ALL_BITS, VECTORS },
    { 'S', true, true, ALL_BITS, POWERS },
};

static const SpvType half = { .kind = SPV_FLOAT, .bits = 16 };

static bool in_class(const Class *k, const SpvType *t)
{
    const SpvType *s = component(t);
    bool kind = (s->kind == SPV_INT && k->ints) ||
                (s->kind == SPV_FLOAT && s->format == SPV_IEEE && k->floats);
    bool width = is_pow2(s->bits) && s->bits < 256 && k->bits & s->bits;
    uint32_t n = components(t);
    return kind && width && n < 32 && k->counts >> n & 1;
}

static const Class *class_of(char letter)
{
    for (uint32_t k = 0; k < COUNT_OF(classes); k++)
        if (classes[k].letter == letter)
            return &classes[k];
    return NULL;
}

/* As many integers of that width as the generic type has components. */
static bool integers_like(const SpvType *t, const SpvType *generic, uint32_t bits)
{
    return of_kind(t, SPV_INT) && component(t)->bits == bits &&
           components(t) == components(generic);
}

static bool may_write(uint32_t storage)
{
    return storage == SpvStorageClassGeneric || storage == SpvStorageClassCrossWorkgroup ||
           storage == SpvStorageClassWorkgroup || storage == SpvStorageClassFunction;
}

static bool may_read(uint32_t storage)
{
    return may_write(storage) || storage == SpvStorageClassUniformConstant;
}

/* Of size_t; 0 where pointers are no addresses. */
static uint32_t address_bits(Checker *c)
{
    const SpvInst *i = c->m->globals.first;
    while (i && i->op != SpvOpMemoryModel)
        i = i->next;
    uint32_t model = i ? spv_operand(i, 0) : SpvAddressingModelLogical;
    return model == SpvAddressingModelPhysical64   ? 64
           : model == SpvAddressingModelPhysical32 ? 32
                                                   : 0;
}

static bool is_char(const SpvType *t) { return t->kind == SPV_INT && t->bits == 8; }

/* printf's format; SPV_EXT_relaxed_printf_string_address_space lets it lie anywhere. */
static bool is_text(Checker *c, const SpvType *p)
{
    const SpvType *t = p->element;
    bool anywhere = has_extension(c, "SPV_EXT_relaxed_printf_string_address_space");
    return (t->kind == SPV_ARRAY ? is_char(t->element) : is_char(t)) &&
           (anywhere ? may_read(p->storage) : p->storage == SpvStorageClassUniformConstant);
}

static bool pointer_fits(Checker *c, const SpvType *p, char letter, const SpvType *generic)
{
    const SpvType *t = p->element;
    if (p->kind != SPV_POINTER || !t)
        return false;
    switch (letter) {
    case 'p': /* to the generic type */ return may_write(p->storage) && same_type(t, generic);
    case 'n': /* to 32-bit integers, as many */
        return may_write(p->storage) && integers_like(t, generic, 32);
    case 'e': /* to components, read */
        return may_read(p->storage) && same_type(t, component(generic));
    case 'w': /* to components, written */
        return may_write(p->storage) && same_type(t, component(generic));
    case 'h': return may_read(p->storage) && alike(t, &half);
    case 'r': return may_write(p->storage) && alike(t, &half);
    case 'g': return p->storage == SpvStorageClassCrossWorkgroup && in_class(class_of('G'), t);
    default: return letter == 't' && is_text(c, p);
    }
}

static bool fits(Checker *c, const SpvType *t, char letter, const SpvType *generic)
{
    const Class *k = class_of(letter);
    if (k)
        return same_type(t, generic) && in_class(k, t);
    switch (letter) {
    case 'v': return t->kind == SPV_VOID;
    case 'c': return same_type(t, component(generic));
    case 'i': /* 32-bit integers, as many */ return integers_like(t, generic, 32);
    case 'b': /* integers as wide, as many */
        return integers_like(t, generic, component(generic)->bits);
    case 's': /* integers half as wide, as many */
        return integers_like(t, generic, component(generic)->bits / 2);
    case 'y': /* a vector of the generic one's components */
        return in_class(class_of('S'), t) && same_type(component(t), component(generic));
    case 'u': return t->kind == SPV_INT && t->bits == 32;
    case 'z': /* size_t */ return t->kind == SPV_INT && t->bits == address_bits(c);
    case 'a': /* an argument of printf */ return is_numeric(t) || t->kind == SPV_POINTER;
    default: return pointer_fits(c, t, letter, generic);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

#define ROW(result, operands, name) [OpenCLstd_##name] = { result, operands },
#define F1(name)                    ROW('F', "F", name)
#define F2(name)                    ROW('F', "FF", name)
#define F3(name)                    ROW('F', "FFF", name)
#define I1(name)                    ROW('I', "I", name)
#define I2(name)                    ROW('I', "II", name)
#define I3(name)                    ROW('I', "III", name)

/* 'l': the literal number of components. '*': any number of what stands behind it. */
/* clang-format off */
static const Shape shapes[] = {
    F1(acos) F1(acosh) F1(acospi) F1(asin) F1(asinh) F1(asinpi) F1(atan) F1(atanh) F1(atanpi)
    F1(cbrt) F1(ceil) F1(cos) F1(cosh) F1(cospi) F1(erfc) F1(erf) F1(exp) F1(exp2) F1(exp10)
    F1(expm1) F1(fabs) F1(floor) F1(lgamma) F1(log) F1(log2) F1(log10) F1(log1p) F1(logb)
    F1(rint) F1(round) F1(rsqrt) F1(sin) F1(sinh) F1(sinpi) F1(sqrt) F1(tan) F1(tanh) F1(tanpi)
    F1(tgamma) F1(trunc) F1(half_cos) F1(half_exp) F1(half_exp2) F1(half_exp10) F1(half_log)
    F1(half_log2) F1(half_log10) F1(half_recip) F1(half_rsqrt) F1(half_sin) F1(half_sqrt)
    F1(half_tan) F1(native_cos) F1(native_exp) F1(native_exp2) F1(native_exp10) F1(native_log)
    F1(native_log2) F1(native_log10) F1(native_recip) F1(native_rsqrt) F1(native_sin)
    F1(native_sqrt) F1(native_tan) F1(degrees) F1(radians) F1(sign)

    F2(atan2) F2(atan2pi) F2(copysign) F2(fdim) F2(fmax) F2(fmin) F2(fmod) F2(hypot) F2(maxmag)
    F2(minmag) F2(nextafter) F2(pow) F2(powr) F2(remainder) F2(half_divide) F2(half_powr)
    F2(native_divide) F2(native_powr) F2(fmax_common) F2(fmin_common) F2(step)
    F3(fma) F3(mad) F3(fclamp) F3(mix) F3(smoothstep)

    ROW('F', "Fp", fract) ROW('F', "Fp", modf) ROW('F', "Fp", sincos)
    ROW('F', "Fn", frexp) ROW('F', "Fn", lgamma_r) ROW('F', "FFn", remquo)
    ROW('i', "F", ilogb) ROW('F', "b", nan)
    ROW('F', "Fi", ldexp) ROW('F', "Fi", pown) ROW('F', "Fi", rootn)
    ROW('X', "XX", cross) ROW('c', "DD", distance) ROW('c', "DD", fast_distance)
    ROW('c', "D", length) ROW('c', "D", fast_length)
    ROW('D', "D", normalize) ROW('D', "D", fast_normalize)

    I1(s_abs) I1(u_abs) I1(clz) I1(ctz) I1(popcount)
    I2(s_abs_diff) I2(u_abs_diff) I2(s_add_sat) I2(u_add_sat) I2(s_hadd) I2(u_hadd) I2(s_rhadd)
    I2(u_rhadd) I2(s_max) I2(u_max) I2(s_min) I2(u_min) I2(s_mul_hi) I2(u_mul_hi) I2(rotate)
    I2(s_sub_sat) I2(u_sub_sat)
    I3(s_clamp) I3(u_clamp) I3(s_mad_hi) I3(u_mad_hi) I3(s_mad_sat) I3(u_mad_sat)
    ROW('U', "UUU", s_mad24) ROW('U', "UUU", u_mad24) ROW('U', "UU", s_mul24)
    ROW('U', "UU", u_mul24) ROW('W', "ss", u_upsample) ROW('W', "ss", s_upsample)

    ROW('V', "zel", vloadn) ROW('v', "Vzw", vstoren)
    ROW('H', "zh", vload_half) ROW('K', "zhl", vload_halfn) ROW('K', "zhl", vloada_halfn)
    ROW('v', "Rzr", vstore_half) ROW('v', "Rzrm", vstore_half_r)
    ROW('v', "Qzr", vstore_halfn) ROW('v', "Qzrm", vstore_halfn_r)
    ROW('v', "Qzr", vstorea_halfn) ROW('v', "Qzrm", vstorea_halfn_r)
    ROW('S', "yb", shuffle) ROW('S', "yyb", shuffle2)
    ROW('u', "t*a", printf) ROW('v', "gz", prefetch)
    ROW('G', "GGG", bitselect) ROW('G', "GGb", select)
};
/* clang-format on */

/* ---- the rule -------------------------------------------------------------------------------- */

/* A literal, which the letters do not tell from an id. True where operand k is one. */
static bool check_literal(Checker *c, SpvInst *i, uint32_t k, char letter, const SpvType *generic)
{
    uint32_t n = spv_operand(i, 2 + k);
    if (letter == 'l' && n != components(generic))
        broken(c, i, "%u components for %s", n, type_name(c, generic));
    return letter == 'l' || letter == 'm'; /* 'm': a rounding mode, which the reader knows */
}

static void check_operands(Checker *c, SpvInst *i, const char *name, const char *letters,
                           const SpvType *generic)
{
    for (uint32_t k = 0; k + 2 < spv_n_operands(i); k++) {
        if (check_literal(c, i, k, *letters, generic)) {
            letters++;
            continue;
        }
        const SpvType *t = want_value(c, i, 2 + k);
        const char *letter = *letters == '*' ? letters + 1 : letters;
        if (t && !fits(c, t, *letter, generic))
            broken(c, i, "operand %u of %s is %s", k, name, type_name(c, t));
        letters += *letters != '*';
    }
}

static void check_opencl_inst(Checker *c, SpvInst *i)
{
    if (i->ext_set != SPV_SET_OpenCLstd_)
        return;
    uint32_t number = spv_operand(i, 1), n = spv_n_operands(i) - 2;
    const SpvExtInst *info = spv_ext_inst(i->ext_set, number);
    const Shape *s = number < COUNT_OF(shapes) ? &shapes[number] : NULL;
    if (!info || !s || !s->operands || !n) {
        broken(c, i, "there is no instruction %u, or none of %u operands", number, n);
        return;
    }
    const SpvType *r = result_type(c, i), *first = want_value(c, i, 2);
    const SpvType *generic = class_of(s->result) ? r : first;
    if (!r || !first)
        return;
    if (!address_bits(c) && strchr(s->operands, 'z')) {
        broken(c, i, "%s is for memory that has addresses", info->name);
        return;
    }
    check_operands(c, i, info->name, s->operands, generic);
    if (!fits(c, r, s->result, generic))
        broken(c, i, "%s of %s gives %s", info->name, type_name(c, first), type_name(c, r));
    if (number == OpenCLstd_shuffle2 && !same_type(first, operand_type(c, i, 3)))
        broken(c, i, "shuffles %s with another type", type_name(c, first));
}

static const CheckRow rows[] = {
    { { "opencl-std", "OpenCL.std",
        "Operands and result of an extended instruction have its shapes." },
      { SpvOpExtInst },
      NULL,
      check_opencl_inst },
};
const CheckFamily check_opencl = { rows, COUNT_OF(rows) };
