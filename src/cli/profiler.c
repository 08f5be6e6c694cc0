/* SPDX-License-Identifier: MIT
 *
 * heddle profile: the source of a kernel with what happened on each line. Counts come from one
 * dispatch of a kernel that counts, before anything else has run on the arrays; times from looks at
 * the kernel as it always is, which runs for a while, every other time without anybody looking; and
 * remarks from its compilation.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profiler.h"

#define BETWEEN_LOOKS  0.0005 /* seconds */
#define SEEN_BY_TIMERS 50e-6  /* below, most looks are at the beginning */

/* ---- columns --------------------------------------------------------------------------------- */

/* Of a run: its part of all looks. */
static double seconds(const CliProfile *p, const HeddleLine *l)
{
    return p->samples ? (double)l->samples / (double)p->samples * p->seconds : NAN;
}

static double percent(const CliProfile *p, const HeddleLine *l)
{
    return p->samples ? 100 * (double)l->samples / (double)p->samples : NAN;
}

static double lanes(const CliProfile *p, const HeddleLine *l)
{
    (void)p;
    return l->executions ? (double)l->invocations / (double)l->executions : NAN;
}

static double bytes(const CliProfile *p, const HeddleLine *l)
{
    (void)p;
    uint64_t n = l->stats.bytes_loaded + l->stats.bytes_stored;
    for (int k = 0; k < HEDDLE_N_ACCESSES; k++)
        n += l->access_bytes[k];
    return (double)n;
}

static double operations(const CliProfile *p, const HeddleLine *l)
{
    (void)p;
    return (double)(l->stats.flops + l->arithmetic);
}

#define FIELD(f)       NULL, offsetof(HeddleLine, f)
#define ACCESSES(kind) FIELD(accesses) + (kind) * sizeof(uint64_t)
const CliColumn profile_columns[] = {
    { "percent", "time", percent, 0, "%.1f %%" },
    { "seconds", "of a run", seconds, 0, "s" },
    { "samples", "looks", FIELD(samples), NULL },
    { "executions", "runs", FIELD(executions), NULL },
    { "lanes", "lanes", lanes, 0, "%.1f" },
    { "scalar", "scalar", ACCESSES(HEDDLE_ACCESS_SCALAR), NULL },
    { "vector", "vector", ACCESSES(HEDDLE_ACCESS_VECTOR), NULL },
    { "masked", "masked", ACCESSES(HEDDLE_ACCESS_MASKED), NULL },
    { "gather", "gather", ACCESSES(HEDDLE_ACCESS_GATHER), NULL },
    { "bytes", "bytes", bytes, 0, NULL },
    { "muladds", "multiply-adds", FIELD(stats.muladds), NULL },
    { "operations", "operations", operations, 0, NULL },
};
const uint32_t profile_n_columns = sizeof profile_columns / sizeof *profile_columns;

double profile_value(const CliColumn *c, const CliProfile *p, const HeddleLine *l)
{
    return c->value ? c->value(p, l) : (double)*(const uint64_t *)((const char *)l + c->field);
}

