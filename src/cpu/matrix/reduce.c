/* SPDX-License-Identifier: MIT
 *
 * OpCooperativeMatrixReduceNV. The combining function is called.c's, with one call for W elements.
 *
 * The operand is seen as lines of contiguous elements (the rows of a row-major tile). Across lines
 * whole vectors are added, in several sums at once. Along lines they are folded: the first halves
 * of the lines in two vectors are combined with their second halves into one vector, so that W
 * elements of W lines cost about W calls, and the results come out in order. The order of
 * combination depends only on the sizes.
 *
 * The larger or the smaller of two narrow floats needs no floats: it is that of integers in the
 * same order, of which the machine compares as many at once as it has bytes.
 */
#include "cpu/matrix/matrix.h"
#include "emit/ops.h"

/* Elements are of `type` in memory; what is combined is of `held`: float for 8-bit floats
 * (emit/held.c), else the same. Or, with `pick`, an integer of their size. */
typedef struct MatReduction {
    const SpvInst *inst;
    IrComp comp, held;
    LT type;
    uint32_t bytes;
    const char *pick; /* the intrinsic that combines them; NULL: the function does */
} MatReduction;
typedef struct MatLines {
    LV p;
    uint32_t n, length;
} MatLines; /* one behind the other */

static LV combine_by_call(Emit *e, const MatReduction *r, LV x, LV y)
{
    if (r->pick)
        return ir_binary(e->b, r->pick, x, y);
    LV args[] = { x, y }, result = x;
    LanesCall c = {
        r->inst, spv_operand(r->inst, 2), args, 2, NULL, &result, 1, r->held != r->comp
    };
    lanes_call(e, &c);
    return result;
}

/* A float's bits as an integer in the same order, and back. */
static LV in_order(Emit *e, const MatReduction *r, LV x)
{
    LT type = LLVMTypeOf(x);
    bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    LT bits = LLVMIntTypeInContext(e->cx, 8 * r->bytes);
    bits = vector ? LLVMVectorType(bits, LLVMGetVectorSize(type)) : bits;
    x = LLVMBuildBitCast(e->b, x, bits, "");
    LV negative = LLVMBuildAShr(e->b, x, ir_inum(x, 8 * r->bytes - 1), "");
    LV flips = LLVMBuildLShr(e->b, negative, ir_inum(x, 1), "");
    return LLVMBuildXor(e->b, x, flips, "");
}

static LV hold(Emit *e, const MatReduction *r, LV x)
{
    if (r->pick)
        return in_order(e, r, x);
    return ops_convert(e, x, r->comp, r->held, ROUND_NEAREST, false);
}

static LV load_run(Emit *e, const MatReduction *r, LV p, uint32_t n)
{
    return hold(e, r, mat_load_run(e, r->type, p, n, r->bytes));
}

static void store_run(Emit *e, const MatReduction *r, LV x, LV p, uint32_t n)
{
    if (r->pick)
        x = in_order(e, r, x);
    else
        x = arith_convert(e->b, x, r->held, r->comp, ROUND_NEAREST, false);
    mat_store_run(e, x, p, n, r->bytes);
}

static LV load_elements(Emit *e, const MatReduction *r, LV p, LV index, uint32_t n)
{
    return load_run(e, r, mat_at(e, p, index, r->bytes), n);
}

static LV room_for(Emit *e, const MatReduction *r, uint64_t n)
{
    return lanes_frame(e, (n + 2 * e->W) * r->bytes);
}

/* Vectors of n elements, `stride` elements apart. */
typedef struct MatVectors {
    uint32_t count, n;
    uint64_t stride;
} MatVectors;

/* 8-bit floats side by side are held as pairs of vectors, which make full use of tables. */
static void load_vectors(Emit *e, const MatReduction *r, LV p, const MatVectors *v, LV *x)
{
    bool pairs = r->held != r->comp && !r->pick && v->stride == v->n && v->count % 2 == 0;
    for (uint32_t k = 0; k < v->count; k += 1 + pairs) {
        LV at = mat_at(e, p, ir_int(e->i64, k * v->stride), r->bytes);
        if (!pairs) {
            x[k] = load_run(e, r, at, v->n);
            continue;
        }
        LV both = hold(e, r, ir_load(e->b, LLVMVectorType(r->type, 2 * v->n), at, r->bytes));
        x[k] = mat_pick(e, both, NULL, 0, 1, e->W);
        x[k + 1] = mat_pick(e, both, NULL, v->n, 1, e->W);
    }
}

