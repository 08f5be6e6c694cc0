/* SPDX-License-Identifier: MIT
 *
 * One dispatch: determines sizes, constants, variables, arguments and code, then runs the
 * workgroups. All memory comes from one arena with a limit; running out of it unwinds to here.
 */
#include "reference/machine.h"

/* ---- sizes ----------------------------------------------------------------------------------- */

static uint32_t width_index(uint32_t bits) { return bits == 16 ? 1 : bits == 32 ? 2 : 3; }

static void execution_mode(RMachine *m, SpvInst *i)
{
    uint32_t n = spv_n_operands(i);
    if (n < 2 || spv_operand(i, 0) != m->entry.inst->words[2])
        return;
    switch (spv_operand(i, 1)) {
    case SpvExecutionModeLocalSize:
        for (uint32_t k = 0; k < 3 && k + 2 < n; k++)
            m->local_size[k] = spv_operand(i, k + 2);
        break;
    case SpvExecutionModeLocalSizeId:
        for (uint32_t k = 0; k < 3 && k + 2 < n; k++) {
            uint64_t x = 0;
            if (!constant_uint(m, spv_operand(i, k + 2), &x))
                refuse(m, i, "the local size is not a constant");
            m->local_size[k] = (uint32_t)x;
        }
        break;
    case SpvExecutionModeSubgroupSize:
        if (n > 2)
            m->entry.required_subgroup_size = spv_operand(i, 2);
        break;
    case SpvExecutionModeDenormFlushToZero:
        if (n > 2)
            m->ftz[width_index(spv_operand(i, 2))] = true;
        break;
    case SpvExecutionModeRoundingModeRTZ:
        if (n > 2)
            m->rtz[width_index(spv_operand(i, 2))] = true;
        break;
    default: break;
    }
}

static void builtin_size(RMachine *m, SpvInst *i)
{
    if (i->op != SpvOpDecorate || spv_n_operands(i) < 3 ||
        spv_operand(i, 1) != SpvDecorationBuiltIn || spv_operand(i, 2) != SpvBuiltInWorkgroupSize)
        return;
    Ref r = ref_of(m, spv_operand(i, 0));
    const RType *t = type_of(m, spv_operand(i, 0));
    if (r == REF_NONE || !(r & REF_CONST) || !t || t->leaves != 3)
        return;
    for (uint32_t k = 0; k < 3; k++)
        m->local_size[k] = (uint32_t)leaf(&m->const_inv, r)[k];
}

static bool find_sizes(RMachine *m)
{
    for (SpvInst *i = m->module->globals.first; i; i = i->next)
        if (i->op == SpvOpExecutionMode || i->op == SpvOpExecutionModeId)
            execution_mode(m, i);
    for (SpvInst *i = m->module->globals.first; i; i = i->next)
        builtin_size(m, i);
    uint64_t n = 1;
    for (uint32_t k = 0; k < 3; k++) {
        if (!m->local_size[k])
            m->local_size[k] = MAX(m->d->local_size[k], 1);
        n = m->local_size[k] > 65536 ? UINT32_MAX : n * m->local_size[k];
        n = MIN(n, UINT32_MAX);
    }
    if (n > 16384) {
        refuse(m, m->entry.inst, "workgroups of %u x %u x %u invocations are too large",
               m->local_size[0], m->local_size[1], m->local_size[2]);
        return false;
    }
    m->n_inv = (uint32_t)n;
    uint32_t w =
        m->entry.required_subgroup_size ? m->entry.required_subgroup_size : m->d->subgroup_size;
    m->width = w ? w : 32;
    if (m->width > 128) {
        refuse(m, m->entry.inst, "subgroups of %u invocations are not supported", m->width);
        return false;
    }
    if (!spv_has_whole_quads(m->entry.quads, m->local_size)) {
        refuse(m, m->entry.inst, "a workgroup of %u x %u x %u does not consist of quads",
               m->local_size[0], m->local_size[1], m->local_size[2]);
        return false;
    }
    m->n_subgroups = (m->n_inv + m->width - 1) / m->width;
    m->smallest = m->n_inv % m->width ? m->n_inv % m->width : m->width;
    return !m->failed;
}

