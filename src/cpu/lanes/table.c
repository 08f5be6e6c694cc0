/* SPDX-License-Identifier: MIT
 *
 * Loads of lanes whose addresses differ by constants: each takes a piece of a block that it shares
 * with its neighbours, or of a block of blocks, as kernels do that read quantised weights. In: the
 * addresses' indices, as sums of what all lanes share and a constant vector, through the divisions
 * and remainders that tell which block a lane reads and where in it. Out: a few loads of whole
 * chunks, and permutations that constants choose.
 *
 * (x + c) / 2^n is x / 2^n + c / 2^n for an x that is a multiple of 2^n, if the sum does not wrap.
 * Whether it is so is often known at run time only (x is a multiple of a row's length): then it is
 * a condition, tested by scalars, and the access has a second way.
 *
 * Chunks reach from the first byte that an active lane reads to the last one, if all are active, so
 * nothing else is read: before and behind them there may be nothing.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

enum { CHUNK = 16, WIDE_CHUNK = 64, FARTHEST = 1 << 20, MOST_BITS = 20 };

/* ---- indices --------------------------------------------------------------------------------- */

static bool table_of(Emit *e, LV v, uint32_t depth, LanesTable *t);

/* A further condition. */
static void expect(Emit *e, LanesTable *t, LV is)
{
    if (!LLVMIsConstant(is) || LLVMIsNull(is))
        t->expected = t->expected ? LLVMBuildAnd(e->b, t->expected, is, "") : is;
}

static bool constant_table(Emit *e, LV v, LanesTable *t)
{
    for (uint32_t l = 0; l < e->W; l++) {
        LV x = LLVMGetAggregateElement(v, l);
        if (!x || !LLVMIsAConstantInt(x))
            return false;
        t->at[l] = LLVMConstIntGetSExtValue(x);
        if (t->at[l] > FARTHEST || t->at[l] < -FARTHEST)
            return false;
    }
    t->base = LLVMConstNull(ir_element_of(v));
    return true;
}

static int64_t largest(const Emit *e, const LanesTable *t)
{
    int64_t most = t->at[0];
    for (uint32_t l = 1; l < e->W; l++)
        most = MAX(most, t->at[l]);
    return most;
}

static int64_t least(const Emit *e, const LanesTable *t)
{
    int64_t low = t->at[0];
    for (uint32_t l = 1; l < e->W; l++)
        low = MIN(low, t->at[l]);
    return low;
}

/* Neither what all lanes share wraps nor do the lanes' numbers, as unsigned or signed ones. False:
 * they do, being farther apart than such numbers get. */
static bool expect_no_wrap(Emit *e, LanesTable *t, bool is_signed)
{
    LT type = LLVMTypeOf(t->base);
    int64_t low = MIN(least(e, t), 0), high = MAX(largest(e, t), 0);
    uint32_t width = LLVMGetIntTypeWidth(type), zeros = affine_zeros(t->base);
    if (width < 63 && high - low >= (int64_t)1 << width)
        return false;
    if (!low && high < (int64_t)1 << MIN(MIN(zeros, width - is_signed), 62))
        return true;
    uint64_t sign = is_signed ? 1ull << (width - 1) : 0;
    LV first = LLVMBuildAdd(e->b, t->base, ir_int(type, (uint64_t)low - sign), "");
    LV last = ir_int(type, (uint64_t)(low - high - 1));
    if (low < 0 || is_signed) { /* from the least number there is to the lanes' least one */
        LV from = LLVMBuildAdd(e->b, t->base, ir_int(type, 0 - sign), "");
        LV enough = LLVMBuildICmp(e->b, LLVMIntUGE, from, ir_int(type, (uint64_t)-low), "");
        expect(e, t, enough);
    }
    expect(e, t, LLVMBuildICmp(e->b, LLVMIntULE, first, last, ""));
    return true;
}

/* What all lanes share is a multiple of 2^bits. */
static void expect_multiple(Emit *e, LanesTable *t, uint32_t bits)
{
    LT type = LLVMTypeOf(t->base);
    if (affine_zeros(t->base) >= bits)
        return;
    LV low = LLVMBuildAnd(e->b, t->base, ir_int(type, (1ull << bits) - 1), "");
    expect(e, t, LLVMBuildICmp(e->b, LLVMIntEQ, low, LLVMConstNull(type), ""));
}

