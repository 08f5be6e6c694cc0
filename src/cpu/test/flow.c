/* SPDX-License-Identifier: MIT
 *
 * Control flow of the code generator against C: every kernel exists twice, as GLSL and as a C
 * function of the invocation's index, and must give the same numbers for all subgroup sizes, robust
 * or not, optimised or not.
 */
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#include "run.h"

enum { N = 1024 };

typedef uint32_t Model(uint32_t i, const uint32_t *a);

static void compare(const char *body, Model *model, uint32_t lx, uint32_t ly)
{
    if (!have_glslang())
        return;
    Arena arena = { 0 };
    DiagSink sink = { 0 };
    char *source = arena_printf(&arena,
        "#version 460\n"
        "layout(local_size_x = %u, local_size_y = %u) in;\n"
        "layout(std430, binding = 0) buffer A { uint a[]; };\n"
        "layout(std430, binding = 1) buffer B { uint b[]; };\n"
        "uint f(uint i) {\n%s\n}\n"
        "void main() {\n"
        "    uint i = gl_WorkGroupID.x * %u + gl_LocalInvocationIndex;\n"
        "    b[i] = f(i);\n"
        "}\n", lx, ly, body, lx * ly);
    SpvModule *m = glsl_module(&arena, source, &sink);
    CHECK(m != NULL);
    uint32_t a[N], b[N], groups = N / (lx * ly);
    for (uint32_t k = 0; k < N; k++)
        a[k] = k * 2654435761u >> 7;
    for (uint32_t w = 8; m && w <= 128; w *= 2)
        for (uint32_t mode = 0; mode < 4; mode++) {
            memset(b, 0xee, sizeof b);
            Run r = { .subgroup_size = w, .groups = { groups, 1, 1 }, .robust = mode & 1,
                      .plain = mode & 2,
                      .buffers = { { a, sizeof a }, { b, sizeof b } }, .n_buffers = 2 };
            if (mode >= 2 && w != 16)
                continue;
            if (!run_module(m, &r))
                break;
            for (uint32_t i = 0; i < groups * lx * ly; i++)
                if (b[i] != model(i, a)) {
                    test_fail(__FILE__, __LINE__, "W=%u mode=%u: b[%u] = %u, should be %u", w, mode,
                              i,
                              b[i], model(i, a));
                    break;
                }
        }
    arena_free(&arena);
}

