/* SPDX-License-Identifier: MIT
 *
 * profile: what a target has, from a JSON file (share/profiles/README.md says what it contains).
 * A member that is not known is an error: a feature that is misspelt would be lowered in silence.
 */
#include "lower/json.h"
#include "lower/lower.h"

typedef struct Reading {
    Arena *arena;
    const char *file;
    DiagSink *sink;
    bool failed;
} Reading;

typedef struct Word {
    const char *name;
    uint32_t value;
} Word;

/* clang-format off */
static const Word types[] = {
    { "f16", PROFILE_F16 }, { "f32", PROFILE_F32 }, { "f64", PROFILE_F64 },
    { "bf16", PROFILE_BF16 }, { "e4m3", PROFILE_E4M3 }, { "e5m2", PROFILE_E5M2 },
    { "s8", PROFILE_S8 }, { "s16", PROFILE_S16 }, { "s32", PROFILE_S32 }, { "s64", PROFILE_S64 },
    { "u8", PROFILE_U8 }, { "u16", PROFILE_U16 }, { "u32", PROFILE_U32 }, { "u64", PROFILE_U64 },
};
/* clang-format on */

/* clang-format off */
static const Word features[] = {
    { "float16", PROFILE_HAS_FLOAT16 }, { "float64", PROFILE_HAS_FLOAT64 },
    { "int8", PROFILE_HAS_INT8 }, { "int16", PROFILE_HAS_INT16 }, { "int64", PROFILE_HAS_INT64 },
    { "bfloat16", PROFILE_HAS_BFLOAT16 }, { "float8", PROFILE_HAS_FLOAT8 },
    { "cooperative_matrix2", PROFILE_HAS_NV2 }, { "tensor_addressing", PROFILE_HAS_TENSORS },
    { "cooperative_matrix_conversion", PROFILE_HAS_QCOM },
    { "multiple_wait_queues", PROFILE_HAS_WAIT_QUEUES }, { "unaligned", PROFILE_HAS_UNALIGNED },
    { "subgroup_shuffle", PROFILE_HAS_SHUFFLES }, { "lockstep", PROFILE_HAS_LOCKSTEP },
    { "in_order", PROFILE_HAS_ORDER },
    { "storage8", PROFILE_HAS_STORAGE8 }, { "storage16", PROFILE_HAS_STORAGE16 },
    { "bfloat16_dot", PROFILE_HAS_BFLOAT16_DOT }, { "slow_loads", PROFILE_HAS_SLOW_LOADS },
    { "slow_matrices", PROFILE_HAS_SLOW_MATRICES },
};
/* clang-format on */

static const Word owners[] = { { "opaque", PROFILE_OPAQUE },
                               { "linear", PROFILE_LINEAR },
                               { "tiles", PROFILE_TILES },
                               { "asked", PROFILE_ASKED } };
static const Word uses[] = { { "a", SpvCooperativeMatrixUseMatrixAKHR },
                             { "b", SpvCooperativeMatrixUseMatrixBKHR },
                             { "c", SpvCooperativeMatrixUseMatrixAccumulatorKHR } };
static const Word scopes[] = { { "subgroup", SpvScopeSubgroup },
                               { "workgroup", SpvScopeWorkgroup } };

