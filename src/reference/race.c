/* SPDX-License-Identifier: MIT
 *
 * Data races: two accesses of different invocations to the same bytes, one of them a write, not
 * both atomic, with no happens-before between them.
 *
 * Each word of shared memory keeps its last write and two reads (of two invocations where they
 * differ), each with the time of its invocation and the barrier epochs it was made in. Barriers
 * advance the epoch of their workgroup or subgroup for the storage classes they order; releases and
 * acquires through atomics carry sparse clocks of invocations' times and epochs (FastTrack's idea,
 * with epochs for the common case). Clocks that grow too long count as knowing everything, so a
 * race may be missed, but none is invented.
 */
#include "reference/machine.h"

enum { WORDS = 256, MAX_CLOCK = 4096, MATRIX_UNIT = 0x8000 };
enum { KEY_LANE, KEY_GROUP, KEY_SUBGROUP };

typedef struct Record {
    uint32_t group;       /* its number + 1; 0: none */
    uint16_t lane;        /* in the workgroup, or MATRIX_UNIT | subgroup */
    uint8_t mask, atomic; /* 1 + its scope */
    uint32_t time, group_epoch, subgroup_epoch, inst;
} Record;
typedef struct Cell {
    Record write, read[2];
} Cell;
typedef struct SyncVar {
    RClock clock;
    uint32_t scope, group, subgroup;
} SyncVar;

typedef struct RRaces {
    Map pages, syncs;
    uint64_t last_key;
    Cell *last;
    uint64_t bytes;
    bool unordered_barrier; /* some barrier did not order buffers */
} RRaces;

#define PAGE_BUDGET (768ull << 20)

/* ---- clocks ---------------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t kind, uint32_t class, uint64_t group, uint32_t index)
{
    return (uint64_t)kind << 62 | (uint64_t)class << 61 | (group & 0xffffffff) << 16 | index;
}

static void clock_put(RMachine *m, RClock *c, uint64_t key, uint32_t time)
{
    for (uint32_t k = 0; k < c->len; k++)
        if (c->keys[k] == key) {
            c->times[k] = MAX(c->times[k], time);
            return;
        }
    if (c->len >= MAX_CLOCK) {
        c->all = true;
        return;
    }
    if (c->len == c->cap) {
        uint32_t cap = c->cap ? c->cap * 2 : 8;
        uint64_t *keys = NEW_ARRAY(m->arena, uint64_t, cap);
        uint32_t *times = NEW_ARRAY(m->arena, uint32_t, cap);
        if (c->len) {
            memcpy(keys, c->keys, c->len * sizeof(*keys));
            memcpy(times, c->times, c->len * sizeof(*times));
        }
        c->keys = keys;
        c->times = times;
        c->cap = cap;
    }
    c->keys[c->len] = key;
    c->times[c->len++] = time;
}

static bool clock_knows(const RClock *c, uint64_t key, uint32_t at_least)
{
    if (c->all)
        return true;
    for (uint32_t k = 0; k < c->len; k++)
        if (c->keys[k] == key)
            return c->times[k] >= at_least;
    return false;
}

static void clock_merge(RMachine *m, RClock *to, const RClock *from)
{
    to->all |= from->all;
    for (uint32_t k = 0; k < from->len && !to->all; k++)
        clock_put(m, to, from->keys[k], from->times[k]);
}

static uint32_t epoch_now(const REpochs *e, uint32_t class)
{
    return e->known[class] + e->split[class];
}

/* ---- accesses -------------------------------------------------------------------------------- */

static Cell *cells_at(RMachine *m, uint64_t address)
{
    RRaces *r = m->race;
    uint64_t key = address / (4 * WORDS), page;
    if (r->last && r->last_key == key)
        return r->last;
    if (!map_get(&r->pages, key, &page)) {
        if (r->bytes > PAGE_BUDGET)
            return NULL;
        r->bytes += WORDS * sizeof(Cell);
        page = (uint64_t)(uintptr_t)NEW_ARRAY(m->arena, Cell, WORDS);
        map_put(m->arena, &r->pages, key, page);
    }
    r->last_key = key;
    r->last = (Cell *)(uintptr_t)page;
    return r->last;
}

