/* SPDX-License-Identifier: MIT
 *
 * Sums of products over k (loops.comp), of small integers, so that every sum is exact in whatever
 * order it is made: each element is what integers give. Sizes, strides and starts are random; some
 * of them are such that a device which treats many workgroups as one must not.
 */
#include "base/test.h"

#include <heddle/heddle.h>
#include <stdlib.h>

enum { SPARE = 8, MOST_K = 400 };

typedef struct Kind {
    HeddleType factor, sum;
    const char *factor_glsl, *sum_glsl;
} Kind;

static const Kind kinds[] = {
    { HEDDLE_F16, HEDDLE_F32, "float16_t", "float" },
    { HEDDLE_F16, HEDDLE_F16, "float16_t", "float16_t" },
    { HEDDLE_BF16, HEDDLE_F32, "bfloat16_t", "float" },
    { HEDDLE_S8, HEDDLE_S32, "int8_t", "int" },
    { HEDDLE_U8, HEDDLE_U32, "uint8_t", "uint" },
};

/* What the kernel is compiled with. */
typedef struct Form {
    uint32_t tile, rows, columns, chain; /* rows and columns of a tile, and tiles */
    bool column_a, column_b, rows_by_x, begins, ends, robust;
    uint32_t down, across; /* a workgroup's subgroups, 0: one */
    bool staged;           /* by workgroup memory, written in the kernel */
    uint32_t queues;       /* a hint, or 0 */
} Form;

static const Form forms[] = {
    { 16, 4, 4, 1, .robust = true },
    { 16, 4, 4, 1, .column_b = true },
    { 16, 4, 4, 2, .column_a = true, .robust = true },
    { 16, 4, 4, 4, .column_b = true, .begins = true, .robust = true },
    { 16, 2, 8, 1, .rows_by_x = true, .robust = true },
    { 16, 8, 2, 2, .ends = true, .robust = true },
    { 16, 4, 4, 1, .column_a = true, .column_b = true, .begins = true, .ends = true,
      .robust = true },
    { 16, 2, 2, 1, .column_b = true, .robust = true },
    { 16, 4, 2, 2, .begins = true },
    { 8, 4, 4, 1, .robust = true },
    { 8, 4, 4, 2, .column_a = true, .column_b = true, .begins = true },
    { 8, 2, 8, 4, .column_b = true, .ends = true, .robust = true },
    { 8, 8, 4, 1, .rows_by_x = true, .robust = true },
    { 8, 3, 4, 1, .column_a = true },
    { 16, 2, 2, 1, .robust = true },
    { 16, 4, 2, 1, .column_a = true, .robust = true },
    { 16, 2, 2, 1, .robust = true, .down = 2, .across = 2 },
    { 16, 4, 2, 1, .column_b = true, .down = 2, .across = 2, .robust = true },
    { 16, 2, 4, 2, .column_a = true, .down = 1, .across = 2, .rows_by_x = true },
    { 16, 2, 4, 1, .robust = true, .down = 4, .across = 4 },
    { 16, 2, 2, 2, .robust = true, .down = 2, .across = 2, .staged = true },
    { 16, 2, 2, 2, .column_b = true, .down = 2, .across = 2, .staged = true },
    { 16, 4, 4, 2, .column_a = true, .robust = true, .down = 2, .across = 1, .staged = true },
    { 16, 2, 2, 4, .robust = true, .down = 2, .across = 4, .staged = true, .ends = true },
    { 16, 1, 2, 1, .robust = true, .staged = true, .begins = true },
    { 8, 4, 4, 2, .robust = true, .down = 1, .across = 4, .staged = true },
    { 16, 4, 4, 1, .robust = true, .queues = 1 },
    { 16, 4, 4, 2, .column_b = true, .queues = 1 },
    { 16, 4, 2, 1, .column_a = true, .robust = true, .queues = 2 },
    { 8, 4, 4, 1, .robust = true, .queues = 2 },
};

static uint32_t rows_of(const Form *f) { return f->tile * f->rows * MAX(f->down, 1); }

static uint32_t columns_of(const Form *f) { return f->tile * f->columns * MAX(f->across, 1); }

/* A launch of it; sizes in elements. */
typedef struct Launch {
    uint32_t groups[2]; /* along columns, along rows */
    uint32_t k_first, k_last, a_start, a_stride, b_start, b_stride, c_stride;
    bool bent;
    uint32_t a_size, b_size, c_size;
} Launch;

static uint32_t below(Rng *r, uint32_t n) { return (uint32_t)(rng_u64(r) % n); }

static uint32_t pick(Rng *r, const uint32_t *of, uint32_t n)
{
    return of[below(r, n)];
}