static void refuse_field(Reading *r, const Json *j, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void refuse_field(Reading *r, const Json *j, const char *fmt, ...)
{
    DiagLoc loc = { .file = r->file, .line = j->line };
    va_list args;
    va_start(args, fmt);
    diag_v(r->sink, DIAG_ERROR, &loc, "share/profiles/README.md", fmt, args);
    va_end(args);
    r->failed = true;
}

static uint32_t word(Reading *r, const Json *j, const Word *words, uint32_t n, const char *what)
{
    for (uint32_t k = 0; j->kind == JSON_STRING && k < n; k++)
        if (!strcmp(words[k].name, j->string))
            return words[k].value;
    refuse_field(r, j, "'%s' is no %s", j->kind == JSON_STRING ? j->string : "this", what);
    return 0;
}

static const char *text(Reading *r, const Json *j)
{
    if (j->kind == JSON_STRING)
        return j->string;
    refuse_field(r, j, "'%s' is a string", j->name);
    return "";
}

static uint32_t number(Reading *r, const Json *j)
{
    if (j->kind == JSON_NUMBER && j->number <= UINT32_MAX)
        return (uint32_t)j->number;
    refuse_field(r, j, "'%s' is a number below 2^32", j->name);
    return 0;
}

/* ---- members --------------------------------------------------------------------------------- */

typedef void (*MemberFn)(Reading *r, void *to, const Json *j);
typedef struct Member {
    const char *name;
    MemberFn read;
    bool needed;
} Member;

static void object(Reading *r, const Json *j, const Member *members, uint32_t n, void *to)
{
    if (j->kind != JSON_OBJECT) {
        refuse_field(r, j, "an object is missing here");
        return;
    }
    for (const Json *m = j->first; m; m = m->next) {
        uint32_t k = 0;
        while (k < n && strcmp(members[k].name, m->name))
            k++;
        if (k < n)
            members[k].read(r, to, m);
        else
            refuse_field(r, m, "there is no member '%s' here", m->name);
    }
    for (uint32_t k = 0; k < n; k++)
        if (members[k].needed && !json_member(j, members[k].name))
            refuse_field(r, j, "the member '%s' is missing", members[k].name);
}

#define TYPE(member)                                                                               \
    static void shape_##member(Reading *r, void *to, const Json *j)                                \
    {                                                                                              \
        ((LowerShape *)to)->member = word(r, j, types, COUNT_OF(types), "component type");         \
    }
#define SIZE(member)                                                                               \
    static void shape_##member(Reading *r, void *to, const Json *j)                                \
    {                                                                                              \
        ((LowerShape *)to)->member = number(r, j);                                                 \
    }
TYPE(a)
TYPE(b)
TYPE(c)
TYPE(result)
SIZE(m)
SIZE(n)
SIZE(k)
SIZE(invocations)

static void shape_scope(Reading *r, void *to, const Json *j)
{
    ((LowerShape *)to)->scope = word(r, j, scopes, COUNT_OF(scopes), "scope");
}

#define TRUTH(member)                                                                              \
    static void shape_##member(Reading *r, void *to, const Json *j)                                \
    {                                                                                              \
        if (j->kind != JSON_BOOL)                                                                  \
            refuse_field(r, j, "'" #member "' is true or false");                                  \
        ((LowerShape *)to)->member = j->number != 0;                                               \
    }
TRUTH(saturating)
TRUTH(flexible)

/* clang-format off */
static const Member shape_members[] = {
    { "a", shape_a, true }, { "b", shape_b, true }, { "c", shape_c, true },
    { "result", shape_result, true }, { "m", shape_m, true }, { "n", shape_n, true },
    { "k", shape_k, true }, { "scope", shape_scope, false },
    { "saturating", shape_saturating, false }, { "flexible", shape_flexible, false },
    { "invocations", shape_invocations, false },
};
/* clang-format on */

/* ---- who holds what -------------------------------------------------------------------------- */

static void flips(Reading *r, const Json *j, uint8_t *to, uint32_t most)
{
    uint32_t n = 0;
    if (j->kind != JSON_ARRAY)
        refuse_field(r, j, "'%s' is an array", j->name);
    for (const Json *b = j->kind == JSON_ARRAY ? j->first : NULL; b; b = b->next, n++)
        if (n >= most || b->kind != JSON_NUMBER || b->number > UINT8_MAX)
            refuse_field(r, b, "'%s' has up to %u numbers below 256", j->name, most);
        else
            to[n] = (uint8_t)b->number;
}

#define FLIPS(member, side, most)                                                                  \
    static void owner_##member##_##side(Reading *r, void *to, const Json *j)                       \
    {                                                                                              \
        flips(r, j, ((LowerOwner *)to)->member[side], most);                                       \
    }
FLIPS(lanes, 0, OWNER_LANE_BITS)
FLIPS(lanes, 1, OWNER_LANE_BITS)
FLIPS(elements, 0, OWNER_ELEMENT_BITS)
FLIPS(elements, 1, OWNER_ELEMENT_BITS)

static void owner_type(Reading *r, void *to, const Json *j)
{
    ((LowerOwner *)to)->type = word(r, j, types, COUNT_OF(types), "component type");
}
static void owner_use(Reading *r, void *to, const Json *j)
{
    ((LowerOwner *)to)->use = word(r, j, uses, COUNT_OF(uses), "use");
}
static void owner_rows(Reading *r, void *to, const Json *j)
{
    ((LowerOwner *)to)->rows = number(r, j);
}
static void owner_cols(Reading *r, void *to, const Json *j)
{
    ((LowerOwner *)to)->cols = number(r, j);
}

/* clang-format off */
static const Member owner_members[] = {
    { "type", owner_type, true }, { "use", owner_use, true }, { "rows", owner_rows, true },
    { "columns", owner_cols, true }, { "lane_rows", owner_lanes_0, true },
    { "lane_columns", owner_lanes_1, true }, { "element_rows", owner_elements_0, true },
    { "element_columns", owner_elements_1, true },
};
/* clang-format on */

static void read_owners(Reading *r, void *to, const Json *j)
{
    VEC(LowerOwner) list = { 0 };
    if (j->kind != JSON_ARRAY)
        refuse_field(r, j, "'owners' is an array");
    for (const Json *s = j->kind == JSON_ARRAY ? j->first : NULL; s; s = s->next) {
        LowerOwner o = { 0 };
        object(r, s, owner_members, COUNT_OF(owner_members), &o);
        vec_push(r->arena, &list, o);
    }
    ((LowerProfile *)to)->owners = list.data;
    ((LowerProfile *)to)->n_owners = list.len;
}

/* Each element of the matrix once, which is what lowered kernels rely on. */
static bool is_whole(const LowerProfile *p, const LowerOwner *o)
{
    uint32_t most = OWNER_MOST, n = o->rows <= most && o->cols <= most ? o->rows * o->cols : 0;
    uint8_t seen[OWNER_MOST] = { 0 };
    uint32_t length = n / p->subgroup_size;
    if (!n || n > most || length * p->subgroup_size != n || !is_pow2(length) ||
        length > 1u << OWNER_ELEMENT_BITS)
        return false;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t at[2];
        owner_place(o, k / length, k % length, at);
        if (at[0] >= o->rows || at[1] >= o->cols || seen[at[0] * o->cols + at[1]]++)
            return false;
    }
    return true;
}

static void read_name(Reading *r, void *to, const Json *j)
{
    ((LowerProfile *)to)->name = text(r, j);
}
static void read_source(Reading *r, void *to, const Json *j)
{
    ((LowerProfile *)to)->source = text(r, j);
}

#define LIMIT(member)                                                                              \
    static void read_##member(Reading *r, void *to, const Json *j)                                 \
    {                                                                                              \
        ((LowerProfile *)to)->member = number(r, j);                                               \
    }
LIMIT(subgroup_size)
LIMIT(min_subgroup_size)
LIMIT(max_subgroup_size)
LIMIT(workgroup_memory)
LIMIT(workgroup_invocations)
LIMIT(flexible_dimension)

static void read_features(Reading *r, void *to, const Json *j)
{
    if (j->kind != JSON_ARRAY)
        refuse_field(r, j, "'features' is an array");
    for (const Json *f = j->kind == JSON_ARRAY ? j->first : NULL; f; f = f->next)
        ((LowerProfile *)to)->features |= word(r, f, features, COUNT_OF(features), "feature");
}

static void read_ownership(Reading *r, void *to, const Json *j)
{
    ((LowerProfile *)to)->ownership = word(r, j, owners, COUNT_OF(owners), "ownership");
}

static void read_shapes(Reading *r, void *to, const Json *j)
{
    VEC(LowerShape) list = { 0 };
    if (j->kind != JSON_ARRAY)
        refuse_field(r, j, "'shapes' is an array");
    for (const Json *s = j->kind == JSON_ARRAY ? j->first : NULL; s; s = s->next) {
        LowerShape shape = { .scope = SpvScopeSubgroup };
        object(r, s, shape_members, COUNT_OF(shape_members), &shape);
        vec_push(r->arena, &list, shape);
    }
    ((LowerProfile *)to)->shapes = list.data;
    ((LowerProfile *)to)->n_shapes = list.len;
}

/* clang-format off */
static const Member profile_members[] = {
    { "name", read_name, true },
    { "source", read_source, true },
    { "subgroup_size", read_subgroup_size, true },
    { "min_subgroup_size", read_min_subgroup_size, false },
    { "max_subgroup_size", read_max_subgroup_size, false },
    { "features", read_features, true },
    { "workgroup_memory", read_workgroup_memory, true },
    { "workgroup_invocations", read_workgroup_invocations, true },
    { "flexible_dimension", read_flexible_dimension, false },
    { "ownership", read_ownership, false },
    { "owners", read_owners, false },
    { "shapes", read_shapes, true },
};
/* clang-format on */

static bool is_size(uint32_t w) { return is_pow2(w) && w <= 128; }

const LowerProfile *profile_read(Arena *a, const char *source, size_t size, const char *name,
                                 DiagSink *sink)
{
    Reading r = { .arena = a, .file = name, .sink = sink };
    const Json *j = json_read(a, source, size, name, sink);
    LowerProfile *p = NEW(a, LowerProfile);
    if (!j)
        return NULL;
    object(&r, j, profile_members, COUNT_OF(profile_members), p);
    if (!p->min_subgroup_size)
        p->min_subgroup_size = p->subgroup_size;
    if (!p->max_subgroup_size)
        p->max_subgroup_size = p->subgroup_size;
    bool sizes = is_size(p->subgroup_size) && is_size(p->min_subgroup_size) &&
                 is_size(p->max_subgroup_size) && p->min_subgroup_size <= p->subgroup_size &&
                 p->subgroup_size <= p->max_subgroup_size;
    if (!r.failed && !sizes)
        refuse_field(&r, j, "a subgroup's sizes are powers of two up to 128, the smallest first");
    for (uint32_t k = 0; !r.failed && k < p->n_owners; k++)
        if (!is_whole(p, &p->owners[k]))
            refuse_field(&r, j, "the invocations of 'owners' %u do not hold each element once", k);
    return r.failed ? NULL : p;
}

/* ---- writing --------------------------------------------------------------------------------- */

static const char *name_of(const Word *words, uint32_t n, uint32_t value)
{
    for (uint32_t k = 0; k < n; k++)
        if (words[k].value == value)
            return words[k].name;
    return "";
}

/* A string of JSON. */
static void write_text(Arena *a, Str *s, const char *member, const char *value)
{
    str_printf(a, s, "  \"%s\": \"", member);
    for (const char *c = value; *c; c++)
        if (*c == '"' || *c == '\\')
            str_printf(a, s, "\\%c", *c);
        else if ((unsigned char)*c >= ' ')
            str_addn(a, s, c, 1);
    str_add(a, s, "\",\n");
}

static void write_shape(Arena *a, Str *s, const LowerShape *p)
{
    const struct {
        const char *name;
        LowerType type;
    } operands[] = { { "a", p->a }, { "b", p->b }, { "c", p->c }, { "result", p->result } };
    str_add(a, s, "    {");
    for (size_t k = 0; k < COUNT_OF(operands); k++)
        str_printf(a, s, "\"%s\": \"%s\", ", operands[k].name,
                   name_of(types, COUNT_OF(types), operands[k].type));
    str_printf(a, s, "\"m\": %u, \"n\": %u, \"k\": %u", p->m, p->n, p->k);
    if (p->scope != SpvScopeSubgroup)
        str_printf(a, s, ", \"scope\": \"%s\"", name_of(scopes, COUNT_OF(scopes), p->scope));
    if (p->flexible)
        str_add(a, s, ", \"flexible\": true");
    if (p->invocations)
        str_printf(a, s, ", \"invocations\": %u", p->invocations);
    str_add(a, s, p->saturating ? ", \"saturating\": true}" : "}");
}

static void write_flips(Arena *a, Str *s, const char *member, const uint8_t *by, uint32_t n)
{
    str_printf(a, s, ", \"%s\": [", member);
    for (uint32_t k = 0; k < n; k++)
        str_printf(a, s, k ? ", %u" : "%u", by[k]);
    str_add(a, s, "]");
}

static void write_owner(Arena *a, Str *s, const LowerOwner *o)
{
    str_printf(a, s, "    {\"type\": \"%s\", \"use\": \"%s\", \"rows\": %u, \"columns\": %u",
               name_of(types, COUNT_OF(types), o->type), name_of(uses, COUNT_OF(uses), o->use),
               o->rows, o->cols);
    write_flips(a, s, "lane_rows", o->lanes[0], OWNER_LANE_BITS);
    write_flips(a, s, "lane_columns", o->lanes[1], OWNER_LANE_BITS);
    write_flips(a, s, "element_rows", o->elements[0], OWNER_ELEMENT_BITS);
    write_flips(a, s, "element_columns", o->elements[1], OWNER_ELEMENT_BITS);
    str_add(a, s, "}");
}

const char *profile_write(Arena *a, const LowerProfile *p)
{
    const struct {
        const char *name;
        uint32_t value;
    } limits[] = {
        { "subgroup_size", p->subgroup_size },
        { "min_subgroup_size", p->min_subgroup_size },
        { "max_subgroup_size", p->max_subgroup_size },
        { "workgroup_memory", p->workgroup_memory },
        { "workgroup_invocations", p->workgroup_invocations },
        { "flexible_dimension", p->flexible_dimension },
    };
    Str s = { 0 };
    const char *between = "";
    str_add(a, &s, "{\n");
    write_text(a, &s, "name", p->name);
    write_text(a, &s, "source", p->source);
    for (size_t k = 0; k < COUNT_OF(limits); k++)
        str_printf(a, &s, "  \"%s\": %u,\n", limits[k].name, limits[k].value);
    str_add(a, &s, "  \"features\": [");
    for (size_t k = 0; k < COUNT_OF(features); k++) {
        if (!(p->features & features[k].value))
            continue;
        str_printf(a, &s, "%s\"%s\"", between, features[k].name);
        between = ", ";
    }
    str_add(a, &s, "],\n");
    write_text(a, &s, "ownership", name_of(owners, COUNT_OF(owners), p->ownership));
    for (uint32_t k = 0; k < p->n_owners; k++) {
        str_add(a, &s, k ? ",\n" : "  \"owners\": [\n");
        write_owner(a, &s, &p->owners[k]);
    }
    str_add(a, &s, p->n_owners ? "\n  ],\n" : "");
    str_add(a, &s, "  \"shapes\": [");
    for (uint32_t k = 0; k < p->n_shapes; k++) {
        str_add(a, &s, k ? ",\n" : "\n");
        write_shape(a, &s, &p->shapes[k]);
    }
    str_add(a, &s, p->n_shapes ? "\n  ]\n}\n" : "]\n}\n");
    return s.data;
}
