/* SPDX-License-Identifier: MIT
 *
 * --stats: what a dispatch did, for people and for programs. What a device does not count is a
 * dash, or null, and never 0.
 */
#include <stddef.h>

#include "cli/cli.h"

enum {
    CPU = 1 << HEDDLE_DEVICE_CPU,
    REFERENCE = 1 << HEDDLE_DEVICE_REFERENCE,
    CUDA = 1 << HEDDLE_DEVICE_CUDA
};

typedef struct Row {
    const char *name, *key;
    size_t at; /* in HeddleReport */
    uint32_t devices;
    bool own; /* the kernel does it, whatever the device: a dash where it is not counted */
} Row;

#define AT(field) offsetof(HeddleReport, field)
static const Row rows[] = {
    { "matrix loads", "matrix_loads", AT(stats.matrix_loads), CPU | REFERENCE, true },
    { "matrix stores", "matrix_stores", AT(stats.matrix_stores), CPU | REFERENCE, true },
    { "multiply-adds", "muladds", AT(stats.muladds), CPU | REFERENCE, true },
    { "operations in them", "flops", AT(stats.flops), CPU | REFERENCE, true },
    { "conversions", "conversions", AT(stats.conversions), CPU | REFERENCE, true },
    { "barriers", "barriers", AT(stats.barriers), CPU | REFERENCE, true },
    { "yields", "yields", AT(stats.yields), CPU, false },
    { "bytes loaded", "bytes_loaded", AT(stats.bytes_loaded), CPU | REFERENCE, true },
    { "bytes stored", "bytes_stored", AT(stats.bytes_stored), CPU | REFERENCE, true },
    { "bytes moved", "bytes_moved", AT(stats.bytes_moved), CPU, false },
    { "panels packed", "panels_packed", AT(panels_packed), CPU, false },
    { "panels shared", "panels_shared", AT(panels_shared), CPU, false },
    { "bytes copied to and from the GPU", "bytes_copied", AT(bytes_copied), CUDA, false },
};
static const struct {
    const char *name, *key;
} kinds[HEDDLE_N_ACCESSES] = {
    [HEDDLE_ACCESS_SCALAR] = { "scalar accesses", "scalar" },
    [HEDDLE_ACCESS_VECTOR] = { "vector accesses", "vector" },
    [HEDDLE_ACCESS_MASKED] = { "masked accesses", "masked" },
    [HEDDLE_ACCESS_GATHER] = { "gathers and scatters", "gather" },
};

static uint64_t value_of(const Row *row, const HeddleReport *report)
{
    return *(const uint64_t *)((const char *)report + row->at);
}

void json_report(CliJson *j, const HeddleReport *report, HeddleDeviceKind kind)
{
    json_open(j, "stats", '{');
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].devices >> kind & 1)
            json_count(j, rows[i].key, value_of(&rows[i], report));
        else
            json_text(j, rows[i].key, NULL);
    }
    for (int k = 0; k < HEDDLE_N_ACCESSES; k++) {
        if (!report->counts_accesses) {
            json_text(j, kinds[k].key, NULL);
            continue;
        }
        json_open(j, kinds[k].key, '{');
        json_count(j, "accesses", report->accesses[k]);
        json_count(j, "bytes", report->access_bytes[k]);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void number_row(CliTable *t, const char *name, uint64_t value)
{
    CliCells c = { 0 };
    table_row(t, name, cell(&c, "%llu", (unsigned long long)value));
}

/* Operations that a kernel does not perform get no line, but it is worth showing that no bytes of
 * matrices were moved. */
static void add_row(CliTable *t, const Row *row, const HeddleReport *report, HeddleDeviceKind kind)
{
    bool counted = row->devices >> kind & 1;
    bool shown = row->at == AT(stats.bytes_moved) &&
                 (report->stats.matrix_loads || report->stats.conversions);
    if (counted && (shown || value_of(row, report)))
        number_row(t, row->name, value_of(row, report));
    else if (!counted && row->own)
        table_row(t, row->name, "–");
}

static void add_accesses(CliTable *t, const HeddleReport *report)
{
    for (int k = 0; k < HEDDLE_N_ACCESSES; k++) {
        CliCells c = { 0 };
        if (!report->counts_accesses)
            table_row(t, kinds[k].name, "–");
        else if (report->accesses[k])
            table_row(t, cell(&c, "%s, bytes", kinds[k].name),
                      cell(&c, "%llu, %llu", (unsigned long long)report->accesses[k],
                           (unsigned long long)report->access_bytes[k]));
    }
}

/* Of what the device's compiler says of a kernel. */
static void add_resources(CliTable *t, const HeddleKernelInfo *info)
{
    if (!info->registers)
        return;
    number_row(t, "registers of an invocation", info->registers);
    number_row(t, "its private memory, bytes", info->private_size);
    if (info->shared_size)
        number_row(t, "workgroup memory, bytes", info->shared_size);
    if (info->resident_groups)
        number_row(t, "workgroups that a multiprocessor holds", info->resident_groups);
}

void stats_print(const HeddleReport *report, HeddleDeviceKind kind, const HeddleKernelInfo *info)
{
    CliTable t = { .columns = 2, .align = "lr" };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add_row(&t, &rows[i], report, kind);
    add_accesses(&t, report);
    add_resources(&t, info);
    printf("\n");
    if (t.rows)
        table_print(&t);
    else
        printf("nothing to count: no accesses, no matrices, no barriers\n");
}
