/* SPDX-License-Identifier: MIT
 *
 * Calls to instructions. LLVM's SPIR-V target leaves the calls of functions that it does not know
 * as they are: all arithmetic on cooperative matrices, and a few of OpenCL C's own functions
 * (atomics of 1.2 among them). The function is declared and has a linkage name. Where that names an
 * instruction (spirv_target.h) or one of those functions the call becomes instructions, and the
 * declaration goes. Other calls stay: they would have to be linked with another module.
 */
#include "front/opencl/spirv_target.h"

#include <ctype.h>
#include <stdlib.h>

typedef struct LinkRow {
    const char *name; /* after "__spirv_" */
    uint16_t of_float, of_signed, of_unsigned;
} LinkRow;

static const LinkRow rows[] = {
    { "CooperativeMatrixBinaryAdd", SpvOpFAdd, SpvOpIAdd, SpvOpIAdd },
    { "CooperativeMatrixBinarySub", SpvOpFSub, SpvOpISub, SpvOpISub },
    { "CooperativeMatrixBinaryMul", SpvOpFMul, SpvOpIMul, SpvOpIMul },
    { "CooperativeMatrixBinaryDiv", SpvOpFDiv, SpvOpSDiv, SpvOpUDiv },
    { "CooperativeMatrixScalarMul", SpvOpMatrixTimesScalar, SpvOpMatrixTimesScalar,
      SpvOpMatrixTimesScalar },
    { "CooperativeMatrixScalarNeg", SpvOpFNegate, SpvOpSNegate, SpvOpSNegate },
};

/* The part of a linkage name that names the instruction, or NULL: what follows "__spirv_" up to
 * '.', '_', or the end of the mangled identifier. */
static const char *instruction_name(const char *name, size_t *n)
{
    static const char prefix[] = "__spirv_";
    size_t limit = SIZE_MAX;
    if (!strncmp(name, "_Z", 2) && isdigit((unsigned char)name[2])) {
        char *end;
        limit = strtoul(name + 2, &end, 10);
        name = end;
    }
    if (strncmp(name, prefix, sizeof prefix - 1) || limit < sizeof prefix)
        return NULL;
    name += sizeof prefix - 1;
    *n = strcspn(name, "._");
    if (limit != SIZE_MAX)
        *n = MIN(*n, limit - (sizeof prefix - 1));
    return name;
}

static const SpvType *component_of(const SpvType *t)
{
    while (t && (t->kind == SPV_COOPMAT || t->kind == SPV_VECTOR || t->kind == SPV_MATRIX))
        t = t->element;
    return t;
}

/* An instruction of ids alone that gives a result; 0: none is called that. */
static uint16_t plain_instruction(const char *name, size_t n)
{
    uint32_t count;
    const SpvOpInfo *all = spv_all_ops(&count);
    for (uint32_t k = 0; k < count; k++) {
        const SpvOpInfo *o = &all[k];
        bool named = strlen(o->name) == n + 2 && !strncmp(o->name + 2, name, n);
        if (!named || !o->has_type || !o->has_result || !(o->flags & SPV_OPF_PURE))
            continue;
        for (uint32_t j = 0; j < o->n_operands; j++)
            named &= o->operands[j].kind == SPV_OPERAND_IdRef && o->operands[j].times == SPV_ONE;
        return named ? o->op : 0;
    }
    return 0;
}

/* What calls of a function become; 0: they stay calls. */
static uint16_t instruction_of(SpvModule *m, const SpvFunction *f, const char *linkage)
{
    size_t n = 0;
    const char *name = instruction_name(linkage, &n);
    const SpvType *t = component_of(spv_type(m, f->def->type));
    if (!name || !t)
        return 0;
    for (uint32_t k = 0; k < COUNT_OF(rows); k++)
        if (strlen(rows[k].name) == n && !strncmp(rows[k].name, name, n))
            return t->kind == SPV_FLOAT        ? rows[k].of_float
                   : strstr(name, "CoopMat_u") ? rows[k].of_unsigned
                                               : rows[k].of_signed;
    return plain_instruction(name, n);
}

/* Of a function that is imported. */
static const char *linkage_of(const SpvModule *m, SpvId id)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpDecorate && spv_operand(i, 0) == id &&
            spv_operand(i, 1) == SpvDecorationLinkageAttributes)
            return spv_string(i, 2, NULL);
    return NULL;
}

