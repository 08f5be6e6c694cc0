/* SPDX-License-Identifier: MIT
 *
 * Rows that are alike. Where a tensor ends within a tile, the rows behind it are one row many times
 * (all the clamp value, or the edge), and so are all rows of a tile whose tensor has a stride of 0.
 * What is computed row by row from such tiles has such rows again, which are computed once:
 * attention of a single token is made of tiles of 32 or 64 rows of which a few are queries.
 *
 * How many rows of a home are unlike, and how many lie in memory, is known when the code runs: two
 * words of the subgroup's frame have it (MatTile.rows). Who does not know of that asks by mat_read,
 * which completes the tile. What invocations access elements of by themselves is complete
 * wherever they may come to that.
 */
#include "cpu/matrix/tensor.h"

struct MatRows {
    LV words; /* two i64, below */
    const SpvType *type;
    LV tile; /* of a home or a variable: its address */
    /* Exposed: invocations access elements of it, in these blocks, and behind these without that
     * anything is done to whole matrices in between. Else, or if they are no workgroup's: NULL. */
    uint8_t *touches, *end;
    MatRows *next; /* the next one that is exposed */
};

struct MatAlike {
    uint8_t *may;     /* by id, of values and variables: rows of it may be alike */
    uint8_t *touched; /* by id, of the same: invocations access elements of it */
    MatRows *exposed; /* all that are */
    LV repeat;        /* the function, once it is needed */
};

enum { LEAST_ROWS = 8 }; /* fewer are not worth the tests */

/* The two i64 of MatRows.words: the last of so many rows is that of all behind it; so many lie in
 * memory, no fewer. */
enum { UNLIKE = 0, PRESENT = 8, ROWS_BYTES = 16 };

/* ---- where rows may be alike ----------------------------------------------------------------- */

static bool is_flow(const SpvInst *i)
{
    switch (i->op) {
    case SpvOpPhi:
    case SpvOpLabel:
    case SpvOpBranch:
    case SpvOpBranchConditional:
    case SpvOpSwitch:
    case SpvOpSelectionMerge:
    case SpvOpLoopMerge:
    case SpvOpReturnValue:
    case SpvOpLine:
    case SpvOpNoLine: return true;
    default: return spv_is_nonsemantic(i);
    }
}

/* Nothing but numbers made of numbers. */
static bool is_pure(const SpvBlock *b)
{
    bool pure = true;
    for (const SpvInst *i = b->insts.first; i && pure; i = i->next)
        pure = spv_is_pure(i) || is_flow(i);
    return pure;
}

bool mat_calls_alike(Emit *e, const SpvInst *i)
{
    const SpvFunction *f = spv_function(e->module, spv_operand(i, 1));
    const SpvInst *row = f ? f->head.first : NULL;
    while (row && row->op != SpvOpFunctionParameter)
        row = row->next;
    if (!row || !f->first)
        return false;
    for (uint32_t o = 2; o < spv_n_operands(i); o++) {
        SpvId id = spv_operand(i, o);
        if (!mat_is(spv_type_of(e->module, id)) && e->uniformity->varying[id])
            return false;
    }
    for (const SpvBlock *b = f->first; b; b = b->next) {
        if (!is_pure(b))
            return false;
        for (const SpvInst *k = b->insts.first; k; k = k->next)
            if (mat_takes(e, k, row->id))
                return false;
    }
    return true;
}

bool mat_calls_safely(Emit *e, const SpvInst *i)
{
    bool reduces = i->op == SpvOpCooperativeMatrixReduceNV;
    const SpvFunction *f = spv_function(e->module, spv_operand(i, reduces ? 2 : 1));
    return f && f->first && !f->first->next && is_pure(f->first);
}

/* Loads whose rows may be alike: by rows of a tensor as they lie. */
static bool is_source(Emit *e, const SpvInst *i)
{
    enum { MATRIX_B = 1 }; /* whose rows are not those of anything that is computed */
    if (i->op != SpvOpCooperativeMatrixLoadTensorNV ||
        spv_type(e->module, i->type)->use == MATRIX_B)
        return false;
    const SpvType *layout = spv_type_of(e->module, spv_operand(i, 2));
    SpvId ids[3] = { 0 }; /* views and decode functions: none */
    tensor_addressing(i, ids);
    return !ids[0] && !ids[1] && !ids[2] && layout && emit_tensor_dims(e, layout) > 1;
}

