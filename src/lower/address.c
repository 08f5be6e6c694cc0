/* SPDX-License-Identifier: MIT
 *
 * address: the elements that a matrix load or store names (SPV_KHR_cooperative_matrix, "Pointer
 * must point into an array"). Pointers cannot be added to without VariablePointers: the access
 * chain is made again, with another last index, or where that is what selects, with another element
 * of the base (OpPtrAccessChain). What it leads to may be wider or narrower than a matrix' element:
 * then elements are parts of it, or made of several.
 */
#include "lower/internal.h"

/* A structure of nothing but a number or a vector, which glslang leads to as well as to these. */
static bool is_wrapped(const SpvType *t)
{
    return t->kind == SPV_STRUCT && t->count == 1 && t->size && t->members[0]->size == t->size;
}

/* OpInBoundsPtrAccessChain is for kernels alone, but its operands are the same. */
static bool steps(const SpvInst *chain)
{
    return chain->op == SpvOpPtrAccessChain || chain->op == SpvOpInBoundsPtrAccessChain;
}

/* Whether what a pointer leads to has neighbours of its size behind it. */
static bool is_into_array(const SpvType *t)
{
    return t && t->kind == SPV_POINTER && t->element && t->element->size &&
           t->array_stride == t->element->size;
}

/* The operand of a chain that selects from an array, with nothing behind it but the way into such
 * structures; 0: there is none. */
static uint32_t find_index(Lower *l, const SpvInst *chain)
{
    const SpvType *t = spv_type_of(l->m, spv_operand(chain, 0));
    uint32_t n = spv_n_operands(chain), at = steps(chain) && is_into_array(t) ? 1 : 0;
    uint64_t member;
    t = t && t->kind == SPV_POINTER ? t->element : NULL;
    for (uint32_t k = steps(chain) ? 2 : 1; t && k < n; k++) {
        bool array = t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY;
        at = array ? k : is_wrapped(t) ? at : 0;
        if (t->kind != SPV_STRUCT)
            t = t->element;
        else if (spv_constant(l->m, spv_operand(chain, k), &member) && member < t->count)
            t = t->members[member];
        else
            return 0;
    }
    return at;
}

static SpvInst *find_chain(Lower *l, SpvId pointer)
{
    SpvInst *i = spv_def(l->m, pointer);
    while (i && i->op == SpvOpCopyObject)
        i = spv_def(l->m, spv_operand(i, 0));
    return spv_is_chain(i) && find_index(l, i) ? i : NULL;
}

/* The same, of an access, to whose pointer, an address, a chain of no steps may be made first. */
static SpvInst *open_chain(Lower *l, SpvInst *access, SpvId pointer)
{
    const SpvType *t = spv_type_of(l->m, pointer);
    SpvInst *chain = find_chain(l, pointer);
    if (chain || !is_into_array(t) || t->storage != SpvStorageClassPhysicalStorageBuffer)
        return chain;
    return spv_def(l->m, BUILD(l, access, SpvOpPtrAccessChain, t->id, pointer, build_const(l, 0)));
}

static bool is_number(const SpvType *t)
{
    return t && (t->kind == SPV_INT || t->kind == SPV_FLOAT || t->kind == SPV_VECTOR);
}

bool address_is_known(Lower *l, SpvId pointer)
{
    const SpvType *t = find_chain(l, pointer) ? spv_type_of(l->m, pointer)->element : NULL;
    while (t && is_wrapped(t))
        t = t->members[0];
    return is_number(t) && t->size;
}

/* The memory operands of an access to one pointee: those of the instruction, its alignment that
 * of a component. */
static void take_memory(LowerAddress *a, const SpvInst *i, uint32_t at)
{
    const SpvType *scalar = a->pointee->element ? a->pointee->element : a->pointee;
    SpvOperand o;
    bool begun = false;
    a->n_memory = 0;
    for (SpvWalk w = spv_walk(i); at && spv_walk_next(&w, &o);) {
        begun |= o.kind == SPV_OPERAND_MemoryAccess && o.word == i->first_operand + at;
        if (o.kind == SPV_OPERAND_TensorAddressingOperands)
            break;
        if (begun && a->n_memory < 4)
            a->memory[a->n_memory++] = i->words[o.word];
    }
    if (a->n_memory > 1 && a->memory[0] & SpvMemoryAccessAlignedMask)
        a->memory[1] = (uint32_t)MIN(scalar->size, a->memory[1]);
}

