/* SPDX-License-Identifier: MIT
 *
 * layout: who holds which element of a cooperative matrix, as text or as a picture.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { MAX_SIDE = 1024 };

const char *use_name(HeddleUse use)
{
    return use == HEDDLE_USE_A ? "A" : use == HEDDLE_USE_B ? "B" : "C";
}

static bool parse_shape(const char *text, CliLayout *l)
{
    char *end;
    unsigned long rows = strtoul(text, &end, 10), columns = 0;
    bool good = isdigit((unsigned char)*text) && (*end == 'x' || *end == 'X');
    if (good) {
        const char *second = end + 1;
        columns = strtoul(second, &end, 10);
        good = isdigit((unsigned char)*second) && !*end;
    }
    good = good && rows && columns && rows <= MAX_SIDE && columns <= MAX_SIDE;
    if (!good)
        complain("layout: ROWSxCOLUMNS such as 16x16 expected (up to %dx%d), not '%s'", MAX_SIDE,
                 MAX_SIDE, text);
    l->rows = (uint32_t)rows;
    l->columns = (uint32_t)columns;
    return good;
}

static bool parse_type(const char *text, CliLayout *l)
{
    l->type = heddle_type_from_name(text);
    bool good = l->type != HEDDLE_NO_TYPE && l->type != HEDDLE_BOOL;
    if (!good)
        complain("layout: an element type such as f16, f32, s8 expected, not '%s'", text);
    return good;
}

static bool parse_use(const char *text, CliLayout *l)
{
    char c = (char)toupper((unsigned char)text[0]);
    bool word = !strcmp(text, "accumulator") || !strcmp(text, "Accumulator");
    l->use = c == 'A' && !word ? HEDDLE_USE_A : c == 'B' ? HEDDLE_USE_B : HEDDLE_USE_ACCUMULATOR;
    bool good = word || (c >= 'A' && c <= 'C' && !text[1]);
    if (!good)
        complain("layout: the use is A, B or C (the accumulator), not '%s'", text);
    return good;
}

/* Elements in one of an array's. */
static uint32_t packed(const CliLayout *l)
{
    return l->array ? (uint32_t)(heddle_type_size(l->array) / heddle_type_size(l->type)) : 1;
}

static bool converts(const CliLayout *l)
{
    bool c = l->use == HEDDLE_USE_ACCUMULATOR;
    return l->type == HEDDLE_F32 || l->type == HEDDLE_F16 ||
           l->type == (c ? HEDDLE_S32 : HEDDLE_S8) || l->type == (c ? HEDDLE_U32 : HEDDLE_U8);
}

/* By the rules of SPV_QCOM_cooperative_matrix_conversion. */
static bool parse_arrays(const CliOptions *o, CliLayout *l)
{
    if (!o->arrays)
        return true;
    l->array = heddle_type_from_name(o->arrays);
    bool c = l->use == HEDDLE_USE_ACCUMULATOR, b = l->use == HEDDLE_USE_B;
    uint32_t lanes = b ? l->columns : l->rows, length = b ? l->rows : l->columns;
    uint32_t size = (uint32_t)heddle_type_size(l->type), w = l->subgroup_size;
    const char *word = b ? "rows" : "columns";
    if (!converts(l))
        complain("layout: --arrays: A and B are of f32, f16, s8 or u8, accumulators of f32, f16, "
                 "s32 or u32, not of %s",
                 heddle_type_name(l->type));
    else if (l->array != l->type && (l->array != HEDDLE_U32 || size >= 4 || (c && size != 2)))
        complain("layout: --arrays %s: arrays are of the matrix's own type%s", o->arrays,
                 size < 4 ? ", or of u32, which hold several" : "");
    else if (!c && length * size != 32)
        complain("layout: --arrays: an array is of 32 bytes, so A has %u columns of %s and B %u "
                 "rows",
                 32 / size, heddle_type_name(l->type), 32 / size);
    else if (length % packed(l))
        complain("layout: --arrays u32: %u %s are no whole number of words", length, word);
    else if (!c ? lanes > w : lanes != w && lanes * 2 != w && lanes * 4 != w)
        complain("layout: --arrays: in a subgroup of %u %s", w,
                 c ? "an accumulator has as many rows, half as many or a quarter"
                   : "A has at most as many rows, B as many columns");
    else
        return true;
    return false;
}

