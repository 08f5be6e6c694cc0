/* SPDX-License-Identifier: MIT
 *
 * The JIT on small modules written as text: code runs, texts are kept, faults become diagnostics.
 */
#include "base/test.h"
#include "cpu/jit/jit.h"

#include <llvm-c/IRReader.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static const CpuOptions optimised = {.optimise = true};

static bool jit_level(const char *ir, const char *level, const CpuOptions *o, CpuJit *out,
                      DiagSink *sink)
{
    memset(out, 0, sizeof *out);
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef text =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, strlen(ir), "test");
    LLVMModuleRef module = NULL;
    char *error = NULL;
    if (LLVMParseIRInContext(context, text, &module, &error)) {
        diag(sink, DIAG_ERROR, NULL, NULL, "%s", error);
        LLVMDisposeMessage(error);
        LLVMContextDispose(context);
        return false;
    }
    CpuTarget target;
    bool ok = false;
    if (cpu_target(&target, level, sink)) {
        ok = cpu_jit(module, context, &target, o, out, sink);
        cpu_target_free(&target);
    } else {
        LLVMDisposeModule(module);
        LLVMContextDispose(context);
    }
    return ok;
}

static bool jit(const char *ir, const CpuOptions *o, CpuJit *out, DiagSink *sink)
{
    return jit_level(ir, NULL, o, out, sink);
}

static void jit_free(CpuJit *j)
{
    cpu_code_free(j->owner);
    free(j->text);
}

/* frame[i] = 2 * push[i] for 64 floats, through an alloca. */
static const char twice[] =
    "define void @heddle_kernel(ptr %env) {\n"
    "  %at.push = getelementptr i8, ptr %env, i64 8\n"
    "  %at.frame = getelementptr i8, ptr %env, i64 24\n"
    "  %push = load ptr, ptr %at.push\n"
    "  %frame = load ptr, ptr %at.frame\n"
    "  %x = alloca <64 x float>, align 64\n"
    "  %in = load <64 x float>, ptr %push, align 4\n"
    "  %sum = fadd <64 x float> %in, %in\n"
    "  store <64 x float> %sum, ptr %x\n"
    "  %again = load <64 x float>, ptr %x\n"
    "  store <64 x float> %again, ptr %frame, align 4\n"
    "  ret void\n"
    "}\n";

static void check_twice(const CpuJit *j)
{
    float in[64], out[64];
    CpuEnv env = {.push = in, .frame = out};
    for (int i = 0; i < 64; i++)
        in[i] = (float)i;
    j->code(&env);
    for (int i = 0; i < 64; i++)
        CHECK(out[i] == 2 * in[i]);
}

TEST(offsets_of_env_are_those_the_test_uses)
{
    CHECK(offsetof(CpuEnv, push) == 8 && offsetof(CpuEnv, frame) == 24);
}

TEST(code_runs_optimised_and_not)
{
    TestDiags d = TEST_DIAGS(d);
    for (int optimise = 0; optimise < 2; optimise++) {
        CpuOptions o = {.optimise = optimise};
        CpuJit j;
        REQUIRE(jit(twice, &o, &j, &d.sink));
        check_twice(&j);
        CHECK(j.stack_bytes >= 4096 && j.stack_bytes < 1 << 16);
        CHECK(j.text == NULL && j.seconds > 0);
        jit_free(&j);
    }
    CHECK_STR(d.text, "");
}

