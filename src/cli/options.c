/* SPDX-License-Identifier: MIT
 *
 * The command line's options: one table, read by the parser, the help and the manual.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef enum Kind { FLAG, STRING, OPTIONAL, LIST, NUMBER, REAL, DIMENSIONS, OFFSET } Kind;

typedef struct Option {
    const char *name;  /* with its dashes */
    const char *value; /* what stands for its value in the help; NULL: a flag */
    const char *help;
    Kind kind;
    size_t at, given;  /* where in Options; given: of the has_ flag, 0 = none */
    unsigned commands; /* bits of Command */
} Option;

#define ON(command) (1u << (command))
#define AT(field)   offsetof(CliOptions, field)

enum {
    RESULTS = ON(CMD_RUN) | ON(CMD_BENCH), /* of which something is looked at afterwards */
    RUNS = RESULTS | ON(CMD_PROFILE),
    KERNEL = ON(CMD_COMPILE) | ON(CMD_CHECK) | RUNS,
};

/* clang-format off */
static const Option options[] = {
    { "--bind", "N=SPEC", "the buffer for binding N of set 0, for S.N of set S, or for the"
      " variable of"
      " that name; OpenCL: argument N, where local:BYTES is workgroup memory",
      LIST, AT(binds), 0, RUNS },
    { "--out", "N=FILE.npy", "write buffer N to a file afterwards", LIST, AT(outs), 0, RESULTS },
    { "--compare", "N=SPEC", "compare buffer N with SPEC afterwards; exit status 1 if they differ",
      LIST, AT(compares), 0, RESULTS },
    { "--tolerance", "X", "what --compare allows: |got - expected| <= X (1 + |expected|); default"
      " 0.001",
      REAL, AT(tolerance), 0, RESULTS },
    { "--groups", "X,Y,Z", "number of workgroups", DIMENSIONS, AT(groups), AT(has_groups), RUNS },
    { "--global", "X,Y,Z", "number of invocations: multiples of the workgroup's size (OpenCL: any"
      " numbers)",
      DIMENSIONS, AT(global), AT(has_global), RUNS },
    { "--offset", "X,Y,Z", "OpenCL: what is added to the invocations' ids", OFFSET, AT(offset), 0,
      RUNS },
    { "--local", "X,Y,Z", "the workgroup's size, for kernels that leave it open",
      DIMENSIONS, AT(local), AT(has_local), RUNS },
    { "--push", "SPEC", "push constants; several are joined; address:N is the address of buffer N",
      LIST, AT(pushes), 0, RUNS },
    { "--spec", "ID=VALUE", "the value of a specialisation constant, by its id or name", LIST,
      AT(specs), 0, KERNEL },
    { "--entry", "NAME", "the entry point", STRING, AT(entry), 0, KERNEL },
    { "--device", "DEVICE", "cpu (default), reference, vulkan or cuda; KIND:N is the N-th of"
      " its kind, counted from 0",
      STRING, AT(device), 0, KERNEL | ON(CMD_LAYOUT) | ON(CMD_INFO) | ON(CMD_TEST_DRIVER) },
    { "--check", "[=portability]", "run on the reference device, and report the kernel's mistakes",
      OPTIONAL, AT(check), 0, RESULTS },
    { "--subgroup-size", "W", "8, 16, 32, 64 or 128 invocations",
      NUMBER, AT(subgroup_size), 0, KERNEL | ON(CMD_LAYOUT) },
    { "--threads", "T", "number of worker threads; default: one per core", NUMBER, AT(threads),
      0, RUNS },
    { "--interleave", "N", "how many workgroups take turns on a core: 1 or 16; 0 (default):"
      " heddle decides",
      NUMBER, AT(interleave), 0, RUNS },
    { "--isa", "LEVEL", "the instruction set to generate code for: x86-64-v2, -v3, -v4, znver4,"
      " ...,"
      " sm_80, sm_90a, ... or host",
      STRING, AT(isa), 0, KERNEL | ON(CMD_LAYOUT) | ON(CMD_INFO) },
    { "--robust", NULL, "accesses outside a buffer read 0 and write nothing",
      FLAG, AT(robust), 0, KERNEL },
    { "--no-robust", NULL, "turn robust access off on cuda, where it is on by default",
      FLAG, AT(no_robust), 0, KERNEL },
    { "-g", NULL, "keep the source's lines, for debuggers, profilers and reports of faults"
      " (HEDDLE_DEBUG=1); with --no-optimisation also its variables (HEDDLE_DEBUG=variables)",
      FLAG, AT(debug), 0, KERNEL },
    { "--exact", NULL, "cuda: compute divisions, roots, exponentials and logarithms as exactly as"
      " on cpu",
      FLAG, AT(exact), 0, KERNEL },
    { "--no-optimisation", NULL, "run only the passes that the code generator needs",
      FLAG, AT(no_optimisation), 0, KERNEL },
    { "--tier", "TIER", "cpu: which kernels run code that was compiled fast: large ones at first"
      " (auto),"
      " all of them (fast), or none (full; the default of bench and compile)",
      STRING, AT(tier), 0, KERNEL },
    { "--seed", "N", "reference: the seed of the order in which invocations run", NUMBER,
      AT(seed), 0, RESULTS },
    { "--budget", "N", "reference: how many instructions an invocation may run; default 67108864",
      NUMBER, AT(budget), 0, RESULTS },
    { "--watchdog", "S", "cpu: how many seconds of processor time a subgroup may take before the"
      " kernel"
      " counts as endless; 0 is no limit; default 1.5 for run and profile, 0 for bench; implies the"
      " lines of -g. vulkan: how many seconds a dispatch may take before the device counts as lost;"
      " no limit by default",
      REAL, AT(watchdog), AT(has_watchdog), RUNS },
    { "--remarks", NULL, "instead of a form, print what makes lines slow: gathers, divergent"
      " branches,"
      " memory for private arrays", FLAG, AT(remarks), 0, ON(CMD_COMPILE) },
    { "--html", "FILE", "write the profile as a web page", STRING, AT(html), 0, ON(CMD_PROFILE) },
    { "--pipeline", NULL, "make loops that ask for wait queues load ahead into registers, in"
      " portable"
      " SPIR-V", FLAG, AT(pipeline), 0, KERNEL },
    { "--for", "PROFILE", "rewrite matrix operations in terms of what a target has: a JSON file,"
      " or the"
      " name of one in share/heddle/profiles", STRING, AT(profile), 0, KERNEL },
    { "--stats", NULL, "print counts of loads, multiply-adds, conversions, barriers and bytes;"
      " vulkan:"
      " what was lowered; compile: what --pipeline and --for did",
      FLAG, AT(stats), 0, RESULTS | ON(CMD_COMPILE) },
    { "--json", NULL, "instead of tables, print an object for programs (docs/JSON.md)",
      FLAG, AT(json), 0, RUNS | ON(CMD_CHECK) | ON(CMD_INFO) | ON(CMD_TEST_DRIVER) },
    { "--seconds", "S", "how long to measure; default 0.5", REAL, AT(seconds), 0,
      ON(CMD_BENCH) | ON(CMD_PROFILE) },
    { "--seconds", "S", "how long to test; 0: everything but random kernels; default 300",
      REAL, AT(seconds), 0, ON(CMD_TEST_DRIVER) },
    { "--seed", "N", "the seed of the first random kernel; default 1", NUMBER, AT(seed), 0,
      ON(CMD_TEST_DRIVER) },
    { "--count", "N", "how many random kernels to run, if time permits", NUMBER, AT(count), 0,
      ON(CMD_TEST_DRIVER) },
    { "--patience", "S", "how long a kernel may take before the driver counts as hung; default 20",
      REAL, AT(patience), 0, ON(CMD_TEST_DRIVER) },
    { "--known", "FILE", "known differences: on each line a pattern for a kernel's name or for the"
      " instructions that remain of it, and the reason",
      STRING, AT(known), 0, ON(CMD_TEST_DRIVER) },
    { "-o", "FOLDER", "reduce each finding, and write it to a folder of its own there",
      STRING, AT(output), 0, ON(CMD_TEST_DRIVER) },
    { "-o", "FILE", "write there (default: standard output)",
      STRING, AT(output), 0, ON(CMD_COMPILE) | ON(CMD_PROFILE_DEVICE) },
    { "--emit", "FORM", "spirv, asm (default), passes, llvm, llvm-plain, native, object; of MLIR:"
      " mlir (with heddle's rewrites), mlir-spirv; of OpenCL C: ast",
      STRING, AT(emit), 0, ON(CMD_COMPILE) },
    { "--language", "LANG", "glsl, spirv, asm, opencl or mlir; needed only if content and name do"
      " not tell",
      STRING, AT(language), 0, KERNEL },
    { "-I", "FOLDER", "GLSL, OpenCL C: look for includes there", LIST, AT(includes), 0, KERNEL },
    { "-D", "NAME[=VALUE]", "GLSL, OpenCL C: define a macro", LIST, AT(defines), 0, KERNEL },
    { "--target-env", "ENV", "GLSL: vulkan1.0 .. vulkan1.4 (default)",
      STRING, AT(target_env), 0, KERNEL },
    { "--target", "ENV", "OpenCL C: opencl (default), or vulkan for a shader",
      STRING, AT(target), 0, KERNEL },
    { "--glslang", "PATH", "GLSL: the compiler; by default $HEDDLE_GLSLANG, or the one that"
      " heddle finds",
      STRING, AT(glslang), 0, KERNEL },
    { "--rotate-loads", NULL, "MLIR: turn overlapping loads into disjoint ones and rotations",
      FLAG, AT(rotate_loads), 0, KERNEL },
    { "--rotate-as", "DIALECT", "MLIR: the dialect that rotations of matrices become: spirv"
      " (default) or gpu",
      STRING, AT(rotate_as), 0, KERNEL },
    { "--sweep", "wait-queues", "compare 0 to 8 wait queues in the loops that ask for them, by"
      " turns,"
      " in a table with bars", STRING, AT(sweep), 0, ON(CMD_BENCH) },
    { "--arrays", "TYPE", "show the layout of the arrays that Qualcomm's conversions take"
      " instead; TYPE"
      " is their type: the matrix's own or u32", STRING, AT(arrays), 0, ON(CMD_LAYOUT) },
    { "--svg", "FILE", "draw a picture there (bench: what --sweep measured; profile: a roofline)",
      STRING, AT(svg), 0, ON(CMD_LAYOUT) | ON(CMD_BENCH) | ON(CMD_PROFILE) },
    { "--help", NULL, "show this help", FLAG, AT(help), 0, ~0u },
    { "-h", NULL, "show this help", FLAG, AT(help), 0, ~0u },
};
/* clang-format on */

