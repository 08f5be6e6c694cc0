/* SPDX-License-Identifier: MIT
 *
 * In: counters by the rows that machine code has, and looks by the places of its table of lines.
 * Out: both by lines of the source.
 */
#include "cpu/cpu.h"
#include "cpu/machine/lines.h"

#include <stdlib.h>

bool cpu_counts_begin(CpuCounts *c, const CpuKernel *k)
{
    *c = (CpuCounts){ 0 };
    if (k->n_rows)
        c->rows = calloc((size_t)k->n_rows * DEVICE_N_STATS, sizeof *c->rows);
    if (k->lines)
        c->samples = calloc(k->lines->n_lines + (size_t)1, sizeof *c->samples);
    if ((!k->n_rows || c->rows) && (!k->lines || c->samples))
        return true;
    cpu_counts_end(c);
    return false;
}

void cpu_counts_end(CpuCounts *c)
{
    free(c->rows);
    free(c->samples);
    *c = (CpuCounts){ 0 };
}

/* Lines as they are found: those beyond `room` are counted, each time they come. */
typedef struct Lines {
    HeddleLine *line;
    uint32_t n, room;
} Lines;

static HeddleLine *line_at(Lines *l, const char *file, uint32_t number)
{
    for (uint32_t i = 0; i < MIN(l->n, l->room); i++) {
        HeddleLine *x = &l->line[i];
        bool same = x->file && file ? !strcmp(x->file, file) : x->file == file;
        if (same && x->line == number)
            return x;
    }
    if (l->n++ >= l->room)
        return NULL;
    l->line[l->n - 1] = (HeddleLine){ .file = file, .line = number };
    return &l->line[l->n - 1];
}

static void add_stats(HeddleLine *x, const uint64_t *from)
{
    HeddleStats s = device_stats(from);
    x->executions += from[DEVICE_STAT_EXECUTIONS];
    x->invocations += from[DEVICE_STAT_INVOCATIONS];
    x->arithmetic += from[DEVICE_STAT_ARITHMETIC];
    for (int k = 0; k < HEDDLE_N_ACCESSES; k++) {
        x->accesses[k] += from[DEVICE_STAT_ACCESSES + k];
        x->access_bytes[k] += from[DEVICE_STAT_ACCESS_BYTES + k];
    }
    x->stats = s; /* one row is one line */
}

uint32_t cpu_counts_lines(const CpuCounts *c, const CpuKernel *k, HeddleLine *out, uint32_t room)
{
    Lines l = { .line = out, .room = out ? room : 0 };
    for (uint32_t r = 0; c->rows && k->rows && r < k->n_rows; r++) {
        HeddleLine *x = line_at(&l, k->rows[r].file, k->rows[r].line);
        if (x)
            add_stats(x, c->rows + (size_t)r * DEVICE_N_STATS);
    }
    for (uint32_t i = 0; c->samples && i <= k->lines->n_lines; i++) {
        const CpuLine *at = i < k->lines->n_lines ? &k->lines->lines[i] : NULL;
        HeddleLine *x = !c->samples[i]   ? NULL
                        : at && at->line ? line_at(&l, k->lines->files[at->file], at->line)
                                         : line_at(&l, NULL, 0);
        if (x)
            x->samples += c->samples[i];
    }
    return out ? MIN(l.n, room) : l.n;
}