static bool ordered(const RMachine *m, const RInv *v, const Record *x, uint32_t class,
                    uint32_t self)
{
    const RClock *know = &v->order.know;
    uint64_t group = x->group - 1;
    uint32_t subgroup = x->lane & MATRIX_UNIT ? x->lane & 0x7fffu : x->lane / m->width;
    if (group == m->group_number) {
        if (x->lane == self || x->group_epoch < m->epochs.known[class])
            return true;
        if (subgroup == v->subgroup &&
            x->subgroup_epoch < m->subgroups[subgroup].epochs.known[class])
            return true;
    }
    return (know->len || know->all) &&
           (clock_knows(know, key_of(KEY_LANE, 0, group, x->lane), x->time) ||
            clock_knows(know, key_of(KEY_GROUP, class, group, 0), x->group_epoch + 1) ||
            clock_knows(know, key_of(KEY_SUBGROUP, class, group, subgroup), x->subgroup_epoch + 1));
}

/* Whether an invocation is in another one's instance of a scope. */
static bool in_scope(const RMachine *m, const RInv *v, uint64_t group, uint32_t subgroup,
                     uint32_t scope)
{
    switch (scope) {
    case SpvScopeInvocation: return false;
    case SpvScopeSubgroup: return group == m->group_number && subgroup == v->subgroup;
    case SpvScopeWorkgroup: return group == m->group_number;
    default: return true;
    }
}

static bool touches_to_write(const RTouched *t)
{
    return t->kind == ACCESS_WRITE || t->kind == ACCESS_ATOMIC;
}

static bool touches_atomically(const RTouched *t)
{
    return t->kind == ACCESS_ATOMIC || t->kind == ACCESS_ATOMIC_READ;
}

/* Workgroups are numbered as they run: x first. */
static const char *group_text(const RMachine *m, uint64_t number)
{
    const uint32_t *n = m->d->groups, *base = m->d->base_group;
    return arena_printf(m->arena, "(%u, %u, %u)", base[0] + (uint32_t)(number % n[0]),
                        base[1] + (uint32_t)(number / n[0] % n[1]),
                        base[2] + (uint32_t)(number / n[0] / n[1]));
}

/* Reports that `t` conflicts with `x`, which is a write or a read. */
static void report_race(RMachine *m, RInv *v, const RInst *i, const RTouched *t, const Record *x,
                        bool x_writes)
{
    const char *who, *line = "", *hint = "";
    const RInst *other = &m->code.data[x->inst];
    /* A pair of accesses counts as one race, whichever comes second. */
    if (found_again(m, i, REF_RACE) || found_again(m, other, REF_RACE))
        return;
    uint32_t l = x->lane, w = m->local_size[0], h = m->local_size[1];
    who = l & MATRIX_UNIT
              ? arena_printf(m->arena, "subgroup %u", l & 0x7fffu)
              : arena_printf(m->arena, "invocation (%u, %u, %u)", l % w, l / w % h, l / w / h);
    if (x->group - 1 != m->group_number)
        who = arena_printf(m->arena, "%s of workgroup %s", who, group_text(m, x->group - 1));
    if (touches_atomically(t) && x->atomic)
        hint = "; both are atomic, in scopes that do not hold the other invocation";
    else if (t->object->storage != SpvStorageClassWorkgroup && x->group - 1 == m->group_number &&
             m->race->unordered_barrier)
        hint = "; a barrier between them did not order buffer memory";
    DiagLoc at = spv_loc(m->arena, m->module, other->src);
    if (at.line)
        line = arena_printf(m->arena, " (line %u)", at.line);
    const char *name = name_of(m, t->object->variable);
    found(m, v, i, REF_RACE, "%s of '%s' races with the %s by %s at instruction %u%s%s",
          touches_to_write(t) ? "write" : "read", name, x_writes ? "write" : "read", who,
          other->src->index, line, hint);
}

