/* SPDX-License-Identifier: MIT
 *
 * Loads of lanes each of which reads several scalars that follow one another, wherever that is: a
 * vector, a pixel's channels. A lane's scalars are loaded in chunks as long as the machine's
 * vectors, or as there are scalars, and transposed: within blocks of 16 bytes by interleaving, then
 * block by block by taking every other one, for both of which all machines have instructions. A
 * scalar of a vector's lanes then costs a load and a few permutations, where a gather loads lane by
 * lane. Small integers are transposed by words, which shifts take apart: kernels widen them anyway.
 * Inactive lanes read zeros.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

enum {
    BLOCK = CHUNKS_BLOCK,
    WORD = 4, /* bytes */
    MOST = 64 /* bytes of a vector, so of a chunk, and of access_zeros */
};

/* Powers of two. Vector number a * in_block + i has the chunks of the lanes in_block * j + i, where
 * j is a * n + 0, 1, ... n - 1, with n chunks in a vector. */
typedef struct Chunks {
    uint32_t in_unit;  /* scalars of what is transposed: 1, or as many as a word has */
    uint32_t in_block; /* units of a block */
    uint32_t blocks;   /* of a chunk */
    uint32_t size;     /* units of a vector; and the lanes that are transposed together */
    unsigned align;
    LT type; /* of a chunk */
} Chunks;

static bool follows(Emit *e, const LanesPart *part, uint32_t k)
{
    uint32_t size = emit_scalar_bytes(e, part->type);
    return part[k].byte == part->byte + (int64_t)k * size && part[k].type->kind != SPV_BOOL &&
           emit_scalar_type(e, part[k].type) == emit_scalar_type(e, part->type);
}

static bool plan(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n, Chunks *c)
{
    uint32_t adjacent = 0, size = emit_scalar_bytes(e, part->type);
    if (!p->lane_index || p->at.rule == LAYOUT_LANES || p->affine.expected || p->volatile_ ||
        address_checked(e, p))
        return false;
    c->in_unit = part->type->kind == SPV_INT && size < WORD ? WORD / size : 1;
    uint32_t unit = c->in_unit * size;
    c->in_block = BLOCK / unit;
    c->size = MIN(lanes_of(e)->machine->vector_bits / 8 / unit, e->W);
    while (adjacent < MIN(n, c->size * c->in_unit) && follows(e, part, adjacent))
        adjacent++;
    adjacent /= c->in_unit;
    if (adjacent < c->in_block || c->size < c->in_block)
        return false;
    for (c->blocks = 1; 2 * c->blocks * c->in_block <= adjacent;)
        c->blocks *= 2;
    c->align = p->align && p->align < size ? p->align : size;
    LT type = c->in_unit > 1 ? e->i32 : emit_scalar_type(e, part->type);
    c->type = LLVMVectorType(type, c->blocks * c->in_block);
    return true;
}

/* A lane's address; from a base and the lane's index, if that is what addresses consist of. */
static LV lane_address(Emit *e, LV address, uint32_t lane)
{
    LV base = LLVMIsAGetElementPtrInst(address) ? LLVMGetOperand(address, 0) : NULL;
    LV at = ir_int(e->i32, lane);
    if (!base || LLVMGetNumOperands(address) != 2 || emit_is_lanes(base))
        return LLVMBuildExtractElement(e->b, address, at, "");
    LV index = LLVMBuildExtractElement(e->b, LLVMGetOperand(address, 1), at, "");
    return LLVMBuildGEP2(e->b, LLVMGetGEPSourceElementType(address), base, &index, 1, "");
}

/* Where the scalars of all lanes begin. */
typedef struct Begins {
    const EmitPointer *p;
    int64_t byte;
    LV address; /* of each lane; NULL: lanes lie in rows */
} Begins;

static Begins begins(Emit *e, const EmitPointer *p, const LanesPart *part)
{
    Begins b = { p, part->byte, NULL };
    if (!e->mask && p->affine.group > 1 && !emit_is_lanes(p->base))
        return b;
    b.address = address_of_part(e, p, part->byte, emit_scalar_bytes(e, part->type));
    if (e->mask)
        b.address = LLVMBuildSelect(e->b, e->mask, b.address, emit_lanes(e, access_zeros(e)), "");
    return b;
}

static LV begin_of(Emit *e, const Begins *b, uint32_t lane)
{
    if (b->address)
        return lane_address(e, b->address, lane);
    uint32_t group = b->p->affine.group;
    int64_t along = address_lane_stride(b->p) * (lane % group);
    return address_group(e, b->p, b->byte + along, lane / group);
}

static void load_vectors(Emit *e, const Chunks *c, const Begins *b, uint32_t first, LV *v)
{
    LV chunk[MOST];
    uint32_t n = c->size / (c->blocks * c->in_block);
    for (uint32_t k = 0; k < c->blocks * c->in_block; k++) {
        uint32_t lane = first + k / c->in_block * c->in_block * n + k % c->in_block;
        for (uint32_t j = 0; j < n; j++)
            chunk[j] = ir_load(e->b, c->type, begin_of(e, b, lane + j * c->in_block), c->align);
        v[k] = ir_concatenate(e->b, chunk, n);
    }
}

LV chunks_interleave(Emit *e, LV x, LV y, uint32_t in_block, bool second)
{
    int from[MOST];
    uint32_t size = LLVMGetVectorSize(LLVMTypeOf(x));
    for (uint32_t k = 0; k < size; k++) {
        uint32_t at = k % in_block / 2 + (second ? in_block / 2 : 0);
        from[k] = (int)(k / in_block * in_block + at + (k % 2 ? size : 0));
    }
    return ir_shuffle(e->b, x, y, from, size);
}

