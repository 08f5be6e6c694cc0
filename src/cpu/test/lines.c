/* SPDX-License-Identifier: MIT
 *
 * Tables of lines: a small one by hand, and the same cut short and changed.
 */
#include "cpu/machine/lines.h"

#include <stdlib.h>

#include "base/test.h"

/* Two files, one in a folder; rows at 0 (a.comp:5), 4 (a.comp:6), 20 (lib/b.glsl:9), the end at 30.
 */
static const unsigned char table[] = {
    67,  0,   0,   0,                               /* size */
    4,   0,                                         /* version */
    34,  0,   0,   0,                               /* of the rest of the header */
    1,   1,   1,   0xfb, 14, 13,                    /* lengths, base -5, range 14 */
    0,   1,   1,   1,    1,  0,   0, 0, 1, 0, 0, 1, /* operands of opcodes 1 to 12 */
    'l', 'i', 'b', 0,    0,                         /* folders */
    'a', 0,   0,   0,    0,  'b', 0, 1, 0, 0, 0,    /* files */
    0,   9,   2,   0,    0,  0,   0, 0, 0, 0, 0,    /* address */
    3,   4,   1,                                    /* line 5, row */
    75,                                             /* 4 further, line 6, row */
    4,   2,   3,   3,    2,  16,  1,                /* file 2, line 9, 16 further, row */
    2,   10,  0,   1,    1,                         /* 10 further, the end */
};

static bool place_is(const CpuLines *l, uintptr_t address, const char *file, uint32_t line)
{
    DiagLoc at = cpu_lines_loc(l, address);
    return at.line == line && (file ? at.file && !strcmp(at.file, file) : !at.file);
}

static CpuLines *lines(const void *section, size_t size, bool *good)
{
    CpuLines *l = calloc(1, sizeof *l);
    l->start = 1000;
    l->size = 64;
    *good = cpu_lines_read(l, section, size);
    return l;
}

TEST(places)
{
    bool good;
    CpuLines *l = lines(table, sizeof table, &good);
    CHECK(good);
    CHECK(place_is(l, 1000, "a", 5));
    CHECK(place_is(l, 1003, "a", 5));
    CHECK(place_is(l, 1004, "a", 6));
    CHECK(place_is(l, 1019, "a", 6));
    CHECK(place_is(l, 1020, "lib/b", 9));
    CHECK(place_is(l, 1029, "lib/b", 9));
    CHECK(place_is(l, 1030, NULL, 0));
    CHECK(place_is(l, 999, NULL, 0));
    CHECK(place_is(l, 1064, NULL, 0));
    CHECK(place_is(NULL, 1000, NULL, 0));
    cpu_lines_free(l);
}

/* Whatever the bytes are, nothing outside of them is read, which the sanitizers see. */
TEST(damaged)
{
    bool good;
    for (size_t size = 0; size < sizeof table; size++) {
        unsigned char *part = malloc(size + !size);
        memcpy(part, table, size);
        cpu_lines_free(lines(part, size, &good));
        CHECK(!good);
        free(part);
    }
    for (size_t k = 0; k < sizeof table; k++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            unsigned char changed[sizeof table];
            memcpy(changed, table, sizeof table);
            changed[k] ^= (unsigned char)(1u << bit);
            CpuLines *l = lines(changed, sizeof changed, &good);
            for (uintptr_t at = 990; at < 1070; at++)
                cpu_lines_loc(l, at);
            cpu_lines_free(l);
        }
    }
    CHECK(sizeof table == 71);
}
