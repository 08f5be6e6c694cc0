/* SPDX-License-Identifier: MIT
 *
 * Memory: variables and where they live, pointers, access chains, and the instructions that load,
 * store and compare. The accesses themselves are access.c's.
 *
 * Buffers come through descriptors (CpuEnv.slots, one slot a variable), push constants and
 * workgroup memory from CpuEnv. Function and Private variables that are the same for all lanes
 * exist once; the others once a lane, lane-interleaved, or lane after lane where their address
 * escapes into values that are not followed (phis, selects, casts). Small ones are on the stack,
 * large ones in the frame.
 */
#include "cpu/emit/emit.h"
#include "cpu/emit/emit_internal.h"

#include <stddef.h>
#include <stdlib.h>

enum { STACK_VARIABLE = 16384 };

typedef struct Builtin { LV *leaves; Affine *affine; uint32_t n; } Builtin;

struct Memory {
    uint32_t *slot;             /* by variable: 1 + number in kernel->slots */
    uint64_t *shared;           /* by workgroup variable: 1 + offset */
    uint8_t *escapes, *used;    /* by variable */
    VEC(Pointer) privates;      /* variables that generic pointers may lead to, by base */
    VEC(uint64_t) private_bytes;
    uint64_t *frame;            /* by variable that several functions share: 1 + offset */
    Builtin *builtin;           /* by variable */
    LV dropped;
};

static LV i64c(Emit *e, uint64_t x)
{
    return LLVMConstInt(e->i64, x, 0);
}

static LV byte_gep(Emit *e, LLVMBuilderRef b, LV base, LV offset)
{
    return LLVMBuildGEP2(b, e->i8, base, &offset, 1, "");
}

LV memory_dropped(Emit *e)
{
    if (!e->memory->dropped)
        e->memory->dropped = emit_alloca(e, LLVMArrayType2(e->i8, 64), "dropped");
    return e->memory->dropped;
}

static LayoutRule rule_of(const Emit *e, uint32_t storage)
{
    bool kernel = e->entry->model == SpvExecutionModelKernel;
    switch (storage) {
    case SpvStorageClassFunction: case SpvStorageClassPrivate:
        return kernel ? LAYOUT_OPENCL : LAYOUT_NATURAL;
    default:
        return kernel ? LAYOUT_OPENCL : LAYOUT_EXPLICIT;
    }
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
static bool add_slot(Emit *e, const SpvInst *variable, const SpvType *pointee)
{
    CpuSlot slot = {
        .set = decoration(e, variable->id, SpvDecorationDescriptorSet),
        .binding = decoration(e, variable->id, SpvDecorationBinding),
        .count = pointee->kind == SPV_RUNTIME_ARRAY ? UINT32_MAX : pointee->kind == SPV_ARRAY
            ? pointee->count : 1,
        .storage = spv_operand(variable, 0),
        .written = is_written(e, variable, pointee),
    };
    CpuKernel *k = e->kernel;
    for (uint32_t s = 0; s < k->n_slots; s++)
        if (k->slots[s].set == slot.set && k->slots[s].binding == slot.binding) {
            k->slots[s].written |= slot.written;
            k->slots[s].count = MAX(k->slots[s].count, slot.count);
            e->memory->slot[variable->id] = 1 + s;
            return true;
        }
    CpuSlot *slots = realloc(k->slots, (k->n_slots + 1) * sizeof *slots);
    if (!slots) {
        emit_error(e, variable, NULL, "out of memory");
        return false;
    }
    k->slots = slots;
    slots[k->n_slots++] = slot;
    e->memory->slot[variable->id] = k->n_slots;
    return true;
}

/* Of OpenCL there are none. */
static bool is_image(Emit *e, const SpvType *t)
{
    return emit_is_opaque(t) && e->entry->model != SpvExecutionModelKernel;
}

static Layout layout_of(Emit *e, const SpvType *pointee, uint32_t storage)
{
    return (Layout){ .type = pointee, .rule = rule_of(e, storage) };
}

static void add_shared(Emit *e, const SpvInst *variable, const SpvType *pointee)
{
    Layout l = layout_of(e, pointee, SpvStorageClassWorkgroup);
    uint64_t size = emit_layout_size(e, &l), at = align_up(e->kernel->shared_bytes, 64);
    if (spv_has_decoration(e->module, variable->id, -1, SpvDecorationAliased))
        at = 0;
    e->memory->shared[variable->id] = 1 + at;
    e->kernel->shared_bytes = MAX(e->kernel->shared_bytes, at + size);
}

/* The variable a pointer points into, through chains and copies; 0 when it is not that simple. */
static SpvId root_of(Emit *e, SpvId id)
{
    for (uint32_t depth = 0; depth < 64; depth++) {
        SpvInst *i = spv_def(e->module, id);
        if (!i)
            return 0;
        if (i->op == SpvOpVariable)
            return id;
        if (!memory_is_chain(e, i) && i->op != SpvOpCopyObject)
            return 0;
        id = spv_operand(i, 0);
    }
    return 0;
}

static bool follows_pointers(const SpvInst *i, uint32_t word)
{
    switch (i->op) {
    case SpvOpLoad: case SpvOpCopyMemory: case SpvOpCopyObject: case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain: case SpvOpExtInst: case SpvOpLifetimeStart:
        case SpvOpLifetimeStop:
    case SpvOpArrayLength:
        return true;
    case SpvOpStore:
        return word == i->first_operand;
    default:
        return i->op == SpvOpCooperativeMatrixLoadKHR || i->op == SpvOpCooperativeMatrixStoreKHR ||
               i->op == SpvOpCooperativeMatrixLoadTensorNV ||
               i->op == SpvOpCooperativeMatrixStoreTensorNV;
    }
}

/* What variables are used, and which where they are not followed. */
static void find_uses(Emit *e, const SpvFunction *f)
{
    SpvOperand o;
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next)
            for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
                SpvId id = o.is_id && i->words[o.word] < e->module->bound ? i->words[o.word] : 0;
                const SpvType *t = spv_type_of(e->module, id);
                e->memory->used[id] = 1;
                if (t && t->kind == SPV_POINTER && !follows_pointers(i, o.word))
                    e->memory->escapes[root_of(e, id)] = 1;
            }
}