/* Divided by 2^bits, or reduced modulo it. */
static bool split_table(Emit *e, LanesTable *t, uint32_t bits, bool quotient)
{
    LT type = LLVMTypeOf(t->base);
    if (bits >= MIN(LLVMGetIntTypeWidth(type), (unsigned)MOST_BITS) || least(e, t) < 0)
        return false;
    if (quotient && !expect_no_wrap(e, t, false))
        return false;
    expect_multiple(e, t, bits);
    for (uint32_t l = 0; l < e->W; l++)
        t->at[l] = quotient ? t->at[l] >> bits : t->at[l] & (((int64_t)1 << bits) - 1);
    t->base = quotient ? LLVMBuildLShr(e->b, t->base, ir_int(type, bits), "") : LLVMConstNull(type);
    return true;
}

/* A constant that is the same for all lanes. */
static bool same_constant(LV v, uint64_t *x)
{
    LV one = LLVMIsConstant(v) ? LLVMGetAggregateElement(v, 0) : NULL;
    if (!one || !LLVMIsAConstantInt(one) ||
        v != ir_int(LLVMTypeOf(v), LLVMConstIntGetZExtValue(one)))
        return false;
    *x = LLVMConstIntGetZExtValue(one);
    return true;
}

static bool sum_table(Emit *e, LV v, bool minus, uint32_t depth, LanesTable *t)
{
    LanesTable other = { .expected = NULL };
    if (!table_of(e, LLVMGetOperand(v, 0), depth, t) ||
        !table_of(e, LLVMGetOperand(v, 1), depth, &other))
        return false;
    if (other.expected)
        expect(e, t, other.expected);
    for (uint32_t l = 0; l < e->W; l++)
        t->at[l] += minus ? -other.at[l] : other.at[l];
    t->base = minus ? LLVMBuildSub(e->b, t->base, other.base, "")
                    : LLVMBuildAdd(e->b, t->base, other.base, "");
    return least(e, t) >= -FARTHEST && largest(e, t) <= FARTHEST;
}

static bool scaled_table(Emit *e, LanesTable *t, uint64_t by)
{
    if (by > FARTHEST || largest(e, t) * (int64_t)by > FARTHEST ||
        least(e, t) * (int64_t)by < -FARTHEST)
        return false;
    for (uint32_t l = 0; l < e->W; l++)
        t->at[l] *= (int64_t)by;
    t->base = LLVMBuildMul(e->b, t->base, ir_int(LLVMTypeOf(t->base), by), "");
    return true;
}

static bool widened_table(Emit *e, LV v, bool is_signed, uint32_t depth, LanesTable *t)
{
    LT type = ir_element_of(v);
    if (!table_of(e, LLVMGetOperand(v, 0), depth, t))
        return false;
    if (!expect_no_wrap(e, t, is_signed))
        return false;
    t->base =
        is_signed ? LLVMBuildSExt(e->b, t->base, type, "") : LLVMBuildZExt(e->b, t->base, type, "");
    return true;
}

/* v is base + at[lane], if `expected` holds. */
static bool table_of(Emit *e, LV v, uint32_t depth, LanesTable *t)
{
    uint64_t x;
    if (LLVMIsConstant(v))
        return constant_table(e, v, t);
    t->base = ir_splatted(v);
    if (t->base)
        return true;
    if (!depth-- || !LLVMIsAInstruction(v))
        return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    if (op == LLVMAdd || op == LLVMSub)
        return sum_table(e, v, op == LLVMSub, depth, t);
    if (op == LLVMSExt || op == LLVMZExt)
        return widened_table(e, v, op == LLVMSExt, depth, t);
    const LanesExpected *known = op == LLVMFreeze ? affine_expected(e, v) : NULL;
    if (known && table_of(e, known->counting, depth, t)) {
        expect(e, t, known->is);
        return true;
    }
    if (op == LLVMFreeze)
        return !known && table_of(e, LLVMGetOperand(v, 0), depth, t);
    bool first = op == LLVMMul && same_constant(LLVMGetOperand(v, 0), &x);
    if (LLVMGetNumOperands(v) != 2 || (!first && !same_constant(LLVMGetOperand(v, 1), &x)) ||
        !table_of(e, LLVMGetOperand(v, first), depth, t))
        return false;
    switch (op) {
    case LLVMMul: return scaled_table(e, t, x);
    case LLVMShl: return x < MOST_BITS && scaled_table(e, t, 1ull << x);
    case LLVMLShr: return x < MOST_BITS && split_table(e, t, (uint32_t)x, true);
    case LLVMUDiv: return is_pow2(x) && split_table(e, t, (uint32_t)__builtin_ctzll(x), true);
    case LLVMURem: return is_pow2(x) && split_table(e, t, (uint32_t)__builtin_ctzll(x), false);
    case LLVMAnd:
        return x + 1 && is_pow2(x + 1) &&
               split_table(e, t, (uint32_t)__builtin_ctzll(x + 1), false);
    default: return false;
    }
}

