/* SPDX-License-Identifier: MIT
 *
 * Changing a module: instructions and blocks in and out, ids replaced, types and constants found or
 * made. After each, what is written must be a module that reads.
 */
#include "spirv/test/support.h"

static const char *const kernel = "OpCapability Shader\n"
                                  "%glsl = OpExtInstImport \"GLSL.std.450\"\n"
                                  "OpMemoryModel Logical GLSL450\n"
                                  "OpEntryPoint GLCompute %main \"main\"\n"
                                  "OpExecutionMode %main LocalSize 8 4 2\n"
                                  "OpName %sum \"sum\"\n"
                                  "OpDecorate %sum RelaxedPrecision\n"
                                  "%void = OpTypeVoid\n"
                                  "%uint = OpTypeInt 32 0\n"
                                  "%bool = OpTypeBool\n"
                                  "%one = OpConstant %uint 1\n"
                                  "%two = OpConstant %uint 2\n"
                                  "%fn = OpTypeFunction %void\n"
                                  "%main = OpFunction %void None %fn\n"
                                  "%entry = OpLabel\n"
                                  "%sum = OpIAdd %uint %one %two\n"
                                  "%twice = OpIMul %uint %sum %two\n"
                                  "OpSelectionMerge %end None\n"
                                  "OpSwitch %twice %end 1 %case 2 %case\n"
                                  "%case = OpLabel\n"
                                  "%more = OpExtInst %uint %glsl UMin %twice %one\n"
                                  "OpBranch %end\n"
                                  "%end = OpLabel\n"
                                  "%phi = OpPhi %uint %sum %entry %more %case\n"
                                  "OpReturn\n"
                                  "OpFunctionEnd\n";

static SpvModule *load(Arena *a)
{
    TestDiags d = TEST_DIAGS(d);
    SpvModule *m = assemble(a, kernel, &d.sink);
    CHECK_STR(d.text, "");
    return m;
}

static void check_reads(Arena *a, SpvModule *m)
{
    TestDiags d = TEST_DIAGS(d);
    size_t size;
    const void *data = spv_write(a, m, &size);
    CHECK(spv_read(a, data, size, "edited", &d.sink) != NULL);
    CHECK_STR(d.text, "");
}

static SpvInst *find(SpvModule *m, uint16_t op)
{
    for (SpvBlock *b = m->functions->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next)
            if (i->op == op)
                return i;
    return NULL;
}

TEST(insert_and_unlink)
{
    Arena a = { 0 };
    SpvModule *m = load(&a);
    REQUIRE(m != NULL);
    SpvInst *mul = find(m, SpvOpIMul);
    SpvId id = spv_new_id(m);
    uint32_t operands[] = { mul->id, mul->id };
    SpvInst *add = spv_make(m, SpvOpIAdd, mul->type, id, operands, 2);
    CHECK(spv_def(m, id) == add && !add->list);
    spv_insert_after(mul, add);
    CHECK(mul->next == add && add->block == mul->block);
    check_reads(&a, m);
    spv_unlink(add);
    CHECK(!add->list && mul->next->op == SpvOpSelectionMerge);
    spv_insert_before(m->functions->first->insts.last, add); /* between merge and switch */
    spv_unlink(add);
    spv_insert_before(mul->block->insts.first->next, add);
    CHECK(mul->block->insts.first->next == add);
    spv_unlink(add);
    check_reads(&a, m);
    arena_free(&a);
}

TEST(blocks)
{
    Arena a = { 0 };
    SpvModule *m = load(&a);
    REQUIRE(m != NULL);
    SpvFunction *f = m->functions;
    CHECK_EQ_U64(f->n_blocks, 3);
    SpvBlock *b = spv_new_block(f, f->first);
    spv_append(b, spv_make(m, SpvOpUnreachable, 0, 0, NULL, 0));
    CHECK(f->first->next == b && b->prev == f->first && b->next->prev == b);
    SpvBlock *last = spv_new_block(f, NULL);
    spv_append(last, spv_make(m, SpvOpUnreachable, 0, 0, NULL, 0));
    CHECK(f->last == last);
    spv_number_blocks(f);
    CHECK_EQ_U64(f->n_blocks, 5);
    CHECK_EQ_U64(b->index, 1);
    check_reads(&a, m);
    spv_unlink_block(b);
    spv_unlink_block(last);
    spv_number_blocks(f);
    CHECK_EQ_U64(f->n_blocks, 3);
    check_reads(&a, m);
    arena_free(&a);
}

static void add_one(void *user, uint32_t *id)
{
    (void)id;
    ++*(uint32_t *)user;
}

