/* SPDX-License-Identifier: MIT
 *
 * Types, layouts, constants, decorations through groups, entry points and source positions.
 */
#include "spirv/test/support.h"

#define PREAMBLE "OpCapability Shader\nOpMemoryModel Logical GLSL450\n"

static SpvModule *load(Arena *a, const char *text)
{
    TestDiags d = TEST_DIAGS(d);
    SpvModule *m = assemble(a, text, &d.sink);
    CHECK_STR(d.text, "");
    return m;
}

/* The id that OpName gives the name to. */
static SpvId id_of(const SpvModule *m, const char *name)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpName && !strcmp(spv_string(i, 1, NULL), name))
            return spv_operand(i, 0);
    test_fail(__FILE__, __LINE__, "no %s", name);
    return 0;
}

TEST(scalars_and_composites)
{
    Arena a = { 0 };
    SpvModule *m = load(&a, PREAMBLE "%1 = OpTypeInt 16 1\n%2 = OpTypeFloat 16 BFloat16KHR\n"
                                     "%3 = OpTypeFloat 64\n%4 = OpTypeVector %3 3\n"
                                     "%5 = OpTypeMatrix %4 2\n%6 = OpTypeInt 32 0\n"
                                     "%7 = OpConstant %6 5\n%8 = OpTypeArray %5 %7\n"
                                     "%9 = OpTypeStruct %1 %4 %8\n%10 = OpTypeVoid\n"
                                     "%11 = OpTypeFunction %10 %6 %9\n%12 = OpTypeBool\n"
                                     "%13 = OpTypeRuntimeArray %6\n");
    REQUIRE(m != NULL);
    const SpvType *t = spv_type(m, 1);
    CHECK(t->kind == SPV_INT && t->bits == 16 && t->is_signed && t->size == 2);
    CHECK(spv_type(m, 2)->format == SPV_BF16);
    t = spv_type(m, 5);
    CHECK(t->kind == SPV_MATRIX && t->count == 2 && t->element->count == 3);
    CHECK_EQ_U64(spv_type_size(t), 48);
    CHECK_EQ_U64(spv_type_size(spv_type(m, 8)), 240);
    t = spv_type(m, 9);
    CHECK_EQ_U64(t->count, 3);
    CHECK_EQ_U64(spv_type_size(t), 8 + 24 + 240);
    CHECK_EQ_U64(t->align, 8);
    CHECK_EQ_U64(t->leaves, 1 + 3 + 30);
    CHECK_EQ_U64(t->offsets[1], UINT32_MAX);
    t = spv_type(m, 11);
    CHECK(t->kind == SPV_FUNCTION && t->count == 2 && t->result->kind == SPV_VOID);
    CHECK(t->members[1] == spv_type(m, 9));
    CHECK(spv_type(m, 7) == NULL && spv_type(m, 0) == NULL && spv_type(m, 4000000) == NULL);
    CHECK(spv_type_of(m, 7) == spv_type(m, 6) && spv_type_of(m, 1) == NULL);
    CHECK(spv_type(m, 13)->kind == SPV_RUNTIME_ARRAY && spv_type(m, 13)->size == 0);
    arena_free(&a);
}

