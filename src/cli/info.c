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
        if (i && column + strlen(words[i]) > 96) {
            printf("\n%18s", "");
            column = 18;
        }
        printf("%s%s", words[i], i + 1 < n ? " " : "");
        column += strlen(words[i]) + 1;
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

static void print_shapes(void)
{
    size_t n;
    const HeddleMatrixShape *s = heddle_matrix_shapes(&n);
    Table t = { .columns = 8, .align = "rrrlllll" };
    CellText c = { 0 };
    table_row(&t, "M", "N", "K", "A", "B", "C", "result", "");
    for (size_t i = 0; i < n; i++)
        table_row(&t, cell(&c, "%u", s[i].m), cell(&c, "%u", s[i].n), cell(&c, "%u", s[i].k),
                  heddle_type_name(s[i].a), heddle_type_name(s[i].b), heddle_type_name(s[i].c),
                  heddle_type_name(s[i].result), s[i].saturating ? "saturating" : "");
    printf("\nmatrix shapes reported (any M, N, K from 1 to 256 runs)\n");
    table_print(&t);
}

int command_info(const Options *o)
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
