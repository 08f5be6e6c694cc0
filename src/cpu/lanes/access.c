/* SPDX-License-Identifier: MIT
 *
 * Loads and stores of the lanes. What is known of the addresses of a leaf decides which they are:
 * one scalar access (the same address for all lanes), one vector access (addresses that follow one
 * another, over all lanes or group by group), wide accesses with shuffles (a few leaves of each
 * lane side by side), or else gathers and scatters. If several lanes store to one address, one of
 * them wins.
 *
 * Robust access (VK_EXT_robustness2): what lies outside of the buffer reads as zero and is not
 * written. A scalar access that is outside goes to other memory instead; lanes that are outside are
 * masked out.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <llvm/Config/llvm-config.h>

/* the most lanes of a subgroup, and the most scalars of a wide access */
enum { MAX_LANES = 128, WIDEST = ACCESS_WIDEST * MAX_LANES };

static LV plain_load(Emit *e, const EmitPointer *p, LT type, LV address, unsigned align)
{
    LV v = ir_load(e->b, type, address, align);
    if (p->volatile_)
        LLVMSetVolatile(v, 1);
    return v;
}

static void plain_store(Emit *e, const EmitPointer *p, LV v, LV address, unsigned align)
{
    LV store = LLVMBuildStore(e->b, v, address);
    LLVMSetAlignment(store, align);
    if (p->volatile_)
        LLVMSetVolatile(store, 1);
}

/* ---- counting -------------------------------------------------------------------------------- */

void access_count(Emit *e, const EmitPointer *p, HeddleAccess kind, LV mask, uint64_t bytes)
{
    bool own = p->storage == SpvStorageClassFunction || p->storage == SpvStorageClassPrivate;
    if (own || p->at.rule == LAYOUT_LANES)
        return;
    lanes_count(e, (DeviceStat)(DEVICE_STAT_ACCESSES + kind), NULL, 1);
    lanes_count(e, (DeviceStat)(DEVICE_STAT_ACCESS_BYTES + kind), mask, bytes);
}

/* One of all lanes, or of those in the mask. */
static void count_side_by_side(Emit *e, const EmitPointer *p, LV mask, uint64_t bytes)
{
    access_count(e, p, mask ? HEDDLE_ACCESS_MASKED : HEDDLE_ACCESS_VECTOR, mask,
                 mask ? bytes : bytes * e->W);
}

/* ---- leaves in memory ------------------------------------------------------------------------ */

/* In memory a bool is a byte. */
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

static unsigned alignment(Emit *e, const EmitPointer *p, const SpvType *t)
{
    uint32_t natural = emit_scalar_bytes(e, t);
    return p->align && p->align < natural ? p->align : natural;
}

/* Why lanes do not lie side by side. */
static const char *apart_because(Emit *e, const EmitPointer *p)
{
    long long stride = address_lane_stride(p);
    if (emit_is_lanes(p->base))
        return "they may reach into different objects";
    if (p->at.rule == LAYOUT_LANES)
        return "an index into their private memory varies";
    if (p->affine.group < 2)
        return "their index follows no pattern that is known";
    if (p->affine.group < e->W)
        return arena_printf(e->arena, "stride %lld bytes, in groups of %u", stride,
                            p->affine.group);
    return arena_printf(e->arena, "stride %lld bytes", stride);
}

static void remark_gather(Emit *e, const EmitPointer *p, uint32_t size, bool store)
{
    if (e->remarks && !lanes_of(e)->seldom)
        emit_remark(e, REMARK_GATHER, store ? "scatter" : "gather", e->W, apart_because(e, p),
                    by_lanes_needed(e, size * 8, e->mask, store)
                        ? ", carried out one after the other"
                        : "");
}

LV access_zeros(Emit *e)
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

static LV load_same(Emit *e, const EmitPointer *p, const LanesPart *part)
{
    uint32_t size = emit_scalar_bytes(e, part->type);
    LV address = address_of_part(e, p, part->byte, size);
    LV inside = lanes_in_bounds(e, p, part->byte, size);
    if (inside)
        address = LLVMBuildSelect(e->b, inside, address, access_zeros(e), "");
    access_count(e, p, HEDDLE_ACCESS_SCALAR, NULL, size);
    return plain_load(e, p, memory_type(e, part->type), address, alignment(e, p, part->type));
}

static void store_same(Emit *e, const EmitPointer *p, const LanesPart *part, LV v)
{
    uint32_t size = emit_scalar_bytes(e, part->type);
    LV address = address_of_part(e, p, part->byte, size);
    LV inside = lanes_in_bounds(e, p, part->byte, size);
    if (inside)
        address = LLVMBuildSelect(e->b, inside, address, variables_dropped(e), "");
    access_count(e, p, HEDDLE_ACCESS_SCALAR, NULL, size);
    plain_store(e, p, emit_uniform(e, v), address, alignment(e, p, part->type));
}

/* ---- groups of lanes side by side ------------------------------------------------------------ */

