/* SPDX-License-Identifier: MIT
 *
 * Loads and stores of the lanes. By what is known of the addresses of a leaf: one scalar access
 * (all lanes the same address), one vector access (lane by lane, or group by group of lanes, side
 * by side), wide accesses with shuffles (a few leaves of each lane side by side), else gather and
 * scatter. Stores of several lanes to one address: one of them wins.
 *
 * Robust access (VK_EXT_robustness2): what lies outside of the buffer reads as zero and is not
 * written. A scalar access that is outside goes to other memory instead; lanes outside are masked
 * out.
 */
#include "cpu/emit.h"
#include "cpu/emit_internal.h"

#include <llvm/Config/llvm-config.h>

typedef struct Part { int64_t byte; const SpvType *type; } Part;

static LV i64c(Emit *e, int64_t x)
{
    return LLVMConstInt(e->i64, (uint64_t)x, 1);
}

/* ---- addresses ------------------------------------------------------------------------------- */

bool emit_same_address(const Pointer *p)
{
    return !p->lane_index && p->at.rule != LAYOUT_LANES && !(p->base && emit_is_lanes(p->base));
}

static LV gep(Emit *e, LT unit, LV base, LV index)
{
    return LLVMBuildGEP2(e->b, unit, base, &index, 1, "");
}

/* offset + constant + byte, times `scale`: i64 */
static LV uniform_offset(Emit *e, const Pointer *p, int64_t byte, int64_t scale)
{
    LV constant = i64c(e, (p->constant + byte) * scale);
    if (!p->offset)
        return constant;
    LV offset = scale == 1 ? p->offset : LLVMBuildMul(e->b, p->offset, i64c(e, scale), "");
    return LLVMBuildAdd(e->b, offset, constant, "");
}

static LV uniform_address(Emit *e, const Pointer *p, int64_t byte, int64_t scale)
{
    LV offset = uniform_offset(e, p, byte, scale);
    if (emit_is_lanes(p->base))
        offset = emit_lanes(e, offset);
    return gep(e, e->i8, p->base, offset);
}

/* An integer type of up to 8 bytes that divides `scale`, so that it can be an address mode's
 * scale. */
static LT scale_unit(Emit *e, int64_t scale, int64_t *factor)
{
    int64_t unit = 1;
    while (unit < 8 && scale % (unit * 2) == 0)
        unit *= 2;
    *factor = scale / unit;
    return LLVMIntTypeInContext(e->cx, (unsigned)unit * 8);
}

static LV lanes_address(Emit *e, const Pointer *p, int64_t byte, uint32_t size)
{
    LV base = uniform_address(e, p, byte, e->W);
    LT unit = LLVMIntTypeInContext(e->cx, size * 8);
    LV index = e->lane_id;
    if (p->lane_index) { /* private memory is small: 32 bits do */
        LV at = emit_cast_index(e, p->lane_index, e->i32);
        int64_t factor = p->lane_scale * e->W / size;
        at = LLVMBuildMul(e->b, at, emit_int(e, LLVMTypeOf(at), (uint64_t)factor), "");
        index = LLVMBuildAdd(e->b, emit_lanes(e, at), index, "");
    }
    return gep(e, unit, base, index);
}

LV emit_address(Emit *e, const Pointer *p, int64_t byte, uint32_t size)
{
    if (p->at.rule == LAYOUT_LANES)
        return lanes_address(e, p, byte, size);
    LV base = uniform_address(e, p, byte, 1);
    if (!p->lane_index)
        return base;
    int64_t factor;
    LT unit = scale_unit(e, p->lane_scale, &factor);
    LV index = p->lane_index;
    if (factor != 1) {
        index = emit_cast_index(e, index, e->i64);
        index = LLVMBuildMul(e->b, index, emit_int(e, LLVMTypeOf(index), (uint64_t)factor), "");
    }
    return gep(e, unit, base, index);
}

/* Bytes behind base: i64 or <W x i64>. Not for LAYOUT_LANES. */
static LV total_offset(Emit *e, const Pointer *p, int64_t byte)
{
    LV offset = uniform_offset(e, p, byte, 1);
    if (!p->lane_index)
        return offset;
    LV index = emit_cast_index(e, p->lane_index, e->i64);
    if (p->lane_scale != 1)
        index = LLVMBuildMul(e->b, index, emit_int(e, LLVMTypeOf(index), (uint64_t)p->lane_scale),
                             "");
    return LLVMBuildAdd(e->b, index, emit_lanes(e, offset), "");
}

/* First offset that is too far for `size` bytes. */
static LV end_offset(Emit *e, LV limit, uint64_t size)
{
    LT type = LLVMTypeOf(limit);
    LV args[2] = { limit, emit_int(e, type, size - 1) };
    return emit_intrinsic(e, "llvm.usub.sat", &type, 1, args, 2);
}

static bool checked(Emit *e, const Pointer *p)
{
    bool asked = e->options->robust || p->storage == SpvStorageClassImage;
    return asked && p->limit && p->at.rule != LAYOUT_LANES;
}

static LV clamp_to_i32(Emit *e, LV x)
{
    LV low[2] = { x, i64c(e, INT32_MIN) };
    LV high[2] = { emit_intrinsic(e, "llvm.smax", &e->i64, 1, low, 2), i64c(e, INT32_MAX) };
    return LLVMBuildTrunc(e->b, emit_intrinsic(e, "llvm.smin", &e->i64, 1, high, 2), e->i32, "");
}