enum { N_OPTIONS = sizeof options / sizeof *options };

/* ---- near misses ----------------------------------------------------------------------------- */

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein's distance, of words up to 31 letters. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[32];
    size_t n = strlen(b);
    if (n > 31)
        return 99;
    for (unsigned j = 0; j <= n; j++)
        row[j] = j;
    for (unsigned i = 1; *a; a++, i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            unsigned above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (*a != b[j - 1]));
            diagonal = above;
        }
    }
    return row[n];
}

const char *nearest(const char *word, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t length = strlen(word);
    unsigned least = (unsigned)length / 3 + 1;
    for (size_t i = 0; i < n && length > 3; i++) { /* cut short */
        if (!strncmp(word, names[i], length))
            return names[i];
    }
    for (size_t i = 0; i < n; i++) {
        unsigned d = distance(word, names[i]);
        if (d <= least && d < strlen(names[i])) {
            best = names[i];
            least = d ? d - 1 : 0;
        }
    }
    return best;
}

static bool unknown_option(CliCommand command, const char *name)
{
    const char *names[N_OPTIONS];
    size_t n = 0;
    for (size_t i = 0; i < N_OPTIONS; i++) {
        if (options[i].commands & ON(command))
            names[n++] = options[i].name;
    }
    const char *close = nearest(name, names, n);
    if (close)
        complain("unknown option %s; is %s meant?", name, close);
    else
        complain("unknown option %s; see `heddle help`", name);
    return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Up to three numbers; those that are not given are `otherwise`, which none is less than. */
static bool parse_three(const char *text, uint32_t otherwise, uint32_t out[3])
{
    out[0] = out[1] = out[2] = otherwise;
    for (int i = 0; i < 3; i++) {
        char *end;
        errno = 0;
        unsigned long n = strtoul(text, &end, 10);
        if (!isdigit((unsigned char)*text) || errno || n < otherwise || n > UINT32_MAX)
            return false;
        out[i] = (uint32_t)n;
        if (!*end)
            return true;
        if (*end != ',' && *end != 'x')
            return false;
        text = end + 1;
    }
    return false;
}

static bool parse_number(const char *text, uint32_t *out)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    *out = (uint32_t)n;
    return isdigit((unsigned char)*text) && !*end && !errno && n <= UINT32_MAX;
}