/* An index computed once more where code is built now, with the arithmetic that table_open looks
 * through, so that it need not be computed at all where it is not used. */
LV table_index_again(Emit *e, LV v, uint32_t depth)
{
    if (LLVMIsConstant(v) || ir_splatted(v) || !LLVMIsAInstruction(v) || !depth--)
        return v;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    if (op == LLVMPHI || LLVMIsAShuffleVectorInst(v) || LLVMIsALoadInst(v) || LLVMIsACallInst(v) ||
        LLVMGetNumOperands(v) > 2)
        return v;
    LV again = LLVMInstructionClone(v);
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(v); k++)
        LLVMSetOperand(again, k, table_index_again(e, LLVMGetOperand(v, k), depth));
    LLVMInsertIntoBuilder(e->b, again);
    return again;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* n pieces of `size` bytes in groups, each of which is in one or two chunks, or is a run of
 * neighbours and one load. Bytes are counted from what all lanes share. */
typedef struct Plan {
    uint32_t n, group, size, chunk;
    int64_t low, high; /* of all that is loaded together */
    bool run;
} Plan;

typedef struct Reach {
    int64_t low, high;
} Reach;

static Reach reach(const LanesTable *t, uint32_t from, uint32_t n, uint32_t size)
{
    Reach r = { t->at[from], t->at[from] };
    for (uint32_t l = from; l < from + n; l++) {
        r.low = MIN(r.low, t->at[l]);
        r.high = MAX(r.high, t->at[l]);
    }
    r.high += size;
    return r;
}

static bool are_runs(const LanesTable *t, uint32_t n, uint32_t group, uint32_t size)
{
    for (uint32_t l = 0; l < n; l++)
        if (t->at[l] != t->at[l / group * group] + (int64_t)(l % group) * size)
            return false;
    return true;
}

static bool are_near(const LanesTable *t, uint32_t group, const Plan *p)
{
    for (uint32_t from = 0; from < p->n; from += group) {
        Reach r = reach(t, from, group, p->size);
        if (r.high - r.low > 2 * p->chunk)
            return false;
    }
    return true;
}

/* Chunks that are there already: other loads' of the same access. */
typedef struct Chunks {
    int64_t at[2 * IR_MAX_LANES];
    uint32_t n, size;
} Chunks;

/* Whether two of them, or one, have all of a group's bytes. LLVM loads them once. */
static bool are_there(const Chunks *c, const Plan *p, Reach r, int64_t at[2])
{
    for (uint32_t k = 0; k < c->n && c->size == p->chunk; k++)
        for (uint32_t j = 0; j < c->n; j++)
            if (c->at[k] <= r.low && c->at[j] >= c->at[k] &&
                r.high <= c->at[j] + (int64_t)p->chunk &&
                c->at[j] <= c->at[k] + (int64_t)p->chunk) {
                at[0] = c->at[k];
                at[1] = c->at[j];
                return true;
            }
    return false;
}

/* Where the chunks of a group begin. Both may be the same. */
static void place_chunks(const LanesTable *t, const Plan *p, uint32_t from, int64_t at[2])
{
    Reach r = reach(t, from, p->group, p->size);
    at[0] = MIN(r.low, p->high - (int64_t)p->chunk);
    at[1] = r.high - at[0] <= (int64_t)p->chunk
                ? at[0]
                : MIN(at[0] + (int64_t)p->chunk, p->high - (int64_t)p->chunk);
}

/* What the pieces of a group, and the chunks, consist of. */
static uint32_t unit_of(const LanesTable *t, const Plan *p, uint32_t from, const int64_t at[2])
{
    uint64_t all = p->size | (uint64_t)(at[1] - at[0]);
    for (uint32_t l = from; l < from + p->group; l++)
        all |= (uint64_t)(t->at[l] - at[0]);
    return (uint32_t)(all & -all);
}

/* Instructions beside loads: a permutation a group, and what joins the groups. Of two whole vectors
 * one of bytes or words is three. */
