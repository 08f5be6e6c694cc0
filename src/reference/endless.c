/* SPDX-License-Identifier: MIT
 *
 * Finds loops that certainly never end: an invocation takes a loop's back edge in a state in which
 * it took it before. In: the back edges that an invocation takes. Out: a finding.
 *
 * A state is what the invocation goes on with: calls, values, its own memory. States are kept at
 * turns 2^k and compared with those that follow (Brent, An improved Monte Carlo factorization
 * algorithm, 1980), so any period is found after about as many turns as it takes to get there. An
 * invocation that looks at memory which others may change is in an endless loop if these, too,
 * repeat their states or wait for it: RMachine.changes counts whatever an invocation may notice of
 * others.
 */
#include "reference/machine.h"

enum { FIRST_TURN = 1024 };

struct REarlier {
    const REdge *edge;
    uint64_t changes;
    uint32_t n_frames;
    RFrame *frames;
    uint64_t *slots;
    uint8_t *undef, *memory, *memory_undef;
};

/* How much of an invocation's slots and memory is in use. */
static void extent(const RInv *v, uint64_t *slots, uint64_t *memory)
{
    const RFrame *top = &v->frames[v->n_frames - 1];
    *slots = top->base + top->function->slots;
    *memory = top->memory + top->function->memory;
}

static void keep(RMachine *m, RInv *v, const REdge *e)
{
    uint64_t slots, memory;
    extent(v, &slots, &memory);
    struct REarlier *s = v->earlier;
    if (!s) {
        const RFunc *f = v->frames[0].function;
        s = v->earlier = NEW(m->arena, struct REarlier);
        s->frames = NEW_ARRAY(m->arena, RFrame, f->total_frames + 1);
        s->slots = NEW_ARRAY(m->arena, uint64_t, f->total_slots + 1);
        s->undef = NEW_ARRAY(m->arena, uint8_t, f->total_slots + 1);
        s->memory = NEW_ARRAY(m->arena, uint8_t, m->local_bytes + f->total_memory + 16);
        s->memory_undef = NEW_ARRAY(m->arena, uint8_t, m->local_bytes + f->total_memory + 16);
    }
    s->edge = e;
    s->changes = m->changes;
    s->n_frames = v->n_frames;
    memcpy(s->frames, v->frames, v->n_frames * sizeof(RFrame));
    memcpy(s->slots, v->slots, slots * sizeof(uint64_t));
    memcpy(s->undef, v->undef, slots);
    memcpy(s->memory, v->memory, memory);
    memcpy(s->memory_undef, v->memory_undef, memory);
    v->looked = false;
}

static bool as_earlier(const RInv *v, const REdge *e)
{
    const struct REarlier *s = v->earlier;
    uint64_t slots, memory;
    if (!s || s->edge != e || s->n_frames != v->n_frames)
        return false;
    for (uint32_t k = 0; k < v->n_frames; k++)
        if (s->frames[k].function != v->frames[k].function ||
            s->frames[k].return_pc != v->frames[k].return_pc)
            return false;
    extent(v, &slots, &memory);
    return !memcmp(s->slots, v->slots, slots * sizeof(uint64_t)) &&
           !memcmp(s->undef, v->undef, slots) && !memcmp(s->memory, v->memory, memory) &&
           !memcmp(s->memory_undef, v->memory_undef, memory);
}

void endless_turn(RMachine *m, RInv *v, const REdge *e)
{
    if (++v->turns < FIRST_TURN || m->stop)
        return;
    if (is_pow2(v->turns)) {
        keep(m, v, e);
    } else if (as_earlier(v, e) && (!v->looked || v->earlier->changes == m->changes)) {
        v->circles = m->changes + 1;
        if (!v->looked)
            endless_found(m, v, "nothing that it hangs on changes");
    }
}

void endless_forget(RInv *v)
{
    v->circles = 0;
    if (v->earlier)
        v->earlier->edge = NULL;
}

bool endless_circles(const RMachine *m, const RInv *v) { return v->circles == m->changes + 1; }

void endless_found(RMachine *m, const RInv *v, const char *why)
{
    found(m, v, &m->code.data[v->pc], REF_ENDLESS, "an endless loop: %s", why);
    m->stop = true;
}
