/* SPDX-License-Identifier: MIT
 *
 * The memory of a random kernel, and what is in it at first.
 */
#include "random/random.h"

static void fill_matrices(void *to, uint64_t seed, GenKind kind)
{
    Rng r = { seed };
    for (uint32_t i = 0; i < GEN_MATRIX_INPUTS; i++) {
        int v = (int)(rng_u64(&r) >> 33) % 9 - 4;
        float f = (float)v;
        uint16_t h = f16_from_double(v);
        uint32_t bytes = gen_kind_bits[kind] / 8u;
        const void *from = kind == F32 ? (const void *)&f : kind == F16 ? (const void *)&h : &v;
        memcpy((char *)to + i * bytes, from, bytes);
    }
}

void gen_sizes(const GenKernel *k, size_t size[GEN_BUFFERS])
{
    size_t n = (size_t)k->local[0] * k->local[1] * k->local[2] * k->groups;
    const size_t sizes[GEN_BUFFERS] = { GEN_INPUTS * 4,
                                        n * GEN_SLOTS * 4,
                                        GEN_COUNTERS * 4,
                                        n * GEN_OWN_BYTES,
                                        GEN_MATRIX_INPUTS * 4,
                                        GEN_MATRIX_INPUTS * 4,
                                        (n + 7) / 8 * GEN_MATRIX_OUTPUTS * 4 };
    memcpy(size, sizes, sizeof sizes);
}

void gen_fill(GenMemory *m, const GenKernel *k, uint64_t seed)
{
    static const uint32_t edges[] = { 0, 1, 2, 31, 32, 0x7fffffff, 0x80000000u, 0xffffffffu, 0xff };
    Rng r = { seed };
    uint32_t *in = m->data[0], *counters = m->data[2];
    for (uint32_t i = 0; i < GEN_BUFFERS; i++)
        memset(m->data[i], 0, m->size[i]);
    for (uint32_t i = 0; i < GEN_INPUTS; i++) {
        uint64_t x = rng_u64(&r);
        in[i] = x >> 62 == 0   ? edges[x % COUNT_OF(edges)]
                : x >> 62 == 1 ? (uint32_t)x % 16
                               : (uint32_t)x;
    }
    memset(&counters[6], 0xff, 8); /* UMin, And */
    fill_matrices(m->data[4], 4, k->a);
    fill_matrices(m->data[5], 5, k->c);
}
