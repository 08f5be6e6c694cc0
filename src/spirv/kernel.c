/* SPDX-License-Identifier: MIT
 *
 * Arguments of OpenCL kernels: the parameters of an entry point of model Kernel, and where their
 * values lie in the block of memory that a dispatch hands to the kernel. In it each lies at its
 * own alignment, in order: an address (pointers to global and constant memory), an offset into
 * workgroup memory (pointers to it), or the value itself (a structure by value is a pointer to
 * Function memory that is decorated ByVal).
 *
 * Sizes and alignments are OpenCL C's (6.1.5): a vector is aligned to its size, one of three
 * components as one of four.
 */
#include "spirv/internal.h"

uint64_t spv_opencl_offset(SpvModule *m, const SpvType *t, uint32_t k)
{
    bool packed = spv_has_decoration(m, t->id, -1, SpvDecorationCPacked);
    uint64_t at = 0;
    for (uint32_t j = 0; j <= k && j < t->count; j++) {
        uint32_t own;
        uint64_t size = spv_opencl_size(m, t->members[j], &own);
        at = packed ? at : align_up(at, own);
        at += j < k ? size : 0;
    }
    return at;
}

static uint64_t struct_size(SpvModule *m, const SpvType *t, uint32_t *align)
{
    for (uint32_t k = 0; k < t->count; k++) {
        uint32_t own;
        spv_opencl_size(m, t->members[k], &own);
        *align = MAX(*align, own);
    }
    if (spv_has_decoration(m, t->id, -1, SpvDecorationCPacked))
        *align = 1;
    return align_up(spv_opencl_offset(m, t, t->count), *align);
}

uint64_t spv_opencl_size(SpvModule *m, const SpvType *t, uint32_t *align)
{
    uint64_t size;
    *align = 1;
    switch (t ? t->kind : SPV_VOID) {
    case SPV_BOOL: return 1;
    case SPV_INT:
    case SPV_FLOAT: *align = t->bits / 8; return t->bits / 8;
    case SPV_POINTER: *align = 8; return 8;
    case SPV_VECTOR:
        size = spv_opencl_size(m, t->element, align);
        *align = (uint32_t)size * (t->count == 3 ? 4 : t->count);
        return *align;
    case SPV_ARRAY:
        size = spv_opencl_size(m, t->element, align);
        return t->count * align_up(size, *align);
    case SPV_STRUCT: return struct_size(m, t, align);
    default: return 0;
    }
}

static bool is_by_value(SpvModule *m, SpvId parameter)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpDecorate && spv_n_operands(i) > 2 && spv_operand(i, 0) == parameter &&
            spv_operand(i, 1) == SpvDecorationFuncParamAttr &&
            spv_operand(i, 2) == SpvFunctionParameterAttributeByVal)
            return true;
    return false;
}

static bool describe_argument(SpvModule *m, SpvInst *i, SpvArgument *a)
{
    const SpvType *t = spv_type(m, i->type);
    *a = (SpvArgument){ .id = i->id, .type = t, .kind = SPV_ARGUMENT_VALUE };
    if (t && t->kind == SPV_POINTER && t->storage == SpvStorageClassFunction) {
        a->type = is_by_value(m, i->id) ? t->element : NULL;
        a->by_reference = true;
    } else if (t && t->kind == SPV_POINTER) {
        a->kind = t->storage == SpvStorageClassWorkgroup ? SPV_ARGUMENT_LOCAL : SPV_ARGUMENT_BUFFER;
    }
    if (a->type)
        a->size = spv_opencl_size(m, a->type, &a->align);
    return a->size != 0;
}

bool spv_kernel_arguments(Arena *arena, SpvModule *m, const SpvFunction *f, SpvArguments *out,
                          DiagSink *sink)
{
    VEC(SpvArgument) list = { 0 };
    uint64_t at = 0;
    for (SpvInst *i = f->head.first; i; i = i->next) {
        SpvArgument a;
        if (i->op != SpvOpFunctionParameter)
            continue;
        if (!describe_argument(m, i, &a)) {
            spv_error(m, i, sink, NULL,
                      "argument %u of the kernel is of a type that cannot be "
                      "given: images, samplers and pipes are not supported",
                      list.len);
            return false;
        }
        a.offset = align_up(at, a.align);
        at = a.offset + a.size;
        vec_push(arena, &list, a);
    }
    *out = (SpvArguments){ list.data, list.len, at };
    return true;
}
