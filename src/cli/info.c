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
    if (*d->target)
        printf("  %-16s%s, %u-bit vectors\n", "code for", d->target, d->vector_bits);
    if (d->n_features)
        print_list("uses", d->features, d->n_features);
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
static void print_shapes(void)
{
    size_t n;
    const HeddleMatrixShape *s = heddle_matrix_shapes(NULL, &n);
    printf("\nmatrix shapes reported, M x N x K (kernels may use any from 1 to %d)\n",
           HEDDLE_MATRIX_MOST);
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

int command_info(const CliOptions *o)
{
    (void)o;
    HeddleLog *log = open_log();
    int status = log ? EXIT_DONE : EXIT_WRONG;
    printf("heddle %s\n\n", heddle_version());
    for (int kind = 0; log && kind < HEDDLE_N_DEVICE_KINDS; kind++) {
        HeddleDevice *d;
        HeddleDeviceOptions options = { .kind = (HeddleDeviceKind)kind };
        if (heddle_device_new(&options, &d, log)) {
            status = EXIT_WRONG;
            continue;
        }
        print_device(heddle_device_info(d));
        if (kind + 1 == HEDDLE_N_DEVICE_KINDS) {
            const HeddleDeviceInfo *info = heddle_device_info(d);
            printf("\n");
            print_list("SPIR-V", info->extensions, info->n_extensions);
        }
        heddle_device_free(d);
    }
    print_shapes();
    heddle_log_free(log);
    return status;
}