/* -(x / divisor), rounded up. */
static LV minus_quotient(Emit *e, LV x, int64_t divisor)
{
    LV q = LLVMBuildSDiv(e->b, x, i64c(e, divisor), "");
    LV rest = LLVMBuildSub(e->b, x, LLVMBuildMul(e->b, q, i64c(e, divisor), ""), "");
    LV below = LLVMBuildICmp(e->b, LLVMIntSLT, rest, i64c(e, 0), "");
    return LLVMBuildSub(e->b, LLVMBuildZExt(e->b, below, e->i64, ""), q, "");
}

/* The 32-bit indices, signed, for which 0 <= offset + index * scale < end: low and count. Computed
 * once, if offset and end stay the same. */
typedef struct IndexRange { LV low, count; } IndexRange;

static bool index_range_known(Emit *e, const Pointer *p, LV index)
{
    LT type = LLVMTypeOf(index);
    type = emit_is_lanes(index) ? LLVMGetElementType(type) : type;
    return p->lane_scale > 0 && !emit_is_lanes(p->limit) && type == e->i32;
}

static IndexRange index_range(Emit *e, const Pointer *p, int64_t byte, uint64_t size)
{
    LV offset = uniform_offset(e, p, byte, 1), end = end_offset(e, p->limit, size);
    int64_t at = p->constant + byte, scale = p->lane_scale, pad = (scale - at % scale) % scale;
    if (!p->offset && at >= 0 && at / scale < INT32_MAX) { /* both are sums with constants */
        LV n = LLVMBuildAdd(e->b, end, i64c(e, pad + scale - 1), "");
        n = LLVMBuildSub(e->b, LLVMBuildUDiv(e->b, n, i64c(e, scale), ""), i64c(e, pad > 0), "");
        LV most[2] = { n, i64c(e, (int64_t)INT32_MAX + 1 + at / scale) };
        n = emit_intrinsic(e, "llvm.umin", &e->i64, 1, most, 2);
        return (IndexRange){ LLVMConstInt(e->i32, (uint64_t)-(at / scale), 1),
                             LLVMBuildTrunc(e->b, n, e->i32, "") };
    }
    LV low = clamp_to_i32(e, minus_quotient(e, offset, p->lane_scale));
    LV high = clamp_to_i32(e,
                           minus_quotient(e, LLVMBuildSub(e->b, offset, end, ""), p->lane_scale));
    LV some = LLVMBuildICmp(e->b, LLVMIntSLT, low, high, "");
    LV count = LLVMBuildSub(e->b, high, low, "");
    return (IndexRange){ low, LLVMBuildSelect(e->b, some, count, emit_zero(e->i32), "") };
}

static LV index_in_range(Emit *e, const IndexRange *r, LV index)
{
    LV v[3] = { index, r->low, r->count };
    emit_unify(e, v, 3);
    return LLVMBuildICmp(e->b, LLVMIntULT, LLVMBuildSub(e->b, v[0], v[1], ""), v[2], "");
}

LV emit_in_bounds(Emit *e, const Pointer *p, int64_t byte, uint32_t size)
{
    if (!checked(e, p))
        return NULL;
    if (p->lane_index && !p->seldom && index_range_known(e, p, p->lane_index)) {
        IndexRange r = index_range(e, p, byte, size);
        return index_in_range(e, &r, p->lane_index);
    }
    LV v[2] = { total_offset(e, p, byte), end_offset(e, p->limit, size) };
    emit_unify(e, v, 2);
    return LLVMBuildICmp(e->b, LLVMIntULT, v[0], v[1], "");
}

/* ---- intrinsics ------------------------------------------------------------------------------ */

/* Since LLVM 22 the alignment is an attribute of the address, before it was an argument. */
static LV masked(Emit *e, const char *name, LT type, LV *args, unsigned n, unsigned address,
                 unsigned align)
{
    LT types[2] = { type, LLVMTypeOf(args[address]) };
    LV all[5];
    unsigned k = 0, m = 0;
    for (; k < n; k++) {
        all[m++] = args[k];
        if (LLVM_VERSION_MAJOR < 22 && k == address)
            all[m++] = LLVMConstInt(e->i32, align, 0);
    }
    LV call = emit_intrinsic(e, name, types, 2, all, m);
    if (LLVM_VERSION_MAJOR >= 22) {
        unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
        LLVMAddCallSiteAttribute(call, address + 1, LLVMCreateEnumAttribute(e->cx, kind, align));
    }
    return call;
}

/* Machines gather 32 bits or more; narrower elements LLVM would load one by one. Each lies within
 * an aligned word, which may be read wherever a byte of it may. */
