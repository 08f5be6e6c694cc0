/* SPDX-License-Identifier: MIT
 *
 * closed: loop-closed form. In: a function without unreachable code, its Cfg and Uniformity. Out:
 * what is computed in a divergent loop and used behind it goes through a phi in the block that the
 * loop is left to. Lanes leave such a loop in different iterations, so behind it they differ in
 * values that those inside share, above all its counter; only the phi then varies
 * (uniformity.c). Loops that are left to several blocks stay as they are.
 *
 * Inner loops come first: what leaves them may leave the loop around them as well.
 */
#include "pass/edit.h"

#define NONE UINT32_MAX

typedef struct Use {
    SpvInst *inst;
    uint16_t at;
    uint32_t next;
} Use;

typedef struct Closer {
    Arena *a;
    SpvModule *m;
    const Cfg *g;
    VEC(Use) uses;
    VEC(uint32_t) head; /* by id: place in uses + 1 */
    PassIdWords ids;
    uint32_t made;
} Closer;

static void add_use(Closer *s, SpvInst *i, uint16_t at)
{
    SpvId id = i->words[at];
    while (s->head.len <= id)
        vec_push(s->a, &s->head, 0);
    vec_push(s->a, &s->uses, ((Use){ i, at, s->head.data[id] }));
    s->head.data[id] = s->uses.len;
}

static void find_uses(Closer *s)
{
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next) {
            edit_ids(i, &s->ids);
            for (uint32_t k = 0; k < s->ids.n; k++)
                add_use(s, i, s->ids.at[k]);
        }
}

/* The block that a loop is left to, if there is only one and nothing else leads to it. */
static uint32_t way_out(const Closer *s, const CfgLoop *l)
{
    uint32_t out = NONE;
    for (uint32_t k = 0; k < l->n_blocks; k++) {
        const CfgBlock *b = &s->g->blocks[l->blocks[k]];
        for (uint32_t j = 0; j < b->n_succs; j++) {
            uint32_t to = b->succs[j];
            if (cfg_in_loop(l, s->g, to) || to == out || to + 1 == s->g->n)
                continue;
            if (out != NONE)
                return NONE;
            out = to;
        }
    }
    for (uint32_t k = 0; out != NONE && k < s->g->blocks[out].n_preds; k++)
        if (!cfg_in_loop(l, s->g, s->g->blocks[out].preds[k]))
            return NONE;
    return out;
}

/* Where an instruction uses an operand: a phi does at the end of the block that it comes from. */
static uint32_t place_of(const Closer *s, const Use *u)
{
    const SpvBlock *block = u->inst->block;
    if (u->inst->op == SpvOpPhi) {
        const SpvInst *label = spv_def(s->m, u->inst->words[u->at + 1]);
        block = label ? label->block : NULL;
    }
    return block ? s->g->position[block->index] : NONE;
}

static bool is_number(const SpvType *t)
{
    return t && (t->kind == SPV_BOOL || t->kind == SPV_INT || t->kind == SPV_FLOAT ||
                 t->kind == SPV_VECTOR);
}

static SpvInst *make_phi(Closer *s, const SpvInst *i, uint32_t out)
{
    const CfgBlock *b = &s->g->blocks[out];
    uint32_t *operands = NEW_ARRAY(s->a, uint32_t, 2 * (size_t)b->n_preds + 1);
    for (uint32_t k = 0; k < b->n_preds; k++) {
        operands[2 * k] = i->id;
        operands[2 * k + 1] = s->g->blocks[b->preds[k]].block->id;
    }
    SpvInst *phi = spv_make(s->m, SpvOpPhi, i->type, spv_new_id(s->m), operands, 2 * b->n_preds);
    spv_insert_after(b->block->insts.first, phi);
    s->made++;
    return phi;
}

static bool comes_to_all(const Closer *s, uint32_t from, uint32_t out)
{
    const CfgBlock *b = &s->g->blocks[out];
    for (uint32_t k = 0; k < b->n_preds; k++)
        if (!cfg_dominates(s->g, from, b->preds[k]))
            return false;
    return true;
}

static void close_value(Closer *s, const SpvInst *i, const CfgLoop *l, uint32_t out)
{
    uint32_t p = s->g->position[i->block->index];
    SpvInst *phi = NULL;
    uint32_t next = i->id < s->head.len ? s->head.data[i->id] : 0;
    while (next) {
        Use u = s->uses.data[next - 1];
        uint32_t place = place_of(s, &u);
        next = u.next;
        if (u.inst->words[u.at] != i->id || place == NONE || cfg_in_loop(l, s->g, place))
            continue;
        if (!phi && !comes_to_all(s, p, out))
            return;
        phi = phi ? phi : make_phi(s, i, out);
        u.inst->words[u.at] = phi->id;
        add_use(s, u.inst, u.at);
    }
    for (uint32_t k = 0; phi && k + 1 < spv_n_operands(phi); k += 2)
        add_use(s, phi, (uint16_t)(phi->first_operand + k));
}

uint32_t pass_close_loops(Arena *a, SpvModule *m, const Cfg *g, const Uniformity *u)
{
    Closer *s = NEW(a, Closer);
    s->a = a, s->m = m, s->g = g;
    for (uint32_t n = g->n_loops; n-- > 0;) {
        const CfgLoop *l = g->loops[n];
        uint32_t out = u->divergent_loop[n] ? way_out(s, l) : NONE;
        if (out == NONE)
            continue;
        if (!s->uses.len)
            find_uses(s);
        for (uint32_t k = 0; k < l->n_blocks; k++)
            for (SpvInst *i = g->blocks[l->blocks[k]].block->insts.first; i; i = i->next)
                if (i->id && is_number(spv_type(m, i->type)))
                    close_value(s, i, l, out);
    }
    return s->made;
}
