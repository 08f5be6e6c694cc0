/* SPDX-License-Identifier: MIT
 *
 * copy: copies of a loop's blocks, for unroll and strip_mine. In: a function, its Cfg and a loop of
 * it. A loop is first closed: values that it computes and that are used after it leave through phis
 * of its only exit block, or through variables (which promote turns into values again). After that
 * a copy affects only the phis of exit blocks.
 */
#include "pass/edit.h"

#include <stdlib.h>

#define NONE UINT32_MAX

SpvId loop_incoming(const SpvInst *phi, SpvId pred)
{
    for (uint32_t k = phi->first_operand; k + 1 < phi->n_words; k += 2)
        if (phi->words[k + 1] == pred)
            return phi->words[k];
    return 0;
}

uint32_t loop_named_control(const SpvModule *m, const SpvBlock *header, uint32_t *count)
{
    static const char prefix[] = "unroll.", all[] = "all.";
    const char *name = spv_name(m, header->id);
    if (!name || strncmp(name, prefix, sizeof prefix - 1))
        return 0;
    name += sizeof prefix - 1;
    *count = (uint32_t)strtoul(name, NULL, 10);
    return !strncmp(name, all, sizeof all - 1) ? SpvLoopControlUnrollMask
           : *count == 1                       ? SpvLoopControlDontUnrollMask
           : *count                            ? SpvLoopControlPartialCountMask
                                               : 0;
}

bool loop_holds(const PassLoopCopy *l, const SpvBlock *b)
{
    return l->marks->stamp[b->index] == l->stamp;
}

PassLoopMarks loop_marks(PassContext *c, const Cfg *g)
{
    PassLoopMarks marks = { .n_map = c->module->bound, .n_used = c->module->bound };
    marks.stamp = NEW_ARRAY(c->scratch, uint32_t, g->made_later + 1);
    marks.map = NEW_ARRAY(c->scratch, SpvId, marks.n_map);
    return marks;
}

static void add_block(PassLoopCopy *l, SpvBlock *b)
{
    l->marks->stamp[b->index] = l->stamp;
    vec_push(l->c->scratch, &l->blocks, b);
    for (SpvInst *i = b->insts.first; i; i = i->next)
        l->size++;
}

/* Closing another loop may have put loads into this one. */
static void grow_map(PassLoopMarks *marks, PassContext *c)
{
    uint32_t need = c->module->bound;
    if (need <= marks->n_map)
        return;
    SpvId *map = NEW_ARRAY(c->scratch, SpvId, (size_t)need * 2);
    memcpy(map, marks->map, marks->n_map * sizeof *map);
    marks->map = map;
    marks->n_map = need * 2;
}

/* Adds the unreachable blocks that a construct of the loop names, other than the loop itself. */
static void add_named(PassLoopCopy *l, const SpvBlock *b, const SpvInst *merge_inst)
{
    const Cfg *g = l->g;
    const SpvInst *merge = cfg_merge_inst(b);
    uint32_t n_named = !merge || merge == merge_inst ? 0 : merge->op == SpvOpLoopMerge ? 2 : 1;
    for (uint32_t n = 0; n < n_named; n++) {
        SpvBlock *t = edit_block(l->c->module, spv_operand(merge, n));
        if (t && t->index != g->made_later && g->position[t->index] == NONE && !loop_holds(l, t))
            add_block(l, t);
    }
}

bool loop_open(PassLoopCopy *l, PassContext *c, const Cfg *g, PassLoopMarks *marks,
               const CfgLoop *loop, uint32_t max_blocks)
{
    *l = (PassLoopCopy){ .c = c, .g = g, .loop = loop, .marks = marks, .stamp = ++marks->stamps };
    grow_map(marks, c);
    if (loop->latch == NONE || loop->n_blocks > max_blocks)
        return false;
    l->header = g->blocks[loop->header].block;
    l->latch = g->blocks[loop->latch].block;
    for (uint32_t k = 0; k < loop->n_blocks; k++)
        add_block(l, g->blocks[loop->blocks[k]].block);
    for (uint32_t k = 0; k < loop->n_blocks; k++)
        add_named(l, g->blocks[loop->blocks[k]].block, loop->merge_inst);
    return true;
}

