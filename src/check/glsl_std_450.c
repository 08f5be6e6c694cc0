/* SPDX-License-Identifier: MIT
 *
 * Operands of GLSL.std.450's instructions. Most take and give one type; the others are rows of a
 * table of shapes.
 */
#include "check/internal.h"

/* Of operands and result: F a float scalar or vector, f its scalar; I an integer scalar or vector
 * of any width; v a vector of floats; M a square matrix; P a pointer to the first operand's type
 * (N: to as many 32-bit integers); uppercase kinds are alike throughout. */
typedef struct Shape {
    uint16_t number;
    const char *result, *operands;
} Shape;

static const Shape shapes[] = {
    { GLSLstd450Length, "f", "F" },
    { GLSLstd450Distance, "f", "FF" },
    { GLSLstd450Cross, "3", "33" },
    { GLSLstd450Determinant, "m", "M" },
    { GLSLstd450MatrixInverse, "M", "M" },
    { GLSLstd450Modf, "F", "FP" },
    { GLSLstd450Frexp, "F", "FN" },
    { GLSLstd450ModfStruct, "S", "F" },
    { GLSLstd450FrexpStruct, "T", "F" },
    { GLSLstd450Ldexp, "F", "FJ" },
    { GLSLstd450Refract, "F", "FFs" },
    { GLSLstd450PackSnorm4x8, "u", "4" },
    { GLSLstd450PackUnorm4x8, "u", "4" },
    { GLSLstd450PackSnorm2x16, "u", "2" },
    { GLSLstd450PackUnorm2x16, "u", "2" },
    { GLSLstd450PackHalf2x16, "u", "2" },
    { GLSLstd450PackDouble2x32, "d", "p" },
    { GLSLstd450UnpackSnorm2x16, "2", "u" },
    { GLSLstd450UnpackUnorm2x16, "2", "u" },
    { GLSLstd450UnpackHalf2x16, "2", "u" },
    { GLSLstd450UnpackSnorm4x8, "4", "u" },
    { GLSLstd450UnpackUnorm4x8, "4", "u" },
    { GLSLstd450UnpackDouble2x32, "p", "d" },
    { GLSLstd450SAbs, "I", "I" },
    { GLSLstd450SSign, "I", "I" },
    { GLSLstd450UMin, "I", "II" },
    { GLSLstd450SMin, "I", "II" },
    { GLSLstd450UMax, "I", "II" },
    { GLSLstd450SMax, "I", "II" },
    { GLSLstd450UClamp, "I", "III" },
    { GLSLstd450SClamp, "I", "III" },
    { GLSLstd450FindILsb, "J", "I" },
    { GLSLstd450FindSMsb, "J", "I" },
    { GLSLstd450FindUMsb, "J", "I" },
    { GLSLstd450InterpolateAtCentroid, "", "" },
    { GLSLstd450InterpolateAtSample, "", "" },
    { GLSLstd450InterpolateAtOffset, "", "" },
    { GLSLstd450IMix, "", "" },
    { GLSLstd450Atan2, "F", "FF" },
    { GLSLstd450Pow, "F", "FF" },
    { GLSLstd450FMin, "F", "FF" },
    { GLSLstd450FMax, "F", "FF" },
    { GLSLstd450NMin, "F", "FF" },
    { GLSLstd450NMax, "F", "FF" },
    { GLSLstd450Step, "F", "FF" },
    { GLSLstd450Reflect, "F", "FF" },
    { GLSLstd450FClamp, "F", "FFF" },
    { GLSLstd450NClamp, "F", "FFF" },
    { GLSLstd450FMix, "F", "FFF" },
    { GLSLstd450SmoothStep, "F", "FFF" },
    { GLSLstd450Fma, "F", "FFF" },
    { GLSLstd450FaceForward, "F", "FFF" },
};

