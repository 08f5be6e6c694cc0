/* SPDX-License-Identifier: MIT
 *
 * run: dispatches a kernel on arrays from files and descriptions, and reports what became of them.
 * bench: repeats the same dispatch. Arrays are bound in place, without copies.
 */
#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/profiler.h"

typedef struct Slot {
    HeddleArray *array;
    HeddleBuffer *buffer;
    bool pushed; /* its address is among the push constants */
} Slot;

typedef struct CommandRun {
    const CliOptions *options;
    HeddleLog *log;
    HeddleModule *module;
    HeddleDevice *device;
    HeddleKernel *kernel;
    const HeddleKernelInfo *info;
    Slot *slots; /* by --bind */
    HeddleBinding *bindings;
    uint32_t n_bindings;
    char *push;
    size_t push_size;
    uint32_t groups[3];
    bool opencl;   /* the dispatch's sizes are its invocations */
    CliJson json;  /* with --json */
    double sample; /* HeddleDispatch's */
    bool brief;    /* profile: the last dispatch was, and no watchdog is needed */
} CommandRun;

/* ---- bindings -------------------------------------------------------------------------------- */

typedef struct Key {
    uint32_t set, binding, index;
} Key;

static bool digits(const char **s, uint32_t *out)
{
    char *end;
    if (!isdigit((unsigned char)**s))
        return false;
    *out = (uint32_t)strtoul(*s, &end, 10);
    *s = end;
    return true;
}

/* "2", "1.2", "2[3]", "weights", "weights[3]" up to the '='. Returns what follows it, or NULL. */
static const char *parse_key(const CommandRun *r, const char *text, Key *key)
{
    const char *s = text, *end = text + strcspn(text, "[=");
    *key = (Key){ 0 };
    if (digits(&s, &key->binding)) {
        if (*s == '.') {
            key->set = key->binding;
            s++;
            if (!digits(&s, &key->binding))
                return NULL;
        }
    } else {
        uint32_t i = 0;
        while (i < r->info->n_bindings &&
               (strlen(r->info->bindings[i].name) != (size_t)(end - s) ||
                strncmp(r->info->bindings[i].name, s, (size_t)(end - s))))
            i++;
        if (i == r->info->n_bindings || end == s)
            return NULL;
        key->set = r->info->bindings[i].set;
        key->binding = r->info->bindings[i].binding;
        s = end;
    }
    if (*s == '[') {
        s++;
        if (!digits(&s, &key->index) || *s++ != ']')
            return NULL;
    }
    return *s == '=' ? s + 1 : NULL;
}

static bool bad_key(const CommandRun *r, const char *option, const char *text)
{
    complain("%s %s: N=... expected, N being a binding of set 0, S.N one of set S, or a name",
             option, text);
    for (uint32_t i = 0; i < r->info->n_bindings; i++) {
        const HeddleBindingInfo *b = &r->info->bindings[i];
        fprintf(stderr, "  the kernel has %u.%u %s\n", b->set, b->binding, b->name);
    }
    return false;
}

static const HeddleBindingInfo *info_of(const CommandRun *r, Key key)
{
    for (uint32_t i = 0; i < r->info->n_bindings; i++) {
        if (r->info->bindings[i].set == key.set && r->info->bindings[i].binding == key.binding)
            return &r->info->bindings[i];
    }
    return NULL;
}

static bool is_float(HeddleType t) { return t >= HEDDLE_F16 && t <= HEDDLE_E5M2; }

/* Integers often hold the bits of something else, but numbers of another format or size are
 * probably a mistake. */
static bool likely_mistake(HeddleType kernel, HeddleType array)
{
    if (!is_float(kernel) || array == HEDDLE_NO_TYPE || array == kernel)
        return false;
    return is_float(array) || heddle_type_size(array) != heddle_type_size(kernel);
}

