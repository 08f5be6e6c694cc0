/* SPDX-License-Identifier: MIT
 *
 * bench --sweep wait-queues: one kernel with each number of wait queues its loops may ask for
 * (SPV_QCOM_multiple_wait_queues), and without the hint. This file makes the modules, which differ
 * only in the hint, and shows their times: a table with a bar in each row, and a picture with a
 * column for each. The bars show speeds, starting at 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum {
    HEADER = 5, /* words of a module in front of its first instruction */
    OP_LOOP_MERGE = 246,
    CONTROL = 3, /* the loop control's word; its literals follow by their bits, lowest first */
    WAIT_QUEUES = 0x10000000, /* the highest of these bits, so its literal is the last word */
    BAR = 28,                 /* characters of the longest */
};

/* ---- modules --------------------------------------------------------------------------------- */

/* Copies a module of n words to `to` with the hints of a row. Returns how many there are; *n
 * becomes the copy's length. */
static uint32_t write_hints(const uint32_t *from, size_t *n, uint32_t row, uint32_t *to)
{
    uint32_t hints = 0;
    size_t end = HEADER;
    memcpy(to, from, HEADER * sizeof *to);
    for (size_t at = HEADER, length; at < *n; at += length) {
        length = from[at] >> 16;
        memcpy(to + end, from + at, length * sizeof *to);
        uint32_t *copy = to + end;
        end += length;
        if ((from[at] & 0xffff) != OP_LOOP_MERGE || !(from[at + CONTROL] & WAIT_QUEUES))
            continue;
        hints++;
        copy[length - 1] = row - 1;
        if (row == SWEEP_UNHINTED) {
            copy[0] -= 1u << 16;
            copy[CONTROL] &= ~(uint32_t)WAIT_QUEUES;
            end--;
        }
    }
    *n = end;
    return hints;
}

HeddleResult sweep_module(const HeddleModule *m, const char *name, uint32_t row, HeddleModule **out,
                          HeddleLog *log)
{
    size_t size, n;
    const uint32_t *words = heddle_module_spirv(m, &size);
    uint32_t *copy = malloc(size);
    HeddleModuleOptions o = { .language = HEDDLE_LANGUAGE_SPIRV };
    HeddleResult result = HEDDLE_ERROR_SOURCE;
    *out = NULL;
    n = size / sizeof *copy;
    if (!copy)
        return HEDDLE_ERROR_MEMORY;
    if (write_hints(words, &n, row, copy))
        result = heddle_module_new(copy, n * sizeof *copy, name, &o, out, log);
    else
        complain("--sweep wait-queues: no loop of %s asks for wait queues; in GLSL "
                 "[[multiple_wait_queuesQCOM(N)]] does",
                 name);
    free(copy);
    return result;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *row_name(CliCells *c, uint32_t row)
{
    return row == SWEEP_UNHINTED ? "unhinted" : cell(c, "%u", row - 1);
}

static double ratio(const CliSweep *s, uint32_t row)
{
    return s->median[SWEEP_UNHINTED] / s->median[row];
}

static double best(const CliSweep *s)
{
    double most = 0;
    for (uint32_t row = 0; row < SWEEP_ROWS; row++)
        most = ratio(s, row) > most ? ratio(s, row) : most;
    return most;
}

static const char *rate(CliCells *c, const CliSweep *s, uint32_t row)
{
    return s->flops > 0 ? cell(c, "%.2f", s->flops / s->median[row] * 1e-9) : "-";
}

void sweep_print(const CliSweep *s)
{
    CliTable t = { .columns = 5, .align = "rrrrl" };
    CliCells c = { 0 };
    printf("%s on %s: medians of %u runs each, by turns\n", s->kernel, s->device, s->runs);
    table_row(&t, "wait queues", "median", "GFLOP/s", "ratio", "");
    for (uint32_t row = 0; row < SWEEP_ROWS; row++)
        table_row(&t, row_name(&c, row), cell_seconds(&c, s->median[row]), rate(&c, s, row),
                  cell(&c, "%.3f", ratio(s, row)), cell_bar(&c, ratio(s, row) / best(s), BAR));
    table_print(&t);
}

/* ---- the picture ----------------------------------------------------------------------------- */

enum { WIDTH = 680, HEIGHT = 400, LEFT = 40, TOP = 112, BOTTOM = 320, STEP = 60, COLUMN = 40 };

static void draw_column(FILE *f, const CliSweep *s, uint32_t row)
{
    CliCells c = { 0 };
    double x = LEFT + STEP * row + (STEP - COLUMN) / 2.0, middle = x + COLUMN / 2.0;
    double height = (BOTTOM - TOP) * ratio(s, row) / best(s);
    fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" rx=\"2\" fill=\"%s\"/>\n",
            x, BOTTOM - height, COLUMN, height, row == SWEEP_UNHINTED ? "#7b8494" : "#5b86c5");
    svg_text(f, middle, BOTTOM - 9, 12, "text-anchor=\"middle\" fill=\"#ffffff\"",
             cell(&c, "%.2f", ratio(s, row)));
    svg_text(f, middle, BOTTOM + 18, 12, "text-anchor=\"middle\" fill=\"#1b1f27\"",
             row_name(&c, row));
    svg_text(f, middle, BOTTOM + 35, 10.5, "text-anchor=\"middle\" fill=\"#69707d\"",
             s->flops > 0 ? rate(&c, s, row) : cell_seconds(&c, s->median[row]));
}

bool sweep_svg(const CliSweep *s, const char *path)
{
    CliCells c = { 0 };
    FILE *f = svg_open(path, WIDTH, HEIGHT);
    if (!f)
        return false;
    double line = BOTTOM - (BOTTOM - TOP) / best(s);
    svg_text(f, 28, 44, 22, "font-weight=\"650\" fill=\"#1b1f27\"",
             cell(&c, "Wait queues of %s", s->kernel));
    svg_text(f, 28, 68, 13, "fill=\"#4d5461\"",
             cell(&c, "speed over the unhinted loop's · %s, medians of %u runs each, by turns",
                  s->device, s->runs));
    for (uint32_t row = 0; row < SWEEP_ROWS; row++)
        draw_column(f, s, row);
    fprintf(f, "<path d=\"M%d %.1fH%d\" stroke=\"#1b1f27\" stroke-dasharray=\"4 4\"/>\n", LEFT,
            line, LEFT + STEP * SWEEP_ROWS);
    svg_text(f, 28, HEIGHT - 16, 12.5, "fill=\"#4d5461\"",
             s->flops > 0 ? "Below: the hint's number (0: as many as there are), GFLOP/s."
                          : "Below: the hint's number (0: as many as there are), median time.");
    return svg_close(f, path);
}