/* The declaration and all that is said of it. */
static void drop(SpvModule *m, SpvFunction *f)
{
    for (SpvInst *i = m->globals.first, *next; i; i = next) {
        next = i->next;
        bool names = i->op == SpvOpName || i->op == SpvOpDecorate;
        if (names && spv_operand(i, 0) == f->def->id)
            spv_unlink(i);
        for (SpvInst *p = f->head.first; p && names; p = p->next)
            if (p->op == SpvOpFunctionParameter && spv_operand(i, 0) == p->id && i->list)
                spv_unlink(i);
    }
    SpvFunction **link = &m->functions;
    m->last_function = NULL;
    for (SpvFunction *g = m->functions; g; g = g->next) {
        if (g == f)
            continue;
        *link = g;
        link = &g->next;
        m->last_function = g;
    }
    *link = NULL;
    for (SpvInst *i = f->head.first; i; i = i->next)
        if (i->id)
            m->defs[i->id] = NULL;
}

/* ---- one call -------------------------------------------------------------------------------- */

typedef struct Site {
    SpvModule *m;
    SpvInst *call;
    const char *name;   /* of the function, without "_Z" and length */
    size_t length;      /* of the identifier */
    const char *params; /* the mangled parameters, or "" */
    DiagSink *sink;
} Site;

static SpvId argument(const Site *s, uint32_t n)
{
    return n + 1 < spv_n_operands(s->call) ? spv_operand(s->call, n + 1) : 0;
}

/* An instruction before the call, with a result of its own. */
static SpvId before(const Site *s, uint16_t op, SpvId type, const uint32_t *operands, uint32_t n)
{
    SpvInst *i = spv_make(s->m, op, type, spv_new_id(s->m), operands, n);
    i->index = s->call->index;
    spv_insert_before(s->call, i);
    return i->id;
}

/* The call becomes that instruction. */
static void become(const Site *s, uint16_t op, const uint32_t *operands, uint32_t n)
{
    const SpvOpInfo *info = spv_op_info(op);
    SpvInst *call = s->call;
    SpvInst *i = spv_make(s->m, op, info->has_type ? call->type : 0,
                          info->has_result ? call->id : 0, operands, n);
    i->index = call->index;
    i->file = call->file;
    i->line = call->line;
    i->column = call->column;
    spv_insert_before(call, i);
    spv_unlink(call);
}

static bool wrong(const Site *s)
{
    spv_error(s->m, s->call, s->sink, NULL, "a call of %.*s does not fit the function",
              (int)s->length, s->name);
    return false;
}

static SpvId u32(const Site *s, uint32_t x)
{
    return spv_int_constant(s->m, spv_int_type(s->m, 32, false), x);
}

static bool replace_call(const Site *s, uint16_t op)
{
    uint32_t n = spv_n_operands(s->call) - 1;
    const SpvOpInfo *info = spv_op_info(op);
    if (n != info->n_operands) {
        spv_error(s->m, s->call, s->sink, NULL,
                  "%s takes %u operands, the call that names it has %u", info->name,
                  info->n_operands, n);
        return false;
    }
    become(s, op, s->call->words + s->call->first_operand + 1, n);
    return true;
}

/* ---- OpenCL C's functions -------------------------------------------------------------------- */

typedef struct LinkAtomic {
    const char *name;
    uint16_t op, of_unsigned;
} LinkAtomic;

static const LinkAtomic atomics[] = {
    { "inc", SpvOpAtomicIIncrement, SpvOpAtomicIIncrement },
    { "dec", SpvOpAtomicIDecrement, SpvOpAtomicIDecrement },
    { "add", SpvOpAtomicIAdd, SpvOpAtomicIAdd },
    { "sub", SpvOpAtomicISub, SpvOpAtomicISub },
    { "xchg", SpvOpAtomicExchange, SpvOpAtomicExchange },
    { "min", SpvOpAtomicSMin, SpvOpAtomicUMin },
    { "max", SpvOpAtomicSMax, SpvOpAtomicUMax },
    { "and", SpvOpAtomicAnd, SpvOpAtomicAnd },
    { "or", SpvOpAtomicOr, SpvOpAtomicOr },
    { "xor", SpvOpAtomicXor, SpvOpAtomicXor },
    { "cmpxchg", SpvOpAtomicCompareExchange, SpvOpAtomicCompareExchange },
};