/* The active lanes that are inside the buffer; NULL: all lanes. */
static LV access_mask(Emit *e, const EmitPointer *p, int64_t byte, uint32_t size)
{
    LV inside = lanes_in_bounds(e, p, byte, size);
    return inside ? lanes_and(e, e->mask, inside) : e->mask;
}

static LV load_groups(Emit *e, const EmitPointer *p, const LanesPart *part)
{
    LT scalar = memory_type(e, part->type);
    uint32_t group = MIN(p->affine.group, e->W), n = e->W / group;
    uint32_t align = alignment(e, p, part->type);
    LV mask = e->mask, *piece = NEW_ARRAY(e->arena, LV, n);
    LT type = LLVMVectorType(scalar, group);
    count_side_by_side(e, p, mask, emit_scalar_bytes(e, part->type));
    for (uint32_t k = 0; k < n; k++) {
        LV address = address_group(e, p, part->byte, k);
        piece[k] =
            mask ? lanes_masked_load(e, type, address, align, ir_part(e->b, mask, k * group, group))
                 : plain_load(e, p, type, address, align);
    }
    return ir_concatenate(e->b, piece, n);
}

static void store_groups(Emit *e, const EmitPointer *p, const LanesPart *part, LV v)
{
    uint32_t group = MIN(p->affine.group, e->W), n = e->W / group;
    uint32_t align = alignment(e, p, part->type);
    LV mask = e->mask;
    count_side_by_side(e, p, mask, emit_scalar_bytes(e, part->type));
    for (uint32_t k = 0; k < n; k++) {
        LV address = address_group(e, p, part->byte, k), piece = ir_part(e->b, v, k * group, group);
        if (mask)
            lanes_masked_store(e, piece, address, align, ir_part(e->b, mask, k * group, group));
        else
            plain_store(e, p, piece, address, align);
    }
}

/* Whether groups of lanes lie side by side, and are large enough for vectors. */
static bool side_by_side(Emit *e, const EmitPointer *p, const LanesPart *part)
{
    uint32_t size = emit_scalar_bytes(e, part->type);
    return p->lane_index && p->at.rule != LAYOUT_LANES && !emit_is_lanes(p->base) &&
           p->affine.group >= 4 && address_lane_stride(p) == size;
}

/* ---- a few leaves of each lane side by side -------------------------------------------------- */

/* If the leaves of each lane lie side by side and so do the lanes of a group: the number of scalars
 * from one lane's leaves to the next lane's. Else 0. */
static uint32_t wide_stride(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n)
{
    if (!p->lane_index || p->at.rule == LAYOUT_LANES || emit_is_lanes(p->base) || n > 4 ||
        p->affine.group < MIN(e->W, 8) || p->affine.expected || address_checked(e, p))
        return 0;
    uint32_t size = emit_scalar_bytes(e, part[0].type);
    for (uint32_t k = 0; k < n; k++)
        if (memory_type(e, part[k].type) != memory_type(e, part[0].type) ||
            part[k].byte != part[0].byte + (int64_t)k * size)
            return 0;
    int64_t stride = address_lane_stride(p) / size;
    if (address_lane_stride(p) % size || stride < n || stride < 2 || stride > ACCESS_WIDEST ||
        stride * e->W > WIDEST)
        return 0;
    return (uint32_t)stride;
}

/* What the lanes of a group access together: some of W * stride scalars. */
typedef struct Wide {
    const EmitPointer *p;
    const LanesPart *part;
    uint32_t n, stride, group; /* leaves of a lane; scalars from lane to lane; lanes */
    unsigned align;
} Wide;

static Wide wide_of(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n,
                    uint32_t stride)
{
    unsigned align = alignment(e, p, part[0].type);
    return (Wide){ p, part, n, stride, MIN(p->affine.group, e->W), align };
}

/* Which of the scalars of a group are leaves of active lanes; NULL: all. */
static LV wide_mask(Emit *e, const Wide *w, uint32_t group)
{
    int lane[WIDEST];
    if (!e->mask && w->n == w->stride)
        return NULL;
    LV mask = lanes_mask(e), none = LLVMConstNull(LLVMTypeOf(mask));
    for (uint32_t k = 0; k < w->group * w->stride; k++)
        lane[k] = (int)(k % w->stride < w->n ? group * w->group + k / w->stride : e->W);
    return ir_shuffle(e->b, mask, none, lane, w->group * w->stride);
}

/* What a group loads, in one or two vectors one behind the other. */
typedef struct WideLoad {
    LV v[2];
    uint32_t size, overlap; /* scalars of a vector, and those that both have */
} WideLoad;

/* All lanes are active, so what lies between their leaves may be read, but not what lies behind the
 * last one: of two halves the second begins earlier, so that it ends there. */
