/* SPDX-License-Identifier: MIT
 *
 * Dot products of vectors that lie in memory one lane's behind the other's. All lanes' numbers are
 * multiplied as they lie, and then the products of each lane are added, which takes fewer
 * permutations than to transpose both operands (chunks.c), or all products (jit/products.c). OpDot
 * leaves the order open.
 *
 * In: what loads have found that lead to dot products only, for each lane and as it lies. Out: the
 * dot products. LLVM leaves out which of the two is not used.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <string.h>

enum {
    MOST = ACCESS_WIDEST, /* numbers of a lane: two or four, which lie in one block */
    BLOCK = 4,            /* floats that permutations take from each other at the least cost */
};

/* What a load has loaded. */
typedef struct Lying {
    LV leaf[MOST], all; /* for each lane; as it lies, <W * n x T> */
    uint32_t n;
} Lying;

struct LanesInPlace {
    uint8_t *wanted; /* by id: of what leads to dot products only */
    VEC(Lying) lying;
};

/* ---- loads ----------------------------------------------------------------------------------- */

/* What a dot product's numbers come from, loaded and converted at most. */
static bool leads_to_dots(const SpvInst *i)
{
    switch (i ? i->op : SpvOpNop) {
    case SpvOpLoad:
    case SpvOpFConvert:
    case SpvOpCompositeConstruct:
    case SpvOpCompositeExtract:
    case SpvOpCompositeInsert:
    case SpvOpVectorShuffle: return true;
    default: return false;
    }
}

/* Dot products that are computed alike wherever they stand keep their order. */
static bool is_dot(Emit *e, const SpvInst *i)
{
    return i->op == SpvOpDot &&
           !spv_has_decoration(e->module, i->id, -1, SpvDecorationNoContraction);
}

/* Marks what an instruction's operands come from, or takes the marks away. */
static void mark(Emit *e, const SpvInst *i, uint8_t *wanted, bool is_wanted)
{
    uint16_t at[16];
    uint32_t n = i->op == SpvOpLoad ? 0 : spv_id_operands(i, at, COUNT_OF(at));
    for (uint32_t k = 0; k < MIN(n, COUNT_OF(at)); k++) {
        SpvId id = i->words[at[k]];
        const SpvInst *from = spv_def(e->module, id);
        if (wanted[id] == is_wanted || !leads_to_dots(from))
            continue;
        wanted[id] = is_wanted;
        mark(e, from, wanted, is_wanted);
    }
}

static void find_loads(Emit *e, uint8_t *wanted)
{
    for (uint32_t pass = 0; pass < 2; pass++) /* what else uses them takes them lane by lane */
        for (uint32_t p = 0; p + 1 < e->cfg->n; p++) /* the last is the exit */
            for (const SpvInst *i = e->cfg->blocks[p].block->insts.first; i; i = i->next)
                if (is_dot(e, i) ? !pass : pass && !(i->id && wanted[i->id]))
                    mark(e, i, wanted, !pass);
}

bool in_place_wanted(Emit *e, const SpvInst *load)
{
    Lanes *lanes = lanes_of(e);
    if (!lanes->in_place) {
        lanes->in_place = NEW(e->arena, struct LanesInPlace);
        lanes->in_place->wanted = NEW_ARRAY(e->arena, uint8_t, e->module->bound);
        find_loads(e, lanes->in_place->wanted);
    }
    return lanes->in_place->wanted[load->id];
}

/* Numbers of what is loaded, multiplied and added at once. */
static uint32_t piece_size(Emit *e) { return MIN(lanes_of(e)->machine->vector_bits / 32, e->W); }

LV in_place_load(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n, unsigned align)
{
    uint32_t size = piece_size(e), group = MIN(p->affine.group, e->W) * n, all = e->W * n;
    LT type = LLVMVectorType(emit_scalar_type(e, part->type), size);
    LV v[MOST * IR_MAX_LANES];
    for (uint32_t k = 0; k < all; k += size) {
        int64_t byte = part->byte + (int64_t)(k % group) * emit_scalar_bytes(e, part->type);
        v[k / size] = ir_load(e->b, type, address_group(e, p, byte, k / group), align);
    }
    return ir_concatenate(e->b, v, all / size);
}

