/* SPDX-License-Identifier: MIT
 *
 * compile: one form of a kernel, to a file or standard output. check: only what is wrong with it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

typedef enum Form { SPIRV, ASM, PASSES, COMPILED, MLIR, AST } Form;

static const struct {
    const char *name;
    Form form;
    HeddleEmit emit;
    bool binary;
} forms[] = {
    { "asm", ASM, HEDDLE_EMIT_NOTHING, false },
    { "spirv", SPIRV, HEDDLE_EMIT_NOTHING, true },
    { "passes", PASSES, HEDDLE_EMIT_SPIRV, false },
    { "llvm", COMPILED, HEDDLE_EMIT_LLVM, false },
    { "llvm-plain", COMPILED, HEDDLE_EMIT_LLVM_PLAIN, false },
    { "native", COMPILED, HEDDLE_EMIT_NATIVE, false },
    { "ptx", COMPILED, HEDDLE_EMIT_NATIVE, false },
    { "object", COMPILED, HEDDLE_EMIT_OBJECT, true },
    { "mlir", MLIR, HEDDLE_EMIT_NOTHING, false },
    { "mlir-spirv", MLIR, HEDDLE_EMIT_NOTHING, false },
    { "ast", AST, HEDDLE_EMIT_NOTHING, false },
};
enum { N_FORMS = sizeof forms / sizeof *forms };

/* The form asked for; else by the output's name; else assembly. Negative after complaining. */
static int choose_form(const CliOptions *o)
{
    const char *name = o->emit;
    const char *dot = o->output ? strrchr(o->output, '.') : NULL;
    if (!name && dot) {
        name = !strcmp(dot, ".spv")  ? "spirv"
               : !strcmp(dot, ".ll") ? "llvm"
               : !strcmp(dot, ".s")  ? "native"
               : !strcmp(dot, ".o")  ? "object"
                                     : NULL;
    }
    for (int i = 0; i < N_FORMS; i++) {
        if (!strcmp(name ? name : "asm", forms[i].name))
            return i;
    }
    complain("--emit takes spirv, asm, passes, llvm, llvm-plain, native, object, mlir, "
             "mlir-spirv or ast, not '%s'",
             name);
    return -1;
}

static int write_out(const CliOptions *o, const void *data, size_t size, bool binary)
{
    bool standard = !o->output || !strcmp(o->output, "-");
    if (standard && binary && isatty(STDOUT_FILENO)) {
        complain("this form is binary: name a file with -o");
        return EXIT_USAGE;
    }
    FILE *f = standard ? stdout : fopen(o->output, "we");
    bool good = f && fwrite(data, 1, size, f) == size;
    int error = errno;
    if (f && (standard ? fflush(f) : fclose(f)) && good) {
        good = false;
        error = errno;
    }
    if (good)
        return EXIT_DONE;
    complain("%s: cannot write: %s", standard ? "standard output" : o->output, strerror(error));
    return EXIT_WRONG;
}

static int write_module(const CliOptions *o, const HeddleModule *m)
{
    size_t size;
    const uint32_t *words = heddle_module_spirv(m, &size);
    return write_out(o, words, size, true);
}

static int write_disassembly(const CliOptions *o, const HeddleModule *m)
{
    char *text = heddle_module_disassemble(m, true);
    if (!text)
        complain("out of memory");
    int status = text ? write_out(o, text, strlen(text), false) : EXIT_WRONG;
    free(text);
    return status;
}

/* The module as the passes leave it is binary: read it back to show it. */
static int write_passes(const CliOptions *o, const void *spirv, size_t size, HeddleLog *log)
{
    HeddleModule *m;
    HeddleModuleOptions options = { .language = HEDDLE_LANGUAGE_SPIRV, .unchecked = true };
    HeddleResult r = heddle_module_new(spirv, size, "after the passes", &options, &m, log);
    int status = r ? exit_status(r) : write_disassembly(o, m);
    heddle_module_free(m);
    return status;
}

static int write_text(const CliOptions *o, const char *text, size_t size, int form)
{
    HeddleEmit emit = forms[form].emit;
    bool is_ir = emit == HEDDLE_EMIT_LLVM || emit == HEDDLE_EMIT_LLVM_PLAIN;
    char *lines = NULL;
    if (o->debug && (is_ir || emit == HEDDLE_EMIT_NATIVE))
        lines = annotate(text, &size, is_ir ? ";" : strstr(text, ".version") ? "//" : "#");
    int status = write_out(o, lines ? lines : text, size, forms[form].binary);
    free(lines);
    return status;
}

