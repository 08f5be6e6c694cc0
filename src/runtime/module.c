/* SPDX-License-Identifier: MIT
 *
 * Modules: from whatever the bytes are to SPIR-V in memory, read, checked and reflected once. A
 * module never changes afterwards; who needs the lazily filled side tables works on a clone.
 */
#include <ctype.h>
#include <stdlib.h>

#include "front/glsl/glsl.h"
#include "front/mlir/mlir.h"
#include "front/opencl/opencl.h"
#include "front/opencl/spirv_target.h"
#include "pass/pass.h"
#include "runtime/internal.h"

/* ---- which language -------------------------------------------------------------------------- */

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = name ? strlen(name) : 0, k = strlen(suffix);
    return n > k && !strcmp(name + n - k, suffix);
}

static HeddleLanguage by_name(const char *name)
{
    static const struct {
        const char *suffix;
        HeddleLanguage language;
    } names[] = { { ".spv", HEDDLE_LANGUAGE_SPIRV },       { ".spvasm", HEDDLE_LANGUAGE_SPIRV_ASM },
                  { ".comp", HEDDLE_LANGUAGE_GLSL },       { ".glsl", HEDDLE_LANGUAGE_GLSL },
                  { ".spirv", HEDDLE_LANGUAGE_SPIRV_ASM }, { ".cl", HEDDLE_LANGUAGE_OPENCL },
                  { ".mlir", HEDDLE_LANGUAGE_MLIR } };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (has_suffix(name, names[i].suffix))
            return names[i].language;
    }
    return HEDDLE_LANGUAGE_AUTO;
}

/* Past white space and C comments. */
static const char *skip_blank(const char *s, const char *end)
{
    for (;;) {
        while (s < end && (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\n'))
            s++;
        if (end - s < 2 || s[0] != '/' || (s[1] != '/' && s[1] != '*'))
            return s;
        const char *close = s[1] == '/' ? memchr(s, '\n', (size_t)(end - s))
                                        : memmem(s + 2, (size_t)(end - s - 2), "*/", 2);
        if (!close)
            return end;
        s = close + (s[1] == '/' ? 1 : 2);
    }
}

/* An operation that files of MLIR start with, as a word, or a name for a type or an attribute. */
static bool starts_mlir(const char *s, size_t size)
{
    size_t name = 1;
    while (name < size && (isalnum((unsigned char)s[name]) || s[name] == '_'))
        name++;
    if (size > name + 3 && (*s == '!' || *s == '#') && !memcmp(s + name, " = ", 3))
        return true;
    static const char *const words[] = { "module", "builtin.module", "gpu.module", "spirv.module" };
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        size_t n = strlen(words[i]);
        if (size > n && !memcmp(s, words[i], n) && strchr(" \t\n{@", s[n]))
            return true;
    }
    return size >= 4 && !memcmp(s, "ML\xefR", 4);
}

HeddleLanguage heddle_language_of(const void *data, size_t size, const char *name)
{
    static const uint8_t magic[2][4] = { { 3, 2, 0x23, 7 }, { 7, 0x23, 2, 3 } };
    if (!data)
        size = 0;
    if (size >= 4 && (!memcmp(data, magic[0], 4) || !memcmp(data, magic[1], 4)))
        return HEDDLE_LANGUAGE_SPIRV;
    const char *s = size ? data : "", *end = s + size;
    s = skip_blank(s, end);
    size_t left = (size_t)(end - s);
    if (left > 8 && !memcmp(s, "#version", 8))
        return HEDDLE_LANGUAGE_GLSL;
    bool op = left > 2 && s[0] == 'O' && s[1] == 'p' && s[2] >= 'A' && s[2] <= 'Z';
    if (op || (left > 1 && (s[0] == ';' || s[0] == '%')))
        return HEDDLE_LANGUAGE_SPIRV_ASM;
    return starts_mlir(s, left) ? HEDDLE_LANGUAGE_MLIR : by_name(name);
}

/* ---- making one ------------------------------------------------------------------------------ */

typedef struct Load {
    HeddleModule *module;
    const void *data;
    size_t size;
    const char *name;
    const HeddleModuleOptions *options;
    HeddleLanguage language;
    DiagSink *sink;
} Load;

/* glslang 16.6 writes the loop control, but neither its capability nor its extension. */
static void declare_wait_queues(SpvModule *m)
{
    static const char name[] = "SPV_QCOM_multiple_wait_queues";
    uint32_t words[(sizeof name + 3) / 4] = { 0 }, hints = 0;
    uint32_t capability = SpvCapabilityMultipleWaitQueuesQCOM;
    SpvInst *first = m->globals.first, *last = first;
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next)
                if (i->op == SpvOpLoopMerge)
                    hints |= spv_operand(i, 2) & SpvLoopControlMultipleWaitQueuesQCOMMask;
    for (; last && last->op == SpvOpCapability; last = last->next)
        if (spv_operand(last, 0) == capability)
            return;
    if (!hints || !last || first == last)
        return;
    memcpy(words, name, sizeof name);
    spv_insert_before(last, spv_make(m, SpvOpCapability, 0, 0, &capability, 1));
    spv_insert_before(last, spv_make(m, SpvOpExtension, 0, 0, words, COUNT_OF(words)));
}

