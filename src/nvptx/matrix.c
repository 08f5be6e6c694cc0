/* SPDX-License-Identifier: MIT
 *
 * Matrices of 16 x 16 and 8 x 8 by the GPU's tensor cores. In: a module in which lower/ left none
 * but such, with their loads, stores, multiply-adds and what goes element by element. Out: each an
 * array of the eight or two elements that a thread holds, so that variables, phis and composites
 * are emitted as those of any array; here is what is left.
 *
 * Lane 4g + t holds of rows r(g, 0) and r(g, 1) columns 4t to 4t + 3, where r(g, h) is
 * 4 (g / 2) + 2h + g % 2, in that order. That is what mma.m16n8k16 wants of A and C ("Matrix
 * Fragments", PTX ISA 9.7.14) with rows, columns and k dealt to its slots in another order, the
 * same for both operands; its B is the transposition of that, which movmatrix makes. So all uses
 * have one layout, loads by rows take eight bytes of a lane, and the sums' sixteen. It is also what
 * m16n8k16 wants of 8-bit integers, whose B is transposed by movmatrix in pairs of bytes. fp8 is
 * multiplied as f16, which has all its numbers.
 *
 * Of 8 x 8 lane 4g + t holds columns 2t and 2t + 1 of row g: half of what mma.m16n8k8 takes, whose
 * other rows are zeros.
 */
#include "nvptx/internal.h"
#include "llvm/ir.h"
#include "pass/edit.h"

enum { HELD = 8 /* elements of a matrix that a thread has, at most */ };

/* B as mma takes it, where it was transposed already: good in one block. */
typedef struct Turned {
    uint32_t block; /* 1 + Cfg position */
    /* 2h + p: rows of k 4t + 2h and the one after, columns r(g, p); bytes: p, rows 4t to 4t + 3 */
    LV word[4];
} Turned;

typedef struct Access {
    const SpvInst *i;
    const EmitPointer *p;
    const SpvType *element;
    LT type;                   /* of an element */
    uint32_t size;             /* of it */
    bool by_column, unaligned; /* unaligned: its address may be any of an element */
    uint32_t lines, each;      /* of the matrix that the lane holds, elements of each */
    LV stride;                 /* bytes between lines, i64 */
    LV line[2];                /* the lane's, i64 */
    LV minor;                  /* its first element in a line */
} Access;

enum { MOST_LOADS = 64 };

struct NvptxMatrices {
    Turned *turned; /* by id of a value, n_turned of them */
    uint32_t n_turned;
    Access loads[MOST_LOADS]; /* put off until one is needed */
    uint32_t n_loads;
};

static LV i64c(Emit *e, uint64_t x) { return ir_int(e->i64, x); }
static LV u32(Emit *e, uint32_t x) { return ir_int(e->i32, x); }

/* ---- types ----------------------------------------------------------------------------------- */

static bool is_matrix(const Emit *e, SpvId type)
{
    return type && spv_type(e->module, type)->kind == SPV_COOPMAT;
}

static uint32_t held_of(const SpvType *matrix) { return matrix->rows * matrix->cols / NVPTX_WARP; }

/* One value that all elements have. */
static void repeat(Emit *e, SpvInst *i)
{
    uint32_t parts[HELD], n = held_of(spv_type(e->module, i->type));
    for (uint32_t k = 0; k < n; k++)
        parts[k] = spv_operand(i, 0);
    bool constant = i->op == SpvOpConstantComposite || i->op == SpvOpConstantCompositeReplicateEXT;
    edit_become(e->module, i, constant ? SpvOpConstantComposite : SpvOpCompositeConstruct, parts,
                n);
}

static bool repeats(const SpvInst *i)
{
    bool composite = i->op == SpvOpConstantComposite || i->op == SpvOpCompositeConstruct;
    return i->op == SpvOpConstantCompositeReplicateEXT ||
           i->op == SpvOpCompositeConstructReplicateEXT || (composite && spv_n_operands(i) == 1);
}

