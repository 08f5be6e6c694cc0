/* SPDX-License-Identifier: MIT
 *
 * What kinds of accesses subgroups make, for HeddleReport.accesses. Invocations run one by one
 * here, so what those of a subgroup do in one dynamic instance of an instruction is brought
 * together first; the addresses then say the kind, whatever the code looks like: one for all is a
 * scalar access, a row in the order of the lanes a vector, a row with lanes missing a masked one,
 * and everything else a gather or scatter.
 */
#include "reference/machine.h"

enum {
    BUCKETS = 1 << 10,
    MOST_OPEN = 1 << 18 /* where lanes never come: more are closed, as if they had not */
};

/* What an invocation touches by one instruction. */
typedef struct Span {
    uint64_t low, high, bytes;
} Span;

/* An instance that some lanes of a subgroup have come to. */
typedef struct Instance {
    struct Instance *next;
    uint64_t key;
    const RSubgroup *subgroup;
    uint32_t n, first_lane;
    uint64_t lanes[2]; /* a bit a lane */
    Span first;
    uint64_t bytes;
    bool same, row;
} Instance;

struct RAccesses {
    Instance *buckets[BUCKETS], *unused;
    uint32_t n_open;
    /* the invocation that is in the middle of an instruction */
    Instance *now;
    uint32_t lane;
    Span span;
};

/* Blocks are told by their first instructions, calls by where they return to, and iterations by the
 * counters of the loops around (flow_compare). */
static uint64_t key_of(const RMachine *m, const RInv *v, const RInst *i, bool writes)
{
    uint64_t key = i->number * 2ull + writes + ((uint64_t)v->subgroup << 40);
    for (uint32_t k = 0; k < v->n_frames; k++) {
        bool last = k + 1 == v->n_frames;
        uint32_t pc = last ? v->pc : v->frames[k + 1].return_pc - 1;
        uint32_t depth = m->code.data[pc].block->depth;
        key = hash_bytes(v->iters + v->frames[k].iters, depth * sizeof(uint32_t), key + pc);
    }
    return key;
}

static void count_instance(RMachine *m, const Instance *x)
{
    HeddleAccess kind = x->same                            ? HEDDLE_ACCESS_SCALAR
                        : x->row && x->n == x->subgroup->n ? HEDDLE_ACCESS_VECTOR
                        : x->row                           ? HEDDLE_ACCESS_MASKED
                                                           : HEDDLE_ACCESS_GATHER;
    m->counts.accesses[kind]++;
    m->counts.access_bytes[kind] += x->same ? x->first.bytes : x->bytes;
}

static void close_instance(RMachine *m, Instance *x)
{
    struct RAccesses *a = m->accesses;
    Instance **at = &a->buckets[x->key % BUCKETS];
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    count_instance(m, x);
    x->next = a->unused;
    a->unused = x;
    a->n_open--;
}

/* The invocation has gone on: its bytes join those of its subgroup. */
static void settle(RMachine *m)
{
    struct RAccesses *a = m->accesses;
    Instance *x = a->now;
    if (!x)
        return;
    const Span *s = &a->span;
    if (!x->n++) {
        x->first = *s;
        x->first_lane = a->lane;
        x->same = true;
        x->row = s->high - s->low == s->bytes;
    }
    x->same &= s->low == x->first.low && s->bytes == x->first.bytes;
    x->row &= s->bytes == x->first.bytes && s->high - s->low == s->bytes &&
              s->low - x->first.low == (a->lane - (uint64_t)x->first_lane) * s->bytes;
    x->bytes += s->bytes;
    x->lanes[a->lane / 64] |= 1ull << a->lane % 64;
    a->now = NULL;
    if (x->n == x->subgroup->n)
        close_instance(m, x);
}

static void close_all(RMachine *m)
{
    settle(m);
    for (uint32_t k = 0; k < BUCKETS; k++)
        while (m->accesses->buckets[k])
            close_instance(m, m->accesses->buckets[k]);
}

static Instance *open_instance(RMachine *m, const RInv *v, uint64_t key)
{
    struct RAccesses *a = m->accesses;
    if (a->n_open >= MOST_OPEN)
        close_all(m);
    Instance *x = a->unused;
    if (x)
        a->unused = x->next;
    else
        x = NEW(m->arena, Instance);
    *x = (Instance){ .next = a->buckets[key % BUCKETS],
                     .key = key,
                     .subgroup = &m->subgroups[v->subgroup] };
    a->buckets[key % BUCKETS] = x;
    a->n_open++;
    return x;
}

/* That of the key, unless this lane was there before: an instruction that calls a function for each
 * element of a matrix does so several times. */
static Instance *instance_of(RMachine *m, const RInv *v, uint64_t key)
{
    Instance *x = m->accesses->buckets[key % BUCKETS];
    while (x && x->key != key)
        x = x->next;
    if (x && x->lanes[v->lane / 64] >> v->lane % 64 & 1) {
        close_instance(m, x);
        x = NULL;
    }
    return x ? x : open_instance(m, v, key);
}

void accesses_note(RMachine *m, const RInv *v, const RInst *i, const RRequest *r)
{
    struct RAccesses *a = m->accesses;
    uint64_t key = key_of(m, v, i, r->kind == ACCESS_WRITE || r->kind == ACCESS_ATOMIC);
    if (!a->now || a->now->key != key || a->lane != v->lane) {
        settle(m);
        a->now = instance_of(m, v, key);
        a->lane = v->lane;
        a->span = (Span){ .low = r->at.va, .high = r->at.va };
    }
    a->span.low = MIN(a->span.low, r->at.va);
    a->span.high = MAX(a->span.high, r->at.va + r->size);
    a->span.bytes += r->size;
}

void accesses_begin(RMachine *m)
{
    if (m->d->count)
        m->accesses = NEW(m->arena, struct RAccesses);
}

void accesses_end_group(RMachine *m)
{
    if (m->accesses)
        close_all(m);
}