static LV gather_narrow(Emit *e, LT type, LV address, uint32_t bits, LV mask)
{
    LT words = LLVMVectorType(e->i32, e->W), addresses = LLVMVectorType(e->i64, e->W);
    LT types[2] = { LLVMTypeOf(address), addresses };
    LV aligned[2] = { address, emit_int(e, addresses, ~3ull) };
    LV args[3] = { emit_intrinsic(e, "llvm.ptrmask", types, 2, aligned, 2), mask,
                   LLVMConstNull(words) };
    LV word = masked(e, "llvm.masked.gather", words, args, 3, 0, 4);
    LV byte = LLVMBuildTrunc(e->b, LLVMBuildPtrToInt(e->b, address, addresses, ""), words, "");
    byte = LLVMBuildAnd(e->b, byte, emit_int(e, words, 3), "");
    word = LLVMBuildLShr(e->b, word, LLVMBuildShl(e->b, byte, emit_int(e, words, 3), ""), "");
    LT narrow = LLVMVectorType(LLVMIntTypeInContext(e->cx, bits), e->W);
    return LLVMBuildBitCast(e->b, LLVMBuildTrunc(e->b, word, narrow, ""), type, "");
}

/* 16 bits that no even address is told of may lie in two words. */
static LV gather_halves(Emit *e, LT type, LV address, LV mask)
{
    LT bytes = LLVMVectorType(e->i8, e->W), whole = LLVMVectorType(e->i16, e->W);
    LV one = LLVMConstInt(e->i64, 1, 0);
    LV low = gather_narrow(e, bytes, address, 8, mask);
    LV above = LLVMBuildGEP2(e->b, e->i8, address, &one, 1, "");
    LV high = LLVMBuildZExt(e->b, gather_narrow(e, bytes, above, 8, mask), whole, "");
    high = LLVMBuildShl(e->b, high, emit_int(e, whole, 8), "");
    return LLVMBuildBitCast(e->b, LLVMBuildOr(e->b, high, LLVMBuildZExt(e->b, low, whole, ""), ""),
                            type, "");
}

static uint32_t bits_of(LT scalar)
{
    switch (LLVMGetTypeKind(scalar)) {
    case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(scalar);
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 16;
    default: return 64;
    }
}

LV emit_masked_load(Emit *e, LT type, LV address, unsigned align, LV mask)
{
    LV args[3] = { address, mask, LLVMConstNull(type) };
    bool lanes = emit_is_lanes(address);
    uint32_t bits = bits_of(LLVMGetElementType(type));
    if (lanes && bits == 16 && align < 2)
        return gather_halves(e, type, address, mask);
    if (lanes && (bits == 8 || bits == 16))
        return gather_narrow(e, type, address, bits, mask);
    return masked(e, lanes ? "llvm.masked.gather" : "llvm.masked.load", type, args, 3, 0, align);
}

static LV in_array(Emit *e, LT element, LV array, LV index)
{
    return LLVMBuildInBoundsGEP2(e->b, element, array, &index, 1, "");
}

/* No machine scatters less than 32 bits: a loop over the lanes, as LLVM would write it out in full,
 * which for many lanes takes it seconds. */
static void scatter_narrow(Emit *e, LV v, LV address, unsigned align, LV mask)
{
    LT element = LLVMGetElementType(LLVMTypeOf(v));
    if (!e->lane_addresses) {
        e->lane_addresses = emit_alloca(e, LLVMTypeOf(address), "lane_addresses");
        e->lane_values = emit_alloca(e, LLVMVectorType(e->i16, e->W), "lane_values");
    }
    LLVMBuildStore(e->b, address, e->lane_addresses);
    LLVMBuildStore(e->b, v, e->lane_values);
    bool all = mask == LLVMConstAllOnes(LLVMTypeOf(mask));
    LaneLoop l = lane_loop_begin(e, all ? NULL : mask);
    LV p = LLVMBuildLoad2(e->b, e->ptr, in_array(e, e->ptr, e->lane_addresses, l.index), "");
    LV x = LLVMBuildLoad2(e->b, element, in_array(e, element, e->lane_values, l.index), "");
    LLVMSetAlignment(LLVMBuildStore(e->b, x, p), align);
    lane_loop_end(e, &l);
}

void emit_masked_store(Emit *e, LV v, LV address, unsigned align, LV mask)
{
    LV args[3] = { v, address, mask };
    bool lanes = emit_is_lanes(address);
    uint32_t bits = bits_of(LLVMGetElementType(LLVMTypeOf(v)));
    if (lanes && e->W >= 32 && (bits == 8 || bits == 16)) {
        scatter_narrow(e, v, address, align, mask);
        return;
    }
    masked(e, lanes ? "llvm.masked.scatter" : "llvm.masked.store", LLVMTypeOf(v), args, 3, 1,
           align);
}

static LV plain_load(Emit *e, const Pointer *p, LT type, LV address, unsigned align)
{
    LV v = LLVMBuildLoad2(e->b, type, address, "");
    LLVMSetAlignment(v, align);
    if (p->volatile_)
        LLVMSetVolatile(v, 1);
    return v;
}

static void plain_store(Emit *e, const Pointer *p, LV v, LV address, unsigned align)
{
    LV store = LLVMBuildStore(e->b, v, address);
    LLVMSetAlignment(store, align);
    if (p->volatile_)
        LLVMSetVolatile(store, 1);
}

/* ---- leaves in memory ------------------------------------------------------------------------ */

/* A bool is a byte in memory. */
static LT memory_type(Emit *e, const SpvType *t)
{
    return t->kind == SPV_BOOL ? e->i8 : emit_scalar_type(e, t);
}

