/* SPDX-License-Identifier: MIT
 *
 * Statements to LLVM IR. Code after a jump goes to a block of its own, which is unreachable.
 */
#include "front/opencl/emit.h"

#include <llvm-c/DebugInfo.h>

static void branch(OclEmit *e, OclNode *condition, LLVMBasicBlockRef yes, LLVMBasicBlockRef no)
{
    LLVMBuildCondBr(e->builder, ocl_emit_condition(e, condition), yes, no);
}

static void declaration(OclEmit *e, OclNode *n)
{
    OclSymbol *s = n->symbol;
    if (s->global)
        return;
    e->has_arrays |= is_aggregate(s->type);
    e->has_matrix_arrays |= is_aggregate(s->type) && ocl_has_matrix(s->type);
    if (!s->llvm) {
        s->llvm = ocl_variable(e, s->type, s->ident->name);
        if (s->attributes.aligned > s->type->align)
            LLVMSetAlignment(s->llvm, s->attributes.aligned);
    }
    if (n->a)
        ocl_emit_into(e, s->llvm, s->type, n->a);
}

static void if_statement(OclEmit *e, OclNode *n)
{
    LLVMBasicBlockRef then = ocl_block(e, "if.then"), end = ocl_block(e, "if.end");
    LLVMBasicBlockRef otherwise = n->c ? ocl_block(e, "if.else") : end;
    LLVMValueRef condition = ocl_emit_condition(e, n->a);
    e->tests |= !LLVMIsConstant(condition);
    LLVMBuildCondBr(e->builder, condition, then, otherwise);
    ocl_start(e, then);
    ocl_emit_statement(e, n->b);
    ocl_go(e, end);
    if (n->c) {
        ocl_start(e, otherwise);
        ocl_emit_statement(e, n->c);
        ocl_go(e, end);
    }
    ocl_start(e, end);
}

/* The body of a loop, or of a switch, which has no continue of its own. Whether there is an if or a
 * switch in it, but for loops in it. */
static bool emit_loop_body(OclEmit *e, OclNode *n, LLVMBasicBlockRef break_to,
                           LLVMBasicBlockRef continue_to)
{
    LLVMBasicBlockRef outer_break = e->break_to, outer_continue = e->continue_to;
    bool outer_tests = e->tests, tests;
    e->tests = false;
    e->break_to = break_to;
    if (continue_to)
        e->continue_to = continue_to;
    ocl_emit_statement(e, n);
    e->break_to = outer_break;
    e->continue_to = outer_continue;
    tests = e->tests;
    e->tests = outer_tests;
    return tests;
}

/* What LLVM calls it, with a count where one is given. later: not by LLVM. */
static void unroll(OclEmit *e, LLVMValueRef back_edge, const char *how, uint64_t count, bool later)
{
    static const char not[] = "llvm.loop.unroll.disable";
    LLVMContextRef c = e->context;
    LLVMMetadataRef text[] = { LLVMMDStringInContext2(c, how, strlen(how)),
                               LLVMValueAsMetadata(LLVMConstInt(e->i32, count, false)) };
    LLVMMetadataRef never = LLVMMDStringInContext2(c, not, strlen(not));
    LLVMMetadataRef self = LLVMTemporaryMDNode(c, NULL, 0);
    LLVMMetadataRef list[] = { self, LLVMMDNodeInContext2(c, text, count ? 2 : 1),
                               LLVMMDNodeInContext2(c, &never, 1) };
    LLVMMetadataRef node = LLVMMDNodeInContext2(c, list, later ? 3 : 2);
    LLVMMetadataReplaceAllUsesWith(self, node);
    LLVMSetMetadata(back_edge, LLVMGetMDKindIDInContext(c, "llvm.loop", 9),
                    LLVMMetadataAsValue(c, node));
}