static WideLoad load_halves(Emit *e, const Wide *w, uint32_t group)
{
    WideLoad l = { .size = w->group * w->stride / 2, .overlap = w->stride - w->n };
    LT type = LLVMVectorType(memory_type(e, w->part[0].type), l.size);
    int64_t behind = (int64_t)(l.size - l.overlap) * emit_scalar_bytes(e, w->part[0].type);
    for (uint32_t k = 0; k < 2; k++)
        l.v[k] =
            plain_load(e, w->p, type,
                       address_group(e, w->p, w->part[0].byte + (k ? behind : 0), group), w->align);
    return l;
}

static WideLoad load_whole(Emit *e, const Wide *w, uint32_t group)
{
    WideLoad l = { .size = w->group * w->stride };
    LV address = address_group(e, w->p, w->part[0].byte, group), mask = wide_mask(e, w, group);
    LT type = LLVMVectorType(memory_type(e, w->part[0].type), l.size);
    l.v[0] = mask ? lanes_masked_load(e, type, address, w->align, mask)
                  : plain_load(e, w->p, type, address, w->align);
    return l;
}

/* Whether all that a group loads is wanted, so that permutations can serve several leaves. */
static bool splits_rows(Emit *e, const Wide *w)
{
    uint32_t bits = 8 * emit_scalar_bytes(e, w->part[0].type);
    return w->n == w->stride && !e->mask && chunks_suit_rows(e, bits, w->group, w->stride);
}

/* The leaves of a group's lanes, from loads of their own: of one that is longer than the machine's
 * vectors, LLVM would pick each leaf by itself. */
static void load_rows(Emit *e, const Wide *w, uint32_t group, LV *leaves)
{
    LV blocks[WIDEST];
    LT scalar = memory_type(e, w->part[0].type);
    uint32_t size = emit_scalar_bytes(e, w->part[0].type), in_block = CHUNKS_BLOCK / size;
    LT type = LLVMVectorType(LLVMIntTypeInContext(e->cx, 8 * size), in_block);
    for (uint32_t k = 0; k < w->group * w->stride / in_block; k++) {
        int64_t byte = w->part[0].byte + (int64_t)k * CHUNKS_BLOCK;
        blocks[k] = plain_load(e, w->p, type, address_group(e, w->p, byte, group), w->align);
    }
    chunks_split_rows(e, blocks, w->group, w->stride, leaves);
    for (uint32_t k = 0; k < w->n; k++)
        leaves[k] = LLVMBuildBitCast(e->b, leaves[k], LLVMVectorType(scalar, w->group), "");
}

/* The leaves of a group's lanes, one by one from what all of them load. */
static void load_picked(Emit *e, const Wide *w, uint32_t group, LV *leaves)
{
    int lane[MAX_LANES];
    bool holes = !e->mask && w->n < w->stride;
    WideLoad all = holes ? load_halves(e, w, group) : load_whole(e, w, group);
    for (uint32_t k = 0; k < w->n; k++) {
        for (uint32_t l = 0; l < w->group; l++) {
            uint32_t at = l * w->stride + k;
            lane[l] = (int)(at < all.size ? at : at + all.overlap);
        }
        leaves[k] = ir_shuffle(e->b, all.v[0], all.v[1], lane, w->group);
    }
}

static void load_wide(Emit *e, const Wide *w, LV *leaves)
{
    uint32_t n_groups = e->W / w->group;
    bool splits = splits_rows(e, w);
    count_side_by_side(e, w->p, e->mask, (uint64_t)w->n * emit_scalar_bytes(e, w->part[0].type));
    LV of_group[ACCESS_WIDEST], *piece = NEW_ARRAY(e->arena, LV, (size_t)n_groups * w->n);
    for (uint32_t g = 0; g < n_groups; g++) {
        if (splits)
            load_rows(e, w, g, of_group);
        else
            load_picked(e, w, g, of_group);
        for (uint32_t k = 0; k < w->n; k++)
            piece[k * n_groups + g] = of_group[k];
    }
    for (uint32_t k = 0; k < w->n; k++)
        leaves[k] = ir_concatenate(e->b, piece + k * n_groups, n_groups);
}

static void store_wide(Emit *e, const Wide *w, const LV *leaves)
{
    LV piece[4];
    uint32_t count = w->stride > 2 ? 4 : 2;
    count_side_by_side(e, w->p, e->mask, (uint64_t)w->n * emit_scalar_bytes(e, w->part[0].type));
    int lane[WIDEST];
    for (uint32_t k = 0; k < w->group * w->stride; k++)
        lane[k] = k % w->stride < w->n ? (int)(k % w->stride * w->group + k / w->stride) : -1;
    for (uint32_t g = 0; g < e->W / w->group; g++) {
        for (uint32_t k = 0; k < count; k++)
            piece[k] = k < w->n ? ir_part(e->b, leaves[k], g * w->group, w->group)
                                : LLVMGetPoison(LLVMTypeOf(piece[0]));
        LV joined = ir_concatenate(e->b, piece, count);
        LV v = ir_shuffle(e->b, joined, NULL, lane, w->group * w->stride);
        LV address = address_group(e, w->p, w->part[0].byte, g), mask = wide_mask(e, w, g);
        if (mask)
            lanes_masked_store(e, v, address, w->align, mask);
        else
            plain_store(e, w->p, v, address, w->align);
    }
}

