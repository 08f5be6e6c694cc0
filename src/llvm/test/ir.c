/* SPDX-License-Identifier: MIT
 *
 * ir.h: what its pieces print as.
 */
#include "base/test.h"
#include "llvm/ir.h"

typedef struct Function {       /* void f(ptr p, i64 n, half x) */
    LLVMContextRef cx;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    LLVMValueRef p, n, x;
    char *text;
} Function;

static Function open_function(void)
{
    Function f = { .cx = LLVMContextCreate() };
    f.module = LLVMModuleCreateWithNameInContext("m", f.cx);
    LLVMTypeRef params[] = { LLVMPointerTypeInContext(f.cx, 0), LLVMInt64TypeInContext(f.cx),
                             LLVMHalfTypeInContext(f.cx) };
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(f.cx), params, 3, false);
    LLVMValueRef fn = LLVMAddFunction(f.module, "f", type);
    f.b = LLVMCreateBuilderInContext(f.cx);
    LLVMPositionBuilderAtEnd(f.b, LLVMAppendBasicBlockInContext(f.cx, fn, ""));
    f.p = LLVMGetParam(fn, 0);
    f.n = LLVMGetParam(fn, 1);
    f.x = LLVMGetParam(fn, 2);
    return f;
}

static const char *text_of(Function *f)
{
    LLVMDisposeMessage(f->text);
    return f->text = LLVMPrintModuleToString(f->module);
}

static void close_function(Function *f)
{
    LLVMDisposeMessage(f->text);
    LLVMDisposeBuilder(f->b);
    LLVMDisposeModule(f->module);
    LLVMContextDispose(f->cx);
}

static bool prints_as(LLVMValueRef v, const char *want)
{
    char *got = LLVMPrintValueToString(v);
    bool same = test_str(__FILE__, __LINE__, "the value", got, want);
    LLVMDisposeMessage(got);
    return same;
}

/* n times x of that type; LLVM 19 prints each. */
static bool prints_as_splat(LLVMValueRef v, unsigned n, const char *type, const char *x)
{
    char want[256];
    int at = snprintf(want, sizeof want, "<%u x %s> ", n, type);
    if (LLVM_VERSION_MAJOR >= 20)
        snprintf(want + at, sizeof want - (size_t)at, "splat (%s %s)", type, x);
    else
        for (unsigned k = 0; k < n; k++)
            at += snprintf(want + at, sizeof want - (size_t)at, "%s%s %s%s", k ? ", " : "<", type,
                           x, k + 1 < n ? "" : ">");
    return prints_as(v, want);
}

TEST(integers_keep_their_low_bits)
{
    Function f = open_function();
    LLVMTypeRef i8 = LLVMInt8TypeInContext(f.cx), i64 = LLVMInt64TypeInContext(f.cx);
    prints_as(ir_int(i8, 0x1ff), "i8 -1");
    prints_as(ir_int(LLVMInt1TypeInContext(f.cx), 1), "i1 true");
    prints_as(ir_int(i64, UINT64_MAX), "i64 -1");
    prints_as(ir_int(LLVMIntTypeInContext(f.cx, 128), UINT64_MAX), "i128 -1");
    prints_as_splat(ir_int(LLVMVectorType(i8, 2), 7), 2, "i8", "7");
    prints_as(ir_inum(f.n, 5), "i64 5");
    CHECK(ir_is_int(ir_int(i8, 0x1ff), 0xff) && !ir_is_int(ir_int(i8, 3), 4));
    CHECK(!ir_is_int(f.n, 0) && !ir_is_int(ir_int(LLVMVectorType(i8, 2), 7), 7));
    close_function(&f);
}

TEST(floats)
{
    Function f = open_function();
    prints_as_splat(ir_real(LLVMVectorType(LLVMFloatTypeInContext(f.cx), 4), 0.5), 4, "float",
                    "5.000000e-01");
    prints_as(ir_fnum(f.x, 1), "half 0xH3C00");
    close_function(&f);
}

TEST(types)
{
    Function f = open_function();
    LLVMTypeRef i8 = LLVMInt8TypeInContext(f.cx), i64 = LLVMInt64TypeInContext(f.cx);
    CHECK(ir_element(LLVMVectorType(i8, 4)) == i8 && ir_element(i8) == i8);
    CHECK(ir_type_like(LLVMVectorType(i8, 4), i64) == LLVMVectorType(i64, 4));
    CHECK(ir_type_like(i8, i64) == i64 && !ir_is_vector(f.n));
    CHECK(ir_is_vector(ir_int(LLVMVectorType(i8, 4), 0)));
    close_function(&f);
}

TEST(shuffles_and_splats)
{
    Function f = open_function();
    LLVMTypeRef i8 = LLVMInt8TypeInContext(f.cx);
    LLVMValueRef lanes[4] = { ir_int(i8, 10), ir_int(i8, 11), ir_int(i8, 12), ir_int(i8, 13) };
    LLVMValueRef low = LLVMConstVector(lanes, 2), high = LLVMConstVector(lanes + 2, 2);
    prints_as(ir_shuffle(f.b, low, high, (const int[]){ 3, 0, 1 }, 3),
              "<3 x i8> <i8 13, i8 10, i8 11>");
    prints_as(ir_shuffle(f.b, low, NULL, (const int[]){ 1, 1, 1, 0 }, 4),
              "<4 x i8> <i8 11, i8 11, i8 11, i8 10>");
    prints_as_splat(ir_splat(f.b, lanes[1], 2), 2, "i8", "11");
    ir_store(f.b, ir_splat(f.b, f.x, 4), f.p, 2);
    CHECK_CONTAINS(text_of(&f), "<4 x half> poison, <4 x i32> zeroinitializer");
    CHECK_CONTAINS(text_of(&f), "ptr %0, align 2");
    LLVMValueRef four = ir_splat(f.b, f.x, 4);
    ir_store(f.b, ir_shuffle(f.b, four, NULL, (const int[]){ 3, -1 }, 2), f.p, 2);
    CHECK_CONTAINS(text_of(&f), "<4 x half> poison, <2 x i32> <i32 3, i32 poison>");
    close_function(&f);
}

TEST(memory)
{
    Function f = open_function();
    LLVMTypeRef i64 = LLVMInt64TypeInContext(f.cx);
    ir_load(f.b, i64, ir_at(f.b, f.p, f.n), 1);
    ir_load(f.b, i64, ir_at_inbounds(f.b, f.p, f.n), 16);
    CHECK_CONTAINS(text_of(&f), "getelementptr i8, ptr %0, i64 %1");
    CHECK_CONTAINS(text_of(&f), "getelementptr inbounds i8, ptr %0, i64 %1");
    CHECK_CONTAINS(text_of(&f), "load i64, ptr %4, align 1\n");
    CHECK_CONTAINS(text_of(&f), "align 16\n");
    close_function(&f);
}

TEST(intrinsics)
{
    Function f = open_function();
    ir_store(f.b, ir_binary(f.b, "llvm.umin", f.n, ir_unary(f.b, "llvm.ctpop", f.n)), f.p, 8);
    CHECK_CONTAINS(text_of(&f), "call i64 @llvm.ctpop.i64(i64 %1)");
    CHECK_CONTAINS(text_of(&f), "call i64 @llvm.umin.i64(i64 %1, i64 %4)");
    close_function(&f);
}
