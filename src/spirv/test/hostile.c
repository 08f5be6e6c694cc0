/* SPDX-License-Identifier: MIT
 *
 * Broken modules: cut off at every word, with bits flipped, random, and by hand. Reading ends in a
 * module that can be used or in a diagnostic; nothing else happens (run this under the sanitizers).
 */
#include "spirv/test/support.h"

static SpvModule *kept;

static void count_id(void *user, uint32_t *id) { *(uint64_t *)user += *id; }

static bool visit(void *user, SpvInst *i)
{
    spv_each_id(i, count_id, user);
    spv_type_of(kept, i->id);
    return true;
}

/* What the stages above do with a module that was read: all of it must be safe. */
static void use(Arena *a, SpvModule *m, DiagSink *sink)
{
    uint64_t sum = 0, value;
    size_t size;
    SpvEntryPoint e;
    kept = m;
    spv_each_inst(m, visit, &sum);
    for (SpvId id = 0; id < MIN(m->bound, 5000); id++) {
        const SpvType *t = spv_type(m, id);
        spv_constant(m, id, &value);
        spv_has_decoration(m, id, -1, SpvDecorationBuiltIn);
        sum += t ? spv_type_size(t) : 0;
    }
    spv_entry_point(m, NULL, &e, sink);
    const char *text = spv_disassemble(a, m, true);
    SpvModule *again = spv_assemble(a, text, strlen(text), "again", sink);
    (void)again;
    spv_write(a, m, &size);
}

static bool read_and_use(Arena *a, const void *data, size_t size)
{
    DiagSink sink = { 0 };
    SpvModule *m = spv_read(a, data, size, "hostile", &sink);
    CHECK((m != NULL) == (sink.errors == 0));
    if (m)
        use(a, m, &sink);
    return m != NULL;
}

/* Returns whether it could be read. */
static bool try_read(const void *data, size_t size)
{
    static Arena a;
    jmp_buf out_of_memory;
    volatile bool ok = false;
    a = (Arena){ .limit = 256 << 20, .on_failure = &out_of_memory };
    if (!setjmp(out_of_memory))
        ok = read_and_use(&a, data, size);
    arena_free(&a);
    return ok;
}

typedef struct Corpus {
    Bytes modules[64];
    uint32_t n;
} Corpus;

static Corpus corpus;
static Arena corpus_arena;

static void keep(Arena *a, const char *name, Bytes text)
{
    DiagSink quiet = { 0 };
    SpvModule *m = spv_assemble(a, text.data, text.size, name, &quiet);
    REQUIRE(m && corpus.n < COUNT_OF(corpus.modules));
    Bytes b = { 0 };
    void *words = spv_write(a, m, &b.size);
    b.data = arena_copy(&corpus_arena, words, b.size);
    corpus.modules[corpus.n++] = b;
}

static void keep_kernel(Arena *a, const char *name, Bytes module)
{
    (void)a;
    (void)name;
    REQUIRE(corpus.n < COUNT_OF(corpus.modules));
    module.data = arena_copy(&corpus_arena, module.data, module.size);
    corpus.modules[corpus.n++] = module;
}

static void gather(void)
{
    if (corpus.n)
        return;
    each_text(keep);
    each_kernel(1, keep_kernel);
}

TEST(truncated_at_every_word)
{
    gather();
    for (uint32_t k = 0; k < MIN(corpus.n, 8); k++) {
        Bytes b = corpus.modules[k];
        for (size_t size = 0; size < b.size; size += 4) {
            /* Its own block, so that a read past the end is seen. */
            void *cut = malloc(size + 1);
            memcpy(cut, b.data, size);
            if (try_read(cut, size) && size < 20)
                test_fail(__FILE__, __LINE__, "%zu bytes were read", size);
            try_read(cut, size + (size > 20));
            free(cut);
        }
    }
}

TEST(flipped_bits)
{
    Rng rng = { 7 };
    uint32_t readable = 0;
    gather();
    for (uint32_t k = 0; k < 20000; k++) {
        Bytes b = corpus.modules[rng_u64(&rng) % corpus.n];
        uint8_t *copy = malloc(b.size);
        memcpy(copy, b.data, b.size);
        for (uint64_t flips = 1 + rng_u64(&rng) % 3; flips; flips--) {
            size_t at = rng_u64(&rng) % b.size;
            copy[at] ^= (uint8_t)(1 << rng_u64(&rng) % 8);
        }
        readable += try_read(copy, b.size);
        free(copy);
    }
    CHECK(readable > 100 && readable < 19900);
}