bool address_open_at(Lower *l, SpvInst *i, const SpvType *element, uint32_t memory,
                     LowerAddress *out)
{
    const SpvType *p = spv_type_of(l->m, spv_operand(i, 0));
    *out = (LowerAddress){ .inst = i,
                           .chain = open_chain(l, i, spv_operand(i, 0)),
                           .element = element,
                           .pointee = p && p->kind == SPV_POINTER ? p->element : NULL };
    for (; out->pointee && is_wrapped(out->pointee); out->pointee = out->pointee->members[0])
        out->wraps++;
    if (!out->chain || !out->pointee || !out->pointee->size)
        return lower_refuse(l, i, "its pointer is no element of an array that it names itself");
    if (!is_number(out->pointee))
        return lower_refuse(l, i, "its pointer leads neither to a number nor to a vector");
    out->index = find_index(l, out->chain);
    out->stride = build_const(l, 0);
    take_memory(out, i, memory);
    return true;
}

bool address_open(Lower *l, SpvInst *i, const SpvType *matrix, LowerAddress *out)
{
    bool store = i->op == SpvOpCooperativeMatrixStoreKHR;
    uint32_t at = store ? 2 : 1, n = spv_n_operands(i);
    uint64_t layout = 0;
    if (!address_open_at(l, i, matrix->element, at + 2, out))
        return false;
    if (!spv_constant(l->m, spv_operand(i, at), &layout) || layout > 1)
        return lower_refuse(l, i, "its layout is neither row-major nor column-major");
    out->by_column = layout == 1;
    out->major = out->by_column ? matrix->cols : matrix->rows;
    out->minor = out->by_column ? matrix->rows : matrix->cols;
    if (n > at + 1)
        out->stride = build_to_u32(l, i, spv_operand(i, at + 1));
    else
        out->stride =
            build_const(l, (uint32_t)(out->minor * matrix->element->size / out->pointee->size));
    return true;
}

void address_as_elements(Lower *l, LowerAddress *a)
{
    uint32_t pieces = (uint32_t)(a->element->size / a->pointee->size), storage;
    SpvId bytes, variable;
    storage = spv_type(l->m, a->chain->type)->storage;
    if (pieces < 2 || storage != SpvStorageClassStorageBuffer ||
        a->element->size % a->pointee->size || lower_lacks_storage(l, a->element) ||
        !(variable = lower_view_start(l, a->chain, &bytes)))
        return;
    SpvId x[3] = { lower_view(l, variable, a->element), build_const(l, 0),
                   build_div(l, a->inst, bytes, (uint32_t)a->element->size) };
    SpvId type = spv_pointer_type(l->m, storage, a->element->id);
    a->chain = spv_def(l->m, build(l, a->inst, SpvOpAccessChain, type, x, 3));
    a->index = 2;
    a->wraps = 0;
    a->pointee = a->element;
    a->stride = build_div(l, a->inst, a->stride, pieces);
}

/* ---- pointers -------------------------------------------------------------------------------- */

SpvId address_first(const LowerAddress *a) { return spv_operand(a->chain, a->index); }

/* To what has that number in the array, or with `into` to the pointee in that, or to a component of
 * the pointee where `part` is an id. */
static SpvId make_pointer(Lower *l, SpvInst *at, const LowerAddress *a, SpvId number, bool into,
                          SpvId part)
{
    const SpvInst *c = a->chain;
    SpvId first = address_first(a), type = c->type;
    uint32_t n = spv_n_operands(c), inner = n + (into ? a->wraps : 0), all = inner + (part != 0);
    uint32_t *operands = NEW_ARRAY(l->scratch, uint32_t, all);
    memcpy(operands, c->words + c->first_operand, n * sizeof *operands);
    if (spv_type_of(l->m, first)->bits <= 32) {
        operands[a->index] = build_add(l, at, build_to_u32(l, at, first), number);
    } else {
        SpvId wide = spv_int_type(l->m, 64, false);
        number = BUILD(l, at, SpvOpUConvert, wide, number);
        operands[a->index] = BUILD(l, at, SpvOpIAdd, wide, first, number);
    }
    for (uint32_t k = n; k < all; k++)
        operands[k] = k < inner ? build_const(l, 0) : part;
    if (all > n)
        type = spv_pointer_type(l->m, spv_type(l->m, type)->storage,
                                part ? a->pointee->element->id : a->pointee->id);
    return build(l, at, steps(c) ? SpvOpPtrAccessChain : SpvOpAccessChain, type, operands, all);
}

