/* SPDX-License-Identifier: MIT
 *
 * What is known of integers over the lanes (Affine), followed through arithmetic: that within
 * aligned groups of lanes they count up by a constant, or are all the same. In: an instruction, and
 * what is known of its operands. Out: what is known of its result, with scalar arithmetic for the
 * first lane of each group.
 *
 * The result of a minimum, maximum, clamp or select is usually the operand that counts up, except
 * at a border. So a condition is computed there once (`expected`), and the accesses that rely on it
 * branch on it.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

/* ---- firsts ---------------------------------------------------------------------------------- */

/* The scalars of an Affine, by number. */
enum { SCALARS = AFFINE_GROUPS + 1 };
static LV *scalar(EmitAffine *a, uint32_t k)
{
    return k < AFFINE_GROUPS ? &a->first[k] : &a->expected;
}

void affine_store(Emit *e, LanesSlots *slots, uint32_t home, const EmitAffine *a)
{
    EmitAffine from = *a;
    for (uint32_t k = 0; k < SCALARS; k++) {
        LV v = *scalar(&from, k);
        if (v && !slots->of[k])
            slots->of[k] = slot_new(e, LLVMTypeOf(v), home, false);
        if (v)
            slot_store(e, slots->of[k], v);
    }
}

EmitAffine affine_load(Emit *e, const LanesSlots *slots, EmitAffine a)
{
    for (uint32_t k = 0; k < SCALARS; k++)
        if (slots->of[k])
            *scalar(&a, k) = slot_load(e, slots->of[k]);
    return a;
}

/* Makes the groups smaller. The first lanes of the new groups lie within the larger ones. */
static void regroup(Emit *e, EmitAffine *a, uint32_t group)
{
    LV first[AFFINE_GROUPS] = { 0 };
    if (group >= a->group)
        return;
    for (uint32_t k = 0; k < e->W / group && e->W / group <= AFFINE_GROUPS && a->first[0]; k++) {
        LV from = a->first[k * group / a->group];
        int64_t steps = k * group % a->group;
        first[k] =
            LLVMBuildAdd(e->b, from, ir_int(LLVMTypeOf(from), (uint64_t)(steps * a->stride)), "");
    }
    memcpy(a->first, first, sizeof first);
    a->group = group;
}

EmitAffine affine_join(Emit *e, EmitAffine *a, EmitAffine *b)
{
    /* 0 if a value has no affine form at all, after an error */
    uint32_t group = MAX(MIN(a->group, b->group), 1);
    regroup(e, a, group);
    regroup(e, b, group);
    LV expected = a->expected ? a->expected : b->expected;
    if (a->expected && b->expected && a->expected != b->expected)
        expected = LLVMBuildAnd(e->b, a->expected, b->expected, "");
    return (EmitAffine){ .group = group,
                         .expected = expected,
                         .assumed = a->assumed || b->assumed,
                         .bounded = a->bounded || b->bounded };
}

bool affine_is_whole(const Emit *e, const EmitAffine *a)
{
    return a->group == e->W && a->first[0] && !a->expected && !a->assumed;
}

bool affine_wraps_once(const EmitAffine *a)
{
    unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(a->first[0]));
    uint64_t step = (uint64_t)(a->stride < 0 ? -a->stride : a->stride);
    return bits >= 64 || step * (a->group - 1) >> bits == 0;
}

LV affine_counting(Emit *e, LV first, int64_t stride)
{
    LV v = emit_lanes(e, first);
    LV steps = LLVMBuildIntCast2(e->b, lanes_ids(e), LLVMTypeOf(v), 0, "");
    steps = LLVMBuildMul(e->b, steps, ir_inum(v, (uint64_t)stride), "");
    return LLVMBuildAdd(e->b, v, steps, "");
}

