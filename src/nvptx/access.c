/* SPDX-License-Identifier: MIT
 *
 * Loads and stores of one invocation. Where the storage class names a memory, the address is cast
 * to its address space, for which the machine has cheaper instructions; leaves that lie side by
 * side LLVM makes one access of.
 *
 * Robust access (VK_EXT_robustness2): what lies outside of the buffer reads as zero and is not
 * written, by a branch around the access.
 */
#include "nvptx/internal.h"
#include "llvm/ir.h"

enum {
    BUFFER_ALIGNMENT = 16, /* heddle_buffer_wrap's, and of a binding's offset */
    MOST_LOOKED_INTO = 64,
};

static LV i64c(Emit *e, uint64_t x) { return LLVMConstInt(e->i64, x, 0); }

/* Bytes behind base, modulo 2^64. */
static LV offset_of(Emit *e, const EmitPointer *p, int64_t byte)
{
    LV constant = i64c(e, (uint64_t)p->constant + (uint64_t)byte);
    return p->offset ? LLVMBuildAdd(e->b, p->offset, constant, "") : constant;
}

LV threads_address(Emit *e, const EmitPointer *p, int64_t byte, uint32_t size)
{
    (void)size;
    LV offset = offset_of(e, p, byte);
    return LLVMBuildGEP2(e->b, e->i8, p->base, &offset, 1, "");
}

static unsigned space_of(const EmitPointer *p)
{
    switch (p->storage) {
    case SpvStorageClassStorageBuffer:
    case SpvStorageClassUniform:
    case SpvStorageClassPhysicalStorageBuffer:
    case SpvStorageClassCrossWorkgroup: return SPACE_GLOBAL;
    case SpvStorageClassWorkgroup: return SPACE_SHARED;
    default: return SPACE_GENERIC;
    }
}

/* As an address of the memory that its storage class names. */
LV threads_narrowed(Emit *e, const EmitPointer *p, LV address)
{
    unsigned space = space_of(p);
    if (space == SPACE_GENERIC)
        return address;
    return LLVMBuildAddrSpaceCast(e->b, address, LLVMPointerTypeInContext(e->cx, space), "");
}

LV threads_inside(Emit *e, const EmitPointer *p, int64_t byte, uint32_t size)
{
    if (!e->robust || !p->limit)
        return NULL;
    /* places where so much begins inside: the same in a loop, before which it is computed */
    LV places = size > 1 ? ir_binary(e->b, "llvm.usub.sat", p->limit, i64c(e, size - 1)) : p->limit;
    return LLVMBuildICmp(e->b, LLVMIntULT, offset_of(e, p, byte), places, "");
}

/* What x is a multiple of: a power of two, 16 at most. Of what is made of very much, as far as so
 * many values tell: sums of sums of the same may be reached in very many ways. */
static uint64_t multiple_of(LV x, uint32_t *left)
{
    if (LLVMIsAConstantInt(x)) {
        uint64_t n = LLVMConstIntGetZExtValue(x) | BUFFER_ALIGNMENT;
        return n & -n;
    }
    bool extended = LLVMIsAZExtInst(x) || LLVMIsASExtInst(x);
    if (!*left || (!extended && !LLVMIsABinaryOperator(x)))
        return 1;
    --*left;
    LV a = LLVMGetOperand(x, 0), b = extended ? NULL : LLVMGetOperand(x, 1);
    uint64_t n;
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMZExt:
    case LLVMSExt: return multiple_of(a, left);
    case LLVMAdd:
    case LLVMSub:
    case LLVMOr: n = multiple_of(a, left); return MIN(n, multiple_of(b, left));
    case LLVMMul: n = multiple_of(a, left); return MIN(n * multiple_of(b, left), BUFFER_ALIGNMENT);
    case LLVMShl:
        if (!LLVMIsAConstantInt(b))
            return multiple_of(a, left);
        if (LLVMConstIntGetZExtValue(b) >= 4)
            return BUFFER_ALIGNMENT;
        return MIN(multiple_of(a, left) << LLVMConstIntGetZExtValue(b), BUFFER_ALIGNMENT);
    default: return 1;
    }
}

/* Of `size` bytes there. A buffer begins where heddle.h and Vulkan say that it may, which LLVM has
 * to know to make one access of several; its base is what was loaded of its descriptor. */
static unsigned alignment(const EmitPointer *p, int64_t byte, uint32_t size)
{
    if (p->align && p->align < size)
        return p->align;
    if (!LLVMIsALoadInst(p->base))
        return size;
    uint32_t left = MOST_LOOKED_INTO;
    uint64_t n = (uint64_t)(p->constant + byte) | (p->offset ? multiple_of(p->offset, &left) : 0) |
                 BUFFER_ALIGNMENT;
    return MAX(size, (unsigned)(n & -n));
}

