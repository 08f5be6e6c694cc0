/* SPDX-License-Identifier: MIT
 *
 * In: the tree. Out: an LLVM module for spirv64, as clang makes one: kernels with the metadata that
 * the SPIR-V target reads, other functions internal, variables of kernels in local memory as
 * globals.
 */
#include "front/opencl/emit.h"
#include "front/opencl/spirv_target.h"

#include <stdio.h>

enum { SPIR_FUNC = LLVMSPIRFUNCCallConv, SPIR_KERNEL = LLVMSPIRKERNELCallConv };

static const char layout[] = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-"
                             "v512:512-v1024:1024-n8:16:32:64-G1";

static LLVMAttributeRef attribute(OclEmit *e, const char *name, uint64_t value)
{
    return LLVMCreateEnumAttribute(e->context, LLVMGetEnumAttributeKindForName(name, strlen(name)),
                                   value);
}

/* ---- functions of others --------------------------------------------------------------------- */

LLVMValueRef ocl_external(OclEmit *e, const char *name, LLVMTypeRef type, bool pure)
{
    LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
    if (f)
        return f;
    f = LLVMAddFunction(e->module, name, type);
    if (!LLVMIsFunctionVarArg(type))
        LLVMSetFunctionCallConv(f, SPIR_FUNC);
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(e, "convergent", 0));
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(e, "nounwind", 0));
    if (pure) {
        LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(e, "memory", 0));
        LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(e, "willreturn", 0));
    }
    return f;
}

/* ---- variables that last --------------------------------------------------------------------- */

static const char *global_name(OclEmit *e, const OclSymbol *s)
{
    if (!s->owner)
        return s->ident->name;
    return arena_printf(e->o->arena, "%s.%s", s->owner->ident->name, s->ident->name);
}

LLVMValueRef ocl_emit_global(OclEmit *e, OclSymbol *s)
{
    if (s->same)
        return ocl_emit_global(e, s->same);
    if (s->llvm)
        return s->llvm;
    OclType *t = s->type;
    LLVMTypeRef llvm = ocl_memory_type(e, t);
    LLVMValueRef g = LLVMAddGlobalInAddressSpace(e->module, llvm, global_name(e, s), t->space);
    s->llvm = g;
    LLVMSetLinkage(g, LLVMInternalLinkage);
    LLVMSetAlignment(g, MAX(t->align, s->attributes.aligned));
    LLVMSetGlobalConstant(g, t->space == AS_CONSTANT);
    if (e->o->to_spirv && ocl_has_address(s->init) && !ocl_is_whole_address(e, s->init))
        ocl_error(e->o, s->init->loc,
                  "an address in the initialiser of '%s' can only be a whole "
                  "variable's, and alone; assign it in a function",
                  s->ident->name);
    if (t->space == AS_LOCAL)
        LLVMSetInitializer(g, LLVMGetUndef(llvm));
    else
        LLVMSetInitializer(g, s->init ? ocl_constant(e, t, s->init) : LLVMConstNull(llvm));
    return g;
}

LLVMValueRef ocl_emit_string(OclEmit *e, const OclNode *n)
{
    LLVMValueRef text = LLVMConstStringInContext2(e->context, n->string.text, n->string.size, true);
    LLVMValueRef g = LLVMAddGlobalInAddressSpace(e->module, LLVMTypeOf(text),
                                                 arena_printf(e->o->arena, ".str.%u", e->strings++),
                                                 AS_CONSTANT);
    LLVMSetInitializer(g, text);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(g, true);
    LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(g, 1);
    return g;
}

/* ---- functions ------------------------------------------------------------------------------- */

static LLVMTypeRef parameter_type(OclEmit *e, OclType *t)
{
    return is_record(t) ? LLVMPointerTypeInContext(e->context, AS_PRIVATE) : ocl_value_type(e, t);
}

/* A structure is passed by the address of a copy, and returned through the address of its
 * destination. */
