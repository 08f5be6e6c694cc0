/* SPDX-License-Identifier: MIT
 *
 * The tables that say which instructions are matrices' business.
 */
#include "base/test.h"
#include "cpu/matrix/matrix.h"

static const MatRule *const tables[] = {
    matrix_rules_memory, matrix_rules_variable, matrix_rules_whole, matrix_rules_ops,
    matrix_rules_group, matrix_rules_nv, matrix_rules_reduce, matrix_rules_tensor,
    matrix_rules_qcom,
};

static uint32_t rows_of(uint16_t op, const MatRule **found)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < COUNT_OF(tables); t++)
        for (const MatRule *r = tables[t]; r->fn; r++)
            if (r->op == op) {
                n++;
                *found = r;
            }
    return n;
}

TEST(an_opcode_has_one_row)
{
    const MatRule *found;
    for (uint32_t t = 0; t < COUNT_OF(tables); t++)
        for (const MatRule *r = tables[t]; r->fn; r++)
            if (rows_of(r->op, &found) != 1 || !spv_op_info(r->op))
                test_fail(__FILE__, __LINE__, "%s has %u rows", spv_op_name(r->op),
                          rows_of(r->op, &found));
}

/* A rule for results is asked for the type of one, a rule for pointers for the first operand. */
TEST(what_decides_is_there)
{
    for (uint32_t t = 0; t < COUNT_OF(tables); t++)
        for (const MatRule *r = tables[t]; r->fn; r++) {
            const SpvOpInfo *info = spv_op_info(r->op);
            bool decides = r->when == MATRIX_ALWAYS ||
                           (r->when == MATRIX_RESULT && info->has_type) ||
                           (r->when != MATRIX_RESULT && info->n_operands);
            if (!decides)
                test_fail(__FILE__, __LINE__, "%s", info->name);
        }
}

/* SPV_NV_cooperative_matrix's become the KHR's (pass/nv_matrix.c); coordinates of elements are an
 * extension that is not supported. */
static bool is_elsewhere(uint16_t op)
{
    return op == SpvOpCooperativeMatrixLoadNV || op == SpvOpCooperativeMatrixStoreNV ||
           op == SpvOpCooperativeMatrixMulAddNV || op == SpvOpCooperativeMatrixLengthNV ||
           op == SpvOpCooperativeMatrixGetCoordinateEXT;
}

/* Every instruction with CooperativeMatrix or CoopMat in its name, types aside. */
TEST(no_instruction_on_matrices_is_missing)
{
    uint32_t n = 0;
    for (uint32_t op = 0; op <= UINT16_MAX; op++) {
        const SpvOpInfo *info = spv_op_info((uint16_t)op);
        const MatRule *found;
        bool named =
            info && (strstr(info->name, "CooperativeMatrix") || strstr(info->name, "CoopMat"));
        if (!named || info->flags & SPV_OPF_TYPE || is_elsewhere((uint16_t)op))
            continue;
        n++;
        if (rows_of((uint16_t)op, &found) != 1)
            test_fail(__FILE__, __LINE__, "%s has no row", info->name);
    }
    CHECK(n >= 12);
}