/* ---- one leaf -------------------------------------------------------------------------------- */

/* Private memory at the same place for all lanes is one vector. */
static bool lanes_in_order(const EmitPointer *p)
{
    return p->at.rule == LAYOUT_LANES && !p->lane_index;
}

/* One vector access for each group. With checks each lane is tested at an address of its own, which
 * differs from its place in the group if an index wraps: such a lane must be accessed there. */
static bool in_groups(Emit *e, const EmitPointer *p, const LanesPart *part)
{
    return side_by_side(e, p, part) && !p->affine.expected && !address_checked(e, p);
}

/* Whether the address is the same for all lanes of a group, and groups are large or few enough. */
static bool same_in_groups(Emit *e, const EmitPointer *p)
{
    uint32_t group = p->affine.group;
    return p->lane_index && (group >= 8 || (group == 4 && e->W == 16)) && !p->affine.stride &&
           !p->affine.expected && !e->mask && !address_checked(e, p) &&
           p->at.rule != LAYOUT_LANES && !emit_is_lanes(p->base);
}

/* A number for each group. Small numbers and groups are put in one vector, since LLVM joins splats
 * of bytes by an insertion for each lane; others are broadcast by the loads themselves. */
static LV load_same_in_groups(Emit *e, const EmitPointer *p, const LanesPart *part)
{
    uint32_t size = emit_scalar_bytes(e, part->type), align = alignment(e, p, part->type);
    uint32_t group = p->affine.group, n = e->W / group;
    LV *piece = NEW_ARRAY(e->arena, LV, n);
    bool small = size < 4 || group < 8;
    for (uint32_t k = 0; k < n; k++) {
        access_count(e, p, HEDDLE_ACCESS_SCALAR, NULL, size);
        LV address = address_group(e, p, part->byte, k);
        LV one = plain_load(e, p, memory_type(e, part->type), address, align);
        piece[k] = small ? one : ir_part(e->b, emit_lanes(e, one), 0, group);
    }
    return small ? affine_spread(e, piece, group) : ir_concatenate(e->b, piece, n);
}

static LV gather(Emit *e, const EmitPointer *p, const LanesPart *part)
{
    LT lanes = emit_lanes_type(e, memory_type(e, part->type));
    uint32_t size = emit_scalar_bytes(e, part->type);
    LV mask = access_mask(e, p, part->byte, size);
    access_count(e, p, HEDDLE_ACCESS_GATHER, mask, mask ? size : (uint64_t)size * e->W);
    remark_gather(e, p, size, false);
    return lanes_masked_load(e, lanes, address_of_part(e, p, part->byte, size),
                             alignment(e, p, part->type), mask ? mask : lanes_mask(e));
}

static LV load_near(Emit *e, const LanesNear *n, const LanesPart *part)
{
    LV mask = n->mask ? n->mask : lanes_mask(e);
    count_side_by_side(e, &n->at, mask, emit_scalar_bytes(e, part->type));
    return near_load(e, n, part, memory_type(e, part->type), alignment(e, &n->at, part->type));
}

static void scatter(Emit *e, const EmitPointer *p, const LanesPart *part, LV v)
{
    uint32_t size = emit_scalar_bytes(e, part->type);
    LV mask = access_mask(e, p, part->byte, size);
    access_count(e, p, HEDDLE_ACCESS_GATHER, mask, mask ? size : (uint64_t)size * e->W);
    remark_gather(e, p, size, true);
    lanes_masked_store(e, v, address_of_part(e, p, part->byte, size), alignment(e, p, part->type),
                       mask ? mask : lanes_mask(e));
}

/* A vector has four lanes' numbers at most then, so that it takes fewer permutations to transpose
 * what each lane loads, if that are neighbours. */
static bool is_far(const EmitPointer *p) { return address_lane_stride(p) >= CHUNKS_BLOCK; }

/* Where each scalar would take a gather. The number of scalars, 0: none. */
static uint32_t load_chunk(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n,
                           LV *leaves)
{
    if (in_groups(e, p, part) || same_in_groups(e, p) || (windows_wanted(e, p, part) && !is_far(p)))
        return 0;
    uint32_t loaded = chunks_load(e, p, part, n, leaves);
    for (uint32_t k = 0; k < loaded; k++)
        count_side_by_side(e, p, e->mask, emit_scalar_bytes(e, part[k].type));
    return loaded;
}

