/* SPDX-License-Identifier: MIT
 *
 * LLVM's types for those of OpenCL C, and constants in their memory representation.
 *
 * A structure is an LLVM structure with the padding written out. Unions, packed structures and
 * those with bit-fields are flat: arrays of integers as wide as they are aligned, and their
 * members are addressed by bytes.
 */
#include "front/opencl/emit.h"

/* ---- types ----------------------------------------------------------------------------------- */

static uint32_t natural_align(const OclType *t)
{
    while (is_array(t))
        t = t->base;
    if (is_record(t))
        return t->record->llvm_align;
    return (uint32_t)t->plain->align;
}

static LLVMTypeRef flat(OclEmit *e, OclRecord *r)
{
    uint32_t unit = r->packed ? 1 : MIN(r->align, 8);
    r->flat = true;
    r->llvm_align = unit;
    return LLVMArrayType2(LLVMIntTypeInContext(e->context, unit * 8), r->size / unit);
}

static void pad(OclEmit *e, LLVMTypeRef *list, uint32_t *n, uint64_t bytes)
{
    if (bytes)
        list[(*n)++] = LLVMArrayType2(e->i8, bytes);
}

LLVMTypeRef ocl_record_llvm(OclEmit *e, OclRecord *r)
{
    if (r->llvm)
        return r->llvm;
    if (r->flat && !r->has_matrix)
        return r->llvm = flat(e, r);
    LLVMTypeRef *list = NEW_ARRAY(e->o->arena, LLVMTypeRef, 2 * (size_t)r->members.len + 1);
    uint32_t n = 0;
    uint64_t at = 0;
    r->llvm_align = 1;
    for (uint32_t i = 0; i < r->members.len; i++) {
        OclMember *m = &r->members.data[i];
        LLVMTypeRef t = ocl_memory_type(e, m->type);
        uint32_t align = MAX(natural_align(m->type), 1);
        if (align_up(at, align) > m->offset || m->offset % align)
            return r->llvm = flat(e, r);
        if (align_up(at, align) < m->offset)
            pad(e, list, &n, m->offset - at);
        m->index = n;
        list[n++] = t;
        at = m->offset + ocl_size_of(m->type);
        r->llvm_align = MAX(r->llvm_align, align);
    }
    if (align_up(at, r->llvm_align) < r->size)
        pad(e, list, &n, r->size - at);
    LLVMTypeRef s = LLVMStructCreateNamed(e->context, arena_printf(e->o->arena, "%s.%s",
                                                                   r->is_union ? "union" : "struct",
                                                                   r->name ? r->name : "anon"));
    LLVMStructSetBody(s, list, n, false);
    return r->llvm = s;
}

static LLVMTypeRef make_type(OclEmit *e, OclType *t)
{
    LLVMContextRef c = e->context;
    switch (t->kind) {
    case TY_VOID: return e->void_type;
    case TY_BOOL: return e->i1;
    case TY_HALF: return LLVMHalfTypeInContext(c);
    case TY_FLOAT: return LLVMFloatTypeInContext(c);
    case TY_DOUBLE: return LLVMDoubleTypeInContext(c);
    case TY_EVENT: return LLVMTargetExtTypeInContext(c, "spirv.Event", NULL, 0, NULL, 0);
    case TY_VECTOR: return LLVMVectorType(ocl_value_type(e, t->base), (unsigned)t->n);
    case TY_POINTER: return LLVMPointerTypeInContext(c, t->base->space);
    case TY_ARRAY: return LLVMArrayType2(ocl_memory_type(e, t->base), t->n);
    case TY_RECORD: return ocl_record_llvm(e, t->record);
    case TY_MATRIX: {
        /* The RFC's text omits the scope in places; the SPIR-V target expects component, scope,
         * rows, columns, use. */
        LLVMTypeRef component = ocl_value_type(e, t->base);
        unsigned numbers[] = { t->scope, t->rows, t->columns, t->use };
        return LLVMTargetExtTypeInContext(c, "spirv.CooperativeMatrixKHR", &component, 1, numbers,
                                          4);
    }
    default: return LLVMIntTypeInContext(c, (unsigned)t->size * 8);
    }
}

