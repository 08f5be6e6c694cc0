/* SPDX-License-Identifier: MIT
 *
 * heddle vulkan: the environment in which a program finds heddle's Vulkan driver and no other, or,
 * with --layer, heddle's layer on the drivers that the system has.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* Of the driver; docs/VULKAN.md says more. */
static const struct {
    const char *name, *help;
} variables[] = {
    { "HEDDLE_DEVICE_TYPE=T", "the type that the device reports: cpu (default), integrated,"
                              " discrete, virtual, other" },
    { "HEDDLE_SUBGROUP_SIZE=W", "the default subgroup size: 8, 16, 32 (default), 64 or 128" },
    { "HEDDLE_MATRICES=M", "the matrices that the device lists: all (default), khr, f16, none" },
    { "HEDDLE_THREADS=N", "number of worker threads; default: one per core" },
    { "HEDDLE_CLAIM_GRAPHICS=1", "claim that the device has graphics, for WebGPU and Slang" },
    { "HEDDLE_CHECK=1", "run kernels slowly, and look for races, accesses out of bounds and unset"
                        " values" },
    { "HEDDLE_CHECK=fatal", "the same, and lose the device at the first mistake, so that the"
                            " program fails" },
    { "HEDDLE_BUDGET=N", "with HEDDLE_CHECK: how many instructions an invocation may run" },
    { "HEDDLE_DEBUG=1", "keep the shaders' lines, for debuggers and profilers" },
    { "HEDDLE_DEBUG=variables", "also keep the variables for GDB, and do not optimise" },
    { "HEDDLE_ISA=LEVEL", "the machine as a lesser one, as --isa names it" },
    { "HEDDLE_TIER=TIER", "which shaders run code that was compiled fast: large ones at first"
                          " (auto, the default), all (fast), none (full)" },
    { "HEDDLE_LOG=FILE", "the file that messages go to; `heddle vulkan` sets stderr" },
    { "HEDDLE_STATS=1", "log what each kernel did when its device is destroyed" },
    { "HEDDLE_CACHE=FOLDER", "keep compiled kernels there (the command and the library, too, and"
                             " modules made from GLSL)" },
    { "HEDDLE_KEEP=MIB", "MiB of compiled kernels to keep in memory; default: 256" },
    { "HEDDLE_DUMP=FOLDER", "write all shaders there, as HASH.spv and HASH.ll" },
    { "HEDDLE_REPLACE=FOLDER", "use HASH.spv from there instead of the program's shader" },
    { "HEDDLE_LAYER_EXTENSIONS=L", "for the layer, separated by commas: -NAME hides an extension,"
                                   " +NAME makes the layer implement it although the driver does" },
};

void vulkan_help(void)
{
    printf(
        "Adds VK_DRIVER_FILES and the variables given as NAME=VALUE to the program's environment\n"
        "and, unless they are set, HEDDLE_LOG=stderr and GGML_VK_VISIBLE_DEVICES=0 (llama.cpp\n"
        "ignores CPU devices otherwise). With --layer first, the program runs on the system's\n"
        "drivers, and heddle's layer adds the matrix extensions that they lack. The driver's\n"
        "variables (the layer reads HEDDLE_LOG and HEDDLE_CACHE, too):\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        printf("  %-24s %s\n", variables[i].name, variables[i].help);
}

bool vulkan_variable(size_t i, const char **name, const char **help)
{
    if (i >= sizeof variables / sizeof *variables)
        return false;
    *name = variables[i].name;
    *help = variables[i].help;
    return true;
}

/* A manifest, relative to this program: the same in a build tree and where it is installed.
 * `data`: the folder that has vulkan/, which becomes its path. */
static bool find_manifest(char *out, size_t size, char data[PATH_MAX], const char *name)
{
    char self[PATH_MAX];
    out[0] = 0;
    if (!own_path(self, 2) || snprintf(out, size, "%s/%s", self, data) >= PATH_MAX)
        return false;
    strcpy(data, out);
    snprintf(out, size, "%s/vulkan/%s", data, name);
    return access(out, R_OK) == 0;
}

static void prepend(const char *name, const char *folder, const char *otherwise)
{
    char all[16384];
    const char *now = getenv(name);
    now = now && *now ? now : otherwise;
    snprintf(all, sizeof all, "%s%s%s", folder, *now ? ":" : "", now);
    setenv(name, all, 1);
}

/* Loaders before 1.3.296 look for implicit layers in the data folders of the system alone, and for
 * drivers: the layer's has none. */
static bool choose_layer(char manifest[5000])
{
    char data[PATH_MAX] = "share/heddle/layer", folder[PATH_MAX + 40];
    if (!find_manifest(manifest, 5000, data, "implicit_layer.d/heddle_layer.json"))
        return false;
    snprintf(folder, sizeof folder, "%s/vulkan/implicit_layer.d", data);
    prepend("XDG_DATA_DIRS", data, "/usr/local/share:/usr/share");
    prepend("VK_ADD_IMPLICIT_LAYER_PATH", folder, "");
    setenv("HEDDLE_LAYER", "1", 1);
    unsetenv("HEDDLE_LAYER_DISABLE");
    return true;
}

static bool choose_driver(char manifest[5000])
{
    char data[PATH_MAX] = "share";
    if (!find_manifest(manifest, 5000, data, "icd.d/heddle_icd.json"))
        return false;
    setenv("VK_DRIVER_FILES", manifest, 1);
    setenv("VK_ICD_FILENAMES", manifest, 1); /* what loaders before 1.3.207 look at */
    setenv("GGML_VK_VISIBLE_DEVICES", "0", 0);
    return true;
}

int command_vulkan(int n, char **argv)
{
    char manifest[5000];
    bool layer = n && !strcmp(argv[0], "--layer");
    int i = layer;
    for (; i < n && strcmp(argv[i], "--"); i++) {
        if (!strchr(argv[i], '=')) {
            complain("%s: NAME=VALUE expected, or -- before the program", argv[i]);
            return EXIT_USAGE;
        }
        if (putenv(argv[i])) {
            complain("out of memory");
            return EXIT_WRONG;
        }
    }
    if (i + 1 >= n) {
        complain("usage: heddle vulkan [--layer] [NAME=VALUE...] -- PROGRAM ARGUMENTS...");
        return EXIT_USAGE;
    }
    if (!(layer ? choose_layer(manifest) : choose_driver(manifest))) {
        complain("the %s's manifest is not at %s", layer ? "layer" : "driver", manifest);
        return EXIT_WRONG;
    }
    setenv("HEDDLE_LOG", "stderr", 0);
    execvp(argv[i + 1], &argv[i + 1]);
    complain("%s: %s", argv[i + 1], strerror(errno));
    return EXIT_WRONG;
}