/* Whether it computes each row of its result from the same row of its operands, knowing that rows
 * may be alike. */
static bool goes_by_rows(Emit *e, const SpvInst *i)
{
    switch (i->op) {
    case SpvOpPhi:
    case SpvOpCooperativeMatrixMulAddKHR: return true;
    case SpvOpCooperativeMatrixReduceNV:
        return spv_operand(i, 1) == SpvCooperativeMatrixReduceRowMask;
    case SpvOpCooperativeMatrixPerElementOpNV: return mat_calls_alike(e, i);
    default: return mat_is_elementwise(i);
    }
}

/* Whether a word of an instruction is the B of a multiply-add, of which all rows are needed. */
static bool is_b(const SpvInst *i, uint32_t word)
{
    return i->op == SpvOpCooperativeMatrixMulAddKHR && word == i->first_operand + 1u;
}

static bool may_be_alike(Emit *e, const struct MatAlike *a, const SpvInst *i)
{
    if (is_source(e, i))
        return true;
    if (i->op == SpvOpLoad) {
        const SpvInst *v = pointer_root(e->module, spv_operand(i, 0));
        return v && a->may[v->id];
    }
    if (!goes_by_rows(e, i))
        return false;
    bool some = false;
    uint32_t n;
    const uint16_t *at = mat_ids(e, i, &n);
    for (uint32_t k = 0; k < n; k++)
        some |= a->may[i->words[at[k]]] && !is_b(i, at[k]);
    return some;
}

/* Whether one number is all that comes to a phi in some way: then it may be a single row. */
static bool is_phi_of_number(Emit *e, SpvId id)
{
    const SpvInst *i = spv_def(e->module, id);
    bool some = false;
    for (uint32_t k = 0; i->op == SpvOpPhi && k + 1 < spv_n_operands(i); k += 2) {
        const SpvInst *from = spv_def(e->module, spv_operand(i, k));
        some |= !from->block || from->op == SpvOpCompositeConstruct ||
                from->op == SpvOpCompositeConstructReplicateEXT;
    }
    return some;
}

/* Such operands of what may be alike may be alike, too, as far as anybody gains by it. */
static bool see_operands(Emit *e, struct MatAlike *a, const SpvInst *i)
{
    uint32_t n;
    bool more = false, by_rows = goes_by_rows(e, i);
    const uint16_t *at = mat_ids(e, i, &n);
    for (uint32_t k = 0; k < n && by_rows; k++) {
        SpvId id = i->words[at[k]];
        if (!a->may[id] && !is_b(i, at[k]) && mat_is(spv_type_of(e->module, id)) &&
            is_phi_of_number(e, id))
            a->may[id] = more = true;
    }
    return more;
}

/* The variable of a single matrix that an instruction stores to, or 0. */
static SpvId variable_stored(Emit *e, const SpvInst *i)
{
    const SpvInst *v = i->op == SpvOpStore ? spv_def(e->module, spv_operand(i, 0)) : NULL;
    const SpvType *t = v && v->op == SpvOpVariable ? spv_type(e->module, v->type) : NULL;
    return t && mat_is(t->element) ? v->id : 0;
}

static bool see_block(Emit *e, struct MatAlike *a, const SpvBlock *b)
{
    bool more = false;
    for (SpvInst *i = b->insts.first; i; i = i->next) {
        SpvId id = mat_is(spv_type(e->module, i->type)) && i->id ? i->id : 0;
        SpvId to = variable_stored(e, i);
        if (id && !a->may[id] && spv_type(e->module, i->type)->rows >= LEAST_ROWS &&
            may_be_alike(e, a, i))
            more = (a->may[id] = true);
        if (id && a->may[id])
            more |= see_operands(e, a, i);
        if (to && !a->may[to] && a->may[spv_operand(i, 1)])
            more = (a->may[to] = true);
    }
    return more;
}