static LV load_part(Emit *e, const EmitPointer *p, const LanesPart *part)
{
    if (lanes_same_address(p))
        return load_same(e, p, part);
    if (lanes_in_order(p)) {
        LT lanes = emit_lanes_type(e, memory_type(e, part->type));
        return plain_load(e, p, lanes, address_uniform(e, p, part->byte, e->W),
                          emit_scalar_bytes(e, part->type));
    }
    if (in_groups(e, p, part))
        return load_groups(e, p, part);
    if (same_in_groups(e, p))
        return load_same_in_groups(e, p, part);
    LT lanes = emit_lanes_type(e, memory_type(e, part->type));
    LV v = windows_load(e, p, part, lanes, alignment(e, p, part->type));
    if (!v)
        return gather(e, p, part);
    count_side_by_side(e, p, NULL, emit_scalar_bytes(e, part->type));
    return v;
}

static void store_part(Emit *e, const EmitPointer *p, const LanesPart *part, LV v)
{
    if (lanes_same_address(p)) {
        store_same(e, p, part, v);
        return;
    }
    v = emit_lanes(e, v);
    if (lanes_in_order(p)) {
        uint32_t size = emit_scalar_bytes(e, part->type);
        LV address = address_uniform(e, p, part->byte, e->W);
        if (e->mask)
            v = LLVMBuildSelect(e->b, e->mask, v, plain_load(e, p, LLVMTypeOf(v), address, size),
                                "");
        plain_store(e, p, v, address, size);
    } else if (in_groups(e, p, part)) {
        store_groups(e, p, part, v);
    } else if (holes_suit(e, p, part)) {
        count_side_by_side(e, p, e->mask, emit_scalar_bytes(e, part->type));
        holes_store(e, p, part, v, alignment(e, p, part->type));
    } else {
        scatter(e, p, part, v);
    }
}

LV access_load_leaf(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t)
{
    LanesPart part = { byte, t };
    return from_memory(e, t, load_part(e, p, &part));
}

void access_store_leaf(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t, LV v)
{
    LanesPart part = { byte, t };
    store_part(e, p, &part, to_memory(e, t, v));
}

/* ---- whole pointees -------------------------------------------------------------------------- */

static void collect(Emit *e, const EmitLayout *l, int64_t byte, LanesPart *part, uint32_t *n)
{
    const SpvType *t = l->type;
    if (t->kind != SPV_VECTOR && t->kind != SPV_MATRIX && t->kind != SPV_ARRAY &&
        t->kind != SPV_STRUCT) {
        for (uint32_t k = 0, leaves = emit_n_leaves(e, t); k < leaves; k++)
            part[(*n)++] = (LanesPart){ byte + (int64_t)emit_scalar_bytes(e, t) * k, t };
        return;
    }
    for (uint32_t k = 0; k < t->count; k++) {
        uint64_t offset;
        EmitLayout sub = emit_layout_part(e, l, k, &offset);
        collect(e, &sub, byte + (int64_t)offset, part, n);
    }
}

LanesPart *access_parts(Emit *e, const EmitPointer *p, uint32_t *n)
{
    uint32_t parts = 0;
    *n = emit_n_leaves(e, p->at.type);
    LanesPart *part = NEW_ARRAY(e->arena, LanesPart, *n + 1);
    if (*n)
        collect(e, &p->at, 0, part, &parts);
    return part;
}

/* Where lanes are seldom accessed so, a loop over the active ones is the shortest code, except for
 * what the machine loads under a mask. */
static bool suits_loop(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n)
{
    uint32_t bits = 8 * emit_scalar_bytes(e, part->type);
    return lanes_of(e)->seldom && p->lane_index && p->at.rule != LAYOUT_LANES &&
           !address_checked(e, p) && by_lanes_needed(e, bits, e->mask, false) &&
           !(lanes_has_masks(e, bits) && wide_stride(e, p, part, n));
}

/* Parts of each lane, at most ACCESS_WIDEST, one lane after the other. */
static void load_by_lanes(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n,
                          LV *leaves)
{
    LV from, at[ACCESS_WIDEST], mask = lanes_mask(e);
    LT type[ACCESS_WIDEST];
    LV address = address_of_part(e, p, part->byte, emit_scalar_bytes(e, part->type));
    for (uint32_t k = 0; k < n; k++) {
        uint32_t size = emit_scalar_bytes(e, part[k].type);
        access_count(e, p, HEDDLE_ACCESS_GATHER, e->mask, e->mask ? size : (uint64_t)size * e->W);
        type[k] = emit_lanes_type(e, memory_type(e, part[k].type));
        at[k] = by_lanes_element(e, e->i64, by_lanes_values(e), ir_int(e->i32, k * e->W));
        LLVMBuildStore(e->b, LLVMConstNull(type[k]), at[k]);
    }
    LanesLoop l = by_lanes_begin(e, address, mask, &from);
    for (uint32_t k = 0; k < n; k++) {
        LT element = LLVMGetElementType(type[k]);
        LV there = ir_at(e->b, from, ir_int(e->i64, (uint64_t)(part[k].byte - part->byte)));
        LV x = plain_load(e, p, element, there, alignment(e, p, part[k].type));
        LLVMBuildStore(e->b, x, by_lanes_element(e, element, at[k], l.index));
    }
    lane_loop_end(e, &l);
    for (uint32_t k = 0; k < n; k++)
        leaves[k] = LLVMBuildLoad2(e->b, type[k], at[k], "");
}