bool memory_begin(Emit *e)
{
    struct Memory *m = e->memory = NEW(e->arena, struct Memory);
    m->slot = NEW_ARRAY(e->arena, uint32_t, e->module->bound);
    m->shared = NEW_ARRAY(e->arena, uint64_t, e->module->bound);
    m->escapes = NEW_ARRAY(e->arena, uint8_t, e->module->bound);
    m->used = NEW_ARRAY(e->arena, uint8_t, e->module->bound);
    m->frame = NEW_ARRAY(e->arena, uint64_t, e->module->bound);
    m->builtin = NEW_ARRAY(e->arena, Builtin, e->module->bound);
    for (const SpvFunction *f = e->module->functions; f; f = f->next)
        find_uses(e, f);
    for (SpvInst *i = e->module->globals.first; i && !e->failed; i = i->next) {
        const SpvType *t = i->op == SpvOpVariable ? spv_type(e->module, i->type) : NULL;
        if (!t || t->kind != SPV_POINTER || !t->element || !m->used[i->id])
            continue;
        Layout l = layout_of(e, t->element, t->storage);
        if (t->storage == SpvStorageClassStorageBuffer || t->storage == SpvStorageClassUniform ||
            is_image(e, t->element))
            add_slot(e, i, t->element);
        else if (t->storage == SpvStorageClassPushConstant)
            e->kernel->push_bytes = MAX(e->kernel->push_bytes, emit_layout_size(e, &l));
        else if (t->storage == SpvStorageClassWorkgroup)
            add_shared(e, i, t->element);
    }
    return !e->failed;
}

void memory_begin_called(Emit *e, const Emit *caller)
{
    e->memory = arena_copy(e->arena, caller->memory, sizeof *e->memory);
    e->memory->builtin = NEW_ARRAY(e->arena, Builtin, e->module->bound);
    e->memory->dropped = NULL;
}

/* ---- variables ------------------------------------------------------------------------------- */

static LV invariant_load(Emit *e, LLVMBuilderRef b, LT type, LV address)
{
    LV v = LLVMBuildLoad2(b, type, address, "");
    unsigned kind = LLVMGetMDKindIDInContext(e->cx, "invariant.load", 14);
    LLVMSetMetadata(v, kind, LLVMMetadataAsValue(e->cx, LLVMMDNodeInContext2(e->cx, NULL, 0)));
    return v;
}

static void use_descriptor(Emit *e, LLVMBuilderRef b, Pointer *p, LV descriptor)
{
    p->base = invariant_load(e, b, e->ptr, descriptor);
    p->limit = invariant_load(e, b, e->i64,
                              byte_gep(e, b, descriptor, i64c(e, offsetof(DeviceBinding, size))));
}

/* Of an array of buffers or images: never more than it was declared with. */
static LV descriptor_count(Emit *e, LLVMBuilderRef b, const SpvType *array, LV slot)
{
    LV counts = emit_env(e, b, e->ptr, offsetof(CpuEnv, counts));
    LV n = invariant_load(e, b, e->i32, LLVMBuildGEP2(b, e->i32, counts, &slot, 1, ""));
    if (array->kind == SPV_RUNTIME_ARRAY)
        return n;
    LV declared = LLVMConstInt(e->i32, array->count, 0);
    LV less = LLVMBuildICmp(b, LLVMIntULT, n, declared, "");
    return LLVMBuildSelect(b, less, n, declared, "");
}

static void buffer_variable(Emit *e, Pointer *p, const SpvInst *variable)
{
    LLVMBuilderRef b = e->entry_b;
    LV slots = emit_env(e, b, e->ptr, offsetof(CpuEnv, slots));
    LV number = i64c(e, e->memory->slot[variable->id] - 1);
    LV slot = LLVMBuildGEP2(b, e->ptr, slots, &number, 1, "");
    LV descriptors = invariant_load(e, b, e->ptr, slot);
    p->read_only = !e->kernel->slots[e->memory->slot[variable->id] - 1].written;
    if (e->options->robust && is_array(p->at.type))
        p->n_descriptors = descriptor_count(e, b, p->at.type, number);
    if (emit_is_opaque(p->at.type))
        p->base = descriptors, p->read_only = true;
    else if (is_array(p->at.type))
        p->descriptors = descriptors;
    else
        use_descriptor(e, b, p, descriptors);
}

/* Workgroup memory that starts as zeros: the first subgroup sees to it, the others wait. */
static void zeroed_once(Emit *e, LV base, uint64_t bytes)
{
    LLVMBuilderRef b = e->b;
    e->b = e->entry_b;
    LV subgroup = emit_env(e, e->b, e->i32, offsetof(CpuEnv, subgroup));
    LV first = LLVMBuildICmp(e->b, LLVMIntEQ, subgroup, LLVMConstInt(e->i32, 0, 0), "");
    LV size = LLVMBuildSelect(e->b, first, i64c(e, bytes), i64c(e, 0), "");
    LLVMBuildMemSet(e->b, base, LLVMConstInt(e->i8, 0, 0), size, 64);
    flow_barrier(e);
    e->b = b;
}

static void shared_variable(Emit *e, Pointer *p, const SpvInst *variable)
{
    LV shared = emit_env(e, e->entry_b, e->ptr, offsetof(CpuEnv, shared));
    p->base = byte_gep(e, e->entry_b, shared, i64c(e, e->memory->shared[variable->id] - 1));
    p->limit = i64c(e, emit_layout_size(e, &p->at));
    if (spv_n_operands(variable) > 1 && !e->caller) /* an initialiser, which can only be null */
        zeroed_once(e, p->base, emit_layout_size(e, &p->at));
}

