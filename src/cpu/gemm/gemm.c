/* SPDX-License-Identifier: MIT
 *
 * Multiply-add kernels. In: a shape. Out: an LLVM function
 *
 *     void gemm_<types>_<M>x<N>x<K>_<grid>(ptr table, ptr scratch, i1 cold, i64 ahead_a, ahead_b,
 *                                          ptr panel, i1 packed, ptr to, i1 fresh, i64 times,
 *                                          i64 lines)
 *
 * whose table holds (address, row stride) of the A tiles, then the B tiles, then the C tiles; and
 * calls of it. Packing copies B into a panel of whole vectors, one row a unit of k, converting on
 * the way; A only where its type must change. Then come the products (kernel.c, tiles.c).
 * Column-major C is the transposed product, so one kernel serves both orders.
 */
#include "cpu/gemm/gemm_internal.h"

#include <stdio.h>

Gemm *gemm_new(Arena *a, LLVMModuleRef module, const CpuTarget *t)
{
    Gemm *g = NEW(a, Gemm);
    g->arena = a;
    g->module = module;
    g->cx = LLVMGetModuleContext(module);
    g->target = t;
    return g;
}

bool gemm_has_tiles(Gemm *g) { return g->tiles; }

const char *gemm_engine_name(Gemm *g, const GemmShape *s)
{
    GemmPlan plan;
    gemm_plan(g->arena, &plan, s, g->target);
    return plan.engine->name;
}

static LLVMTypeRef function_type(LLVMContextRef cx)
{
    LLVMTypeRef ptr = LLVMPointerTypeInContext(cx, 0), i64 = LLVMInt64TypeInContext(cx),
                i1 = LLVMInt1TypeInContext(cx),
                args[] = { ptr, ptr, i1, i64, i64, ptr, i1, ptr, i1, i64, i64 };
    return LLVMFunctionType(LLVMVoidTypeInContext(cx), args, COUNT_OF(args), false);
}

static void add_attribute(LLVMContextRef cx, LLVMValueRef fn, LLVMAttributeIndex at_index,
                          const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, at_index, LLVMCreateEnumAttribute(cx, kind, 0));
}

/* An empty function named after the shape, which is what a profile shows. */
static LLVMValueRef new_function(Gemm *g, const GemmShape *s)
{
    char name[128];
    snprintf(name, sizeof(name), "gemm_%s_%s_%s_%ux%ux%u_%ux%ux%u%s%s%s%s%s%s%s%s",
             comp_name((IrComp)s->a), comp_name((IrComp)s->b), comp_name((IrComp)s->c), s->M, s->N,
             s->K, s->rows, s->cols, s->steps, s->a_col ? "_at" : "", s->b_col ? "_bt" : "",
             s->c_col ? "_ct" : "",
             s->c_other_sign ? "_sat_mixed"
             : s->saturate   ? "_sat"
                             : "",
             s->prefetch_a || s->prefetch_b ? "_ahead"
             : s->even                      ? "_even"
                                            : "",
             s->moves ? "_moves" : "", s->some_rows ? "_some" : "", s->specials ? "_specials" : "");
    LLVMValueRef fn = LLVMAddFunction(g->module, name, function_type(g->cx));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    add_attribute(g->cx, fn, LLVMAttributeFunctionIndex, "nounwind");
    add_attribute(g->cx, fn, LLVMAttributeFunctionIndex, "noinline");
    add_attribute(g->cx, fn, 1, "noalias");
    add_attribute(g->cx, fn, 2, "noalias");
    /* It may lie in the scratch memory, but apart from what else is there. */
    add_attribute(g->cx, fn, 6, "noalias");
    return fn;
}

static GemmGen begin(Gemm *gemm, const GemmPlan *p, const GemmShape *s, LLVMValueRef fn)
{
    LLVMContextRef cx = gemm->cx;
    LLVMValueRef ahead_a = LLVMGetParam(fn, 3), ahead_b = LLVMGetParam(fn, 4);
    GemmGen g = { .gemm = gemm,
                  .p = p,
                  .shape = s,
                  .cx = cx,
                  .fn = fn,
                  .b = LLVMCreateBuilderInContext(cx),
                  .table = LLVMGetParam(fn, 0),
                  .scratch = LLVMGetParam(fn, 1),
                  .panel = LLVMGetParam(fn, 5),
                  .packed = LLVMGetParam(fn, 6),
                  .to = LLVMGetParam(fn, 7),
                  .fresh = LLVMGetParam(fn, 8),
                  .cold = LLVMGetParam(fn, 2),
                  .ahead_a = p->transposed ? ahead_b : ahead_a,
                  .ahead_b = p->transposed ? ahead_a : ahead_b };
    g.i1 = LLVMInt1TypeInContext(cx);
    g.i8 = LLVMInt8TypeInContext(cx);
    g.i32 = LLVMInt32TypeInContext(cx);
    g.i64 = LLVMInt64TypeInContext(cx);
    g.ptr = LLVMPointerTypeInContext(cx, 0);
    g.lane =
        p->engine->group > 1 ? LLVMIntTypeInContext(cx, 8 * p->unit) : comp_type(cx, p->operand_b);
    g.vector = LLVMVectorType(g.lane, p->lanes);
    g.sums = LLVMVectorType(comp_type(cx, p->compute), p->lanes);
    LLVMPositionBuilderAtEnd(g.b, LLVMAppendBasicBlockInContext(cx, fn, "entry"));
    return g;
}