/* Combines `lines` vectors of n elements, `stride` elements apart, by several sums, which do not
 * wait for one another; the first few of them take what is left over. */
static LV combine_lines(Emit *e, const MatReduction *r, LV p, uint32_t lines, uint64_t stride,
                        uint32_t n)
{
    uint32_t sums = lines >= 8 ? 4 : lines >= 2 ? 2 : 1;
    MatVectors at_once = { sums, n, stride };
    LV sum[4], x[4], y[4]; /* `sums` at most */
    load_vectors(e, r, p, &at_once, x);
    for (uint32_t k = 0; k < sums; k++) {
        sum[k] = emit_alloca(e, LLVMTypeOf(x[k]), "sum");
        LLVMBuildStore(e->b, x[k], sum[k]);
    }
    if (lines / sums > 1) {
        EmitLoop l = loop_begin(e, ir_int(e->i64, lines / sums - 1));
        LV first = mat_at(e, p, LLVMBuildAdd(e->b, l.index, ir_int(e->i64, 1), ""),
                          sums * stride * r->bytes);
        load_vectors(e, r, first, &at_once, y);
        for (uint32_t k = 0; k < sums; k++) {
            LV old = LLVMBuildLoad2(e->b, LLVMTypeOf(y[k]), sum[k], "");
            LLVMBuildStore(e->b, combine_by_call(e, r, old, y[k]), sum[k]);
        }
        loop_end(e, &l);
    }
    for (uint32_t k = 0; k < sums; k++)
        x[k] = LLVMBuildLoad2(e->b, LLVMTypeOf(x[k]), sum[k], "");
    uint32_t rest = lines % sums;
    LV last = mat_at(e, p, ir_int(e->i64, lines - rest), stride * r->bytes);
    load_vectors(e, r, last, &(MatVectors){ rest, n, stride }, y);
    for (uint32_t k = 0; k < rest; k++)
        x[k] = combine_by_call(e, r, x[k], y[k]);
    for (uint32_t step = 1; step < sums; step *= 2)
        for (uint32_t k = 0; k + step < sums; k += 2 * step)
            x[k] = combine_by_call(e, r, x[k], x[k + step]);
    return x[0];
}

enum { MOST_STREAMS = 8 };

/* Combines the whole vectors of long lines, a few lines at a time and in the order in which they
 * lie in memory. The sums are in `to`. */
static void combine_across_long(Emit *e, const MatReduction *r, const MatLines *from, LV to)
{
    uint32_t lines = from->n, length = from->length;
    uint32_t group = lines % 4 == 0 ? 4 : lines % 2 == 0 ? 2 : 1;
    for (uint32_t rest = 0; rest < 2; rest++) { /* the first lines, then the others */
        EmitLoop l = loop_begin(e, ir_int(e->i64, rest ? lines / group - 1 : 1));
        LV line = LLVMBuildAdd(e->b, l.index, ir_int(e->i64, rest), "");
        LV p = mat_at(e, from->p, line, (uint64_t)group * length * r->bytes);
        EmitLoop k = loop_begin(e, ir_int(e->i64, length / e->W));
        LV x = combine_lines(e, r, mat_at(e, p, k.index, e->W * r->bytes), group, length, e->W);
        LV sum = mat_at(e, to, k.index, e->W * r->bytes);
        if (rest)
            x = combine_by_call(e, r, load_run(e, r, sum, e->W), x);
        store_run(e, r, x, sum, e->W);
        loop_end(e, &k);
        loop_end(e, &l);
    }
}

