/* SPDX-License-Identifier: MIT
 *
 * What happens to matrices between blocks: the copies for phis, and, on the back edge of a loop
 * that streams matrices from buffers, giving the other workgroups on this core their turn.
 */
#include "cpu/matrix/matrix.h"

#include <stddef.h>

/* On the back edge of a loop that streams matrices from buffers: gives the workgroups interleaved
 * on this core their turn (docs/ARCHITECTURE.md, "A dispatch runs it"). */
static void take_turns(Emit *e, uint32_t to)
{
    Cfg *c = e->cfg;
    for (uint32_t k = 0; k < c->n_loops; k++) {
        uint64_t bytes = matrices_of(e)->loop_bytes[k];
        if (c->loops[k]->header != to || !bytes || e->uniformity->divergent_block[e->position])
            continue;
        lanes_of(e)->kernel->can_yield = true;
        lanes_of(e)->kernel->stream_bytes_per_step =
            MAX(lanes_of(e)->kernel->stream_bytes_per_step, bytes);
        LV every = lanes_env(e, e->b, e->i32, offsetof(CpuEnv, yield_every));
        EmitIf on = if_begin(e, LLVMBuildICmp(e->b, LLVMIntNE, every, ir_int(e->i32, 0), ""));
        LV one = ir_int(e->i64, offsetof(CpuEnv, yield_count));
        LV p = ir_at_inbounds(e->b, e->env, one);
        LV n = LLVMBuildAdd(e->b, LLVMBuildLoad2(e->b, e->i32, p, ""), ir_int(e->i32, 1), "");
        LLVMBuildStore(e->b, n, p);
        EmitIf due = if_begin(e, LLVMBuildICmp(e->b, LLVMIntUGE, n, every, ""));
        LLVMBuildStore(e->b, ir_int(e->i32, 0), p);
        LV fn = lanes_env(e, e->b, e->ptr, offsetof(CpuEnv, yield));
        LT type = LLVMFunctionType(e->void_, &e->ptr, 1, false);
        LLVMBuildCall2(e->b, type, fn, &e->env, 1, "");
        mat_count(e, NULL, DEVICE_STAT_YIELDS, 1);
        if_end(e, &due);
        if_end(e, &on);
    }
}

typedef struct MatPhiCopy {
    const SpvType *type;
    MatTile to, from;
    bool fill;
    LV splat;
} MatPhiCopy;

/* The copies of an edge happen at once, so a home that a later copy still reads is copied aside
 * before another phi overwrites it. */
void matrix_phi_edges(Emit *e, uint32_t from, uint32_t to)
{
    if (!matrices_of(e))
        return;
    SpvBlock *target = e->cfg->blocks[to].block, *source = e->cfg->blocks[from].block;
    VEC(MatPhiCopy) copies = { 0 };
    for (SpvInst *i = target ? target->insts.first : NULL; i; i = i->next) {
        const SpvType *t = i->op == SpvOpPhi ? spv_type(e->module, i->type) : NULL;
        if (!mat_is(t))
            continue;
        for (uint32_t k = 0; k + 1 < spv_n_operands(i); k += 2) {
            if (spv_operand(i, k + 1) != source->id)
                continue;
            MatValue *v = mat_value(e, spv_operand(i, k));
            MatPhiCopy c = { .type = t, .to = mat_home(e, i->id) };
            if (v->state == MAT_SPLAT) {
                c.fill = true;
                c.splat = v->splat;
            } else {
                c.from = mat_read(e, v->id);
            }
            if (c.fill || c.from.ptr != c.to.ptr)
                vec_push(e->arena, &copies, c);
        }
    }
    for (uint32_t i = 0; i < copies.len; i++)
        for (uint32_t j = 0; j < copies.len; j++)
            if (i != j && !copies.data[i].fill &&
                copies.data[i].from.ptr == copies.data[j].to.ptr) {
                MatPhiCopy *c = &copies.data[i];
                LV room = mat_frame(e, c->type, mat_bytes(e, c->type));
                MatTile aside = mat_dense(e, c->type, room, c->from.col);
                mat_copy(e, c->type, &aside, &c->from);
                c->from = aside;
            }
    for (uint32_t i = 0; i < copies.len; i++) {
        MatPhiCopy *c = &copies.data[i];
        if (c->fill)
            mat_fill(e, c->type, &c->to, c->splat);
        else
            mat_copy(e, c->type, &c->to, &c->from);
    }
    if (to <= from)
        take_turns(e, to);
}