static void repeat_values(Emit *e)
{
    SpvModule *m = e->module;
    for (SpvInst *i = m->globals.first; i; i = i->next)
        if (is_matrix(e, i->type) && repeats(i))
            repeat(e, i);
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next)
                if (is_matrix(e, i->type) && repeats(i))
                    repeat(e, i);
}

static void become_array(Emit *e, SpvInst *type)
{
    SpvModule *m = e->module;
    const SpvType *t = spv_type(m, type->id);
    uint32_t words[] = { t->element->id,
                         spv_int_constant(m, spv_int_type(m, 32, false), held_of(t)) };
    edit_become(m, type, SpvOpTypeArray, words, 2);
}

bool threads_matrices(Emit *e)
{
    SpvModule *m = e->module;
    struct NvptxMatrices *x = threads_of(e)->matrices = NEW(e->arena, struct NvptxMatrices);
    VEC(SpvInst *) types = { 0 };
    for (SpvInst *i = m->globals.first; i; i = i->next) {
        if (i->op != SpvOpTypeCooperativeMatrixKHR)
            continue;
        const SpvType *t = spv_type(m, i->id);
        if (t->rows != t->cols || (t->rows != 16 && t->rows != 8)) {
            emit_error(e, i, NULL, "a matrix of %u x %u was left to %s", t->rows, t->cols,
                       e->target->name);
            return false;
        }
        vec_push(e->arena, &types, i);
    }
    threads_of(e)->has_matrices = types.len;
    if (types.len)
        repeat_values(e);
    for (uint32_t k = 0; k < types.len; k++)
        become_array(e, types.data[k]);
    if (types.len)
        spv_forget_types(m);
    x->n_turned = m->bound;
    x->turned = NEW_ARRAY(e->arena, Turned, x->n_turned);
    return true;
}

/* ---- registers ------------------------------------------------------------------------------- */

/* A register of elements, four or two of them, and back. */
static LV as_word(Emit *e, const LV *leaf)
{
    LT type = LLVMTypeOf(leaf[0]);
    uint32_t n = type == e->i8 ? 4 : 2;
    LV v = LLVMGetUndef(LLVMVectorType(type, n));
    for (uint32_t k = 0; k < n; k++)
        v = LLVMBuildInsertElement(e->b, v, leaf[k], u32(e, k), "");
    return LLVMBuildBitCast(e->b, v, e->i32, "");
}

static void from_word(Emit *e, LV word, LT element, LV *leaf)
{
    uint32_t n = element == e->i8 ? 4 : 2;
    LV v = LLVMBuildBitCast(e->b, word, LLVMVectorType(element, n), "");
    for (uint32_t k = 0; k < n; k++)
        leaf[k] = LLVMBuildExtractElement(e->b, v, u32(e, k), "");
}

/* Columns 2p and 2p + 1 of row h: words[2h + p]; of bytes all four: words[h]. How many. */
static uint32_t words_of(Emit *e, const LV *leaf, uint32_t held, LV *words)
{
    uint32_t each = LLVMTypeOf(leaf[0]) == e->i8 ? 4 : 2;
    for (uint32_t k = 0; k < held / each; k++)
        words[k] = as_word(e, leaf + k * each);
    return held / each;
}

static void from_words(Emit *e, const LV *words, uint32_t n, LT element, LV *leaf)
{
    uint32_t each = element == e->i8 ? 4 : 2;
    for (uint32_t k = 0; k < n; k++)
        from_word(e, words[k], element, leaf + k * each);
}

/* An 8 x 8 matrix of 16 bits over the warp, transposed. */
static LV turn(Emit *e, LV word)
{
    static const IrAsm code = { "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r", false };
    return threads_asm(e, &code, e->i32, &word, 1);
}

/* Bytes of low and high by number, the first in the selector's lowest digit. */
LV threads_bytes_of(Emit *e, LV low, LV high, uint32_t selector)
{
    LV args[] = { low, high, u32(e, selector) };
    return threads_call(e, "llvm.nvvm.prmt", e->i32, args, 3);
}

/* Words of a matrix as those of the transposed one. Bytes go in pairs, of one column in both of
 * the lane's rows; what comes back has its rows in the order 0 2 1 3. */