static HeddleResult tool_result(ToolStatus status)
{
    static const HeddleResult results[] = { [TOOL_OK] = HEDDLE_OK,
                                            [TOOL_WRONG_SOURCE] = HEDDLE_ERROR_SOURCE,
                                            [TOOL_MISSING] = HEDDLE_ERROR_TOOL,
                                            [TOOL_IO] = HEDDLE_ERROR_IO };
    return results[status];
}

/* What others wrote may be older or newer than what the stages after this know. */
static SpvModule *take(Load *l, SpvModule *m)
{
    bool good = m && (l->options->unchecked || check_read(m, l->sink));
    if (good) {
        pass_nv_matrix(m);
        pass_untyped(m);
    }
    m = good ? m : NULL;
    l->module->spv = m;
    return m;
}

static HeddleResult compile_glsl(Load *l)
{
    const HeddleModuleOptions *o = l->options;
    Arena *arena = &l->module->arena;
    GlslDefine *defines = NEW_ARRAY(arena, GlslDefine, o->n_defines);
    for (uint32_t i = 0; i < o->n_defines; i++)
        defines[i] = (GlslDefine){ o->defines[i].name, o->defines[i].value };
    GlslOptions g = { .compiler = o->compiler,
                      .include_dirs = o->include_dirs,
                      .n_include_dirs = o->n_include_dirs,
                      .defines = defines,
                      .n_defines = o->n_defines,
                      .target_env = o->target_env };
    void *spirv;
    size_t size;
    ToolSource source = { l->data, l->size, l->name };
    ToolStatus status = glsl_compile(arena, &source, &g, &spirv, &size, l->sink);
    if (status)
        return tool_result(status);
    SpvModule *m = take(l, spv_read(arena, spirv, size, l->name, l->sink));
    if (m)
        declare_wait_queues(m);
    return m ? HEDDLE_OK : HEDDLE_ERROR_SOURCE;
}

static OclOptions opencl_options(Arena *arena, const HeddleModuleOptions *o)
{
    OclDefine *defines = NEW_ARRAY(arena, OclDefine, o->n_defines);
    const char *s = secure_getenv("HEDDLE_DEBUG");
    for (uint32_t i = 0; i < o->n_defines; i++)
        defines[i] = (OclDefine){ o->defines[i].name, o->defines[i].value };
    return (OclOptions){ .include_dirs = o->include_dirs,
                         .n_include_dirs = o->n_include_dirs,
                         .defines = defines,
                         .n_defines = o->n_defines,
                         .vulkan = o->opencl_to_vulkan,
                         .variables = o->keep_variables || (s && !strcmp(s, "variables")) };
}

