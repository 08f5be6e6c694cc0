/* SPDX-License-Identifier: MIT
 *
 * LLVM IR to SPIR-V: a kernel with matrices whose operators are calls, spirv-val's opinion of the
 * result, and what goes wrong.
 */
#include "base/test.h"

#include "front/opencl/spirv_target.h"

#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef HEDDLE_LLVM_SPIRV

#define MAT "target(\"spirv.CooperativeMatrixKHR\", float, 3, 16, 16, 2)"
#define INT "target(\"spirv.CooperativeMatrixKHR\", i32, 3, 16, 16, 2)"

static const char matrices[] =
    "target triple = \"spirv64-unknown-unknown\"\n"
    "declare spir_func " MAT " @_Z32__spirv_CooperativeMatrixLoadKHR_a(ptr addrspace(1), i32, "
    "i64, i32)\n"
    "declare spir_func " INT " @_Z32__spirv_CooperativeMatrixLoadKHR_b(ptr addrspace(1), i32, "
    "i64, i32)\n"
    "declare spir_func void @_Z33__spirv_CooperativeMatrixStoreKHR_a(ptr addrspace(1), " MAT
    ", i32, i64, i32)\n"
    "declare spir_func void @_Z33__spirv_CooperativeMatrixStoreKHR_b(ptr addrspace(1), " INT
    ", i32, i64, i32)\n"
    "declare spir_func " MAT " @_Z34__spirv_CooperativeMatrixBinaryAdd23CoopMat_f32_3_16_16_2(" MAT
    ", " MAT ")\n"
    "declare spir_func " MAT " @__spirv_FNegate(" MAT ")\n"
    "declare spir_func " MAT " @__spirv_MatrixTimesScalar.f(" MAT ", float)\n"
    "declare spir_func " INT " @_Z34__spirv_CooperativeMatrixBinaryDivu23CoopMat_u32_3_16_16_2(" INT
    ", " INT ")\n"
    "define spir_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, float %s) {\n"
    "  %x = call spir_func " MAT " @_Z32__spirv_CooperativeMatrixLoadKHR_a(ptr addrspace(1) %a, "
    "i32 0, i64 16, i32 0)\n"
    "  %y = call spir_func " MAT
    " @_Z34__spirv_CooperativeMatrixBinaryAdd23CoopMat_f32_3_16_16_2(" MAT " %x, " MAT " %x)\n"
    "  %n = call spir_func " MAT " @__spirv_FNegate(" MAT " %y)\n"
    "  %z = call spir_func " MAT " @__spirv_MatrixTimesScalar.f(" MAT " %n, float %s)\n"
    "  call spir_func void @_Z33__spirv_CooperativeMatrixStoreKHR_a(ptr addrspace(1) %b, " MAT
    " %z, i32 0, i64 16, i32 0)\n"
    "  %i = call spir_func " INT " @_Z32__spirv_CooperativeMatrixLoadKHR_b(ptr addrspace(1) %a, "
    "i32 0, i64 16, i32 0)\n"
    "  %d = call spir_func " INT
    " @_Z34__spirv_CooperativeMatrixBinaryDivu23CoopMat_u32_3_16_16_2(" INT " %i, " INT " %i)\n"
    "  call spir_func void @_Z33__spirv_CooperativeMatrixStoreKHR_b(ptr addrspace(1) %b, " INT
    " %d, i32 0, i64 16, i32 0)\n"
    "  ret void\n"
    "}\n";

static LLVMModuleRef parse(const char *text)
{
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef b = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
    LLVMModuleRef m = NULL;
    char *error = NULL;
    if (LLVMParseIRInContext(context, b, &m, &error)) {
        test_fail(__FILE__, __LINE__, "%s", error);
        LLVMDisposeMessage(error);
    }
    return m;
}

static void keep_message(void *user, const Diag *d) { snprintf(user, 256, "%s", d->message); }

static uint32_t count(const SpvModule *m, uint16_t op)
{
    uint32_t n = 0;
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next)
                n += i->op == op;
    return n;
}

