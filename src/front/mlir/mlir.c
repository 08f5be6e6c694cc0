/* SPDX-License-Identifier: MIT
 *
 * Runs heddle-mlir on a copy of the source. It is the first that exists of those known when heddle
 * was built, else the one installed beside the library, else the one in PATH. What it says is lines
 * of fields separated by \037: diagnostics (severity, line, column, file, message) and figures
 * (name, two numbers, what they are of).
 */
#include "front/mlir/mlir.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "front/tool.h"

#ifndef HEDDLE_MLIR
#define HEDDLE_MLIR "" /* paths, separated by colons */
#endif

static const char own_address; /* something that lies in this library */

typedef struct Job {
    Arena *arena;
    const void *source;
    size_t size;
    const char *name;
    const MlirOptions *options;
    MlirResult *out;
    DiagSink *sink;
    ToolFiles files;
} Job;

/* Beside the library, for an installation that was moved. */
static const char *find_beside(Arena *arena)
{
    static const char *const places[] = { "../libexec", "../../libexec" };
    Dl_info self;
    const char *slash = dladdr(&own_address, &self) ? strrchr(self.dli_fname, '/') : NULL;
    for (size_t i = 0; slash && i < COUNT_OF(places); i++) {
        char *path = arena_printf(arena, "%.*s/%s/heddle/heddle-mlir",
                                  (int)(slash - self.dli_fname), self.dli_fname, places[i]);
        if (access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}

static const char *find_compiler(Arena *arena)
{
    for (const char *s = HEDDLE_MLIR; *s;) {
        size_t n = strcspn(s, ":");
        char *path = arena_strndup(arena, s, n);
        if (n && access(path, X_OK) == 0)
            return path;
        s += n + (s[n] == ':');
    }
    const char *beside = find_beside(arena);
    return beside ? beside : "heddle-mlir";
}

static MlirStatus io_error(Job *j, const char *path)
{
    DiagLoc loc = { .file = path };
    diag(j->sink, DIAG_ERROR, &loc, NULL, "temporary file for heddle-mlir: %s", strerror(errno));
    return MLIR_IO;
}

/* ---- what it says ---------------------------------------------------------------------------- */

enum { KIND, FIRST, SECOND, NAME, TEXT, N_FIELDS };

static void line(Job *j, char *const field[N_FIELDS])
{
    static const char *const severities[] = { "note", "warning", "error" };
    uint32_t a = (uint32_t)strtoul(field[FIRST], NULL, 10);
    uint32_t b = (uint32_t)strtoul(field[SECOND], NULL, 10);
    for (size_t i = 0; i < COUNT_OF(severities); i++) {
        DiagLoc loc = { .file = *field[NAME] ? field[NAME] : NULL, .line = a, .column = b };
        if (!strcmp(field[KIND], severities[i]))
            diag(j->sink, (DiagSeverity)i, &loc, i == DIAG_ERROR ? "MLIR" : NULL, "%s",
                 field[TEXT]);
    }
    if (!strcmp(field[KIND], "loads")) {
        j->out->loads_before = a;
        j->out->loads_after = b;
    } else if (!strcmp(field[KIND], "subgroup")) {
        MlirKernel k = { arena_strdup(j->arena, field[NAME]), a };
        vec_push(j->arena, &j->out->kernels, k);
    }
}

/* Returns what was none of it: words of MLIR's own on a way out that nobody meant it to take. */
static const char *lines(Job *j, char *text)
{
    Str rest = { 0 };
    for (char *next = text; next && *next;) {
        char *at = strsep(&next, "\n"), *field[N_FIELDS], *s = at;
        int n = 0;
        if (strchr(at, '\037')) {
            while (n < N_FIELDS && s)
                field[n++] = strsep(&s, "\037");
        }
        if (n == N_FIELDS)
            line(j, field);
        else
            str_printf(j->arena, &rest, "%s%s", rest.len ? " / " : "", at);
    }
    return rest.data ? rest.data : "";
}

/* ---- all of it ------------------------------------------------------------------------------- */

static MlirStatus no_compiler(Job *j, const char *compiler, int error)
{
    diag(j->sink, DIAG_ERROR, NULL, NULL,
         "cannot run %s, which MLIR kernels need: %s (it is built where MLIR 22 is installed; "
         "Debian's package is libmlir-22-dev)", compiler, strerror(error));
    return MLIR_NO_COMPILER;
}

static MlirStatus run(Job *j)
{
    static const char *const forms[] = { "spirv", "mlir", "lowered" };
    const MlirOptions *o = j->options;
    const char *about, *compiler = find_compiler(j->arena);
    if (!tool_make_files(&j->files, j->source, j->size, &about))
        return io_error(j, about);
    const char *argv[] = {
        compiler, j->files.input, j->files.output, j->name, forms[o->form],
        o->rotate_by_gpu ? "gpu" : "spirv", o->rotate_loads ? "rotate-loads" : "-",
        arena_printf(j->arena, "%u", o->subgroup_size ? o->subgroup_size : 32), NULL
    };
    ProcessResult r;
    process_run(j->arena, argv, &r);
    if (r.error)
        return no_compiler(j, compiler, r.error);
    uint32_t errors = j->sink->errors;
    const char *rest = lines(j, r.output);
    if (r.status == 0)
        return tool_read_output(j->arena, &j->files, &j->out->bytes, &j->out->size)
                   ? MLIR_OK : io_error(j, j->files.output);
    DiagLoc loc = { .file = j->name };
    if (j->sink->errors == errors)
        diag(j->sink, DIAG_ERROR, &loc, "MLIR", "%s ended with status %d: %.300s", compiler,
             r.status, rest);
    return MLIR_WRONG_SOURCE;
}

MlirStatus mlir_compile(Arena *arena, const void *source, size_t size, const char *name,
                        const MlirOptions *options, MlirResult *out, DiagSink *sink)
{
    Job j = { .arena = arena, .source = source, .size = size, .name = name, .options = options,
              .out = out, .sink = sink };
    *out = (MlirResult){ 0 };
    tool_name_files(arena, &j.files, "kernel.mlir", "kernel.spv");
    jmp_buf here, *outer = arena->on_failure;
    if (ARENA_GUARD(arena, here)) {
        tool_remove_files(&j.files);
        arena->on_failure = outer;
        if (outer)
            longjmp(*outer, 1);
        return MLIR_IO;
    }
    MlirStatus status = run(&j);
    arena->on_failure = outer;
    tool_remove_files(&j.files);
    return status;
}