static HeddleResult compile_opencl(Load *l)
{
    HeddleModule *m = l->module;
    OclSource source = { l->data, l->size, l->name };
    OclOptions o = opencl_options(&m->arena, l->options);
    SpvModule *spv = ocl_compile(&m->arena, &source, &o, l->sink);
    if (!spv || (o.vulkan && !pass_shader(spv, l->sink)))
        return HEDDLE_ERROR_SOURCE;
    pass_lines(spv);
    m->spv = spv;
    return HEDDLE_OK;
}

static MlirOptions mlir_options(const HeddleModuleOptions *o, MlirForm form)
{
    MlirOptions m = { .form = form,
                      .rotate_loads = o->rotate_loads,
                      .rotate_by_gpu = o->rotate_by_gpu,
                      .subgroup_size = o->subgroup_size };
    if (o->local_size)
        memcpy(m.local_size, o->local_size, sizeof m.local_size);
    return m;
}

static HeddleResult compile_mlir(Load *l)
{
    HeddleModule *m = l->module;
    MlirOptions o = mlir_options(l->options, MLIR_SPIRV);
    ToolSource source = { l->data, l->size, l->name };
    ToolStatus status = mlir_compile(&m->arena, &source, &o, &m->mlir, l->sink);
    if (status)
        return tool_result(status);
    m->spv = spv_read(&m->arena, m->mlir.bytes, m->mlir.size, l->name, l->sink);
    return m->spv ? HEDDLE_OK : HEDDLE_ERROR_SOURCE;
}

/* Functions of OpenCL C that whoever made the module left to be linked. A module and its text are
 * treated alike. */
static HeddleResult take_spirv(Load *l, SpvModule *m)
{
    return take(l, m) && ocl_link(m, l->sink) ? HEDDLE_OK : HEDDLE_ERROR_SOURCE;
}

static HeddleResult read_source(Load *l)
{
    Arena *arena = &l->module->arena;
    switch (l->language) {
    case HEDDLE_LANGUAGE_SPIRV:
        return take_spirv(l, spv_read(arena, l->data, l->size, l->name, l->sink));
    case HEDDLE_LANGUAGE_SPIRV_ASM:
        return take_spirv(l, spv_assemble(arena, l->data, l->size, l->name, l->sink));
    case HEDDLE_LANGUAGE_OPENCL: return compile_opencl(l);
    case HEDDLE_LANGUAGE_MLIR: return compile_mlir(l);
    default: return compile_glsl(l);
    }
}

static bool find_line(void *user, SpvInst *i)
{
    bool *found = user;
    *found |= i->op == SpvOpLine && !i->file;
    return !*found;
}

/* Instructions that were assembled have positions in the text; where that says where they come
 * from, a module that is written says so too. */
SpvModule *module_copy(Arena *arena, const HeddleModule *m, DiagSink *sink)
{
    bool in_text = false;
    spv_each_inst(m->spv, find_line, &in_text);
    return in_text ? spv_read(arena, m->words, m->size, m->spv->name, sink)
                   : spv_clone(arena, m->spv);
}

/* Checks and reflects on a clone, since both fill its tables. */
static HeddleResult examine(Load *l)
{
    HeddleModule *m = l->module;
    SpvModule *clone = spv_clone(&m->arena, m->spv);
    for (const SpvInst *i = clone->globals.first; i && !m->specialises; i = i->next)
        m->specialises = spv_is_spec_constant(clone, i->id);
    if (!l->options->unchecked && !check_module(clone, l->sink))
        return HEDDLE_ERROR_SOURCE;
    SpvEntryPoint *entries;
    m->n_entries = reflect_entry_points(&m->arena, clone, &entries);
    m->entries = NEW_ARRAY(&m->arena, HeddleKernelInfo *, m->n_entries);
    for (uint32_t i = 0; i < m->n_entries; i++) {
        m->entries[i] = reflect(&m->arena, clone, &entries[i]);
        if (!m->entries[i]->subgroup_size)
            m->entries[i]->subgroup_size = module_subgroup_size(m, entries[i].name);
    }
    m->words = spv_write(&m->arena, m->spv, &m->size);
    return HEDDLE_OK;
}