static bool parse_real(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && *out >= 0;
}

static bool append_string(CliStrings *l, const char *s)
{
    const char **data = realloc(l->data, (l->len + 1) * sizeof *data);
    if (!data) {
        complain("out of memory");
        return false;
    }
    l->data = data;
    l->data[l->len++] = s;
    return true;
}

static bool set_option(const Option *o, const char *value, CliOptions *out)
{
    void *at = (char *)out + o->at;
    bool good = true;
    switch (o->kind) {
    case FLAG: *(bool *)at = true; break;
    case STRING:
    case OPTIONAL: *(const char **)at = value; break;
    case LIST: return append_string(at, value);
    case NUMBER: good = parse_number(value, at); break;
    case REAL: good = parse_real(value, at); break;
    case DIMENSIONS: good = parse_three(value, 1, at); break;
    case OFFSET: good = parse_three(value, 0, at); break;
    }
    if (o->given)
        *((bool *)((char *)out + o->given)) = true;
    if (!good)
        complain("%s takes %s, not '%s'", o->name, o->value, value);
    return good;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* The option that argument `s` names, and the value joined to it ("--x=V", "-DV") or NULL. */
static const Option *find_option(CliCommand command, const char *s, const char **joined)
{
    *joined = NULL;
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const Option *o = &options[i];
        size_t n = strlen(o->name);
        if (!(o->commands & ON(command)) || strncmp(s, o->name, n))
            continue;
        if (!s[n])
            return o;
        if (s[n] == '=' && o->name[1] == '-')
            *joined = s + n + 1;
        else if (o->name[1] != '-' && o->value)
            *joined = s + n;
        else
            continue;
        return o;
    }
    return NULL;
}

