/* SPDX-License-Identifier: MIT
 *
 * Variables: which ones there are, their slots and offsets, and the pointers to them. Buffers come
 * through descriptors (one slot for each variable), push constants and workgroup memory are passed
 * by the dispatch. The target decides where an invocation's own variables live and what inputs
 * hold.
 */
#include "emit/internal.h"
#include "llvm/ir.h"

struct EmitVariables {
    uint32_t *slot;          /* by variable: 1 + number in e->slots */
    uint64_t *shared;        /* by workgroup variable: 1 + offset */
    uint8_t *escapes, *used; /* by variable */
    EmitInput *input;        /* by variable */
};

static EmitLayoutRule rule_of(const Emit *e, uint32_t storage)
{
    bool kernel = e->entry->model == SpvExecutionModelKernel;
    switch (storage) {
    case SpvStorageClassFunction:
    case SpvStorageClassPrivate: return kernel ? LAYOUT_OPENCL : LAYOUT_NATURAL;
    default: return kernel ? LAYOUT_OPENCL : LAYOUT_EXPLICIT;
    }
}

EmitLayout emit_layout(Emit *e, const SpvType *pointee, uint32_t storage)
{
    return (EmitLayout){ .type = pointee, .rule = rule_of(e, storage) };
}

/* ---- what exists ----------------------------------------------------------------------------- */

static uint32_t decoration(Emit *e, SpvId id, uint32_t which)
{
    uint32_t n;
    const uint32_t *words = spv_decoration(e->module, id, -1, which, &n);
    return words && n ? *words : 0;
}

static bool is_array(const SpvType *t)
{
    return t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY;
}

static bool is_written(Emit *e, const SpvInst *variable, const SpvType *pointee)
{
    while (is_array(pointee))
        pointee = pointee->element;
    if (spv_operand(variable, 0) == SpvStorageClassUniform &&
        !spv_has_decoration(e->module, pointee->id, -1, SpvDecorationBufferBlock))
        return false;
    if (spv_has_decoration(e->module, variable->id, -1, SpvDecorationNonWritable))
        return false;
    for (uint32_t k = 0; pointee->kind == SPV_STRUCT && k < pointee->count; k++)
        if (!spv_has_decoration(e->module, pointee->id, (int32_t)k, SpvDecorationNonWritable))
            return true;
    return pointee->kind != SPV_STRUCT;
}

/* Variables with the same set and binding (aliases) share a slot. */
static void add_slot(Emit *e, const SpvInst *variable, const SpvType *pointee)
{
    EmitSlot slot = {
        .set = decoration(e, variable->id, SpvDecorationDescriptorSet),
        .binding = decoration(e, variable->id, SpvDecorationBinding),
        .count = pointee->kind == SPV_RUNTIME_ARRAY ? UINT32_MAX
                 : pointee->kind == SPV_ARRAY       ? pointee->count
                                                    : 1,
        .storage = spv_operand(variable, 0),
        .written = is_written(e, variable, pointee),
    };
    for (uint32_t s = 0; s < e->slots.len; s++) {
        EmitSlot *x = &e->slots.data[s];
        if (x->set == slot.set && x->binding == slot.binding) {
            x->written |= slot.written;
            x->count = MAX(x->count, slot.count);
            e->variables->slot[variable->id] = 1 + s;
            return;
        }
    }
    vec_push(e->arena, &e->slots, slot);
    e->variables->slot[variable->id] = (uint32_t)e->slots.len;
}

/* OpenCL kernels have none. */
static bool is_image(Emit *e, const SpvType *t)
{
    return emit_is_opaque(t) && e->entry->model != SpvExecutionModelKernel;
}

static void add_shared(Emit *e, const SpvInst *variable, const SpvType *pointee)
{
    EmitLayout l = emit_layout(e, pointee, SpvStorageClassWorkgroup);
    uint64_t size = emit_layout_size(e, &l), at = align_up(e->shared_bytes, 64);
    if (spv_has_decoration(e->module, variable->id, -1, SpvDecorationAliased))
        at = 0;
    e->variables->shared[variable->id] = 1 + at;
    e->shared_bytes = MAX(e->shared_bytes, at + size);
}

static bool follows_pointers(const SpvInst *i, uint32_t word)
{
    switch (i->op) {
    case SpvOpLoad:
    case SpvOpCopyMemory:
    case SpvOpCopyObject:
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain:
    case SpvOpExtInst:
    case SpvOpLifetimeStart:
    case SpvOpLifetimeStop:
    case SpvOpArrayLength: return true;
    case SpvOpStore: return word == i->first_operand;
    default:
        return i->op == SpvOpCooperativeMatrixLoadKHR || i->op == SpvOpCooperativeMatrixStoreKHR ||
               i->op == SpvOpCooperativeMatrixLoadTensorNV ||
               i->op == SpvOpCooperativeMatrixStoreTensorNV;
    }
}

