/* SPDX-License-Identifier: MIT
 *
 * Dispatch: looks up what the kernel needs among what the caller gives, says by name what is
 * missing, and hands the rest to the device.
 */

#include "runtime/runtime.h"

typedef struct Run {
    Arena scratch;
    HeddleKernel *kernel;
    const HeddleDispatch *dispatch;
    HeddleReport *report;
    DiagSink *sink;
} Run;

/* "set 0, binding 1 ('weights')"; with the element of an array of buffers. */
static const char *describe(Run *r, const HeddleBindingInfo *b, uint32_t index)
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

static bool place(Run *r, const HeddleBindingInfo *b, const HeddleBinding *given, CpuBinding *to)
{
    uint64_t whole = given->buffer ? given->buffer->size : 0;
    if (!given->buffer) {
        diag(r->sink, DIAG_ERROR, NULL, NULL, "%s: its buffer is NULL",
             describe(r, b, given->index));
        return false;
    }
    if (given->offset % 16 || given->offset >= whole || given->size > whole - given->offset) {
        diag(
            r->sink, DIAG_ERROR, NULL, NULL,
            "%s: offset %llu and size %llu do not fit a buffer of %llu bytes (the offset must be a "
            "multiple of 16)",
            describe(r, b, given->index), (unsigned long long)given->offset,
            (unsigned long long)given->size, (unsigned long long)whole);
        return false;
    }
    to->base = (char *)given->buffer->data + given->offset;
    to->size = given->size ? given->size : whole - given->offset;
    if (to->size < b->static_size)
        diag(r->sink, DIAG_WARNING, NULL, NULL,
             "%s: the buffer has %llu bytes, the kernel accesses at least %llu",
             describe(r, b, given->index), (unsigned long long)to->size,
             (unsigned long long)b->static_size);
    return true;
}

/* An argument that is no buffer: its bytes, or how many of workgroup memory. */
static bool give(Run *r, const HeddleBindingInfo *b, CpuBinding **out, uint32_t *count)
{
    const HeddleBinding *given = NULL;
    bool local = b->kind == HEDDLE_BINDING_LOCAL;
    *count = 1;
    *out = NEW_ARRAY(&r->scratch, CpuBinding, 1);
    for (uint32_t i = 0; i < r->dispatch->n_bindings; i++) {
        const HeddleBinding *x = &r->dispatch->bindings[i];
        if (x->set == b->set && x->binding == b->binding)
            given = x;
    }
    if (!given || (local ? !given->size || given->value || given->buffer : !given->value)) {
        diag(r->sink, DIAG_ERROR, NULL, NULL, local
             ? "argument %u of the kernel is workgroup memory: it needs a size"
             : "argument %u of the kernel is a value: it needs one", b->binding);
        return false;
    }
    /* of three components, that many are enough */
    if (!local && given->size != b->static_size && given->size * 4 != b->static_size * 3) {
        diag(r->sink, DIAG_ERROR, NULL, NULL,
             "argument %u of the kernel has %llu bytes, %llu are given", b->binding,
             (unsigned long long)b->static_size, (unsigned long long)given->size);
        return false;
    }
    **out = (CpuBinding){ (void *)given->value, given->size };
    return true;
}

static bool bind(Run *r, const HeddleBindingInfo *b, CpuBinding **out, uint32_t *count)
{
    const HeddleDispatch *d = r->dispatch;
    bool good = true;
    if (b->kind == HEDDLE_BINDING_VALUE || b->kind == HEDDLE_BINDING_LOCAL)
        return give(r, b, out, count);
    if (b->kind == HEDDLE_BINDING_IMAGE) {
        diag(r->sink, DIAG_ERROR, NULL, NULL, "%s is an image or a sampler, which only the Vulkan "
             "driver can bind", describe(r, b, 0));
        return false;
    }
    *count = b->count == UINT32_MAX ? highest_index(d, b) : b->count;
    *out = NEW_ARRAY(&r->scratch, CpuBinding, *count);
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
        diag(r->sink, DIAG_ERROR, NULL, NULL, "no buffer is bound to %s", describe(r, b, i));
        return false;
    }
    return true;
}

static bool bind_push(Run *r, Bound *b)
{
    const HeddleDispatch *d = r->dispatch;
    b->push_size = r->kernel->info->push_size;
    if (d->push_size < b->push_size || (b->push_size && !d->push)) {
        diag(r->sink, DIAG_ERROR, NULL, NULL,
             "the kernel has %llu bytes of push constants, %zu are given",
             (unsigned long long)b->push_size, d->push ? d->push_size : 0);
        return false;
    }
    char *copy = arena_alloc(&r->scratch, b->push_size + 64);
    if (b->push_size)
        memcpy(copy, d->push, b->push_size);
    b->push = copy;
    return true;
}