TEST(explicit_layout_and_groups)
{
    Arena a = { 0 };
    SpvModule *m = load(&a, PREAMBLE "OpDecorate %8 ArrayStride 32\n"
                                     "OpMemberDecorate %9 0 Offset 0\n"
                                     "OpMemberDecorate %9 1 Offset 64\n"
                                     "OpMemberDecorate %9 1 MatrixStride 16\n"
                                     "OpDecorate %20 RowMajor\n%20 = OpDecorationGroup\n"
                                     "OpDecorate %21 Block\n%21 = OpDecorationGroup\n"
                                     "OpGroupMemberDecorate %20 %9 1\nOpGroupDecorate %21 %9\n"
                                     "%3 = OpTypeFloat 32\n%4 = OpTypeVector %3 3\n"
                                     "%5 = OpTypeMatrix %4 2\n%6 = OpTypeInt 32 0\n"
                                     "%7 = OpConstant %6 2\n%8 = OpTypeArray %3 %7\n"
                                     "%9 = OpTypeStruct %8 %5\n");
    REQUIRE(m != NULL);
    const SpvType *t = spv_type(m, 9);
    CHECK_EQ_U64(t->members[0]->array_stride, 32);
    CHECK_EQ_U64(t->offsets[1], 64);
    CHECK_EQ_U64(t->matrix_strides[1], 16);
    CHECK(t->row_major[1] && !t->row_major[0]);
    CHECK_EQ_U64(t->size, 64 + 2 * 16 + 2 * 4);
    uint32_t n;
    const uint32_t *offset = spv_decoration(m, 9, 1, SpvDecorationOffset, &n);
    CHECK(offset && n == 1 && *offset == 64);
    CHECK(spv_has_decoration(m, 9, -1, SpvDecorationBlock));
    CHECK(spv_has_decoration(m, 9, 1, SpvDecorationRowMajor));
    CHECK(!spv_has_decoration(m, 9, -1, SpvDecorationRowMajor));
    CHECK(!spv_has_decoration(m, 9, 0, SpvDecorationRowMajor));
    arena_free(&a);
}

TEST(matrices_of_specialised_size)
{
    Arena a = { 0 };
    SpvModule *m = load(&a, "OpCapability Shader\nOpMemoryModel Logical GLSL450\n"
                            "%1 = OpTypeInt 32 0\n%2 = OpConstant %1 3\n%3 = OpConstant %1 16\n"
                            "%4 = OpSpecConstant %1 32\n%5 = OpConstant %1 1\n"
                            "%6 = OpSpecConstantOp %1 IAdd %4 %3\n%7 = OpTypeFloat 16\n"
                            "%8 = OpTypeCooperativeMatrixKHR %7 %2 %3 %3 %5\n"
                            "%9 = OpTypeCooperativeMatrixKHR %7 %2 %4 %6 %5\n"
                            "%10 = OpTypeArray %7 %6\n%11 = OpTypeTensorLayoutNV %3 %5\n");
    REQUIRE(m != NULL);
    const SpvType *t = spv_type(m, 8);
    CHECK(t->kind == SPV_COOPMAT && t->count_known && t->rows == 16 && t->cols == 16);
    CHECK(t->scope == 3 && t->use == 1 && t->element->bits == 16 && t->size == 0);
    t = spv_type(m, 9);
    CHECK(!t->count_known && t->rows == 32 && t->cols == 48);
    t = spv_type(m, 10);
    CHECK(!t->count_known && t->count == 48);
    CHECK(spv_type(m, 11)->kind == SPV_TENSOR_LAYOUT);
    CHECK(spv_is_spec_constant(m, 6) && !spv_is_spec_constant(m, 3) && spv_is_constant(m, 3));
    arena_free(&a);
}

TEST(cyclic_pointers)
{
    Arena a = { 0 };
    SpvModule *m = load(&a, "OpCapability PhysicalStorageBufferAddresses\n" PREAMBLE
                            "OpTypeForwardPointer %2 PhysicalStorageBuffer\n"
                            "%1 = OpTypeStruct %2\n%2 = OpTypePointer PhysicalStorageBuffer %1\n");
    REQUIRE(m != NULL);
    const SpvType *s = spv_type(m, 1), *p = spv_type(m, 2);
    CHECK(s->members[0] == p && p->element == s);
    CHECK_EQ_U64(s->size, 8);
    spv_forget_types(m);
    p = spv_type(m, 2);
    CHECK(p->element->members[0] == p);
    arena_free(&a);
}