bool loop_open_behind(PassLoopCopy *l, PassContext *c, const Cfg *g, PassLoopMarks *marks,
                      SpvBlock *first, uint32_t max_blocks)
{
    *l = (PassLoopCopy){ .c = c, .g = g, .marks = marks, .stamp = ++marks->stamps };
    grow_map(marks, c);
    l->header = first;
    for (uint32_t p = g->position[first->index]; p < g->n && l->blocks.len <= max_blocks; p++)
        if (g->blocks[p].block && cfg_dominates(g, g->position[first->index], p))
            add_block(l, g->blocks[p].block);
    uint32_t n = l->blocks.len;
    for (uint32_t k = 0; k < n; k++)
        add_named(l, l->blocks.data[k], NULL);
    return n <= max_blocks;
}

bool loop_stays(const PassLoopCopy *l, SpvId label)
{
    const Cfg *g = l->g;
    SpvBlock *b = edit_block(l->c->module, label);
    uint32_t p = b ? g->position[b->index] : NONE;
    return p != NONE && cfg_in_loop(l->loop, g, p) &&
           !(g->blocks[p].leaving && g->blocks[p].loop == l->loop);
}

/* ---- edges ----------------------------------------------------------------------------------- */

void loop_decide_exit(SpvModule *m, SpvBlock *b, bool exit_when, bool leave)
{
    SpvInst *term = b->insts.last, *merge = cfg_merge_inst(b);
    SpvId taken = spv_operand(term, exit_when == leave ? 1 : 2);
    SpvId other = spv_operand(term, exit_when == leave ? 2 : 1);
    SpvBlock *t = edit_block(m, other);
    if (t && other != taken)
        edit_remove_pred(m, t, b->id);
    if (merge)
        edit_remove(m, merge);
    edit_become(m, term, SpvOpBranch, &taken, 1);
}

void loop_redirect_entries(PassLoopCopy *l, const SpvBlock *to)
{
    SpvId header = l->header->id;
    for (SpvBlock *b = l->g->function->first; b; b = b->next) {
        SpvInst *merge = cfg_merge_inst(b);
        if (loop_holds(l, b))
            continue;
        edit_retarget(b->insts.last, header, to->id);
        for (uint32_t k = 0; merge && k < (merge->op == SpvOpLoopMerge ? 2u : 1u); k++)
            if (merge->words[merge->first_operand + k] == header)
                merge->words[merge->first_operand + k] = to->id;
    }
}

/* ---- values that leave the loop -------------------------------------------------------------- */

typedef struct Use {
    SpvInst *inst;
    uint32_t word;
} Use;
typedef VEC(Use) Uses;

typedef struct Closer {
    PassLoopCopy *l;
    SpvModule *m;
    SpvBlock *exit;       /* the only block that follows the loop, and follows nothing else */
    VEC(SpvBlock *) from; /* its predecessors */
    VEC(SpvInst *) values;
    VEC(Uses) uses; /* of values, one for one */
} Closer;

/* A phi uses its operand in the block that the operand comes from. */
static SpvBlock *place_of_use(const SpvModule *m, const SpvInst *i, uint32_t word)
{
    return i->op == SpvOpPhi && word + 1u < i->n_words ? edit_block(m, i->words[word + 1])
                                                       : i->block;
}