static void load_parts(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n, LV *leaves)
{
    if (n && suits_loop(e, p, part, n)) {
        for (uint32_t k = 0; k < n; k += ACCESS_WIDEST)
            load_by_lanes(e, p, part + k, MIN(n - k, ACCESS_WIDEST), leaves + k);
        return;
    }
    uint32_t stride = n ? wide_stride(e, p, part, n) : 0;
    if (stride) {
        Wide w = wide_of(e, p, part, n, stride);
        load_wide(e, &w, leaves);
    }
    for (uint32_t k = 0, done; k < n && !stride; k += done) {
        done = load_chunk(e, p, &part[k], n - k, &leaves[k]);
        if (!done) {
            leaves[k] = load_part(e, p, &part[k]);
            done = 1;
        }
    }
}

/* Whether lanes store with holes between them, which the machine does faster one by one. */
static bool leaves_holes(Emit *e, const LanesPart *part, uint32_t stride, uint32_t n)
{
    return stride > n && lanes_slow_masked_stores(e, 8 * emit_scalar_bytes(e, part->type));
}

/* Parts of each active lane, at most ACCESS_WIDEST, one lane after the other. */
static void store_by_lanes(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n,
                           const LV *v)
{
    LV to, at[ACCESS_WIDEST];
    LV address = address_of_part(e, p, part->byte, emit_scalar_bytes(e, part->type));
    for (uint32_t k = 0; k < n; k++) {
        uint32_t size = emit_scalar_bytes(e, part[k].type);
        access_count(e, p, HEDDLE_ACCESS_GATHER, e->mask, size);
        at[k] = by_lanes_element(e, e->i64, by_lanes_values(e), ir_int(e->i32, k * e->W));
        LLVMBuildStore(e->b, v[k], at[k]);
    }
    LanesLoop l = by_lanes_begin(e, address, e->mask, &to);
    for (uint32_t k = 0; k < n; k++) {
        LT element = LLVMGetElementType(LLVMTypeOf(v[k]));
        LV there = ir_at(e->b, to, ir_int(e->i64, (uint64_t)(part[k].byte - part->byte)));
        LV x = LLVMBuildLoad2(e->b, element, by_lanes_element(e, element, at[k], l.index), "");
        plain_store(e, p, x, there, alignment(e, p, part[k].type));
    }
    lane_loop_end(e, &l);
}

static void store_parts(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n, LV *v)
{
    uint32_t stride = n ? wide_stride(e, p, part, n) : 0;
    for (uint32_t k = 0; k < n; k++) {
        if (stride)
            v[k] = emit_lanes(e, v[k]);
        else
            store_part(e, p, &part[k], v[k]);
    }
    if (stride && e->mask && leaves_holes(e, part, stride, n)) {
        store_by_lanes(e, p, part, n, v);
    } else if (stride) {
        Wide w = wide_of(e, p, part, n, stride);
        store_wide(e, &w, v);
    }
}

/* ---- two ways -------------------------------------------------------------------------------- */

/* An access that is emitted twice, because its lanes most likely go on as expected
 * (EmitAffine.expected), are all inside, or are all active. The first way relies on that, the
 * last tests each lane. Between them there may be one for lanes that stopped at a bound. */
typedef struct Ways {
    LV test[4];
    uint32_t n; /* conditions of the first way; 0: there is one way only */
    LV mask;    /* of the lanes, all of which are active in the first way; NULL: as in the last */
    EmitPointer way[2]; /* the first and the last */
    LanesTable *table;  /* the first way's, where lanes are expected to differ by constants */
    LanesNear *near;    /* the second's of three; NULL: there are two */
    LLVMBasicBlockRef begin[3], end[3], done;
} Ways;

static void be_inside(Ways *w, LV inside)
{
    w->test[w->n++] = inside;
    w->way[0].limit = NULL;
    w->way[1].seldom = true;
}

/* All lanes are inside, and go on as expected. */
static void expect_affine(Emit *e, Ways *w, const EmitPointer *p, const LanesPart *part, uint32_t n)
{
    LV inside = address_all_inside(e, p, part, n);
    if (inside)
        be_inside(w, inside);
    if (!p->affine.expected)
        return;
    w->test[w->n++] = p->affine.expected;
    w->way[0].affine.expected = NULL;
    w->way[1].affine = (EmitAffine){ .group = 1 };
}

/* Whether an access needs no more than one vector, or a few, once it is known that its lanes go on
 * as expected and are inside. */
static bool is_together(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n)
{
    EmitPointer sure = *p;
    sure.limit = NULL;
    sure.affine.expected = NULL;
    bool together = wide_stride(e, &sure, part, n) || (n == 1 && side_by_side(e, &sure, part));
    for (uint32_t k = 0; k < n && !together; k++)
        together = windows_wanted(e, &sure, &part[k]);
    return together;
}