/* A kernel as GLSL text and as C: the two languages agree on this much. */
#define BOTH(name, lx, ly, ...)                                                                    \
    static uint32_t name##_model(uint32_t i, const uint32_t *a)                                    \
    {                                                                                              \
        (void)a;                                                                                   \
        __VA_ARGS__                                                                                \
    }                                                                                              \
    TEST(name) { compare(#__VA_ARGS__, name##_model, lx, ly); }

typedef uint32_t uint;

BOTH(straight, 64, 1, return a[i] * 3u + i;)

BOTH(if_else, 64, 1,
    uint r = a[i];
    if ((r & 1u) == 0u)
        r = r * 3u;
    else
        r = r + 7u;
    return r;)

BOTH(nested_if, 64, 1,
    uint r = a[i];
    if (r % 3u == 0u) {
        if (i < 200u) {
            r += a[i ^ 1u];
            if ((r & 4u) != 0u)
                r ^= 0x55u;
        } else
            r -= 5u;
        r *= 2u;
    }
    return r;)

BOTH(divergent_loop, 64, 1,
    uint r = 0u;
    for (uint k = 0u; k < (a[i] & 15u); k++)
        r += k * i + a[k];
    return r;)

BOTH(loop_break_continue, 64, 1,
    uint r = 0u;
    for (uint k = 0u; k < 40u; k++) {
        if ((k + i) % 5u == 0u)
            continue;
        if (k > (a[i] & 31u))
            break;
        r = r * 3u + k;
    }
    return r;)

BOTH(early_return, 64, 1,
    if (a[i] % 7u == 0u)
        return 1u;
    uint r = a[i];
    if (a[i] % 5u == 0u)
        return r + 2u;
    r = r * 5u + 1u;
    return r;)

BOTH(return_in_loop, 64, 1,
    uint r = 0u;
    for (uint k = 0u; k < 30u; k++) {
        r += a[(i + k) & 1023u];
        if (r % 11u == 3u)
            return r * 2u + k;
        if (r % 13u == 5u)
            break;
    }
    return r + 1u;)

BOTH(nested_loops, 64, 1,
    uint r = 1u;
    for (uint k = 0u; k < (i & 7u); k++) {
        for (uint j = k; j < (a[i] & 7u); j++) {
            if (((j ^ i) & 3u) == 1u)
                continue;
            r = r * 5u + j;
            if ((r & 31u) == 9u)
                break;
        }
        if ((r & 63u) == 17u)
            return r;
        r += k;
    }
    return r ^ 0xabcu;)

BOTH(while_loop, 64, 1,
    uint x = a[i] | 1u;
    uint n = 0u;
    while (x != 1u && n < 50u) {
        x = (x & 1u) == 0u ? x / 2u : x * 3u + 1u;
        n++;
    }
    return n * 1000u + (x & 255u);)

BOTH(do_loop, 64, 1,
    uint x = a[i];
    uint n = 0u;
    do {
        x = x / 3u;
        n++;
        if (n > 12u)
            break;
    } while (x > (i & 63u));
    return n + x;)

BOTH(switches, 64, 1,
    uint r = a[i];
    switch (r % 6u) {
    case 0u:
        r += 10u;
        break;
    case 1u:
    case 2u:
        r *= 2u;
    case 3u:
        r ^= 0x77u;
        break;
    case 4u:
        if (i % 2u == 0u)
            break;
        r += 3u;
        break;
    default:
        r = 5u;
    }
    return r;)

BOTH(switch_in_loop, 64, 1,
    uint r = 0u;
    for (uint k = 0u; k < 20u; k++) {
        switch ((a[i] + k) & 3u) {
        case 0u:
            r += k;
            continue;
        case 1u:
            r ^= i;
            break;
        case 2u:
            if (r > 500u)
                return r;
            r += 50u;
        default:
            r++;
        }
        r *= 3u;
        r &= 0xffffu;
    }
    return r;)

BOTH(uniform_in_divergent, 64, 1,
    uint r = a[i];
    if ((r & 1u) == 1u) {
        if (a[3] > 5u)
            r += 1u;
        else
            r += 2u;
        for (uint k = 0u; k < (a[4] & 7u); k++) {
            r += k;
            if ((r & 64u) != 0u)
                r ^= 3u;
        }
        switch (a[5] % 3u) {
        case 0u:
            r += 100u;
            break;
        case 1u:
            r += 200u;
            break;
        default:
            r += 300u;
        }
    }
    return r;)

BOTH(live_out, 64, 1,
    uint k = 0u;
    uint last = 0u;
    for (;;) {
        uint t = a[(i * 7u + k) & 1023u];
        if (t % 9u == 4u || k > 33u) {
            last = t;
            break;
        }
        k++;
    }
    return k * 16u + (last & 15u);)

BOTH(uniform_live_out, 64, 1,
    uint k = 0u;
    for (k = 0u; k < 64u; k++)
        if (k * k > (a[i] & 1023u))
            break;
    uint s = k;
    for (uint j = 0u; j < k; j++)
        s += j ^ k;
    return s;)

BOTH(partial_workgroup, 20, 1,
    uint r = a[i];
    for (uint k = 0u; k < (r & 3u); k++)
        r += a[k] + k;
    if ((r & 2u) != 0u)
        return 3u;
    return r;)

BOTH(rows_of_eight, 8, 8,
    uint r = a[i];
    if (i % 8u == 3u)
        r = a[i + 1u];
    return r * 2u;)

BOTH(odd_rows, 10, 6,
    uint r = a[i];
    for (uint k = 0u; k < i % 10u; k++)
        r = r * 3u + k;
    return r;)

BOTH(loop_of_strides, 64, 1,
    uint r = 0u;
    for (uint k = i; k < 1024u; k += 64u)
        r = r * 3u + a[k];
    return r;)

BOTH(deep_exit, 64, 1,
    uint r = 0u;
    for (uint k = 0u; k < 6u; k++) {
        for (uint j = 0u; j < 6u; j++) {
            for (uint l = 0u; l < 6u; l++) {
                r += a[(i + k + j * l) & 1023u] & 15u;
                if (r > 100u + (i & 31u))
                    return r * 64u + k * 16u + j;
                if ((r & 7u) == 5u)
                    break;
            }
            if ((r & 15u) == 2u)
                break;
        }
    }
    return r;)

BOTH(private_arrays, 64, 1,
    uint t[9];
    for (uint k = 0u; k < 9u; k++)
        t[k] = a[(i + k) & 1023u];
    for (uint k = 0u; k < 20u; k++) {
        uint x = (a[(i * k) & 1023u]) % 9u;
        if ((x & 1u) == 0u)
            t[x] += t[(x + k) % 9u];
        else
            t[k % 9u] ^= x;
    }
    uint r = 0u;
    for (uint k = 0u; k < 9u; k++)
        r = r * 7u + t[k];
    return r;)

BOTH(switch_runs, 64, 1,
    uint r = i;
    switch (a[i] & 31u) {
    case 3u: case 4u: case 5u: case 6u: case 9u:
        r += 11u;
    case 7u:
        r = r * 5u + a[r & 1023u];
        break;
    case 0u: case 1u: case 31u:
        for (uint k = 0u; k < (r & 7u); k++)
            r = r * 3u + k;
        break;
    case 30u:
        return r;
    case 12u:
        break;
    case 13u: default:
        r ^= 0x5555u;
    case 14u:
        r += a[(r + 1u) & 1023u];
    }
    return r * 7u;)

BOTH(switch_leaves_loops, 64, 1,
    uint r = 0u;
    for (uint k = 0u; k < 9u; k++) {
        uint x = a[(i + k * 17u) & 1023u];
        for (uint j = 0u; j < 5u; j++) {
            r = r * 3u + j;
            switch ((x + j) & 15u) {
            case 0u: case 8u:
                r += a[(i + j) & 1023u];
                continue;
            case 1u: case 2u: case 3u:
                r ^= x;
                break;
            case 11u:
                return r + 1u;
            case 5u:
                if ((r & 1u) == 0u)
                    return r;
            case 6u:
                r += k;
                break;
            default:
                continue;
            }
            if ((r & 64u) == 0u)
                break;
            r -= 5u;
        }
    }
    return r;)

/* Code grows with the kernel, no faster: instructions of LLVM IR before its passes, and after. */
enum { SHAPES = 3 };

static char *long_kernel(Arena *a, uint32_t shape, uint32_t n)
{
    static const char *const statement[SHAPES] = {
        "case %u: x = x * %uu + y; y = a[x & 63u] + z; z += y | 1u; break;\n",
        "case %u: x = x * %uu + y; y ^= z;\n",
        "if ((x & %uu) == 1u) { x = x * %uu + y; if (y > x) a[i] = z; else y += a[z & 63u]; }\n",
    };
    Str s = { 0 };
    str_add(a, &s, "#version 460\nlayout(local_size_x = 64) in;\n"
                   "layout(std430, binding = 0) buffer A { uint a[]; };\n"
                   "void main() {\nuint i = gl_GlobalInvocationID.x, x = a[i], y = i, z = 3u;\n");
    str_add(a, &s, shape < 2 ? "switch (x) {\n" : "{\n");
    for (uint32_t k = 0; k < n; k++)
        str_printf(a, &s, statement[shape], 3 * k, 2 * k + 3);
    str_add(a, &s, "}\na[i] = x + y * z;\n}\n");
    return s.data;
}

/* Lines with a result or an effect; 0 after a failed check. */
static uint32_t instructions(uint32_t shape, uint32_t n, CpuEmit form)
{
    Arena arena = { 0 };
    DiagSink sink = { 0 };
    CpuTarget target = { 0 };
    SpvModule *m = glsl_module(&arena, long_kernel(&arena, shape, n), &sink);
    PassOptions passes = { .optimise = true };
    CpuOptions options = { .subgroup_size = 16, .optimise = true, .emit = form };
    bool ok = m && cpu_target(&target, NULL, &sink);
    CpuKernel *k = ok ? cpu_compile(m, &target, &passes, &options, &sink) : NULL;
    uint32_t lines = 0;
    CHECK(k != NULL);
    for (uint32_t c = 0; k && c < k->text_size; c++)
        lines += k->text[c] == '\n';
    cpu_kernel_free(k);
    cpu_target_free(&target);
    arena_free(&arena);
    return lines;
}

TEST(grows_evenly)
{
    static const CpuEmit forms[] = { CPU_EMIT_LLVM, CPU_EMIT_LLVM_OPTIMISED };
    for (uint32_t k = 0; have_glslang() && k < SHAPES * COUNT_OF(forms); k++) {
        CpuEmit form = forms[k % COUNT_OF(forms)];
        uint32_t few = instructions(k / 2, 40, form), many = instructions(k / 2, 160, form);
        if (many >= 5 * few)
            test_fail(__FILE__, __LINE__, "kernel %u: %u lines, of four times its length %u", k / 2,
                      few, many);
    }
}