/* to[j] = the combination of from[i][j] over all i. */
static void combine_across(Emit *e, const MatReduction *r, const MatLines *from, LV to)
{
    uint32_t lines = from->n, length = from->length;
    uint32_t whole = length / e->W, rest = length % e->W, fold = rest ? e->W / rest : 1;
    if (!whole && rest * fold == e->W && lines % fold == 0 && lines > fold) {
        LV x = combine_lines(e, r, from->p, lines / fold, e->W, e->W);
        for (uint32_t half = e->W / 2; half >= length; half /= 2)
            x = combine_by_call(e, r, x, mat_pick(e, x, x, half, 1, e->W));
        store_run(e, r, x, to, length);
        return;
    }
    if (whole > MOST_STREAMS) {
        combine_across_long(e, r, from, to);
    } else if (whole) {
        EmitLoop l = loop_begin(e, ir_int(e->i64, whole));
        LV x =
            combine_lines(e, r, mat_at(e, from->p, l.index, e->W * r->bytes), lines, length, e->W);
        store_run(e, r, x, mat_at(e, to, l.index, e->W * r->bytes), e->W);
        loop_end(e, &l);
    }
    if (rest) { /* as a whole vector, some of whose elements are done, if there is room for one */
        uint32_t n = whole ? e->W : rest;
        LV done = ir_int(e->i64, length - n);
        LV x = combine_lines(e, r, mat_at(e, from->p, done, r->bytes), lines, length, n);
        store_run(e, r, x, mat_at(e, to, done, r->bytes), n);
    }
}

/* The first or the second halves of the lines of n elements in two vectors (or in one). */
static LV halves(Emit *e, LV x, LV y, uint32_t n, bool second)
{
    int *lanes = NEW_ARRAY(e->arena, int, e->W);
    uint32_t half = n / 2, last = e->W * (x == y ? 1 : 2) - 1;
    for (uint32_t k = 0; k < e->W; k++)
        lanes[k] = (int)MIN(k / half * n + k % half + (second ? half : 0), last);
    return ir_shuffle(e->b, x, y, lanes, e->W);
}

/* A line as a vector of n elements, of which it has at least that many. What is beyond whole
 * vectors is the end of the last n elements, which are loaded as a vector too. */
static LV shorten(Emit *e, const MatReduction *r, LV line, uint32_t length, uint32_t n)
{
    LV x = combine_lines(e, r, line, length / n, n, n), ids = lanes_ids(e);
    uint32_t rest = length % n;
    if (!rest)
        return x;
    LV last = load_elements(e, r, line, ir_int(e->i64, length - n), n);
    LV is_new = LLVMBuildICmp(e->b, LLVMIntUGE, ids, ir_int(LLVMTypeOf(ids), n - rest), "");
    return LLVMBuildSelect(e->b, is_new, combine_by_call(e, r, x, last), x, "");
}

/* to[i] = the combination of line i of `length` elements: n, a power of two up to W, or W = n and
 * any number from there on. May read and write up to a vector too much. */
static void fold_lines(Emit *e, const MatReduction *r, const MatLines *from, uint32_t n, LV to)
{
    uint32_t lines = from->n, length = from->length;
    enum { AT_ONCE = 8 };
    uint64_t vectors = ((uint64_t)lines * n + e->W - 1) / e->W;
    uint32_t group = 1, each = MAX(length, e->W); /* elements that are combined into one vector */
    while (group < MIN(n, (uint32_t)AT_ONCE) && vectors % (group * 2) == 0)
        group *= 2;
    EmitLoop l = loop_begin(e, ir_int(e->i64, vectors / group));
    LV x[AT_ONCE], first = mat_at(e, from->p, l.index, (uint64_t)group * each * r->bytes);
    for (uint32_t k = 0; k < group; k++)
        x[k] = shorten(e, r, mat_at(e, first, ir_int(e->i64, k), (uint64_t)each * r->bytes), each,
                       e->W);
    uint32_t left = n;
    for (uint32_t m = group; m > 1; m /= 2, left /= 2)
        for (uint32_t k = 0; k < m / 2; k++)
            x[k] = combine_by_call(e, r, halves(e, x[2 * k], x[2 * k + 1], left, false),
                                   halves(e, x[2 * k], x[2 * k + 1], left, true));
    for (; left > 1; left /= 2)
        x[0] = combine_by_call(e, r, halves(e, x[0], x[0], left, false),
                               halves(e, x[0], x[0], left, true));
    uint32_t results = e->W * group / n;
    store_run(e, r, x[0], mat_at(e, to, l.index, results * r->bytes), results);
    loop_end(e, &l);
}