static bool option(int *i, int n, char **argv, CliOptions *out)
{
    const char *value;
    const Option *o = find_option(out->command, argv[*i], &value);
    if (!o)
        return unknown_option(out->command, argv[*i]);
    if (o->kind == FLAG && value) {
        complain("%s takes no value", o->name);
        return false;
    }
    if (o->kind == OPTIONAL && !value)
        value = "";
    if (o->kind != FLAG && !value) {
        if (*i + 1 >= n) {
            complain("%s needs a value: %s %s", o->name, o->name, o->value);
            return false;
        }
        value = argv[++*i];
    }
    return set_option(o, value, out);
}

bool options_parse(int n, char **argv, CliOptions *out)
{
    bool only_inputs = false;
    for (int i = 0; i < n; i++) {
        const char *s = argv[i];
        if (!only_inputs && !strcmp(s, "--")) {
            only_inputs = true;
        } else if (!only_inputs && s[0] == '-' && s[1]) {
            if (!option(&i, n, argv, out))
                return false;
        } else if (!append_string(&out->inputs, s)) {
            return false;
        }
    }
    return true;
}

void options_free(CliOptions *o)
{
    CliStrings *lists[] = { &o->inputs,   &o->binds,  &o->outs,     &o->specs,
                            &o->compares, &o->pushes, &o->includes, &o->defines };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]->data);
}

void options_help(CliCommand command)
{
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const Option *o = &options[i];
        char left[64];
        if (!(o->commands & ON(command)))
            continue;
        bool joined = o->kind == OPTIONAL;
        snprintf(left, sizeof left, "%s%s%s", o->name, o->value && !joined ? " " : "",
                 o->value ? o->value : "");
        printf("  %-24s %s\n", left, o->help);
    }
}

bool option_text(size_t i, CliOptionText *out)
{
    if (i >= N_OPTIONS)
        return false;
    const Option *o = &options[i];
    *out = (CliOptionText){ o->name, o->value, o->help, o->kind == OPTIONAL, o->commands };
    return true;
}