static bool is_unsigned_code(char c) { return c == 'h' || c == 't' || c == 'j' || c == 'm'; }

static bool starts(const Site *s, const char *prefix)
{
    return s->length > strlen(prefix) && !strncmp(s->name, prefix, strlen(prefix));
}

/* A pointer to the type that is accessed: LLVM's are often to bytes. */
static SpvId typed_pointer(const Site *s, SpvId pointer, SpvId type)
{
    const SpvType *t = spv_type_of(s->m, pointer);
    if (!t || t->kind != SPV_POINTER)
        return 0;
    if (t->element && t->element->id == type)
        return pointer;
    return before(s, SpvOpBitcast, spv_pointer_type(s->m, t->storage, type), &pointer, 1);
}

/* A memory order or scope that is a constant; else the strongest. */
static uint32_t semantics_of(const Site *s, SpvId order)
{
    static const uint32_t by_order[] = { 0, SpvMemorySemanticsAcquireMask,
                                         SpvMemorySemanticsAcquireMask,
                                         SpvMemorySemanticsReleaseMask,
                                         SpvMemorySemanticsAcquireReleaseMask };
    uint64_t x;
    return order && spv_constant(s->m, order, &x) && x < COUNT_OF(by_order)
               ? by_order[x]
               : SpvMemorySemanticsSequentiallyConsistentMask;
}

static uint32_t scope_of(const Site *s, SpvId scope)
{
    static const uint32_t scopes[] = { SpvScopeInvocation, SpvScopeWorkgroup, SpvScopeDevice,
                                       SpvScopeCrossDevice, SpvScopeSubgroup };
    uint64_t x;
    return scope && spv_constant(s->m, scope, &x) && x < COUNT_OF(scopes) ? scopes[x]
                                                                          : SpvScopeDevice;
}

/* atomic_add, atom_add: relaxed; atomic_fetch_add and its _explicit: by the arguments behind. */
static bool link_atomic(const Site *s, const char *what, size_t n, bool c11)
{
    /* the operand's code; those of memory_order and memory_scope stand behind it */
    const char *end = strstr(s->params, "12memory_");
    end = end ? end : s->params + strlen(s->params);
    char last = end > s->params ? end[-1] : 0;
    for (uint32_t k = 0; k < COUNT_OF(atomics); k++) {
        const LinkAtomic *a = &atomics[k];
        if (strlen(a->name) != n || strncmp(a->name, what, n))
            continue;
        uint32_t operands[6] = { typed_pointer(s, argument(s, 0), s->call->type) }, count = 3;
        bool swap = a->op == SpvOpAtomicCompareExchange, unary = k < 2;
        if (!operands[0] || (!unary && !argument(s, swap ? 2 : 1)))
            return wrong(s);
        operands[1] = u32(s, c11 ? scope_of(s, argument(s, 3)) : SpvScopeDevice);
        operands[2] = u32(s, c11 ? semantics_of(s, argument(s, 2)) : 0);
        if (swap)
            operands[count++] = operands[2];
        if (!unary)
            operands[count++] = argument(s, swap ? 2 : 1);
        if (swap)
            operands[count++] = argument(s, 1);
        become(s, is_unsigned_code(last) ? a->of_unsigned : a->op, operands, count);
        return true;
    }
    return true; /* another function of that name: it stays a call */
}

/* mem_fence and its kin, sub_group_barrier: by cl_mem_fence_flags. */
static bool fence(const Site *s, bool barrier)
{
    uint64_t flags = 3;
    if (argument(s, 0))
        spv_constant(s->m, argument(s, 0), &flags);
    uint32_t semantics = SpvMemorySemanticsAcquireReleaseMask |
                         (flags & 1 ? SpvMemorySemanticsWorkgroupMemoryMask : 0) |
                         (flags & 2 ? SpvMemorySemanticsCrossWorkgroupMemoryMask : 0);
    SpvId scope = u32(s, barrier ? SpvScopeSubgroup : SpvScopeWorkgroup), sem = u32(s, semantics);
    if (barrier)
        become(s, SpvOpControlBarrier, (uint32_t[]){ scope, scope, sem }, 3);
    else
        become(s, SpvOpMemoryBarrier, (uint32_t[]){ scope, sem }, 2);
    return true;
}