SpvId address_pointer(Lower *l, SpvInst *at, const LowerAddress *a, SpvId number)
{
    return make_pointer(l, at, a, number, false, 0);
}

static SpvId load_from(Lower *l, SpvInst *at, const LowerAddress *a, SpvId pointer,
                       const SpvType *type)
{
    uint32_t operands[5] = { pointer };
    memcpy(operands + 1, a->memory, sizeof a->memory);
    return build(l, at, SpvOpLoad, type->id, operands, 1 + a->n_memory);
}

static SpvId load_numbered(Lower *l, SpvInst *at, const LowerAddress *a, SpvId number)
{
    return load_from(l, at, a, make_pointer(l, at, a, number, true, 0), a->pointee);
}

static void store_to(Lower *l, SpvInst *at, const LowerAddress *a, SpvId pointer, SpvId value)
{
    uint32_t operands[6] = { pointer, value };
    memcpy(operands + 2, a->memory, sizeof a->memory);
    build(l, at, SpvOpStore, 0, operands, 2 + a->n_memory);
}

static void store_numbered(Lower *l, SpvInst *at, const LowerAddress *a, SpvId number, SpvId value)
{
    store_to(l, at, a, make_pointer(l, at, a, number, true, 0), value);
}

/* ---- parts of pointees ----------------------------------------------------------------------- */

static SpvId cast(Lower *l, SpvInst *at, SpvId type, SpvId value)
{
    return spv_def(l->m, value)->type == type ? value : BUILD(l, at, SpvOpBitcast, type, value);
}

/* n values of a type side by side: a vector, or it itself. */
static SpvId several(Lower *l, SpvId type, uint32_t n)
{
    return n == 1 ? type : spv_vector_type(l->m, type, n);
}

static SpvId component(Lower *l, SpvInst *at, SpvId type, uint32_t n, SpvId vector, SpvId number)
{
    uint64_t k;
    if (n == 1)
        return vector;
    return spv_constant(l->m, number, &k)
               ? BUILD(l, at, SpvOpCompositeExtract, type, vector, (uint32_t)k)
               : BUILD(l, at, SpvOpVectorExtractDynamic, type, vector, number);
}

uint32_t address_packed(const LowerAddress *a)
{
    return (uint32_t)MAX(a->pointee->size / a->element->size, 1);
}

/* Element `number` of a wider pointee: by way of words of 32 bits where it holds more than four. */
static SpvId unpack(Lower *l, SpvInst *at, const LowerAddress *a, SpvId value, SpvId number)
{
    uint32_t n = address_packed(a), words = 1;
    if (n > 4) {
        words = (uint32_t)a->pointee->size / 4;
        n /= words;
        SpvId u32 = build_u32(l);
        value = cast(l, at, several(l, u32, words), value);
        value = component(l, at, u32, words, value, build_div(l, at, number, n));
        number = build_mod(l, at, number, n);
    }
    value = cast(l, at, several(l, a->element->id, n), value);
    return component(l, at, a->element->id, n, value, number);
}

void address_store_packed(Lower *l, SpvInst *at, const LowerAddress *a, SpvId number,
                          const SpvId *elements)
{
    uint32_t n = address_packed(a), words = n > 4 ? (uint32_t)a->pointee->size / 4 : 1;
    SpvId parts[4], value;
    n /= words;
    SpvId type = several(l, a->element->id, n);
    for (uint32_t k = 0; k < words; k++) {
        value =
            n == 1 ? elements[k] : build(l, at, SpvOpCompositeConstruct, type, elements + k * n, n);
        parts[k] = words == 1 ? value : cast(l, at, build_u32(l), value);
    }
    value = parts[0];
    if (words > 1)
        value =
            build(l, at, SpvOpCompositeConstruct, several(l, build_u32(l), words), parts, words);
    store_numbered(l, at, a, number, cast(l, at, a->pointee->id, value));
}

