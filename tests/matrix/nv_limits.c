/* SPDX-License-Identifier: MIT
 *
 * Tensor layouts whose numbers are anything, on both devices with robust access, against the
 * pseudo-code of SPV_NV_cooperative_matrix2 ("Tensor Layout and View") in the types that it has:
 * dimensions and strides of up to 2^32 - 1, offsets of both signs, indices that wrap. The buffers
 * are the middle of larger arrays: nothing around them may be read or written, and what is far from
 * them is not there.
 */
#include "base/test.h"

#include <heddle/heddle.h>
#include <stdlib.h>

enum { UNDEFINED, CONSTANT, EDGE, REPEAT, MIRROR };
enum { DIMS = 3, GUARD = 8192, INSIDE = 300, OLD = 77, BEYOND = 111, FILL = 5 };
enum { ROWS = 8, COLS = 24 };

typedef struct Numbers {
    uint32_t block[DIMS], size[DIMS], stride[DIMS], offset[DIMS], span[DIMS];
    uint32_t dims, clamp;
    bool turned;                /* through a view that swaps the last two dimensions */
} Numbers;

/* ---- the pseudo-code ------------------------------------------------------------------------- */

typedef enum Outcome { AT, FILLED, ANYWHERE } Outcome;

/* OpSMod by a size, which is positive. */
static int64_t modulo(int64_t c, int64_t n) { return (c % n + n) % n; }

static Outcome coordinate(const Numbers *t, uint32_t k, uint32_t span, bool store, uint32_t *out)
{
    int32_t c = (int32_t)(span + t->offset[k]);
    int64_t size = t->size[k], x = c;
    *out = (uint32_t)c;
    if (c >= 0 && (uint32_t)c < t->size[k])
        return AT;
    if (t->clamp == UNDEFINED)
        return ANYWHERE;
    if (t->clamp == CONSTANT || store)
        return FILLED;
    if (t->clamp == EDGE)
        x = c < 0 ? 0 : size - 1;
    else if (t->clamp == REPEAT)
        x = modulo(c, size);
    else if (size == 1)
        x = 0;
    else if ((x = modulo(c, 2 * size - 2)) >= size)
        x = 2 * size - 2 - x;
    *out = (uint32_t)x;
    return AT;
}

static Outcome element(const Numbers *t, uint32_t row, uint32_t col, bool store, uint32_t *index)
{
    uint32_t n = row * COLS + col, at[DIMS] = { 0 }, last = t->dims - 1;
    if (t->turned) {            /* a view of the span with the last dimensions in the other order */
        uint32_t inner = n % t->span[last - 1], rest = n / t->span[last - 1];
        uint32_t outer = rest % t->span[last], more = rest / t->span[last];
        n = (t->dims > 2 ? more % t->span[0] * t->span[last - 1] : 0) + inner;
        n = n * t->span[last] + outer;
    }
    for (uint32_t k = t->dims; k-- > 0; n /= t->span[k])
        at[k] = n % t->span[k];
    Outcome all = AT;
    *index = 0;
    for (uint32_t k = 0; k < t->dims; k++) {
        uint32_t c;
        Outcome o = coordinate(t, k, at[k], store, &c);
        all = MAX(all, o);
        *index += c / t->block[k] * t->stride[k];
    }
    return all;
}

/* ---- random numbers -------------------------------------------------------------------------- */

static uint32_t below(Rng *r, uint32_t n) { return (uint32_t)(rng_u64(r) % n); }

/* Small most of the time, else at one of the places where something wraps. */
static uint32_t number(Rng *r, uint32_t small)
{
    static const uint32_t edges[] = {
        0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0, 0x40000000, 0x10000, 0xc0000000
    };
    uint32_t x = edges[below(r, COUNT_OF(edges))];
    return below(r, 3) ? below(r, small) : below(r, 2) ? x : x + below(r, 9) - 4;
}

static Numbers random_numbers(Rng *r, uint32_t dims, uint32_t clamp, bool turned)
{
    Numbers t = { .dims = dims, .clamp = clamp, .turned = turned };
    bool lines = below(r, 4);   /* mostly those that have a way of their own */
    for (uint32_t k = 0; k < dims; k++) {
        t.block[k] = below(r, 5) ? 1 : 1 + below(r, 4);
        t.size[k] = number(r, 40);
        t.size[k] += !t.size[k];
        t.stride[k] = number(r, 30);
        t.offset[k] = number(r, 20) - below(r, 8);
        t.span[k] = 1 + below(r, 30);
    }
    uint32_t last = dims - 1;
    if (lines) {
        t.span[last] = turned ? MAX(t.span[last], (uint32_t)ROWS) : COLS;
        if (dims > 1)
            t.span[last - 1] = turned ? COLS : below(r, 2) ? ROWS : 1 + below(r, 9);
        t.block[last] = t.stride[last] = 1;
        if (dims > 2 && below(r, 2))
            t.span[0] = 1;
    }
    return t;
}