/* What invocations access elements of. */
static void see_touches(Emit *e, struct MatAlike *a, const SpvBlock *b)
{
    for (SpvInst *i = b->insts.first; i; i = i->next) {
        bool chain = spv_is_chain(i);
        const SpvInst *v = chain ? pointer_root(e->module, spv_operand(i, 0)) : NULL;
        uint32_t n;
        if (v)
            a->touched[v->id] = true;
        if (chain || !mat_leader_touches(e, i))
            continue;
        const uint16_t *at = mat_ids(e, i, &n);
        for (uint32_t k = 0; k < n; k++)
            a->touched[i->words[at[k]]] = true;
        a->touched[i->id] = true;
    }
}

static MatRows *new_rows(Emit *e, const SpvType *t, LV tile, bool exposed)
{
    struct MatAlike *a = matrices_of(e)->alike;
    LV words = lanes_frame(e, ROWS_BYTES), n = ir_int(e->i64, t->rows);
    MatRows *r = NEW(e->arena, MatRows);
    *r = (MatRows){ .words = words, .type = t, .tile = tile };
    LLVMBuildStore(e->entry_b, n, words);
    LLVMBuildStore(e->entry_b, n, ir_at_inbounds(e->entry_b, words, ir_int(e->i64, PRESENT)));
    if (exposed) {
        r->touches = NEW_ARRAY(e->arena, uint8_t, e->cfg->n);
        r->next = a->exposed;
        a->exposed = r;
    }
    return r;
}

MatRows *mat_lazy_rows(Emit *e, const SpvInst *i, LV unlike)
{
    const SpvType *t = spv_type(e->module, i->type);
    MatTile x = { 0 };
    if (!matrices_of(e)->alike->may[i->id] || ir_is_int(unlike, t->rows))
        return NULL;
    x.rows = new_rows(e, t, NULL, false);
    mat_set_unlike(e, &x, unlike);
    return x.rows;
}

/* What is found of a web's values. */
typedef struct AlikeWeb {
    bool may, touched, mixed; /* `mixed`: they are of several types */
    const SpvType *type;
} AlikeWeb;

static void give_webs(Emit *e, const struct MatAlike *a)
{
    MatEmit *m = matrices_of(e);
    AlikeWeb *webs = NEW_ARRAY(e->arena, AlikeWeb, m->webs->n_webs + 1);
    for (uint32_t k = 0; k < m->webs->n_values; k++) {
        SpvId id = m->webs->value_id[k];
        AlikeWeb *w = &webs[m->webs->web[id]];
        const SpvType *t = spv_type_of(e->module, id);
        w->may |= a->may[id];
        w->touched |= a->touched[id];
        w->mixed |= w->type && w->type != t;
        w->type = t;
    }
    for (uint32_t k = 1; k <= m->webs->n_webs; k++) {
        const AlikeWeb *w = &webs[k];
        const SpvType *t = spv_type(e->module, m->webs->web_type[k - 1]);
        MatHome *h = &m->homes[k - 1];
        bool refused = w->touched && (w->mixed || mat_leader_always_waits(e));
        if (!w->may || refused || m->web_col[k - 1] || m->sums[k])
            continue;
        h->tile.ptr = mat_frame(e, t, mat_bytes(e, t));
        h->tile.rows = new_rows(e, t, h->tile.ptr, w->touched);
    }
}

static void give_variables(Emit *e, const struct MatAlike *a)
{
    for (SpvInst *i = e->cfg->blocks[0].block->insts.first; i; i = i->next) {
        if (i->op != SpvOpVariable || !a->may[i->id])
            continue;
        bool touched = a->touched[i->id];
        MatVariable *v = mat_variable(e, i);
        if (!touched || !mat_leader_always_waits(e))
            v->rows = new_rows(e, spv_type(e->module, i->type)->element, v->base, touched);
    }
}

