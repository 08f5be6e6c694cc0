/* SPDX-License-Identifier: MIT
 *
 * Dispatch: looks up what the kernel needs among what the caller gives, says by name what is
 * missing, and hands the rest to the device.
 */

#include "runtime/internal.h"

/* "set 0, binding 1 ('weights')"; with the element of an array of buffers. */
static const char *describe(RuntimeRun *r, const HeddleBindingInfo *b, uint32_t index)
{
    const char *array = b->count == 1 ? "" : arena_printf(&r->scratch, "[%u]", index);
    return arena_printf(&r->scratch, "set %u, binding %u ('%s'%s)", b->set, b->binding, b->name,
                        array);
}

static uint32_t highest_index(const HeddleDispatch *d, const HeddleBindingInfo *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n_bindings; i++) {
        if (d->bindings[i].set == b->set && d->bindings[i].binding == b->binding)
            n = MAX(n, d->bindings[i].index + 1);
    }
    return n;
}

static bool place(RuntimeRun *r, const HeddleBindingInfo *b, const HeddleBinding *given,
                  DeviceBinding *to)
{
    uint64_t whole = given->buffer ? given->buffer->memory.size : 0;
    if (!given->buffer) {
        diag(&r->sink, DIAG_ERROR, NULL, NULL, "%s: its buffer is NULL",
             describe(r, b, given->index));
        return false;
    }
    if (given->offset % 16 || given->offset >= whole || given->size > whole - given->offset) {
        diag(
            &r->sink, DIAG_ERROR, NULL, NULL,
            "%s: offset %llu and size %llu do not fit a buffer of %llu bytes (the offset must be a "
            "multiple of 16)",
            describe(r, b, given->index), (unsigned long long)given->offset,
            (unsigned long long)given->size, (unsigned long long)whole);
        return false;
    }
    to->base = (void *)(uintptr_t)(given->buffer->memory.address + given->offset);
    to->size = given->size ? given->size : whole - given->offset;
    if (to->size < b->static_size)
        diag(&r->sink, DIAG_WARNING, NULL, NULL,
             "%s: the buffer has %llu bytes, the kernel accesses at least %llu",
             describe(r, b, given->index), (unsigned long long)to->size,
             (unsigned long long)b->static_size);
    return true;
}

/* An argument that is no buffer: its bytes, or how many of workgroup memory. */
static bool give(RuntimeRun *r, const HeddleBindingInfo *b, DeviceBinding **out, uint32_t *count)
{
    const HeddleBinding *given = NULL;
    bool local = b->kind == HEDDLE_BINDING_LOCAL;
    *count = 1;
    *out = NEW_ARRAY(&r->scratch, DeviceBinding, 1);
    for (uint32_t i = 0; i < r->dispatch.n_bindings; i++) {
        const HeddleBinding *x = &r->dispatch.bindings[i];
        if (x->set == b->set && x->binding == b->binding)
            given = x;
    }
    if (!given || (local ? !given->size || given->value || given->buffer : !given->value)) {
        diag(&r->sink, DIAG_ERROR, NULL, NULL,
             local ? "argument %u of the kernel is workgroup memory: it needs a size"
                   : "argument %u of the kernel is a value: it needs one",
             b->binding);
        return false;
    }
    /* of three components, that many are enough */
    if (!local && given->size != b->static_size && given->size * 4 != b->static_size * 3) {
        diag(&r->sink, DIAG_ERROR, NULL, NULL,
             "argument %u of the kernel has %llu bytes, %llu are given", b->binding,
             (unsigned long long)b->static_size, (unsigned long long)given->size);
        return false;
    }
    **out = (DeviceBinding){ local ? NULL : arena_copy(&r->scratch, given->value, given->size),
                             given->size };
    return true;
}