static void index_users(PassContext *c, const Cfg *g, PassLoopMarks *marks)
{
    PassIdWords *ids = NEW(c->scratch, PassIdWords);
    uint32_t *start = marks->use_start = NEW_ARRAY(c->scratch, uint32_t, (size_t)marks->n_used + 2);
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t p = 0; p + 1 < g->n; p++) {
            for (SpvInst *i = g->blocks[p].block->insts.first; i; i = i->next) {
                edit_ids(i, ids);
                for (uint32_t k = 0; k < ids->n; k++) {
                    SpvId id = i->words[ids->at[k]];
                    if (id >= marks->n_used)
                        continue;
                    if (pass == 0)
                        start[id + 2]++;
                    else
                        marks->users[start[id + 1]++] = i;
                }
            }
        }
        if (pass)
            break;
        for (uint32_t id = 2; id <= marks->n_used + 1; id++)
            start[id] += start[id - 1];
        marks->users = NEW_ARRAY(c->scratch, SpvInst *, start[marks->n_used + 1]);
    }
}

/* Where `d` is used behind the loop. */
static void find_uses_of(Closer *s, SpvInst *d, PassIdWords *ids)
{
    Arena *a = s->l->c->scratch;
    const PassLoopMarks *marks = s->l->marks;
    Uses uses = { 0 };
    for (uint32_t n = marks->use_start[d->id]; n < marks->use_start[d->id + 1]; n++) {
        SpvInst *i = marks->users[n];
        if (!i->block || loop_holds(s->l, i->block) ||
            (n > marks->use_start[d->id] && marks->users[n - 1] == i))
            continue;
        edit_ids(i, ids);
        for (uint32_t k = 0; k < ids->n; k++) {
            SpvBlock *at = i->words[ids->at[k]] == d->id ? place_of_use(s->m, i, ids->at[k]) : NULL;
            if (at && !loop_holds(s->l, at))
                vec_push(a, &uses, (Use){ i, ids->at[k] });
        }
    }
    if (!uses.len)
        return;
    vec_push(a, &s->values, d);
    vec_push(a, &s->uses, uses);
}

static void find_uses(Closer *s)
{
    PassLoopMarks *marks = s->l->marks;
    PassIdWords *ids = NEW(s->l->c->scratch, PassIdWords);
    if (!marks->use_start)
        index_users(s->l->c, s->l->g, marks);
    for (uint32_t k = 0; k < s->l->blocks.len; k++)
        for (SpvInst *i = s->l->blocks.data[k]->insts.first->next; i; i = i->next)
            if (i->id && i->id < marks->n_used)
                find_uses_of(s, i, ids);
}

static void find_exit(Closer *s)
{
    const Cfg *g = s->l->g;
    uint32_t exit = NONE;
    for (uint32_t k = 0; k < s->l->loop->n_blocks; k++) {
        const CfgBlock *b = &g->blocks[s->l->loop->blocks[k]];
        for (uint32_t n = 0; n < b->n_succs; n++) {
            if (cfg_in_loop(s->l->loop, g, b->succs[n]))
                continue;
            if ((exit != NONE && exit != b->succs[n]) || !g->blocks[b->succs[n]].block)
                return;
            exit = b->succs[n];
        }
    }
    if (exit == NONE)
        return;
    for (uint32_t k = 0; k < g->blocks[exit].n_preds; k++) {
        uint32_t p = g->blocks[exit].preds[k];
        if (!cfg_in_loop(s->l->loop, g, p))
            return;
        vec_push(s->l->c->scratch, &s->from, g->blocks[p].block);
    }
    s->exit = g->blocks[exit].block;
}

static bool leaves_by_phi(const Closer *s, const SpvInst *value)
{
    const Cfg *g = s->l->g;
    if (!s->exit || s->from.len > 1000)
        return false;
    for (uint32_t k = 0; k < s->from.len; k++)
        if (!cfg_dominates(g, g->position[value->block->index],
                           g->position[s->from.data[k]->index]))
            return false;
    return true;
}