static LLVMTypeRef function_type(OclEmit *e, const OclType *t)
{
    LLVMTypeRef *list = NEW_ARRAY(e->o->arena, LLVMTypeRef, t->n_params + 1);
    uint32_t n = 0;
    bool out = is_record(t->base);
    if (out)
        list[n++] = LLVMPointerTypeInContext(e->context, AS_PRIVATE);
    for (uint32_t i = 0; i < t->n_params; i++)
        list[n++] = parameter_type(e, t->params[i]);
    return LLVMFunctionType(out ? e->void_type : ocl_value_type(e, t->base), list, n, false);
}

static void type_attribute(OclEmit *e, LLVMValueRef f, uint32_t at, const char *name, OclType *t)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(f, at,
                            LLVMCreateTypeAttribute(e->context, kind, ocl_memory_type(e, t)));
    LLVMAddAttributeAtIndex(f, at, attribute(e, "align", MAX(t->align, 1)));
}

static void place_attribute(OclEmit *e, LLVMValueRef f, OclLoc loc)
{
    DiagLoc at = ocl_position(e->o, loc);
    const char *text = arena_printf(e->o->arena, "%u:%u:%s", at.line, at.column, at.file);
    LLVMAttributeRef a = LLVMCreateStringAttribute(e->context, OCL_PLACE, sizeof OCL_PLACE - 1,
                                                   text, (unsigned)strlen(text));
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, a);
}

static LLVMValueRef add_function(OclEmit *e, const OclSymbol *s, const char *name, bool kernel)
{
    LLVMValueRef f = LLVMAddFunction(e->module, name, function_type(e, s->type));
    LLVMSetFunctionCallConv(f, kernel ? SPIR_KERNEL : SPIR_FUNC);
    if (!kernel) {
        LLVMSetLinkage(f, LLVMInternalLinkage);
        LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(e, "alwaysinline", 0));
    }
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(e, "convergent", 0));
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute(e, "nounwind", 0));
    if (kernel && e->o->to_spirv)
        place_attribute(e, f, s->loc);
    uint32_t at = 1;
    if (is_record(s->type->base))
        type_attribute(e, f, at++, "sret", s->type->base);
    for (uint32_t i = 0; i < s->type->n_params; i++, at++) {
        OclType *t = s->defined ? s->params[i]->type : s->type->params[i];
        if (is_record(t) && kernel)
            type_attribute(e, f, at, "byval", t);
        if (is_pointer(t) && t->quals & Q_RESTRICT)
            LLVMAddAttributeAtIndex(f, at, attribute(e, "noalias", 0));
        if (s->defined && s->params[i]->ident)
            LLVMSetValueName2(LLVMGetParam(f, at - 1), s->params[i]->ident->name,
                              s->params[i]->ident->len);
    }
    return f;
}

/* The function to call: for a kernel, which cannot be called in SPIR-V, a function with the same
 * body. */
LLVMValueRef ocl_emit_function(OclEmit *e, OclSymbol *s)
{
    if (s->same)
        return ocl_emit_function(e, s->same);
    if (s->kernel && s->called) {
        if (!s->kernel_body)
            s->kernel_body =
                add_function(e, s, arena_printf(e->o->arena, "%s.body", s->ident->name), false);
        return s->kernel_body;
    }
    if (!s->llvm)
        s->llvm = add_function(e, s, s->ident->name, s->kernel);
    return s->llvm;
}

