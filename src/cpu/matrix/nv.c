/* SPDX-License-Identifier: MIT
 *
 * SPV_NV_cooperative_matrix2 on matrices at hand: changes of use, transposes, functions of every
 * element, reductions. The functions are called.c's, one call for W elements.
 *
 * A reduction sees its operand as lines of contiguous elements (rows of a row-major tile). Across
 * lines it adds whole vectors, with several sums at once. Along lines it folds them: the first and
 * the second halves of the lines in two vectors are combined into one, so that W elements of as
 * many lines cost about W calls, and the results come out in order. The order of combination hangs
 * on the sizes alone.
 */
#include "cpu/matrix/matrix.h"

static const char section[] = "SPV_NV_cooperative_matrix2";

/* ---- vectors in memory ----------------------------------------------------------------------- */

static LV at(Emit *e, LV p, LV index, uint64_t scale)
{
    LV offset = LLVMBuildMul(e->b, index, ir_int(e->i64, scale), "");
    return ir_at_inbounds(e->b, p, offset);
}

/* Lanes from + step * k of two vectors side by side, the last lane where that is too far. */
static LV pick(Emit *e, LV a, LV b, uint32_t from, uint32_t step, uint32_t n)
{
    int *lanes = NEW_ARRAY(e->arena, int, n + 1);
    uint32_t last = LLVMGetVectorSize(LLVMTypeOf(a)) * (b ? 2 : 1) - 1;
    for (uint32_t k = 0; k < n; k++)
        lanes[k] = (int)MIN(from + step * k, last);
    return ir_shuffle(e->b, a, b, lanes, n);
}

/* n <= W elements as a vector of W lanes: nothing behind them is read or written. */
static LV load_run(Emit *e, LT type, LV p, uint32_t n, uint32_t align)
{
    LV v = ir_load(e->b, LLVMVectorType(type, n), p, align);
    return n == e->W ? v : pick(e, v, NULL, 0, 1, e->W);
}

static void store_run(Emit *e, LV v, LV p, uint32_t n, uint32_t align)
{
    if (n != e->W)
        v = pick(e, v, NULL, 0, 1, n);
    ir_store(e->b, v, p, align);
}

/* ---- changes of use, transposes -------------------------------------------------------------- */

static const SpvType *source_type(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type_of(e->module, spv_operand(i, 0));
    if (mat_is(t))
        return t;
    emit_error(e, i, section, "the operand is no cooperative matrix");
    return NULL;
}

void mat_convert_use(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type), *from = source_type(e, i);
    if (from && (from->rows != t->rows || from->cols != t->cols ||
                 from->element->kind != t->element->kind ||
                 from->element->bits != t->element->bits)) {
        emit_error(e, i, section, "a change of use keeps the component type and the size");
        return;
    }
    if (!from)
        return;
    Tile x = mat_read(e, spv_operand(i, 0)), to = mat_result(e, i);
    mat_copy(e, t, &to, &x);
    mat_count(e, t, DEVICE_STAT_CONVERSIONS, 1);
}

/* The same elements in the other order are the transpose. */
void mat_transpose(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type), *from = source_type(e, i);
    if (from && (from->rows != t->cols || from->cols != t->rows)) {
        emit_error(e, i, section, "a transpose swaps rows and columns");
        return;
    }
    if (!from)
        return;
    Tile x = from->element == t->element ? mat_read(e, spv_operand(i, 0))
                                         : mat_converted(e, spv_operand(i, 0), t->element);
    Tile to = mat_result(e, i);
    x.col = !x.col;
    mat_copy(e, t, &to, &x);
    mat_count(e, t, DEVICE_STAT_CONVERSIONS, 1);
}

/* ---- functions of every element -------------------------------------------------------------- */

typedef struct Element {
    const SpvInst *inst;
    const SpvType *type;        /* of the matrix */
    Tile to;
    Tile *tiles;                /* by argument: of a matrix; ptr NULL: `value` */
    LV *value;
    uint32_t n;                 /* arguments; the first two are the row and the column */
} Element;

