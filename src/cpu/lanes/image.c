/* SPDX-License-Identifier: MIT
 *
 * Images, samplers and texel buffers. A value of such a type is the address of its descriptor
 * (base/image.h); a sampled image has two. A variable is an array of ImageBinding, in slots like
 * the DeviceBinding of buffers. An access puts its operands into memory, row by row, and calls
 * cpu_image: once for all active lanes, or for one lane if the operands are the same for all.
 */
#include "cpu/machine/image.h"
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <stddef.h>

_Static_assert(sizeof(ImageBinding) == sizeof(DeviceBinding), "one kind of slot");

/* Memory in the stack frame that all calls of a function share. */
struct LanesImage {
    LV in, out, images, samplers, mask;
};

static const SpvType address_type = { .kind = SPV_INT, .bits = 64 };

void image_load(Emit *e, const EmitPointer *p, LV *leaves)
{
    uint32_t n = 0;
    EmitPointer part = *p;
    part.at.type = p->at.type->element;
    for (uint32_t k = 0; p->at.type->kind == SPV_ARRAY && k < p->at.type->count; k++) {
        part.constant = p->constant + (int64_t)(k * sizeof(ImageBinding));
        image_load(e, &part, leaves + k * emit_n_leaves(e, part.at.type));
    }
    if (p->at.type->kind == SPV_ARRAY)
        return;
    if (p->at.type->kind != SPV_SAMPLER)
        leaves[n++] = emit_load_leaf(e, p, offsetof(ImageBinding, image), &address_type);
    if (p->at.type->kind != SPV_IMAGE)
        leaves[n++] = emit_load_leaf(e, p, offsetof(ImageBinding, sampler), &address_type);
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct Call {
    Emit *e;
    const SpvInst *inst;
    SpvImageInst i;
    CpuImageCall to;
    LV row[IMAGE_N_ROWS]; /* NULL: the access does not have this operand */
    LV image, sampler;
} Call;

static struct LanesImage *shared_memory(Emit *e)
{
    struct LanesImage *m = lanes_of(e)->image;
    if (m)
        return m;
    m = lanes_of(e)->image = NEW(e->arena, struct LanesImage);
    m->in = emit_alloca(e, LLVMArrayType2(e->i32, (uint64_t)IMAGE_N_ROWS * e->W), "image.in");
    m->out = emit_alloca(e, LLVMArrayType2(e->i32, 4ull * e->W), "image.out");
    m->images = emit_alloca(e, LLVMArrayType2(e->i64, e->W), "images");
    m->samplers = emit_alloca(e, LLVMArrayType2(e->i64, e->W), "samplers");
    m->mask = emit_alloca(e, LLVMArrayType2(e->i8, e->W), "image.mask");
    LV all[] = { m->in, m->out, m->images, m->samplers, m->mask };
    for (uint32_t k = 0; k < COUNT_OF(all); k++)
        LLVMSetAlignment(all[k], 64);
    return m;
}

static LV as_float(Emit *e, LV word)
{
    return LLVMBuildBitCast(e->b, word, ir_type_like(LLVMTypeOf(word), e->f32), "");
}

/* A component as 32 bits. */
static LV as_word(Emit *e, LV v, const SpvType *t)
{
    bool lanes = emit_is_lanes(v);
    LT word = lanes ? emit_lanes_type(e, e->i32) : e->i32;
    if (t->kind == SPV_FLOAT && t->bits < 32)
        v = LLVMBuildFPExt(e->b, v, lanes ? emit_lanes_type(e, e->f32) : e->f32, "");
    if (t->kind == SPV_FLOAT)
        return LLVMBuildBitCast(e->b, v, word, "");
    return t->bits < 32 && !t->is_signed ? LLVMBuildZExt(e->b, v, word, "")
                                         : emit_cast_index(e, v, e->i32);
}

static const SpvType *component_of(Emit *e, SpvId id)
{
    return emit_leaf_type(e, spv_type_of(e->module, id), 0);
}

/* Adds the components of an operand, from a row on; nothing if the id is 0. */
static void add_rows(Call *c, uint32_t row, SpvId id, uint32_t most, uint16_t flag)
{
    const SpvType *t = id ? component_of(c->e, id) : NULL;
    uint32_t n = t ? MIN(emit_value(c->e, id)->n, most) : 0;
    if (!n)
        return;
    if (row == IMAGE_TEXEL && t->kind == SPV_INT && t->bits == 64) { /* texel_is_long */
        LV v = emit_leaf(c->e, id, 0), high = LLVMBuildLShr(c->e->b, v, ir_inum(v, 32), "");
        c->row[row] = emit_cast_index(c->e, v, c->e->i32);
        c->row[row + 1] = emit_cast_index(c->e, high, c->e->i32);
        return;
    }
    if ((t->kind != SPV_INT && t->kind != SPV_FLOAT) || t->bits > 32) {
        emit_error(c->e, c->inst, NULL, "components of %u bits are not supported on the CPU",
                   t->bits);
        return;
    }
    for (uint32_t k = 0; k < n; k++)
        c->row[row + k] = as_word(c->e, emit_leaf(c->e, id, k), t);
    c->to.flags |= flag;
}

/* Levels of detail from derivatives: adds those of the projected coordinate, as if they were
 * operands. */
static void add_slopes(Call *c)
{
    Emit *e = c->e;
    LV q = c->i.projective ? c->row[IMAGE_COORDINATE + c->i.type.n_space] : NULL;
    for (uint32_t k = 0; k < c->i.type.n_space; k++) {
        LV x = as_float(e, c->row[IMAGE_COORDINATE + k]);
        if (q)
            x = ops_float(e, NULL, LLVMFDiv, x, as_float(e, q));
        for (uint32_t axis = 1; axis <= 2; axis++)
            c->row[IMAGE_GRAD + 3 * (axis - 1) + k] = ops_bits(e, subgroup_slope(e, NULL, x, axis));
    }
    c->to.flags |= IMAGE_HAS_GRAD;
}

static bool call_begin(Emit *e, const SpvInst *inst, Call *c)
{
    *c = (Call){ .e = e, .inst = inst };
    if (!spv_image_inst(e->module, inst, &c->i) || !c->i.type.n_space) {
        emit_error(e, inst, NULL, "%s with these operands is not supported on the CPU",
                   spv_op_name(inst->op));
        return false;
    }
    const SpvImageInst *i = &c->i;
    c->to.act = (uint8_t)i->act;
    c->to.dim = (uint8_t)i->type.dim;
    c->to.n_space = (uint8_t)i->type.n_space;
    c->to.flags =
        (uint16_t)((i->type.arrayed && i->act != SPV_IMAGE_QUERY_LOD ? IMAGE_HAS_LAYER : 0) |
                   (i->projective ? IMAGE_PROJECTS : 0) | (i->sign_extend ? IMAGE_SIGNED : 0) |
                   (i->zero_extend ? IMAGE_UNSIGNED : 0));
    uint64_t component = 0;
    if (i->component && !spv_constant(e->module, i->component, &component))
        emit_error(e, inst, NULL, "the component is no constant");
    c->to.component = component & 3;
    add_rows(c, IMAGE_COORDINATE, i->coordinate, 4, 0);
    add_rows(c, IMAGE_DREF, i->dref, 1, IMAGE_HAS_DREF);
    add_rows(c, IMAGE_LOD, i->lod, 1, IMAGE_HAS_LOD);
    add_rows(c, IMAGE_LOD, i->bias, 1, IMAGE_HAS_BIAS);
    add_rows(c, IMAGE_MIN_LOD, i->min_lod, 1, IMAGE_HAS_MIN_LOD);
    add_rows(c, IMAGE_SAMPLE, i->sample, 1, IMAGE_HAS_SAMPLE);
    add_rows(c, IMAGE_GRAD, i->grad_x, 3, IMAGE_HAS_GRAD);
    add_rows(c, IMAGE_GRAD + 3, i->grad_y, 3, IMAGE_HAS_GRAD);
    add_rows(c, IMAGE_OFFSET, i->offset, 3, IMAGE_HAS_OFFSET);
    add_rows(c, IMAGE_OFFSET, i->offsets, 8, IMAGE_HAS_OFFSETS);
    add_rows(c, IMAGE_TEXEL, i->texel, 4, 0);
    if (e->entry->quads && !e->failed && spv_image_is_implicit(i))
        add_slopes(c);
    return !e->failed;
}

/* The address of element k of an array of T. */
static LV element(Emit *e, LV base, LT type, uint64_t k)
{
    LV index = ir_int(e->i64, k);
    return LLVMBuildGEP2(e->b, type, base, &index, 1, "");
}

static void pass_value(Emit *e, LV v, LV at, bool lanes)
{
    ir_store(e->b, lanes ? emit_lanes(e, v) : v, at, 4);
}

/* Calls cpu_image; the results are in shared_memory's `out`. True: the result is one for all
 * lanes. */
static bool call(Call *c)
{
    Emit *e = c->e;
    struct LanesImage *m = shared_memory(e);
    LV sampler = c->sampler ? c->sampler : ir_int(e->i64, 0);
    bool lanes = emit_is_lanes(c->image) || emit_is_lanes(sampler);
    for (uint32_t k = 0; k < IMAGE_N_ROWS; k++)
        lanes |= c->row[k] && emit_is_lanes(c->row[k]);
    c->to.lanes = (uint8_t)(lanes ? e->W : 1);
    pass_value(e, c->image, m->images, lanes);
    pass_value(e, sampler, m->samplers, lanes);
    for (uint32_t k = 0; k < IMAGE_N_ROWS; k++)
        if (c->row[k])
            pass_value(e, c->row[k], element(e, m->in, e->i32, (uint64_t)k * c->to.lanes), lanes);
    LV mask = LLVMConstNull(e->ptr);
    if (lanes && e->mask) {
        mask = m->mask;
        LV bytes = LLVMBuildZExt(e->b, e->mask, emit_lanes_type(e, e->i8), "");
        ir_store(e->b, bytes, mask, 1);
    }
    uint64_t what;
    memcpy(&what, &c->to, sizeof what);
    LT params[6] = { e->i64, e->ptr, e->ptr, e->ptr, e->ptr, e->ptr };
    LT type = LLVMFunctionType(e->void_, params, COUNT_OF(params), 0);
    LV fn = LLVMGetNamedFunction(e->ll, CPU_IMAGE_NAME);
    if (!fn)
        fn = LLVMAddFunction(e->ll, CPU_IMAGE_NAME, type);
    LV args[6] = { ir_int(e->i64, what), mask, m->images, m->samplers, m->in, m->out };
    LLVMBuildCall2(e->b, type, fn, args, COUNT_OF(args), "");
    return !lanes;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void set_results(Call *c, bool one)
{
    Emit *e = c->e;
    const SpvType *t = spv_type(e->module, c->inst->type);
    uint32_t n = emit_n_leaves(e, t);
    LV leaves[4];
    if (!n || n > 4) {
        emit_error(e, c->inst, NULL, "%s cannot give this type", spv_op_name(c->inst->op));
        return;
    }
    const SpvType *s = emit_leaf_type(e, t, 0);
    LT word = one ? e->i32 : emit_lanes_type(e, e->i32), scalar = emit_scalar_type(e, s);
    LT type = one ? scalar : emit_lanes_type(e, scalar);
    LT single = one ? e->f32 : emit_lanes_type(e, e->f32);
    LV words[4];
    for (uint32_t k = 0; k < 4; k++) {
        LV at = element(e, lanes_of(e)->image->out, e->i32, (uint64_t)k * c->to.lanes);
        words[k] = ir_load(e->b, word, at, 4);
    }
    if (s->kind == SPV_INT && s->bits == 64 && c->to.act != SPV_IMAGE_GATHER) { /* texel_is_long */
        LV high = LLVMBuildZExt(e->b, words[1], type, "");
        leaves[0] = LLVMBuildOr(e->b, LLVMBuildZExt(e->b, words[0], type, ""),
                                LLVMBuildShl(e->b, high, ir_inum(high, 32), ""), "");
        leaves[1] = leaves[2] = LLVMConstNull(type);
        leaves[3] = LLVMBuildZExt(e->b, words[3], type, "");
        emit_set(e, c->inst, leaves, n);
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        LV v = words[k];
        if (s->kind == SPV_FLOAT)
            v = LLVMBuildBitCast(e->b, v, single, "");
        if (s->kind == SPV_FLOAT && s->bits < 32)
            v = LLVMBuildFPTrunc(e->b, v, type, "");
        leaves[k] = s->kind == SPV_INT ? emit_cast_index(e, v, scalar) : v;
        if ((s->kind != SPV_INT && s->kind != SPV_FLOAT) || s->bits > 32) {
            emit_error(e, c->inst, NULL,
                       "texels of %u bits a component are not supported on the "
                       "CPU",
                       s->bits);
            return;
        }
    }
    emit_set(e, c->inst, leaves, n);
}

static void image_inst(Emit *e, const SpvInst *inst)
{
    Call c;
    if (inst->op == SpvOpImageWrite)
        e->target->settle(e);
    if (!call_begin(e, inst, &c))
        return;
    c.image = emit_leaf(e, c.i.image, 0);
    c.sampler = c.i.has_sampler ? emit_leaf(e, c.i.image, 1) : NULL;
    bool one = call(&c);
    if (inst->id)
        set_results(&c, one);
}

/* A pointer to a texel, for atomics. If the texel does not exist, the pointer's limit is 0. */
static void texel_pointer(Emit *e, const SpvInst *inst)
{
    Call c;
    const SpvType *t = spv_type(e->module, inst->type);
    if (!call_begin(e, inst, &c) || !t || t->kind != SPV_POINTER)
        return;
    LV image[2];
    image_load(e, emit_pointer(e, c.i.image), image);
    c.image = image[0];
    c.to.bytes = (uint8_t)emit_scalar_bytes(e, t->element);
    bool one = call(&c);
    LT type = one ? e->i64 : emit_lanes_type(e, e->i64);
    LV at = ir_load(e->b, type, lanes_of(e)->image->out, 8);
    LV is = LLVMBuildICmp(e->b, LLVMIntEQ, at, LLVMConstNull(type), "");
    EmitPointer p = { .storage = t->storage,
                      .at = { .type = t->element, .rule = LAYOUT_EXPLICIT },
                      .affine = { .group = 1 } };
    p.base = LLVMBuildIntToPtr(e->b, at, one ? e->ptr : emit_lanes_type(e, e->ptr), "");
    p.limit = LLVMBuildSelect(e->b, is, LLVMConstNull(type),
                              ir_int(type, emit_layout_size(e, &p.at)), "");
    emit_set_pointer(e, inst, &p);
}

static void sampled_image(Emit *e, const SpvInst *i)
{
    LV both[2] = { emit_leaf(e, spv_operand(i, 0), 0), emit_leaf(e, spv_operand(i, 1), 0) };
    emit_set(e, i, both, 2);
}

static void image_of(Emit *e, const SpvInst *i)
{
    emit_set1(e, i, emit_leaf(e, spv_operand(i, 0), 0));
}

#define ROW(name) { SpvOpImage##name, 0, image_inst }

const EmitRule lanes_rules_image[] = {
    { SpvOpSampledImage, EMIT_CHEAP, sampled_image },
    { SpvOpImage, EMIT_CHEAP, image_of },
    { SpvOpImageTexelPointer, 0, texel_pointer },
    ROW(SampleImplicitLod),
    ROW(SampleExplicitLod),
    ROW(SampleDrefImplicitLod),
    ROW(SampleDrefExplicitLod),
    ROW(SampleProjImplicitLod),
    ROW(SampleProjExplicitLod),
    ROW(SampleProjDrefImplicitLod),
    ROW(SampleProjDrefExplicitLod),
    ROW(Fetch),
    ROW(Gather),
    ROW(DrefGather),
    ROW(Read),
    ROW(Write),
    ROW(QuerySizeLod),
    ROW(QuerySize),
    ROW(QueryLod),
    ROW(QueryLevels),
    ROW(QuerySamples),
    { 0, 0, NULL },
};