static HeddleResult load_module(void *user)
{
    Load *l = user;
    l->name = arena_strdup(&l->module->arena, l->name);
    HeddleResult r = read_source(l);
    return r ? r : examine(l);
}

HeddleResult heddle_module_new(const void *data, size_t size, const char *name,
                               const HeddleModuleOptions *options, HeddleModule **out,
                               HeddleLog *log)
{
    HeddleModuleOptions o;
    if (out)
        *out = NULL;
    if (!sized_read(&sized_module_options, options, &o, log))
        return HEDDLE_ERROR_ARGUMENT;
    if (!data || !out || (unsigned)o.language >= HEDDLE_N_LANGUAGES)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_module_new: data or out is NULL, or the language is unknown");
    DiagSink sink = log_sink(log);
    Load l = { .data = data,
               .size = size,
               .name = name ? name : "module",
               .options = &o,
               .language = o.language,
               .sink = &sink };
    if (!l.language)
        l.language = heddle_language_of(data, size, name);
    if (!l.language) {
        DiagLoc loc = { .file = l.name };
        diag(&sink, DIAG_ERROR, &loc, NULL,
             "neither SPIR-V, nor its assembly, nor GLSL, "
             "OpenCL C or MLIR");
        return HEDDLE_ERROR_SOURCE;
    }
    l.module = calloc(1, sizeof *l.module);
    if (!l.module)
        return log_fail(log, HEDDLE_ERROR_MEMORY, "out of memory");
    l.module->unchecked = o.unchecked;
    HeddleResult r = log_guarded(log, &l.module->arena, load_module, &l);
    if (r) {
        heddle_module_free(l.module);
        return log_failed_stage(&sink, log, r, "reading the kernel");
    }
    *out = l.module;
    return HEDDLE_OK;
}

HeddleResult heddle_module_from_file(const char *path, const HeddleModuleOptions *options,
                                     HeddleModule **out, HeddleLog *log)
{
    if (out)
        *out = NULL;
    if (!path || !out)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT, "heddle_module_from_file: path or out is NULL");
    DiagSink sink = log_sink(log);
    size_t size;
    char *data = file_read(path, &size, &sink);
    if (!data)
        return HEDDLE_ERROR_IO;
    const char *name = strcmp(path, "-") ? path : "standard input";
    HeddleResult r = heddle_module_new(data, size, name, options, out, log);
    free(data);
    return r;
}

void heddle_module_free(HeddleModule *module)
{
    if (!module)
        return;
    arena_free(&module->arena);
    free(module);
}

/* ---- asking it ------------------------------------------------------------------------------- */

const uint32_t *heddle_module_spirv(const HeddleModule *module, size_t *size)
{
    *size = module->size;
    return module->words;
}

typedef struct Disassembly {
    Arena arena;
    const HeddleModule *module;
    bool names;
    char *text;
} Disassembly;

static HeddleResult disassemble(void *user)
{
    Disassembly *d = user;
    SpvModule *clone = spv_clone(&d->arena, d->module->spv);
    d->text = strdup(spv_disassemble(&d->arena, clone, d->names));
    return HEDDLE_OK;
}

char *heddle_module_disassemble(const HeddleModule *module, bool names)
{
    Disassembly d = { .module = module, .names = names };
    log_guarded(NULL, &d.arena, disassemble, &d);
    arena_free(&d.arena);
    return d.text;
}

void heddle_module_matrix_loads(const HeddleModule *module, uint32_t *before, uint32_t *after)
{
    *before = module->mlir.loads_before;
    *after = module->mlir.loads_after;
}

uint32_t module_subgroup_size(const HeddleModule *m, const char *entry)
{
    if (m->lowered_for)
        return m->lowered_for;
    for (uint32_t i = 0; i < m->mlir.kernels.len; i++) {
        if (!entry || !strcmp(entry, m->mlir.kernels.data[i].name))
            return m->mlir.kernels.data[i].subgroup_size;
    }
    return 0;
}

uint32_t heddle_module_n_entry_points(const HeddleModule *module) { return module->n_entries; }

const HeddleKernelInfo *heddle_module_entry_point(const HeddleModule *module, uint32_t i)
{
    return i < module->n_entries ? module->entries[i] : NULL;
}

