/* SPDX-License-Identifier: MIT
 *
 * Reflection: what an entry point needs of the outside. Looks at the functions that it reaches
 * only, so that a binding counts when it is used, not when it is declared.
 */
#include <stdlib.h>

#include "runtime/internal.h"

typedef struct Reflection {
    Arena *arena;
    SpvModule *m;
    uint32_t bound;
    uint8_t *reached;        /* by id of a function */
    uint8_t *used, *written; /* by id of a variable */
    uint64_t *extent;        /* by id of a variable: bytes that accesses lie in */
    SpvId *root;             /* by id of a pointer: the variable it leads into */
    VEC(SpvFunction *) todo;
} Reflection;

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Without the runtime array at its end. */
static uint64_t fixed_size(const SpvType *t)
{
    if (!t || t->kind == SPV_RUNTIME_ARRAY)
        return 0;
    if (t->kind == SPV_STRUCT && t->count && t->offsets) {
        const SpvType *last = t->members[t->count - 1];
        if (last && last->kind == SPV_RUNTIME_ARRAY && t->offsets[t->count - 1] != UINT32_MAX)
            return t->offsets[t->count - 1];
    }
    return spv_type_size(t);
}

/* The block behind a variable: through the pointer and the array of descriptors, if it is one. */
static const SpvType *block_of(SpvModule *m, SpvId variable, uint32_t *count)
{
    const SpvType *p = spv_type_of(m, variable), *t = p ? p->element : NULL;
    *count = 1;
    if (t && t->kind == SPV_ARRAY)
        *count = t->count;
    else if (t && t->kind == SPV_RUNTIME_ARRAY)
        *count = UINT32_MAX;
    else
        return t;
    return t->element;
}

/* One step of an access chain: advances *offset and *t. False when the chain need not be followed
 * further: *t then counts whole. */
static bool step(SpvModule *m, const SpvType **t, SpvId index, uint64_t *offset)
{
    const SpvType *in = *t;
    uint64_t i = 0;
    bool known = spv_constant(m, index, &i) && i < UINT32_MAX;
    switch (in->kind) {
    case SPV_STRUCT:
        if (!known || i >= in->count || !in->offsets || in->offsets[i] == UINT32_MAX)
            return false;
        *offset += in->offsets[i];
        *t = in->members[i];
        return *t != NULL;
    case SPV_ARRAY:
        if (!known)
            return false;
        break;
    case SPV_RUNTIME_ARRAY: i = known ? i : 0; break;
    default: return false;
    }
    *offset += i * in->array_stride;
    *t = in->element;
    return *t != NULL;
}

/* Bytes from the start of its block that an access chain from a variable reaches to. */
static uint64_t chain_extent(Reflection *r, const SpvInst *i, SpvId variable)
{
    uint32_t descriptors, first = 1, n = spv_n_operands(i);
    const SpvType *t = block_of(r->m, variable, &descriptors), *p = spv_type_of(r->m, variable);
    if (p && p->element != t)
        first = 2;
    uint64_t offset = 0;
    for (uint32_t k = first; t && k < n; k++) {
        if (!step(r->m, &t, spv_operand(i, k), &offset))
            break;
    }
    return offset + fixed_size(t);
}

/* ---- which variables are used, and how ------------------------------------------------------- */

static bool is_chain(uint16_t op)
{
    return op == SpvOpAccessChain || op == SpvOpInBoundsAccessChain || op == SpvOpPtrAccessChain ||
           op == SpvOpInBoundsPtrAccessChain || op == SpvOpCopyObject;
}

static bool writes_operand_0(uint16_t op)
{
    const SpvOpInfo *info = spv_op_info(op);
    if (info && (info->flags & SPV_OPF_ATOMIC))
        return op != SpvOpAtomicLoad;
    return op == SpvOpStore || op == SpvOpCopyMemory || op == SpvOpCopyMemorySized ||
           op == SpvOpCooperativeMatrixStoreKHR || op == SpvOpCooperativeMatrixStoreTensorNV;
}