uint32_t access_row_stride(Emit *e, const EmitPointer *p)
{
    uint32_t n, group = MIN(p->affine.group, e->W);
    const LanesPart *part = access_parts(e, p, &n);
    EmitPointer sure = *p;
    sure.limit = NULL;
    sure.affine.expected = NULL;
    uint32_t stride = wide_stride(e, &sure, part, n), bits = 8 * emit_scalar_bytes(e, part->type);
    bool suits =
        lanes_of(e)->machine->sets & CPU_AVX512 || chunks_suit_rows(e, bits, group, stride);
    return stride % n == 0 && suits ? stride / n : 0;
}

/* Whether each of the parts would take a gather. */
static bool is_apart(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n)
{
    bool apart = p->lane_index && !wide_stride(e, p, part, n) && !same_in_groups(e, p);
    for (uint32_t k = 0; k < n && apart; k++)
        apart = !in_groups(e, p, &part[k]) && !windows_wanted(e, p, &part[k]) &&
                !chunks_suit(e, p, &part[k], n - k);
    return apart;
}

static bool is_plain(Emit *e, const EmitPointer *p)
{
    return !address_checked(e, p) && p->at.rule != LAYOUT_LANES && !p->volatile_ && !p->builtin;
}

bool access_is_apart(Emit *e, const EmitPointer *p)
{
    return is_plain(e, p) && is_apart(e, p, &(LanesPart){ 0, p->at.type }, 1);
}

bool access_in_windows(Emit *e, const EmitPointer *p)
{
    return is_plain(e, p) && p->lane_index && windows_wanted(e, p, &(LanesPart){ 0, p->at.type });
}

bool access_is_far(Emit *e, const EmitPointer *p)
{
    LanesPart part = { 0, p->at.type };
    return is_plain(e, p) && p->lane_index && !in_groups(e, p, &part) && !same_in_groups(e, p) &&
           is_far(p);
}

/* With robust access one test tells whether all that the lanes load is inside. */
static void expect_table(Emit *e, Ways *w, const LanesPart *part, uint32_t n)
{
    const EmitPointer *p = &w->way[0];
    bool checked = address_checked(e, p);
    EmitPointer sure = *p;
    sure.affine.expected = sure.limit = NULL;
    LanesTable *t = NEW(e->arena, LanesTable);
    if (!is_apart(e, &sure, part, n) || (checked && emit_is_lanes(p->limit)) ||
        !table_open(e, p, t) || !table_suits(e, t, part, n))
        return;
    w->table = t;
    if (checked)
        be_inside(w, table_inside(e, p, t, part, n));
    if (t->expected)
        w->test[w->n++] = t->expected;
}

/* Windows and tables are for loads of all lanes, a mask for each of several leaves takes
 * permutations, and holes in one are best known before. */
static void expect_all_active(Emit *e, Ways *w, const LanesPart *part, uint32_t n, bool store)
{
    if (!e->mask)
        return;
    uint32_t stride = wide_stride(e, &w->way[0], part, n);
    bool wanted = store ? leaves_holes(e, part, stride, n) : w->table || stride;
    for (uint32_t k = 0; k < n && !store && !wanted; k++)
        wanted = windows_wanted(e, &w->way[0], &part[k]);
    if (!wanted)
        return;
    w->mask = e->mask;
    w->test[w->n++] = LLVMBuildNot(e->b, lanes_any(e, LLVMBuildNot(e->b, e->mask, "")), "");
}

/* Marks a branch of which the first way is expected; in a loop for jit/trace.c, too. */
static void mark_expected(Emit *e, LV branch)
{
    ir_expect(branch, true);
    if (e->cfg->blocks[e->position].loop)
        ir_mark(branch, CPU_EXPECTED);
}

/* Branches on all tests, and continues with the first way. */
static void branch_to_ways(Emit *e, Ways *w)
{
    LV all = w->test[0];
    for (uint32_t k = 1; k < w->n; k++)
        all = LLVMBuildSelect(e->b, all, w->test[k], ir_int(e->i1, 0), "");
    w->done = emit_new_block(e, "access.done");
    w->begin[1] = emit_new_block(e, "access.apart");
    w->begin[0] = emit_new_block(e, "access.together");
    mark_expected(e, LLVMBuildCondBr(e->b, all, w->begin[0], w->begin[1]));
    LLVMPositionBuilderAtEnd(e->b, w->begin[0]);
}

static Ways ways_begin(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n, bool store)
{
    Ways w = { .way = { *p, *p } };
    if (!n)
        return w;
    bool together = !p->affine.expected || is_together(e, p, part, n);
    if (!store)
        expect_table(e, &w, part, n);
    if (!w.table && !together)
        return w;
    if (!w.table)
        expect_affine(e, &w, p, part, n);
    expect_all_active(e, &w, part, n, store);
    if (!store && !w.table && n == 1 && near_suits(e, p, part)) {
        w.near = NEW(e->arena, LanesNear);
        w.near->at = *p;
    }
    if (w.n)
        branch_to_ways(e, &w);
    if (w.mask)
        e->mask = NULL;
    return w;
}

