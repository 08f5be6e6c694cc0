/* SPDX-License-Identifier: MIT
 *
 * Operands of arithmetic, bit, relational, logical and conversion instructions agree with their
 * results (SPIR-V 3.3.11, 3.3.13 to 3.3.15).
 */
#include "check/internal.h"

/* Every operand is a value like the result, component by component; matrices only where allowed. */
static void like_result(Checker *c, SpvInst *i, SpvKind kind)
{
    const SpvType *r = result_type(c, i);
    bool matrices = spv_op_info(i->op)->flags & SPV_OPF_MATRICES;
    if (!r || !(of_kind(r, kind) || (is_matrix(r) && matrices && component(r)->kind == kind))) {
        broken(c, i, "the result of %s is %s", spv_op_name(i->op), type_name(c, r));
        return;
    }
    for (uint32_t k = 0; k < spv_n_operands(i); k++) {
        const SpvType *t = want_value(c, i, k);
        if (t && (kind == SPV_INT ? !alike(t, r) : !same_type(t, r)))
            broken(c, i, "operand %%%u is %s, the result %s", spv_operand(i, k), type_name(c, t),
                   type_name(c, r));
    }
}

static bool is_integer_op(uint16_t op)
{
    switch (op) {
    case SpvOpIAdd:
    case SpvOpISub:
    case SpvOpIMul:
    case SpvOpUDiv:
    case SpvOpSDiv:
    case SpvOpUMod:
    case SpvOpSRem:
    case SpvOpSMod:
    case SpvOpSNegate:
    case SpvOpNot:
    case SpvOpBitwiseAnd:
    case SpvOpBitwiseOr:
    case SpvOpBitwiseXor:
    case SpvOpBitReverse: return true;
    default: return false;
    }
}

static void check_integer(Checker *c, SpvInst *i) { like_result(c, i, SPV_INT); }

static bool is_float_op(uint16_t op)
{
    switch (op) {
    case SpvOpFAdd:
    case SpvOpFSub:
    case SpvOpFMul:
    case SpvOpFDiv:
    case SpvOpFRem:
    case SpvOpFmaKHR:
    case SpvOpFMod:
    case SpvOpFNegate: return true;
    default: return false;
    }
}

static void check_float(Checker *c, SpvInst *i) { like_result(c, i, SPV_FLOAT); }

static void check_shift(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0), *b = want_value(c, i, 1);
    if (a && b && !(of_kind(r, SPV_INT) && alike(a, r) && of_kind(b, SPV_INT) && same_shape(a, b)))
        broken(c, i, "%s shifted by %s to %s", type_name(c, a), type_name(c, b), type_name(c, r));
}

static void check_bits(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    uint32_t values = i->op == SpvOpBitFieldInsert ? 2 : 1;
    if (!of_kind(r, SPV_INT)) {
        broken(c, i, "the result is %s", type_name(c, r));
        return;
    }
    for (uint32_t k = 0; k < spv_n_operands(i); k++) {
        const SpvType *t = want_value(c, i, k);
        bool good = t && (k < values ? alike(t, r) : t->kind == SPV_INT);
        if (t && !good)
            broken(c, i, "operand %%%u is %s, the result %s", spv_operand(i, k), type_name(c, t),
                   type_name(c, r));
    }
}

static void check_bit_count(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0);
    if (a && !(of_kind(r, SPV_INT) && of_kind(a, SPV_INT) && same_shape(a, r)))
        broken(c, i, "bits of %s counted in %s", type_name(c, a), type_name(c, r));
}

/* ---- relations ------------------------------------------------------------------------------- */

static void relation(Checker *c, SpvInst *i, SpvKind kind)
{
    const SpvType *r = result_type(c, i), *first = want_value(c, i, 0);
    if (!first)
        return;
    if (!of_kind(r, SPV_BOOL) || !of_kind(first, kind) || !same_shape(first, r)) {
        broken(c, i, "%s of %s gives %s", spv_op_name(i->op), type_name(c, first), type_name(c, r));
        return;
    }
    for (uint32_t k = 1; k < spv_n_operands(i); k++) {
        const SpvType *t = want_value(c, i, k);
        if (t && !alike(t, first))
            broken(c, i, "compares %s with %s", type_name(c, first), type_name(c, t));
    }
}

