/* SPDX-License-Identifier: MIT
 *
 * shader, vectors of 8 and 16 components, which shaders do not have. In: an OpenCL module's
 * functions, as LLVM's target wrote them. Out: the same without values of such types; each becomes
 * two or four vectors of four components (its parts). Componentwise instructions are applied to
 * each part, with the same decorations; instructions that select components are rewritten; memory
 * is accessed part by part.
 */
#include "pass/shader.h"

#include <stdio.h>

enum { PART = 4, MAX_PARTS = 4, MAX_COUNT = 16 };

typedef struct Parts {
    SpvId id[MAX_PARTS];
} Parts;
typedef struct Pending {
    SpvInst *old;
    Parts parts;
} Pending;

typedef struct Wide {
    Shader *s;
    SpvModule *m;
    SpvInst *at; /* what is emitted stands before it */
    Parts **of;  /* by id, n of them */
    uint32_t n;
    VEC(Pending) phis;
    bool ok;
} Wide;

static SpvId put_op(Wide *w, uint16_t op, SpvId type, const uint32_t *operands, uint32_t n)
{
    return spv_put(w->m, w->at, op, type, operands, n)->id;
}

#define PUT(w, op, type, ...)                                                                      \
    put_op((w), (op), (type), (uint32_t[]){ __VA_ARGS__ },                                         \
           sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static bool is_wide(const SpvType *t) { return t && t->kind == SPV_VECTOR && t->count > PART; }
static bool is_value_wide(Wide *w, SpvId id) { return is_wide(spv_type_of(w->m, id)); }
static uint32_t count_of(const SpvType *t) { return t->kind == SPV_VECTOR ? t->count : 1; }
static const SpvType *scalar_of(const SpvType *t) { return t->kind == SPV_VECTOR ? t->element : t; }
static SpvId part_type(Wide *w, const SpvType *t)
{
    return spv_vector_type(w->m, t->element->id, PART);
}

static void refuse_wide(Wide *w, const SpvInst *i)
{
    char text[128];
    snprintf(text, sizeof text, "%s of vectors of 8 and 16 components", spv_op_name(i->op));
    w->ok = shader_refuse(w->s, i, text);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void constant_parts(Wide *w, const SpvInst *c, Parts *p)
{
    const SpvType *t = spv_type(w->m, c->type);
    SpvId type = part_type(w, t);
    for (uint32_t k = 0; k < t->count / PART; k++)
        p->id[k] =
            c->op == SpvOpUndef ? spv_undef(w->m, type)
            : c->op == SpvOpConstantNull
                ? spv_null_constant(w->m, type)
                : spv_composite_constant(w->m, type, c->words + c->first_operand + k * PART, PART);
}

/* Of an argument: of its components, which the rewriting knows. */
static void argument_parts(Wide *w, SpvId id, Parts *p)
{
    const SpvType *t = spv_type_of(w->m, id);
    SpvId c[PART];
    for (uint32_t k = 0; k < t->count; k++) {
        c[k % PART] = PUT(w, SpvOpCompositeExtract, t->element->id, id, k);
        if (k % PART == PART - 1)
            p->id[k / PART] = put_op(w, SpvOpCompositeConstruct, part_type(w, t), c, PART);
    }
}

static Parts parts_of(Wide *w, SpvId id)
{
    const SpvInst *def = spv_def(w->m, id);
    Parts none = { { 0 } };
    if (id < w->n && w->of[id])
        return *w->of[id];
    if (def && (def->op == SpvOpConstantComposite || def->op == SpvOpConstantNull ||
                def->op == SpvOpUndef))
        constant_parts(w, def, &none);
    else
        refuse_wide(w, def ? def : w->at);
    return none;
}

static void define(Wide *w, const SpvInst *i, Parts p)
{
    Parts *own = NEW(w->s->a, Parts);
    *own = p;
    w->of[i->id] = own;
}

/* Component k of a value, which may be a scalar. */
static SpvId component_at(Wide *w, SpvId id, uint32_t k)
{
    const SpvType *t = spv_type_of(w->m, id);
    if (t->kind != SPV_VECTOR)
        return id;
    SpvId from = is_wide(t) ? parts_of(w, id).id[k / PART] : id;
    return PUT(w, SpvOpCompositeExtract, t->element->id, from, is_wide(t) ? k % PART : k);
}

/* The instruction's result is what the scalars make. */
static void become(Wide *w, SpvInst *i, SpvId *scalars)
{
    const SpvType *t = spv_type(w->m, i->type);
    Parts p = { { 0 } };
    if (t->kind != SPV_VECTOR)
        edit_become(w->m, i, SpvOpCopyObject, scalars, 1);
    else if (!is_wide(t))
        edit_become(w->m, i, SpvOpCompositeConstruct, scalars, t->count);
    else
        for (uint32_t k = 0; k < t->count / PART; k++)
            p.id[k] = put_op(w, SpvOpCompositeConstruct, part_type(w, t), scalars + k * PART, PART);
    if (is_wide(t))
        define(w, i, p);
}

/* ---- components ------------------------------------------------------------------------------ */

static void narrow_construct(Wide *w, SpvInst *i)
{
    SpvId all[MAX_COUNT];
    uint32_t n = 0;
    for (uint32_t k = 0; k < spv_n_operands(i); k++) {
        SpvId from = spv_operand(i, k);
        uint32_t count = count_of(spv_type_of(w->m, from));
        for (uint32_t j = 0; j < count && n < MAX_COUNT; j++)
            all[n++] = component_at(w, from, j);
    }
    become(w, i, all);
}

static void narrow_shuffle(Wide *w, SpvInst *i)
{
    SpvId x = spv_operand(i, 0), y = spv_operand(i, 1), all[MAX_COUNT];
    uint32_t first = count_of(spv_type_of(w->m, x));
    SpvId nothing = spv_undef(w->m, spv_type(w->m, i->type)->element->id);
    for (uint32_t k = 2; k < spv_n_operands(i); k++) {
        uint32_t j = spv_operand(i, k);
        all[k - 2] = j == UINT32_MAX ? nothing
                     : j < first     ? component_at(w, x, j)
                                     : component_at(w, y, j - first);
    }
    become(w, i, all);
}

static void insert(Wide *w, SpvInst *i)
{
    Parts p = parts_of(w, spv_operand(i, 1));
    uint32_t k = spv_operand(i, 2);
    SpvId *at = &p.id[k / PART];
    *at = PUT(w, SpvOpCompositeInsert, part_type(w, spv_type(w->m, i->type)), spv_operand(i, 0),
              *at, k % PART);
    define(w, i, p);
}

/* Whether an index leads into part k. */
static SpvId is_part(Wide *w, SpvId index, uint32_t k)
{
    SpvId type = spv_type_of(w->m, index)->id;
    SpvId high = PUT(w, SpvOpShiftRightLogical, type, index, spv_int_constant(w->m, type, 2));
    return PUT(w, SpvOpIEqual, w->s->bool_, high, spv_int_constant(w->m, type, k));
}

static SpvId in_part(Wide *w, SpvId index)
{
    SpvId type = spv_type_of(w->m, index)->id;
    return PUT(w, SpvOpBitwiseAnd, type, index, spv_int_constant(w->m, type, PART - 1));
}

static SpvId extract_dynamic(Wide *w, SpvId from, SpvId index)
{
    const SpvType *t = spv_type_of(w->m, from);
    SpvId type = t->element->id, low = in_part(w, index), value = 0;
    if (!is_wide(t))
        return PUT(w, SpvOpVectorExtractDynamic, type, from, index);
    Parts p = parts_of(w, from);
    for (uint32_t k = 0; k < t->count / PART; k++) {
        SpvId own = PUT(w, SpvOpVectorExtractDynamic, type, p.id[k], low);
        value = k ? PUT(w, SpvOpSelect, type, is_part(w, index, k), own, value) : own;
    }
    return value;
}

static void insert_dynamic(Wide *w, SpvInst *i)
{
    const SpvType *t = spv_type(w->m, i->type);
    Parts p = parts_of(w, spv_operand(i, 0));
    SpvId type = part_type(w, t), index = spv_operand(i, 2), low = in_part(w, index);
    for (uint32_t k = 0; k < t->count / PART; k++) {
        SpvId own = PUT(w, SpvOpVectorInsertDynamic, type, p.id[k], spv_operand(i, 1), low);
        p.id[k] = PUT(w, SpvOpSelect, type, is_part(w, index, k), own, p.id[k]);
    }
    define(w, i, p);
}

/* OpenCL.std's shuffle and shuffle2: a mask of values, modulo the number of components. */
static void shuffle_by_mask(Wide *w, SpvInst *i)
{
    bool two = spv_operand(i, 1) == OpenCLstd_shuffle2;
    SpvId x = spv_operand(i, 2), mask = spv_operand(i, two ? 4 : 3), all[MAX_COUNT];
    const SpvType *t = spv_type_of(w->m, x), *mt = spv_type_of(w->m, mask);
    SpvId lane = mt->element->id;
    for (uint32_t k = 0; k < mt->count; k++) {
        SpvId index = component_at(w, mask, k);
        SpvId low =
            PUT(w, SpvOpBitwiseAnd, lane, index, spv_int_constant(w->m, lane, t->count - 1));
        all[k] = extract_dynamic(w, x, low);
        if (!two)
            continue;
        SpvId other = extract_dynamic(w, spv_operand(i, 3), low);
        SpvId high = PUT(w, SpvOpBitwiseAnd, lane, index, spv_int_constant(w->m, lane, t->count));
        SpvId first = PUT(w, SpvOpIEqual, w->s->bool_, high, spv_int_constant(w->m, lane, 0));
        all[k] = PUT(w, SpvOpSelect, t->element->id, first, all[k], other);
    }
    become(w, i, all);
}

/* ---- bits ------------------------------------------------------------------------------------ */

static SpvId as(Wide *w, SpvId value, SpvId type)
{
    return spv_type_of(w->m, value)->id == type ? value : PUT(w, SpvOpBitcast, type, value);
}

/* n scalars become n * by smaller ones, or n / by larger ones, of unsigned integers. */
static uint32_t cut(Wide *w, SpvId *all, uint32_t n, uint32_t bits, uint32_t by)
{
    SpvId piece = spv_int_type(w->m, bits / by, false), from[MAX_COUNT];
    memcpy(from, all, n * sizeof *from);
    for (uint32_t k = 0; k < n; k++) {
        SpvId v = PUT(w, SpvOpBitcast, spv_vector_type(w->m, piece, by), from[k]);
        for (uint32_t j = 0; j < by; j++)
            all[k * by + j] = PUT(w, SpvOpCompositeExtract, piece, v, j);
    }
    return n * by;
}

static uint32_t glue(Wide *w, SpvId *all, uint32_t n, uint32_t bits, uint32_t by)
{
    SpvId type = spv_int_type(w->m, bits * by, false);
    for (uint32_t k = 0; k < n / by; k++) {
        SpvId vector = spv_vector_type(w->m, spv_type_of(w->m, all[k * by])->id, by);
        all[k] = as(w, put_op(w, SpvOpCompositeConstruct, vector, all + k * by, by), type);
    }
    return n / by;
}

static void narrow_bitcast(Wide *w, SpvInst *i)
{
    const SpvType *f = spv_type_of(w->m, spv_operand(i, 0)), *t = spv_type(w->m, i->type);
    uint32_t bits = scalar_of(f)->bits, want = scalar_of(t)->bits, n = count_of(f);
    SpvId all[MAX_COUNT];
    for (uint32_t k = 0; k < n; k++)
        all[k] = component_at(w, spv_operand(i, 0), k);
    for (; bits > want; bits /= MIN(bits / want, 4))
        n = cut(w, all, n, bits, MIN(bits / want, 4));
    for (; bits < want; bits *= MIN(want / bits, 4))
        n = glue(w, all, n, bits, MIN(want / bits, 4));
    for (uint32_t k = 0; k < n; k++)
        all[k] = as(w, all[k], scalar_of(t)->id);
    become(w, i, all);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Part k of what a pointer leads to, in pieces of that type. */
static SpvId part_pointer(Wide *w, SpvId pointer, SpvId piece, SpvId index)
{
    SpvId type = spv_pointer_type(w->m, spv_type_of(w->m, pointer)->storage, piece);
    SpvId p = as(w, pointer, type);
    return index ? PUT(w, SpvOpPtrAccessChain, type, p, index) : p;
}

static uint32_t memory_operands(const SpvInst *i, uint32_t at, uint32_t bytes, uint32_t *out)
{
    uint32_t n = spv_n_operands(i) - at;
    memcpy(out, i->words + i->first_operand + at, MIN(n, 2) * sizeof *out);
    if (n > 1 && out[0] & SpvMemoryAccessAlignedMask)
        out[1] = MIN(out[1], bytes);
    return MIN(n, 2);
}

static void access(Wide *w, SpvInst *i)
{
    bool is_load = i->op == SpvOpLoad;
    const SpvType *t = is_load ? spv_type(w->m, i->type) : spv_type_of(w->m, spv_operand(i, 1));
    SpvId type = part_type(w, t);
    Parts p = { { 0 } };
    if (!is_load)
        p = parts_of(w, spv_operand(i, 1));
    for (uint32_t k = 0; w->ok && k < t->count / PART; k++) {
        uint32_t words[4] = { part_pointer(w, spv_operand(i, 0), type, k ? shader_u32(w->s, k) : 0),
                              p.id[k] };
        uint32_t at = is_load ? 1 : 2;
        uint32_t n = at + memory_operands(i, at, t->element->bits / 8 * PART, words + at);
        p.id[k] = put_op(w, i->op, is_load ? type : 0, words, n);
    }
    if (is_load)
        define(w, i, p);
}

/* vloadn, vstoren and their kin of half: from the offset times the whole on, part by part. */
static void vector_access(Wide *w, SpvInst *i, bool is_load)
{
    uint32_t number = spv_operand(i, 1), at = is_load ? 2 : 3, words[8], n = spv_n_operands(i);
    bool half = number != OpenCLstd_vloadn && number != OpenCLstd_vstoren;
    const SpvType *t = is_load ? spv_type(w->m, i->type) : spv_type_of(w->m, spv_operand(i, 2));
    SpvId piece = half ? spv_float_type(w->m, 16) : t->element->id;
    SpvId offset = spv_operand(i, at), lane = spv_type_of(w->m, offset)->id;
    offset = PUT(w, SpvOpIMul, lane, offset, spv_int_constant(w->m, lane, t->count));
    SpvId base = part_pointer(w, spv_operand(i, at + 1), piece, offset);
    Parts p = { { 0 } };
    if (!is_load)
        p = parts_of(w, spv_operand(i, 2));
    for (uint32_t k = 0; w->ok && k < t->count / PART; k++) {
        memcpy(words, i->words + i->first_operand, n * sizeof *words);
        words[at] = spv_int_constant(w->m, lane, k);
        words[at + 1] = base;
        words[is_load ? 4 : 2] = is_load ? PART : p.id[k];
        p.id[k] = put_op(w, SpvOpExtInst, is_load ? part_type(w, t) : i->type, words, n);
    }
    if (is_load)
        define(w, i, p);
}

/* ---- part by part ---------------------------------------------------------------------------- */

static void copy_id_decorations(Wide *w, SpvId from, SpvId to)
{
    for (SpvInst *d = w->m->globals.first, *next; d; d = next) {
        next = d->next;
        if (d->op != SpvOpDecorate || spv_operand(d, 0) != from)
            continue;
        SpvInst *own = spv_clone_inst(w->m, d);
        own->words[own->first_operand] = to;
        spv_append_global(w->m, own);
    }
}

/* The instruction on part k of its operands; pointers are to part k, too. */
static SpvId on_part(Wide *w, const SpvInst *i, SpvId type, uint32_t k)
{
    SpvInst *own = spv_clone_inst(w->m, i);
    uint16_t at[8];
    uint32_t n = MIN(spv_id_operands(i, at, COUNT_OF(at)), COUNT_OF(at));
    for (uint32_t j = 0; j < n; j++) {
        SpvId *id = &own->words[at[j]];
        const SpvType *t = spv_type_of(w->m, *id);
        if (is_wide(t))
            *id = parts_of(w, *id).id[k];
        else if (t && t->kind == SPV_POINTER && is_wide(t->element))
            *id = part_pointer(w, *id, part_type(w, t->element), k ? shader_u32(w->s, k) : 0);
    }
    SpvId id = put_op(w, i->op, type, own->words + own->first_operand, spv_n_operands(own));
    copy_id_decorations(w, i->id, id);
    return id;
}

static void by_parts(Wide *w, const SpvInst *i)
{
    const SpvType *t = spv_type(w->m, i->type);
    Parts p = { { 0 } };
    for (uint32_t k = 0; w->ok && k < t->count / PART; k++)
        p.id[k] = on_part(w, i, part_type(w, t), k);
    define(w, i, p);
}

/* Combines a boolean per part into one. */
static void fold_parts(Wide *w, SpvInst *i, uint16_t op)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < spv_n_operands(i); k++)
        n = MAX(n, count_of(spv_type_of(w->m, spv_operand(i, k))));
    SpvId all = on_part(w, i, i->type, 0);
    for (uint32_t k = 1; w->ok && k < n / PART; k++)
        all = PUT(w, op, i->type, all, on_part(w, i, i->type, k));
    edit_become(w->m, i, SpvOpCopyObject, &all, 1);
}

/* printf's vectors are as many of four components. */
static void narrow_print(Wide *w, SpvInst *i)
{
    VEC(uint32_t) words = { 0 };
    for (uint32_t k = 0; k < spv_n_operands(i); k++) {
        SpvId id = spv_operand(i, k);
        const SpvType *t = k < 2 ? NULL : spv_type_of(w->m, id);
        if (!is_wide(t)) {
            vec_push(w->s->a, &words, id);
            continue;
        }
        Parts p = parts_of(w, id);
        for (uint32_t j = 0; j < t->count / PART; j++)
            vec_push(w->s->a, &words, p.id[j]);
    }
    edit_become(w->m, i, SpvOpExtInst, words.data, words.len);
}

static void phi(Wide *w, SpvInst *i)
{
    Pending p = { .old = i };
    const SpvType *t = spv_type(w->m, i->type);
    for (uint32_t k = 0; k < t->count / PART; k++)
        p.parts.id[k] = put_op(w, SpvOpPhi, part_type(w, t), NULL, 0);
    define(w, i, p.parts);
    vec_push(w->s->a, &w->phis, p);
}

static void close_phi(Wide *w, const Pending *p)
{
    for (uint32_t k = 0; w->ok && k + 1 < spv_n_operands(p->old); k += 2) {
        Parts from = parts_of(w, spv_operand(p->old, k));
        for (uint32_t j = 0; j < spv_type(w->m, p->old->type)->count / PART; j++)
            edit_add_incoming(w->m, spv_def(w->m, p->parts.id[j]), from.id[j],
                              spv_operand(p->old, k + 1));
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static void narrow_extended(Wide *w, SpvInst *i)
{
    switch (spv_operand(i, 1)) {
    case OpenCLstd_vloadn:
    case OpenCLstd_vload_halfn:
    case OpenCLstd_vloada_halfn: vector_access(w, i, true); break;
    case OpenCLstd_vstoren:
    case OpenCLstd_vstore_halfn:
    case OpenCLstd_vstorea_halfn:
    case OpenCLstd_vstore_halfn_r:
    case OpenCLstd_vstorea_halfn_r: vector_access(w, i, false); break;
    case OpenCLstd_shuffle:
    case OpenCLstd_shuffle2: shuffle_by_mask(w, i); break;
    case OpenCLstd_printf: narrow_print(w, i); break;
    default: by_parts(w, i); break;
    }
}

static void narrow_value(Wide *w, SpvInst *i)
{
    switch (i->op) {
    case SpvOpLoad:
    case SpvOpStore: access(w, i); break;
    case SpvOpPhi: phi(w, i); break;
    case SpvOpVectorShuffle: narrow_shuffle(w, i); break;
    case SpvOpBitcast: narrow_bitcast(w, i); break;
    case SpvOpVectorInsertDynamic: insert_dynamic(w, i); break;
    case SpvOpAny: fold_parts(w, i, SpvOpLogicalOr); break;
    case SpvOpAll:
    case SpvOpGroupNonUniformAllEqual: fold_parts(w, i, SpvOpLogicalAnd); break;
    case SpvOpExtInst: narrow_extended(w, i); break;
    case SpvOpCompositeConstruct:
    case SpvOpCompositeInsert:
        if (spv_type(w->m, i->type)->kind != SPV_VECTOR)
            refuse_wide(w, i);
        else if (i->op == SpvOpCompositeConstruct)
            narrow_construct(w, i);
        else
            insert(w, i);
        break;
    case SpvOpCompositeExtract: {
        SpvId value = is_value_wide(w, spv_operand(i, 0))
                          ? component_at(w, spv_operand(i, 0), spv_operand(i, 1))
                          : 0;
        if (value)
            edit_become(w->m, i, SpvOpCopyObject, &value, 1);
        else
            refuse_wide(w, i);
        break;
    }
    case SpvOpVectorExtractDynamic: {
        SpvId value = extract_dynamic(w, spv_operand(i, 0), spv_operand(i, 1));
        edit_become(w->m, i, SpvOpCopyObject, &value, 1);
        break;
    }
    default:
        if (is_wide(spv_type(w->m, i->type)))
            by_parts(w, i);
        else
            refuse_wide(w, i);
        break;
    }
}

static bool has_wide(Wide *w, const SpvInst *i)
{
    uint16_t at[256];
    uint32_t n = MIN(spv_id_operands(i, at, COUNT_OF(at)), COUNT_OF(at));
    bool wide = i->type && is_wide(spv_type(w->m, i->type));
    for (uint32_t k = 0; k < n && !wide; k++)
        wide = is_value_wide(w, i->words[at[k]]);
    return wide;
}

static void narrow_function(Wide *w, SpvFunction *f)
{
    w->phis.len = 0;
    w->at = f->first ? f->first->insts.first->next : NULL;
    while (w->at && w->at->op == SpvOpVariable)
        w->at = w->at->next;
    for (SpvInst *p = f->head.first; p && w->at; p = p->next) {
        Parts parts;
        if (p->op != SpvOpFunctionParameter || !is_wide(spv_type(w->m, p->type)))
            continue;
        argument_parts(w, p->id, &parts);
        define(w, p, parts);
    }
    SpvInst *first = w->at;
    for (SpvBlock *b = f->first; b && w->ok; b = b->next)
        for (SpvInst *i = b == f->first ? first : b->insts.first, *next; i && w->ok; i = next) {
            next = i->next;
            w->at = i;
            if (i->op == SpvOpUndef || !has_wide(w, i))
                continue;
            narrow_value(w, i);
            const SpvType *t = i->type ? spv_type(w->m, i->type) : NULL;
            if (i->op != SpvOpPhi && (!t || t->kind == SPV_VOID || is_wide(t)))
                spv_unlink(i); /* its definition still tells its type */
        }
    for (uint32_t k = 0; k < w->phis.len && w->ok; k++)
        close_phi(w, &w->phis.data[k]);
    for (uint32_t k = 0; k < w->phis.len; k++)
        spv_unlink(w->phis.data[k].old);
}

bool shader_narrow(Shader *s)
{
    Wide w = { .s = s, .m = s->m, .n = s->m->bound, .ok = true };
    w.of = NEW_ARRAY(s->a, Parts *, w.n);
    for (SpvFunction *f = s->m->functions; f && w.ok; f = f->next)
        narrow_function(&w, f);
    return w.ok;
}