static uint32_t cost_of(const LanesTable *t, const Plan *p)
{
    uint32_t groups = p->n / p->group, bytes = p->n * p->size;
    uint32_t cost = groups - MIN(groups, MAX(1u, bytes / WIDE_CHUNK));
    for (uint32_t from = 0; from < p->n && !p->run; from += p->group) {
        int64_t at[2];
        place_chunks(t, p, from, at);
        bool narrow = unit_of(t, p, from, at) < 4;
        cost += at[0] == at[1] ? 1 + (narrow && p->chunk == WIDE_CHUNK) : narrow ? 3 : 1;
    }
    return cost;
}

/* By chunks of so many bytes, or fewer. */
static bool plan_chunks(const LanesTable *t, Plan *p, uint32_t chunk)
{
    p->run = false;
    p->chunk = chunk;
    while (p->chunk > p->high - p->low)
        p->chunk /= 2;
    for (p->group = p->n; p->group > 1; p->group /= 2)
        if (are_near(t, p->group, p) && p->group * p->size <= MAX(2u * CHUNK, chunk))
            break;
    return p->group > 1 && p->chunk >= p->size;
}

/* n pieces, of an access that loads the bytes `all` of its lanes. */
static bool plan(const Emit *e, const LanesTable *t, uint32_t n, uint32_t size, Reach all, Plan *p)
{
    *p = (Plan){ .n = n, .group = n, .size = size, .low = all.low, .high = all.high };
    if (all.high - all.low > FARTHEST)
        return false;
    while (p->group > 1 && !are_runs(t, n, p->group, size))
        p->group /= 2;
    p->run = p->group * size >= 8;
    bool found = p->run || plan_chunks(t, p, CHUNK);
    Plan wide = *p;
    if (lanes_of(e)->machine->sets & CPU_AVX512 && all.high - all.low >= WIDE_CHUNK &&
        plan_chunks(t, &wide, WIDE_CHUNK) && (!found || cost_of(t, &wide) < cost_of(t, p))) {
        *p = wide;
        found = true;
    }
    return found;
}

/* Lanes that repeat what others read: the pieces that differ, as many as a power of two, and which
 * of them each lane has. 0: they are not half as many. */
static uint32_t few_of(const Emit *e, const LanesTable *t, LanesTable *few, int *which)
{
    uint32_t n = 0, whole = 1;
    *few = *t;
    for (uint32_t l = 0; l < e->W; l++) {
        uint32_t k = 0;
        while (k < n && few->at[k] != t->at[l])
            k++;
        few->at[k] = t->at[l];
        n = MAX(n, k + 1);
        which[l] = (int)k;
    }
    while (whole < n)
        whole *= 2;
    for (; n < whole; n++)
        few->at[n] = few->at[n - 1];
    return 2 * whole <= e->W && whole > 1 ? whole : 0;
}

/* ---- loads ----------------------------------------------------------------------------------- */

static LV load_at(Emit *e, const LanesTable *t, int64_t byte, LT type)
{
    return ir_load(e->b, type, ir_at(e->b, t->address, ir_int(e->i64, (uint64_t)byte)), 1);
}

/* n pieces: those of 8 bytes are two words, which LLVM takes apart better than one number. */
static LT pieces_type(Emit *e, const Plan *p, uint32_t n)
{
    uint32_t words = MAX(1u, p->size / 4);
    return LLVMVectorType(LLVMIntTypeInContext(e->cx, p->size / words * 8), n * words);
}

static LV load_group(Emit *e, const LanesTable *t, const Plan *p, uint32_t from, Chunks *c)
{
    int64_t at[2];
    int units[IR_MAX_LANES];
    uint32_t n = 0;
    if (!are_there(c, p, reach(t, from, p->group, p->size), at)) {
        place_chunks(t, p, from, at);
        c->n = c->size == p->chunk && c->n + 2 <= COUNT_OF(c->at) ? c->n : 0;
        c->size = p->chunk;
        c->at[c->n++] = at[0];
        c->at[c->n++] = at[1];
    }
    uint32_t unit = unit_of(t, p, from, at);
    LT type = LLVMVectorType(LLVMIntTypeInContext(e->cx, unit * 8), p->chunk / unit);
    LV chunk[2] = { load_at(e, t, at[0], type), NULL };
    if (at[1] != at[0])
        chunk[1] = load_at(e, t, at[1], type);
    for (uint32_t l = from; l < from + p->group; l++)
        for (uint32_t byte = 0; byte < p->size; byte += unit) {
            int64_t in = t->at[l] + byte - at[0];
            int64_t second = t->at[l] + byte - at[1] + (int64_t)p->chunk;
            units[n++] = (int)((in < (int64_t)p->chunk ? in : second) / unit);
        }
    LV v = ir_shuffle(e->b, chunk[0], chunk[1], units, n);
    return LLVMBuildBitCast(e->b, v, pieces_type(e, p, p->group), "");
}