static bool bind(RuntimeRun *r, const HeddleBindingInfo *b, DeviceBinding **out, uint32_t *count)
{
    const HeddleDispatch *d = &r->dispatch;
    bool good = true;
    if (b->kind == HEDDLE_BINDING_VALUE || b->kind == HEDDLE_BINDING_LOCAL)
        return give(r, b, out, count);
    if (b->kind == HEDDLE_BINDING_IMAGE) {
        diag(&r->sink, DIAG_ERROR, NULL, NULL,
             "%s is an image or a sampler, which only the Vulkan "
             "driver can bind",
             describe(r, b, 0));
        return false;
    }
    *count = b->count == UINT32_MAX ? highest_index(d, b) : b->count;
    *out = NEW_ARRAY(&r->scratch, DeviceBinding, *count);
    for (uint32_t i = 0; i < d->n_bindings; i++) {
        const HeddleBinding *given = &d->bindings[i];
        if (given->set == b->set && given->binding == b->binding && given->index < *count)
            good &= place(r, b, given, &(*out)[given->index]);
    }
    if (!good)
        return false;
    for (uint32_t i = 0; i < MAX(*count, 1); i++) {
        if (*count && (*out)[i].base)
            continue;
        if (b->count == UINT32_MAX && *count) /* holes in an unbounded array are the caller's */
            continue;
        diag(&r->sink, DIAG_ERROR, NULL, NULL, "no buffer is bound to %s", describe(r, b, i));
        return false;
    }
    return true;
}

static bool bind_push(RuntimeRun *r, DeviceDispatch *x)
{
    const HeddleDispatch *d = &r->dispatch;
    uint64_t size = r->kernel->info->push_size;
    if (d->push_size < size || (size && !d->push)) {
        diag(&r->sink, DIAG_ERROR, NULL, NULL,
             "the kernel has %llu bytes of push constants, %zu are given", (unsigned long long)size,
             d->push ? d->push_size : 0);
        return false;
    }
    char *copy = arena_alloc(&r->scratch, MAX(size, x->kernel->push_bytes) + 64);
    if (size)
        memcpy(copy, d->push, size);
    x->push = copy;
    return true;
}

/* The descriptors of each binding of the kernel's, in the order of the device's slots. A slot that
 * the kernel's reflection does not name is a variable that no code uses: it has empty buffers. */
static void order_slots(RuntimeRun *r)
{
    const HeddleKernelInfo *info = r->kernel->info;
    const DeviceKernel *k = r->kernel->code;
    const DeviceBinding **slots = NEW_ARRAY(&r->scratch, const DeviceBinding *, k->n_slots);
    uint32_t *counts = NEW_ARRAY(&r->scratch, uint32_t, k->n_slots);
    for (uint32_t n = 0; n < k->n_slots; n++) {
        const DeviceSlot *slot = &k->slots[n];
        uint32_t i = 0;
        while (i < info->n_bindings &&
               (info->bindings[i].set != slot->set || info->bindings[i].binding != slot->binding))
            i++;
        bool used = i < info->n_bindings;
        counts[n] = used ? r->n_bound[i] : slot->count == UINT32_MAX ? 1 : MAX(slot->count, 1);
        slots[n] = used ? r->bound[i] : NEW_ARRAY(&r->scratch, DeviceBinding, counts[n]);
    }
    r->x.slots = slots;
    r->x.counts = counts;
}

/* ---- sizes of OpenCL dispatches -------------------------------------------------------------- */

/* The largest number from `least` to `most` that divides n; 0: none. */
static uint32_t divisor(uint32_t n, uint32_t least, uint32_t most)
{
    for (uint32_t d = MIN(n, most); d >= least; d--)
        if (n % d == 0)
            return d;
    return 0;
}

/* Long rows, whose invocations most often access neighbours in memory; short ones are filled up by
 * more of them. If nothing worth having divides a row, the last workgroups are smaller. */
void heddle_local_size(const uint32_t global_size[3], uint32_t local_size[3])
{
    enum { LEAST = 32, GOOD = 64, MOST = 128 };
    uint32_t row = MAX(global_size[0], 1), n = row < LEAST ? row : divisor(row, LEAST, MOST);
    local_size[0] = n = n ? n : MIN(row, GOOD);
    for (int k = 1; k < 3; k++) {
        local_size[k] = divisor(MAX(global_size[k], 1), 1, MAX(GOOD / n, 1));
        n *= local_size[k];
    }
}

