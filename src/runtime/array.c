/* SPDX-License-Identifier: MIT
 *
 * HeddleArray: making, reading, writing and comparing arrays of numbers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/internal.h"

typedef struct OwnArray {
    HeddleArray array; /* first: what the caller has is the same pointer */
    HostMapping map;
} OwnArray;

HeddleResult heddle_array_new(HeddleType type, uint32_t rank, const uint64_t *shape,
                              HeddleArray **out, HeddleLog *log)
{
    if (!out)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT, "heddle_array_new: out is NULL");
    *out = NULL;
    if ((unsigned)type >= HEDDLE_N_TYPES || rank > HEDDLE_MAX_RANK || (rank && !shape))
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_array_new: an unknown type, no shape, or more than %d dimensions",
                        HEDDLE_MAX_RANK);
    uint64_t element = type == HEDDLE_NO_TYPE ? 1 : heddle_type_size(type), count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] && count > (uint64_t)INT64_MAX / element / shape[i])
            return log_fail(log, HEDDLE_ERROR_ARGUMENT, "an array too large to address");
        count *= shape[i];
    }
    OwnArray *own = calloc(1, sizeof *own);
    void *data = own ? host_memory_map(count * element, HOST_MEMORY_ARRAY, &own->map) : NULL;
    if (!data) {
        free(own);
        return log_fail(log, HEDDLE_ERROR_MEMORY, "no memory for an array of %llu bytes",
                        (unsigned long long)(count * element));
    }
    HeddleArray *a = &own->array;
    *a = (HeddleArray){ .type = type,
                        .rank = rank,
                        .count = count,
                        .size = count * element,
                        .data = data };
    for (uint32_t i = 0; i < rank; i++)
        a->shape[i] = shape[i];
    *out = a;
    return HEDDLE_OK;
}

void heddle_array_free(HeddleArray *array)
{
    if (!array)
        return;
    OwnArray *own = (OwnArray *)array;
    host_memory_unmap(&own->map);
    free(own);
}

static size_t element_size(const HeddleArray *a)
{
    return a->type == HEDDLE_NO_TYPE ? 1 : heddle_type_size(a->type);
}

double heddle_array_get(const HeddleArray *array, uint64_t i)
{
    return number_load(array->type, (const char *)array->data + i * element_size(array));
}

void heddle_array_set(HeddleArray *array, uint64_t i, double value)
{
    number_store(array->type, (char *)array->data + i * element_size(array), value);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Steps an index by one in row-major order. */
static void advance(const HeddleArray *a, uint64_t *index)
{
    for (uint32_t i = a->rank; i-- && ++index[i] == a->shape[i];)
        index[i] = 0;
}

/* The file's first dimension varies fastest. */
static void copy_fortran(HeddleArray *a, const char *from)
{
    size_t size = element_size(a);
    uint64_t index[HEDDLE_MAX_RANK] = { 0 };
    for (uint64_t n = 0; n < a->count; n++) {
        uint64_t at = 0;
        for (uint32_t i = a->rank; i--;)
            at = at * a->shape[i] + index[i];
        memcpy((char *)a->data + n * size, from + at * size, size);
        advance(a, index);
    }
}

static void swap_bytes(HeddleArray *a)
{
    size_t size = element_size(a);
    char *p = a->data;
    for (uint64_t n = 0; n < a->count; n++, p += size) {
        for (size_t i = 0; i < size / 2; i++) {
            char c = p[i];
            p[i] = p[size - 1 - i];
            p[size - 1 - i] = c;
        }
    }
}

HeddleResult heddle_array_parse_npy(const void *bytes, size_t size, const char *name,
                                    HeddleArray **out, HeddleLog *log)
{
    if (!out || !bytes)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT, "heddle_array_parse_npy: bytes or out is NULL");
    *out = NULL;
    DiagSink sink = log_sink(log);
    RuntimeNpy h;
    if (!npy_parse(bytes, size, name ? name : "array", &h, &sink))
        return HEDDLE_ERROR_SOURCE;
    HeddleArray *a;
    HeddleResult r = heddle_array_new(h.type, h.rank, h.shape, &a, log);
    if (r)
        return r;
    const char *from = (const char *)bytes + h.header_size;
    if (h.fortran_order && h.rank > 1)
        copy_fortran(a, from);
    else if (a->size)
        memcpy(a->data, from, a->size);
    if (h.big_endian)
        swap_bytes(a);
    *out = a;
    return HEDDLE_OK;
}

