/* SPDX-License-Identifier: MIT
 *
 * Dominators, loops and the compact order of control-flow graphs.
 */
#include "analysis/test/kernel.h"

#define NONE UINT32_MAX

/* What the order promises: predecessors first but for back edges, loops contiguous. */
static void check_order(const Kernel *k)
{
    const Cfg *c = k->cfg;
    for (uint32_t p = 0; p < c->n; p++) {
        const CfgBlock *b = &c->blocks[p];
        for (uint32_t n = 0; n < b->n_preds; n++)
            CHECK(b->preds[n] < p || cfg_dominates(c, p, b->preds[n]));
        for (const CfgLoop *l = b->loop; l; l = l->parent) {
            CHECK(cfg_in_loop(l, c, p));
            CHECK(cfg_dominates(c, l->header, p));
        }
        CHECK(p == 0 || p == c->n - 1 || b->idom < p);
    }
    for (uint32_t n = 0; n < c->n_loops; n++) {
        CHECK_EQ_U64(c->loops[n]->index, n);
        CHECK(!c->loops[n]->parent || c->loops[n]->parent->index < n);
        CHECK_EQ_U64(c->loops[n]->blocks[0], c->loops[n]->header);
    }
}

TEST(diamond)
{
    Kernel k;
    REQUIRE(kernel_open(&k,
                        "%a = OpLabel\nOpSelectionMerge %d None\nOpBranchConditional %yes %b %c\n"
                        "%c = OpLabel\nOpBranch %d\n%b = OpLabel\nOpBranch %d\n"
                        "%d = OpLabel\nOpReturn\n%dead = OpLabel\nOpBranch %d\n"));
    check_order(&k);
    uint32_t a = kernel_at(&k, "a"), b = kernel_at(&k, "b"), d = kernel_at(&k, "d");
    CHECK_EQ_U64(k.cfg->n, 5);
    CHECK_EQ_U64(kernel_at(&k, "dead"), NONE);
    CHECK_EQ_U64(k.cfg->blocks[d].idom, a);
    CHECK_EQ_U64(k.cfg->blocks[a].ipdom, d);
    CHECK_EQ_U64(k.cfg->blocks[d].ipdom, 4);
    CHECK_EQ_U64(k.cfg->blocks[d].n_preds, 2);
    CHECK(cfg_dominates(k.cfg, a, b) && !cfg_dominates(k.cfg, b, d));
    CHECK(cfg_postdominates(k.cfg, d, a) && !cfg_postdominates(k.cfg, b, a));
    kernel_free(&k);
}

TEST(switch_edges_once)
{
    Kernel k;
    REQUIRE(kernel_open(&k,
                        "%a = OpLabel\nOpSelectionMerge %d None\nOpSwitch %one %d 1 %b 2 %b 3 %d\n"
                        "%b = OpLabel\nOpBranch %d\n%d = OpLabel\nOpReturn\n"));
    CHECK_EQ_U64(k.cfg->blocks[0].n_succs, 2);
    CHECK_EQ_U64(cfg_target(k.cfg->blocks[0].block->insts.last, 3) != 0, 1);
    CHECK_EQ_U64(cfg_target(k.cfg->blocks[0].block->insts.last, 4), 0);
    CHECK_EQ_U64(cfg_merge_inst(k.cfg->blocks[0].block)->op, SpvOpSelectionMerge);
    kernel_free(&k);
}

/* What runs on the way out of a break, or of an early return of an inlined function, belongs to the
 * loop; what the loop's merge block leads to as well does not. */
TEST(ways_out_of_a_loop)
{
    Kernel k;
    REQUIRE(kernel_open(
        &k, "%a = OpLabel\nOpBranch %h\n"
            "%h = OpLabel\nOpLoopMerge %m %c None\nOpBranchConditional %yes %b %m\n"
            "%b = OpLabel\nOpSelectionMerge %b2 None\nOpBranchConditional %yes %arm %b2\n"
            "%arm = OpLabel\nOpBranch %arm2\n%arm2 = OpLabel\nOpBranch %m\n"
            "%b2 = OpLabel\nOpSelectionMerge %c None\nOpBranchConditional %yes %early %c\n"
            "%early = OpLabel\nOpBranch %r\n"
            "%c = OpLabel\nOpBranch %h\n"
            "%m = OpLabel\nOpBranch %r\n%r = OpLabel\nOpReturn\n"));
    check_order(&k);
    REQUIRE(k.cfg->n_loops == 1);
    const CfgLoop *l = k.cfg->loops[0];
    CHECK_EQ_U64(l->header, kernel_at(&k, "h"));
    CHECK_EQ_U64(l->latch, kernel_at(&k, "c"));
    CHECK_EQ_U64(l->merge, kernel_at(&k, "m"));
    CHECK(cfg_in_loop(l, k.cfg, kernel_at(&k, "arm2")) &&
          k.cfg->blocks[kernel_at(&k, "arm2")].leaving);
    CHECK(cfg_in_loop(l, k.cfg, kernel_at(&k, "b2")) &&
          !k.cfg->blocks[kernel_at(&k, "b2")].leaving);
    CHECK(cfg_in_loop(l, k.cfg, kernel_at(&k, "early")) &&
          k.cfg->blocks[kernel_at(&k, "early")].leaving);
    CHECK(!cfg_in_loop(l, k.cfg, kernel_at(&k, "m")) && !cfg_in_loop(l, k.cfg, kernel_at(&k, "r")));
    kernel_free(&k);
}

