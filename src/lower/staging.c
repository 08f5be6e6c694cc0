/* SPDX-License-Identifier: MIT
 *
 * staging: workgroup memory that matrices go through, one array a component type and scope, with a
 * row for each subgroup. All that is staged shares it: who has read what others wrote waits for
 * them before it writes again.
 */
#include "lower/internal.h"

/* Until all have asked: a length that no other array has, which must not be shared with it. */
enum { LENGTH_OPEN = 0x7fff0000, ALIGNMENT = 16 };

static LowerStaging *find(Lower *l, SpvId element, uint32_t scope)
{
    for (uint32_t k = 0; k < l->staging.len; k++)
        if (l->staging.data[k].element == element && l->staging.data[k].scope == scope)
            return &l->staging.data[k];
    return NULL;
}

static SpvInst *declare(Lower *l, uint16_t op, SpvId type, const uint32_t *words, uint32_t n)
{
    SpvInst *i = spv_make(l->m, op, type, spv_new_id(l->m), words, n);
    spv_append_global(l->m, i);
    return i;
}

LowerStaging *staging_of(Lower *l, SpvId element, uint32_t scope, uint32_t count)
{
    LowerStaging *s = find(l, element, scope);
    if (!s) {
        uint32_t open = LENGTH_OPEN + l->staging.len;
        LowerStaging made = { .element = element, .scope = scope };
        made.rows = scope == SpvScopeWorkgroup ? 1 : l->subgroups;
        made.row = declare(l, SpvOpConstant, build_u32(l), &open, 1);
        made.all = declare(l, SpvOpTypeArray, 0, (uint32_t[]){ element, made.row->id }, 2);
        made.variable = place_variable(l, SpvStorageClassWorkgroup, made.all->id);
        vec_push(l->scratch, &l->staging, made);
        s = &vec_last(&l->staging);
        lower_uses(l, spv_type(l->m, element));
    }
    /* matrices begin at multiples of 16 bytes, in every subgroup's row */
    uint32_t size = (uint32_t)spv_type(l->m, element)->size, line = MAX(ALIGNMENT / size, 1);
    s->count = MAX(s->count, (count + line - 1) / line * line);
    return s;
}

SpvId staging_pointer(Lower *l, SpvInst *at, SpvId element, uint32_t scope, SpvId index)
{
    const LowerStaging *s = find(l, element, scope);
    SpvId type = spv_pointer_type(l->m, SpvStorageClassWorkgroup, element);
    if (s->rows > 1) {
        SpvId row = BUILD(l, at, SpvOpIMul, build_u32(l), place_subgroup(l, at), s->row->id);
        index = build_add(l, at, row, index);
    }
    return BUILD(l, at, SpvOpAccessChain, type, s->variable, index);
}

/* Of an access that barriers make available and visible to others (place_barrier). */
static uint32_t memory_operands(Lower *l, uint32_t *out)
{
    *out = SpvMemoryAccessNonPrivatePointerMask;
    return place_has_availability(l) ? 1 : 0;
}

SpvId staging_read(Lower *l, SpvInst *at, SpvId element, SpvId pointer)
{
    uint32_t x[2] = { pointer };
    uint32_t n = 1 + memory_operands(l, x + 1);
    return build(l, at, SpvOpLoad, element, x, n);
}

void staging_write(Lower *l, SpvInst *at, SpvId pointer, SpvId value)
{
    uint32_t x[3] = { pointer, value };
    uint32_t n = 2 + memory_operands(l, x + 2);
    build(l, at, SpvOpStore, 0, x, n);
}

SpvId staging_load(Lower *l, SpvInst *at, SpvId element, uint32_t scope, SpvId index)
{
    return staging_read(l, at, element, staging_pointer(l, at, element, scope, index));
}

void staging_store(Lower *l, SpvInst *at, uint32_t scope, SpvId index, SpvId value)
{
    SpvId element = spv_def(l->m, value)->type;
    staging_write(l, at, staging_pointer(l, at, element, scope, index), value);
}

void staging_put_lines(Lower *l, SpvInst *at, SpvId matrix, const LowerLines *lines)
{
    const SpvType *t = spv_type_of(l->m, matrix);
    uint32_t x[5] = { staging_pointer(l, at, t->element->id, lines->scope, lines->first), matrix,
                      build_const(l, lines->by_column), build_const(l, lines->stride) };
    uint32_t n = 4 + memory_operands(l, x + 4);
    build(l, at, SpvOpCooperativeMatrixStoreKHR, 0, x, n);
}