/* Every other block of x and y, from the first or the second one. */
static LV every_other(Emit *e, const Chunks *c, LV x, LV y, bool second)
{
    int from[MOST];
    for (uint32_t k = 0; k < c->size; k++)
        from[k] = (int)((2 * (k / c->in_block) + second) * c->in_block + k % c->in_block);
    return ir_shuffle(e->b, x, y, from, c->size);
}

/* v: from chunks to the units of a vector's lanes, one by one. */
static void transpose(Emit *e, const Chunks *c, LV *v)
{
    LV from[MOST];
    uint32_t n = c->blocks * c->in_block, half = c->in_block / 2;
    for (uint32_t stage = 1; stage < c->in_block; stage *= 2) {
        memcpy(from, v, n * sizeof *v);
        for (uint32_t k = 0; k < n; k++) {
            const LV *block = from + k / c->in_block * c->in_block + k % c->in_block / 2;
            v[k] = chunks_interleave(e, block[0], block[half], c->in_block, k % 2);
        }
    }
    for (uint32_t stage = 1; stage < c->blocks; stage *= 2) {
        memcpy(from, v, n * sizeof *v);
        for (uint32_t k = 0; k < n; k++) {
            const LV *pair = from + 2 * (k / c->in_block) * c->in_block % n + k % c->in_block;
            v[k] = every_other(e, c, pair[0], pair[c->in_block], k >= n / 2);
        }
    }
}

/* ---- lanes side by side ---------------------------------------------------------------------- */

/* Elements of a machine's vector; 0: all lanes' elements are fewer, or the machine has something
 * better: AVX-512 permutes pairs of vectors, AArch64 takes rows apart as it loads them. */
static uint32_t vector_of_rows(Emit *e, uint32_t bits, uint32_t lanes, uint32_t stride)
{
    const CpuTarget *machine = lanes_of(e)->machine;
    uint32_t in_block = 8 * BLOCK / bits, size = MIN(machine->vector_bits / bits, lanes);
    bool better = !(machine->sets & CPU_SSE2) || machine->sets & CPU_AVX512;
    return better || !is_pow2(stride) || size < in_block ? 0 : size;
}

bool chunks_suit_rows(Emit *e, uint32_t bits, uint32_t lanes, uint32_t stride)
{
    return vector_of_rows(e, bits, lanes, stride) > 0;
}

/* The scalars of `size` lanes. Vector k of `stride` begins with the blocks k, k + stride, ...: each
 * step moves all scalars' numbers (vector, place) to the left by one bit, until the vector is what
 * was the scalar's number in its lane. */
static void split_rows(Emit *e, const LV *blocks, uint32_t size, uint32_t stride, LV *v)
{
    LV from[MOST];
    uint32_t in_block = LLVMGetVectorSize(LLVMTypeOf(blocks[0])), n = size / in_block;
    for (uint32_t k = 0; k < stride; k++) {
        for (uint32_t j = 0; j < n; j++)
            from[j] = blocks[j * stride + k];
        v[k] = ir_concatenate(e->b, from, n);
    }
    for (uint32_t step = 1; step < in_block; step *= 2) {
        memcpy(from, v, stride * sizeof *v);
        for (uint32_t k = 0; k < stride; k++)
            v[k] = chunks_interleave(e, from[k / 2], from[k / 2 + stride / 2], in_block, k % 2);
    }
}

void chunks_split_rows(Emit *e, const LV *blocks, uint32_t lanes, uint32_t stride, LV *leaves)
{
    uint32_t bits = lanes_scalar_bits(ir_element_of(blocks[0])), in_block = 8 * BLOCK / bits;
    uint32_t size = vector_of_rows(e, bits, lanes, stride), n = lanes / size;
    LV v[MOST], *pieces = NEW_ARRAY(e->arena, LV, (size_t)n * stride);
    for (uint32_t g = 0; g < n; g++) {
        split_rows(e, blocks + g * size / in_block * stride, size, stride, v);
        for (uint32_t k = 0; k < stride; k++)
            pieces[k * n + g] = v[k];
    }
    for (uint32_t k = 0; k < stride; k++)
        leaves[k] = ir_concatenate(e->b, pieces + (size_t)k * n, n);
}

/* ---- lanes anywhere -------------------------------------------------------------------------- */

bool chunks_suit(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n)
{
    Chunks c;
    return plan(e, p, part, n, &c);
}

static void take_apart(Emit *e, const Chunks *c, LV unit, LV *scalars)
{
    uint32_t bits = 8 * WORD / c->in_unit;
    LT type = emit_lanes_type(e, LLVMIntTypeInContext(e->cx, bits));
    scalars[0] = unit;
    for (uint32_t k = 0; c->in_unit > 1 && k < c->in_unit; k++) {
        LV shift = emit_lanes(e, ir_int(e->i32, k * bits));
        scalars[k] = LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, unit, shift, ""), type, "");
    }
}

uint32_t chunks_load(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n, LV *leaves)
{
    Chunks c;
    if (!plan(e, p, part, n, &c))
        return 0;
    uint32_t groups = e->W / c.size, units = c.blocks * c.in_block;
    Begins b = begins(e, p, part);
    LV v[MOST], *pieces = NEW_ARRAY(e->arena, LV, (size_t)groups * units);
    for (uint32_t g = 0; g < groups; g++) {
        load_vectors(e, &c, &b, g * c.size, v);
        transpose(e, &c, v);
        for (uint32_t k = 0; k < units; k++)
            pieces[k * groups + g] = v[k];
    }
    for (uint32_t k = 0; k < units; k++) {
        LV unit = ir_concatenate(e->b, pieces + (size_t)k * groups, groups);
        take_apart(e, &c, unit, leaves + (size_t)k * c.in_unit);
    }
    return units * c.in_unit;
}