/* Branches to the second way or to the last one, and continues with the second. */
static void branch_to_near(Emit *e, Ways *w, const LanesPart *part)
{
    w->near->mask = access_mask(e, &w->way[1], part->byte, emit_scalar_bytes(e, part->type));
    LV near = near_test(e, w->near, part);
    LLVMBasicBlockRef begin = emit_new_block(e, "access.near");
    w->begin[2] = emit_new_block(e, "access.far");
    LLVMBuildCondBr(e->b, near, begin, w->begin[2]);
    LLVMPositionBuilderAtEnd(e->b, begin);
}

static uint32_t n_ways(const Ways *w) { return !w->n ? 1 : w->near ? 3 : 2; }

/* Ends way k and begins the next, or ends the access. True: there is a next way. */
static bool ways_next(Emit *e, Ways *w, const LanesPart *part, uint32_t k)
{
    bool is_last = k + 1 == n_ways(w);
    if (!w->n)
        return false;
    lanes_of(e)->seldom = !is_last;
    if (w->mask)
        e->mask = w->mask;
    w->end[k] = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, w->done);
    LLVMPositionBuilderAtEnd(e->b, is_last ? w->done : w->begin[k + 1]);
    if (!k && w->table)
        w->way[1].lane_index = table_index_again(e, w->way[1].lane_index, TABLE_DEPTH);
    if (!k && w->near)
        branch_to_near(e, w, part);
    return !is_last;
}

/* ---- the accesses ---------------------------------------------------------------------------- */

/* One value of all ways. */
static LV join_ways(Emit *e, const Ways *w, LV v[3])
{
    if (!w->n)
        return v[0];
    LV phi = LLVMBuildPhi(e->b, LLVMTypeOf(v[0]), "");
    LLVMAddIncoming(phi, v, (LLVMBasicBlockRef *)w->end, n_ways(w));
    return phi;
}

/* Whether dot products want what the first way loads as it lies. AArch64 takes rows apart as it
 * loads them. */
static bool lies_in_place(Emit *e, const Ways *w, const LanesPart *part, uint32_t n)
{
    return lanes_of(e)->dotted && lanes_of(e)->machine->sets & CPU_SSE2 && !e->mask && !w->table &&
           is_pow2(n) && part->type->kind == SPV_FLOAT && part->type->bits <= 32 &&
           wide_stride(e, &w->way[0], part, n) == n;
}

void access_load_parts(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n, LV *leaves)
{
    uint32_t k = 0;
    LV *v = NEW_ARRAY(e->arena, LV, 3 * (n + 1)), all[3] = { NULL };
    Ways w = ways_begin(e, p, part, n, false);
    bool in_place = lies_in_place(e, &w, part, n);
    do {
        if (!k && w.table)
            table_load(e, p, w.table, part, n, v);
        else if (k == 1 && w.near)
            v[n] = load_near(e, w.near, part);
        else
            load_parts(e, &w.way[MIN(k, 1)], part, n, v + k * n);
        if (in_place)
            all[k] = k ? in_place_from(e, v + k * n, n)
                       : in_place_load(e, &w.way[0], part, n, alignment(e, p, part->type));
    } while (ways_next(e, &w, part, k++));
    for (k = 0; k < n; k++)
        leaves[k] = join_ways(e, &w, (LV[]){ v[k], v[n + k], v[2 * n + k] });
    if (in_place)
        all[0] = join_ways(e, &w, all);
    for (k = 0; k < n; k++) /* behind all phis */
        leaves[k] = from_memory(e, part[k].type, leaves[k]);
    if (in_place)
        in_place_keep(e, leaves, n, all[0]);
}

void access_load(Emit *e, const EmitPointer *p, LV *leaves)
{
    uint32_t n;
    if (p->builtin) {
        emit_load_builtin(e, p, leaves);
        return;
    }
    LanesPart *part = access_parts(e, p, &n);
    access_load_parts(e, p, part, n, leaves);
}

void access_store(Emit *e, const EmitPointer *p, const LV *leaves)
{
    uint32_t n, k = 0;
    LanesPart *part = access_parts(e, p, &n);
    LV *v = NEW_ARRAY(e->arena, LV, n + 1), *copy = NEW_ARRAY(e->arena, LV, n + 1);
    for (uint32_t l = 0; l < n; l++)
        v[l] = to_memory(e, part[l].type, leaves[l]);
    Ways w = ways_begin(e, p, part, n, true);
    do {
        memcpy(copy, v, n * sizeof *v);
        store_parts(e, &w.way[k], part, n, copy);
    } while (ways_next(e, &w, part, k++));
}
