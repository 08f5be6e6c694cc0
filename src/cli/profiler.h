/* SPDX-License-Identifier: MIT
 *
 * heddle profile: what is measured, and the forms in which it is shown.
 */
#ifndef HEDDLE_CLI_PROFILER_H
#define HEDDLE_CLI_PROFILER_H

#include "cli/cli.h"

/* ---- roofline.c ------------------------------------------------------------------------------ */

/* What bounds a kernel: the machine's arithmetic, and its memory. */
typedef struct CliRoofline {
    double peak;      /* operations a second; NAN: not known */
    double bandwidth; /* bytes a second */
    char what[64];    /* that was measured for `peak`: "f16 multiply-adds" */
    /* of the kernel: operations a second, and a byte of the arrays that are bound */
    double reached, intensity;
} CliRoofline;
/* Measures the machine for a kernel whose products are of `info`'s matrices (`matrices`) or of
 * numbers, and whose arrays have so many bytes. Takes a few tenths of a second; says nothing where
 * GLSL cannot be compiled. */
void roofline_measure(CliRoofline *r, HeddleDevice *d, const HeddleKernelInfo *info, bool matrices,
                      double bytes);
double roofline_bound(const CliRoofline *r); /* the most that the kernel may reach */
void roofline_print(const CliRoofline *r);
void roofline_draw(const CliRoofline *r, FILE *f); /* an svg element */
bool roofline_svg(const CliRoofline *r, const char *path);

/* ---- profiler.c ------------------------------------------------------------------------------ */

typedef struct CliProfile {
    const char *kernel, *device, *groups;
    const HeddleKernelInfo *info;
    uint32_t runs;
    double seconds, sampled_seconds; /* of a run: medians, without and with looks */
    double bytes;                    /* of the arrays that are bound */
    HeddleReport counts;
    HeddleLine *lines; /* by file, in order of appearance, and line */
    uint32_t n_lines;
    uint64_t samples;
    const HeddleRemark *remarks; /* of the kernel */
    uint32_t n_remarks;
    CliRoofline roofline;
} CliProfile;

/* A number that a line has. All forms show the same ones. */
typedef struct CliColumn {
    const char *name;                                             /* of programs' */
    const char *heading;                                          /* of people's */
    double (*value)(const CliProfile *p, const HeddleLine *line); /* NAN: not known */
    size_t field;       /* where value is NULL: of HeddleLine, a count */
    const char *format; /* printf's; "s": of seconds; NULL: of a count */
} CliColumn;
extern const CliColumn profile_columns[];
extern const uint32_t profile_n_columns;
double profile_value(const CliColumn *c, const CliProfile *p, const HeddleLine *l);
/* For people: "" of nothing. */
const char *profile_cell(CliCells *c, const CliColumn *column, double value);

/* The next line to show of `file`, from `line` on: those with numbers or remarks, and two beside
 * them. *data: its numbers, or NULL. 0: there is none. */
uint32_t profile_next(const CliProfile *p, const char *file, uint32_t line,
                      const HeddleLine **data);
/* The i-th remark of a line, from 0; NULL: it has no more. */
const HeddleRemark *profile_remark(const CliProfile *p, const char *file, uint32_t line,
                                   uint32_t i);
/* The i-th file that there is something of; NULL past their end. */
const char *profile_file(const CliProfile *p, uint32_t i);

/* Lines of a file; what cannot be read has none. */
typedef struct CliSource {
    char **lines;
    uint32_t n;
} CliSource;
CliSource source_read(const char *name);
const char *source_line(const CliSource *s, uint32_t line); /* from 1; "" past the end */
void source_free(CliSource *s);

/* How run.c runs a kernel of what the command line binds. */
typedef struct CliRunner {
    const CliOptions *options;
    HeddleDevice *device;
    const HeddleModule *module;
    HeddleLog *log;
    HeddleResult (*dispatch)(void *user, HeddleKernel *kernel, double sample, HeddleReport *report);
    void *user;
    const char *groups;
    double bytes;
    CliJson *json;
} CliRunner;
HeddleResult profile_run(const CliRunner *r);

/* ---- profiler_page.c ------------------------------------------------------------------------- */

bool profile_page(const CliProfile *p, const char *path); /* false after complaining */

#endif