static void warn_of_type(const CommandRun *r, uint32_t slot)
{
    Key key = { r->bindings[slot].set, r->bindings[slot].binding, 0 };
    const HeddleBindingInfo *b = info_of(r, key);
    const HeddleArray *array = r->slots[slot].array;
    HeddleType type = array ? array->type : HEDDLE_NO_TYPE;
    if (!b && !r->slots[slot].pushed)
        fprintf(stderr, "heddle: warning: the kernel does not use set %u, binding %u\n", key.set,
                key.binding);
    if (b && likely_mistake(b->element, type))
        fprintf(stderr,
                "heddle: warning: '%s' (set %u, binding %u) holds %s in the kernel, %s here\n",
                b->name, b->set, b->binding, heddle_type_name(b->element), heddle_type_name(type));
}

static HeddleResult bind_one(CommandRun *r, uint32_t i)
{
    Key key;
    const char *text = r->options->binds.data[i], *spec = parse_key(r, text, &key);
    if (!spec) {
        bad_key(r, "--bind", text);
        return HEDDLE_ERROR_ARGUMENT;
    }
    Slot *s = &r->slots[i];
    HeddleBinding *b = &r->bindings[r->n_bindings];
    *b = (HeddleBinding){ .set = key.set, .binding = key.binding, .index = key.index };
    for (uint32_t k = 0; k < r->n_bindings; k++) {
        const HeddleBinding *x = &r->bindings[k];
        if (x->set == b->set && x->binding == b->binding && x->index == b->index) {
            complain("--bind %s: set %u, binding %u is given twice", text, b->set, b->binding);
            return HEDDLE_ERROR_ARGUMENT;
        }
    }
    if (!strncmp(spec, "local:", 6)) {
        b->size = strtoull(spec + 6, NULL, 0);
        r->n_bindings++;
        return HEDDLE_OK;
    }
    HeddleResult result = heddle_array_from_spec(spec, &s->array, r->log);
    if (!result && !s->array->size) {
        complain("--bind %s: an empty array cannot be bound", text);
        return HEDDLE_ERROR_ARGUMENT;
    }
    const HeddleBindingInfo *info = info_of(r, key);
    if (!result && info && info->kind == HEDDLE_BINDING_VALUE) {
        b->value = s->array->data;
        b->size = s->array->size;
    } else if (!result) {
        result = heddle_buffer_wrap(r->device, s->array->data, s->array->size, &s->buffer, r->log);
        b->buffer = s->buffer;
    }
    r->n_bindings += !result;
    return result;
}

/* What is bound there; NULL after complaining. *rest is what follows the '='. */
static Slot *bound_slot(const CommandRun *r, const char *option, const char *text,
                        const char **rest)
{
    Key key;
    *rest = parse_key(r, text, &key);
    if (!*rest) {
        bad_key(r, option, text);
        return NULL;
    }
    for (uint32_t i = 0; i < r->n_bindings; i++) {
        const HeddleBinding *b = &r->bindings[i];
        if (b->set == key.set && b->binding == key.binding && b->index == key.index && b->buffer)
            return &r->slots[i];
    }
    complain("%s %s: nothing is bound there", option, text);
    return NULL;
}

static HeddleResult append_push(CommandRun *r, const void *data, size_t size)
{
    char *push = realloc(r->push, r->push_size + size + 1);
    if (!push)
        return HEDDLE_ERROR_MEMORY;
    memcpy(push + r->push_size, data, size);
    r->push = push;
    r->push_size += size;
    return HEDDLE_OK;
}

/* "address:2": eight bytes, where buffer 2 lies. */
static HeddleResult push_address(CommandRun *r, const char *key)
{
    char text[96];
    const char *rest;
    snprintf(text, sizeof text, "%s=", key);
    Slot *s = bound_slot(r, "--push address", text, &rest);
    if (!s)
        return HEDDLE_ERROR_ARGUMENT;
    uint64_t address = heddle_buffer_address(s->buffer);
    s->pushed = true;
    return append_push(r, &address, sizeof address);
}

