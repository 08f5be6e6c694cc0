/* SPDX-License-Identifier: MIT
 *
 * In: a module ready for LLVM's code generator, for a machine without registers for masks. Out: the
 * same module, in which masks of many lanes go from block to block as vectors of bytes, 0 or -1.
 *
 * What lives across blocks LLVM halves until the machine has a type like that. There is none of
 * bits, so that <64 x i1> takes 64 registers of a byte with AVX2, nearly all of them in memory:
 * code with a loop that lanes leave one by one was ten times slower. <32 x i1> it takes for 32
 * bytes, but of these only the lowest bits count, which each user must move up. Within a block
 * masks become what their users want.
 */
#include "cpu/jit/jit.h"
#include "llvm/ir.h"

typedef struct Masks {
    Arena arena;
    LLVMContextRef context;
    LLVMBuilderRef b;
    LLVMModuleRef module;
    uint32_t whole;        /* lanes of masks that need nothing */
    VEC(LLVMValueRef) all; /* of a function, those that live across blocks */
    Map bytes;             /* of each, as vectors */
} Masks;

static bool is_wide_mask(const Masks *m, LLVMValueRef v)
{
    LLVMTypeRef bit = LLVMInt1TypeInContext(m->context);
    return ir_is_vector(v) && ir_element_of(v) == bit &&
           LLVMGetVectorSize(LLVMTypeOf(v)) > m->whole;
}

static bool is_used_elsewhere(LLVMValueRef v)
{
    LLVMBasicBlockRef home = LLVMGetInstructionParent(v);
    LLVMUseRef u = LLVMGetFirstUse(v);
    while (u && !LLVMIsAPHINode(LLVMGetUser(u)) && LLVMGetInstructionParent(LLVMGetUser(u)) == home)
        u = LLVMGetNextUse(u);
    return u != NULL;
}

static LLVMTypeRef type_of_bytes(const Masks *m, LLVMValueRef mask)
{
    return ir_type_like(LLVMTypeOf(mask), LLVMInt8TypeInContext(m->context));
}

static LLVMValueRef bytes_here(const Masks *m, LLVMValueRef mask)
{
    LLVMTypeRef t = type_of_bytes(m, mask);
    return LLVMBuildSelect(m->b, mask, ir_int(t, UINT64_MAX), LLVMConstNull(t), "");
}

/* The bytes of a mask, made where it is; a phi's have no operands yet. */
static LLVMValueRef begin_bytes(Masks *m, LLVMValueRef mask)
{
    if (!LLVMIsAPHINode(mask)) {
        ir_build_behind(m->b, mask);
        return bytes_here(m, mask);
    }
    LLVMPositionBuilderBefore(m->b, mask);
    return LLVMBuildPhi(m->b, type_of_bytes(m, mask), "");
}

static LLVMValueRef bytes_of(const Masks *m, LLVMValueRef mask)
{
    uint64_t v = 0;
    map_get(&m->bytes, (uintptr_t)mask, &v);
    return (LLVMValueRef)(uintptr_t)v;
}

static void add_operands(const Masks *m, LLVMValueRef phi)
{
    for (unsigned k = 0; k < LLVMCountIncoming(phi); k++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, k);
        LLVMValueRef mask = LLVMGetIncomingValue(phi, k), bytes = bytes_of(m, mask);
        LLVMPositionBuilderBefore(m->b, LLVMGetBasicBlockTerminator(from));
        bytes = bytes ? bytes : bytes_here(m, mask); /* a constant's, or an argument's */
        LLVMAddIncoming(bytes_of(m, phi), &bytes, &from, 1);
    }
}

/* The mask again, in a block that uses it. */
static LLVMValueRef mask_in(Masks *m, LLVMBasicBlockRef block, LLVMValueRef bytes)
{
    ir_build_at_top(m->b, block);
    return LLVMBuildICmp(m->b, LLVMIntSLT, bytes, LLVMConstNull(LLVMTypeOf(bytes)), "");
}

/* Phis have their own bytes. */
static bool keeps_mask(LLVMValueRef mask, LLVMValueRef user)
{
    LLVMBasicBlockRef home = LLVMGetInstructionParent(mask);
    return LLVMIsAPHINode(user) ||
           (!LLVMIsAPHINode(mask) && LLVMGetInstructionParent(user) == home);
}

static void replace(Masks *m, LLVMValueRef mask)
{
    VEC(LLVMValueRef) users = { 0 };
    Map again = { 0 }; /* by block */
    for (LLVMUseRef u = LLVMGetFirstUse(mask); u; u = LLVMGetNextUse(u))
        if (!keeps_mask(mask, LLVMGetUser(u)))
            vec_push(&m->arena, &users, LLVMGetUser(u));
    for (uint32_t k = 0; k < users.len; k++) {
        LLVMBasicBlockRef block = LLVMGetInstructionParent(users.data[k]);
        uint64_t v;
        if (!map_get(&again, (uintptr_t)block, &v))
            map_put(&m->arena, &again, (uintptr_t)block,
                    v = (uintptr_t)mask_in(m, block, bytes_of(m, mask)));
        for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(users.data[k]); o++)
            if (LLVMGetOperand(users.data[k], o) == mask)
                LLVMSetOperand(users.data[k], o, (LLVMValueRef)(uintptr_t)v);
    }
}

static void erase(LLVMValueRef phi)
{
    LLVMReplaceAllUsesWith(phi, LLVMGetPoison(LLVMTypeOf(phi))); /* of other such phis */
    LLVMInstructionEraseFromParent(phi);
}

static void carry(Masks *m, LLVMValueRef function)
{
    m->all.len = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (is_wide_mask(m, i) && (LLVMIsAPHINode(i) || is_used_elsewhere(i)))
                vec_push(&m->arena, &m->all, i);
    for (uint32_t k = 0; k < m->all.len; k++)
        map_put(&m->arena, &m->bytes, (uintptr_t)m->all.data[k],
                (uintptr_t)begin_bytes(m, m->all.data[k]));
    for (uint32_t k = 0; k < m->all.len; k++)
        replace(m, m->all.data[k]);
    for (uint32_t k = 0; k < m->all.len; k++)
        if (LLVMIsAPHINode(m->all.data[k]))
            add_operands(m, m->all.data[k]);
    for (uint32_t k = 0; k < m->all.len; k++)
        if (LLVMIsAPHINode(m->all.data[k]))
            erase(m->all.data[k]);
}

static void carry_all(void *user)
{
    Masks *m = user;
    for (LLVMValueRef f = LLVMGetFirstFunction(m->module); f; f = LLVMGetNextFunction(f))
        carry(m, f);
}

bool cpu_carry_masks(LLVMModuleRef module, const CpuTarget *target)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    Masks m = { .context = context, .module = module, .whole = target->vector_bits / 16 };
    if (target->sets & CPU_AVX512)
        return true;
    m.b = LLVMCreateBuilderInContext(context);
    bool done = arena_try(&m.arena, carry_all, &m);
    LLVMDisposeBuilder(m.b);
    arena_free(&m.arena);
    return done;
}