LV affine_expect(Emit *e, LV v, int64_t stride, EmitAffine *a)
{
    v = LLVMBuildFreeze(e->b, v, ""); /* lanes that never came here hold anything */
    LV first = LLVMBuildExtractElement(e->b, v, ir_int(e->i32, 0), "");
    LanesExpected *x = NEW(e->arena, LanesExpected);
    x->counting = affine_counting(e, first, stride);
    LV other = lanes_any(e, LLVMBuildICmp(e->b, LLVMIntNE, v, x->counting, ""));
    x->is = LLVMBuildNot(e->b, other, "");
    map_put(e->arena, &lanes_of(e)->expected, (uintptr_t)v, (uintptr_t)x);
    *a = (EmitAffine){ .first = { first }, .expected = x->is, .stride = stride, .group = e->W };
    return v;
}

const LanesExpected *affine_expected(const Emit *e, LV v)
{
    uint64_t x = 0;
    map_get(&lanes_of(e)->expected, (uintptr_t)v, &x);
    return (const LanesExpected *)(uintptr_t)x;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static bool fits(int64_t x) { return x >= -65536 && x <= 65536; }

static bool small_constant(LV v, int64_t *x)
{
    if (!v || !LLVMIsAConstantInt(v) || LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
        return false;
    *x = LLVMConstIntGetSExtValue(v);
    return fits(*x);
}

static bool is_power(LLVMValueRef v)
{
    return LLVMIsAConstantInt(v) && is_pow2(LLVMConstIntGetZExtValue(v));
}

/* How many low bits of an integer are known to be zero. */
static uint32_t trailing_zeros(LV v, uint32_t depth)
{
    if (LLVMIsAConstantInt(v)) {
        uint64_t x = LLVMConstIntGetZExtValue(v);
        return x ? (uint32_t)__builtin_ctzll(x) : 64;
    }
    if (!depth || !LLVMIsAInstruction(v))
        return 0;
    uint32_t n = (uint32_t)LLVMGetNumOperands(v);
    uint32_t a = n > 0 ? trailing_zeros(LLVMGetOperand(v, 0), depth - 1) : 0;
    uint32_t b = n == 2 ? trailing_zeros(LLVMGetOperand(v, 1), depth - 1) : 0;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMMul: return a + b;
    case LLVMAdd:
    case LLVMSub:
    case LLVMOr:
    case LLVMXor: return MIN(a, b);
    case LLVMUDiv: return is_power(LLVMGetOperand(v, 1)) && a > b ? a - b : 0;
    case LLVMURem: return is_power(LLVMGetOperand(v, 1)) && a >= b ? 64 : MIN(a, b);
    case LLVMShl:
        return LLVMIsAConstantInt(LLVMGetOperand(v, 1))
                   ? a + (uint32_t)LLVMConstIntGetZExtValue(LLVMGetOperand(v, 1))
                   : a;
    case LLVMAnd: return MAX(a, b);
    case LLVMFreeze:
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt: return a;
    default: return 0;
    }
}

uint32_t affine_zeros(LV v) { return trailing_zeros(v, 8); }

/* Whether a group that begins with x and counts up by `across` in all cannot wrap, because x is a
 * multiple of a higher power of two. */
static bool never_wraps(LV x, int64_t across)
{
    return across >= 0 && across >> MIN(affine_zeros(x), 62) == 0;
}

/* What counts up by a multiple of 2^bits, divided by that: the quotient counts up by the multiple,
 * unless the sum wraps within a group; or reduced modulo it: the remainder is the first lane's. */
static EmitAffine affine_split_multiple(Emit *e, EmitAffine a, uint32_t bits, bool quotient)
{
    LT type = LLVMTypeOf(a.first[0]);
    int64_t run = (int64_t)1 << bits, across = a.stride * (int64_t)(a.group - 1);
    if (!affine_wraps_once(&a))
        return (EmitAffine){ .group = 1 };
    EmitAffine r = { .stride = quotient ? a.stride / run : 0,
                     .group = a.group,
                     .assumed = a.assumed };
    LV end = LLVMConstInt(type, (uint64_t)(across < 0 ? -across : -1 - across), 1);
    for (uint32_t k = 0; k < AFFINE_GROUPS && a.first[k]; k++) {
        if (!quotient) {
            r.first[k] = LLVMBuildAnd(e->b, a.first[k], ir_int(type, (uint64_t)run - 1), "");
            continue;
        }
        r.first[k] = LLVMBuildLShr(e->b, a.first[k], ir_int(type, bits), "");
        if (never_wraps(a.first[k], across))
            continue;
        LV sure = LLVMBuildICmp(e->b, across < 0 ? LLVMIntUGE : LLVMIntULE, a.first[k], end, "");
        r.expected = r.expected ? LLVMBuildAnd(e->b, r.expected, sure, "") : sure;
    }
    r.no_wrap = !quotient;
    return r;
}

/* first + lane, divided by 2^bits or reduced modulo it. In aligned runs with the same quotient the
 * remainder keeps counting. */
static EmitAffine affine_split(Emit *e, EmitAffine a, uint32_t bits, bool quotient)
{
    static const EmitAffine none = { .group = 1 };
    uint64_t run = bits < 32 ? (uint64_t)1 << bits : 0;
    if (!a.first[0] || !run || bits >= LLVMGetIntTypeWidth(LLVMTypeOf(a.first[0])))
        return none;
    if (a.stride && a.stride % (int64_t)run == 0)
        return affine_split_multiple(e, a, bits, quotient);
    if (a.stride != 1)
        return none;
    LT type = LLVMTypeOf(a.first[0]);
    for (uint32_t k = 0; k < AFFINE_GROUPS && a.first[k]; k++)
        if (MIN(run, a.group) > (uint64_t)1 << MIN(affine_zeros(a.first[k]), 31))
            return none;
    EmitAffine r = { .stride = !quotient,
                     .group = (uint32_t)MIN(run, a.group),
                     .no_wrap = true,
                     .assumed = a.assumed };
    regroup(e, &a, r.group);
    for (uint32_t k = 0; k < AFFINE_GROUPS && a.first[k]; k++)
        r.first[k] = quotient ? LLVMBuildLShr(e->b, a.first[k], ir_int(type, bits), "")
                              : LLVMBuildAnd(e->b, a.first[k], ir_int(type, run - 1), "");
    return r;
}

/* Whether the instruction is x / d, x % d, x >> n or x & m (unsigned, by a constant), in the form
 * of a shift or a mask. */
static bool splits(uint16_t op, LV operand, uint32_t *bits, bool *quotient)
{
    if (!operand || !LLVMIsAConstantInt(operand) || LLVMGetIntTypeWidth(LLVMTypeOf(operand)) > 64)
        return false;
    uint64_t x = LLVMConstIntGetZExtValue(operand);
    *quotient = op == SpvOpUDiv || op == SpvOpShiftRightLogical;
    if (op == SpvOpShiftRightLogical)
        *bits = (uint32_t)MIN(x, 64);
    else if (op == SpvOpBitwiseAnd && is_pow2(x + 1))
        *bits = (uint32_t)__builtin_ctzll(x + 1);
    else if ((op == SpvOpUDiv || op == SpvOpUMod) && is_pow2(x))
        *bits = (uint32_t)__builtin_ctzll(x);
    else
        return false;
    return true;
}

/* x ^ c or x | c, with a c that all lanes share: c's bits and those above are the first lane's in a
 * group that differs in lower ones only, which go on counting. */
static EmitAffine affine_high_bits(Emit *e, LLVMOpcode op, EmitAffine a, LV c)
{
    static const EmitAffine none = { .group = 1 };
    if (!c || !a.first[0] || a.stride <= 0 || LLVMGetIntTypeWidth(LLVMTypeOf(c)) < 32)
        return none;
    LT type = LLVMTypeOf(c);
    LV lower = LLVMBuildSub(e->b, c, ir_int(type, 1), "");
    lower = LLVMBuildAnd(e->b, LLVMBuildNot(e->b, c, ""), lower, "");
    uint32_t group = a.group;
    while (LLVMIsAConstantInt(lower) && group > 1 &&
           LLVMConstIntGetZExtValue(lower) < (uint64_t)a.stride * (group - 1))
        group /= 2;
    regroup(e, &a, group);
    a.no_wrap = false;
    for (uint32_t k = 0; k < AFFINE_GROUPS && a.first[k]; k++) {
        LV across = ir_int(type, (uint64_t)a.stride * (group - 1));
        LV last = LLVMBuildAdd(e->b, a.first[k], across, "");
        LV differ = LLVMBuildXor(e->b, a.first[k], last, "");
        LV sure = LLVMBuildICmp(e->b, LLVMIntULE, differ, lower, "");
        a.expected = a.expected ? LLVMBuildAnd(e->b, a.expected, sure, "") : sure;
        a.first[k] = LLVMBuildBinOp(e->b, op, a.first[k], c, "");
    }
    return a.first[0] ? a : none;
}

static EmitAffine affine_binary(Emit *e, uint16_t op, EmitAffine a, EmitAffine b)
{
    static const EmitAffine none = { .group = 1 };
    LV amount = b.group == e->W && !b.stride ? b.first[0] : NULL;
    LLVMOpcode scalar_op = LLVMAdd;
    int64_t stride = a.stride + b.stride, factor = 0;
    uint32_t bits;
    bool quotient;
    switch (op) {
    case SpvOpIAdd: break;
    case SpvOpISub:
        scalar_op = LLVMSub;
        stride = a.stride - b.stride;
        break;
    case SpvOpBitwiseXor:
    case SpvOpBitwiseOr:
        scalar_op = op == SpvOpBitwiseXor ? LLVMXor : LLVMOr;
        if (!a.stride && b.stride)
            return affine_binary(e, op, b, a);
        return affine_high_bits(e, scalar_op, a, b.expected ? NULL : amount);
    case SpvOpIMul:
        scalar_op = LLVMMul;
        if ((a.stride || b.stride) &&
            !(a.stride ? small_constant(amount, &factor)
                       : a.group == e->W && small_constant(a.first[0], &factor)))
            return none;
        stride *= factor;
        break;
    case SpvOpShiftLeftLogical:
        scalar_op = LLVMShl;
        if (!small_constant(amount, &factor) || factor < 0 || factor > 16)
            return none;
        stride = a.stride * ((int64_t)1 << factor);
        if (a.first[0]) /* the amount may be of another width */
            b.first[0] = ir_int(LLVMTypeOf(a.first[0]), (uint64_t)factor);
        break;
    default:
        return !a.expected && !b.expected && splits(op, amount, &bits, &quotient)
                   ? affine_split(e, a, bits, quotient)
                   : none;
    }
    EmitAffine r = affine_join(e, &a, &b);
    r.stride = stride;
    for (uint32_t k = 0; k < AFFINE_GROUPS && a.first[k] && b.first[k]; k++)
        r.first[k] = LLVMBuildBinOp(e->b, scalar_op, a.first[k], b.first[k], "");
    return fits(stride) ? r : none;
}

static EmitAffine affine_unary(Emit *e, const SpvInst *i, EmitAffine a, LT from, LT type)
{
    static const EmitAffine none = { .group = 1 };
    unsigned bits = LLVMGetIntTypeWidth(from), to = LLVMGetIntTypeWidth(type);
    switch (i->op) {
    case SpvOpCopyObject: return a;
    case SpvOpBitcast: return bits == to ? a : none;
    case SpvOpSConvert:
        /* In OpenCL C overflow of an int is undefined, so that indices may be taken not to wrap;
         * shorter ones are what is left of an int. */
        if (to > bits && bits >= 32 && !a.no_wrap && e->entry->model == SpvExecutionModelKernel) {
            for (uint32_t k = 0; k < AFFINE_GROUPS && a.first[k]; k++)
                a.first[k] = LLVMBuildSExt(e->b, a.first[k], type, "");
            a.assumed |= a.stride != 0;
            return a;
        }
        /* fall through */
    case SpvOpUConvert:
        if (!a.no_wrap && to > bits)
            return none;
        for (uint32_t k = 0; k < AFFINE_GROUPS && a.first[k] && to != bits; k++)
            a.first[k] = to < bits ? LLVMBuildTrunc(e->b, a.first[k], type, "")
                                   : LLVMBuildZExt(e->b, a.first[k], type, "");
        a.no_wrap &= to >= bits;
        return a;
    default: return none;
    }
}

/* x << k >> l with l <= k is how compilers sign-extend an int: like SConvert of x's low bits, times
 * 2^(k - l). */
static bool sign_extends(Emit *e, const SpvInst *i, SpvId *x, int64_t *by, int64_t *factor)
{
    const SpvInst *left = spv_def(e->module, spv_operand(i, 0));
    uint64_t k, l;
    if (i->op != SpvOpShiftRightArithmetic || !left || left->op != SpvOpShiftLeftLogical ||
        !spv_constant(e->module, spv_operand(left, 1), &k) ||
        !spv_constant(e->module, spv_operand(i, 1), &l) || k != 32 || l > k || k - l > 12)
        return false;
    *x = spv_operand(left, 0);
    *by = (int64_t)l;
    *factor = (int64_t)1 << (k - l);
    return true;
}

static EmitAffine affine_extended(Emit *e, EmitAffine a, int64_t by, int64_t factor, LT type)
{
    if (LLVMGetIntTypeWidth(type) != 64 || !fits(a.stride * factor) || a.group < 2 ||
        e->entry->model != SpvExecutionModelKernel)
        return (EmitAffine){ .group = 1 };
    a.stride *= factor;
    a.assumed |= a.stride != 0;
    for (uint32_t k = 0; k < AFFINE_GROUPS && a.first[k]; k++) {
        LV high = LLVMBuildShl(e->b, a.first[k], ir_int(type, 32), "");
        a.first[k] = LLVMBuildAShr(e->b, high, ir_int(type, (uint64_t)by), "");
    }
    a.no_wrap = false;
    return a;
}

static bool is_unary(uint16_t op)
{
    return op == SpvOpCopyObject || op == SpvOpUConvert || op == SpvOpSConvert ||
           op == SpvOpBitcast;
}

static bool is_binary(uint16_t op)
{
    switch (op) {
    case SpvOpIAdd:
    case SpvOpISub:
    case SpvOpIMul:
    case SpvOpShiftLeftLogical:
    case SpvOpUDiv:
    case SpvOpUMod:
    case SpvOpShiftRightLogical:
    case SpvOpBitwiseXor:
    case SpvOpBitwiseOr:
    case SpvOpBitwiseAnd: return true;
    default: return false;
    }
}

/* Minimum, maximum, clamp of GLSL and OpenCL: their intrinsics, applied one after the other to the
 * result so far and the next operand. */
static const struct {
    uint32_t glsl, opencl;
    const char *fn[2];
} bounds[] = {
    { GLSLstd450UMin, OpenCLstd_u_min, { "llvm.umin" } },
    { GLSLstd450SMin, OpenCLstd_s_min, { "llvm.smin" } },
    { GLSLstd450UMax, OpenCLstd_u_max, { "llvm.umax" } },
    { GLSLstd450SMax, OpenCLstd_s_max, { "llvm.smax" } },
    { GLSLstd450UClamp, OpenCLstd_u_clamp, { "llvm.umax", "llvm.umin" } },
    { GLSLstd450SClamp, OpenCLstd_s_clamp, { "llvm.smax", "llvm.smin" } },
};

/* The instruction's row of `bounds`; COUNT_OF(bounds) if it has none. */
static uint32_t bound_of(const SpvInst *i)
{
    bool glsl = i->op == SpvOpExtInst && i->ext_set == SPV_SET_GLSLstd450;
    bool opencl = i->op == SpvOpExtInst && i->ext_set == SPV_SET_OpenCLstd_;
    uint32_t row = 0;
    while (row < COUNT_OF(bounds) && !(glsl && bounds[row].glsl == spv_operand(i, 1)) &&
           !(opencl && bounds[row].opencl == spv_operand(i, 1)))
        row++;
    return row;
}

/* The same bound, applied to the first lanes of the groups. */
static EmitAffine affine_bound(Emit *e, const SpvInst *i, uint32_t row, uint32_t k)
{
    EmitAffine r = emit_affine(e, emit_value(e, spv_operand(i, 2)), k);
    for (uint32_t o = 3; o < spv_n_operands(i); o++) {
        EmitAffine a = r, b = emit_affine(e, emit_value(e, spv_operand(i, o)), k);
        r = affine_join(e, &a, &b);
        for (uint32_t g = 0; g < AFFINE_GROUPS && a.first[g] && b.first[g]; g++) {
            LV args[2] = { a.first[g], b.first[g] };
            LT type = LLVMTypeOf(args[0]);
            r.first[g] = ir_intrinsic(e->b, bounds[row].fn[o - 3], &type, 1, args, 2);
        }
    }
    return r;
}

/* Takes the result to be the operand that counts up, if the others are the same for the lanes of a
 * group. */
static EmitAffine affine_choice(Emit *e, const SpvInst *i, uint32_t k, LV result)
{
    EmitAffine r = { .group = 1 };
    LV counting = NULL;
    for (uint32_t o = i->op == SpvOpSelect ? 1 : 2; o < spv_n_operands(i); o++) {
        const EmitValue *v = emit_value(e, spv_operand(i, o));
        EmitAffine a = emit_affine(e, v, k);
        if (a.group == 1 || (a.stride && counting))
            return (EmitAffine){ .group = 1 };
        if (!a.stride)
            continue;
        r = a;
        counting = v->leaf[k];
    }
    if (!counting || !r.first[0])
        return (EmitAffine){ .group = 1 };
    LV other = lanes_and(e, e->mask, LLVMBuildICmp(e->b, LLVMIntNE, result, counting, ""));
    LV is = LLVMBuildNot(e->b, lanes_any(e, other), "");
    r.expected = r.expected ? LLVMBuildAnd(e->b, r.expected, is, "") : is;
    r.bounded = true;
    return r;
}

/* Whether the components of the result depend on other components of the operands, although they
 * have equally many. */
static bool mixes_components(const SpvInst *i)
{
    if (i->op != SpvOpExtInst)
        return i->op == SpvOpTranspose || i->op == SpvOpMatrixTimesMatrix;
    uint32_t number = spv_operand(i, 1);
    if (i->ext_set == SPV_SET_GLSLstd450)
        return number == GLSLstd450MatrixInverse ||
               (number >= GLSLstd450Cross && number <= GLSLstd450Refract);
    return i->ext_set == SPV_SET_OpenCLstd_ &&
           ((number >= OpenCLstd_cross && number <= OpenCLstd_fast_normalize) ||
            number == OpenCLstd_shuffle || number == OpenCLstd_shuffle2);
}

/* A pure operation gives the same result for all lanes whose operands are the same. Returns the
 * size of such groups; 1 if lanes may differ. */
static uint32_t same_within(Emit *e, const SpvInst *i, uint32_t n, uint32_t k)
{
    uint16_t at[8];
    uint32_t operands = spv_id_operands(i, at, COUNT_OF(at)), group = e->W;
    if (!spv_is_pure(i) || operands > COUNT_OF(at) || (n > 1 && mixes_components(i)))
        return 1;
    for (uint32_t o = i->op == SpvOpExtInst; o < operands; o++) {
        const SpvType *t = spv_type_of(e->module, i->words[at[o]]);
        if (!t || emit_has_matrix(t))
            return 1;
        const EmitValue *v = emit_value(e, i->words[at[o]]);
        if (v->pointer || (v->n != n && v->n != 1))
            return 1;
        EmitAffine a = emit_affine(e, v, v->n == 1 ? 0 : k);
        if (a.stride || a.expected || a.assumed)
            return 1;
        group = MIN(group, a.group);
    }
    return operands ? group : 1;
}

static EmitAffine affine_integer(Emit *e, const SpvInst *i, const EmitValue *v, uint32_t k)
{
    static const EmitAffine none = { .group = 1 };
    SpvId x;
    int64_t by, factor;
    if (v->n == 1 && sign_extends(e, i, &x, &by, &factor))
        return affine_extended(e, emit_affine(e, emit_value(e, x), 0), by, factor,
                               emit_scalar_type(e, emit_leaf_type(e, v->type, k)));
    if (!is_unary(i->op) && !is_binary(i->op))
        return none;
    const EmitValue *a = emit_value(e, spv_operand(i, 0));
    const EmitValue *b = is_unary(i->op) ? a : emit_value(e, spv_operand(i, 1));
    if (a->n != v->n || b->n != v->n)
        return none;
    if (is_binary(i->op))
        return affine_binary(e, i->op, emit_affine(e, a, k), emit_affine(e, b, k));
    LT from = LLVMTypeOf(a->leaf[k]);
    from = emit_is_lanes(a->leaf[k]) ? LLVMGetElementType(from) : from;
    if (LLVMGetTypeKind(from) != LLVMIntegerTypeKind)
        return none;
    LT type = emit_scalar_type(e, emit_leaf_type(e, v->type, k));
    return affine_unary(e, i, emit_affine(e, a, k), from, type);
}

LV affine_spread(Emit *e, const LV *first, uint32_t group)
{
    uint32_t n = e->W / group;
    LV v = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(first[0]), n));
    int *from = NEW_ARRAY(e->arena, int, e->W);
    for (uint32_t k = 0; k < n; k++)
        v = LLVMBuildInsertElement(e->b, v, first[k], ir_int(e->i32, k), "");
    for (uint32_t k = 0; k < e->W; k++)
        from[k] = (int)(k / group);
    return n == 1 ? first[0] : ir_shuffle(e->b, v, NULL, from, e->W);
}

