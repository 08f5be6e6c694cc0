/* SPDX-License-Identifier: MIT
 *
 * The pieces of LLVM IR that every emitter needs.
 */
#include "llvm/ir.h"

#include <string.h>

typedef LLVMValueRef Val;

/* ---- types ----------------------------------------------------------------------------------- */

static bool is_vector_type(LLVMTypeRef t) { return LLVMGetTypeKind(t) == LLVMVectorTypeKind; }

LLVMTypeRef ir_element(LLVMTypeRef t) { return is_vector_type(t) ? LLVMGetElementType(t) : t; }

LLVMTypeRef ir_element_of(Val v) { return ir_element(LLVMTypeOf(v)); }

LLVMTypeRef ir_type_like(LLVMTypeRef like, LLVMTypeRef element)
{
    return is_vector_type(like) ? LLVMVectorType(element, LLVMGetVectorSize(like)) : element;
}

bool ir_is_vector(Val v) { return is_vector_type(LLVMTypeOf(v)); }

/* ---- constants ------------------------------------------------------------------------------- */

static Val repeat(Val x, unsigned n)
{
    Val lanes[IR_MAX_LANES];
    for (unsigned k = 0; k < n; k++)
        lanes[k] = x;
    return LLVMConstVector(lanes, n);
}

static Val constant_like(LLVMTypeRef t, Val x)
{
    return is_vector_type(t) ? repeat(x, LLVMGetVectorSize(t)) : x;
}

Val ir_int(LLVMTypeRef t, uint64_t x)
{
    LLVMTypeRef element = ir_element(t);
    unsigned width = LLVMGetIntTypeWidth(element);
    if (width < 64)
        x &= (UINT64_C(1) << width) - 1;
    return constant_like(t, LLVMConstInt(element, x, width > 64));
}

Val ir_real(LLVMTypeRef t, double x) { return constant_like(t, LLVMConstReal(ir_element(t), x)); }

Val ir_inum(Val like, uint64_t x) { return ir_int(LLVMTypeOf(like), x); }

Val ir_fnum(Val like, double x) { return ir_real(LLVMTypeOf(like), x); }

bool ir_is_int(Val v, uint64_t x)
{
    return LLVMIsAConstantInt(v) && LLVMConstIntGetZExtValue(v) == x;
}

/* ---- vectors --------------------------------------------------------------------------------- */

static LLVMTypeRef i32_beside(LLVMTypeRef t)
{
    return LLVMInt32TypeInContext(LLVMGetTypeContext(t));
}

Val ir_splat(LLVMBuilderRef b, Val x, uint32_t n)
{
    if (LLVMIsConstant(x))
        return repeat(x, n);
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(x), n), i32 = i32_beside(type);
    Val one = LLVMBuildInsertElement(b, LLVMGetPoison(type), x, LLVMConstNull(i32), "");
    return LLVMBuildShuffleVector(b, one, LLVMGetPoison(type),
                                  LLVMConstNull(LLVMVectorType(i32, n)), "");
}

Val ir_splatted(Val v)
{
    Val from = LLVMIsAShuffleVectorInst(v) ? LLVMGetOperand(v, 0) : NULL;
    if (!from || !LLVMIsAInsertElementInst(from) || !ir_is_int(LLVMGetOperand(from, 2), 0))
        return NULL;
    for (unsigned k = 0; k < LLVMGetNumMaskElements(v); k++)
        if (LLVMGetMaskValue(v, k))
            return NULL;
    return LLVMGetOperand(from, 1);
}

Val ir_shuffle(LLVMBuilderRef b, Val x, Val y, const int *lanes, uint32_t n)
{
    LLVMTypeRef i32 = i32_beside(LLVMTypeOf(x));
    Val mask[IR_MAX_LANES];
    for (uint32_t k = 0; k < n; k++)
        mask[k] = lanes[k] < 0 ? LLVMGetPoison(i32) : LLVMConstInt(i32, (unsigned)lanes[k], false);
    return LLVMBuildShuffleVector(b, x, y ? y : LLVMGetPoison(LLVMTypeOf(x)),
                                  LLVMConstVector(mask, n), "");
}

Val ir_part(LLVMBuilderRef b, Val v, uint32_t from, uint32_t n)
{
    int lane[IR_MAX_LANES];
    if (n == LLVMGetVectorSize(LLVMTypeOf(v)))
        return v;
    for (uint32_t k = 0; k < n; k++)
        lane[k] = (int)(from + k);
    return ir_shuffle(b, v, NULL, lane, n);
}

