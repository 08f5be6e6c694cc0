/* SPDX-License-Identifier: MIT
 *
 * Types, which are interned so that equal types are one object, and their sizes, layouts and names.
 *
 * The layout is that of OpenCL C 3.0, 6.3.5 and of the SPIR-V target: a vector is as large and
 * aligned as the next power of two of its lanes, pointers have 64 bits, bit-fields are laid out as
 * the System V ABI says.
 */
#include "front/opencl/internal.h"

static const struct {
    const char *name;
    uint8_t size;
} basics[N_BASIC_TYPES] = {
    { "void", 0 },   { "bool", 1 },  { "char", 1 },   { "uchar", 1 },   { "short", 2 },
    { "ushort", 2 }, { "int", 4 },   { "uint", 4 },   { "long", 8 },    { "ulong", 8 },
    { "half", 2 },   { "float", 4 }, { "double", 8 }, { "event_t", 8 },
};

/* ---- interning ------------------------------------------------------------------------------- */

static uint64_t hash(const OclType *t)
{
    const uint64_t key[] = { t->kind | (uint64_t)t->quals << 8 | (uint64_t)t->space << 16 |
                                 (uint64_t)t->use << 24 | (uint64_t)t->variadic << 32,
                             t->rows | (uint64_t)t->columns << 32, (uintptr_t)t->base, t->n,
                             (uintptr_t)t->record };
    uint64_t h = hash_bytes(key, sizeof key, t->n_params);
    return t->n_params ? hash_bytes(t->params, t->n_params * sizeof *t->params, h) : h;
}

static bool same(const OclType *a, const OclType *b)
{
    return a->kind == b->kind && a->quals == b->quals && a->space == b->space && a->use == b->use &&
           a->variadic == b->variadic && a->rows == b->rows && a->columns == b->columns &&
           a->base == b->base && a->n == b->n && a->record == b->record &&
           a->n_params == b->n_params &&
           (!a->n_params || !memcmp(a->params, b->params, a->n_params * sizeof *a->params));
}

static void grow(Ocl *o)
{
    uint32_t cap = o->cap_types ? o->cap_types * 2 : 256;
    OclType **table = NEW_ARRAY(o->arena, OclType *, cap);
    for (uint32_t i = 0; i < o->cap_types; i++) {
        for (OclType *t = o->types[i], *next; t; t = next) {
            next = t->next;
            OclType **at = &table[hash(t) & (cap - 1)];
            t->next = *at;
            *at = t;
        }
    }
    o->types = table;
    o->cap_types = cap;
}

static OclType *intern(Ocl *o, const OclType *key)
{
    if (o->n_types >= o->cap_types)
        grow(o);
    OclType **at = &o->types[hash(key) & (o->cap_types - 1)];
    for (OclType *t = *at; t; t = t->next) {
        if (same(t, key))
            return t;
    }
    OclType *t = NEW(o->arena, OclType);
    *t = *key;
    t->llvm = NULL;
    if (t->n_params)
        t->params = arena_copy(o->arena, key->params, key->n_params * sizeof *key->params);
    t->next = *at;
    *at = t;
    o->n_types++;
    OclType plain = *t;
    plain.quals = plain.space = 0;
    t->plain = t->quals || t->space ? intern(o, &plain) : t;
    return t;
}

void ocl_types_start(Ocl *o)
{
    for (int i = 0; i < N_BASIC_TYPES; i++) {
        OclType t = { .kind = (OclTypeKind)i,
                      .size = basics[i].size,
                      .align = MAX(basics[i].size, 1) };
        o->basic[i] = intern(o, &t);
    }
    o->size_type = o->basic[TY_ULONG];
}

OclType *ocl_vector(Ocl *o, OclType *element, uint32_t n)
{
    uint64_t size = element->size * (n == 3 ? 4 : n);
    OclType t = { .kind = TY_VECTOR,
                  .base = element->plain,
                  .n = n,
                  .size = size,
                  .align = (uint32_t)size };
    return intern(o, &t);
}

OclType *ocl_lanes(Ocl *o, OclType *element, uint64_t n)
{
    return n == 1 ? element->plain : ocl_vector(o, element, (uint32_t)n);
}

