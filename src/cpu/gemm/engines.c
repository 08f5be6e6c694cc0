/* SPDX-License-Identifier: MIT
 *
 * How products are formed: a row an engine, best first. In: a shape and a machine. Out: the engine
 * whose kernel it gets; what `heddle info` says is used.
 *
 * The other files know an engine by its row alone. A unit is `group` elements of k side by side,
 * one lane of a vector of B and one broadcast of A: 32 bits for all engines that take several.
 */
#include "cpu/gemm/gemm_internal.h"

#define BIT(comp) (1u << (comp))
#define BYTES     (BIT(COMP_S8) | BIT(COMP_U8))
#define HALVES    (BYTES | BIT(COMP_S16)) /* what s16 has, too */
#define WORDS     (BIT(COMP_S32) | BIT(COMP_U32))
/* In bf16, which has four times the range of either fp8's exponents, each of their numbers is. */
#define BRAINS (BIT(COMP_BF16) | BIT(COMP_E4M3) | BIT(COMP_E5M2))
/* In f16 they are, too: e5m2 has its exponents. */
#define SHORTS (BIT(COMP_F16) | BIT(COMP_E4M3) | BIT(COMP_E5M2))

/* AMX takes whole 16 x 16 tiles of C and 64 bytes of k at a time, A as it lies. */
static bool fits_tiles(const GemmEngine *e, const GemmShape *s)
{
    IrComp operand = e->operand == GEMM_AS_IT_LIES ? (IrComp)s->a : (IrComp)e->operand;
    uint32_t bytes = comp_bytes(operand);
    return s->M % 16 == 0 && s->N % 16 == 0 && (uint32_t)s->steps * s->K * bytes % 64 == 0 &&
           s->K * bytes % 4 == 0 && !s->a_col && !s->saturate;
}

static const char *tile_bf16(const GemmPlan *p)
{
    (void)p;
    return "llvm.x86.tdpbf16ps";
}

static const char *tile_f16(const GemmPlan *p)
{
    (void)p;
    return "llvm.x86.tdpfp16ps";
}

static const char *tile_int8(const GemmPlan *p)
{
    bool a = comp_is_signed(p->operand_a), b = comp_is_signed(p->operand_b);
    return a ? (b ? "llvm.x86.tdpbssd" : "llvm.x86.tdpbsud")
             : (b ? "llvm.x86.tdpbusd" : "llvm.x86.tdpbuud");
}

/* An intrinsic of three operands that is there for each width of vectors. Its operands are cast:
 * the types of the dot products changed between LLVM's versions. */
static LLVMValueRef product_of(GemmGen *g, const char *const names[3], LLVMValueRef acc,
                               LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef args[] = { acc, a, b };
    LLVMTypeRef types[3];
    const char *name = g->p->lanes == 16 ? names[0] : g->p->lanes == 8 ? names[1] : names[2];
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMGetParamTypes(LLVMIntrinsicGetType(g->cx, id, NULL, 0), types);
    for (unsigned i = 0; i < 3; i++)
        args[i] = LLVMBuildBitCast(g->b, args[i], types[i], "");
    return ir_intrinsic(g->b, name, NULL, 0, args, 3);
}

/* vpdpbusd multiplies unsigned by signed. */
static LLVMValueRef dot4(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    static const char *const names[] = { "llvm.x86.avx512.vpdpbusd.512",
                                         "llvm.x86.avx512.vpdpbusd.256",
                                         "llvm.x86.avx512.vpdpbusd.128" };
    bool b_signed = comp_is_signed(g->p->operand_b);
    return product_of(g, names, acc, b_signed ? a : b, b_signed ? b : a);
}

/* AVX-VNNI-INT8 has an instruction a pair of signs, but for unsigned by signed. */
static LLVMValueRef dot4_signs(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    static const char *const names[3][3] = {
        { "llvm.x86.avx10.vpdpbuud.512", "llvm.x86.avx2.vpdpbuud.256",
          "llvm.x86.avx2.vpdpbuud.128" },
        { "llvm.x86.avx10.vpdpbsud.512", "llvm.x86.avx2.vpdpbsud.256",
          "llvm.x86.avx2.vpdpbsud.128" },
        { "llvm.x86.avx10.vpdpbssd.512", "llvm.x86.avx2.vpdpbssd.256",
          "llvm.x86.avx2.vpdpbssd.128" },
    };
    bool a_signed = comp_is_signed(g->p->operand_a), b_signed = comp_is_signed(g->p->operand_b);
    bool swapped = b_signed && !a_signed;
    return product_of(g, names[a_signed + b_signed], acc, swapped ? b : a, swapped ? a : b);
}

static LLVMValueRef dot2(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    static const char *const names[] = { "llvm.x86.avx512.vpdpwssd.512",
                                         "llvm.x86.avx512.vpdpwssd.256",
                                         "llvm.x86.avx512.vpdpwssd.128" };
    return product_of(g, names, acc, a, b);
}

static LLVMValueRef dot_bf16(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    static const char *const names[] = { "llvm.x86.avx512bf16.dpbf16ps.512",
                                         "llvm.x86.avx512bf16.dpbf16ps.256",
                                         "llvm.x86.avx512bf16.dpbf16ps.128" };
    return product_of(g, names, acc, a, b);
}

/* Sums of two products of 16-bit numbers, exact but for four times -2^15, where the low-order bits
 * are right. */