static bool cast_generic(const Site *s, uint32_t storage)
{
    if (!argument(s, 0))
        return wrong(s);
    become(s, SpvOpGenericCastToPtrExplicit, (uint32_t[]){ argument(s, 0), storage }, 2);
    return true;
}

static bool get_fence(const Site *s)
{
    uint32_t pointer = argument(s, 0);
    if (!pointer)
        return wrong(s);
    SpvId semantics = before(s, SpvOpGenericPtrMemSemantics, s->call->type, &pointer, 1);
    become(s, SpvOpShiftRightLogical, (uint32_t[]){ semantics, u32(s, 8) }, 2);
    return true;
}

/* heddle_async_copy16: OpGroupAsyncCopy of elements of 16 bytes, as pointers do not tell. */
static bool async_copy(const Site *s, uint32_t bytes)
{
    uint32_t operands[6], words = MAX(bytes / 4, 1);
    SpvId type = spv_int_type(s->m, MIN(bytes, 4) * 8, false);
    type = words > 1 ? spv_vector_type(s->m, type, words) : type;
    for (uint32_t k = 0; k < 6; k++)
        operands[k] = argument(s, k);
    operands[1] = operands[1] ? typed_pointer(s, operands[1], type) : 0;
    operands[2] = operands[2] ? typed_pointer(s, operands[2], type) : 0;
    if (!operands[1] || !operands[2] || !operands[5])
        return wrong(s);
    become(s, SpvOpGroupAsyncCopy, operands, 6);
    return true;
}

static void decorate(const Site *s, uint32_t decoration, uint32_t value, uint32_t n)
{
    uint32_t operands[3] = { s->call->id, decoration, value };
    spv_append_global(s->m, spv_make(s->m, SpvOpDecorate, 0, 0, operands, 2 + n));
}

/* convert_uchar4_sat_rte and its kin. */
static bool link_conversion(const Site *s)
{
    static const char *const modes[] = { [SpvFPRoundingModeRTE] = "_rte",
                                         [SpvFPRoundingModeRTZ] = "_rtz",
                                         [SpvFPRoundingModeRTP] = "_rtp",
                                         [SpvFPRoundingModeRTN] = "_rtn" };
    const SpvType *to = component_of(spv_type(s->m, s->call->type));
    const SpvType *from = argument(s, 0) ? component_of(spv_type_of(s->m, argument(s, 0))) : NULL;
    if (!to || !from)
        return wrong(s);
    const char *code = s->params + (s->params[0] == 'D' ? strcspn(s->params, "_") + 1 : 0);
    bool in = !is_unsigned_code(*code), out = s->name[strlen("convert_")] != 'u';
    bool saturates = memmem(s->name, s->length, "_sat", 4) != NULL;
    uint16_t op;
    if (to->kind == SPV_FLOAT)
        op = from->kind == SPV_FLOAT ? SpvOpFConvert : in ? SpvOpConvertSToF : SpvOpConvertUToF;
    else if (from->kind == SPV_FLOAT)
        op = out ? SpvOpConvertFToS : SpvOpConvertFToU;
    else if (saturates && in != out)
        op = in ? SpvOpSatConvertSToU : SpvOpSatConvertUToS;
    else
        op = in ? SpvOpSConvert : SpvOpUConvert;
    if (to->kind == from->kind && to->bits == from->bits && op != SpvOpSatConvertSToU &&
        op != SpvOpSatConvertUToS)
        op = SpvOpCopyObject;
    for (uint32_t k = 0; k < COUNT_OF(modes) && op != SpvOpCopyObject; k++)
        if (memmem(s->name, s->length, modes[k], 4))
            decorate(s, SpvDecorationFPRoundingMode, k, 1);
    if (saturates && to->kind == SPV_INT && from->kind == SPV_FLOAT)
        decorate(s, SpvDecorationSaturatedConversion, 0, 0);
    become(s, op, (uint32_t[]){ argument(s, 0) }, 1);
    return true;
}