static Launch launch_of(Rng *r, const Form *f)
{
    static const uint32_t pads[] = { 0, 0, 8, 16, 48 }, starts[] = { 0, 0, 16, 32 },
                          odd[] = { 0, 0, 0, 0, 2, 4 };
    uint32_t step = f->tile * f->chain;
    Launch x = { .groups = { 1 + below(r, 9), 1 + below(r, 5) } };
    uint32_t m = rows_of(f) * x.groups[1], n = columns_of(f) * x.groups[0];
    x.k_first = step * below(r, 2);
    x.k_last = x.k_first + step * below(r, MOST_K / step);
    /* multiples of 16 bytes, but for some, where the kernel is compiled to look */
    uint32_t crooked = f->robust ? pick(r, odd, COUNT_OF(odd)) : 0;
    x.a_stride = (f->column_a ? m : x.k_last + step) + pick(r, pads, 5) * 2;
    x.b_stride = (f->column_b ? x.k_last + step : n) + pick(r, pads, 5) * 2 + crooked;
    x.a_start = pick(r, starts, COUNT_OF(starts));
    x.b_start = pick(r, starts, COUNT_OF(starts)) + (crooked == 4 ? 4 : 0);
    x.c_stride = n + pick(r, pads, COUNT_OF(pads));
    x.bent = below(r, 4) == 0;
    x.a_size = x.a_start + x.a_stride * (f->column_a ? x.k_last + step : m) + SPARE;
    x.b_size = x.b_start + x.b_stride * (f->column_b ? n : x.k_last + step) + SPARE;
    x.c_size = x.c_stride * m + SPARE;
    if (f->robust && below(r, 3) == 0) /* some of B is not there, and reads as zero */
        x.b_size -= below(r, x.b_size / 2);
    return x;
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct Memory {
    int *number;
    void *bytes; /* the same in the type */
    uint32_t n;
    HeddleType type;
} Memory;

static size_t size_of(HeddleType t)
{
    return t == HEDDLE_F32 || t == HEDDLE_S32 || t == HEDDLE_U32 ? 4
           : t == HEDDLE_S8 || t == HEDDLE_U8                    ? 1
                                                                 : 2;
}

static void put_number(HeddleType type, void *bytes, uint32_t at, int x)
{
    switch (type) {
    case HEDDLE_F16: ((uint16_t *)bytes)[at] = f16_from_double(x); break;
    case HEDDLE_BF16: ((uint16_t *)bytes)[at] = bf16_from_double(x); break;
    case HEDDLE_F32: ((float *)bytes)[at] = (float)x; break;
    case HEDDLE_S8:
    case HEDDLE_U8: ((int8_t *)bytes)[at] = (int8_t)x; break;
    default: ((int32_t *)bytes)[at] = x;
    }
}

static double get_number(const Memory *m, uint32_t at)
{
    switch (m->type) {
    case HEDDLE_F16: return f16_to_double(((const uint16_t *)m->bytes)[at]);
    case HEDDLE_F32: return ((const float *)m->bytes)[at];
    case HEDDLE_U32: return ((const uint32_t *)m->bytes)[at];
    default: return ((const int32_t *)m->bytes)[at];
    }
}

static Memory memory_of(Rng *r, HeddleType type, uint32_t n)
{
    Memory m = { .n = n, .type = type };
    bool is_unsigned = type == HEDDLE_U8 || type == HEDDLE_U32;
    m.number = malloc(n * sizeof *m.number);
    m.bytes = aligned_alloc(64, align_up(n * size_of(type), 64));
    for (uint32_t k = 0; k < n; k++) {
        m.number[k] = (int)below(r, 4) - (is_unsigned ? 0 : 2);
        put_number(type, m.bytes, k, m.number[k]);
    }
    return m;
}

static void memory_free(Memory *m)
{
    free(m->number);
    free(m->bytes);
}

/* ---- running --------------------------------------------------------------------------------- */

static int element(const Memory *m, uint64_t at) { return at < m->n ? m->number[at] : 0; }

/* In place of C's numbers. */
static void multiply(const Form *f, const Launch *x, const Memory *a, const Memory *b, Memory *c)
{
    uint32_t m = rows_of(f) * x->groups[1], n = columns_of(f) * x->groups[0];
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++) {
            int *to = &c->number[(uint64_t)i * x->c_stride + j], sum = f->begins ? *to : 0;
            uint32_t x_group = f->rows_by_x ? i / rows_of(f) : j / columns_of(f);
            uint32_t last = x->k_last, less = f->tile * f->chain * (x_group & 1);
            if (x->bent)
                last -= MIN(last, less);
            for (uint32_t k = x->k_first; k < last; k++)
                sum += element(a, x->a_start + (uint64_t)(f->column_a ? k : i) * x->a_stride +
                                      (f->column_a ? i : k)) *
                       element(b, x->b_start + (uint64_t)(f->column_b ? j : k) * x->b_stride +
                                      (f->column_b ? k : j));
            *to = f->ends ? -sum : sum;
        }
}