/* Of a value, or of the variable that a pointer to an element leads to. */
static MatRows *rows_of(Emit *e, SpvId id)
{
    MatEmit *m = matrices_of(e);
    bool chain = spv_is_chain(spv_def(e->module, id));
    const SpvInst *v = chain ? pointer_root(e->module, id) : NULL;
    uint32_t web = m->webs->web[id];
    if (v)
        return m->variables[v->id] ? m->variables[v->id]->rows : NULL;
    return web ? m->homes[web - 1].tile.rows : NULL;
}

static void touch(MatRows *r, uint32_t block)
{
    if (r && r->touches)
        r->touches[block] = true;
}

/* Where elements of what is exposed are accessed. */
static void see_places(Emit *e, uint32_t block)
{
    for (SpvInst *i = e->cfg->blocks[block].block->insts.first; i; i = i->next) {
        uint32_t n;
        bool touches = mat_leader_touches(e, i);
        const uint16_t *at = mat_ids(e, i, &n);
        for (uint32_t k = 0; k < n; k++) {
            SpvId id = i->words[at[k]];
            if (touches || !mat_is(spv_type_of(e->module, id)))
                touch(rows_of(e, id), block);
        }
        if (touches && i->id)
            touch(rows_of(e, i->id), block);
    }
}

void mat_alike_survey(Emit *e)
{
    struct MatAlike *a = NEW(e->arena, struct MatAlike);
    bool any = false;
    a->may = NEW_ARRAY(e->arena, uint8_t, e->module->bound);
    a->touched = NEW_ARRAY(e->arena, uint8_t, e->module->bound);
    for (bool more = true; more; any |= more) {
        more = false;
        for (uint32_t b = 0; b + 1 < e->cfg->n; b++)
            more |= see_block(e, a, e->cfg->blocks[b].block);
    }
    matrices_of(e)->alike = a;
    if (!any)
        return;
    for (uint32_t b = 0; b + 1 < e->cfg->n; b++)
        see_touches(e, a, e->cfg->blocks[b].block);
    give_webs(e, a);
    give_variables(e, a);
    for (uint32_t b = 0; b + 1 < e->cfg->n; b++)
        see_places(e, b);
    for (MatRows *r = a->exposed; r; r = r->next)
        r->end = mat_leader_near(e, r->touches);
}

/* ---- rows in memory -------------------------------------------------------------------------- */

/* Whether it is complete throughout a block, which comes to accesses to its elements and cannot
 * wait for the first subgroup at its end. */
static bool is_kept(const Emit *e, const MatRows *r, uint32_t block)
{
    return r->end && (r->touches[block] || (!mat_leader_works(e, block) && r->end[block]));
}

bool mat_has_rows(Emit *e, const MatTile *x)
{
    uint32_t to = matrices_of(e)->edge_to;
    return x->rows && !is_kept(e, x->rows, e->position) && !(to && is_kept(e, x->rows, to - 1));
}

static LV word_of(Emit *e, const MatTile *x, uint64_t at)
{
    return ir_at_inbounds(e->b, x->rows->words, ir_int(e->i64, at));
}

LV mat_rows(Emit *e, const SpvType *t, const MatTile *x)
{
    if (!mat_has_rows(e, x))
        return ir_int(e->i64, t->rows);
    return LLVMBuildLoad2(e->b, e->i64, word_of(e, x, UNLIKE), "");
}

void mat_set_unlike(Emit *e, const MatTile *x, LV n)
{
    if (mat_has_rows(e, x))
        LLVMBuildStore(e->b, n, word_of(e, x, UNLIKE));
}

void mat_set_rows(Emit *e, const MatTile *x, LV n)
{
    mat_set_unlike(e, x, n);
    if (mat_has_rows(e, x))
        LLVMBuildStore(e->b, n, word_of(e, x, PRESENT));
}

/* What lies at `from` is all copied. */
void mat_copy_rows(Emit *e, const SpvType *t, const MatTile *to, const MatTile *from)
{
    MatTile x = *from;
    if (!mat_has_rows(e, to) || to->col != from->col)
        mat_complete(e, t, &x);
    if (mat_has_rows(e, to) && mat_has_rows(e, &x))
        LLVMBuildMemMove(e->b, to->rows->words, 8, x.rows->words, 8, ir_int(e->i64, ROWS_BYTES));
    else
        mat_set_rows(e, to, ir_int(e->i64, t->rows));
}