LLVMTypeRef ocl_value_type(OclEmit *e, OclType *t)
{
    t = t->plain;
    if (!t->llvm)
        t->llvm = make_type(e, t);
    return t->llvm;
}

LLVMTypeRef ocl_memory_type(OclEmit *e, OclType *t)
{
    return t->kind == TY_BOOL ? e->i8 : ocl_value_type(e, t);
}

/* ---- constants ------------------------------------------------------------------------------- */

static LLVMValueRef lane(OclEmit *e, OclType *t, const OclValue *v, uint32_t i)
{
    LLVMTypeRef llvm = ocl_value_type(e, t);
    return is_float(t) ? LLVMConstReal(llvm, v->lane[i].f)
                       : LLVMConstInt(llvm, v->lane[i].u, is_signed(t));
}

LLVMValueRef ocl_constant_value(OclEmit *e, const OclType *t, const OclValue *v)
{
    if (!is_vector(t))
        return lane(e, t->plain, v, 0);
    LLVMValueRef list[16];
    for (uint32_t i = 0; i < v->n; i++)
        list[i] = lane(e, t->base, v, i);
    return LLVMConstVector(list, v->n);
}

/* What a constant address is an offset from, NULL: nothing; adds the offset in bytes. The caller's
 * tree is one that ocl_is_constant likes. */
static LLVMValueRef base_of(OclEmit *e, const OclNode *n, uint64_t *offset)
{
    OclValue v;
    switch (n->kind) {
    case N_SYMBOL: return ocl_emit_global(e, n->symbol);
    case N_STRING: return ocl_emit_string(e, n);
    case N_MEMBER:
        *offset += n->a->type->record->members.data[n->member].offset;
        return base_of(e, n->a, offset);
    case N_INDEX:
    case N_BINARY:
        ocl_fold(e->o, n->b, &v);
        v.lane[0].u *= ocl_size_of(n->a->type->base);
        *offset += n->kind == N_BINARY && n->op == P_MINUS ? 0 - v.lane[0].u : v.lane[0].u;
        return base_of(e, n->a, offset);
    case N_CAST: return n->op == CAST_NULL ? NULL : base_of(e, n->a, offset);
    default: return base_of(e, n->a, offset); /* N_ADDRESS, N_DEREF */
    }
}

bool ocl_has_address(const OclNode *n)
{
    for (uint32_t i = 0; n && n->kind == N_INIT && i < n->n; i++)
        if (ocl_has_address(n->list[i]))
            return true;
    if (n && n->kind == N_COMPOUND)
        return ocl_has_address(n->a);
    while (n && n->kind == N_CAST && n->op != CAST_NULL && n->op != CAST_DECAY)
        n = n->a;
    return n && n->type && is_pointer(n->type) && !(n->kind == N_CAST && n->op == CAST_NULL);
}

/* LLVM's SPIR-V target makes no valid constants of other addresses. */
bool ocl_is_whole_address(OclEmit *e, const OclNode *n)
{
    uint64_t offset = 0;
    return is_pointer(n->type) && base_of(e, n, &offset) && !offset;
}

static LLVMValueRef constant_pointer(OclEmit *e, const OclNode *n)
{
    uint64_t offset = 0;
    LLVMTypeRef type = ocl_value_type(e, n->type);
    LLVMValueRef p = base_of(e, n, &offset), bytes = LLVMConstInt(e->i64, offset, true);
    if (!p)
        return LLVMConstNull(type);
    if (offset)
        p = LLVMConstGEP2(e->i8, p, &bytes, 1);
    return LLVMTypeOf(p) == type ? p : LLVMConstAddrSpaceCast(p, type);
}

