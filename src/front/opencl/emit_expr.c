/* SPDX-License-Identifier: MIT
 *
 * Expressions to LLVM IR: places, values, operators, conversions, initialisation.
 */
#include "front/opencl/emit.h"

/* ---- blocks and variables -------------------------------------------------------------------- */

LLVMBasicBlockRef ocl_block(OclEmit *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->context, e->function, name);
}

void ocl_go(OclEmit *e, LLVMBasicBlockRef to)
{
    if (!LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->builder)))
        LLVMBuildBr(e->builder, to);
}

/* Blocks are in the order in which they are filled. */
void ocl_start(OclEmit *e, LLVMBasicBlockRef b)
{
    LLVMMoveBasicBlockAfter(b, LLVMGetLastBasicBlock(e->function));
    LLVMPositionBuilderAtEnd(e->builder, b);
}

LLVMValueRef ocl_variable(OclEmit *e, OclType *t, const char *name)
{
    LLVMValueRef v = LLVMBuildAlloca(e->entry, ocl_memory_type(e, t), name);
    if (!is_matrix(t) && !ocl_has_matrix(t))
        LLVMSetAlignment(v, MAX(t->align, 1));
    return v;
}

static LLVMValueRef index32(OclEmit *e, uint64_t i) { return LLVMConstInt(e->i32, i, false); }

/* ---- reading and writing places -------------------------------------------------------------- */

static void aligned(LLVMValueRef access, const OclPlace *p)
{
    if (!ocl_has_matrix(p->type))
        LLVMSetAlignment(access, MAX(p->type->align, 1));
    LLVMSetVolatile(access, p->is_volatile);
}

static LLVMValueRef load_whole(OclEmit *e, const OclPlace *p)
{
    LLVMValueRef v = LLVMBuildLoad2(e->builder, ocl_memory_type(e, p->type), p->pointer, "");
    aligned(v, p);
    return p->type->kind == TY_BOOL ? LLVMBuildTrunc(e->builder, v, e->i1, "") : v;
}

static void store_whole(OclEmit *e, const OclPlace *p, LLVMValueRef v)
{
    if (p->type->kind == TY_BOOL)
        v = LLVMBuildZExt(e->builder, v, e->i8, "");
    aligned(LLVMBuildStore(e->builder, v, p->pointer), p);
}

/* The low bits of an integer, as a value of the bit-field's type. */
static LLVMValueRef cut(OclEmit *e, const OclMember *m, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMValueRef up = LLVMConstInt(t, LLVMGetIntTypeWidth(t) - m->width, false);
    v = LLVMBuildShl(e->builder, v, up, "");
    return is_signed(m->type) ? LLVMBuildAShr(e->builder, v, up, "")
                              : LLVMBuildLShr(e->builder, v, up, "");
}

static LLVMTypeRef bits_type(OclEmit *e, const OclMember *m)
{
    return LLVMIntTypeInContext(e->context, (unsigned)m->type->size * 8);
}

/* A part of a bit-field: one access. A packed one has a part for each byte that it is in, since it
 * may reach past a unit of its type, which may reach past the structure. */
typedef struct BitFieldPart {
    LLVMTypeRef type;
    LLVMValueRef pointer;
    int32_t shift; /* of the bit-field's bit 0 in the part */
} BitFieldPart;

static bool part_of(OclEmit *e, const OclPlace *p, uint32_t i, BitFieldPart *out)
{
    const OclMember *m = p->bits;
    LLVMValueRef at = LLVMConstInt(e->i64, i, false);
    if (!m->packed) {
        *out = (BitFieldPart){ bits_type(e, m), p->pointer, m->bit };
        return !i;
    }
    *out = (BitFieldPart){ e->i8, p->pointer, (int32_t)m->bit - 8 * (int32_t)i };
    if (i * 8 >= (uint32_t)m->bit + m->width)
        return false;
    if (i)
        out->pointer = LLVMBuildInBoundsGEP2(e->builder, e->i8, p->pointer, &at, 1, "");
    return true;
}

static LLVMValueRef shifted(OclEmit *e, LLVMValueRef v, int32_t left)
{
    LLVMValueRef by = LLVMConstInt(LLVMTypeOf(v), (uint64_t)(left < 0 ? -left : left), false);
    return left > 0   ? LLVMBuildShl(e->builder, v, by, "")
           : left < 0 ? LLVMBuildLShr(e->builder, v, by, "")
                      : v;
}

static LLVMValueRef load_part(OclEmit *e, const OclPlace *p, const BitFieldPart *part)
{
    LLVMValueRef v = LLVMBuildLoad2(e->builder, part->type, part->pointer, "");
    LLVMSetAlignment(v, 1);
    LLVMSetVolatile(v, p->is_volatile);
    return v;
}

