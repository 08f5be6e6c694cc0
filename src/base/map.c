/* SPDX-License-Identifier: MIT
 *
 * A map from 64-bit keys to 64-bit values: open addressing with linear probing in a table of a
 * power of two that is at most three quarters full. Tables outgrown stay in the arena.
 */
#include "base/base.h"

/* The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators):
 * each bit of the input changes each bit of the output with probability close to a half. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Where the key is, or the free place it would take. The table has a free place. */
static uint32_t find_place_of(const Map *m, uint64_t key)
{
    uint32_t i = (uint32_t)mix(key) & (m->cap - 1);
    while (m->occupied[i] && m->keys[i] != key)
        i = (i + 1) & (m->cap - 1);
    return i;
}

bool map_get(const Map *m, uint64_t key, uint64_t *value)
{
    if (!m->cap)
        return false;
    uint32_t i = find_place_of(m, key);
    if (!m->occupied[i])
        return false;
    if (value)
        *value = m->values[i];
    return true;
}

static bool grow(Arena *a, Map *m)
{
    if (m->cap >= 1u << 31) {
        arena_fail(a);
        return false;
    }
    uint32_t cap = m->cap ? m->cap * 2 : 16;
    Map grown = {
        .keys = NEW_ARRAY(a, uint64_t, cap),
        .values = NEW_ARRAY(a, uint64_t, cap),
        .occupied = NEW_ARRAY(a, uint8_t, cap),
        .len = m->len,
        .cap = cap,
    };
    if (!grown.keys || !grown.values || !grown.occupied)
        return false;
    for (uint32_t i = 0; i < m->cap; i++) {
        if (!m->occupied[i])
            continue;
        uint32_t at = find_place_of(&grown, m->keys[i]);
        grown.occupied[at] = 1;
        grown.keys[at] = m->keys[i];
        grown.values[at] = m->values[i];
    }
    *m = grown;
    return true;
}

void map_put(Arena *a, Map *m, uint64_t key, uint64_t value)
{
    if (m->len >= m->cap / 4 * 3 && !grow(a, m))
        return;
    uint32_t i = find_place_of(m, key);
    if (!m->occupied[i])
        m->len++;
    m->occupied[i] = 1;
    m->keys[i] = key;
    m->values[i] = value;
}

uint64_t hash_bytes(const void *data, size_t size, uint64_t seed)
{
    const uint8_t *p = data;
    uint64_t h = mix(seed ^ size);
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = mix(h ^ word);
    }
    uint64_t tail = 0;
    if (size)
        memcpy(&tail, p, size);
    return mix(h + mix(tail + 0x9e3779b97f4a7c15u));
}
