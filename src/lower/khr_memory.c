/* SPDX-License-Identifier: MIT
 *
 * khr_memory: loads and stores of matrices become those of the elements that an invocation holds.
 */
#include "lower/internal.h"

static void in_order(const LowerAddress *a, LowerElement x, SpvId *major, SpvId *minor)
{
    *major = a->by_column ? x.column : x.row;
    *minor = a->by_column ? x.row : x.column;
}

void khr_load(Lower *l, SpvInst *i)
{
    const SpvType *t = spv_type(l->m, i->type);
    LowerAddress a;
    SpvId major, minor;
    if (!address_open(l, i, t, &a))
        return;
    address_as_elements(l, &a);
    LowerEach e = each_open(l, i, place_length(l, t));
    while (each_next(&e)) {
        in_order(&a, place_element(l, e.at, t, e.index), &major, &minor);
        each_put(&e, t->id, t->element->id, address_load(l, e.at, &a, major, minor));
    }
    lower_note(l, i, "loads of elements");
    build_replace(l, i, each_result(&e, t->id));
}

/* Pointees that hold several elements are written whole: they are put together from workgroup
 * memory, where the matrix lies in the order of the access. */
static void store_packed(Lower *l, SpvInst *i, const SpvType *t, const LowerAddress *a)
{
    uint32_t n = address_packed(a), per_line = a->minor / n, total = a->major * per_line;
    uint32_t lanes = place_lanes(l, t->scope);
    SpvId element = t->element->id, major, minor, parts[16];
    if (a->minor % n || n > 16) {
        lower_refuse(l, i, "its lines are no multiples of what its pointer leads to");
        return;
    }
    staging_of(l, element, t->scope, t->rows * t->cols);
    LowerEach e = each_open(l, i, place_length(l, t));
    while (each_next(&e)) {
        SpvId value = each_get(&e, spv_operand(i, 1), element);
        SpvInst *at = place_if_holds(l, e.at, t, e.index);
        in_order(a, place_element(l, at, t, e.index), &major, &minor);
        SpvId number = build_add(l, at, build_mul(l, at, major, build_const(l, a->minor)), minor);
        staging_store(l, at, t->scope, number, value);
    }
    place_barrier(l, i, t->scope);
    e = each_open(l, i, (total + lanes - 1) / lanes);
    while (each_next(&e)) {
        SpvId unit = build_add(l, e.at, build_mul(l, e.at, e.index, build_const(l, lanes)),
                               place_lane(l, e.at, t->scope));
        SpvId all = build_const(l, total), first;
        SpvInst *at = total % lanes ? build_if(l, e.at, build_less(l, e.at, unit, all)) : e.at;
        first = build_mul(l, at, unit, build_const(l, n));
        for (uint32_t k = 0; k < n; k++)
            parts[k] =
                staging_load(l, at, element, t->scope, build_add(l, at, first, build_const(l, k)));
        SpvId line = build_mul(l, at, build_div(l, at, unit, per_line), a->stride);
        address_store_packed(l, at, a, build_add(l, at, line, build_mod(l, at, unit, per_line)),
                             parts);
    }
    place_barrier(l, i, t->scope);
}

void khr_store(Lower *l, SpvInst *i)
{
    const SpvType *t = spv_type_of(l->m, spv_operand(i, 1));
    LowerAddress a;
    SpvId major, minor;
    if (!address_open(l, i, t, &a))
        return;
    address_as_elements(l, &a);
    bool packed = address_packed(&a) > 1;
    lower_note(l, i,
               packed ? "workgroup memory, stores of several elements" : "stores of elements");
    if (packed) {
        store_packed(l, i, t, &a);
    } else {
        LowerEach e = each_open(l, i, place_length(l, t));
        while (each_next(&e)) {
            SpvId value = each_get(&e, spv_operand(i, 1), t->element->id);
            SpvInst *at = place_if_holds(l, e.at, t, e.index);
            in_order(&a, place_element(l, at, t, e.index), &major, &minor);
            address_store(l, at, &a, major, minor, value);
        }
    }
    edit_remove(l->m, i);
}