static void turn_words(Emit *e, const LV *words, uint32_t n, LV *out)
{
    if (n == 1) {
        out[0] = turn(e, words[0]);
        return;
    }
    if (n == 4) {
        for (uint32_t h = 0; h < 2; h++)
            for (uint32_t p = 0; p < 2; p++)
                out[2 * p + h] = turn(e, words[2 * h + p]);
        return;
    }
    static const uint32_t pairs[2] = { 0x5140, 0x7362 };
    for (uint32_t p = 0; p < 2; p++) {
        LV turned = turn(e, threads_bytes_of(e, words[0], words[1], pairs[p]));
        out[p] = threads_bytes_of(e, turned, turned, 0x3120);
    }
}

static Turned *turned_of(Emit *e, SpvId id)
{
    struct NvptxMatrices *m = threads_of(e)->matrices;
    return id < m->n_turned ? &m->turned[id] : NULL;
}

/* B of those elements, which are value id's or what they were converted to. */
static const LV *turned(Emit *e, SpvId id, const LV *leaf, uint32_t held)
{
    LV words[4] = { NULL }, across[4];
    Turned *t = turned_of(e, id);
    if (t->block == e->position + 1)
        return t->word;
    uint32_t n = words_of(e, leaf, held, words);
    turn_words(e, words, n, across);
    for (uint32_t k = 0; k < n; k++) /* from lines and pairs to pairs and lines */
        t->word[k] = n == 4 ? across[2 * (k % 2) + k / 2] : across[k];
    t->block = e->position + 1;
    return t->word;
}

/* ---- multiply-add ---------------------------------------------------------------------------- */

typedef struct Product {
    const char *name;
    LT operand; /* of A's and B's registers */
    LT sum;     /* of C's */
    uint32_t n_sums;
    uint32_t n_words; /* of A */
} Product;

#define MMA  "llvm.nvvm.mma.m16n8k16.row.col."
#define MMA8 "llvm.nvvm.mma.m16n8k8.row.col."

static bool product_of(Emit *e, const SpvType *a, const SpvType *c, uint32_t mask, uint32_t held,
                       Product *out)
{
    bool small = held < HELD;
    static const char *const bytes[4] = { MMA "u8", MMA "s8.u8", MMA "u8.s8", MMA "s8" };
    LT halves = LLVMVectorType(e->f16, 2);
    if (a->kind == SPV_INT)
        *out = (Product){ bytes[mask & 3], e->i32, e->i32, 4, 2 };
    else if (a->format == SPV_BF16)
        *out = (Product){ small ? MMA8 "bf16" : MMA "bf16", e->i32, e->f32, 4, held / 2 };
    else if (c->bits == 32)
        *out = (Product){ small ? MMA8 "f32.f32" : MMA "f32.f32", halves, e->f32, 4, held / 2 };
    else
        *out = (Product){ small ? MMA8 "f16.f16" : MMA "f16.f16", halves, halves, 2, held / 2 };
    return LLVMLookupIntrinsicID(out->name, strlen(out->name)) != 0;
}

