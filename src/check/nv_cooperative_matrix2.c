/* SPDX-License-Identifier: MIT
 *
 * SPV_NV_cooperative_matrix2: reductions, conversions, functions of every element, tensor loads and
 * stores; and SPV_NV_cooperative_matrix_decode_vector, which adds an operand to those loads. A
 * function called for elements, and all that it calls, is looked into once.
 */
#include "check/internal.h"

static const char section[] = "SPV_NV_cooperative_matrix2";
static const char validation[] = "SPV_NV_cooperative_matrix2, Validation Rules";
static const char reductions[] = "SPV_NV_cooperative_matrix2, OpCooperativeMatrixReduceNV";
static const char conversions[] = "SPV_NV_cooperative_matrix2, Conversion Instructions";
static const char per_element[] = "SPV_NV_cooperative_matrix2, OpCooperativeMatrixPerElementOpNV";
static const char transfers[] = "SPV_NV_cooperative_matrix2, OpCooperativeMatrixLoadTensorNV and "
                                "OpCooperativeMatrixStoreTensorNV";
static const char decoding[] = "SPV_NV_cooperative_matrix2, Tensor Layout and View";
static const char vectors[] =
    "SPV_NV_cooperative_matrix_decode_vector, OpCooperativeMatrixLoadTensorNV";

/* ---- declarations ---------------------------------------------------------------------------- */

/* The capability that an instruction needs; 0: none of these. */
static uint32_t capability_of(uint16_t op)
{
    switch (op) {
    case SpvOpCooperativeMatrixReduceNV: return SpvCapabilityCooperativeMatrixReductionsNV;
    case SpvOpCooperativeMatrixConvertNV:
    case SpvOpCooperativeMatrixTransposeNV: return SpvCapabilityCooperativeMatrixConversionsNV;
    case SpvOpCooperativeMatrixPerElementOpNV:
        return SpvCapabilityCooperativeMatrixPerElementOperationsNV;
    case SpvOpCooperativeMatrixLoadTensorNV:
    case SpvOpCooperativeMatrixStoreTensorNV:
        return SpvCapabilityCooperativeMatrixTensorAddressingNV;
    default: return 0;
    }
}

/* The operand that TensorAddressingOperands brings for a bit of its mask; 0 without. */
static SpvId addressing_operand(const SpvInst *i, uint32_t bit)
{
    SpvOperand o;
    uint32_t mask = 0, skip = 0;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
        if (o.kind == SPV_OPERAND_TensorAddressingOperands) {
            mask = i->words[o.word];
            for (uint32_t b = 1; b < bit; b <<= 1)
                skip += !!(mask & b);
        } else if ((mask & bit) && !skip--) {
            return i->words[o.word];
        }
    }
    return 0;
}

static bool instruction(uint16_t op) { return capability_of(op); }

static void check_capability(Checker *c, SpvInst *i)
{
    if (i->op == SpvOpCooperativeMatrixConvertNV &&
        has_capability(c, SpvCapabilityCooperativeMatrixConversionsEXT))
        return;
    want_capability(c, i, capability_of(i->op));
    if (addressing_operand(i, SpvTensorAddressingOperandsDecodeFuncMask) &&
        !has_capability(c, SpvCapabilityCooperativeMatrixDecodeVectorNV))
        want_capability(c, i, SpvCapabilityCooperativeMatrixBlockLoadsNV);
}

static void check_extension(Checker *c, SpvInst *i)
{
    static const struct {
        uint32_t capability, extensions;
    } of[] = {
        { SpvCapabilityCooperativeMatrixReductionsNV, EXTENSION_COOPMAT2 | EXTENSION_MAINTENANCE1 },
        { SpvCapabilityCooperativeMatrixConversionsNV, EXTENSION_COOPMAT2 },
        { SpvCapabilityCooperativeMatrixPerElementOperationsNV,
          EXTENSION_COOPMAT2 | EXTENSION_MAINTENANCE1 },
        { SpvCapabilityCooperativeMatrixTensorAddressingNV, EXTENSION_COOPMAT2 },
        { SpvCapabilityCooperativeMatrixTensorAddressingNV, EXTENSION_TENSOR },
        { SpvCapabilityCooperativeMatrixBlockLoadsNV, EXTENSION_COOPMAT2 },
    };
    for (uint32_t k = 0; k < COUNT_OF(of); k++) {
        want_extension(c, i, of[k].capability, of[k].extensions);
        want_extension(c, i, of[k].capability, EXTENSION_COOPMAT);
    }
}

