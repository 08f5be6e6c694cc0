/* SPDX-License-Identifier: MIT
 *
 * --for, and heddle profile-device: profiles of targets. A name without a folder is one of those
 * that are installed beside the command, in share/heddle/profiles.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static FILE *open_beside(const char *name)
{
    char prefix[PATH_MAX], path[2 * PATH_MAX];
    if (!own_path(prefix, 2))
        return NULL;
    snprintf(path, sizeof path, "%s/share/heddle/profiles/%s.json", prefix, name);
    return fopen(path, "re");
}

/* All that is left of it, closed; NULL after complaining. */
static char *read_all(FILE *f, size_t *size)
{
    char *text = NULL, *more;
    size_t cap = 0;
    *size = 0;
    do {
        cap = cap ? 2 * cap : 4096;
        more = realloc(text, cap);
        if (!more)
            break;
        text = more;
        *size += fread(text + *size, 1, cap - *size, f);
    } while (*size == cap);
    fclose(f);
    if (!more) {
        complain("out of memory");
        free(text);
        return NULL;
    }
    text[*size] = 0;
    return text;
}

char *read_text(const char *path, size_t *size)
{
    FILE *f = fopen(path, "re");
    if (!f)
        complain("%s: %s", path, strerror(errno));
    return f ? read_all(f, size) : NULL;
}

static char *read_profile(const char *name, size_t *size)
{
    FILE *f = fopen(name, "re");
    int error = errno;
    if (!f && !strchr(name, '/'))
        f = open_beside(name);
    if (f)
        return read_all(f, size);
    complain("--for %s: %s, and heddle brings no profile of that name", name, strerror(error));
    return NULL;
}

HeddleResult lower_for(const CliOptions *o, HeddleModule **m, HeddleLog *log)
{
    HeddleModule *from = *m;
    HeddleSpecValue *specs = NULL;
    const HeddleKernelInfo *info = find_entry(o, from);
    HeddleResult r = HEDDLE_ERROR_ARGUMENT;
    HeddleLowerOptions l = { .profile_name = o->profile,
                             .entry = o->entry,
                             .subgroup_size = o->subgroup_size };
    char *text = read_profile(o->profile, &l.profile_size);
    *m = NULL;
    if (text && (!info || o->pipeline || parse_specs(o, info, &specs))) {
        l.profile = text;
        l.specs = specs;
        l.n_specs = specs ? o->specs.len : 0;
        r = heddle_module_lower(from, &l, m, log);
    }
    free(text);
    free(specs);
    heddle_module_free(from);
    return r;
}

/* What became of the instructions that the target does not have; aside where the module itself is
 * printed. */
void print_lowerings(const CliOptions *o, const HeddleLowering *rows, uint32_t n)
{
    CliTable t = { .columns = 4, .align = "lrll", .aside = !o->output || !strcmp(o->output, "-") };
    CliCells c = { 0 };
    table_row(&t, "instruction", "count", "pass", "became");
    for (uint32_t k = 0; k < n; k++)
        table_row(&t, rows[k].instruction, cell(&c, "%u", rows[k].count), rows[k].pass,
                  rows[k].how);
    table_print(&t);
}

/* "2" is the second Vulkan device, "vulkan:2" too. */
int command_profile_device(const CliOptions *o)
{
    char name[32];
    CliOptions with = *o;
    const char *which = o->inputs.len ? o->inputs.data[0] : "0";
    HeddleDevice *d = NULL;
    HeddleLog *log = open_log();
    if (!log)
        return EXIT_WRONG;
    snprintf(name, sizeof name, "vulkan:%s", which);
    with.device = strchr(which, ':') || !strspn(which, "0123456789") ? which : name;
    HeddleResult r = open_device(&with, &d, log);
    const char *text = heddle_device_profile(d);
    FILE *f = o->output && strcmp(o->output, "-") ? fopen(o->output, "we") : stdout;
    if (!r && !text) {
        complain("%s has all that kernels may ask for: there is nothing to lower", which);
        r = HEDDLE_ERROR_UNSUPPORTED;
    }
    if (!r && (!f || fputs(text, f) < 0)) {
        complain("%s: %s", o->output, strerror(errno));
        r = HEDDLE_ERROR_IO;
    }
    if (f && f != stdout && fclose(f) && !r) {
        complain("%s: %s", o->output, strerror(errno));
        r = HEDDLE_ERROR_IO;
    }
    heddle_device_free(d);
    heddle_log_free(log);
    return exit_status(r);
}
