/* SPDX-License-Identifier: MIT
 *
 * Runs heddle-mlir on a copy of the source: what HEDDLE_MLIR says, else the one that was installed
 * with heddle, else the one in PATH. Its output is lines of fields separated by \037: diagnostics
 * (severity, line, column, file, message) and figures (name, two numbers, what they describe).
 */
#include "front/mlir/mlir.h"

#include <stdlib.h>

typedef struct MlirJob {
    const MlirOptions *options;
    MlirResult *out;
} MlirJob;

/* ---- what it says ---------------------------------------------------------------------------- */

enum { KIND, FIRST, SECOND, NAME, TEXT, N_FIELDS };

static void line(Tool *t, char *const field[N_FIELDS])
{
    static const char *const severities[] = { "note", "warning", "error" };
    MlirResult *out = ((MlirJob *)t->user)->out;
    uint32_t a = (uint32_t)strtoul(field[FIRST], NULL, 10);
    uint32_t b = (uint32_t)strtoul(field[SECOND], NULL, 10);
    for (size_t i = 0; i < COUNT_OF(severities); i++) {
        DiagLoc loc = { .file = *field[NAME] ? field[NAME] : NULL, .line = a, .column = b };
        if (!strcmp(field[KIND], severities[i]))
            diag(t->sink, (DiagSeverity)i, &loc, i == DIAG_ERROR ? t->language : NULL, "%s",
                 field[TEXT]);
    }
    if (!strcmp(field[KIND], "loads")) {
        out->loads_before = a;
        out->loads_after = b;
    } else if (!strcmp(field[KIND], "subgroup")) {
        MlirKernel k = { arena_strdup(t->arena, field[NAME]), a };
        vec_push(t->arena, &out->kernels, k);
    }
}

/* Returns the other lines, which are MLIR's own last words when it crashes. */
static const char *lines(Tool *t, char *text)
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
            line(t, field);
        else
            str_printf(t->arena, &rest, "%s%s", rest.len ? " / " : "", at);
    }
    return rest.data ? rest.data : "";
}

/* ---- all of it ------------------------------------------------------------------------------- */

static const char *const *translator_arguments(Tool *t)
{
    static const char *const forms[] = { "spirv", "mlir", "lowered" };
    const MlirOptions *o = ((const MlirJob *)t->user)->options;
    const char *argv[] = { t->program,
                           t->input,
                           t->output,
                           t->source.name,
                           forms[o->form],
                           o->rotate_by_gpu ? "gpu" : "spirv",
                           o->rotate_loads ? "rotate-loads" : "-",
                           arena_printf(t->arena, "%u", o->subgroup_size ? o->subgroup_size : 32),
                           arena_printf(t->arena, "%u,%u,%u", o->local_size[0],
                                        MAX(o->local_size[1], 1), MAX(o->local_size[2], 1)),
                           NULL };
    return arena_copy(t->arena, argv, sizeof argv);
}

ToolStatus mlir_compile(Arena *arena, const ToolSource *source, const MlirOptions *options,
                        MlirResult *out, DiagSink *sink)
{
    *out = (MlirResult){ 0 };
    MlirJob j = { options, out };
    Tool t = { .arena = arena,
               .sink = sink,
               .program = tool_find(arena, "HEDDLE_MLIR", "heddle-mlir"),
               .language = "MLIR",
               .source = *source,
               .arguments = translator_arguments,
               .messages = lines,
               .user = &j,
               .advice = "it is built where MLIR 22 is installed; Debian's package is "
                         "libmlir-22-dev" };
    ToolStatus status = tool_run(&t, "kernel.mlir", "kernel.spv");
    out->bytes = t.bytes;
    out->size = t.n_bytes;
    return status;
}