void staging_put_matrix(Lower *l, SpvInst *at, SpvId matrix, uint32_t first)
{
    const SpvType *t = spv_type_of(l->m, matrix);
    staging_of(l, t->element->id, t->scope, first + t->rows * t->cols);
    LowerLines x = { t->scope, build_const(l, first), false, t->cols, 0 };
    staging_put_lines(l, at, matrix, &x);
}

SpvId staging_get_matrix(Lower *l, SpvInst *at, const SpvType *t, uint32_t first)
{
    staging_of(l, t->element->id, t->scope, first + t->rows * t->cols);
    LowerLines x = { t->scope, build_const(l, first), false, t->cols, 0 };
    return staging_get_lines(l, at, t, &x);
}

SpvId staging_get_lines(Lower *l, SpvInst *at, const SpvType *t, const LowerLines *lines)
{
    SpvId element = lines->element ? lines->element : t->element->id;
    uint32_t x[4] = { staging_pointer(l, at, element, lines->scope, lines->first),
                      build_const(l, lines->by_column), build_const(l, lines->stride) };
    uint32_t n = 3 + memory_operands(l, x + 3);
    return build(l, at, SpvOpCooperativeMatrixLoadKHR, t->id, x, n);
}

static uint64_t bytes_of(Lower *l, SpvId element, uint64_t rows, uint64_t count)
{
    return align_up(lower_size(l, spv_type(l->m, element)) * rows * count, 4);
}

bool staging_has_room(Lower *l, SpvId element, uint32_t scope, uint64_t count)
{
    /* windows of matrices (window.c) are to come */
    uint64_t memory = l->profile->workgroup_memory, bytes = l->own_memory;
    if (l->profile->ownership == PROFILE_OPAQUE)
        memory -= memory / 4;
    const LowerStaging *own = find(l, element, scope);
    for (uint32_t k = 0; k < l->staging.len; k++) {
        const LowerStaging *s = &l->staging.data[k];
        bytes += bytes_of(l, s->element, s->rows, s == own ? MAX(count, s->count) : s->count);
    }
    if (!own)
        bytes += bytes_of(l, element, scope == SpvScopeWorkgroup ? 1 : l->subgroups, count);
    return bytes <= memory;
}

SpvId staging_apart(Lower *l, SpvId element, uint32_t count)
{
    uint64_t known;
    SpvId type = spv_array_type(l->m, element, build_const(l, count));
    if (map_get(&l->apart, type, &known))
        return (SpvId)known;
    uint64_t own = l->own_memory;
    if (l->frugal)
        return 0;
    l->own_memory += lower_size(l, spv_type(l->m, type));
    if (!staging_has_room(l, element, SpvScopeWorkgroup, 0)) {
        l->own_memory = own;
        return 0;
    }
    SpvId made = place_variable(l, SpvStorageClassWorkgroup, type);
    map_put(l->scratch, &l->apart, type, made);
    l->spends = true;
    return made;
}

uint64_t staging_taken(const Lower *l)
{
    uint64_t bytes = 0;
    for (const SpvInst *i = l->m->globals.first; i; i = i->next) {
        const SpvType *t = i->op == SpvOpVariable && spv_operand(i, 0) == SpvStorageClassWorkgroup
                               ? spv_type(l->m, i->type)
                               : NULL;
        bytes += t && t->element ? align_up(lower_size(l, t->element), 4) : 0;
    }
    return bytes;
}

void staging_settle(Lower *l)
{
    for (uint32_t k = 0; k < l->staging.len; k++) {
        const LowerStaging *s = &l->staging.data[k];
        uint32_t length = MAX(s->count, 1);
        s->row->words[s->row->first_operand] = length;
        s->all->words[s->all->first_operand + 1] = build_const(l, length * s->rows);
        if (l->report)
            vec_push(l->report->arena, &l->report->staging, s->variable);
    }
    spv_forget_types(l->m);
}

bool staging_close(Lower *l)
{
    uint64_t bytes = staging_taken(l);
    if (bytes <= l->profile->workgroup_memory)
        return true;
    l->failed = true;
    l->crowded = l->undealt || l->spends;
    if (l->crowded)
        return false;
    diag(l->sink, DIAG_ERROR, NULL, "maxComputeSharedMemorySize",
         "the kernel's matrices are staged in workgroup memory, which takes %llu bytes with its"
         " own, but '%s' has %u",
         (unsigned long long)bytes, l->profile->name, l->profile->workgroup_memory);
    return false;
}