static bool dispatch(HeddleDevice *d, HeddleKernel *k, const Form *f, const Launch *x,
                     Memory *memory, HeddleLog *log)
{
    HeddleBinding bindings[3] = { { .binding = 0 }, { .binding = 1 }, { .binding = 2 } };
    uint32_t push[] = { x->k_first, x->k_last,   x->a_start,  x->a_stride,
                        x->b_start, x->b_stride, x->c_stride, x->bent };
    bool good = true;
    for (uint32_t b = 0; good && b < 3; b++)
        good = !heddle_buffer_wrap(d, memory[b].bytes, memory[b].n * size_of(memory[b].type),
                                   &bindings[b].buffer, log);
    HeddleDispatch run = { .groups = { x->groups[f->rows_by_x], x->groups[!f->rows_by_x], 1 },
                           .bindings = bindings,
                           .n_bindings = 3,
                           .push = push,
                           .push_size = sizeof push };
    good = good && !heddle_dispatch(k, &run, NULL, log);
    for (uint32_t b = 0; b < 3; b++)
        heddle_buffer_free(bindings[b].buffer);
    return good;
}

static bool is_right(const Kind *t, const Form *f, const Launch *x, const Memory *c)
{
    for (uint32_t k = 0; k < c->n; k++) {
        double got = get_number(c, k);
        double want = c->type == HEDDLE_U32 ? (double)(uint32_t)c->number[k] : c->number[k];
        if (got == want)
            continue;
        printf("%s, %u x %u tiles of %u by %u, %ux%u subgroups%s, %ux%u groups, k %u to %u, "
               "A %u + %u, B %u + %u%s: "
               "row %u, column %u is %g, not %g\n",
               t->factor_glsl, f->rows, f->columns, f->tile, f->chain, MAX(f->down, 1),
               MAX(f->across, 1), f->staged ? ", staged" : "", x->groups[0], x->groups[1],
               x->k_first, x->k_last, x->a_start, x->a_stride, x->b_start, x->b_stride,
               x->bent ? ", bent" : "", k / x->c_stride, k % x->c_stride, got, want);
        return false;
    }
    return true;
}

static HeddleModule *module_of(const Kind *t, const Form *f, HeddleLog *log)
{
    char tiles[7][8];
    HeddleDefine defines[15] = { { "AB", t->factor_glsl }, { "CD", t->sum_glsl } };
    const char *names[] = { "GM", "GN", "CHAIN", "TILE", "DOWN", "ACROSS" };
    const uint32_t counts[] = { f->rows,  f->columns,      f->chain,
                                f->tile,  MAX(f->down, 1), MAX(f->across, 1) };
    uint32_t n = 2;
    for (uint32_t k = 0; k < COUNT_OF(counts); k++) {
        snprintf(tiles[k], sizeof tiles[k], "%u", counts[k]);
        defines[n++] = (HeddleDefine){ names[k], tiles[k] };
    }
    snprintf(tiles[6], sizeof tiles[6], "%u", f->queues);
    if (f->queues)
        defines[n++] = (HeddleDefine){ "QUEUES", tiles[6] };
    const char *flags[] = { "COLUMN_A", "COLUMN_B", "ROWS_BY_X", "BEGINS", "ENDS", "STAGED" };
    const bool on[] = { f->column_a, f->column_b, f->rows_by_x, f->begins, f->ends, f->staged };
    for (uint32_t k = 0; k < COUNT_OF(flags); k++)
        if (on[k])
            defines[n++] = (HeddleDefine){ flags[k], "1" };
    HeddleModuleOptions o = { .defines = defines, .n_defines = n };
    HeddleModule *m = NULL;
    heddle_module_from_file(HEDDLE_SOURCE_DIR "/tests/matrix/loops.comp", &o, &m, log);
    return m;
}

static void run_form(HeddleDevice *d, const Kind *t, const Form *f, Rng *r, HeddleLog *log)
{
    enum { LAUNCHES = 6 };
    HeddleModule *m = module_of(t, f, log);
    HeddleKernel *k = NULL;
    HeddleKernelOptions o = { .struct_size = sizeof o, .robust = f->robust,
                              .no_robust = !f->robust };
    REQUIRE(m && !heddle_kernel_new(d, m, &o, &k, log));
    for (uint32_t n = 0; n < LAUNCHES; n++) {
        Launch x = launch_of(r, f);
        Memory memory[] = { memory_of(r, t->factor, x.a_size), memory_of(r, t->factor, x.b_size),
                            memory_of(r, t->sum, x.c_size) };
        multiply(f, &x, &memory[0], &memory[1], &memory[2]);
        CHECK(dispatch(d, k, f, &x, memory, log) && is_right(t, f, &x, &memory[2]));
        for (uint32_t b = 0; b < 3; b++)
            memory_free(&memory[b]);
    }
    heddle_kernel_free(k);
    heddle_module_free(m);
}

TEST(loops)
{
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *d = NULL;
    Rng r = { 11 };
    CHECK(!heddle_device_new(&(HeddleDeviceOptions){ .kind = HEDDLE_DEVICE_CPU }, &d, log));
    for (uint32_t t = 0; d && t < COUNT_OF(kinds); t++)
        for (uint32_t f = 0; f < COUNT_OF(forms); f++)
            if (t == 0 || (t + f) % (2 * HEDDLE_TEST_STEP) == 1) /* half for the other types */
                run_form(d, &kinds[t], &forms[f], &r, log);
    heddle_device_free(d);
    heddle_log_free(log);
}