bool table_open(Emit *e, const EmitPointer *p, LanesTable *t)
{
    *t = (LanesTable){ .expected = NULL };
    if (!p->lane_index || p->at.rule == LAYOUT_LANES || emit_is_lanes(p->base) || p->volatile_ ||
        e->W < 8 || !table_of(e, p->lane_index, TABLE_DEPTH, t))
        return false;
    if (LLVMTypeOf(t->base) != e->i64 && !expect_no_wrap(e, t, true))
        return false;
    t->base = emit_cast_index(e, t->base, e->i64);
    if (p->lane_scale < 0 || !scaled_table(e, t, (uint64_t)p->lane_scale))
        return false;
    t->address = ir_at(e->b, address_uniform(e, p, 0, 1), t->base);
    return true;
}

/* What of the lanes' bytes the parts are, counted from what all lanes share. */
static Reach reach_of(Emit *e, const LanesTable *t, const LanesPart *part, uint32_t n)
{
    Reach r = { part[0].byte, part[0].byte };
    for (uint32_t k = 0; k < n; k++) {
        r.low = MIN(r.low, part[k].byte);
        r.high = MAX(r.high, part[k].byte + (int64_t)emit_scalar_bytes(e, part[k].type));
    }
    return (Reach){ r.low + least(e, t), r.high + largest(e, t) };
}

/* Offsets wrap with 64 bits, in this sum as in each lane's. What is inside does not wrap. */
LV table_inside(Emit *e, const EmitPointer *p, const LanesTable *t, const LanesPart *part,
                uint32_t n)
{
    Reach all = reach_of(e, t, part, n);
    return address_run_inside(e, p, t->base, all.low, all.high);
}

/* A number that lanes have `byte` bytes into what they point to, which is one part of an access or
 * several side by side: of all lanes, or of the few that differ. */
typedef struct Number {
    int64_t byte;
    uint32_t size, parts;
    bool is_pair; /* of halves: see is_pair_of_few */
    LanesTable of;
    Plan plan;
    int which[COUNT_OF(((LanesTable *)0)->at)]; /* lanes have */
} Number;

static bool plan_number(Emit *e, const LanesTable *t, Reach all, Number *x)
{
    uint32_t n = few_of(e, t, &x->of, x->which);
    for (uint32_t k = 0; k < n; k++)
        x->of.at[k] += x->byte;
    if (n && plan(e, &x->of, n, x->size, all, &x->plan))
        return true;
    x->of = *t;
    for (uint32_t l = 0; l < e->W; l++) {
        x->of.at[l] += x->byte;
        x->which[l] = (int)l;
    }
    return plan(e, &x->of, e->W, x->size, all, &x->plan);
}

/* n numbers, one a piece. */
static LV load_pieces(Emit *e, const LanesTable *t, const Plan *p, Chunks *c)
{
    LV pieces[COUNT_OF(t->at)];
    uint32_t n = 0;
    LT run = pieces_type(e, p, p->group);
    for (uint32_t from = 0; from < p->n; from += p->group)
        pieces[n++] = p->run ? load_at(e, t, t->at[from], run) : load_group(e, t, p, from, c);
    return ir_concatenate(e->b, pieces, n);
}

/* A number of all lanes; of 8 bytes its two words. */
static LV load_number(Emit *e, Number *x, Chunks *c)
{
    int lanes[2 * COUNT_OF(x->which)];
    uint32_t words = MAX(1u, x->size / 4);
    LV v = load_pieces(e, &x->of, &x->plan, c);
    if (x->plan.n == e->W)
        return v;
    for (uint32_t l = 0; l < e->W * words; l++)
        lanes[l] = x->which[l / words] * (int)words + (int)(l % words);
    return ir_shuffle(e->b, v, NULL, lanes, e->W * words);
}

/* ---- scalars -------------------------------------------------------------------------------- */

/* Whether two parts are halves side by side of which lanes repeat a few: those are loaded as words,
 * and shuffled as halves. Where all lanes differ they would have to be taken apart. */
