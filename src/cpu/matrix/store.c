/* SPDX-License-Identifier: MIT
 *
 * Stores of tiles that lie side by side in memory, as a whole. In: consecutive stores, without
 * anything in between that accesses memory. Out: one call that writes line by line through all
 * neighbours.
 *
 * Stored tile by tile, lines that are a page apart get 64 bytes each, a pattern that no cache
 * prefetches: if the target is not in a near cache, stores have a third of their speed
 * (docs/BENCHMARKS.md). Whether tiles are neighbours is found out at run time; others may overlap,
 * and keep their order.
 */
#include "cpu/matrix/matrix.h"

#include <stdio.h>

typedef struct MatCopies { /* state of the function being emitted */
    Emit *e;
    LLVMBuilderRef b;
    LV fn, table;
    uint64_t run; /* bytes of a tile's line */
} MatCopies;

static LV copies_mul(const MatCopies *c, LV x, LV y) { return LLVMBuildMul(c->b, x, y, ""); }
static LV copies_add(const MatCopies *c, LV x, LV y) { return LLVMBuildAdd(c->b, x, y, ""); }
static LLVMBasicBlockRef new_block(const MatCopies *c, const char *name)
{
    return LLVMAppendBasicBlockInContext(c->e->cx, c->fn, name);
}

/* Field `which` of an entry of the table: target, its stride, source. */
enum { TARGET, STRIDE, SOURCE, MEMBERS };
static LV entry_member(const MatCopies *c, LV entry, unsigned which)
{
    LV index =
        copies_add(c, copies_mul(c, entry, ir_int(c->e->i64, MEMBERS)), ir_int(c->e->i64, which));
    LV p = LLVMBuildInBoundsGEP2(c->b, c->e->i64, c->table, &index, 1, "");
    return LLVMBuildLoad2(c->b, which == STRIDE ? c->e->i64 : c->e->ptr, p, "");
}

/* Begins a loop in a new block, with its counter. The caller ends it. */
static LV loop_counter(const MatCopies *c, LLVMBasicBlockRef body, LV first)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(c->b);
    LLVMBuildBr(c->b, body);
    LLVMPositionBuilderAtEnd(c->b, body);
    LV i = LLVMBuildPhi(c->b, c->e->i64, "");
    LLVMAddIncoming(i, &first, &from, 1);
    return i;
}

/* Ends a loop: goes back to the counter's block while its next value is below n, else to `out`. */
static void loop_while_below(const MatCopies *c, LV i, LV next, LV n, LLVMBasicBlockRef out)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(c->b);
    LLVMBasicBlockRef body = LLVMGetInstructionParent(i);
    LLVMBuildCondBr(c->b, LLVMBuildICmp(c->b, LLVMIntULT, next, n, ""), body, out);
    LLVMAddIncoming(i, &next, &from, 1);
    LLVMPositionBuilderAtEnd(c->b, out);
}

/* How many tiles from `first` on are neighbours: each `run` bytes behind the one before, with lines
 * so far apart that those of different tiles do not overlap. */
static LV count_neighbours(const MatCopies *c, LV first, LV n, LV target, LV stride)
{
    LLVMBasicBlockRef look = new_block(c, "look"), next = new_block(c, "next"),
                      rows = new_block(c, "rows");
    LV width = loop_counter(c, look, ir_int(c->e->i64, 1)), entry = copies_add(c, first, width);
    LLVMBuildCondBr(c->b, LLVMBuildICmp(c->b, LLVMIntULT, entry, n, ""), next, rows);
    LLVMPositionBuilderAtEnd(c->b, next);
    LV behind = ir_at_inbounds(c->b, target, copies_mul(c, width, ir_int(c->e->i64, c->run))),
       more = copies_add(c, width, ir_int(c->e->i64, 1));
    LV beside = LLVMBuildICmp(c->b, LLVMIntEQ, entry_member(c, entry, TARGET), behind, "");
    LV same = LLVMBuildICmp(c->b, LLVMIntEQ, entry_member(c, entry, STRIDE), stride, "");
    LV room =
        LLVMBuildICmp(c->b, LLVMIntUGE, stride, copies_mul(c, more, ir_int(c->e->i64, c->run)), "");
    same = LLVMBuildAnd(c->b, beside, LLVMBuildAnd(c->b, same, room, ""), "");
    LLVMBuildCondBr(c->b, same, look, rows);
    LLVMAddIncoming(width, &more, &next, 1);
    LLVMPositionBuilderAtEnd(c->b, rows);
    return width;
}