/* Lines of any length, with one line for each lane. */
static void gather_lines(Emit *e, const MatReduction *r, const MatLines *from, LV to)
{
    uint32_t lines = from->n, n = from->length;
    EmitLoop l = loop_begin(e, ir_int(e->i64, (lines + e->W - 1) / e->W));
    LV first =
        LLVMBuildTrunc(e->b, LLVMBuildMul(e->b, l.index, ir_int(e->i64, e->W), ""), e->i32, "");
    LV line = LLVMBuildAdd(e->b, emit_lanes(e, first), lanes_ids(e), ""),
       last = ir_int(LLVMTypeOf(line), lines - 1);
    LV in = LLVMBuildICmp(e->b, LLVMIntULT, line, last, "");
    line = LLVMBuildSelect(e->b, in, line, last, "");
    LV offset = LLVMBuildMul(e->b, line, ir_int(LLVMTypeOf(line), n * r->bytes), "");
    offset = LLVMBuildZExt(e->b, offset, LLVMVectorType(e->i64, e->W), "");
    LV p = ir_at(e->b, from->p, offset);
    LV all = LLVMConstAllOnes(LLVMVectorType(e->i1, e->W));
    LT type = LLVMVectorType(r->type, e->W);
    LV x = hold(e, r, lanes_masked_load(e, type, p, r->bytes, all));
    LV sum = emit_alloca(e, LLVMTypeOf(x), "sum");
    LLVMBuildStore(e->b, x, sum);
    EmitLoop k = loop_begin(e, ir_int(e->i64, n - 1));
    LV step = LLVMBuildMul(e->b, LLVMBuildAdd(e->b, k.index, ir_int(e->i64, 1), ""),
                           ir_int(e->i64, r->bytes), "");
    LV y = hold(e, r, lanes_masked_load(e, type, ir_at(e->b, p, step), r->bytes, all));
    LV old = LLVMBuildLoad2(e->b, LLVMTypeOf(y), sum, "");
    LLVMBuildStore(e->b, combine_by_call(e, r, old, y), sum);
    loop_end(e, &k);
    x = LLVMBuildLoad2(e->b, LLVMTypeOf(x), sum, "");
    store_run(e, r, x, mat_at(e, to, l.index, e->W * r->bytes), e->W);
    loop_end(e, &l);
}

/* Makes each line one of n elements. */
static void shorten_lines(Emit *e, const MatReduction *r, const MatLines *from, uint32_t n,
                          LV shorter)
{
    EmitLoop l = loop_begin(e, ir_int(e->i64, from->n));
    LV line = mat_at(e, from->p, l.index, (uint64_t)from->length * r->bytes);
    LV x = shorten(e, r, line, from->length, n);
    store_run(e, r, x, mat_at(e, shorter, l.index, (uint64_t)n * r->bytes), n);
    loop_end(e, &l);
}

/* to[i] = the combination of from[i][j] over all j. */
static void combine_along(Emit *e, const MatReduction *r, const MatLines *from, LV to)
{
    uint32_t lines = from->n, length = from->length, most = MIN(length, e->W), n = 1;
    while (n * 2 <= most)
        n *= 2;
    if (n < length && n < 8) {
        gather_lines(e, r, from, to);
        return;
    }
    if (n < length && n < e->W) {
        LV shorter = room_for(e, r, (uint64_t)lines * n);
        shorten_lines(e, r, from, n, shorter);
        fold_lines(e, r, &(MatLines){ shorter, lines, n }, n, to);
        return;
    }
    fold_lines(e, r, from, n, to);
}

/* to[0] = the combination of all. */
static void combine_all(Emit *e, const MatReduction *r, const MatLines *from, LV to)
{
    uint32_t lines = from->n, length = from->length;
    uint32_t total = lines * length;
    bool even = total % e->W == 0;
    LV row = room_for(e, r, even ? e->W : lines);
    if (even)
        combine_across(e, r, &(MatLines){ from->p, total / e->W, e->W }, row);
    else
        combine_along(e, r, from, row);
    combine_along(e, r, &(MatLines){ row, 1, even ? e->W : lines }, to);
}

/* Combines four elements of the larger tile into each element of the smaller; both have the same
 * order. */
