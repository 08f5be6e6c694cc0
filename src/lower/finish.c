/* SPDX-License-Identifier: MIT
 *
 * finish: the preamble fits what is left. In: a lowered module, whose declarations may come before
 * what they name. Out: declarations in order (SPIR-V 2.4), the capabilities that lowering brought,
 * and none of those, with their extensions, that nothing needs any more.
 */
#include "lower/internal.h"

/* ---- capabilities ---------------------------------------------------------------------------- */

/* Those that lowering may take the need for away. */
static const struct {
    uint32_t capability;
    const char *extension;
} family[] = {
    { SpvCapabilityCooperativeMatrixConversionsNV, "SPV_NV_cooperative_matrix2" },
    { SpvCapabilityLongVectorEXT, "SPV_EXT_long_vector" },
    { SpvCapabilityCooperativeMatrixKHR, "SPV_KHR_cooperative_matrix" },
    { SpvCapabilityCooperativeMatrixNV, "SPV_NV_cooperative_matrix" },
    { SpvCapabilityCooperativeMatrixConversionsEXT, "SPV_EXT_cooperative_matrix_maintenance1" },
    { SpvCapabilityCooperativeMatrixReductionsNV, "SPV_NV_cooperative_matrix2" },
    { SpvCapabilityCooperativeMatrixPerElementOperationsNV, "SPV_NV_cooperative_matrix2" },
    { SpvCapabilityCooperativeMatrixTensorAddressingNV, "SPV_NV_cooperative_matrix2" },
    { SpvCapabilityCooperativeMatrixBlockLoadsNV, "SPV_NV_cooperative_matrix2" },
    { SpvCapabilityTensorAddressingNV, "SPV_NV_tensor_addressing" },
    { SpvCapabilityCooperativeMatrixDecodeVectorNV, "SPV_NV_cooperative_matrix_decode_vector" },
    { SpvCapabilityCooperativeMatrixConversionQCOM, "SPV_QCOM_cooperative_matrix_conversion" },
    { SpvCapabilityBFloat16TypeKHR, "SPV_KHR_bfloat16" },
    { SpvCapabilityFloat8EXT, "SPV_EXT_float8" },
    { SpvCapabilityBFloat16DotProductKHR, NULL },
    { SpvCapabilityBFloat16CooperativeMatrixKHR, NULL },
    { SpvCapabilityFloat8CooperativeMatrixEXT, NULL },
};

enum { N_FAMILY = COUNT_OF(family), CONVERSIONS = 0, LONG_VECTORS = 1, DOTS = N_FAMILY - 3 };

typedef struct Needs {
    Lower *l;
    uint32_t family;   /* bits: a row of the table */
    uint32_t features; /* PROFILE_HAS_*: types of the functions' values */
    bool subgroup_builtin, barrier_scope;
} Needs;

static void need(Needs *n, const uint16_t *capabilities, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t f = 0; f < N_FAMILY; f++)
            if (family[f].capability == capabilities[k])
                n->family |= 1u << f;
}

/* Conversions between types may change the use as well (SPV_NV_cooperative_matrix2, "Conversion
 * Instructions"). */
static bool changes_use(SpvModule *m, const SpvInst *i)
{
    const SpvType *to = i->type ? spv_type(m, i->type) : NULL;
    if (!to || to->kind != SPV_COOPMAT || i->op < SpvOpConvertFToU || i->op > SpvOpBitcast)
        return false;
    const SpvType *from = spv_type_of(m, spv_operand(i, 0));
    return from && from->kind == SPV_COOPMAT && from->use != to->use;
}

