/* SPDX-License-Identifier: MIT
 *
 * shader: converts an OpenCL module for Vulkan. In: kernels without calls, with structured graphs
 * but no merge instructions (pass.h). Out: compute shaders, with arguments as pass.h describes;
 * SPIR-V 1.6 with logical addressing, and with Vulkan's memory model if there are cooperative
 * matrices, which require it.
 *
 * Each kernel: merge instructions (shader_flow.c), then where pointers lead (shader_memory.c), then
 * every instruction in the order of the graph (shader_memory.c, shader_ops.c, shader_math.c).
 */
#include "pass/shader.h"

/* ---- what the other files use ---------------------------------------------------------------- */

SpvId shader_emit(Shader *s, uint16_t op, SpvId type, const uint32_t *operands, uint32_t n)
{
    return spv_put(s->m, s->at, op, type, operands, n)->id;
}

SpvId shader_global(Shader *s, uint16_t op, SpvId type, const uint32_t *operands, uint32_t n)
{
    SpvInst *i = spv_make(s->m, op, type, spv_new_id(s->m), operands, n);
    spv_append_global(s->m, i);
    return i->id;
}

void shader_decorate(Shader *s, SpvId id, uint32_t decoration, uint32_t value, uint32_t n)
{
    uint32_t words[3] = { id, decoration, value };
    spv_append_global(s->m, spv_make(s->m, SpvOpDecorate, 0, 0, words, 2 + n));
}

SpvId shader_u32(Shader *s, uint32_t value) { return spv_int_constant(s->m, s->u32, value); }

SpvId shader_spec(Shader *s, uint32_t id, uint32_t value)
{
    uint64_t known;
    if (map_get(&s->specs, id, &known))
        return (SpvId)known;
    SpvId c = shader_global(s, SpvOpSpecConstant, s->u32, &value, 1);
    shader_decorate(s, c, SpvDecorationSpecId, id, 1);
    map_put(s->a, &s->specs, id, c);
    return c;
}

SpvId shader_input(Shader *s, uint32_t builtin, SpvId type)
{
    uint64_t v;
    if (!map_get(&s->inputs, builtin, &v)) {
        SpvId pointer = spv_pointer_type(s->m, SpvStorageClassInput, type);
        uint32_t storage = SpvStorageClassInput;
        v = shader_global(s, SpvOpVariable, pointer, &storage, 1);
        shader_decorate(s, (SpvId)v, SpvDecorationBuiltIn, builtin, 1);
        vec_push(s->a, &s->interface, (SpvId)v);
        map_put(s->a, &s->inputs, builtin, v);
    }
    return EMIT(s, SpvOpLoad, type, (SpvId)v);
}

bool shader_constant(const Shader *s, SpvId id, uint64_t *value)
{
    return !spv_is_spec_constant(s->m, id) && spv_constant(s->m, id, value);
}

bool shader_refuse(Shader *s, const SpvInst *i, const char *what)
{
    spv_error(s->m, i, s->c->sink, NULL, "Vulkan has no counterpart of %s", what);
    return false;
}

/* ---- one kernel ------------------------------------------------------------------------------ */

static void replace_operands(Shader *s, SpvInst *i)
{
    PassIdWords *ids = s->ids;
    edit_ids(i, ids);
    for (uint32_t k = 0; k < ids->n; k++) {
        SpvId *id = &i->words[ids->at[k]];
        while (*id < s->n_with && s->with[*id])
            *id = s->with[*id];
    }
}

/* LLVM's target gives values of matrix type that are not defined another type (LLVM 22). */
static void retype_undefined(Shader *s, SpvInst *phi)
{
    for (uint32_t k = phi->first_operand; k < phi->n_words; k += 2) {
        const SpvInst *value = spv_def(s->m, phi->words[k]);
        if (value && value->op == SpvOpUndef && value->type != phi->type)
            phi->words[k] = spv_undef(s->m, phi->type);
    }
}

ShaderFate shader_lower(Shader *s, SpvInst *i, SpvId *to)
{
    if (i->op != SpvOpPhi)
        replace_operands(s, i);
    else
        retype_undefined(s, i);
    s->at = i;
    SpvId pointer = shader_ambiguous(s, i);
    if (pointer)
        return shader_by_cases(s, i, pointer, to);
    ShaderFate fate = shader_pointer(s, i, to);
    if (fate == FATE_STAYS)
        fate = shader_memory(s, i, to);
    if (fate == FATE_STAYS)
        fate = shader_group(s, i, to);
    return fate == FATE_STAYS ? shader_operation(s, i, to) : fate;
}