static bool conflict(RMachine *m, RInv *v, const Record *x, const Record *now, uint32_t class,
                     bool shared)
{
    if (!x->group || !(x->mask & now->mask))
        return false;
    uint64_t group = x->group - 1;
    if (x->atomic && now->atomic && in_scope(m, v, group, x->lane / m->width, x->atomic - 1) &&
        in_scope(m, v, group, x->lane / m->width, now->atomic - 1))
        return false;
    if (shared && x->group - 1 != m->group_number)
        return false; /* workgroup memory of a finished workgroup */
    return !ordered(m, v, x, class, now->lane);
}

void race_access(RMachine *m, RInv *v, const RInst *i, const RTouched *t)
{
    bool shared = t->object->storage == SpvStorageClassWorkgroup;
    uint32_t class = shared ? RACE_SHARED : RACE_GLOBAL;
    uint32_t self = m->by_matrix ? MATRIX_UNIT | v->subgroup : v->index;
    uint64_t from = (uint64_t)(uintptr_t)t->object->data + t->offset, to = from + t->size;
    Record now = {
        .group = (uint32_t)m->group_number + 1,
        .lane = (uint16_t)self,
        .atomic = (uint8_t)(touches_atomically(t) ? 1 + atomic_scope(i) : 0),
        .time = v->order.time,
        .group_epoch = epoch_now(&m->epochs, class),
        .subgroup_epoch = epoch_now(&m->subgroups[v->subgroup].epochs, class),
        .inst = i->number,
    };
    for (uint64_t word = from & ~3ull; word < to; word += 4) {
        Cell *page = cells_at(m, word);
        if (!page)
            return;
        Cell *c = &page[word / 4 % WORDS];
        uint32_t first = word < from ? (uint32_t)(from - word) : 0;
        uint32_t last = to - word < 4 ? (uint32_t)(to - word) : 4;
        now.mask = (uint8_t)((0xf << first) & (0xf >> (4 - last)));
        if (conflict(m, v, &c->write, &now, class, shared))
            report_race(m, v, i, t, &c->write, true);
        for (int k = 0; k < 2 && touches_to_write(t); k++)
            if (conflict(m, v, &c->read[k], &now, class, shared))
                report_race(m, v, i, t, &c->read[k], false);
        if (touches_to_write(t)) {
            c->write = now;
            memset(c->read, 0, sizeof(c->read));
        } else {
            const Record *r = &c->read[0];
            bool replace = !r->group || (r->lane == now.lane && r->group == now.group) ||
                           ordered(m, v, r, class, self);
            c->read[replace ? 0 : 1] = now;
        }
    }
}

/* ---- synchronisation ------------------------------------------------------------------------- */

void race_new_group(RMachine *m)
{
    if (!m->race)
        m->race = NEW(m->arena, RRaces);
    m->epochs = (REpochs){ 0 };
    for (uint32_t k = 0; k < m->n_subgroups; k++)
        m->subgroups[k].epochs = (REpochs){ 0 };
    for (uint32_t k = 0; k < m->n_inv; k++) {
        ROrder *o = &m->inv[k].order;
        o->time = 1;
        o->fence_time = o->fenced = 0;
        o->know.len = o->pending.len = 0;
        o->know.all = o->pending.all = false;
    }
}

static SyncVar *sync_at(RMachine *m, const RObject *o, uint64_t offset, bool make)
{
    uint64_t key = (uint64_t)(uintptr_t)o->data + offset, at;
    if (o->storage == SpvStorageClassWorkgroup)
        key ^= (m->group_number + 1) << 48; /* anew in each workgroup */
    if (map_get(&m->race->syncs, key, &at))
        return (SyncVar *)(uintptr_t)at;
    if (!make)
        return NULL;
    SyncVar *s = NEW(m->arena, SyncVar);
    map_put(m->arena, &m->race->syncs, key, (uint64_t)(uintptr_t)s);
    return s;
}

