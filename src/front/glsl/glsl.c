/* SPDX-License-Identifier: MIT
 *
 * Runs glslang on a copy of the source in a private temporary folder, reads the module that it
 * leaves there, and puts the source's own name where the copy's path stands in messages and line
 * information.
 *
 * The compiler is the one the caller names, else the first that exists of those known when
 * heddle was built, else glslang in PATH.
 */
#include "front/glsl/glsl.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "front/glsl/messages.h"
#include "front/tool.h"

#ifndef HEDDLE_GLSLANG
#define HEDDLE_GLSLANG "" /* paths, separated by colons */
#endif

enum { MIN_MAJOR = 16, MIN_MINOR = 1 };

typedef struct Job {
    Arena *arena;
    const GlslOptions *options;
    const char *source;
    size_t size;
    const char *name;
    DiagSink *sink;
    const char *compiler;
    ToolFiles files;
    void *spirv;
    size_t spirv_size;
} Job;

/* ---- the compiler ---------------------------------------------------------------------------- */

static const char *find_compiler(Job *j)
{
    if (j->options->compiler && *j->options->compiler)
        return j->options->compiler;
    for (const char *s = HEDDLE_GLSLANG; *s;) {
        size_t n = strcspn(s, ":");
        char *path = arena_strndup(j->arena, s, n);
        if (n && access(path, X_OK) == 0)
            return path;
        s += n + (s[n] == ':');
    }
    return "glslang";
}

/* A note when an older compiler than heddle needs may be the reason of a failure. */
static void note_old_version(Job *j)
{
    const char *const argv[] = { j->compiler, "--version", NULL };
    ProcessResult r;
    process_run(j->arena, argv, &r);
    const char *at = r.error ? NULL : strstr(r.output, "Glslang Version: ");
    unsigned generator, major, minor;
    if (!at || sscanf(at, "Glslang Version: %u:%u.%u", &generator, &major, &minor) != 3)
        return;
    if (major > MIN_MAJOR || (major == MIN_MAJOR && minor >= MIN_MINOR))
        return;
    diag(j->sink, DIAG_NOTE, NULL, NULL, "%s is glslang %u.%u; heddle needs %d.%d or later",
         j->compiler, major, minor, MIN_MAJOR, MIN_MINOR);
}

static GlslStatus no_compiler(Job *j, int error)
{
    diag(j->sink, DIAG_ERROR, NULL, NULL,
         "cannot run %s, which GLSL needs: %s (install glslang %d.%d or later, or name its path "
         "with "
         "--glslang or HEDDLE_GLSLANG)",
         j->compiler, strerror(error), MIN_MAJOR, MIN_MINOR);
    return GLSL_NO_COMPILER;
}

/* ---- its arguments --------------------------------------------------------------------------- */

typedef VEC(const char *) Arguments;

/* The folder of the source, where quoted includes are looked for first. */
static const char *folder_of(Arena *arena, const char *name)
{
    const char *slash = strrchr(name, '/');
    if (!slash)
        return ".";
    return slash == name ? "/" : arena_strndup(arena, name, (size_t)(slash - name));
}

static Arguments arguments(Job *j)
{
    const GlslOptions *o = j->options;
    Arguments v = { 0 };
    const char *fixed[] = { j->compiler, "--quiet", "-V", "-g", "--error-column", "-S", "comp",
                            "--target-env", o->target_env ? o->target_env : "vulkan1.4", "-o",
                            j->files.output };
    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        vec_push(j->arena, &v, fixed[i]);
    vec_push(j->arena, &v, arena_printf(j->arena, "-I%s", folder_of(j->arena, j->name)));
    for (uint32_t i = 0; i < o->n_include_dirs; i++)
        vec_push(j->arena, &v, arena_printf(j->arena, "-I%s", o->include_dirs[i]));
    for (uint32_t i = 0; i < o->n_defines; i++) {
        const GlslDefine *d = &o->defines[i];
        vec_push(j->arena, &v,
                 arena_printf(j->arena, "-D%s=%s", d->name, d->value ? d->value : "1"));
    }
    vec_push(j->arena, &v, j->files.input);
    vec_push(j->arena, &v, NULL);
    return v;
}

/* ---- the temporary folder -------------------------------------------------------------------- */

static GlslStatus io_error(Job *j, const char *path, int error)
{
    DiagLoc loc = { .file = path };
    diag(j->sink, DIAG_ERROR, &loc, NULL, "temporary file for glslang: %s", strerror(error));
    return GLSL_IO;
}

static GlslStatus make_files(Job *j)
{
    const char *about;
    if (tool_make_files(&j->files, j->source, j->size, &about))
        return GLSL_OK;
    return io_error(j, about, errno);
}