/* W elements from `linear` on, which is i64. */
static void element_chunk(Emit *e, const Element *x, LV linear, LV major, LV minor, LV mask)
{
    uint32_t bytes = comp_bytes(mat_comp(x->type));
    LT type = comp_type(e->cx, mat_comp(x->type));
    LV *args = NEW_ARRAY(e->arena, LV, x->n + 1), result;
    args[x->to.col] = major;
    args[!x->to.col] = minor;
    for (uint32_t k = 2; k < x->n; k++)
        args[k] = x->tiles[k].ptr
            ? load_run(e, type, at(e, x->tiles[k].ptr, linear, bytes), e->W, bytes)
            : x->value[k];
    ElementCall c = {x->inst, spv_operand(x->inst, 1), args, x->n, mask, &result, 1};
    if (emit_call(e, &c))
        store_run(e, result, at(e, x->to.ptr, linear, bytes), e->W, bytes);
}

static LV lane_numbers(Emit *e, uint32_t divide, uint32_t modulo)
{
    LV *lane = NEW_ARRAY(e->arena, LV, e->W);
    for (uint32_t k = 0; k < e->W; k++)
        lane[k] = ir_int(e->i32, k / divide % modulo);
    return LLVMConstVector(lane, e->W);
}

static LV plus(Emit *e, LV scalar, LV lanes)
{
    return LLVMBuildAdd(e->b, emit_lanes(e, scalar), lanes, "");
}

/* Lines of whole vectors: the line's number is one for all lanes. */
static void element_lines(Emit *e, const Element *x, uint32_t lines, uint32_t length)
{
    uint32_t each = length / e->W % 2 ? 1 : 2;  /* two at once: less of it is the loop */
    Loop l = loop_begin(e, ir_int(e->i64, lines)),
         k = loop_begin(e, ir_int(e->i64, length / e->W / each));
    for (uint32_t j = 0; j < each; j++) {
        LV first = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, k.index, ir_int(e->i64, each * e->W), ""),
                                ir_int(e->i64, j * e->W), "");
        LV linear =
            LLVMBuildAdd(e->b, LLVMBuildMul(e->b, l.index, ir_int(e->i64, length), ""), first, "");
        LV minor = plus(e, LLVMBuildTrunc(e->b, first, e->i32, ""), e->lane_id);
        element_chunk(e, x, linear, LLVMBuildTrunc(e->b, l.index, e->i32, ""), minor, NULL);
    }
    loop_end(e, &k);
    loop_end(e, &l);
}

static void element_linear(Emit *e, const Element *x, uint32_t lines, uint32_t length)
{
    uint32_t total = lines * length, rest = total % e->W;
    bool rows = e->W % length == 0;     /* a vector is whole lines */
    LV n = ir_int(LLVMTypeOf(e->lane_id), length);
    if (total >= e->W) {
        Loop l = loop_begin(e, ir_int(e->i64, total / e->W));
        LV linear = LLVMBuildMul(e->b, l.index, ir_int(e->i64, e->W), "");
        LV first = LLVMBuildTrunc(e->b, linear, e->i32, ""), own = plus(e, first, e->lane_id);
        LV major = rows ? plus(e, LLVMBuildUDiv(e->b, first, ir_int(e->i32, length), ""),
                               lane_numbers(e, length, UINT32_MAX))
                        : LLVMBuildUDiv(e->b, own, n, "");
        LV minor = rows ? lane_numbers(e, 1, length) : LLVMBuildURem(e->b, own, n, "");
        element_chunk(e, x, linear, major, minor, NULL);
        loop_end(e, &l);
    }
    if (rest) {
        LV own = plus(e, ir_int(e->i32, total - rest), e->lane_id);
        LV mask = LLVMBuildICmp(e->b, LLVMIntULT, e->lane_id, ir_int(LLVMTypeOf(own), rest), "");
        element_chunk(e, x, ir_int(e->i64, total - rest), LLVMBuildUDiv(e->b, own, n, ""),
                      LLVMBuildURem(e->b, own, n, ""), mask);
    }
}

/* Arguments: row, column, the element, and the operands: another matrix by its element, others
 * leaf by leaf. */
static bool element_arguments(Emit *e, const SpvInst *i, Element *x)
{
    uint32_t n = 3;
    for (uint32_t o = 2; o < spv_n_operands(i); o++) {
        const SpvType *t = spv_type_of(e->module, spv_operand(i, o));
        n += mat_is(t) ? 1 : emit_n_leaves(e, t);
    }
    x->tiles = NEW_ARRAY(e->arena, Tile, n);
    x->value = NEW_ARRAY(e->arena, LV, n);
    x->tiles[2] = mat_operand(e, spv_operand(i, 0), x->to.col);
    x->n = 3;
    for (uint32_t o = 2; o < spv_n_operands(i); o++) {
        SpvId id = spv_operand(i, o);
        const SpvType *t = spv_type_of(e->module, id);
        if (mat_is(t) && t != x->type) {
            emit_error(e, i, section, "a further matrix operand has another type");
            return false;
        }
        if (mat_is(t))
            x->tiles[x->n++] = mat_operand(e, id, x->to.col);
        else
            for (uint32_t k = 0; k < emit_n_leaves(e, t); k++)
                x->value[x->n++] = emit_leaf(e, id, k);
    }
    return true;
}