static void emit_body(OclEmit *e, OclSymbol *s, LLVMValueRef f)
{
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(e->context, f, "entry");
    LLVMBasicBlockRef start = LLVMAppendBasicBlockInContext(e->context, f, "start");
    uint32_t at = is_record(s->type->base);
    e->symbol = s;
    e->function = f;
    e->result = at ? LLVMGetParam(f, 0) : NULL;
    e->break_to = e->continue_to = NULL;
    e->has_arrays = e->has_matrix_arrays = e->tests = false;
    LLVMPositionBuilderAtEnd(e->entry, entry);
    LLVMPositionBuilderAtEnd(e->builder, start);
    ocl_places_function(e, f, s->ident->name, s->loc);
    for (uint32_t i = 0; i < s->type->n_params; i++, at++) {
        OclSymbol *p = s->params[i];
        LLVMValueRef v = LLVMGetParam(f, at);
        if (is_record(p->type)) {
            p->llvm = v;
            continue;
        }
        p->llvm = ocl_variable(
            e, p->type, p->ident ? arena_printf(e->o->arena, "%s.addr", p->ident->name) : "");
        OclPlace place = { .pointer = p->llvm, .type = p->type };
        ocl_store(e, &place, v);
    }
    ocl_emit_statement(e, s->body);
    if (!LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->builder))) {
        if (is_void(s->type->base) || e->result)
            LLVMBuildRetVoid(e->builder);
        else /* a function that ends without returning a value */
            LLVMBuildRet(e->builder, LLVMGetUndef(ocl_value_type(e, s->type->base)));
    }
    LLVMBuildBr(e->entry, start);
    ocl_places_back(e, NULL);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static LLVMMetadataRef metadata_number(OclEmit *e, uint64_t v)
{
    return LLVMValueAsMetadata(LLVMConstInt(e->i32, v, false));
}

static void set_metadata(OclEmit *e, LLVMValueRef f, const char *name, LLVMMetadataRef *list,
                         size_t n)
{
    unsigned kind = LLVMGetMDKindIDInContext(e->context, name, (unsigned)strlen(name));
    LLVMGlobalSetMetadata(f, kind, LLVMMDNodeInContext2(e->context, list, n));
}

static LLVMMetadataRef text(OclEmit *e, const char *s)
{
    return LLVMMDStringInContext2(e->context, s, strlen(s));
}

static void argument_metadata(OclEmit *e, LLVMValueRef f, const OclSymbol *s)
{
    static const char *const names[] = { "kernel_arg_addr_space", "kernel_arg_access_qual",
                                         "kernel_arg_type",       "kernel_arg_base_type",
                                         "kernel_arg_type_qual",  "kernel_arg_name" };
    uint32_t n = s->type->n_params;
    LLVMMetadataRef *list[COUNT_OF(names)];
    for (size_t k = 0; k < COUNT_OF(names); k++)
        list[k] = NEW_ARRAY(e->o->arena, LLVMMetadataRef, n);
    for (uint32_t i = 0; i < n; i++) {
        const OclType *t = s->params[i]->type, *shown = t->plain;
        const char *quals = "";
        if (is_pointer(t)) {
            quals = arena_printf(
                e->o->arena, "%s%s%s", t->quals & Q_RESTRICT ? "restrict " : "",
                t->base->quals & Q_CONST || t->base->space == AS_CONSTANT ? "const " : "",
                t->base->quals & Q_VOLATILE ? "volatile " : "");
            size_t len = strlen(quals);
            quals = arena_strndup(e->o->arena, quals, len ? len - 1 : 0);
            shown = t->base->plain;
        }
        const char *name =
            arena_printf(e->o->arena, "%s%s", ocl_type_name(e->o, shown), is_pointer(t) ? "*" : "");
        list[0][i] = metadata_number(e, is_pointer(t) ? t->base->space : 0);
        list[1][i] = text(e, "none");
        list[2][i] = list[3][i] = text(e, name);
        list[4][i] = text(e, quals);
        list[5][i] = text(e, s->params[i]->ident ? s->params[i]->ident->name : "");
    }
    for (size_t k = 0; k < COUNT_OF(names); k++)
        set_metadata(e, f, names[k], list[k], n);
}

