/* SPDX-License-Identifier: MIT
 *
 * Elements that follow one another in each lane, loaded one by one by instructions of a block, as a
 * loop over a row of the lane's own makes when it is unrolled: one load of all of them, which
 * chunks.c transposes. Where lanes' addresses differ by constants, two words of a lane that lie
 * near each other are loaded together too, as table.c finds both in the same chunks. Where lanes
 * lie in a row, all that is between two of them is: numbers or vectors. Two numbers of 16 bits are
 * a word: kernels for packed weights load words so, whose blocks are not aligned to words, and put
 * them together again, which LLVM then leaves out. In: the first of the instructions. Out: its
 * scalars; the others' are kept until their instructions come.
 *
 * Else only for lanes that lie apart, which would take a gather for each element, and without
 * robust access. Nothing between the instructions changes memory, and all of them run with the same
 * lanes.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

enum {
    FARTHEST = 256,  /* instructions from the first to the last one */
    MOST = 32,       /* elements that are loaded together */
    BYTES = 32,      /* of them; more would take too many registers */
    SPLIT_BYTES = 8, /* of those that table.c loads as one number */
    NEAR = 32,       /* bytes within which two words are likely to be in the same chunks */
};

typedef struct Loaded {
    const SpvInst *load;
    LV *leaves;
    uint32_t n;
} Loaded;

/* What loads of the current block will load that are still to come. */
struct LanesSeries {
    VEC(Loaded) loaded;
    const SpvType *word; /* the module's integers of 32 bits; NULL: not looked for, or none */
};

/* Loads around one of them, by their distance from it. */
typedef struct Around {
    const SpvInst *at[2 * MOST + 1];
} Around;

bool series_ends(const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    bool extended = i->op == SpvOpExtInst || i->op == SpvOpExtInstWithForwardRefsKHR;
    return i->op != SpvOpLoad &&
           (!info || i->op == SpvOpFunctionCall || (extended && !spv_is_pure(i)) ||
            info->flags & (SPV_OPF_MEMORY | SPV_OPF_ATOMIC | SPV_OPF_BARRIER | SPV_OPF_GROUP));
}

/* As the other, but for the pointer; not volatile. */
static bool is_alike(const SpvInst *a, const SpvInst *b)
{
    if (a->op != SpvOpLoad || b->op != SpvOpLoad || a->type != b->type ||
        spv_n_operands(a) != spv_n_operands(b))
        return false;
    for (uint32_t k = 1; k < spv_n_operands(a); k++)
        if (spv_operand(a, k) != spv_operand(b, k))
            return false;
    return spv_n_operands(a) < 2 || !(spv_operand(a, 1) & ~(uint32_t)SpvMemoryAccessAlignedMask);
}

/* An array of elements that lie `size` bytes apart, as numbers do without a stride. */
static bool is_array(const SpvType *t, uint32_t size)
{
    return t && (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY) &&
           (t->array_stride ? t->array_stride == size : t->element->kind != SPV_VECTOR);
}

/* Whether what the last index of a chain counts lies `size` bytes apart. */
static bool is_dense(SpvModule *m, const SpvInst *chain, uint32_t size)
{
    bool element = chain->op == SpvOpPtrAccessChain || chain->op == SpvOpInBoundsPtrAccessChain;
    uint32_t last = spv_n_operands(chain) - 1;
    const SpvType *t = spv_type_of(m, spv_operand(chain, 0));
    if (!t || t->kind != SPV_POINTER || !last)
        return false;
    if (element && last == 1)
        return !t->array_stride || t->array_stride == size;
    t = t->element;
    for (uint32_t k = element ? 2 : 1; t && k < last; k++) {
        uint64_t member;
        bool known = spv_constant(m, spv_operand(chain, k), &member);
        t = t->kind != SPV_STRUCT        ? t->element
            : known && member < t->count ? t->members[member]
                                         : NULL;
    }
    return is_array(t, size);
}

static void look_around(Emit *e, const SpvInst *load, Around *r)
{
    bool kernel = e->entry->model == SpvExecutionModelKernel;
    uint32_t n = 0;
    r->at[MOST] = load;
    for (const SpvInst *i = load->next; i && n < FARTHEST && !series_ends(i); i = i->next, n++) {
        int64_t apart;
        if (is_alike(load, i) &&
            pointers_apart(e->module, spv_operand(load, 0), spv_operand(i, 0), kernel, &apart) &&
            apart >= -MOST && apart <= MOST && !r->at[MOST + apart])
            r->at[MOST + apart] = i;
    }
}

