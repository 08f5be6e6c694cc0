/* SPDX-License-Identifier: MIT
 *
 * read -> write gives back the bytes, in either byte order; dis -> asm the module; and our notation
 * is that of spirv-as and spirv-dis, checked against them over glslang's modules and over texts.
 */
#include "spirv/test/support.h"

static bool writes_as(Arena *a, const SpvModule *m, Bytes want)
{
    size_t size = 0;
    const void *data = m ? spv_write(a, m, &size) : NULL;
    return m && same(want, data, size);
}

static bool is_same_as_text(Arena *a, const char *text, Bytes module, const char *name,
                            DiagSink *sink)
{
    return writes_as(a, spv_assemble(a, text, strlen(text), name, sink), module);
}

static void reads_and_writes(Arena *a, const char *name, Bytes module)
{
    TestDiags d = TEST_DIAGS(d);
    SpvModule *m = spv_read(a, module.data, module.size, name, &d.sink);
    CHECK_STR(d.text, "");
    REQUIRE(m != NULL);
    CHECK(writes_as(a, m, module));
    CHECK(writes_as(a, spv_clone(a, m), module));
    if (!is_same_as_text(a, spv_disassemble(a, m, false), module, name, &d.sink))
        test_fail(__FILE__, __LINE__, "%s: text gives another module\n%s", name, d.text);
    CHECK(spv_disassemble(a, m, true) != NULL);

    Bytes swapped = { arena_copy(a, module.data, module.size), module.size };
    swap_words(swapped);
    m = spv_read(a, swapped.data, swapped.size, name, &d.sink);
    REQUIRE(m && m->swapped);
    CHECK(writes_as(a, m, swapped));
    CHECK(is_same_as_text(a, spv_disassemble(a, m, false), swapped, name, &d.sink));
}

TEST(kernels_round_trip) { each_kernel(3, reads_and_writes); }

/* ---- against the SPIR-V tools ---------------------------------------------------------------- */

/* From the first instruction on; where a line begins with ';' it is a comment. */
static const char *instructions(const char *text)
{
    while (*text == ';')
        text = strchr(text, '\n') + 1;
    return text;
}

/* Everything behind the header, whose generator and bound are the tools' own. */
static bool same_body(Bytes a, Bytes b)
{
    return a.size == b.size && a.size > 20 &&
           !memcmp((char *)a.data + 20, (char *)b.data + 20, a.size - 20);
}

static const char *version(const char *text)
{
    static char v[4];
    const char *at = strstr(text, "; Version: ");
    snprintf(v, sizeof v, "%.3s", at ? at + 11 : "1.6");
    return v;
}

static void agrees_with_tools(Arena *a, const char *name, Bytes module)
{
    DiagSink quiet = { 0 };
    const char *spv = temp_path(a, ".a.spv"), *text = temp_path(a, ".spvasm"),
               *back = temp_path(a, ".b.spv");
    SpvModule *m = spv_read(a, module.data, module.size, name, &quiet);
    REQUIRE(m != NULL);
    for (int names = 0; names < 2; names++) {
        char *ours = spv_disassemble(a, m, names);
        CHECK(write_file(spv, module.data, module.size));
        CHECK(write_file(text, ours, strlen(ours)));
        if (!run_tool("spirv-as --preserve-numeric-ids --target-env spv%s -o %s %s", version(ours),
                      back, text))
            test_fail(__FILE__, __LINE__, "%s: spirv-as refuses our text", name);
        Bytes theirs = read_file(a, back);
        CHECK(names || same_body(module, theirs));
        CHECK(run_tool("spirv-dis %s -o %s %s", names ? "" : "--raw-id", text, spv));
        Bytes tools_text = read_file(a, text);
        CHECK(names || !strcmp(instructions(ours), instructions(tools_text.data)));
        SpvModule *again = spv_assemble(a, tools_text.data, tools_text.size, name, &quiet);
        REQUIRE(again != NULL);
        Bytes written = { 0 };
        written.data = spv_write(a, again, &written.size);
        CHECK(same_body(theirs, written));
    }
    unlink(spv);
    unlink(text);
    unlink(back);
}

TEST(kernels_agree_with_the_tools)
{
    if (have_tool("spirv-as") && have_tool("spirv-dis"))
        each_kernel(1, agrees_with_tools);
}

