/* SPDX-License-Identifier: MIT
 *
 * From options to a log, a module, a device and a kernel.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

HeddleLog *open_log(void)
{
    HeddleLog *log = heddle_log_new(print_diagnostic, NULL);
    if (!log)
        complain("out of memory");
    return log;
}

int exit_status(HeddleResult r)
{
    return r == HEDDLE_OK ? EXIT_DONE : r == HEDDLE_ERROR_ARGUMENT ? EXIT_USAGE : EXIT_WRONG;
}

/* ---- module and device ----------------------------------------------------------------------- */

static bool parse_language(const char *name, HeddleLanguage *out)
{
    static const char *const names[] = { "glsl", "spirv", "asm", "opencl", "mlir" };
    static const HeddleLanguage languages[] = { HEDDLE_LANGUAGE_GLSL, HEDDLE_LANGUAGE_SPIRV,
                                                HEDDLE_LANGUAGE_SPIRV_ASM, HEDDLE_LANGUAGE_OPENCL,
                                                HEDDLE_LANGUAGE_MLIR };
    *out = HEDDLE_LANGUAGE_AUTO;
    for (int i = 0; name && i < 5; i++) {
        if (!strcmp(name, names[i]))
            *out = languages[i];
    }
    if (name && *out == HEDDLE_LANGUAGE_AUTO)
        complain("--language takes glsl, spirv, asm, opencl or mlir, not '%s'", name);
    return !name || *out != HEDDLE_LANGUAGE_AUTO;
}

/* "NAME" or "NAME=VALUE"; the name is copied, the value points into s. */
static bool split_define(const char *s, HeddleDefine *out)
{
    size_t n = strcspn(s, "=");
    out->name = strndup(s, n);
    out->value = s[n] ? s + n + 1 : NULL;
    return n && out->name;
}

bool mlir_options(const CliOptions *o, HeddleModuleOptions *out)
{
    const char *as = o->rotate_as ? o->rotate_as : "spirv";
    out->subgroup_size = o->subgroup_size;
    out->local_size = o->has_local ? o->local : NULL;
    out->rotate_loads = o->rotate_loads;
    out->rotate_by_gpu = !strcmp(as, "gpu");
    if (out->rotate_by_gpu || !strcmp(as, "spirv"))
        return true;
    complain("--rotate-as takes spirv or gpu, not '%s'", as);
    return false;
}

/* A module of SPIR-V was compiled for something already. */
static bool fits_target(const CliOptions *o, const HeddleModuleOptions *m)
{
    HeddleLanguage l = m->language ? m->language : heddle_language_of(NULL, 0, o->inputs.data[0]);
    if (!m->opencl_to_vulkan || (l != HEDDLE_LANGUAGE_SPIRV && l != HEDDLE_LANGUAGE_SPIRV_ASM))
        return true;
    complain("--target vulkan: %s is SPIR-V, not OpenCL C", o->inputs.data[0]);
    return false;
}

typedef HeddleResult (*OpenFn)(void *user, const HeddleModuleOptions *options, HeddleLog *log);

/* Calls `open` with what the command line says of modules. */
static HeddleResult with_options(const CliOptions *o, OpenFn open, void *user, HeddleLog *log)
{
    HeddleDefine *defines = calloc(o->defines.len + 1, sizeof *defines);
    bool good = defines != NULL;
    for (uint32_t i = 0; good && i < o->defines.len; i++)
        good = split_define(o->defines.data[i], &defines[i]);
    HeddleModuleOptions m = { .struct_size = sizeof m,
                              .compiler = o->glslang,
                              .include_dirs = o->includes.data,
                              .n_include_dirs = o->includes.len,
                              .defines = defines,
                              .n_defines = o->defines.len,
                              .target_env = o->target_env,
                              .keep_variables = o->debug && o->no_optimisation,
                              .opencl_to_vulkan = o->target && !strcmp(o->target, "vulkan") };
    HeddleResult r = HEDDLE_ERROR_ARGUMENT;
    if (!good)
        complain("-D takes NAME or NAME=VALUE");
    else if (o->target && !m.opencl_to_vulkan && strcmp(o->target, "opencl"))
        complain("--target takes opencl or vulkan, not '%s'", o->target);
    else if (mlir_options(o, &m) && parse_language(o->language, &m.language) && fits_target(o, &m))
        r = open(user, &m, log);
    for (uint32_t i = 0; defines && i < o->defines.len; i++)
        free((char *)defines[i].name);
    free(defines);
    return r;
}

typedef struct Opening {
    const char *path;
    HeddleOpenclForm form;
    HeddleModule **module;
    char **text;
} Opening;

static HeddleResult read_module(void *user, const HeddleModuleOptions *options, HeddleLog *log)
{
    Opening *p = user;
    return heddle_module_from_file(p->path, options, p->module, log);
}

static HeddleResult read_opencl(void *user, const HeddleModuleOptions *options, HeddleLog *log)
{
    Opening *p = user;
    return heddle_opencl_from_file(p->path, options, p->form, p->text, log);
}