static int write_compiled(const CliOptions *o, const HeddleModule *m, int form, HeddleLog *log)
{
    HeddleDevice *device = NULL;
    HeddleKernel *kernel = NULL;
    HeddleResult r = open_device(o, &device, log);
    if (!r)
        r = open_kernel(o, device, m, (CliPurpose){ .emit = forms[form].emit }, &kernel, log);
    int status = exit_status(r);
    size_t size = 0;
    const void *text = r ? NULL : heddle_kernel_text(kernel, &size);
    if (!r && forms[form].form == PASSES)
        status = write_passes(o, text, size, log);
    else if (!r)
        status = write_text(o, text, size, form);
    heddle_kernel_free(kernel);
    heddle_device_free(device);
    return status;
}

static int write_mlir(const CliOptions *o, int form, HeddleLog *log)
{
    HeddleModuleOptions options = { .struct_size = sizeof options };
    char *text = NULL;
    HeddleResult r = HEDDLE_ERROR_ARGUMENT;
    HeddleMlirForm wanted =
        strcmp(forms[form].name, "mlir") ? HEDDLE_MLIR_LOWERED : HEDDLE_MLIR_REWRITTEN;
    if (mlir_options(o, &options))
        r = heddle_mlir_from_file(o->inputs.data[0], &options, wanted, &text, log);
    int status = r ? exit_status(r) : write_out(o, text, strlen(text), false);
    free(text);
    return status;
}

/* The front end's own LLVM IR, which becomes SPIR-V, is what --emit llvm means for OpenCL C. */
static bool is_opencl(const CliOptions *o)
{
    return o->language ? !strcmp(o->language, "opencl")
                       : heddle_language_of(NULL, 0, o->inputs.data[0]) == HEDDLE_LANGUAGE_OPENCL;
}

static int write_opencl(const CliOptions *o, int form, HeddleLog *log)
{
    char *text;
    HeddleResult r = open_opencl(
        o, forms[form].form == AST ? HEDDLE_OPENCL_AST : HEDDLE_OPENCL_LLVM, &text, log);
    int status = r ? exit_status(r) : write_out(o, text, strlen(text), false);
    free(text);
    return status;
}

/* What became of the loops that ask for wait queues; aside where the module itself is printed. */
static void print_loops(const CliOptions *o, const HeddleModule *m)
{
    uint32_t n;
    const HeddleLoopInfo *loops = heddle_module_loops(m, &n);
    CliTable t = { .columns = 5, .align = "lrrrl", .aside = !o->output || !strcmp(o->output, "-") };
    CliCells c = { 0 };
    table_row(&t, "loop", "iterations", "loads", "ahead", "");
    for (uint32_t i = 0; i < n; i++)
        table_row(&t, cell(&c, "%s:%u", loops[i].file ? loops[i].file : "?", loops[i].line),
                  cell(&c, "%u", loops[i].wait_queues), cell(&c, "%u", loops[i].loads),
                  cell(&c, "%u", loops[i].ahead), loops[i].reason);
    table_print(&t);
}

/* --remarks: one a line, as compilers write them; aside stays what goes wrong. */
static int write_remarks(const CliOptions *o, const HeddleModule *m, HeddleLog *log)
{
    HeddleDevice *device = NULL;
    HeddleKernel *kernel = NULL;
    uint32_t n = 0;
    HeddleResult r = open_device(o, &device, log);
    if (!r)
        r = open_kernel(o, device, m, (CliPurpose){ .remarks = true }, &kernel, log);
    const HeddleRemark *remarks = r ? NULL : heddle_kernel_remarks(kernel, &n);
    FILE *f = r ? NULL : file_open(o->output ? o->output : "-");
    for (uint32_t i = 0; f && i < n; i++)
        fprintf(f, "%s:%u: remark: %s [%s]\n", remarks[i].file ? remarks[i].file : "?",
                remarks[i].line, remarks[i].message, remarks[i].kind);
    bool good = f && file_close(f, o->output ? o->output : "-");
    heddle_kernel_free(kernel);
    heddle_device_free(device);
    return r ? exit_status(r) : good ? EXIT_DONE : EXIT_WRONG;
}