static bool parse_subgroup(const CliOptions *o, CliLayout *l)
{
    l->subgroup_size = o->subgroup_size ? o->subgroup_size : 32;
    uint32_t w = l->subgroup_size;
    bool good = w <= 128 && !(w & (w - 1));
    if (!good)
        complain("layout: --subgroup-size is a power of two up to 128, not %u", w);
    return good;
}

static int width_of(uint32_t n) { return snprintf(NULL, 0, "%u", n); }

static HeddleMatrixLayout matrix_of(const CliLayout *l)
{
    return (HeddleMatrixLayout){ .struct_size = sizeof(HeddleMatrixLayout),
                                 .rows = l->rows,
                                 .columns = l->columns,
                                 .type = l->type,
                                 .use = l->use,
                                 .subgroup_size = l->subgroup_size };
}

uint32_t layout_length(const CliLayout *l)
{
    HeddleMatrixLayout m = matrix_of(l);
    if (!l->array)
        return heddle_matrix_length(l->device, &m);
    return (l->use == HEDDLE_USE_B ? l->rows : l->columns) / packed(l);
}

void layout_owner(const CliLayout *l, uint32_t row, uint32_t column, uint32_t *lane,
                  uint32_t *element)
{
    HeddleMatrixLayout m = matrix_of(l);
    bool b = l->use == HEDDLE_USE_B;
    if (!l->array) {
        heddle_matrix_owner(l->device, &m, row, column, lane, element);
        return;
    }
    *lane = b ? column : row;
    *element = (b ? row : column) / packed(l);
}

/* Whether the other one holds an element elsewhere; false where nobody says. Of a large matrix some
 * are looked at. */
static bool differ(const CliLayout *a, const CliLayout *b)
{
    uint32_t row_step = a->rows / 64 + 1, column_step = a->columns / 64 + 1;
    for (uint32_t r = 0; r < a->rows; r += row_step)
        for (uint32_t c = 0; c < a->columns; c += column_step) {
            uint32_t lane[2] = { 0 }, element[2] = { 0 };
            layout_owner(a, r, c, &lane[0], &element[0]);
            HeddleMatrixLayout other = matrix_of(b);
            if (!b->array && !heddle_matrix_owner(b->device, &other, r, c, &lane[1], &element[1]))
                return false;
            if (b->array)
                layout_owner(b, r, c, &lane[1], &element[1]);
            if (lane[0] != lane[1] || element[0] != element[1])
                return true;
        }
    return false;
}

static bool type_matters(const CliLayout *l)
{
    CliLayout other = *l;
    bool matters = false;
    for (int t = HEDDLE_F16; t <= HEDDLE_U64 && !matters; t++) {
        other.type = (HeddleType)t;
        bool fits = !l->array || heddle_type_size(other.type) <= heddle_type_size(l->array);
        matters = fits && differ(l, &other);
    }
    return matters;
}

static bool use_matters(const CliLayout *l)
{
    CliLayout other = *l;
    bool matters = false;
    for (int u = HEDDLE_USE_A; u <= HEDDLE_USE_ACCUMULATOR && !matters; u++) {
        other.use = (HeddleUse)u;
        matters = differ(l, &other);
    }
    return matters;
}

void layout_whose(const CliLayout *l, char *text, size_t size)
{
    static const char *const changes[2][2] = {
        { "neither TYPE nor USE changes it", "USE changes it, TYPE does not" },
        { "TYPE changes it, USE does not", "TYPE and USE change it" }
    };
    const char *device = l->device ? heddle_device_info(l->device)->kind_name : NULL;
    snprintf(text, size, "the assignment of %s: %s",
             l->array ? "Qualcomm's conversions"
             : device ? device
                      : "heddle's own devices",
             changes[type_matters(l)][use_matters(l)]);
}