/* Each of the three says so of itself. Slang writes 1.5 nevertheless, which spirv-val lets pass. */
static void check_version(Checker *c, SpvInst *i)
{
    static const char *const names[] = { section, "SPV_NV_tensor_addressing",
                                         "SPV_NV_cooperative_matrix_decode_vector" };
    const char *name = spv_string(i, 0, NULL);
    for (uint32_t k = 0; k < COUNT_OF(names); k++)
        if (!strcmp(name, names[k]) && c->m->version < 0x00010600)
            doubtful(c, i, "%s with SPIR-V %u.%u, not 1.6", name, c->m->version >> 16 & 0xff,
                     c->m->version >> 8 & 0xff);
}

/* Whether something that says a workgroup's size is declared ahead of instruction `at`. */
static bool says_size(Checker *c, const SpvInst *i, const SpvInst *at)
{
    if (i->op == SpvOpDecorate)
        return spv_n_operands(i) > 2 && spv_operand(i, 1) == SpvDecorationBuiltIn &&
               spv_operand(i, 2) == SpvBuiltInWorkgroupSize && spv_def(c->m, spv_operand(i, 0)) &&
               spv_def(c->m, spv_operand(i, 0))->index < at->index;
    if ((i->op != SpvOpExecutionMode && i->op != SpvOpExecutionModeId) || spv_n_operands(i) < 2)
        return false;
    if (spv_operand(i, 1) != SpvExecutionModeLocalSizeId)
        return spv_operand(i, 1) == SpvExecutionModeLocalSize;
    for (uint32_t k = 2; k < spv_n_operands(i); k++) {
        const SpvInst *size = spv_def(c->m, spv_operand(i, k));
        if (!size || size->index > at->index)
            return false;
    }
    return true;
}

static void check_workgroup(Checker *c, SpvInst *i)
{
    uint64_t scope;
    if (!spv_constant(c->m, spv_operand(i, 1), &scope) || scope != SpvScopeWorkgroup)
        return;
    for (const SpvInst *g = c->m->globals.first; g; g = g->next) {
        const SpvOpInfo *info = spv_op_info(g->op);
        if (says_size(c, g, i))
            return;
        if (info && (info->flags & SPV_OPF_TYPE))
            break; /* modes and decorations come before */
    }
    broken(c, i, "a workgroup's matrix before the workgroup's size is known");
}

/* ---- functions called for elements ----------------------------------------------------------- */

static const char *name_of(Checker *c, SpvId id)
{
    const char *name = spv_name(c->m, id);
    return name ? name : arena_printf(c->arena, "%%%u", id);
}

typedef struct Todo {
    VEC(SpvId) ids;
} Todo;

static void look_into(Checker *c, Todo *todo, SpvId function)
{
    uint64_t seen;
    if (map_get(&c->for_elements, function, &seen))
        return;
    map_put(c->arena, &c->for_elements, function, 1);
    vec_push(c->arena, &todo->ids, function);
}

static void check_tangled(Checker *c, SpvInst *i)
{
    Todo todo = { 0 };
    SpvId callees[SPV_MAX_CALLEES];
    for (uint32_t k = spv_callees(c->m, i, callees); k-- > 0;)
        look_into(c, &todo, callees[k]);
    while (todo.ids.len) {
        SpvId id = todo.ids.data[--todo.ids.len];
        SpvFunction *f = function_of(c, id);
        for (SpvBlock *b = f ? f->first : NULL; b; b = b->next)
            for (SpvInst *k = b->insts.first; k; k = k->next) {
                const SpvOpInfo *info = spv_op_info(k->op);
                if (info && (info->flags & SPV_OPF_GROUP))
                    broken(c, k, "%s in '%s', which is called for the elements of a matrix",
                           spv_op_name(k->op), name_of(c, id));
                for (uint32_t n = spv_callees(c->m, k, callees); n-- > 0;)
                    look_into(c, &todo, callees[n]);
            }
    }
}