static bool rewrite_inst(Shader *s, SpvInst *i)
{
    SpvId to = 0;
    ShaderFate fate = shader_lower(s, i, &to);
    if (fate == FATE_GONE) {
        if (i->id && to)
            s->with[i->id] = to;
        spv_unlink(i); /* its definition still tells its type */
    }
    return fate != FATE_ERROR;
}

/* OpenCL counts a sub-group's invocations, of which the last may have fewer; Vulkan's SubgroupSize
 * is what all could have. All that there are come by the kernel's first instruction. */
static SpvId count_subgroup(Shader *s)
{
    for (const SpvInst *i = s->m->globals.first; i; i = i->next)
        if (i->op == SpvOpDecorate && spv_operand(i, 1) == SpvDecorationBuiltIn &&
            spv_operand(i, 2) == SpvBuiltInSubgroupSize)
            return EMIT(s, SpvOpGroupNonUniformIAdd, s->u32, shader_u32(s, SpvScopeSubgroup),
                        SpvGroupOperationReduce, shader_u32(s, 1));
    return 0;
}

static bool rewrite_all(Shader *s)
{
    s->n_with = s->m->bound;
    s->with = NEW_ARRAY(s->a, SpvId, s->n_with);
    s->at = s->f->first->insts.first->next;
    while (s->at->op == SpvOpVariable)
        s->at = s->at->next;
    s->subgroup_size = count_subgroup(s);
    shader_open_memory(s);
    /* Code inserted into a block goes to blocks of its own, and the rest of the block follows
     * them. */
    VEC(SpvBlock *) blocks = { 0 };
    for (SpvBlock *b = s->f->first; b; b = b->next)
        vec_push(s->a, &blocks, b);
    for (uint32_t k = 0; k < blocks.len; k++)
        for (SpvInst *i = blocks.data[k]->insts.first, *next; i; i = next) {
            next = i->next;
            bool own = i->id >= s->n_with; /* the arguments' loads */
            if (i->op != SpvOpLabel && !own && !rewrite_inst(s, i))
                return false;
        }
    shader_close_pointers(s);
    shader_close_memory(s);
    edit_replace(s->f, s->with, s->n_with);
    return true;
}

static void find_local_size(Shader *s)
{
    uint32_t n;
    const uint32_t *size = spv_execution_mode(s->m, s->f->def->id, SpvExecutionModeLocalSize, &n);
    for (uint32_t k = 0; k < 3; k++)
        s->local_size[k] = size ? shader_u32(s, size[k]) : shader_spec(s, k, 1);
    if (size)
        return;
    uint32_t words[] = { s->f->def->id, SpvExecutionModeLocalSizeId, s->local_size[0],
                         s->local_size[1], s->local_size[2] };
    spv_append_global(s->m, spv_make(s->m, SpvOpExecutionModeId, 0, 0, words, 5));
}

/* The function has no parameters; the variables that it uses form its entry point's interface. */
static void change_interface(Shader *s)
{
    for (SpvInst *i = s->f->head.first, *next; i; i = next) {
        next = i->next;
        if (i->op == SpvOpFunctionParameter)
            spv_unlink(i);
    }
    s->f->def->words[s->f->def->first_operand + 1] = s->function_type;
    uint32_t n_name, n = 2;
    const char *name = spv_string(s->entry, 2, &n_name);
    uint32_t *words = NEW_ARRAY(s->a, uint32_t, 2 + n_name + s->interface.len);
    words[0] = SpvExecutionModelGLCompute;
    words[1] = s->f->def->id;
    memcpy(words + n, name, n_name * sizeof *words);
    n += n_name;
    for (uint32_t k = 0; k < s->interface.len; k++)
        words[n++] = s->interface.data[k];
    edit_become(s->m, s->entry, SpvOpEntryPoint, words, n);
}

static bool convert_kernel(Shader *s, SpvInst *entry)
{
    uint32_t n;
    s->entry = entry;
    s->f = NULL;
    for (SpvFunction *f = s->m->functions; f; f = f->next)
        if (f->def->id == spv_operand(entry, 1))
            s->f = f;
    s->interface.len = 0;
    s->inputs = s->group_arrays = (Map){ 0 };
    s->push = s->group_size = 0;
    s->exact = spv_execution_mode(s->m, s->f->def->id, SpvExecutionModeContractionOff, &n) != NULL;
    if (!shader_structure(s))
        return false;
    shader_pointers_in_memory(s);
    find_local_size(s);
    if (!shader_find_memory(s) || !rewrite_all(s))
        return false;
    change_interface(s);
    return true;
}

