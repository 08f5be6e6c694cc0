/* SPDX-License-Identifier: MIT
 *
 * Element types, the matrix shapes that a device reports, and who holds which element of a
 * subgroup's matrix.
 */
#include "runtime/internal.h"

static const struct {
    const char *name, *numpy, *other;
    uint8_t size;
} types[HEDDLE_N_TYPES] = {
    [HEDDLE_NO_TYPE] = { "none", "", "", 0 },
    [HEDDLE_F16] = { "f16", "float16", "half", 2 },
    [HEDDLE_F32] = { "f32", "float32", "float", 4 },
    [HEDDLE_F64] = { "f64", "float64", "double", 8 },
    [HEDDLE_BF16] = { "bf16", "bfloat16", "", 2 },
    [HEDDLE_E4M3] = { "e4m3", "float8_e4m3fn", "e4m3fn", 1 },
    [HEDDLE_E5M2] = { "e5m2", "float8_e5m2", "", 1 },
    [HEDDLE_S8] = { "s8", "int8", "i8", 1 },
    [HEDDLE_S16] = { "s16", "int16", "i16", 2 },
    [HEDDLE_S32] = { "s32", "int32", "i32", 4 },
    [HEDDLE_S64] = { "s64", "int64", "i64", 8 },
    [HEDDLE_U8] = { "u8", "uint8", "", 1 },
    [HEDDLE_U16] = { "u16", "uint16", "", 2 },
    [HEDDLE_U32] = { "u32", "uint32", "", 4 },
    [HEDDLE_U64] = { "u64", "uint64", "", 8 },
    [HEDDLE_BOOL] = { "bool", "bool_", "", 1 },
};

const char *heddle_type_name(HeddleType type)
{
    return types[(unsigned)type < HEDDLE_N_TYPES ? type : HEDDLE_NO_TYPE].name;
}

size_t heddle_type_size(HeddleType type)
{
    return (unsigned)type < HEDDLE_N_TYPES ? types[type].size : 0;
}

HeddleType heddle_type_from_name(const char *name)
{
    if (!name || !*name)
        return HEDDLE_NO_TYPE;
    for (unsigned t = 1; t < HEDDLE_N_TYPES; t++) {
        if (!strcmp(name, types[t].name) || !strcmp(name, types[t].numpy) ||
            !strcmp(name, types[t].other)) {
            return (HeddleType)t;
        }
    }
    return HEDDLE_NO_TYPE;
}

static HeddleType float_type(const SpvType *t)
{
    if (t->bits == 16)
        return t->format == SPV_BF16 ? HEDDLE_BF16 : HEDDLE_F16;
    if (t->bits == 8 && t->format == SPV_E4M3)
        return HEDDLE_E4M3;
    if (t->bits == 8 && t->format == SPV_E5M2)
        return HEDDLE_E5M2;
    return t->bits == 32 ? HEDDLE_F32 : t->bits == 64 ? HEDDLE_F64 : HEDDLE_NO_TYPE;
}

HeddleType type_of_spv(const SpvType *t)
{
    if (!t)
        return HEDDLE_NO_TYPE;
    if (t->kind == SPV_BOOL)
        return HEDDLE_BOOL;
    if (t->kind == SPV_FLOAT)
        return float_type(t);
    if (t->kind != SPV_INT)
        return HEDDLE_NO_TYPE;
    switch (t->bits) {
    case 8: return t->is_signed ? HEDDLE_S8 : HEDDLE_U8;
    case 16: return t->is_signed ? HEDDLE_S16 : HEDDLE_U16;
    case 32: return t->is_signed ? HEDDLE_S32 : HEDDLE_U32;
    case 64: return t->is_signed ? HEDDLE_S64 : HEDDLE_U64;
    default: return HEDDLE_NO_TYPE;
    }
}

_Static_assert(HEDDLE_MATRIX_MOST == (int)SPV_MATRIX_MOST, "one limit for all");

/* ---- shapes ---------------------------------------------------------------------------------- */

