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