static LV from_memory(Emit *e, const SpvType *t, LV v)
{
    if (t->kind != SPV_BOOL)
        return v;
    return LLVMBuildICmp(e->b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
}

static LV to_memory(Emit *e, const SpvType *t, LV v)
{
    if (t->kind != SPV_BOOL)
        return v;
    return LLVMBuildZExt(e->b, v, emit_is_lanes(v) ? emit_lanes_type(e, e->i8) : e->i8, "");
}

static unsigned alignment(Emit *e, const Pointer *p, const SpvType *t)
{
    uint32_t natural = emit_scalar_bytes(e, t);
    return p->align && p->align < natural ? p->align : natural;
}

/* Zeros that are always there. */
static LV zeros(Emit *e)
{
    LT type = LLVMArrayType2(e->i8, 64);
    LV g = LLVMGetNamedGlobal(e->ll, "zeros");
    if (!g) {
        g = LLVMAddGlobal(e->ll, type, "zeros");
        LLVMSetInitializer(g, LLVMConstNull(type));
        LLVMSetGlobalConstant(g, 1);
        LLVMSetLinkage(g, LLVMInternalLinkage);
        LLVMSetAlignment(g, 64);
    }
    return g;
}

static LV load_same(Emit *e, const Pointer *p, const Part *part)
{
    uint32_t size = emit_scalar_bytes(e, part->type);
    LV address = emit_address(e, p, part->byte, size);
    LV inside = emit_in_bounds(e, p, part->byte, size);
    if (inside)
        address = LLVMBuildSelect(e->b, inside, address, zeros(e), "");
    return plain_load(e, p, memory_type(e, part->type), address, alignment(e, p, part->type));
}

static void store_same(Emit *e, const Pointer *p, const Part *part, LV v)
{
    uint32_t size = emit_scalar_bytes(e, part->type);
    LV address = emit_address(e, p, part->byte, size);
    LV inside = emit_in_bounds(e, p, part->byte, size);
    if (inside)
        address = LLVMBuildSelect(e->b, inside, address, memory_dropped(e), "");
    plain_store(e, p, emit_uniform(e, v), address, alignment(e, p, part->type));
}

/* ---- groups of lanes side by side ------------------------------------------------------------ */

static LV shuffle(Emit *e, LV a, LV b, const int *lane, uint32_t n)
{
    LV *index = NEW_ARRAY(e->arena, LV, n);
    for (uint32_t k = 0; k < n; k++)
        index[k] = lane[k] < 0 ? LLVMGetPoison(e->i32) : LLVMConstInt(e->i32, (unsigned)lane[k], 0);
    return LLVMBuildShuffleVector(e->b, a, b ? b : LLVMGetPoison(LLVMTypeOf(a)),
                                  LLVMConstVector(index, n), "");
}

static LV sub_vector(Emit *e, LV v, uint32_t from, uint32_t n)
{
    int lane[256];
    if (n == LLVMGetVectorSize(LLVMTypeOf(v)))
        return v;
    for (uint32_t k = 0; k < n; k++)
        lane[k] = (int)(from + k);
    return shuffle(e, v, NULL, lane, n);
}

/* Puts n vectors of equal length one behind the other; n a power of two. */
static LV concatenate(Emit *e, LV *v, uint32_t n)
{
    int lane[512];
    for (; n > 1; n /= 2)
        for (uint32_t k = 0; k < n / 2; k++) {
            uint32_t size = LLVMGetVectorSize(LLVMTypeOf(v[2 * k]));
            for (uint32_t j = 0; j < 2 * size; j++)
                lane[j] = (int)j;
            v[k] = shuffle(e, v[2 * k], v[2 * k + 1], lane, 2 * size);
        }
    return v[0];
}

/* Of a group's first lane. */
static LV group_index(Emit *e, const Pointer *p, uint32_t group)
{
    LV index = group < AFFINE_GROUPS ? p->affine.first[group] : NULL;
    return index ? index
        : LLVMBuildExtractElement(e->b, p->lane_index,
                                  LLVMConstInt(e->i32, group * p->affine.group, 0), "");
}

/* How far a group's first lane is from the uniform part of the address, in bytes. */
static LV group_offset(Emit *e, const Pointer *p, uint32_t group)
{
    LV index = emit_cast_index(e, group_index(e, p, group), e->i64);
    return LLVMBuildMul(e->b, index, i64c(e, p->lane_scale), "");
}

/* Address of a group's first lane. */
static LV group_address(Emit *e, const Pointer *p, int64_t byte, uint32_t group)
{
    return gep(e, e->i8, uniform_address(e, p, byte, 1), group_offset(e, p, group));
}

/* Active lanes inside the buffer; NULL: all. */
static LV access_mask(Emit *e, const Pointer *p, int64_t byte, uint32_t size)
{
    LV inside = emit_in_bounds(e, p, byte, size);
    return inside ? emit_and(e, e->mask, inside) : e->mask;
}

static LV load_groups(Emit *e, const Pointer *p, const Part *part)
{
    LT scalar = memory_type(e, part->type);
    uint32_t group = MIN(p->affine.group, e->W), n = e->W / group;
    uint32_t size = emit_scalar_bytes(e, part->type), align = alignment(e, p, part->type);
    LV mask = access_mask(e, p, part->byte, size), piece[128];
    LT type = LLVMVectorType(scalar, group);
    for (uint32_t k = 0; k < n; k++) {
        LV address = group_address(e, p, part->byte, k);
        piece[k] = mask ? emit_masked_load(e, type, address, align,
                                      sub_vector(e, mask, k * group, group))
                        : plain_load(e, p, type, address, align);
    }
    return concatenate(e, piece, n);
}

static void store_groups(Emit *e, const Pointer *p, const Part *part, LV v)
{
    uint32_t group = MIN(p->affine.group, e->W), n = e->W / group;
    uint32_t size = emit_scalar_bytes(e, part->type), align = alignment(e, p, part->type);
    LV mask = access_mask(e, p, part->byte, size);
    for (uint32_t k = 0; k < n; k++) {
        LV address = group_address(e, p, part->byte, k), piece = sub_vector(e, v, k * group, group);
        if (mask)
            emit_masked_store(e, piece, address, align, sub_vector(e, mask, k * group, group));
        else
            plain_store(e, p, piece, address, align);
    }
}

static int64_t lane_stride(const Pointer *p)
{
    return p->affine.stride * p->lane_scale;
}

/* Groups of lanes lie side by side, in vectors worth it. */
static bool side_by_side(Emit *e, const Pointer *p, const Part *part)
{
    uint32_t size = emit_scalar_bytes(e, part->type);
    return p->lane_index && p->at.rule != LAYOUT_LANES && !emit_is_lanes(p->base) &&
           p->affine.group >= 4 && lane_stride(p) == size;
}

/* ---- a few leaves of each lane side by side -------------------------------------------------- */

enum { WIDEST = 512 };

/* The number of scalars from one lane's leaves to the next's, when all leaves of a lane lie side by
 * side and so do the lanes; 0 when not. */
static uint32_t wide_stride(Emit *e, const Pointer *p, const Part *part, uint32_t n)
{
    if (!p->lane_index || p->at.rule == LAYOUT_LANES || emit_is_lanes(p->base) || n > 4 ||
        p->affine.group < e->W || p->affine.expected || checked(e, p))
        return 0;
    uint32_t size = emit_scalar_bytes(e, part[0].type);
    for (uint32_t k = 0; k < n; k++)
        if (memory_type(e, part[k].type) != memory_type(e, part[0].type) ||
            part[k].byte != part[0].byte + (int64_t)k * size)
            return 0;
    int64_t stride = lane_stride(p) / size;
    if (lane_stride(p) % size || stride < n || stride < 2 || stride > 4 || stride * e->W > WIDEST)
        return 0;
    return (uint32_t)stride;
}

/* Of W * stride scalars, which belong to active lanes' leaves 0..n-1; NULL: all. */
static LV wide_mask(Emit *e, uint32_t stride, uint32_t n)
{
    int lane[WIDEST];
    if (!e->mask && n == stride)
        return NULL;
    LV mask = emit_mask(e), none = LLVMConstNull(LLVMTypeOf(mask));
    for (uint32_t k = 0; k < e->W * stride; k++)
        lane[k] = (int)(k % stride < n ? k / stride : e->W);
    return shuffle(e, mask, none, lane, e->W * stride);
}

static void load_wide(Emit *e, const Pointer *p, const Part *part, uint32_t n, uint32_t stride,
                      LV *leaves)
{
    LT type = LLVMVectorType(memory_type(e, part[0].type), e->W * stride);
    LV address = group_address(e, p, part[0].byte, 0), mask = wide_mask(e, stride, n);
    unsigned align = alignment(e, p, part[0].type);
    LV all = mask ? emit_masked_load(e, type, address, align, mask)
        : plain_load(e, p, type, address, align);
    int lane[128];
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t l = 0; l < e->W; l++)
            lane[l] = (int)(l * stride + k);
        leaves[k] = shuffle(e, all, NULL, lane, e->W);
    }
}

