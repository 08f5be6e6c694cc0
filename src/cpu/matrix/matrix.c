/* SPDX-License-Identifier: MIT
 *
 * The functions of matrices that code generation calls. A row in a table says which instructions
 * belong to matrices. See matrix.h for the idea.
 */
#include "cpu/matrix/matrix.h"

bool mat_is(const SpvType *t) { return t && t->kind == SPV_COOPMAT; }

IrComp mat_comp(const SpvType *matrix) { return comp_of(matrix->element); }

/* ---- composites that hold matrices: taken apart by pass_apart, else refused ------------------ */

static bool holds_matrices(const SpvType *t)
{
    return t && !mat_is(t) && t->kind != SPV_POINTER && emit_has_matrix(t);
}

/* The type that an instruction stores, takes apart or makes. */
static const SpvType *composite_of(Emit *e, const SpvInst *i, const SpvType *result)
{
    const SpvType *operand = i->op == SpvOpStore ? spv_type_of(e->module, spv_operand(i, 1))
                             : i->op == SpvOpCompositeExtract
                                 ? spv_type_of(e->module, spv_operand(i, 0))
                                 : NULL;
    return holds_matrices(operand) ? operand : holds_matrices(result) ? result : NULL;
}

static void refuse_composite(Emit *e, const SpvInst *i, const SpvType *t)
{
    emit_error(e, i, NULL,
               "a value of %s type that holds cooperative matrices is volatile, too large, or used "
               "by an instruction that takes none",
               t->kind == SPV_STRUCT ? "structure" : "array");
}

/* ---- the driver's hooks ---------------------------------------------------------------------- */

static bool is_scope_unknown(Emit *e, const SpvInst *i, const SpvType *t)
{
    bool workgroup = mat_is(t) && t->scope == SpvScopeWorkgroup;
    if (!mat_is(t) || t->scope == SpvScopeSubgroup || (workgroup && mat_workgroup_size(e)))
        return false;
    if (workgroup)
        emit_error(e, i, "SPV_NV_cooperative_matrix2, 2.16.1",
                   "cooperative matrices of scope Workgroup need a workgroup size that is known");
    else
        emit_error(e, i, "SPV_KHR_cooperative_matrix, OpTypeCooperativeMatrixKHR",
                   "cooperative matrices of scope %u are not supported: Workgroup (2) and Subgroup "
                   "(3) are",
                   t->scope);
    return true;
}

static bool is_concerned(Emit *e, const MatRule *r, const SpvInst *i)
{
    switch (r->when) {
    case MATRIX_POINTER: return mat_points(e, i->op == SpvOpVariable ? i->id : spv_operand(i, 0));
    case MATRIX_OPERAND: return mat_is(spv_type_of(e->module, spv_operand(i, 0)));
    case MATRIX_RESULT: return mat_is(spv_type(e->module, i->type));
    default: return true;
    }
}

bool matrix_inst(Emit *e, const SpvInst *i)
{
    MatEmit *m = matrices_of(e);
    if (!m)
        return false;
    const SpvType *t = i->type ? spv_type(e->module, i->type) : NULL;
    const SpvType *composite = composite_of(e, i, t);
    if (is_scope_unknown(e, i, t))
        return true;
    if (composite) {
        refuse_composite(e, i, composite);
        return true;
    }
    const MatRule *r = i->op < m->n_rules ? m->rules[i->op] : NULL;
    if (!r || !is_concerned(e, r, i))
        return false;
    mat_leader_enters(e, i);
    r->fn(e, i);
    if (i->op != SpvOpPhi)
        mat_used(e, i);
    return true;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static const MatRule *const rule_tables[] = {
    matrix_rules_memory, matrix_rules_variable, matrix_rules_whole,
    matrix_rules_ops,    matrix_rules_group,    matrix_rules_nv,
    matrix_rules_reduce, matrix_rules_tensor,   matrix_rules_qcom,
};

static void index_rules(Emit *e, MatEmit *m)
{
    for (uint32_t t = 0; t < COUNT_OF(rule_tables); t++)
        for (const MatRule *r = rule_tables[t]; r->fn; r++)
            m->n_rules = MAX(m->n_rules, r->op + 1u);
    m->rules = NEW_ARRAY(e->arena, const MatRule *, m->n_rules);
    for (uint32_t t = 0; t < COUNT_OF(rule_tables); t++)
        for (const MatRule *r = rule_tables[t]; r->fn; r++)
            m->rules[r->op] = r;
}

static bool any_matrix(Emit *e)
{
    bool any = false;
    for (SpvInst *i = e->module->globals.first; i; i = i->next) {
        if (i->op != SpvOpTypeCooperativeMatrixKHR)
            continue;
        any = true;
        if (spv_type(e->module, i->id)->scope == SpvScopeWorkgroup && !mat_workgroup_size(e))
            emit_error(e, i, NULL,
                       "a workgroup's matrix in a kernel that leaves the workgroup's "
                       "size open");
    }
    return any;
}

bool matrix_begin(Emit *e)
{
    if (!any_matrix(e) || e->failed)
        return !e->failed;
    MatEmit *m = lanes_of(e)->matrices = NEW(e->arena, MatEmit);
    index_rules(e, m);
    m->webs = matrix_webs(e->arena, e->module, e->cfg);
    m->gemm = gemm_new(e->arena, e->ll, lanes_of(e)->machine);
    m->values = NEW_ARRAY(e->arena, MatValue *, e->module->bound);
    m->variables = NEW_ARRAY(e->arena, MatVariable *, e->module->bound);
    m->homes = NEW_ARRAY(e->arena, MatHome, m->webs->n_webs + 1);
    m->web_col = NEW_ARRAY(e->arena, uint8_t, m->webs->n_webs + 1);
    m->same_in_workgroup = workgroup_same(e->arena, e->module, e->cfg, e->uniformity);
    mat_survey(e);
    mat_leader_survey(e);
    mat_sums_survey(e);
    mat_alike_survey(e);
    return true;
}

void matrix_end(Emit *e) { (void)e; }
