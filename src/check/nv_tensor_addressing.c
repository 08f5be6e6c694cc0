/* SPDX-License-Identifier: MIT
 *
 * SPV_NV_tensor_addressing: the types of layouts and views, and the instructions that make one from
 * another. What is known of a layout's fields is what these instructions say with constants,
 * wherever the layout went between them; the devices look at the rest.
 */
#include "check/internal.h"

#include <stdio.h>

enum { MAX_DIMS = 5 };

static const char section[] = "SPV_NV_tensor_addressing";
static const char layouts[] = "SPV_NV_tensor_addressing, Tensor Layout and View Instructions";
static const char types[] = "SPV_NV_tensor_addressing, Type-Declaration Instructions";

/* ---- declarations ---------------------------------------------------------------------------- */

static void declare_capability(Checker *c, uint32_t capability)
{
    uint64_t any;
    const SpvEnumerant *e = spv_enumerant(SPV_OPERAND_Capability, capability);
    if (map_get(&c->capabilities, capability, &any))
        return;
    map_put(c->arena, &c->capabilities, capability, 1);
    for (uint32_t k = 0; e && k < e->n_capabilities; k++)
        declare_capability(c, e->capabilities[k]);
}

static const struct {
    const char *name;
    uint32_t bit;
} names[] = {
    { "SPV_KHR_cooperative_matrix", EXTENSION_COOPMAT },
    { "SPV_NV_cooperative_matrix2", EXTENSION_COOPMAT2 },
    { "SPV_NV_tensor_addressing", EXTENSION_TENSOR },
    { "SPV_NV_cooperative_matrix_decode_vector", EXTENSION_DECODE_VECTOR },
    { "SPV_EXT_cooperative_matrix_maintenance1", EXTENSION_MAINTENANCE1 },
    { "SPV_QCOM_cooperative_matrix_conversion", EXTENSION_CONVERSION },
    { "SPV_QCOM_multiple_wait_queues", EXTENSION_WAIT_QUEUES },
};

static void read_declarations(Checker *c)
{
    c->extensions = EXTENSION_ASKED;
    for (const SpvInst *i = c->m->globals.first; i && i->op != SpvOpMemoryModel; i = i->next) {
        if (i->op == SpvOpCapability)
            declare_capability(c, spv_operand(i, 0));
        for (uint32_t k = 0; i->op == SpvOpExtension && k < COUNT_OF(names); k++)
            if (!strcmp(spv_string(i, 0, NULL), names[k].name))
                c->extensions |= names[k].bit;
    }
}

bool has_capability(Checker *c, uint32_t capability)
{
    uint64_t any;
    if (!c->extensions)
        read_declarations(c);
    return map_get(&c->capabilities, capability, &any);
}

bool has_extension(Checker *c, const char *name)
{
    for (const SpvInst *i = c->m->globals.first; i && i->op != SpvOpMemoryModel; i = i->next)
        if (i->op == SpvOpExtension && !strncmp(spv_string(i, 0, NULL), name, strlen(name)))
            return true;
    return false;
}

bool has_any(Checker *c, const uint16_t *any, uint32_t n)
{
    bool enabled = !n;
    for (uint32_t k = 0; k < n; k++)
        enabled |= has_capability(c, any[k]);
    return enabled;
}

static const char *capability_name(uint32_t capability)
{
    const char *name = spv_enum_name(SPV_OPERAND_Capability, capability);
    return name ? name : "?";
}

void want_capability(Checker *c, const SpvInst *i, uint32_t capability)
{
    if (!has_capability(c, capability))
        broken(c, i, "%s without capability %s", spv_op_name(i->op), capability_name(capability));
}

void want_extension(Checker *c, const SpvInst *i, uint32_t capability, uint32_t any)
{
    Str list = { 0 };
    if (spv_operand(i, 0) != capability || !has_capability(c, capability) || c->extensions & any)
        return;
    for (uint32_t k = 0; k < COUNT_OF(names); k++)
        if (names[k].bit & any)
            str_printf(c->arena, &list, "%s%s", list.len ? " or " : "", names[k].name);
    broken(c, i, "capability %s without extension %s", capability_name(capability), list.data);
}

static void check_capability(Checker *c, SpvInst *i)
{
    want_capability(c, i, SpvCapabilityTensorAddressingNV);
}

