/* SPDX-License-Identifier: MIT
 *
 * Decorations by target. The index chains, for each id, its annotations and the groups that it
 * belongs to, in module order; groups are followed when asked, not expanded, so that the index is
 * never larger than the module. Built when first asked; spv_forget_types drops it.
 */
#include "spirv/internal.h"

typedef struct DecorationEntry {
    SpvAnnotation a; /* a.inst NULL: membership in the group `group`, as a.member */
    SpvId group;
    uint32_t next; /* index + 1 of the target's next entry */
} DecorationEntry;

struct SpvDecorations {
    uint32_t n_ids;
    uint32_t *first, *last; /* by id, index + 1 */
    VEC(DecorationEntry) entries;
};

static void add_decoration(SpvModule *m, struct SpvDecorations *d, SpvId target, DecorationEntry e)
{
    if (target >= d->n_ids)
        return;
    vec_push(m->arena, &d->entries, e);
    if (d->first[target])
        d->entries.data[d->last[target] - 1].next = d->entries.len;
    else
        d->first[target] = d->entries.len;
    d->last[target] = d->entries.len;
}

static void add_decorate(SpvModule *m, struct SpvDecorations *d, const SpvInst *i, bool member)
{
    const uint32_t *w = i->words + i->first_operand;
    uint32_t skip = member ? 3 : 2;
    DecorationEntry e = { .a = { .inst = i,
                                 .member = member ? (int32_t)w[1] : -1,
                                 .decoration = w[skip - 1],
                                 .n = spv_n_operands(i) - skip,
                                 .literals = w + skip } };
    add_decoration(m, d, w[0], e);
}

static void add_group(SpvModule *m, struct SpvDecorations *d, const SpvInst *i, bool member)
{
    uint32_t step = member ? 2 : 1;
    for (uint32_t k = 1; k + step <= spv_n_operands(i); k += step) {
        int32_t at = member ? (int32_t)spv_operand(i, k + 1) : -1;
        DecorationEntry e = { .a = { .member = at }, .group = spv_operand(i, 0) };
        add_decoration(m, d, spv_operand(i, k), e);
    }
}

static struct SpvDecorations *decorations(SpvModule *m)
{
    struct SpvDecorations *d = m->decorations;
    if (d)
        return d;
    d = NEW(m->arena, struct SpvDecorations);
    d->n_ids = m->bound;
    d->first = NEW_ARRAY(m->arena, uint32_t, m->bound);
    d->last = NEW_ARRAY(m->arena, uint32_t, m->bound);
    for (const SpvInst *i = m->globals.first; i; i = i->next) {
        switch (i->op) {
        case SpvOpDecorate:
        case SpvOpDecorateId:
        case SpvOpDecorateString: add_decorate(m, d, i, false); break;
        case SpvOpMemberDecorate:
        case SpvOpMemberDecorateString:
        case SpvOpMemberDecorateIdEXT: add_decorate(m, d, i, true); break;
        case SpvOpGroupDecorate: add_group(m, d, i, false); break;
        case SpvOpGroupMemberDecorate: add_group(m, d, i, true); break;
        default: break;
        }
    }
    return m->decorations = d;
}

static const DecorationEntry *first_entry(const struct SpvDecorations *d, SpvId id)
{
    return id < d->n_ids && d->first[id] ? &d->entries.data[d->first[id] - 1] : NULL;
}

static const DecorationEntry *next_entry(const struct SpvDecorations *d, const DecorationEntry *e)
{
    return e->next ? &d->entries.data[e->next - 1] : NULL;
}

void spv_each_annotation(SpvModule *m, SpvId id, void (*visit)(void *user, const SpvAnnotation *a),
                         void *user)
{
    const struct SpvDecorations *d = decorations(m);
    for (const DecorationEntry *e = first_entry(d, id); e; e = next_entry(d, e)) {
        if (e->a.inst) {
            visit(user, &e->a);
            continue;
        }
        for (const DecorationEntry *g = first_entry(d, e->group); g; g = next_entry(d, g)) {
            if (!g->a.inst || g->a.member >= 0)
                continue;
            SpvAnnotation a = g->a;
            a.member = e->a.member;
            visit(user, &a);
        }
    }
}

typedef struct DecorationSearch {
    int32_t member;
    uint32_t decoration;
    bool found;
    SpvAnnotation a;
} DecorationSearch;

static void search(void *user, const SpvAnnotation *a)
{
    DecorationSearch *s = user;
    if (s->found || a->member != s->member || a->decoration != s->decoration)
        return;
    s->found = true;
    s->a = *a;
}

const uint32_t *spv_decoration(SpvModule *m, SpvId id, int32_t member, uint32_t decoration,
                               uint32_t *n)
{
    DecorationSearch s = { .member = member, .decoration = decoration };
    spv_each_annotation(m, id, search, &s);
    if (n)
        *n = s.found ? s.a.n : 0;
    return s.found ? s.a.literals : NULL;
}

bool spv_has_decoration(SpvModule *m, SpvId id, int32_t member, uint32_t decoration)
{
    return spv_decoration(m, id, member, decoration, NULL) != NULL;
}