/* ---- other forms of OpenCL C ----------------------------------------------------------------- */

typedef struct Translation {
    Arena arena;
    OclSource source;
    const HeddleModuleOptions *options;
    HeddleOpenclForm form;
    DiagSink *sink;
    char *text;
} Translation;

static HeddleResult translate(void *user)
{
    Translation *t = user;
    OclOptions o = opencl_options(&t->arena, t->options);
    char *text = t->form == HEDDLE_OPENCL_AST ? ocl_to_ast(&t->arena, &t->source, &o, t->sink)
                                              : ocl_to_llvm(&t->arena, &t->source, &o, t->sink);
    t->text = text ? strdup(text) : NULL;
    return !text ? HEDDLE_ERROR_SOURCE : t->text ? HEDDLE_OK : HEDDLE_ERROR_MEMORY;
}

HeddleResult heddle_opencl_from_file(const char *path, const HeddleModuleOptions *options,
                                     HeddleOpenclForm form, char **text, HeddleLog *log)
{
    HeddleModuleOptions own;
    if (text)
        *text = NULL;
    if (!sized_read(&sized_module_options, options, &own, log))
        return HEDDLE_ERROR_ARGUMENT;
    if (!path || !text || (unsigned)form >= HEDDLE_N_OPENCL_FORMS)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_opencl_from_file: path or text is NULL, or the form is unknown");
    DiagSink sink = log_sink(log);
    Translation t = { .options = &own, .form = form, .sink = &sink };
    size_t size;
    char *data = file_read(path, &size, &sink);
    if (!data)
        return HEDDLE_ERROR_IO;
    t.source = (OclSource){ data, size, strcmp(path, "-") ? path : "standard input" };
    HeddleResult r = log_guarded(log, &t.arena, translate, &t);
    arena_free(&t.arena);
    free(data);
    *text = t.text;
    return r ? log_failed_stage(&sink, log, r, "translating the source") : HEDDLE_OK;
}

/* ---- other forms of MLIR --------------------------------------------------------------------- */

typedef struct Rewrite {
    Arena arena;
    const char *path;
    const char *data;
    size_t size;
    const HeddleModuleOptions *options;
    HeddleMlirForm form;
    DiagSink *sink;
    char *text;
} Rewrite;

static HeddleResult rewrite(void *user)
{
    Rewrite *r = user;
    MlirOptions o =
        mlir_options(r->options, r->form == HEDDLE_MLIR_LOWERED ? MLIR_LOWERED : MLIR_REWRITTEN);
    MlirResult result;
    ToolSource source = { r->data, r->size, r->path };
    ToolStatus status = mlir_compile(&r->arena, &source, &o, &result, r->sink);
    if (!status)
        r->text = strndup(result.bytes, result.size);
    return status ? tool_result(status) : r->text ? HEDDLE_OK : HEDDLE_ERROR_MEMORY;
}

HeddleResult heddle_mlir_from_file(const char *path, const HeddleModuleOptions *options,
                                   HeddleMlirForm form, char **text, HeddleLog *log)
{
    HeddleModuleOptions own;
    if (text)
        *text = NULL;
    if (!sized_read(&sized_module_options, options, &own, log))
        return HEDDLE_ERROR_ARGUMENT;
    if (!path || !text || (unsigned)form >= HEDDLE_N_MLIR_FORMS)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_mlir_from_file: path or text is NULL, or the form is unknown");
    DiagSink sink = log_sink(log);
    Rewrite r = { .path = strcmp(path, "-") ? path : "standard input",
                  .form = form,
                  .options = &own,
                  .sink = &sink };
    char *data = file_read(path, &r.size, &sink);
    if (!data)
        return HEDDLE_ERROR_IO;
    r.data = data;
    HeddleResult result = log_guarded(log, &r.arena, rewrite, &r);
    arena_free(&r.arena);
    free(data);
    *text = r.text;
    return result ? log_failed_stage(&sink, log, result, "rewriting the module") : HEDDLE_OK;
}