TEST(return_from_a_loop_belongs_to_it)
{
    Kernel k;
    REQUIRE(kernel_open(
        &k, "%a = OpLabel\nOpBranch %h\n"
            "%h = OpLabel\nOpLoopMerge %m %c None\nOpBranchConditional %yes %b %m\n"
            "%b = OpLabel\nOpSelectionMerge %c None\nOpBranchConditional %yes %out %c\n"
            "%out = OpLabel\nOpReturn\n%c = OpLabel\nOpBranch %h\n%m = OpLabel\nOpReturn\n"));
    check_order(&k);
    CHECK(cfg_in_loop(k.cfg->loops[0], k.cfg, kernel_at(&k, "out")));
    kernel_free(&k);
}

TEST(nested_loops_without_merges)
{
    Kernel k;
    REQUIRE(kernel_open(
        &k, "%a = OpLabel\nOpBranch %h\n%h = OpLabel\nOpBranch %i\n"
            "%i = OpLabel\nOpBranchConditional %yes %i2 %x\n"
            "%i2 = OpLabel\nOpBranchConditional %yes %i %i3\n%i3 = OpLabel\nOpBranch %i\n"
            "%x = OpLabel\nOpBranchConditional %yes %h %end\n%end = OpLabel\nOpReturn\n"));
    check_order(&k);
    REQUIRE(k.cfg->n_loops == 2);
    CHECK_EQ_U64(k.cfg->loops[0]->n_blocks, 5);
    CHECK_EQ_U64(k.cfg->loops[1]->n_blocks, 3);
    CHECK(k.cfg->loops[1]->parent == k.cfg->loops[0] && k.cfg->loops[1]->depth == 2);
    CHECK_EQ_U64(k.cfg->loops[1]->latch, NONE);
    CHECK(k.cfg->loops[1]->merge_inst == NULL);
    kernel_free(&k);
}

TEST(endless_loop)
{
    Kernel k;
    REQUIRE(kernel_open(
        &k, "%a = OpLabel\nOpSelectionMerge %e None\nOpBranchConditional %yes %h %e\n"
            "%h = OpLabel\nOpLoopMerge %m %c None\nOpBranch %c\n%c = OpLabel\nOpBranch %h\n"
            "%m = OpLabel\nOpUnreachable\n%e = OpLabel\nOpReturn\n"));
    check_order(&k);
    CHECK_EQ_U64(k.cfg->blocks[0].ipdom, k.cfg->n - 1);
    CHECK_EQ_U64(k.cfg->loops[0]->merge, NONE);
    kernel_free(&k);
}

TEST(irreducible)
{
    Kernel k;
    CHECK(!kernel_open(&k,
                       "%a = OpLabel\nOpBranchConditional %yes %b %c\n%b = OpLabel\nOpBranch %c\n"
                       "%c = OpLabel\nOpBranchConditional %yes %b %d\n%d = OpLabel\nOpReturn\n"));
    CHECK_CONTAINS(k.diags.text, "irreducible");
    kernel_free(&k);
}

/* Thousands of nested selections and of returns: nothing recurses, nothing is quadratic. */
TEST(deep_nest)
{
    enum { DEPTH = 20000 };
    Arena a = { 0 };
    Str s = { 0 };
    Kernel k;
    str_add(&a, &s, "%b0 = OpLabel\n");
    for (int n = 0; n < DEPTH; n++)
        str_printf(
            &a, &s,
            "OpSelectionMerge %%m%d None\nOpBranchConditional %%yes %%b%d %%m%d\n%%b%d = OpLabel\n",
            n, n + 1, n, n + 1);
    str_add(&a, &s, "OpReturn\n");
    for (int n = DEPTH; n-- > 0;) {
        str_printf(&a, &s, "%%m%d = OpLabel\n", n);
        if (n % 2)
            str_add(&a, &s, "OpReturn\n");
        else if (n)
            str_printf(&a, &s, "OpBranch %%m%d\n", n - 1);
        else
            str_add(&a, &s, "OpReturn\n");
    }
    REQUIRE(kernel_open(&k, s.data));
    CHECK_EQ_U64(k.cfg->n, 2 * DEPTH + 2);
    check_order(&k);
    uniformity_build(&k.arena, k.m, k.cfg);
    kernel_free(&k);
    arena_free(&a);
}

TEST(loops_nested_too_deep)
{
    Arena a = { 0 };
    Str s = { 0 };
    Kernel k;
    str_add(&a, &s, "%a = OpLabel\nOpBranch %h0\n");
    for (int n = 0; n < 1100; n++)
        str_printf(&a, &s, "%%h%d = OpLabel\nOpBranch %%h%d\n", n, n + 1);
    str_add(&a, &s, "%h1100 = OpLabel\nOpBranch %l1099\n");
    for (int n = 1100; n-- > 0;)
        str_printf(&a, &s, "%%l%d = OpLabel\nOpBranchConditional %%yes %%h%d %%%s%d\n", n, n,
                   n ? "l" : "end", n ? n - 1 : 0);
    str_add(&a, &s, "%end0 = OpLabel\nOpReturn\n");
    CHECK(!kernel_open(&k, s.data));
    CHECK_CONTAINS(k.diags.text, "nested deeper");
    kernel_free(&k);
    arena_free(&a);
}