static bool opencl_function(const Site *s)
{
    static const struct {
        const char *name;
        int what;
    } plain[] = {
        { "mem_fence", -1 },
        { "read_mem_fence", -1 },
        { "write_mem_fence", -1 },
        { "sub_group_barrier", -2 },
        { "get_fence", -3 },
        { "__to_global", SpvStorageClassCrossWorkgroup },
        { "__to_local", SpvStorageClassWorkgroup },
        { "__to_private", SpvStorageClassFunction },
    };
    for (uint32_t k = 0; k < COUNT_OF(plain); k++) {
        if (strlen(plain[k].name) != s->length || strncmp(plain[k].name, s->name, s->length))
            continue;
        int what = plain[k].what;
        return what == -3 ? get_fence(s)
               : what < 0 ? fence(s, what == -2)
                          : cast_generic(s, (uint32_t)what);
    }
    if (starts(s, "heddle_async_copy"))
        return async_copy(s, (uint32_t)strtoul(s->name + strlen("heddle_async_copy"), NULL, 10));
    if (starts(s, "convert_"))
        return link_conversion(s);
    if (starts(s, "atomic_fetch_")) {
        size_t n = s->length - strlen("atomic_fetch_"), tail = strlen("_explicit");
        bool is_explicit = n > tail && !memcmp(s->name + s->length - tail, "_explicit", tail);
        return link_atomic(s, s->name + strlen("atomic_fetch_"), n - (is_explicit ? tail : 0),
                           true);
    }
    if (starts(s, "atomic_"))
        return link_atomic(s, s->name + strlen("atomic_"), s->length - strlen("atomic_"), false);
    if (starts(s, "atom_"))
        return link_atomic(s, s->name + strlen("atom_"), s->length - strlen("atom_"), false);
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Calls of f: each becomes an instruction, or (op 0) what the function of OpenCL C is. */
static bool replace_calls(SpvModule *m, const SpvFunction *function, const char *linkage,
                          uint16_t op, DiagSink *sink)
{
    Site s = { .m = m, .name = linkage, .length = strlen(linkage), .params = "", .sink = sink };
    if (!strncmp(linkage, "_Z", 2) && isdigit((unsigned char)linkage[2])) {
        char *end;
        s.length = strtoul(linkage + 2, &end, 10);
        s.name = end;
        s.length = MIN(s.length, strlen(end));
        s.params = end + s.length;
    }
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first, *next; i; i = next) {
                next = i->next;
                s.call = i;
                if (i->op == SpvOpFunctionCall && spv_operand(i, 0) == function->def->id &&
                    !(op ? replace_call(&s, op) : opencl_function(&s)))
                    return false;
            }
    return true;
}

static bool is_called(const SpvModule *m, SpvId function)
{
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next)
                if (i->op == SpvOpFunctionCall && spv_operand(i, 0) == function)
                    return true;
    return false;
}

/* OpMatrixTimesScalar wants it, of cooperative matrices too. */
static void add_capability(SpvModule *m, uint32_t capability)
{
    SpvInst *last = NULL;
    for (SpvInst *i = m->globals.first; i && i->op == SpvOpCapability; i = i->next) {
        if (spv_operand(i, 0) == capability)
            return;
        last = i;
    }
    if (last)
        spv_insert_after(last, spv_make(m, SpvOpCapability, 0, 0, &capability, 1));
}

static SpvId bool_vector(SpvModule *m, uint32_t n)
{
    SpvId element = spv_bool_type(m);
    for (SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpTypeVector && spv_operand(i, 0) == element && spv_operand(i, 1) == n)
            return i->id;
    SpvInst *t = spv_make(m, SpvOpTypeVector, 0, spv_new_id(m), (uint32_t[]){ element, n }, 2);
    spv_append_global(m, t);
    return t->id;
}

/* any() and all() look at the highest bits; LLVM's target gives OpAny and OpAll the numbers. */
static bool compare_bits(SpvModule *m)
{
    bool changed = false;
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first, *next; i; i = next) {
                next = i->next;
                if (i->op != SpvOpAny && i->op != SpvOpAll)
                    continue;
                const SpvType *t = spv_type_of(m, spv_operand(i, 0)), *c = component_of(t);
                if (!c || c->kind != SPV_INT)
                    continue;
                Site s = { .m = m, .call = i };
                uint32_t operands[2] = { spv_operand(i, 0), spv_null_constant(m, t->id) };
                if (t == c)
                    become(&s, SpvOpSLessThan, operands, 2);
                else
                    i->words[i->first_operand] =
                        before(&s, SpvOpSLessThan, bool_vector(m, t->count), operands, 2);
                changed = true;
            }
    return changed;
}

