/* SPDX-License-Identifier: MIT
 *
 * OpCopyMemorySized: copies bytes from one memory to another. With robust access
 * (VK_EXT_robustness2) bytes outside of the source buffer read as zeros, and bytes outside of the
 * target buffer are not written. On each side the bytes that exist are one range of the copy; the
 * intersection of the two ranges is moved.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

/* One side of a copy: an i64 or <W x i64> offset, and an address likewise. `limit` NULL: all of it
 * exists. */
typedef struct Side {
    LV address, offset, limit;
} Side;

/* A range of the copy's bytes, numbered from its start. */
typedef struct Bytes {
    LV first, last;
} Bytes;

static LV binary(Emit *e, const char *intrinsic, LV a, LV b)
{
    LV args[2] = { a, b };
    return ir_intrinsic(e->b, intrinsic, &e->i64, 1, args, 2);
}

static Side side_of(Emit *e, const EmitPointer *p)
{
    Side s = { .address = emit_address(e, p, 0, 1) };
    bool own = p->storage == SpvStorageClassFunction || p->storage == SpvStorageClassPrivate;
    if (address_checked(e, p))
        s.limit = p->limit;
    else if (e->robust && own && p->variable)
        s.limit = ir_int(e->i64, variables_own_bytes(e, p->variable));
    if (s.limit)
        s.offset = address_offset(e, p, 0);
    return s;
}

static Side side_of_lane(Emit *e, const Side *s, LV lane)
{
    Side one = { .address = emit_lane(e, s->address, lane) };
    if (s->limit) {
        one.offset = emit_lane(e, s->offset, lane);
        one.limit = emit_lane(e, s->limit, lane);
    }
    return one;
}

/* Which of `size` bytes (less than 2^63) exist. If the copy starts before the buffer, -offset is
 * the first byte that exists. If it starts behind it, -offset is at least 2^63 and none does. */
static Bytes bytes_inside(Emit *e, const Side *s, LV size)
{
    if (!s->limit)
        return (Bytes){ ir_int(e->i64, 0), size };
    LV inside = LLVMBuildICmp(e->b, LLVMIntULT, s->offset, s->limit, "");
    LV before = LLVMBuildNeg(e->b, s->offset, "");
    Bytes r = { .first = LLVMBuildSelect(e->b, inside, ir_int(e->i64, 0), before, "") };
    r.first = binary(e, "llvm.umin", r.first, size);
    r.last = binary(e, "llvm.umin", LLVMBuildSub(e->b, s->limit, s->offset, ""), size);
    r.last = binary(e, "llvm.umax", r.first, r.last);
    return r;
}

static LV byte_address(Emit *e, LV address, LV byte) { return ir_at(e->b, address, byte); }

static void clear(Emit *e, const Side *to, LV first, LV last)
{
    LV n = binary(e, "llvm.usub.sat", last, first);
    LLVMBuildMemSet(e->b, byte_address(e, to->address, first), ir_int(e->i8, 0), n, 1);
}

/* Copies for one lane. Zeros are written last, as they may overwrite what is still to be read. */
static void copy(Emit *e, const Side *to, const Side *from, LV size)
{
    if (!to->limit && !from->limit) {
        LLVMBuildMemMove(e->b, to->address, 1, from->address, 1, size);
        return;
    }
    size = LLVMBuildZExt(e->b, size, e->i64, "");
    size = binary(e, "llvm.umin", size, ir_int(e->i64, (uint64_t)1 << 62));
    Bytes w = bytes_inside(e, to, size), r = bytes_inside(e, from, size);
    LV first = binary(e, "llvm.umin", binary(e, "llvm.umax", w.first, r.first), w.last);
    LV last = binary(e, "llvm.umax", binary(e, "llvm.umin", w.last, r.last), first);
    LLVMBuildMemMove(e->b, byte_address(e, to->address, first), 1,
                     byte_address(e, from->address, first), 1, LLVMBuildSub(e->b, last, first, ""));
    clear(e, to, w.first, first);
    clear(e, to, last, w.last);
}

static void count(Emit *e, const EmitPointer *p, SpvId size, bool lanes)
{
    uint64_t bytes = 0; /* where they are not known, the access still counts */
    spv_constant(e->module, size, &bytes);
    access_count(e, p, lanes ? HEDDLE_ACCESS_GATHER : HEDDLE_ACCESS_SCALAR,
                 lanes ? lanes_mask(e) : NULL, bytes);
}

void copy_sized(Emit *e, const SpvInst *i)
{
    const EmitPointer *written = emit_pointer(e, spv_operand(i, 0));
    const EmitPointer *read = emit_pointer(e, spv_operand(i, 1));
    Side to = side_of(e, written), from = side_of(e, read);
    LV size = emit_leaf(e, spv_operand(i, 2), 0);
    emit_before_write(e, written);
    LV parts[] = { to.address, from.address, size };
    bool lanes = false;
    for (uint32_t k = 0; k < COUNT_OF(parts); k++)
        lanes |= emit_is_lanes(parts[k]);
    count(e, read, spv_operand(i, 2), lanes);
    count(e, written, spv_operand(i, 2), lanes);
    if (!lanes) {
        copy(e, &to, &from, size);
        return;
    }
    LanesLoop l = lane_loop_begin(e, e->mask);
    Side to_one = side_of_lane(e, &to, l.index), from_one = side_of_lane(e, &from, l.index);
    copy(e, &to_one, &from_one, emit_lane(e, size, l.index));
    lane_loop_end(e, &l);
}