static void close_by_phi(Closer *s, SpvInst *value, const Uses *uses)
{
    uint32_t *operands = NEW_ARRAY(s->l->c->scratch, uint32_t, s->from.len * 2);
    for (uint32_t k = 0; k < s->from.len; k++) {
        operands[2 * k] = value->id;
        operands[2 * k + 1] = s->from.data[k]->id;
    }
    SpvInst *phi =
        spv_make(s->m, SpvOpPhi, value->type, spv_new_id(s->m), operands, s->from.len * 2);
    spv_insert_after(s->exit->insts.first, phi);
    for (uint32_t k = 0; k < uses->len; k++)
        uses->data[k].inst->words[uses->data[k].word] = phi->id;
}

static void close_by_variable(Closer *s, SpvInst *value, const Uses *uses)
{
    SpvId type = spv_pointer_type(s->m, SpvStorageClassFunction, value->type);
    uint32_t function = SpvStorageClassFunction;
    SpvInst *var = spv_make(s->m, SpvOpVariable, type, spv_new_id(s->m), &function, 1);
    spv_insert_after(s->l->g->function->first->insts.first, var);
    SpvInst *at = value->op == SpvOpPhi ? edit_after_phis(value->block) : value->next;
    spv_insert_before(at, spv_make(s->m, SpvOpStore, 0, 0, (uint32_t[]){ var->id, value->id }, 2));
    for (uint32_t k = 0; k < uses->len; k++) {
        Use u = uses->data[k];
        SpvInst *before = u.inst;
        if (u.inst->op == SpvOpPhi) {
            SpvBlock *from = place_of_use(s->m, u.inst, u.word);
            before = cfg_merge_inst(from) ? cfg_merge_inst(from) : from->insts.last;
        } else if (u.inst->prev && cfg_merge_inst(u.inst->block) == u.inst->prev) {
            before = u.inst->prev; /* nothing comes between a merge and its terminator */
        }
        SpvInst *load = spv_make(s->m, SpvOpLoad, value->type, spv_new_id(s->m), &var->id, 1);
        spv_insert_before(before, load);
        u.inst->words[u.word] = load->id;
    }
}

bool loop_close_values(PassLoopCopy *l)
{
    Closer s = { .l = l, .m = l->c->module };
    find_exit(&s);
    find_uses(&s);
    for (uint32_t k = 0; k < s.values.len; k++) {
        const SpvType *t = spv_type(s.m, s.values.data[k]->type);
        if (!t || t->kind == SPV_POINTER)
            return false;
    }
    for (uint32_t k = 0; k < s.values.len; k++) {
        if (leaves_by_phi(&s, s.values.data[k]))
            close_by_phi(&s, s.values.data[k], &s.uses.data[k]);
        else
            close_by_variable(&s, s.values.data[k], &s.uses.data[k]);
    }
    return true;
}

/* ---- copying --------------------------------------------------------------------------------- */

SpvId loop_mapped(const PassLoopCopy *l, SpvId id)
{
    return id < l->marks->n_map && l->marks->map[id] ? l->marks->map[id] : id;
}

void loop_done(PassLoopCopy *l)
{
    for (uint32_t k = 0; k < l->blocks.len; k++)
        for (SpvInst *i = l->blocks.data[k]->insts.first; i; i = i->next)
            if (i->id < l->marks->n_map)
                l->marks->map[i->id] = 0;
}

static void copy_insts(PassLoopCopy *l, const SpvBlock *b, PassIdWords *ids)
{
    const SpvId *map = l->marks->map;
    SpvModule *m = l->c->module;
    SpvBlock *to = edit_block(m, map[b->id]);
    for (SpvInst *i = b->insts.first->next; i; i = i->next) {
        if (b == l->header && (i->op == SpvOpPhi || i->op == SpvOpLoopMerge))
            continue;
        SpvInst *c = spv_clone_inst(m, i);
        if (c->id) {
            c->id = c->words[c->first_operand - 1] = map[i->id];
            m->defs[c->id] = c;
        }
        edit_ids(c, ids);
        for (uint32_t k = 0; k < ids->n; k++)
            c->words[ids->at[k]] = loop_mapped(l, c->words[ids->at[k]]);
        spv_append(to, c);
    }
}