/* LLVM's target compares pointers of two types. */
static bool compare_pointers(SpvModule *m)
{
    bool changed = false;
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next) {
                bool compares = i->op == SpvOpPtrEqual || i->op == SpvOpPtrNotEqual;
                const SpvType *x = compares ? spv_type_of(m, spv_operand(i, 0)) : NULL;
                const SpvType *y = compares ? spv_type_of(m, spv_operand(i, 1)) : NULL;
                if (!x || !y || x == y || x->storage != y->storage)
                    continue;
                Site s = { .m = m, .call = i };
                uint32_t *second = &i->words[i->first_operand + 1];
                *second = before(&s, SpvOpBitcast, x->id, second, 1);
                changed = true;
            }
    return changed;
}

static bool point_at_element(SpvModule *m, SpvInst *i, uint32_t operand)
{
    const SpvType *p = spv_type_of(m, spv_operand(i, operand));
    const SpvType *t = p && p->kind == SPV_POINTER ? p->element : NULL;
    if (!t || t->kind != SPV_ARRAY)
        return false;
    while (t->kind == SPV_ARRAY)
        t = t->element;
    Site s = { .m = m, .call = i };
    i->words[i->first_operand + operand] = typed_pointer(&s, spv_operand(i, operand), t->id);
    return true;
}

static bool is_transfer(const SpvInst *i)
{
    return i->op == SpvOpCooperativeMatrixLoadKHR || i->op == SpvOpCooperativeMatrixStoreKHR;
}

/* A matrix's memory is named by what the generic pointer to it was made of, where that is known. */
static bool point_at_memory(SpvModule *m, SpvInst *i)
{
    const SpvType *p = spv_type_of(m, spv_operand(i, 0));
    const SpvInst *from = spv_def(m, spv_operand(i, 0));
    while (from && (from->op == SpvOpBitcast || from->op == SpvOpCopyObject))
        from = spv_def(m, spv_operand(from, 0));
    if (!from || from->op != SpvOpPtrCastToGeneric || p->storage != SpvStorageClassGeneric)
        return false;
    Site s = { .m = m, .call = i };
    i->words[i->first_operand] = typed_pointer(&s, spv_operand(from, 0), p->element->id);
    return true;
}

/* LLVM's target leaves a matrix in an array, or a copied array, the array's own pointer; it is to
 * point to elements. */
static bool point_at_elements(SpvModule *m)
{
    bool changed = false;
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next) {
                bool copies = i->op == SpvOpGroupAsyncCopy;
                if (is_transfer(i))
                    changed |= point_at_memory(m, i);
                if (copies || is_transfer(i))
                    changed |= point_at_element(m, i, copies ? 1 : 0);
                if (copies)
                    changed |= point_at_element(m, i, 2);
            }
    return changed;
}

/* LLVM's target may give an array that holds pointers the type of a part of it or of a byte (LLVM
 * 22). What it was, the beginning of its life and casts of its address tell: its size in bytes. */
typedef struct Extent {
    uint64_t bytes;
    bool told, steps; /* by something; there are steps from its address on */
} Extent;

static const SpvInst *without_casts(const SpvModule *m, SpvId id)
{
    const SpvInst *i = spv_def(m, id);
    while (i && i->op == SpvOpBitcast)
        i = spv_def(m, spv_operand(i, 0));
    return i;
}

static void look_at_use(SpvModule *m, const SpvInst *i, Extent *x)
{
    uint32_t align;
    uint64_t element = 1;
    const SpvType *t = i->type ? spv_type(m, i->type) : NULL;
    bool pointer = t && t->kind == SPV_POINTER && t->element;
    if (i->op == SpvOpLifetimeStart && spv_operand(i, 1)) {
        x->bytes = MAX(x->bytes, spv_operand(i, 1));
        x->told = true;
    } else if (i->op == SpvOpBitcast && pointer && t->element->kind == SPV_ARRAY) {
        x->bytes = MAX(x->bytes, spv_opencl_size(m, t->element, &align));
        x->told = true;
    } else if (i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain) {
        x->steps |= !spv_constant(m, spv_operand(i, 1), &element) || element;
    }
}

