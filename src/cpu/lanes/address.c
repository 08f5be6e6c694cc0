/* SPDX-License-Identifier: MIT
 *
 * The addresses of accesses, and whether they are inside of their buffer.
 *
 * The offset of an access in its buffer is one 64-bit number: the pointer's uniform part, plus a
 * lane's index, sign-extended (SPIR-V, OpAccessChain: indexes are signed), times lane_scale. Robust
 * access compares that number with the buffer's size and then uses the same number for the address,
 * so whatever wrapped on the way wrapped in both. If whole groups of lanes are accessed by the
 * address of their first lane, the test is whether everything that this reaches is inside (Span),
 * and whether no lane's own index wraps between the first lane's and it.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

/* ---- addresses ------------------------------------------------------------------------------- */

bool lanes_same_address(const EmitPointer *p)
{
    return !p->lane_index && p->at.rule != LAYOUT_LANES && !(p->base && emit_is_lanes(p->base));
}

static LV gep(Emit *e, LT unit, LV base, LV index)
{
    return LLVMBuildGEP2(e->b, unit, base, &index, 1, "");
}

/* offset + constant + byte, times `scale`: i64 */
static LV uniform_offset(Emit *e, const EmitPointer *p, int64_t byte, int64_t scale)
{
    uint64_t known = (uint64_t)p->constant + (uint64_t)byte;
    LV constant = ir_int(e->i64, (int64_t)(known * (uint64_t)scale));
    if (!p->offset)
        return constant;
    LV offset = scale == 1 ? p->offset : LLVMBuildMul(e->b, p->offset, ir_int(e->i64, scale), "");
    return LLVMBuildAdd(e->b, offset, constant, "");
}

LV address_uniform(Emit *e, const EmitPointer *p, int64_t byte, int64_t scale)
{
    LV offset = uniform_offset(e, p, byte, scale);
    if (emit_is_lanes(p->base))
        offset = emit_lanes(e, offset);
    return gep(e, e->i8, p->base, offset);
}

/* An integer type of up to 8 bytes that divides `scale`, so that an addressing mode can do part of
 * the multiplication. */
static LT scale_unit(Emit *e, int64_t scale, int64_t *factor)
{
    int64_t unit = 1;
    while (unit < 8 && scale % (unit * 2) == 0)
        unit *= 2;
    *factor = scale / unit;
    return LLVMIntTypeInContext(e->cx, (unsigned)unit * 8);
}

static LV lanes_address(Emit *e, const EmitPointer *p, int64_t byte, uint32_t size)
{
    LV base = address_uniform(e, p, byte, e->W);
    LT unit = LLVMIntTypeInContext(e->cx, size * 8);
    LV index = lanes_ids(e);
    if (p->lane_index) { /* private memory is small: 32 bits are enough */
        LV at = emit_cast_index(e, p->lane_index, e->i32);
        int64_t factor = p->lane_scale * e->W / size;
        at = LLVMBuildMul(e->b, at, ir_int(LLVMTypeOf(at), (uint64_t)factor), "");
        index = LLVMBuildAdd(e->b, emit_lanes(e, at), index, "");
    }
    return gep(e, unit, base, index);
}

LV address_of_part(Emit *e, const EmitPointer *p, int64_t byte, uint32_t size)
{
    if (p->at.rule == LAYOUT_LANES)
        return lanes_address(e, p, byte, size);
    LV base = address_uniform(e, p, byte, 1);
    if (!p->lane_index)
        return base;
    int64_t factor;
    LT unit = scale_unit(e, p->lane_scale, &factor);
    LV index = p->lane_index;
    if (factor != 1) {
        index = emit_cast_index(e, index, e->i64);
        index = LLVMBuildMul(e->b, index, ir_int(LLVMTypeOf(index), (uint64_t)factor), "");
    }
    return gep(e, unit, base, index);
}

LV address_offset(Emit *e, const EmitPointer *p, int64_t byte)
{
    LV offset = uniform_offset(e, p, byte, 1);
    if (!p->lane_index)
        return offset;
    LV index = emit_cast_index(e, p->lane_index, e->i64);
    if (p->lane_scale != 1)
        index = LLVMBuildMul(e->b, index, ir_int(LLVMTypeOf(index), (uint64_t)p->lane_scale), "");
    return LLVMBuildAdd(e->b, index, emit_lanes(e, offset), "");
}

/* ---- groups of lanes ------------------------------------------------------------------------- */

int64_t address_lane_stride(const EmitPointer *p) { return p->affine.stride * p->lane_scale; }

/* The index of a group's first lane. */
static LV group_index(Emit *e, const EmitPointer *p, uint32_t group)
{
    LV index = group < AFFINE_GROUPS ? p->affine.first[group] : NULL;
    return index ? index
                 : LLVMBuildExtractElement(e->b, p->lane_index,
                                           ir_int(e->i32, group * p->affine.group), "");
}

