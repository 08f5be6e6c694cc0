/* SPDX-License-Identifier: MIT
 *
 * flow: how the blocks of a function with divergent branches are laid out as one stream (partial
 * linearisation). Shared by flow_plan.c, which decides, and flow.c, which emits.
 */
#ifndef HEDDLE_CPU_FLOW_H
#define HEDDLE_CPU_FLOW_H

#include "cpu/emit.h"
#include "cpu/emit_internal.h"

#define FLOW_NONE UINT32_MAX

typedef struct NodeSet { uint32_t *data; uint32_t len, cap; } NodeSet; /* ascending */

/* A block, the place where a loop's back edges meet (behind its last block), or the exit (the last
 * node). Nodes are numbered in the order of execution: a block's Cfg position is not its node
 * number. */
typedef struct Node {
    uint32_t block;             /* Cfg position; FLOW_NONE for the others */
    CfgLoop *loop;              /* of a latch: its loop; of a header: the loop it heads */
    bool is_latch, divergent;   /* divergent: lanes part at the end of this block, or of the loop */
    bool reached;
    /* where lanes may be waiting when control comes here, all behind it */
    NodeSet pending;
    uint32_t *targets, n_targets;/* nodes its branches lead to, each once */
    bool masked;                /* some lanes only */
    bool tracked;               /* its mask is collected from its incoming edges, in `mask_slot` */
    bool test;                  /* jumped over when its mask is empty */
    bool nonempty;              /* in its body some lane is active */
    uint32_t heir_of;           /* node whose mask is this one's too, or FLOW_NONE */
    bool has_heirs;
    LLVMBasicBlockRef bb;       /* where control arrives */
    LV mask_slot, own_slot;     /* allocas: lanes that wait for it; its mask, for its heirs */
} Node;

typedef struct PhiSlot {
    LV *slot;
    uint32_t n;
    bool alike;                 /* a counter that all lanes advance alike */
    Affine known, known_slot;   /* of such a counter, from where it starts */
} PhiSlot;

struct Flow {
    Node *nodes;
    uint32_t n_nodes;
    uint32_t *node_of;          /* by Cfg position */
    uint32_t *latch_of;         /* by Cfg position of a loop header */
    uint8_t *loop_diverges;     /* by Cfg position of a loop header */
    uint8_t *needs_slot;        /* by id: SLOT_* */
    PhiSlot *phis;              /* by id */
    LLVMBuilderRef top;         /* before the terminator of the current block's top */
};

/* The node control goes on to when lanes go to `to` (FLOW_NONE: to none) and others wait in
 * `pending`. */
uint32_t flow_next(const NodeSet *pending, uint32_t to);
SpvBlock *flow_target(const Emit *e, const SpvInst *terminator, uint32_t k);
/* The node an edge from block `from` to block `to` (positions) leads to. */
uint32_t flow_edge_node(const struct Flow *f, uint32_t from, uint32_t to);
/* A divergent loop has block `from` in it and block `to` not: lanes go there in different
 * iterations. */
bool flow_left_apart(Emit *e, uint32_t from, uint32_t to);

#endif
