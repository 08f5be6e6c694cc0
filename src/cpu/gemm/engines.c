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
#define BYTES (BIT(COMP_S8) | BIT(COMP_U8))
#define WORDS (BIT(COMP_S32) | BIT(COMP_U32))

/* AMX takes whole 16 x 16 tiles of C and 64 bytes of k at a time, A as it lies. */
static bool fits_tiles(const GemmShape *s)
{
    uint32_t bytes = comp_bytes((Comp)s->a);
    return s->M % 16 == 0 && s->N % 16 == 0 && (uint32_t)s->steps * s->K * bytes % 64 == 0
        && s->K * bytes % 4 == 0 && !s->a_col && !s->saturate;
}

static const char *tile_bf16(const GemmPlan *p)
{
    (void)p;
    return "llvm.x86.tdpbf16ps";
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
    LLVMValueRef args[] = {acc, a, b};
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
    static const char *const names[] = {"llvm.x86.avx512.vpdpbusd.512",
                                        "llvm.x86.avx512.vpdpbusd.256",
                                        "llvm.x86.avx512.vpdpbusd.128"};
    bool b_signed = comp_is_signed(g->p->operand_b);
    return product_of(g, names, acc, b_signed ? a : b, b_signed ? b : a);
}

static LLVMValueRef dot2(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    static const char *const names[] = {"llvm.x86.avx512.vpdpwssd.512",
                                        "llvm.x86.avx512.vpdpwssd.256",
                                        "llvm.x86.avx512.vpdpwssd.128"};
    return product_of(g, names, acc, a, b);
}

static LLVMValueRef muladd(GemmGen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    if (!comp_is_float(g->p->compute))
        return LLVMBuildAdd(g->b, acc, LLVMBuildMul(g->b, a, b, ""), "");
    LLVMValueRef args[] = {a, b, acc};
    return ir_intrinsic(g->b, "llvm.fmuladd", &g->vector, 1, args, 3);
}

static const GemmEngine engines[] = {
    { .name = "amx-bf16", .needs = CPU_AMX_BF16, .a = BIT(COMP_BF16), .b = BIT(COMP_BF16),
      .c = BIT(COMP_F32), .fits = fits_tiles, .group = 2, .compute = COMP_F32,
      .operand = GEMM_AS_IT_LIES, .tile_product = tile_bf16 },
    { .name = "amx-int8", .needs = CPU_AMX_INT8, .a = BYTES, .b = BYTES, .c = WORDS,
      .fits = fits_tiles, .group = 4, .compute = GEMM_COMPUTE, .operand = GEMM_AS_IT_LIES,
      .tile_product = tile_int8 },
    { .name = "vpdpbusd", .needs = CPU_AVX512_VNNI, .a = BYTES, .b = BYTES, .c = WORDS,
      .group = 4, .compute = GEMM_COMPUTE, .operand = GEMM_AS_IT_LIES, .mixed_signs = true,
      .product = dot4 },
    { .name = "vpdpwssd", .needs = CPU_AVX512_VNNI, .a = BIT(COMP_S16), .b = BIT(COMP_S16),
      .c = WORDS, .group = 2, .compute = GEMM_COMPUTE, .operand = GEMM_AS_IT_LIES,
      .product = dot2 },
    { .name = "muladd", .group = 1, .compute = GEMM_COMPUTE, .operand = GEMM_COMPUTE,
      .product = muladd },
};

static bool takes(uint32_t types, uint8_t comp) { return !types || types & BIT(comp); }

const GemmEngine *gemm_engine(const GemmShape *s, const CpuTarget *t)
{
    const GemmEngine *e = engines;
    while ((e->needs & ~t->sets) || !takes(e->a, s->a) || !takes(e->b, s->b) ||
           !takes(e->c, s->c) || s->K % e->group || (e->fits && !e->fits(s)))
        e++;
    return e;
}

uint32_t cpu_sets_used(const CpuTarget *t)
{
    uint32_t used = t->tuning->needs | CPU_F16C;
    for (size_t i = 0; i < COUNT_OF(engines); i++)
        used |= engines[i].needs;
    return used & t->sets;
}