static bool is_integer_relation(uint16_t op)
{
    return op >= SpvOpIEqual && op <= SpvOpSLessThanEqual;
}
static void check_integer_relation(Checker *c, SpvInst *i) { relation(c, i, SPV_INT); }

static bool is_float_relation(uint16_t op)
{
    return (op >= SpvOpFOrdEqual && op <= SpvOpFUnordGreaterThanEqual) ||
           (op >= SpvOpIsNan && op <= SpvOpUnordered);
}
static void check_float_relation(Checker *c, SpvInst *i) { relation(c, i, SPV_FLOAT); }

static bool is_logical(uint16_t op) { return op >= SpvOpLogicalEqual && op <= SpvOpLogicalNot; }
static void check_logical(Checker *c, SpvInst *i) { relation(c, i, SPV_BOOL); }

static void check_any_all(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0);
    if (a && !(r->kind == SPV_BOOL && a->kind == SPV_VECTOR && of_kind(a, SPV_BOOL)))
        broken(c, i, "%s of %s gives %s", spv_op_name(i->op), type_name(c, a), type_name(c, r));
}

static void check_select(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *s = want_value(c, i, 0), *a = want_value(c, i, 1),
                  *b = want_value(c, i, 2);
    if (!s || !a || !b)
        return;
    bool condition = s->kind == SPV_BOOL || (s->kind == SPV_VECTOR && of_kind(s, SPV_BOOL) &&
                                             r->kind == SPV_VECTOR && s->count == r->count);
    if (!condition || !same_type(a, r) || !same_type(b, r) || r->kind == SPV_VOID)
        broken(c, i, "selects between %s and %s by %s", type_name(c, a), type_name(c, b),
               type_name(c, s));
}

/* ---- results of two parts -------------------------------------------------------------------- */

static void check_extended(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0), *b = want_value(c, i, 1);
    if (!a || !b)
        return;
    if (!of_kind(a, SPV_INT) || !alike(a, b) || !r || r->kind != SPV_STRUCT || r->count != 2 ||
        !r->members[0] || !r->members[1] || !alike(r->members[0], a) || !alike(r->members[1], a))
        broken(c, i, "the result must be a structure of two members of the operands' type");
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* Conversions from one width to another; LLVM's target has kernels convert to the same. */
static bool changes_width(uint16_t op)
{
    return op == SpvOpUConvert || op == SpvOpSConvert || op == SpvOpFConvert;
}

static void check_conversion(Checker *c, SpvInst *i)
{
    SpvKind from = SPV_INT, to = SPV_INT;
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0);
    switch (i->op) {
    case SpvOpConvertFToU:
    case SpvOpConvertFToS: from = SPV_FLOAT; break;
    case SpvOpConvertSToF:
    case SpvOpConvertUToF: to = SPV_FLOAT; break;
    case SpvOpFConvert:
    case SpvOpQuantizeToF16: from = to = SPV_FLOAT; break;
    default: break;
    }
    if (!a)
        return;
    if (component(a)->kind != from || component(r)->kind != to ||
        !(same_shape(a, r) || changes_use(a, r)) || a->kind == SPV_MATRIX || r->kind == SPV_MATRIX)
        broken(c, i, "%s from %s to %s", spv_op_name(i->op), type_name(c, a), type_name(c, r));
    else if (changes_width(i->op) && !has_capability(c, SpvCapabilityKernel) && !is_matrix(a) &&
             alike(a, r))
        broken(c, i, "%s is %s already", spv_op_name(i->op), type_name(c, a));
    else if (i->op == SpvOpQuantizeToF16 && (component(a)->bits != 32 || component(r)->bits != 32))
        broken(c, i, "only f32 is quantized, not %s", type_name(c, a));
}

