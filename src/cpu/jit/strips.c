/* SPDX-License-Identifier: MIT
 *
 * In: a module ready for LLVM's code generator. Out: the same module, in which a subgroup reads and
 * writes memory in the order of the addresses: where operations on all lanes follow one another,
 * little more than loads and stores, they are done for as many lanes at a time as a register of the
 * machine holds.
 *
 * A subgroup's vectors fill several registers. LLVM accesses memory operation by operation, and of
 * eight cache lines the seventh, the eighth, the fifth, ... What comes from memory then takes twice
 * as long on a Zen 4, whose prefetchers expect it in order: c[i] = a[i] + b[i] 0.7 billion numbers
 * a second, with each array in order 1.1, and strip by strip 1.5. In longer computations LLVM works
 * on strips side by side, which hides what an operation waits for (otherwise 0.8 to 0.93 of their
 * speed is left); these stay as they are.
 *
 * Each lane's accesses stay in order. Those of different lanes need not without a barrier, and
 * barriers are fences (cpu/lanes/flow.c); where one sees that lanes access each other's places in
 * an array, they stay in order nonetheless.
 */
#include <llvm-c/DebugInfo.h>

#include "cpu/jit/jit.h"
#include "llvm/ir.h"

typedef LLVMValueRef Val;
typedef LLVMTypeRef Type;

enum {
    STREAMS = 8,    /* accesses of a run: more are rows that would be read in turns */
    PER_ACCESS = 3, /* operations for each */
    LONGEST = STREAMS * PER_ACCESS,
    OPERANDS = 3
};

/* What of memory an operation reads or writes: `bytes` from `offset` of `base` on, which is in or
 * next to `root`. NULL: anything. */
typedef struct Access {
    Val root, base;
    int64_t offset, bytes;
    bool writes;
} Access;

/* Operations on as many lanes that follow one another in a block. */
typedef struct Run {
    Val op[LONGEST];
    Access access[LONGEST];
    uint32_t n, n_accesses; /* n: with those beyond LONGEST, which are not kept */
    uint32_t lanes, widest; /* widest: bits of an element in memory */
    unsigned kinds;         /* bits: loads, stores, others */
    Map at;                 /* by operation: where it is */
} Run;

typedef struct Strips {
    Arena arena;
    LLVMModuleRef module;
    LLVMContextRef context;
    LLVMBuilderRef b;
    LLVMTargetDataRef layout;
    uint32_t vector_bits, lanes, n; /* lanes of a strip, and strips of a run */
    Run run;
    Val *part;  /* of the run's operations, by operation and strip */
    Map leaves; /* of what they use: by value, its parts */
} Strips;

/* ---- what there is --------------------------------------------------------------------------- */

/* Intrinsics that do the same to each lane, overloaded on their result alone. */
static const char *const lanewise[] = {
    "llvm.fma",  "llvm.fmuladd", "llvm.fabs",   "llvm.sqrt",   "llvm.floor",    "llvm.ceil",
    "llvm.rint", "llvm.trunc",   "llvm.minnum", "llvm.maxnum", "llvm.minimum",  "llvm.maximum",
    "llvm.smin", "llvm.smax",    "llvm.umin",   "llvm.umax",   "llvm.copysign", "llvm.abs",
    "llvm.fshl", "llvm.fshr",    "llvm.ctpop",  "llvm.bswap",
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

/* How many lanes an operation works on, or 0. */
static uint32_t lanes_of_op(Val i)
{
    Type t = type_of(i);
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetVectorSize(t) : 0;
}

static bool is_lanewise(Val i)
{
    uint32_t lanes = lanes_of_op(i);
    if (!lanes)
        return false;
    if (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i))
        return !LLVMGetVolatile(i) && LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic;
    if (LLVMIsACallInst(i))
        return is_masked_load(i) || is_masked_store(i) || lanewise_of(i);
    if (LLVMIsACastInst(i))
        return ir_is_vector(LLVMGetOperand(i, 0)) &&
               LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(i, 0))) == lanes;
    return LLVMIsABinaryOperator(i) || LLVMIsACmpInst(i) || LLVMIsASelectInst(i) ||
           LLVMIsAFreezeInst(i) || LLVMGetInstructionOpcode(i) == LLVMFNeg;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static Val base_of(Val p, int64_t *offset)
{
    Type byte = LLVMInt8TypeInContext(LLVMGetTypeContext(LLVMTypeOf(p)));
    for (*offset = 0; LLVMIsAGetElementPtrInst(p); p = LLVMGetOperand(p, 0)) {
        Val by = LLVMGetOperand(p, 1);
        if (LLVMGetGEPSourceElementType(p) != byte || !LLVMIsAConstantInt(by))
            break;
        *offset += LLVMConstIntGetSExtValue(by);
    }
    return p;
}