const char *profile_cell(CliCells *c, const CliColumn *column, double value)
{
    static const char *const units[] = { "", " k", " M", " G", " T", " P" };
    if (!isfinite(value) || value == 0)
        return "";
    if (column->format && *column->format == 's')
        return cell_seconds(c, value);
    if (column->format)
        return cell(c, column->format, value);
    uint32_t unit = 0;
    for (; value >= 99999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1000;
    return cell(c, "%.0f%s", value, units[unit]);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool same_file(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

static const HeddleLine *numbers_of(const CliProfile *p, const char *file, uint32_t line)
{
    for (uint32_t i = 0; i < p->n_lines; i++)
        if (p->lines[i].line == line && same_file(p->lines[i].file, file))
            return &p->lines[i];
    return NULL;
}

const HeddleRemark *profile_remark(const CliProfile *p, const char *file, uint32_t line, uint32_t n)
{
    for (uint32_t i = 0; i < p->n_remarks; i++)
        if (p->remarks[i].line == line && same_file(p->remarks[i].file, file) && !n--)
            return &p->remarks[i];
    return NULL;
}

static bool is_of_interest(const CliProfile *p, const char *file, uint32_t line)
{
    return numbers_of(p, file, line) || profile_remark(p, file, line, 0);
}

uint32_t profile_next(const CliProfile *p, const char *file, uint32_t line, const HeddleLine **data)
{
    enum { BESIDE = 2 };
    uint32_t last = 0;
    for (uint32_t i = 0; i < p->n_lines; i++)
        if (same_file(p->lines[i].file, file) && p->lines[i].line > last)
            last = p->lines[i].line;
    for (uint32_t i = 0; i < p->n_remarks; i++)
        if (same_file(p->remarks[i].file, file) && p->remarks[i].line > last)
            last = p->remarks[i].line;
    for (; line <= last + BESIDE && last; line++)
        for (uint32_t at = line > BESIDE ? line - BESIDE : 1; at <= line + BESIDE; at++)
            if (is_of_interest(p, file, at)) {
                *data = numbers_of(p, file, line);
                return line;
            }
    return 0;
}

static bool comes_before(const char *const *known, uint32_t n, const char *file)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(known[i], file))
            return true;
    return false;
}

const char *profile_file(const CliProfile *p, uint32_t which)
{
    enum { MOST = 64 };
    const char *known[MOST];
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_lines + p->n_remarks && n < MOST; i++) {
        const char *file = i < p->n_lines ? p->lines[i].file : p->remarks[i - p->n_lines].file;
        if (file && !comes_before(known, n, file))
            known[n++] = file;
    }
    return which < n ? known[which] : NULL;
}

CliSource source_read(const char *name)
{
    CliSource s = { 0 };
    FILE *f = fopen(name, "re");
    char *line = NULL;
    size_t room = 0;
    while (f && getline(&line, &room, f) >= 0) {
        char **more = realloc(s.lines, (s.n + (size_t)1) * sizeof *more);
        if (!more)
            break;
        s.lines = more;
        line[strcspn(line, "\r\n")] = 0;
        s.lines[s.n++] = line;
        line = NULL;
        room = 0;
    }
    free(line);
    if (f)
        fclose(f);
    return s;
}

const char *source_line(const CliSource *s, uint32_t line)
{
    return line && line <= s->n ? s->lines[line - 1] : "";
}