static void kernel_metadata(OclEmit *e, LLVMValueRef f, const OclSymbol *s)
{
    const OclAttributes *a = &s->attributes;
    LLVMMetadataRef list[3];
    argument_metadata(e, f, s);
    for (int i = 0; i < 3; i++)
        list[i] = metadata_number(e, a->local_size[i]);
    if (a->has_local_size)
        set_metadata(e, f, "reqd_work_group_size", list, 3);
    for (int i = 0; i < 3; i++)
        list[i] = metadata_number(e, a->size_hint[i]);
    if (a->has_size_hint)
        set_metadata(e, f, "work_group_size_hint", list, 3);
    list[0] = metadata_number(e, a->subgroup_size);
    if (a->subgroup_size)
        set_metadata(e, f, "intel_reqd_sub_group_size", list, 1);
    if (a->vec_type_hint && is_arithmetic(a->vec_type_hint)) {
        LLVMTypeRef t = ocl_value_type(e, a->vec_type_hint);
        list[0] = LLVMValueAsMetadata(LLVMGetUndef(t));
        list[1] = metadata_number(e, is_signed(element_of(a->vec_type_hint)));
        set_metadata(e, f, "vec_type_hint", list, 2);
    }
}

/* The kernel whose body others call as a function. */
static void wrap(OclEmit *e, OclSymbol *s)
{
    LLVMValueRef f = add_function(e, s, s->ident->name, true);
    uint32_t n = s->type->n_params;
    LLVMValueRef *args = NEW_ARRAY(e->o->arena, LLVMValueRef, n);
    LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, f, "entry"));
    LLVMGetParams(f, args);
    LLVMValueRef call =
        LLVMBuildCall2(e->builder, function_type(e, s->type), s->kernel_body, args, n, "");
    LLVMSetInstructionCallConv(call, SPIR_FUNC);
    LLVMBuildRetVoid(e->builder);
    kernel_metadata(e, f, s);
}

/* ---- the module ------------------------------------------------------------------------------ */

static void named_metadata(OclEmit *e, const char *name, uint64_t a, uint64_t b)
{
    LLVMMetadataRef list[] = { metadata_number(e, a), metadata_number(e, b) };
    LLVMAddNamedMetadataOperand(
        e->module, name,
        LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, list, 2)));
}

static void functions(OclEmit *e)
{
    for (uint32_t i = 0; i < e->o->globals.len; i++) {
        OclSymbol *s = e->o->globals.data[i];
        if (s->kind != S_FUNCTION) {
            if (s->type->space != AS_LOCAL && !s->is_extern && !s->owner)
                ocl_emit_global(e, s);
            continue;
        }
        if (!s->defined)
            continue;
        LLVMValueRef f = ocl_emit_function(e, s);
        emit_body(e, s, f);
        if (s->kernel && s->called)
            wrap(e, s);
        else if (s->kernel)
            kernel_metadata(e, f, s);
    }
}

struct LLVMOpaqueModule *ocl_emit(Ocl *o, struct LLVMOpaqueContext *context)
{
    LLVMContextRef c = context;
    OclEmit e = { .o = o,
                  .context = c,
                  .i1 = LLVMInt1TypeInContext(c),
                  .i8 = LLVMInt8TypeInContext(c),
                  .i32 = LLVMInt32TypeInContext(c),
                  .i64 = LLVMInt64TypeInContext(c),
                  .void_type = LLVMVoidTypeInContext(c) };
    e.module = LLVMModuleCreateWithNameInContext(o->name, c);
    e.builder = LLVMCreateBuilderInContext(c);
    e.entry = LLVMCreateBuilderInContext(c);
    LLVMSetTarget(e.module, "spirv64");
    LLVMSetDataLayout(e.module, layout);
    named_metadata(&e, "opencl.ocl.version", 3, 0);
    if (o->to_spirv)
        ocl_places_begin(&e);
    uint32_t errors = o->n_errors;
    functions(&e);
    ocl_places_end(&e);
    LLVMDisposeBuilder(e.builder);
    LLVMDisposeBuilder(e.entry);
    if (o->n_errors == errors)
        return e.module;
    LLVMDisposeModule(e.module);
    return NULL;
}
