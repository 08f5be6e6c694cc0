/* SPDX-License-Identifier: MIT
 *
 * Module -> bytes: the header and each instruction's words, in the byte order the module came in.
 */
#include "spirv/internal.h"

typedef struct Writer {
    uint32_t *words; /* NULL while counting */
    size_t n;
} Writer;

static bool write_inst(void *user, SpvInst *i)
{
    Writer *w = user;
    if (w->words)
        memcpy(w->words + w->n, i->words, i->n_words * sizeof *i->words);
    w->n += i->n_words;
    return true;
}

void *spv_write(Arena *arena, const SpvModule *m, size_t *size)
{
    const uint32_t header[5] = { SpvMagicNumber, m->version, m->generator, m->bound, m->schema };
    Writer w = { NULL, COUNT_OF(header) };
    spv_each_inst(m, write_inst, &w);
    size_t n = w.n;
    w.words = NEW_ARRAY(arena, uint32_t, n);
    w.n = COUNT_OF(header);
    memcpy(w.words, header, sizeof header);
    spv_each_inst(m, write_inst, &w);
    if (m->swapped)
        for (size_t k = 0; k < n; k++)
            w.words[k] = __builtin_bswap32(w.words[k]);
    *size = n * 4;
    return w.words;
}