/* Half p of the columns: A times B plus C, in place of C's elements. */
static void multiply_half(Emit *e, const Product *x, const LV *a, const LV *b, uint32_t p, LV *c)
{
    LV args[10];
    uint32_t n = 0;
    static const uint32_t rows_first[4] = { 0, 2, 1, 3 }; /* of words 2h + p: by p, then h */
    uint32_t rows = x->n_words == 1 ? 1 : 2;
    for (uint32_t k = 0; k < x->n_words; k++)
        args[n++] = LLVMBuildBitCast(e->b, a[x->n_words == 4 ? rows_first[k] : k], x->operand, "");
    if (rows == 1)
        args[n++] = LLVMConstNull(x->operand);
    for (uint32_t h = 0; h < (x->n_words + 1) / 2; h++)
        args[n++] = LLVMBuildBitCast(e->b, b[2 * h + p], x->operand, "");
    LV zeros[2] = { LLVMConstNull(LLVMTypeOf(c[0])), LLVMConstNull(LLVMTypeOf(c[0])) };
    for (uint32_t h = 0; h < 2; h++) {
        LV *pair = h < rows ? c + 4 * h + 2 * p : zeros;
        if (x->n_sums == 2) {
            args[n++] = LLVMBuildBitCast(e->b, as_word(e, pair), x->sum, "");
        } else {
            args[n++] = pair[0];
            args[n++] = pair[1];
        }
    }
    LV fn = LLVMGetIntrinsicDeclaration(e->ll, LLVMLookupIntrinsicID(x->name, strlen(x->name)),
                                        NULL, 0);
    LV r = LLVMBuildCall2(e->b, LLVMGlobalGetValueType(fn), fn, args, n, "");
    for (uint32_t h = 0; h < rows; h++) {
        LV *pair = c + 4 * h + 2 * p;
        if (x->n_sums == 2) {
            LV word = LLVMBuildBitCast(e->b, LLVMBuildExtractValue(e->b, r, h, ""), e->i32, "");
            from_word(e, word, e->f16, pair);
        } else {
            pair[0] = LLVMBuildExtractValue(e->b, r, 2 * h, "");
            pair[1] = LLVMBuildExtractValue(e->b, r, 2 * h + 1, "");
        }
    }
}

static bool is_small_float(const SpvType *t)
{
    return t->format == SPV_E4M3 || t->format == SPV_E5M2;
}

/* An operand's elements, of fp8 as f16. */
static const LV *factors(Emit *e, SpvId id, const SpvType *t, LV *converted)
{
    uint32_t n;
    const LV *leaf = ops_leaves(e, id, &n);
    if (!is_small_float(t))
        return leaf;
    for (uint32_t k = 0; k < HELD; k += 2) {
        LV args[] = { LLVMBuildZExt(e->b, leaf[k], e->i16, ""),
                      LLVMBuildZExt(e->b, leaf[k + 1], e->i16, "") };
        LV pair = LLVMBuildOr(e->b, args[0],
                              LLVMBuildShl(e->b, args[1], LLVMConstInt(e->i16, 8, 0), ""), "");
        if (threads_of(e)->capability >= 89) {
            bool fine = t->format == SPV_E4M3;
            LV two = threads_call(
                e, fine ? "llvm.nvvm.e4m3x2.to.f16x2.rn" : "llvm.nvvm.e5m2x2.to.f16x2.rn",
                LLVMVectorType(e->f16, 2), &pair, 1);
            from_word(e, LLVMBuildBitCast(e->b, two, e->i32, ""), e->f16, converted + k);
            continue;
        }
        for (uint32_t j = k; j < k + 2; j++)
            converted[j] = arith_convert(e->b, leaf[j], comp_of(t), COMP_F16, ROUND_NEAREST, false);
    }
    return converted;
}

static void multiply(Emit *e, const SpvInst *i)
{
    uint32_t held;
    Product x;
    const SpvType *of[2];
    LV words[4], sums[HELD], converted[2][HELD];
    const LV *operand[2], *c = ops_leaves(e, spv_operand(i, 2), &held);
    uint32_t mask = spv_n_operands(i) > 3 ? spv_operand(i, 3) : 0;
    for (uint32_t k = 0; k < 2; k++) {
        of[k] = spv_type_of(e->module, spv_operand(i, k))->element;
        operand[k] = factors(e, spv_operand(i, k), of[k], converted[k]);
    }
    if (!product_of(e, of[0], spv_type(e->module, i->type)->element, mask, held, &x)) {
        emit_error(e, i, NULL, "LLVM has no %s", x.name);
        return;
    }
    words_of(e, operand[0], held, words);
    memcpy(sums, c, held * sizeof *sums);
    const LV *b = turned(e, spv_operand(i, 1), operand[1], held);
    for (uint32_t p = 0; p < (held == HELD ? 2 : 1); p++)
        multiply_half(e, &x, words, b, p, sums);
    emit_set(e, i, sums, held);
}

/* ---- loads and stores ------------------------------------------------------------------------ */

