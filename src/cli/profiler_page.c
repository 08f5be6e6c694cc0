/* SPDX-License-Identifier: MIT
 *
 * heddle profile --html: a page that needs nothing besides itself. Every number is written as
 * --json writes it, in the attribute data-v of its cell, and shorter for people beside that.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profiler.h"

static const char style[] =
    "body{font:14px/1.45 Inter,'Helvetica Neue','DejaVu Sans',Arial,sans-serif;color:#1b1f27;"
    "margin:28px;max-width:1500px}h1{font-size:22px;margin:0 0 4px}h2{font-size:16px;"
    "margin:28px 0 8px}p{color:#4d5461;margin:2px 0}.facts{display:flex;flex-wrap:wrap;gap:8px "
    "28px;"
    "margin:16px 0}.facts div{min-width:110px}.facts b{display:block;font-size:18px}.facts span{"
    "color:#69707d;font-size:12px}table{border-collapse:collapse;font-size:12.5px}th{text-align:"
    "right;font-weight:600;color:#69707d;padding:4px 9px;border-bottom:1px solid #d5d9e0;"
    "position:sticky;top:0;background:#fff}td{padding:1px 9px;text-align:right;white-space:nowrap;"
    "font-variant-numeric:tabular-nums}th:last-child{text-align:left}td.source{text-align:left;"
    "font-family:'JetBrains Mono','DejaVu Sans Mono',monospace;white-space:pre}td.n{color:#9aa1ad;"
    "border-left:1px solid #e4e7ec}tr.remark td.source{color:#9a5b00;font-family:inherit;"
    "padding-left:34px;padding-bottom:4px;white-space:normal}tr.gap td{color:#9aa1ad}";

static void escaped(FILE *f, const char *before, const char *text, const char *behind)
{
    fputs(before, f);
    xml_text(f, text);
    fputs(behind, f);
}

static void number(FILE *f, const CliProfile *p, const CliColumn *column, const HeddleLine *l)
{
    CliCells c = { 0 };
    double x = l ? profile_value(column, p, l) : NAN;
    if (isfinite(x))
        fprintf(f, "<td data-c=\"%s\" data-v=\"%.9g\">%s</td>", column->name, x,
                profile_cell(&c, column, x));
    else
        fputs("<td></td>", f);
}

/* The hotter, the redder. */
static void line_row(FILE *f, const CliProfile *p, const HeddleLine *l, uint32_t line,
                     const char *text)
{
    double share = l && p->samples ? (double)l->samples / (double)p->samples : 0;
    fprintf(f, "<tr data-line=\"%u\"", line);
    if (l)
        escaped(f, " data-file=\"", l->file ? l->file : "", "\"");
    if (share > 0.002)
        fprintf(f, " style=\"background:rgba(214,69,48,%.3f)\"", 0.05 + 0.4 * sqrt(share));
    fputs(">", f);
    for (uint32_t k = 0; k < profile_n_columns; k++)
        number(f, p, &profile_columns[k], l);
    if (line)
        fprintf(f, "<td class=\"n\">%u</td>", line);
    else
        fputs("<td class=\"n\"></td>", f);
    escaped(f, "<td class=\"source\">", text, "</td></tr>\n");
}

static void headings(FILE *f)
{
    fputs("<table><thead><tr>", f);
    for (uint32_t k = 0; k < profile_n_columns; k++)
        escaped(f, "<th>", profile_columns[k].heading, "</th>");
    fputs("<th>line</th><th></th></tr></thead><tbody>\n", f);
}

static void file_table(FILE *f, const CliProfile *p, const char *file)
{
    CliSource s = source_read(file);
    const HeddleLine *l;
    const HeddleRemark *r;
    uint32_t before = 0;
    escaped(f, "<h2>", file, "</h2>\n");
    headings(f);
    for (uint32_t line = 0; (line = profile_next(p, file, line + 1, &l)) != 0; before = line) {
        if (s.n && line > s.n)
            break;
        if (before && line > before + 1)
            fprintf(f, "<tr class=\"gap\"><td colspan=\"%u\">⋯</td><td></td></tr>\n",
                    profile_n_columns + 1);
        line_row(f, p, l, line, source_line(&s, line));
        for (uint32_t i = 0; (r = profile_remark(p, file, line, i)) != NULL; i++) {
            fprintf(f, "<tr class=\"remark\" data-kind=\"%s\"><td colspan=\"%u\"></td>", r->kind,
                    profile_n_columns + 1);
            escaped(f, "<td class=\"source\">▲ ", r->message, "</td></tr>\n");
        }
    }
    fputs("</tbody></table>\n", f);
    source_free(&s);
}

static void fact(FILE *f, const char *name, const char *value)
{
    escaped(f, "<div><b>", value, "</b>");
    escaped(f, "<span>", name, "</span></div>\n");
}

static void facts(FILE *f, const CliProfile *p)
{
    CliCells c = { 0 };
    const CliRoofline *r = &p->roofline;
    fputs("<div class=\"facts\">\n", f);
    fact(f, "of a run", cell_seconds(&c, p->seconds));
    fact(f, "GFLOP/s", cell(&c, "%.2f", r->reached * 1e-9));
    fact(f, "GB/s of the arrays", cell(&c, "%.2f", p->bytes / p->seconds * 1e-9));
    if (isfinite(roofline_bound(r)) && r->reached > 0)
        fact(f, "of what the machine allows",
             cell(&c, "%.0f %%", 100 * r->reached / roofline_bound(r)));
    fact(f, "workgroups", p->groups);
    fact(f, "invocations of a subgroup", cell(&c, "%u", p->info->subgroup_size));
    fact(f, "runs", cell(&c, "%u", p->runs));
    fact(f, "looks", cell(&c, "%llu", (unsigned long long)p->samples));
    fputs("</div>\n", f);
}

bool profile_page(const CliProfile *p, const char *path)
{
    FILE *f = file_open(path);
    if (!f)
        return false;
    escaped(f, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>",
            p->kernel, "</title>");
    fprintf(f, "<style>%s</style></head><body>\n", style);
    escaped(f, "<h1>", p->kernel, "</h1>\n");
    escaped(f, "<p>a profile by heddle ", heddle_version(), ", on ");
    escaped(f, "", p->device, "</p>\n");
    facts(f, p);
    roofline_draw(&p->roofline, f);
    for (uint32_t i = 0; profile_file(p, i); i++)
        file_table(f, p, profile_file(p, i));
    for (uint32_t i = 0; i < p->n_lines; i++) {
        if (p->lines[i].file)
            continue;
        fputs("<h2>Elsewhere</h2>\n<p>Between workgroups, in functions that the kernel calls, and "
              "on no line of it.</p>\n",
              f);
        headings(f);
        line_row(f, p, &p->lines[i], 0, "");
        fputs("</tbody></table>\n", f);
    }
    fputs("</body></html>\n", f);
    return file_close(f, path);
}