static bool valid(Arena *a, const SpvModule *m)
{
    char path[64], command[256];
    size_t size;
    const void *words = spv_write(a, m, &size);
    snprintf(path, sizeof path, "spirv_target_%d.spv", (int)getpid());
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(words, 1, size, f) == size;
    if (f)
        fclose(f);
    snprintf(command, sizeof command, "%s/bin/spirv-val %s", HEDDLE_TOOLCHAIN, path);
    good = good && system(command) == 0;
    remove(path);
    return good;
}

TEST(operators_become_instructions)
{
    Arena a = { 0 };
    SpvModule *m = ocl_spirv(&a, parse(matrices), OCL_SPIRV_KERNELS, "test", &(DiagSink){ 0 });
    REQUIRE(m);
    CHECK_EQ_U64(count(m, SpvOpFunctionCall), 0);
    CHECK_EQ_U64(count(m, SpvOpFAdd), 1);
    CHECK_EQ_U64(count(m, SpvOpFNegate), 1);
    CHECK_EQ_U64(count(m, SpvOpMatrixTimesScalar), 1);
    CHECK_EQ_U64(count(m, SpvOpUDiv), 1);
    CHECK_EQ_U64(count(m, SpvOpCooperativeMatrixLoadKHR), 2);
    CHECK(m->functions && !m->functions->next);
    CHECK(valid(&a, m));
    arena_free(&a);
}

TEST(other_calls_stay)
{
    static const char text[] = "target triple = \"spirv64-unknown-unknown\"\n"
                               "declare spir_func float @external(float)\n"
                               "declare spir_func float @__spirv_Nothing(float)\n"
                               "define spir_kernel void @k(ptr addrspace(1) %a, float %s) {\n"
                               "  %x = call spir_func float @external(float %s)\n"
                               "  %y = call spir_func float @__spirv_Nothing(float %x)\n"
                               "  store float %y, ptr addrspace(1) %a\n"
                               "  ret void\n"
                               "}\n";
    Arena a = { 0 };
    SpvModule *m = ocl_spirv(&a, parse(text), OCL_SPIRV_KERNELS, "test", &(DiagSink){ 0 });
    REQUIRE(m);
    CHECK_EQ_U64(count(m, SpvOpFunctionCall), 2);
    CHECK(valid(&a, m));
    arena_free(&a);
}

static void keep_place(void *user, const Diag *d)
{
    snprintf(user, 512, "%s:%u:%u: %s", d->loc.file, d->loc.line, d->loc.column, d->message);
}

TEST(what_cannot_be_translated_is_told_with_its_kernel)
{
    static const char wide[] = "target triple = \"spirv64-unknown-unknown\"\n"
                               "define spir_kernel void @k(ptr addrspace(1) %a, fp128 %v) #0 {\n"
                               "  %x = fptrunc fp128 %v to float\n"
                               "  store float %x, ptr addrspace(1) %a\n"
                               "  ret void\n"
                               "}\n"
                               "attributes #0 = { \"" OCL_PLACE "\"=\"7:13:some.cl\" }\n";
    Arena a = { 0 };
    char said[512] = "";
    DiagSink sink = { .report = keep_place, .user = said };
    CHECK(!ocl_spirv(&a, parse(wide), OCL_SPIRV_KERNELS, "test", &sink));
    CHECK_CONTAINS(said, "some.cl:7:13: LLVM's SPIR-V target: unable to legalize");
    arena_free(&a);
}

TEST(what_goes_wrong_is_told)
{
    static const char arity[] = "target triple = \"spirv64-unknown-unknown\"\n"
                                "declare spir_func float @__spirv_FAdd(float)\n"
                                "define spir_kernel void @k(ptr addrspace(1) %a, float %s) {\n"
                                "  %x = call spir_func float @__spirv_FAdd(float %s)\n"
                                "  store float %x, ptr addrspace(1) %a\n"
                                "  ret void\n"
                                "}\n";
    Arena a = { 0 };
    char said[256] = "";
    DiagSink sink = { .report = keep_message, .user = said };
    CHECK(!ocl_spirv(&a, parse(arity), OCL_SPIRV_KERNELS, "test", &sink));
    CHECK_CONTAINS(said, "OpFAdd takes 2 operands, the call that names it has 1");
    arena_free(&a);
}
#endif