HeddleResult heddle_array_read(const char *path, HeddleArray **out, HeddleLog *log)
{
    if (!out || !path)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT, "heddle_array_read: path or out is NULL");
    *out = NULL;
    DiagSink sink = log_sink(log);
    size_t size;
    char *bytes = file_read(path, &size, &sink);
    if (!bytes)
        return HEDDLE_ERROR_IO;
    HeddleResult r = heddle_array_parse_npy(bytes, size, path, out, log);
    free(bytes);
    return r;
}

HeddleResult heddle_array_write(const HeddleArray *array, const char *path, HeddleLog *log)
{
    if (!array || !path)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT, "heddle_array_write: array or path is NULL");
    DiagSink sink = log_sink(log);
    char header[NPY_HEADER_MAX];
    size_t n = npy_header(array, header);
    bool ok = file_write(path, header, n, array->data, array->size, &sink);
    return ok ? HEDDLE_OK : HEDDLE_ERROR_IO;
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* How far beyond the tolerance: <= 0 is within it, infinite where no distance can be named. */
static double excess(double got, double expected, double tolerance)
{
    if (got == expected || (isnan(got) && isnan(expected)))
        return 0;
    double difference = fabs(got - expected);
    if (!isfinite(difference))
        return INFINITY;
    return difference - tolerance * (1 + fabs(expected));
}

static HeddleComparison compare(const HeddleArray *got, const HeddleArray *expected,
                                double tolerance)
{
    HeddleComparison c = { .count = got->count };
    double squares = 0, norm = 0, worst = 0;
    for (uint64_t i = 0; i < got->count; i++) {
        double g = heddle_array_get(got, i), e = heddle_array_get(expected, i);
        double beyond = excess(g, e, tolerance), difference = fabs(g - e);
        if (isfinite(difference)) {
            c.max_absolute = fmax(c.max_absolute, difference);
            c.max_relative = fmax(c.max_relative, difference / fmax(fabs(e), 1e-30));
            squares += difference * difference;
            norm += e * e;
        }
        if (beyond <= 0)
            continue;
        c.different++;
        if (c.different == 1 || beyond > worst) {
            worst = beyond;
            c.worst = i;
            c.got = g;
            c.expected = e;
        }
    }
    c.relative_norm = norm > 0 ? sqrt(squares / norm) : sqrt(squares);
    uint64_t rest = c.worst;
    for (uint32_t i = got->rank; i--; rest /= got->shape[i])
        c.worst_index[i] = rest % (got->shape[i] + !got->shape[i]);
    return c;
}

static HeddleResult mismatch(const HeddleArray *a, const HeddleComparison *c, double tolerance,
                             HeddleLog *log)
{
    char where[HEDDLE_MAX_RANK * 24 + 1];
    int n = 0;
    for (uint32_t i = 0; i < a->rank; i++)
        n += snprintf(where + n, sizeof where - (size_t)n, "%s%llu", i ? "," : "",
                      (unsigned long long)c->worst_index[i]);
    where[n] = 0;
    return log_fail(
        log, HEDDLE_ERROR_MISMATCH,
        "%llu of %llu elements differ by more than %g; worst at [%s]: got %.9g, expected "
        "%.9g (difference %.3g, relative error of the whole %.3g)",
        (unsigned long long)c->different, (unsigned long long)c->count, tolerance, where, c->got,
        c->expected, fabs(c->got - c->expected), c->relative_norm);
}

static bool same_shape(const HeddleArray *a, const HeddleArray *b)
{
    if (a->count != b->count)
        return false;
    /* A flat buffer may be compared with an array of any shape. */
    if (a->rank == 1 || b->rank == 1)
        return true;
    return a->rank == b->rank && !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}

HeddleResult heddle_array_compare(const HeddleArray *got, const HeddleArray *expected,
                                  double tolerance, HeddleComparison *out, HeddleLog *log)
{
    if (!got || !expected || !(tolerance >= 0))
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_array_compare: an array is NULL or the tolerance is negative");
    if (!sized_check(&sized_comparison, out, log))
        return HEDDLE_ERROR_ARGUMENT;
    sized_write(&sized_comparison, out, &(HeddleComparison){ 0 }, log);
    if (!same_shape(got, expected))
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "arrays of different shapes cannot be compared (%llu and %llu elements)",
                        (unsigned long long)got->count, (unsigned long long)expected->count);
    HeddleComparison c = compare(got, expected, tolerance);
    sized_write(&sized_comparison, out, &c, log);
    return c.different ? mismatch(got, &c, tolerance, log) : HEDDLE_OK;
}
