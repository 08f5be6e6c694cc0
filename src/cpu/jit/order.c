/* SPDX-License-Identifier: MIT
 *
 * In: an optimised module. Out: the same module, in which what little more than reads and writes
 * memory does so in the order of the addresses.
 *
 * A subgroup's vectors fill several registers. LLVM halves them until they fit, and then accesses,
 * of eight cache lines, the seventh, the eighth, the fifth, ... What comes from memory takes up to
 * twice as long on a Zen 4, whose prefetchers expect it in order: c[i] = a[i] + b[i] 0.7 billion
 * numbers a second instead of 1.1 to 1.4. Here the halving is done before, for what leads from
 * loads to stores; LLVM keeps the order that it finds.
 *
 * Operation by operation, as it was: a register's worth through all of them before the next would
 * be 1.5 billion, but loads wait on Intel's machines for stores before them whose addresses have
 * the same low 12 bits (a stencil on a Xeon: 0.36 to 0.54 of its speed), and no lane's store may
 * come before what another one loaded.
 */
#include <llvm-c/DebugInfo.h>

#include "cpu/jit/jit.h"
#include "llvm/ir.h"

typedef LLVMValueRef Val;
typedef LLVMTypeRef Type;

enum {
    LEAST = 4, /* registers of a vector: two are loaded in order anyway */
    MOST_REGISTERS = 32,
    STREAMS = 8,    /* accesses that follow one another: more are not streams */
    PER_ACCESS = 3, /* operations for each */
    LONGEST = STREAMS * PER_ACCESS,
    ENOUGH = 64, /* accesses of a function: what has more takes LLVM long enough as it is */
    OPERANDS = 3
};

enum { LOADS = 1, STORES = 2, OTHERS = 4 };

/* Operations on as many lanes that follow one another in a block. */
typedef struct Run {
    Val op[LONGEST];
    uint32_t n, n_accesses; /* n: with those beyond LONGEST, which are not kept */
    uint32_t lanes, widest; /* widest: bits of an element in memory */
    unsigned kinds;         /* LOADS, STORES and OTHERS that it has */
} Run;

typedef struct Order {
    LLVMBuilderRef b;
    LLVMTargetDataRef layout;
    uint32_t vector_bits, lanes, n; /* lanes of a register, and registers of the run's vectors */
    Run run;
    Val part[LONGEST][MOST_REGISTERS];
} Order;

/* ---- what there is --------------------------------------------------------------------------- */

/* Intrinsics that do the same in each lane, overloaded on their result alone. */
static const char *const lanewise[] = {
    "llvm.fma",  "llvm.fmuladd", "llvm.fabs",   "llvm.sqrt",   "llvm.floor",   "llvm.ceil",
    "llvm.rint", "llvm.trunc",   "llvm.minnum", "llvm.maxnum", "llvm.minimum", "llvm.maximum",
    "llvm.smin", "llvm.smax",    "llvm.umin",   "llvm.umax",
};

static const char *lanewise_of(Val i)
{
    for (uint32_t k = 0; k < COUNT_OF(lanewise); k++)
        if (ir_calls(i, lanewise[k]))
            return lanewise[k];
    return NULL;
}

static bool is_masked_load(Val i) { return ir_calls(i, "llvm.masked.load"); }
static bool is_masked_store(Val i) { return ir_calls(i, "llvm.masked.store"); }
static bool loads(Val i) { return LLVMIsALoadInst(i) || is_masked_load(i); }
static bool stores(Val i) { return LLVMIsAStoreInst(i) || is_masked_store(i); }

/* Of what an operation computes, or stores. */
static Type type_of(Val i) { return LLVMTypeOf(stores(i) ? LLVMGetOperand(i, 0) : i); }

static uint32_t element_bits(const Order *o, Type t)
{
    Type element = ir_element(t);
    return LLVMTypeIsSized(element) ? (uint32_t)LLVMSizeOfTypeInBits(o->layout, element) : 0;
}

static bool is_access(Val i) { return loads(i) || stores(i); }

static bool is_plain(Val i)
{
    return LLVMIsACallInst(i) ||
           (!LLVMGetVolatile(i) && LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic);
}

/* A kernel's own variables are in the cache. */
static bool may_stream(Val i)
{
    Val p = LLVMGetOperand(i, stores(i) ? 1 : 0);
    while (LLVMIsAGetElementPtrInst(p))
        p = LLVMGetOperand(p, 0);
    return !LLVMIsAAllocaInst(p) && is_plain(i);
}

static bool is_splat(Val constant)
{
    Val first = LLVMGetAggregateElement(constant, 0);
    bool same = first;
    for (unsigned k = 1; k < LLVMGetVectorSize(LLVMTypeOf(constant)) && same; k++)
        same = LLVMGetAggregateElement(constant, k) == first;
    return same;
}