static uint64_t total_bits(const SpvType *t)
{
    return t->kind == SPV_POINTER ? 64 : (uint64_t)components(t) * component(t)->bits;
}

static void check_bitcast(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0);
    if (!a || !r)
        return;
    if (is_matrix(a) || is_matrix(r)) {
        if (!is_matrix(a) || !is_matrix(r) || !same_shape(a, r) ||
            component(a)->bits != component(r)->bits)
            broken(c, i, "reinterprets %s as %s", type_name(c, a), type_name(c, r));
        return;
    }
    bool from = is_numeric(a) || a->kind == SPV_POINTER,
         to = is_numeric(r) || r->kind == SPV_POINTER;
    if (!from || !to || total_bits(a) != total_bits(r))
        broken(c, i, "reinterprets %s as %s", type_name(c, a), type_name(c, r));
}

static void check_pointer_conversion(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0);
    bool to = i->op == SpvOpConvertUToPtr;
    if (a && r && ((to ? r : a)->kind != SPV_POINTER || (to ? a : r)->kind != SPV_INT))
        broken(c, i, "converts %s to %s", type_name(c, a), type_name(c, r));
}

static void check_copy(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0);
    if (a && (!same_type(a, r) || a->kind == SPV_VOID))
        broken(c, i, "copies %s to %s", type_name(c, a), type_name(c, r));
}

/* Scalars and vectors of the kinds that the opcode takes, as they are. */
static void check_passed_on(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0);
    bool fits = i->op == SpvOpArithmeticFenceEXT
                    ? of_kind(a, SPV_FLOAT)
                    : a && components(a); /* numbers, booleans, pointers */
    if (a && (!fits || !same_type(a, r)))
        broken(c, i, "%s of %s gives %s", spv_op_name(i->op), type_name(c, a), type_name(c, r));
}

/* Integers and booleans, as they are expected to be. */
static void check_expected(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0), *b = want_value(c, i, 1);
    if (a && b &&
        (!same_type(a, r) || !same_type(b, r) || !(of_kind(r, SPV_INT) || of_kind(r, SPV_BOOL))))
        broken(c, i, "%s is expected to be %s, as %s", type_name(c, a), type_name(c, b),
               type_name(c, r));
}

static void check_assumption(Checker *c, SpvInst *i)
{
    const SpvType *a = want_value(c, i, 0);
    if (a && a->kind != SPV_BOOL)
        broken(c, i, "an assumption that is %s", type_name(c, a));
}

static void check_clock(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *s = want_value(c, i, 0);
    uint64_t scope;
    bool of_group = !has_capability(c, SpvCapabilityShader); /* cl_khr_kernel_clock has that too */
    bool pair = r && r->kind == SPV_VECTOR && r->count == 2 && r->element->bits == 32;
    if (!of_kind(r, SPV_INT) || r->is_signed || !(pair || (r->kind == SPV_INT && r->bits == 64)))
        broken(c, i, "a clock gives %s", type_name(c, r));
    if (s && (s->kind != SPV_INT || !spv_constant(c->m, spv_operand(i, 0), &scope) ||
              (scope != SpvScopeSubgroup && scope != SpvScopeDevice &&
               !(of_group && scope == SpvScopeWorkgroup))))
        broken(c, i, "the scope is neither Subgroup nor Device");
}

/* ---- vectors and matrices -------------------------------------------------------------------- */

static void check_dot(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0), *b = want_value(c, i, 1);
    if (a && b &&
        !(r->kind == SPV_FLOAT && a->kind == SPV_VECTOR && same_type(a, b) &&
          same_type(a->element, r)))
        broken(c, i, "the product of %s and %s is not %s", type_name(c, a), type_name(c, b),
               type_name(c, r));
}

