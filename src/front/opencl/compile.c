/* SPDX-License-Identifier: MIT
 *
 * One compilation, from the text to the tree, and on to the form asked for: the tree or the LLVM
 * module.
 */
#include "front/opencl/internal.h"
#include "front/opencl/spirv_target.h"

#include <llvm-c/Core.h>

/* ---- the parser's view of the tokens --------------------------------------------------------- */

void ocl_advance(Ocl *o)
{
    o->last_end = o->tok.loc + o->tok.len;
    if (o->has_ahead) {
        o->tok = o->ahead;
        o->has_ahead = false;
    } else {
        ocl_next_token(o, &o->tok);
    }
    if (o->tok.kind == T_EOF && !o->tok.loc)
        o->tok.loc = o->last_end;
}

const OclToken *ocl_peek(Ocl *o)
{
    if (!o->has_ahead)
        ocl_next_token(o, &o->ahead);
    o->has_ahead = true;
    return &o->ahead;
}

bool ocl_accept(Ocl *o, OclTok kind)
{
    bool is = o->tok.kind == kind;
    if (is)
        ocl_advance(o);
    return is;
}

/* What is missing belongs where the last token ends. */
bool ocl_expect(Ocl *o, OclTok kind, const char *where)
{
    if (ocl_accept(o, kind))
        return true;
    if (!o->stop)
        ocl_error(o, o->last_end ? o->last_end : o->tok.loc, "expected %s %s", ocl_token_name(kind),
                  where);
    return false;
}

void ocl_skip_to(Ocl *o, OclTok open, OclTok close)
{
    for (uint32_t depth = 1; o->tok.kind != T_EOF; ocl_advance(o)) {
        depth += (o->tok.kind == open) - (o->tok.kind == close);
        if (!depth || (open == P_LPAREN && o->tok.kind == P_SEMICOLON))
            return;
    }
}

/* ---- the beginning --------------------------------------------------------------------------- */

static void keyword(Ocl *o, const char *name, OclTok kind)
{
    ocl_intern(o, name, strlen(name))->keyword = kind;
}

static void keywords(Ocl *o)
{
    static const struct {
        const char *name;
        OclTok kind;
    } table[] = {
#define KEYWORD(name, text) { text, K_##name },
#include "front/opencl/tokens.def"
        { "_Bool", K_BOOL },
        { "__const", K_CONST },
        { "__volatile__", K_VOLATILE },
        { "__volatile", K_VOLATILE },
        { "__restrict", K_RESTRICT },
        { "__inline", K_INLINE },
        { "__restrict__", K_RESTRICT },
        { "__inline__", K_INLINE },
        { "__kernel", K_KERNEL },
        { "__attribute", K_ATTRIBUTE },
        { "__global", K_GLOBAL },
        { "__local", K_LOCAL },
        { "__constant", K_CONSTANT },
        { "__private", K_PRIVATE },
        { "__generic", K_GENERIC },
        { "__signed", K_SIGNED },
        { "typeof", K_TYPEOF },
        { "__typeof", K_TYPEOF },
        { "_Alignof", K_ALIGNOF },
        { "__alignof", K_ALIGNOF },
    };
    for (size_t i = 0; i < COUNT_OF(table); i++)
        keyword(o, table[i].name, table[i].kind);
}

static void vector_types(Ocl *o)
{
    static const uint32_t lanes[] = { 2, 3, 4, 8, 16 };
    for (int k = TY_CHAR; k <= TY_DOUBLE; k++) {
        for (size_t i = 0; i < COUNT_OF(lanes); i++) {
            OclType *t = ocl_vector(o, o->basic[k], lanes[i]);
            const char *name = ocl_type_name(o, t);
            ocl_declare(o, S_TYPEDEF, ocl_intern(o, name, strlen(name)), t, 0);
        }
    }
}

static OclIdent *keyword_of(Ocl *o, const char *name) { return ocl_intern(o, name, strlen(name)); }

typedef struct CompileJob {
    Arena *arena;
    const OclSource *source;
    const OclOptions *options;
    DiagSink *sink;
    struct LLVMOpaqueContext *context;
    struct LLVMOpaqueModule *module;
    OclSource printed;
    bool to_spirv;
    char *text;
} CompileJob;

static bool parse_source(const CompileJob *j, Ocl *o)
{
    static const OclOptions none;
    uint32_t errors = j->sink ? j->sink->errors : 0;
    *o = (Ocl){ .arena = j->arena,
                .sink = j->sink,
                .options = j->options ? j->options : &none,
                .name = j->source->name ? j->source->name : "kernel.cl",
                .next_loc = 1 };
    OclSource source = { j->source->text, j->source->size, o->name };
    keywords(o);
    o->words = (OclWords){ keyword_of(o, "__VA_ARGS__"), keyword_of(o, "defined"),
                           keyword_of(o, "printf") };
    ocl_types_start(o);
    vec_push(o->arena, &o->scopes, NULL);
    vector_types(o);
    ocl_preprocess_start(o, &source);
    ocl_parse(o);
    return !o->n_errors && (j->sink ? j->sink->errors : 0) == errors;
}

/* ---- what others ask for --------------------------------------------------------------------- */

char *ocl_to_ast(Arena *arena, const OclSource *source, const OclOptions *options, DiagSink *sink)
{
    Ocl o;
    CompileJob j = { .arena = arena, .source = source, .options = options, .sink = sink };
    return parse_source(&j, &o) ? ocl_dump(&o) : NULL;
}

static void make_module(void *user)
{
    CompileJob *j = user;
    Ocl o;
    if (!parse_source(j, &o))
        return;
    o.to_spirv = j->to_spirv;
    j->module = ocl_emit(&o, j->context);
}

/* Uses an LLVM context of its own, which is released even if the arena runs out of memory. */
static bool build(CompileJob *j)
{
    j->context = LLVMContextCreate();
    bool done = arena_try(j->arena, make_module, j);
    if (!j->module)
        LLVMContextDispose(j->context);
    if (!done)
        arena_fail(j->arena);
    return j->module != NULL;
}

static void keep_text(void *user)
{
    CompileJob *j = user;
    j->text = arena_copy(j->arena, j->printed.text, j->printed.size);
}

char *ocl_to_llvm(Arena *arena, const OclSource *source, const OclOptions *options, DiagSink *sink)
{
    CompileJob j = { .arena = arena, .source = source, .options = options, .sink = sink };
    if (!build(&j))
        return NULL;
    char *text = LLVMPrintModuleToString(j.module);
    size_t size = strlen(text) + 1;
    LLVMDisposeModule(j.module);
    LLVMContextDispose(j.context);
    j.printed = (OclSource){ text, size, NULL };
    bool kept = arena_try(arena, keep_text, &j);
    LLVMDisposeMessage(text);
    if (!kept)
        arena_fail(arena);
    return j.text;
}

struct SpvModule *ocl_compile(Arena *arena, const OclSource *source, const OclOptions *options,
                              DiagSink *sink)
{
    CompileJob j = { .arena = arena,
                     .source = source,
                     .options = options,
                     .sink = sink,
                     .to_spirv = true };
    OclSpirv form = !options             ? OCL_SPIRV_KERNELS
                    : options->vulkan    ? OCL_SPIRV_STRUCTURED
                    : options->variables ? OCL_SPIRV_WITH_VARIABLES
                                         : OCL_SPIRV_KERNELS;
    return build(&j) ? ocl_spirv(arena, j.module, form, j.source->name, sink) : NULL;
}