/* The type of the function that an id names, or NULL after reporting. */
static const SpvType *want_function(Checker *c, const SpvInst *i, SpvId id)
{
    const SpvInst *def = spv_def(c->m, id);
    const SpvType *t = def && def->op == SpvOpFunction ? spv_type(c->m, spv_operand(def, 1)) : NULL;
    if (!t || t->kind != SPV_FUNCTION)
        broken(c, i, "%%%u is not a function", id);
    return t && t->kind == SPV_FUNCTION ? t : NULL;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Both sides of an instruction that makes a matrix of a matrix; false where another rule
 * reports. */
static bool matrices(Checker *c, const SpvInst *i, const SpvType **from, const SpvType **to)
{
    *from = operand_type(c, i, 0);
    *to = result_type(c, i);
    return is_matrix(*from) && is_matrix(*to);
}

static bool is_accumulator(const SpvType *t)
{
    return t->use == SpvCooperativeMatrixUseMatrixAccumulatorKHR;
}

static void check_matrices(Checker *c, SpvInst *i)
{
    const SpvType *from = want_value(c, i, 0), *to = result_type(c, i);
    if (from && !is_matrix(from))
        broken(c, i, "the operand is %s, not a cooperative matrix", type_name(c, from));
    if (!is_matrix(to))
        broken(c, i, "the result is %s, not a cooperative matrix", type_name(c, to));
}

static void check_reduce_types(Checker *c, SpvInst *i)
{
    const SpvType *from, *to;
    if (!matrices(c, i, &from, &to))
        return;
    if (!same_type(from->element, to->element))
        broken(c, i, "a matrix of %s is reduced to one of %s", type_name(c, from->element),
               type_name(c, to->element));
    if (from->scope != to->scope)
        broken(c, i, "matrices of different scopes");
    if (!is_accumulator(from) || !is_accumulator(to))
        broken(c, i, "uses %s and %s; both matrices are accumulators", use_name(from->use),
               use_name(to->use));
}

static void check_reduce_mode(Checker *c, SpvInst *i)
{
    uint32_t mode = spv_operand(i, 1), square = SpvCooperativeMatrixReduce2x2Mask;
    if (!mode || mode >= 2 * square || ((mode & square) && mode != square))
        broken(c, i, "reduction mode %u: Row, Column, both, or 2x2 alone", mode);
}

static void check_reduce_shape(Checker *c, SpvInst *i)
{
    const SpvType *from, *to;
    uint32_t mode = spv_operand(i, 1);
    if (!matrices(c, i, &from, &to) || !from->count_known || !to->count_known)
        return;
    bool fits = mode & SpvCooperativeMatrixReduce2x2Mask
                    ? from->rows == 2 * to->rows && from->cols == 2 * to->cols
                    : (mode & SpvCooperativeMatrixReduceColumnMask || from->rows == to->rows) &&
                          (mode & SpvCooperativeMatrixReduceRowMask || from->cols == to->cols);
    if (!fits)
        broken(c, i, "%ux%u is reduced (mode %u) to %ux%u", from->rows, from->cols, mode, to->rows,
               to->cols);
}

static void check_combine(Checker *c, SpvInst *i)
{
    const SpvType *from, *to, *f = want_function(c, i, spv_operand(i, 2));
    if (!f || !matrices(c, i, &from, &to))
        return;
    bool fits = f->count == 2 && same_type(f->result, from->element) &&
                same_type(f->members[0], from->element) && same_type(f->members[1], from->element);
    if (!fits)
        broken(c, i, "'%s' does not make one %s of two", name_of(c, spv_operand(i, 2)),
               type_name(c, from->element));
}

/* ---- conversions ----------------------------------------------------------------------------- */

static void check_convert(Checker *c, SpvInst *i)
{
    const SpvType *from, *to;
    if (!matrices(c, i, &from, &to))
        return;
    /* glslang changes the signedness of integers too */
    if (!alike(from->element, to->element) || !changes_use(from, to))
        broken(c, i, "%s becomes %s", type_name(c, from), type_name(c, to));
}

static void check_transpose(Checker *c, SpvInst *i)
{
    const SpvType *from, *to;
    if (!matrices(c, i, &from, &to))
        return;
    if (from->rows != to->cols || from->cols != to->rows || from->scope != to->scope ||
        from->element->kind != to->element->kind)
        broken(c, i, "%s is transposed to %s", type_name(c, from), type_name(c, to));
    if (!is_accumulator(from) || to->use != SpvCooperativeMatrixUseMatrixBKHR)
        broken(c, i, "use %s becomes use %s; an accumulator becomes a B", use_name(from->use),
               use_name(to->use));
}

static void check_use(Checker *c, SpvInst *i)
{
    const SpvType *from, *to;
    if (matrices(c, i, &from, &to) && changes_use(from, to) &&
        !has_capability(c, SpvCapabilityCooperativeMatrixConversionsNV))
        broken(c, i, "use %s becomes use %s without capability CooperativeMatrixConversionsNV",
               use_name(from->use), use_name(to->use));
}

/* ---- functions of every element -------------------------------------------------------------- */

static void check_element_result(Checker *c, SpvInst *i)
{
    const SpvType *from, *to;
    if (matrices(c, i, &from, &to) && !same_type(from, to))
        broken(c, i, "the operand and the result are not of one type");
}

static void check_element_function(Checker *c, SpvInst *i)
{
    const SpvType *from, *to, *f = want_function(c, i, spv_operand(i, 1));
    if (!f || !matrices(c, i, &from, &to))
        return;
    bool fits = f->count >= 3 && same_type(f->result, from->element);
    for (uint32_t k = 0; fits && k < 2; k++)
        fits = f->members[k]->kind == SPV_INT && f->members[k]->bits == 32;
    if (!fits || !same_type(f->members[2], from->element))
        broken(c, i, "'%s' does not take a row, a column and a %s, or give one",
               name_of(c, spv_operand(i, 1)), type_name(c, from->element));
}

static void check_element_operands(Checker *c, SpvInst *i)
{
    const SpvType *from, *to, *f = want_function(c, i, spv_operand(i, 1));
    uint32_t n = spv_n_operands(i) - 2;
    if (!f || f->count < 3 || !matrices(c, i, &from, &to))
        return;
    if (n != f->count - 3)
        broken(c, i, "%u operands for %u parameters", n, f->count - 3);
    for (uint32_t k = 0; k < MIN(n, f->count - 3); k++) {
        const SpvType *t = want_value(c, i, k + 2);
        if (is_matrix(t) && !same_type(t, from))
            broken(c, i, "operand %%%u is %s, but no matrix of the same type",
                   spv_operand(i, k + 2), type_name(c, t));
        else if (t && !same_type(is_matrix(t) ? t->element : t, f->members[k + 3]))
            broken(c, i, "operand %%%u is %s, the parameter %s", spv_operand(i, k + 2),
                   type_name(c, t), type_name(c, f->members[k + 3]));
    }
}

/* ---- loads and stores ------------------------------------------------------------------------ */

static bool is_store(const SpvInst *i) { return i->op == SpvOpCooperativeMatrixStoreTensorNV; }

static void check_object(Checker *c, SpvInst *i)
{
    const SpvType *t = want_value(c, i, 1);
    if (t && !is_matrix(t))
        broken(c, i, "the object is %s, not a cooperative matrix", type_name(c, t));
    else if (t && !is_store(i) && !same_type(t, result_type(c, i)))
        broken(c, i, "the object that clipping leaves is %s, the result %s", type_name(c, t),
               type_name(c, result_type(c, i)));
}

static void check_layout(Checker *c, SpvInst *i)
{
    const SpvType *t = want_value(c, i, 2);
    if (t && t->kind != SPV_TENSOR_LAYOUT)
        broken(c, i, "%%%u is %s, not a tensor layout", spv_operand(i, 2), type_name(c, t));
}

static void check_view(Checker *c, SpvInst *i)
{
    SpvId view = addressing_operand(i, SpvTensorAddressingOperandsTensorViewMask);
    const SpvType *t = view ? spv_type_of(c->m, view) : NULL;
    if (view && (!t || t->kind != SPV_TENSOR_VIEW))
        broken(c, i, "%%%u is %s, not a tensor view", view, type_name(c, t));
}

static void check_pointer(Checker *c, SpvInst *i)
{
    const SpvType *p = want_value(c, i, 0);
    if (!p)
        return;
    if (p->kind != SPV_POINTER) {
        broken(c, i, "the pointer is %s", type_name(c, p));
        return;
    }
    bool whole =
        p->element && (p->element->kind == SPV_ARRAY || p->element->kind == SPV_RUNTIME_ARRAY);
    if (has_capability(c, SpvCapabilityShader) && !whole && !may_be_in_array(c, spv_operand(i, 0)))
        broken(c, i, "the pointer does not lead into an array");
    if (p->storage != SpvStorageClassWorkgroup && p->storage != SpvStorageClassStorageBuffer &&
        p->storage != SpvStorageClassPhysicalStorageBuffer &&
        (is_store(i) || p->storage != SpvStorageClassUniform))
        broken(c, i, "matrices move to and from memory that invocations share");
}

/* A view without dimensions of its own has those of the slice. */
static void check_view_dimensions(Checker *c, SpvInst *i)
{
    SpvId view = addressing_operand(i, SpvTensorAddressingOperandsTensorViewMask);
    const SpvType *t = view ? spv_type_of(c->m, view) : NULL;
    uint32_t has = tensor_dims(c, t), dims = tensor_dims(c, operand_type(c, i, 2));
    const SpvInst *def = has ? spv_def(c->m, t->id) : NULL;
    uint64_t own;
    if (dims && has > dims && t->kind == SPV_TENSOR_VIEW &&
        spv_constant(c->m, spv_operand(def, 1), &own) && !own)
        broken(c, i, "a view of %u dimensions, which are not its own, of a slice of %u", has, dims);
}

static void check_memory_operand(Checker *c, SpvInst *i)
{
    uint32_t bad = is_store(i) ? SpvMemoryAccessMakePointerVisibleMask
                               : SpvMemoryAccessMakePointerAvailableMask;
    if (spv_operand(i, 3) & bad)
        broken(c, i,
               is_store(i) ? "MakePointerVisible on a store" : "MakePointerAvailable on a load");
}

static void check_store_decode(Checker *c, SpvInst *i)
{
    if (addressing_operand(i, SpvTensorAddressingOperandsDecodeFuncMask) ||
        addressing_operand(i, SpvTensorAddressingOperandsDecodeVectorFuncMask))
        broken(c, i, "a store with a decode function");
}

static void check_store_blocks(Checker *c, SpvInst *i)
{
    uint32_t dims = tensor_dims(c, operand_type(c, i, 2));
    uint64_t size;
    for (uint32_t k = 0; k < dims; k++)
        if (layout_field(c, spv_operand(i, 2), LAYOUT_BLOCK_SIZE, k, &size) && size > 1)
            broken(c, i, "a store with blocks of %llu elements in dimension %u",
                   (unsigned long long)size, k);
}

/* The pseudo-code divides by spans: what is moved then is undefined, which no rule forbids. */
static void check_span(Checker *c, SpvInst *i)
{
    uint32_t dims = tensor_dims(c, operand_type(c, i, 2));
    uint64_t size;
    for (uint32_t k = 0; k < dims; k++)
        if (layout_field(c, spv_operand(i, 2), LAYOUT_SPAN, k, &size) && !size)
            doubtful(c, i, "the span of dimension %u is 0, by which no element has a place", k);
}

/* Elements past the slice begin it anew; a view has a say in that. */
static void check_store_span(Checker *c, SpvInst *i)
{
    const SpvType *t = operand_type(c, i, 1);
    uint32_t dims = tensor_dims(c, operand_type(c, i, 2));
    uint64_t size, has = 1;
    if (!is_matrix(t) || !t->count_known || !dims ||
        addressing_operand(i, SpvTensorAddressingOperandsTensorViewMask))
        return;
    for (uint32_t k = 0; k < dims; k++) {
        if (!layout_field(c, spv_operand(i, 2), LAYOUT_SPAN, k, &size))
            return;
        has = MIN(has * size, (uint64_t)UINT32_MAX);
    }
    if (has && has < (uint64_t)t->rows * t->cols)
        doubtful(c, i, "a matrix of %u elements is stored to a slice of %llu, where they race",
                 t->rows * t->cols, (unsigned long long)has);
}

/* ---- decode functions ------------------------------------------------------------------------ */

static void check_decode_pointer(Checker *c, SpvInst *i)
{
    const SpvType *p = operand_type(c, i, 0);
    if (addressing_operand(i, SpvTensorAddressingOperandsDecodeFuncMask) && p &&
        p->kind == SPV_POINTER && p->storage != SpvStorageClassStorageBuffer &&
        p->storage != SpvStorageClassPhysicalStorageBuffer)
        broken(c, i, "blocks are decoded from memory other than a buffer");
}

static bool is_coordinate(const SpvType *t, uint32_t dims)
{
    return t->kind == SPV_ARRAY && t->element && t->element->kind == SPV_INT &&
           t->element->bits == 32 && (!dims || !t->count_known || t->count == dims);
}

/* A function that decodes the elements of `matrix`, or vectors of them. */
static void want_decode(Checker *c, const SpvInst *i, SpvId function, const SpvType *matrix,
                        bool vector)
{
    const SpvType *f = want_function(c, i, function);
    uint32_t dims = tensor_dims(c, operand_type(c, i, 2));
    if (!f || !is_matrix(matrix))
        return;
    const char *name = name_of(c, function);
    const SpvType *r = f->result, *e = vector && r->kind == SPV_VECTOR ? r->element : r;
    if (vector && (r->kind != SPV_VECTOR || (r->count != 2 && r->count != 4 && r->count != 8)))
        broken(c, i, "'%s' gives %s, not a vector of 2, 4 or 8", name, type_name(c, r));
    else if (!same_type(e, matrix->element))
        broken(c, i, "'%s' gives %s, the components are %s", name, type_name(c, r),
               type_name(c, matrix->element));
    if (f->count != 3 || f->members[0]->kind != SPV_POINTER ||
        f->members[0]->storage != SpvStorageClassPhysicalStorageBuffer ||
        !is_coordinate(f->members[1], dims) || !is_coordinate(f->members[2], dims))
        broken(c, i,
               "'%s' does not take a pointer to PhysicalStorageBuffer and two arrays of %u 32-bit "
               "integers",
               name, dims);
}

static void check_decode(Checker *c, SpvInst *i)
{
    SpvId f = addressing_operand(i, SpvTensorAddressingOperandsDecodeFuncMask);
    if (f)
        want_decode(c, i, f, result_type(c, i), false);
}

/* ---- decode functions of vectors ------------------------------------------------------------- */

static SpvId vector_function(const SpvInst *i)
{
    return addressing_operand(i, SpvTensorAddressingOperandsDecodeVectorFuncMask);
}

static void check_vector_capability(Checker *c, SpvInst *i)
{
    if (vector_function(i))
        want_capability(c, i, SpvCapabilityCooperativeMatrixDecodeVectorNV);
}

static void check_vector_extension(Checker *c, SpvInst *i)
{
    want_extension(c, i, SpvCapabilityCooperativeMatrixDecodeVectorNV, EXTENSION_DECODE_VECTOR);
}

static void check_vector_scalar(Checker *c, SpvInst *i)
{
    if (vector_function(i) && !addressing_operand(i, SpvTensorAddressingOperandsDecodeFuncMask))
        broken(c, i, "DecodeVectorFunc without DecodeFunc");
}

static void check_vector_function(Checker *c, SpvInst *i)
{
    if (vector_function(i))
        want_decode(c, i, vector_function(i), result_type(c, i), true);
}

/* What is loaded otherwise is undefined, which no rule forbids. */
static void check_vector_blocks(Checker *c, SpvInst *i)
{
    const SpvInst *def = spv_def(c->m, vector_function(i));
    const SpvType *r = def && def->op == SpvOpFunction ? result_type(c, def) : NULL;
    uint32_t dims = tensor_dims(c, operand_type(c, i, 2));
    uint64_t size;
    if (r && r->kind == SPV_VECTOR && r->count && dims &&
        layout_field(c, spv_operand(i, 2), LAYOUT_BLOCK_SIZE, dims - 1, &size) && size % r->count)
        doubtful(c, i, "blocks of %llu in the last dimension, decoded by %u",
                 (unsigned long long)size, r->count);
}

#define REDUCE      { SpvOpCooperativeMatrixReduceNV }
#define PER_ELEMENT { SpvOpCooperativeMatrixPerElementOpNV }
#define TRANSFERS   { SpvOpCooperativeMatrixLoadTensorNV, SpvOpCooperativeMatrixStoreTensorNV }
#define LOAD        { SpvOpCooperativeMatrixLoadTensorNV }
static const CheckRow rows[] = {
    { { "nv-capability", section, "The extension's instructions need their capabilities." },
      { 0 },
      instruction,
      check_capability },
    { { "nv-extension", section,
        "The capabilities come with the extension, and those that it builds on." },
      { SpvOpCapability },
      NULL,
      check_extension },
    { { "nv-version", section,
        "The extension, tensor addressing and decoding vectors are for SPIR-V 1.6." },
      { SpvOpExtension },
      NULL,
      check_version },
    { { "nv-workgroup", validation,
        "The workgroup's size is declared before a workgroup's matrix type." },
      { SpvOpTypeCooperativeMatrixKHR },
      NULL,
      check_workgroup },
    { { "nv-tangled", validation,
        "No tangled instructions in functions called for the elements of a matrix." },
      { SpvOpCooperativeMatrixReduceNV, SpvOpCooperativeMatrixPerElementOpNV,
        SpvOpCooperativeMatrixLoadTensorNV },
      NULL,
      check_tangled },
    { { "nv-matrices", section, "Reductions, conversions and such are of matrices." },
      { SpvOpCooperativeMatrixReduceNV, SpvOpCooperativeMatrixConvertNV,
        SpvOpCooperativeMatrixTransposeNV, SpvOpCooperativeMatrixPerElementOpNV },
      NULL,
      check_matrices },
    { { "nv-reduce-types", reductions,
        "A reduction is of an accumulator to one of the same components and scope." },
      REDUCE,
      NULL,
      check_reduce_types },
    { { "nv-reduce-mode", reductions, "A reduction is of rows, columns, both, or 2x2." },
      REDUCE,
      NULL,
      check_reduce_mode },
    { { "nv-reduce-shape", reductions, "What is not reduced keeps its size; 2x2 halves both." },
      REDUCE,
      NULL,
      check_reduce_shape },
    { { "nv-combine", reductions, "The combine function makes one component of two." },
      REDUCE,
      NULL,
      check_combine },
    { { "nv-convert", conversions,
        "An accumulator becomes an A or B of its components, scope and shape." },
      { SpvOpCooperativeMatrixConvertNV },
      NULL,
      check_convert },
    { { "nv-transpose", conversions,
        "An accumulator becomes a B of its scope, rows and columns swapped; integers stay "
        "integers, and floats floats." },
      { SpvOpCooperativeMatrixTransposeNV },
      NULL,
      check_transpose },
    { { "nv-use", conversions, "Conversions to another use need a capability." },
      { SpvOpConvertFToU, SpvOpConvertFToS, SpvOpConvertSToF, SpvOpConvertUToF, SpvOpUConvert,
        SpvOpSConvert, SpvOpFConvert },
      NULL,
      check_use },
    { { "nv-element-result", per_element, "The result has the matrix' type." },
      PER_ELEMENT,
      NULL,
      check_element_result },
    { { "nv-element-function", per_element,
        "The function takes two 32-bit integers and a component first, and gives a component." },
      PER_ELEMENT,
      NULL,
      check_element_function },
    { { "nv-element-operands", per_element,
        "Further operands are the further parameters; matrices have the matrix' type." },
      PER_ELEMENT,
      NULL,
      check_element_operands },
    { { "nv-object", transfers, "The object is a matrix; of a load, of the result's type." },
      TRANSFERS,
      NULL,
      check_object },
    { { "nv-layout", transfers, "The tensor layout is one." }, TRANSFERS, NULL, check_layout },
    { { "nv-view", transfers, "The tensor view is one." }, TRANSFERS, NULL, check_view },
    { { "nv-view-dimensions", decoding,
        "A view without dimensions of its own has no more than the layout." },
      TRANSFERS,
      NULL,
      check_view_dimensions },
    { { "nv-pointer", transfers,
        "The pointer leads into an array in memory that invocations share." },
      TRANSFERS,
      NULL,
      check_pointer },
    { { "nv-memory-operand", "SPV_NV_cooperative_matrix2, Memory Operands",
        "Loads are not made available, stores not made visible." },
      TRANSFERS,
      NULL,
      check_memory_operand },
    { { "nv-store-decode", decoding, "Stores have no decode function." },
      { SpvOpCooperativeMatrixStoreTensorNV },
      NULL,
      check_store_decode },
    { { "nv-store-blocks", decoding, "Stores have blocks of one element." },
      { SpvOpCooperativeMatrixStoreTensorNV },
      NULL,
      check_store_blocks },
    { { "nv-span", decoding, "The slice has no dimension without elements." },
      TRANSFERS,
      NULL,
      check_span },
    { { "nv-store-span", decoding, "A slice that is stored to has the matrix' elements." },
      { SpvOpCooperativeMatrixStoreTensorNV },
      NULL,
      check_store_span },
    { { "nv-decode-pointer", transfers, "What is decoded comes from a buffer." },
      LOAD,
      NULL,
      check_decode_pointer },
    { { "nv-decode", decoding,
        "A decode function takes a pointer and two coordinates and gives a component." },
      LOAD,
      NULL,
      check_decode },
};
const CheckFamily check_nv_cooperative_matrix2 = { rows, COUNT_OF(rows) };

static const CheckRow vector_rows[] = {
    { { "nv-decode-vector-capability", vectors, "The operand needs its capability." },
      LOAD,
      NULL,
      check_vector_capability },
    { { "nv-decode-vector-extension", vectors, "The capability comes with the extension." },
      { SpvOpCapability },
      NULL,
      check_vector_extension },
    { { "nv-decode-vector-scalar", vectors, "Where DecodeVectorFunc is, DecodeFunc is too." },
      LOAD,
      NULL,
      check_vector_scalar },
    { { "nv-decode-vector-function", vectors,
        "It takes what a decode function takes and gives a vector of 2, 4 or 8 components." },
      LOAD,
      NULL,
      check_vector_function },
    { { "nv-decode-vector-blocks", vectors,
        "The last dimension's block size is a multiple of the vector's length." },
      LOAD,
      NULL,
      check_vector_blocks },
};
const CheckFamily check_nv_decode_vector = { vector_rows, COUNT_OF(vector_rows) };
