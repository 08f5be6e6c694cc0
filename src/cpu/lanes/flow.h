/* SPDX-License-Identifier: MIT
 *
 * flow: how the blocks of a function with divergent branches are laid out as one stream (partial
 * linearisation). Shared by flow_plan.c, which decides, and flow.c, which emits.
 */
#ifndef HEDDLE_CPU_LANES_FLOW_H
#define HEDDLE_CPU_LANES_FLOW_H

#include "cpu/lanes/internal.h"

#define FLOW_NONE UINT32_MAX

typedef struct FlowNodeSet {
    uint32_t *data;
    uint32_t len, cap;
} FlowNodeSet; /* ascending */

/* Where control comes from: a segment (slot.c), and the LLVM block that branches. */
typedef struct FlowEdge {
    uint32_t segment;
    LLVMBasicBlockRef bb;
} FlowEdge;
typedef VEC(FlowEdge) EdgeList;
typedef struct FlowSegment {
    uint32_t node;
    EdgeList *from;
} FlowSegment;

/* A variable of the linearised function. */
struct FlowSlot {
    LT type;
    LV initial; /* zero or undefined */
    /* of the nodes that store it in one iteration of the loops around it, the first one or one
     * before it */
    uint32_t home;
    uint32_t number;
};
/* A phi where control arrives at a node. A loop header's waits for its back edge. */
typedef struct FlowOpenPhi {
    const FlowSlot *slot;
    LV phi;
    uint32_t node;
} FlowOpenPhi;

typedef struct FlowCase {
    uint32_t node;
    uint64_t literal;
} FlowCase;

/* A block, the place where a loop's back edges meet (behind its last block), or the exit (the last
 * node). Nodes are numbered in the order of execution, so a block's node number is not its position
 * in Cfg. */
typedef struct FlowNode {
    uint32_t block;           /* Cfg position; FLOW_NONE for the others */
    CfgLoop *loop;            /* latch: its loop; header: the loop that it heads */
    bool is_latch, divergent; /* divergent: lanes part at the end of this block, or of the loop */
    bool reached;
    /* later nodes where lanes may be waiting when control arrives here */
    FlowNodeSet pending;
    uint32_t *targets, n_targets; /* nodes that its branches lead to, each once */
    /* of a switch, all but the default, sorted by node and then by literal */
    FlowCase *cases;
    uint32_t n_cases;
    /* the node whose divergent switch leads here: the switch does not collect a mask for this node,
     * which finds its lanes from `selector` and `parting` on arrival. Or FLOW_NONE */
    uint32_t chosen_by;
    FlowSlot *selector, *parting; /* of such a switch: its operand, and its mask */
    bool masked;                  /* runs with some lanes only */
    bool tracked;     /* its mask is collected from its incoming edges, in `mask_slot` */
    bool test;        /* jumped over when its mask is empty */
    bool nonempty;    /* in its body at least one lane is active */
    uint32_t heir_of; /* the node whose mask is also this one's, or FLOW_NONE */
    bool has_heirs;
    LLVMBasicBlockRef bb; /* where control arrives */
    EdgeList from;
    VEC(FlowOpenPhi) open;
    FlowSlot *mask_slot, *own_slot; /* the lanes that wait for it; its mask, kept for its heirs */
} FlowNode;

typedef struct FlowPhiSlot {
    FlowSlot **slot;
    uint32_t n;
    uint32_t home;
    bool alike;       /* a counter that all lanes advance alike */
    bool joins;       /* another integer, where ways join that come from before */
    EmitAffine known; /* of such a counter: what is known of its start */
    LanesSlots known_slot;
    int64_t stride; /* where ways join: by what each counts up over the lanes; 0: not alike */
} FlowPhiSlot;

struct Flow {
    FlowNode *nodes;
    uint32_t n_nodes;
    uint32_t *node_of;      /* by Cfg position */
    uint32_t *latch_of;     /* by Cfg position of a loop header */
    uint8_t *loop_diverges; /* by Cfg position of a loop header */
    uint8_t *needs_slot;    /* by id: SLOT_* */
    uint32_t *home;         /* by id, where it needs a slot: that slot's */
    FlowPhiSlot *phis;      /* by id */
    LLVMBuilderRef top;     /* before the terminator of the current block's top part */
    VEC(FlowSegment) segments;
    uint32_t segment; /* the current one */
    uint32_t n_slots;
    Map slot_values;    /* by slot and segment: the slot's LV at the segment's end */
    FlowNodeSet wanted; /* slot.c's scratch */
    VEC(FlowOpenPhi) phis_made;
    LLVMBuilderRef phi_b;
};
static inline struct Flow *flow_of(const Emit *e) { return lanes_of(e)->flow; }

/* The node that control goes to if lanes go to `to` (FLOW_NONE: to none) and others wait in
 * `pending`. */
uint32_t flow_next(const FlowNodeSet *pending, uint32_t to);
SpvBlock *flow_target(const Emit *e, const SpvInst *terminator, uint32_t k);
/* The node that an edge from block `from` to block `to` (positions) leads to. */
uint32_t flow_edge_node(const struct Flow *f, uint32_t from, uint32_t to);
/* Whether `from` is in a divergent loop and `to` is not, so that lanes go there in different
 * iterations. */
bool flow_left_apart(Emit *e, uint32_t from, uint32_t to);
/* The cases of a switch that lead to a node, in order; sets their number. */
const FlowCase *flow_cases(const FlowNode *n, uint32_t to, uint32_t *count);
/* The home of a value that is stored behind block `from` and kept for block `to` (positions). */
uint32_t flow_home(Emit *e, uint32_t from, uint32_t to);
/* The home of what the edges to a block store, leaving out those from the node `except`. */
uint32_t flow_edges_home(Emit *e, uint32_t to, uint32_t except);

/* ---- slot.c ---------------------------------------------------------------------------------- */

/* Begins a segment where control arrives at `node` from `from`, or behind the current segment. It
 * becomes the current one. */
uint32_t slot_segment(Emit *e, uint32_t node, EdgeList *from);
uint32_t slot_segment_behind(Emit *e);
/* Notes that the current segment and LLVM block lead to a node. */
void slot_edge(Emit *e, FlowNode *to);

#endif