TEST(texts_are_kept)
{
    static const struct { CpuEmit emit; const char *has; } cases[] = {
        {CPU_EMIT_LLVM, "alloca <64 x float>"},
        {CPU_EMIT_LLVM_OPTIMISED, "define void @heddle_kernel"},
        {CPU_EMIT_ASM, "heddle_kernel:"},
    };
    TestDiags d = TEST_DIAGS(d);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CpuOptions o = {.optimise = true, .emit = cases[i].emit};
        CpuJit j;
        REQUIRE(jit(twice, &o, &j, &d.sink));
        CHECK_CONTAINS(j.text, cases[i].has);
        CHECK_EQ_U64(strlen(j.text), j.text_size);
        CHECK(cases[i].emit != CPU_EMIT_LLVM_OPTIMISED || !strstr(j.text, "alloca"));
        check_twice(&j);
        jit_free(&j);
    }
    CpuOptions o = {.optimise = true, .emit = CPU_EMIT_OBJECT};
    CpuJit j;
    CHECK(jit(twice, &o, &j, &d.sink) && j.text_size > 64 && !memcmp(j.text, "\177ELF", 4));
    jit_free(&j);
}

/* A loop whose one block is too long for LLVM: frame[i] += push[i] for 2000 vectors, three times,
 * with values of an early piece used in the last. */
TEST(long_blocks_are_split)
{
    enum { N = 2000, TIMES = 3 };
    Arena a = {0};
    jmp_buf escape;
    a.on_failure = &escape;
    if (setjmp(escape)) {
        CHECK(!"out of memory");
        return;
    }
    Str ir = {0};
    str_add(&a, &ir, "define void @heddle_kernel(ptr %env) {\nentry:\n"
                     "  %at.push = getelementptr i8, ptr %env, i64 8\n"
                     "  %at.frame = getelementptr i8, ptr %env, i64 24\n"
                     "  %push = load ptr, ptr %at.push\n"
                     "  %frame = load ptr, ptr %at.frame\n"
                     "  br label %loop\nloop:\n"
                     "  %i = phi i32 [ 0, %entry ], [ %next, %loop ]\n"
                     "  %next = add i32 %i, 1\n");
    for (int i = 0; i < N; i++)
        str_printf(&a, &ir,
                   "  %%p%d = getelementptr i8, ptr %%push, i64 %d\n"
                   "  %%f%d = getelementptr i8, ptr %%frame, i64 %d\n"
                   "  %%x%d = load <16 x i32>, ptr %%p%d, align 4\n"
                   "  %%y%d = load <16 x i32>, ptr %%f%d, align 4\n"
                   "  %%s%d = add <16 x i32> %%x%d, %%y%d\n"
                   "  store <16 x i32> %%s%d, ptr %%f%d, align 4\n",
                   i, i * 64, i, i * 64, i, i, i, i, i, i, i, i, i);
    str_printf(&a, &ir, "  %%again = icmp ult i32 %%next, %d\n"
                        "  br i1 %%again, label %%loop, label %%exit\nexit:\n"
                        "  %%last = phi i32 [ %%i, %%loop ]\n"
                        "  store i32 %%last, ptr %%push\n  ret void\n}\n", TIMES);
    TestDiags d = TEST_DIAGS(d);
    CpuOptions o = {.optimise = true, .emit = CPU_EMIT_LLVM_OPTIMISED};
    CpuJit j;
    bool ok = jit(ir.data, &o, &j, &d.sink);
    arena_free(&a);
    CHECK_STR(d.text, "");
    REQUIRE(ok);
    CHECK_CONTAINS(j.text, "label %never");
    uint32_t *in = calloc(N, 64), *out = calloc(N, 64), wrong = 0;
    CpuEnv env = {.push = in, .frame = out, .n_subgroups = 1};
    for (uint32_t i = 0; i < N * 16; i++)
        in[i] = i;
    j.code(&env);
    for (uint32_t i = 0; i < N * 16; i++)
        wrong += out[i] != TIMES * i;
    CHECK_EQ_U64(wrong, 0);
    CHECK_EQ_U64(in[0], TIMES - 1);
    jit_free(&j);
    free(in);
    free(out);
}