static void text_round_trips(Arena *a, const char *name, Bytes text)
{
    TestDiags d = TEST_DIAGS(d);
    SpvModule *m = spv_assemble(a, text.data, text.size, name, &d.sink);
    CHECK_STR(d.text, "");
    REQUIRE(m != NULL);
    Bytes module = { 0 };
    module.data = spv_write(a, m, &module.size);
    reads_and_writes(a, name, module);
    if (!have_tool("spirv-as"))
        return;
    const char *spv = temp_path(a, ".spv");
    CHECK(run_tool("spirv-as --preserve-numeric-ids --target-env spv%s -o %s %s",
                   version(text.data), spv, name));
    CHECK(same_body(module, read_file(a, spv)));
    CHECK(write_file(spv, module.data, module.size));
    if (!run_tool("spirv-val --target-env spv%s %s", version(text.data), spv))
        test_fail(__FILE__, __LINE__, "%s: spirv-val refuses what was assembled", name);
    unlink(spv);
    agrees_with_tools(a, name, module);
}

TEST(texts_round_trip) { each_text(text_round_trips); }

/* ---- what the tools cannot say --------------------------------------------------------------- */

static const char odd_words[] = "; SPIR-V\n; Version: 1.3\n; Generator: 0x00ab0007\n; Bound: 77\n"
                                "; Schema: 0\n; Byte order: swapped\n"
                                "OpCapability Shader\nOpMemoryModel Logical GLSL450\n"
                                "%3 = OpTypeInt 16 1\n%4 = OpTypeInt 8 0\n"
                                "%5 = OpConstant %3 !0x0000ffff\n%6 = OpConstant %4 !0xffffff01\n";

TEST(header_and_loose_literals_survive)
{
    Arena a = { 0 };
    TestDiags d = TEST_DIAGS(d);
    SpvModule *m = assemble(&a, odd_words, &d.sink);
    CHECK_STR(d.text, "");
    REQUIRE(m != NULL);
    CHECK_EQ_U64(m->version, 0x10300);
    CHECK_EQ_U64(m->generator, 0x00ab0007);
    CHECK_EQ_U64(m->bound, 77);
    Bytes b = { 0 };
    b.data = spv_write(&a, m, &b.size);
    CHECK_EQ_U64(*(uint32_t *)b.data, 0x03022307);
    CHECK(is_same_as_text(&a, spv_disassemble(&a, m, false), b, "text", &d.sink));
    CHECK_CONTAINS(spv_disassemble(&a, m, false), "OpConstant %3 !0x0000ffff");
    arena_free(&a);
}

TEST(names_are_readable)
{
    Arena a = { 0 };
    DiagSink quiet = { 0 };
    SpvModule *m = assemble(&a,
                            "OpCapability Shader\nOpMemoryModel Logical GLSL450\n"
                            "OpName %9 \"a b\"\nOpName %8 \"a.b\"\nOpName %7 \"1st\"\n"
                            "%1 = OpTypeInt 32 0\n%2 = OpTypeFloat 32\n%3 = OpTypeVector %2 4\n"
                            "%4 = OpTypePointer Uniform %3\n%5 = OpConstant %1 7\n"
                            "%6 = OpConstant %2 -1.5\n%7 = OpTypeVoid\n%8 = OpTypeBool\n"
                            "%9 = OpTypeStruct %1\n%10 = OpTypeArray %3 %5\n",
                            &quiet);
    REQUIRE(m != NULL);
    const char *t = spv_disassemble(&a, m, true);
    CHECK_CONTAINS(t, "%_ptr_Uniform_v4float = OpTypePointer Uniform %v4float");
    CHECK_CONTAINS(t, "%uint_7 = OpConstant %uint 7");
    CHECK_CONTAINS(t, "%float_n1_5 = OpConstant %float -1.5");
    CHECK_CONTAINS(t, "%_arr_v4float_uint_7 = OpTypeArray %v4float %uint_7");
    CHECK_CONTAINS(t, "OpName %a_b \"a b\"");
    CHECK_CONTAINS(t, "OpName %a_b_0 \"a.b\"");
    CHECK_CONTAINS(t, "OpName %_1st \"1st\"");
    arena_free(&a);
}
