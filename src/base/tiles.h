/* SPDX-License-Identifier: MIT
 *
 * tiles: how subgroups of 32 hold matrices where tensor cores multiply them (LowerOwnership's
 * PROFILE_TILES, the device cuda): by tiles of 16 x 16, row by row of tiles, where both sizes are
 * multiples of 16. Of a tile lane 4g + t holds rows 4 (g / 2) + g % 2 and that + 2, columns 4t to
 * 4t + 3 of each. Where the sizes are multiples of 8 only, by tiles of 8 x 8, of which it holds
 * columns 2t and 2t + 1 of row g.
 */
#ifndef HEDDLE_TILES_H
#define HEDDLE_TILES_H

#include <stdbool.h>
#include <stdint.h>

enum { TILES_LANES = 32 };

/* Rows and columns of a matrix's tiles; 0: it has none. */
static inline uint32_t tiles_size(uint32_t rows, uint32_t columns)
{
    return rows % 16 == 0 && columns % 16 == 0 ? 16 : rows % 8 == 0 && columns % 8 == 0 ? 8 : 0;
}

/* Where a lane's element lies in a matrix that has tiles; false: it has not that many. */
static inline bool tiles_position(uint32_t rows, uint32_t columns, uint32_t lane, uint32_t element,
                                  uint32_t *row, uint32_t *column)
{
    uint32_t size = tiles_size(rows, columns), each = size * size / TILES_LANES;
    uint32_t across = columns / size, tile = element / each, e = element % each;
    uint32_t g = lane / 4, t = lane % 4, wide = size / 4;
    if (lane >= TILES_LANES || tile >= rows / size * across)
        return false;
    *row = tile / across * size + (size == 8 ? g : 4 * (g / 2) + 2 * (e / 4) + g % 2);
    *column = tile % across * size + wide * t + e % wide;
    return true;
}

#endif