/* A value that is the same within few large groups is computed by scalars, as it is likely to
 * become an address. */
static EmitAffine same_in_groups(Emit *e, const SpvInst *i, EmitValue *v, uint32_t k,
                                 uint32_t group)
{
    uint32_t n = e->W / group, row = bound_of(i);
    EmitAffine r = { .group = 1 };
    if (emit_leaf_type(e, v->type, k)->kind == SPV_INT && n <= 4)
        r = row < COUNT_OF(bounds) ? affine_bound(e, i, row, k) : affine_integer(e, i, v, k);
    if (r.group == group && r.first[0] && !r.stride) {
        v->leaf[k] = affine_spread(e, r.first, r.group);
        return r;
    }
    r = (EmitAffine){ .group = group };
    for (uint32_t g = 0; g < n && n <= AFFINE_GROUPS; g++)
        r.first[g] = LLVMBuildExtractElement(e->b, v->leaf[k], ir_int(e->i32, g * group), "");
    return r;
}

static EmitAffine affine_leaf(Emit *e, const SpvInst *i, EmitValue *v, uint32_t k)
{
    uint32_t group = same_within(e, i, v->n, k);
    if (group > 1)
        return same_in_groups(e, i, v, k, group);
    if (emit_leaf_type(e, v->type, k)->kind != SPV_INT)
        return (EmitAffine){ .group = 1 };
    if (i->op == SpvOpSelect || bound_of(i) < COUNT_OF(bounds))
        return affine_choice(e, i, k, v->leaf[k]);
    return affine_integer(e, i, v, k);
}

/* What is known of the result of arithmetic. Composites set theirs with emit_set_affine. */
void affine_result(Emit *e, const SpvInst *i, EmitValue *v)
{
    if (!v->n || v->n > 4 || i->op == SpvOpPhi || v->type->kind == SPV_POINTER || !spv_is_pure(i))
        return;
    for (uint32_t k = 0; k < v->n; k++) {
        if (!emit_is_lanes(v->leaf[k]))
            continue;
        EmitAffine a = affine_leaf(e, i, v, k);
        if (a.group < 2)
            continue;
        if (affine_is_whole(e, &a) && !a.stride) {
            v->leaf[k] = a.first[0]; /* the same for all lanes after all */
            continue;
        }
        if (!v->affine) {
            v->affine = NEW_ARRAY(e->arena, EmitAffine, v->n);
            for (uint32_t j = 0; j < v->n; j++)
                v->affine[j].group = 1;
        }
        v->affine[k] = a;
    }
    for (uint32_t k = 0; v->affine && k < v->n; k++)
        if (!emit_is_lanes(v->leaf[k]))
            v->affine[k] = (EmitAffine){ .first = { v->leaf[k] }, .group = e->W };
}