TEST(ids_of_instructions)
{
    Arena a = { 0 };
    SpvModule *m = load(&a);
    REQUIRE(m != NULL);
    uint32_t n = 0;
    uint16_t at[8];
    spv_each_id(find(m, SpvOpSwitch), add_one, &n);
    CHECK_EQ_U64(n, 4); /* selector, default, two cases: no literal */
    CHECK_EQ_U64(spv_id_operands(find(m, SpvOpPhi), at, 8), 4);
    CHECK_EQ_U64(spv_id_operands(find(m, SpvOpExtInst), at, 2), 3);
    CHECK_EQ_U64(at[0], 3);
    CHECK_EQ_U64(at[1], 5);
    CHECK_EQ_U64(spv_id_operands(find(m, SpvOpSelectionMerge), at, 8), 1);
    CHECK(spv_is_pure(find(m, SpvOpExtInst)) && spv_is_pure(find(m, SpvOpIAdd)));
    CHECK(!spv_is_pure(find(m, SpvOpPhi)));

    /* Replacing 2 must not touch the literal 2 of the switch, the name or the decoration. */
    SpvInst *sum = find(m, SpvOpIAdd), *sw = find(m, SpvOpSwitch);
    uint32_t literal = spv_operand(sw, 4);
    spv_replace_uses(m, sum->id, spv_operand(sum, 0));
    CHECK_EQ_U64(spv_operand(find(m, SpvOpIMul), 0), spv_operand(sum, 0));
    CHECK_EQ_U64(spv_operand(find(m, SpvOpPhi), 0), spv_operand(sum, 0));
    CHECK_EQ_U64(spv_operand(sw, 4), literal);
    CHECK_STR(spv_name(m, sum->id), "sum");
    CHECK(spv_has_decoration(m, sum->id, -1, SpvDecorationRelaxedPrecision));
    check_reads(&a, m);
    arena_free(&a);
}

TEST(find_or_make)
{
    Arena a = { 0 };
    SpvModule *m = load(&a);
    REQUIRE(m != NULL);
    SpvId uint_type = spv_int_type(m, 32, false);
    CHECK(spv_type(m, uint_type)->kind == SPV_INT && uint_type < m->bound);
    SpvId one = spv_int_constant(m, uint_type, 1);
    CHECK(spv_def(m, one)->index != 0); /* the one that was there */
    SpvId s64 = spv_int_type(m, 64, true), minus = spv_int_constant(m, s64, UINT64_MAX);
    CHECK(minus == spv_int_constant(m, s64, UINT64_MAX) && s64 == spv_int_type(m, 64, true));
    uint64_t value = 0;
    CHECK(spv_constant(m, minus, &value) && value == UINT64_MAX);
    SpvId s8 = spv_int_type(m, 8, true);
    CHECK_EQ_U64(spv_operand(spv_def(m, spv_int_constant(m, s8, 0x80)), 0), 0xffffff80);
    SpvId truth = spv_int_constant(m, spv_bool_type(m), 1);
    CHECK(spv_constant(m, truth, &value) && value == 1);
    SpvId pointer = spv_pointer_type(m, SpvStorageClassFunction, s64);
    CHECK(pointer == spv_pointer_type(m, SpvStorageClassFunction, s64));
    CHECK(spv_type(m, pointer)->element == spv_type(m, s64));
    CHECK(spv_null_constant(m, pointer) == spv_null_constant(m, pointer));
    CHECK(spv_undef(m, s8) != spv_undef(m, s64));
    check_reads(&a, m);
    SpvModule *copy = spv_clone(&a, m);
    CHECK(spv_int_constant(copy, s64, UINT64_MAX) == minus);
    arena_free(&a);
}

TEST(annotations_go_where_they_belong)
{
    Arena a = { 0 };
    SpvModule *m = load(&a);
    REQUIRE(m != NULL);
    SpvId target = find(m, SpvOpIMul)->id;
    CHECK(!spv_has_decoration(m, target, -1, SpvDecorationNoContraction));
    uint32_t operands[] = { target, SpvDecorationNoContraction };
    spv_append_global(m, spv_make(m, SpvOpDecorate, 0, 0, operands, 2));
    CHECK(spv_has_decoration(m, target, -1, SpvDecorationNoContraction));
    uint32_t capability = SpvCapabilityInt64;
    spv_append_global(m, spv_make(m, SpvOpCapability, 0, 0, &capability, 1));
    CHECK(m->globals.first->next->op == SpvOpCapability);
    check_reads(&a, m);
    arena_free(&a);
}

TEST(wide_switches)
{
    Arena a = { 0 };
    SpvModule *m = load(&a);
    REQUIRE(m != NULL);
    SpvInst *sw = find(m, SpvOpSwitch);
    SpvId wide = spv_int_constant(m, spv_int_type(m, 64, false), 7);
    SpvId end = spv_operand(sw, 1), one_case = spv_operand(sw, 3);
    uint32_t operands[] = { wide, end, 1, 2, one_case, 3, 4, one_case };
    SpvInst *i = spv_make(m, SpvOpSwitch, 0, 0, operands, COUNT_OF(operands));
    CHECK_EQ_U64(i->literal_words, 2);
    uint16_t at[8];
    CHECK_EQ_U64(spv_id_operands(i, at, 8), 4);
    spv_insert_before(sw, i);
    spv_unlink(sw);
    check_reads(&a, m);
    CHECK_CONTAINS(spv_disassemble(&a, m, false), " 8589934593 ");
    arena_free(&a);
}
