/* SPDX-License-Identifier: MIT
 *
 * How long OpenCL C takes to become LLVM IR: a program of 1,000 lines (the kernels of
 * tests/opencl/kernels one after the other), by heddle's front end in this process (CPU time), and
 * by turns as commands: `heddle compile --emit llvm` and `clang -emit-llvm`, start of the process
 * included (wall clock).
 *
 *     bench_opencl [--rounds N]
 */
#include "bench.h"

#include <heddle/heddle.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static const char *const parts[] = { "control", "integers", "vectors", "conversions", "floats",
                                     "groups", "preprocessor" };

typedef struct Way { const char *name; char *const *command; /* NULL: in this process */ } Way;

/* Writes the program; returns its lines, 0 when a part is missing. */
static int write_program(const char *path)
{
    FILE *out = fopen(path, "w");
    int lines = 0;
    for (size_t k = 0; out && k < sizeof parts / sizeof *parts; k++) {
        char name[512];
        snprintf(name, sizeof name, HEDDLE_SOURCE_DIR "/tests/opencl/kernels/%s.cl", parts[k]);
        FILE *in = fopen(name, "r");
        if (!in)
            lines = -100000;
        for (int c; in && (c = fgetc(in)) != EOF;) {
            fputc(c, out);
            lines += c == '\n';
        }
        if (in)
            fclose(in);
    }
    if (out)
        fclose(out);
    return lines > 0 ? lines : 0;
}

static bool carry_out(const Way *way, const char *program)
{
    static const char *const folders[] = { HEDDLE_SOURCE_DIR "/tests/opencl/kernels" };
    HeddleModuleOptions o = { .include_dirs = folders, .n_include_dirs = 1 };
    char *text = NULL;
    pid_t child;
    int status = 0;
    if (way->command)
        return !posix_spawn(&child, way->command[0], NULL, NULL, way->command, environ) &&
               waitpid(child, &status, 0) == child && !status;
    bool good = !heddle_opencl_from_file(program, &o, HEDDLE_OPENCL_LLVM, &text, NULL);
    free(text);
    return good;
}

int main(int argc, char **argv)
{
    char program[] = "/tmp/heddle_bench_XXXXXX.cl";
    int fd = mkstemps(program, 3), rounds = 15;
    char include[] = "-I" HEDDLE_SOURCE_DIR "/tests/opencl/kernels";
    char *heddle[] = { HEDDLE_COMMAND, "compile", program, "-I",
                       HEDDLE_SOURCE_DIR "/tests/opencl/kernels", "--emit", "llvm", "-o",
                       "/dev/null", NULL };
    char *clang[] = { HEDDLE_CLANG, "-x", "cl", "-cl-std=CL3.0", "-Xclang", "-cl-ext=+all",
                      "-target", "spirv64", "-w", include, "-S", "-emit-llvm", program, "-o",
                      "/dev/null", NULL };
    Way ways[] = { { "heddle, in the process", NULL }, { "heddle compile --emit llvm", heddle },
                   { "clang -S -emit-llvm", clang } };
    enum { WAYS = sizeof ways / sizeof *ways };
    double times[WAYS][BENCH_MAX_ROUNDS], median[WAYS];
    for (int k = 1; k + 1 < argc; k++)
        if (!strcmp(argv[k], "--rounds"))
            rounds = atoi(argv[k + 1]);
    rounds = rounds < 1 ? 1 : rounds > BENCH_MAX_ROUNDS ? BENCH_MAX_ROUNDS : rounds;
    if (fd >= 0)
        close(fd);
    int lines = fd >= 0 ? write_program(program) : 0;
    bool runs[WAYS];
    for (int k = 0; k < WAYS; k++) /* once to warm up, or to find that it is not there */
        runs[k] = lines && carry_out(&ways[k], program);
    for (int r = 0; r < rounds; r++) {
        for (int k = 0; k < WAYS; k++) {
            int clock = ways[k].command ? 2 : 1;
            double start = bench_now(clock);
            if (runs[k])
                carry_out(&ways[k], program);
            times[k][r] = bench_now(clock) - start;
        }
    }
    printf("%d lines of OpenCL C to LLVM IR, median of %d rounds\n", lines, rounds);
    for (int k = 0; k < WAYS; k++) {
        median[k] = bench_quantile(times[k], rounds, 0.5);
        if (runs[k])
            printf("  %-28s %7.1f ms\n", ways[k].name, median[k] * 1e3);
        else
            printf("  %-28s does not run here\n", ways[k].name);
    }
    if (runs[1] && runs[2])
        printf("  clang / heddle, as commands  %7.2f\n", median[2] / median[1]);
    remove(program);
    return runs[0] && runs[1] ? 0 : 1;
}