static LLVMValueRef load_bits(OclEmit *e, const OclPlace *p)
{
    const OclMember *m = p->bits;
    LLVMTypeRef t = bits_type(e, m);
    LLVMValueRef v = NULL;
    BitFieldPart part;
    for (uint32_t i = 0; part_of(e, p, i, &part); i++) {
        LLVMValueRef some = LLVMBuildZExtOrBitCast(e->builder, load_part(e, p, &part), t, "");
        some = shifted(e, some, -part.shift);
        v = v ? LLVMBuildOr(e->builder, v, some, "") : some;
    }
    return LLVMBuildTruncOrBitCast(e->builder, cut(e, m, v), ocl_value_type(e, m->type), "");
}

static void store_bits(OclEmit *e, const OclPlace *p, LLVMValueRef v)
{
    const OclMember *m = p->bits;
    LLVMValueRef mask = LLVMConstInt(bits_type(e, m), UINT64_MAX >> (64 - m->width), false);
    BitFieldPart part;
    v = LLVMBuildZExtOrBitCast(e->builder, v, LLVMTypeOf(mask), "");
    v = LLVMBuildAnd(e->builder, v, mask, "");
    for (uint32_t i = 0; part_of(e, p, i, &part); i++) {
        LLVMValueRef ones = shifted(e, mask, part.shift), some = shifted(e, v, part.shift);
        ones = LLVMBuildTruncOrBitCast(e->builder, ones, part.type, "");
        some = LLVMBuildTruncOrBitCast(e->builder, some, part.type, "");
        LLVMValueRef old = load_part(e, p, &part);
        old = LLVMBuildAnd(e->builder, old, LLVMBuildNot(e->builder, ones, ""), "");
        LLVMValueRef s =
            LLVMBuildStore(e->builder, LLVMBuildOr(e->builder, old, some, ""), part.pointer);
        LLVMSetAlignment(s, 1);
        LLVMSetVolatile(s, p->is_volatile);
    }
}

static LLVMValueRef pick_lanes(OclEmit *e, LLVMValueRef v, const uint8_t *lanes, uint32_t n)
{
    if (n == 1)
        return LLVMBuildExtractElement(e->builder, v, index32(e, lanes[0]), "");
    LLVMValueRef mask[16];
    for (uint32_t i = 0; i < n; i++)
        mask[i] = index32(e, lanes[i]);
    return LLVMBuildShuffleVector(e->builder, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(mask, n), "");
}

LLVMValueRef ocl_load(OclEmit *e, const OclPlace *p)
{
    if (p->bits)
        return load_bits(e, p);
    if (is_record(p->type) && !p->lanes)
        return p->pointer;
    LLVMValueRef v = load_whole(e, p);
    if (p->lanes)
        return pick_lanes(e, v, p->lanes, p->n);
    return p->index ? LLVMBuildExtractElement(e->builder, v, p->index, "") : v;
}

/* Lanes are written by writing the whole vector. */
static LLVMValueRef merged(OclEmit *e, const OclPlace *p, LLVMValueRef v)
{
    LLVMValueRef whole = load_whole(e, p);
    if (p->index)
        return LLVMBuildInsertElement(e->builder, whole, v, p->index, "");
    if (p->n == 1)
        return LLVMBuildInsertElement(e->builder, whole, v, index32(e, p->lanes[0]), "");
    for (uint32_t i = 0; i < p->n; i++) {
        LLVMValueRef lane = LLVMBuildExtractElement(e->builder, v, index32(e, i), "");
        whole = LLVMBuildInsertElement(e->builder, whole, lane, index32(e, p->lanes[i]), "");
    }
    return whole;
}

void ocl_store(OclEmit *e, const OclPlace *p, LLVMValueRef v)
{
    if (p->bits)
        store_bits(e, p, v);
    else if (is_record(p->type))
        ocl_copy(e, p->type, p->pointer, v);
    else
        store_whole(e, p, p->lanes || p->index ? merged(e, p, v) : v);
}

/* ---- places ---------------------------------------------------------------------------------- */

static LLVMValueRef element_pointer(OclEmit *e, OclType *element, LLVMValueRef p, LLVMValueRef i)
{
    return LLVMBuildInBoundsGEP2(e->builder, ocl_memory_type(e, element), p, &i, 1, "");
}

static LLVMValueRef member_pointer(OclEmit *e, OclType *t, LLVMValueRef p, const OclMember *m)
{
    OclRecord *r = t->record;
    LLVMTypeRef llvm = ocl_record_llvm(e, r);
    if (!r->flat)
        return LLVMBuildStructGEP2(e->builder, llvm, p, m->index, "");
    LLVMValueRef offset = LLVMConstInt(e->i64, m->offset, false);
    return m->offset ? LLVMBuildInBoundsGEP2(e->builder, e->i8, p, &offset, 1, "") : p;
}