/* ---- sizes of OpenCL dispatches -------------------------------------------------------------- */

/* The workgroup's size in x when nobody says: the largest up to 128 that divides the dispatch, if
 * it is worth having; else the last workgroups are smaller. */
static uint32_t chosen_size(uint32_t global)
{
    for (uint32_t n = MIN(global, 128); n >= 32; n--)
        if (global % n == 0)
            return n;
    return MIN(global, 64);
}

static bool size_opencl(Run *r, Bound *b)
{
    const HeddleDispatch *d = r->dispatch;
    const uint32_t *own = r->kernel->info->local_size;
    bool open = !own[0] && !own[1] && !own[2], chosen = open && !d->local_size[0];
    for (int k = 0; k < 3; k++) {
        uint32_t global = MAX(d->global_size[k], 1);
        b->local_size[k] = MAX(open ? d->local_size[k] : own[k], 1);
        if (chosen && k == 0)
            b->local_size[k] = chosen_size(d->global_size[0] ? global : 64);
        if (!d->global_size[0]) {
            b->global_size[k] = b->groups[k] * b->local_size[k];
            continue;
        }
        b->global_size[k] = global;
        b->groups[k] = (uint32_t)(((uint64_t)global + b->local_size[k] - 1) / b->local_size[k]);
        if (!open && global % b->local_size[k]) {
            diag(r->sink, DIAG_ERROR, NULL, NULL,
                 "%u invocations in %c are no multiple of the workgroup's size %u, which the "
                 "kernel was compiled for", global, "xyz"[k], b->local_size[k]);
            return false;
        }
    }
    return true;
}

void dispatch_print(void *dispatch, const char *format, const uint64_t *words, uint32_t n)
{
    const HeddleDispatch *d = dispatch;
    char text[8192];
    size_t length = print_words(text, sizeof text, format, words, n);
    d->print(d->print_user, text, length);
}

bool dispatch_region(const Bound *b, uint32_t *number, Region *out)
{
    while (*number < 8) {
        uint32_t corner = (*number)++;
        bool some = true;
        for (uint32_t k = 0; k < 3; k++) {
            bool edge = corner >> k & 1;
            uint32_t size = MAX(b->local_size[k], 1);
            uint32_t rest = b->local_size[k] ? b->global_size[k] % size : 0;
            uint32_t whole = b->groups[k] - (rest != 0);
            out->first[k] = b->dispatch->base_group[k] + (edge ? whole : 0);
            out->groups[k] = edge ? rest != 0 : whole;
            out->local_size[k] = edge ? rest : b->local_size[k];
            some &= out->groups[k] != 0;
        }
        if (some)
            return true;
    }
    return false;
}

/* ---- a dispatch ------------------------------------------------------------------------------ */

static HeddleResult run(void *user)
{
    Run *r = user;
    const HeddleKernelInfo *info = r->kernel->info;
    Bound b = { .dispatch = r->dispatch };
    if (!cpu_target_runs(&r->kernel->device->target, r->sink))
        return HEDDLE_ERROR_UNSUPPORTED;
    for (int i = 0; i < 3; i++)
        b.groups[i] = MAX(r->dispatch->groups[i], 1);
    b.bindings = NEW_ARRAY(&r->scratch, CpuBinding *, info->n_bindings);
    b.counts = NEW_ARRAY(&r->scratch, uint32_t, info->n_bindings);
    bool good = true;
    for (uint32_t i = 0; i < info->n_bindings; i++)
        good &= bind(r, &info->bindings[i], &b.bindings[i], &b.counts[i]);
    if (!bind_push(r, &b) || !good)
        return HEDDLE_ERROR_BINDING;
    if (r->kernel->opencl && !size_opencl(r, &b))
        return HEDDLE_ERROR_ARGUMENT;
    double start = clock_seconds();
    HeddleResult result = r->kernel->device->ops->dispatch(r->kernel, &b, r->report, &r->scratch,
                                                           r->sink);
    r->report->seconds = clock_seconds() - start;
    return result;
}

HeddleResult heddle_dispatch(HeddleKernel *kernel, const HeddleDispatch *dispatch,
                             HeddleReport *report, HeddleLog *log)
{
    HeddleReport unused;
    if (!kernel || !dispatch || (dispatch->n_bindings && !dispatch->bindings))
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_dispatch: kernel, dispatch or its bindings is NULL");
    DiagSink sink = log_sink(log);
    Run r = { .kernel = kernel, .dispatch = dispatch, .report = report ? report : &unused,
              .sink = &sink };
    *r.report = (HeddleReport){ 0 };
    HeddleResult result = log_guarded(log, &r.scratch, run, &r);
    arena_free(&r.scratch);
    return result ? log_failed_stage(&sink, log, result, "running the kernel") : HEDDLE_OK;
}