/* A Private variable is one for all functions. */
static LV shared_frame(Emit *e, SpvId variable, uint64_t bytes)
{
    uint64_t *at = &e->memory->frame[variable];
    if (!*at) {
        *at = 1 + e->kernel->frame_bytes;
        return emit_frame(e, bytes);
    }
    LV frame = emit_env(e, e->entry_b, e->ptr, offsetof(CpuEnv, frame));
    return byte_gep(e, e->entry_b, frame, i64c(e, *at - 1));
}

static LV private_memory(Emit *e, const SpvInst *variable, uint64_t bytes)
{
    if (e->module->functions->next && spv_operand(variable, 0) == SpvStorageClassPrivate)
        return shared_frame(e, variable->id, bytes);
    if (bytes > STACK_VARIABLE)
        return emit_frame(e, bytes);
    LV slot = emit_alloca(e, LLVMArrayType2(e->i8, MAX(bytes, 1)), "");
    LLVMSetAlignment(slot, 64);
    return slot;
}

uint64_t memory_private_bytes(Emit *e, SpvId variable)
{
    const SpvType *t = spv_type_of(e->module, variable);
    Layout l = layout_of(e, t->element, t->storage);
    uint64_t size = align_up(emit_layout_size(e, &l), emit_layout_align(e, &l));
    return e->uniformity->varying_variable[variable] ? align_up(size, 8) * e->W : size;
}

static void private_variable(Emit *e, Pointer *p, const SpvInst *variable)
{
    uint64_t size = align_up(emit_layout_size(e, &p->at), emit_layout_align(e, &p->at));
    if (size > (uint64_t)1 << 24) {
        emit_error(e, variable, NULL, "a private variable of %llu bytes is too large",
                   (unsigned long long)size);
        size = 0;
    }
    if (!e->uniformity->varying_variable[variable->id]) {
        p->base = private_memory(e, variable, size);
    } else if (e->memory->escapes[variable->id]) {
        size = align_up(size, 8);
        p->base = private_memory(e, variable, size * e->W);
        p->lane_index = e->lane_id;
        p->lane_scale = (int64_t)size;
        p->affine = (Affine){ .first = { LLVMConstInt(e->i32, 0, 0) }, .stride = 1, .group = e->W };
    } else {
        p->at.rule = LAYOUT_LANES;
        p->base = private_memory(e, variable, size * e->W);
    }
}

/* What a generic pointer may lead into. */
static void keep_private(Emit *e, const Pointer *p)
{
    uint64_t size = align_up(emit_layout_size(e, &p->at), emit_layout_align(e, &p->at));
    if (p->at.rule == LAYOUT_LANES || e->entry->model != SpvExecutionModelKernel)
        return;
    vec_push(e->arena, &e->memory->privates, *p);
    vec_push(e->arena, &e->memory->private_bytes,
             p->lane_scale ? (uint64_t)p->lane_scale * e->W : size);
}

static void input_variable(Emit *e, Pointer *p, const SpvInst *variable)
{
    Builtin *b = &e->memory->builtin[variable->id];
    b->n = emit_n_leaves(e, p->at.type);
    b->leaves = NEW_ARRAY(e->arena, LV, b->n + 1);
    b->affine = NEW_ARRAY(e->arena, Affine, b->n + 1);
    p->builtin = true;
    if (!builtin_value(e, variable, b->leaves, b->affine, b->n))
        for (uint32_t k = 0; k < b->n; k++)
            b->leaves[k] = LLVMConstNull(emit_scalar_type(e, emit_leaf_type(e, p->at.type, k)));
}

/* Stores a variable's initialiser, for all lanes. */
static void initialise(Emit *e, const Pointer *p, SpvId initialiser)
{
    const Value *v = emit_value(e, initialiser);
    LV mask = e->mask;
    e->mask = NULL;
    if (v->n && !v->pointer)
        emit_store(e, p, v->leaf);
    e->mask = mask;
}

Pointer *memory_variable(Emit *e, const SpvInst *variable)
{
    Pointer *p = NEW(e->arena, Pointer);
    const SpvType *t = spv_type(e->module, variable->type);
    p->storage = t->storage;
    p->variable = variable->id;
    p->at = layout_of(e, t->element, t->storage);
    p->affine.group = 1;
    p->base = LLVMConstNull(e->ptr);
    switch (t->storage) {
    case SpvStorageClassStorageBuffer: case SpvStorageClassUniform:
        buffer_variable(e, p, variable);
        break;
    case SpvStorageClassPushConstant:
        p->base = emit_env(e, e->entry_b, e->ptr, offsetof(CpuEnv, push));
        p->limit = i64c(e, emit_layout_size(e, &p->at));
        p->read_only = true;
        break;
    case SpvStorageClassWorkgroup:
        shared_variable(e, p, variable);
        break;
    case SpvStorageClassFunction: case SpvStorageClassPrivate: {
        private_variable(e, p, variable);
        keep_private(e, p);
        if (spv_n_operands(variable) > 1 &&
            !(e->caller && t->storage == SpvStorageClassPrivate)) {
            LLVMBuilderRef b = e->b;
            if (t->storage == SpvStorageClassPrivate)
                e->b = e->entry_b;
            initialise(e, p, spv_operand(variable, 1));
            e->b = b;
        }
        break;
    }
    case SpvStorageClassInput:
        input_variable(e, p, variable);
        break;
    case SpvStorageClassUniformConstant: case SpvStorageClassCrossWorkgroup:
        if (is_image(e, t->element))
            buffer_variable(e, p, variable);
        else
            kernel_variable(e, variable, p);
        break;
    default:
        emit_error(e, variable, NULL,
                   "variables of this storage class (%u) are not supported on the CPU",
                   t->storage);
    }
    return p;
}

/* ---- pointers as values ---------------------------------------------------------------------- */