static void store_wide(Emit *e, const Pointer *p, const Part *part, uint32_t n, uint32_t stride,
                       const LV *leaves)
{
    LV piece[4];
    uint32_t count = stride > 2 ? 4 : 2;
    for (uint32_t k = 0; k < count; k++)
        piece[k] = k < n ? leaves[k] : LLVMGetPoison(LLVMTypeOf(leaves[0]));
    int lane[WIDEST];
    for (uint32_t k = 0; k < e->W * stride; k++)
        lane[k] = k % stride < n ? (int)(k % stride * e->W + k / stride) : -1;
    LV joined = concatenate(e, piece, count);
    LV v = shuffle(e, joined, NULL, lane, e->W * stride);
    LV address = group_address(e, p, part[0].byte, 0), mask = wide_mask(e, stride, n);
    unsigned align = alignment(e, p, part[0].type);
    if (mask)
        emit_masked_store(e, v, address, align, mask);
    else
        plain_store(e, p, v, address, align);
}

/* ---- one leaf -------------------------------------------------------------------------------- */

/* Private memory whose place is the same for all lanes: one vector. */
static bool lanes_in_order(const Pointer *p)
{
    return p->at.rule == LAYOUT_LANES && !p->lane_index;
}

/* The same for all lanes of a group, in groups worth it. */
static bool same_in_groups(Emit *e, const Pointer *p)
{
    return p->lane_index && p->affine.group >= 8 && !p->affine.stride && !p->affine.expected &&
           !e->mask && !checked(e, p) && p->at.rule != LAYOUT_LANES && !emit_is_lanes(p->base);
}