/* Whether an operation does the same in each lane. With other constants than splats a part of it
 * might be simpler than the whole; that the code generator should find none such, and no masks that
 * are put together, workarounds.c relies on: accesses use masks, but none is computed here. */
static bool is_by_lanes(const Order *o, Val i)
{
    Type t = type_of(i);
    uint32_t bits = LLVMGetTypeKind(t) == LLVMVectorTypeKind ? element_bits(o, t) : 0;
    if (bits < 8 || !is_pow2(bits))
        return false;
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); k++) {
        Val v = LLVMGetOperand(i, k);
        if (!ir_is_vector(v))
            continue;
        bool mask = element_bits(o, LLVMTypeOf(v)) < 8;
        if (LLVMGetVectorSize(LLVMTypeOf(v)) != LLVMGetVectorSize(t) ||
            (LLVMIsConstant(v) && !is_splat(v)) || (mask && !is_access(i)))
            return false;
    }
    return is_access(i) ? may_stream(i)
                        : LLVMIsABinaryOperator(i) || LLVMIsACastInst(i) || LLVMIsAFreezeInst(i) ||
                              LLVMGetInstructionOpcode(i) == LLVMFNeg || lanewise_of(i);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int place_in_run(const Run *r, Val v)
{
    for (uint32_t k = 0; k < MIN(r->n, (uint32_t)LONGEST); k++)
        if (r->op[k] == v)
            return (int)k;
    return -1;
}

static bool uses_run(const Run *r, Val i)
{
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); k++)
        if (place_in_run(r, LLVMGetOperand(i, k)) >= 0)
            return true;
    return false;
}

/* Whether an operation may stay before a run that it stands in. */
static bool may_stay(const Run *r, Val i)
{
    bool pure = LLVMIsAGetElementPtrInst(i) || LLVMIsABinaryOperator(i) || LLVMIsACastInst(i) ||
                LLVMIsACmpInst(i) || LLVMIsASelectInst(i) || LLVMIsAInsertElementInst(i) ||
                LLVMIsAShuffleVectorInst(i);
    bool reads = LLVMIsALoadInst(i) && is_plain(i) && !(r->kinds & STORES);
    return (pure || reads) && !uses_run(r, i);
}