OclType *ocl_pointer(Ocl *o, OclType *pointee)
{
    OclType t = { .kind = TY_POINTER, .base = pointee, .size = 8, .align = 8 };
    return intern(o, &t);
}

/* An array's elements carry its qualifiers and address space, and so does the array. */
OclType *ocl_array(Ocl *o, OclType *element, uint64_t n)
{
    OclType t = { .kind = TY_ARRAY,
                  .base = element,
                  .n = n,
                  .quals = element->quals,
                  .space = element->space,
                  .align = element->align };
    t.size = n == UNKNOWN_LENGTH ? 0 : element->size * n;
    if (n != UNKNOWN_LENGTH && element->size && n > (UINT64_C(1) << 40) / element->size)
        t.size = UINT64_C(1) << 40;
    return intern(o, &t);
}

OclType *ocl_matrix(Ocl *o, OclType *component, uint32_t rows, uint32_t columns, uint8_t use)
{
    OclType t = { .kind = TY_MATRIX,
                  .base = component->plain,
                  .rows = rows,
                  .columns = columns,
                  .use = use,
                  .scope = SCOPE_SUBGROUP,
                  .size = 8,
                  .align = 8 };
    return intern(o, &t);
}

OclType *ocl_function(Ocl *o, OclType *result, OclType **params, uint32_t n, bool variadic)
{
    OclType t = { .kind = TY_FUNCTION,
                  .base = result,
                  .params = params,
                  .n_params = n,
                  .variadic = variadic,
                  .align = 1 };
    return intern(o, &t);
}

OclType *ocl_record_type(Ocl *o, OclRecord *r)
{
    OclType t = { .kind = TY_RECORD, .record = r, .align = 1 };
    OclType *found = intern(o, &t);
    found->size = r->size;
    found->align = MAX(r->align, 1);
    return found;
}

OclType *ocl_qualified(Ocl *o, OclType *t, uint8_t quals, OclSpace space)
{
    if (is_array(t)) {
        OclType *element = ocl_qualified(o, t->base, quals, space);
        return ocl_array(o, element, t->n);
    }
    OclType key = *t->plain;
    key.quals = quals;
    key.space = (uint8_t)space;
    if (is_record(t)) {
        key.size = t->record->size;
        key.align = MAX(t->record->align, 1);
    }
    OclType *q = intern(o, &key);
    if (is_record(q)) { /* perhaps completed since it was made */
        q->size = key.size;
        q->align = key.align;
    }
    return q;
}

OclType *ocl_add_quals(Ocl *o, OclType *t, uint8_t quals)
{
    return ocl_qualified(o, t, t->quals | quals, t->space);
}

OclType *ocl_in_space(Ocl *o, OclType *t, OclSpace space)
{
    return ocl_qualified(o, t, t->quals, space);
}

OclType *ocl_sized_int(Ocl *o, uint64_t size, bool is_signed)
{
    OclTypeKind k = size == 1 ? TY_CHAR : size == 2 ? TY_SHORT : size == 4 ? TY_INT : TY_LONG;
    return o->basic[is_signed ? k : k + 1];
}

/* ---- what they are --------------------------------------------------------------------------- */

bool ocl_has_matrix(const OclType *t)
{
    while (is_array(t))
        t = t->base;
    return is_matrix(t) || (is_record(t) && t->record->has_matrix);
}

bool ocl_is_complete(const OclType *t)
{
    while (is_array(t)) {
        if (t->n == UNKNOWN_LENGTH)
            return false;
        t = t->base;
    }
    return !is_void(t) && t->kind != TY_FUNCTION && !(is_record(t) && !t->record->complete);
}

/* ---- layout ---------------------------------------------------------------------------------- */

uint64_t ocl_size_of(const OclType *t)
{
    if (is_array(t))
        return t->n == UNKNOWN_LENGTH ? 0 : ocl_size_of(t->base) * t->n;
    return is_record(t) ? t->record->size : t->size;
}

/* A bit-field goes to the next bits, unless it would then cross the bounds of its type. */
static void place_bits(OclRecord *r, OclMember *m, uint64_t *bit)
{
    uint64_t unit = m->type->size * 8, align = r->packed ? 8 : unit;
    if (!m->width)
        *bit = align_up(*bit, unit);
    else if (!r->packed && *bit / unit != (*bit + m->width - 1) / unit)
        *bit = align_up(*bit, unit);
    uint64_t start = *bit / align * align;
    m->offset = start / 8;
    m->bit = (uint16_t)(*bit - start);
    m->packed = r->packed;
    *bit += m->width;
}