LV address_first_lane(Emit *e, const EmitPointer *p) { return group_index(e, p, 0); }

/* The distance in bytes of a group's first lane from the uniform part of the address. */
static LV group_offset(Emit *e, const EmitPointer *p, uint32_t group)
{
    LV index = emit_cast_index(e, group_index(e, p, group), e->i64);
    return LLVMBuildMul(e->b, index, ir_int(e->i64, p->lane_scale), "");
}

LV address_group(Emit *e, const EmitPointer *p, int64_t byte, uint32_t group)
{
    return gep(e, e->i8, address_uniform(e, p, byte, 1), group_offset(e, p, group));
}

/* ---- lane by lane ---------------------------------------------------------------------------- */

bool address_checked(Emit *e, const EmitPointer *p)
{
    bool wanted = e->robust || p->storage == SpvStorageClassImage;
    return wanted && p->limit && p->at.rule != LAYOUT_LANES;
}

/* The first offset at which `size` bytes no longer fit. */
static LV end_offset(Emit *e, LV limit, uint64_t size)
{
    LT type = LLVMTypeOf(limit);
    LV args[2] = { limit, ir_int(type, size - 1) };
    return ir_intrinsic(e->b, "llvm.usub.sat", &type, 1, args, 2);
}

/* The signed 32-bit indices with 0 <= offset + index * scale < end, as a first index and a count.
 * Computed once if offset and end do not change. */
typedef struct IndexRange {
    LV low, count;
} IndexRange;

static bool index_range_known(Emit *e, const EmitPointer *p)
{
    LT type = LLVMTypeOf(p->lane_index);
    type = emit_is_lanes(p->lane_index) ? LLVMGetElementType(type) : type;
    return p->lane_scale > 0 && !emit_is_lanes(p->limit) && type == e->i32;
}

/* The first such index as a 64-bit number, clamped to between `least` and `most`. */
static LV first_index(Emit *e, LV from, LV offset, int64_t scale, int64_t least, int64_t most)
{
    LV difference[2] = { from, offset };
    LV x = ir_intrinsic(e->b, "llvm.ssub.sat", &e->i64, 1, difference, 2);
    /* rounds towards zero, which is up if x < 0 */
    LV q = LLVMBuildSDiv(e->b, x, ir_int(e->i64, scale), "");
    LV rest = LLVMBuildSub(e->b, x, LLVMBuildMul(e->b, q, ir_int(e->i64, scale), ""), "");
    LV above = LLVMBuildICmp(e->b, LLVMIntSGT, rest, ir_int(e->i64, 0), "");
    q = LLVMBuildAdd(e->b, q, LLVMBuildZExt(e->b, above, e->i64, ""), "");
    return emit_clamp(e, q, least, most);
}

/* The range of indices whose neighbours, from `below` less to `above` more, must be inside and not
 * wrap either. */
static IndexRange index_range_beside(Emit *e, const EmitPointer *p, int64_t byte, uint64_t size,
                                     int64_t below, int64_t above)
{
    LV offset = uniform_offset(e, p, byte, 1), end = end_offset(e, p->limit, size);
    int64_t least = INT32_MIN + below, most = MAX((int64_t)INT32_MAX + 1 - above, least);
    LV low = first_index(e, ir_int(e->i64, 0), offset, p->lane_scale, least, most);
    LV high = first_index(e, end, offset, p->lane_scale, least, most);
    LV some = LLVMBuildICmp(e->b, LLVMIntSLT, low, high, "");
    LV count =
        LLVMBuildSelect(e->b, some, LLVMBuildSub(e->b, high, low, ""), ir_int(e->i64, 0), "");
    LV fits[2] = { count, ir_int(e->i64, UINT32_MAX) };
    count = ir_intrinsic(e->b, "llvm.umin", &e->i64, 1, fits, 2);
    return (IndexRange){ LLVMBuildTrunc(e->b, low, e->i32, ""),
                         LLVMBuildTrunc(e->b, count, e->i32, "") };
}

static IndexRange index_range(Emit *e, const EmitPointer *p, int64_t byte, uint64_t size)
{
    int64_t at = p->constant + byte, scale = p->lane_scale, pad = (scale - at % scale) % scale;
    if (p->offset || at < 0 || at / scale >= INT32_MAX)
        return index_range_beside(e, p, byte, size, 0, 0);
    /* both are sums of constants */
    LV end = end_offset(e, p->limit, size);
    LV n = LLVMBuildAdd(e->b, end, ir_int(e->i64, pad + scale - 1), "");
    n = LLVMBuildSub(e->b, LLVMBuildUDiv(e->b, n, ir_int(e->i64, scale), ""),
                     ir_int(e->i64, pad > 0), "");
    LV most[2] = { n, ir_int(e->i64, (int64_t)INT32_MAX + 1 + at / scale) };
    n = ir_intrinsic(e->b, "llvm.umin", &e->i64, 1, most, 2);
    return (IndexRange){ LLVMConstInt(e->i32, (uint64_t)-(at / scale), 1),
                         LLVMBuildTrunc(e->b, n, e->i32, "") };
}