static bool need_inst(void *user, SpvInst *i)
{
    Needs *n = user;
    const SpvOpInfo *info = spv_op_info(i->op);
    SpvOperand o;
    if (i->op == SpvOpCapability || !info)
        return true;
    need(n, info->capabilities, info->n_capabilities);
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
        uint32_t count;
        const SpvEnumerant *e = spv_enumerants(o.kind, &count);
        for (uint32_t k = 0; e && !o.is_id && k < count; k++) {
            bool has = spv_kind_is_mask(o.kind) ? e[k].value & i->words[o.word]
                                                : e[k].value == i->words[o.word];
            if (has)
                need(n, e[k].capabilities, e[k].n_capabilities);
        }
    }
    if (changes_use(n->l->m, i))
        n->family |= 1u << CONVERSIONS;
    if (i->op == SpvOpDot && spv_type(n->l->m, i->type)->format == SPV_BF16)
        n->family |= 1u << DOTS;
    if (i->op == SpvOpTypeVector && spv_operand(i, 1) > 4)
        n->family |= 1u << LONG_VECTORS;
    if (i->op == SpvOpTypeCooperativeMatrixKHR) {
        const SpvType *t = spv_type(n->l->m, i->id);
        uint32_t f = t->element->format == SPV_BF16 ? N_FAMILY - 2 : N_FAMILY - 1;
        if (t->element->kind == SPV_FLOAT && t->element->format != SPV_IEEE)
            n->family |= 1u << f;
    }
    return true;
}

static bool is_needed(const Needs *n, const char *extension)
{
    for (uint32_t f = 0; f < N_FAMILY; f++)
        if (family[f].extension && !strcmp(family[f].extension, extension) && n->family >> f & 1)
            return true;
    return false;
}

static void drop_extensions(Lower *l, const Needs *n)
{
    for (SpvInst *i = l->m->globals.first, *next; i; i = next) {
        next = i->next;
        const char *name = i->op == SpvOpExtension ? spv_string(i, 0, NULL) : NULL;
        bool known = false;
        for (uint32_t f = 0; name && f < N_FAMILY; f++)
            known |= family[f].extension && !strcmp(family[f].extension, name);
        if (known && !is_needed(n, name))
            edit_remove(l->m, i);
    }
}

static void declare(Lower *l)
{
    static const struct {
        uint32_t feature, capability;
    } types[] = {
        { PROFILE_HAS_FLOAT16, SpvCapabilityFloat16 },
        { PROFILE_HAS_FLOAT64, SpvCapabilityFloat64 },
        { PROFILE_HAS_INT8, SpvCapabilityInt8 },
        { PROFILE_HAS_INT16, SpvCapabilityInt16 },
        { PROFILE_HAS_INT64, SpvCapabilityInt64 },
        { PROFILE_HAS_BFLOAT16, SpvCapabilityBFloat16TypeKHR },
        { PROFILE_HAS_FLOAT8, SpvCapabilityFloat8EXT },
    };
    Needs n = { .l = l };
    spv_each_inst(l->m, need_inst, &n);
    for (uint32_t f = 0; f < N_FAMILY; f++) {
        SpvInst *c = n.family >> f & 1 ? NULL : edit_find_capability(l->m, family[f].capability);
        if (c)
            edit_remove(l->m, c);
    }
    drop_extensions(l, &n);
    for (uint32_t k = 0; k < COUNT_OF(types); k++)
        if (l->types_used & types[k].feature)
            edit_capability(l->m, types[k].capability);
    if (l->asks_lane || l->shuffles)
        edit_capability(l->m, SpvCapabilityGroupNonUniform);
    if (l->shuffles)
        edit_capability(l->m, SpvCapabilityGroupNonUniformShuffle);
}

/* ---- order ----------------------------------------------------------------------------------- */

typedef struct Order {
    Lower *l;
    SpvInst *last;      /* what is in order already ends with it */
    uint8_t *placed;    /* by id: 1 on the way, 2 there */
    uint8_t *announced; /* by id: OpTypeForwardPointer */
    uint8_t *waits;     /* by id: is one of those that are put into order */
} Order;