static void follow(Reflection *r, const SpvInst *i)
{
    uint32_t n = spv_n_operands(i);
    SpvId base = n ? spv_operand(i, 0) : 0;
    base = base < r->bound ? base : 0;
    if (is_chain(i->op) && i->id < r->bound) {
        r->root[i->id] = r->root[base];
        const SpvInst *d = spv_def(r->m, base);
        if (d && d->op == SpvOpVariable && i->op != SpvOpCopyObject)
            r->extent[base] = MAX(r->extent[base], chain_extent(r, i, base));
    }
    if (writes_operand_0(i->op))
        r->written[r->root[base]] = 1;
}

static void reach(Reflection *r, SpvId function)
{
    if (function >= r->bound || r->reached[function])
        return;
    r->reached[function] = 1;
    for (SpvFunction *f = r->m->functions; f; f = f->next) {
        if (f->def && f->def->id == function)
            vec_push(r->arena, &r->todo, f);
    }
}

static void visit_inst(Reflection *r, const SpvInst *i)
{
    uint16_t at[64];
    uint32_t n = MIN(spv_id_operands(i, at, COUNT_OF(at)), COUNT_OF(at));
    bool handled = is_chain(i->op) || i->op == SpvOpLoad || writes_operand_0(i->op) ||
                   i->op == SpvOpCooperativeMatrixLoadKHR || i->op == SpvOpArrayLength ||
                   i->op == SpvOpAtomicLoad || i->op == SpvOpCooperativeMatrixLoadTensorNV;
    for (uint32_t k = 0; k < n; k++) {
        SpvId id = i->words[at[k]];
        if (id >= r->bound || !r->root[id])
            continue;
        r->used[r->root[id]] = 1;
        /* A pointer that goes where it is not followed may be written through. */
        if (!handled)
            r->written[r->root[id]] = 1;
    }
    SpvId callees[SPV_MAX_CALLEES];
    for (uint32_t k = spv_callees(r->m, i, callees); k-- > 0;)
        reach(r, callees[k]);
    follow(r, i);
}

static void visit(Reflection *r, SpvId entry)
{
    for (const SpvInst *i = r->m->globals.first; i; i = i->next) {
        if (i->op == SpvOpVariable && i->id < r->bound)
            r->root[i->id] = i->id;
    }
    reach(r, entry);
    while (r->todo.len) {
        SpvFunction *f = r->todo.data[--r->todo.len];
        for (SpvBlock *b = f->first; b; b = b->next) {
            for (const SpvInst *i = b->insts.first; i; i = i->next)
                visit_inst(r, i);
        }
    }
}

/* ---- bindings -------------------------------------------------------------------------------- */

static bool non_writable(SpvModule *m, SpvId variable, const SpvType *block)
{
    if (spv_has_decoration(m, variable, -1, SpvDecorationNonWritable))
        return true;
    for (uint32_t i = 0; block && block->kind == SPV_STRUCT && i < block->count; i++) {
        if (!spv_has_decoration(m, block->id, (int32_t)i, SpvDecorationNonWritable))
            return false;
    }
    return block && block->kind == SPV_STRUCT && block->count;
}

static const SpvType *first_array(const SpvType *t, int depth)
{
    if (!t || depth > 8 || t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY)
        return depth > 8 ? NULL : t;
    for (uint32_t i = 0; t->kind == SPV_STRUCT && i < t->count; i++) {
        const SpvType *a = first_array(t->members[i], depth + 1);
        if (a)
            return a;
    }
    return NULL;
}

static void element_of(const SpvType *block, HeddleBindingInfo *b)
{
    const SpvType *array = first_array(block, 0), *e = array ? array->element : NULL;
    int depth = 0;
    while (e && depth++ < 8 &&
           (e->kind == SPV_ARRAY || e->kind == SPV_VECTOR || e->kind == SPV_MATRIX))
        e = e->element;
    b->element = type_of_spv(e);
    b->element_stride = b->element ? array->array_stride : 0;
}