/* Replaces *m by the module with software pipelines. */
static HeddleResult pipeline(const CliOptions *o, HeddleModule **m, HeddleLog *log)
{
    HeddleModule *from = *m;
    HeddleSpecValue *specs = NULL;
    const HeddleKernelInfo *info = find_entry(o, from);
    HeddleResult r = HEDDLE_ERROR_ARGUMENT;
    HeddlePipelineOptions p = { .entry = o->entry, .subgroup_size = o->subgroup_size };
    *m = NULL;
    if (!info || parse_specs(o, info, &specs)) {
        p.specs = specs;
        p.n_specs = specs ? o->specs.len : 0;
        r = heddle_module_pipeline(from, &p, m, log);
    }
    free(specs);
    heddle_module_free(from);
    return r;
}

HeddleResult open_module(const CliOptions *o, HeddleModule **out, HeddleLog *log)
{
    Opening p = { .path = o->inputs.data[0], .module = out };
    *out = NULL;
    HeddleResult r = with_options(o, read_module, &p, log);
    if (!r && o->pipeline)
        r = pipeline(o, out, log);
    return r || !o->profile ? r : lower_for(o, out, log);
}

HeddleResult open_opencl(const CliOptions *o, HeddleOpenclForm form, char **text, HeddleLog *log)
{
    Opening p = { .path = o->inputs.data[0], .form = form, .text = text };
    *text = NULL;
    return with_options(o, read_opencl, &p, log);
}

/* "cpu", "cpu:0" */
static bool parse_device(const char *text, HeddleDeviceOptions *d)
{
    size_t name = strcspn(text, ":");
    uint32_t kind = 0;
    for (; kind < HEDDLE_N_DEVICE_KINDS; kind++) {
        const char *known = heddle_device_kind_name((HeddleDeviceKind)kind);
        if (strlen(known) == name && !memcmp(known, text, name))
            break;
    }
    char *end = (char *)text + name;
    if (*end) {
        errno = 0;
        unsigned long ordinal = strtoul(text + name + 1, &end, 10);
        if (end == text + name + 1 || errno || ordinal > UINT32_MAX)
            return false;
        d->ordinal = (uint32_t)ordinal;
    }
    d->kind = (HeddleDeviceKind)kind;
    return kind < HEDDLE_N_DEVICE_KINDS && !*end;
}

HeddleResult open_device(const CliOptions *o, HeddleDevice **out, HeddleLog *log)
{
    HeddleDeviceOptions d = { .struct_size = sizeof d, .threads = o->threads, .isa = o->isa };
    *out = NULL;
    if (o->check)
        d.kind = HEDDLE_DEVICE_REFERENCE;
    if (o->device && !parse_device(o->device, &d)) {
        complain("--device takes cpu, reference, vulkan or cuda, not '%s'", o->device);
        return HEDDLE_ERROR_ARGUMENT;
    }
    return heddle_device_new(&d, out, log);
}

const HeddleKernelInfo *find_entry(const CliOptions *o, const HeddleModule *m)
{
    uint32_t n = heddle_module_n_entry_points(m);
    for (uint32_t i = 0; i < n; i++) {
        const HeddleKernelInfo *info = heddle_module_entry_point(m, i);
        if (o->entry ? !strcmp(o->entry, info->entry) : n == 1)
            return info;
    }
    return NULL;
}

/* ---- specialisation constants ---------------------------------------------------------------- */

static bool parse_integer(const char *text, HeddleType type, uint64_t *bits)
{
    unsigned width = 8 * (unsigned)heddle_type_size(type);
    bool is_signed = type >= HEDDLE_S8 && type <= HEDDLE_S64;
    char *end;
    errno = 0;
    if (is_signed) {
        long long v = strtoll(text, &end, 0), limit = (long long)(UINT64_MAX >> (65 - width));
        *bits = (uint64_t)v;
        if (v > limit || v < -limit - 1)
            errno = ERANGE;
    } else {
        *bits = strtoull(text, &end, 0);
        if (*text == '-' || *bits > UINT64_MAX >> (64 - width))
            errno = ERANGE;
    }
    if (width < 64)
        *bits &= (UINT64_C(1) << width) - 1;
    return end != text && !*end && !errno;
}

static bool parse_bool(const char *text, uint64_t *bits)
{
    *bits = !strcmp(text, "true") || !strcmp(text, "1");
    return *bits || !strcmp(text, "false") || !strcmp(text, "0");
}

static bool parse_float(const char *text, HeddleType type, uint64_t *bits)
{
    HeddleArray a = { .type = type, .rank = 0, .count = 1, .size = 8, .data = bits };
    char *end;
    double v = strtod(text, &end);
    *bits = 0;
    heddle_array_set(&a, 0, v);
    return end != text && !*end;
}