/* The copy of an edge out of the loop: the phis there get the copies of its operands. */
static void copy_exits(PassLoopCopy *l, const SpvBlock *b)
{
    SpvModule *m = l->c->module;
    uint32_t at, before;
    for (uint32_t k = 0; (at = cfg_target(b->insts.last, k)) != 0; k++) {
        SpvBlock *t = edit_block(m, b->insts.last->words[at]);
        bool again = false;
        for (uint32_t n = 0; n < k && (before = cfg_target(b->insts.last, n)) != 0; n++)
            again |= b->insts.last->words[before] == b->insts.last->words[at];
        if (!t || again || loop_holds(l, t))
            continue;
        for (SpvInst *i = t->insts.first->next; i && i->op == SpvOpPhi; i = i->next) {
            SpvId value = loop_incoming(i, b->id);
            if (value)
                edit_add_incoming(m, i, loop_mapped(l, value), l->marks->map[b->id]);
        }
    }
}

/* Decorations of a value apply to its copies too; there are few of them. */
static void copy_loop_decorations(PassLoopCopy *l)
{
    const SpvId *map = l->marks->map;
    SpvModule *m = l->c->module;
    for (SpvInst *i = m->globals.first; i; i = i->next) {
        if ((i->op != SpvOpDecorate && i->op != SpvOpDecorateId) ||
            spv_operand(i, 1) == SpvDecorationRelaxedPrecision)
            continue;
        SpvId target = spv_operand(i, 0);
        SpvInst *d = target < l->marks->n_map && map[target] ? spv_def(m, target) : NULL;
        if (!d || !d->block || !loop_holds(l, d->block))
            continue;
        SpvInst *c = spv_clone_inst(m, i);
        c->words[c->first_operand] = map[target];
        spv_insert_before(i, c);
    }
}

SpvBlock *loop_copy(PassLoopCopy *l, SpvBlock *after)
{
    SpvId *map = l->marks->map;
    SpvModule *m = l->c->module;
    PassIdWords *ids = NEW(l->c->scratch, PassIdWords);
    for (uint32_t k = 0; k < l->blocks.len; k++) {
        SpvBlock *b = l->blocks.data[k];
        after = spv_new_block(l->g->function, after);
        after->index = l->g->made_later;
        map[b->id] = after->id;
        for (SpvInst *i = b->insts.first->next; i; i = i->next)
            if (i->id && !(b == l->header && i->op == SpvOpPhi))
                map[i->id] = spv_new_id(m);
    }
    for (uint32_t k = 0; k < l->blocks.len; k++)
        copy_insts(l, l->blocks.data[k], ids);
    for (uint32_t k = 0; k < l->blocks.len; k++)
        copy_exits(l, l->blocks.data[k]);
    copy_loop_decorations(l);
    return after;
}

uint32_t loop_detour(const PassLoopCopy *l, uint32_t p, PassDetour *d)
{
    const CfgBlock *blocks = l->g->blocks, *b = &blocks[p];
    const SpvInst *term = b->block->insts.last;
    if (term->op != SpvOpBranchConditional || b->n_succs != 2)
        return UINT32_MAX;
    for (uint32_t way = 0; way < 2; way++) {
        uint32_t q = b->succs[way], join = b->succs[!way];
        *d = (PassDetour){ q, 0, spv_operand(term, 1) == blocks[q].block->id };
        for (; q != join && blocks[q].n_succs == 1 && blocks[q].n_preds == 1; d->n++)
            q = blocks[q].succs[0];
        if (q == join && q != l->loop->header && blocks[q].n_preds == 2 &&
            cfg_in_loop(l->loop, l->g, d->first) && cfg_in_loop(l->loop, l->g, q))
            return join;
    }
    return UINT32_MAX;
}