/* The name of a block's only member, which is what GLSL code calls a block without a name; or
 * NULL. */
static const char *only_member(const SpvModule *m, const SpvType *block)
{
    uint32_t n;
    if (!block || block->kind != SPV_STRUCT || block->count != 1)
        return NULL;
    for (const SpvInst *i = m->globals.first; i; i = i->next) {
        if (i->op == SpvOpMemberName && spv_operand(i, 0) == block->id && spv_operand(i, 1) == 0)
            return spv_string(i, 2, &n);
    }
    return NULL;
}

static const char *name_of(const Reflection *r, SpvId variable, const SpvType *block)
{
    const char *name = spv_name(r->m, variable);
    if (!name || !*name)
        name = only_member(r->m, block);
    if ((!name || !*name) && block)
        name = spv_name(r->m, block->id);
    return arena_strdup(r->arena, name ? name : "");
}

static bool is_opaque(const SpvType *t)
{
    return t && (t->kind == SPV_IMAGE || t->kind == SPV_SAMPLER || t->kind == SPV_SAMPLED_IMAGE);
}

static bool binding_of(Reflection *r, const SpvInst *v, HeddleBindingInfo *out)
{
    uint32_t storage = spv_operand(v, 0), n;
    SpvImageType image = { .sampled = 1 };
    bool opaque = is_opaque(block_of(r->m, v->id, &n));
    if (storage != SpvStorageClassStorageBuffer && storage != SpvStorageClassUniform && !opaque)
        return false;
    const uint32_t *set = spv_decoration(r->m, v->id, -1, SpvDecorationDescriptorSet, &n);
    const uint32_t *binding = spv_decoration(r->m, v->id, -1, SpvDecorationBinding, &n);
    const SpvType *block = block_of(r->m, v->id, &out->count);
    /* Before SPIR-V 1.3 a storage buffer is a Uniform variable with a BufferBlock. */
    bool buffer_block = block && spv_has_decoration(r->m, block->id, -1, SpvDecorationBufferBlock);
    bool storage_buffer = storage == SpvStorageClassStorageBuffer || buffer_block;
    out->set = set ? *set : 0;
    out->binding = binding ? *binding : 0;
    spv_image_type(r->m, block, &image);
    out->kind = opaque           ? HEDDLE_BINDING_IMAGE
                : storage_buffer ? HEDDLE_BINDING_STORAGE
                                 : HEDDLE_BINDING_UNIFORM;
    out->name = name_of(r, v->id, block);
    out->written = storage_buffer && r->written[v->id] && !non_writable(r->m, v->id, block);
    if (opaque)
        out->written = image.sampled == 2 && !non_writable(r->m, v->id, block);
    out->static_size = MAX(r->extent[v->id], storage_buffer ? 0 : fixed_size(block));
    element_of(block, out);
    return true;
}

static int by_binding(const void *a, const void *b)
{
    const HeddleBindingInfo *x = a, *y = b;
    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return x->binding < y->binding ? -1 : x->binding > y->binding;
}

/* Several variables at one binding (aliases) are one binding. */
static uint32_t merge_aliases(HeddleBindingInfo *b, uint32_t n)
{
    uint32_t out = 0;
    for (uint32_t i = 0; i < n; i++) {
        HeddleBindingInfo *last = out ? &b[out - 1] : NULL;
        if (last && last->set == b[i].set && last->binding == b[i].binding) {
            last->written |= b[i].written;
            last->static_size = MAX(last->static_size, b[i].static_size);
            last->count = MAX(last->count, b[i].count);
            if (last->element != b[i].element)
                last->element = HEDDLE_NO_TYPE, last->element_stride = 0;
        } else {
            b[out++] = b[i];
        }
    }
    return out;
}

