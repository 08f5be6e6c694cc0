/* SPDX-License-Identifier: MIT
 *
 * Packed operands of multiply-adds that several workgroups of a dispatch share. In: what an operand
 * is made of, the addresses and strides of its tiles. Out: the place for it, and whether this
 * thread has packed it before in this dispatch.
 *
 * The places are a ring, so that the oldest makes room; a hash table finds them. An operand is the
 * same only if all of its tiles are where they were: the table compares each, and the dispatch has
 * made sure that nobody writes them meanwhile (plan_panels).
 */
#include "cpu/run/exec.h"

enum { MAX_PLACES = 4096, MAX_BYTES = 1 << 30 };

/* What goes before the panel. */
typedef struct Place {
    uint64_t hash;
    uint32_t next; /* 1 + number of the next one with this hash; 0: none */
    uint32_t words, kind;
    uint64_t key[];
} Place;

static uint64_t head_bytes(const CpuKernel *k)
{
    return align_up(sizeof(Place) + 8 * k->panel_words, 64);
}

static uint64_t place_bytes(const CpuKernel *k)
{
    /* Places a multiple of 4 KB apart would be in each other's cache sets. */
    return head_bytes(k) + align_up(k->panel_bytes, 64) + 64;
}

uint64_t panels_bytes(const CpuKernel *k, uint64_t budget, uint32_t *places)
{
    uint64_t each = place_bytes(k), n = MIN(budget, (uint64_t)MAX_BYTES) / each;
    *places = 1;
    while (*places * 2 <= MIN(n, (uint64_t)MAX_PLACES))
        *places *= 2;
    *places = n < 2 ? 0 : *places;
    return *places * (each + sizeof(uint32_t));
}

static Place *place(const ExecPanels *p, uint32_t number)
{
    return (Place *)(void *)(p->data + number * p->stride);
}

void panels_clear(ExecPanels *p, char *data, const CpuKernel *k, uint32_t n)
{
    *p = (ExecPanels){ .data = data,
                       .first = (uint32_t *)(void *)(data + n * place_bytes(k)),
                       .stride = place_bytes(k),
                       .head = head_bytes(k),
                       .n = n };
    panels_restart(p);
}

void panels_restart(ExecPanels *p)
{
    p->used = 0;
    memset(p->first, 0, p->n * sizeof *p->first);
}

static void forget(ExecPanels *p, uint32_t number)
{
    Place *old = place(p, number);
    uint32_t *at = &p->first[old->hash & (p->n - 1)];
    while (*at != number + 1)
        at = &place(p, *at - 1)->next;
    *at = old->next;
}

void *panels_find(ExecPanels *p, const uint64_t *key, uint32_t words, uint32_t kind, bool *packed)
{
    /* Tiles of one operand lie at like distances: two of them tell most operands apart. */
    uint64_t hash = (key[0] ^ (key[words - 2] << 7 | kind)) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    uint32_t *first = &p->first[hash & (p->n - 1)];
    for (uint32_t n = *first; n; n = place(p, n - 1)->next) {
        Place *x = place(p, n - 1);
        if (x->hash == hash && x->kind == kind && x->words == words &&
            !memcmp(x->key, key, words * sizeof *key)) {
            *packed = true;
            return (char *)x + p->head;
        }
    }
    uint32_t number = p->used % p->n;
    if (p->used >= p->n)
        forget(p, number);
    p->used = p->used + 1 < 2 * p->n ? p->used + 1 : p->n;
    Place *x = place(p, number);
    x->hash = hash;
    x->kind = kind;
    x->words = words;
    x->next = *first;
    memcpy(x->key, key, words * sizeof *key);
    *first = number + 1;
    *packed = false;
    return (char *)x + p->head;
}
