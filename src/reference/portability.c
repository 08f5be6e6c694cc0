/* SPDX-License-Identifier: MIT
 *
 * Tests whether a kernel's result depends on who owns which matrix element, or on the size of
 * subgroups. The kernel runs again, on copies of the original buffers, with other ownership maps,
 * schedules and sizes; any difference in a buffer is a finding. Buffers of floats may differ by
 * rounding, since the order of a subgroup's reductions is not fixed.
 */
#include "reference/machine.h"

#include <math.h>

static const uint32_t sizes[] = { 8, 16, 32, 64, 128 };

/* The one scalar type a variable's buffer consists of, as its Fmt; FMT_NONE when there are several
 * or it is of integers. */
static RFmt buffer_format(SpvModule *m, const RefBinding *b)
{
    for (SpvInst *i = m->globals.first; i; i = i->next) {
        uint32_t n, n2;
        if (i->op != SpvOpVariable)
            continue;
        const uint32_t *set = spv_decoration(m, i->id, -1, SpvDecorationDescriptorSet, &n);
        const uint32_t *binding = spv_decoration(m, i->id, -1, SpvDecorationBinding, &n2);
        if (!set || !binding || !n || !n2 || *set != b->set || *binding != b->binding)
            continue;
        const SpvType *t = spv_type_of(m, i->id);
        while (t && t->kind != SPV_FLOAT && t->kind != SPV_INT && t->kind != SPV_BOOL)
            t = t->kind == SPV_STRUCT ? (t->count == 1 ? t->members[0] : NULL) : t->element;
        if (!t || t->kind != SPV_FLOAT || t->format != SPV_IEEE)
            return FMT_NONE;
        return t->bits == 16 ? FMT_F16 : t->bits == 32 ? FMT_F32 : FMT_F64;
    }
    return FMT_NONE;
}

/* Index of the first byte that differs by more than rounding, or UINT64_MAX. */
static uint64_t first_difference(RFmt f, const uint8_t *a, const uint8_t *b, uint64_t size)
{
    uint32_t w = f == FMT_F16 ? 2 : f == FMT_F32 ? 4 : f == FMT_F64 ? 8 : 1;
    double tolerance = f == FMT_F16 ? 0x1p-7 : f == FMT_F32 ? 0x1p-17 : 0x1p-40, largest = 0;
    for (uint64_t k = 0; f != FMT_NONE && k + w <= size; k += w) {
        double x = fabs(fmt_get(f, mem_read(a + k, w)));
        largest = isfinite(x) ? fmax(largest, x) : largest;
    }
    for (uint64_t k = 0; k < size; k += w) {
        uint32_t step = (uint32_t)MIN(w, size - k);
        if (!memcmp(a + k, b + k, step))
            continue;
        if (f == FMT_NONE || step < w)
            return k;
        double x = fmt_get(f, mem_read(a + k, w)), y = fmt_get(f, mem_read(b + k, w));
        if (!(fabs(x - y) <= tolerance * fmax(fabs(x), largest / 64)) && !(isnan(x) && isnan(y)))
            return k;
    }
    return UINT64_MAX;
}

/* A repetition of a dispatch under other conditions. */
typedef struct Trial {
    Arena *arena;  /* of the result */
    Arena *copies; /* of the buffers' */
    SpvModule *module;
    const RefDispatch *first;
    RefResult *result; /* of the first; findings are added to it */
    DiagSink *sink;
    uint8_t **before; /* the buffers as they were */
    RefDispatch d;    /* the one to be tried, on */
    RefBinding *bindings;
} Trial;

static void add_finding(Trial *t, const char *text)
{
    RefResult *r = t->result;
    RefFinding *more = NEW_ARRAY(t->arena, RefFinding, r->n_findings + 1);
    if (r->n_findings)
        memcpy(more, r->findings, r->n_findings * sizeof(*more));
    more[r->n_findings++] = (RefFinding){ .kind = REF_PORTABILITY, .count = 1, .message = text };
    r->findings = more;
}