static OclPlace emit_member(OclEmit *e, OclNode *n)
{
    OclPlace p = { .type = n->type };
    const OclMember *m = &n->a->type->record->members.data[n->member];
    LLVMValueRef whole = n->a->lvalue ? ocl_emit_place(e, n->a).pointer : ocl_emit_value(e, n->a);
    p.pointer = member_pointer(e, n->a->type, whole, m);
    p.bits = m->bit_field ? m : NULL;
    return p;
}

static OclPlace temporary(OclEmit *e, OclNode *n)
{
    OclPlace p = { .type = n->type };
    if (is_record(n->type)) {
        p.pointer = ocl_emit_value(e, n);
        return p;
    }
    p.pointer = ocl_variable(e, n->type, "");
    LLVMValueRef v = ocl_emit_value(e, n);
    ocl_store(e, &p, v);
    return p;
}

/* The place's type has no qualifiers; is_volatile records the only one that matters. */
OclPlace ocl_emit_place(OclEmit *e, OclNode *n)
{
    OclPlace p = { .type = n->type };
    switch (n->kind) {
    case N_SYMBOL:
        p.pointer = n->symbol->global ? ocl_emit_global(e, n->symbol) : n->symbol->llvm;
        if (!p.pointer) /* a goto passes by the declaration */
            p.pointer = n->symbol->llvm = ocl_variable(e, n->type, "");
        break;
    case N_STRING: p.pointer = ocl_emit_string(e, n); break;
    case N_DEREF: p.pointer = ocl_emit_value(e, n->a); break;
    case N_MEMBER: p = emit_member(e, n); break;
    case N_SWIZZLE:
        p = ocl_emit_place(e, n->a);
        p.lanes = n->lanes;
        p.n = (uint32_t)lanes_of(n->type);
        break;
    case N_INDEX:
        if (is_vector(n->a->type)) {
            p = ocl_emit_place(e, n->a);
            p.index = ocl_emit_value(e, n->b);
        } else {
            LLVMValueRef base = ocl_emit_value(e, n->a);
            p.pointer = element_pointer(e, n->type, base, ocl_emit_value(e, n->b));
        }
        break;
    case N_COMPOUND:
        p.pointer = ocl_variable(e, n->type, ".literal");
        ocl_emit_into(e, p.pointer, n->type, n->a);
        break;
    default: return temporary(e, n);
    }
    p.is_volatile |= (n->type->quals & Q_VOLATILE) != 0;
    return p;
}

/* ---- copying and initialising ---------------------------------------------------------------- */

/* Matrices have no bytes, so aggregates that hold them are copied part by part. */
static void copy_parts(OclEmit *e, OclType *t, LLVMValueRef to, LLVMValueRef from)
{
    if (is_array(t)) {
        for (uint64_t i = 0; i < t->n; i++) {
            LLVMValueRef at = LLVMConstInt(e->i64, i, false);
            ocl_copy(e, t->base, element_pointer(e, t->base, to, at),
                     element_pointer(e, t->base, from, at));
        }
        return;
    }
    for (uint32_t i = 0; i < t->record->members.len; i++) {
        const OclMember *m = &t->record->members.data[i];
        ocl_copy(e, m->type, member_pointer(e, t, to, m), member_pointer(e, t, from, m));
    }
}

void ocl_copy(OclEmit *e, OclType *t, LLVMValueRef to, LLVMValueRef from)
{
    if (!is_aggregate(t)) {
        LLVMTypeRef type = ocl_memory_type(e, t);
        LLVMBuildStore(e->builder, LLVMBuildLoad2(e->builder, type, from, ""), to);
    } else if (ocl_has_matrix(t)) {
        copy_parts(e, t, to, from);
    } else if (ocl_size_of(t)) {
        LLVMBuildMemCpy(e->builder, to, MAX(t->align, 1), from, MAX(t->align, 1),
                        LLVMConstInt(e->i64, ocl_size_of(t), false));
    }
}

/* Zeros for what is an aggregate; its matrices one by one. */
static void clear(OclEmit *e, LLVMValueRef p, OclType *t)
{
    if (is_array(t) && ocl_has_matrix(t)) {
        for (uint64_t i = 0; i < t->n; i++)
            clear(e, element_pointer(e, t->base, p, LLVMConstInt(e->i64, i, false)), t->base);
    } else if (is_record(t) && t->record->has_matrix) {
        for (uint32_t i = 0; i < t->record->members.len; i++) {
            const OclMember *m = &t->record->members.data[i];
            clear(e, member_pointer(e, t, p, m), m->type);
        }
    } else if (ocl_size_of(t)) {
        LLVMValueRef zeros =
            is_matrix(t) ? ocl_emit_zeros(e, t) : LLVMConstNull(ocl_memory_type(e, t));
        LLVMValueRef s = LLVMBuildStore(e->builder, zeros, p);
        if (!is_matrix(t))
            LLVMSetAlignment(s, MAX(t->align, 1));
    }
}

