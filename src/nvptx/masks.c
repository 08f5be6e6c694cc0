/* SPDX-License-Identifier: MIT
 *
 * Which lanes of a warp run a block together. In: a kernel in which calls of heddle_mask() stand
 * where instructions need that, and blocks branch as the module's do. Out: the calls replaced by
 * the masks.
 *
 * LLVM's passes make every branch the beginning of a region with one way in and one way out, or a
 * loop's only way back and out. In such a graph a mask has three sources: a branch, whose threads
 * vote where each of them goes; a join, where those of the region's beginning are together again;
 * and a loop's header, which has those who entered or who stayed. So an original block is run once
 * an iteration by all of its lanes that come to it (SPIR-V's maximal reconvergence).
 */
#include "nvptx/internal.h"
#include "llvm/ir.h"

#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>

typedef LLVMBasicBlockRef Bb;

#define NONE UINT32_MAX

typedef struct Place {
    Bb block;
    uint32_t *preds, n_preds;
    uint32_t idom;   /* NONE: the entry */
    uint32_t loop;   /* the header of the innermost loop around it, or NONE */
    uint32_t around; /* of a header: that of the loop around its own */
    LV mask;         /* of a loop's header: a phi */
} Place;

typedef struct Masks {
    Place *places; /* in reverse post-order */
    uint32_t n;
    Arena arena;
    LLVMModuleRef module;
    LLVMContextRef cx;
    LLVMBuilderRef b;
    LV members; /* the value that the entry begins with */
    Map number; /* by block: its place + 1 */
} Masks;

/* ---- the graph ------------------------------------------------------------------------------- */

static uint32_t number_of(Masks *m, Bb b)
{
    uint64_t x = 0;
    map_get(&m->number, (uintptr_t)b, &x);
    return (uint32_t)x - 1;
}

typedef struct Visit {
    Bb block;
    uint32_t next;
} Visit;

static void order_blocks(Masks *m, LV kernel)
{
    VEC(Visit) stack = { 0 };
    VEC(Bb) post = { 0 };
    Map seen = { 0 };
    uint64_t any;
    Bb entry = LLVMGetEntryBasicBlock(kernel);
    map_put(&m->arena, &seen, (uintptr_t)entry, 1);
    vec_push(&m->arena, &stack, (Visit){ entry, 0 });
    while (stack.len) {
        Visit *v = &stack.data[stack.len - 1];
        LV term = LLVMGetBasicBlockTerminator(v->block);
        if (v->next == LLVMGetNumSuccessors(term)) {
            vec_push(&m->arena, &post, v->block);
            stack.len--;
            continue;
        }
        Bb to = LLVMGetSuccessor(term, v->next++);
        if (map_get(&seen, (uintptr_t)to, &any))
            continue;
        map_put(&m->arena, &seen, (uintptr_t)to, 1);
        vec_push(&m->arena, &stack, (Visit){ to, 0 });
    }
    m->n = post.len;
    m->places = NEW_ARRAY(&m->arena, Place, m->n);
    for (uint32_t k = 0; k < m->n; k++) {
        m->places[k] = (Place){ .block = post.data[m->n - 1 - k], .idom = NONE, .loop = NONE };
        map_put(&m->arena, &m->number, (uintptr_t)m->places[k].block, k + 1);
    }
}

static void find_preds(Masks *m)
{
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t k = 0; k < m->n; k++) {
            LV term = LLVMGetBasicBlockTerminator(m->places[k].block);
            for (uint32_t s = 0; s < LLVMGetNumSuccessors(term); s++) {
                Place *to = &m->places[number_of(m, LLVMGetSuccessor(term, s))];
                if (pass && !to->preds) {
                    to->preds = NEW_ARRAY(&m->arena, uint32_t, to->n_preds);
                    to->n_preds = 0;
                }
                if (pass)
                    to->preds[to->n_preds] = k;
                to->n_preds++;
            }
        }
}

static uint32_t common(const Masks *m, uint32_t x, uint32_t y)
{
    while (x != y)
        if (x > y)
            x = m->places[x].idom;
        else
            y = m->places[y].idom;
    return x;
}

/* After Cooper, Harvey and Kennedy; one round, as the graph is reducible. */
static void find_dominators(Masks *m)
{
    for (uint32_t k = 1; k < m->n; k++) {
        Place *p = &m->places[k];
        for (uint32_t j = 0; j < p->n_preds; j++)
            if (p->preds[j] < k)
                p->idom = p->idom == NONE ? p->preds[j] : common(m, p->idom, p->preds[j]);
    }
}

static bool is_header(const Place *p, uint32_t number)
{
    for (uint32_t k = 0; k < p->n_preds; k++)
        if (p->preds[k] >= number)
            return true;
    return false;
}

/* Outer loops come before inner ones, which so have the last word. */
static void find_loops(Masks *m)
{
    VEC(uint32_t) list = { 0 };
    for (uint32_t h = 0; h < m->n; h++) {
        if (!is_header(&m->places[h], h))
            continue;
        m->places[h].around = m->places[h].loop;
        m->places[h].loop = h;
        for (uint32_t k = 0; k < m->places[h].n_preds; k++)
            if (m->places[h].preds[k] >= h)
                vec_push(&m->arena, &list, m->places[h].preds[k]);
        while (list.len) {
            Place *p = &m->places[list.data[--list.len]];
            if (p->loop == h)
                continue;
            p->loop = h;
            for (uint32_t k = 0; k < p->n_preds; k++)
                vec_push(&m->arena, &list, p->preds[k]);
        }
    }
}