const HeddleFlexibleShape *heddle_flexible_shapes(const HeddleDevice *device, size_t *count)
{
    const DeviceInfo *own = device ? &device->base->info : NULL;
    bool all = !own || !own->flexible_shapes;
    if (all)
        return device_flexible_shapes(count);
    *count = own->n_flexible_shapes;
    return own->flexible_shapes;
}

const HeddleMatrixShape *heddle_matrix_shapes(const HeddleDevice *device, size_t *count)
{
    const DeviceInfo *own = device ? &device->base->info : NULL;
    bool all = !own || !own->shapes;
    if (all)
        return device_shapes(count);
    *count = own->n_shapes;
    return own->shapes;
}

/* ---- ownership ------------------------------------------------------------------------------- */

/* False: there is none, or it is empty. */
static bool read_layout(const HeddleMatrixLayout *given, HeddleMatrixLayout *m)
{
    return given && sized_read(&sized_matrix_layout, given, m, NULL) && m->rows && m->columns &&
           m->subgroup_size;
}

/* Element e of lane l is element e * W + l of the row-major matrix, unless the device says else. */
static bool position(const HeddleDevice *d, const HeddleMatrixLayout *m, uint32_t lane,
                     uint32_t element, uint32_t at[2])
{
    if (lane >= m->subgroup_size)
        return false;
    if (d && d->base->ops->matrix_position)
        return d->base->ops->matrix_position(d->base, m, lane, element, &at[0], &at[1]);
    uint64_t linear = (uint64_t)element * m->subgroup_size + lane;
    if (linear >= (uint64_t)m->rows * m->columns)
        return false;
    at[0] = (uint32_t)(linear / m->columns);
    at[1] = (uint32_t)(linear % m->columns);
    return true;
}

static bool any_has(const HeddleDevice *d, const HeddleMatrixLayout *m, uint32_t element)
{
    uint32_t at[2];
    for (uint32_t lane = 0; lane < m->subgroup_size; lane++) {
        if (position(d, m, lane, element, at))
            return true;
    }
    return false;
}

uint32_t heddle_matrix_length(const HeddleDevice *device, const HeddleMatrixLayout *matrix)
{
    HeddleMatrixLayout m;
    uint32_t n = 0;
    if (!read_layout(matrix, &m))
        return 0;
    if (!device || !device->base->ops->matrix_position)
        return (uint32_t)(((uint64_t)m.rows * m.columns + m.subgroup_size - 1) / m.subgroup_size);
    while (any_has(device, &m, n))
        n++;
    return n;
}

bool heddle_matrix_position(const HeddleDevice *device, const HeddleMatrixLayout *matrix,
                            uint32_t lane, uint32_t element, uint32_t *row, uint32_t *column)
{
    HeddleMatrixLayout m;
    uint32_t at[2];
    if (!read_layout(matrix, &m) || !position(device, &m, lane, element, at))
        return false;
    *row = at[0];
    *column = at[1];
    return true;
}

/* A device's own layout is searched: matrices are small, and nobody asks for speed. */
static bool search(const HeddleDevice *d, const HeddleMatrixLayout *m, const uint32_t of[2],
                   uint32_t *lane, uint32_t *element)
{
    for (uint32_t e = 0; any_has(d, m, e); e++) {
        for (uint32_t l = 0; l < m->subgroup_size; l++) {
            uint32_t at[2];
            if (!position(d, m, l, e, at) || at[0] != of[0] || at[1] != of[1])
                continue;
            *lane = l;
            *element = e;
            return true;
        }
    }
    return false;
}

bool heddle_matrix_owner(const HeddleDevice *device, const HeddleMatrixLayout *matrix, uint32_t row,
                         uint32_t column, uint32_t *lane, uint32_t *element)
{
    HeddleMatrixLayout m;
    if (!read_layout(matrix, &m) || row >= m.rows || column >= m.columns)
        return false;
    if (device && device->base->ops->matrix_position)
        return search(device, &m, (const uint32_t[2]){ row, column }, lane, element);
    uint64_t linear = (uint64_t)row * m.columns + column;
    *lane = (uint32_t)(linear % m.subgroup_size);
    *element = (uint32_t)(linear / m.subgroup_size);
    return true;
}