static bool size_opencl(RuntimeRun *r, DeviceDispatch *b)
{
    const HeddleDispatch *d = &r->dispatch;
    const uint32_t *own = r->kernel->info->local_size;
    static const uint32_t row[3] = { 64, 1, 1 };
    bool open = !own[0] && !own[1] && !own[2], chosen = open && !d->local_size[0];
    uint32_t choice[3];
    heddle_local_size(d->global_size[0] ? d->global_size : row, choice);
    for (int k = 0; k < 3; k++) {
        uint32_t global = MAX(d->global_size[k], 1);
        b->local_size[k] = chosen ? choice[k] : MAX(open ? d->local_size[k] : own[k], 1);
        if (!d->global_size[0]) {
            b->global_size[k] = b->groups[k] * b->local_size[k];
            continue;
        }
        b->global_size[k] = global;
        b->groups[k] = (uint32_t)(((uint64_t)global + b->local_size[k] - 1) / b->local_size[k]);
        if (!open && global % b->local_size[k]) {
            diag(&r->sink, DIAG_ERROR, NULL, NULL,
                 "%u invocations in %c are no multiple of the workgroup's size %u, which the "
                 "kernel was compiled for",
                 global, "xyz"[k], b->local_size[k]);
            return false;
        }
    }
    return true;
}

/* What a kernel prints, to the HeddleDispatch's print. */
static void print_words_of(void *dispatch, const char *format, const uint64_t *words, uint32_t n)
{
    const HeddleDispatch *d = dispatch;
    char text[8192];
    size_t length = print_words(text, sizeof text, format, words, n);
    d->print(d->print_user, text, length);
}

/* ---- what came of it ------------------------------------------------------------------------- */

typedef struct Neighbour {
    const HeddleBindingInfo *info;
    int64_t offset, away; /* from its start; from its nearer end */
    uint64_t size;
} Neighbour;

static void consider(Neighbour *best, const HeddleBindingInfo *info, const DeviceBinding *x,
                     uint64_t address)
{
    int64_t at = (int64_t)(address - (uintptr_t)x->base);
    int64_t away = at < 0 ? -at : at - (int64_t)x->size;
    if (x->base && away < best->away)
        *best = (Neighbour){ info, at, away, x->size };
}

/* Says which of the kernel's buffers the address is beside. */
static void note_neighbour(RuntimeRun *r)
{
    Neighbour best = { .away = INT64_C(1) << 32 }; /* as far as nothing is beside an array */
    for (uint32_t i = 0; i < r->kernel->info->n_bindings; i++) {
        const HeddleBindingInfo *info = &r->kernel->info->bindings[i];
        bool buffer = info->kind == HEDDLE_BINDING_STORAGE || info->kind == HEDDLE_BINDING_UNIFORM;
        for (uint32_t n = 0; buffer && n < r->n_bound[i]; n++)
            consider(&best, info, &r->bound[i][n], r->x.fault.address);
    }
    if (best.info)
        diag(&r->sink, DIAG_NOTE, NULL, NULL,
             "that would be byte %lld of set %u, binding %u ('%s'), which has %llu bytes",
             (long long)best.offset, best.info->set, best.info->binding, best.info->name,
             (unsigned long long)best.size);
}

/* What was said of the fault so far is of the buffer and, with lines, of the source. */
static void note_fault(RuntimeRun *r)
{
    if (r->x.fault.address)
        note_neighbour(r);
    if (r->x.fault.kind != DEVICE_FAULT_NONE)
        diag(&r->sink, DIAG_NOTE, NULL, NULL,
             "it was in kernel '%s': run with --check (HEDDLE_CHECK=1) to see which invocation",
             r->kernel->info->entry);
}

/* ---- a dispatch ------------------------------------------------------------------------------ */

static uint64_t nanoseconds(double seconds)
{
    return seconds > 0 ? (uint64_t)MIN(seconds * 1e9, 1e18) : 0;
}