static bool add(Order *o, Val i)
{
    Run *r = &o->run;
    uint32_t lanes = LLVMGetVectorSize(type_of(i));
    if (r->n && lanes != r->lanes)
        return false;
    r->lanes = lanes;
    r->kinds |= loads(i) ? LOADS : stores(i) ? STORES : OTHERS;
    if (is_access(i)) {
        r->n_accesses++;
        r->widest = MAX(r->widest, element_bits(o, type_of(i)));
    }
    if (r->n < LONGEST)
        r->op[r->n] = i;
    r->n++;
    return true;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static Val part_of(Order *o, Val v, uint32_t k)
{
    int at = place_in_run(&o->run, v);
    if (!ir_is_vector(v))
        return v;
    return at >= 0 ? o->part[at][k] : ir_part(o->b, v, k * o->lanes, o->lanes);
}

static Val part_of_access(Order *o, Val i, uint32_t k)
{
    Type t = type_of(i), part = LLVMVectorType(ir_element(t), o->lanes);
    uint64_t offset = (uint64_t)k * o->lanes * element_bits(o, t) / 8;
    unsigned address = stores(i) ? 1 : 0, align;
    Val x[OPERANDS] = { LLVMGetOperand(i, 0), address ? LLVMGetOperand(i, 1) : NULL };
    align = LLVMIsACallInst(i) ? ir_masked_args(i, address, x) : LLVMGetAlignment(i);
    for (unsigned j = 0; j < OPERANDS; j++)
        if (x[j] && j != address)
            x[j] = part_of(o, x[j], k);
    if (offset) {
        Type i64 = LLVMInt64TypeInContext(LLVMGetTypeContext(t));
        x[address] = ir_at(o->b, x[address], ir_int(i64, offset));
        align = (unsigned)MIN(align, offset & -offset);
    }
    if (LLVMIsACallInst(i))
        return ir_masked(o->b, address ? "llvm.masked.store" : "llvm.masked.load", x, address,
                         align);
    Val v = address ? LLVMBuildStore(o->b, x[0], x[1]) : LLVMBuildLoad2(o->b, part, x[0], "");
    LLVMSetAlignment(v, align);
    return v;
}

static Val part_of_op(Order *o, Val i, uint32_t k)
{
    Val x[OPERANDS] = { 0 };
    Type t = LLVMVectorType(ir_element(type_of(i)), o->lanes);
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    unsigned n = (unsigned)LLVMGetNumOperands(i) - (op == LLVMCall); /* not what is called */
    if (is_access(i))
        return part_of_access(o, i, k);
    for (unsigned j = 0; j < n; j++)
        x[j] = part_of(o, LLVMGetOperand(i, j), k);
    if (op == LLVMCall)
        return ir_intrinsic(o->b, lanewise_of(i), &t, 1, x, n);
    if (op == LLVMFreeze)
        return LLVMBuildFreeze(o->b, x[0], "");
    if (op == LLVMFNeg)
        return LLVMBuildFNeg(o->b, x[0], "");
    return LLVMIsACastInst(i) ? LLVMBuildCast(o->b, op, x[0], t, "")
                              : LLVMBuildBinOp(o->b, op, x[0], x[1], "");
}

/* What the code generator makes use of besides an operation's operands. */
static void keep_flags(Val from, Val to)
{
    if (!LLVMIsAInstruction(to))
        return;
    if (LLVMCanValueUseFastMathFlags(from) && LLVMCanValueUseFastMathFlags(to))
        LLVMSetFastMathFlags(to, LLVMGetFastMathFlags(from));
    if (LLVMIsAZExtInst(from) && LLVMIsAZExtInst(to))
        LLVMSetNNeg(to, LLVMGetNNeg(from));
    size_t n;
    LLVMValueMetadataEntry *all = LLVMInstructionGetAllMetadataOtherThanDebugLoc(from, &n);
    for (unsigned k = 0; k < n; k++) {
        LLVMMetadataRef m = LLVMValueMetadataEntriesGetMetadata(all, k);
        LLVMSetMetadata(to, LLVMValueMetadataEntriesGetKind(all, k),
                        LLVMMetadataAsValue(LLVMGetTypeContext(LLVMTypeOf(from)), m));
    }
    LLVMDisposeValueMetadataEntries(all);
}

static bool is_used_outside(const Run *r, Val v)
{
    LLVMUseRef u = LLVMGetFirstUse(v);
    while (u && place_in_run(r, LLVMGetUser(u)) >= 0)
        u = LLVMGetNextUse(u);
    return u != NULL;
}

/* Before the operation that the builder stands at. */
static void replace_run(Order *o)
{
    Run *r = &o->run;
    for (uint32_t at = 0; at < r->n; at++) {
        LLVMSetCurrentDebugLocation2(o->b, LLVMInstructionGetDebugLoc(r->op[at]));
        for (uint32_t k = 0; k < o->n; k++) {
            o->part[at][k] = part_of_op(o, r->op[at], k);
            keep_flags(r->op[at], o->part[at][k]);
        }
    }
    for (uint32_t at = 0; at < r->n; at++)
        if (is_used_outside(r, r->op[at]))
            LLVMReplaceAllUsesWith(r->op[at], ir_concatenate(o->b, o->part[at], o->n));
    for (uint32_t at = r->n; at-- > 0;)
        LLVMInstructionEraseFromParent(r->op[at]);
}

static void end_run(Order *o, Val next)
{
    Run *r = &o->run;
    o->lanes = r->widest ? o->vector_bits / r->widest : 0;
    o->n = o->lanes ? r->lanes / o->lanes : 0;
    bool streams =
        r->n_accesses <= STREAMS && r->n <= PER_ACCESS * r->n_accesses && r->kinds & (r->kinds - 1);
    if (streams && o->n >= LEAST && o->n <= MOST_REGISTERS && is_pow2(r->lanes) &&
        r->lanes <= IR_MAX_LANES) {
        LLVMPositionBuilderBefore(o->b, next);
        replace_run(o);
    }
    *r = (Run){ 0 };
}

static void order_block(Order *o, LLVMBasicBlockRef block)
{
    Val next;
    for (Val i = LLVMGetFirstInstruction(block); i; i = next) {
        next = LLVMGetNextInstruction(i);
        bool fits = is_by_lanes(o, i);
        if (fits ? add(o, i) : may_stay(&o->run, i))
            continue;
        end_run(o, i);
        if (fits)
            add(o, i);
    }
}

static uint32_t number_of_accesses(Val f)
{
    uint32_t n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (Val i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            n += is_access(i) && LLVMGetTypeKind(type_of(i)) == LLVMVectorTypeKind;
    return n;
}

void cpu_access_in_order(LLVMModuleRef module, LLVMTargetDataRef layout, uint32_t vector_bits)
{
    Order o = { .layout = layout, .vector_bits = vector_bits };
    o.b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (Val f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (number_of_accesses(f) <= ENOUGH)
            for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
                order_block(&o, b);
    LLVMDisposeBuilder(o.b);
}