static void fill_numbers(const Numbers *t, uint32_t p[40])
{
    for (uint32_t k = 0; k < 40; k++)
        p[k] = k == 25 ? FILL : k >= 36 && k % 2 ? UINT32_MAX : 0;
    for (uint32_t k = 0; k < t->dims; k++) {
        p[k] = t->block[k];
        p[5 + k] = t->size[k];
        p[10 + k] = t->stride[k];
        p[15 + 2 * k] = t->offset[k];
        p[16 + 2 * k] = t->span[k];
    }
}

/* ---- one run --------------------------------------------------------------------------------- */

/* The tensors' bytes: numbers below 64, OLD in what is stored to, and BEYOND around both. */
typedef struct Memory {
    _Alignas(64) uint8_t in[2 * GUARD + INSIDE], out[2 * GUARD + INSIDE];
    _Alignas(64) uint8_t stored[ROWS * COLS * 4], loaded[ROWS * COLS * 4];
    _Alignas(64) uint32_t numbers[40];
} Memory;

static void fill_memory(Memory *m, const Numbers *t, uint32_t bytes)
{
    memset(m, BEYOND, sizeof *m);
    memset(m->out + GUARD, OLD, INSIDE);
    for (uint32_t k = 0; k < INSIDE; k++)
        m->in[GUARD + k] = (uint8_t)(k / bytes % 64);
    for (uint32_t k = 0; k < sizeof m->stored; k++)
        m->stored[k] = (uint8_t)(128 + k / bytes % 128);
    fill_numbers(t, m->numbers);
}

static bool dispatch(HeddleDevice *d, HeddleKernel *k, Memory *m, uint32_t bytes, HeddleLog *log)
{
    struct { void *data; uint64_t size, at, n; } parts[] = {
        { m->numbers, sizeof m->numbers, 0, sizeof m->numbers },
        { m->in, sizeof m->in, GUARD, INSIDE / bytes * bytes },
        { m->stored, sizeof m->stored, 0, sizeof m->stored },
        { m->loaded, sizeof m->loaded, 0, sizeof m->loaded },
        { m->out, sizeof m->out, GUARD, INSIDE / bytes * bytes },
    };
    HeddleBinding bindings[COUNT_OF(parts)] = { 0 };
    bool good = true;
    for (uint32_t b = 0; b < COUNT_OF(parts); b++) {
        bindings[b] = (HeddleBinding){ .binding = b, .offset = parts[b].at, .size = parts[b].n };
        good &= !heddle_buffer_wrap(d, parts[b].data, parts[b].size, &bindings[b].buffer, log);
    }
    HeddleDispatch run = { .bindings = bindings, .n_bindings = COUNT_OF(bindings) };
    good = good && !heddle_dispatch(k, &run, NULL, log);
    for (uint32_t b = 0; b < COUNT_OF(parts); b++)
        heddle_buffer_free(bindings[b].buffer);
    return good;
}

static bool is_inside(uint32_t index, uint32_t bytes)
{
    return ((uint64_t)index + 1) * bytes <= INSIDE / bytes * bytes;
}

static bool loaded_right(const Memory *m, const Numbers *t, uint32_t bytes, uint32_t row,
                         uint32_t col)
{
    uint32_t index, fill = FILL;
    uint8_t zero[4] = { 0 };
    const uint8_t *got = m->loaded + (row * COLS + col) * bytes, *want = zero;
    Outcome o = element(t, row, col, false, &index);
    if (o == FILLED)
        want = (const uint8_t *)&fill;
    else if (o == AT && is_inside(index, bytes))
        want = m->in + GUARD + (size_t)index * bytes;
    else if (o == ANYWHERE)
        return *got != BEYOND;
    return !memcmp(got, want, bytes);
}

/* Each element of the tensor: what one of the matrix's was stored to it, or as it was. */
static bool stored_right(const Memory *m, const Numbers *t, uint32_t bytes)
{
    bool may[INSIDE] = { 0 }, must[INSIDE] = { 0 }, is[INSIDE] = { 0 };
    for (uint32_t e = 0; e < ROWS * COLS; e++) {
        uint32_t index;
        Outcome o = element(t, e / COLS, e % COLS, true, &index);
        if (o == FILLED || !is_inside(index, bytes))
            continue;
        may[index] = true;
        must[index] |= o == AT;
        is[index] |= !memcmp(m->out + GUARD + (size_t)index * bytes, m->stored + e * bytes, bytes);
    }
    for (uint32_t k = 0; k < sizeof m->out; k++)
        if ((k < GUARD || k >= GUARD + INSIDE) && m->out[k] != BEYOND)
            return false;
    for (uint32_t k = 0; k < INSIDE / bytes; k++) {
        bool old = m->out[GUARD + k * bytes] == OLD;
        if (must[k] ? !is[k] : may[k] ? !is[k] && !old : !old)
            return false;
    }
    return true;
}