static void check_extension(Checker *c, SpvInst *i)
{
    want_extension(c, i, SpvCapabilityTensorAddressingNV, EXTENSION_TENSOR);
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool is_word(const SpvType *t) { return t && t->kind == SPV_INT && t->bits == 32; }

/* The value of operand `n`, a 32-bit integer constant; reports what is not. */
static bool word_constant(Checker *c, const SpvInst *i, uint32_t n, const char *what,
                          uint64_t *value)
{
    const SpvType *t = want_value(c, i, n);
    bool good = is_word(t) && spv_constant(c->m, spv_operand(i, n), value);
    if (t && !good)
        broken(c, i, "%s is not a 32-bit integer constant", what);
    *value &= UINT32_MAX;
    return good;
}

static void check_dimensions(Checker *c, SpvInst *i)
{
    uint64_t dims;
    if (word_constant(c, i, 0, "the number of dimensions", &dims) && (!dims || dims > MAX_DIMS))
        broken(c, i, "%llu dimensions, not 1 to %u", (unsigned long long)dims, (uint32_t)MAX_DIMS);
}

static void check_clamp(Checker *c, SpvInst *i)
{
    uint64_t mode;
    if (word_constant(c, i, 1, "the clamp mode", &mode) && mode > SpvTensorClampModeRepeatMirrored)
        broken(c, i, "clamp mode %llu", (unsigned long long)mode);
}

static void check_has_dimensions(Checker *c, SpvInst *i)
{
    const SpvType *t = want_value(c, i, 1);
    uint64_t value;
    if (t && (t->kind != SPV_BOOL || !spv_constant(c->m, spv_operand(i, 1), &value)))
        broken(c, i, "whether the view has dimensions is not a boolean constant");
}

static void check_permutation(Checker *c, SpvInst *i)
{
    uint64_t dims, value;
    uint32_t seen = 0, n = spv_n_operands(i) - 2;
    if (!spv_constant(c->m, spv_operand(i, 0), &dims) || dims > MAX_DIMS)
        return;
    if (n != dims) {
        broken(c, i, "a permutation of %u for %llu dimensions", n, (unsigned long long)dims);
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        if (!word_constant(c, i, k + 2, "the permutation", &value))
            return;
        seen |= value < dims ? 1u << value : 0;
    }
    if (seen != (1u << dims) - 1)
        broken(c, i, "the permutation does not name every dimension once");
}

static bool is_tensor(const SpvType *t)
{
    return t->kind == SPV_TENSOR_LAYOUT || t->kind == SPV_TENSOR_VIEW;
}

uint32_t tensor_dims(Checker *c, const SpvType *t)
{
    const SpvInst *def = t ? spv_def(c->m, t->id) : NULL;
    uint64_t dims = 0;
    if (!def || !is_tensor(t) || !spv_constant(c->m, spv_operand(def, 0), &dims) || dims > MAX_DIMS)
        return 0;
    return (uint32_t)dims;
}

static void check_storage(Checker *c, SpvInst *i)
{
    const SpvType *p = result_type(c, i);
    uint32_t storage = spv_operand(i, 0);
    if (storage != SpvStorageClassFunction && storage != SpvStorageClassPrivate && p &&
        p->kind == SPV_POINTER && holds(c, p->element, &c->holds_tensor, is_tensor))
        broken(c, i, "a tensor layout or view in memory other than Function or Private");
}

static bool instruction(uint16_t op)
{
    return op == SpvOpTypeTensorLayoutNV || op == SpvOpTypeTensorViewNV ||
           (op >= SpvOpCreateTensorLayoutNV && op <= SpvOpTensorViewSetStrideNV) ||
           op == SpvOpTensorViewSetClipNV || op == SpvOpTensorLayoutSetBlockSizeNV;
}

static bool makes(uint16_t op)
{
    return instruction(op) && op != SpvOpTypeTensorLayoutNV && op != SpvOpTypeTensorViewNV;
}

static bool changes(uint16_t op)
{
    return makes(op) && op != SpvOpCreateTensorLayoutNV && op != SpvOpCreateTensorViewNV;
}

/* ---- layouts and views ----------------------------------------------------------------------- */

static bool of_view(uint16_t op)
{
    return op == SpvOpCreateTensorViewNV || op == SpvOpTensorViewSetDimensionNV ||
           op == SpvOpTensorViewSetStrideNV || op == SpvOpTensorViewSetClipNV;
}

static void check_result(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    bool view = of_view(i->op);
    if (!r || r->kind != (view ? SPV_TENSOR_VIEW : SPV_TENSOR_LAYOUT))
        broken(c, i, "the result is not a tensor %s", view ? "view" : "layout");
}

static void check_source(Checker *c, SpvInst *i)
{
    const SpvType *t = want_value(c, i, 0);
    if (t && !same_type(t, result_type(c, i)))
        broken(c, i, "the operand and the result are not of one type");
}

static void check_count(Checker *c, SpvInst *i)
{
    uint32_t dims = tensor_dims(c, result_type(c, i)), has = spv_n_operands(i) - 1;
    if (i->op == SpvOpTensorLayoutSliceNV && dims && has != 2 * dims)
        broken(c, i, "%u offsets and spans for %u dimensions", has, dims);
    else if (i->op != SpvOpTensorLayoutSliceNV && dims && has != dims)
        broken(c, i, "%u operands for %u dimensions", has, dims);
}

static void check_words(Checker *c, SpvInst *i)
{
    for (uint32_t k = 1; k < spv_n_operands(i); k++) {
        const SpvType *t = want_value(c, i, k);
        if (t && !is_word(t))
            broken(c, i, "operand %%%u is %s, not a 32-bit integer", spv_operand(i, k),
                   type_name(c, t));
    }
}

/* The instructions that set a field of all dimensions, and where dimension 0's is among their
 * operands. */
static const struct {
    uint16_t op, first, step;
    CheckField field;
} sets[] = {
    { SpvOpTensorLayoutSetBlockSizeNV, 1, 1, LAYOUT_BLOCK_SIZE },
    { SpvOpTensorLayoutSetDimensionNV, 1, 1, LAYOUT_DIMENSION },
    { SpvOpTensorLayoutSetDimensionNV, 1, 1, LAYOUT_SPAN },
    { SpvOpTensorLayoutSliceNV, 2, 2, LAYOUT_SPAN },
};

/* What an instruction says of a field, if it does; else the trace goes on to what it changed. */
static bool says(CheckTrace *t, const SpvInst *i, CheckField field, uint32_t dim, uint64_t *value)
{
    *value = field == LAYOUT_BLOCK_SIZE;
    if (i->op == SpvOpCreateTensorLayoutNV)
        return true;
    for (uint32_t k = 0; k < COUNT_OF(sets); k++) {
        uint32_t at = sets[k].first + dim * sets[k].step;
        if (i->op != sets[k].op || field != sets[k].field)
            continue;
        t->lost |= at >= spv_n_operands(i) || !trace_word(t->c, spv_operand(i, at), value);
        return true;
    }
    if (changes(i->op))
        trace_on(t, spv_operand(i, 0));
    else
        t->lost = true;
    return false;
}

bool layout_field(Checker *c, SpvId layout, CheckField field, uint32_t dim, uint64_t *value)
{
    bool known = false;
    uint64_t x;
    CheckTrace t = trace(c, layout);
    for (const SpvInst *i; (i = trace_next(&t));) {
        if (!says(&t, i, field, dim, &x))
            continue;
        t.lost |= known && x != *value;
        *value = x;
        known = true;
    }
    return known && !t.lost;
}

/* Rows that overlap are read as they lie: programs use that (Slang's tests do). */
static void check_strides(Checker *c, SpvInst *i)
{
    for (uint32_t k = 0; k + 2 < spv_n_operands(i); k++) {
        uint64_t stride, next, size, block;
        if (!trace_word(c, spv_operand(i, k + 1), &stride) ||
            !trace_word(c, spv_operand(i, k + 2), &next) ||
            !layout_field(c, spv_operand(i, 0), LAYOUT_DIMENSION, k + 1, &size) ||
            !layout_field(c, spv_operand(i, 0), LAYOUT_BLOCK_SIZE, k + 1, &block) || !block)
            continue;
        uint64_t least = next * ((size + block - 1) / block);
        if (stride < least)
            doubtful(c, i, "stride %u is %llu; dimension %u takes %llu", k,
                     (unsigned long long)stride, k + 1, (unsigned long long)least);
    }
}

static const CheckRow rows[] = {
    { { "nv-tensor-capability", section, "The extension's instructions need its capability." },
      { 0 },
      instruction,
      check_capability },
    { { "nv-tensor-extension", section, "The capability comes with the extension." },
      { SpvOpCapability },
      NULL,
      check_extension },
    { { "nv-tensor-dimensions", types, "Layouts and views have 1 to 5 dimensions, a constant." },
      { SpvOpTypeTensorLayoutNV, SpvOpTypeTensorViewNV },
      NULL,
      check_dimensions },
    { { "nv-tensor-clamp", types, "The clamp mode is a constant that names one." },
      { SpvOpTypeTensorLayoutNV },
      NULL,
      check_clamp },
    { { "nv-tensor-has-dimensions", types, "A boolean constant says if a view has dimensions." },
      { SpvOpTypeTensorViewNV },
      NULL,
      check_has_dimensions },
    { { "nv-tensor-permutation", types, "A view's permutation names each of its dimensions once." },
      { SpvOpTypeTensorViewNV },
      NULL,
      check_permutation },
    { { "nv-tensor-storage", section,
        "Layouts and views are opaque: variables of Function or Private." },
      { SpvOpVariable },
      NULL,
      check_storage },
    { { "nv-tensor-result", layouts,
        "Instructions of layouts make layouts, those of views views." },
      { 0 },
      makes,
      check_result },
    { { "nv-tensor-source", layouts, "What is changed has the result's type." },
      { 0 },
      changes,
      check_source },
    { { "nv-tensor-count", layouts, "There are as many operands as dimensions." },
      { SpvOpTensorLayoutSetBlockSizeNV, SpvOpTensorLayoutSetDimensionNV,
        SpvOpTensorLayoutSetStrideNV, SpvOpTensorLayoutSliceNV, SpvOpTensorViewSetDimensionNV,
        SpvOpTensorViewSetStrideNV },
      NULL,
      check_count },
    { { "nv-tensor-words", layouts,
        "Sizes, strides, offsets, spans, clips and clamp values are words." },
      { 0 },
      changes,
      check_words },
    { { "nv-tensor-strides", layouts, "A dimension's stride is at least what the next one takes." },
      { SpvOpTensorLayoutSetStrideNV },
      NULL,
      check_strides },
};
const CheckFamily check_nv_tensor_addressing = { rows, COUNT_OF(rows) };