/* The way back of loop n: unless the body never gets to its end. */
static void back_edge(OclEmit *e, const OclNode *n, LLVMBasicBlockRef to, bool later)
{
    LLVMValueRef back = LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->builder));
    if (!n->u || !LLVMGetNumSuccessors(back) || LLVMGetSuccessor(back, 0) != to)
        return;
    if (n->u == UNROLL_NOT)
        unroll(e, back, "llvm.loop.unroll.disable", 0, false);
    else if (n->u == UNROLL_ALL)
        unroll(e, back, "llvm.loop.unroll.enable", 0, later);
    else
        unroll(e, back, "llvm.loop.unroll.count", n->u, false);
}

/* Whether what a for statement begins with gives its counter a constant. */
static bool begins_at_constant(OclEmit *e, const OclNode *first)
{
    OclValue v;
    if (first && first->kind == N_BLOCK)
        first = first->n == 1 ? first->list[0] : NULL;
    const OclNode *start = !first                         ? NULL
                           : first->kind == N_DECLARATION ? first->a
                           : first->kind == N_ASSIGN      ? first->b
                                                          : NULL;
    return start && ocl_fold(e->o, start, &v);
}

/* Arrays of matrices must be split, because matrices have no memory that could be indexed.
 * Therefore loops with a known trip count are unrolled in functions with such arrays. */
static bool must_unroll(OclEmit *e, const OclNode *condition)
{
    OclValue v;
    return e->has_matrix_arrays && condition && condition->kind == N_BINARY &&
           ocl_fold(e->o, condition->b, &v);
}

static void while_statement(OclEmit *e, OclNode *n)
{
    LLVMBasicBlockRef test = ocl_block(e, "while.cond"), loop = ocl_block(e, "while.body");
    LLVMBasicBlockRef end = ocl_block(e, "while.end");
    ocl_go(e, test);
    ocl_start(e, test);
    branch(e, n->a, loop, end);
    ocl_start(e, loop);
    emit_loop_body(e, n->b, end, test);
    ocl_go(e, test);
    back_edge(e, n, test, false);
    ocl_start(e, end);
}

static void do_statement(OclEmit *e, OclNode *n)
{
    LLVMBasicBlockRef loop = ocl_block(e, "do.body"), test = ocl_block(e, "do.cond");
    LLVMBasicBlockRef end = ocl_block(e, "do.end");
    ocl_go(e, loop);
    ocl_start(e, loop);
    emit_loop_body(e, n->b, end, test);
    ocl_go(e, test);
    ocl_start(e, test);
    branch(e, n->a, loop, end);
    back_edge(e, n, loop, false);
    ocl_start(e, end);
}

/* A loop that is to be unrolled, and that tests something, is left to passes that know what lanes
 * are (pass/unroll.c, strip_mine.c): they make several iterations' tests at once, which they would
 * not find in LLVM's copies. But LLVM knows more of counters, and takes more arrays apart. */
static void for_statement(OclEmit *e, OclNode *n)
{
    LLVMBasicBlockRef test = ocl_block(e, "for.cond"), loop = ocl_block(e, "for.body");
    LLVMBasicBlockRef next = ocl_block(e, "for.inc"), end = ocl_block(e, "for.end");
    if (n->a && n->a->kind == N_BLOCK)
        ocl_emit_statement(e, n->a);
    else if (n->a)
        ocl_emit_value(e, n->a);
    ocl_go(e, test);
    ocl_start(e, test);
    if (n->c)
        branch(e, n->c, loop, end);
    else
        LLVMBuildBr(e->builder, loop);
    ocl_start(e, loop);
    bool tests = emit_loop_body(e, n->b, end, next);
    ocl_go(e, next);
    ocl_start(e, next);
    if (n->d)
        ocl_emit_value(e, n->d);
    LLVMValueRef back = LLVMBuildBr(e->builder, test);
    if (must_unroll(e, n->c))
        unroll(e, back, "llvm.loop.unroll.full", 0, false);
    else
        back_edge(e, n, test, tests && !e->has_arrays && begins_at_constant(e, n->a));
    ocl_start(e, end);
}

