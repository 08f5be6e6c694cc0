/* SPDX-License-Identifier: MIT
 *
 * A module and its own text get the same verdict, in the same words: every assembly text of the
 * tests, and shaders that have what is mended in the modules of LLVM's target only.
 */
#include "base/test.h"
#include "spirv/spirv.h"

#include <glob.h>
#include <heddle/heddle.h>
#include <stdlib.h>

typedef struct Verdict {
    HeddleResult result;
    size_t length;
    char said[16384];
} Verdict;

/* The names of ids are the text's alone. */
static void note(void *user, const HeddleDiagnostic *d)
{
    Verdict *v = user;
    const char *rule = d->rule ? d->rule : "";
    int n = snprintf(v->said + v->length, sizeof v->said - v->length, "%d %u %.*s [%s]\n",
                     d->severity, d->instruction, (int)strcspn(d->message, "%"), d->message, rule);
    v->length = MIN(v->length + (size_t)n, sizeof v->said - 1);
}

static void judge(Verdict *v, const void *data, size_t size, HeddleLanguage language)
{
    HeddleLog *log = heddle_log_new(note, v);
    HeddleModule *m = NULL;
    HeddleModuleOptions o = { .language = language };
    v->length = 0;
    v->said[0] = 0;
    v->result = heddle_module_new(data, size, "m", &o, &m, log);
    heddle_module_free(m);
    heddle_log_free(log);
}

/* True where both refuse it. */
static bool refused(const char *name, const char *text, size_t size)
{
    static Verdict of_text, of_words;
    Arena a = { 0 };
    DiagSink quiet = { 0 };
    size_t n;
    SpvModule *m = spv_assemble(&a, text, size, "m", &quiet);
    judge(&of_text, text, size, HEDDLE_LANGUAGE_SPIRV_ASM);
    if (m) {
        const void *words = spv_write(&a, m, &n);
        judge(&of_words, words, n, HEDDLE_LANGUAGE_SPIRV);
        if (of_text.result != of_words.result || strcmp(of_text.said, of_words.said))
            test_fail(__FILE__, __LINE__, "%s: the text: %d\n%sthe words: %d\n%s", name,
                      of_text.result, of_text.said, of_words.result, of_words.said);
    }
    arena_free(&a);
    return of_text.result != HEDDLE_OK;
}

TEST(texts_of_the_tests)
{
    glob_t files;
    REQUIRE(!glob(HEDDLE_SOURCE_DIR "/tests/*/*.spvasm", 0, NULL, &files));
    CHECK(files.gl_pathc > 15);
    for (size_t k = 0; k < files.gl_pathc; k++) {
        static char text[1 << 20];
        FILE *f = fopen(files.gl_pathv[k], "rb");
        REQUIRE(f);
        size_t size = fread(text, 1, sizeof text, f);
        fclose(f);
        refused(files.gl_pathv[k], text, size);
    }
    globfree(&files);
}

#define SHADER                                                                                     \
    "OpCapability Shader\nOpCapability Int64\nOpCapability VariablePointersStorageBuffer\n"        \
    "OpExtension \"SPV_KHR_variable_pointers\"\n"                                                  \
    "OpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main \"main\"\n"                       \
    "OpExecutionMode %main LocalSize 1 1 1\n%void = OpTypeVoid\n%fn = OpTypeFunction %void\n"      \
    "%u32 = OpTypeInt 32 0\n%u64 = OpTypeInt 64 0\n%bool = OpTypeBool\n"                           \
    "%c = OpConstant %u32 1\n%l = OpConstant %u64 1\n%p = OpTypePointer StorageBuffer %u32\n"      \
    "%q = OpTypePointer StorageBuffer %u64\n%np = OpConstantNull %p\n%nq = OpConstantNull %q\n"    \
    "%main = OpFunction %void None %fn\n%entry = OpLabel\n"
#define END "OpReturn\nOpFunctionEnd\n"

TEST(shaders_are_not_mended)
{
    static const char *const texts[] = {
        SHADER "%x = OpBitwiseAnd %u64 %c %l\n" END,
        SHADER "%x = OpAny %bool %c\n" END,
        SHADER "%x = OpPtrEqual %bool %np %nq\n" END,
    };
    for (uint32_t k = 0; k < COUNT_OF(texts); k++)
        CHECK(refused("a shader", texts[k], strlen(texts[k])));
}

#define KERNEL                                                                                     \
    "OpCapability Kernel\nOpCapability Addresses\nOpCapability Int64\n"                            \
    "OpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %main \"main\"\n"                        \
    "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%u32 = OpTypeInt 32 0\n"                      \
    "%u64 = OpTypeInt 64 0\n%bool = OpTypeBool\n%c = OpConstant %u32 1\n"                          \
    "%l = OpConstant %u64 1\n%main = OpFunction %void None %fn\n%entry = OpLabel\n"

TEST(kernels_are_mended)
{
    static const char *const texts[] = {
        KERNEL "%x = OpBitwiseAnd %u64 %c %l\n" END,
        KERNEL "%x = OpAny %bool %c\n" END,
    };
    for (uint32_t k = 0; k < COUNT_OF(texts); k++)
        CHECK(!refused("a kernel", texts[k], strlen(texts[k])));
}