void mat_per_element(Emit *e, const SpvInst *i)
{
    Element x = {.inst = i, .type = spv_type(e->module, i->type)};
    if (source_type(e, i) != x.type) {
        emit_error(e, i, section, "the operand's type is not the result's");
        return;
    }
    matrix_memory_barrier(e);   /* the function may store */
    x.to = mat_home(e, i->id);
    if (!element_arguments(e, i, &x))
        return;
    x.to = mat_result(e, i);
    uint32_t lines = x.to.col ? x.type->cols : x.type->rows;
    uint32_t length = x.to.col ? x.type->rows : x.type->cols;
    Leader l = mat_leader_begin(e, x.type);
    if (length % e->W == 0)
        element_lines(e, &x, lines, length);
    else
        element_linear(e, &x, lines, length);
    mat_leader_end(e, &l);
}

/* ---- reductions ------------------------------------------------------------------------------ */

typedef struct Reduction { const SpvInst *inst; LT type; uint32_t bytes; } Reduction;

static LV combine(Emit *e, const Reduction *r, LV x, LV y)
{
    LV args[] = {x, y}, result = x;
    ElementCall c = {r->inst, spv_operand(r->inst, 2), args, 2, NULL, &result, 1};
    emit_call(e, &c);
    return result;
}

static LV load_at(Emit *e, const Reduction *r, LV p, LV index, uint32_t n)
{
    return load_run(e, r->type, at(e, p, index, r->bytes), n, r->bytes);
}

static LV room(Emit *e, const Reduction *r, uint64_t n)
{
    return emit_frame(e, (n + 2 * e->W) * r->bytes);
}

/* Combines `lines` vectors of n elements, `stride` elements apart. */
static LV combine_lines(Emit *e, const Reduction *r, LV p, uint32_t lines, uint64_t stride,
                        uint32_t n)
{
    uint32_t sums = lines % 4 == 0 && lines >= 8 ? 4 : lines % 2 == 0 && lines >= 4 ? 2 : 1;
    LV sum[4], x[4];            /* `sums` at most */
    for (uint32_t k = 0; k < sums; k++) {
        x[k] = load_at(e, r, p, ir_int(e->i64, k * stride), n);
        sum[k] = emit_alloca(e, LLVMTypeOf(x[k]), "sum");
        LLVMBuildStore(e->b, x[k], sum[k]);
    }
    if (lines > sums) {
        Loop l = loop_begin(e, ir_int(e->i64, lines / sums - 1));
        LV first =
            at(e, p, LLVMBuildAdd(e->b, l.index, ir_int(e->i64, 1), ""), sums * stride * r->bytes);
        for (uint32_t k = 0; k < sums; k++) {
            LV y = load_at(e, r, first, ir_int(e->i64, k * stride), n);
            LV old = LLVMBuildLoad2(e->b, LLVMTypeOf(y), sum[k], "");
            LLVMBuildStore(e->b, combine(e, r, old, y), sum[k]);
        }
        loop_end(e, &l);
    }
    for (uint32_t k = 0; k < sums; k++)
        x[k] = LLVMBuildLoad2(e->b, LLVMTypeOf(x[k]), sum[k], "");
    for (uint32_t step = 1; step < sums; step *= 2)
        for (uint32_t k = 0; k + step < sums; k += 2 * step)
            x[k] = combine(e, r, x[k], x[k + step]);
    return x[0];
}

enum { MOST_STREAMS = 8 };

/* The whole vectors of long lines, a few lines at a time and in the order they lie in memory: the
 * sums are in `to`. */
