/* SPDX-License-Identifier: MIT
 *
 * Runs glslang on a copy of the source in a private temporary folder, reads the module that it
 * leaves there, and replaces the copy's path by the source's name in messages and line information.
 *
 * The compiler is the one the caller names, else what HEDDLE_GLSLANG says, else the one that was
 * installed with heddle, else glslang in PATH.
 */
#include "front/glsl/glsl.h"

#include <stdio.h>

#include "front/glsl/cache.h"
#include "front/glsl/messages.h"

enum { MIN_MAJOR = 16, MIN_MINOR = 1 };

/* ---- the compiler ---------------------------------------------------------------------------- */

static const char *find_compiler(Arena *arena, const GlslOptions *o)
{
    if (o->compiler && *o->compiler)
        return o->compiler;
    return tool_find(arena, "HEDDLE_GLSLANG", "glslang");
}

/* Adds a note if the failure may be due to a compiler that is too old. */
static void note_old_version(Tool *t)
{
    const char *const argv[] = { t->program, "--version", NULL };
    ProcessResult r;
    process_run(t->arena, argv, &r);
    const char *at = r.error ? NULL : strstr(r.output, "Glslang Version: ");
    unsigned generator, major, minor;
    if (!at || sscanf(at, "Glslang Version: %u:%u.%u", &generator, &major, &minor) != 3)
        return;
    if (major > MIN_MAJOR || (major == MIN_MAJOR && minor >= MIN_MINOR))
        return;
    diag(t->sink, DIAG_NOTE, NULL, NULL, "%s is glslang %u.%u; heddle needs %d.%d or later",
         t->program, major, minor, MIN_MAJOR, MIN_MINOR);
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

/* Where included files are looked for. */
static Arguments folders_of(const Tool *t)
{
    const GlslOptions *o = t->user;
    Arguments v = { 0 };
    vec_push(t->arena, &v, folder_of(t->arena, t->source.name));
    for (uint32_t i = 0; i < o->n_include_dirs; i++)
        vec_push(t->arena, &v, o->include_dirs[i]);
    return v;
}

/* All but the program and its files. */
static Arguments options_of(const Tool *t)
{
    const GlslOptions *o = t->user;
    Arguments v = { 0 }, folders = folders_of(t);
    const char *fixed[] = { "--quiet", "-V",   "-g",           "--error-column",
                            "-S",      "comp", "--target-env", o->target_env };
    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        vec_push(t->arena, &v, fixed[i]);
    for (uint32_t i = 0; i < folders.len; i++)
        vec_push(t->arena, &v, arena_printf(t->arena, "-I%s", folders.data[i]));
    for (uint32_t i = 0; i < o->n_defines; i++) {
        const GlslDefine *d = &o->defines[i];
        vec_push(t->arena, &v,
                 arena_printf(t->arena, "-D%s=%s", d->name, d->value ? d->value : "1"));
    }
    return v;
}

static const char *const *glslang_arguments(Tool *t)
{
    Arguments options = options_of(t), v = { 0 };
    vec_push(t->arena, &v, t->program);
    for (uint32_t i = 0; i < options.len; i++)
        vec_push(t->arena, &v, options.data[i]);
    vec_push(t->arena, &v, "-o");
    vec_push(t->arena, &v, t->output);
    vec_push(t->arena, &v, t->input);
    vec_push(t->arena, &v, NULL);
    return v.data;
}

/* ---- names in the module --------------------------------------------------------------------- */

typedef struct SourceRewrite {
    uint32_t *out;
    uint32_t n; /* words written */
    const char *from, *to;
    uint32_t from_words, to_words;
} SourceRewrite;

static uint32_t string_words(const char *s) { return (uint32_t)(strlen(s) / 4 + 1); }

/* Copies one instruction, with the source's name for the copy's path in an OpString and without the
 * text of the source, which -g adds to OpSource and OpSourceContinued (SPIR-V 1.6, 3.52.2). */
static void rewrite_inst(SourceRewrite *r, const uint32_t *inst, uint32_t length)
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

static void rename_source(Tool *t)
{
    enum { HEADER = 5, LONGEST_NAME = 0xfff0 };
    const uint32_t *in = t->bytes;
    uint32_t n = (uint32_t)(t->n_bytes / 4);
    SourceRewrite r = { .from = t->input,
                        .to = t->source.name,
                        .from_words = string_words(t->input),
                        .to_words = string_words(t->source.name),
                        .n = HEADER };
    if (n < HEADER || in[0] != 0x07230203 || r.to_words > LONGEST_NAME)
        return;
    r.out = NEW_ARRAY(t->arena, uint32_t, (size_t)n + (size_t)n / (2 + r.from_words) * r.to_words);
    memcpy(r.out, in, HEADER * sizeof *in);
    for (uint32_t i = HEADER, length; i < n; i += length) {
        length = in[i] >> 16;
        if (length == 0 || length > n - i)
            return;
        rewrite_inst(&r, &in[i], length);
    }
    t->bytes = r.out;
    t->n_bytes = (size_t)r.n * 4;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static const char *messages(Tool *t, char *text)
{
    GlslNames names = { t->input, t->source.name,
                        arena_strndup(t->arena, t->source.data, t->source.size) };
    glsl_messages(t->arena, arena_strdup(t->arena, text), &names, t->sink);
    return text;
}

ToolStatus glsl_compile(Arena *arena, const ToolSource *source, const GlslOptions *options,
                        void **spirv, size_t *spirv_size, DiagSink *sink)
{
    GlslOptions o = options ? *options : (GlslOptions){ 0 };
    o.target_env = o.target_env ? o.target_env : "vulkan1.4";
    Tool t = { .arena = arena,
               .sink = sink,
               .program = find_compiler(arena, &o),
               .language = "GLSL",
               .source = *source,
               .arguments = glslang_arguments,
               .messages = messages,
               .user = &o,
               .advice = arena_printf(arena,
                                      "install glslang %d.%d or later, or name its path "
                                      "with --glslang or HEDDLE_GLSLANG",
                                      MIN_MAJOR, MIN_MINOR) };
    Arguments told = options_of(&t), folders = folders_of(&t);
    GlslInputs inputs = { told.data, told.len, folders.data, folders.len };
    GlslKey key = glsl_cache_key(arena, &t, &inputs);
    *spirv = glsl_cache_read(arena, &key, spirv_size);
    if (*spirv)
        return TOOL_OK;
    uint32_t warnings = sink->warnings;
    ToolStatus status = tool_run(&t, "kernel.comp", "kernel.spv");
    if (status == TOOL_WRONG_SOURCE)
        note_old_version(&t);
    if (status == TOOL_OK) {
        rename_source(&t);
        *spirv = t.bytes;
        *spirv_size = t.n_bytes;
        if (sink->warnings == warnings) /* those that are not seen again would be lost */
            glsl_cache_write(arena, &key, t.bytes, t.n_bytes);
    }
    return status;
}