const Pointer *emit_pointer(Emit *e, SpvId id)
{
    const Value *v = emit_value(e, id);
    if (v->pointer)
        return v->pointer;
    emit_error(e, spv_def(e->module, id), NULL, "the value is used as a pointer and is none");
    Pointer *p = NEW(e->arena, Pointer);
    p->at.type = v->type;
    p->base = LLVMConstNull(e->ptr);
    p->affine.group = 1;
    return p;
}

static LV to_address(Emit *e, LV address)
{
    LT type = emit_is_lanes(address) ? emit_lanes_type(e, e->i64) : e->i64;
    return LLVMBuildPtrToInt(e->b, address, type, "");
}

static LV from_address(Emit *e, LV address)
{
    LT type = emit_is_lanes(address) ? emit_lanes_type(e, e->ptr) : e->ptr;
    return LLVMBuildIntToPtr(e->b, address, type, "");
}

void emit_pointer_leaves(Emit *e, const Pointer *p, LV *leaves)
{
    Pointer as = { .storage = p->storage };
    SpvType t = { .kind = SPV_POINTER, .storage = as.storage };
    if (p->builtin || p->descriptors || p->at.rule == LAYOUT_LANES) {
        emit_error(e, NULL, NULL, "a pointer to %s cannot be a value",
                   p->builtin ? "an input" : p->descriptors ? "an array of buffers"
                       : "this variable");
        leaves[0] = leaves[1] = leaves[2] = i64c(e, 0);
        return;
    }
    if (emit_is_physical(e, &t)) {
        leaves[0] = to_address(e, emit_address(e, p, 0, 1));
        return;
    }
    Pointer offset = *p;
    offset.base = LLVMConstNull(e->ptr);
    leaves[0] = to_address(e, p->base);
    leaves[1] = to_address(e, emit_address(e, &offset, 0, 1));
    leaves[2] = p->limit ? p->limit : LLVMConstInt(e->i64, INT64_MAX, 0);
}

Pointer *memory_pointer_from_leaves(Emit *e, const SpvType *type, const LV *leaves,
                                    const Affine *affine)
{
    Pointer *p = NEW(e->arena, Pointer);
    p->storage = type->storage;
    p->at = layout_of(e, type->element, type->storage);
    p->affine.group = 1;
    if (emit_is_physical(e, type)) {
        if (affine && emit_is_lanes(leaves[0]) && affine[0].group > 1) {
            p->base = LLVMConstNull(e->ptr);
            p->lane_index = leaves[0];
            p->lane_scale = 1;
            p->affine = affine[0];
        } else {
            p->base = from_address(e, leaves[0]);
        }
        return p;
    }
    p->base = from_address(e, leaves[0]);
    p->limit = leaves[2];
    if (emit_is_lanes(leaves[1])) {
        p->lane_index = leaves[1];
        p->lane_scale = 1;
    } else {
        p->offset = leaves[1];
    }
    return p;
}

/* ---- access chains --------------------------------------------------------------------------- */

bool memory_is_chain(Emit *e, const SpvInst *i)
{
    const SpvType *t = i->op == SpvOpCopyObject ? spv_type(e->module, i->type) : NULL;
    return (t && t->kind == SPV_POINTER) || i->op == SpvOpAccessChain ||
        i->op == SpvOpInBoundsAccessChain ||
           i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain;
}

void memory_chain_again(Emit *e, const SpvInst *i)
{
    emit_inst(e, i);
}

static LV scaled(Emit *e, LV v, int64_t factor)
{
    if (factor == 1)
        return v;
    return LLVMBuildMul(e->b, v, emit_int(e, LLVMTypeOf(v), (uint64_t)factor), "");
}

static bool is_checked(Emit *e, const Pointer *p)
{
    return e->options->robust && (p->limit || p->descriptors);
}

/* Where lanes' indices are outside of what is given, their addresses do not go on as `a` says. */
static void keep_straight(Emit *e, Pointer *p, Affine *a, int64_t least, int64_t most)
{
    LV within = a->stride ? address_firsts_within(e, a, least, most) : NULL;
    if (a->stride && !within)
        *a = (Affine){ .group = 1 };
    if (within)
        p->straight = p->straight ? LLVMBuildAnd(e->b, p->straight, within, "") : within;
}

/* Robust access: an index that may lead once around all 64-bit addresses is brought so near that it
 * does not, and still is outside of any buffer, which has less than 2^48 bytes. Sums of 64 such
 * are below 2^63. */
static LV tame_index(Emit *e, Pointer *p, LV index, Affine *a, int64_t stride)
{
    enum { TAME_STRIDE = 1 << 24 };
    const int64_t farthest = ((int64_t)1 << 57) / MAX(stride, 1);
    LT type = LLVMTypeOf(index);
    unsigned width = LLVMGetIntTypeWidth(emit_is_lanes(index) ? LLVMGetElementType(type) : type);
    if (!is_checked(e, p) || (width <= 32 && stride <= TAME_STRIDE))
        return index;
    if (emit_is_lanes(index) && width <= 32)
        *a = (Affine){ .group = 1 };
    else if (emit_is_lanes(index))
        keep_straight(e, p, a, -farthest, farthest);
    return address_clamp(e, emit_cast_index(e, index, e->i64), -farthest, farthest);
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a < 0 ? -a : a;
}