/* Reports the first buffer that differs. */
static void compare_buffers(Trial *t, const char *change)
{
    for (uint32_t k = 0; k < t->first->n_bindings; k++) {
        const RefBinding *x = &t->first->bindings[k], *y = &t->bindings[k];
        if (!x->base)
            continue;
        uint64_t at = first_difference(buffer_format(t->module, x), x->base, y->base, x->size);
        if (at == UINT64_MAX)
            continue;
        const char *text = arena_printf(t->arena, "set %u binding %u differs from byte %llu on %s",
                                        x->set, x->binding, (unsigned long long)at, change);
        diag(t->sink, DIAG_ERROR, NULL, ref_finding_name(REF_PORTABILITY), "%s", text);
        add_finding(t, text);
        return;
    }
}

/* Runs on fresh copies of the buffers as they were. */
static bool run_trial(Trial *t, RefResult *r)
{
    DiagSink quiet = { 0 };
    for (uint32_t k = 0; k < t->first->n_bindings; k++)
        if (t->bindings[k].base)
            memcpy(t->bindings[k].base, t->before[k], t->bindings[k].size);
    return dispatch_once(t->copies, t->module, &t->d, r, &quiet);
}

static void try_ownership(Trial *t, RefOwnership map, uint32_t subgroup_size, const char *change)
{
    RefResult one = { 0 };
    t->d.ownership = map;
    t->d.subgroup_size = subgroup_size;
    if (run_trial(t, &one) && (!subgroup_size || one.subgroup_size == subgroup_size))
        compare_buffers(t, change);
}

/* Kernels that require a size of subgroups have that one only. */
static void run_trials(Trial *t)
{
    const RefDispatch *d = t->first;
    t->d = *d;
    t->d.bindings = t->bindings;
    t->d.check = 0;
    for (uint32_t o = 0; o < REF_N_OWNERSHIPS; o++) {
        t->d.seed = d->seed + o;
        if (o != (uint32_t)d->ownership)
            try_ownership(t, (RefOwnership)o, d->subgroup_size,
                          "another assignment of matrix elements to invocations");
    }
    for (uint32_t k = 0; k < COUNT_OF(sizes); k++)
        if (sizes[k] != t->result->subgroup_size)
            try_ownership(t, d->ownership, sizes[k],
                          arena_printf(t->copies, "subgroups of %u", sizes[k]));
    if (t->result->subgroup_size != TILES_LANES)
        try_ownership(t, REF_OWN_TILES, TILES_LANES,
                      "subgroups of 32 with the device cuda's assignment of matrix elements");
}

static void copy_buffers(Trial *t)
{
    uint32_t n = t->first->n_bindings;
    t->before = NEW_ARRAY(t->copies, uint8_t *, n + 1);
    t->bindings = NEW_ARRAY(t->copies, RefBinding, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        const RefBinding *b = &t->first->bindings[k];
        t->bindings[k] = *b;
        if (!b->base)
            continue;
        t->before[k] = arena_copy(t->copies, b->base, b->size);
        t->bindings[k].base = arena_alloc(t->copies, b->size + 16);
    }
}

static bool guarded_trials(Trial *t)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory)) {
        diag(t->sink, DIAG_ERROR, NULL, NULL,
             "no memory for the copies that a check of portability needs");
        return false;
    }
    t->copies->on_failure = &out_of_memory;
    copy_buffers(t);
    if (!dispatch_once(t->arena, t->module, t->first, t->result, t->sink))
        return false;
    run_trials(t);
    return true;
}

bool ref_dispatch(Arena *a, SpvModule *m, const RefDispatch *d, RefResult *r, DiagSink *sink)
{
    if (!(d->check & REF_CHECK_PORTABILITY))
        return dispatch_once(a, m, d, r, sink);
    Arena copies = { .limit = d->memory_limit ? d->memory_limit : 2ull << 30 };
    RefResult own = { 0 };
    Trial t = { .arena = a,
                .copies = &copies,
                .module = m,
                .first = d,
                .result = r ? r : &own,
                .sink = sink };
    bool done = guarded_trials(&t);
    arena_free(&copies);
    return done;
}