static bool in_loop(const Masks *m, uint32_t header, uint32_t place)
{
    uint32_t h = m->places[place].loop;
    while (h != NONE && h != header)
        h = m->places[h].around;
    return h == header;
}

/* The outermost loop that an edge leaves, by its header, or NONE. */
static uint32_t loop_left(const Masks *m, uint32_t from, uint32_t to)
{
    uint32_t left = NONE;
    for (uint32_t h = m->places[from].loop; h != NONE && !in_loop(m, h, to);
         h = m->places[h].around)
        left = h;
    return left;
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* Lanes that go from place `from` to place `to`, one of the two targets of its branch. */
static LV on_edge(Masks *m, uint32_t from, uint32_t to)
{
    Place *p = &m->places[from];
    LV term = LLVMGetBasicBlockTerminator(p->block);
    if (LLVMGetNumSuccessors(term) < 2 || LLVMGetSuccessor(term, 0) == LLVMGetSuccessor(term, 1))
        return p->mask;
    LLVMPositionBuilderBefore(m->b, term);
    LV condition = LLVMGetCondition(term);
    if (LLVMGetSuccessor(term, 0) != m->places[to].block)
        condition = LLVMBuildNot(m->b, condition, "");
    return masks_vote(m->b, p->mask, condition);
}

/* Those who entered a loop are together again behind it. */
static LV before_loop(Masks *m, uint32_t header)
{
    const Place *p = &m->places[header];
    for (uint32_t k = 0; k < p->n_preds; k++)
        if (p->preds[k] < header)
            return on_edge(m, p->preds[k], header);
    return p->mask;
}

static LV mask_of(Masks *m, uint32_t number)
{
    Place *p = &m->places[number];
    if (!number)
        return m->members;
    if (is_header(p, number)) {
        LV first = LLVMGetFirstInstruction(p->block);
        LLVMPositionBuilderBefore(m->b, first);
        return LLVMBuildPhi(m->b, LLVMTypeOf(m->members), "mask");
    }
    if (p->n_preds > 1)
        return m->places[p->idom].mask;
    uint32_t header = loop_left(m, p->preds[0], number);
    return header == NONE ? on_edge(m, p->preds[0], number) : before_loop(m, header);
}

static void close_headers(Masks *m)
{
    for (uint32_t k = 0; k < m->n; k++) {
        Place *p = &m->places[k];
        for (uint32_t j = 0; is_header(p, k) && j < p->n_preds; j++) {
            LV mask = on_edge(m, p->preds[j], k);
            LLVMAddIncoming(p->mask, &mask, &m->places[p->preds[j]].block, 1);
        }
    }
}

static void replace_calls(Masks *m)
{
    LV call = LLVMGetNamedFunction(m->module, MASK_NAME);
    for (LLVMUseRef u = call ? LLVMGetFirstUse(call) : NULL; u; u = LLVMGetFirstUse(call)) {
        LV user = LLVMGetUser(u);
        uint32_t k = number_of(m, LLVMGetInstructionParent(user));
        LLVMReplaceAllUsesWith(user, k < m->n ? m->places[k].mask : m->members);
        LLVMInstructionEraseFromParent(user);
    }
}

LV masks_vote(LLVMBuilderRef b, LV mask, LV condition)
{
    static const char *const promises[] = { "nounwind", "willreturn", "memory" /* 0: none */ };
    LV args[2] = { mask, condition };
    LV call = ir_intrinsic(b, NVPTX_VOTE, NULL, 0, args, 2);
    for (uint32_t k = 0; k < COUNT_OF(promises); k++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(promises[k], strlen(promises[k]));
        LLVMContextRef cx = LLVMGetTypeContext(LLVMTypeOf(mask));
        LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                                 LLVMCreateEnumAttribute(cx, kind, 0));
    }
    return call;
}

LLVMErrorRef masks_structure(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    static const char passes[] = "function(sroa<modify-cfg>,lower-switch,fix-irreducible,"
                                 "loop-simplify,unify-loop-exits,structurizecfg)";
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, passes, machine, options);
    LLVMDisposePassBuilderOptions(options);
    return error;
}

void masks_resolve(LLVMModuleRef module, LV kernel, LV members)
{
    Masks m = { .module = module, .cx = LLVMGetModuleContext(module), .members = members };
    m.b = LLVMCreateBuilderInContext(m.cx);
    order_blocks(&m, kernel);
    find_preds(&m);
    find_dominators(&m);
    find_loops(&m);
    for (uint32_t k = 0; k < m.n; k++)
        m.places[k].mask = mask_of(&m, k);
    close_headers(&m);
    replace_calls(&m);
    LLVMDisposeBuilder(m.b);
    arena_free(&m.arena);
}

void masks_close(LLVMModuleRef module)
{
    LV never = LLVMGetNamedFunction(module, NEVER_NAME);
    for (LLVMUseRef u = never ? LLVMGetFirstUse(never) : NULL; u; u = LLVMGetFirstUse(never)) {
        LV call = LLVMGetUser(u);
        LLVMReplaceAllUsesWith(call, LLVMConstNull(LLVMTypeOf(call)));
        LLVMInstructionEraseFromParent(call);
    }
    if (never)
        LLVMDeleteFunction(never);
}