/* The bytes of a constant in a flat structure. False where an address is among them. */
static bool bytes_of(OclEmit *e, OclType *t, const OclNode *n, uint8_t *out)
{
    OclValue v;
    if (n && n->kind == N_COMPOUND)
        n = n->a;
    if (!n)
        return true;
    if (n->kind == N_INIT) {
        for (uint32_t i = 0; i < n->n; i++) {
            if (!n->list[i])
                continue;
            if (is_array(t)) {
                if (!bytes_of(e, t->base, n->list[i], out + i * t->base->size))
                    return false;
                continue;
            }
            const OclMember *m = &t->record->members.data[i];
            if (m->bit_field && ocl_fold(e->o, n->list[i], &v)) {
                for (uint32_t k = 0; k < m->width; k++)
                    out[m->offset + (m->bit + k) / 8] |=
                        (uint8_t)((v.lane[0].u >> k & 1) << (m->bit + k) % 8);
            } else if (m->bit_field || !bytes_of(e, m->type, n->list[i], out + m->offset)) {
                return false;
            }
        }
        return true;
    }
    if (!ocl_fold(e->o, n, &v))
        return false;
    const OclType *c = is_vector(t) ? t->base : t;
    for (uint32_t i = 0; i < v.n; i++) {
        uint64_t bits = ocl_lane_bits(c, &v, i);
        memcpy(out + i * c->size, &bits, c->size);
    }
    return true;
}

static LLVMValueRef flat_constant(OclEmit *e, OclType *t, const OclNode *n)
{
    OclRecord *r = t->record;
    LLVMTypeRef llvm = ocl_record_llvm(e, r);
    uint8_t *bytes = arena_alloc(e->o->arena, r->size + 8);
    if (!bytes_of(e, t, n, bytes)) {
        ocl_error(e->o, n->loc,
                  "a constant address cannot be in a union, a packed structure or "
                  "one with bit-fields");
        return LLVMConstNull(llvm);
    }
    uint64_t count = r->size / r->llvm_align;
    LLVMTypeRef unit = LLVMIntTypeInContext(e->context, r->llvm_align * 8);
    LLVMValueRef *list = NEW_ARRAY(e->o->arena, LLVMValueRef, count);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t word = 0;
        memcpy(&word, bytes + i * r->llvm_align, r->llvm_align);
        list[i] = LLVMConstInt(unit, word, false);
    }
    return LLVMConstArray2(unit, list, count);
}

static LLVMValueRef constant_record(OclEmit *e, OclType *t, const OclNode *n)
{
    OclRecord *r = t->record;
    LLVMTypeRef llvm = ocl_record_llvm(e, r);
    if (r->flat)
        return flat_constant(e, t, n);
    unsigned count = LLVMCountStructElementTypes(llvm);
    LLVMValueRef *list = NEW_ARRAY(e->o->arena, LLVMValueRef, count);
    for (unsigned i = 0; i < count; i++)
        list[i] = LLVMConstNull(LLVMStructGetTypeAtIndex(llvm, i));
    for (uint32_t i = 0; i < n->n; i++) {
        const OclMember *m = &r->members.data[i];
        if (n->list[i])
            list[m->index] = ocl_constant(e, m->type, n->list[i]);
    }
    return LLVMConstNamedStruct(llvm, list, count);
}

LLVMValueRef ocl_constant(OclEmit *e, OclType *t, const OclNode *n)
{
    OclValue v;
    if (n->kind == N_COMPOUND)
        return ocl_constant(e, t, n->a);
    if (is_array(t) && n->kind == N_INIT) {
        LLVMValueRef *list = NEW_ARRAY(e->o->arena, LLVMValueRef, t->n);
        LLVMTypeRef element = ocl_memory_type(e, t->base);
        LLVMValueRef zero = LLVMConstNull(element);
        for (uint64_t i = 0; i < t->n; i++)
            list[i] = i < n->n && n->list[i] ? ocl_constant(e, t->base, n->list[i]) : zero;
        return LLVMConstArray2(element, list, t->n);
    }
    if (is_record(t) && n->kind == N_INIT)
        return constant_record(e, t, n);
    if (is_pointer(t))
        return constant_pointer(e, n);
    if (!is_arithmetic(t) || !ocl_fold(e->o, n, &v))
        return LLVMConstNull(ocl_memory_type(e, t));
    if (t->kind == TY_BOOL)
        return LLVMConstInt(e->i8, v.lane[0].u, false);
    return ocl_constant_value(e, t, &v);
}