/* Ranges are compared with first: each goes on to the next, the last to the switch. */
static void ranges(OclEmit *e, OclNode *n, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    for (OclNode *c = n->d; c; c = c->d) {
        if (c->kind != N_CASE || !c->b)
            continue;
        LLVMBasicBlockRef next = ocl_block(e, "switch.next");
        LLVMValueRef first = LLVMConstInt(t, c->u, false);
        LLVMValueRef span = LLVMConstInt(t, c->b->u - c->u, false);
        LLVMValueRef at = LLVMBuildSub(e->builder, v, first, "");
        LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntULE, at, span, ""), c->llvm,
                        next);
        ocl_start(e, next);
    }
}

static void switch_statement(OclEmit *e, OclNode *n)
{
    LLVMValueRef v = ocl_emit_value(e, n->a);
    LLVMBasicBlockRef end = ocl_block(e, "switch.end");
    LLVMBasicBlockRef otherwise = end;
    uint32_t count = 0;
    for (OclNode *c = n->d; c; c = c->d) {
        c->llvm = ocl_block(e, c->kind == N_CASE ? "case" : "default");
        if (c->kind == N_DEFAULT)
            otherwise = c->llvm;
        count++;
    }
    ranges(e, n, v);
    LLVMValueRef s = LLVMBuildSwitch(e->builder, v, otherwise, count);
    LLVMTypeRef t = LLVMTypeOf(v);
    for (OclNode *c = n->d; c; c = c->d) {
        if (c->kind == N_CASE && !c->b)
            LLVMAddCase(s, LLVMConstInt(t, c->u, false), c->llvm);
    }
    ocl_start(e, ocl_block(e, "switch.body"));
    e->tests = true;
    emit_loop_body(e, n->b, end, NULL);
    ocl_go(e, end);
    ocl_start(e, end);
}

static void return_statement(OclEmit *e, OclNode *n)
{
    LLVMValueRef v = n->a ? ocl_emit_value(e, n->a) : NULL;
    if (e->result && n->a) {
        ocl_copy(e, n->a->type, e->result, v);
        LLVMBuildRetVoid(e->builder);
    } else if (v && !is_void(e->symbol->type->base)) {
        LLVMBuildRet(e->builder, v);
    } else {
        LLVMBuildRetVoid(e->builder);
    }
}

static LLVMBasicBlockRef label_block(OclEmit *e, OclNode *n)
{
    if (!n->llvm)
        n->llvm = ocl_block(e, n->ident->name);
    return n->llvm;
}

static void after_jump(OclEmit *e)
{
    if (LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->builder)))
        ocl_start(e, ocl_block(e, "dead"));
}

LLVMValueRef ocl_emit_statements(OclEmit *e, OclNode *n)
{
    for (uint32_t i = 0; i < n->n; i++)
        ocl_emit_statement(e, n->list[i]);
    after_jump(e);
    return n->a ? ocl_emit_value(e, n->a) : NULL;
}

void ocl_emit_statement(OclEmit *e, OclNode *n)
{
    ocl_places_at(e, n->loc);
    after_jump(e);
    switch (n->kind) {
    case N_BLOCK:
        for (uint32_t i = 0; i < n->n; i++)
            ocl_emit_statement(e, n->list[i]);
        break;
    case N_EXPRESSION: ocl_emit_value(e, n->a); break;
    case N_DECLARATION: declaration(e, n); break;
    case N_IF: if_statement(e, n); break;
    case N_WHILE: while_statement(e, n); break;
    case N_DO: do_statement(e, n); break;
    case N_FOR: for_statement(e, n); break;
    case N_SWITCH: switch_statement(e, n); break;
    case N_CASE:
    case N_DEFAULT:
        ocl_go(e, n->llvm);
        ocl_start(e, n->llvm);
        ocl_emit_statement(e, n->a);
        break;
    case N_LABEL:
        ocl_go(e, label_block(e, n));
        ocl_start(e, label_block(e, n));
        ocl_emit_statement(e, n->a);
        break;
    case N_GOTO: ocl_go(e, label_block(e, n->b)); break;
    case N_BREAK: ocl_go(e, e->break_to); break;
    case N_CONTINUE: ocl_go(e, e->continue_to); break;
    case N_RETURN: return_statement(e, n); break;
    default: break;
    }
}
