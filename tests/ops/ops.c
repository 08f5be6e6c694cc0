/* SPDX-License-Identifier: MIT
 *
 * Every instruction that the devices' tables name, in the kernels of this folder, on both devices
 * with the same input: bit by bit, or within a few ulps where the specification leaves that much.
 *
 * Lines at the head of a kernel say how it is run:
 *     // VARIANTS: T=int U=uint | T=int8_t U=uint8_t      compiled once for each set of macros
 *     // INPUT: int | float | half | double               what the input words are
 *     // SIZES: 8 32                                      subgroup sizes; 32 unless told
 *     // ULPS: 4                                          allowed for near(); of float
 *     // ABSOLUTE: 1e-6                                   or this much
 * A new kernel is a new file. An opcode in the tables and in no kernel of tests/ is a failure.
 * HEDDLE_OPS_LIST=1 prints which kernels cover which; HEDDLE_OPS=part runs those with it in their
 * names.
 */
#include "base/test.h"
#include "cpu/cpu.h"
#include "reference/reference.h"

#include <dirent.h>
#include <heddle/heddle.h>
#include <stdlib.h>

#define FOLDER HEDDLE_SOURCE_DIR "/tests/ops"

enum { N = 256, WORDS = 8, RESULTS = 320, MAX_FILES = 64,
       BUDGET = 1 << 16 /* for what mutations make endless */ };

typedef struct Plan {
    char variants[1024], input[16];
    uint32_t sizes[5], n_sizes;
    double ulps, absolute;
} Plan;

static uint8_t seen_op[65536], seen_glsl[128];

/* ---- input ----------------------------------------------------------------------------------- */

static const uint32_t edges_int[] = {
    0,           1,           2,           3,          7,      8,          15,
    16,          31,          32,          63,         64,     127,        128,
    255,         256,         0x7fff,      0x8000,     0xffff, 0x7fffffff, 0x80000000u,
    0x80000001u, 0xffffffffu, 0xfffffffeu, 0xff80ff80u
};
static const double edges_float[] = {
    0.0,       -0.0,    1,        -1,       0.5,    -0.5,  1.5,          2.5,
    -2.5,      2,       0.1,      255,      65504,  65536, 2147483520.0, INFINITY,
    -INFINITY, NAN,     1e-5,     -3e-8,    6e-8,   448,   464,          57344,
    61440,     0x1p-14, 0x1p-126, 0x1p-140, 3.4e38, 1e-40, 16777217,     0x1.fffffep-1
};

static double random_float(Rng *r, uint32_t k)
{
    if (k % 4 == 0)
        return edges_float[rng_u64(r) % COUNT_OF(edges_float)];
    return rng_normal(r) * (k % 4 == 1 ? 100 : k % 4 == 2 ? 1 : 0.01);
}

static void fill(const char *kind, uint32_t *words)
{
    Rng r = { 1 };
    for (uint32_t k = 0; k < N * WORDS; k++) {
        uint32_t i = k % N, w = k / N;
        uint64_t bits = rng_u64(&r);
        if (!strcmp(kind, "float") && k % 5) {
            float f = (float)random_float(&r, k);
            memcpy(&words[k], &f, 4);
        } else if (!strcmp(kind, "half") && k % 5) {
            uint32_t low = f16_from_double(random_float(&r, k));
            words[k] = low | (uint32_t)f16_from_double(random_float(&r, k + 1)) << 16;
        } else if (!strcmp(kind, "double") && i % 5) {
            if (w < 4) {
                double d = random_float(&r, k);
                memcpy(&bits, &d, 8);
                words[w * N + i] = (uint32_t)bits;
                words[(w + 4) * N + i] = (uint32_t)(bits >> 32);
            }
        } else {
            words[k] = bits >> 60 < 8 ? edges_int[bits % COUNT_OF(edges_int)]
                     : bits >> 60 < 10 ? (uint32_t)bits % 64 : (uint32_t)bits;
        }
    }
}

/* ---- one run --------------------------------------------------------------------------------- */

typedef struct Run { uint32_t exact[N * RESULTS]; float approximate[N * RESULTS]; } Run;