/* x's and y's numbers by turns. */
static LV by_turns(Emit *e, LV x, LV y)
{
    int from[MOST * IR_MAX_LANES];
    uint32_t size = LLVMGetVectorSize(LLVMTypeOf(x));
    for (uint32_t k = 0; k < 2 * size; k++)
        from[k] = (int)(k % 2 * size + k / 2);
    return ir_shuffle(e->b, x, y, from, 2 * size);
}

LV in_place_from(Emit *e, const LV *leaves, uint32_t n)
{
    LV v[MOST];
    memcpy(v, leaves, n * sizeof *v);
    for (; n > 1; n /= 2)
        for (uint32_t k = 0; k < n / 2; k++)
            v[k] = by_turns(e, v[k], v[k + n / 2]);
    return v[0];
}

void in_place_keep(Emit *e, const LV *leaves, uint32_t n, LV all)
{
    Lying lying = { .all = all, .n = n };
    memcpy(lying.leaf, leaves, n * sizeof *leaves);
    vec_push(e->arena, &lanes_of(e)->in_place->lying, lying);
}

/* ---- dot products ---------------------------------------------------------------------------- */

static LV unconverted(LV v) { return LLVMIsAFPExtInst(v) ? LLVMGetOperand(v, 0) : v; }

/* A vector of each lane as it lies, as floats. NULL: it was not loaded so. */
static LV as_it_lies(Emit *e, const LV *v, uint32_t n)
{
    const struct LanesInPlace *s = lanes_of(e)->in_place;
    LT type = LLVMVectorType(e->f32, e->W * n);
    for (uint32_t r = s ? s->lying.len : 0; r-- > 0;) {
        const Lying *l = &s->lying.data[r];
        uint32_t same = 0;
        while (l->n == n && same < n && unconverted(v[same]) == l->leaf[same] &&
               ir_element(LLVMTypeOf(v[same])) == e->f32)
            same++;
        if (same == n)
            return LLVMTypeOf(l->all) == type ? l->all : LLVMBuildFPExt(e->b, l->all, type, "");
    }
    return NULL;
}

/* Every other number of x and y, block by block: x's, then y's. */
static LV evens_or_odds(Emit *e, LV x, LV y, bool odd)
{
    int from[IR_MAX_LANES];
    uint32_t size = LLVMGetVectorSize(LLVMTypeOf(x));
    for (uint32_t k = 0; k < size; k++) {
        uint32_t at = k / BLOCK * BLOCK + k % (BLOCK / 2) * 2 + odd;
        from[k] = (int)(k % BLOCK < BLOCK / 2 ? at : size + at);
    }
    return ir_shuffle(e->b, x, y, from, size);
}

/* The sums of n products each, of as many lanes as a vector has numbers. */
static LV add_up(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    int from[IR_MAX_LANES];
    uint32_t size = LLVMGetVectorSize(LLVMTypeOf(v[0])), lanes = size / n, in_block = BLOCK / n;
    for (uint32_t left = n; left > 1; left /= 2)
        for (uint32_t k = 0; k < left / 2; k++)
            v[k] = ops_float(e, i, LLVMFAdd, evens_or_odds(e, v[2 * k], v[2 * k + 1], false),
                             evens_or_odds(e, v[2 * k], v[2 * k + 1], true));
    /* a block has sums of the same place in all n vectors, one vector's after the other's */
    for (uint32_t l = 0; l < size; l++)
        from[l] = (int)(l % lanes / in_block * BLOCK + l / lanes * in_block + l % in_block);
    return ir_shuffle(e->b, v[0], NULL, from, size);
}

LV lanes_dot(Emit *e, const SpvInst *i, const LV *x, const LV *y, uint32_t n)
{
    LV lying_x = is_dot(e, i) ? as_it_lies(e, x, n) : NULL;
    LV lying_y = lying_x ? as_it_lies(e, y, n) : NULL;
    LV part[MOST], sums[IR_MAX_LANES];
    if (!lying_y)
        return NULL;
    LV products = ops_float(e, i, LLVMFMul, lying_x, lying_y);
    uint32_t size = piece_size(e), pieces = e->W / size;
    for (uint32_t p = 0; p < pieces; p++) {
        for (uint32_t k = 0; k < n; k++)
            part[k] = ir_part(e->b, products, (p * n + k) * size, size);
        sums[p] = add_up(e, i, part, n);
    }
    return ir_concatenate(e->b, sums, pieces);
}
