/* SPDX-License-Identifier: MIT
 *
 * info: what heddle can run here.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static void print_list(const char *title, const char *const *words, uint32_t n)
{
    printf("  %-16s", title);
    size_t column = 18;
    for (uint32_t i = 0; i < n; i++) {
        bool wrap = i && column + strlen(words[i]) > 96;
        if (wrap)
            printf("\n%18s", "");
        printf("%s%s", i && !wrap ? " " : "", words[i]);
        column = (wrap ? 18 : column) + strlen(words[i]) + 1;
    }
    printf("%s\n", n ? "" : "-");
}

static void print_device(const HeddleDeviceInfo *d)
{
    printf("%s: %s\n", d->kind_name, d->name);
    if (*d->target && d->vector_bits)
        printf("  %-16s%s, %u-bit vectors\n", "code for", d->target, d->vector_bits);
    else if (*d->target)
        printf("  %-16s%s\n", "code for", d->target);
    if (*d->driver)
        printf("  %-16s%s\n", "driver", d->driver);
    if (d->memory)
        printf("  %-16s%.1f GiB\n", "memory", (double)d->memory / (1 << 30));
    if (d->n_features)
        print_list("uses", d->features, d->n_features);
    if (d->n_levels)
        print_list("runs code for", d->levels, d->n_levels);
    if (d->threads)
        printf("  %-16s%u\n", "threads", d->threads);
    printf("  %-16s", "subgroup sizes");
    for (uint32_t i = 0; i < d->n_subgroup_sizes; i++)
        printf("%u ", d->subgroup_sizes[i]);
    printf("(default %u)\n", d->default_subgroup_size);
}

/* "f16 f16 -> f32" */
static const char *types_text(CliCells *c, const HeddleMatrixShape *s)
{
    return cell(c, "%s*%s->%s%s", heddle_type_name(s->a), heddle_type_name(s->b),
                heddle_type_name(s->result), s->saturating ? " saturating" : "");
}

/* Adjacent shapes of the same size share a row. */
static void print_shapes(const HeddleMatrixShape *s, size_t n)
{
    for (size_t i = 0, column = 0; i < n; i++) {
        CliCells c = { 0 };
        const char *types = types_text(&c, &s[i]);
        bool same = i && s[i].m == s[i - 1].m && s[i].n == s[i - 1].n && s[i].k == s[i - 1].k;
        if (!same)
            printf("%s  %-16s%s", i ? "\n" : "", cell(&c, "%ux%ux%u", s[i].m, s[i].n, s[i].k),
                   types);
        else if (column + strlen(types) > 96)
            printf("\n%18s%s", "", types);
        else
            printf(", %s", types);
        column = same && column + strlen(types) <= 96 ? column + strlen(types) + 2
                                                      : 18 + strlen(types) + 2;
    }
    printf("\n");
}

static void print_one(HeddleDevice *d)
{
    const HeddleDeviceInfo *info = heddle_device_info(d);
    size_t n;
    print_device(info);
    if (info->kind != HEDDLE_DEVICE_VULKAN && info->kind != HEDDLE_DEVICE_CUDA)
        return;
    const HeddleMatrixShape *shapes = heddle_matrix_shapes(d, &n);
    printf("  %-16s%s\n", "matrices", n ? "lowered, but for" : "all lowered");
    if (n)
        print_shapes(shapes, n);
    if (info->kind == HEDDLE_DEVICE_CUDA)
        printf("  %-16s%s\n", "", "(who holds which element: heddle layout --device cuda)");
}

/* Every device of the kind; none is no error where there may be none. */
static bool print_kind(HeddleDeviceKind kind, HeddleLog *log)
{
    bool good = true;
    uint32_t n = heddle_device_count(kind);
    for (uint32_t k = 0; k < n; k++) {
        HeddleDevice *d;
        HeddleDeviceOptions options = { .kind = kind, .ordinal = k };
        if (heddle_device_new(&options, &d, log)) {
            good = false;
            continue;
        }
        print_one(d);
        heddle_device_free(d);
    }
    if (!n)
        printf("%s: -\n", heddle_device_kind_name(kind));
    return good;
}