TEST(random_words)
{
    Rng rng = { 11 };
    for (uint32_t k = 0; k < 2000; k++) {
        uint32_t words[64] = { SpvMagicNumber, 0x10000 | (uint32_t)(k % 7) << 8, 0, 100, 0 };
        for (size_t w = 5; w < COUNT_OF(words); w++) {
            uint32_t n = 1 + (uint32_t)(rng_u64(&rng) % 5), op = (uint32_t)(rng_u64(&rng) % 400);
            words[w] = rng_u64(&rng) % 2 ? n << 16 | op : (uint32_t)(rng_u64(&rng) % 100);
        }
        try_read(words, sizeof words);
        words[0] = (uint32_t)rng_u64(&rng);
        CHECK(!try_read(words, sizeof words) || words[0] == SpvMagicNumber);
    }
}

/* ---- by hand --------------------------------------------------------------------------------- */

#define PREAMBLE "OpCapability Shader\nOpMemoryModel Logical GLSL450\n"
#define FUNCTION                                                                                   \
    "%1 = OpTypeVoid\n%2 = OpTypeFunction %1\n%3 = OpTypeInt 32 0\n%4 = OpConstant %3 1\n"         \
    "%5 = OpTypeBool\n%6 = OpConstantTrue %5\n%10 = OpFunction %1 None %2\n%11 = OpLabel\n"

static void refuses(const char *text, const char *why)
{
    Arena a = { 0 };
    TestDiags d = TEST_DIAGS(d);
    CHECK(assemble(&a, text, &d.sink) == NULL);
    if (!strstr(d.text, why))
        test_fail(__FILE__, __LINE__, "not \"%s\" but \"%s\" for\n%s", why, d.text, text);
    arena_free(&a);
}

TEST(says_what_is_wrong_with_declarations)
{
    refuses("OpCapability Shader\n", "no OpMemoryModel");
    refuses(PREAMBLE "OpMemoryModel Logical GLSL450\n", "second OpMemoryModel");
    refuses(PREAMBLE "OpCapability Kernel\n", "too late");
    refuses(PREAMBLE "%1 = OpTypeVector %2 4\n%2 = OpTypeFloat 32\n", "not declared before");
    refuses(PREAMBLE "%1 = OpTypeStruct %1\n", "not declared before");
    refuses(PREAMBLE "%1 = OpTypeVoid\n%1 = OpTypeBool\n", "defined twice");
    refuses(PREAMBLE "%1 = OpTypeFloat 32\n%2 = OpConstant %1 0\n%3 = OpTypeArray %1 %2\n",
            "length is not an integer constant");
    refuses(PREAMBLE "%1 = OpTypeInt 32 0\n%2 = OpConstant %1 0\n%3 = OpTypeArray %1 %2\n",
            "length is not an integer constant");
    refuses(PREAMBLE "%1 = OpTypeInt 64 0\n%2 = OpConstant %1 4294967296\n"
                     "%3 = OpTypeArray %1 %2\n",
            "length is not an integer constant");
    refuses(PREAMBLE "%1 = OpTypeInt 32 0\n%2 = OpConstant %1 4294967295\n"
                     "%3 = OpTypeArray %1 %2\n%4 = OpTypeArray %3 %2\n%5 = OpTypeArray %4 %2\n",
            "too large");
    refuses(PREAMBLE "%1 = OpTypeFloat 32\n%2 = OpTypeVector %1 5000\n", "a vector has");
    refuses(PREAMBLE "%1 = OpTypeInt 32 0\n%2 = OpTypeStruct %1\n%3 = OpConstant %2 1\n",
            "is no number");
    refuses(PREAMBLE "%1 = OpTypeInt 32 0\n%2 = OpConstantComposite %1 %1\n",
            "neither constant nor variable");
    refuses(PREAMBLE "%1 = OpTypeInt 32 0\n%2 = OpTypeArray %1 %1\n", "is not a constant");
    refuses(PREAMBLE "%1 = OpTypeInt 32 0\n%2 = OpTypePointer Uniform %9\n", "nothing defines");
    refuses(PREAMBLE "%1 = OpIAdd %1 %1 %1\n", "no type");
}