static void check_integer_dot(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0), *b = want_value(c, i, 1);
    bool sat = i->op == SpvOpSDotAccSat || i->op == SpvOpUDotAccSat || i->op == SpvOpSUDotAccSat;
    const SpvType *acc = sat ? want_value(c, i, 2) : r;
    if (!a || !b || !acc)
        return;
    bool packed = a->kind == SPV_INT && a->bits == 32 && b->kind == SPV_INT && b->bits == 32;
    bool vectors = a->kind == SPV_VECTOR && of_kind(a, SPV_INT) && alike(a, b);
    if (!r || r->kind != SPV_INT || !alike(acc, r) || !(packed || vectors) ||
        (vectors && component(a)->bits > r->bits))
        broken(c, i, "the product of %s and %s is not %s", type_name(c, a), type_name(c, b),
               type_name(c, r));
}

static void check_product(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0), *b = want_value(c, i, 1);
    bool good = false;
    if (!a || !b || !r)
        return;
    bool ma = a->kind == SPV_MATRIX, mb = b->kind == SPV_MATRIX, mr = r->kind == SPV_MATRIX;
    switch (i->op) {
    case SpvOpVectorTimesScalar:
        good = r->kind == SPV_VECTOR && of_kind(r, SPV_FLOAT) && same_type(a, r) &&
               same_type(b, r->element);
        break;
    case SpvOpMatrixTimesScalar:
        good = (mr || is_matrix(r)) && same_type(a, r) && same_type(b, component(r));
        break;
    case SpvOpVectorTimesMatrix:
        good = mb && a->kind == SPV_VECTOR && same_type(a, b->element) && r->kind == SPV_VECTOR &&
               r->count == b->count && same_type(r->element, a->element);
        break;
    case SpvOpMatrixTimesVector:
        good = ma && b->kind == SPV_VECTOR && same_type(r, a->element) && b->count == a->count &&
               same_type(b->element, r->element);
        break;
    case SpvOpMatrixTimesMatrix:
        good = ma && mb && mr && same_type(r->element, a->element) && r->count == b->count &&
               b->element->count == a->count && same_type(component(b), component(a));
        break;
    case SpvOpOuterProduct:
        good = mr && a->kind == SPV_VECTOR && b->kind == SPV_VECTOR && same_type(r->element, a) &&
               r->count == b->count && same_type(a->element, b->element);
        break;
    default: break;
    }
    if (!good)
        broken(c, i, "%s of %s and %s to %s", spv_op_name(i->op), type_name(c, a), type_name(c, b),
               type_name(c, r));
}

static void check_transpose(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0);
    if (a && !(a->kind == SPV_MATRIX && r->kind == SPV_MATRIX && r->count == a->element->count &&
               a->count == r->element->count && same_type(component(a), component(r))))
        broken(c, i, "transposes %s to %s", type_name(c, a), type_name(c, r));
}