/* ---- arguments of OpenCL kernels ------------------------------------------------------------- */

static Ref buffer_argument(RMachine *m, const SpvInst *parameter, uint32_t number)
{
    const RefArg *a = &m->d->args[number];
    bool local = a->kind == REF_ARG_LOCAL;
    RObject o = { .shared = true, .writable = true, .size = a->size, .variable = parameter->id };
    Ref r = constant_alloc(m, 2);
    o.storage = local ? SpvStorageClassWorkgroup : SpvStorageClassCrossWorkgroup;
    if (local) {
        o.data = arena_alloc(m->arena, a->size + 16);
        o.undef = arena_alloc(m->arena, a->size + 16);
    } else {
        o.data = a->base;
        o.size = a->base ? a->size : 0;
    }
    o.va = (uint64_t)(uintptr_t)o.data;
    o.binding = number;
    vec_push(m->arena, &m->objects, o);
    m->cv[r & 0x7fffffff] = o.va;
    m->cv[(r & 0x7fffffff) + 1] = m->objects.len - 1;
    return r;
}

/* A structure by value: each invocation has its own copy of it. */
static bool copy_argument(RMachine *m, SpvInst *i, const RefArg *a, const RType *t, Ref *r)
{
    const RType *s = type_get(m, t->pointee);
    if (!s || a->kind != REF_ARG_VALUE || a->size != s->size) {
        refuse(m, i, "the argument has another size than the structure");
        return false;
    }
    uint64_t at = align_up(m->local_bytes, 128), end = align_up(at + s->size, 16);
    uint8_t *image = arena_alloc(m->arena, end + 16), *undef = arena_alloc(m->arena, end + 16);
    memcpy(image, m->local_image, m->local_bytes);
    memcpy(undef, m->local_undef, m->local_bytes);
    memcpy(image + at, a->base, a->size);
    memset(undef + at, 0, a->size);
    m->local_image = image;
    m->local_undef = undef;
    m->local_bytes = end;
    *r = constant_alloc(m, 2);
    m->cv[*r & 0x7fffffff] = LOCAL_BASE + at;
    m->cv[(*r & 0x7fffffff) + 1] = PTR_LOCAL | m->local_objects.len;
    vec_push(m->arena, &m->local_objects, (RLocalObject){ at, s->size, i->id });
    return true;
}