static void across_long(Emit *e, const Reduction *r, LV from, uint32_t lines, uint32_t length,
                        LV to)
{
    uint32_t group = lines % 4 == 0 ? 4 : lines % 2 == 0 ? 2 : 1;
    for (uint32_t rest = 0; rest < 2; rest++) {     /* the first lines, then the rest */
        Loop l = loop_begin(e, ir_int(e->i64, rest ? lines / group - 1 : 1));
        LV line = LLVMBuildAdd(e->b, l.index, ir_int(e->i64, rest), "");
        LV p = at(e, from, line, (uint64_t)group * length * r->bytes);
        Loop k = loop_begin(e, ir_int(e->i64, length / e->W));
        LV x = combine_lines(e, r, at(e, p, k.index, e->W * r->bytes), group, length, e->W);
        LV sum = at(e, to, k.index, e->W * r->bytes);
        if (rest)
            x = combine(e, r, load_run(e, r->type, sum, e->W, r->bytes), x);
        store_run(e, x, sum, e->W, r->bytes);
        loop_end(e, &k);
        loop_end(e, &l);
    }
}

/* to[j] = the combination of from[i][j] over all i. */
static void across(Emit *e, const Reduction *r, LV from, uint32_t lines, uint32_t length, LV to)
{
    uint32_t whole = length / e->W, rest = length % e->W, fold = rest ? e->W / rest : 1;
    if (!whole && rest * fold == e->W && lines % fold == 0 && lines > fold) {
        LV x = combine_lines(e, r, from, lines / fold, e->W, e->W);
        for (uint32_t half = e->W / 2; half >= length; half /= 2)
            x = combine(e, r, x, pick(e, x, x, half, 1, e->W));
        store_run(e, x, to, length, r->bytes);
        return;
    }
    if (whole > MOST_STREAMS) {
        across_long(e, r, from, lines, length, to);
    } else if (whole) {
        Loop l = loop_begin(e, ir_int(e->i64, whole));
        LV x = combine_lines(e, r, at(e, from, l.index, e->W * r->bytes), lines, length, e->W);
        store_run(e, x, at(e, to, l.index, e->W * r->bytes), e->W, r->bytes);
        loop_end(e, &l);
    }
    if (rest) {
        LV done = ir_int(e->i64, whole * e->W);
        LV x = combine_lines(e, r, at(e, from, done, r->bytes), lines, length, rest);
        store_run(e, x, at(e, to, done, r->bytes), rest, r->bytes);
    }
}

/* The first or the second halves of the lines of n elements that lie in two vectors (or in one). */
static LV halves(Emit *e, LV x, LV y, uint32_t n, bool second)
{
    int *lanes = NEW_ARRAY(e->arena, int, e->W);
    uint32_t half = n / 2, last = e->W * (x == y ? 1 : 2) - 1;
    for (uint32_t k = 0; k < e->W; k++)
        lanes[k] = (int)MIN(k / half * n + k % half + (second ? half : 0), last);
    return ir_shuffle(e->b, x, y, lanes, e->W);
}

/* to[i] = the combination of line i, of `length` elements, which are n, a power of two up to W, or
 * several times W = n. Reads and writes up to a vector more. */
static void fold_lines(Emit *e, const Reduction *r, LV from, uint32_t lines, uint32_t length,
                       uint32_t n, LV to)
{
    enum { AT_ONCE = 8 };
    uint64_t vectors = ((uint64_t)lines * n + e->W - 1) / e->W;
    uint32_t group = 1, each = e->W * (length / n);     /* elements that become a vector */
    while (group < MIN(n, (uint32_t)AT_ONCE) && vectors % (group * 2) == 0)
        group *= 2;
    Loop l = loop_begin(e, ir_int(e->i64, vectors / group));
    LV x[AT_ONCE], first = at(e, from, l.index, (uint64_t)group * each * r->bytes);
    for (uint32_t k = 0; k < group; k++)
        x[k] = combine_lines(e, r, at(e, first, ir_int(e->i64, k), (uint64_t)each * r->bytes),
                             length / n, e->W, e->W);
    uint32_t left = n;
    for (uint32_t m = group; m > 1; m /= 2, left /= 2)
        for (uint32_t k = 0; k < m / 2; k++)
            x[k] = combine(e, r, halves(e, x[2 * k], x[2 * k + 1], left, false),
                           halves(e, x[2 * k], x[2 * k + 1], left, true));
    for (; left > 1; left /= 2)
        x[0] = combine(e, r, halves(e, x[0], x[0], left, false),
                       halves(e, x[0], x[0], left, true));
    uint32_t results = e->W * group / n;
    store_run(e, x[0], at(e, to, l.index, results * r->bytes), results, r->bytes);
    loop_end(e, &l);
}