TEST(says_what_is_wrong_with_functions)
{
    refuses(PREAMBLE FUNCTION "OpReturn\n", "no OpFunctionEnd");
    refuses(PREAMBLE FUNCTION "OpFunctionEnd\n", "no terminator");
    refuses(PREAMBLE FUNCTION "OpBranch %11\nOpFunctionEnd\n", "first block");
    refuses(PREAMBLE FUNCTION "OpBranch %4\nOpFunctionEnd\n", "not a label");
    refuses(PREAMBLE FUNCTION "OpReturn\n%20 = OpIAdd %3 %4 %4\nOpFunctionEnd\n",
            "outside any block");
    refuses(PREAMBLE FUNCTION "%20 = OpTypeFloat 32\nOpReturn\nOpFunctionEnd\n",
            "cannot stand in a function");
    refuses(PREAMBLE FUNCTION "OpSelectionMerge %12 None\n%20 = OpIAdd %3 %4 %4\n"
                              "OpBranchConditional %6 %12 %12\n%12 = OpLabel\nOpReturn\n"
                              "OpFunctionEnd\n",
            "right before a branch");
    refuses(PREAMBLE FUNCTION "OpBranch %12\n%12 = OpLabel\n%20 = OpPhi %3 %4 %12\nOpReturn\n"
                              "OpFunctionEnd\n",
            "not a predecessor");
    refuses(PREAMBLE FUNCTION "OpBranch %12\n%12 = OpLabel\n%20 = OpPhi %3\nOpReturn\n"
                              "OpFunctionEnd\n",
            "0 values for 1 predecessors");
    refuses(PREAMBLE FUNCTION "%20 = OpFunctionCall %1 %4\nOpReturn\nOpFunctionEnd\n",
            "not a function");
    refuses(PREAMBLE FUNCTION "%20 = OpFunctionCall %1 %10 %4\nOpReturn\nOpFunctionEnd\n",
            "1 arguments for the 0 parameters");
    refuses(PREAMBLE FUNCTION "%20 = OpIAdd %3 %4 %4\nOpReturn\nOpFunctionEnd\n"
                              "%30 = OpFunction %1 None %2\n%31 = OpLabel\n"
                              "%32 = OpIAdd %3 %20 %4\nOpReturn\nOpFunctionEnd\n",
            "another function");
    refuses(PREAMBLE FUNCTION "%20 = OpLoad %3\nOpReturn\nOpFunctionEnd\n", "lacks its operand");
}

TEST(says_where_values_are_missing)
{
    const char *why = "used where it need not be defined";
    refuses(PREAMBLE FUNCTION "%20 = OpIAdd %3 %21 %4\n%21 = OpIAdd %3 %4 %4\nOpReturn\n"
                              "OpFunctionEnd\n",
            why);
    refuses(PREAMBLE FUNCTION "OpSelectionMerge %13 None\nOpBranchConditional %6 %12 %13\n"
                              "%12 = OpLabel\n%20 = OpIAdd %3 %4 %4\nOpBranch %13\n"
                              "%13 = OpLabel\n%21 = OpIAdd %3 %20 %4\nOpReturn\nOpFunctionEnd\n",
            why);
    refuses(PREAMBLE FUNCTION "OpSelectionMerge %13 None\nOpBranchConditional %6 %12 %13\n"
                              "%12 = OpLabel\n%20 = OpIAdd %3 %4 %4\nOpBranch %13\n"
                              "%13 = OpLabel\n%21 = OpPhi %3 %4 %12 %20 %11\nOpReturn\n"
                              "OpFunctionEnd\n",
            why);
    refuses(PREAMBLE FUNCTION "OpBranch %12\n%13 = OpLabel\n%20 = OpIAdd %3 %4 %4\n"
                              "OpBranch %12\n%12 = OpLabel\n%22 = OpPhi %3 %4 %11 %20 %13\n"
                              "%21 = OpIAdd %3 %20 %4\nOpReturn\nOpFunctionEnd\n",
            why);
    refuses(PREAMBLE FUNCTION "%20 = OpIAdd %3 %11 %4\nOpReturn\nOpFunctionEnd\n",
            "is a label, not a value");
}

TEST(blocks_come_behind_their_dominators)
{
    refuses(PREAMBLE FUNCTION "OpBranch %12\n%13 = OpLabel\nOpReturn\n"
                              "%12 = OpLabel\nOpBranch %13\nOpFunctionEnd\n",
            "comes before its dominator");
}

TEST(values_over_back_edges_and_in_dead_code)
{
    Arena a = { 0 };
    TestDiags d = TEST_DIAGS(d);
    const char *text =
        PREAMBLE FUNCTION "OpBranch %12\n%12 = OpLabel\n%20 = OpPhi %3 %4 %11 %21 %13\n"
                          "OpLoopMerge %14 %13 None\nOpBranchConditional %6 %13 %14\n"
                          "%13 = OpLabel\n%21 = OpIAdd %3 %20 %4\nOpBranch %12\n"
                          "%14 = OpLabel\n%22 = OpIAdd %3 %20 %4\nOpReturn\n"
                          "%15 = OpLabel\n%23 = OpIAdd %3 %21 %22\nOpReturn\nOpFunctionEnd\n";
    CHECK(assemble(&a, text, &d.sink) != NULL);
    CHECK_STR(d.text, "");
    arena_free(&a);
}