/* A second index that differs between lanes: both become one, in units of their common divisor. */
static void join_index(Emit *e, Pointer *p, LV index, int64_t scale, Affine affine)
{
    int64_t unit = gcd(p->lane_scale, scale);
    int64_t a = p->lane_scale / unit, b = scale / unit;
    Affine *parts[2] = { &p->affine, &affine };
    LV indices[2] = { p->lane_index, index };
    for (uint32_t k = 0; k < 2 && is_checked(e, p); k++)
        if (LLVMGetElementType(LLVMTypeOf(indices[k])) == e->i32)
            keep_straight(e, p, parts[k], INT32_MIN, INT32_MAX);
    LV x = scaled(e, emit_cast_index(e, p->lane_index, e->i64), a);
    LV y = scaled(e, emit_cast_index(e, index, e->i64), b);
    Affine sum = affine_join(e, &p->affine, &affine);
    sum.stride = p->affine.stride * a + affine.stride * b;
    for (uint32_t k = 0; k < AFFINE_GROUPS && p->affine.first[k] && affine.first[k]; k++)
        sum.first[k] = LLVMBuildAdd(e->b,
                                    scaled(e, emit_cast_index(e, p->affine.first[k], e->i64), a),
                                    scaled(e, emit_cast_index(e, affine.first[k], e->i64), b), "");
    p->lane_index = LLVMBuildAdd(e->b, x, y, "");
    p->lane_scale = unit;
    p->affine = sum;
}

static void add_index(Emit *e, Pointer *p, LV index, Affine affine, int64_t stride)
{
    if (stride == 0)
        return;
    index = tame_index(e, p, index, &affine, stride);
    if (!emit_is_lanes(index)) {
        if (LLVMIsAConstantInt(index)) {
            uint64_t bytes = (uint64_t)LLVMConstIntGetSExtValue(index) * (uint64_t)stride;
            p->constant = (int64_t)((uint64_t)p->constant + bytes);
            return;
        }
        LV bytes = scaled(e, emit_cast_index(e, index, e->i64), stride);
        p->offset = p->offset ? LLVMBuildAdd(e->b, p->offset, bytes, "") : bytes;
        return;
    }
    if (LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(index))) < 32) {
        index = emit_cast_index(e, index, e->i32);
        affine = (Affine){ .group = 1 };
    }
    if (p->lane_index) {
        join_index(e, p, index, stride, affine);
        return;
    }
    p->lane_index = index;
    p->lane_scale = stride;
    p->affine = affine;
}

void memory_add_index(Emit *e, Pointer *p, SpvId index, int64_t stride)
{
    add_index(e, p, emit_leaf(e, index, 0), value_affine(e, emit_value(e, index), 0), stride);
}

/* An index into memory that has no size to check against stays below `count`: i32, or constant. */
static LV clamp_index(Emit *e, LV index, LV count)
{
    if (LLVMIsAConstantInt(index) && LLVMIsAConstantInt(count)) {
        uint64_t n = LLVMConstIntGetZExtValue(count);
        return LLVMConstIntGetZExtValue(index) < n ? index
            : LLVMConstInt(LLVMTypeOf(index), n ? n - 1 : 0, 0);
    }
    LT type = LLVMTypeOf(index);
    if (LLVMGetIntTypeWidth(emit_is_lanes(index) ? LLVMGetElementType(type) : type) < 32)
        index = emit_cast_index(e, index, e->i32);
    type = LLVMTypeOf(index);
    LV last = LLVMBuildSub(e->b, count, LLVMConstInt(e->i32, 1, 0), "");
    last = LLVMBuildZExt(e->b, last, emit_is_lanes(index) ? LLVMGetElementType(type) : type, "");
    LV args[2] = { index, emit_is_lanes(index) ? emit_lanes(e, last) : last };
    return emit_intrinsic(e, "llvm.umin", &type, 1, args, 2);
}

/* How many parts there are of what has no size to check against; NULL: it has one. */
static LV parts_to_clamp(Emit *e, const Pointer *p, const SpvType *t)
{
    bool own = p->storage == SpvStorageClassFunction || p->storage == SpvStorageClassPrivate;
    if (p->n_descriptors)
        return p->n_descriptors;
    if (t->kind == SPV_RUNTIME_ARRAY || p->builtin || !own)
        return NULL;
    return LLVMConstInt(e->i32, t->count, 0);
}

/* Chooses one buffer of an array of them. */
static void choose_buffer(Emit *e, Pointer *p, LV index)
{
    LV descriptors = p->descriptors;
    if (e->options->robust)
        index = clamp_index(e, index, p->n_descriptors);
    p->descriptors = p->n_descriptors = NULL;
    p->at.type = p->at.type->element;
    LV wide = LLVMBuildZExt(e->b, index, emit_is_lanes(index) ? emit_lanes_type(e, e->i64) : e->i64,
                            "");
    LT pair = LLVMArrayType2(e->i64, 2);
    LV at = LLVMBuildGEP2(e->b, pair, descriptors, &wide, 1, "");
    if (!emit_is_lanes(at)) {
        use_descriptor(e, e->b, p, at);
        return;
    }
    Pointer table = { .base = descriptors, .lane_index = index, .lane_scale = sizeof(DeviceBinding),
                      .affine = { .group = 1 } };
    SpvType word = { .kind = SPV_INT, .bits = 64 };
    p->base = from_address(e, emit_load_leaf(e, &table, offsetof(DeviceBinding, base), &word));
    p->limit = emit_load_leaf(e, &table, offsetof(DeviceBinding, size), &word);
}

static bool builtin_step(Emit *e, Pointer *p, const SpvInst *i, LV index)
{
    const SpvType *t = p->at.type, *part = emit_part_type(t, 0);
    if (LLVMIsAConstantInt(index)) {
        uint32_t k = (uint32_t)LLVMConstIntGetZExtValue(index);
        part = emit_part_type(t, k);
        p->constant += part ? emit_leaf_offset(e, t, k) : 0;
    } else {
        p->lane_index = index;
    }
    if (!part) {
        emit_error(e, i, NULL, "an index is outside the input variable");
        return false;
    }
    p->at.type = part;
    return true;
}