static Extent true_extent(SpvModule *m, const SpvFunction *f, const SpvInst *variable)
{
    uint32_t align;
    Extent x = { .bytes = spv_opencl_size(m, spv_type(m, variable->type)->element, &align) };
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next)
            if ((i->op == SpvOpLifetimeStart || i->op == SpvOpBitcast ||
                 i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain) &&
                without_casts(m, spv_operand(i, 0)) == variable)
                look_at_use(m, i, &x);
    return x;
}

/* In its place an array of pointers of its type or, if that is none, of words, and a cast of its
 * address. */
static void enlarge(SpvModule *m, SpvInst *variable, uint64_t bytes)
{
    enum { WORD = 8 };
    const SpvType *t = spv_type(m, variable->type)->element;
    t = t->kind == SPV_ARRAY ? t->element : t;
    uint32_t storage = SpvStorageClassFunction;
    SpvInst *end = variable->next;
    while (end->op == SpvOpVariable)
        end = end->next;
    SpvId n = spv_int_constant(m, spv_int_type(m, 32, false), (bytes + WORD - 1) / WORD);
    SpvId element = t->kind == SPV_POINTER ? t->id : spv_int_type(m, 64, false);
    SpvId type = spv_pointer_type(m, storage, spv_array_type(m, element, n));
    SpvInst *own = spv_put(m, variable, SpvOpVariable, type, &storage, 1);
    SpvInst *cast = spv_make(m, SpvOpBitcast, variable->type, variable->id, &own->id, 1);
    spv_unlink(variable);
    spv_insert_before(end, cast);
}

/* False after reporting a variable whose size nothing tells. */
static bool enlarge_variables(SpvModule *m, DiagSink *sink, bool *changed)
{
    enum { MAX_BYTES = 1 << 24 };
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvInst *i = f->first ? f->first->insts.first->next : NULL, *next;
             i && i->op == SpvOpVariable; i = next) {
            next = i->next;
            const SpvType *t = spv_type(m, i->type)->element;
            const SpvType *e = t && t->kind == SPV_ARRAY ? t->element : t;
            bool byte = t && t->kind == SPV_INT && t->bits == 8;
            if (spv_n_operands(i) > 1 || (!byte && (!e || e->kind != SPV_POINTER)))
                continue;
            uint32_t align;
            Extent x = true_extent(m, f, i);
            if (!x.told && x.steps && e == t) {
                spv_error(m, i, sink, NULL,
                          "the variable is %s and is stepped through like an "
                          "array, whose size nothing tells: LLVM's SPIR-V target leaves arrays "
                          "that hold pointers so",
                          byte ? "a byte" : "one pointer");
                return false;
            }
            if (x.bytes > spv_opencl_size(m, t, &align) && x.bytes <= MAX_BYTES) {
                enlarge(m, i, x.bytes);
                *changed = true;
            }
        }
    return true;
}

/* ---- addresses as constants ------------------------------------------------------------------ */

/* A constant that an address is worked out by: one of a variable, or of such a constant. */
static bool is_of_address(const SpvModule *m, const SpvInst *i)
{
    const SpvInst *of = i->op == SpvOpSpecConstantOp ? spv_def(m, spv_operand(i, 1)) : NULL;
    return of && (of->op == SpvOpVariable || is_of_address(m, of));
}

typedef struct Exchange {
    SpvId from, to;
    bool met;
} Exchange;

static void exchange(void *user, uint32_t *id)
{
    Exchange *x = user;
    if (*id != x->from)
        return;
    x->met = true;
    *id = x->to;
}

static bool exchange_in(SpvFunction *f, Exchange *x)
{
    x->met = false;
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next)
            spv_each_id(i, exchange, x);
    return x->met;
}

/* In the function's first block an instruction of its own. */
static bool work_out(SpvModule *m, const SpvInst *constant, SpvFunction *f)
{
    Exchange x = { .from = constant->id, .to = spv_new_id(m) };
    if (!f->first || !exchange_in(f, &x))
        return false;
    SpvInst *i =
        spv_make(m, (uint16_t)spv_operand(constant, 0), constant->type, x.to,
                 constant->words + constant->first_operand + 1, spv_n_operands(constant) - 1);
    SpvInst *at = f->first->insts.first->next;
    while (at->op == SpvOpVariable)
        at = at->next;
    spv_insert_before(at, i);
    return true;
}

