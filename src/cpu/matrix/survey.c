/* SPDX-License-Identifier: MIT
 *
 * What is found out before the first instruction is emitted: how often each matrix is used, and in
 * which order each web is kept.
 */
#include "cpu/matrix/matrix.h"

typedef struct Votes {
    uint64_t rows, cols;
    bool converted;
} Votes; /* of a web, on its order */

/* An instruction counts eight times as much for each loop around it. */
static void add_vote(Emit *e, Votes *votes, const SpvInst *i, SpvId matrix, uint32_t block,
                     bool col)
{
    uint32_t web = matrices_of(e)->webs->web[matrix], depth = 0;
    for (const CfgLoop *l = e->cfg->blocks[block].loop; l && depth < 8; l = l->parent)
        depth++;
    if (!web)
        return;
    *(col ? &votes[web - 1].cols : &votes[web - 1].rows) += 1ull << 3 * depth;
    votes[web - 1].converted |=
        i->op == SpvOpCompositeConstructCoopMatQCOM || i->op == SpvOpCompositeExtractCoopMatQCOM;
}

static void vote_order(Emit *e, Votes *votes, const SpvInst *i, uint32_t block)
{
    bool load = i->op == SpvOpCooperativeMatrixLoadKHR;
    uint64_t layout;
    switch (i->op) {
    case SpvOpCooperativeMatrixLoadKHR:
    case SpvOpCooperativeMatrixStoreKHR:
        if (spv_constant(e->module, spv_operand(i, load ? 1 : 2), &layout))
            add_vote(e, votes, i, load ? i->id : spv_operand(i, 1), block, layout == 1);
        return;
    case SpvOpCooperativeMatrixLoadTensorNV:
    case SpvOpCooperativeMatrixStoreTensorNV:
        add_vote(e, votes, i, i->id ? i->id : spv_operand(i, 1), block, mat_tensor_order(e, i));
        return;
    case SpvOpCompositeConstructCoopMatQCOM:
        if (mat_is(spv_type(e->module, i->type)))
            add_vote(e, votes, i, i->id, block, mat_qcom_order(spv_type(e->module, i->type)));
        return;
    case SpvOpCompositeExtractCoopMatQCOM: {
        const SpvType *t = spv_type_of(e->module, spv_operand(i, 0));
        if (mat_is(t))
            add_vote(e, votes, i, spv_operand(i, 0), block, mat_qcom_order(t));
        return;
    }
    default: return;
    }
}

/* Counts the uses of each matrix, and chooses the order of each web's home: column-major if all
 * loads and stores of its values are, so that none of them transposes. If lanes' arrays are
 * converted, the order that most instructions prefer. */
void mat_survey(Emit *e)
{
    MatEmit *m = matrices_of(e);
    mat_share_survey(e);
    Votes *votes = NEW_ARRAY(e->arena, Votes, m->webs->n_webs + 1);
    for (uint32_t b = 0; b + 1 < e->cfg->n; b++)
        for (SpvInst *i = e->cfg->blocks[b].block->insts.first; i; i = i->next) {
            uint32_t n;
            const uint16_t *at = mat_ids(e, i, &n);
            for (uint32_t k = 0; k < n; k++) {
                SpvId id = i->words[at[k]];
                if (!mat_is(spv_type_of(e->module, id)))
                    continue;
                MatValue *v = mat_value(e, id);
                v->uses++;
                v->other_blocks += i->op == SpvOpPhi || spv_def(e->module, id)->block != i->block;
            }
            vote_order(e, votes, i, b);
        }
    for (uint32_t w = 0; w < m->webs->n_webs; w++)
        m->web_col[w] =
            votes[w].cols && (votes[w].converted ? votes[w].cols > votes[w].rows : !votes[w].rows);
}
