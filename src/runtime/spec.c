/* SPDX-License-Identifier: MIT
 *
 * Descriptions of arrays: `randn:f16[64,128]@7`, `full:1.5:f32[4]`, `@raw.bin`, `weights.npy`. What
 * does not begin with a known word and a colon, or with @, is the path of a .npy file.
 */
#include <errno.h>
#include <stdlib.h>

#include "runtime/internal.h"

typedef enum Fill { ZEROS, RANDN, RAND, IOTA, FULL, LIST } Fill;

static const struct {
    const char *name;
    Fill fill;
} fills[] = { { "zeros", ZEROS }, { "randn", RANDN }, { "rand", RAND },
              { "iota", IOTA },   { "full", FULL },   { "list", LIST } };

typedef struct Spec {
    Fill fill;
    double value;
    HeddleType type;
    uint32_t rank;
    uint64_t shape[HEDDLE_MAX_RANK];
    uint64_t seed;
} Spec;

typedef struct Text {
    const char *all, *at;
    HeddleLog *log;
} Text;

static HeddleResult wrong(const Text *t, const char *what)
{
    return log_fail(t->log, HEDDLE_ERROR_ARGUMENT, "'%s': %s at character %zu", t->all, what,
                    (size_t)(t->at - t->all) + 1);
}

static HeddleResult parse_value(Text *t, Spec *s)
{
    char *end;
    s->value = strtod(t->at, &end);
    if (end == t->at || *end != ':')
        return wrong(t, "a number and ':' expected (full:VALUE:TYPE[...])");
    t->at = end + 1;
    return HEDDLE_OK;
}

static HeddleResult parse_type(Text *t, Spec *s)
{
    size_t n = strcspn(t->at, "[:");
    char name[24] = "";
    if (n < sizeof name)
        memcpy(name, t->at, n);
    s->type = heddle_type_from_name(name);
    if (s->type == HEDDLE_NO_TYPE)
        return wrong(
            t, "an element type expected (f16, bf16, f32, f64, e4m3, e5m2, s8..s64, u8..u64)");
    t->at += n;
    return HEDDLE_OK;
}

static HeddleResult parse_shape(Text *t, Spec *s)
{
    if (*t->at != '[')
        return wrong(t, "'[' expected: a shape such as [64,128]");
    do {
        t->at++;
        if (s->rank == HEDDLE_MAX_RANK)
            return wrong(t, "no more than 8 dimensions can be had");
        errno = 0;
        char *end;
        uint64_t n = strtoull(t->at, &end, 10);
        if (*t->at < '0' || *t->at > '9' || errno)
            return wrong(t, "a dimension expected");
        s->shape[s->rank++] = n;
        t->at = end;
    } while (*t->at == ',' || *t->at == 'x');
    if (*t->at != ']')
        return wrong(t, "',' or ']' expected");
    t->at++;
    return HEDDLE_OK;
}

static HeddleResult parse_seed(Text *t, Spec *s)
{
    if (*t->at == '@') {
        char *end;
        errno = 0;
        t->at++;
        s->seed = strtoull(t->at, &end, 10);
        if (*t->at < '0' || *t->at > '9' || errno)
            return wrong(t, "a seed expected");
        t->at = end;
    }
    return *t->at ? wrong(t, "nothing more expected") : HEDDLE_OK;
}

static bool is_integer(HeddleType type) { return type >= HEDDLE_S8 && type <= HEDDLE_U64; }

static double random_integer(HeddleType type, Rng *r)
{
    int byte = (int)(rng_u64(r) >> 56);
    return type >= HEDDLE_U8 ? byte : byte - 128;
}

static double random_number(HeddleType type, Rng *r)
{
    if (type == HEDDLE_BOOL)
        return (double)(rng_u64(r) >> 63);
    return is_integer(type) ? random_integer(type, r) : rng_uniform(r);
}

static double random_normal(HeddleType type, Rng *r)
{
    double x = rng_normal(r);
    if (type < HEDDLE_S8)
        return x;
    return (double)(long)(x + (x < 0 ? -0.5 : 0.5));
}

static void fill(HeddleArray *a, const Spec *s)
{
    Rng rng = { s->seed };
    if (s->fill == ZEROS)
        return;
    for (uint64_t i = 0; i < a->count; i++) {
        double x = s->fill == FULL    ? s->value
                   : s->fill == IOTA  ? (double)i
                   : s->fill == RANDN ? random_normal(a->type, &rng)
                                      : random_number(a->type, &rng);
        heddle_array_set(a, i, x);
    }
}

static HeddleResult generate(Text *t, Spec *s, HeddleArray **out)
{
    HeddleResult r = s->fill == FULL ? parse_value(t, s) : HEDDLE_OK;
    if (!r)
        r = parse_type(t, s);
    if (!r)
        r = parse_shape(t, s);
    if (!r)
        r = parse_seed(t, s);
    if (!r)
        r = heddle_array_new(s->type, s->rank, s->shape, out, t->log);
    if (!r)
        fill(*out, s);
    return r;
}

/* list:u32:64,64,32 */
static HeddleResult list(Text *t, Spec *s, HeddleArray **out)
{
    HeddleResult r = parse_type(t, s);
    if (r)
        return r;
    if (*t->at != ':')
        return wrong(t, "':' and numbers expected (list:TYPE:V,V,...)");
    s->shape[0] = 1;
    for (const char *c = t->at; *c; c++)
        s->shape[0] += *c == ',';
    r = heddle_array_new(s->type, 1, s->shape, out, t->log);
    for (uint64_t i = 0; !r && i < s->shape[0]; i++) {
        char *end;
        double x = strtod(++t->at, &end);
        if (end == t->at || (*end && *end != ',')) {
            heddle_array_free(*out);
            *out = NULL;
            return wrong(t, "a number expected");
        }
        heddle_array_set(*out, i, x);
        t->at = end;
    }
    return r;
}

static HeddleResult read_raw(const char *path, HeddleArray **out, HeddleLog *log)
{
    DiagSink sink = log_sink(log);
    size_t size;
    char *bytes = file_read(path, &size, &sink);
    if (!bytes)
        return HEDDLE_ERROR_IO;
    HeddleResult r = heddle_array_new(HEDDLE_NO_TYPE, 1, &(uint64_t){ size }, out, log);
    if (!r && size)
        memcpy((*out)->data, bytes, size);
    free(bytes);
    return r;
}

HeddleResult heddle_array_from_spec(const char *spec, HeddleArray **out, HeddleLog *log)
{
    if (!out || !spec)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT, "heddle_array_from_spec: spec or out is NULL");
    *out = NULL;
    if (!*spec)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT, "an empty description of an array");
    if (*spec == '@')
        return read_raw(spec + 1, out, log);
    for (size_t i = 0; i < COUNT_OF(fills); i++) {
        size_t n = strlen(fills[i].name);
        if (strncmp(spec, fills[i].name, n) || spec[n] != ':')
            continue;
        Text t = { spec, spec + n + 1, log };
        Spec s = { .fill = fills[i].fill };
        return s.fill == LIST ? list(&t, &s, out) : generate(&t, &s, out);
    }
    return heddle_array_read(spec, out, log);
}