static bool run(HeddleDevice *device, HeddleModule *m, const HeddleKernelOptions *o,
                uint32_t *words, Run *r, HeddleLog *log)
{
    HeddleKernel *k = NULL;
    HeddleBuffer *b[3] = { NULL };
    memset(r, 0, sizeof *r);
    void *data[3] = { words, r->exact, r->approximate };
    size_t size[3] = { N * WORDS * 4, sizeof r->exact, sizeof r->approximate };
    HeddleBinding bindings[3];
    bool good = heddle_kernel_new(device, m, o, &k, log) == HEDDLE_OK;
    for (uint32_t i = 0; i < 3; i++) {
        good = good && heddle_buffer_wrap(device, data[i], size[i], &b[i], log) == HEDDLE_OK;
        bindings[i] = (HeddleBinding){ .binding = i, .buffer = b[i] };
    }
    /* for kernels with a push constant */
    uint64_t address = good ? heddle_buffer_address(b[0]) : 0;
    HeddleDispatch d = { .groups = { 2, 1, 1 }, .bindings = bindings, .n_bindings = 3,
                         .push = &address, .push_size = sizeof address, .budget = BUDGET };
    good = good && heddle_dispatch(k, &d, NULL, log) == HEDDLE_OK;
    for (uint32_t i = 0; i < 3; i++)
        heddle_buffer_free(b[i]);
    heddle_kernel_free(k);
    return good;
}

static double ulps(float got, float want)
{
    if (got == want || (isnan(got) && isnan(want)))
        return 0;
    if (!isfinite(got) || !isfinite(want))
        return INFINITY;
    int e;
    frexp((double)want, &e);
    return fabs((double)got - (double)want) / ldexp(1, MAX(e - 24, -149));
}

static bool exact_differs(const Run *a, const Run *b, uint32_t k)
{
    return a->exact[k] != b->exact[k];
}

static bool near_differs(const Plan *p, const Run *a, const Run *b, uint32_t k)
{
    float got = a->approximate[k], want = b->approximate[k];
    return ulps(got, want) > p->ulps && !(fabs((double)got - (double)want) <= p->absolute);
}