/* The elements that are loaded together, ascending: numbers of Around. */
typedef struct Row {
    uint32_t at[MOST], n;
    bool is_word; /* two of 16 bits or four of 8, of lanes that lie apart */
} Row;

/* Elements that follow one another, the load's own among them. */
static Row choose(const Around *r, uint32_t most)
{
    uint32_t low = MOST, high = MOST, n = 1;
    while (low > 0 && r->at[low - 1])
        low--;
    while (high < 2 * MOST && r->at[high + 1])
        high++;
    while (2 * n <= MIN(high + 1 - low, most))
        n *= 2;
    uint32_t first = MIN(low + (MOST - low) / n * n, high + 1 - n);
    Row row = { .n = n };
    for (uint32_t k = 0; k < n; k++)
        row.at[k] = first + k;
    return row;
}

/* The load's own element and the next one behind it that is loaded. */
static Row choose_two(const Around *r, uint32_t size)
{
    Row row = { .at = { MOST }, .n = 1 };
    for (uint32_t k = 1; row.n == 1 && k * size < NEAR; k++)
        if (r->at[MOST + k])
            row.at[row.n++] = MOST + k;
    return row;
}

/* The scalars of a number or vector. */
static uint32_t n_scalars(const SpvType *t) { return t->kind == SPV_VECTOR ? t->count : 1; }
static const SpvType *scalar_of(const SpvType *t) { return t->kind == SPV_VECTOR ? t->element : t; }

static LanesPart *parts_of(Emit *e, const EmitPointer *p, const Row *row, LanesPart *part)
{
    const SpvType *t = scalar_of(p->at.type);
    uint32_t n = n_scalars(p->at.type);
    int64_t size = emit_scalar_bytes(e, t);
    for (uint32_t k = 0; k < row->n * n; k++)
        part[k] =
            (LanesPart){ (((int64_t)row->at[k / n] - MOST) * n + (int64_t)(k % n)) * size, t };
    return part;
}

static const SpvType *word_type(Emit *e)
{
    struct LanesSeries *s = lanes_of(e)->series;
    for (SpvId id = 1; id < e->module->bound && !s->word; id++) {
        const SpvInst *i = spv_def(e->module, id);
        if (i && i->op == SpvOpTypeInt && spv_operand(i, 0) == 32)
            s->word = spv_type(e->module, id);
    }
    return s->word;
}

/* Number k of those that a word holds. */
static LV piece_of(Emit *e, const SpvType *t, LV word, uint32_t k)
{
    LT bits = emit_lanes_type(e, LLVMIntTypeInContext(e->cx, t->bits));
    LV x = k ? LLVMBuildLShr(e->b, word, ir_int(LLVMTypeOf(word), t->bits * k), "") : word;
    return LLVMBuildBitCast(e->b, LLVMBuildTrunc(e->b, x, bits, ""),
                            emit_lanes_type(e, emit_scalar_type(e, t)), "");
}

/* Halves or bytes as words, which LLVM does not take apart where the kernel makes words of them
 * again, or adds what they hold. */
static void load_words(Emit *e, const EmitPointer *p, const SpvType *word, const LanesPart *part,
                       uint32_t n, LV *leaves)
{
    LanesPart words[MOST];
    LV v[MOST];
    EmitPointer whole = *p;
    uint32_t each = 32 / part->type->bits;
    whole.at.type = word;
    whole.align = 4 / each;
    for (uint32_t k = 0; k < n / each; k++)
        words[k] = (LanesPart){ part[each * k].byte, word };
    access_load_parts(e, &whole, words, n / each, v);
    for (uint32_t k = 0; k < n; k++)
        leaves[k] = piece_of(e, part[k].type, emit_lanes(e, v[k / each]), k % each);
}

static bool is_pending(const struct LanesSeries *s, const SpvInst *load)
{
    for (uint32_t k = 0; k < s->loaded.len; k++)
        if (s->loaded.data[k].load == load)
            return true;
    return false;
}

static void load_row(Emit *e, const EmitPointer *p, const Around *r, const Row *row)
{
    LanesPart part[MOST];
    const SpvType *t = p->at.type;
    uint32_t each = n_scalars(t), n = row->n * each;
    LV *leaves = NEW_ARRAY(e->arena, LV, n);
    bool halves = row->is_word || (t->kind == SPV_INT && t->bits == 16 && row->n % 2 == 0);
    const SpvType *word = halves ? word_type(e) : NULL;
    parts_of(e, p, row, part);
    if (word)
        load_words(e, p, word, part, n, leaves);
    else
        access_load_parts(e, p, part, n, leaves);
    struct LanesSeries *s = lanes_of(e)->series;
    for (uint32_t k = 0; k < row->n; k++)
        if (!is_pending(s, r->at[row->at[k]]))
            vec_push(e->arena, &s->loaded, (Loaded){ r->at[row->at[k]], leaves + k * each, each });
}

