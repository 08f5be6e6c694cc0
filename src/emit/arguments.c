/* SPDX-License-Identifier: MIT
 *
 * What OpenCL kernels have and shaders do not: parameters of the entry point, and variables of
 * program scope in constant and global memory.
 *
 * The arguments' values lie in one block of memory (EMIT_GIVEN_PUSH), where spv_kernel_arguments
 * places them. They are the same for all invocations; what the kernel may change (a structure
 * passed by value) is copied once for each. A variable of program scope becomes a global of the
 * machine code, with the bytes of its initialiser.
 */
#include "emit/internal.h"
#include "llvm/ir.h"

static EmitLayout opencl(const SpvType *t)
{
    return (EmitLayout){ .type = t, .rule = LAYOUT_OPENCL };
}

/* ---- parameters ------------------------------------------------------------------------------ */

bool arguments_begin(Emit *e)
{
    if (e->entry->model != SpvExecutionModelKernel)
        return true;
    if (!spv_kernel_arguments(e->arena, e->module, e->entry->function, &e->arguments, e->sink))
        return false;
    e->push_bytes = e->arguments.size;
    return true;
}

static bool is_read_only(Emit *e, SpvId parameter)
{
    for (const SpvInst *i = e->module->globals.first; i; i = i->next)
        if (i->op == SpvOpDecorate && spv_n_operands(i) > 2 && spv_operand(i, 0) == parameter &&
            spv_operand(i, 1) == SpvDecorationFuncParamAttr &&
            spv_operand(i, 2) == SpvFunctionParameterAttributeNoWrite)
            return true;
    return false;
}

/* Loads an argument's value, in the entry block. */
static void parameter_value(Emit *e, const SpvArgument *a, const SpvInst *i, EmitValue *v)
{
    LV push = e->target->given(e, e->b, EMIT_GIVEN_PUSH), at = ir_int(e->i64, a->offset);
    LV address = ir_at(e->b, push, at);
    EmitPointer p = { .base = address, .affine = { .group = 1 } };
    if (a->by_reference) {
        if (!is_read_only(e, i->id))
            p = e->target->own_copy(e, address, a->size, a->align);
        p.at = opencl(a->type);
        p.storage = SpvStorageClassFunction;
        v->pointer = arena_copy(e->arena, &p, sizeof p);
        return;
    }
    p.at = opencl(a->type);
    p.storage = SpvStorageClassPushConstant;
    p.read_only = true;
    emit_load(e, &p, v->leaf);
    if (a->kind == SPV_ARGUMENT_LOCAL) {
        LV shared = e->target->given(e, e->b, EMIT_GIVEN_SHARED);
        v->leaf[0] =
            LLVMBuildAdd(e->b, LLVMBuildPtrToInt(e->b, shared, e->i64, ""), v->leaf[0], "");
    }
}

bool arguments_value(Emit *e, const SpvInst *i, EmitValue *v)
{
    for (uint32_t k = 0; k < e->arguments.n; k++) {
        if (e->arguments.list[k].id != i->id)
            continue;
        LV mask = e->mask;
        e->mask = NULL;
        parameter_value(e, &e->arguments.list[k], i, v);
        e->mask = mask;
        return true;
    }
    return false;
}

/* ---- variables of program scope -------------------------------------------------------------- */

typedef struct Bytes {
    VEC(LV) field; /* of a packed struct */
    uint64_t size;
} Bytes;

static void pad_to(Emit *e, Bytes *b, uint64_t at)
{
    if (at <= b->size)
        return;
    vec_push(e->arena, &b->field, LLVMConstNull(LLVMArrayType2(e->i8, at - b->size)));
    b->size = at;
}

static void add_field(Emit *e, Bytes *b, uint64_t at, LV constant, uint32_t size)
{
    pad_to(e, b, at);
    if (LLVMTypeOf(constant) == e->i1)
        constant = ir_int(e->i8, LLVMConstIntGetZExtValue(constant));
    vec_push(e->arena, &b->field, constant);
    b->size += size;
}

static void add_value(Emit *e, Bytes *b, const EmitLayout *l, uint64_t at, SpvId id, uint32_t *leaf)
{
    const SpvType *t = l->type;
    bool composite = t->kind == SPV_VECTOR || t->kind == SPV_ARRAY || t->kind == SPV_STRUCT;
    if (!composite) {
        LV constant = emit_leaf(e, id, (*leaf)++);
        if (LLVMIsConstant(constant))
            add_field(e, b, at, constant, emit_scalar_bytes(e, t));
        else
            emit_error(e, spv_def(e->module, id), NULL,
                       "the initialiser of a variable of program scope is no constant");
        return;
    }
    for (uint32_t k = 0; k < t->count && !e->failed; k++) {
        uint64_t offset;
        EmitLayout part = emit_layout_part(e, l, k, &offset);
        add_value(e, b, &part, at + offset, id, leaf);
    }
}

void arguments_variable(Emit *e, const SpvInst *variable, EmitPointer *p)
{
    const SpvType *t = p->at.type;
    uint64_t size = emit_layout_size(e, &p->at);
    bool constant = p->storage == SpvStorageClassUniformConstant;
    LV value = LLVMConstNull(LLVMArrayType2(e->i8, size));
    const SpvInst *init =
        spv_n_operands(variable) > 1 ? spv_def(e->module, spv_operand(variable, 1)) : NULL;
    if (!size || t->kind == SPV_OTHER || emit_is_opaque(t)) {
        while ((t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY) && t->element)
            t = t->element;
        const SpvInst *type = spv_def(e->module, t->id);
        emit_error(e, variable, NULL, "a variable of %s is not supported on the CPU",
                   type ? spv_op_name(type->op) : "this type");
        return;
    }
    if (init && init->op != SpvOpConstantNull && init->op != SpvOpUndef) {
        Bytes b = { 0 };
        uint32_t leaf = 0;
        add_value(e, &b, &p->at, 0, init->id, &leaf);
        pad_to(e, &b, size);
        value = LLVMConstStructInContext(e->cx, b.field.data, b.field.len, true);
    }
    LV global = LLVMAddGlobal(e->ll, LLVMTypeOf(value), "");
    LLVMSetInitializer(global, value);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    LLVMSetAlignment(global, 64);
    LLVMSetGlobalConstant(global, constant);
    p->base = global;
    p->read_only = constant;
}