static void combine_squares(Emit *e, const MatReduction *r, const MatLines *from, LV to)
{
    uint32_t lines = from->n, length = from->length;
    uint32_t half = length / 2, whole = half / e->W, rest = half % e->W;
    EmitLoop l = loop_begin(e, ir_int(e->i64, lines / 2));
    LV upper = mat_at(e, from->p, l.index, 2ull * length * r->bytes);
    LV lower = mat_at(e, upper, ir_int(e->i64, length), r->bytes);
    LV line = mat_at(e, to, l.index, (uint64_t)half * r->bytes);
    for (uint32_t part = 0; part < 2; part++) {
        uint32_t n = part ? rest : e->W, left = MIN(2 * n, e->W), right = 2 * n - left;
        if (!n || (!part && !whole))
            continue;
        EmitLoop k = loop_begin(e, ir_int(e->i64, part ? 1 : whole));
        LV done = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, k.index, ir_int(e->i64, e->W), ""),
                               ir_int(e->i64, part ? whole * e->W : 0), "");
        LV j = LLVMBuildMul(e->b, done, ir_int(e->i64, 2), "");
        LV x = combine_by_call(e, r, load_elements(e, r, upper, j, left),
                               load_elements(e, r, lower, j, left)),
           y = x;
        if (right) {
            j = LLVMBuildAdd(e->b, j, ir_int(e->i64, e->W), "");
            y = combine_by_call(e, r, load_elements(e, r, upper, j, right),
                                load_elements(e, r, lower, j, right));
        }
        x = combine_by_call(e, r, mat_pick(e, x, y, 0, 2, e->W), mat_pick(e, x, y, 1, 2, e->W));
        store_run(e, r, x, mat_at(e, line, done, r->bytes), n);
        loop_end(e, &k);
    }
    loop_end(e, &l);
}

static void copy_bytes(Emit *e, const MatReduction *r, LV to, LV from, uint64_t bytes)
{
    LLVMBuildMemCpy(e->b, to, r->bytes, from, r->bytes, ir_int(e->i64, bytes));
}

/* Of stores that cross no cache line; bytes of a line behind itself, so that it can be read from
 * any place on; vectors of it that stay in registers. */
enum { STORE_BYTES = 64, BEHIND_LINE = 2 * STORE_BYTES, MOST_HELD = 8 };

/* From a byte of a tile to its first cache line. */
static LV to_cache_line(Emit *e, LV p)
{
    LV at = LLVMBuildNeg(e->b, LLVMBuildPtrToInt(e->b, p, e->i64, ""), "");
    return LLVMBuildAnd(e->b, at, ir_int(e->i64, STORE_BYTES - 1), "");
}

/* `n` vectors of each line, from the byte `begin` behind its first cache line on. */
static void repeat_strip(Emit *e, const MatReduction *r, LV row, const MatLines *to, uint64_t begin,
                         uint32_t n)
{
    uint64_t bytes = (uint64_t)to->length * r->bytes;
    uint32_t phases = STORE_BYTES / MIN(bytes & -bytes, STORE_BYTES);
    LT type = LLVMVectorType(e->i8, STORE_BYTES);
    LV x[MOST_HELD];
    phases = MIN(phases, to->n);
    EmitLoop l = loop_begin(e, ir_int(e->i64, phases));
    LV line = mat_at(e, to->p, l.index, bytes);
    LV from = LLVMBuildAdd(e->b, to_cache_line(e, line), ir_int(e->i64, begin), "");
    for (uint32_t k = 0; k < n; k++) {
        LV at = LLVMBuildAdd(e->b, from, ir_int(e->i64, k * STORE_BYTES), "");
        x[k] = ir_load(e->b, type, ir_at(e->b, row, at), r->bytes);
    }
    LV lines = LLVMBuildSub(e->b, ir_int(e->i64, to->n + phases - 1), l.index, "");
    EmitLoop same = loop_begin(e, LLVMBuildUDiv(e->b, lines, ir_int(e->i64, phases), ""));
    LV target = ir_at(e->b, mat_at(e, line, same.index, phases * bytes), from);
    for (uint32_t k = 0; k < n; k++)
        ir_store(e->b, x[k], ir_at(e->b, target, ir_int(e->i64, k * STORE_BYTES)), STORE_BYTES);
    loop_end(e, &same);
    loop_end(e, &l);
}