static bool bind_arguments(RMachine *m)
{
    const RFunc *f = decode_find(m, m->entry.function->def->id);
    uint32_t n = 0;
    for (SpvInst *i = f->src->head.first; i; i = i->next)
        n += i->op == SpvOpFunctionParameter;
    m->args = NEW_ARRAY(m->arena, Ref, n + 1);
    if (n != m->d->n_args) {
        refuse(m, m->entry.inst, "the kernel takes %u arguments, %u are given", n, m->d->n_args);
        return false;
    }
    n = 0;
    for (SpvInst *i = f->src->head.first; i && !m->failed; i = i->next) {
        if (i->op != SpvOpFunctionParameter)
            continue;
        const RefArg *a = &m->d->args[n];
        const RType *t = type_get(m, i->type);
        if (!t)
            return false;
        if (t->kind == SPV_POINTER && t->storage == SpvStorageClassFunction) {
            if (!copy_argument(m, i, a, t, &m->args[n++]))
                return false;
            continue;
        }
        bool pointer = t->kind == SPV_POINTER;
        if (pointer != (a->kind != REF_ARG_VALUE) ||
            (!pointer && (t->kind == SPV_POINTER || a->size != t->size || type_is_wide(t)))) {
            refuse(m, i, "argument %u does not match its parameter", n);
            return false;
        }
        if (pointer) {
            m->args[n] = buffer_argument(m, i, n);
            n++;
            continue;
        }
        Ref r = m->args[n++] = constant_alloc(m, t->leaves);
        uint32_t size = (uint32_t)type_scalar(t)->size;
        for (uint32_t k = 0; k < t->leaves; k++)
            m->cv[(r & 0x7fffffff) + k] = mem_read((const uint8_t *)a->base + k * size, size);
    }
    return !m->failed;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool prepare_dispatch(RMachine *m)
{
    SpvModule *s = m->module;
    m->bound = MIN(s->bound, s->defs_cap);
    for (SpvInst *i = s->globals.first; i; i = i->next)
        if (i->op == SpvOpCapability && spv_operand(i, 0) == SpvCapabilityFloatControls2)
            m->signed_zeros = true;
        else if (i->op == SpvOpMemoryModel && spv_n_operands(i) > 0)
            m->physical64 = spv_operand(i, 0) == SpvAddressingModelPhysical64 ||
                            spv_operand(i, 0) == SpvAddressingModelPhysical32;
    if (!spv_entry_point(s, m->d->entry, &m->entry, m->sink))
        return false;
    m->model = m->entry.model;
    m->types = NEW_ARRAY(m->arena, const RType *, m->bound + 1);
    m->value_types = NEW_ARRAY(m->arena, const RType *, m->bound + 1);
    m->refs = NEW_ARRAY(m->arena, Ref, m->bound + 1);
    m->functions = NEW_ARRAY(m->arena, RFunc *, m->bound + 1);
    m->blocks = NEW_ARRAY(m->arena, RBlock *, m->bound + 1);
    m->const_inv.objects = NULL;
    /* Matrix types need the workgroup's size, which may depend on constants declared after them. */
    m->probing = true;
    if (!constants_build(m) || !find_sizes(m))
        return false;
    m->probing = false;
    return constants_build(m) && mem_bind(m) && bind_arguments(m) && decode_module(m);
}

typedef struct Task {
    Arena *results; /* of `result` */
    SpvModule *module;
    const RefDispatch *d;
    RefResult *result; /* or NULL */
    DiagSink *sink;
    bool only_prepare; /* what may be refused before it runs */
} Task;

static bool guarded_task(const Task *t, Arena *own)
{
    jmp_buf out_of_memory, *outer = t->module->arena->on_failure;
    if (setjmp(out_of_memory)) {
        t->module->arena->on_failure = outer;
        diag(t->sink, DIAG_ERROR, NULL, NULL,
             "the kernel needs more memory than the reference device may use");
        return false;
    }
    own->on_failure = &out_of_memory;
    t->module->arena->on_failure = &out_of_memory;
    RMachine *m = NEW(own, RMachine);
    m->arena = own;
    m->module = t->module;
    m->d = t->d;
    m->sink = t->sink;
    m->check = t->d->check;
    m->rng = (t->d->seed + 1) * 0x9e3779b97f4a7c15ull | 1;
    bool done = prepare_dispatch(m) && (t->only_prepare || run_groups(m));
    t->module->arena->on_failure = outer;
    report_all(m, t->results, t->result);
    if (t->result) {
        t->result->instructions = m->instructions;
        t->result->counts = m->counts;
        t->result->subgroup_size = m->width;
        memcpy(t->result->local_size, m->local_size, sizeof(m->local_size));
    }
    return done;
}

static bool carry_out(const Task *t)
{
    Arena own = { .limit = t->d->memory_limit ? t->d->memory_limit : 2ull << 30 };
    bool done = guarded_task(t, &own);
    arena_free(&own);
    return done;
}

bool dispatch_once(Arena *a, SpvModule *m, const RefDispatch *d, RefResult *r, DiagSink *sink)
{
    return carry_out(&(Task){ a, m, d, r, sink, false });
}

bool ref_prepare(SpvModule *m, const RefDispatch *d, DiagSink *sink)
{
    Arena unused = { 0 };
    bool done = carry_out(&(Task){ &unused, m, d, NULL, sink, true });
    arena_free(&unused);
    return done;
}