/* The most bytes of a text between two places of a word, its ends included. */
static size_t widest_gap(const char *text, const char *word)
{
    size_t widest = 0;
    for (const char *at = text, *next; at; at = next) {
        next = strstr(at + 1, word);
        size_t gap = next ? (size_t)(next - at) : strlen(at);
        widest = gap > widest ? gap : widest;
    }
    return widest;
}

/* Arithmetic, which LLVM may move to where it is used, stays in the pieces: a block of nothing else
 * took 24 s that takes 3.5. */
TEST(arithmetic_stays_in_its_piece)
{
    enum { N = 12000 };
    Arena a = {0};
    jmp_buf escape;
    a.on_failure = &escape;
    if (setjmp(escape)) {
        CHECK(!"out of memory");
        return;
    }
    Str ir = {0};
    str_add(&a, &ir, "define void @heddle_kernel(ptr %env) {\nentry:\n"
                     "  %at = getelementptr i8, ptr %env, i64 24\n"
                     "  %frame = load ptr, ptr %at\n"
                     "  %x0 = load <4 x float>, ptr %frame\n");
    for (int i = 1; i < N; i++)
        str_printf(&a, &ir, "  %%x%d = f%s <4 x float> %%x%d, splat (float %d.0)\n", i,
                   i % 2 ? "mul" : "add", i - 1, i % 1000 + 3);
    str_printf(&a, &ir, "  store <4 x float> %%x%d, ptr %%frame\n  ret void\n}\n", N - 1);
    TestDiags d = TEST_DIAGS(d);
    CpuOptions o = {.optimise = true, .emit = CPU_EMIT_ASM};
    CpuJit j;
    bool ok = jit(ir.data, &o, &j, &d.sink);
    arena_free(&a);
    CHECK_STR(d.text, "");
    REQUIRE(ok);
    CHECK(widest_gap(strstr(j.text, "heddle_kernel:"), "LBB0_") < j.text_size / 2);
    jit_free(&j);
}

TEST(c_functions_are_found)
{
    static const char ir[] =
        "declare double @fmod(double, double)\n"
        "declare double @llvm.sin.f64(double)\n"
        "define void @heddle_kernel(ptr %env) {\n"
        "  %at.frame = getelementptr i8, ptr %env, i64 24\n"
        "  %frame = load ptr, ptr %at.frame\n"
        "  %x = load double, ptr %frame\n"
        "  %m = call double @fmod(double %x, double 3.0)\n"
        "  %s = call double @llvm.sin.f64(double %m)\n"
        "  store double %s, ptr %frame\n"
        "  ret void\n"
        "}\n";
    TestDiags d = TEST_DIAGS(d);
    CpuJit j;
    REQUIRE(jit(ir, &optimised, &j, &d.sink));
    double x = 7.5;
    CpuEnv env = {.frame = &x};
    j.code(&env);
    CHECK_NEAR(x, sin(1.5), 1e-15);
    jit_free(&j);
}

TEST(half_is_converted_without_f16c)
{
    static const char ir[] =
        "define void @heddle_kernel(ptr %env) {\n"
        "  %at.frame = getelementptr i8, ptr %env, i64 24\n"
        "  %frame = load ptr, ptr %at.frame\n"
        "  %h = load <4 x half>, ptr %frame\n"
        "  %f = fpext <4 x half> %h to <4 x float>\n"
        "  %g = fmul <4 x float> %f, <float 3.0, float 3.0, float 3.0, float 3.0>\n"
        "  %r = fptrunc <4 x float> %g to <4 x half>\n"
        "  store <4 x half> %r, ptr %frame\n"
        "  ret void\n"
        "}\n";
    static const char *const levels[] = {
        "host",
#if defined(__x86_64__)
        "x86-64", "x86-64-v2",
#endif
    };
    TestDiags d = TEST_DIAGS(d);
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        CpuJit j;
        REQUIRE(jit_level(ir, levels[i], &optimised, &j, &d.sink));
        uint16_t h[4];
        for (int e = 0; e < 4; e++)
            h[e] = f16_from_double(e + 0.25);
        CpuEnv env = {.frame = h};
        j.code(&env);
        for (int e = 0; e < 4; e++)
            CHECK_NEAR(f16_to_double(h[e]), 3 * (e + 0.25), 0);
        jit_free(&j);
    }
}