/* Lines of any length, a lane each. */
static void gather_lines(Emit *e, const Reduction *r, LV from, uint32_t lines, uint32_t n, LV to)
{
    Loop l = loop_begin(e, ir_int(e->i64, (lines + e->W - 1) / e->W));
    LV first =
        LLVMBuildTrunc(e->b, LLVMBuildMul(e->b, l.index, ir_int(e->i64, e->W), ""), e->i32, "");
    LV line = plus(e, first, e->lane_id), last = ir_int(LLVMTypeOf(line), lines - 1);
    LV in = LLVMBuildICmp(e->b, LLVMIntULT, line, last, "");
    line = LLVMBuildSelect(e->b, in, line, last, "");
    LV offset = LLVMBuildMul(e->b, line, ir_int(LLVMTypeOf(line), n * r->bytes), "");
    offset = LLVMBuildZExt(e->b, offset, LLVMVectorType(e->i64, e->W), "");
    LV p = ir_at(e->b, from, offset);
    LV all = LLVMConstAllOnes(LLVMVectorType(e->i1, e->W));
    LT type = LLVMVectorType(r->type, e->W);
    LV x = emit_masked_load(e, type, p, r->bytes, all);
    LV sum = emit_alloca(e, LLVMTypeOf(x), "sum");
    LLVMBuildStore(e->b, x, sum);
    Loop k = loop_begin(e, ir_int(e->i64, n - 1));
    LV step = LLVMBuildMul(e->b, LLVMBuildAdd(e->b, k.index, ir_int(e->i64, 1), ""),
                           ir_int(e->i64, r->bytes), "");
    LV y = emit_masked_load(e, type, ir_at(e->b, p, step), r->bytes, all);
    LV old = LLVMBuildLoad2(e->b, LLVMTypeOf(y), sum, "");
    LLVMBuildStore(e->b, combine(e, r, old, y), sum);
    loop_end(e, &k);
    x = LLVMBuildLoad2(e->b, LLVMTypeOf(x), sum, "");
    store_run(e, x, at(e, to, l.index, e->W * r->bytes), e->W, r->bytes);
    loop_end(e, &l);
}

/* to[i] = the combination of from[i][j] over all j. */
static void along(Emit *e, const Reduction *r, LV from, uint32_t lines, uint32_t length, LV to)
{
    uint32_t n = length & -length;
    n = MIN(n, e->W);
    if (n < 8 && n < length) {
        gather_lines(e, r, from, lines, length, to);
        return;
    }
    if (n < length && n < e->W) {   /* each line to one of n elements */
        LV shorter = room(e, r, (uint64_t)lines * n);
        Loop l = loop_begin(e, ir_int(e->i64, lines));
        LV x = combine_lines(e, r, at(e, from, l.index, (uint64_t)length * r->bytes), length / n,
                             n, n);
        store_run(e, x, at(e, shorter, l.index, (uint64_t)n * r->bytes), n, r->bytes);
        loop_end(e, &l);
        from = shorter;
        length = n;
    }
    fold_lines(e, r, from, lines, length, n, to);
}

/* to[0] = the combination of all. */
static void all_of(Emit *e, const Reduction *r, LV from, uint32_t lines, uint32_t length, LV to)
{
    uint32_t total = lines * length;
    bool even = total % e->W == 0;
    LV row = room(e, r, even ? e->W : lines);
    if (even)
        across(e, r, from, total / e->W, e->W, row);
    else
        along(e, r, from, lines, length, row);
    along(e, r, row, 1, even ? e->W : lines, to);
}

/* Each element of the smaller tile from four of the larger, both of the same order. */
static void two_by_two(Emit *e, const Reduction *r, LV from, uint32_t lines, uint32_t length, LV to)
{
    uint32_t half = length / 2, whole = half / e->W, rest = half % e->W;
    Loop l = loop_begin(e, ir_int(e->i64, lines / 2));
    LV upper = at(e, from, l.index, 2ull * length * r->bytes);
    LV lower = at(e, upper, ir_int(e->i64, length), r->bytes);
    LV line = at(e, to, l.index, (uint64_t)half * r->bytes);
    for (uint32_t part = 0; part < 2; part++) {
        uint32_t n = part ? rest : e->W, left = MIN(2 * n, e->W), right = 2 * n - left;
        if (!n || (!part && !whole))
            continue;
        Loop k = loop_begin(e, ir_int(e->i64, part ? 1 : whole));
        LV done = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, k.index, ir_int(e->i64, e->W), ""),
                               ir_int(e->i64, part ? whole * e->W : 0), "");
        LV j = LLVMBuildMul(e->b, done, ir_int(e->i64, 2), "");
        LV x = combine(e, r, load_at(e, r, upper, j, left), load_at(e, r, lower, j, left)), y = x;
        if (right) {
            j = LLVMBuildAdd(e->b, j, ir_int(e->i64, e->W), "");
            y = combine(e, r, load_at(e, r, upper, j, right), load_at(e, r, lower, j, right));
        }
        x = combine(e, r, pick(e, x, y, 0, 2, e->W), pick(e, x, y, 1, 2, e->W));
        store_run(e, x, at(e, line, done, r->bytes), n, r->bytes);
        loop_end(e, &k);
    }
    loop_end(e, &l);
}