static bool step(Emit *e, Pointer *p, const SpvInst *i, SpvId id)
{
    LV index = emit_leaf(e, id, 0);
    Affine affine = value_affine(e, emit_value(e, id), 0);
    const SpvType *t = p->at.type;
    if (p->builtin)
        return builtin_step(e, p, i, index);
    if (p->descriptors) {
        choose_buffer(e, p, index);
        return true;
    }
    if (t->kind == SPV_STRUCT) {
        uint64_t offset, k = LLVMIsAConstantInt(index) ? LLVMConstIntGetZExtValue(index)
            : UINT64_MAX;
        if (k >= t->count) {
            emit_error(e, i, NULL, "the index of a struct's member is no constant or too large");
            return false;
        }
        p->at = emit_layout_part(e, &p->at, (uint32_t)k, &offset);
        p->constant += (int64_t)offset;
        return true;
    }
    const SpvType *part = emit_part_type(t, 0);
    if (!part) {
        emit_error(e, i, NULL, "an access chain goes into a type that has no parts");
        return false;
    }
    LV count = parts_to_clamp(e, p, t);
    p->n_descriptors = NULL;
    if (count && (e->options->robust || LLVMIsAConstantInt(index))) {
        LV clamped = clamp_index(e, index, count);
        if (clamped != index && !LLVMIsAConstantInt(index))
            affine = (Affine){ .group = 1 };
        index = clamped;
    }
    uint64_t offset;
    int64_t stride = (int64_t)emit_layout_stride(e, &p->at);
    p->at = emit_layout_part(e, &p->at, 0, &offset);
    add_index(e, p, index, affine, stride);
    return true;
}

static void access_chain(Emit *e, const SpvInst *i)
{
    Pointer p = *emit_pointer(e, spv_operand(i, 0));
    const SpvType *t = spv_type(e->module, i->type),
        *base = spv_type_of(e->module, spv_operand(i, 0));
    uint32_t k = 1;
    if (i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain) {
        int64_t stride = (int64_t)align_up(emit_layout_size(e, &p.at), emit_layout_align(e, &p.at));
        if (base && base->array_stride && p.at.rule == LAYOUT_EXPLICIT)
            stride = base->array_stride;
        memory_add_index(e, &p, spv_operand(i, k++), stride);
    }
    for (; k < spv_n_operands(i); k++)
        if (!step(e, &p, i, spv_operand(i, k)))
            break;
    if (t && t->kind == SPV_POINTER && p.at.type && t->element &&
        p.at.type->kind == t->element->kind)
        p.at.type = t->element;
    emit_set_pointer(e, i, &p);
}

/* ---- loads and stores ------------------------------------------------------------------------ */

void memory_load_builtin(Emit *e, const Pointer *p, LV *leaves)
{
    const Builtin *b = &e->memory->builtin[p->variable];
    uint32_t n = emit_n_leaves(e, p->at.type), at = (uint32_t)p->constant;
    for (uint32_t k = 0; k < n; k++)
        leaves[k] = at + k < b->n ? b->leaves[at + k] : i64c(e, 0);
    if (!p->lane_index)
        return;
    for (uint32_t k = at + 1; k < b->n; k++) { /* an index that is no constant, into a vector */
        LV is = LLVMBuildICmp(e->b, LLVMIntEQ, p->lane_index,
                              emit_int(e, LLVMTypeOf(p->lane_index), k - at), "");
        LV v[2] = { emit_is_lanes(is) ? emit_lanes(e, b->leaves[k]) : b->leaves[k], leaves[0] };
        emit_unify(e, v, 2);
        leaves[0] = LLVMBuildSelect(e->b, is, v[0], v[1], "");
    }
}

/* A pointer as an access with these memory operands uses it. */
static Pointer accessed(Emit *e, const SpvInst *i, SpvId id, uint32_t operands)
{
    Pointer p = *emit_pointer(e, id);
    p.inside = together_inside(e, i);
    if (spv_n_operands(i) <= operands)
        return p;
    uint32_t mask = spv_operand(i, operands);
    p.volatile_ |= (mask & SpvMemoryAccessVolatileMask) != 0;
    if (mask & SpvMemoryAccessAlignedMask && spv_n_operands(i) > operands + 1)
        p.align = spv_operand(i, operands + 1);
    return p;
}

void memory_before_write(Emit *e, const Pointer *p)
{
    if (p->storage != SpvStorageClassFunction && p->storage != SpvStorageClassPrivate)
        matrix_memory_barrier(e);
}

static bool accessible(Emit *e, const SpvInst *i, const Pointer *p)
{
    if (!p->descriptors && p->at.type)
        return true;
    emit_error(e, i, NULL, p->descriptors ? "an array of buffers is accessed as a whole"
                                          : "access through an untyped pointer");
    return false;
}

static void load(Emit *e, const SpvInst *i)
{
    Pointer p = accessed(e, i, spv_operand(i, 0), 1);
    const SpvType *t = spv_type(e->module, i->type);
    uint32_t n = emit_n_leaves(e, t);
    LV *leaves = NEW_ARRAY(e->arena, LV, n + 1);
    if (!accessible(e, i, &p) || n != emit_n_leaves(e, p.at.type)) {
        emit_error(e, i, NULL, "the loaded type does not fit the pointer");
        emit_set(e, i, leaves, n);
        return;
    }
    if (wait_queues_load(e->ahead, i))
        emit_ahead_lanes(e, i, &p);
    if (emit_is_opaque(t))
        image_load(e, &p, leaves);
    else
        emit_load(e, &p, leaves);
    if (p.builtin && !p.lane_index)
        value_set_affine(e, i, leaves, n, e->memory->builtin[p.variable].affine + p.constant);
    else
        emit_set(e, i, leaves, n);
}

static const LV *leaves_of(Emit *e, SpvId id)
{
    const Value *v = emit_value(e, id);
    LV *leaves = NEW_ARRAY(e->arena, LV, v->n + 1);
    for (uint32_t k = 0; k < v->n; k++)
        leaves[k] = emit_leaf(e, id, k);
    return leaves;
}

