/* SPDX-License-Identifier: MIT
 *
 * Running command buffers: commands one after the other on the calling thread, dispatches on the
 * device's worker threads too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "vulkan/vk.h"

typedef struct Move {
    HvExec *exec;
    const HvCmd *cmd;
} Move;

static void move(void *user)
{
    const Move *m = user;
    m->cmd->run(m->exec, m->cmd);
}

/* False where it reaches for memory that is not there, and the device can tell. */
static bool guarded(HvExec *x, const HvCmd *cmd, DeviceFault *fault)
{
    Move m = { x, cmd };
    const DeviceOps *ops = device_base(x->device)->ops;
    if (ops->guard)
        return ops->guard(move, &m, fault);
    move(&m);
    return true;
}

void exec_run(HvExec *x, const HvCommandBuffer *c)
{
    for (const HvCmd *cmd = c->first; cmd && !x->device->failing; cmd = cmd->next) {
        DeviceFault fault;
        char text[128];
        if (!cmd->moves) {
            cmd->run(x, cmd);
        } else if (!guarded(x, cmd, &fault)) {
            snprintf(text, sizeof text,
                     "a copy, fill or clear %s at 0x%llx, which is no memory of the program",
                     fault.kind == DEVICE_FAULT_WRITE ? "writes" : "reads",
                     (unsigned long long)fault.address);
            device_lose(x->device, &c->base, text, &fault);
        }
    }
}

void exec_finish(HvExec *x)
{
    arena_free(&x->scratch);
    free(x->slots);
    free(x->counts);
    x->slots = NULL;
    x->counts = NULL;
    x->n_slots = 0;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static bool lose_slot(HvExec *x, const HvPipeline *p, const DeviceSlot *slot)
{
    char text[128];
    snprintf(text, sizeof text, "dispatch: nothing is bound to set %u, binding %u", slot->set,
             slot->binding);
    device_lose(x->device, &p->base, text, NULL);
    return false;
}

static bool have_room(HvExec *x, const HvPipeline *p, uint32_t n)
{
    if (n <= x->n_slots)
        return true;
    const DeviceBinding **slots = realloc(x->slots, n * sizeof *slots);
    x->slots = slots ? slots : x->slots;
    uint32_t *counts = slots ? realloc(x->counts, n * sizeof *counts) : NULL;
    if (!counts) {
        device_lose(x->device, &p->base, "dispatch: out of memory", NULL);
        return false;
    }
    x->counts = counts;
    x->n_slots = n;
    return true;
}

/* Fills x->slots and x->counts. */
static bool find_slots(HvExec *x, const HvBoundState *s)
{
    const HvPipeline *p = s->pipeline;
    const DeviceKernel *k = p->kernel->code;
    uint32_t moved = 0;
    if (!have_room(x, p, k->n_slots))
        return false;
    for (uint32_t i = 0; i < k->n_slots; i++) {
        uint32_t number = k->slots[i].set;
        const HvDescriptorSet *set = number < MAX_SETS ? s->sets[number] : NULL;
        const HvLayoutBinding *b = set ? layout_binding(set->layout, k->slots[i].binding) : NULL;
        if (!b || !b->count)
            return lose_slot(x, p, &k->slots[i]);
        x->slots[i] = &set->descriptors[b->first];
        x->counts[i] = b->count;
        bool dynamic = b->type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC ||
                       b->type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
        if (!dynamic || !s->dynamic[number] || b->count > MAX_DYNAMIC - moved)
            continue;
        for (uint32_t e = 0; e < b->count; e++) {
            DeviceBinding to = set->descriptors[b->first + e];
            if (to.size)
                to.base = (char *)to.base + s->dynamic[number][b->first_dynamic + e];
            x->moved[moved + e] = to;
        }
        x->slots[i] = &x->moved[moved];
        moved += b->count;
    }
    return true;
}

/* Which of find_slots' descriptors are images' and samplers'. */
static const bool *const *find_images(const HvBoundState *s, Arena *scratch)
{
    const DeviceKernel *k = s->pipeline->kernel->code;
    const bool **images = NEW_ARRAY(scratch, const bool *, k->n_slots);
    for (uint32_t i = 0; i < k->n_slots; i++) {
        const HvDescriptorSet *set = s->sets[k->slots[i].set];
        const HvLayoutBinding *b = layout_binding(set->layout, k->slots[i].binding);
        bool *each = NEW_ARRAY(scratch, bool, b->count);
        for (uint32_t e = 0; e < b->count; e++)
            each[e] = set_has_image(set, b, e);
        images[i] = each;
    }
    return images;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

typedef struct Running {
    HvExec *exec;
    const HvBoundState *state;
    DiagSink sink;
    char *error; /* the first, VK_MAX_DESCRIPTION_SIZE; or "" */
} Running;

/* What a checking device finds is told, and the program goes on, unless HEDDLE_CHECK=fatal. Any
 * other device's errors end the logical device, once it has said which access it was. */
static void complain(void *user, const Diag *d)
{
    Running *r = user;
    const HvDevice *device = r->exec->device;
    char text[VK_MAX_DESCRIPTION_SIZE];
    diag_format(d, text, sizeof text);
    const HvConfig *config = &device->instance->config;
    bool fatal = d->severity == DIAG_ERROR && (!config->check || config->check_fatal);
    if (fatal && !r->error[0])
        memcpy(r->error, text, sizeof text);
    else
        say(device->instance, VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
            &r->state->pipeline->base, d->rule ? d->rule : "heddle", text);
}

static HeddleResult dispatch_bound(void *user)
{
    Running *r = user;
    HvExec *x = r->exec;
    DeviceBase *d = device_base(x->device);
    if (d->info.wants_images)
        x->dispatch.images = find_images(r->state, &x->scratch);
    return d->ops->dispatch(d, &x->dispatch, &x->scratch, &r->sink);
}

static void count(HvKernel *k, const DeviceDispatch *x, uint64_t ns)
{
    atomic_fetch_add(&k->runs, 1);
    atomic_fetch_add(&k->ns, ns);
    for (int i = 0; i < DEVICE_N_STATS; i++)
        atomic_fetch_add(&k->stats[i], x->stats[i]);
}

void exec_dispatch(HvExec *x, const HvBoundState *s, const uint32_t groups[3],
                   const uint32_t base[3])
{
    const HvPipeline *p = s->pipeline;
    if (!groups[0] || !groups[1] || !groups[2] || !find_slots(x, s))
        return;
    char error[VK_MAX_DESCRIPTION_SIZE];
    Running r = { .exec = x, .state = s, .error = error };
    error[0] = 0;
    r.sink = (DiagSink){ .report = complain, .user = &r };
    DeviceDispatch *d = &x->dispatch;
    d->kernel = p->kernel->code;
    d->slots = x->slots;
    d->counts = x->counts;
    d->push = s->push;
    d->untimed = true;
    d->budget = x->device->instance->config.budget;
    memcpy(d->groups, groups, sizeof d->groups);
    memcpy(d->base_group, base, sizeof d->base_group);
    d->fault.kind = DEVICE_FAULT_NONE;
    bool counted = x->device->instance->config.stats;
    if (counted)
        memset(d->stats, 0, sizeof d->stats);
    uint64_t start = counted ? clock_ns() : 0;
    log_guarded(NULL, &x->scratch, dispatch_bound, &r);
    arena_free(&x->scratch);
    if (counted)
        count(p->kernel, d, clock_ns() - start);
    device_keep(&p->kernel->folder, d->kernel, &p->kernel->key);
    if (r.error[0])
        device_lose(x->device, &p->base, r.error, &d->fault);
}