static const char *const expressions =
    PREAMBLE "%1 = OpTypeInt 32 1\n%2 = OpTypeInt 32 0\n%3 = OpTypeInt 8 1\n%4 = OpTypeInt 64 0\n"
             "%5 = OpTypeBool\n%6 = OpTypeVector %1 2\n"
             "%10 = OpSpecConstant %1 -7\n%11 = OpConstant %1 2\n%12 = OpConstant %3 -1\n"
             "%13 = OpSpecConstantTrue %5\n%14 = OpConstant %4 0x123456789abcdef0\n"
             "%15 = OpConstant %1 0\n%16 = OpConstant %2 31\n"
             "%20 = OpSpecConstantOp %1 SDiv %10 %11\n%21 = OpSpecConstantOp %1 SRem %10 %11\n"
             "%22 = OpSpecConstantOp %1 SMod %10 %11\n%23 = OpSpecConstantOp %2 UDiv %10 %11\n"
             "%24 = OpSpecConstantOp %1 SConvert %12\n%25 = OpSpecConstantOp %2 UConvert %14\n"
             "%26 = OpSpecConstantOp %5 SLessThan %10 %11\n"
             "%27 = OpSpecConstantOp %5 ULessThan %10 %11\n"
             "%28 = OpSpecConstantOp %1 Select %13 %10 %11\n"
             "%29 = OpSpecConstantOp %1 SDiv %10 %15\n"
             "%30 = OpSpecConstantOp %1 ShiftRightArithmetic %10 %11\n"
             "%31 = OpSpecConstantOp %1 ShiftRightLogical %10 %11\n"
             "%32 = OpSpecConstantOp %1 Not %10\n%33 = OpSpecConstantComposite %6 %10 %20\n"
             "%34 = OpSpecConstantOp %1 CompositeExtract %33 1\n"
             "%35 = OpConstantNull %1\n%36 = OpUndef %1\n%37 = OpSpecConstantOp %3 SNegate %12\n"
             "%38 = OpSpecConstantOp %1 ShiftLeftLogical %11 %16\n";

TEST(constant_expressions)
{
    Arena a = { 0 };
    SpvModule *m = load(&a, expressions);
    REQUIRE(m != NULL);
    static const struct {
        SpvId id;
        int64_t value;
    } known[] = { { 10, -7 }, { 20, -3 }, { 21, -1 }, { 22, 1 },  { 23, 2147483644 }, { 24, -1 },
                  { 26, 1 },  { 27, 0 },  { 28, -7 }, { 30, -2 }, { 31, 0x3ffffffe }, { 32, 6 },
                  { 34, -3 }, { 35, 0 },  { 37, 1 },  { 38, 0 } };
    for (size_t k = 0; k < COUNT_OF(known); k++) {
        uint64_t value = 99;
        CHECK(spv_constant(m, known[k].id, &value));
        if ((int64_t)value != known[k].value)
            test_fail(__FILE__, __LINE__, "%%%u is %lld", known[k].id, (long long)value);
    }
    uint64_t value;
    CHECK(spv_constant(m, 25, &value) && value == 0x9abcdef0);
    CHECK(!spv_constant(m, 29, &value)); /* by zero */
    CHECK(!spv_constant(m, 36, &value) && !spv_constant(m, 33, &value));
    CHECK(!spv_constant(m, 1, &value) && !spv_constant(m, 999, &value));
    arena_free(&a);
}

#define BODY                                                                                       \
    "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%main = OpFunction %void None %fn\n"          \
    "%l = OpLabel\nOpReturn\nOpFunctionEnd\n"

TEST(entry_points)
{
    Arena a = { 0 };
    TestDiags d = TEST_DIAGS(d);
    SpvEntryPoint e;
    SpvModule *m = load(&a, PREAMBLE "OpEntryPoint GLCompute %main \"one\"\n"
                                     "OpEntryPoint GLCompute %main \"two\"\n"
                                     "OpExecutionMode %main LocalSize 8 4 2\n" BODY);
    REQUIRE(m != NULL);
    CHECK(spv_entry_point(m, "two", &e, &d.sink));
    CHECK(e.local_size[0] == 8 && e.local_size[1] == 4 && e.local_size[2] == 2);
    CHECK(e.function == m->functions && e.required_subgroup_size == 0);
    CHECK(!spv_entry_point(m, NULL, &e, &d.sink));
    CHECK_CONTAINS(d.text, "'one', 'two'");
    CHECK(!spv_entry_point(m, "three", &e, &d.sink));
    CHECK_CONTAINS(d.text, "called 'three'; there are: 'one', 'two'");

    m = load(&a, PREAMBLE "OpEntryPoint GLCompute %main \"main\"\n"
                          "OpExecutionMode %main LocalSize 1 1 1\n"
                          "OpDecorate %size BuiltIn WorkgroupSize\n"
                          "%uint = OpTypeInt 32 0\n%v = OpTypeVector %uint 3\n"
                          "%x = OpSpecConstant %uint 64\n%y = OpConstant %uint 2\n"
                          "%size = OpSpecConstantComposite %v %x %y %y\n" BODY);
    REQUIRE(m != NULL);
    CHECK(spv_entry_point(m, NULL, &e, &d.sink));
    CHECK(e.local_size[0] == 64 && e.local_size[1] == 2 && e.local_size[2] == 2);
    arena_free(&a);
}