static void store(Emit *e, const SpvInst *i)
{
    Pointer p = accessed(e, i, spv_operand(i, 0), 2);
    SpvId id = spv_operand(i, 1);
    if (!accessible(e, i, &p))
        return;
    if (emit_value(e, id)->n != emit_n_leaves(e, p.at.type)) {
        emit_error(e, i, NULL, "the stored value does not fit the pointer");
        return;
    }
    memory_before_write(e, &p);
    emit_store(e, &p, leaves_of(e, id));
}

static void copy_memory(Emit *e, const SpvInst *i)
{
    Pointer to = accessed(e, i, spv_operand(i, 0), 2), from = accessed(e, i, spv_operand(i, 1), 2);
    if (!accessible(e, i, &to) || !accessible(e, i, &from))
        return;
    uint32_t n = emit_n_leaves(e, from.at.type);
    LV *leaves = NEW_ARRAY(e->arena, LV, n + 1);
    if (emit_n_leaves(e, to.at.type) != n) {
        emit_error(e, i, NULL, "the two pointers of a copy point to different types");
        return;
    }
    emit_load(e, &from, leaves);
    memory_before_write(e, &to);
    emit_store(e, &to, leaves);
}

static void array_length(Emit *e, const SpvInst *i)
{
    const Pointer *p = emit_pointer(e, spv_operand(i, 0));
    uint32_t member = spv_operand(i, 1);
    const SpvType *t = p->at.type;
    if (!p->limit || !t || t->kind != SPV_STRUCT || member >= t->count) {
        emit_error(e, i, NULL, "OpArrayLength needs a pointer to a buffer's block");
        emit_set1(e, i, NULL);
        return;
    }
    uint64_t offset;
    Layout array = emit_layout_part(e, &p->at, member, &offset);
    uint64_t stride = emit_layout_stride(e, &array);
    LT type = LLVMTypeOf(p->limit);
    LV args[2] = { p->limit, emit_int(e, type, offset) };
    LV bytes = emit_intrinsic(e, "llvm.usub.sat", &type, 1, args, 2);
    LV n = LLVMBuildUDiv(e->b, bytes, emit_int(e, type, stride ? stride : 1), "");
    emit_set1(e, i, emit_cast_index(e, n, emit_scalar_type(e, spv_type(e->module, i->type))));
}

/* ---- pointers as numbers --------------------------------------------------------------------- */

/* The lanes' part is added as a number: LLVM 22 miscompiles differences of vectors of addresses
 * that have a scalar base. */
static LV address_of(Emit *e, SpvId id)
{
    const Pointer *p = emit_pointer(e, id);
    if (!p->lane_index || p->at.rule == LAYOUT_LANES || emit_is_lanes(p->base))
        return to_address(e, emit_address(e, p, 0, 1));
    Pointer start = *p;
    start.lane_index = NULL;
    LV at = emit_lanes(e, to_address(e, emit_address(e, &start, 0, 1)));
    LV index = emit_lanes(e, emit_cast_index(e, p->lane_index, e->i64));
    LV scale = emit_int(e, LLVMTypeOf(index), (uint64_t)p->lane_scale);
    return LLVMBuildAdd(e->b, at, LLVMBuildMul(e->b, index, scale, ""), "");
}

static void compare_pointers(Emit *e, const SpvInst *i)
{
    LV v[2] = { address_of(e, spv_operand(i, 0)), address_of(e, spv_operand(i, 1)) };
    emit_unify(e, v, 2);
    LLVMIntPredicate is = i->op == SpvOpPtrEqual ? LLVMIntEQ : LLVMIntNE;
    emit_set1(e, i, LLVMBuildICmp(e->b, is, v[0], v[1], ""));
}

static void pointer_difference(Emit *e, const SpvInst *i)
{
    LV v[2] = { address_of(e, spv_operand(i, 0)), address_of(e, spv_operand(i, 1)) };
    const Pointer *p = emit_pointer(e, spv_operand(i, 0));
    const SpvType *t = spv_type_of(e->module, spv_operand(i, 0));
    uint64_t stride = align_up(emit_layout_size(e, &p->at), emit_layout_align(e, &p->at));
    if (t && t->array_stride && p->at.rule == LAYOUT_EXPLICIT)
        stride = t->array_stride;
    emit_unify(e, v, 2);
    LV bytes = LLVMBuildSub(e->b, v[0], v[1], "");
    LV n = LLVMBuildSDiv(e->b, LLVMBuildFreeze(e->b, bytes, ""),
                         emit_int(e, LLVMTypeOf(bytes), stride ? stride : 1), "");
    emit_set1(e, i, emit_cast_index(e, n, emit_scalar_type(e, spv_type(e->module, i->type))));
}

/* An address becomes the result: a number, or a pointer of either kind. */
static void set_address(Emit *e, const SpvInst *i, LV address, const Affine *affine)
{
    const SpvType *t = spv_type(e->module, i->type);
    LV leaves[3] = { address, i64c(e, 0), i64c(e, INT64_MAX) };
    if (t->kind != SPV_POINTER) {
        LT type = emit_scalar_type(e, t);
        emit_set1(e, i, emit_cast_index(e, address, type));
    } else if (affine && emit_is_physical(e, t)) {
        value_set_affine(e, i, leaves, 1, affine);
    } else {
        emit_set(e, i, leaves, emit_n_leaves(e, t));
    }
}

static void pointer_to_number(Emit *e, const SpvInst *i)
{
    set_address(e, i, address_of(e, spv_operand(i, 0)), NULL);
}

static void number_to_pointer(Emit *e, const SpvInst *i)
{
    LV v = emit_leaf(e, spv_operand(i, 0), 0);
    Affine a = value_affine(e, emit_value(e, spv_operand(i, 0)), 0);
    LT from = emit_is_lanes(v) ? LLVMGetElementType(LLVMTypeOf(v)) : LLVMTypeOf(v);
    if (LLVMGetIntTypeWidth(from) != 64) {
        v = LLVMBuildZExt(e->b, v, emit_is_lanes(v) ? emit_lanes_type(e, e->i64) : e->i64, "");
        a = (Affine){ .group = 1 };
    }
    set_address(e, i, v, &a);
}