static bool complete(const OclType *t, const OclNode *n)
{
    uint64_t want = is_array(t) ? t->n : t->record->is_union ? UINT64_MAX : t->record->members.len;
    bool all = !n->a && n->n >= want && !(is_record(t) && t->record->flat);
    for (uint32_t i = 0; all && i < n->n; i++)
        all = n->list[i] &&
              (n->list[i]->kind != N_INIT ||
               (!is_matrix(n->list[i]->type) && complete(n->list[i]->type, n->list[i])));
    return all;
}

static void emit_initializer(OclEmit *e, LLVMValueRef p, OclType *t, OclNode *n, bool cleared)
{
    if (n->kind != N_INIT) {
        OclPlace place = { .pointer = p, .type = t };
        LLVMValueRef v = ocl_emit_value(e, n);
        ocl_store(e, &place, v);
        return;
    }
    if (n->a)
        emit_initializer(e, p, t, n->a, true);
    else if (!cleared && (is_matrix(t) || !complete(t, n)))
        clear(e, p, t);
    for (uint32_t i = 0; i < n->n; i++) {
        if (!n->list[i])
            continue;
        if (is_array(t)) {
            LLVMValueRef at = element_pointer(e, t->base, p, LLVMConstInt(e->i64, i, false));
            emit_initializer(e, at, t->base, n->list[i], true);
            continue;
        }
        const OclMember *m = &t->record->members.data[i];
        LLVMValueRef at = member_pointer(e, t, p, m);
        if (m->bit_field) {
            OclPlace place = { .pointer = at, .type = m->type, .bits = m };
            ocl_store(e, &place, ocl_emit_value(e, n->list[i]));
        } else {
            emit_initializer(e, at, m->type, n->list[i], true);
        }
    }
}

void ocl_emit_into(OclEmit *e, LLVMValueRef p, OclType *t, OclNode *n)
{
    if (n->kind == N_INIT && is_array(t) && n->n > 16 && !ocl_has_matrix(t) &&
        ocl_is_constant(e->o, n) && !ocl_has_address(n)) { /* a table: copied as a whole */
        LLVMValueRef table = ocl_constant(e, t, n);
        LLVMValueRef g =
            LLVMAddGlobalInAddressSpace(e->module, LLVMTypeOf(table), ".table", AS_CONSTANT);
        LLVMSetInitializer(g, table);
        LLVMSetLinkage(g, LLVMPrivateLinkage);
        LLVMSetGlobalConstant(g, true);
        LLVMSetAlignment(g, MAX(t->align, 1));
        ocl_copy(e, t, p, g);
        return;
    }
    emit_initializer(e, p, t, n, false);
}

/* ---- conversions ----------------------------------------------------------------------------- */

static LLVMValueRef is_nonzero(OclEmit *e, OclType *t, LLVMValueRef v)
{
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(v));
    if (is_float(element_of(t)))
        return LLVMBuildFCmp(e->builder, LLVMRealUNE, v, zero, "");
    return t->kind == TY_BOOL ? v : LLVMBuildICmp(e->builder, LLVMIntNE, v, zero, "");
}

static LLVMValueRef emit_conversion(OclEmit *e, LLVMValueRef v, OclType *from, OclType *to)
{
    LLVMTypeRef llvm = ocl_value_type(e, to);
    OclType *fe = element_of(from), *te = element_of(to);
    bool ff = is_float(fe), tf = is_float(te);
    if (te->kind == TY_BOOL)
        return is_nonzero(e, from, v);
    if (ff && tf)
        return fe->size < te->size   ? LLVMBuildFPExt(e->builder, v, llvm, "")
               : fe->size > te->size ? LLVMBuildFPTrunc(e->builder, v, llvm, "")
                                     : v;
    if (ff)
        return is_signed(te) ? LLVMBuildFPToSI(e->builder, v, llvm, "")
                             : LLVMBuildFPToUI(e->builder, v, llvm, "");
    if (tf)
        return is_signed(fe) ? LLVMBuildSIToFP(e->builder, v, llvm, "")
                             : LLVMBuildUIToFP(e->builder, v, llvm, "");
    return LLVMBuildIntCast2(e->builder, v, llvm, is_signed(fe), "");
}

static LLVMValueRef limited(OclEmit *e, LLVMValueRef v, LLVMIntPredicate beyond, OclType *t,
                            uint64_t limit)
{
    OclValue all = { .n = (uint32_t)lanes_of(t) };
    for (uint32_t i = 0; i < all.n; i++)
        all.lane[i].u = limit;
    LLVMValueRef most = ocl_constant_value(e, t, &all);
    return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, beyond, v, most, ""), most, v, "");
}