static void variables(Reflection *r, HeddleKernelInfo *info)
{
    VEC(HeddleBindingInfo) bindings = { 0 };
    for (const SpvInst *i = r->m->globals.first; i; i = i->next) {
        if (i->op != SpvOpVariable || i->id >= r->bound || !r->used[i->id])
            continue;
        HeddleBindingInfo b = { 0 };
        const SpvType *p = spv_type_of(r->m, i->id);
        if (binding_of(r, i, &b))
            vec_push(r->arena, &bindings, b);
        else if (spv_operand(i, 0) == SpvStorageClassPushConstant && p)
            info->push_size = MAX(info->push_size, fixed_size(p->element));
        else if (spv_operand(i, 0) == SpvStorageClassWorkgroup && p && p->element)
            info->shared_size = align_up(info->shared_size, 16) + spv_type_size(p->element);
    }
    if (bindings.len)
        qsort(bindings.data, bindings.len, sizeof *bindings.data, by_binding);
    info->n_bindings = merge_aliases(bindings.data, bindings.len);
    info->bindings = bindings.data;
}

/* ---- arguments of OpenCL kernels ------------------------------------------------------------- */

static bool is_written(SpvModule *m, const SpvArgument *a)
{
    if (a->kind != SPV_ARGUMENT_BUFFER || a->type->storage == SpvStorageClassUniformConstant)
        return false;
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpDecorate && spv_n_operands(i) > 2 && spv_operand(i, 0) == a->id &&
            spv_operand(i, 1) == SpvDecorationFuncParamAttr &&
            spv_operand(i, 2) == SpvFunctionParameterAttributeNoWrite)
            return false;
    return true;
}

static void arguments(Reflection *r, const SpvFunction *f, HeddleKernelInfo *info)
{
    static const HeddleBindingKind kinds[] = { [SPV_ARGUMENT_BUFFER] = HEDDLE_BINDING_STORAGE,
                                               [SPV_ARGUMENT_LOCAL] = HEDDLE_BINDING_LOCAL,
                                               [SPV_ARGUMENT_VALUE] = HEDDLE_BINDING_VALUE };
    DiagSink unheard = { 0 };
    SpvArguments list;
    if (!spv_kernel_arguments(r->arena, r->m, f, &list, &unheard))
        return; /* the device says so when it compiles the kernel */
    HeddleBindingInfo *b = NEW_ARRAY(r->arena, HeddleBindingInfo, list.n + 1);
    for (uint32_t k = 0; k < list.n; k++) {
        const SpvArgument *a = &list.list[k];
        const char *name = spv_name(r->m, a->id);
        const SpvType *e = a->kind == SPV_ARGUMENT_VALUE ? a->type : a->type->element;
        while (e && (e->kind == SPV_VECTOR || e->kind == SPV_ARRAY))
            e = e->element;
        b[k] = (HeddleBindingInfo){
            .binding = k,
            .count = 1,
            .kind = kinds[a->kind],
            .written = is_written(r->m, a),
            .name = arena_strdup(r->arena, name ? name : ""),
            .static_size = a->kind == SPV_ARGUMENT_VALUE ? a->size : 0,
            .element = type_of_spv(e),
        };
        b[k].element_stride = (uint32_t)heddle_type_size(b[k].element);
    }
    info->bindings = b;
    info->n_bindings = list.n;
}

