/* SPDX-License-Identifier: MIT
 *
 * Turns a module into code: a place for every value, blocks, edges with their phi copies, and for
 * each instruction a handler whose requirements on operands have been checked. Functions are
 * decoded starting from the entry point, as calls name them; functions that are never called are
 * ignored.
 */
#include "reference/machine.h"

enum { MAX_VALUE = 1 << 20 };

Ref ref_of(RMachine *m, SpvId id) { return id < m->bound ? m->refs[id] : REF_NONE; }

const RType *type_of(RMachine *m, SpvId id) { return id < m->bound ? m->value_types[id] : NULL; }

const ROpRow *op_row(uint16_t op)
{
    static const ROpTable *const tables[] = {
        &ref_arith_ops,   &ref_convert_ops, &ref_composite_ops, &ref_load_store_ops,
        &ref_pointer_ops, &ref_control_ops, &ref_group_ops,     &ref_matrix_ops,
        &ref_nv_ops,      &ref_tensor_ops,  &ref_qcom_ops,      &ref_atomic_ops,
        &ref_image_ops,
    };
    for (uint32_t t = 0; t < COUNT_OF(tables); t++)
        for (uint32_t k = 0; k < tables[t]->n; k++)
            if (tables[t]->rows[k].op == op)
                return &tables[t]->rows[k];
    return NULL;
}

bool ref_handles(uint16_t op) { return op_row(op); }

/* Word indices of id operands, ascending; at most one a word. */
static uint32_t id_words(RMachine *m, const SpvInst *src, uint16_t **at)
{
    *at = NEW_ARRAY(m->arena, uint16_t, src->n_words + 1u);
    return spv_id_operands(src, *at, src->n_words);
}

bool prepare_value(RMachine *m, RInst *i)
{
    uint16_t *at;
    uint32_t n = id_words(m, i->src, &at);
    for (uint32_t k = 0; k < n; k++) {
        SpvId id = i->src->words[at[k]];
        if (ref_of(m, id) == REF_NONE || !type_of(m, id)) {
            refuse(m, i->src, "operand %%%u is not a value this device supports", id);
            return false;
        }
    }
    return true;
}

bool prepare_same(RMachine *m, RInst *i)
{
    uint16_t *at;
    uint32_t n = id_words(m, i->src, &at);
    if (!prepare_value(m, i))
        return false;
    for (uint32_t k = 0; k < n; k++) {
        const RType *t = type_of(m, i->src->words[at[k]]);
        if (t->leaves != i->n || (t->kind == SPV_POINTER) != (i->type->kind == SPV_POINTER)) {
            refuse(m, i->src, "operand %%%u does not match the result type", i->src->words[at[k]]);
            return false;
        }
    }
    return true;
}

void decode_inst(RMachine *m, RInst *out, SpvInst *src)
{
    uint16_t *at;
    uint32_t n_ids = id_words(m, src, &at), n = spv_n_operands(src);
    uint32_t *ops = NEW_ARRAY(m->arena, uint32_t, n + 1), next = 0;
    out->src = src;
    out->op = src->op;
    out->n_ops = (uint16_t)n;
    out->ops = ops;
    out->dst = REF_NONE;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t word = src->first_operand + k;
        ops[k] = src->words[word];
        while (next < n_ids && at[next] < word)
            next++;
        bool id = next < n_ids && at[next] == word;
        if (id && ref_of(m, ops[k]) != REF_NONE) {
            if (k == (src->op == SpvOpExtInst ? 2u : 0u))
                out->at = m->value_types[ops[k]];
            ops[k] = m->refs[ops[k]];
        }
    }
    if (src->type)
        out->type = type_get(m, src->type);
    const RType *t = out->type ? out->type : out->at;
    if (src->id && out->type)
        out->dst = m->refs[src->id];
    if (!t)
        return;
    const RType *s = type_scalar(t), *a = out->at ? type_scalar(out->at) : s;
    out->n = t->leaves;
    out->bits = (uint8_t)s->bits;
    out->sbits = (uint8_t)a->bits;
    out->fmt = (uint8_t)fmt_of(s);
    out->sfmt = (uint8_t)fmt_of(a);
    uint32_t size = s->bits == 16 ? 1 : s->bits == 32 ? 2 : 3;
    out->rtz = s->kind == SPV_FLOAT && s->format == SPV_IEEE && m->rtz[size];
}