static bool check(const Memory *m, const Numbers *t, uint32_t bytes, HeddleDeviceKind kind)
{
    bool good = stored_right(m, t, bytes);
    const char *what = "what it stores";
    for (uint32_t e = 0; good && e < ROWS * COLS; e++) {
        good = loaded_right(m, t, bytes, e / COLS, e % COLS);
        what = "what it loads";
    }
    if (good)
        return true;
    printf("device %d, %s is wrong: %u bytes, clamp mode %u%s\n", kind, what, bytes, t->clamp,
           t->turned ? ", turned" : "");
    for (uint32_t k = 0; k < t->dims; k++)
        printf("    block %u, size %u, stride %u, offset %u, span %u\n", t->block[k], t->size[k],
               t->stride[k], t->offset[k], t->span[k]);
    return false;
}

/* ---- modules --------------------------------------------------------------------------------- */

typedef struct Case { const char *type; uint32_t bytes, dims, clamp; bool turned; } Case;

static HeddleModule *compile(const Case *c, const Numbers *constant, HeddleLog *log)
{
    static const char *const counts[] = { "0", "1", "2", "3", "4" };
    char text[1024];
    HeddleDefine d[8] = { { "T", c->type }, { "SCOPE", "gl_ScopeSubgroup" },
                          { "USE", "gl_MatrixUseAccumulator" }, { "CLAMP", counts[c->clamp] },
                          { "DIMS", counts[c->dims] }, { "STRIDES", "1" } };
    uint32_t n = 6, p[40];
    if (c->turned)
        d[n++] = (HeddleDefine){ "VIEW", c->dims == 2 ? "2, false, 1, 0" : "3, false, 0, 2, 1" };
    if (constant) {
        size_t at = 0;
        fill_numbers(constant, p);
        for (uint32_t k = 0; k < 40; k++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%uu", k ? ", " : "", p[k]);
        d[n++] = (HeddleDefine){ "NUMBERS", text };
    }
    /* constants that the checks see through may be refused */
    HeddleModuleOptions o = { .defines = d, .n_defines = n, .unchecked = constant != NULL };
    HeddleModule *m = NULL;
    heddle_module_from_file(HEDDLE_SOURCE_DIR "/tests/matrix/nv_tensor.comp", &o, &m, log);
    return m;
}

static bool run(const Case *c, HeddleDeviceKind kind, Rng *r, bool constant, uint32_t times)
{
    static Memory m;
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleSpecValue specs[] = { { 0, ROWS }, { 1, COLS }, { 10, 32 } };
    HeddleKernelOptions ko = {
        .specs = specs, .n_specs = 3, .robust = true, .subgroup_size = below(r, 2) ? 8 : 32
    };
    HeddleDevice *d = NULL;
    HeddleKernel *k = NULL;
    Numbers t = random_numbers(r, c->dims, c->clamp, c->turned);
    HeddleModule *module = compile(c, constant ? &t : NULL, log);
    bool good = module && !heddle_device_new(&(HeddleDeviceOptions){ .kind = kind }, &d, log)
        && !heddle_kernel_new(d, module, &ko, &k, log);
    for (uint32_t n = 0; good && n < times; n++) {
        if (n)
            t = random_numbers(r, c->dims, c->clamp, c->turned);
        fill_memory(&m, &t, c->bytes);
        good = dispatch(d, k, &m, c->bytes, log) && check(&m, &t, c->bytes, kind);
    }
    heddle_kernel_free(k);
    heddle_module_free(module);
    heddle_device_free(d);
    heddle_log_free(log);
    return good;
}

static void all(HeddleDeviceKind kind)
{
    static const struct { const char *name; uint32_t bytes; } types[] = {
        { "float", 4 }, { "uint8_t", 1 }, { "int16_t", 2 }
    };
    Rng r = { 7 };
    for (uint32_t k = 0; k < 25; k += HEDDLE_TEST_STEP) {
        uint32_t type = k % 3, shape = k / 5;   /* 1 to 3 dimensions, and 2 and 3 turned */
        Case c = { types[type].name, types[type].bytes, shape < 3 ? shape + 1 : shape - 1,
                   (k + shape) % 5, shape >= 3 };
        CHECK(run(&c, kind, &r, false, 80));
        CHECK(run(&c, kind, &r, true, 1));
    }
}

TEST(limits_cpu) { all(HEDDLE_DEVICE_CPU); }
TEST(limits_reference) { all(HEDDLE_DEVICE_REFERENCE); }
