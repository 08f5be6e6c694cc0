/* SPDX-License-Identifier: MIT
 *
 * cli: the `heddle` command. A thin face of libheddle: arguments in, tables and diagnostics out.
 */
#ifndef HEDDLE_CLI_H
#define HEDDLE_CLI_H

#include "heddle/heddle.h"

#include <limits.h>
#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_WRONG = 1, EXIT_USAGE = 2 };

/* ---- options.c ------------------------------------------------------------------------------- */

typedef struct CliStrings {
    const char **data;
    uint32_t len;
} CliStrings;

typedef enum CliCommand {
    CMD_INFO,
    CMD_COMPILE,
    CMD_CHECK,
    CMD_RUN,
    CMD_BENCH,
    CMD_PROFILE,
    CMD_LAYOUT,
    CMD_PROFILE_DEVICE,
    CMD_TEST_DRIVER,
    CMD_NEW,
    CMD_VULKAN,
    N_COMMANDS
} CliCommand;

/* Every option of every command; those a command does not take stay as they are. */
typedef struct CliOptions {
    CliCommand command;
    CliStrings inputs; /* the arguments that are no options */
    CliStrings binds, outs, specs, compares, pushes, includes, defines;
    const char *output, *emit, *device, *entry, *tier, *glslang, *target_env, *language, *isa, *svg,
        *check, *rotate_as, *sweep, *target, *arrays, *profile, *html, *known;
    uint32_t groups[3], global[3], local[3], offset[3];
    bool has_groups, has_global, has_local;
    uint32_t subgroup_size, threads, interleave, seed, budget, count;
    double tolerance, seconds, watchdog, patience;
    bool has_watchdog;
    bool remarks, stats, robust, no_robust, no_optimisation, debug, exact, json, help, rotate_loads,
        pipeline;
} CliOptions;

/* Reads argv[0..n-1] for out->command. False after saying what is wrong on standard error. */
bool options_parse(int n, char **argv, CliOptions *out);
void options_free(CliOptions *o);
void options_help(CliCommand command); /* the command's options, on standard output */
/* The one of `names` that `word` is likely a misspelling of, or NULL. */
const char *nearest(const char *word, const char *const *names, size_t n);

/* The i-th row of the table of options; false past its end. */
typedef struct CliOptionText {
    const char *name, *value, *help; /* value: NULL of a flag */
    bool joined;                     /* the value, which may be left out, follows at once */
    unsigned commands;               /* bits of CliCommand */
} CliOptionText;
bool option_text(size_t i, CliOptionText *out);

/* ---- main.c ---------------------------------------------------------------------------------- */

typedef struct CliCommandText {
    const char *name, *arguments, *help;
} CliCommandText;
CliCommandText command_text(CliCommand c);
extern const char *const spec_help; /* about kernels and descriptions of arrays */
/* The command's own file, or with `up` levels removed the folder that it lies in. */
bool own_path(char out[PATH_MAX], int up);

/* ---- document.c ------------------------------------------------------------------------------ */

/* The manual page ("man") or a shell's completions ("bash", "zsh", "fish"), on standard output.
 * False: it is neither. */
bool document(const char *form);

/* ---- output.c -------------------------------------------------------------------------------- */

/* A HeddleReportFn: coloured, with the source line, on a terminal; one line a diagnostic
 * elsewhere. */