/* Lines of the matrix that the lane holds, of eight elements or of two. */
static void find_lines(Emit *e, Access *x)
{
    LV lane = threads_lane(e), g = LLVMBuildLShr(e->b, lane, u32(e, 2), ""), row = g;
    if (x->lines == 2) {
        row = LLVMBuildShl(e->b, LLVMBuildLShr(e->b, g, u32(e, 1), ""), u32(e, 2), "");
        row = LLVMBuildOr(e->b, row, LLVMBuildAnd(e->b, g, u32(e, 1), ""), "");
    }
    x->line[0] = LLVMBuildZExt(e->b, row, e->i64, "");
    x->line[1] = LLVMBuildOr(e->b, x->line[0], i64c(e, 2), "");
    LV t = LLVMBuildAnd(e->b, lane, u32(e, 3), "");
    x->minor = LLVMBuildZExt(e->b, LLVMBuildMul(e->b, t, u32(e, x->each), ""), e->i64, "");
}

/* matrix: the array that it has become. */
static void open_access(Emit *e, const SpvInst *i, uint32_t at, const SpvType *matrix, Access *x)
{
    uint64_t order = 0;
    const SpvType *element = matrix->element;
    bool large = matrix->count == HELD;
    *x = (Access){ .i = i, .p = emit_pointer(e, spv_operand(i, 0)), .element = element };
    x->lines = large ? 2 : 1;
    x->each = large ? 4 : 2;
    x->type = emit_scalar_type(e, element);
    x->size = emit_scalar_bytes(e, element);
    spv_constant(e->module, spv_operand(i, at), &order);
    x->by_column = order == SpvCooperativeMatrixLayoutColumnMajorKHR;
    uint64_t pointee = emit_layout_size(e, &x->p->at);
    LV stride = spv_n_operands(i) > at + 1
                    ? emit_cast_index(e, emit_leaf(e, spv_operand(i, at + 1), 0), e->i64)
                    : i64c(e, 4 * x->each);
    x->stride = LLVMBuildMul(e->b, stride, i64c(e, pointee), "");
    x->unaligned = spv_n_operands(i) > at + 3 &&
                   spv_operand(i, at + 2) & SpvMemoryAccessAlignedMask &&
                   spv_operand(i, at + 3) < x->each * x->size;
    find_lines(e, x);
}

/* Bytes from the pointer to element `minor` + k of line `line`. */
static LV offset_of(Emit *e, const Access *x, LV line, LV minor, uint32_t k)
{
    LV at = LLVMBuildMul(e->b, line, x->stride, "");
    LV in = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, minor, i64c(e, x->size), ""),
                         i64c(e, (uint64_t)k * x->size), "");
    return LLVMBuildAdd(e->b, at, in, "");
}

static LV is_inside(Emit *e, const Access *x)
{
    LV span = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, x->stride, i64c(e, 4 * x->each - 1), ""),
                           i64c(e, 4 * x->each * x->size), "");
    LV start = LLVMBuildAdd(e->b, x->p->offset ? x->p->offset : i64c(e, 0),
                            i64c(e, (uint64_t)x->p->constant), "");
    LV left = LLVMBuildSub(e->b, x->p->limit, start, "");
    LV starts = LLVMBuildICmp(e->b, LLVMIntULE, start, x->p->limit, "");
    LV fits = LLVMBuildICmp(e->b, LLVMIntULE, span, left, "");
    return LLVMBuildAnd(e->b, starts, fits, "");
}

/* i1: all of the matrix is inside, and each line's elements are aligned. NULL: that is promised
 * (SPIR-V's rule for matrices: Vulkan, VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986). */
static LV is_plain(Emit *e, const Access *x, LV address)
{
    LV inside = e->robust && x->p->limit ? is_inside(e, x) : NULL;
    if (!inside && !x->unaligned)
        return NULL;
    LV low = LLVMBuildOr(e->b, LLVMBuildPtrToInt(e->b, address, e->i64, ""), x->stride, "");
    low = LLVMBuildAnd(e->b, low, i64c(e, x->each * x->size - 1), "");
    LV aligned = LLVMBuildICmp(e->b, LLVMIntEQ, low, i64c(e, 0), "");
    return inside ? LLVMBuildAnd(e->b, inside, aligned, "") : aligned;
}