static bool parse_constant(const char *text, HeddleType type, uint64_t *bits)
{
    if (type == HEDDLE_BOOL)
        return parse_bool(text, bits);
    if (type >= HEDDLE_S8 && type <= HEDDLE_U64)
        return parse_integer(text, type, bits);
    return type != HEDDLE_NO_TYPE && parse_float(text, type, bits);
}

static const HeddleSpecInfo *find_spec(const HeddleKernelInfo *info, const char *key, size_t n)
{
    char *end;
    unsigned long id = strtoul(key, &end, 10);
    bool number = isdigit((unsigned char)*key) && end == key + n;
    for (uint32_t i = 0; i < info->n_specs; i++) {
        const HeddleSpecInfo *s = &info->specs[i];
        if (number ? s->id == id : strlen(s->name) == n && !memcmp(s->name, key, n))
            return s;
    }
    return NULL;
}

static bool parse_spec(const char *text, const HeddleKernelInfo *info, HeddleSpecValue *out)
{
    const char *equals = strchr(text, '=');
    if (!equals) {
        complain("--spec takes ID=VALUE, not '%s'", text);
        return false;
    }
    int n = (int)(equals - text);
    const HeddleSpecInfo *s = find_spec(info, text, (size_t)n);
    if (!s) {
        complain("--spec %s: the kernel has no specialisation constant %.*s", text, n, text);
        return false;
    }
    out->id = s->id;
    if (parse_constant(equals + 1, s->type, &out->bits))
        return true;
    complain("--spec %s: '%s' is no value of type %s", text, equals + 1, heddle_type_name(s->type));
    return false;
}

bool parse_specs(const CliOptions *o, const HeddleKernelInfo *info, HeddleSpecValue **specs)
{
    *specs = calloc(o->specs.len + 1, sizeof **specs);
    for (uint32_t i = 0; *specs && i < o->specs.len; i++) {
        if (!parse_spec(o->specs.data[i], info, &(*specs)[i])) {
            free(*specs);
            *specs = NULL;
        }
    }
    return *specs != NULL;
}

/* ---- kernel ---------------------------------------------------------------------------------- */

/* The size that the kernel is compiled for: the one asked for, else what the dispatch will get. One
 * that does not divide the dispatch stays open, for the smaller workgroups at its edge. */
static void choose_local_size(const CliOptions *o, const HeddleKernelInfo *info, uint32_t size[3])
{
    bool divides = true, open = !info || !info->local_size[0];
    uint32_t chosen[3] = { o->local[0], o->local[1], o->local[2] };
    if (!o->has_local && o->has_global && info && info->opencl && open)
        heddle_local_size(o->global, chosen);
    for (int i = 0; i < 3 && o->has_global; i++)
        divides &= !chosen[i] || o->global[i] % chosen[i] == 0;
    if (divides || !open)
        memcpy(size, chosen, sizeof chosen);
}

/* What is measured, or written, is what would run in the end. */
static bool parse_tier(const CliOptions *o, HeddleTier *out)
{
    static const char *const names[] = { [HEDDLE_TIER_AUTO] = "auto",
                                         [HEDDLE_TIER_FAST] = "fast",
                                         [HEDDLE_TIER_FULL] = "full" };
    bool full = o->command == CMD_BENCH || o->command == CMD_COMPILE;
    *out = full ? HEDDLE_TIER_FULL : HEDDLE_TIER_AUTO;
    for (size_t i = 0; o->tier && i < sizeof names / sizeof *names; i++) {
        if (!strcmp(o->tier, names[i])) {
            *out = (HeddleTier)i;
            return true;
        }
    }
    if (o->tier)
        complain("--tier takes auto, fast or full, not '%s'", o->tier);
    return !o->tier;
}

HeddleResult open_kernel(const CliOptions *o, HeddleDevice *d, const HeddleModule *m,
                         CliPurpose purpose, HeddleKernel **out, HeddleLog *log)
{
    *out = NULL;
    HeddleSpecValue *specs = NULL;
    const HeddleKernelInfo *info = find_entry(o, m);
    HeddleTier tier;
    if (!parse_tier(o, &tier) ||
        (info && !o->pipeline && !o->profile && !parse_specs(o, info, &specs)))
        return HEDDLE_ERROR_ARGUMENT;
    HeddleKernelOptions k = { .struct_size = sizeof k,
                              .entry = o->entry,
                              .specs = specs,
                              .n_specs = specs ? o->specs.len : 0,
                              .subgroup_size = o->profile ? 0 : o->subgroup_size,
                              .robust = o->robust,
                              .no_robust = o->no_robust,
                              .debug = o->debug || purpose.debug,
                              .exact = o->exact,
                              .no_optimisation = o->no_optimisation,
                              .stats = purpose.stats,
                              .profile = purpose.profile,
                              .remarks = purpose.remarks,
                              .tier = tier,
                              .emit = purpose.emit };
    choose_local_size(o, info, k.local_size);
    k.check = o->check != NULL;
    k.check_portability = o->check && !strcmp(o->check, "portability");
    HeddleResult r = heddle_kernel_new(d, m, &k, out, log);
    free(specs);
    return r;
}