static LLVMValueRef emit_function(Gemm *gemm, const GemmShape *s)
{
    GemmPlan plan;
    gemm_plan(gemm->arena, &plan, s, gemm->target);
    LLVMValueRef fn = new_function(gemm, s);
    GemmGen g = begin(gemm, &plan, s, fn);
    g.steps = k64(&g, s->steps);
    if (plan.times > 1)
        g.steps = mul(&g, g.steps, LLVMGetParam(fn, 9));
    g.lines = s->some_rows ? LLVMGetParam(fn, 10) : k64(&g, plan.s.M);
    g.contiguous = gemm_steps_contiguous(&g);
    gemm_leave_few(&g);
    gemm_list_prefetches(&g);
    gemm_prefetch_a(&g);
    gemm_prefetch_rows(&g, k64(&g, 0), k64(&g, 0));
    gemm_pack_b(&g);
    if (plan.engine->product) {
        gemm_pack_a(&g);
        gemm_blocks(&g);
    } else {
        gemm_tiles(&g);
        gemm->tiles = true;
    }
    LLVMBuildRetVoid(g.b);
    LLVMDisposeBuilder(g.b);
    return fn;
}

/* The number of the shape's kernel. */
static uint32_t kernel_for(Gemm *g, const GemmShape *s)
{
    for (uint32_t i = 0; i < g->kernels.len; i++)
        if (!memcmp(&g->kernels.data[i].key, s, sizeof(*s)))
            return i;
    GemmKernel k = { *s, emit_function(g, s) };
    vec_push(g->arena, &g->kernels, k);
    return (uint32_t)g->kernels.len - 1;
}

LLVMValueRef gemm_kernel(Gemm *g, const GemmShape *s)
{
    uint32_t number = kernel_for(g, s);
    return g->kernels.data[number].fn;
}

/* The table as it is filled in. */
typedef struct Table {
    LLVMBuilderRef b;
    LLVMTypeRef i64;
    LLVMValueRef p;
    uint32_t n;
} Table;

static void append(Table *t, LLVMValueRef x)
{
    LLVMValueRef index = LLVMConstInt(t->i64, t->n++, false);
    LLVMBuildStore(t->b, x, LLVMBuildInBoundsGEP2(t->b, t->i64, t->p, &index, 1, ""));
}

/* A grid of views, or its transpose, the first so many with their strides. */
static void append_views(Table *t, const GemmView *v, uint32_t rows, uint32_t cols, bool transposed,
                         uint32_t strides)
{
    uint32_t n = rows * cols;
    for (uint32_t i = 0; i < n; i++) {
        const GemmView *x = &v[transposed ? i % rows * cols + i / rows : i];
        append(t, x->ptr);
        if (i < strides)
            append(t, x->stride);
        else
            t->n++;
        if (x->apart)
            append(t, x->apart);
    }
}

void gemm_fill(Gemm *g, LLVMBuilderRef b, const GemmCall *c)
{
    const GemmShape *s = &c->shape;
    Table t = { b, LLVMInt64TypeInContext(g->cx), c->table, 0 };
    bool swapped = s->c_col; /* see normalise */
    uint32_t steps = s->even ? 1 : s->steps;
    if (!swapped)
        append_views(&t, c->a, s->rows, steps, false, UINT32_MAX);
    append_views(&t, c->b, steps, s->cols, swapped, UINT32_MAX);
    if (swapped)
        append_views(&t, c->a, s->rows, steps, true, UINT32_MAX);
    append_views(&t, c->c, s->rows, s->cols, swapped, s->moves ? 1 : s->c_dense ? 0 : UINT32_MAX);
}

/* Whether views are what a table has, their tiles `on` times what is from a step to the next
 * further: bits in which they differ. */
static LLVMValueRef differ(Table *t, const GemmView *v, uint32_t n, LLVMValueRef on)
{
    LLVMValueRef bits = LLVMConstInt(t->i64, 0, false), old[3];
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            LLVMValueRef index = LLVMConstInt(t->i64, t->n++, false);
            old[k] = LLVMBuildLoad2(t->b, t->i64,
                                    LLVMBuildInBoundsGEP2(t->b, t->i64, t->p, &index, 1, ""), "");
        }
        LLVMValueRef is = LLVMBuildPtrToInt(t->b, v[i].ptr, t->i64, "");
        old[0] = LLVMBuildAdd(t->b, old[0], LLVMBuildMul(t->b, old[2], on, ""), "");
        LLVMValueRef x[] = { LLVMBuildXor(t->b, old[0], is, ""),
                             LLVMBuildXor(t->b, old[1], v[i].stride, ""),
                             LLVMBuildXor(t->b, old[2], v[i].apart, "") };
        for (uint32_t k = 0; k < 3; k++)
            bits = LLVMBuildOr(t->b, bits, x[k], "");
    }
    return bits;
}