/* As it lies in memory: truth values are bytes. */
static LT memory_type(Emit *e, const SpvType *t)
{
    return t->kind == SPV_BOOL ? e->i8 : emit_scalar_type(e, t);
}

static LV load_scalar(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t)
{
    uint32_t size = emit_scalar_bytes(e, t);
    LV v = LLVMBuildLoad2(e->b, memory_type(e, t),
                          threads_narrowed(e, p, threads_address(e, p, byte, size)), "");
    LLVMSetAlignment(v, alignment(p, byte, size));
    if (p->volatile_)
        LLVMSetVolatile(v, true);
    return t->kind == SPV_BOOL ? LLVMBuildICmp(e->b, LLVMIntNE, v, LLVMConstNull(e->i8), "") : v;
}

static void store_scalar(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t, LV v)
{
    uint32_t size = emit_scalar_bytes(e, t);
    if (t->kind == SPV_BOOL)
        v = LLVMBuildZExt(e->b, v, e->i8, "");
    LV s = LLVMBuildStore(e->b, v, threads_narrowed(e, p, threads_address(e, p, byte, size)));
    LLVMSetAlignment(s, alignment(p, byte, size));
    if (p->volatile_)
        LLVMSetVolatile(s, true);
}

LV threads_load_leaf(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t)
{
    LV inside = threads_inside(e, p, byte, emit_scalar_bytes(e, t));
    if (!inside)
        return load_scalar(e, p, byte, t);
    LLVMBasicBlockRef from[2] = { LLVMGetInsertBlock(e->b) };
    EmitIf f = if_begin(e, inside);
    LV v[2] = { LLVMConstNull(emit_scalar_type(e, t)), load_scalar(e, p, byte, t) };
    from[1] = LLVMGetInsertBlock(e->b);
    if_end(e, &f);
    LV phi = LLVMBuildPhi(e->b, LLVMTypeOf(v[0]), "");
    LLVMAddIncoming(phi, v, from, 2);
    return phi;
}

void threads_store_leaf(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t, LV v)
{
    LV inside = threads_inside(e, p, byte, emit_scalar_bytes(e, t));
    EmitIf f = { 0 };
    if (inside)
        f = if_begin(e, inside);
    store_scalar(e, p, byte, t, v);
    if (inside)
        if_end(e, &f);
}

/* ---- composites ------------------------------------------------------------------------------ */

typedef void PartFn(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t, LV *leaf);

static void load_part(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t, LV *leaf)
{
    *leaf = threads_load_leaf(e, p, byte, t);
}

static void store_part(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t, LV *leaf)
{
    threads_store_leaf(e, p, byte, t, *leaf);
}

/* Calls fn for the scalars of what lies `byte` bytes into the pointee, in order. */
static LV *each_part(Emit *e, const EmitPointer *p, const EmitLayout *l, int64_t byte, LV *leaf,
                     PartFn *fn)
{
    const SpvType *t = l->type;
    bool composite = t->kind == SPV_VECTOR || t->kind == SPV_MATRIX || t->kind == SPV_ARRAY ||
                     t->kind == SPV_STRUCT;
    if (!composite) {
        fn(e, p, byte, t, leaf);
        return leaf + 1;
    }
    for (uint32_t k = 0; k < t->count; k++) {
        uint64_t offset;
        EmitLayout part = emit_layout_part(e, l, k, &offset);
        leaf = each_part(e, p, &part, byte + (int64_t)offset, leaf, fn);
    }
    return leaf;
}

/* i1: whether all of a vector in a buffer is inside, so that it is one access; NULL: that is not
 * asked, or not of the whole. */
static LV vector_inside(Emit *e, const EmitPointer *p)
{
    const SpvType *t = p->at.type;
    if (t->kind != SPV_VECTOR || t->count > 4 || space_of(p) != SPACE_GLOBAL)
        return NULL;
    return threads_inside(e, p, 0, t->count * emit_scalar_bytes(e, t->element));
}

NvptxEither either_begin(Emit *e, LV inside)
{
    NvptxEither x = { emit_new_block(e, "edge"), emit_new_block(e, "accessed") };
    LLVMBasicBlockRef whole = emit_new_block(e, "whole");
    LLVMBuildCondBr(e->b, inside, whole, x.edge);
    LLVMPositionBuilderAtEnd(e->b, whole);
    return x;
}

LLVMBasicBlockRef either_next(Emit *e, const NvptxEither *x, LLVMBasicBlockRef next)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, x->done);
    LLVMPositionBuilderAtEnd(e->b, next);
    return from;
}

static void load_vector(Emit *e, const EmitPointer *p, LV inside, LV *leaves)
{
    EmitPointer free = *p;
    LLVMBasicBlockRef from[2];
    LV whole[4], edge[4];
    NvptxEither x = either_begin(e, inside);
    free.limit = NULL;
    each_part(e, &free, &p->at, 0, whole, load_part);
    from[0] = either_next(e, &x, x.edge);
    each_part(e, p, &p->at, 0, edge, load_part);
    from[1] = either_next(e, &x, x.done);
    for (uint32_t k = 0; k < p->at.type->count; k++) {
        LV values[2] = { whole[k], edge[k] };
        leaves[k] = LLVMBuildPhi(e->b, LLVMTypeOf(whole[k]), "");
        LLVMAddIncoming(leaves[k], values, from, 2);
    }
}