TEST(says_what_is_wrong_with_text)
{
    refuses("OpCapability Shaders\n", "test.spvasm:1:14: error: 'Shaders' is no Capability");
    refuses("\n  OpNope\n", "test.spvasm:2:3: error: 'OpNope' is no instruction");
    refuses("%1 = OpCapability Shader\n", "has no result");
    refuses("OpTypeVoid\n", "has a result");
    refuses("OpName %1 \"open\n", "not closed");
    refuses("%1 OpTypeVoid\n", "'=' is wanted");
    refuses("%a-b = OpTypeVoid\n", "is no id");
    refuses("%1 = OpTypeInt 8 0\n%2 = OpConstant %1 256\n", "not a whole number of 8 bits");
    refuses("%1 = OpTypeInt 8 1\n%2 = OpConstant %1 -129\n", "not a signed number of 8 bits");
    refuses("%1 = OpTypeVoid %1\n", "more operands");
    refuses(PREAMBLE "%1 = OpTypeVoid\n\n%2 = OpTypePointer Uniform %3\n", "test.spvasm:5: error");
}

/* Types whose size or nesting would keep a recursion busy for ever, or run out of stack. */
TEST(deep_and_wide_types)
{
    Arena a = { 0 };
    TestDiags d = TEST_DIAGS(d);
    Str s = { 0 };
    str_add(&a, &s, PREAMBLE "%1 = OpTypeInt 32 0\n");
    for (uint32_t k = 2; k < 250; k++)
        str_printf(&a, &s, "%%%u = OpTypeStruct %%%u %%%u\n", k, k - 1, k - 1);
    SpvModule *m = spv_assemble(&a, s.data, s.len, "wide", &d.sink);
    CHECK(m == NULL);
    CHECK_CONTAINS(d.text, "too large");

    s.len = 0;
    d.len = 0;
    str_add(&a, &s, PREAMBLE "%1 = OpTypeInt 32 0\n");
    for (uint32_t k = 2; k < 2000; k++)
        str_printf(&a, &s, "%%%u = OpTypeStruct %%%u\n", k, k - 1);
    CHECK(spv_assemble(&a, s.data, s.len, "deep", &d.sink) == NULL);
    CHECK_CONTAINS(d.text, "nested more than 255 deep");

    /* A chain of pointers announced ahead is as long as the module. */
    s.len = 0;
    str_add(&a, &s, "OpCapability PhysicalStorageBufferAddresses\n" PREAMBLE);
    for (uint32_t k = 0; k < 20000; k++)
        str_printf(&a, &s, "OpTypeForwardPointer %%p%u PhysicalStorageBuffer\n", k);
    for (uint32_t k = 0; k + 1 < 20000; k++)
        str_printf(&a, &s, "%%s%u = OpTypeStruct %%p%u\n", k, k + 1);
    str_add(&a, &s, "%s19999 = OpTypeStruct %p0\n");
    for (uint32_t k = 0; k < 20000; k++)
        str_printf(&a, &s, "%%p%u = OpTypePointer PhysicalStorageBuffer %%s%u\n", k, k);
    DiagSink quiet = { 0 };
    m = spv_assemble(&a, s.data, s.len, "chain", &quiet);
    REQUIRE(m != NULL);
    spv_forget_types(m);
    const SpvType *t = spv_type(m, m->globals.last->id);
    CHECK(t && t->element && t->element->members[0]->element);
    arena_free(&a);
}

/* 2^40 additions by sharing: must end soon, in whatever way. */
TEST(shared_expressions_end)
{
    Arena a = { 0 };
    DiagSink quiet = { 0 };
    Str s = { 0 };
    uint64_t value;
    str_add(&a, &s, PREAMBLE "%1 = OpTypeInt 32 0\n%2 = OpSpecConstant %1 1\n");
    for (uint32_t k = 3; k < 43; k++)
        str_printf(&a, &s, "%%%u = OpSpecConstantOp %%1 IAdd %%%u %%%u\n", k, k - 1, k - 1);
    SpvModule *m = spv_assemble(&a, s.data, s.len, "shared", &quiet);
    REQUIRE(m != NULL);
    CHECK(spv_constant(m, 10, &value) && value == 256);
    CHECK(!spv_constant(m, 42, &value));
    arena_free(&a);
}

TEST(huge_bound)
{
    uint32_t words[5] = { SpvMagicNumber, 0x10600, 0, UINT32_MAX, 0 };
    CHECK(!try_read(words, sizeof words));
    words[3] = 0;
    CHECK(!try_read(words, sizeof words));
}