LLVMValueRef gemm_follows(Gemm *g, LLVMBuilderRef b, const GemmCall *c)
{
    const GemmShape *s = &c->shape;
    Table t = { b, LLVMInt64TypeInContext(g->cx), c->table, 0 };
    LLVMValueRef on = LLVMBuildMul(b, c->times, LLVMConstInt(t.i64, s->steps, false), "");
    LLVMValueRef first = s->c_col ? differ(&t, c->b, s->cols, on) : differ(&t, c->a, s->rows, on);
    LLVMValueRef other = s->c_col ? differ(&t, c->a, s->rows, on) : differ(&t, c->b, s->cols, on);
    return LLVMBuildIsNull(b, LLVMBuildOr(b, first, other, ""), "");
}

void gemm_fill_sums(Gemm *g, LLVMBuilderRef b, const GemmCall *c, const GemmView *sums)
{
    Table t = { b, LLVMInt64TypeInContext(g->cx), c->to, 0 };
    append_views(&t, sums, c->shape.rows, c->shape.cols, c->shape.c_col, 1);
}

/* Where a part of a call's table begins: the table is the normalised shape's. */
static LLVMValueRef part_of(Gemm *g, LLVMBuilderRef b, const GemmCall *c, GemmPart part)
{
    GemmShape s = c->shape;
    if (s.c_col) {
        s.rows = c->shape.cols;
        s.cols = c->shape.rows;
    }
    LLVMTypeRef i64 = LLVMInt64TypeInContext(g->cx);
    return ir_at_inbounds(b, c->table, LLVMConstInt(i64, gemm_part_offset(&s, part), false));
}

/* CpuEnv.panel, which knows an operand by its part of the table. */
static LLVMValueRef find_panel(Gemm *g, LLVMBuilderRef b, const GemmCall *c, uint32_t kind)
{
    const GemmShape *s = &c->shape;
    LLVMTypeRef ptr = LLVMPointerTypeInContext(g->cx, 0), i32 = LLVMInt32TypeInContext(g->cx),
                types[] = { ptr, ptr, i32, i32, ptr };
    LLVMValueRef number = LLVMConstInt(i32, kind, false);
    if (c->times)
        number = LLVMBuildOr(
            b, number,
            LLVMBuildShl(b, LLVMBuildTrunc(b, c->times, i32, ""), LLVMConstInt(i32, 16, false), ""),
            "");
    LLVMValueRef args[] = { c->env, part_of(g, b, c, PART_B),
                            LLVMConstInt(i32, gemm_panel_entries(s), false), number, c->scratch };
    return LLVMBuildCall2(b, LLVMFunctionType(ptr, types, COUNT_OF(types), false), c->panel, args,
                          COUNT_OF(args), "");
}

static LLVMValueRef is_packed(Gemm *g, LLVMBuilderRef b, const GemmCall *c)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(g->cx);
    LLVMValueRef packed = LLVMBuildLoad2(b, i32, c->packed, "");
    return LLVMBuildICmp(b, LLVMIntNE, packed, LLVMConstInt(i32, 0, false), "");
}

void gemm_call(Gemm *g, LLVMBuilderRef b, const GemmCall *c)
{
    gemm_fill(g, b, c);
    gemm_run(g, b, c);
}

void gemm_run(Gemm *g, LLVMBuilderRef b, const GemmCall *c)
{
    LLVMValueRef none = LLVMConstInt(LLVMInt64TypeInContext(g->cx), 0, false);
    const GemmShape *s = &c->shape;
    GemmShape here = *s;
    here.prefetch_a = here.prefetch_b = false;
    uint32_t number = kernel_for(g, &here);
    LLVMValueRef fn = g->kernels.data[number].fn, panel = c->scratch;
    LLVMValueRef packed = LLVMConstInt(LLVMInt1TypeInContext(g->cx), 0, false), no = packed;
    if (s->prefetch_a || s->prefetch_b)
        fn = LLVMBuildSelect(b, c->prefetch, gemm_kernel(g, s), fn, "");
    if (c->panel) {
        panel = find_panel(g, b, c, number);
        packed = is_packed(g, b, c);
    }
    LLVMValueRef args[] = { c->table,
                            c->scratch,
                            c->cold,
                            c->ahead_a ? c->ahead_a : none,
                            c->ahead_b ? c->ahead_b : none,
                            panel,
                            packed,
                            c->to ? c->to : part_of(g, b, c, PART_C),
                            c->fresh ? c->fresh : no,
                            c->times ? c->times : none,
                            c->lines ? c->lines : none };
    LLVMBuildCall2(b, function_type(g->cx), fn, args, COUNT_OF(args), "");
}
