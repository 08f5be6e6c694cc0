/* SPDX-License-Identifier: MIT
 *
 * How products are formed: a row an engine, best first. In: a shape and a machine. Out: the engine
 * whose kernel it gets; what `heddle info` says is used.
 *
 * The other files know an engine by its row alone. A unit is `group` elements of k side by side,
 * one lane of a vector of B and one broadcast of A: 32 bits for all engines that take several, but
 * 64 for those that multiply by pairs of rows and columns.
 */
#include "cpu/gemm/gemm_internal.h"

#include <stdio.h>

#define BIT(comp) (1u << (comp))
#define BYTES     (BIT(COMP_S8) | BIT(COMP_U8))
#define HALVES    (BYTES | BIT(COMP_S16)) /* what s16 has, too */
#define WORDS     (BIT(COMP_S32) | BIT(COMP_U32))
/* In bf16, which has four times the range of either fp8's exponents, each of their numbers is. */
#define BRAINS (BIT(COMP_BF16) | BIT(COMP_E4M3) | BIT(COMP_E5M2))
/* In f16 they are, too: e5m2 has its exponents. */
#define SHORTS (BIT(COMP_F16) | BIT(COMP_E4M3) | BIT(COMP_E5M2))

/* Tiles of so many lines side by side are as many whole sixteens, none across two tiles. */
static bool are_sixteens(uint32_t lines, uint32_t tiles)
{
    return lines % 16 == 0 || (16 % lines == 0 && lines * tiles % 16 == 0);
}

/* AMX takes whole 16 x 16 elements of C, of one tile or several, and 64 bytes of k at a time, A as
 * it lies. */
static bool fits_tiles(const GemmEngine *e, const GemmShape *s)
{
    IrComp operand = e->operand == GEMM_AS_IT_LIES ? (IrComp)s->a : (IrComp)e->operand;
    uint32_t bytes = comp_bytes(operand);
    return are_sixteens(s->M, s->rows) && are_sixteens(s->N, s->cols) &&
           (uint32_t)s->steps * s->K * bytes % 64 == 0 && s->K * bytes % 4 == 0 && !s->a_col &&
           !s->saturate;
}

/* Few rows or columns do not pay for making the limbs: of 16 x 16 these take longer than the
 * products of vectors that they replace. An infinity has no lower limb: it would be multiplied by
 * the others' zeros. */
static bool fits_limbs(const GemmEngine *e, const GemmShape *s)
{
    enum { LEAST = 32 };
    bool pays = (uint32_t)s->M * s->rows >= LEAST && (uint32_t)s->N * s->cols >= LEAST;
    return pays && !s->specials && fits_tiles(e, s);
}

/* Where A alone is signed, the instruction's operands would be swapped, and the sums' order. */
static bool fits_pairs(const GemmEngine *e, const GemmShape *s)
{
    (void)e;
    bool swapped = comp_is_signed((IrComp)s->a) && !comp_is_signed((IrComp)s->b);
    return s->M % 2 == 0 && !swapped;
}

