/* SPDX-License-Identifier: MIT
 *
 * heddle: compiles and runs cooperative-matrix kernels on this machine. Exit status: 0 success, 1
 * an error in the kernel or its input, 2 an error in the command line.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const struct {
    const char *name, *arguments, *help;
    uint32_t min_inputs, max_inputs;
    int (*run)(const CliOptions *o);
} commands[N_COMMANDS] = {
    [CMD_INFO] = { "info", "", "list devices, extensions and matrix shapes", 0, 0, command_info },
    [CMD_COMPILE] = { "compile", " KERNEL [-o OUT] [--emit FORM]",
                      "compile a kernel, and show a form of it", 1, 1, command_compile },
    [CMD_CHECK] = { "check", " KERNEL...", "report what is wrong with kernels", 1, UINT32_MAX,
                    command_check },
    [CMD_RUN] = { "run", " KERNEL [options]", "run a kernel, and report what it did", 1, 1,
                  command_run },
    [CMD_BENCH] = { "bench", " KERNEL [options]",
                    "run a kernel for a while, and measure GFLOP/s, GB/s and the spread", 1, 1,
                    command_run },
    [CMD_LAYOUT] = { "layout",
                     " ROWSxCOLUMNS TYPE USE [--subgroup-size W] [--device D] [--svg FILE]",
                     "show which invocation holds which element of a matrix", 3, 3,
                     command_layout },
    [CMD_PROFILE] = { "profile", " KERNEL [options]",
                      "run a kernel for a while, and show time, counts and remarks by line", 1, 1,
                      command_run },
    [CMD_PROFILE_DEVICE] = { "profile-device", " [N] [-o FILE]",
                             "describe a Vulkan device, for compile --for", 0, 1,
                             command_profile_device },
    [CMD_TEST_DRIVER] = { "test-driver", " [--device vulkan:N] [-o FOLDER]",
                          "test a Vulkan driver by heddle's tests and random kernels", 0, 0,
                          command_test_driver },
    [CMD_NEW] = { "new", " NAME", "write NAME.comp, a kernel to start from, and NAME_test.sh", 1, 1,
                  command_new },
    [CMD_VULKAN] = { "vulkan", " [--layer] [NAME=VALUE...] -- PROGRAM ARGUMENTS...",
                     "run a program that uses Vulkan on heddle's driver", 0, 0, NULL },
};

const char *const spec_help =
    "\nKERNEL is GLSL (.comp, .glsl), OpenCL C (.cl), MLIR (.mlir), SPIR-V (.spv) or its assembly\n"
    "(.spvasm); - is standard input.\n"
    "SPEC is a NumPy file (x.npy), raw bytes (@x.bin), or one of\n"
    "  zeros:f32[512,512]   randn:f16[64,128]@7   rand:s8[64,64]@1   iota:u32[16]\n"
    "  full:1.5:bf16[4,4]   list:u32:64,64,32\n"
    "Types: f16 bf16 f32 f64 e4m3 e5m2 s8 s16 s32 s64 u8 u16 u32 u64. @N is the seed.\n";

CliCommandText command_text(CliCommand c)
{
    return (CliCommandText){ commands[c].name, commands[c].arguments, commands[c].help };
}

bool own_path(char out[PATH_MAX], int up)
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n < 0)
        return false;
    out[n] = 0;
    char *slash = out;
    while (up-- > 0 && (slash = strrchr(out, '/')))
        *slash = 0;
    return slash;
}

static int usage(FILE *to)
{
    fprintf(to, "usage: heddle COMMAND ...\n");
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-14s %s\n", commands[i].name, commands[i].help);
    fprintf(to,
            "`heddle help COMMAND` explains a command; `heddle --version` names the version.\n");
    return to == stdout ? EXIT_DONE : EXIT_USAGE;
}

static int help(CliCommand c)
{
    printf("usage: heddle %s%s\n\n%s\n\n", commands[c].name, commands[c].arguments,
           commands[c].help);
    options_help(c);
    if (c == CMD_LAYOUT)
        printf("\nUSE is A, B or C (the accumulator). A cell shows lane.element.\n");
    else if (c == CMD_VULKAN)
        vulkan_help();
    else if (c != CMD_INFO && c != CMD_PROFILE_DEVICE && c != CMD_NEW && c != CMD_TEST_DRIVER)
        fputs(spec_help, stdout);
    return EXIT_DONE;
}

static CliCommand find_command(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++) {
        if (!strcmp(commands[i].name, name))
            return (CliCommand)i;
    }
    return N_COMMANDS;
}

static int unknown(const char *name)
{
    const char *names[N_COMMANDS];
    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    const char *close = nearest(name, names, N_COMMANDS);
    if (close)
        complain("unknown command %s; is %s meant?", name, close);
    else
        complain("unknown command %s; `heddle help` lists them", name);
    return EXIT_USAGE;
}

static int run_command(CliCommand c, int n, char **argv)
{
    CliOptions o = { .command = c,
                     .tolerance = 1e-3,
                     .seconds = c == CMD_TEST_DRIVER ? 300 : 0.5,
                     .watchdog = 1.5 };
    int status = EXIT_USAGE;
    if (!options_parse(n, argv, &o))
        ;
    else if (o.help)
        status = help(c);
    else if (o.inputs.len < commands[c].min_inputs || o.inputs.len > commands[c].max_inputs)
        complain("usage: heddle %s%s", commands[c].name, commands[c].arguments);
    else
        status = commands[c].run(&o);
    options_free(&o);
    if (fflush(stdout) && status == EXIT_DONE)
        status = EXIT_WRONG;
    return status;
}

int main(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "";
    if (argc < 2)
        return usage(stderr);
    if (!strcmp(first, "--version")) {
        printf("heddle %s\n", heddle_version());
        return EXIT_DONE;
    }
    bool asks = !strcmp(first, "help") || !strcmp(first, "--help") || !strcmp(first, "-h");
    if (asks && argc == 2)
        return usage(stdout);
    if (asks && document(argv[2]))
        return fflush(stdout) ? EXIT_WRONG : EXIT_DONE;
    CliCommand c = find_command(asks ? argv[2] : first);
    if (c == N_COMMANDS)
        return unknown(asks ? argv[2] : first);
    bool helps = argc == 3 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h"));
    if (!asks && c == CMD_VULKAN && !helps)
        return command_vulkan(argc - 2, argv + 2);
    return asks ? help(c) : run_command(c, argc - 2, argv + 2);
}