Val ir_concatenate(LLVMBuilderRef b, Val *v, uint32_t n)
{
    int lane[IR_MAX_LANES];
    for (; n > 1; n /= 2)
        for (uint32_t k = 0; k < n / 2; k++) {
            uint32_t size = LLVMGetVectorSize(LLVMTypeOf(v[2 * k]));
            for (uint32_t j = 0; j < 2 * size; j++)
                lane[j] = (int)j;
            v[k] = ir_shuffle(b, v[2 * k], v[2 * k + 1], lane, 2 * size);
        }
    return v[0];
}

/* ---- memory ---------------------------------------------------------------------------------- */

static LLVMTypeRef i8_beside(Val v)
{
    return LLVMInt8TypeInContext(LLVMGetTypeContext(LLVMTypeOf(v)));
}

Val ir_at(LLVMBuilderRef b, Val p, Val bytes)
{
    return LLVMBuildGEP2(b, i8_beside(p), p, &bytes, 1, "");
}

Val ir_at_inbounds(LLVMBuilderRef b, Val p, Val bytes)
{
    return LLVMBuildInBoundsGEP2(b, i8_beside(p), p, &bytes, 1, "");
}

Val ir_load(LLVMBuilderRef b, LLVMTypeRef t, Val p, unsigned align)
{
    Val v = LLVMBuildLoad2(b, t, p, "");
    LLVMSetAlignment(v, align);
    return v;
}

void ir_store(LLVMBuilderRef b, Val v, Val p, unsigned align)
{
    LLVMSetAlignment(LLVMBuildStore(b, v, p), align);
}

/* ---- intrinsics ------------------------------------------------------------------------------ */

Val ir_intrinsic(LLVMBuilderRef b, const char *name, LLVMTypeRef *types, unsigned n_types,
                 Val *args, unsigned n_args)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMModuleRef module = LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(b)));
    Val f = LLVMGetIntrinsicDeclaration(module, id, types, n_types);
    LLVMTypeRef ft = LLVMIntrinsicGetType(LLVMGetModuleContext(module), id, types, n_types);
    return LLVMBuildCall2(b, ft, f, args, n_args, "");
}

Val ir_unary(LLVMBuilderRef b, const char *name, Val x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    return ir_intrinsic(b, name, &t, 1, &x, 1);
}

Val ir_binary(LLVMBuilderRef b, const char *name, Val x, Val y)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    Val args[2] = { x, y };
    return ir_intrinsic(b, name, &t, 1, args, 2);
}

/* AArch64 has an instruction for this, which returns a signalling NaN if there is one. */
static Val number(LLVMBuilderRef b, const char *name, Val x, Val y)
{
    LLVMModuleRef module = LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(b)));
    Val r = ir_binary(b, name, x, y);
    if (strncmp(LLVMGetTarget(module), "aarch64", 7))
        return r;
    r = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, x, x, ""), y, r, "");
    return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, y, y, ""), x, r, "");
}

Val ir_lesser(LLVMBuilderRef b, Val x, Val y) { return number(b, "llvm.minnum", x, y); }
Val ir_greater(LLVMBuilderRef b, Val x, Val y) { return number(b, "llvm.maxnum", x, y); }

/* Since LLVM 22 the alignment is an attribute of the address; before, it was an argument of its
 * own. */
Val ir_masked(LLVMBuilderRef b, const char *name, const Val args[3], unsigned address,
              unsigned align)
{
    LLVMTypeRef types[2] = { LLVMTypeOf(args[address ? 0 : 2]), LLVMTypeOf(args[address]) };
    LLVMContextRef cx = LLVMGetTypeContext(types[0]);
    Val all[4];
    unsigned m = 0;
    for (unsigned k = 0; k < 3; k++) {
        all[m++] = args[k];
        if (LLVM_VERSION_MAJOR < 22 && k == address)
            all[m++] = LLVMConstInt(LLVMInt32TypeInContext(cx), align, false);
    }
    Val call = ir_intrinsic(b, name, types, 2, all, m);
    if (LLVM_VERSION_MAJOR >= 22) {
        unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
        LLVMAddCallSiteAttribute(call, address + 1, LLVMCreateEnumAttribute(cx, kind, align));
    }
    return call;
}