static const char too_many[] = "an element is made of more than four of what its pointer leads to";

/* ---- elements -------------------------------------------------------------------------------- */

static SpvId number_of(Lower *l, SpvInst *at, const LowerAddress *a, SpvId major, SpvId minor)
{
    return build_add(l, at, build_mul(l, at, major, a->stride), minor);
}

/* Whether an element is a component of the pointee of which the kernel finds out when it runs, and
 * not one of several that lie in a component. */
static bool is_component(Lower *l, const LowerAddress *a, SpvId part)
{
    const SpvType *c = a->pointee->element;
    uint64_t known;
    return c && c->size == a->element->size && !spv_constant(l->m, part, &known);
}

/* Nothing else of the pointee: drivers that load scalar by scalar would load all of it. */
static SpvId load_part(Lower *l, SpvInst *at, const LowerAddress *a, SpvId number, SpvId part)
{
    SpvId value =
        load_from(l, at, a, make_pointer(l, at, a, number, true, part), a->pointee->element);
    return cast(l, at, a->element->id, value);
}

SpvId address_load(Lower *l, SpvInst *at, const LowerAddress *a, SpvId major, SpvId minor)
{
    uint64_t size = a->pointee->size, wanted = a->element->size;
    uint32_t packed = address_packed(a), pieces = (uint32_t)(wanted / size);
    SpvId parts[4];
    if (pieces <= 1) {
        SpvId at_line = build_div(l, at, minor, packed), part = build_mod(l, at, minor, packed);
        SpvId number = number_of(l, at, a, major, at_line);
        return is_component(l, a, part) ? load_part(l, at, a, number, part)
                                        : unpack(l, at, a, load_numbered(l, at, a, number), part);
    }
    if (pieces > 4 || a->pointee->kind == SPV_VECTOR) {
        lower_refuse(l, a->inst, too_many);
        return spv_undef(l->m, a->element->id);
    }
    SpvId first = number_of(l, at, a, major, build_mul(l, at, minor, build_const(l, pieces)));
    for (uint32_t k = 0; k < pieces; k++)
        parts[k] = load_numbered(l, at, a, build_add(l, at, first, build_const(l, k)));
    SpvId vector =
        build(l, at, SpvOpCompositeConstruct, several(l, a->pointee->id, pieces), parts, pieces);
    return cast(l, at, a->element->id, vector);
}

/* An element that is a component of a pointee. */
static void store_part(Lower *l, SpvInst *at, const LowerAddress *a, SpvId number, SpvId part,
                       SpvId value)
{
    const SpvType *c = a->pointee->element;
    if (c && c->size == a->element->size)
        store_to(l, at, a, make_pointer(l, at, a, number, true, part), cast(l, at, c->id, value));
    else
        lower_refuse(l, a->inst, "its pointer leads to what several elements share");
}

void address_store(Lower *l, SpvInst *at, const LowerAddress *a, SpvId major, SpvId minor,
                   SpvId value)
{
    uint32_t packed = address_packed(a);
    if (packed > 1) {
        SpvId number = number_of(l, at, a, major, build_div(l, at, minor, packed));
        store_part(l, at, a, number, build_mod(l, at, minor, packed), value);
        return;
    }
    uint32_t pieces = (uint32_t)(a->element->size / a->pointee->size);
    if (pieces <= 1) {
        store_numbered(l, at, a, number_of(l, at, a, major, minor),
                       cast(l, at, a->pointee->id, value));
        return;
    }
    if (pieces > 4 || a->pointee->kind == SPV_VECTOR) {
        lower_refuse(l, a->inst, too_many);
        return;
    }
    SpvId first = number_of(l, at, a, major, build_mul(l, at, minor, build_const(l, pieces)));
    SpvId vector = cast(l, at, several(l, a->pointee->id, pieces), value);
    for (uint32_t k = 0; k < pieces; k++)
        store_numbered(l, at, a, build_add(l, at, first, build_const(l, k)),
                       BUILD(l, at, SpvOpCompositeExtract, a->pointee->id, vector, k));
}