void source_free(CliSource *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        free(s->lines[i]);
    free(s->lines);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void text_row(CliTable *t, const CliProfile *p, const HeddleLine *l, const char *number,
                     const char *text)
{
    CliCells c = { 0 };
    const char *cells[16] = { 0 };
    for (uint32_t k = 0; k < profile_n_columns; k++)
        cells[k] =
            l ? profile_cell(&c, &profile_columns[k], profile_value(&profile_columns[k], p, l))
              : "";
    table_row(t, cells[0], cells[3], cells[4], cells[5], cells[6], cells[7], cells[8], cells[9],
              cells[10], cells[11], number, text);
}

static CliTable text_table(void)
{
    CliTable t = { .columns = 12, .align = "rrrrrrrrrrrl" };
    const CliColumn *c = profile_columns;
    table_row(&t, c[0].heading, c[3].heading, c[4].heading, c[5].heading, c[6].heading,
              c[7].heading, c[8].heading, c[9].heading, c[10].heading, c[11].heading, "line", "");
    return t;
}

static void print_file(const CliProfile *p, const char *file)
{
    CliSource s = source_read(file);
    CliTable t = text_table();
    const HeddleLine *l;
    const HeddleRemark *r;
    char number[16], text[400];
    uint32_t line, before = 0;
    for (line = 0; (line = profile_next(p, file, line + 1, &l)) != 0; before = line) {
        if (s.n && line > s.n)
            break;
        if (before && line > before + 1)
            text_row(&t, p, NULL, "...", "");
        snprintf(number, sizeof number, "%u", line);
        text_row(&t, p, l, number, source_line(&s, line));
        for (uint32_t i = 0; (r = profile_remark(p, file, line, i)) != NULL; i++) {
            snprintf(text, sizeof text, "  ^ %s", r->message);
            text_row(&t, p, NULL, "", text);
        }
    }
    printf("\n%s\n", file);
    table_print(&t);
    source_free(&s);
}

static void print_profile(const CliProfile *p)
{
    CliCells c = { 0 };
    CliTable t = { .columns = 8, .align = "llrlrrrr" };
    const HeddleLine *elsewhere = numbers_of(p, NULL, 0);
    table_row(&t, "kernel", "device", "subgroup", "groups", "runs", "time", "GFLOP/s", "GB/s");
    table_row(&t, p->kernel, p->device, cell(&c, "%u", p->info->subgroup_size), p->groups,
              cell(&c, "%u", p->runs), cell_seconds(&c, p->seconds),
              cell(&c, "%.2f", p->roofline.reached * 1e-9),
              cell(&c, "%.2f", p->bytes / p->seconds * 1e-9));
    table_print(&t);
    for (uint32_t i = 0; profile_file(p, i); i++)
        print_file(p, profile_file(p, i));
    if (p->seconds < SEEN_BY_TIMERS)
        printf("\na run is over before a timer can look into it: the times of lines take more "
               "workgroups\n");
    else if (elsewhere && elsewhere->samples)
        printf("\n%.1f %% of the time was spent elsewhere: between workgroups, in functions that "
               "the kernel calls\n",
               percent(p, elsewhere));
    roofline_print(&p->roofline);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void put_line(CliJson *j, const CliProfile *p, const HeddleLine *l)
{
    const HeddleRemark *r;
    json_open(j, NULL, '{');
    json_text(j, "file", l->file);
    json_count(j, "line", l->line);
    for (uint32_t k = 0; k < profile_n_columns; k++)
        json_real(j, profile_columns[k].name, profile_value(&profile_columns[k], p, l));
    json_open(j, "remarks", '[');
    for (uint32_t i = 0; (r = profile_remark(p, l->file, l->line, i)) != NULL; i++) {
        json_open(j, NULL, '{');
        json_text(j, "kind", r->kind);
        json_text(j, "message", r->message);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static void put_profile(CliJson *j, const CliProfile *p)
{
    const CliRoofline *r = &p->roofline;
    json_text(j, "kernel", p->kernel);
    json_text(j, "device", p->device);
    json_count(j, "subgroup_size", p->info->subgroup_size);
    json_count(j, "runs", p->runs);
    json_real(j, "seconds", p->seconds);
    json_real(j, "sampled_seconds", p->sampled_seconds);
    json_count(j, "samples", p->samples);
    json_report(j, &p->counts, HEDDLE_DEVICE_CPU);
    json_open(j, "roofline", '{');
    json_text(j, "measured", *r->what ? r->what : NULL);
    json_real(j, "peak_flops_per_second", r->peak);
    json_real(j, "peak_bytes_per_second", r->bandwidth);
    json_real(j, "flops_per_second", r->reached);
    json_real(j, "flops_per_byte", r->intensity);
    json_real(j, "bound_flops_per_second", roofline_bound(r));
    json_close(j, '}');
    json_open(j, "lines", '[');
    for (uint32_t i = 0; i < p->n_lines; i++)
        put_line(j, p, &p->lines[i]);
    json_close(j, ']');
}

/* ---- measuring ------------------------------------------------------------------------------- */

static double median(double *t, uint32_t n)
{
    sort_times(t, n);
    return n ? t[n / 2] : NAN;
}

/* By turns with and without looks, which is why their medians can be compared. */
static HeddleResult time_runs(const CliRunner *r, HeddleKernel *k, CliProfile *p)
{
    enum { LEAST = 5, MOST = 20000 };
    double *t[2] = { malloc(MOST * sizeof(double)), malloc(MOST * sizeof(double)) };
    HeddleReport report = { .struct_size = sizeof report };
    HeddleResult result = t[0] && t[1] ? r->dispatch(r->user, k, 0, &report) : HEDDLE_ERROR_MEMORY;
    double end = now() + r->options->seconds;
    for (p->runs = 0; !result && p->runs < MOST && (p->runs < LEAST || now() < end); p->runs++)
        for (int looked = 0; looked < 2 && !result; looked++) {
            result = r->dispatch(r->user, k, looked ? BETWEEN_LOOKS : 0, &report);
            t[looked][p->runs] = report.seconds;
        }
    if (!result) {
        p->seconds = median(t[0], p->runs);
        p->sampled_seconds = median(t[1], p->runs);
    }
    free(t[0]);
    free(t[1]);
    return result;
}

static bool take_lines(CliProfile *p, const HeddleKernel *k, bool counts)
{
    uint32_t room = heddle_kernel_lines(k, NULL, 0);
    HeddleLine *from = calloc(room + (size_t)1, sizeof *from);
    HeddleLine *all = realloc(p->lines, (p->n_lines + room + (size_t)1) * sizeof *all);
    if (all)
        p->lines = all;
    uint32_t n = from && all ? heddle_kernel_lines(k, from, room) : 0;
    for (uint32_t i = 0; i < n; i++) {
        HeddleLine *to = (HeddleLine *)numbers_of(p, from[i].file, from[i].line);
        if (!to) {
            to = &p->lines[p->n_lines++];
            *to = (HeddleLine){ .file = from[i].file, .line = from[i].line };
        }
        uint64_t looks = to->samples;
        if (counts)
            *to = from[i];
        to->samples = counts ? looks : looks + from[i].samples;
        p->samples += counts ? 0 : from[i].samples;
    }
    free(from);
    return from && all;
}

static int by_line(const void *a, const void *b)
{
    const HeddleLine *x = a, *y = b;
    int files = strcmp(x->file ? x->file : "", y->file ? y->file : "");
    return files ? files : (x->line > y->line) - (x->line < y->line);
}

static void finish(CliProfile *p, const CliRunner *r)
{
    double flops = (double)p->counts.stats.flops;
    bool matrices = flops > 0;
    for (uint32_t i = 0; i < p->n_lines; i++)
        flops += (double)p->lines[i].arithmetic;
    qsort(p->lines, p->n_lines, sizeof *p->lines, by_line);
    p->roofline.reached = flops / p->seconds;
    p->roofline.intensity = flops / p->bytes;
    roofline_measure(&p->roofline, r->device, p->info, matrices, p->bytes);
}

static HeddleResult show(const CliProfile *p, const CliRunner *r)
{
    const CliOptions *o = r->options;
    bool good =
        (!o->html || profile_page(p, o->html)) && (!o->svg || roofline_svg(&p->roofline, o->svg));
    if (o->json)
        put_profile(r->json, p);
    else
        print_profile(p);
    return good ? HEDDLE_OK : HEDDLE_ERROR_IO;
}

HeddleResult profile_run(const CliRunner *r)
{
    HeddleKernel *counting = NULL, *timed = NULL;
    CliProfile p = { .kernel = r->options->inputs.data[0],
                     .device = heddle_device_info(r->device)->kind_name,
                     .groups = r->groups,
                     .bytes = r->bytes,
                     .counts.struct_size = sizeof p.counts };
    HeddleResult result = open_kernel(r->options, r->device, r->module,
                                      (CliPurpose){ .profile = true }, &counting, r->log);
    if (!result)
        result = open_kernel(r->options, r->device, r->module,
                             (CliPurpose){ .debug = true, .remarks = true }, &timed, r->log);
    if (!result)
        result = r->dispatch(r->user, counting, 0, &p.counts);
    if (!result)
        result = time_runs(r, timed, &p);
    if (!result && (!take_lines(&p, timed, false) || !take_lines(&p, counting, true)))
        result = HEDDLE_ERROR_MEMORY;
    if (!result) {
        p.info = heddle_kernel_info(timed);
        p.remarks = heddle_kernel_remarks(timed, &p.n_remarks);
        finish(&p, r);
        result = show(&p, r);
    }
    free(p.lines);
    heddle_kernel_free(counting);
    heddle_kernel_free(timed);
    return result;
}