static HeddleResult join_push(CommandRun *r)
{
    HeddleResult result = HEDDLE_OK;
    for (uint32_t i = 0; i < r->options->pushes.len && !result; i++) {
        const char *spec = r->options->pushes.data[i];
        if (!strncmp(spec, "address:", 8)) {
            result = push_address(r, spec + 8);
            continue;
        }
        HeddleArray *a;
        result = heddle_array_from_spec(spec, &a, r->log);
        if (!result)
            result = append_push(r, a->data, a->size);
        heddle_array_free(a);
    }
    if (!result && r->push_size > r->info->push_size) {
        complain("--push: %zu bytes are given, the kernel has %llu bytes of push constants",
                 r->push_size, (unsigned long long)r->info->push_size);
        result = HEDDLE_ERROR_ARGUMENT;
    }
    return result;
}

static HeddleResult choose_groups(CommandRun *r)
{
    const CliOptions *o = r->options;
    if (!o->has_groups && !o->has_global)
        fprintf(stderr, "heddle: warning: neither --groups nor --global is given: one workgroup "
                        "runs\n");
    for (int i = 0; i < 3; i++) {
        uint32_t local = r->info->local_size[i];
        if (!local)
            local = o->has_local ? o->local[i] : 1;
        r->groups[i] = o->has_groups ? o->groups[i] : 1;
        if (!o->has_global)
            continue;
        if (r->opencl) {
            r->groups[i] = (o->global[i] + local - 1) / local;
            continue;
        }
        if (o->global[i] % local) {
            complain("--global: %u is no multiple of %u, the workgroup's size in %c", o->global[i],
                     local, "xyz"[i]);
            return HEDDLE_ERROR_ARGUMENT;
        }
        r->groups[i] = o->global[i] / local;
    }
    return HEDDLE_OK;
}

/* bench has none unless it is asked for: what it measures are short dispatches, many of them. */
static double watchdog(const CliOptions *o)
{
    return o->command == CMD_BENCH && !o->has_watchdog ? 0 : o->watchdog;
}

/* A Vulkan device's is of the whole dispatch, whose length only who asks for one knows. */
static double dispatch_watchdog(const CliOptions *o, const HeddleDevice *d)
{
    bool vulkan = heddle_device_info(d)->kind == HEDDLE_DEVICE_VULKAN;
    return vulkan && !o->has_watchdog ? 0 : watchdog(o);
}