/* ---- the module ------------------------------------------------------------------------------ */

static void drop(SpvInst *i) { spv_unlink(i); }

/* Removes what exists only in OpenCL's environment, and annotations of removed ids. */
static void clear_preamble(Shader *s)
{
    for (SpvInst *i = s->m->globals.first, *next; i; i = next) {
        next = i->next;
        switch (i->op) {
        case SpvOpCapability:
        case SpvOpExtension:
        case SpvOpMemoryModel: drop(i); break;
        case SpvOpExtInstImport:
            if (spv_set_by_name(spv_string(i, 0, NULL)) == SPV_SET_OpenCLstd_)
                edit_remove(s->m, i);
            break;
        case SpvOpExecutionMode:
            if (spv_operand(i, 1) != SpvExecutionModeLocalSize)
                drop(i);
            break;
        case SpvOpDecorate:
        case SpvOpMemberDecorate:
        case SpvOpGroupDecorate:
        case SpvOpGroupMemberDecorate:
        case SpvOpDecorateId:
        case SpvOpDecorateString:
            if (spv_operand(i, 0) < s->bound)
                drop(i);
            break;
        case SpvOpDecorationGroup:
        case SpvOpVariable:
            if (i->id < s->bound)
                edit_remove(s->m, i);
            break;
        default: break;
        }
    }
    spv_forget_types(s->m);
    for (uint32_t k = 0; k < s->exact_ids.len; k++)
        shader_decorate(s, s->exact_ids.data[k], SpvDecorationNoContraction, 0, 0);
}

static void say_memory_model(Shader *s)
{
    uint32_t words[] = { SpvAddressingModelLogical,
                         s->matrices ? SpvMemoryModelVulkan : SpvMemoryModelGLSL450 };
    spv_append_global(s->m, spv_make(s->m, SpvOpMemoryModel, 0, 0, words, 2));
    s->m->version = 0x00010600;
}

static bool simplify(Shader *s)
{
    for (SpvFunction *f = s->m->functions; f; f = f->next) {
        s->c->entry.function = f;
        bool ok = pass_simplify(s->c);
        arena_free(s->c->scratch);
        if (!ok)
            return false;
    }
    return true;
}

static bool shader_module(Shader *s)
{
    SpvModule *m = s->m;
    s->ids = NEW(s->a, PassIdWords);
    s->u32 = spv_int_type(m, 32, false);
    s->bool_ = spv_bool_type(m);
    if (!shader_narrow(s))
        return false;
    s->bound = m->bound;
    for (SpvInst *i = m->globals.first; i; i = i->next) {
        s->matrices |= i->op == SpvOpTypeCooperativeMatrixKHR;
        if (i->op == SpvOpTypeVoid)
            s->void_ = i->id;
        if (i->op == SpvOpTypeFunction && spv_n_operands(i) == 1 && spv_operand(i, 0) == s->void_)
            s->function_type = i->id;
    }
    if (!s->function_type)
        s->function_type = shader_global(s, SpvOpTypeFunction, 0, &s->void_, 1);
    static const char set[] = "GLSL.std.450";
    uint32_t words[sizeof set / 4 + 1] = { 0 };
    memcpy(words, set, sizeof set);
    s->glsl = shader_global(s, SpvOpExtInstImport, 0, words, COUNT_OF(words));
    VEC(SpvInst *) entries = { 0 };
    for (SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpEntryPoint && spv_operand(i, 0) == SpvExecutionModelKernel)
            vec_push(s->a, &entries, i);
    if (!entries.len)
        return shader_refuse(s, NULL, "a program without kernels");
    for (uint32_t k = 0; k < entries.len; k++)
        if (!convert_kernel(s, entries.data[k]))
            return false;
    clear_preamble(s);
    say_memory_model(s);
    return simplify(s) && shader_capabilities(s);
}

typedef struct ShaderJob {
    Shader *s;
    bool ok;
} ShaderJob;

static void work(void *user)
{
    ShaderJob *j = user;
    j->ok = shader_module(j->s);
}

bool pass_shader(SpvModule *m, DiagSink *sink)
{
    static const PassOptions options;
    Arena scratch = { .on_failure = m->arena->on_failure };
    PassContext c = { .module = m, .options = &options, .sink = sink, .scratch = &scratch };
    Shader s = { .c = &c, .m = m, .a = m->arena };
    ShaderJob j = { .s = &s };
    bool done = arena_try(m->arena, work, &j);
    arena_free(&scratch);
    if (!done)
        arena_fail(m->arena);
    return j.ok;
}