void race_release(RMachine *m, RInv *v, const RObject *o, uint64_t offset, uint32_t scope,
                  bool fenced)
{
    ROrder *r = &v->order;
    if (!checking(m, REF_RACE) || !o || (fenced && !r->fence_time))
        return;
    SyncVar *s = sync_at(m, o, offset, true);
    clock_merge(m, &s->clock, &r->know);
    clock_put(m, &s->clock, key_of(KEY_LANE, 0, m->group_number, v->index),
              fenced ? r->fence_time : r->time);
    for (uint32_t c = 0; c < RACE_N_CLASSES; c++) {
        uint32_t e = m->epochs.known[c], g = m->subgroups[v->subgroup].epochs.known[c];
        if (e)
            clock_put(m, &s->clock, key_of(KEY_GROUP, c, m->group_number, 0), e);
        if (g)
            clock_put(m, &s->clock, key_of(KEY_SUBGROUP, c, m->group_number, v->subgroup), g);
    }
    s->scope = scope;
    s->group = (uint32_t)m->group_number;
    s->subgroup = v->subgroup;
    if (!fenced)
        r->time++;
}

void race_acquire(RMachine *m, RInv *v, const RObject *o, uint64_t offset, uint32_t scope, bool now)
{
    if (!checking(m, REF_RACE) || !o)
        return;
    const SyncVar *s = sync_at(m, o, offset, false);
    if (s && in_scope(m, v, s->group, s->subgroup, scope) &&
        in_scope(m, v, s->group, s->subgroup, s->scope))
        clock_merge(m, now ? &v->order.know : &v->order.pending, &s->clock);
}

void race_fence(RMachine *m, RInv *v, uint32_t scope, uint32_t semantics)
{
    ROrder *r = &v->order;
    uint32_t both =
        SpvMemorySemanticsAcquireReleaseMask | SpvMemorySemanticsSequentiallyConsistentMask;
    if (!checking(m, REF_RACE) || scope == SpvScopeInvocation)
        return;
    if (semantics & (both | SpvMemorySemanticsReleaseMask)) {
        r->fence_time = r->time++;
        r->fenced |= semantics;
    }
    if (semantics & (both | SpvMemorySemanticsAcquireMask)) {
        clock_merge(m, &r->know, &r->pending);
        r->pending.len = 0;
    }
}

/* Advances the epoch of a class of memory that a barrier orders. Accesses after the arrival at a
 * split barrier belong to a later epoch, which only another barrier makes known. */
static void pass_barrier(REpochs *e, uint32_t class, uint16_t op)
{
    if (op == SpvOpControlBarrierArriveEXT) {
        e->split[class]++;
        return;
    }
    e->known[class] += e->split[class] + (op != SpvOpControlBarrierWaitEXT);
    e->split[class] = 0;
}

void race_barrier(RMachine *m, RInv **set, uint32_t n, const RInst *i, uint32_t semantics)
{
    uint32_t order = SpvMemorySemanticsAcquireMask | SpvMemorySemanticsReleaseMask |
                     SpvMemorySemanticsAcquireReleaseMask |
                     SpvMemorySemanticsSequentiallyConsistentMask;
    uint32_t global =
        SpvMemorySemanticsUniformMemoryMask | SpvMemorySemanticsCrossWorkgroupMemoryMask;
    uint32_t fenced = UINT32_MAX, orders = semantics & order ? semantics : 0;
    bool any = false, wait = i->op == SpvOpControlBarrierWaitEXT;
    if (!checking(m, REF_RACE))
        return;
    for (uint32_t k = 0; k < n; k++) {
        fenced &= set[k]->order.fenced;
        if (!wait) /* which releases nothing */
            set[k]->order.fenced = 0;
        any |= set[k]->order.know.len || set[k]->order.know.all;
    }
    /* to wait acquires what was released on arrival */
    orders = wait ? UINT32_MAX : orders | fenced;
    REpochs *e =
        i->scope == SpvScopeWorkgroup ? &m->epochs : &m->subgroups[set[0]->subgroup].epochs;
    if (orders & global)
        pass_barrier(e, RACE_GLOBAL, i->op);
    else
        m->race->unordered_barrier = true;
    if (orders & SpvMemorySemanticsWorkgroupMemoryMask)
        pass_barrier(e, RACE_SHARED, i->op);
    if (orders && !wait)
        e->brought = (RClock){ 0 };
    for (uint32_t k = 0; k < n && any && orders && !wait; k++)
        clock_merge(m, &e->brought, &set[k]->order.know);
    for (uint32_t k = 0; k < n && orders && i->op != SpvOpControlBarrierArriveEXT; k++)
        clock_merge(m, &set[k]->order.know, &e->brought);
}