/* LLVM's objects are left alone after a fatal error. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libLLVM";
}

TEST(faults_are_diagnostics)
{
    static const struct { const char *ir, *says; } cases[] = {
        {"define void @other(ptr %env) {\n ret void\n}\n", "does not define heddle_kernel"},
        {"declare void @heddle_kernel(ptr)\n", "does not define heddle_kernel"},
        {"declare void @nowhere_to_be_found()\n"
         "define void @heddle_kernel(ptr %env) {\n"
         "  call void @nowhere_to_be_found()\n  ret void\n}\n",
         "nowhere_to_be_found"},
        {"define void @heddle_kernel(ptr %env) {\n"
         "  call void asm sideeffect \"no such instruction\", \"\"()\n  ret void\n}\n", "LLVM: "},
#if defined(__x86_64__)
        {"declare <32 x i16> @llvm.x86.avx512.pmul.hr.sw.512(<32 x i16>, <32 x i16>)\n"
         "define void @heddle_kernel(ptr %env) {\n"
         "  %v = load <32 x i16>, ptr %env, align 1\n"
         "  %r = call <32 x i16> @llvm.x86.avx512.pmul.hr.sw.512(<32 x i16> %v, <32 x i16> %v)\n"
         "  store <32 x i16> %r, ptr %env, align 1\n  ret void\n}\n", "LLVM: "},
#endif
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        TestDiags d = TEST_DIAGS(d);
        CpuJit j;
        bool plain = !strstr(cases[i].ir, "x86");
        CHECK(!jit_level(cases[i].ir, plain ? "host" : "x86-64-v2", &optimised, &j, &d.sink));
        CHECK_CONTAINS(d.text, cases[i].says);
        CHECK(d.sink.errors >= 1 && !j.owner && !j.code && !j.text);
    }
}

TEST(invalid_ir_is_a_diagnostic)
{
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("bad", context);
    LLVMTypeRef pointer = LLVMPointerTypeInContext(context, 0);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), &pointer, 1, false);
    LLVMAppendBasicBlockInContext(context, LLVMAddFunction(module, CPU_KERNEL_NAME, type), "entry");
    TestDiags d = TEST_DIAGS(d);
    CpuTarget target;
    CpuJit j;
    CHECK(cpu_target(&target, NULL, &d.sink));
    CHECK(!cpu_jit(module, context, &target, &optimised, &j, &d.sink));
    CHECK_CONTAINS(d.text, "invalid LLVM IR");
    cpu_target_free(&target);
}

TEST(levels_are_checked)
{
    TestDiags d = TEST_DIAGS(d);
    CpuTarget t;
    CHECK(!cpu_target(&t, "pentium-9", &d.sink));
    CHECK_CONTAINS(d.text, "pentium-9");
    CHECK(t.features == NULL);
    CHECK(cpu_target(&t, "host", &d.sink));
    CHECK(t.vector_bits >= 128 && t.l2_bytes >= 64 << 10 && t.cpu[0] && t.triple[0]);
    cpu_target_free(&t);
    cpu_target_free(&t);
}

static void *compile_twice(void *argument)
{
    TestDiags d = TEST_DIAGS(d);
    CpuJit j;
    for (int i = 0; i < 3; i++) {
        bool ok = jit(twice, &optimised, &j, &d.sink);
        CHECK(ok);
        if (!ok)
            break;
        check_twice(&j);
        jit_free(&j);
    }
    return argument;
}

TEST(threads_compile_at_once)
{
    pthread_t threads[3];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        CHECK(pthread_create(&threads[i], NULL, compile_twice, NULL) == 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
}