RFunc *decode_find(RMachine *m, SpvId id)
{
    if (id >= m->bound)
        return NULL;
    if (m->functions[id])
        return m->functions[id];
    for (SpvFunction *f = m->module->functions; f; f = f->next) {
        if (!f->def || f->def->id != id)
            continue;
        RFunc *r = NEW(m->arena, RFunc);
        r->src = f;
        m->functions[id] = r;
        if (m->last_function)
            m->last_function->next = r;
        else
            m->first_function = r;
        m->last_function = r;
        return r;
    }
    return NULL;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void place_result(RMachine *m, RFunc *f, SpvInst *i)
{
    const RType *t = type_get(m, i->type);
    if (!t)
        return;
    if (t->leaves > MAX_VALUE) {
        refuse(m, i, "a value of %u scalars is more than the device handles", t->leaves);
        return;
    }
    if (f->slots + (uint64_t)t->leaves > 0x7ffffff0u) {
        refuse(m, i, "the function's values take too much room");
        return;
    }
    m->value_types[i->id] = t;
    m->refs[i->id] = f->slots;
    f->slots += t->leaves;
}

static void place_values(RMachine *m, RFunc *f)
{
    uint32_t n = 0;
    for (SpvInst *i = f->src->head.first; i; i = i->next)
        n += i->op == SpvOpFunctionParameter;
    f->params = NEW_ARRAY(m->arena, Ref, n + 1);
    f->param_types = NEW_ARRAY(m->arena, const RType *, n + 1);
    for (SpvInst *i = f->src->head.first; i && !m->failed; i = i->next) {
        if (i->op != SpvOpFunctionParameter)
            continue;
        place_result(m, f, i);
        f->params[f->n_params] = m->refs[i->id];
        f->param_types[f->n_params++] = m->value_types[i->id];
    }
    for (SpvBlock *b = f->src->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i && !m->failed; i = i->next)
            if (i->id && i->type)
                place_result(m, f, i);
}

/* ---- blocks and edges ------------------------------------------------------------------------ */

static RBlock *block_at(RMachine *m, SpvId label)
{
    return label < m->bound ? m->blocks[label] : NULL;
}

/* Labels a terminator names, in order; at most `cap`. */
static uint32_t targets(RMachine *m, const SpvInst *t, SpvId *out, uint32_t cap)
{
    uint32_t n = 0, ops = spv_n_operands(t);
    if (t->op == SpvOpBranch && ops > 0) {
        out[n++] = spv_operand(t, 0);
    } else if (t->op == SpvOpBranchConditional && ops > 2) {
        out[n++] = spv_operand(t, 1);
        out[n++] = spv_operand(t, 2);
    } else if (t->op == SpvOpSwitch && ops > 1) {
        const RType *s = type_of(m, spv_operand(t, 0));
        uint32_t wide = s && s->bits > 32 ? 2 : 1;
        out[n++] = spv_operand(t, 1);
        for (uint32_t k = 2; k + wide < ops && n < cap; k += wide + 1)
            out[n++] = spv_operand(t, k + wide);
    }
    return n;
}

static void link_blocks(RMachine *m, RFunc *f)
{
    uint32_t n = 0;
    for (SpvBlock *b = f->src->first; b; b = b->next)
        n++;
    f->blocks = NEW_ARRAY(m->arena, RBlock, n + 1);
    for (SpvBlock *b = f->src->first; b; b = b->next) {
        RBlock *r = &f->blocks[f->n_blocks++];
        r->src = b;
        r->function = f;
        m->blocks[b->id] = r;
    }
    for (uint32_t k = 0; k < n && !m->failed; k++) {
        RBlock *r = &f->blocks[k];
        SpvInst *t = r->src->insts.last;
        SpvId *ids = NEW_ARRAY(m->arena, SpvId, spv_n_operands(t) + 2);
        uint32_t n_ids = targets(m, t, ids, spv_n_operands(t) + 2);
        r->succs = NEW_ARRAY(m->arena, RBlock *, n_ids + 1);
        for (uint32_t s = 0; s < n_ids; s++) {
            RBlock *to = block_at(m, ids[s]);
            if (!to || to->function != f) {
                refuse(m, t, "branch to something that is not a block of the function");
                return;
            }
            r->succs[r->n_succs++] = to;
            to->n_preds++;
        }
        SpvInst *merge = t->prev;
        if (merge && merge->op == SpvOpLoopMerge && spv_n_operands(merge) > 1) {
            r->merge = block_at(m, spv_operand(merge, 0));
            if (r->merge && r->merge->function != f)
                r->merge = NULL;
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        f->blocks[k].preds = NEW_ARRAY(m->arena, RBlock *, f->blocks[k].n_preds + 1);
        f->blocks[k].n_preds = 0;
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t s = 0; s < f->blocks[k].n_succs; s++) {
            RBlock *to = f->blocks[k].succs[s];
            to->preds[to->n_preds++] = &f->blocks[k];
        }
}

static bool copy_phi(RMachine *m, REdge *e, SpvInst *phi, SpvId from)
{
    for (uint32_t k = 0; k + 1 < spv_n_operands(phi); k += 2) {
        if (spv_operand(phi, k + 1) != from)
            continue;
        SpvId id = spv_operand(phi, k);
        const RType *t = m->value_types[phi->id], *s = type_of(m, id);
        if (ref_of(m, id) == REF_NONE || !s || s->leaves != t->leaves) {
            refuse(m, phi, "operand %%%u is not a value of the phi's type", id);
            return false;
        }
        e->copies[e->n_copies++] = (RPhiCopy){ m->refs[phi->id], m->refs[id], t->leaves };
        e->n_leaves += t->leaves;
        return true;
    }
    refuse(m, phi, "the phi has no value for a predecessor of its block");
    return false;
}

static void make_edge(RMachine *m, RBlock *from, RBlock *to, REdge *e)
{
    uint32_t n = 0;
    e->to = to;
    for (SpvInst *i = to->src->insts.first; i; i = i->next)
        n += i->op == SpvOpPhi;
    e->copies = NEW_ARRAY(m->arena, RPhiCopy, n + 1);
    for (SpvInst *i = to->src->insts.first; i && n && !m->failed; i = i->next)
        if (i->op == SpvOpPhi)
            copy_phi(m, e, i, from->src->id);
    m->max_copy = MAX(m->max_copy, e->n_leaves);
    if (to->is_header && to->depth && to->loops[to->depth - 1] == to) {
        e->level = to->depth;
        e->back = from->rpo >= to->rpo;
    }
}

/* ---- instructions ---------------------------------------------------------------------------- */

static bool is_silent(const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    return spv_is_nonsemantic(i) || i->op == SpvOpPhi || i->op == SpvOpLabel ||
           i->op == SpvOpSelectionMerge || i->op == SpvOpLoopMerge || i->op == SpvOpNop ||
           i->op == SpvOpLine || i->op == SpvOpNoLine ||
           (info && (info->flags & (SPV_OPF_DEBUG | SPV_OPF_ANNOTATION)));
}

/* The row of an extended instruction: NULL with *silent where it may be ignored. */
static const ROpRow *extended_row(RMachine *m, SpvInst *i, bool *silent)
{
    SpvInst *set = spv_def(m->module, spv_operand(i, 0));
    const char *name = set && set->op == SpvOpExtInstImport ? spv_string(set, 0, NULL) : NULL;
    if (name && (!strncmp(name, "NonSemantic.", 12) || !strncmp(name, "OpenCL.DebugInfo", 16) ||
                 !strcmp(name, "DebugInfo"))) {
        *silent = true;
        return NULL;
    }
    const ROpRow *row = NULL;
    if (name && !strcmp(name, "GLSL.std.450"))
        row = glsl_row(spv_operand(i, 1));
    if (name && !strcmp(name, "OpenCL.std"))
        row = opencl_row(spv_operand(i, 1));
    if (!row)
        refuse(m, i, "instruction %u of %s is not supported", spv_operand(i, 1),
               name ? name : "an unknown set");
    return row;
}

static void decode_one(RMachine *m, RBlock *b, SpvInst *i)
{
    bool silent = is_silent(i);
    if (silent)
        return;
    const ROpRow *row = i->op == SpvOpExtInst ? extended_row(m, i, &silent) : op_row(i->op);
    if (silent || m->failed)
        return;
    if (!row) {
        refuse(m, i, "%s is not supported by the reference device", spv_op_name(i->op));
        return;
    }
    RInst out = { 0 };
    decode_inst(m, &out, i);
    out.block = b;
    out.number = m->code.len;
    out.run = row->run ? row->run : collective_wait;
    out.together = row->together;
    out.whole = row->flags & OPF_WHOLE;
    if (row->together)
        out.scope = SpvScopeSubgroup;
    if (m->failed || (row->prepare && !row->prepare(m, &out))) {
        if (!m->failed)
            refuse(m, i, "the operands of %s do not fit", spv_op_name(i->op));
        return;
    }
    controls_prepare(m, &out);
    finite_prepare(m, &out);
    count_prepare(m, &out);
    vec_push(m->arena, &m->code, out);
    const SpvOpInfo *info = spv_op_info(i->op);
    if (info && (info->flags & SPV_OPF_TERMINATOR) && b->n_succs) {
        REdge *edges = NEW_ARRAY(m->arena, REdge, b->n_succs);
        for (uint32_t s = 0; s < b->n_succs && !m->failed; s++)
            make_edge(m, b, b->succs[s], &edges[s]);
        vec_last(&m->code).aux = edges;
    }
}

static void decode_function(RMachine *m, RFunc *f)
{
    if (!f->src->first) {
        refuse(m, f->src->def, "the function has no body");
        return;
    }
    place_values(m, f);
    if (!m->failed)
        link_blocks(m, f);
    if (m->failed || !flow_build(m, f))
        return;
    f->first = m->code.len;
    for (uint32_t k = 0; k < f->n_blocks && !m->failed; k++) {
        RBlock *b = &f->blocks[k];
        b->first = m->code.len;
        if (b->reached)
            for (SpvInst *i = b->src->insts.first; i && !m->failed; i = i->next)
                decode_one(m, b, i);
    }
}

/* Room for the deepest chain of calls. The graph of calls must have no cycle (SPIR-V 2.16.1). */
static bool total(RMachine *m, RFunc *f, uint32_t depth)
{
    if (f->state == 2)
        return true;
    if (f->state == 1 || depth > 200) {
        refuse(m, f->src->def, "the function calls itself, or calls nest deeper than 200");
        return false;
    }
    uint64_t slots = 0, memory = 0, loops = 0, frames = 0, variables = 0;
    f->state = 1;
    for (uint32_t k = 0; k < f->callees.len; k++) {
        const RFunc *c = f->callees.data[k];
        if (!total(m, f->callees.data[k], depth + 1))
            return false;
        slots = MAX(slots, c->total_slots);
        memory = MAX(memory, c->total_memory);
        loops = MAX(loops, c->total_depth);
        frames = MAX(frames, c->total_frames);
        variables = MAX(variables, c->total_variables);
    }
    f->total_slots = slots + f->slots;
    f->total_memory = memory + f->memory;
    f->total_depth = loops + f->max_depth;
    f->total_frames = frames + 1;
    f->total_variables = variables + f->n_variables;
    f->state = 2;
    return true;
}

bool decode_module(RMachine *m)
{
    RFunc *entry = decode_find(m, m->entry.function->def->id);
    for (RFunc *f = m->first_function; f && !m->failed; f = f->next)
        decode_function(m, f);
    if (m->failed || !total(m, entry, 0))
        return false;
    m->copy_v = NEW_ARRAY(m->arena, uint64_t, m->max_copy + 1);
    m->copy_u = NEW_ARRAY(m->arena, uint8_t, m->max_copy + 1);
    return true;
}
