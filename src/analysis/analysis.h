/* SPDX-License-Identifier: MIT
 *
 * analysis: what passes and code generators need to know about a function. Nothing here changes the
 * module. Each result lives in the arena that was passed in, and is invalid once the function
 * changes.
 */
#ifndef HEDDLE_ANALYSIS_H
#define HEDDLE_ANALYSIS_H

#include "spirv/spirv.h"

/* ---- cfg.c: control flow --------------------------------------------------------------------- */

typedef struct CfgLoop CfgLoop;
typedef struct CfgBlock {
    SpvBlock *block;         /* NULL for the virtual exit */
    uint32_t *succs, *preds; /* positions in Cfg.blocks; parallel edges (a switch) listed once */
    uint32_t n_succs, n_preds;
    /* positions; the entry's idom and the exit's ipdom are themselves */
    uint32_t idom, ipdom;
    CfgLoop *loop; /* innermost loop that contains it, or NULL */
    /* part of `loop` only on the way out: the header cannot be reached from it */
    bool leaving;
    uint32_t dom_first, dom_last; /* interval of the dominator tree: what cfg_dominates compares */
} CfgBlock;

/* A loop is the construct its OpLoopMerge names (blocks the header dominates and the merge block
 * does not, so that code run on the way out of a break belongs to it), or the natural loop of its
 * back edges where a module has no merge instructions. */
struct CfgLoop {
    CfgLoop *parent;
    uint32_t header, latch;     /* latch UINT32_MAX when there are several back edges */
    uint32_t merge;             /* the OpLoopMerge's merge block, or UINT32_MAX */
    uint32_t depth;             /* 1 = outermost */
    uint32_t index;             /* its place in Cfg.loops */
    uint32_t *blocks, n_blocks; /* in order, header first */
    SpvInst *merge_inst;        /* OpLoopMerge, or NULL: its loop controls */
};

/* Blocks are in compact order, in which divergent code is laid out: each block comes after all its
 * predecessors except along back edges, and the blocks of a loop or a selection construct are
 * contiguous. Unreachable blocks are left out. The virtual exit is last. */
typedef struct Cfg {
    SpvFunction *function;
    CfgBlock *blocks;
    uint32_t n; /* with the virtual exit */
    /* by SpvBlock.index: place in blocks, UINT32_MAX when unreachable */
    uint32_t *position;
    /* an index for blocks made since: position[made_later] is UINT32_MAX */
    uint32_t made_later;
    CfgLoop **loops; /* outer before inner */
    uint32_t n_loops;
} Cfg;

/* NULL after reporting: the graph is irreducible (names the offending block). */
Cfg *cfg_build(Arena *a, SpvFunction *f, DiagSink *sink);
bool cfg_dominates(const Cfg *c, uint32_t a, uint32_t b);
bool cfg_in_loop(const CfgLoop *l, const Cfg *c, uint32_t block);
bool cfg_postdominates(const Cfg *c, uint32_t a, uint32_t b); /* walks up: for short distances */
/* Place in term->words of the k-th branch target of a terminator (a switch: the default first), 0
 * when there is none. Labels that are targets twice come twice. */
uint32_t cfg_target(const SpvInst *term, uint32_t k);
/* The OpSelectionMerge or OpLoopMerge before a block's terminator, or NULL. */
SpvInst *cfg_merge_inst(const SpvBlock *b);

/* ---- uniformity.c ---------------------------------------------------------------------------- */

/* For one entry point after inlining. A value is uniform if all active invocations of a subgroup
 * hold the same; a block is divergent if a proper subset of the subgroup may run it. */
typedef struct Uniformity {
    /* by id: 1 = differs between lanes (also pointers: 1 = the address differs) */
    uint8_t *varying;
    uint8_t *divergent_block;  /* by Cfg position */
    uint8_t *divergent_branch; /* by Cfg position: its terminator's condition is varying */
    uint8_t *divergent_loop;   /* by Cfg.loops index: lanes leave in different iterations */
    /* by id of a Function or Private variable: 1 = needs a copy a lane */
    uint8_t *varying_variable;
    /* by id of a vector: bit i = component i differs; others 0 or 0xffff */
    uint16_t *components;
} Uniformity;
/* Matrices (and variables that hold nothing else) belong to the subgroup and are never varying;
 * their elements are. `subgroup_size` 0: unknown; else LocalInvocationId.y and .z may be uniform,
 * if rows of the workgroup consist of whole subgroups. */
Uniformity *uniformity_build(Arena *a, SpvModule *m, const Cfg *c);
Uniformity *uniformity_build_for(Arena *a, SpvModule *m, const Cfg *c, uint32_t subgroup_size);
/* The same for a function that an instruction calls for its elements, or for an entry point in a
 * module with such functions. */
typedef struct UniformityKnown {
    const uint8_t *same;             /* by parameter: one value for all lanes; NULL: none known */
    const uint8_t *varying_variable; /* by id: Private ones that vary elsewhere; may be NULL */
} UniformityKnown;
Uniformity *uniformity_build_known(Arena *a, SpvModule *m, const Cfg *c, uint32_t subgroup_size,
                                   const UniformityKnown *known);