static LV address_at(Emit *e, LV base, LV offset)
{
    return LLVMBuildGEP2(e->b, e->i8, base, &offset, 1, "");
}

/* The elements of the lane's lines. */
static void load_lines(Emit *e, const Access *x, LV base, LV *leaf)
{
    LT part = LLVMVectorType(x->type, x->each);
    for (uint32_t h = 0; h < x->lines; h++) {
        LV at = address_at(e, base, offset_of(e, x, x->line[h], x->minor, 0));
        LV v = ir_load(e->b, part, at, x->each * x->size);
        if (x->p->volatile_)
            LLVMSetVolatile(v, true);
        for (uint32_t j = 0; j < x->each; j++)
            leaf[x->each * h + j] = LLVMBuildExtractElement(e->b, v, u32(e, j), "");
    }
}

static void store_lines(Emit *e, const Access *x, LV base, const LV *leaf)
{
    for (uint32_t h = 0; h < x->lines; h++) {
        LV v = LLVMGetUndef(LLVMVectorType(x->type, x->each));
        for (uint32_t j = 0; j < x->each; j++)
            v = LLVMBuildInsertElement(e->b, v, leaf[x->each * h + j], u32(e, j), "");
        LV s =
            LLVMBuildStore(e->b, v, address_at(e, base, offset_of(e, x, x->line[h], x->minor, 0)));
        LLVMSetAlignment(s, x->each * x->size);
        if (x->p->volatile_)
            LLVMSetVolatile(s, true);
    }
}

/* Of one element, which asks for itself. across: lines are columns. */
static EmitPointer element_pointer(Emit *e, const Access *x, uint32_t k, bool across)
{
    EmitPointer p = *x->p;
    uint32_t h = k / x->each, j = k % x->each;
    LV offset;
    if (across) { /* the line is the column, and in it the row */
        LV line = LLVMBuildAdd(e->b, x->minor, i64c(e, j), "");
        offset = offset_of(e, x, line, x->line[h], 0);
    } else {
        offset = offset_of(e, x, x->line[h], x->minor, j);
    }
    p.offset = p.offset ? LLVMBuildAdd(e->b, p.offset, offset, "") : offset;
    p.align = 0;
    return p;
}

static void load_elements(Emit *e, const Access *x, bool across, LV *leaf)
{
    for (uint32_t k = 0; k < x->lines * x->each; k++) {
        EmitPointer p = element_pointer(e, x, k, across);
        leaf[k] = threads_load_leaf(e, &p, 0, x->element);
    }
}

static void store_elements(Emit *e, const Access *x, bool across, const LV *leaf)
{
    for (uint32_t k = 0; k < x->lines * x->each; k++) {
        EmitPointer p = element_pointer(e, x, k, across);
        threads_store_leaf(e, &p, 0, x->element, leaf[k]);
    }
}

static void store_by_lines(Emit *e, const Access *x, const LV *leaf)
{
    LV base = threads_narrowed(e, x->p, threads_address(e, x->p, 0, x->size));
    LV plain = is_plain(e, x, base);
    if (!plain) {
        store_lines(e, x, base, leaf);
        return;
    }
    NvptxEither way = either_begin(e, plain);
    store_lines(e, x, base, leaf);
    either_next(e, &way, way.edge);
    store_elements(e, x, false, leaf);
    either_next(e, &way, way.done);
}

/* ---- loads, put off -------------------------------------------------------------------------- */

/* What was loaded by lines becomes the value. Lines that are columns give the transposed matrix,
 * which is B as mma takes it. */
static void set_loaded(Emit *e, const Access *x, LV *leaf)
{
    if (x->by_column) {
        LV words[4], across[4];
        Turned *t = turned_of(e, x->i->id);
        uint32_t n = words_of(e, leaf, x->lines * x->each, words);
        turn_words(e, words, n, across);
        from_words(e, across, n, x->type, leaf);
        if (!is_small_float(x->element)) { /* which is converted before */
            for (uint32_t k = 0; k < n; k++)
                t->word[k] = n == 4 ? words[2 * (k % 2) + k / 2] : words[k];
            t->block = e->position + 1;
        }
    }
    emit_set(e, x->i, leaf, x->lines * x->each);
}

