/* SPDX-License-Identifier: MIT
 *
 * Counters of machine code. What a dispatch did is derived afterwards from how often blocks ran and
 * with how many lanes: code adds to two numbers at most for a block and a mask, however much there
 * is to count in it. They are variables of the function, so that LLVM keeps them in registers, and
 * computes those of loops that it knows the number of iterations of; where the function returns
 * they are added to CpuEnv.stats.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <stdlib.h>

/* Of a kernel: what its counters count. */
typedef struct LanesCounts {
    VEC(CpuCount) list;
    Map places; /* hash of a counter, a row and what is counted -> in the list */
    uint32_t n_counters;
} LanesCounts;

/* Of a function. */
struct LanesCounters {
    VEC(struct Sum {
        LV variable;
        uint32_t counter;
    })
    sums;
    Map known; /* hash of a block and a mask -> in the list */
};

void counters_begin(Emit *e) { lanes_of(e)->counts = NEW(e->arena, LanesCounts); }

/* The counter of how often this block runs, or of the lanes of a mask that run it. */
static uint32_t counter_here(Emit *e, LV mask)
{
    Lanes *l = lanes_of(e);
    if (!l->counters)
        l->counters = NEW(e->arena, struct LanesCounters);
    uintptr_t key[2] = { (uintptr_t)LLVMGetInsertBlock(e->b), (uintptr_t)mask };
    uint64_t found, hash = hash_bytes(key, sizeof key, 0);
    if (map_get(&l->counters->known, hash, &found))
        return l->counters->sums.data[found].counter;
    struct Sum s = { emit_alloca(e, e->i64, "count"), l->counts->n_counters++ };
    LLVMBuildStore(e->entry_b, ir_int(e->i64, 0), s.variable);
    LV more = mask ? lanes_active(e, mask) : ir_int(e->i64, 1);
    LV sum = LLVMBuildAdd(e->b, LLVMBuildLoad2(e->b, e->i64, s.variable, ""), more, "");
    LLVMBuildStore(e->b, sum, s.variable);
    map_put(e->arena, &l->counters->known, hash, l->counters->sums.len);
    vec_push(e->arena, &l->counters->sums, s);
    return s.counter;
}

void lanes_count(Emit *e, DeviceStat stat, LV mask, uint64_t n)
{
    LanesCounts *counts = lanes_of(e)->counts;
    if (!counts || !n)
        return;
    if (mask && mask == LLVMConstAllOnes(LLVMTypeOf(mask))) {
        n *= LLVMGetVectorSize(LLVMTypeOf(mask));
        mask = NULL;
    }
    CpuCount c = { counter_here(e, mask), rows_here(e), stat, n };
    uint32_t key[3] = { c.counter, c.row, stat };
    uint64_t found, hash = hash_bytes(key, sizeof key, 0);
    if (map_get(&counts->places, hash, &found)) {
        counts->list.data[found].times += n;
        return;
    }
    map_put(e->arena, &counts->places, hash, counts->list.len);
    vec_push(e->arena, &counts->list, c);
}

static void add_sums(Emit *e, LLVMBuilderRef b)
{
    const struct LanesCounters *c = lanes_of(e)->counters;
    LV stats = lanes_env(e, b, e->ptr, offsetof(CpuEnv, stats));
    for (uint32_t k = 0; k < c->sums.len; k++) {
        LV index = ir_int(e->i64, DEVICE_N_STATS + (uint64_t)c->sums.data[k].counter);
        LV at = LLVMBuildGEP2(b, e->i64, stats, &index, 1, "");
        LV sum = LLVMBuildLoad2(b, e->i64, c->sums.data[k].variable, "");
        LLVMBuildStore(b, LLVMBuildAdd(b, LLVMBuildLoad2(b, e->i64, at, ""), sum, ""), at);
    }
}

void counters_end(Emit *e)
{
    if (!lanes_of(e)->counters)
        return;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(e->cx);
    for (LLVMBasicBlockRef x = LLVMGetFirstBasicBlock(e->fn); x; x = LLVMGetNextBasicBlock(x)) {
        LV last = LLVMGetBasicBlockTerminator(x);
        if (!last || !LLVMIsAReturnInst(last))
            continue;
        LLVMPositionBuilderBefore(b, last);
        add_sums(e, b);
    }
    LLVMDisposeBuilder(b);
}

bool counters_keep(const Emit *e, CpuKernel *k)
{
    const LanesCounts *c = lanes_of(e)->counts;
    k->n_counts = c ? (uint32_t)c->list.len : 0;
    k->n_counters = c ? c->n_counters : 0;
    k->counts = calloc(k->n_counts + (size_t)1, sizeof *k->counts);
    if (k->counts && k->n_counts)
        memcpy(k->counts, c->list.data, k->n_counts * sizeof *k->counts);
    return k->counts != NULL;
}