/* void (ptr table, i64 n) */
static LT copies_type(Emit *e)
{
    LT args[] = { e->ptr, e->i64 };
    return LLVMFunctionType(e->void_, args, 2, false);
}

static LV make_copies(Emit *e, uint64_t run, uint64_t lines)
{
    char name[64];
    snprintf(name, sizeof(name), "tile_copies_%llux%llu", (unsigned long long)lines,
             (unsigned long long)run);
    LV fn = LLVMGetNamedFunction(e->ll, name);
    if (fn)
        return fn;
    fn = LLVMAddFunction(e->ll, name, copies_type(e));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    MatCopies c = { e, LLVMCreateBuilderInContext(e->cx), fn, LLVMGetParam(fn, 0), run };
    LLVMPositionBuilderAtEnd(c.b, new_block(&c, ""));
    LV n = LLVMGetParam(fn, 1);
    LV first = loop_counter(&c, new_block(&c, "tiles"), ir_int(c.e->i64, 0));
    LV target = entry_member(&c, first, TARGET), stride = entry_member(&c, first, STRIDE);
    LV width = count_neighbours(&c, first, n, target, stride);
    LV line = loop_counter(&c, new_block(&c, "lines"), ir_int(c.e->i64, 0));
    LV to = ir_at_inbounds(c.b, target, copies_mul(&c, line, stride)),
       offset = copies_mul(&c, line, ir_int(c.e->i64, run));
    LV tile = loop_counter(&c, new_block(&c, "tile"), ir_int(c.e->i64, 0));
    LV from = ir_at_inbounds(c.b, entry_member(&c, copies_add(&c, first, tile), SOURCE), offset);
    unsigned align = (unsigned)MIN(run & -run, 64);
    LLVMBuildMemCpy(c.b, ir_at_inbounds(c.b, to, copies_mul(&c, tile, ir_int(c.e->i64, run))), 1,
                    from, align, ir_int(c.e->i64, run));
    loop_while_below(&c, tile, copies_add(&c, tile, ir_int(c.e->i64, 1)), width, new_block(&c, ""));
    loop_while_below(&c, line, copies_add(&c, line, ir_int(c.e->i64, 1)), ir_int(c.e->i64, lines),
                     new_block(&c, ""));
    loop_while_below(&c, first, copies_add(&c, first, width), n, new_block(&c, ""));
    LLVMBuildRetVoid(c.b);
    LLVMDisposeBuilder(c.b);
    return fn;
}

void mat_store_later(Emit *e, MatStored s)
{
    MatEmit *m = matrices_of(e);
    if (m->stores.len && m->stores.data[0].to.col != s.to.col)
        mat_stores_done(e);
    s.place = debug_here(e);
    vec_push(e->arena, &m->stores, s);
}

static void store_together(Emit *e, const MatStored *s, uint32_t n)
{
    const SpvType *t = s->type;
    uint64_t minor = s->to.col ? t->rows : t->cols, lines = s->to.col ? t->cols : t->rows;
    MatLeader l = mat_leader_begin(e, t);
    LV table = mat_table(e, n * MEMBERS);
    for (uint32_t i = 0; i < n; i++) {
        LV values[MEMBERS] = { s[i].to.ptr, s[i].to.stride, s[i].from.ptr };
        for (uint32_t k = 0; k < MEMBERS; k++) {
            LV index = ir_int(e->i64, i * MEMBERS + k);
            LLVMBuildStore(e->b, values[k],
                           LLVMBuildInBoundsGEP2(e->b, e->i64, table, &index, 1, ""));
        }
    }
    LV args[] = { table, ir_int(e->i64, n) };
    LV fn = make_copies(e, minor * comp_bytes(mat_comp(t)), lines);
    LLVMBuildCall2(e->b, copies_type(e), fn, args, 2, "");
    mat_leader_end(e, &l);
}

void mat_stores_done(Emit *e)
{
    MatEmit *m = matrices_of(e);
    uint32_t n = m->stores.len;
    const MatStored *s = m->stores.data;
    LLVMMetadataRef before = debug_here(e);
    m->stores.len = 0;
    if (!n)
        return;
    debug_back(e, s->place);
    EmitIf f = if_begin(e, LLVMBuildNot(e->b, mat_sums_store(e, s, n), ""));
    if (n == 1)
        mat_copy(e, s->type, &s->to, &s->from);
    else
        store_together(e, s, n);
    if_end(e, &f);
    debug_back(e, before);
}