/* What is read and checked, whatever the device. */
static bool print_extensions(HeddleLog *log)
{
    HeddleDevice *d;
    HeddleDeviceOptions options = { .kind = HEDDLE_DEVICE_REFERENCE };
    if (heddle_device_new(&options, &d, log))
        return false;
    const HeddleDeviceInfo *info = heddle_device_info(d);
    printf("\n");
    print_list("SPIR-V", info->extensions, info->n_extensions);
    heddle_device_free(d);
    return true;
}

/* The one that was asked for. */
static int print_asked(const CliOptions *o, HeddleLog *log)
{
    HeddleDevice *d = NULL;
    bool good = log && !open_device(o, &d, log);
    if (good)
        print_one(d);
    heddle_device_free(d);
    heddle_log_free(log);
    return good ? EXIT_DONE : EXIT_WRONG;
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void put_device(CliJson *j, const HeddleDeviceInfo *d)
{
    json_open(j, NULL, '{');
    json_text(j, "kind", d->kind_name);
    json_text(j, "name", d->name);
    json_text(j, "target", *d->target ? d->target : NULL);
    json_count(j, "threads", d->threads);
    json_count(j, "vector_bits", d->vector_bits);
    json_texts(j, "features", d->features, d->n_features);
    json_sizes(j, "subgroup_sizes", d->subgroup_sizes, d->n_subgroup_sizes);
    json_count(j, "default_subgroup_size", d->default_subgroup_size);
    json_close(j, '}');
}

/* The one asked for, or all. */
static HeddleResult put_devices(CliJson *j, const CliOptions *o, HeddleLog *log)
{
    HeddleDevice *one = NULL;
    bool asked = o->device || o->isa;
    HeddleResult result = asked ? open_device(o, &one, log) : HEDDLE_OK;
    json_open(j, "devices", '[');
    if (one)
        put_device(j, heddle_device_info(one));
    heddle_device_free(one);
    for (int kind = 0; kind < HEDDLE_N_DEVICE_KINDS && !asked; kind++) {
        uint32_t n = heddle_device_count((HeddleDeviceKind)kind);
        for (uint32_t k = 0; k < n; k++) {
            HeddleDevice *d;
            HeddleDeviceOptions options = { .kind = (HeddleDeviceKind)kind, .ordinal = k };
            if (!heddle_device_new(&options, &d, log))
                put_device(j, heddle_device_info(d));
            heddle_device_free(d);
        }
    }
    json_close(j, ']');
    return result;
}

static void put_shapes(CliJson *j)
{
    size_t n;
    const HeddleMatrixShape *s = heddle_matrix_shapes(NULL, &n);
    json_open(j, "shapes", '[');
    for (size_t i = 0; i < n; i++) {
        json_open(j, NULL, '{');
        json_count(j, "m", s[i].m);
        json_count(j, "n", s[i].n);
        json_count(j, "k", s[i].k);
        json_text(j, "a", heddle_type_name(s[i].a));
        json_text(j, "b", heddle_type_name(s[i].b));
        json_text(j, "result", heddle_type_name(s[i].result));
        json_bool(j, "saturating", s[i].saturating);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static int info_for_programs(const CliOptions *o)
{
    CliJson j = { 0 };
    HeddleLog *log = open_log();
    if (!log)
        return EXIT_WRONG;
    json_open(&j, NULL, '{');
    json_text(&j, "version", heddle_version());
    HeddleResult result = put_devices(&j, o, log);
    put_shapes(&j);
    json_close(&j, '}');
    result = !result && heddle_log_errors(log) ? HEDDLE_ERROR_IO : result;
    heddle_log_free(log);
    return exit_status(result);
}

int command_info(const CliOptions *o)
{
    if (o->json)
        return info_for_programs(o);
    HeddleLog *log = open_log();
    if (o->device || o->isa)
        return print_asked(o, log);
    bool good = log != NULL;
    size_t n;
    printf("heddle %s\n\n", heddle_version());
    for (int kind = 0; log && kind < HEDDLE_N_DEVICE_KINDS; kind++)
        good &= print_kind((HeddleDeviceKind)kind, log);
    good = log && print_extensions(log) && good;
    const HeddleMatrixShape *shapes = heddle_matrix_shapes(NULL, &n);
    printf("\nmatrix shapes reported, M x N x K (kernels may use any from 1 to %d)\n",
           HEDDLE_MATRIX_MOST);
    print_shapes(shapes, n);
    heddle_log_free(log);
    return good ? EXIT_DONE : EXIT_WRONG;
}