/* A dense tile whose lines are all `row`, or line k full of row[k]. */
static void spread(Emit *e, const Reduction *r, LV row, bool same_lines, LV to, uint32_t lines,
                   uint32_t length)
{
    Loop l = loop_begin(e, ir_int(e->i64, lines));
    LV line = at(e, to, l.index, (uint64_t)length * r->bytes), x = NULL;
    if (same_lines) {
        LLVMBuildMemCpy(e->b, line, r->bytes, row, r->bytes,
                        ir_int(e->i64, (uint64_t)length * r->bytes));
    } else {
        x = ir_load(e->b, r->type, at(e, row, l.index, r->bytes), r->bytes);
        x = emit_lanes(e, x);
        if (length >= e->W) {
            Loop k = loop_begin(e, ir_int(e->i64, length / e->W));
            store_run(e, x, at(e, line, k.index, e->W * r->bytes), e->W, r->bytes);
            loop_end(e, &k);
        }
        if (length % e->W)
            store_run(e, x, at(e, line, ir_int(e->i64, length / e->W * e->W), r->bytes),
                      length % e->W, r->bytes);
    }
    loop_end(e, &l);
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

static void reduce_2x2(Emit *e, const SpvInst *i, const Reduction *r, const Tile *x,
                       uint32_t lines, uint32_t length)
{
    const SpvType *t = spv_type(e->module, i->type);
    Tile home = mat_result(e, i), to = home;
    if (to.col != x->col)
        to = mat_dense(e, t, mat_frame(e, t, mat_bytes(e, t)), x->col);
    Leader l = mat_leader_begin(e, t);
    two_by_two(e, r, x->ptr, lines, length, to.ptr);
    mat_leader_end(e, &l);
    if (to.ptr != home.ptr)
        mat_copy(e, t, &home, &to);
}

static void reduce_lines(Emit *e, const SpvType *t, const Reduction *r, uint32_t mode,
                         const Tile *x, uint32_t lines, uint32_t length, const Tile *to)
{
    bool rows = mode == SpvCooperativeMatrixReduceRowMask;
    bool columns = mode == SpvCooperativeMatrixReduceColumnMask;
    LV row = room(e, r, rows ? t->rows : columns ? t->cols : 1);
    if (!rows && !columns)
        all_of(e, r, x->ptr, lines, length, row);
    else if (rows != x->col)
        along(e, r, x->ptr, lines, length, row);
    else
        across(e, r, x->ptr, lines, length, row);
    if (rows || columns) {
        spread(e, r, row, rows == to->col, to->ptr, to->col ? t->cols : t->rows,
               to->col ? t->rows : t->cols);
        return;
    }
    LV one = ir_load(e->b, r->type, row, r->bytes);
    mat_fill(e, t, to, one);
}

void mat_reduce(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type), *from = source_type(e, i);
    uint32_t mode = spv_operand(i, 1);
    Comp c = mat_comp(t);
    Reduction r = {i, comp_type(e->cx, c), comp_bytes(c)};
    if (!from || from->element != t->element || !sizes_fit(mode, from, t)) {
        emit_error(e, i, section, "the result's type does not fit the reduction");
        return;
    }
    Tile x = mat_read(e, spv_operand(i, 0));
    uint32_t lines = x.col ? from->cols : from->rows, length = x.col ? from->rows : from->cols;
    if (mode == SpvCooperativeMatrixReduce2x2Mask) {
        reduce_2x2(e, i, &r, &x, lines, length);
        return;
    }
    Tile to = mat_result(e, i);
    Leader l = mat_leader_begin(e, t);
    reduce_lines(e, t, &r, mode, &x, lines, length, &to);
    mat_leader_end(e, &l);
}