/* ---- workgroup.c ----------------------------------------------------------------------------- */

/* By id: 1 = the same for all invocations of the workgroup, as far as operands tell (memory that a
 * workgroup shares is taken to hold what it held when another subgroup came by). For an entry point
 * after inlining. */
uint8_t *workgroup_same(Arena *a, SpvModule *m, const Cfg *c, const Uniformity *u);

/* ---- pointer.c ------------------------------------------------------------------------------- */

/* The pointer that an access chain, a copy or a cast begins with; 0: it is no such instruction. */
SpvId pointer_from(const SpvInst *i);
/* What a pointer was made from through these: a variable, a parameter, a load, a choice, a
 * number. NULL: nothing. */
const SpvInst *pointer_root(const SpvModule *m, SpvId pointer);
SpvId pointer_variable(const SpvModule *m, SpvId pointer); /* the variable that is, or 0 */

/* ---- polynomial.c: integers as sums of products ---------------------------------------------- */

enum { POLYNOMIAL_FACTORS = 3, POLYNOMIAL_TERMS = 12 };

typedef struct PolynomialTerm {
    uint64_t times;
    SpvId of[POLYNOMIAL_FACTORS]; /* ascending, zeros first */
} PolynomialTerm;

typedef struct Polynomial {
    PolynomialTerm terms[POLYNOMIAL_TERMS];
    uint32_t n; /* 0: it is zero */
    bool too_large;
} Polynomial;

typedef struct PolynomialReader {
    SpvModule *m;
    uint32_t bits; /* of the integers */
    /* What stands for an instruction's result; may be NULL. */
    bool (*known)(void *user, const SpvInst *i, uint64_t *value);
    /* By how much it is more than what its id then stands for; may be NULL. */
    bool (*more)(void *user, const SpvInst *i, uint64_t *value);
    void *user;
    /* Narrower integers that are sign-extended do not overflow, as in OpenCL C, so that they are
     * sums and products of extended ones. A value that is narrower stands for what it is extended
     * to. */
    bool extends;
    /* polynomial_read's: values that were not looked into, each unlike those before */
    SpvId unlike[POLYNOMIAL_TERMS];
    uint32_t n_unlike;
    uint32_t left; /* polynomial_read's: values that may still be looked into */
} PolynomialReader;

/* Of a value of that width, modulo two to the power of it. */
Polynomial polynomial_read(PolynomialReader *d, SpvId id);
void polynomial_add(const PolynomialReader *d, Polynomial *to, const Polynomial *x, uint64_t times);
bool polynomial_equal(const PolynomialReader *d, const Polynomial *x, const Polynomial *y);
bool polynomial_number(const Polynomial *p, uint64_t *value); /* whether it is one */
/* Whether an instruction loads what no invocation changes: an input or a push constant. */
bool loads_constant(SpvModule *m, const SpvInst *i);
/* Whether two values are computed in the same way of the same numbers. */
bool values_alike(SpvModule *m, SpvId x, SpvId y);

/* ---- distance.c ------------------------------------------------------------------------------ */

/* Whether pointers into one object, none of them outside of it, lie each at the same distance from
 * the one before. */
bool pointers_even(SpvModule *m, const SpvId *pointers, uint32_t n);
/* Whether one pointer of that kind leads to an element so many after that of another, of the same
 * array or vector. In a kernel of OpenCL C indices do not overflow. */
bool pointers_apart(SpvModule *m, SpvId from, SpvId to, bool kernel, int64_t *elements);

/* ---- effects.c ------------------------------------------------------------------------------- */

/* Whether what an instruction calls for the elements of a matrix changes nothing but variables of
 * its own; of one that calls nothing, too. */
bool calls_only_read(SpvModule *m, const SpvInst *i);
/* The variable or parameter that an instruction may write to, where others see it; 0: it does not;
 * UINT32_MAX: any. What it calls for a matrix's elements is looked at by itself. */
SpvId written_root(const SpvModule *m, const SpvInst *i);

/* ---- webs.c: matrices ------------------------------------------------------------------------ */

/* Matrix values (after promotion to SSA) that share one home in memory: a phi with its operands, a
 * multiply-add's result with its accumulator, an elementwise result or insertion with its operand,
 * where their live ranges do not interfere. All values of a web have one type. A phi and an operand
 * of different webs need a copy, on that edge only (another successor of the predecessor may need
 * the old contents), the copies of one edge all at once. The A or B operand of a multiply-add is
 * never in its result's web. */
typedef struct MatrixWebs {
    /* by id: 1 + web, 0 for ids that are no matrix value of the function */
    uint32_t *web;
    uint32_t n_webs;
    SpvId *web_type; /* by web */
    uint32_t *value; /* by id: 1 + dense number of a matrix value */
    SpvId *value_id; /* by dense number */
    uint32_t n_values;
} MatrixWebs;
MatrixWebs *matrix_webs(Arena *a, SpvModule *m, const Cfg *c);

#endif