TEST(opencl_kernels_have_sizes_too)
{
    Arena a = { 0 };
    DiagSink quiet = { 0 };
    SpvEntryPoint e;
    SpvModule *m = load(&a, "OpCapability Kernel\nOpMemoryModel Physical64 OpenCL\n"
                            "OpEntryPoint Kernel %main \"k\"\n"
                            "OpExecutionModeId %main LocalSizeId %x %y %y\n"
                            "OpExecutionMode %main SubgroupSize 16\nOpName %x \"x\"\n"
                            "%uint = OpTypeInt 32 0\n%x = OpSpecConstant %uint 64\n"
                            "%y = OpConstant %uint 1\n" BODY);
    REQUIRE(m != NULL);
    CHECK(spv_entry_point(m, "k", &e, &quiet));
    CHECK(e.local_size[0] == 64 && e.local_size[1] == 1);
    CHECK_EQ_U64(e.required_subgroup_size, 16);
    CHECK(spv_is_spec_constant(m, id_of(m, "x")));
    arena_free(&a);
}

TEST(lines_reach_instructions)
{
    Arena a = { 0 };
    TestDiags d = TEST_DIAGS(d);
    SpvModule *text = load(&a, PREAMBLE "%file = OpString \"k.comp\"\n%void = OpTypeVoid\n"
                                        "%fn = OpTypeFunction %void\nOpLine %file 2 1\n"
                                        "%main = OpFunction %void None %fn\n%l = OpLabel\n"
                                        "OpLine %file 12 3\n%u = OpUndef %fn\nOpNoLine\n"
                                        "%w = OpUndef %fn\nOpReturn\nOpFunctionEnd\n");
    REQUIRE(text != NULL);
    size_t size;
    const void *words = spv_write(&a, text, &size);
    SpvModule *m = spv_read(&a, words, size, "k.spv", &d.sink);
    REQUIRE(m != NULL);
    CHECK(m->functions->def->line == 2 && m->functions->before.first != NULL);
    SpvInst *u = NULL;
    for (SpvInst *i = m->functions->first->insts.first; i; i = i->next)
        if (i->op == SpvOpUndef && !u)
            u = i;
    REQUIRE(u != NULL);
    spv_error(m, u, &d.sink, "the rule", "oh %d", 1);
    spv_error(m, u->next->next, &d.sink, NULL, "no line");
    CHECK_CONTAINS(d.text, "k.comp:12:3: error: oh 1");
    CHECK_CONTAINS(d.text, "k.spv: error: no line");
    CHECK_CONTAINS(d.text, "OpUndef");
    arena_free(&a);
}

static uint32_t positions;

static bool note_position(void *user, SpvInst *i)
{
    SpvModule *m = user;
    DiagLoc loc = spv_loc(m->arena, m, i);
    if (i->op == SpvOpCooperativeMatrixMulAddKHR && loc.line == 27) {
        CHECK_CONTAINS(loc.file, "coopmat_khr.comp");
        positions++;
    }
    return true;
}

static void debug_info(Arena *a, const char *name, Bytes module)
{
    DiagSink quiet = { 0 };
    SpvModule *m = spv_read(a, module.data, module.size, name, &quiet);
    REQUIRE(m != NULL);
    if (strstr(name, "coopmat_khr"))
        spv_each_inst(m, note_position, m);
}

TEST(positions_of_glslang)
{
    positions = 0;
    each_kernel(3, debug_info);
    CHECK(positions == 2 || !have_tool("glslang")); /* OpLine and DebugLine */
}