/* The command that a comment in the kernel's source shows, if there is one: on standard error. */
void print_usage_comment(const char *path);
void print_diagnostic(void *user, const HeddleDiagnostic *d);
/* An error of the command itself, in the same form. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Columns as wide as their contents; those of numbers are flush right. */
typedef struct CliTable {
    uint32_t columns, rows, cap;
    const char *align; /* a letter a column: l or r */
    char **cells;      /* row by row, the heading first */
    bool aside;        /* on standard error */
} CliTable;
void table_row(CliTable *t, ...); /* one string a column */
void table_print(CliTable *t);    /* and frees it */
/* Text made for a cell; in a ring of 16, so good for one row. */
typedef struct CliCells {
    char text[16][96];
    uint32_t next;
} CliCells;
const char *cell(CliCells *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *cell_seconds(CliCells *c, double seconds);           /* "1.23 ms" */
const char *cell_bar(CliCells *c, double share, uint32_t width); /* blocks, of at most so many */

double now(void); /* seconds, from any beginning */
void sort_times(double *t, uint32_t n);

/* ---- the commands ---------------------------------------------------------------------------- */

int command_info(const CliOptions *o);
int command_compile(const CliOptions *o);
int command_check(const CliOptions *o);
int command_run(const CliOptions *o); /* run, bench and profile */
int command_layout(const CliOptions *o);
int command_new(const CliOptions *o);         /* starter.c */
int command_test_driver(const CliOptions *o); /* driver.c */
/* `heddle vulkan` with the arguments behind it; returns only when it fails. */
int command_vulkan(int n, char **argv);
void vulkan_help(void);
/* The i-th of the driver's variables; false past their end. */
bool vulkan_variable(size_t i, const char **name, const char **help);

/* ---- kernel.c: what compile, check, run and bench share -------------------------------------- */

/* The log that prints; NULL (said) when out of memory. */
HeddleLog *open_log(void);
/* Exit status of a failed call. */
int exit_status(HeddleResult r);
HeddleResult open_module(const CliOptions *o, HeddleModule **out, HeddleLog *log);
/* The options that say what an MLIR module becomes. False after complaining. */
bool mlir_options(const CliOptions *o, HeddleModuleOptions *out);
/* A file of OpenCL C in another form; for free(). */
HeddleResult open_opencl(const CliOptions *o, HeddleOpenclForm form, char **text, HeddleLog *log);
HeddleResult open_device(const CliOptions *o, HeddleDevice **out, HeddleLog *log);
/* The entry point that o->entry names (or the only one); NULL when there is none. */
const HeddleKernelInfo *find_entry(const CliOptions *o, const HeddleModule *m);
/* Parses --spec by the constants' types into *specs, for free(). False after complaining. */
bool parse_specs(const CliOptions *o, const HeddleKernelInfo *info, HeddleSpecValue **specs);
/* What a kernel is for, besides what the options say. */
typedef struct CliPurpose {
    HeddleEmit emit;
    bool stats, debug, profile, remarks;
} CliPurpose;
HeddleResult open_kernel(const CliOptions *o, HeddleDevice *d, const HeddleModule *m,
                         CliPurpose purpose, HeddleKernel **out, HeddleLog *log);

/* ---- profile.c ------------------------------------------------------------------------------- */

/* The module for the target that --for names: a file, or one of those that heddle brings along. In
 * the place of *m, which is freed in any case. */
HeddleResult lower_for(const CliOptions *o, HeddleModule **m, HeddleLog *log);
void print_lowerings(const CliOptions *o, const HeddleLowering *rows, uint32_t n);
/* The whole file, and a zero, for free(); NULL after complaining. */
char *read_text(const char *path, size_t *size);
/* heddle profile-device: such a profile, of the device. */
int command_profile_device(const CliOptions *o);

/* ---- json.c: --json ------------------------------------------------------------------------- */

/* Written as it comes, to standard output. Keys are NULL in lists. */
typedef struct CliJson {
    uint32_t depth;
    bool comma;
} CliJson;
void json_open(CliJson *j, const char *key, char bracket); /* '{' or '[' */
void json_close(CliJson *j, char bracket);
void json_text(CliJson *j, const char *key, const char *s); /* NULL: null */
void json_real(CliJson *j, const char *key, double x);      /* infinite or NaN: null */
void json_count(CliJson *j, const char *key, uint64_t n);
void json_bool(CliJson *j, const char *key, bool b);
void json_sizes(CliJson *j, const char *key, const uint32_t *n, uint32_t count);
void json_texts(CliJson *j, const char *key, const char *const *s, uint32_t count);
/* The result and what was said, and the end of the object. */
void json_end(CliJson *j, HeddleResult result, const HeddleLog *log);

/* ---- stats.c --------------------------------------------------------------------------------- */

/* What a device of that kind does not count is a dash; in "stats" null. */
void stats_print(const HeddleReport *report, HeddleDeviceKind kind, const HeddleKernelInfo *info);
void json_report(CliJson *j, const HeddleReport *report, HeddleDeviceKind kind);

/* ---- annotate.c ------------------------------------------------------------------------------ */

/* Assembly, or LLVM IR where comments begin with ";", with the lines of the source that it came
 * from as comments; for free(). *size: the text's, then the result's. NULL: out of memory. */
char *annotate(const char *text, size_t *size, const char *comment);

/* ---- svg.c ----------------------------------------------------------------------------------- */

typedef struct CliLayout {
    uint32_t rows, columns, subgroup_size;
    HeddleType type;
    HeddleUse use;
    HeddleType array;     /* of Qualcomm's conversions; NO_TYPE: who owns elements */
    HeddleDevice *device; /* whose matrices they are; NULL: heddle's own devices' */
} CliLayout;
/* layout.c: */
uint32_t layout_length(const CliLayout *l); /* elements that a lane holds, or of its array */
/* Whose element (row, column) is, and which of that lane's. */
void layout_owner(const CliLayout *l, uint32_t row, uint32_t column, uint32_t *lane,
                  uint32_t *element);
const char *use_name(HeddleUse use); /* "A", "B", "C" */
/* Whose assignment it is, and whether another type, another use would change it. */
void layout_whose(const CliLayout *l, char *text, size_t size);
bool layout_svg(const CliLayout *l, const char *path);
/* For writing, "-" being standard output. NULL, or false, after complaining. */
FILE *file_open(const char *path);
bool file_close(FILE *f, const char *path);
/* An empty picture, "-" on standard output. NULL after complaining. */
FILE *svg_open(const char *path, double width, double height);
void svg_begin(FILE *f, double width, double height); /* within a page; ends by "</svg>" */
void xml_text(FILE *f, const char *s);                /* with what XML keeps for itself escaped */
void svg_text(FILE *f, double x, double y, double size, const char *attributes, const char *s);
bool svg_close(FILE *f, const char *path); /* false after complaining */

/* ---- sweep.c: bench --sweep ------------------------------------------------------------------ */

enum { SWEEP_UNHINTED, SWEEP_ROWS = 10 /* and row n asks for n - 1 wait queues */ };

typedef struct CliSweep {
    const char *kernel, *device;
    uint32_t runs;
    double flops;              /* of a run; 0: not known */
    double median[SWEEP_ROWS]; /* seconds */
} CliSweep;
/* The module as row `row` has it. SOURCE after complaining: no loop asks for wait queues. */
HeddleResult sweep_module(const HeddleModule *m, const char *name, uint32_t row, HeddleModule **out,
                          HeddleLog *log);
void sweep_print(const CliSweep *s);
bool sweep_svg(const CliSweep *s, const char *path);

#endif