static void compare(const char *what, const Plan *p, const Run *cpu, const Run *reference,
                    const uint32_t *words)
{
    for (uint32_t k = 0; k < N * RESULTS; k++) {
        uint32_t i = k % N;
        float got = cpu->approximate[k], want = reference->approximate[k];
        if (exact_differs(cpu, reference, k))
            test_fail(__FILE__, __LINE__,
                      "%s: invocation %u of input %08x %08x %08x: put %u is %08x, not %08x", what,
                      i, words[i], words[N + i], words[2 * N + i], k / N, cpu->exact[k],
                      reference->exact[k]);
        if (near_differs(p, cpu, reference, k))
            test_fail(
                __FILE__, __LINE__,
                "%s: invocation %u of input %08x %08x %08x: near %u is %.9g, not %.9g: %g ulps",
                what, i, words[i], words[N + i], words[2 * N + i], k / N, (double)got, (double)want,
                ulps(got, want));
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void note(uint8_t *seen, const char *name, const char *kernel)
{
    *seen = 1;
    if (getenv("HEDDLE_OPS_LIST"))
        printf("%s %s\n", name, kernel);
}

static void note_opcodes(const HeddleModule *m, const char *kernel)
{
    size_t size;
    const uint32_t *w = heddle_module_spirv(m, &size);
    SpvId glsl = 0;
    uint8_t here[65536] = { 0 }, here_glsl[COUNT_OF(seen_glsl)] = { 0 };
    uint8_t set = spv_set_by_name("GLSL.std.450");
    for (size_t k = 5; w && k < size / 4 && w[k] >> 16; k += w[k] >> 16) {
        uint16_t op = w[k] & 0xffff;
        if (!here[op]++)
            note(&seen_op[op], spv_op_name(op), kernel);
        if (op == SpvOpExtInstImport && !strcmp((const char *)&w[k + 2], "GLSL.std.450"))
            glsl = w[k + 1];
        if (op == SpvOpExtInst && w[k + 3] == glsl && w[k + 4] < COUNT_OF(seen_glsl) &&
            !here_glsl[w[k + 4]]++)
            note(&seen_glsl[w[k + 4]], spv_ext_inst(set, w[k + 4])->name, kernel);
    }
}

static void line(const char *text, const char *key, char *out, size_t size)
{
    const char *at = strstr(text, key);
    if (at)
        snprintf(out, size, "%.*s", (int)strcspn(at + strlen(key), "\n"), at + strlen(key));
}

static bool read_plan(const char *path, Plan *p)
{
    char text[4096] = "", sizes[64] = "", number[32];
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    *p = (Plan){ .input = "int" };
    line(text, "VARIANTS:", p->variants, sizeof p->variants);
    line(text, "SIZES:", sizes, sizeof sizes);
    line(text, "INPUT: ", p->input, sizeof p->input);
    number[0] = 0;
    line(text, "ULPS:", number, sizeof number);
    p->ulps = strtod(number, NULL);
    number[0] = 0;
    line(text, "ABSOLUTE:", number, sizeof number);
    p->absolute = strtod(number, NULL);
    char *at = sizes;
    while (*at && p->n_sizes < 5) {
        p->sizes[p->n_sizes++] = (uint32_t)strtoul(at, &at, 10);
        at += strspn(at, " ");
    }
    if (!p->n_sizes)
        p->sizes[p->n_sizes++] = 32;
    return true;
}

static HeddleModule *compile(const char *path, char *variant, HeddleLog *log)
{
    HeddleDefine defines[16];
    HeddleModuleOptions o = { .defines = defines };
    char *rest = NULL;
    for (char *d = strtok_r(variant, " ", &rest); d && o.n_defines < 16;
         d = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(d, '=');
        if (value)
            *value++ = 0;
        defines[o.n_defines++] = (HeddleDefine){ d, value ? value : "1" };
    }
    HeddleModule *m = NULL;
    heddle_module_from_file(path, &o, &m, log);
    return m;
}

/* ---- what the kernels tell apart ------------------------------------------------------------- */

/* With the first opcode replaced by the second, or its first two operands exchanged, some kernel's
 * results differ: a device that took the one for the other would be found out. */
static const struct Mutation { uint16_t from, to; bool ext; } mutations[] = {
#define OP(from, to) { SpvOp##from, SpvOp##to, false }
#define SWAP(op) { SpvOp##op, SpvOp##op, false }
    OP(IAdd, ISub), OP(ISub, IAdd), SWAP(ISub), OP(IMul, IAdd), OP(UDiv, SDiv), OP(SDiv, UDiv),
    SWAP(UDiv), OP(UMod, SRem), OP(SRem, UMod), OP(SRem, SMod), OP(SMod, SRem), SWAP(SMod),
    OP(FAdd, FSub), OP(FSub, FAdd), SWAP(FSub), OP(FMul, FAdd), OP(FDiv, FMul), SWAP(FDiv),
    OP(FRem, FMod), OP(FMod, FRem), SWAP(FMod), OP(SNegate, Not), OP(Not, SNegate),
    OP(ShiftLeftLogical, ShiftRightLogical), OP(ShiftRightLogical, ShiftRightArithmetic),
    OP(ShiftRightArithmetic, ShiftRightLogical), OP(BitwiseOr, BitwiseXor),
    OP(BitwiseXor, BitwiseOr), OP(BitwiseAnd, BitwiseOr), OP(LogicalOr, LogicalNotEqual),
    OP(LogicalAnd, LogicalEqual), OP(LogicalNotEqual, LogicalOr), OP(LogicalEqual, LogicalAnd),
    OP(IEqual, UGreaterThanEqual), OP(INotEqual, UGreaterThan),
    OP(UGreaterThan, UGreaterThanEqual), OP(UGreaterThan, SGreaterThan),
    OP(SGreaterThan, UGreaterThan), OP(SGreaterThan, SGreaterThanEqual),
    OP(UGreaterThanEqual, UGreaterThan), OP(UGreaterThanEqual, SGreaterThanEqual),
    OP(SGreaterThanEqual, UGreaterThanEqual), OP(SGreaterThanEqual, SGreaterThan),
    OP(ULessThan, ULessThanEqual), OP(ULessThan, SLessThan), OP(SLessThan, ULessThan),
    OP(SLessThan, SLessThanEqual), OP(ULessThanEqual, ULessThan),
    OP(ULessThanEqual, SLessThanEqual), OP(SLessThanEqual, ULessThanEqual),
    OP(SLessThanEqual, SLessThan), OP(FOrdEqual, FUnordEqual), OP(FOrdEqual, FOrdLessThanEqual),
    OP(FUnordEqual, FOrdEqual), OP(FOrdNotEqual, FUnordNotEqual),
    OP(FUnordNotEqual, FOrdNotEqual), OP(FOrdLessThan, FUnordLessThan),
    OP(FOrdLessThan, FOrdLessThanEqual), OP(FUnordLessThan, FOrdLessThan),
    OP(FUnordLessThan, FUnordLessThanEqual), OP(FOrdGreaterThan, FUnordGreaterThan),
    OP(FOrdGreaterThan, FOrdGreaterThanEqual), OP(FUnordGreaterThan, FOrdGreaterThan),
    OP(FUnordGreaterThan, FUnordGreaterThanEqual), OP(FOrdLessThanEqual, FUnordLessThanEqual),
    OP(FOrdLessThanEqual, FOrdLessThan), OP(FUnordLessThanEqual, FOrdLessThanEqual),
    OP(FUnordLessThanEqual, FUnordLessThan), OP(FOrdGreaterThanEqual, FUnordGreaterThanEqual),
    OP(FOrdGreaterThanEqual, FOrdGreaterThan), OP(FUnordGreaterThanEqual, FOrdGreaterThanEqual),
    OP(FUnordGreaterThanEqual, FUnordGreaterThan), OP(LessOrGreater, FUnordNotEqual),
    OP(Ordered, FOrdEqual), OP(Unordered, FUnordNotEqual), OP(IsNan, IsInf), OP(IsInf, IsNan),
    OP(IsFinite, IsNormal), OP(IsNormal, IsFinite), OP(SignBitSet, IsNan),
    OP(ConvertFToU, ConvertFToS), OP(ConvertFToS, ConvertFToU), OP(ConvertSToF, ConvertUToF),
    OP(ConvertUToF, ConvertSToF), OP(UConvert, SConvert), OP(SConvert, UConvert),
    OP(SatConvertSToU, UConvert), OP(SatConvertUToS, SConvert), OP(QuantizeToF16, CopyObject),
    OP(BitReverse, Not), OP(BitCount, Not), OP(BitFieldSExtract, BitFieldUExtract),
    OP(BitFieldUExtract, BitFieldSExtract), OP(UMulExtended, SMulExtended),
    OP(SMulExtended, UMulExtended), OP(IAddCarry, ISubBorrow), OP(ISubBorrow, IAddCarry),
    OP(Any, All), OP(All, Any), OP(SDot, UDot), OP(UDot, SDot), OP(SUDot, SDot), SWAP(SUDot),
    OP(SDotAccSat, UDotAccSat), OP(UDotAccSat, SDotAccSat), OP(SUDotAccSat, SDotAccSat),
    OP(AtomicIAdd, AtomicISub), OP(AtomicISub, AtomicIAdd), OP(AtomicSMin, AtomicUMin),
    OP(AtomicUMin, AtomicSMin), OP(AtomicSMax, AtomicUMax), OP(AtomicUMax, AtomicSMax),
    OP(AtomicAnd, AtomicOr), OP(AtomicOr, AtomicXor), OP(AtomicXor, AtomicOr),
    OP(AtomicExchange, AtomicIAdd), OP(AtomicIIncrement, AtomicIDecrement),
    OP(AtomicIDecrement, AtomicIIncrement), OP(AtomicFAddEXT, AtomicFMaxEXT),
    OP(AtomicFMinEXT, AtomicFMaxEXT), OP(AtomicFMaxEXT, AtomicFMinEXT),
    OP(GroupNonUniformAll, GroupNonUniformAny), OP(GroupNonUniformAny, GroupNonUniformAll),
    OP(GroupAll, GroupAny), OP(GroupAny, GroupAll), OP(SubgroupAllKHR, SubgroupAnyKHR),
    OP(SubgroupAnyKHR, SubgroupAllKHR),
    OP(GroupNonUniformBallotFindLSB, GroupNonUniformBallotFindMSB),
    OP(GroupNonUniformBallotFindMSB, GroupNonUniformBallotFindLSB),
    OP(GroupNonUniformShuffle, GroupNonUniformShuffleXor),
    OP(GroupNonUniformShuffleXor, GroupNonUniformShuffleDown),
    OP(GroupNonUniformShuffleUp, GroupNonUniformShuffleDown),
    OP(GroupNonUniformShuffleDown, GroupNonUniformShuffleUp),
    OP(GroupNonUniformQuadAllKHR, GroupNonUniformQuadAnyKHR),
    OP(GroupNonUniformQuadAnyKHR, GroupNonUniformQuadAllKHR),
    OP(GroupNonUniformQuadBroadcast, GroupNonUniformQuadSwap),
    OP(GroupNonUniformQuadSwap, GroupNonUniformQuadBroadcast),
    OP(GroupNonUniformIAdd, GroupNonUniformIMul), OP(GroupNonUniformIMul, GroupNonUniformIAdd),
    OP(GroupNonUniformFAdd, GroupNonUniformFMul), OP(GroupNonUniformFMul, GroupNonUniformFAdd),
    OP(GroupNonUniformSMin, GroupNonUniformUMin), OP(GroupNonUniformUMin, GroupNonUniformSMin),
    OP(GroupNonUniformSMax, GroupNonUniformUMax), OP(GroupNonUniformUMax, GroupNonUniformSMax),
    OP(GroupNonUniformFMin, GroupNonUniformFMax), OP(GroupNonUniformFMax, GroupNonUniformFMin),
    OP(GroupNonUniformBitwiseAnd, GroupNonUniformBitwiseOr),
    OP(GroupNonUniformBitwiseOr, GroupNonUniformBitwiseXor),
    OP(GroupNonUniformBitwiseXor, GroupNonUniformBitwiseOr),
    OP(GroupNonUniformLogicalAnd, GroupNonUniformLogicalOr),
    OP(GroupNonUniformLogicalOr, GroupNonUniformLogicalXor),
    OP(GroupNonUniformLogicalXor, GroupNonUniformLogicalOr), OP(GroupIAdd, GroupUMax),
    OP(GroupFAdd, GroupFMax), OP(GroupFMin, GroupFMax), OP(GroupUMin, GroupSMin),
    OP(GroupSMin, GroupUMin), OP(GroupFMax, GroupFMin), OP(GroupUMax, GroupSMax),
    OP(GroupSMax, GroupUMax), OP(GroupIMulKHR, GroupIAdd), OP(GroupFMulKHR, GroupFAdd),
    OP(GroupBitwiseAndKHR, GroupBitwiseOrKHR), OP(GroupBitwiseOrKHR, GroupBitwiseXorKHR),
    OP(GroupBitwiseXorKHR, GroupBitwiseOrKHR), OP(GroupLogicalAndKHR, GroupLogicalOrKHR),
    OP(GroupLogicalOrKHR, GroupLogicalXorKHR), OP(GroupLogicalXorKHR, GroupLogicalOrKHR),
    OP(PtrEqual, PtrNotEqual), OP(PtrNotEqual, PtrEqual), SWAP(PtrDiff),
    OP(Transpose, CopyObject), OP(FNegate, CopyObject), OP(DPdx, DPdy), OP(DPdy, DPdx),
    OP(Fwidth, DPdx), OP(DPdxFine, DPdyFine), OP(DPdyFine, DPdxFine), OP(FwidthFine, DPdyFine),
    OP(DPdxCoarse, DPdyCoarse), OP(DPdyCoarse, DPdxCoarse), OP(FwidthCoarse, DPdxCoarse),
#undef OP
#undef SWAP
#define OP(from, to) { GLSLstd450##from, GLSLstd450##to, true }
#define SWAP(op) { GLSLstd450##op, GLSLstd450##op, true }
    OP(Round, Trunc), OP(RoundEven, Trunc), OP(Trunc, Floor), OP(FAbs, FSign), OP(SAbs, SSign),
    OP(FSign, FAbs), OP(SSign, SAbs), OP(Floor, Trunc), OP(Ceil, RoundEven), OP(Fract, Trunc),
    OP(Radians, Degrees), OP(Degrees, Radians), OP(Sin, Tan), OP(Cos, Cosh), OP(Tan, Sin),
    OP(Asin, Atan), OP(Acos, Asin), OP(Atan, Asin), OP(Sinh, Sin), OP(Cosh, Cos), OP(Tanh, Atan),
    OP(Asinh, Atan), OP(Acosh, Log), OP(Atanh, Atan), SWAP(Atan2), SWAP(Pow), OP(Exp, Exp2),
    OP(Log, Log2), OP(Exp2, Exp), OP(Log2, Log), OP(Sqrt, InverseSqrt), OP(InverseSqrt, Sqrt),
    OP(FMin, FMax), OP(UMin, SMin), OP(SMin, UMin), OP(FMax, FMin), OP(UMax, SMax),
    OP(SMax, UMax), OP(FClamp, FMix), OP(UClamp, SClamp), OP(SClamp, UClamp), OP(FMix, FClamp),
    SWAP(Step), OP(SmoothStep, FMix), OP(Fma, FMix), OP(NMin, NMax), OP(NMax, NMin),
    OP(NClamp, Fma), OP(NMin, FMin), OP(NMax, FMax), OP(PackSnorm4x8, PackUnorm4x8),
    OP(PackUnorm4x8, PackSnorm4x8), OP(PackSnorm2x16, PackUnorm2x16),
    OP(PackUnorm2x16, PackSnorm2x16), OP(PackHalf2x16, PackSnorm2x16),
    OP(UnpackSnorm2x16, UnpackUnorm2x16), OP(UnpackUnorm2x16, UnpackSnorm2x16),
    OP(UnpackHalf2x16, UnpackSnorm2x16), OP(UnpackSnorm4x8, UnpackUnorm4x8),
    OP(UnpackUnorm4x8, UnpackSnorm4x8), SWAP(Cross), OP(Normalize, FSign), OP(FaceForward, Fma),
    SWAP(FaceForward), SWAP(Reflect), SWAP(Refract), OP(FindILsb, FindUMsb),
    OP(FindSMsb, FindUMsb), OP(FindUMsb, FindSMsb),
#undef OP
#undef SWAP
};
static bool told[COUNT_OF(mutations)];

/* How many instructions of the module were changed. */
static uint32_t mutate(uint32_t *w, size_t n, const struct Mutation *how)
{
    uint32_t changed = 0, glsl = 0;
    for (size_t k = 5; k < n && w[k] >> 16; k += w[k] >> 16) {
        uint16_t op = w[k] & 0xffff;
        if (op == SpvOpExtInstImport && !strcmp((const char *)&w[k + 2], "GLSL.std.450"))
            glsl = w[k + 1];
        if (how->ext ? op != SpvOpExtInst || w[k + 3] != glsl || w[k + 4] != how->from
                     : op != how->from)
            continue;
        changed++;
        uint32_t *operand = &w[k + (how->ext ? 5 : 3)], first = operand[0];
        if (how->from == how->to) {
            operand[0] = operand[1];
            operand[1] = first;
        } else if (how->ext) {
            w[k + 4] = how->to;
        } else {
            w[k] += (uint32_t)how->to - how->from;
        }
    }
    return changed;
}

/* `before`: what the module gives on the reference. */
static void try_mutations(HeddleDevice *reference, const HeddleModule *m, const Plan *p,
                          const HeddleKernelOptions *o, uint32_t *words, const Run *before)
{
    static Run after __attribute__((aligned(64)));
    size_t size;
    const uint32_t *w = heddle_module_spirv(m, &size);
    uint32_t *copy = malloc(size);
    for (uint32_t k = 0; copy && k < COUNT_OF(mutations); k++) {
        HeddleModule *other = NULL;
        memcpy(copy, w, size);
        if (told[k] || !mutate(copy, size / 4, &mutations[k]) ||
            heddle_module_new(copy, size, "mutated", NULL, &other, NULL) != HEDDLE_OK)
            continue;
        bool good = run(reference, other, o, words, &after, NULL);
        for (uint32_t i = 0; i < N * RESULTS && good && !told[k]; i++)
            told[k] = exact_differs(&after, before, i) || near_differs(p, &after, before, i);
        heddle_module_free(other);
    }
    free(copy);
}

typedef struct Devices { HeddleDevice *cpu, *reference; HeddleLog *log; } Devices;

/* A GPU's subgroups are not as wide: some kernels cannot be said in narrower ones, which is an
 * error that says so (docs/CUDA.md). */
static bool is_refused(HeddleDevice *d, const HeddleModule *m, const HeddleKernelOptions *o)
{
#ifdef HEDDLE_TEST_CUDA
    HeddleKernel *k = NULL;
    HeddleLog *log = heddle_log_new(NULL, NULL);
    bool refused = false;
    if (o->subgroup_size > 32 && heddle_kernel_new(d, m, o, &k, log))
        for (uint32_t i = 0; i < heddle_log_count(log); i++)
            refused |= strstr(heddle_log_get(log, i)->text, "wide_subgroups cannot") != NULL;
    heddle_kernel_free(k);
    heddle_log_free(log);
    return refused;
#else
    (void)d;
    (void)m;
    (void)o;
    return false;
#endif
}

/* Code that nothing optimises takes as long: of one variant in several. */
static bool takes_plain(void)
{
    static uint32_t turn;
    return turn++ % HEDDLE_TEST_STEP == 0;
}

static void run_variant(const Devices *d, const char *path, const Plan *p, char *variant)
{
    static uint32_t words[N * WORDS] __attribute__((aligned(64)));
    static Run cpu __attribute__((aligned(64))), reference __attribute__((aligned(64)));
    char what[1200];
    const char *name = strrchr(path, '/') + 1;
    snprintf(what, sizeof what, "%s (%s)", name, variant);
    HeddleModule *m = compile(path, variant, d->log);
    if (!m) {
        test_fail(__FILE__, __LINE__, "%s does not compile", what);
        return;
    }
    note_opcodes(m, name);
    fill(p->input, words);
    for (uint32_t s = 0; s < p->n_sizes; s += HEDDLE_TEST_STEP) {
        HeddleKernelOptions o = { .subgroup_size = p->sizes[s] };
        char at[1300];
        snprintf(at, sizeof at, "%s, subgroups of %u", what, p->sizes[s]);
        if (!run(d->reference, m, &o, words, &reference, d->log)) {
            test_fail(__FILE__, __LINE__, "%s: the reference fails", at);
            continue;
        }
        if (s == 0 && HEDDLE_TEST_STEP == 1)
            try_mutations(d->reference, m, p, &o, words, &reference);
        for (int plain = 0; !plain || (plain == 1 && s == 0 && takes_plain()); plain++) {
            o.no_optimisation = plain;
            if (is_refused(d->cpu, m, &o))
                printf("%s: refused\n", at);
            else if (run(d->cpu, m, &o, words, &cpu, d->log))
                compare(at, p, &cpu, &reference, words);
            else
                test_fail(__FILE__, __LINE__, "%s: the CPU fails", at);
        }
    }
    heddle_module_free(m);
}

static void run_kernel(const Devices *d, const char *path)
{
    Plan p;
    if (!read_plan(path, &p))
        return;
    char *rest = NULL, none[] = "";
    char *variant = p.variants[0] ? strtok_r(p.variants, "|", &rest) : none;
    for (; variant; variant = strtok_r(NULL, "|", &rest)) {
        run_variant(d, path, &p, variant);
        if (!rest)
            break;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_kernel(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *only = getenv("HEDDLE_OPS");
    return dot && (!strcmp(dot, ".comp") || !strcmp(dot, ".spvasm")) &&
           (!only || strstr(name, only));
}

TEST(kernels)
{
    Devices d = { .log = heddle_log_new(heddle_print_to_stderr, NULL) };
    REQUIRE(heddle_device_new(NULL, &d.cpu, d.log) == HEDDLE_OK);
    HeddleDeviceOptions o = { .kind = HEDDLE_DEVICE_REFERENCE };
    REQUIRE(heddle_device_new(&o, &d.reference, d.log) == HEDDLE_OK);
    char *files[MAX_FILES];
    int n = 0;
    DIR *dir = opendir(FOLDER);
    REQUIRE(dir);
    for (struct dirent *f; (f = readdir(dir));)
        if (is_kernel(f->d_name) && n < MAX_FILES)
            files[n++] = strdup(f->d_name);
    closedir(dir);
    qsort(files, (size_t)n, sizeof *files, by_name);
    for (int k = 0; k < n; k++) {
        char path[1024];
        snprintf(path, sizeof path, FOLDER "/%s", files[k]);
        run_kernel(&d, path);
        free(files[k]);
    }
    CHECK(n > 0);
    heddle_device_free(d.cpu);
    heddle_device_free(d.reference);
    heddle_log_free(d.log);
}

/* After the kernels. */
TEST(kernels_tell_opcodes_apart)
{
    if (getenv("HEDDLE_OPS") || HEDDLE_TEST_STEP > 1)
        return;
    for (uint32_t k = 0; k < COUNT_OF(mutations); k++) {
        const struct Mutation *how = &mutations[k];
        uint8_t set = spv_set_by_name("GLSL.std.450");
        if (!told[k])
            test_fail(__FILE__, __LINE__, "%s: no kernel tells it from %s",
                      how->ext ? spv_ext_inst(set, how->from)->name : spv_op_name(how->from),
                      how->from == how->to ? "itself with its operands exchanged"
                      : how->ext ? spv_ext_inst(set, how->to)->name : spv_op_name(how->to));
    }
}

/* ---- coverage: after the kernels ------------------------------------------------------------- */

/* The kernels of another folder that need no macros: a test of its own runs them on both
 * devices. */
static void note_folder(const char *folder)
{
    char path[1024];
    snprintf(path, sizeof path, HEDDLE_SOURCE_DIR "/tests/%s", folder);
    DIR *dir = opendir(path);
    REQUIRE(dir);
    for (struct dirent *f; (f = readdir(dir));) {
        if (!is_kernel(f->d_name))
            continue;
        HeddleModule *m = NULL;
        snprintf(path, sizeof path, HEDDLE_SOURCE_DIR "/tests/%s/%s", folder, f->d_name);
        if (heddle_module_from_file(path, NULL, &m, NULL) == HEDDLE_OK)
            note_opcodes(m, f->d_name);
        heddle_module_free(m);
    }
    closedir(dir);
}

static void add_name(char *list, size_t size, const char *name)
{
    size_t n = strlen(list);
    snprintf(list + n, size - n, " %s", name);
}

TEST(kernels_cover_the_tables)
{
    if (getenv("HEDDLE_OPS"))
        return;
    char missing[4096] = "";
    uint32_t n;
    note_folder("images");
    note_folder("matrix");
    note_folder("opencl");
    const SpvOpInfo *ops = spv_all_ops(&n);
    for (uint32_t k = 0; k < n; k++)
        if ((cpu_handles(ops[k].op) || ref_handles(ops[k].op)) && !seen_op[ops[k].op])
            add_name(missing, sizeof missing, ops[k].name);
    const SpvExtInst *all = spv_ext_insts(spv_set_by_name("GLSL.std.450"), &n);
    for (uint32_t k = 0; k < n; k++)
        if (!seen_glsl[all[k].number] && strncmp(all[k].name, "Interpolate", 11) &&
            strcmp(all[k].name, "IMix"))
            add_name(missing, sizeof missing, all[k].name);
    if (missing[0])
        test_fail(__FILE__, __LINE__, "no kernel has%s", missing);
}
