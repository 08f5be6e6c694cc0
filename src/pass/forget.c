/* SPDX-License-Identifier: MIT
 *
 * forget: what nobody loads from any more. In: variables of workgroup memory that were copied to
 * (copies.c), and whose loads are gone. Out: no variables, no copies, no loops that did nothing
 * else, and no barriers that nothing else waits at.
 */
#include "pass/edit.h"

typedef struct Forgetter {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    PassIdWords ids;
} Forgetter;

/* ---- loops of nothing ------------------------------------------------------------------------ */

static bool is_idle(const SpvInst *i)
{
    return spv_is_pure(i) || spv_is_chain(i) || i->op == SpvOpLabel || i->op == SpvOpPhi ||
           i->op == SpvOpLoopMerge || i->op == SpvOpBranch || i->op == SpvOpBranchConditional ||
           i->op == SpvOpSelectionMerge || i->op == SpvOpLoad;
}

/* Nothing is done in the loop, and nobody wants what it computes. */
static bool loop_is_idle(Forgetter *s, const CfgLoop *loop)
{
    for (uint32_t p = 0; p + 1 < s->g->n; p++) {
        bool inside = cfg_in_loop(loop, s->g, p);
        for (const SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next) {
            if (inside && !is_idle(i))
                return false;
            edit_ids(i, &s->ids);
            for (uint32_t k = 0; !inside && k < s->ids.n; k++) {
                const SpvInst *d = spv_def(s->m, i->words[s->ids.at[k]]);
                if (d && d->block && d->op != SpvOpLabel &&
                    cfg_in_loop(loop, s->g, s->g->position[d->block->index]))
                    return false;
            }
        }
    }
    return true;
}

/* The block that a loop is left from: its header, or its end. */
static uint32_t exit_of(const Forgetter *s, const CfgLoop *loop)
{
    const CfgBlock *b = &s->g->blocks[loop->header];
    for (uint32_t k = 0; k < b->n_succs; k++)
        if (!cfg_in_loop(loop, s->g, b->succs[k]))
            return loop->header;
    return loop->latch;
}

static void remove_loop(Forgetter *s, const SpvBlock *header)
{
    uint32_t at = s->g->position[header->index];
    const CfgLoop *loop = at < s->g->n ? s->g->blocks[at].loop : NULL;
    if (!loop || loop->header != at || loop->latch == UINT32_MAX)
        return; /* done, if two tiles were copied in it */
    SpvBlock *b = s->g->blocks[exit_of(s, loop)].block;
    SpvInst *merge = cfg_merge_inst(header);
    if (b->insts.last->op != SpvOpBranchConditional || !loop_is_idle(s, loop))
        return;
    const SpvBlock *then = edit_block(s->m, spv_operand(b->insts.last, 1));
    bool stays = cfg_in_loop(loop, s->g, s->g->position[then->index]);
    if (merge && b != header)
        edit_remove(s->m, merge);
    loop_decide_exit(s->m, b, !stays, true);
}

/* ---- barriers -------------------------------------------------------------------------------- */

static bool orders_workgroup_memory_only(const Forgetter *s, const SpvInst *i)
{
    const uint32_t others = SpvMemorySemanticsUniformMemoryMask |
                            SpvMemorySemanticsCrossWorkgroupMemoryMask |
                            SpvMemorySemanticsAtomicCounterMemoryMask |
                            SpvMemorySemanticsImageMemoryMask | SpvMemorySemanticsOutputMemoryMask;
    uint64_t semantics;
    bool control = i->op == SpvOpControlBarrier;
    return (control || i->op == SpvOpMemoryBarrier) &&
           spv_constant(s->m, spv_operand(i, control ? 2 : 1), &semantics) && !(semantics & others);
}

/* Whether an instruction has anything to do with workgroup memory, or with who waits for whom. */
static bool communicates(const Forgetter *s, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    if (orders_workgroup_memory_only(s, i))
        return false;
    if (!info || info->flags & (SPV_OPF_ATOMIC | SPV_OPF_BARRIER) || i->op == SpvOpFunctionCall)
        return true;
    if (!(info->flags & SPV_OPF_MEMORY) || !spv_n_operands(i))
        return false;
    const SpvInst *root = pointer_root(s->m, spv_operand(i, 0));
    bool known = root && (root->op == SpvOpVariable || root->op == SpvOpFunctionParameter);
    return !known || spv_type(s->m, root->type)->storage == SpvStorageClassWorkgroup;
}