static LV load_same_in_groups(Emit *e, const Pointer *p, const Part *part)
{
    LV piece[128];
    uint32_t n = e->W / p->affine.group, align = alignment(e, p, part->type);
    for (uint32_t k = 0; k < n; k++) {
        LV address = group_address(e, p, part->byte, k);
        LV one = plain_load(e, p, memory_type(e, part->type), address, align);
        piece[k] = sub_vector(e, emit_lanes(e, one), 0, p->affine.group);
    }
    return concatenate(e, piece, n);
}

static LV gather(Emit *e, const Pointer *p, const Part *part)
{
    LT lanes = emit_lanes_type(e, memory_type(e, part->type));
    uint32_t size = emit_scalar_bytes(e, part->type);
    LV mask = access_mask(e, p, part->byte, size);
    return emit_masked_load(e, lanes, emit_address(e, p, part->byte, size),
                            alignment(e, p, part->type), mask ? mask : emit_mask(e));
}

static void scatter(Emit *e, const Pointer *p, const Part *part, LV v)
{
    uint32_t size = emit_scalar_bytes(e, part->type);
    LV mask = access_mask(e, p, part->byte, size);
    emit_masked_store(e, v, emit_address(e, p, part->byte, size), alignment(e, p, part->type),
                 mask ? mask : emit_mask(e));
}

static LV load_part(Emit *e, const Pointer *p, const Part *part)
{
    if (emit_same_address(p))
        return load_same(e, p, part);
    if (lanes_in_order(p)) {
        LT lanes = emit_lanes_type(e, memory_type(e, part->type));
        return plain_load(e, p, lanes, uniform_address(e, p, part->byte, e->W),
                          emit_scalar_bytes(e, part->type));
    }
    if (side_by_side(e, p, part) && !p->affine.expected)
        return load_groups(e, p, part);
    if (same_in_groups(e, p))
        return load_same_in_groups(e, p, part);
    return gather(e, p, part);
}

static void store_part(Emit *e, const Pointer *p, const Part *part, LV v)
{
    if (emit_same_address(p)) {
        store_same(e, p, part, v);
        return;
    }
    v = emit_lanes(e, v);
    if (lanes_in_order(p)) {
        uint32_t size = emit_scalar_bytes(e, part->type);
        LV address = uniform_address(e, p, part->byte, e->W);
        if (e->mask)
            v = LLVMBuildSelect(e->b, e->mask, v, plain_load(e, p, LLVMTypeOf(v), address, size),
                                "");
        plain_store(e, p, v, address, size);
    } else if (side_by_side(e, p, part) && !p->affine.expected) {
        store_groups(e, p, part, v);
    } else {
        scatter(e, p, part, v);
    }
}

LV emit_load_leaf(Emit *e, const Pointer *p, int64_t byte, const SpvType *t)
{
    Part part = { byte, t };
    return from_memory(e, t, load_part(e, p, &part));
}

void emit_store_leaf(Emit *e, const Pointer *p, int64_t byte, const SpvType *t, LV v)
{
    Part part = { byte, t };
    store_part(e, p, &part, to_memory(e, t, v));
}

/* ---- whole pointees -------------------------------------------------------------------------- */

static void collect(Emit *e, const Layout *l, int64_t byte, Part *part, uint32_t *n)
{
    const SpvType *t = l->type;
    if (t->kind != SPV_VECTOR && t->kind != SPV_MATRIX && t->kind != SPV_ARRAY &&
        t->kind != SPV_STRUCT) {
        for (uint32_t k = 0, leaves = emit_n_leaves(e, t); k < leaves; k++)
            part[(*n)++] = (Part){ byte + (int64_t)emit_scalar_bytes(e, t) * k, t };
        return;
    }
    for (uint32_t k = 0; k < t->count; k++) {
        uint64_t offset;
        Layout sub = emit_layout_part(e, l, k, &offset);
        collect(e, &sub, byte + (int64_t)offset, part, n);
    }
}

static Part *collect_parts(Emit *e, const Pointer *p, uint32_t *n)
{
    uint32_t parts = 0;
    *n = emit_n_leaves(e, p->at.type);
    Part *part = NEW_ARRAY(e->arena, Part, *n + 1);
    if (*n)
        collect(e, &p->at, 0, part, &parts);
    return part;
}

static void load_parts(Emit *e, const Pointer *p, const Part *part, uint32_t n, LV *leaves)
{
    uint32_t stride = n ? wide_stride(e, p, part, n) : 0;
    if (stride)
        load_wide(e, p, part, n, stride, leaves);
    for (uint32_t k = 0; k < n && !stride; k++)
        leaves[k] = load_part(e, p, &part[k]);
}

static void store_parts(Emit *e, const Pointer *p, const Part *part, uint32_t n, LV *v)
{
    uint32_t stride = n ? wide_stride(e, p, part, n) : 0;
    for (uint32_t k = 0; k < n; k++) {
        if (stride)
            v[k] = emit_lanes(e, v[k]);
        else
            store_part(e, p, &part[k], v[k]);
    }
    if (stride)
        store_wide(e, p, part, n, stride, v);
}

/* ---- all lanes inside ------------------------------------------------------------------------ */

/* What an access with checks reaches: of each group of lanes [low, high), in bytes from the group's
 * first index on. */
typedef struct Span { const Pointer *p; int64_t low, high; } Span;