static const CheckRow rows[] = {
    { { "integer-arithmetic", "SPIR-V 3.3.13, 3.3.14",
        "Integer instructions have operands of the result's width and number of components." },
      { 0 },
      is_integer_op,
      check_integer },
    { { "float-arithmetic", "SPIR-V 3.3.13",
        "Floating-point instructions have operands of the result's type." },
      { 0 },
      is_float_op,
      check_float },
    { { "shift", "SPIR-V 3.3.14",
        "The base of a shift has the result's type, the shift is of integers, as many as the "
        "base." },
      { SpvOpShiftLeftLogical, SpvOpShiftRightLogical, SpvOpShiftRightArithmetic },
      NULL,
      check_shift },
    { { "bit-field", "SPIR-V 3.3.14",
        "Base and insert have the result's type, offset and count are scalar integers." },
      { SpvOpBitFieldInsert, SpvOpBitFieldSExtract, SpvOpBitFieldUExtract },
      NULL,
      check_bits },
    { { "bit-count", "SPIR-V 3.3.14", "Bits of integers are counted in as many integers." },
      { SpvOpBitCount },
      NULL,
      check_bit_count },
    { { "integer-relation", "SPIR-V 3.3.15",
        "Integers of one width are compared, giving as many booleans." },
      { 0 },
      is_integer_relation,
      check_integer_relation },
    { { "float-relation", "SPIR-V 3.3.15",
        "Floats of one type are compared, giving as many booleans." },
      { 0 },
      is_float_relation,
      check_float_relation },
    { { "logical", "SPIR-V 3.3.15", "Logical instructions take booleans and give as many." },
      { 0 },
      is_logical,
      check_logical },
    { { "any-all", "SPIR-V 3.3.15", "OpAny and OpAll take a vector of booleans and give one." },
      { SpvOpAny, SpvOpAll },
      NULL,
      check_any_all },
    { { "select", "SPIR-V 3.3.15",
        "Both objects have the result's type; the condition is a boolean or one for each "
        "component." },
      { SpvOpSelect },
      NULL,
      check_select },
    { { "extended-result", "SPIR-V 3.3.13",
        "The result is a structure of two members of the operands' type." },
      { SpvOpIAddCarry, SpvOpISubBorrow, SpvOpUMulExtended, SpvOpSMulExtended },
      NULL,
      check_extended },
    { { "conversion", "SPIR-V 3.3.11",
        "Conversions take and give the kinds of number their name says, as many as they take." },
      { SpvOpConvertFToU, SpvOpConvertFToS, SpvOpConvertSToF, SpvOpConvertUToF, SpvOpUConvert,
        SpvOpSConvert, SpvOpFConvert, SpvOpQuantizeToF16, SpvOpSatConvertSToU,
        SpvOpSatConvertUToS },
      NULL,
      check_conversion },
    { { "bitcast", "SPIR-V 3.3.11", "A bit cast keeps the number of bits." },
      { SpvOpBitcast },
      NULL,
      check_bitcast },
    { { "pointer-conversion", "SPIR-V 3.3.11", "A pointer converts to and from a scalar integer." },
      { SpvOpConvertPtrToU, SpvOpConvertUToPtr },
      NULL,
      check_pointer_conversion },
    { { "copy-object", "SPIR-V 3.3.12", "A copy has the type of its operand." },
      { SpvOpCopyObject },
      NULL,
      check_copy },
    { { "pass-on", "SPV_EXT_arithmetic_fence, SPV_KHR_poison_freeze",
        "A fence is for floats, a freeze for scalars and vectors; the type stays." },
      { SpvOpArithmeticFenceEXT, SpvOpFreezeKHR },
      NULL,
      check_passed_on },
    { { "expectation", "SPV_KHR_expect_assume",
        "A value is expected to be another of its type, of integers or booleans." },
      { SpvOpExpectKHR },
      NULL,
      check_expected },
    { { "assumption", "SPV_KHR_expect_assume", "What is assumed is a boolean." },
      { SpvOpAssumeTrueKHR },
      NULL,
      check_assumption },
    { { "clock", "SPV_KHR_shader_clock",
        "A clock is of the subgroup or the device, and gives 64 bits in one or two words." },
      { SpvOpReadClockKHR },
      NULL,
      check_clock },
    { { "dot", "SPIR-V 3.3.13",
        "The dot product of two vectors of one type is a component of them." },
      { SpvOpDot },
      NULL,
      check_dot },
    { { "integer-dot", "SPIR-V 3.3.13",
        "Integer dot products take two vectors of one type or two packed words." },
      { SpvOpSDot, SpvOpUDot, SpvOpSUDot, SpvOpSDotAccSat, SpvOpUDotAccSat, SpvOpSUDotAccSat },
      NULL,
      check_integer_dot },
    { { "matrix-product", "SPIR-V 3.3.13",
        "The shapes of matrices, vectors and scalars that are multiplied fit." },
      { SpvOpVectorTimesScalar, SpvOpMatrixTimesScalar, SpvOpVectorTimesMatrix,
        SpvOpMatrixTimesVector, SpvOpMatrixTimesMatrix, SpvOpOuterProduct },
      NULL,
      check_product },
    { { "transpose", "SPIR-V 3.3.13", "A transposed matrix has the operand's columns as rows." },
      { SpvOpTranspose },
      NULL,
      check_transpose },
};
const CheckFamily check_core_values = { rows, COUNT_OF(rows) };