static bool is_pair_of_few(Emit *e, const LanesTable *t, const LanesPart *part, uint32_t n)
{
    LanesTable few;
    int which[COUNT_OF(few.at)];
    return n > 1 && part[0].type->kind == SPV_FLOAT && part[0].type->bits == 16 &&
           part[1].type == part[0].type && part[1].byte == part[0].byte + 2 &&
           few_of(e, t, &few, which);
}

/* How many of n parts are integers side by side, of at most 8 bytes; 1 for parts of other types. */
static uint32_t integers_together(Emit *e, const LanesPart *part, uint32_t n)
{
    uint32_t size = emit_scalar_bytes(e, part->type), together = 1;
    if (part->type->kind != SPV_INT || size < 2)
        return 1;
    while (together < n && part[together].type == part->type &&
           part[together].byte == part->byte + (int64_t)together * size)
        together++;
    together = MIN(together, 8 / size);
    while (together & (together - 1))
        together--;
    return together;
}

/* The first of n parts, with those behind it that are loaded as one with it. False: no plan. */
static bool next_number(Emit *e, const LanesTable *t, Reach all, const LanesPart *part, uint32_t n,
                        Number *x)
{
    *x = (Number){ .byte = part->byte, .is_pair = is_pair_of_few(e, t, part, n) };
    x->parts = x->is_pair ? 2 : integers_together(e, part, n);
    x->size = x->parts * emit_scalar_bytes(e, part->type);
    return plan_number(e, t, all, x);
}

bool table_suits(Emit *e, const LanesTable *t, const LanesPart *part, uint32_t n)
{
    Reach all = reach_of(e, t, part, n);
    Number x;
    for (uint32_t k = 0; k < n; k += x.parts)
        if (!next_number(e, t, all, part + k, n - k, &x))
            return false;
    return true;
}

/* The k-th part, of so many bytes, of load_number's numbers of `all`. */
static LV part_of(Emit *e, LV v, uint32_t k, uint32_t size, uint32_t all)
{
    int lanes[COUNT_OF(((LanesTable *)0)->at)];
    LT bits = emit_lanes_type(e, LLVMIntTypeInContext(e->cx, size * 8));
    if (size == 8)
        return LLVMBuildBitCast(e->b, v, bits, "");
    for (uint32_t l = 0; l < e->W; l++)
        lanes[l] = (int)(2 * l + k * size / 4);
    if (all == 8)
        v = ir_shuffle(e->b, v, NULL, lanes, e->W);
    if (k * size % 4)
        v = LLVMBuildLShr(e->b, v, ir_int(LLVMTypeOf(v), 16), "");
    return LLVMBuildTrunc(e->b, v, bits, "");
}

/* Two halves of all lanes, as shuffles of what few lanes have. */
static void load_pair(Emit *e, Number *x, Chunks *c, LV pair[2])
{
    int lanes[COUNT_OF(x->which)];
    LV v = load_pieces(e, &x->of, &x->plan, c);
    v = LLVMBuildBitCast(e->b, v, LLVMVectorType(e->i16, 2 * x->plan.n), "");
    for (int k = 0; k < 2; k++) {
        for (uint32_t l = 0; l < e->W; l++)
            lanes[l] = 2 * x->which[l] + k;
        pair[k] = ir_shuffle(e->b, v, NULL, lanes, e->W);
    }
}

void table_load(Emit *e, const EmitPointer *p, const LanesTable *t, const LanesPart *part,
                uint32_t n, LV *leaves)
{
    Chunks chunks = { .n = 0 };
    Reach all = reach_of(e, t, part, n);
    Number x;
    for (uint32_t k = 0; k < n; k += x.parts) {
        if (!next_number(e, t, all, part + k, n - k, &x))
            return; /* table_suits has said that it can */
        if (x.is_pair) {
            load_pair(e, &x, &chunks, leaves + k);
        } else {
            LV v = load_number(e, &x, &chunks);
            for (uint32_t j = 0; j < x.parts; j++)
                leaves[k + j] = part_of(e, v, j, x.size / x.parts, x.size);
        }
        for (uint32_t j = k; j < k + x.parts; j++) {
            LT type = emit_lanes_type(e, emit_scalar_type(e, part[j].type));
            if (part[j].type->kind != SPV_BOOL)
                leaves[j] = LLVMBuildBitCast(e->b, leaves[j], type, "");
        }
        access_count(e, p, HEDDLE_ACCESS_VECTOR, NULL, (uint64_t)x.size * e->W);
    }
}