unsigned ir_masked_args(Val call, unsigned address, Val args[3])
{
    for (unsigned k = 0; k < 3; k++)
        args[k] = LLVMGetOperand(call, LLVM_VERSION_MAJOR < 22 && k > address ? k + 1 : k);
    if (LLVM_VERSION_MAJOR < 22)
        return (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(call, address + 1));
    unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
    LLVMAttributeRef its = LLVMGetCallSiteEnumAttribute(call, address + 1, kind);
    return its ? (unsigned)LLVMGetEnumAttributeValue(its) : 1;
}

bool ir_calls(Val i, const char *intrinsic)
{
    return LLVMIsAIntrinsicInst(i) && LLVMGetIntrinsicID(LLVMGetCalledValue(i)) ==
                                          LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic));
}

const IrForms ir_vpdpbusd = { { "llvm.x86.avx512.vpdpbusd.128", "llvm.x86.avx512.vpdpbusd.256",
                                "llvm.x86.avx512.vpdpbusd.512" } };
const IrForms ir_vpmaddubsw = { { "llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.avx2.pmadd.ub.sw",
                                  "llvm.x86.avx512.pmaddubs.w.512" } };
const IrForms ir_vpmaddwd = { { "llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd",
                                "llvm.x86.avx512.pmaddw.d.512" } };

Val ir_asm(LLVMBuilderRef b, const IrAsm *code, LLVMTypeRef result, Val *args, unsigned n)
{
    LLVMTypeRef types[IR_MAX_ASM];
    for (unsigned k = 0; k < n; k++)
        types[k] = LLVMTypeOf(args[k]);
    LLVMTypeRef type = LLVMFunctionType(result, types, n, false);
    Val call = LLVMGetInlineAsm(type, code->text, strlen(code->text), code->constraints,
                                strlen(code->constraints), code->has_effects, false,
                                LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(b, type, call, args, n, "");
}

static void attach(Val i, const char *kind, LLVMMetadataRef *operands, size_t n)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(i));
    LLVMMetadataRef node = LLVMMDNodeInContext2(context, operands, n);
    LLVMSetMetadata(i, LLVMGetMDKindIDInContext(context, kind, (unsigned)strlen(kind)),
                    LLVMMetadataAsValue(context, node));
}

void ir_mark(Val i, const char *kind) { attach(i, kind, NULL, 0); }

void ir_expect(Val branch, bool first)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(branch));
    LLVMTypeRef i32 = LLVMInt32TypeInContext(context);
    LLVMMetadataRef weights[3] = { LLVMMDStringInContext2(context, "branch_weights", 14),
                                   LLVMValueAsMetadata(ir_int(i32, first ? 1000 : 1)),
                                   LLVMValueAsMetadata(ir_int(i32, first ? 1 : 1000)) };
    attach(branch, "prof", weights, 3);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Makes all branches to `from` lead to `to`. (Replacing all uses would rename the phis' edges
 * too.) */
static void redirect(LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    LLVMUseRef use;
    while ((use = LLVMGetFirstUse(LLVMBasicBlockAsValue(from))) != NULL) {
        Val branch = LLVMGetUser(use);
        for (unsigned i = 0; i < LLVMGetNumSuccessors(branch); i++)
            if (LLVMGetSuccessor(branch, i) == from)
                LLVMSetSuccessor(branch, i, to);
    }
}

/* The old block keeps the end, so that the phis of its successors stay right. */
LLVMBasicBlockRef ir_cut_before(LLVMBuilderRef b, LLVMBasicBlockRef block, Val cut)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(LLVMBasicBlockAsValue(block)));
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(context, block, "");
    redirect(block, head);
    LLVMPositionBuilderAtEnd(b, head);
    for (Val i = LLVMGetFirstInstruction(block); i != cut;) {
        Val next = LLVMGetNextInstruction(i);
        LLVMInstructionRemoveFromParent(i);
        LLVMInsertIntoBuilder(b, i);
        i = next;
    }
    return head;
}

void ir_build_behind(LLVMBuilderRef b, Val i)
{
    do
        i = LLVMGetNextInstruction(i);
    while (LLVMIsAPHINode(i));
    LLVMPositionBuilderBefore(b, i);
}

void ir_build_at_top(LLVMBuilderRef b, LLVMBasicBlockRef block)
{
    Val first = LLVMGetFirstInstruction(block);
    if (LLVMIsAPHINode(first))
        ir_build_behind(b, first);
    else
        LLVMPositionBuilderBefore(b, first);
}