static bool vector_of(const SpvType *t, uint32_t count, SpvKind kind, uint32_t bits)
{
    return t->kind == SPV_VECTOR && t->count == count && t->element->kind == kind &&
           (!bits || t->element->bits == bits);
}

static bool pair(const SpvType *t, const SpvType *first, bool integer)
{
    if (t->kind != SPV_STRUCT || t->count != 2 || !t->members[0] || !t->members[1])
        return false;
    const SpvType *x = t->members[1];
    return same_type(t->members[0], first) &&
           (integer ? of_kind(x, SPV_INT) && component(x)->bits >= 16 && same_shape(x, first)
                    : same_type(x, first));
}

/* Whether `t` has the shape `s`; `first` is the first operand's type (or the type itself). */
static bool has_shape(const SpvType *t, char s, const SpvType *first)
{
    if (!t)
        return false;
    switch (s) {
    case 'F': return of_kind(t, SPV_FLOAT) && same_type(t, first);
    case 'I': return of_kind(t, SPV_INT) && of_kind(first, SPV_INT) && alike(t, first);
    case 'J': return of_kind(t, SPV_INT) && components(first) == components(t);
    case 'f': return t->kind == SPV_FLOAT && same_type(t, component(first));
    case 's': return t->kind == SPV_FLOAT;
    case '2': return vector_of(t, 2, SPV_FLOAT, 32);
    case '4': return vector_of(t, 4, SPV_FLOAT, 32);
    case '3': return vector_of(t, 3, SPV_FLOAT, 0) && same_type(t, first);
    case 'u': return t->kind == SPV_INT && t->bits == 32;
    case 'p': return vector_of(t, 2, SPV_INT, 32);
    case 'd': return t->kind == SPV_FLOAT && t->bits == 64;
    case 'M': return t->kind == SPV_MATRIX && t->count == t->element->count && same_type(t, first);
    case 'm': return first->kind == SPV_MATRIX && same_type(t, component(first));
    case 'P': return t->kind == SPV_POINTER && same_type(t->element, first);
    case 'N':
        return t->kind == SPV_POINTER && t->element && of_kind(t->element, SPV_INT) &&
               component(t->element)->bits >= 16 && same_shape(t->element, first);
    case 'S': return pair(t, first, false);
    case 'T': return pair(t, first, true);
    default: return false;
    }
}

static void check_glsl_inst(Checker *c, SpvInst *i)
{
    if (i->ext_set != spv_set_by_name("GLSL.std.450"))
        return;
    uint32_t number = spv_operand(i, 1), n = spv_n_operands(i) - 2;
    Shape shape = { (uint16_t)number, "F", "F" };
    for (uint32_t k = 0; k < COUNT_OF(shapes); k++)
        if (shapes[k].number == number)
            shape = shapes[k];
    const SpvExtInst *info = spv_ext_inst(i->ext_set, number);
    if (!info || !*shape.result) {
        broken(c, i, "instruction %u (%s) is not for compute kernels", number,
               info ? info->name : "unknown");
        return;
    }
    const SpvType *r = result_type(c, i), *first = n ? want_value(c, i, 2) : NULL;
    if (n != strlen(shape.operands)) {
        broken(c, i, "%s has %u operands", info->name, n);
        return;
    }
    if (!first)
        return;
    for (uint32_t k = 0; k < n; k++) {
        const SpvType *t = want_value(c, i, 2 + k);
        if (t && !has_shape(t, shape.operands[k], first))
            broken(c, i, "operand %u of %s is %s", k, info->name, type_name(c, t));
    }
    if (!has_shape(r, shape.result[0], first))
        broken(c, i, "%s of %s gives %s", info->name, type_name(c, first), type_name(c, r));
}

static const CheckRow rows[] = {
    { { "glsl-std-450", "GLSL.std.450",
        "Operands and result of an extended instruction have its shapes." },
      { SpvOpExtInst },
      NULL,
      check_glsl_inst },
};
const CheckFamily check_glsl = { rows, COUNT_OF(rows) };