/* Finds which variables are used, and whose addresses get into values that are not followed. */
static void find_uses(Emit *e, const SpvFunction *f)
{
    SpvOperand o;
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next)
            for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
                SpvId id = o.is_id && i->words[o.word] < e->module->bound ? i->words[o.word] : 0;
                const SpvType *t = spv_type_of(e->module, id);
                e->variables->used[id] = 1;
                if (t && t->kind == SPV_POINTER && !follows_pointers(i, o.word))
                    e->variables->escapes[pointer_variable(e->module, id)] = 1;
            }
}

bool variables_begin(Emit *e)
{
    struct EmitVariables *m = e->variables = NEW(e->arena, struct EmitVariables);
    m->slot = NEW_ARRAY(e->arena, uint32_t, e->module->bound);
    m->shared = NEW_ARRAY(e->arena, uint64_t, e->module->bound);
    m->escapes = NEW_ARRAY(e->arena, uint8_t, e->module->bound);
    m->used = NEW_ARRAY(e->arena, uint8_t, e->module->bound);
    m->input = NEW_ARRAY(e->arena, EmitInput, e->module->bound);
    for (const SpvFunction *f = e->module->functions; f; f = f->next)
        find_uses(e, f);
    for (SpvInst *i = e->module->globals.first; i && !e->failed; i = i->next) {
        const SpvType *t = i->op == SpvOpVariable ? spv_type(e->module, i->type) : NULL;
        if (!t || t->kind != SPV_POINTER || !t->element || !m->used[i->id])
            continue;
        EmitLayout l = emit_layout(e, t->element, t->storage);
        if (t->storage == SpvStorageClassStorageBuffer || t->storage == SpvStorageClassUniform ||
            is_image(e, t->element))
            add_slot(e, i, t->element);
        else if (t->storage == SpvStorageClassPushConstant)
            e->push_bytes = MAX(e->push_bytes, emit_layout_size(e, &l));
        else if (t->storage == SpvStorageClassWorkgroup)
            add_shared(e, i, t->element);
    }
    return !e->failed;
}

void variables_begin_called(Emit *e)
{
    e->variables = arena_copy(e->arena, e->caller->variables, sizeof *e->variables);
    e->variables->input = NEW_ARRAY(e->arena, EmitInput, e->module->bound);
}

bool emit_escapes(const Emit *e, SpvId variable) { return e->variables->escapes[variable]; }

const EmitInput *variable_input(Emit *e, SpvId variable) { return &e->variables->input[variable]; }

/* ---- variables ------------------------------------------------------------------------------- */

static LV invariant_load(Emit *e, LLVMBuilderRef b, LT type, LV address)
{
    LV v = ir_load(b, type, address, type == e->i32 ? sizeof(uint32_t) : sizeof(uint64_t));
    ir_mark(v, "invariant.load");
    return v;
}

void variable_use_descriptor(Emit *e, LLVMBuilderRef b, EmitPointer *p, LV descriptor)
{
    p->base = invariant_load(e, b, e->ptr, descriptor);
    p->limit = invariant_load(e, b, e->i64, ir_at(b, descriptor, ir_int(e->i64, DESCRIPTOR_SIZE)));
}

/* The number of descriptors in an array of buffers or images, at most what it was declared with. */
static LV descriptor_count(Emit *e, LLVMBuilderRef b, const SpvType *array, LV slot)
{
    LV counts = e->target->given(e, b, EMIT_GIVEN_COUNTS);
    LV n = invariant_load(e, b, e->i32, LLVMBuildGEP2(b, e->i32, counts, &slot, 1, ""));
    if (array->kind == SPV_RUNTIME_ARRAY)
        return n;
    LV declared = ir_int(e->i32, array->count);
    LV less = LLVMBuildICmp(b, LLVMIntULT, n, declared, "");
    return LLVMBuildSelect(b, less, n, declared, "");
}

static LV descriptors_of(Emit *e, LLVMBuilderRef b, uint32_t slot)
{
    if (e->target->descriptors)
        return e->target->descriptors(e, b, slot);
    LV slots = e->target->given(e, b, EMIT_GIVEN_SLOTS), number = ir_int(e->i64, slot);
    return invariant_load(e, b, e->ptr, LLVMBuildGEP2(b, e->ptr, slots, &number, 1, ""));
}