static bool is_global_operand(SpvModule *m, SpvId id)
{
    Exchange x = { .from = id, .to = id };
    for (SpvInst *i = m->globals.first; i && !x.met; i = i->next)
        if (i->op != SpvOpName)
            spv_each_id(i, exchange, &x);
    return x.met;
}

/* The target folds what is done with the address of a variable outside of functions to
 * OpSpecConstantOp, though no specialisation knows where variables lie: instructions do it. The
 * last comes first, as it may be of others. */
static bool work_out_addresses(SpvModule *m)
{
    bool changed = false;
    for (SpvInst *i = m->globals.last, *previous; i; i = previous) {
        previous = i->prev;
        if (!is_of_address(m, i))
            continue;
        for (SpvFunction *f = m->functions; f; f = f->next)
            changed |= work_out(m, i, f);
        if (!is_global_operand(m, i->id)) {
            spv_unlink(i);
            m->defs[i->id] = NULL;
        }
    }
    return changed;
}

/* ---- what the target gets wrong -------------------------------------------------------------- */

/* The first of the operands that have the result's type; 0: none have to. */
static uint32_t first_alike(const SpvInst *i)
{
    if (i->op == SpvOpBitwiseAnd || i->op == SpvOpBitwiseOr || i->op == SpvOpBitwiseXor)
        return 1;
    if (i->op != SpvOpExtInst || i->ext_set != SPV_SET_OpenCLstd_)
        return 0;
    uint32_t n = spv_operand(i, 1);
    bool integers = n >= OpenCLstd_s_abs && n <= OpenCLstd_u_mul24;
    bool unsigned_ones = n >= OpenCLstd_u_abs && n <= OpenCLstd_u_mad_hi;
    bool widens = n == OpenCLstd_u_upsample || n == OpenCLstd_s_upsample;
    return (integers || unsigned_ones) && !widens ? 3 : 0;
}

/* LLVM's target makes of a truncation and a widening an OpBitwiseAnd with an operand of the type
 * that was truncated, and gives such a one to other bitwise operations and to integer functions: it
 * is converted to the result's. */
static bool fit_widths(SpvModule *m)
{
    bool changed = false;
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next) {
                Site s = { .m = m, .call = i };
                uint32_t first = first_alike(i);
                const SpvType *t = first ? component_of(spv_type(m, i->type)) : NULL;
                for (uint32_t k = first - 1; t && k < spv_n_operands(i); k++) {
                    uint32_t *operand = &i->words[i->first_operand + k];
                    const SpvType *own = component_of(spv_type_of(m, *operand));
                    if (!own || own->kind != SPV_INT || own->bits == t->bits)
                        continue;
                    *operand = before(&s, SpvOpUConvert, i->type, operand, 1);
                    changed = true;
                }
            }
    return changed;
}

/* Shaders are no work of LLVM's target: what is wrong in them stays so. */
static bool is_kernel(const SpvModule *m)
{
    const SpvInst *i = m->globals.first;
    while (i && i->op != SpvOpMemoryModel)
        i = i->next;
    return i && spv_operand(i, 1) == SpvMemoryModelOpenCL;
}

bool ocl_link(SpvModule *m, DiagSink *sink)
{
    if (!is_kernel(m))
        return true;
    bool changed = compare_bits(m);
    changed |= fit_widths(m);
    changed |= point_at_elements(m);
    changed |= compare_pointers(m);
    if (!enlarge_variables(m, sink, &changed))
        return false;
    changed |= work_out_addresses(m);
    for (SpvFunction *f = m->functions, *next; f; f = next) {
        next = f->next;
        const char *name = f->first ? NULL : linkage_of(m, f->def->id);
        if (!name)
            continue;
        uint16_t op = instruction_of(m, f, name);
        if (!replace_calls(m, f, name, op, sink))
            return false;
        if (op == SpvOpMatrixTimesScalar)
            add_capability(m, SpvCapabilityMatrix);
        changed = true;
        if (!is_called(m, f->def->id))
            drop(m, f);
    }
    if (changed)
        spv_forget_types(m);
    return true;
}
