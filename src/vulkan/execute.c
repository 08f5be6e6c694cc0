/* SPDX-License-Identifier: MIT
 *
 * Running command buffers: commands one after the other on the calling thread, dispatches on the
 * device's worker threads too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "vulkan/vk.h"

typedef struct Move { Exec *exec; const Cmd *cmd; } Move;

static void move(void *user)
{
    const Move *m = user;
    m->cmd->run(m->exec, m->cmd);
}

void exec_run(Exec *x, const CommandBuffer *c)
{
    for (const Cmd *cmd = c->first; cmd && !x->device->failing; cmd = cmd->next) {
        CpuFault fault;
        char text[128];
        if (!cmd->moves) {
            cmd->run(x, cmd);
        } else if (!move_guarded(move, &(Move){ x, cmd }, &fault)) {
            snprintf(text, sizeof text,
                     "a copy, fill or clear %s at 0x%llx, which is no memory of the program",
                     fault.kind == CPU_FAULT_WRITE ? "writes" : "reads",
                     (unsigned long long)fault.address);
            device_lose(x->device, &c->base, text, &fault);
        }
    }
}

void exec_finish(Exec *x)
{
    free(x->slots);
    free(x->counts);
    x->slots = NULL;
    x->counts = NULL;
    x->n_slots = 0;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static bool lose_slot(Exec *x, const Pipeline *p, uint32_t slot)
{
    char text[128];
    snprintf(text, sizeof text, "dispatch: nothing is bound to set %u, binding %u",
             p->slots[slot].set, p->slots[slot].binding);
    device_lose(x->device, &p->base, text, NULL);
    return false;
}

/* Fills x->slots and x->counts. */
static bool find_slots(Exec *x, const BoundState *s)
{
    const Pipeline *p = s->pipeline;
    uint32_t moved = 0;
    if (p->n_slots > x->n_slots) {
        const CpuBinding **slots = realloc(x->slots, p->n_slots * sizeof *slots);
        x->slots = slots ? slots : x->slots;
        uint32_t *counts = slots ? realloc(x->counts, p->n_slots * sizeof *counts) : NULL;
        if (!counts) {
            device_lose(x->device, &p->base, "dispatch: out of memory", NULL);
            return false;
        }
        x->counts = counts;
        x->n_slots = p->n_slots;
    }
    for (uint32_t i = 0; i < p->n_slots; i++) {
        uint32_t number = p->slots[i].set;
        const DescriptorSet *set = number < MAX_SETS ? s->sets[number] : NULL;
        const LayoutBinding *b = set ? layout_binding(set->layout, p->slots[i].binding) : NULL;
        if (!b || !b->count)
            return lose_slot(x, p, i);
        x->slots[i] = &set->descriptors[b->first];
        x->counts[i] = b->count;
        bool dynamic = b->type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC ||
                       b->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
        if (!dynamic || !s->dynamic[number] || b->count > MAX_DYNAMIC - moved)
            continue;
        for (uint32_t e = 0; e < b->count; e++) {
            CpuBinding to = set->descriptors[b->first + e];
            if (to.size)
                to.base = (char *)to.base + s->dynamic[number][b->first_dynamic + e];
            x->moved[moved + e] = to;
        }
        x->slots[i] = &x->moved[moved];
        moved += b->count;
    }
    return true;
}

/* Of find_slots' descriptors, which are images' and samplers'. */
static bool **find_images(const BoundState *s, Arena *scratch)
{
    const Pipeline *p = s->pipeline;
    bool **images = NEW_ARRAY(scratch, bool *, p->n_slots);
    for (uint32_t i = 0; i < p->n_slots; i++) {
        const DescriptorSet *set = s->sets[p->slots[i].set];
        const LayoutBinding *b = layout_binding(set->layout, p->slots[i].binding);
        images[i] = NEW_ARRAY(scratch, bool, b->count);
        for (uint32_t e = 0; e < b->count; e++)
            images[i][e] = set_has_image(set, b, e);
    }
    return images;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

typedef struct Complaint {
    Exec *exec;
    const Base *object;
    const CpuDispatch *dispatch;    /* one whose errors are fatal; or NULL */
} Complaint;

static void complain(void *user, const Diag *d)
{
    const Complaint *c = user;
    char text[VK_MAX_DESCRIPTION_SIZE];
    diag_format(d, text, sizeof text);
    if (c->dispatch && d->severity == DIAG_ERROR)
        device_lose(c->exec->device, c->object, text, &c->dispatch->fault);
    else
        say(c->exec->device->instance, VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT, c->object,
            d->rule ? d->rule : "heddle", text);
}

typedef struct Interpreted {
    Exec *exec;
    const BoundState *state;
    uint32_t groups[3], base[3];
    Arena scratch;
    DiagSink *sink;
} Interpreted;

/* On the reference device. */
static HeddleResult interpret(void *user)
{
    Interpreted *r = user;
    const Pipeline *p = r->state->pipeline;
    HeddleKernel *k = p->kernel->heddle;
    HeddleReport report = { 0 };
    HeddleDispatch d = { .push = r->state->push, .push_size = k->info->push_size };
    Bound b = { .dispatch = &d, .push = r->state->push, .push_size = k->info->push_size };
    memcpy(b.groups, r->groups, sizeof b.groups);
    memcpy(d.groups, r->groups, sizeof d.groups);
    memcpy(d.base_group, r->base, sizeof d.base_group);
    if (!find_slots(r->exec, r->state))
        return HEDDLE_ERROR_BINDING;
    b.counts = r->exec->counts;
    b.images = find_images(r->state, &r->scratch);
    b.bindings = NEW_ARRAY(&r->scratch, CpuBinding *, p->n_slots);
    for (uint32_t i = 0; i < p->n_slots; i++)
        b.bindings[i] = (CpuBinding *)(uintptr_t)r->exec->slots[i];
    return k->device->ops->dispatch(k, &b, &report, &r->scratch, r->sink);
}

static void count(Kernel *k, const CpuDispatch *d, uint64_t ns)
{
    atomic_fetch_add(&k->runs, 1);
    atomic_fetch_add(&k->ns, ns);
    for (int i = 0; i < CPU_N_STATS; i++)
        atomic_fetch_add(&k->stats[i], d->stats[i]);
}

void exec_dispatch(Exec *x, const BoundState *s, const uint32_t groups[3], const uint32_t base[3])
{
    const Pipeline *p = s->pipeline;
    const CpuKernel *k = p->kernel->cpu;
    if (!groups[0] || !groups[1] || !groups[2])
        return;
    CpuDispatch d = { .kernel = k, .push = s->push };
    Complaint c = { x, &p->base, k ? &d : NULL };
    DiagSink sink = { .report = complain, .user = &c };
    if (!k) {
        Interpreted r = { .exec = x, .state = s, .sink = &sink };
        memcpy(r.groups, groups, sizeof r.groups);
        memcpy(r.base, base, sizeof r.base);
        log_guarded(NULL, &r.scratch, interpret, &r);
        arena_free(&r.scratch);
        return;
    }
    if (!find_slots(x, s))
        return;
    d.slots = x->slots;
    d.counts = x->counts;
    memcpy(d.groups, groups, sizeof d.groups);
    memcpy(d.base_group, base, sizeof d.base_group);
    bool counted = x->device->instance->config.stats;
    uint64_t start = counted ? clock_ns() : 0;
    cpu_dispatch(x->device->physical->heddle->cpu, &d, &sink);
    if (counted)
        count(p->kernel, &d, clock_ns() - start);
}