/* Copies a long line to to->n others and the beginning of the line behind them, by stores that do
 * not cross cache lines: of the line twice over, from where the first cache line begins in each. It
 * has room for BEHIND_LINE more bytes. Lines in which they begin at the same place are written
 * together, so that it is read less often. */
static void repeat_aligned(Emit *e, const MatReduction *r, LV row, const MatLines *to)
{
    uint64_t bytes = (uint64_t)to->length * r->bytes;
    uint32_t vectors = (uint32_t)((bytes + STORE_BYTES - 1) / STORE_BYTES);
    copy_bytes(e, r, ir_at(e->b, row, ir_int(e->i64, bytes)), row, BEHIND_LINE);
    for (uint32_t k = 0; k < vectors; k += MOST_HELD)
        repeat_strip(e, r, row, to, (uint64_t)k * STORE_BYTES,
                     MIN(vectors - k, (uint32_t)MOST_HELD));
}

/* Lines so long that no two of their ends share a cache line, which do not all begin at one. */
static bool are_uneven(const MatReduction *r, const MatLines *to)
{
    uint64_t bytes = (uint64_t)to->length * r->bytes;
    return bytes >= BEHIND_LINE && bytes % STORE_BYTES && to->n > 1;
}

/* Makes all lines equal to `row`. */
static void repeat_line(Emit *e, const MatReduction *r, LV row, const MatLines *to)
{
    uint64_t bytes = (uint64_t)to->length * r->bytes;
    uint32_t n = to->n;
    bool aligned = are_uneven(r, to);
    EmitLoop l = loop_begin(e, ir_int(e->i64, aligned ? 2 : n));
    copy_bytes(e, r, mat_at(e, to->p, l.index, (aligned ? n - 1 : 1) * bytes), row, bytes);
    loop_end(e, &l);
    if (aligned)
        repeat_aligned(e, r, row, &(MatLines){ to->p, n - 1, to->length });
}

static LV load_all(Emit *e, const MatReduction *r, LV row, LV index, uint32_t n)
{
    return ir_splat(e->b, ir_load(e->b, r->type, mat_at(e, row, index, r->bytes), r->bytes), n);
}

/* Fills line k with row[k]: every `step`-th line from the first on. */
static void fill_some(Emit *e, const MatReduction *r, LV row, const MatLines *to, uint32_t step)
{
    uint32_t length = to->length;
    EmitLoop l = loop_begin(e, ir_int(e->i64, (to->n - 1) / step + 1));
    LV index = LLVMBuildMul(e->b, l.index, ir_int(e->i64, step), "");
    LV line = mat_at(e, to->p, index, (uint64_t)length * r->bytes);
    LV x = load_all(e, r, row, index, e->W);
    if (length >= e->W) {
        EmitLoop k = loop_begin(e, ir_int(e->i64, length / e->W));
        mat_store_run(e, x, mat_at(e, line, k.index, e->W * r->bytes), e->W, r->bytes);
        loop_end(e, &k);
    }
    uint32_t rest = length < e->W ? length : length % e->W ? e->W : 0;
    if (rest)
        mat_store_run(e, x, mat_at(e, line, ir_int(e->i64, length - rest), r->bytes), rest,
                      r->bytes);
    loop_end(e, &l);
}

/* The same from each line's first cache line on, by stores that do not cross them: the last ones
 * have the next line's beginning in them. Neither that of the first line nor the last line. */