bool ocl_lay_out(Ocl *o, OclRecord *r, uint32_t align)
{
    uint64_t bit = 0, end = 0;
    (void)o;
    r->align = 1;
    for (uint32_t i = 0; i < r->members.len; i++) {
        OclMember *m = &r->members.data[i];
        uint32_t a = r->packed ? 1 : MAX(m->type->align, 1);
        if (r->is_union)
            bit = 0;
        if (m->bit_field) {
            r->flat = true;
            place_bits(r, m, &bit);
            if (m->name)
                r->align = MAX(r->align, a);
        } else {
            bit = align_up(align_up(bit, 8), (uint64_t)a * 8);
            m->offset = bit / 8;
            bit += ocl_size_of(m->type) * 8;
            r->align = MAX(r->align, a);
        }
        end = MAX(end, bit);
        r->has_matrix |= ocl_has_matrix(m->type);
        if (end > UINT64_C(1) << 43)
            return false;
    }
    r->align = MAX(r->align, align);
    r->flat |= r->is_union || r->packed;
    r->size = align_up(align_up(end, 8) / 8, r->align);
    r->complete = true;
    return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void add_quals(Ocl *o, Str *s, const OclType *t)
{
    static const char *const spaces[] = { "", "__global ", "__constant ", "__local ", "" };
    str_add(o->arena, s, spaces[t->space]);
    if (t->quals & Q_CONST)
        str_add(o->arena, s, "const ");
    if (t->quals & Q_VOLATILE)
        str_add(o->arena, s, "volatile ");
    if (t->quals & Q_ATOMIC)
        str_add(o->arena, s, "_Atomic ");
}

static void add_matrix(Ocl *o, Str *s, const OclType *t)
{
    static const char *const uses[] = { "A", "B", "accumulator" };
    str_printf(o->arena, s, "coop_mat<%s, %ux%u, %s>", basics[t->base->kind].name, t->rows,
               t->columns, uses[t->use]);
}

static void add_name(Ocl *o, Str *s, const OclType *t, int depth)
{
    if (depth > 40) {
        str_add(o->arena, s, "...");
        return;
    }
    if (!is_array(t))
        add_quals(o, s, t);
    switch (t->kind) {
    case TY_VECTOR:
        str_printf(o->arena, s, "%s%u", basics[t->base->kind].name, (unsigned)t->n);
        break;
    case TY_POINTER:
        add_name(o, s, t->base, depth + 1);
        str_add(o->arena, s, is_pointer(t->base) ? "*" : " *");
        if (t->quals & Q_RESTRICT)
            str_add(o->arena, s, "restrict");
        break;
    case TY_ARRAY:
        add_name(o, s, t->base, depth + 1);
        if (t->n == UNKNOWN_LENGTH)
            str_add(o->arena, s, "[]");
        else
            str_printf(o->arena, s, "[%llu]", (unsigned long long)t->n);
        break;
    case TY_RECORD:
        str_printf(o->arena, s, "%s %s", t->record->is_union ? "union" : "struct",
                   t->record->name ? t->record->name : "(unnamed)");
        break;
    case TY_FUNCTION:
        add_name(o, s, t->base, depth + 1);
        str_add(o->arena, s, " (");
        for (uint32_t i = 0; i < t->n_params; i++) {
            str_add(o->arena, s, i ? ", " : "");
            add_name(o, s, t->params[i], depth + 1);
        }
        str_add(o->arena, s, t->variadic ? ", ...)" : ")");
        break;
    case TY_MATRIX: add_matrix(o, s, t); break;
    default: str_add(o->arena, s, basics[t->kind].name);
    }
}

const char *ocl_type_name(Ocl *o, const OclType *t)
{
    Str s = { 0 };
    if (!t)
        return "a matrix of unknown type";
    add_name(o, &s, t, 0);
    return s.data;
}

const char *ocl_space_name(OclSpace space)
{
    static const char *const names[] = { "__private", "__global", "__constant", "__local",
                                         "__generic" };
    return names[space];
}