static GlslStatus read_output(Job *j)
{
    if (tool_read_output(j->arena, &j->files, &j->spirv, &j->spirv_size))
        return GLSL_OK;
    return io_error(j, j->files.output, errno);
}

/* ---- names in the module --------------------------------------------------------------------- */

typedef struct Rewrite {
    uint32_t *out;
    uint32_t n;                     /* words written */
    const char *from, *to;
    uint32_t from_words, to_words;
} Rewrite;

static uint32_t string_words(const char *s) { return (uint32_t)(strlen(s) / 4 + 1); }

/* Copies one instruction, with the source's name for the copy's path in an OpString and without the
 * text of the source, which -g adds to OpSource and OpSourceContinued (SPIR-V 1.6, 3.52.2). */
static void rewrite_inst(Rewrite *r, const uint32_t *inst, uint32_t length)
{
    enum { SOURCE_CONTINUED = 2, SOURCE = 3, STRING = 7, SOURCE_WITHOUT_TEXT = 4 };
    uint32_t op = inst[0] & 0xffff;
    if (op == SOURCE_CONTINUED)
        return;
    bool path = op == STRING && length == 2 + r->from_words &&
                !memcmp(&inst[2], r->from, strlen(r->from) + 1);
    uint32_t kept = path ? 2 : op == SOURCE ? MIN(length, SOURCE_WITHOUT_TEXT) : length;
    memcpy(&r->out[r->n], inst, kept * sizeof *inst);
    if (path) /* the arena's zeros end the string */
        memcpy(&r->out[r->n + 2], r->to, strlen(r->to));
    kept += path ? r->to_words : 0;
    r->out[r->n] = kept << 16 | op;
    r->n += kept;
}

static void rename_source(Job *j)
{
    enum { HEADER = 5, LONGEST_NAME = 0xfff0 };
    const uint32_t *in = j->spirv;
    uint32_t n = (uint32_t)(j->spirv_size / 4);
    Rewrite r = { .from = j->files.input, .to = j->name, .from_words = string_words(j->files.input),
                  .to_words = string_words(j->name), .n = HEADER };
    if (n < HEADER || in[0] != 0x07230203 || r.to_words > LONGEST_NAME)
        return;
    r.out = NEW_ARRAY(j->arena, uint32_t, (size_t)n + (size_t)n / (2 + r.from_words) * r.to_words);
    memcpy(r.out, in, HEADER * sizeof *in);
    for (uint32_t i = HEADER, length; i < n; i += length) {
        length = in[i] >> 16;
        if (length == 0 || length > n - i)
            return;
        rewrite_inst(&r, &in[i], length);
    }
    j->spirv = r.out;
    j->spirv_size = (size_t)r.n * 4;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static GlslStatus run(Job *j)
{
    GlslStatus status = make_files(j);
    if (status)
        return status;
    Arguments argv = arguments(j);
    ProcessResult r;
    process_run(j->arena, argv.data, &r);
    if (r.error)
        return no_compiler(j, r.error);
    if (r.status == 127) /* what the shell wrapper of an unpacked glslang says */
        return no_compiler(j, ENOENT);
    uint32_t errors = j->sink->errors;
    GlslNames names = { j->files.input, j->name, arena_strndup(j->arena, j->source, j->size) };
    glsl_messages(j->arena, arena_strdup(j->arena, r.output), &names, j->sink);
    if (r.status == 0)
        return read_output(j);
    note_old_version(j);
    if (j->sink->errors == errors) {
        DiagLoc loc = { .file = j->name };
        diag(j->sink, DIAG_ERROR, &loc, "GLSL", "%s ended with status %d: %.300s", j->compiler,
             r.status, r.output);
    }
    return GLSL_WRONG_SOURCE;
}

GlslStatus glsl_compile(Arena *arena, const char *source, size_t size, const char *name,
                        const GlslOptions *options, void **spirv, size_t *spirv_size,
                        DiagSink *sink)
{
    static const GlslOptions defaults;
    Job j = { .arena = arena, .options = options ? options : &defaults, .source = source,
              .size = size, .name = name, .sink = sink };
    j.compiler = find_compiler(&j);
    tool_name_files(arena, &j.files, "kernel.comp", "kernel.spv");
    jmp_buf here, *outer = arena->on_failure;
    if (ARENA_GUARD(arena, here)) {
        tool_remove_files(&j.files);
        arena->on_failure = outer;
        if (outer)
            longjmp(*outer, 1);
        return GLSL_IO;
    }
    GlslStatus status = run(&j);
    arena->on_failure = outer;
    tool_remove_files(&j.files);
    if (status == GLSL_OK) {
        rename_source(&j);
        *spirv = j.spirv;
        *spirv_size = j.spirv_size;
    }
    return status;
}