static void fill_aligned(Emit *e, const MatReduction *r, LV row, const MatLines *to)
{
    uint64_t bytes = (uint64_t)to->length * r->bytes;
    uint32_t n = STORE_BYTES / r->bytes;
    uint32_t vectors = (uint32_t)((bytes + STORE_BYTES - 1) / STORE_BYTES);
    LV ids[2][STORE_BYTES]; /* of the elements of the last two vectors */
    LT type = LLVMIntTypeInContext(e->cx, 8 * r->bytes);
    for (uint32_t k = 0; k < 2 * n; k++)
        ids[k / n][k % n] = ir_int(type, k);
    EmitLoop l = loop_begin(e, ir_int(e->i64, to->n - 1));
    LV line = mat_at(e, to->p, l.index, bytes), from = to_cache_line(e, line);
    LV x = load_all(e, r, row, l.index, n);
    LV y = load_all(e, r, row, LLVMBuildAdd(e->b, l.index, ir_int(e->i64, 1), ""), n);
    LV mine = ir_int(e->i64, bytes - (vectors - 2) * (uint64_t)STORE_BYTES);
    mine = LLVMBuildSDiv(e->b, LLVMBuildSub(e->b, mine, from, ""), ir_int(e->i64, r->bytes), "");
    mine = ir_splat(e->b, LLVMBuildTrunc(e->b, mine, type, ""), n);
    for (uint32_t k = 0; k < vectors; k++) {
        LV at = LLVMBuildAdd(e->b, from, ir_int(e->i64, k * STORE_BYTES), ""), value = x;
        if (k + 2 >= vectors) {
            LV id = LLVMConstVector(ids[k + 2 - vectors], n);
            LV is_mine = LLVMBuildICmp(e->b, LLVMIntSLT, id, mine, "");
            value = LLVMBuildSelect(e->b, is_mine, x, y, "");
        }
        ir_store(e->b, value, ir_at(e->b, line, at), STORE_BYTES);
    }
    loop_end(e, &l);
}

static void fill_lines(Emit *e, const MatReduction *r, LV row, const MatLines *to)
{
    bool aligned = are_uneven(r, to);
    fill_some(e, r, row, to, aligned ? to->n - 1 : 1);
    if (aligned)
        fill_aligned(e, r, row, to);
}

/* The lines of a dense tile. */
static MatLines lines_of(const SpvType *t, const MatTile *tile)
{
    return (MatLines){ tile->ptr, tile->col ? t->cols : t->rows, tile->col ? t->rows : t->cols };
}

static bool sizes_fit(uint32_t mode, const SpvType *from, const SpvType *to)
{
    switch (mode) {
    case SpvCooperativeMatrixReduceRowMask: return from->rows == to->rows;
    case SpvCooperativeMatrixReduceColumnMask: return from->cols == to->cols;
    case SpvCooperativeMatrixReduceRowMask | SpvCooperativeMatrixReduceColumnMask: return true;
    case SpvCooperativeMatrixReduce2x2Mask:
        return from->rows == 2 * to->rows && from->cols == 2 * to->cols;
    default: return false;
    }
}

static void reduce_squares(Emit *e, const MatReduction *r, const MatLines *from, bool col)
{
    const SpvType *t = spv_type(e->module, r->inst->type);
    MatTile home = mat_result(e, r->inst), to = home;
    if (to.col != col)
        to = mat_dense(e, t, mat_frame(e, t, mat_bytes(e, t)), col);
    MatLeader l = mat_leader_begin(e, t);
    combine_squares(e, r, from, to.ptr);
    mat_leader_end(e, &l);
    if (to.ptr != home.ptr)
        mat_copy(e, t, &home, &to);
}

/* Reduces rows (which are the lines, unless the tile is column-major: `col`), columns, or both. */
static void reduce_lines(Emit *e, const MatReduction *r, const MatLines *from, bool col,
                         const MatTile *to)
{
    const SpvType *t = spv_type(e->module, r->inst->type);
    uint32_t mode = spv_operand(r->inst, 1);
    bool rows = mode == SpvCooperativeMatrixReduceRowMask;
    bool columns = mode == SpvCooperativeMatrixReduceColumnMask;
    LV row = room_for(e, r, (rows ? t->rows : columns ? t->cols : 1) + BEHIND_LINE / r->bytes);
    if (!rows && !columns)
        combine_all(e, r, from, row);
    else if (rows != col)
        combine_along(e, r, from, row);
    else
        combine_across(e, r, from, row);
    if (rows || columns) {
        MatLines lines = lines_of(t, to);
        (rows == to->col ? repeat_line : fill_lines)(e, r, row, &lines);
        return;
    }
    LV one = ir_load(e->b, r->type, row, r->bytes);
    mat_fill(e, t, to, one);
}

/* What the value was before it was converted, if it was. */
static const SpvInst *before(Emit *e, SpvId id)
{
    const SpvInst *i = spv_def(e->module, id);
    return i && i->op == SpvOpFConvert ? spv_def(e->module, spv_operand(i, 0)) : i;
}

/* Whether it has no effect but its result, and that depends on nothing but the numbers: conversions
 * to more bits and back are exact unless they replace infinities or denormals. */