/* ---- specialisation constants and matrices --------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const HeddleSpecInfo *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void spec_constants(Reflection *r, HeddleKernelInfo *info)
{
    VEC(HeddleSpecInfo) specs = { 0 };
    for (const SpvInst *i = r->m->globals.first; i; i = i->next) {
        if (i->op != SpvOpSpecConstant && i->op != SpvOpSpecConstantTrue &&
            i->op != SpvOpSpecConstantFalse)
            continue;
        uint32_t n;
        const uint32_t *id = spv_decoration(r->m, i->id, -1, SpvDecorationSpecId, &n);
        const char *name = spv_name(r->m, i->id);
        if (!id)
            continue;
        HeddleSpecInfo s = { .id = *id,
                             .name = arena_strdup(r->arena, name ? name : ""),
                             .type = type_of_spv(spv_type(r->m, i->type)),
                             .bits = i->op == SpvOpSpecConstantTrue };
        if (i->op == SpvOpSpecConstant && spv_n_operands(i))
            s.bits = spv_operand(i, 0);
        if (i->op == SpvOpSpecConstant && spv_n_operands(i) > 1)
            s.bits |= (uint64_t)spv_operand(i, 1) << 32;
        size_t size = heddle_type_size(s.type);
        if (size && size < 8)
            s.bits &= (UINT64_C(1) << 8 * size) - 1;
        vec_push(r->arena, &specs, s);
    }
    if (specs.len)
        qsort(specs.data, specs.len, sizeof *specs.data, by_id);
    info->specs = specs.data;
    info->n_specs = specs.len;
}

static void matrices(Reflection *r, HeddleKernelInfo *info)
{
    VEC(HeddleMatrixInfo) list = { 0 };
    for (const SpvInst *i = r->m->globals.first; i; i = i->next) {
        if (i->op != SpvOpTypeCooperativeMatrixKHR)
            continue;
        const SpvType *t = spv_type(r->m, i->id);
        if (!t || t->kind != SPV_COOPMAT)
            continue;
        HeddleMatrixInfo x = { .rows = t->rows,
                               .columns = t->cols,
                               .type = type_of_spv(t->element),
                               .use = (HeddleUse)t->use,
                               .scope = (HeddleScope)t->scope };
        vec_push(r->arena, &list, x);
    }
    info->matrices = list.data;
    info->n_matrices = list.len;
}

/* ---- all of it ------------------------------------------------------------------------------- */

HeddleKernelInfo *reflect(Arena *arena, SpvModule *m, const SpvEntryPoint *e)
{
    Reflection r = { .arena = arena, .m = m, .bound = m->bound };
    r.reached = NEW_ARRAY(arena, uint8_t, m->bound);
    r.used = NEW_ARRAY(arena, uint8_t, m->bound);
    r.written = NEW_ARRAY(arena, uint8_t, m->bound);
    r.extent = NEW_ARRAY(arena, uint64_t, m->bound);
    r.root = NEW_ARRAY(arena, SpvId, m->bound);
    HeddleKernelInfo *info = NEW(arena, HeddleKernelInfo);
    info->struct_size = sizeof *info;
    info->entry = arena_strdup(arena, e->name);
    for (int i = 0; i < 3; i++)
        info->local_size[i] = e->local_size[i];
    info->opencl = e->model == SpvExecutionModelKernel;
    info->subgroup_size = e->required_subgroup_size;
    if (e->function && e->function->def)
        visit(&r, e->function->def->id);
    variables(&r, info);
    if (e->model == SpvExecutionModelKernel && e->function)
        arguments(&r, e->function, info);
    spec_constants(&r, info);
    matrices(&r, info);
    return info;
}

uint32_t reflect_entry_points(Arena *arena, SpvModule *m, SpvEntryPoint **out)
{
    VEC(SpvEntryPoint) entries = { 0 };
    for (const SpvInst *i = m->globals.first; i; i = i->next) {
        uint32_t n;
        if (i->op != SpvOpEntryPoint || spv_n_operands(i) < 3)
            continue;
        uint32_t model = spv_operand(i, 0);
        if (model != SpvExecutionModelGLCompute && model != SpvExecutionModelKernel)
            continue;
        const char *name = spv_string(i, 2, &n);
        SpvEntryPoint e = { 0 };
        if (name && spv_entry_point(m, name, &e, NULL))
            vec_push(arena, &entries, e);
    }
    *out = entries.data;
    return entries.len;
}