static void buffer_variable(Emit *e, EmitPointer *p, const SpvInst *variable)
{
    LLVMBuilderRef b = e->entry_b;
    uint32_t slot = e->variables->slot[variable->id] - 1;
    LV descriptors = descriptors_of(e, b, slot);
    p->read_only = !e->slots.data[slot].written;
    if (e->robust && is_array(p->at.type))
        p->n_descriptors = descriptor_count(e, b, p->at.type, ir_int(e->i64, slot));
    if (emit_is_opaque(p->at.type))
        p->base = descriptors, p->read_only = true;
    else if (is_array(p->at.type))
        p->descriptors = descriptors;
    else
        variable_use_descriptor(e, b, p, descriptors);
}

static bool is_staging(const Emit *e, SpvId id)
{
    uint32_t k = 0;
    while (k < e->n_staging && e->staging[k] != id)
        k++;
    return k < e->n_staging;
}

static void shared_variable(Emit *e, EmitPointer *p, const SpvInst *variable)
{
    LV shared = e->target->given(e, e->entry_b, EMIT_GIVEN_SHARED);
    p->base = ir_at(e->entry_b, shared, ir_int(e->i64, e->variables->shared[variable->id] - 1));
    if (!is_staging(e, variable->id))
        p->limit = ir_int(e->i64, emit_layout_size(e, &p->at));
    if (spv_n_operands(variable) > 1 && !e->caller) /* an initialiser, which can only be null */
        e->target->zero_shared(e, p->base, emit_layout_size(e, &p->at));
}

static void input_variable(Emit *e, EmitPointer *p, const SpvInst *variable)
{
    EmitInput *b = &e->variables->input[variable->id];
    b->n = emit_n_leaves(e, p->at.type);
    b->leaves = NEW_ARRAY(e->arena, LV, b->n + 1);
    b->affine = NEW_ARRAY(e->arena, EmitAffine, b->n + 1);
    p->builtin = true;
    if (!e->target->builtin(e, variable, b->leaves, b->affine, b->n))
        for (uint32_t k = 0; k < b->n; k++)
            b->leaves[k] = LLVMConstNull(emit_scalar_type(e, emit_leaf_type(e, p->at.type, k)));
}

static void not_supported(Emit *e, const SpvInst *variable, uint32_t storage)
{
    emit_error(e, variable, NULL, "variables of this storage class (%u) are not supported on %s",
               storage, e->target->name);
}

static void output_variable(Emit *e, EmitPointer *p, const SpvInst *variable)
{
    if (variable->id == e->output)
        p->base = e->target->given(e, e->entry_b, EMIT_GIVEN_OUTPUT);
    else
        not_supported(e, variable, p->storage);
}

/* Stores a variable's initialiser, for all lanes. */
static void initialise(Emit *e, const EmitPointer *p, SpvId initialiser)
{
    const EmitValue *v = emit_value(e, initialiser);
    LV mask = e->mask;
    e->mask = NULL;
    if (v->n && !v->pointer)
        emit_store(e, p, v->leaf);
    e->mask = mask;
}

EmitPointer *variable_pointer(Emit *e, const SpvInst *variable)
{
    EmitPointer *p = NEW(e->arena, EmitPointer);
    const SpvType *t = spv_type(e->module, variable->type);
    p->storage = t->storage;
    p->variable = variable->id;
    p->at = emit_layout(e, t->element, t->storage);
    p->affine.group = 1;
    p->base = LLVMConstNull(e->ptr);
    switch (t->storage) {
    case SpvStorageClassStorageBuffer:
    case SpvStorageClassUniform: buffer_variable(e, p, variable); break;
    case SpvStorageClassPushConstant:
        p->base = e->target->given(e, e->entry_b, EMIT_GIVEN_PUSH);
        p->limit = ir_int(e->i64, emit_layout_size(e, &p->at));
        p->read_only = true;
        break;
    case SpvStorageClassWorkgroup: shared_variable(e, p, variable); break;
    case SpvStorageClassFunction:
    case SpvStorageClassPrivate: {
        e->target->own_variable(e, variable, p);
        if (spv_n_operands(variable) > 1 && !(e->caller && t->storage == SpvStorageClassPrivate)) {
            LLVMBuilderRef b = e->b;
            if (t->storage == SpvStorageClassPrivate)
                e->b = e->entry_b;
            initialise(e, p, spv_operand(variable, 1));
            e->b = b;
        }
        break;
    }
    case SpvStorageClassInput: input_variable(e, p, variable); break;
    case SpvStorageClassOutput: output_variable(e, p, variable); break;
    case SpvStorageClassUniformConstant:
    case SpvStorageClassCrossWorkgroup:
        if (is_image(e, t->element))
            buffer_variable(e, p, variable);
        else
            arguments_variable(e, variable, p);
        break;
    default: not_supported(e, variable, t->storage);
    }
    return p;
}