/* Integers to the nearest of the other type. */
static LLVMValueRef saturate(OclEmit *e, LLVMValueRef v, OclType *from, OclType *to)
{
    OclType *fe = element_of(from), *te = element_of(to);
    uint64_t bits = te->size * 8, ones = UINT64_MAX >> (64 - bits);
    uint64_t most = is_signed(te) ? ones >> 1 : ones, least = is_signed(te) ? ~most : 0;
    if (is_signed(fe) && (!is_signed(te) || te->size < fe->size))
        v = limited(e, v, LLVMIntSLT, from, least);
    if (te->size < fe->size || (te->size == fe->size && !is_signed(fe) && is_signed(te)))
        v = limited(e, v, is_signed(fe) ? LLVMIntSGT : LLVMIntUGT, from, most);
    return emit_conversion(e, v, from, to);
}

static LLVMValueRef emit_splat(OclEmit *e, LLVMValueRef v, OclType *to)
{
    LLVMTypeRef llvm = ocl_value_type(e, to);
    LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(e->i32, (unsigned)to->n));
    v = LLVMBuildInsertElement(e->builder, LLVMGetPoison(llvm), v, index32(e, 0), "");
    return LLVMBuildShuffleVector(e->builder, v, LLVMGetPoison(llvm), zeros, "");
}

/* as_float3(float4) drops a lane; all else keeps the bits. */
static LLVMValueRef reinterpret(OclEmit *e, LLVMValueRef v, OclType *from, OclType *to)
{
    if (is_pointer(from))
        return v;
    static const uint8_t four[] = { 0, 1, 2, 3 };
    if (lanes_of(from) == 4 && lanes_of(to) == 3 && from->base->size == to->base->size)
        v = pick_lanes(e, v, four, 3);
    else if (lanes_of(from) == 3 && lanes_of(to) != 3) {
        LLVMValueRef mask[] = { index32(e, 0), index32(e, 1), index32(e, 2), index32(e, 2) };
        v = LLVMBuildShuffleVector(e->builder, v, v, LLVMConstVector(mask, 4), "");
    } else if (lanes_of(to) == 3 && lanes_of(from) != 3) {
        OclType *wide = ocl_vector(e->o, to->base, 4);
        return pick_lanes(e, LLVMBuildBitCast(e->builder, v, ocl_value_type(e, wide), ""), four, 3);
    }
    return LLVMBuildBitCast(e->builder, v, ocl_value_type(e, to), "");
}