static LV index_in_range(Emit *e, const IndexRange *r, LV index)
{
    LV v[3] = { index, r->low, r->count };
    emit_unify(e, v, 3);
    return LLVMBuildICmp(e->b, LLVMIntULT, LLVMBuildSub(e->b, v[0], v[1], ""), v[2], "");
}

LV lanes_in_bounds(Emit *e, const EmitPointer *p, int64_t byte, uint32_t size)
{
    if (!address_checked(e, p))
        return NULL;
    if (p->lane_index && !p->seldom && index_range_known(e, p)) {
        IndexRange r = index_range(e, p, byte, size);
        return index_in_range(e, &r, p->lane_index);
    }
    LV v[2] = { address_offset(e, p, byte), end_offset(e, p->limit, size) };
    emit_unify(e, v, 2);
    return LLVMBuildICmp(e->b, LLVMIntULT, v[0], v[1], "");
}

/* ---- all lanes ------------------------------------------------------------------------------- */

LV address_firsts_within(Emit *e, const EmitAffine *a, int64_t least, int64_t most)
{
    uint32_t n = a->group ? e->W / MIN(a->group, e->W) : UINT32_MAX;
    int64_t across = a->stride * (int64_t)(a->group - 1);
    LV all = ir_int(e->i1, 1);
    if (n > AFFINE_GROUPS || !a->first[n - 1])
        return NULL;
    for (uint32_t k = 0; k < n; k++) {
        LT type = LLVMTypeOf(a->first[k]);
        LV low = LLVMConstInt(type, (uint64_t)(least - MIN(across, 0)), 1);
        LV high = LLVMConstInt(type, (uint64_t)(most - MAX(across, 0)), 1);
        LV above = LLVMBuildICmp(e->b, LLVMIntSGE, a->first[k], low, "");
        LV below = LLVMBuildICmp(e->b, LLVMIntSLE, a->first[k], high, "");
        all = LLVMBuildAnd(e->b, all, LLVMBuildAnd(e->b, above, below, ""), "");
    }
    return all;
}

/* What an access with checks reaches: for each group of lanes, the bytes [low, high) from the
 * address of its first lane. */
typedef struct Span {
    const EmitPointer *p;
    int64_t low, high;
} Span;

/* False if each lane must be tested, or if testing each is as cheap. */
static bool span_of(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n, Span *s)
{
    uint32_t group = MIN(p->affine.group, e->W);
    if (!n || !address_checked(e, p) || !p->lane_index || emit_is_lanes(p->base) ||
        emit_is_lanes(p->limit) || group < 4 || e->W / group > AFFINE_GROUPS)
        return false;
    if (!index_range_known(e, p) && LLVMGetElementType(LLVMTypeOf(p->lane_index)) != e->i64)
        return false;
    int64_t across = address_lane_stride(p) * (int64_t)(group - 1);
    *s = (Span){ p, part[0].byte, part[0].byte };
    for (uint32_t k = 0; k < n; k++) {
        s->low = MIN(s->low, part[k].byte);
        s->high = MAX(s->high, part[k].byte + (int64_t)emit_scalar_bytes(e, part[k].type));
    }
    s->low += p->constant + MIN(across, 0);
    s->high += p->constant + MAX(across, 0);
    return true;
}

/* An index as a sum of terms and a constant, modulo 2^bits. Of indices with the same terms only the
 * least is tested, together with enough room above it for the others. */
enum { TERMS = 6, ROOM = 65536 };
typedef struct Sum {
    LV least, term[TERMS];
    uint32_t n;
    uint64_t from, to;
} Sum;

/* A sum with more than TERMS terms becomes a single term. */
static Sum sum_of(LV index)
{
    Sum s = { .least = index, .term = { index }, .n = 1 };
    for (uint32_t k = 0; k < s.n;) {
        LV v = s.term[k];
        if (LLVMIsAConstantInt(v)) {
            s.from = s.to += (uint64_t)LLVMConstIntGetSExtValue(v);
            s.term[k] = s.term[--s.n];
            s.term[s.n] = NULL;
        } else if (s.n < TERMS && LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == LLVMAdd) {
            s.term[k] = LLVMGetOperand(v, 0);
            s.term[s.n++] = LLVMGetOperand(v, 1);
        } else {
            k++;
        }
    }
    return s;
}