/* void tile_repeat(ptr tile, i64 stride, ptr present, i64 n): row after row like the last one. */
static LV make_repeat(Emit *e, LT type)
{
    LV fn = LLVMAddFunction(e->ll, "tile_repeat", type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(e->cx);
    LLVMBasicBlockRef block[4];
    static const char *const names[] = { "", "loop", "row", "done" };
    for (uint32_t k = 0; k < 4; k++)
        block[k] = LLVMAppendBasicBlockInContext(e->cx, fn, names[k]);
    LV stride = LLVMGetParam(fn, 1), present = LLVMGetParam(fn, 2), n = LLVMGetParam(fn, 3);
    LLVMPositionBuilderAtEnd(b, block[0]);
    LV first = LLVMBuildLoad2(b, e->i64, present, "");
    LLVMBuildBr(b, block[1]);
    LLVMPositionBuilderAtEnd(b, block[1]);
    LV row = LLVMBuildPhi(b, e->i64, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, row, n, ""), block[2], block[3]);
    LLVMPositionBuilderAtEnd(b, block[2]);
    LV to = ir_at_inbounds(b, LLVMGetParam(fn, 0), LLVMBuildMul(b, row, stride, ""));
    LV from = ir_at_inbounds(b, to, LLVMBuildNeg(b, stride, ""));
    LV next = LLVMBuildAdd(b, row, ir_int(e->i64, 1), "");
    LLVMBuildMemCpy(b, to, 1, from, 1, stride);
    LLVMBuildStore(b, next, present);
    LLVMBuildBr(b, block[1]);
    LLVMAddIncoming(row, (LV[]){ first, next }, (LLVMBasicBlockRef[]){ block[0], block[2] }, 2);
    LLVMPositionBuilderAtEnd(b, block[3]);
    LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
    return fn;
}

void mat_need_rows(Emit *e, const MatTile *x, LV n)
{
    struct MatAlike *a = matrices_of(e)->alike;
    if (!mat_has_rows(e, x))
        return;
    LT types[] = { e->ptr, e->i64, e->ptr, e->i64 };
    LT type = LLVMFunctionType(e->void_, types, COUNT_OF(types), false);
    if (!a->repeat)
        a->repeat = make_repeat(e, type);
    LV args[] = { x->ptr, x->stride, word_of(e, x, PRESENT), n };
    LLVMBuildCall2(e->b, type, a->repeat, args, COUNT_OF(args), "");
}

void mat_complete(Emit *e, const SpvType *t, MatTile *x)
{
    if (mat_has_rows(e, x)) {
        MatLeader l = mat_leader_begin(e, t);
        mat_need_rows(e, x, ir_int(e->i64, t->rows));
        mat_leader_end(e, &l);
    }
    x->rows = NULL;
}

void mat_open_rows(Emit *e, const SpvType *t, MatTile *x)
{
    mat_set_unlike(e, x, ir_int(e->i64, t->rows));
    mat_complete(e, t, x);
}

void mat_open_exposed(Emit *e)
{
    for (MatRows *r = matrices_of(e)->alike->exposed; r; r = r->next) {
        MatTile x = mat_dense(e, r->type, r->tile, false);
        x.rows = r;
        if (r->end && r->end[e->position])
            mat_open_rows(e, r->type, &x);
    }
}

LV mat_rows_of_all(Emit *e, const SpvType *t, const MatTile *x, uint32_t n)
{
    LV most = ir_int(e->i64, 1);
    for (uint32_t k = 0; k < n; k++)
        if (x[k].ptr)
            most = ir_binary(e->b, "llvm.umax", most, mat_rows(e, t, &x[k]));
    for (uint32_t k = 0; k < n; k++)
        if (x[k].ptr)
            mat_need_rows(e, &x[k], most);
    return most;
}