/* All loads that were put off, under one test: whether each of them is plain. */
void threads_load_matrices(Emit *e)
{
    struct NvptxMatrices *m = threads_of(e)->matrices;
    uint32_t n = m->n_loads;
    LV fast[MOST_LOADS][HELD], slow[MOST_LOADS][HELD], base[MOST_LOADS], plain = NULL;
    LLVMBasicBlockRef from[2];
    NvptxEither way;
    m->n_loads = 0;
    for (uint32_t k = 0; k < n; k++) {
        const Access *x = &m->loads[k];
        base[k] = threads_narrowed(e, x->p, threads_address(e, x->p, 0, x->size));
        LV one = is_plain(e, x, base[k]);
        plain = plain && one ? LLVMBuildAnd(e->b, plain, one, "") : one ? one : plain;
    }
    if (plain)
        way = either_begin(e, plain);
    for (uint32_t k = 0; k < n; k++)
        load_lines(e, &m->loads[k], base[k], fast[k]);
    if (plain) {
        from[0] = either_next(e, &way, way.edge);
        for (uint32_t k = 0; k < n; k++)
            load_elements(e, &m->loads[k], false, slow[k]);
        from[1] = either_next(e, &way, way.done);
    }
    for (uint32_t k = 0; plain && k < n; k++)
        for (uint32_t j = 0; j < m->loads[k].lines * m->loads[k].each; j++) {
            LV values[2] = { fast[k][j], slow[k][j] };
            fast[k][j] = LLVMBuildPhi(e->b, m->loads[k].type, "");
            LLVMAddIncoming(fast[k][j], values, from, 2);
        }
    for (uint32_t k = 0; k < n; k++)
        set_loaded(e, &m->loads[k], fast[k]);
}

static void load(Emit *e, const SpvInst *i)
{
    struct NvptxMatrices *m = threads_of(e)->matrices;
    Access x;
    LV leaf[HELD];
    open_access(e, i, 1, spv_type(e->module, i->type), &x);
    if (x.by_column && x.size > 2) {
        load_elements(e, &x, true, leaf);
        emit_set(e, i, leaf, x.lines * x.each);
        return;
    }
    if (m->n_loads == MOST_LOADS)
        threads_load_matrices(e);
    m->loads[m->n_loads++] = x;
}

/* Numbers, addresses and other loads, of which none is of what was put off. */
static bool may_come_first(Emit *e, const SpvInst *i)
{
    const struct NvptxMatrices *m = threads_of(e)->matrices;
    const EmitRule *rule = emit_rule(e, i->op);
    bool chain = i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain;
    if (!chain && i->op != SpvOpLoad && !(rule && rule->flags & EMIT_CHEAP))
        return false;
    for (uint32_t o = 0; o < spv_n_operands(i); o++)
        for (uint32_t k = 0; k < m->n_loads; k++)
            if (spv_operand(i, o) == m->loads[k].i->id)
                return false;
    return true;
}

static void store(Emit *e, const SpvInst *i)
{
    Access x;
    uint32_t n;
    LV *leaf = ops_leaves(e, spv_operand(i, 1), &n);
    open_access(e, i, 2, spv_type_of(e->module, spv_operand(i, 1)), &x);
    if (x.by_column)
        store_elements(e, &x, true, leaf);
    else
        store_by_lines(e, &x, leaf);
}

bool threads_matrix_inst(Emit *e, const SpvInst *i)
{
    if (i->op == SpvOpCooperativeMatrixLoadKHR) {
        load(e, i);
        return true;
    }
    if (threads_of(e)->matrices->n_loads && !may_come_first(e, i))
        threads_load_matrices(e);
    switch (i->op) {
    case SpvOpCooperativeMatrixStoreKHR: store(e, i); return true;
    case SpvOpCooperativeMatrixMulAddKHR: multiply(e, i); return true;
    default: return false;
    }
}