static LV within(Emit *e, LV address, LV base, LV bytes)
{
    LV v[2] = { LLVMBuildSub(e->b, address,
                             emit_is_lanes(address) ? emit_lanes(e, base) : base, ""), bytes };
    emit_unify(e, v, 2);
    return LLVMBuildICmp(e->b, LLVMIntULT, v[0], v[1], "");
}

/* Which memory a generic address lies in: workgroup memory, one of the private variables, else the
 * buffers. */
static void memory_of(Emit *e, LV address, LV *shared, LV *own)
{
    LV base = emit_env(e, e->b, e->ptr, offsetof(CpuEnv, shared));
    *shared = within(e, address, LLVMBuildPtrToInt(e->b, base, e->i64, ""),
                     emit_env(e, e->b, e->i64, offsetof(CpuEnv, shared_bytes)));
    *own = LLVMConstNull(LLVMTypeOf(*shared));
    for (uint32_t k = 0; k < e->memory->privates.len; k++) {
        LV start = LLVMBuildPtrToInt(e->b, e->memory->privates.data[k].base, e->i64, "");
        LV in = within(e, address, start, i64c(e, e->memory->private_bytes.data[k]));
        *own = LLVMBuildOr(e->b, *own, in, "");
    }
}

/* Null where the memory is of another kind than asked for. */
static void generic_to_pointer(Emit *e, const SpvInst *i)
{
    LV address = address_of(e, spv_operand(i, 0)), shared, own;
    uint32_t storage = spv_operand(i, 1);
    memory_of(e, address, &shared, &own);
    LV is = storage == SpvStorageClassWorkgroup ? shared : storage == SpvStorageClassFunction
        ? own : LLVMBuildNot(e->b, LLVMBuildOr(e->b, shared, own, ""), "");
    address = LLVMBuildSelect(e->b, is, address, LLVMConstNull(LLVMTypeOf(address)), "");
    set_address(e, i, address, NULL);
}

static void generic_semantics(Emit *e, const SpvInst *i)
{
    LV address = address_of(e, spv_operand(i, 0)), shared, own;
    memory_of(e, address, &shared, &own);
    LT type = emit_is_lanes(shared) ? emit_lanes_type(e, e->i32) : e->i32;
    LV other = LLVMBuildSelect(e->b, own, LLVMConstNull(type),
                               emit_int(e, type, SpvMemorySemanticsCrossWorkgroupMemoryMask), "");
    emit_set1(e, i, LLVMBuildSelect(e->b, shared,
                                    emit_int(e, type, SpvMemorySemanticsWorkgroupMemoryMask),
                                    other, ""));
}

void memory_bitcast(Emit *e, const SpvInst *i)
{
    const SpvType *to = spv_type(e->module, i->type),
        *from = spv_type_of(e->module, spv_operand(i, 0));
    if (from->kind == SPV_POINTER && to->kind == SPV_POINTER && from->storage == to->storage) {
        Pointer p = *emit_pointer(e, spv_operand(i, 0));
        if (p.at.rule != LAYOUT_LANES && !p.builtin && !p.descriptors) {
            p.at = layout_of(e, to->element, to->storage);
            emit_set_pointer(e, i, &p);
            return;
        }
    }
    if (from->kind == SPV_POINTER && to->kind == SPV_VECTOR) {
        LV address = address_of(e, spv_operand(i, 0)), leaves[2];
        leaves[0] = emit_cast_index(e, address, e->i32);
        LV high = LLVMBuildLShr(e->b, address, emit_int(e, LLVMTypeOf(address), 32), "");
        leaves[1] = emit_cast_index(e, high, e->i32);
        emit_set(e, i, leaves, 2);
        return;
    }
    if (from->kind == SPV_POINTER) {
        pointer_to_number(e, i);
        return;
    }
    if (from->kind == SPV_VECTOR) {
        LV v[2] = { emit_leaf(e, spv_operand(i, 0), 0), emit_leaf(e, spv_operand(i, 0), 1) };
        emit_unify(e, v, 2);
        LT type = emit_is_lanes(v[0]) ? emit_lanes_type(e, e->i64) : e->i64;
        LV high = LLVMBuildShl(e->b, LLVMBuildZExt(e->b, v[1], type, ""), emit_int(e, type, 32),
                               "");
        set_address(e, i, LLVMBuildOr(e->b, LLVMBuildZExt(e->b, v[0], type, ""), high, ""), NULL);
        return;
    }
    number_to_pointer(e, i);
}

static void variable(Emit *e, const SpvInst *i)
{
    emit_set_pointer(e, i, memory_variable(e, i));
}

const EmitRule emit_rules_memory[] = {
    { SpvOpVariable, 0, variable },
    { SpvOpAccessChain, 0, access_chain },
    { SpvOpInBoundsAccessChain, 0, access_chain },
    { SpvOpPtrAccessChain, 0, access_chain },
    { SpvOpInBoundsPtrAccessChain, 0, access_chain },
    { SpvOpLoad, 0, load },
    { SpvOpStore, 0, store },
    { SpvOpCopyMemory, 0, copy_memory },
    { SpvOpCopyMemorySized, 0, memory_copy_sized },
    { SpvOpArrayLength, 0, array_length },
    { SpvOpPtrEqual, 0, compare_pointers },
    { SpvOpPtrNotEqual, 0, compare_pointers },
    { SpvOpPtrDiff, 0, pointer_difference },
    { SpvOpConvertPtrToU, 0, pointer_to_number },
    { SpvOpConvertUToPtr, 0, number_to_pointer },
    { SpvOpPtrCastToGeneric, 0, pointer_to_number },
    { SpvOpGenericCastToPtr, 0, pointer_to_number },
    { SpvOpGenericCastToPtrExplicit, 0, generic_to_pointer },
    { SpvOpGenericPtrMemSemantics, 0, generic_semantics },
    { 0, 0, NULL },
};