static Val root_of(Val p)
{
    while (LLVMIsAGetElementPtrInst(p) || LLVMIsAIntToPtrInst(p))
        p = LLVMGetOperand(p, 0);
    return LLVMIsALoadInst(p) || LLVMIsAAllocaInst(p) || LLVMIsAArgument(p) ? p : NULL;
}

static uint32_t element_bits(const Strips *s, Type t)
{
    return (uint32_t)LLVMSizeOfTypeInBits(s->layout, ir_element(t));
}

static Access access_of(const Strips *s, Val i)
{
    Val p = LLVMGetOperand(i, stores(i));
    Access a = { .root = root_of(p),
                 .bytes = (int64_t)LLVMABISizeOfType(s->layout, type_of(i)),
                 .writes = stores(i) };
    a.base = base_of(p, &a.offset);
    return a;
}

/* Whether lanes may meet in memory, other than each with itself. */
static bool may_meet(const Access *x, const Access *y)
{
    if (!x->writes && !y->writes)
        return false;
    if (!x->root || !y->root)
        return true;
    if (x->root != y->root)
        return false;
    if (x->base != y->base)
        return true;
    int64_t apart = y->offset - x->offset; /* none: each lane has its own, if as large */
    return apart ? apart < x->bytes && -apart < y->bytes : x->bytes != y->bytes;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static bool is_in_run(const Run *r, Val v)
{
    uint64_t at;
    return map_get(&r->at, (uintptr_t)v, &at);
}

static bool uses_run(const Run *r, Val i)
{
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); k++)
        if (is_in_run(r, LLVMGetOperand(i, k)))
            return true;
    return false;
}

/* Whether an operation may stay before a run that it stands in. */
static bool may_stay(const Run *r, Val i)
{
    if (LLVMIsATerminatorInst(i) || LLVMIsAStoreInst(i) || LLVMIsACallInst(i) ||
        LLVMIsAFenceInst(i) || LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i) ||
        uses_run(r, i))
        return false;
    if (!LLVMIsALoadInst(i))
        return true;
    bool writes = LLVMGetVolatile(i) || LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic;
    for (uint32_t k = 0; k < r->n_accesses; k++)
        writes |= r->access[k].writes;
    return !writes;
}

static bool add_access(Strips *s, Val i)
{
    Run *r = &s->run;
    Access a = access_of(s, i);
    uint32_t bits = element_bits(s, type_of(i));
    if (r->n_accesses == LONGEST || (a.root && LLVMIsAAllocaInst(a.root)) || bits < 8 ||
        !is_pow2(bits))
        return false;
    for (uint32_t k = 0; k < r->n_accesses; k++)
        if (may_meet(&r->access[k], &a))
            return false;
    r->access[r->n_accesses++] = a;
    r->widest = MAX(r->widest, bits);
    return true;
}

static bool add(Strips *s, Val i)
{
    Run *r = &s->run;
    uint32_t lanes = lanes_of_op(i);
    if ((r->n && lanes != r->lanes) || ((loads(i) || stores(i)) && !add_access(s, i)))
        return false;
    r->lanes = lanes;
    r->kinds |= loads(i) ? 1 : stores(i) ? 2 : 4;
    map_put(&s->arena, &r->at, (uintptr_t)i, r->n);
    if (r->n < LONGEST)
        r->op[r->n] = i;
    r->n++;
    return true;
}

/* ---- strips ---------------------------------------------------------------------------------- */

static Type strip_type(const Strips *s, Type t) { return LLVMVectorType(ir_element(t), s->lanes); }

static Val constant_part(const Strips *s, Val v, uint32_t strip)
{
    Val lane[IR_MAX_LANES];
    for (uint32_t k = 0; k < s->lanes; k++)
        if (!(lane[k] = LLVMGetAggregateElement(v, strip * s->lanes + k)))
            return NULL; /* an expression */
    return LLVMConstVector(lane, s->lanes);
}