static LLVMValueRef madd2(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    const char *name = g->p->lanes == 16  ? "llvm.x86.avx512.pmaddw.d.512"
                       : g->p->lanes == 8 ? "llvm.x86.avx2.pmadd.wd"
                                          : "llvm.x86.sse2.pmadd.wd";
    LLVMTypeRef words = LLVMVectorType(LLVMInt16TypeInContext(g->cx), 2 * g->p->lanes);
    LLVMValueRef args[] = { LLVMBuildBitCast(g->b, a, words, ""),
                            LLVMBuildBitCast(g->b, b, words, "") };
    return LLVMBuildAdd(g->b, acc, ir_intrinsic(g->b, name, NULL, 0, args, 2), "");
}

static LLVMValueRef muladd(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    if (!comp_is_float(g->p->compute))
        return LLVMBuildAdd(g->b, acc, LLVMBuildMul(g->b, a, b, ""), "");
    LLVMValueRef args[] = { a, b, acc };
    return ir_intrinsic(g->b, "llvm.fmuladd", &g->vector, 1, args, 3);
}

/* clang-format off */
static const GemmEngine engines[] = {
    { .name = "amx-bf16", .needs = CPU_AMX_BF16, .a = BRAINS, .b = BRAINS, .c = BIT(COMP_F32),
      .fits = fits_tiles, .group = 2, .compute = COMP_F32, .operand = COMP_BF16, .flushes = true,
      .tile_product = tile_bf16 },
    { .name = "amx-fp16", .needs = CPU_AMX_FP16, .a = SHORTS, .b = SHORTS, .c = BIT(COMP_F32),
      .fits = fits_tiles, .group = 2, .compute = COMP_F32, .operand = COMP_F16, .flushes = true,
      .tile_product = tile_f16 },
    { .name = "amx-int8", .needs = CPU_AMX_INT8, .a = BYTES, .b = BYTES, .c = WORDS,
      .fits = fits_tiles, .group = 4, .compute = GEMM_COMPUTE, .operand = GEMM_AS_IT_LIES,
      .tile_product = tile_int8 },
    { .name = "vdpbf16ps", .needs = CPU_AVX512_BF16, .a = BRAINS, .b = BRAINS,
      .c = BIT(COMP_F32) | BIT(COMP_F16) | BRAINS, .group = 2, .compute = COMP_F32,
      .operand = COMP_BF16, .flushes = true, .product = dot_bf16 },
    { .name = "vpdpbusd", .needs = CPU_AVX512_VNNI, .a = BYTES, .b = BYTES, .c = WORDS,
      .group = 4, .compute = GEMM_COMPUTE, .operand = GEMM_AS_IT_LIES, .mixed_signs = true,
      .product = dot4 },
    { .name = "vpdpbssd", .needs = CPU_AVX_VNNI_INT8, .a = BYTES, .b = BYTES, .c = WORDS,
      .group = 4, .compute = GEMM_COMPUTE, .operand = GEMM_AS_IT_LIES, .product = dot4_signs },
    { .name = "vpdpbusd (vex)", .needs = CPU_AVX_VNNI, .a = BYTES, .b = BYTES, .c = WORDS,
      .group = 4, .compute = GEMM_COMPUTE, .operand = GEMM_AS_IT_LIES, .mixed_signs = true,
      .product = dot4 },
    { .name = "vpdpwssd", .needs = CPU_AVX512_VNNI, .a = HALVES, .b = HALVES, .c = WORDS,
      .group = 2, .compute = GEMM_COMPUTE, .operand = COMP_S16, .product = dot2 },
    { .name = "vpdpwssd (vex)", .needs = CPU_AVX_VNNI, .a = HALVES, .b = HALVES, .c = WORDS,
      .group = 2, .compute = GEMM_COMPUTE, .operand = COMP_S16, .product = dot2 },
    { .name = "pmaddwd", .needs = CPU_SSE2, .a = HALVES, .b = HALVES, .c = WORDS, .group = 2,
      .compute = GEMM_COMPUTE, .operand = COMP_S16, .two_steps = true, .product = madd2 },
    { .name = "muladd", .group = 1, .compute = GEMM_COMPUTE, .operand = GEMM_COMPUTE,
      .product = muladd },
};
/* clang-format on */

static bool takes(uint32_t types, uint8_t comp) { return !types || types & BIT(comp); }

const GemmEngine *gemm_engine(const GemmShape *s, const CpuTarget *t)
{
    const GemmEngine *e = engines;
    uint32_t sets = t->sets & ~t->tuning->slow;
    while ((e->needs & ~sets) || !takes(e->a, s->a) || !takes(e->b, s->b) || !takes(e->c, s->c) ||
           s->K % e->group || (e->flushes && s->denormals) || (e->fits && !e->fits(e, s)))
        e++;
    return e;
}

/* The machine has a better engine for all that this one takes. */
static bool is_beaten(const GemmEngine *e, uint32_t sets)
{
    for (const GemmEngine *f = engines; f < e; f++)
        if (!(f->needs & ~sets) && !f->fits && f->group == e->group && f->a == e->a &&
            f->b == e->b && f->c == e->c)
            return true;
    return false;
}

uint32_t cpu_sets_used(const CpuTarget *t)
{
    uint32_t used = (t->tuning->needs | CPU_F16C) & t->sets, sets = t->sets & ~t->tuning->slow;
    for (const GemmEngine *e = engines; e < engines + COUNT_OF(engines); e++)
        if (!(e->needs & ~sets) && !is_beaten(e, sets))
            used |= e->needs;
    return used;
}