/* False where each lane must be asked, or one answer for all is as cheap. */
static bool span_of(Emit *e, const Pointer *p, const Part *part, uint32_t n, Span *s)
{
    uint32_t group = MIN(p->affine.group, e->W);
    if (!n || !checked(e, p) || !p->lane_index || emit_is_lanes(p->base) ||
        emit_is_lanes(p->limit) || group < 4 || e->W / group > AFFINE_GROUPS)
        return false;
    int64_t across = lane_stride(p) * (int64_t)(group - 1);
    *s = (Span){ p, part[0].byte, part[0].byte };
    for (uint32_t k = 0; k < n; k++) {
        s->low = MIN(s->low, part[k].byte);
        s->high = MAX(s->high, part[k].byte + (int64_t)emit_scalar_bytes(e, part[k].type));
    }
    s->low += p->constant + MIN(across, 0);
    s->high += p->constant + MAX(across, 0);
    return true;
}

/* An index is a sum of terms and a constant, modulo 2^bits. Of those with the same terms the least
 * is asked, for one with room behind it. */
enum { TERMS = 6, ROOM = 65536 };
typedef struct Sum { LV least, term[TERMS]; uint32_t n; int64_t from, to; } Sum;

static void take_apart(Sum *s, LV v)
{
    if (LLVMIsAConstantInt(v)) {
        s->from = s->to += LLVMConstIntGetSExtValue(v);
    } else if (s->n + 2 < TERMS && LLVMIsAInstruction(v) &&
               LLVMGetInstructionOpcode(v) == LLVMAdd) {
        take_apart(s, LLVMGetOperand(v, 0));
        take_apart(s, LLVMGetOperand(v, 1));
    } else {
        s->term[s->n++] = v;
    }
}

/* Adds an index to the sums; how much room those need now. */
static int64_t add_sum(Sum *sums, uint32_t *n, LV index)
{
    Sum s = { .least = index };
    take_apart(&s, index);
    for (Sum *t = sums; t < sums + *n; t++) {
        int64_t from = MIN(s.from, t->from), to = MAX(s.to, t->to);
        if (memcmp(s.term, t->term, sizeof s.term) || to - from > ROOM)
            continue;
        t->least = from < t->from ? index : t->least;
        t->from = from, t->to = to;
        return to - from;
    }
    sums[(*n)++] = s;
    return 0;
}

static LV largest(Emit *e, const Sum *sums, uint32_t n, LV low)
{
    LV last = LLVMBuildSub(e->b, sums[0].least, low, "");
    LT type = LLVMTypeOf(last);
    for (uint32_t k = 1; k < n; k++) {
        LV pair[2] = { LLVMBuildSub(e->b, sums[k].least, low, ""), last };
        last = emit_intrinsic(e, "llvm.umax", &type, 1, pair, 2);
    }
    return LLVMBuildFreeze(e->b, last, "");
}

/* Whether the largest index is inside and so are all between 0 and it. A buffer ends where indices
 * turn negative, and what is added to one cannot. */
static LV index_inside(Emit *e, Pointer *p, const Sum *sums, uint32_t n, int64_t low, int64_t high)
{
    LV ends[2] = { p->limit, i64c(e, p->lane_scale << 31) };
    p->limit = emit_intrinsic(e, "llvm.umin", &e->i64, 1, ends, 2);
    if (p->offset || low < 0) {
        IndexRange r = index_range(e, p, low, (uint64_t)(high - low));
        return LLVMBuildICmp(e->b, LLVMIntULT, largest(e, sums, n, r.low), r.count, "");
    }
    LV last = LLVMBuildZExt(e->b, largest(e, sums, n, emit_zero(e->i32)), e->i64, "");
    LV end = LLVMBuildMul(e->b, last, i64c(e, p->lane_scale), "");
    end = LLVMBuildAdd(e->b, end, i64c(e, high), "");
    return LLVMBuildICmp(e->b, LLVMIntULE, end, p->limit, "");
}

/* Whether all of them are inside, by a comparison for the largest of the groups' indices. Their
 * pointers have buffer, offset and scale in common. */
static LV spans_inside(Emit *e, const Span *s, uint32_t n)
{
    Pointer p = *s->p;
    int64_t low = s->low, high = s->high, room = 0;
    bool by_index = index_range_known(e, &p, p.lane_index);
    Sum *sums = NEW_ARRAY(e->arena, Sum, n * AFFINE_GROUPS);
    uint32_t n_sums = 0;
    for (uint32_t k = 0; k < n; k++) {
        low = MIN(low, s[k].low);
        high = MAX(high, s[k].high);
        for (uint32_t g = 0; g < e->W / MIN(s[k].p->affine.group, e->W); g++) {
            LV at = by_index ? group_index(e, s[k].p, g) : group_offset(e, s[k].p, g);
            room = MAX(room, add_sum(sums, &n_sums, at));
        }
    }
    p.constant = 0;
    if (by_index)
        return index_inside(e, &p, sums, n_sums, low, high + room * p.lane_scale);
    LV start = LLVMBuildNeg(e->b, uniform_offset(e, &p, low, 1), "");
    LV end = end_offset(e, p.limit, (uint64_t)(high - low + room));
    return LLVMBuildICmp(e->b, LLVMIntULT, largest(e, sums, n_sums, start), end, "");
}