static bool take(struct LanesSeries *s, const SpvInst *i, LV *leaves)
{
    for (uint32_t k = 0; k < s->loaded.len; k++)
        if (s->loaded.data[k].load == i) {
            memcpy(leaves, s->loaded.data[k].leaves, s->loaded.data[k].n * sizeof *leaves);
            s->loaded.data[k] = vec_last(&s->loaded);
            s->loaded.len--;
            return true;
        }
    return false;
}

/* All that lies from lane to lane. */
static Row in_rows(const Around *r, uint32_t stride)
{
    Row row = choose(r, stride);
    row.n = row.n == stride && stride > 1 ? row.n : 0;
    return row;
}

/* What is loaded together; n = 0: no others are. Where lanes' addresses differ by constants table.c
 * loads them, splits numbers of 8 bytes, and takes words from the same chunks. */
static Row plan(Emit *e, const EmitPointer *p, const Around *r, bool far)
{
    LanesPart part[MOST];
    LanesTable *t = NEW(e->arena, LanesTable);
    uint32_t size = emit_scalar_bytes(e, p->at.type);
    Row none = { .n = 0 }, row = choose(r, BYTES / size);
    /* where the chunks lie */
    bool known = !e->mask && p->affine.group > 1 && !emit_is_lanes(p->base);
    if ((far || known) && row.n > 1 && chunks_suit(e, p, parts_of(e, p, &row, part), row.n))
        return row;
    if (table_open(e, p, t) && table_suits(e, t, &(LanesPart){ 0, p->at.type }, 1)) {
        row = choose(r, SPLIT_BYTES / size);
        bool splits = p->at.type->kind == SPV_INT && row.n * size == SPLIT_BYTES;
        if (!splits)
            row = choose_two(r, size);
        bool suits = (splits || (row.n > 1 && size == 4)) &&
                     table_suits(e, t, parts_of(e, p, &row, part), row.n);
        return suits ? row : none;
    }
    return row.n > 1 && chunks_suit(e, p, parts_of(e, p, &row, part), row.n) ? row : none;
}

static bool is_number(const SpvType *t)
{
    return (t->kind == SPV_INT || t->kind == SPV_FLOAT) && t->bits >= 8;
}

/* What is loaded with a load; n = 0: nothing. */
static Row find_row(Emit *e, const SpvInst *i, const EmitPointer *p, Around *r)
{
    const SpvInst *chain = spv_def(e->module, spv_operand(i, 0));
    const SpvType *t = p->at.type, *scalar = scalar_of(t);
    uint32_t size = n_scalars(t) * emit_scalar_bytes(e, scalar), stride = 0;
    if (p->volatile_ || p->builtin || !spv_is_chain(chain) || !is_alike(i, i) ||
        !is_dense(e->module, chain, size))
        return (Row){ .n = 0 };
    stride = access_row_stride(e, p);
    bool far = !stride && t == scalar && access_is_far(e, p);
    if (!stride && !far && (t != scalar || !access_is_apart(e, p)))
        return (Row){ .n = 0 };
    look_around(e, i, r);
    Row row = stride ? in_rows(r, stride) : plan(e, p, r, far);
    uint32_t each = t == scalar && (t->bits == 16 || t->bits == 8) ? 32 / t->bits : 0;
    if (row.n > each || !(access_is_apart(e, p) || (t->bits == 8 && access_in_windows(e, p))))
        return row;
    for (uint32_t k = 1; k < each; k++)
        if (!r->at[MOST + k])
            return row;
    return (Row){ { MOST, MOST + 1, MOST + 2, MOST + 3 }, each, true };
}

bool series_load(Emit *e, const SpvInst *i, const EmitPointer *p, LV *leaves)
{
    Lanes *lanes = lanes_of(e);
    Around r = { .at = { NULL } };
    Row row = { .n = 0 };
    if (!lanes->series)
        lanes->series = NEW(e->arena, struct LanesSeries);
    if (take(lanes->series, i, leaves))
        return true;
    if (is_number(scalar_of(p->at.type)))
        row = find_row(e, i, p, &r);
    if (!row.n)
        return false;
    load_row(e, p, &r, &row);
    return take(lanes->series, i, leaves);
}