static bool has_like_signs(const GemmEngine *e, const GemmShape *s)
{
    (void)e;
    return comp_is_signed((IrComp)s->a) == comp_is_signed((IrComp)s->b);
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

/* An intrinsic of NEON, by the types of the sums and of the operands: "llvm.aarch64.neon.NAME". The
 * matrix product of bf16 alone has no others, and no types in its name. */
static LLVMValueRef neon(GemmGen *g, const char *name, LLVMTypeRef operand, LLVMValueRef acc,
                         LLVMValueRef a, LLVMValueRef b)
{
    char full[64];
    LLVMTypeRef types[] = { g->sums, operand };
    snprintf(full, sizeof full, "llvm.aarch64.neon.%s", name);
    unsigned id = LLVMLookupIntrinsicID(full, strlen(full));
    LLVMValueRef args[] = { acc, LLVMBuildBitCast(g->b, a, operand, ""),
                            LLVMBuildBitCast(g->b, b, operand, "") };
    return ir_intrinsic(g->b, full, types, LLVMIntrinsicIsOverloaded(id) ? 2 : 0, args, 3);
}

/* `like` of signed by signed, of unsigned by unsigned; `mixed` of unsigned by signed. */
static LLVMValueRef neon_bytes(GemmGen *g, const char *const names[3], LLVMValueRef acc,
                               LLVMValueRef a, LLVMValueRef b)
{
    bool a_signed = comp_is_signed(g->p->operand_a), b_signed = comp_is_signed(g->p->operand_b);
    bool swapped = a_signed && !b_signed;
    const char *name = names[a_signed == b_signed ? !a_signed : 2];
    LLVMTypeRef bytes = LLVMVectorType(g->i8, 16);
    return neon(g, name, bytes, acc, swapped ? b : a, swapped ? a : b);
}

static LLVMValueRef neon_dot4(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    static const char *const names[] = { "sdot", "udot", "usdot" };
    return neon_bytes(g, names, acc, a, b);
}

static LLVMValueRef neon_mmla(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    static const char *const names[] = { "smmla", "ummla", "usmmla" };
    return neon_bytes(g, names, acc, a, b);
}

static LLVMValueRef neon_bfdot(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    return neon(g, "bfdot", LLVMVectorType(comp_type(g->cx, COMP_BF16), 8), acc, a, b);
}

static LLVMValueRef neon_bfmmla(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    return neon(g, "bfmmla", LLVMVectorType(comp_type(g->cx, COMP_BF16), 8), acc, a, b);
}

/* Exact products of f16, each added to f32 with one rounding: of the lower halves of vectors. */
static LLVMValueRef neon_fmlal(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    int lower[] = { 0, 1, 2, 3, -1, -1, -1, -1 };
    a = ir_shuffle(g->b, a, NULL, lower, 8);
    b = ir_shuffle(g->b, b, NULL, lower, 8);
    return neon(g, "fmlal", LLVMVectorType(comp_type(g->cx, COMP_F16), 8), acc, a, b);
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
    { .name = "amx-fp16", .needs = CPU_AMX_FP16, .a = SHORTS, .b = SHORTS,
      .c = BIT(COMP_F32) | BIT(COMP_F16), .fits = fits_tiles, .group = 2, .compute = COMP_F32,
      .operand = COMP_F16, .flushes = true, .tile_product = tile_f16 },
    { .name = "amx-bf16 twice", .needs = CPU_AMX_BF16, .a = BIT(COMP_F16), .b = BIT(COMP_F16),
      .c = BIT(COMP_F32) | BIT(COMP_F16), .fits = fits_limbs, .group = 2, .compute = COMP_F32,
      .operand = COMP_BF16, .limbs = 2, .flushes = true, .tile_product = tile_bf16 },
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
    { .name = "mmla", .needs = CPU_NEON_I8MM, .a = BYTES, .b = BYTES, .c = WORDS,
      .fits = fits_pairs, .group = 8, .compute = GEMM_COMPUTE, .operand = GEMM_AS_IT_LIES,
      .pairs = true, .product = neon_mmla },
    { .name = "usdot", .needs = CPU_NEON_I8MM, .a = BYTES, .b = BYTES, .c = WORDS, .group = 4,
      .compute = GEMM_COMPUTE, .operand = GEMM_AS_IT_LIES, .product = neon_dot4 },
    { .name = "sdot", .needs = CPU_NEON_DOT, .a = BYTES, .b = BYTES, .c = WORDS,
      .fits = has_like_signs, .group = 4, .compute = GEMM_COMPUTE, .operand = GEMM_AS_IT_LIES,
      .product = neon_dot4 },
    { .name = "bfmmla", .needs = CPU_NEON_BF16, .a = BRAINS, .b = BRAINS,
      .c = BIT(COMP_F32) | BIT(COMP_F16) | BRAINS, .fits = fits_pairs, .group = 4,
      .compute = COMP_F32, .operand = COMP_BF16, .flushes = true, .pairs = true,
      .product = neon_bfmmla },
    { .name = "bfdot", .needs = CPU_NEON_BF16, .a = BRAINS, .b = BRAINS,
      .c = BIT(COMP_F32) | BIT(COMP_F16) | BRAINS, .group = 2, .compute = COMP_F32,
      .operand = COMP_BF16, .flushes = true, .product = neon_bfdot },
    { .name = "fmlal", .needs = CPU_NEON_FHM, .a = SHORTS, .b = SHORTS, .c = BIT(COMP_F32),
      .group = 1, .compute = COMP_F32, .operand = COMP_F16, .product = neon_fmlal },
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