void access_inside(Emit *e, const Pointer *p, uint32_t n, LV *test)
{
    Span *spans = NEW_ARRAY(e->arena, Span, n + 1), *like = NEW_ARRAY(e->arena, Span, n + 1);
    uint32_t n_spans = 0, parts;
    for (uint32_t k = 0; k < n; k++) {
        if (!p[k].limit || !p[k].at.type)
            continue;
        const Part *part = collect_parts(e, &p[k], &parts);
        n_spans += span_of(e, &p[k], part, parts, &spans[n_spans]) &&
                   index_range_known(e, &p[k], p[k].lane_index);
    }
    for (uint32_t k = 0; k < n_spans; k++) {
        const Pointer *a = spans[k].p;
        uint32_t m = 0;
        for (uint32_t j = k; j < n_spans && !test[a - p]; j++) {
            const Pointer *b = spans[j].p;
            if (b->limit == a->limit && b->offset == a->offset && b->lane_scale == a->lane_scale)
                like[m++] = spans[j];
        }
        LV inside = m > 1 ? spans_inside(e, like, m) : NULL;
        for (uint32_t j = 0; j < m; j++)
            test[like[j].p - p] = inside;
    }
}

/* ---- two ways -------------------------------------------------------------------------------- */

/* An access whose lanes most likely go on as is known of them (Affine.expected), or most likely are
 * all inside: the first way relies on it, the second asks each lane. */
typedef struct Ways {
    LV test[2];
    uint32_t n;                 /* tests; 0: one way only, the plain one */
    Pointer way[2];
    LLVMBasicBlockRef begin[2], end[2], done;
} Ways;

static void expect_inside(Emit *e, Ways *w, const Pointer *p, const Part *part, uint32_t n)
{
    Span s;
    if (!span_of(e, p, part, n, &s))
        return;
    w->test[w->n++] = p->inside ? p->inside : spans_inside(e, &s, 1);
    w->way[0].limit = NULL;
    w->way[1].seldom = true;
}

/* Branches on test k; the first way goes on. */
static void narrow(Emit *e, Ways *w, uint32_t k)
{
    w->begin[0] = emit_new_block(e, "access.together");
    LV branch = LLVMBuildCondBr(e->b, w->test[k], w->begin[0], w->begin[1]);
    LLVMMetadataRef weights[3] = {
        LLVMMDStringInContext2(e->cx, "branch_weights", 14),
        LLVMValueAsMetadata(LLVMConstInt(e->i32, 1000, 0)),
        LLVMValueAsMetadata(LLVMConstInt(e->i32, 1, 0)),
    };
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->cx, "prof", 4),
                    LLVMMetadataAsValue(e->cx, LLVMMDNodeInContext2(e->cx, weights, 3)));
    LLVMPositionBuilderAtEnd(e->b, w->begin[0]);
}

static Ways ways_begin(Emit *e, const Pointer *p, const Part *part, uint32_t n)
{
    Ways w = { .way = { *p, *p } };
    if (!n)
        return w;
    if (p->affine.expected && (n > 1 || !side_by_side(e, p, part)))
        return w;
    expect_inside(e, &w, p, part, n);
    if (p->affine.expected)
        w.test[w.n++] = p->affine.expected;
    w.way[0].affine.expected = NULL;
    if (w.n) {
        w.done = emit_new_block(e, "access.done");
        w.begin[1] = emit_new_block(e, "access.apart");
    }
    for (uint32_t k = 0; k < w.n; k++)
        narrow(e, &w, k);
    return w;
}

/* The first way ends, the second begins or all is done. True: there is a second. */
static bool ways_next(Emit *e, Ways *w, uint32_t k)
{
    if (!w->n)
        return false;
    w->end[k] = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, w->done);
    LLVMPositionBuilderAtEnd(e->b, k ? w->done : w->begin[1]);
    return !k;
}

/* ---- the accesses ---------------------------------------------------------------------------- */

void emit_load(Emit *e, const Pointer *p, LV *leaves)
{
    if (p->builtin) {
        memory_load_builtin(e, p, leaves);
        return;
    }
    uint32_t n, k = 0;
    Part *part = collect_parts(e, p, &n);
    LV *v[2] = { leaves, NEW_ARRAY(e->arena, LV, n + 1) };
    Ways w = ways_begin(e, p, part, n);
    do
        load_parts(e, &w.way[k], part, n, v[k]);
    while (ways_next(e, &w, k++));
    for (k = 0; k < n; k++) {
        if (w.n) {
            LV from[2] = { v[0][k], v[1][k] };
            leaves[k] = LLVMBuildPhi(e->b, LLVMTypeOf(from[0]), "");
            LLVMAddIncoming(leaves[k], from, w.end, 2);
        }
        leaves[k] = from_memory(e, part[k].type, leaves[k]);
    }
}

void emit_store(Emit *e, const Pointer *p, const LV *leaves)
{
    uint32_t n, k = 0;
    Part *part = collect_parts(e, p, &n);
    LV *v = NEW_ARRAY(e->arena, LV, n + 1), *copy = NEW_ARRAY(e->arena, LV, n + 1);
    for (uint32_t l = 0; l < n; l++)
        v[l] = to_memory(e, part[l].type, leaves[l]);
    Ways w = ways_begin(e, p, part, n);
    do {
        memcpy(copy, v, n * sizeof *v);
        store_parts(e, &w.way[k], part, n, copy);
    } while (ways_next(e, &w, k++));
}