/* Where a kernel does not end is said by its lines. */
static bool needs_lines(const CliOptions *o, const HeddleDevice *d)
{
    return watchdog(o) > 0 && heddle_device_info(d)->kind == HEDDLE_DEVICE_CPU;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static HeddleResult set_up(CommandRun *r)
{
    const CliOptions *o = r->options;
    HeddleResult result = open_module(o, &r->module, r->log);
    if (!result)
        result = open_device(o, &r->device, r->log);
    if (!result)
        result = open_kernel(o, r->device, r->module,
                             (CliPurpose){ .stats = o->stats && o->command == CMD_RUN,
                                           .debug = needs_lines(o, r->device) },
                             &r->kernel, r->log);
    if (result)
        return result;
    r->info = heddle_kernel_info(r->kernel);
    r->opencl = r->info->opencl;
    r->slots = calloc(o->binds.len + 1, sizeof *r->slots);
    r->bindings = calloc(o->binds.len + 1, sizeof *r->bindings);
    if (!r->slots || !r->bindings)
        return HEDDLE_ERROR_MEMORY;
    for (uint32_t i = 0; i < o->binds.len && !result; i++)
        result = bind_one(r, i);
    if (!result)
        result = join_push(r);
    for (uint32_t i = 0; i < r->n_bindings && !result; i++)
        warn_of_type(r, i);
    return result ? result : choose_groups(r);
}

static void tear_down(CommandRun *r)
{
    for (uint32_t i = 0; r->slots && i < r->options->binds.len; i++) {
        heddle_buffer_free(r->slots[i].buffer);
        heddle_array_free(r->slots[i].array);
    }
    free(r->slots);
    free(r->bindings);
    free(r->push);
    heddle_kernel_free(r->kernel);
    heddle_module_free(r->module);
    heddle_device_free(r->device);
    heddle_log_free(r->log);
}

static void print_text(void *user, const char *text, size_t length)
{
    fwrite(text, 1, length, user);
}

/* ---- checked runs ---------------------------------------------------------------------------- */

static volatile int interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* On a terminal, a line that stays where it is. */
typedef struct Progress {
    double start, shown;
} Progress;

static void show_progress(void *user, uint64_t done, uint64_t total)
{
    Progress *p = user;
    double t = now();
    if (t - p->start < 1 || (t - p->shown < 0.2 && done < total))
        return;
    p->shown = t;
    if (done < total)
        fprintf(stderr, "\r%llu of %llu workgroups, about %.0f s left \033[K",
                (unsigned long long)done, (unsigned long long)total,
                (t - p->start) / (double)done * (double)(total - done));
    else
        fprintf(stderr, "\r\033[K");
}

/* Mistakes are shown as they are found; Ctrl-C ends the kernel, which then says where it was, and a
 * second one the command. */
static HeddleResult dispatch_watched(HeddleKernel *kernel, HeddleDispatch *d, HeddleReport *report,
                                     HeddleLog *log)
{
    Progress progress = { .start = now() };
    struct sigaction ours = { .sa_handler = interrupt, .sa_flags = SA_RESETHAND }, before;
    d->live = true;
    d->stop = &interrupted;
    if (isatty(STDERR_FILENO)) {
        d->progress = show_progress;
        d->progress_user = &progress;
    }
    sigaction(SIGINT, &ours, &before);
    HeddleResult result = heddle_dispatch(kernel, d, report, log);
    sigaction(SIGINT, &before, NULL);
    return result;
}

static HeddleResult dispatch_once(CommandRun *r, HeddleKernel *kernel, HeddleReport *report)
{
    HeddleDispatch d = { .bindings = r->bindings,
                         .n_bindings = r->n_bindings,
                         .push = r->push,
                         .push_size = r->push_size,
                         .interleave = (int)r->options->interleave,
                         .seed = r->options->seed,
                         .budget = r->options->budget,
                         .sample = r->sample,
                         .watchdog = r->brief ? 0 : dispatch_watchdog(r->options, r->device) };
    memcpy(d.groups, r->groups, sizeof d.groups);
    if (r->opencl && r->options->has_global)
        memcpy(d.global_size, r->options->global, sizeof d.global_size);
    memcpy(d.local_size, r->options->local, sizeof d.local_size);
    memcpy(d.global_offset, r->options->offset, sizeof d.global_offset);
    d.print = print_text;
    d.print_user = r->options->json ? stderr : stdout;
    d.struct_size = sizeof d;
    if (heddle_device_info(r->device)->kind == HEDDLE_DEVICE_REFERENCE)
        return dispatch_watched(kernel, &d, report, r->log);
    return heddle_dispatch(kernel, &d, report, r->log);
}

/* ---- reporting ------------------------------------------------------------------------------- */

static double bound_bytes(const CommandRun *r)
{
    double bytes = 0;
    for (uint32_t i = 0; i < r->n_bindings; i++) {
        Key key = { r->bindings[i].set, r->bindings[i].binding, 0 };
        bytes += info_of(r, key) && r->slots[i].buffer ? (double)r->slots[i].array->size : 0;
    }
    return bytes;
}

static const char *groups_text(const CommandRun *r, CliCells *c)
{
    return cell(c, "%ux%ux%u", r->groups[0], r->groups[1], r->groups[2]);
}

static const char *gflops(CliCells *c, const HeddleStats *s, double seconds)
{
    return s->flops && seconds > 0 ? cell(c, "%.2f", (double)s->flops / seconds * 1e-9) : "-";
}

static double per_second(double what, double seconds)
{
    return what > 0 && seconds > 0 ? what / seconds : NAN;
}

/* What run and bench have in common, of programs'. */
static void put_run(CommandRun *r, const HeddleReport *report, double seconds)
{
    CliJson *j = &r->json;
    json_text(j, "kernel", r->options->inputs.data[0]);
    json_text(j, "device", heddle_device_info(r->device)->kind_name);
    json_count(j, "subgroup_size", r->info->subgroup_size);
    json_sizes(j, "groups", r->groups, 3);
    json_sizes(j, "local_size", r->info->local_size, 3);
    json_real(j, "compile_seconds", heddle_kernel_seconds(r->kernel));
    json_real(j, "seconds", seconds);
    json_real(j, "flops_per_second", per_second((double)report->stats.flops, seconds));
    json_real(j, "bytes_per_second", per_second(bound_bytes(r), seconds));
    if (r->options->stats)
        json_report(j, report, heddle_device_info(r->device)->kind);
}

static void print_run(const CommandRun *r, const HeddleReport *report)
{
    CliCells c = { 0 };
    CliTable t = { .columns = 8, .align = "llrlrrrr" };
    table_row(&t, "kernel", "device", "subgroup", "groups", "compile", "time", "GFLOP/s", "GB/s");
    table_row(&t, r->options->inputs.data[0], heddle_device_info(r->device)->kind_name,
              cell(&c, "%u", r->info->subgroup_size), groups_text(r, &c),
              cell_seconds(&c, heddle_kernel_seconds(r->kernel)), cell_seconds(&c, report->seconds),
              gflops(&c, &report->stats, report->seconds),
              cell(&c, "%.2f", bound_bytes(r) / report->seconds * 1e-9));
    table_print(&t);
}

static void print_stats(const CommandRun *r, const HeddleReport *report)
{
    HeddleDeviceKind kind = heddle_device_info(r->device)->kind;
    stats_print(report, kind, heddle_kernel_info(r->kernel));
    if (kind == HEDDLE_DEVICE_VULKAN) {
        uint32_t count;
        const HeddleLowering *lowered = heddle_kernel_lowerings(r->kernel, &count);
        if (count)
            print_lowerings(r->options, lowered, count);
    }
    uint32_t before, after;
    heddle_module_matrix_loads(r->module, &before, &after);
    if (before && r->options->rotate_loads)
        printf("matrix loads in the text: %u before rotation of overlapping ones, %u after\n",
               before, after);
}

static HeddleResult write_outs(CommandRun *r)
{
    HeddleResult worst = HEDDLE_OK;
    for (uint32_t i = 0; i < r->options->outs.len; i++) {
        const char *path;
        Slot *s = bound_slot(r, "--out", r->options->outs.data[i], &path);
        HeddleResult result = HEDDLE_ERROR_ARGUMENT;
        if (s)
            result = heddle_array_write(s->array, path, r->log);
        worst = result ? result : worst;
    }
    return worst;
}

/* How many are no numbers where numbers are expected, and the first of them: a NaN is far from
 * every number, by no distance that could be told. */
static uint64_t count_nans(const HeddleArray *got, const HeddleArray *expected, uint64_t *first)
{
    uint64_t n = 0;
    *first = 0;
    for (uint64_t i = got->count; is_float(got->type) && i-- > 0;) {
        if (isnan(heddle_array_get(got, i)) && !isnan(heddle_array_get(expected, i))) {
            n++;
            *first = i;
        }
    }
    return n;
}

static void say_comparison(CommandRun *r, const char *text, const HeddleComparison *c,
                           uint64_t nans, uint64_t first_nan)
{
    size_t n = strcspn(text, "=");
    CliCells cells = { 0 };
    if (!r->options->json) {
        printf("compared %.*s with %s: %llu of %llu differ, largest error %.3g, relative %.3g%s\n",
               (int)n, text, text + n + 1, (unsigned long long)c->different,
               (unsigned long long)c->count, c->max_absolute, c->relative_norm,
               nans ? cell(&cells, "; %llu NaN, the first at %llu", (unsigned long long)nans,
                           (unsigned long long)first_nan)
                    : "");
        return;
    }
    json_open(&r->json, NULL, '{');
    json_text(&r->json, "binding", cell(&cells, "%.*s", (int)n, text));
    json_text(&r->json, "expected", text + n + 1);
    json_count(&r->json, "count", c->count);
    json_count(&r->json, "different", c->different);
    json_count(&r->json, "nan", nans);
    json_real(&r->json, "max_absolute", c->max_absolute);
    json_real(&r->json, "relative_norm", c->relative_norm);
    json_close(&r->json, '}');
}

static HeddleResult compare_one(CommandRun *r, const char *text)
{
    uint64_t nans = 0, first_nan = 0;
    const char *spec;
    HeddleArray *expected = NULL;
    Slot *got = bound_slot(r, "--compare", text, &spec);
    if (!got)
        return HEDDLE_ERROR_ARGUMENT;
    HeddleComparison c = { 0 };
    HeddleResult result = heddle_array_from_spec(spec, &expected, r->log);
    if (!result)
        result = heddle_array_compare(got->array, expected, r->options->tolerance, &c, r->log);
    if (c.count) {
        nans = count_nans(got->array, expected, &first_nan);
        say_comparison(r, text, &c, nans, first_nan);
    }
    heddle_array_free(expected);
    return result;
}

static HeddleResult write_and_compare(CommandRun *r)
{
    HeddleResult worst = write_outs(r);
    if (r->options->json)
        json_open(&r->json, "comparisons", '[');
    for (uint32_t i = 0; i < r->options->compares.len; i++) {
        HeddleResult result = compare_one(r, r->options->compares.data[i]);
        worst = result ? result : worst;
    }
    if (r->options->json)
        json_close(&r->json, ']');
    return worst;
}

static HeddleResult run_once(CommandRun *r)
{
    HeddleReport report = { .struct_size = sizeof report };
    HeddleResult result = dispatch_once(r, r->kernel, &report);
    /* The output is still interesting when a checked run found mistakes. */
    if (result && !(result == HEDDLE_ERROR_RUN && r->options->check))
        return result;
    if (r->options->json)
        put_run(r, &report, report.seconds);
    else
        print_run(r, &report);
    if (r->options->stats && !r->options->json)
        print_stats(r, &report);
    HeddleResult rest = write_and_compare(r);
    return result ? result : rest;
}

/* ---- bench ----------------------------------------------------------------------------------- */

enum { MIN_RUNS = 5, MAX_RUNS = 100000 };

/* Operations of one dispatch, by a kernel that counts; zeros where the device has no counters. */
static HeddleReport count_operations(CommandRun *r)
{
    HeddleReport report = { .struct_size = sizeof report };
    HeddleKernel *counting;
    if (!open_kernel(r->options, r->device, r->module,
                     (CliPurpose){ .stats = true, .debug = needs_lines(r->options, r->device) },
                     &counting, r->log))
        dispatch_once(r, counting, &report);
    heddle_kernel_free(counting);
    return report;
}

/* Runs n_kernels in turns, each round starting with another one; stores the *n sorted times of
 * kernel k from times[k * MAX_RUNS] on. */
static HeddleResult measure(CommandRun *r, HeddleKernel **kernels, uint32_t n_kernels,
                            double *times, uint32_t *n)
{
    HeddleReport report = { .struct_size = sizeof report };
    HeddleResult result = HEDDLE_OK;
    for (uint32_t k = 0; k < n_kernels && !result; k++)
        result = dispatch_once(r, kernels[k], &report);
    double end = now() + r->options->seconds * n_kernels;
    for (*n = 0; !result && *n < MAX_RUNS && (*n < MIN_RUNS || now() < end); ++*n) {
        for (uint32_t i = 0; i < n_kernels && !result; i++) {
            uint32_t k = (*n + i) % n_kernels;
            result = dispatch_once(r, kernels[k], &report);
            times[(size_t)k * MAX_RUNS + *n] = report.seconds;
        }
    }
    for (uint32_t k = 0; k < n_kernels; k++)
        sort_times(times + (size_t)k * MAX_RUNS, *n);
    return result;
}

static void put_bench(CommandRun *r, const double *t, uint32_t n, const HeddleReport *counts)
{
    CliJson *j = &r->json;
    put_run(r, counts, t[n / 2]);
    json_count(j, "runs", n);
    json_real(j, "min_seconds", t[0]);
    json_real(j, "max_seconds", t[n - 1]);
    json_open(j, "quartile_seconds", '[');
    json_real(j, NULL, t[n / 4]);
    json_real(j, NULL, t[n * 3 / 4]);
    json_close(j, ']');
}

static void print_bench(const CommandRun *r, const double *t, uint32_t n,
                        const HeddleReport *counts)
{
    CliCells c = { 0 };
    double median = t[n / 2];
    CliTable table = { .columns = 11, .align = "llrlrrrrrrr" };
    table_row(&table, "kernel", "device", "subgroup", "groups", "runs", "median", "min", "max",
              "spread", "GFLOP/s", "GB/s");
    table_row(&table, r->options->inputs.data[0], heddle_device_info(r->device)->kind_name,
              cell(&c, "%u", r->info->subgroup_size), groups_text(r, &c), cell(&c, "%u", n),
              cell_seconds(&c, median), cell_seconds(&c, t[0]), cell_seconds(&c, t[n - 1]),
              cell(&c, "%.1f %%", 100 * (t[n * 3 / 4] - t[n / 4]) / median),
              gflops(&c, &counts->stats, median), cell(&c, "%.2f", bound_bytes(r) / median * 1e-9));
    table_print(&table);
    if (r->options->stats)
        print_stats(r, counts);
}

static HeddleResult bench(CommandRun *r)
{
    double *times = malloc(MAX_RUNS * sizeof *times);
    if (!times)
        return HEDDLE_ERROR_MEMORY;
    HeddleReport counts = count_operations(r);
    uint32_t n;
    HeddleResult result = measure(r, &r->kernel, 1, times, &n);
    if (!result && r->options->json)
        put_bench(r, times, n, &counts);
    else if (!result)
        print_bench(r, times, n, &counts);
    free(times);
    return result ? result : write_and_compare(r);
}

static HeddleResult print_sweep(const CommandRun *r, const double *times, uint32_t n,
                                const HeddleReport *counts)
{
    CliSweep s = { r->options->inputs.data[0],
                   heddle_device_info(r->device)->kind_name,
                   n,
                   (double)counts->stats.flops,
                   { 0 } };
    for (uint32_t row = 0; row < SWEEP_ROWS; row++)
        s.median[row] = times[(size_t)row * MAX_RUNS + n / 2];
    sweep_print(&s);
    if (r->options->stats)
        print_stats(r, counts);
    return !r->options->svg || sweep_svg(&s, r->options->svg) ? HEDDLE_OK : HEDDLE_ERROR_IO;
}

static HeddleResult sweep(CommandRun *r)
{
    HeddleModule *modules[SWEEP_ROWS] = { NULL };
    HeddleKernel *kernels[SWEEP_ROWS] = { NULL };
    double *times = malloc(SWEEP_ROWS * MAX_RUNS * sizeof *times);
    HeddleResult result = times ? HEDDLE_OK : HEDDLE_ERROR_MEMORY;
    for (uint32_t row = 0; row < SWEEP_ROWS && !result; row++) {
        result = sweep_module(r->module, r->options->inputs.data[0], row, &modules[row], r->log);
        if (!result)
            result = open_kernel(r->options, r->device, modules[row],
                                 (CliPurpose){ .debug = needs_lines(r->options, r->device) },
                                 &kernels[row], r->log);
    }
    uint32_t n = 0;
    HeddleReport counts = { 0 };
    if (!result) {
        counts = count_operations(r);
        result = measure(r, kernels, SWEEP_ROWS, times, &n);
    }
    if (!result)
        result = print_sweep(r, times, n, &counts);
    for (uint32_t row = 0; row < SWEEP_ROWS; row++) {
        heddle_kernel_free(kernels[row]);
        heddle_module_free(modules[row]);
    }
    free(times);
    return result ? result : write_and_compare(r);
}

/* ---- profile --------------------------------------------------------------------------------- */

/* Seconds; a dispatch that has ended within them is run on without a watchdog, whose timer takes
 * longer than a short one does. */
#define BRIEF 0.01

static HeddleResult dispatch_looked_at(void *user, HeddleKernel *kernel, double sample,
                                       HeddleReport *report)
{
    CommandRun *r = user;
    r->sample = sample;
    HeddleResult result = dispatch_once(r, kernel, report);
    r->brief = report->seconds < BRIEF;
    return result;
}

static HeddleResult profile(CommandRun *r)
{
    CliCells c = { 0 };
    if (heddle_device_info(r->device)->kind != HEDDLE_DEVICE_CPU) {
        complain("profile looks at the cpu device, not at %s",
                 heddle_device_info(r->device)->kind_name);
        return HEDDLE_ERROR_ARGUMENT;
    }
    CliRunner runner = { .options = r->options,
                         .device = r->device,
                         .module = r->module,
                         .log = r->log,
                         .dispatch = dispatch_looked_at,
                         .user = r,
                         .groups = groups_text(r, &c),
                         .bytes = bound_bytes(r),
                         .json = &r->json };
    return profile_run(&runner);
}

/* Restrictions that the table of options cannot express. */
static bool fits_together(const CliOptions *o)
{
    if (o->has_groups && o->has_global)
        complain("--groups and --global both say how much runs: one of them, please");
    else if (o->sweep && o->json)
        complain("--sweep prints a table: it does not take --json");
    else if (o->sweep && strcmp(o->sweep, "wait-queues"))
        complain("--sweep takes wait-queues, not '%s'", o->sweep);
    else if (o->svg && !o->sweep && o->command == CMD_BENCH)
        complain("--svg draws what --sweep measures: --sweep wait-queues");
    else
        return true;
    return false;
}

/* Whether another call of the same kernel may do better: its source may want macros. */
static bool is_about_the_call(HeddleResult r)
{
    return r == HEDDLE_ERROR_ARGUMENT || r == HEDDLE_ERROR_BINDING || r == HEDDLE_ERROR_SOURCE ||
           r == HEDDLE_ERROR_UNSUPPORTED;
}

int command_run(const CliOptions *o)
{
    if (!fits_together(o))
        return EXIT_USAGE;
    CommandRun r = { .options = o, .log = open_log() };
    if (o->json)
        json_open(&r.json, NULL, '{');
    HeddleResult result = r.log ? set_up(&r) : HEDDLE_ERROR_MEMORY;
    if (!result)
        result = o->command == CMD_PROFILE ? profile(&r)
                 : o->command == CMD_RUN   ? run_once(&r)
                 : o->sweep                ? sweep(&r)
                                           : bench(&r);
    if (o->json)
        json_end(&r.json, result, r.log);
    if (is_about_the_call(result))
        print_usage_comment(o->inputs.data[0]);
    tear_down(&r);
    return exit_status(result);
}