/* What is in all lanes alike, or NULL. */
static Val splatted(Val v)
{
    if (!LLVMIsAShuffleVectorInst(v))
        return NULL;
    Val one = LLVMGetOperand(v, 0);
    if (!LLVMIsAInsertElementInst(one) || !ir_is_int(LLVMGetOperand(one, 2), 0))
        return NULL;
    for (uint32_t k = 0; k < LLVMGetVectorSize(LLVMTypeOf(v)); k++)
        if (LLVMGetMaskValue(v, k) != 0)
            return NULL;
    return LLVMGetOperand(one, 1);
}

/* A part of what the run does not compute, made before it. Where all parts are the same, they are
 * one value from the start. */
static Val leaf_part(Strips *s, Val v, uint32_t strip)
{
    uint64_t found;
    Val *part;
    if (map_get(&s->leaves, (uintptr_t)v, &found)) {
        part = (Val *)(uintptr_t)found;
    } else {
        part = NEW_ARRAY(&s->arena, Val, s->n);
        map_put(&s->arena, &s->leaves, (uintptr_t)v, (uintptr_t)part);
    }
    if (part[strip])
        return part[strip];
    Val x = splatted(v);
    if (!x)
        return part[strip] = ir_part(s->b, v, strip * s->lanes, s->lanes);
    LLVMBuilderRef here = LLVMCreateBuilderInContext(s->context);
    ir_build_behind(here, v);
    Val narrow = ir_splat(here, x, s->lanes);
    LLVMDisposeBuilder(here);
    for (uint32_t k = 0; k < s->n; k++)
        part[k] = narrow;
    return narrow;
}

static Val part_of(Strips *s, Val v, uint32_t strip)
{
    uint64_t at;
    if (!ir_is_vector(v))
        return v;
    if (map_get(&s->run.at, (uintptr_t)v, &at))
        return s->part[at * s->n + strip];
    Val constant = LLVMIsConstant(v) ? constant_part(s, v, strip) : NULL;
    return constant ? constant : leaf_part(s, v, strip);
}

/* Where a strip of an access begins; lowers the alignment to its own. */
static Val strip_address(Strips *s, Val p, Type t, uint32_t strip, unsigned *align)
{
    uint64_t offset = (uint64_t)strip * s->lanes * element_bits(s, t) / 8;
    if (!offset)
        return p;
    *align = (unsigned)MIN(*align, offset & -offset);
    return ir_at(s->b, p, ir_int(LLVMInt64TypeInContext(s->context), offset));
}

static Val strip_of_call(Strips *s, Val i, uint32_t strip)
{
    Val args[OPERANDS];
    Type t = strip_type(s, type_of(i));
    unsigned n = LLVMGetNumArgOperands(i);
    if (!loads(i) && !stores(i)) {
        for (unsigned k = 0; k < n; k++)
            args[k] = part_of(s, LLVMGetOperand(i, k), strip);
        return ir_intrinsic(s->b, lanewise_of(i), &t, 1, args, n);
    }
    unsigned address = stores(i), align = ir_masked_args(i, address, args);
    for (unsigned k = 0; k < OPERANDS; k++)
        args[k] = k == address ? strip_address(s, args[k], type_of(i), strip, &align)
                               : part_of(s, args[k], strip);
    return ir_masked(s->b, address ? "llvm.masked.store" : "llvm.masked.load", args, address,
                     align);
}

static Val strip_of_access(Strips *s, Val i, uint32_t strip)
{
    unsigned align = LLVMGetAlignment(i);
    Val p = strip_address(s, LLVMGetOperand(i, stores(i)), type_of(i), strip, &align);
    Val v = stores(i) ? LLVMBuildStore(s->b, part_of(s, LLVMGetOperand(i, 0), strip), p)
                      : LLVMBuildLoad2(s->b, strip_type(s, type_of(i)), p, "");
    LLVMSetAlignment(v, align);
    return v;
}

