/* SPDX-License-Identifier: MIT
 *
 * Calls: of the program's functions, of built-in functions by their mangled names, and of matrix
 * operations (the cooperative matrix RFC, 4.5 and 4.6; opencl.h lists the names).
 */
#include "front/opencl/emit.h"

static LLVMValueRef emit_call_of(OclEmit *e, LLVMValueRef f, LLVMTypeRef type, LLVMValueRef *args,
                                 uint32_t n)
{
    LLVMValueRef c = LLVMBuildCall2(e->builder, type, f, args, n, "");
    LLVMSetInstructionCallConv(c, LLVMGetFunctionCallConv(f));
    return c;
}

static LLVMValueRef call_named(OclEmit *e, const char *name, OclType *result, LLVMValueRef *args,
                               uint32_t n, bool pure)
{
    LLVMTypeRef *types = NEW_ARRAY(e->o->arena, LLVMTypeRef, n);
    for (uint32_t i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(ocl_value_type(e, result), types, n, false);
    return emit_call_of(e, ocl_external(e, name, type, pure), type, args, n);
}

/* ---- the program's functions ----------------------------------------------------------------- */

/* A structure is passed by the address of a separate copy. */
static LLVMValueRef argument(OclEmit *e, OclNode *n)
{
    LLVMValueRef v = ocl_emit_value(e, n);
    if (!is_record(n->type))
        return v;
    LLVMValueRef copy = ocl_variable(e, n->type, "");
    ocl_copy(e, n->type, copy, v);
    return copy;
}

static LLVMValueRef emit_printf(OclEmit *e, OclNode *n, LLVMValueRef *args)
{
    LLVMTypeRef format = LLVMPointerTypeInContext(e->context, AS_CONSTANT);
    LLVMTypeRef type = LLVMFunctionType(e->i32, &format, 1, true);
    for (uint32_t i = 0; i < n->n; i++)
        args[i] = ocl_emit_value(e, n->list[i]);
    return emit_call_of(e, ocl_external(e, "printf", type, false), type, args, n->n);
}

LLVMValueRef ocl_emit_call(OclEmit *e, OclNode *n)
{
    LLVMValueRef *args = NEW_ARRAY(e->o->arena, LLVMValueRef, n->n + 1), result = NULL;
    uint32_t count = 0;
    if (!n->a)
        return emit_printf(e, n, args);
    LLVMValueRef f = ocl_emit_function(e, n->a->symbol);
    if (is_record(n->type))
        args[count++] = result = ocl_variable(e, n->type, "");
    for (uint32_t i = 0; i < n->n; i++)
        args[count++] = argument(e, n->list[i]);
    LLVMValueRef v = emit_call_of(e, f, LLVMGlobalGetValueType(f), args, count);
    return result ? result : v;
}

/* The built-in, as LLVM has none that the SPIR-V target would not make `fma` of, which has to be
 * exact. */
LLVMValueRef ocl_emit_mad(OclEmit *e, OclType *t, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z)
{
    LLVMValueRef args[] = { x, y, z };
    OclType *types[] = { t->plain, t->plain, t->plain };
    return call_named(e, ocl_mangle(e->o, "mad", types, 3), t->plain, args, 3, true);
}

/* ---- atomics --------------------------------------------------------------------------------- */

/* SPIR-V's memory semantics. An order that is not known is the strongest. */
static uint64_t semantics(OclEmit *e, const OclNode *order, OclSpace space)
{
    enum { SEQUENTIAL = 16, WORKGROUP = 256, CROSS_WORKGROUP = 512 };
    static const uint8_t orders[] = { 0, 2, 2, 4, 8, SEQUENTIAL };
    static const uint16_t memories[] = { 0, CROSS_WORKGROUP, 0, WORKGROUP,
                                         CROSS_WORKGROUP | WORKGROUP };
    OclValue v;
    uint64_t s = order && ocl_fold(e->o, order, &v) && v.lane[0].u < COUNT_OF(orders)
                     ? orders[v.lane[0].u]
                     : SEQUENTIAL;
    return s ? s | memories[space] : 0;
}

static uint64_t scope(OclEmit *e, const OclNode *n)
{
    static const uint8_t scopes[] = { 4, 2, 1, 0, 3 };
    OclValue v;
    if (!n)
        return 1;
    return ocl_fold(e->o, n, &v) && v.lane[0].u < COUNT_OF(scopes) ? scopes[v.lane[0].u] : 0;
}

/* The instruction that the target's name for it begins with "__spirv_Atomic". */
static const char *operation(const OclBuiltin *b, const OclType *t)
{
    static const struct {
        const char *name, *s, *u, *f;
    } table[] = {
        { "add", "IAdd", "IAdd", "FAddEXT" }, { "sub", "ISub", "ISub", "FAddEXT" },
        { "min", "SMin", "UMin", "FMinEXT" }, { "max", "SMax", "UMax", "FMaxEXT" },
        { "and", "And", "And", "" },          { "or", "Or", "Or", "" },
        { "xor", "Xor", "Xor", "" },
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (!strcmp(table[i].name, b->operation))
            return is_float(t) ? table[i].f : is_signed(t) ? table[i].s : table[i].u;
    }
    return "Exchange";
}

/* Functions of 1.x are relaxed (OpenCL C 3.0, 6.15.12.7), those of C11 without an order are
 * sequentially consistent; the scope is the device. They are called by the instructions' names
 * instead of LLVM's atomicrmw, because the target mistakes its constant pointers for others. */
static LLVMValueRef emit_atomic(OclEmit *e, OclNode *n)
{
    const OclBuiltin *b = n->builtin;
    Ocl *o = e->o;
    OclType *t = n->type;
    bool old = strchr(b->signature, 'a') != NULL;
    uint32_t given = b->what == B_STEP ? 1 : 2;
    OclSpace space = (OclSpace)n->list[0]->type->base->space;
    LLVMValueRef p = ocl_emit_value(e, n->list[0]);
    LLVMValueRef v = b->what == B_STEP ? LLVMConstInt(ocl_value_type(e, t), 1, false)
                                       : ocl_emit_value(e, n->list[1]);
    if (is_float(t) && !strcmp(b->operation, "sub"))
        v = LLVMBuildFNeg(e->builder, v, "");
    uint64_t order = old ? 0 : semantics(e, n->n > given ? n->list[given] : NULL, space);
    LLVMValueRef args[] = {
        p,
        LLVMConstInt(e->i32, scope(e, n->n > given + 1 ? n->list[given + 1] : NULL), false),
        LLVMConstInt(e->i32, order, false),
        v,
    };
    OclType *types[] = { ocl_pointer(o, ocl_qualified(o, t, Q_VOLATILE, space)), o->basic[TY_INT],
                         o->basic[TY_INT], t };
    const char *name = arena_printf(o->arena, "__spirv_Atomic%s", operation(b, t));
    return call_named(e, ocl_mangle(o, name, types, 4), t, args, 4, false);
}

/* ---- built-in functions ---------------------------------------------------------------------- */

/* mem_fence and its kin of 1.x are fences of the work-group. */
static LLVMValueRef fence(OclEmit *e, OclNode *n)
{
    Ocl *o = e->o;
    OclType *u = o->basic[TY_UINT];
    OclType *types[] = { u, ocl_qualified(o, u, Q_ORDER, AS_PRIVATE),
                         ocl_qualified(o, u, Q_SCOPE, AS_PRIVATE) };
    LLVMValueRef args[] = { ocl_emit_value(e, n->list[0]),
                            LLVMConstInt(e->i32, (uint64_t)(n->builtin->operation[0] - '0'), false),
                            LLVMConstInt(e->i32, 1, false) };
    return call_named(e, ocl_mangle(o, "atomic_work_item_fence", types, 3), o->basic[TY_VOID], args,
                      3, false);
}

/* The storage class is SPIR-V's: Workgroup, CrossWorkgroup, Function. */
static LLVMValueRef to_space(OclEmit *e, OclNode *n)
{
    static const char *const names[] = { "Private", "Global", "", "Local" };
    static const uint32_t classes[] = { 7, 5, 0, 4 };
    Ocl *o = e->o;
    OclType *types[] = { ocl_pointer(o, ocl_in_space(o, o->basic[TY_VOID], AS_GENERIC)),
                         o->basic[TY_INT] };
    if (!n->builtin->operation) {
        LLVMValueRef p = ocl_emit_value(e, n->list[0]);
        return call_named(e, ocl_mangle(o, "get_fence", types, 1), n->type, &p, 1, true);
    }
    OclSpace space = (OclSpace)n->type->base->space;
    LLVMValueRef args[] = { ocl_emit_value(e, n->list[0]),
                            LLVMConstInt(e->i32, classes[space], false) };
    const char *name =
        arena_printf(o->arena, "__spirv_GenericCastToPtrExplicit_To%s", names[space]);
    return call_named(e, ocl_mangle(o, name, types, 2), n->type, args, 2, true);
}

/* Called by the instruction's name, because the target gives OpenCL's function a 32-bit stride,
 * which SPIR-V with 64-bit addresses does not allow. For SPIR-V the name contains the elements'
 * size, because the target mistakes the contents of a variable for the pointee of a pointer to it
 * (LLVM 22). */
static LLVMValueRef emit_async_copy(OclEmit *e, OclNode *n)
{
    Ocl *o = e->o;
    bool strided = n->n == 5;
    LLVMValueRef args[6] = { LLVMConstInt(e->i32, 2, false) };
    OclType *types[6] = { o->basic[TY_INT] };
    for (uint32_t i = 0, at = 1; i < n->n; i++) {
        if (i == 3 && !strided) {
            args[at] = LLVMConstInt(e->i64, 1, false);
            types[at++] = o->size_type;
        }
        args[at] = ocl_emit_value(e, n->list[i]);
        types[at++] = n->types[i];
    }
    const char *name = !o->to_spirv ? "__spirv_GroupAsyncCopy"
                                    : arena_printf(o->arena, "heddle_async_copy%u",
                                                   (unsigned)n->types[0]->base->size);
    return call_named(e, ocl_mangle(o, name, types, 6), n->type, args, 6, false);
}

/* any and all: the target would translate them to instructions on booleans, but lanes are not
 * booleans. */
static LLVMValueRef sign_bits(OclEmit *e, OclNode *n)
{
    LLVMValueRef v = ocl_emit_value(e, n->list[0]), r = v;
    OclType *t = n->list[0]->type;
    for (uint32_t i = 0; is_vector(t) && i < t->n; i++) {
        LLVMValueRef at = LLVMConstInt(e->i32, i, false);
        LLVMValueRef lane = LLVMBuildExtractElement(e->builder, v, at, "");
        r = !i                          ? lane
            : n->builtin->what == B_ANY ? LLVMBuildOr(e->builder, r, lane, "")
                                        : LLVMBuildAnd(e->builder, r, lane, "");
    }
    r = LLVMBuildICmp(e->builder, LLVMIntSLT, r, LLVMConstNull(LLVMTypeOf(r)), "");
    return LLVMBuildZExt(e->builder, r, e->i32, "");
}

LLVMValueRef ocl_emit_builtin(OclEmit *e, OclNode *n)
{
    switch ((OclBuiltinKind)n->builtin->what) {
    case B_ATOMIC:
    case B_STEP: return emit_atomic(e, n);
    case B_FENCE: return fence(e, n);
    case B_TO_SPACE: return to_space(e, n);
    case B_COPY: return emit_async_copy(e, n);
    case B_ANY:
    case B_ALL: return sign_bits(e, n);
    case B_INIT: {
        LLVMValueRef p = ocl_emit_value(e, n->list[0]);
        LLVMBuildStore(e->builder, ocl_emit_value(e, n->list[1]), p);
        return NULL;
    }
    default: break;
    }
    LLVMValueRef *args = NEW_ARRAY(e->o->arena, LLVMValueRef, n->n);
    for (uint32_t i = 0; i < n->n; i++)
        args[i] = ocl_emit_value(e, n->list[i]);
    if (n->builtin->what == B_LOAD_PADDED) { /* the target takes it for the one that is not */
        LLVMValueRef four = LLVMConstInt(e->i64, 4, false);
        LLVMValueRef at = LLVMBuildMul(e->builder, args[0], four, "");
        args[0] = LLVMConstNull(e->i64);
        args[1] = LLVMBuildInBoundsGEP2(e->builder, ocl_memory_type(e, n->types[1]->base), args[1],
                                        &at, 1, "");
    }
    return call_named(e, n->name, n->type, args, n->n, n->builtin->what == B_PURE);
}

/* ---- matrices -------------------------------------------------------------------------------- */

static LLVMValueRef emit_matrix_load(OclEmit *e, OclNode *n)
{
    Ocl *o = e->o;
    OclType *types[] = { ocl_pointer(o, ocl_qualified(o, n->a->type->base, 0,
                                                      (OclSpace)n->a->type->base->space)),
                         o->basic[TY_INT], o->size_type };
    LLVMValueRef p = ocl_emit_value(e, n->a);
    LLVMValueRef args[] = { p, LLVMConstInt(e->i32, n->u, false), ocl_emit_value(e, n->b) };
    const char *name =
        ocl_mangle_template(o, "__spirv_CooperativeMatrixLoadKHR", n->type, types, 3);
    return call_named(e, name, n->type, args, 3, false);
}

static LLVMValueRef emit_matrix_store(OclEmit *e, OclNode *n)
{
    Ocl *o = e->o;
    OclType *types[] = { ocl_pointer(o, ocl_qualified(o, n->a->type->base, 0,
                                                      (OclSpace)n->a->type->base->space)),
                         n->b->type->plain, o->basic[TY_INT], o->size_type };
    LLVMValueRef p = ocl_emit_value(e, n->a), m = ocl_emit_value(e, n->b);
    LLVMValueRef args[] = { p, m, LLVMConstInt(e->i32, n->u, false), ocl_emit_value(e, n->c) };
    return call_named(e, ocl_mangle(o, "__spirv_CooperativeMatrixStoreKHR", types, 4), n->type,
                      args, 4, false);
}

static LLVMValueRef multiply_add(OclEmit *e, OclNode *n)
{
    Ocl *o = e->o;
    OclType *types[] = { n->a->type->plain, n->b->type->plain, n->c->type->plain,
                         o->basic[TY_INT] };
    LLVMValueRef a = ocl_emit_value(e, n->a), b = ocl_emit_value(e, n->b);
    /* The RFC marks the result of a product of floats as signed; SPIR-V allows that of integers
     * only. */
    uint64_t operands = o->to_spirv && is_float(n->type->base) ? 0 : n->u;
    LLVMValueRef args[] = { a, b, ocl_emit_value(e, n->c), LLVMConstInt(e->i32, operands, false) };
    return call_named(e, ocl_mangle(o, "__spirv_CooperativeMatrixMulAddKHR", types, 4), n->type,
                      args, 4, false);
}

static LLVMValueRef operators(OclEmit *e, OclNode *n)
{
    Ocl *o = e->o;
    bool scalar = n->b && !is_matrix(n->b->type), negate = !n->b;
    const char *name = negate             ? "__spirv_CooperativeMatrixScalarNeg"
                       : scalar           ? "__spirv_CooperativeMatrixScalarMul"
                       : n->op == P_PLUS  ? "__spirv_CooperativeMatrixBinaryAdd"
                       : n->op == P_MINUS ? "__spirv_CooperativeMatrixBinarySub"
                       : n->op == P_STAR  ? "__spirv_CooperativeMatrixBinaryMul"
                                          : "__spirv_CooperativeMatrixBinaryDiv";
    LLVMValueRef args[2] = { ocl_emit_value(e, n->a) };
    OclType *types[2] = { n->a->type->plain };
    if (!negate) {
        args[1] = ocl_emit_value(e, n->b);
        types[1] = n->b->type->plain;
    }
    uint32_t count = negate ? 1 : 2;
    return call_named(e, ocl_mangle(o, name, types, count), n->type, args, count, true);
}

static LLVMValueRef filled(OclEmit *e, OclType *t, LLVMValueRef component)
{
    OclType *c = t->base;
    return call_named(e, ocl_mangle_template(e->o, "__spirv_CompositeConstruct", t->plain, &c, 1),
                      t, &component, 1, true);
}

/* A matrix of zeros is made of a scalar: the target cannot translate constant matrices. */
LLVMValueRef ocl_emit_zeros(OclEmit *e, OclType *t)
{
    return filled(e, t, LLVMConstNull(ocl_value_type(e, t->base)));
}

static LLVMValueRef emit_matrix_length(OclEmit *e, OclNode *n)
{
    OclType *t = n->a->type->plain;
    LLVMValueRef m = ocl_emit_value(e, n->a);
    return call_named(e, ocl_mangle(e->o, "__spirv_CooperativeMatrixLengthKHR", &t, 1), n->type, &m,
                      1, true);
}

LLVMValueRef ocl_emit_matrix(OclEmit *e, OclNode *n)
{
    switch (n->kind) {
    case N_LOAD_MATRIX: return emit_matrix_load(e, n);
    case N_STORE_MATRIX: return emit_matrix_store(e, n);
    case N_FILL_MATRIX: return filled(e, n->type, ocl_emit_value(e, n->a));
    case N_MULTIPLY_ADD: return multiply_add(e, n);
    case N_MATRIX_LENGTH: return emit_matrix_length(e, n);
    default: return operators(e, n);
    }
}