static HeddleResult prepare_run(void *user)
{
    RuntimeRun *r = user;
    const HeddleKernelInfo *info = r->kernel->info;
    const HeddleDispatch *d = &r->dispatch;
    DeviceDispatch *x = &r->x;
    *x = (DeviceDispatch){ .kernel = r->kernel->code,
                           .max_threads = d->max_threads,
                           .interleave = d->interleave,
                           .seed = d->seed,
                           .budget = d->budget,
                           .live = d->live,
                           .stop = d->stop,
                           .progress = d->progress,
                           .progress_user = d->progress_user,
                           .sample_ns = nanoseconds(d->sample),
                           .watchdog_ns = nanoseconds(d->watchdog),
                           .print = d->print ? print_words_of : NULL,
                           .user = &r->dispatch };
    for (int i = 0; i < 3; i++)
        x->groups[i] = MAX(d->groups[i], 1);
    memcpy(x->base_group, d->base_group, sizeof x->base_group);
    memcpy(x->global_offset, d->global_offset, sizeof x->global_offset);
    r->bound = NEW_ARRAY(&r->scratch, DeviceBinding *, info->n_bindings);
    r->n_bound = NEW_ARRAY(&r->scratch, uint32_t, info->n_bindings);
    bool good = true;
    for (uint32_t i = 0; i < info->n_bindings; i++)
        good &= bind(r, &info->bindings[i], &r->bound[i], &r->n_bound[i]);
    if (!bind_push(r, x) || !good)
        return HEDDLE_ERROR_BINDING;
    if (r->kernel->opencl && !size_opencl(r, x))
        return HEDDLE_ERROR_ARGUMENT;
    order_slots(r);
    return HEDDLE_OK;
}

HeddleResult run_prepare(RuntimeRun *r, HeddleKernel *kernel, const HeddleDispatch *dispatch,
                         HeddleLog *log)
{
    r->kernel = kernel;
    r->sink = log_sink(log);
    if (!sized_read(&sized_dispatch, dispatch, &r->dispatch, log))
        return HEDDLE_ERROR_ARGUMENT;
    if (!kernel || !dispatch || (r->dispatch.n_bindings && !r->dispatch.bindings))
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "a dispatch without a kernel, or whose bindings are NULL");
    HeddleResult result = log_guarded(log, &r->scratch, prepare_run, r);
    return result ? log_failed_stage(&r->sink, log, result, "preparing a dispatch") : HEDDLE_OK;
}

static HeddleResult execute(void *user)
{
    RuntimeRun *r = user;
    HeddleKernel *k = r->kernel;
    HeddleResult result =
        k->device->base->ops->dispatch(k->device->base, &r->x, &r->scratch, &r->sink);
    device_keep(&k->folder, k->code, &k->key);
    return result;
}

HeddleResult run_execute(RuntimeRun *r, HeddleLog *log)
{
    return log_guarded(log, &r->scratch, execute, r);
}

HeddleResult run_report(RuntimeRun *r, HeddleResult result, HeddleReport *report, HeddleLog *log)
{
    const DeviceDispatch *x = &r->x;
    HeddleReport all = { .seconds = 1e-9 * (double)(x->end_ns - x->start_ns),
                         .start = 1e-9 * (double)x->start_ns,
                         .end = 1e-9 * (double)x->end_ns,
                         .stats = device_stats(x->stats),
                         .panels_packed = x->stats[DEVICE_STAT_PANELS_PACKED],
                         .panels_shared = x->stats[DEVICE_STAT_PANELS_SHARED],
                         .bytes_copied = x->stats[DEVICE_STAT_BYTES_COPIED] };
    all.counts_accesses = r->kernel->device->info.kind == HEDDLE_DEVICE_CPU ||
                          r->kernel->device->info.kind == HEDDLE_DEVICE_REFERENCE;
    memcpy(all.accesses, x->stats + DEVICE_STAT_ACCESSES, sizeof all.accesses);
    memcpy(all.access_bytes, x->stats + DEVICE_STAT_ACCESS_BYTES, sizeof all.access_bytes);
    if (result)
        note_fault(r);
    sized_write(&sized_report, report, &all, log);
    return result ? log_failed_stage(&r->sink, log, result, "running the kernel") : HEDDLE_OK;
}

void run_free(RuntimeRun *r) { arena_free(&r->scratch); }

HeddleResult heddle_dispatch(HeddleKernel *kernel, const HeddleDispatch *dispatch,
                             HeddleReport *report, HeddleLog *log)
{
    RuntimeRun r = { 0 };
    if (!sized_check(&sized_report, report, log))
        return HEDDLE_ERROR_ARGUMENT;
    HeddleResult result = run_prepare(&r, kernel, dispatch, log);
    r.x.untimed = !report;
    if (!result)
        result = run_report(&r, run_execute(&r, log), report, log);
    run_free(&r);
    return result;
}