static LLVMValueRef emit_cast(OclEmit *e, OclNode *n)
{
    OclType *to = n->type;
    if (n->op == CAST_DECAY)
        return ocl_emit_place(e, n->a).pointer;
    if (n->op == CAST_NULL)
        return LLVMConstNull(ocl_value_type(e, to));
    LLVMValueRef v = n->a->type ? ocl_emit_value(e, n->a) : NULL;
    switch (n->op) {
    case CAST_NUMBER: return emit_conversion(e, v, n->a->type->plain, to);
    case CAST_SATURATE: return saturate(e, v, n->a->type->plain, to);
    case CAST_SPLAT: return emit_splat(e, v, to);
    case CAST_BITS: return reinterpret(e, v, n->a->type, to);
    case CAST_SPACE: return LLVMBuildAddrSpaceCast(e->builder, v, ocl_value_type(e, to), "");
    case CAST_FROM_POINTER: return LLVMBuildPtrToInt(e->builder, v, ocl_value_type(e, to), "");
    case CAST_TO_POINTER: return LLVMBuildIntToPtr(e->builder, v, ocl_value_type(e, to), "");
    case CAST_TO_BOOL: return is_nonzero(e, n->a->type->plain, v);
    default: return NULL;
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

/* i1, or a vector of it, to what OpenCL makes of truth: 1, in vectors -1. */
static LLVMValueRef truth(OclEmit *e, LLVMValueRef v, OclType *t)
{
    return is_vector(t) ? LLVMBuildSExt(e->builder, v, ocl_value_type(e, t), "")
                        : LLVMBuildZExt(e->builder, v, ocl_value_type(e, t), "");
}

static LLVMValueRef emit_comparison(OclEmit *e, OclTok op, OclType *t, LLVMValueRef a,
                                    LLVMValueRef b)
{
    static const struct {
        OclTok op;
        LLVMRealPredicate f;
        LLVMIntPredicate s, u;
    } table[] = {
        { P_LT, LLVMRealOLT, LLVMIntSLT, LLVMIntULT },
        { P_GT, LLVMRealOGT, LLVMIntSGT, LLVMIntUGT },
        { P_LE, LLVMRealOLE, LLVMIntSLE, LLVMIntULE },
        { P_GE, LLVMRealOGE, LLVMIntSGE, LLVMIntUGE },
        { P_EQ, LLVMRealOEQ, LLVMIntEQ, LLVMIntEQ },
        { P_NE, LLVMRealUNE, LLVMIntNE, LLVMIntNE },
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (table[i].op != op)
            continue;
        OclType *c = element_of(t);
        if (is_float(c))
            return LLVMBuildFCmp(e->builder, table[i].f, a, b, "");
        return LLVMBuildICmp(e->builder, is_signed(c) ? table[i].s : table[i].u, a, b, "");
    }
    return NULL;
}

static LLVMValueRef arithmetic(OclEmit *e, OclTok op, OclType *t, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef B = e->builder;
    OclType *c = element_of(t);
    bool s = is_signed(c);
    if (is_float(c))
        return op == P_PLUS    ? LLVMBuildFAdd(B, a, b, "")
               : op == P_MINUS ? LLVMBuildFSub(B, a, b, "")
               : op == P_STAR  ? LLVMBuildFMul(B, a, b, "")
                               : LLVMBuildFDiv(B, a, b, "");
    switch (op) {
    case P_PLUS: return LLVMBuildAdd(B, a, b, "");
    case P_MINUS: return LLVMBuildSub(B, a, b, "");
    case P_STAR: return LLVMBuildMul(B, a, b, "");
    case P_SLASH: return s ? LLVMBuildSDiv(B, a, b, "") : LLVMBuildUDiv(B, a, b, "");
    case P_PERCENT: return s ? LLVMBuildSRem(B, a, b, "") : LLVMBuildURem(B, a, b, "");
    case P_BITAND: return LLVMBuildAnd(B, a, b, "");
    case P_BITOR: return LLVMBuildOr(B, a, b, "");
    case P_XOR: return LLVMBuildXor(B, a, b, "");
    default: break;
    }
    /* OpenCL shifts by as many of the low bits as select a bit of the left operand. */
    OclValue mask = { .n = (uint32_t)lanes_of(t) };
    for (uint32_t i = 0; i < mask.n; i++)
        mask.lane[i].u = c->size * 8 - 1;
    b = LLVMBuildAnd(B, b, ocl_constant_value(e, t, &mask), "");
    return op == P_SHL ? LLVMBuildShl(B, a, b, "")
           : s         ? LLVMBuildAShr(B, a, b, "")
                       : LLVMBuildLShr(B, a, b, "");
}

static LLVMValueRef short_circuit(OclEmit *e, OclNode *n)
{
    bool is_and = n->op == P_AND;
    LLVMValueRef a = ocl_emit_condition(e, n->a);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->builder);
    LLVMBasicBlockRef right = ocl_block(e, is_and ? "and" : "or"), end = ocl_block(e, "end");
    if (is_and)
        LLVMBuildCondBr(e->builder, a, right, end);
    else
        LLVMBuildCondBr(e->builder, a, end, right);
    ocl_start(e, right);
    LLVMValueRef b = ocl_emit_condition(e, n->b);
    LLVMBasicBlockRef last = LLVMGetInsertBlock(e->builder);
    ocl_go(e, end);
    ocl_start(e, end);
    LLVMValueRef phi = LLVMBuildPhi(e->builder, e->i1, ""), early = LLVMConstInt(e->i1, !is_and, 0);
    LLVMAddIncoming(phi, &early, &from, 1);
    LLVMAddIncoming(phi, &b, &last, 1);
    return phi;
}

static LLVMValueRef pointer_arithmetic(OclEmit *e, OclNode *n)
{
    LLVMValueRef a = ocl_emit_value(e, n->a), b = ocl_emit_value(e, n->b);
    OclType *element = n->a->type->base;
    if (!is_pointer(n->type)) { /* a difference */
        a = LLVMBuildPtrToInt(e->builder, a, e->i64, "");
        b = LLVMBuildPtrToInt(e->builder, b, e->i64, "");
        uint64_t size = MAX(ocl_size_of(element), 1);
        return LLVMBuildSDiv(e->builder, LLVMBuildSub(e->builder, a, b, ""),
                             LLVMConstInt(e->i64, size, false), "");
    }
    if (n->op == P_MINUS)
        b = LLVMBuildNeg(e->builder, b, "");
    return element_pointer(e, element, a, b);
}

/* A comparison or logic: i1 or a vector of it; NULL when it is neither. */
static LLVMValueRef relation(OclEmit *e, OclNode *n)
{
    bool logic = n->op == P_AND || n->op == P_OR;
    if (logic && !is_vector(n->type))
        return short_circuit(e, n);
    if (logic) {
        LLVMValueRef a = is_nonzero(e, n->a->type, ocl_emit_value(e, n->a));
        LLVMValueRef b = is_nonzero(e, n->b->type, ocl_emit_value(e, n->b));
        return n->op == P_AND ? LLVMBuildAnd(e->builder, a, b, "")
                              : LLVMBuildOr(e->builder, a, b, "");
    }
    if (n->op != P_LT && n->op != P_GT && n->op != P_LE && n->op != P_GE && n->op != P_EQ &&
        n->op != P_NE)
        return NULL;
    LLVMValueRef a = ocl_emit_value(e, n->a), b = ocl_emit_value(e, n->b);
    return emit_comparison(e, (OclTok)n->op, n->a->type, a, b);
}

/* A sum or difference of floats with a product in the same expression is rounded once where that is
 * fast, unless the program says otherwise (OpenCL C 3.0, 7.4). NULL if it is none. */
static LLVMValueRef contracted(OclEmit *e, OclNode *n)
{
    bool sum = n->op == P_PLUS || n->op == P_MINUS;
    if (n->exact || !sum || !is_float(element_of(n->type)))
        return NULL;
    bool first = n->a->kind == N_BINARY && n->a->op == P_STAR;
    OclNode *product = first ? n->a : n->b;
    if (product->kind != N_BINARY || product->op != P_STAR)
        return NULL;
    LLVMValueRef z = first ? NULL : ocl_emit_value(e, n->a);
    LLVMValueRef x = ocl_emit_value(e, product->a), y = ocl_emit_value(e, product->b);
    z = first ? ocl_emit_value(e, n->b) : z;
    if (n->op == P_MINUS)
        *(first ? &z : &x) = LLVMBuildFNeg(e->builder, first ? z : x, "");
    return ocl_emit_mad(e, n->type, x, y, z);
}

static LLVMValueRef emit_binary(OclEmit *e, OclNode *n)
{
    if (is_matrix(n->type))
        return ocl_emit_matrix(e, n);
    LLVMValueRef r = relation(e, n);
    if (r)
        return truth(e, r, n->type);
    if (is_pointer(n->a->type))
        return pointer_arithmetic(e, n);
    if ((r = contracted(e, n)))
        return r;
    LLVMValueRef a = ocl_emit_value(e, n->a), b = ocl_emit_value(e, n->b);
    return arithmetic(e, (OclTok)n->op, n->type, a, b);
}

static LLVMValueRef emit_unary(OclEmit *e, OclNode *n)
{
    if (is_matrix(n->type))
        return ocl_emit_matrix(e, n);
    LLVMValueRef v = ocl_emit_value(e, n->a);
    switch (n->op) {
    case P_MINUS:
        return is_float(element_of(n->type)) ? LLVMBuildFNeg(e->builder, v, "")
                                             : LLVMBuildNeg(e->builder, v, "");
    case P_TILDE: return LLVMBuildNot(e->builder, v, "");
    case P_NOT:
        v = LLVMBuildNot(e->builder, is_nonzero(e, n->a->type->plain, v), "");
        return truth(e, v, n->type);
    default: return v;
    }
}

LLVMValueRef ocl_emit_condition(OclEmit *e, OclNode *n)
{
    if (n->kind == N_BINARY && !is_vector(n->type) && !is_matrix(n->a->type)) {
        LLVMValueRef r = relation(e, n);
        if (r)
            return r;
    }
    if (n->kind == N_UNARY && n->op == P_NOT)
        return LLVMBuildNot(e->builder, ocl_emit_condition(e, n->a), "");
    return is_nonzero(e, n->type->plain, ocl_emit_value(e, n));
}

/* An assignment yields the new value of the place. */
static LLVMValueRef stored(OclEmit *e, const OclPlace *p, LLVMValueRef v)
{
    return p->bits && p->bits->type->kind != TY_BOOL ? cut(e, p->bits, v) : v;
}

static LLVMValueRef assign(OclEmit *e, OclNode *n)
{
    if (n->c) { /* the old value is part of the new one */
        OclPlace p = ocl_emit_place(e, n->a);
        LLVMValueRef old = ocl_load(e, &p);
        n->c->llvm = old;
        LLVMValueRef v = ocl_emit_value(e, n->b);
        ocl_store(e, &p, v);
        return n->postfix ? old : stored(e, &p, v);
    }
    if (is_record(n->type)) {
        LLVMValueRef from = ocl_emit_value(e, n->b);
        OclPlace p = ocl_emit_place(e, n->a);
        ocl_store(e, &p, from);
        return p.pointer;
    }
    LLVMValueRef v = ocl_emit_value(e, n->b);
    OclPlace p = ocl_emit_place(e, n->a);
    ocl_store(e, &p, v);
    return stored(e, &p, v);
}

static LLVMValueRef conditional(OclEmit *e, OclNode *n)
{
    if (is_vector(n->a->type)) {
        LLVMValueRef c = ocl_emit_value(e, n->a), a = ocl_emit_value(e, n->b);
        LLVMValueRef b = ocl_emit_value(e, n->c);
        c = LLVMBuildICmp(e->builder, LLVMIntSLT, c, LLVMConstNull(LLVMTypeOf(c)), "");
        return LLVMBuildSelect(e->builder, c, a, b, "");
    }
    LLVMValueRef c = ocl_emit_condition(e, n->a);
    LLVMBasicBlockRef yes = ocl_block(e, "yes"), no = ocl_block(e, "no"), end = ocl_block(e, "end");
    bool has_value = !is_void(n->type), by_memory = is_matrix(n->type);
    LLVMValueRef slot = by_memory ? ocl_variable(e, n->type, "") : NULL;
    LLVMBuildCondBr(e->builder, c, yes, no);
    ocl_start(e, yes);
    LLVMValueRef a = ocl_emit_value(e, n->b);
    if (by_memory)
        LLVMBuildStore(e->builder, a, slot);
    LLVMBasicBlockRef from_a = LLVMGetInsertBlock(e->builder);
    ocl_go(e, end);
    ocl_start(e, no);
    LLVMValueRef b = ocl_emit_value(e, n->c);
    if (by_memory)
        LLVMBuildStore(e->builder, b, slot);
    LLVMBasicBlockRef from_b = LLVMGetInsertBlock(e->builder);
    ocl_go(e, end);
    ocl_start(e, end);
    if (!has_value)
        return NULL;
    if (by_memory)
        return LLVMBuildLoad2(e->builder, ocl_value_type(e, n->type), slot, "");
    LLVMValueRef phi = LLVMBuildPhi(e->builder, LLVMTypeOf(a), "");
    LLVMAddIncoming(phi, &a, &from_a, 1);
    LLVMAddIncoming(phi, &b, &from_b, 1);
    return phi;
}

static LLVMValueRef vector(OclEmit *e, OclNode *n)
{
    OclValue v;
    if (ocl_fold(e->o, n, &v))
        return ocl_constant_value(e, n->type, &v);
    LLVMValueRef whole = LLVMGetPoison(ocl_value_type(e, n->type));
    uint32_t at = 0;
    for (uint32_t i = 0; i < n->n; i++) {
        LLVMValueRef part = ocl_emit_value(e, n->list[i]);
        uint32_t lanes = (uint32_t)lanes_of(n->list[i]->type);
        for (uint32_t k = 0; k < lanes; k++) {
            LLVMValueRef lane = !is_vector(n->list[i]->type)
                                    ? part
                                    : LLVMBuildExtractElement(e->builder, part, index32(e, k), "");
            whole = LLVMBuildInsertElement(e->builder, whole, lane, index32(e, at++), "");
        }
    }
    return whole;
}

/* ---- values ---------------------------------------------------------------------------------- */

static LLVMValueRef emit_value(OclEmit *e, OclNode *n)
{
    if (n->lvalue) {
        OclPlace p = ocl_emit_place(e, n);
        return ocl_load(e, &p);
    }
    switch (n->kind) {
    case N_INT: return LLVMConstInt(ocl_value_type(e, n->type), n->u, is_signed(n->type));
    case N_FLOAT: return LLVMConstReal(ocl_value_type(e, n->type), n->f);
    case N_HELD: return n->llvm;
    case N_ADDRESS: return ocl_emit_place(e, n->a).pointer;
    case N_UNARY: return emit_unary(e, n);
    case N_BINARY: return emit_binary(e, n);
    case N_ASSIGN:
    case N_STEP: return assign(e, n);
    case N_CONDITIONAL: return conditional(e, n);
    case N_COMMA: ocl_emit_value(e, n->a); return ocl_emit_value(e, n->b);
    case N_CALL: return ocl_emit_call(e, n);
    case N_BUILTIN: return ocl_emit_builtin(e, n);
    case N_CAST: return emit_cast(e, n);
    case N_VECTOR: return vector(e, n);
    case N_STATEMENTS: return ocl_emit_statements(e, n);
    case N_INIT: return ocl_emit_zeros(e, n->type);
    case N_LOAD_MATRIX:
    case N_STORE_MATRIX:
    case N_FILL_MATRIX:
    case N_MULTIPLY_ADD:
    case N_MATRIX_LENGTH: return ocl_emit_matrix(e, n);
    case N_MEMBER: { /* of a structure that is no variable */
        OclPlace p = emit_member(e, n);
        return ocl_load(e, &p);
    }
    case N_SWIZZLE:
        return pick_lanes(e, ocl_emit_value(e, n->a), n->lanes, (uint32_t)lanes_of(n->type));
    case N_INDEX: {
        LLVMValueRef v = ocl_emit_value(e, n->a);
        return LLVMBuildExtractElement(e->builder, v, ocl_emit_value(e, n->b), "");
    }
    default: return LLVMGetUndef(ocl_value_type(e, n->type));
    }
}

LLVMValueRef ocl_emit_value(OclEmit *e, OclNode *n)
{
    LLVMMetadataRef before = ocl_places_at(e, n->loc);
    LLVMValueRef v = emit_value(e, n);
    ocl_places_back(e, before);
    return v;
}
