/* SPDX-License-Identifier: MIT
 *
 * The tables against the installed grammar: a row for every instruction and every enumerant, with
 * the same number. (Where the grammar is older, rows that it lacks are no fault.)
 */
#include "spirv/test/support.h"

#define GRAMMAR HEDDLE_TOOLCHAIN "/usr/include/spirv/unified1/spirv.core.grammar.json"

/* The string or number after `"key"` and a colon, from `at` on; returns where it ends, or NULL. */
static const char *value_of(const char *at, const char *key, char *out, size_t size)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    at = strstr(at, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    at += strspn(at, " :\"");
    size_t n = strcspn(at, "\",\n} ");
    snprintf(out, size, "%.*s", (int)n, at);
    return at + n;
}

static bool op_is(const char *name, uint32_t number)
{
    const SpvOpInfo *info = spv_op_info((uint16_t)number);
    const char *alias;
    uint16_t op;
    if (info && !strcmp(info->name, name))
        return true;
    for (uint32_t k = 0; spv_op_alias(k, &alias, &op); k++)
        if (!strcmp(alias, name))
            return op == number;
    return false;
}

TEST(every_instruction_of_the_grammar_has_a_row)
{
    Arena a = { 0 };
    char name[128], number[32];
    uint32_t n = 0;
    Bytes grammar = read_file(&a, GRAMMAR);
    if (!grammar.size) {
        printf("skipped: no " GRAMMAR "\n");
        return;
    }
    char *end = strstr(grammar.data, "\"operand_kinds\"");
    REQUIRE(end != NULL);
    *end = 0;
    for (const char *at = grammar.data; (at = value_of(at, "opname", name, sizeof name)); n++) {
        at = value_of(at, "opcode", number, sizeof number);
        REQUIRE(at != NULL);
        if (!op_is(name, (uint32_t)strtoul(number, NULL, 0)))
            test_fail(__FILE__, __LINE__, "no row for %s, %s", name, number);
    }
    CHECK(n > 800);
    arena_free(&a);
}

static uint8_t kind_by_name(const char *name)
{
    for (uint32_t k = 1; k < SPV_N_OPERAND_KINDS; k++)
        if (!strcmp(spv_kind_name((uint8_t)k), name))
            return (uint8_t)k;
    return SPV_OPERAND_NONE;
}

TEST(every_enumerant_of_the_grammar_has_a_row)
{
    Arena a = { 0 };
    char kind[128] = "", number[32], next[128];
    uint32_t n = 0;
    Bytes grammar = read_file(&a, GRAMMAR);
    if (!grammar.size)
        return;
    const char *at = strstr(grammar.data, "\"operand_kinds\"");
    REQUIRE(at != NULL);
    for (at = strstr(at, "\"category\""); at; at = strstr(at + 1, "\"category\"")) {
        const char *end = strstr(at + 1, "\"category\"");
        REQUIRE(value_of(at, "kind", kind, sizeof kind) != NULL);
        uint8_t k = kind_by_name(kind);
        if (!k)
            test_fail(__FILE__, __LINE__, "no kind %s", kind);
        for (const char *e = at; (e = value_of(e, "enumerant", next, sizeof next)); n++) {
            if (end && e > end)
                break;
            e = value_of(e, "value", number, sizeof number);
            if (!spv_enumerant(k, (uint32_t)strtoul(number, NULL, 0)))
                test_fail(__FILE__, __LINE__, "no row for %s %s", kind, next);
        }
    }
    CHECK(n > 900);
    arena_free(&a);
}

TEST(numbers_of_the_family)
{
    CHECK_EQ_U64(SpvOpTypeCooperativeMatrixKHR, 4456);
    CHECK_EQ_U64(SpvOpCooperativeMatrixMulAddKHR, 4459);
    CHECK_EQ_U64(SpvOpCooperativeMatrixReduceNV, 5366);
    CHECK_EQ_U64(SpvOpCooperativeMatrixLoadTensorNV, 5367);
    CHECK_EQ_U64(SpvOpCompositeConstructCoopMatQCOM, 4540);
    CHECK_EQ_U64(SpvLoopControlMultipleWaitQueuesQCOMMask, 0x10000000);
    CHECK_EQ_U64(SpvTensorAddressingOperandsDecodeVectorFuncMask, 4);
    CHECK_EQ_U64(SpvMemoryAccessMaskNone, 0);
    CHECK_EQ_U64(SpvDim3D, 2);
    CHECK_EQ_U64(GLSLstd450FMin, 37);
    CHECK_STR(spv_op_name(SpvOpIAdd), "OpIAdd");
    CHECK_STR(spv_op_name(60000), "Op60000");
    CHECK_STR(spv_enum_name(SPV_OPERAND_StorageClass, SpvStorageClassWorkgroup), "Workgroup");
    CHECK(spv_enum_name(SPV_OPERAND_StorageClass, 12345) == NULL);
}

TEST(rows_are_sorted)
{
    uint32_t n;
    const SpvOpInfo *ops = spv_all_ops(&n);
    for (uint32_t k = 1; k < n; k++)
        CHECK(ops[k - 1].op < ops[k].op);
    for (uint32_t kind = 0; kind < SPV_N_OPERAND_KINDS; kind++) {
        const SpvEnumerant *e = spv_enumerants((uint8_t)kind, &n);
        for (uint32_t k = 1; k < n; k++)
            CHECK(e[k - 1].value < e[k].value);
    }
    for (uint32_t set = 0; set < SPV_N_SETS; set++) {
        const SpvExtInst *e = spv_ext_insts((uint8_t)set, &n);
        for (uint32_t k = 1; k < n; k++)
            CHECK(e[k - 1].number < e[k].number);
    }
}