void threads_load(Emit *e, const EmitPointer *p, LV *leaves)
{
    LV inside = p->builtin ? NULL : vector_inside(e, p);
    if (p->builtin)
        emit_load_builtin(e, p, leaves);
    else if (inside)
        load_vector(e, p, inside, leaves);
    else
        each_part(e, p, &p->at, 0, leaves, load_part);
}

static void store_now(Emit *e, const EmitPointer *p, LV *leaves)
{
    LV inside = vector_inside(e, p);
    if (!inside) {
        each_part(e, p, &p->at, 0, leaves, store_part);
        return;
    }
    EmitPointer free = *p;
    NvptxEither x = either_begin(e, inside);
    free.limit = NULL;
    each_part(e, &free, &p->at, 0, leaves, store_part);
    either_next(e, &x, x.edge);
    each_part(e, p, &p->at, 0, leaves, store_part);
    either_next(e, &x, x.done);
}

/* ---- stores to workgroup memory, put off ----------------------------------------------------- */

/* Kernels that stage tiles load an element and store it, many times over. The driver's compiler
 * does not gather the loads as it would have to; and one by one, each of them is waited for. */
enum { MOST_LATER = 64 };

struct NvptxLater {
    EmitPointer to[MOST_LATER];
    LV *leaves[MOST_LATER];
    uint32_t n;
};

/* No load from before moves behind this, neither here nor in the driver's compiler. */
static void hold_order(Emit *e)
{
    LV mask = threads_mask(e);
    threads_call(e, "llvm.nvvm.bar.warp.sync", e->void_, &mask, 1);
}

void threads_store_later(Emit *e)
{
    struct NvptxLater *x = threads_of(e)->later;
    uint32_t n = x ? x->n : 0;
    if (n > 1 && threads_together(e))
        hold_order(e);
    for (uint32_t k = 0; k < n; k++)
        each_part(e, &x->to[k], &x->to[k].at, 0, x->leaves[k], store_part);
    if (x)
        x->n = 0;
}

void threads_store(Emit *e, const EmitPointer *p, const LV *leaves)
{
    struct NvptxLater **later = &threads_of(e)->later;
    if (p->storage != SpvStorageClassWorkgroup || p->volatile_) {
        if (p->storage == SpvStorageClassWorkgroup)
            threads_store_later(e); /* those before it */
        store_now(e, p, (LV *)leaves);
        return;
    }
    if (!*later)
        *later = NEW(e->arena, struct NvptxLater);
    if ((*later)->n == MOST_LATER)
        threads_store_later(e);
    (*later)->to[(*later)->n] = *p;
    (*later)->leaves[(*later)->n++] =
        arena_copy(e->arena, leaves, emit_n_leaves(e, p->at.type) * sizeof *leaves);
}

/* Whether an instruction neither reads what stores to workgroup memory wrote nor waits for them. */
static bool passes_stores(Emit *e, const SpvInst *i)
{
    if (i->op == SpvOpLoad || i->op == SpvOpStore) {
        uint32_t storage = spv_type_of(e->module, spv_operand(i, 0))->storage;
        bool shared = storage == SpvStorageClassWorkgroup;
        return i->op == SpvOpStore ? shared : !shared && storage != SpvStorageClassGeneric;
    }
    return i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain || spv_is_pure(i);
}

bool threads_inst(Emit *e, const SpvInst *i)
{
    if (threads_of(e)->later && !passes_stores(e, i))
        threads_store_later(e);
    return threads_matrix_inst(e, i);
}

/* ---- copies of so many bytes ----------------------------------------------------------------- */

void threads_copy_sized(Emit *e, const SpvInst *i)
{
    const EmitPointer *to = emit_pointer(e, spv_operand(i, 0)),
                      *from = emit_pointer(e, spv_operand(i, 1));
    LV size = emit_cast_index(e, emit_leaf(e, spv_operand(i, 2), 0), e->i64);
    SpvType byte_type = { .kind = SPV_INT, .bits = 8 };
    /* byte by byte, each as robust as a byte's own access */
    EmitLoop l = loop_begin(e, size);
    EmitPointer a = *to, b = *from;
    a.offset = a.offset ? LLVMBuildAdd(e->b, a.offset, l.index, "") : l.index;
    b.offset = b.offset ? LLVMBuildAdd(e->b, b.offset, l.index, "") : l.index;
    threads_store_leaf(e, &a, 0, &byte_type, threads_load_leaf(e, &b, 0, &byte_type));
    loop_end(e, &l);
}