static void print_grid(const CliLayout *l)
{
    uint32_t length = layout_length(l);
    int lane_width = width_of(l->subgroup_size - 1), element_width = width_of(length - 1);
    int cell_width = lane_width + 1 + element_width, label = width_of(l->rows - 1);
    printf("%*s |", label, "");
    for (uint32_t c = 0; c < l->columns; c++)
        printf(" %*u", cell_width, c);
    printf("\n");
    for (int i = 0; i < label + 1; i++)
        printf("-");
    printf("+");
    for (uint32_t i = 0; i < l->columns * (uint32_t)(cell_width + 1); i++)
        printf("-");
    printf("\n");
    for (uint32_t r = 0; r < l->rows; r++) {
        printf("%*u |", label, r);
        for (uint32_t c = 0; c < l->columns; c++) {
            uint32_t lane, element;
            layout_owner(l, r, c, &lane, &element);
            printf(" %*u.%-*u", lane_width, lane, element_width, element);
        }
        printf("\n");
    }
}

static void print_arrays(const CliLayout *l)
{
    uint32_t n = packed(l), length = layout_length(l);
    bool b = l->use == HEDDLE_USE_B;
    printf("%ux%u %s %s from and to arrays %s[%u] of a subgroup of %u. Cells: lane.element\n",
           l->rows, l->columns, heddle_type_name(l->type), use_name(l->use),
           heddle_type_name(l->array), length, l->subgroup_size);
    printf("(lane i's array is %s i", b ? "column" : "row");
    if (n > 1)
        printf("; %u elements a word, the first in the lowest bits", n);
    printf(")\n\n");
    print_grid(l);
}

static void print_layout(const CliLayout *l)
{
    if (l->array) {
        print_arrays(l);
        return;
    }
    uint32_t length = layout_length(l);
    uint64_t n = (uint64_t)l->rows * l->columns;
    printf("%ux%u %s %s, subgroup of %u: %u element%s an invocation. Cells: lane.element\n",
           l->rows, l->columns, heddle_type_name(l->type), use_name(l->use), l->subgroup_size,
           length, length == 1 ? "" : "s");
    if (n % l->subgroup_size && !l->device)
        printf("(the last element of lanes %u to %u means nothing)\n",
               (uint32_t)(n % l->subgroup_size), l->subgroup_size - 1);
    char whose[160];
    layout_whose(l, whose, sizeof whose);
    printf("%s\n\n", whose);
    print_grid(l);
}

/* Opens the device that is asked for; which must say who holds what. */
static bool open_owner(const CliOptions *o, CliLayout *l, HeddleLog *log)
{
    uint32_t lane, element;
    HeddleMatrixLayout m = matrix_of(l);
    if (!o->device && !o->isa)
        return true;
    if (open_device(o, &l->device, log))
        return false;
    bool known = heddle_matrix_owner(l->device, &m, 0, 0, &lane, &element);
    if (!known)
        complain("layout: the device does not say who holds what of such a matrix");
    return known;
}

int command_layout(const CliOptions *o)
{
    CliLayout l = { 0 };
    const char **in = o->inputs.data;
    if (!parse_shape(in[0], &l) || !parse_type(in[1], &l) || !parse_use(in[2], &l) ||
        !parse_subgroup(o, &l) || !parse_arrays(o, &l))
        return EXIT_USAGE;
    HeddleLog *log = open_log();
    bool good = log && open_owner(o, &l, log);
    if (good && o->svg)
        good = layout_svg(&l, o->svg);
    else if (good)
        print_layout(&l);
    heddle_device_free(l.device);
    heddle_log_free(log);
    return good ? EXIT_DONE : EXIT_WRONG;
}