static Val strip_of(Strips *s, Val i, uint32_t strip)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    switch (op) {
    case LLVMLoad:
    case LLVMStore: return strip_of_access(s, i, strip);
    case LLVMCall: return strip_of_call(s, i, strip);
    default: break;
    }
    Val x[OPERANDS] = { 0 };
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); k++)
        x[k] = part_of(s, LLVMGetOperand(i, k), strip);
    switch (op) {
    case LLVMICmp: return LLVMBuildICmp(s->b, LLVMGetICmpPredicate(i), x[0], x[1], "");
    case LLVMFCmp: return LLVMBuildFCmp(s->b, LLVMGetFCmpPredicate(i), x[0], x[1], "");
    case LLVMSelect: return LLVMBuildSelect(s->b, x[0], x[1], x[2], "");
    case LLVMFreeze: return LLVMBuildFreeze(s->b, x[0], "");
    case LLVMFNeg: return LLVMBuildFNeg(s->b, x[0], "");
    default: break;
    }
    return LLVMIsACastInst(i) ? LLVMBuildCast(s->b, op, x[0], strip_type(s, LLVMTypeOf(i)), "")
                              : LLVMBuildBinOp(s->b, op, x[0], x[1], "");
}

/* What the code generator makes use of besides an operation's operands. */
static void keep_flags(Val from, Val to)
{
    if (!LLVMIsAInstruction(to))
        return;
    if (LLVMCanValueUseFastMathFlags(from) && LLVMCanValueUseFastMathFlags(to))
        LLVMSetFastMathFlags(to, LLVMGetFastMathFlags(from));
    switch (LLVMGetInstructionOpcode(from)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
        LLVMSetNUW(to, LLVMGetNUW(from));
        LLVMSetNSW(to, LLVMGetNSW(from));
        break;
    case LLVMOr: LLVMSetIsDisjoint(to, LLVMGetIsDisjoint(from)); break;
    case LLVMZExt: LLVMSetNNeg(to, LLVMGetNNeg(from)); break;
    default: break;
    }
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
    while (u && is_in_run(r, LLVMGetUser(u)))
        u = LLVMGetNextUse(u);
    return u != NULL;
}

static void replace_run(Strips *s)
{
    Run *r = &s->run;
    s->part = NEW_ARRAY(&s->arena, Val, r->n * s->n);
    s->leaves = (Map){ 0 };
    for (uint32_t strip = 0; strip < s->n; strip++)
        for (uint32_t k = 0; k < r->n; k++) {
            LLVMSetCurrentDebugLocation2(s->b, LLVMInstructionGetDebugLoc(r->op[k]));
            Val v = strip_of(s, r->op[k], strip);
            keep_flags(r->op[k], v);
            s->part[k * s->n + strip] = v;
        }
    for (uint32_t k = 0; k < r->n; k++)
        if (is_used_outside(r, r->op[k]))
            LLVMReplaceAllUsesWith(r->op[k], ir_concatenate(s->b, &s->part[k * s->n], s->n));
    for (uint32_t k = r->n; k-- > 0;)
        LLVMInstructionEraseFromParent(r->op[k]);
}

/* Before `next`, the first operation behind it. */
static void end_run(Strips *s, Val next)
{
    Run *r = &s->run;
    s->lanes = r->widest ? s->vector_bits / r->widest : 0;
    s->n = s->lanes ? r->lanes / s->lanes : 0;
    if (r->kinds & (r->kinds - 1) && r->n_accesses <= STREAMS &&
        r->n <= PER_ACCESS * r->n_accesses && s->n > 1 && is_pow2(r->lanes) &&
        r->lanes <= IR_MAX_LANES) {
        LLVMPositionBuilderBefore(s->b, next);
        replace_run(s);
    }
    *r = (Run){ 0 };
}

static void strip_block(Strips *s, LLVMBasicBlockRef block)
{
    Val next;
    for (Val i = LLVMGetFirstInstruction(block); i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (LLVMIsAPHINode(i))
            continue;
        bool fits = is_lanewise(i);
        if (fits ? add(s, i) : may_stay(&s->run, i))
            continue;
        end_run(s, i);
        if (fits)
            add(s, i);
    }
}

static void strip_all(void *user)
{
    Strips *s = user;
    for (Val f = LLVMGetFirstFunction(s->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            strip_block(s, b);
}

bool cpu_by_strips(LLVMModuleRef module, LLVMTargetDataRef layout, uint32_t vector_bits)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    Strips s = { .module = module,
                 .context = context,
                 .layout = layout,
                 .vector_bits = vector_bits,
                 .b = LLVMCreateBuilderInContext(context) };
    bool done = arena_try(&s.arena, strip_all, &s);
    LLVMDisposeBuilder(s.b);
    arena_free(&s.arena);
    return done;
}