/* The pointer that an instruction reads through; 0: it reads nothing. */
static SpvId read_pointer(const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    switch (i->op) {
    case SpvOpLoad:
    case SpvOpCooperativeMatrixLoadKHR:
    case SpvOpCooperativeMatrixLoadTensorNV: return spv_operand(i, 0);
    case SpvOpCopyMemory:
    case SpvOpCopyMemorySized: return spv_operand(i, 1);
    default:
        return info && info->flags & SPV_OPF_ATOMIC && spv_n_operands(i) ? spv_operand(i, 0) : 0;
    }
}

/* Whether invocations both read and write some buffer. Programs let barriers of workgroup memory
 * alone order that. */
static bool reads_what_it_writes(const Forgetter *s)
{
    enum { READ = 1, WRITTEN = 2 };
    uint8_t *done = NEW_ARRAY(s->c->scratch, uint8_t, s->m->bound);
    bool both = false, read_any = false, written = false;
    for (SpvFunction *f = s->m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next) {
                SpvId pointer = read_pointer(i), to = written_root(s->m, i);
                const SpvInst *from = pointer ? pointer_root(s->m, pointer) : NULL;
                if (to == UINT32_MAX)
                    return true;
                done[to] |= WRITTEN;
                written |= to;
                both |= to && done[to] & READ;
                if (!from)
                    continue;
                bool known = from->op == SpvOpVariable || from->op == SpvOpFunctionParameter;
                read_any |=
                    !known && spv_type(s->m, from->type)->storage != SpvStorageClassFunction;
                done[from->id] |= READ;
                both |= done[from->id] & WRITTEN;
            }
    return both || (read_any && written);
}

static bool block_communicates(const Forgetter *s, const SpvBlock *b)
{
    const SpvInst *i = b->insts.first;
    while (i && !communicates(s, i))
        i = i->next;
    return i;
}

static bool others_communicate(const Forgetter *s)
{
    for (const SpvFunction *f = s->m->functions; f; f = f->next)
        for (const SpvBlock *b = f == s->g->function ? NULL : f->first; b; b = b->next)
            if (block_communicates(s, b))
                return true;
    return false;
}

/* By position: 1 = a way leads there from the end of a block that communicates, or (backwards) from
 * there to the beginning of one. */
static uint8_t *find_ways(const Forgetter *s, bool backwards)
{
    uint8_t *led = NEW_ARRAY(s->c->scratch, uint8_t, s->g->n);
    VEC(uint32_t) work = { 0 };
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        if (block_communicates(s, s->g->blocks[p].block))
            vec_push(s->c->scratch, &work, p);
    while (work.len) {
        const CfgBlock *b = &s->g->blocks[work.data[--work.len]];
        for (uint32_t k = 0; k < (backwards ? b->n_preds : b->n_succs); k++) {
            uint32_t to = backwards ? b->preds[k] : b->succs[k];
            if (!led[to]) {
                led[to] = 1;
                vec_push(s->c->scratch, &work, to);
            }
        }
    }
    return led;
}

/* What nobody communicates before it, or behind it. */
static void remove_barriers(Forgetter *s)
{
    VEC(SpvInst *) barriers = { 0 };
    if (reads_what_it_writes(s) || others_communicate(s))
        return;
    const uint8_t *before = find_ways(s, false), *behind = find_ways(s, true);
    for (uint32_t p = 0; p + 1 < s->g->n; p++) {
        bool had = before[p];
        for (SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next) {
            had |= communicates(s, i);
            if (!orders_workgroup_memory_only(s, i))
                continue;
            const SpvInst *next = i;
            while (next && !communicates(s, next))
                next = next->next;
            if (!had || (!next && !behind[p]))
                vec_push(s->c->scratch, &barriers, i);
        }
    }
    for (uint32_t k = 0; k < barriers.len; k++)
        edit_remove(s->m, barriers.data[k]);
}

/* ---------------------------------------------------------------------------------------------- */

bool copies_forget(PassContext *c, const Cfg *g, PassTile *const *tiles, uint32_t n)
{
    VEC(SpvBlock *) headers = { 0 };
    Forgetter *s = NEW(c->scratch, Forgetter);
    *s = (Forgetter){ .c = c, .m = c->module };
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t j = 0; j < tiles[k]->copies.len; j++) {
            const PassNest *nest = &tiles[k]->copies.data[j].nest;
            edit_remove(s->m, tiles[k]->copies.data[j].store);
            for (uint32_t n = nest->n; n--;) /* inner loops first */
                vec_push(c->scratch, &headers, g->blocks[nest->loops[n].loop->header].block);
        }
        edit_remove(s->m, tiles[k]->variable);
    }
    spv_number_blocks(c->entry.function);
    s->g = cfg_build(c->scratch, c->entry.function, c->sink);
    if (!s->g)
        return false;
    for (uint32_t k = 0; k < headers.len; k++)
        remove_loop(s, headers.data[k]);
    remove_barriers(s);
    edit_sweep(s->m, c->scratch);
    return true;
}
