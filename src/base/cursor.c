/* SPDX-License-Identifier: MIT
 *
 * The cursor through untrusted bytes. A read that does not fit moves to the end, yields zeros and
 * sets a flag, so that a reader can check once after several reads instead of after each.
 */
#include "base/base.h"

const uint8_t *cursor_bytes(Cursor *c, size_t n)
{
    if (n > c->size - c->pos) {
        c->pos = c->size;
        c->overrun = true;
        return NULL;
    }
    const uint8_t *p = c->data + c->pos;
    c->pos += n;
    return p;
}

uint8_t cursor_u8(Cursor *c)
{
    const uint8_t *p = cursor_bytes(c, 1);
    return p ? *p : 0;
}

uint16_t cursor_u16(Cursor *c)
{
    uint16_t x = 0;
    const uint8_t *p = cursor_bytes(c, sizeof(x));
    if (p)
        memcpy(&x, p, sizeof(x));
    return c->swap ? __builtin_bswap16(x) : x;
}

uint32_t cursor_u32(Cursor *c)
{
    uint32_t x = 0;
    const uint8_t *p = cursor_bytes(c, sizeof(x));
    if (p)
        memcpy(&x, p, sizeof(x));
    return c->swap ? __builtin_bswap32(x) : x;
}