bool address_apart_by(LV a, LV b, int64_t *by)
{
    Sum x = sum_of(a), y = sum_of(b);
    *by = (int64_t)(x.from - y.from);
    return !memcmp(x.term, y.term, sizeof x.term);
}

/* Adds an index to the sums; returns how much room its sum now needs. */
static int64_t add_sum(Sum *sums, uint32_t *n, LV index)
{
    Sum s = sum_of(index);
    for (Sum *t = sums; t < sums + *n; t++) {
        bool before = (int64_t)s.from<(int64_t)t->from, behind = (int64_t)s.to>(int64_t) t->to;
        uint64_t from = before ? s.from : t->from, to = behind ? s.to : t->to;
        if (memcmp(s.term, t->term, sizeof s.term) || to - from > ROOM)
            continue;
        t->least = before ? index : t->least;
        t->from = from, t->to = to;
        return (int64_t)(to - from);
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
        last = ir_intrinsic(e->b, "llvm.umax", &type, 1, pair, 2);
    }
    return LLVMBuildFreeze(e->b, last, "");
}

/* Whether the least and the largest index are inside, and with them all that lie between: the range
 * from low to high around them is inside, and no index in it wraps. */
static LV index_inside(Emit *e, EmitPointer *p, const Sum *sums, uint32_t n, int64_t low,
                       int64_t high)
{
    if (p->offset || low < 0) {
        int64_t below = MAX(-low, 0) / p->lane_scale + 1, above = MAX(high, 0) / p->lane_scale + 1;
        IndexRange r = index_range_beside(e, p, low, (uint64_t)(high - low), below, above);
        return LLVMBuildICmp(e->b, LLVMIntULT, largest(e, sums, n, r.low), r.count, "");
    }
    /* as unsigned numbers: the buffer ends where indices become negative */
    LV ends[2] = { p->limit, ir_int(e->i64, p->lane_scale << 31) };
    LV limit = ir_intrinsic(e->b, "llvm.umin", &e->i64, 1, ends, 2);
    LV last = LLVMBuildZExt(e->b, largest(e, sums, n, emit_zero(e->i32)), e->i64, "");
    LV end = LLVMBuildMul(e->b, last, ir_int(e->i64, p->lane_scale), "");
    end = LLVMBuildAdd(e->b, end, ir_int(e->i64, high), "");
    return LLVMBuildICmp(e->b, LLVMIntULE, end, limit, "");
}

/* Whether all of the spans are inside, by one comparison for the largest of the groups' indices.
 * Their pointers share buffer, offset and scale. */
static LV spans_inside(Emit *e, const Span *s, uint32_t n)
{
    EmitPointer p = *s->p;
    int64_t low = s->low, high = s->high, room = 0;
    bool by_index = index_range_known(e, &p);
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

LV address_all_inside(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n)
{
    Span s;
    if (!span_of(e, p, part, n, &s))
        return NULL;
    if (p->inside)
        return p->inside;
    LV inside = spans_inside(e, &s, 1);
    return p->straight ? LLVMBuildAnd(e->b, inside, p->straight, "") : inside;
}

LV address_run_inside(Emit *e, const EmitPointer *p, LV at, int64_t low, int64_t high)
{
    LV v[2] = { LLVMBuildAdd(e->b, at, uniform_offset(e, p, low, 1), ""),
                end_offset(e, p->limit, (uint64_t)(high - low)) };
    return LLVMBuildICmp(e->b, LLVMIntULT, v[0], v[1], "");
}

void access_inside(Emit *e, const EmitPointer *p, uint32_t n, LV *test)
{
    Span *spans = NEW_ARRAY(e->arena, Span, n + 1), *like = NEW_ARRAY(e->arena, Span, n + 1);
    uint32_t n_spans = 0, parts;
    for (uint32_t k = 0; k < n; k++) {
        if (!p[k].limit || !p[k].at.type)
            continue;
        const LanesPart *part = access_parts(e, &p[k], &parts);
        n_spans += span_of(e, &p[k], part, parts, &spans[n_spans]) && index_range_known(e, &p[k]);
    }
    for (uint32_t k = 0; k < n_spans; k++) {
        const EmitPointer *a = spans[k].p;
        uint32_t m = 0;
        for (uint32_t j = k; j < n_spans && !test[a - p]; j++) {
            const EmitPointer *b = spans[j].p;
            if (b->limit == a->limit && b->offset == a->offset && b->lane_scale == a->lane_scale)
                like[m++] = spans[j];
        }
        LV inside = m > 1 ? spans_inside(e, like, m) : NULL;
        for (uint32_t j = 0; j < m; j++)
            test[like[j].p - p] = inside;
    }
}