static bool is_plain(Emit *e, const SpvInst *i)
{
    switch (i->op) {
    case SpvOpFConvert:
        return !spv_has_decoration(e->module, i->id, -1,
                                   SpvDecorationSaturatedToLargestFloat8NormalConversionEXT);
    case SpvOpLabel:
    case SpvOpExtInst:
    case SpvOpLine:
    case SpvOpNoLine:
    case SpvOpReturnValue: return true;
    default: return false;
    }
}

/* The intrinsic for a function that does nothing but return the FMax or FMin of its parameters,
 * computed in f32 or more or in the elements' own type: it returns one of them, either one where
 * there is a NaN. */
static const char *pick_of(Emit *e, const SpvInst *reduction)
{
    const SpvFunction *f = spv_function(e->module, spv_operand(reduction, 2));
    const SpvInst *end = f && f->first && !f->first->next ? f->first->insts.last : NULL;
    const SpvInst *i = end && end->op == SpvOpReturnValue ? before(e, spv_operand(end, 0)) : NULL;
    if (!i || i->op != SpvOpExtInst || i->ext_set != SPV_SET_GLSLstd450)
        return NULL;
    for (const SpvInst *k = f->first->insts.first; k; k = k->next)
        if (!is_plain(e, k) || (k->op == SpvOpExtInst && k != i && !spv_is_nonsemantic(k)))
            return NULL;
    uint32_t op = spv_operand(i, 1);
    const SpvType *t = spv_type(e->module, i->type);
    const SpvType *element = mat_source_type(e, reduction)->element;
    const SpvInst *x = before(e, spv_operand(i, 2)), *y = before(e, spv_operand(i, 3));
    bool both = x && y && x != y && x->op == SpvOpFunctionParameter && y->op == x->op;
    if (!both || (op != GLSLstd450FMax && op != GLSLstd450FMin) || ops_flushes(e) ||
        (t != element && (t->kind != SPV_FLOAT || t->bits < 32)))
        return NULL;
    return op == GLSLstd450FMax ? "llvm.smax" : "llvm.smin";
}

/* What the machine computes with by itself it compares as well. */
static bool is_narrow(Emit *e, IrComp c)
{
    const char *features = lanes_of(e)->machine->features;
    bool halves = features && (strstr(features, "+avx512fp16") || strstr(features, "+fullfp16"));
    return held_is_small(c) || c == COMP_BF16 || (c == COMP_F16 && !halves);
}

static void reduce_matrix(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type), *from = mat_source_type(e, i);
    uint32_t mode = spv_operand(i, 1);
    IrComp c = mat_comp(t);
    IrComp held = held_is_small(c) ? COMP_F32 : c;
    MatReduction r = { i, c, held, comp_type(e->cx, c), comp_bytes(c), NULL };
    if (!from || from->element != t->element || !sizes_fit(mode, from, t)) {
        emit_error(e, i, "SPV_NV_cooperative_matrix2",
                   "the result's type does not fit the reduction");
        return;
    }
    r.pick = is_narrow(e, c) ? pick_of(e, i) : NULL;
    MatTile home = mat_home(e, i->id);
    bool by_rows = mode == SpvCooperativeMatrixReduceRowMask && mat_has_rows(e, &home);
    MatTile x = (by_rows ? mat_read_rows : mat_read)(e, spv_operand(i, 0));
    MatLines lines = lines_of(from, &x);
    if (mode == SpvCooperativeMatrixReduce2x2Mask) {
        reduce_squares(e, &r, &lines, x.col);
        return;
    }
    MatTile to = (by_rows ? mat_result_rows : mat_result)(e, i);
    MatLeader l = mat_leader_begin(e, t);
    mat_set_rows(e, &to, mat_rows(e, t, &x)); /* all are reduced, the others for nothing */
    if (!mat_calls_safely(e, i))
        mat_need_rows(e, &x, ir_int(e->i64, from->rows));
    reduce_lines(e, &r, &lines, x.col, &to);
    mat_leader_end(e, &l);
}

const MatRule matrix_rules_reduce[] = {
    { SpvOpCooperativeMatrixReduceNV, MATRIX_RESULT, reduce_matrix },
    { 0, 0, NULL },
};
