/* SPDX-License-Identifier: MIT
 *
 * What happens to matrices between blocks: the copies for phis.
 */
#include "cpu/matrix/matrix.h"

typedef struct MatPhiCopy {
    const SpvType *type;
    MatTile to, from;
    bool fill;
    LV splat;
    MatSums *sums; /* of what is copied to */
} MatPhiCopy;

static bool all_zeros(const MatPhiCopy *c, uint32_t n, const MatSums *s)
{
    uint32_t zeros = 0;
    for (uint32_t i = 0; i < n; i++)
        zeros += c[i].sums == s && c[i].fill && LLVMIsNull(c[i].splat);
    return zeros == s->n;
}

/* Whether a copy is needed: sums that all begin with zeros on this edge are told so instead. */
static bool is_needed(Emit *e, const MatPhiCopy *c, const MatPhiCopy *all, uint32_t n)
{
    bool zeros = c->sums && all_zeros(all, n, c->sums), first = true;
    for (const MatPhiCopy *x = all; x < c; x++)
        first = first && x->sums != c->sums;
    if (zeros && first)
        mat_sums_zero(e, c->sums);
    if (!zeros && first)
        mat_sums_wanted(e, c->sums);
    return !zeros;
}

/* The copies of an edge happen at once, so a home that a later copy still reads is copied aside
 * before another phi overwrites it. */
void matrix_phi_edges(Emit *e, uint32_t from, uint32_t to)
{
    if (!matrices_of(e))
        return;
    SpvBlock *target = e->cfg->blocks[to].block, *source = e->cfg->blocks[from].block;
    VEC(MatPhiCopy) found = { 0 }, copies = { 0 };
    matrices_of(e)->edge_to = to + 1;
    for (SpvInst *i = target ? target->insts.first : NULL; i; i = i->next) {
        const SpvType *t = i->op == SpvOpPhi ? spv_type(e->module, i->type) : NULL;
        if (!mat_is(t))
            continue;
        for (uint32_t k = 0; k + 1 < spv_n_operands(i); k += 2) {
            if (spv_operand(i, k + 1) != source->id)
                continue;
            MatValue *v = mat_value(e, spv_operand(i, k));
            MatPhiCopy c = { .type = t, .to = mat_home(e, i->id), .sums = mat_sums(e, i->id) };
            if (v->state == MAT_SPLAT) {
                c.fill = true;
                c.splat = v->splat;
            } else {
                c.from = mat_place(e, v->id);
                if (c.from.ptr != c.to.ptr)
                    mat_sums_wanted(e, mat_sums(e, v->id));
            }
            if (c.fill || c.from.ptr != c.to.ptr)
                vec_push(e->arena, &found, c);
        }
    }
    for (uint32_t i = 0; i < found.len; i++)
        if (is_needed(e, &found.data[i], found.data, found.len))
            vec_push(e->arena, &copies, found.data[i]);
    for (uint32_t i = 0; i < copies.len; i++)
        for (uint32_t j = 0; j < copies.len; j++)
            if (i != j && !copies.data[i].fill &&
                copies.data[i].from.ptr == copies.data[j].to.ptr) {
                MatPhiCopy *c = &copies.data[i];
                LV room = mat_frame(e, c->type, mat_bytes(e, c->type));
                MatTile aside = mat_dense(e, c->type, room, c->from.col);
                mat_copy(e, c->type, &aside, &c->from);
                c->from = aside;
            }
    bool whole = false;
    for (uint32_t i = 0; i < copies.len; i++) {
        MatPhiCopy *c = &copies.data[i];
        whole |= c->type->scope == SpvScopeWorkgroup;
        if (c->fill)
            mat_fill(e, c->type, &c->to, c->splat);
        else
            mat_copy(e, c->type, &c->to, &c->from);
    }
    matrices_of(e)->edge_to = 0;
    if (whole)
        mat_leader_edge_end(e, to);
}
