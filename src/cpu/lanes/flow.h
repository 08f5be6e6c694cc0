/* SPDX-License-Identifier: MIT
 *
 * flow: how the blocks of a function with divergent branches are laid out as one stream (partial
 * linearisation). Shared by flow_plan.c, which decides, and flow.c, which emits.
 */
#ifndef HEDDLE_CPU_LANES_FLOW_H
#define HEDDLE_CPU_LANES_FLOW_H

#include "cpu/lanes/internal.h"

#define FLOW_NONE UINT32_MAX

typedef struct NodeSet {
    uint32_t *data;
    uint32_t len, cap;
} NodeSet; /* ascending */

/* Where control comes from: a segment (slot.c), and the LLVM block that branches. */
typedef struct Edge {
    uint32_t segment;
    LLVMBasicBlockRef bb;
} Edge;
typedef VEC(Edge) EdgeList;
typedef struct Segment {
    uint32_t node;
    EdgeList *from;
} Segment;

/* A variable of the linearised function. */
struct Slot {
    LT type;
    LV initial; /* zero or undefined */
    /* of the nodes that store it in an iteration of the loops around it, the first or one before */
    uint32_t home;
    uint32_t number;
};
/* A phi where control arrives at a node: a header's waits for the back edge. */
typedef struct OpenPhi {
    const Slot *slot;
    LV phi;
    uint32_t node;
} OpenPhi;

typedef struct SwitchCase {
    uint32_t node;
    uint64_t literal;
} SwitchCase;

/* A block, the place where a loop's back edges meet (behind its last block), or the exit (the last
 * node). Nodes are numbered in the order of execution: a block's Cfg position is not its node
 * number. */
typedef struct Node {
    uint32_t block;           /* Cfg position; FLOW_NONE for the others */
    CfgLoop *loop;            /* of a latch: its loop; of a header: the loop it heads */
    bool is_latch, divergent; /* divergent: lanes part at the end of this block, or of the loop */
    bool reached;
    /* where lanes may be waiting when control comes here, all behind it */
    NodeSet pending;
    uint32_t *targets, n_targets; /* nodes its branches lead to, each once */
    /* of a switch, but for the default: by node, then literal */
    SwitchCase *cases;
    uint32_t n_cases;
    /* a node whose divergent switch leads here, which it need not say: the lanes are found from
     * `selector` and `parting` on arrival. Or FLOW_NONE */
    uint32_t chosen_by;
    Slot *selector, *parting; /* of such a switch: its operand, its mask */
    bool masked;              /* some lanes only */
    bool tracked;             /* its mask is collected from its incoming edges, in `mask_slot` */
    bool test;                /* jumped over when its mask is empty */
    bool nonempty;            /* in its body some lane is active */
    uint32_t heir_of;         /* node whose mask is this one's too, or FLOW_NONE */
    bool has_heirs;
    LLVMBasicBlockRef bb; /* where control arrives */
    EdgeList from;
    VEC(OpenPhi) open;
    Slot *mask_slot, *own_slot; /* lanes that wait for it; its mask, for its heirs */
} Node;

typedef struct PhiSlot {
    Slot **slot;
    uint32_t n;
    uint32_t home;
    bool alike;   /* a counter that all lanes advance alike */
    Affine known; /* of such a counter, from where it starts */
    AffineSlots known_slot;
} PhiSlot;

struct Flow {
    Node *nodes;
    uint32_t n_nodes;
    uint32_t *node_of;      /* by Cfg position */
    uint32_t *latch_of;     /* by Cfg position of a loop header */
    uint8_t *loop_diverges; /* by Cfg position of a loop header */
    uint8_t *needs_slot;    /* by id: SLOT_* */
    uint32_t *home;         /* by id, where it needs a slot: that slot's */
    PhiSlot *phis;          /* by id */
    LLVMBuilderRef top;     /* before the terminator of the current block's top */
    VEC(Segment) segments;
    uint32_t segment; /* the current one */
    uint32_t n_slots;
    Map slot_values; /* by slot and segment: an LV, at its end */
    NodeSet wanted;  /* slot.c's scratch */
    VEC(OpenPhi) phis_made;
    LLVMBuilderRef phi_b;
};
static inline struct Flow *flow_of(const Emit *e) { return lanes_of(e)->flow; }

/* The node control goes on to when lanes go to `to` (FLOW_NONE: to none) and others wait in
 * `pending`. */
uint32_t flow_next(const NodeSet *pending, uint32_t to);
SpvBlock *flow_target(const Emit *e, const SpvInst *terminator, uint32_t k);
/* The node an edge from block `from` to block `to` (positions) leads to. */
uint32_t flow_edge_node(const struct Flow *f, uint32_t from, uint32_t to);
/* A divergent loop has block `from` in it and block `to` not: lanes go there in different
 * iterations. */
bool flow_left_apart(Emit *e, uint32_t from, uint32_t to);
/* The switch's cases that lead to a node: n of them, in order. */
const SwitchCase *flow_cases(const Node *n, uint32_t to, uint32_t *count);
/* The home of what is stored behind block `from`, and kept for block `to` (positions). */
uint32_t flow_home(Emit *e, uint32_t from, uint32_t to);
/* Of what the edges to a block store, but for those from the node `except`. */
uint32_t flow_edges_home(Emit *e, uint32_t to, uint32_t except);

/* ---- slot.c ---------------------------------------------------------------------------------- */

/* Begins a segment where control comes to `node` from `from`, or behind the current one: it is the
 * current one from now on. */
uint32_t slot_segment(Emit *e, uint32_t node, EdgeList *from);
uint32_t slot_segment_behind(Emit *e);
/* The current segment and LLVM block lead to a node. */
void slot_edge(Emit *e, Node *to);

#endif