int command_compile(const CliOptions *o)
{
    int form = choose_form(o);
    HeddleLog *log = form < 0 ? NULL : open_log();
    if (!log)
        return EXIT_USAGE;
    bool opencl = forms[form].form == AST || (forms[form].emit == HEDDLE_EMIT_LLVM && is_opencl(o));
    if (forms[form].form == MLIR || opencl) {
        int status = opencl ? write_opencl(o, form, log) : write_mlir(o, form, log);
        heddle_log_free(log);
        return status;
    }
    HeddleModule *m;
    HeddleResult r = open_module(o, &m, log);
    int status = exit_status(r);
    if (!r && o->stats)
        print_loops(o, m);
    uint32_t n = 0;
    const HeddleLowering *rows = r ? NULL : heddle_module_lowerings(m, &n);
    if (!r && o->profile)
        print_lowerings(o, rows, n);
    if (r)
        ;
    else if (o->remarks)
        status = write_remarks(o, m, log);
    else if (forms[form].form == SPIRV)
        status = write_module(o, m);
    else if (forms[form].form == ASM)
        status = write_disassembly(o, m);
    else
        status = write_compiled(o, m, form, log);
    heddle_module_free(m);
    heddle_log_free(log);
    return status;
}

/* What breaks a rule by its specialisation constants' defaults (which a note says of it) is no
 * fault of the module's: who runs it may give them other values. */
static HeddleResult doubt_defaults(const HeddleLog *kept, HeddleResult r)
{
    size_t n = heddle_log_count(kept);
    const char *rule = n ? heddle_log_get(kept, n - 1)->rule : NULL;
    bool doubtful = r && rule && !strcmp(rule, "spec-defaults");
    for (size_t i = 0; i < n; i++) {
        HeddleDiagnostic d = *heddle_log_get(kept, i);
        char text[2048];
        const char *at = strstr(d.text, "error:");
        if (doubtful && d.severity == HEDDLE_ERROR && at) {
            snprintf(text, sizeof text, "%.*swarning:%s", (int)(at - d.text), d.text,
                     at + strlen("error:"));
            d.severity = HEDDLE_WARNING;
            d.text = text;
        }
        print_diagnostic(NULL, &d);
    }
    return doubtful ? HEDDLE_OK : r;
}

/* Compiles an entry point, for what only a device can say. */
static HeddleResult check_entry(const CliOptions *o, HeddleDevice *d, const HeddleModule *m,
                                HeddleLog *log)
{
    const HeddleKernelInfo *info = find_entry(o, m);
    bool defaults = info && info->n_specs && !o->specs.len;
    HeddleLog *kept = defaults ? heddle_log_new(NULL, NULL) : NULL;
    HeddleKernel *k;
    HeddleResult r = open_kernel(o, d, m, (CliPurpose){ 0 }, &k, kept ? kept : log);
    heddle_kernel_free(k);
    if (kept)
        r = doubt_defaults(kept, r);
    heddle_log_free(kept);
    return r;
}

/* Every entry point, or the one named. */
static HeddleResult check_entries(const CliOptions *o, HeddleDevice *d, const HeddleModule *m,
                                  HeddleLog *log)
{
    HeddleResult worst = HEDDLE_OK;
    uint32_t n = heddle_module_n_entry_points(m);
    for (uint32_t i = 0; i < (o->entry || !n ? 1 : n); i++) {
        CliOptions one = *o;
        if (!one.entry && n)
            one.entry = heddle_module_entry_point(m, i)->entry;
        HeddleResult r = check_entry(&one, d, m, log);
        worst = r ? r : worst;
    }
    return worst;
}

static HeddleResult check_file(const CliOptions *o, HeddleDevice *d, HeddleLog *log)
{
    HeddleModule *m = NULL;
    HeddleResult r = open_module(o, &m, log);
    if (!r)
        r = check_entries(o, d, m, log);
    heddle_module_free(m);
    return r;
}

/* The first failure decides how it ends, and the files behind it are checked all the same. */
int command_check(const CliOptions *o)
{
    HeddleLog *log = open_log();
    if (!log)
        return EXIT_WRONG;
    HeddleDevice *d = NULL;
    CliJson j = { 0 };
    HeddleResult result = open_device(o, &d, log);
    if (o->json) {
        json_open(&j, NULL, '{');
        json_open(&j, "files", '[');
    }
    for (uint32_t i = 0; i < o->inputs.len && d; i++) {
        CliOptions one = *o;
        one.inputs = (CliStrings){ &o->inputs.data[i], 1 };
        HeddleResult r = check_file(&one, d, log);
        result = result ? result : r;
        if (o->json) {
            json_open(&j, NULL, '{');
            json_text(&j, "file", o->inputs.data[i]);
            json_bool(&j, "good", !r);
            json_close(&j, '}');
        }
    }
    if (o->json) {
        json_close(&j, ']');
        json_end(&j, result, log);
    }
    heddle_device_free(d);
    heddle_log_free(log);
    return exit_status(result);
}