static void place(Order *o, SpvInst *i)
{
    if (i->id && o->placed[i->id])
        return;
    if (i->id)
        o->placed[i->id] = 1;
    uint16_t *at = NEW_ARRAY(o->l->scratch, uint16_t, i->n_words + 1);
    uint32_t n = i->op == SpvOpTypeForwardPointer ? 0 : spv_id_operands(i, at, i->n_words);
    for (uint32_t k = 0; k <= n; k++) {
        SpvId id = k < n ? i->words[at[k]] : i->type;
        SpvInst *def = id ? spv_def(o->l->m, id) : NULL;
        if (def && o->waits[id] && !o->announced[id])
            place(o, def);
    }
    spv_insert_after(o->last, i);
    o->last = i;
    if (i->id)
        o->placed[i->id] = 2;
}

static bool is_declaration(const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    return (info && info->flags & (SPV_OPF_TYPE | SPV_OPF_CONSTANT)) || i->op == SpvOpVariable ||
           i->op == SpvOpTypeForwardPointer;
}

/* ---- declarations that nothing uses ---------------------------------------------------------- */

typedef struct Using {
    SpvModule *m;
    uint8_t *used; /* by id */
} Using;

static bool is_type_or_constant(const SpvInst *i)
{
    return is_declaration(i) && i->op != SpvOpVariable;
}

static void use_operands(Using *u, SpvInst *i);

static void use(void *user, SpvId *id)
{
    Using *u = user;
    SpvInst *def = spv_def(u->m, *id);
    if (!def || u->used[*id])
        return;
    u->used[*id] = 1;
    if (is_type_or_constant(def))
        use_operands(u, def);
}

static void use_operands(Using *u, SpvInst *i)
{
    if (i->type)
        use(u, &i->type);
    spv_each_id(i, use, u);
}

static bool use_root(void *user, SpvInst *i)
{
    Using *u = user;
    const SpvOpInfo *info = spv_op_info(i->op);
    bool named = info && info->flags & (SPV_OPF_DEBUG | SPV_OPF_ANNOTATION);
    if (i->op == SpvOpDecorate && spv_operand(i, 1) == SpvDecorationBuiltIn)
        use(u, &i->words[i->first_operand]); /* WorkgroupSize is a constant */
    else if (i->block || (!named && !is_type_or_constant(i)) || i->op == SpvOpDecorateId)
        use_operands(u, i);
    return true;
}

/* Types, that is, which would want capabilities. */
static void drop_unused(Lower *l)
{
    Using u = { .m = l->m, .used = NEW_ARRAY(l->scratch, uint8_t, l->m->bound) };
    spv_each_inst(l->m, use_root, &u);
    for (SpvInst *i = l->m->globals.first, *next; i; i = next) {
        next = i->next;
        SpvId id = i->op == SpvOpTypeForwardPointer ? spv_operand(i, 0) : i->id;
        if (is_type_or_constant(i) && !u.used[id])
            edit_remove(l->m, i);
    }
}

static void put_in_order(Lower *l)
{
    SpvModule *m = l->m;
    Order o = { .l = l,
                .placed = NEW_ARRAY(l->scratch, uint8_t, m->bound),
                .announced = NEW_ARRAY(l->scratch, uint8_t, m->bound),
                .waits = NEW_ARRAY(l->scratch, uint8_t, m->bound) };
    VEC(SpvInst *) list = { 0 };
    SpvInst *i = m->globals.first;
    while (i && !is_declaration(i))
        i = i->next;
    o.last = i ? i->prev : NULL;
    for (SpvInst *next; i; i = next) {
        next = i->next;
        vec_push(l->scratch, &list, i);
        if (i->id)
            o.waits[i->id] = 1;
        if (i->op == SpvOpTypeForwardPointer)
            o.announced[spv_operand(i, 0)] = 1;
        spv_unlink(i);
    }
    for (uint32_t k = 0; k < list.len; k++)
        place(&o, list.data[k]);
}

void lower_finish(Lower *l)
{
    drop_unused(l);
    edit_sweep(l->m, l->scratch);
    declare(l);
    put_in_order(l);
    spv_forget_types(l->m);
}
