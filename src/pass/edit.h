/* SPDX-License-Identifier: MIT
 *
 * What the passes share: operations on a module that keep it consistent, and the values of
 * constants. Private to pass/ and lower/.
 */
#ifndef HEDDLE_PASS_EDIT_H
#define HEDDLE_PASS_EDIT_H

#include "pass/pass.h"

/* ---- edit.c ---------------------------------------------------------------------------------- */

void edit_remove(SpvModule *m, SpvInst *i); /* unlinks it; its id is defined no more */
/* Gives it another opcode and other operands; type and id stay. */
void edit_become(SpvModule *m, SpvInst *i, uint16_t op, const uint32_t *operands, uint32_t n);
/* the first instruction that is no label or phi */
SpvInst *edit_after_phis(const SpvBlock *b);
SpvBlock *edit_block(const SpvModule *m, SpvId label);
void edit_append(SpvModule *m, SpvBlock *b, uint16_t op, const uint32_t *operands, uint32_t n);
/* Moves `at` and everything after it to a new block, and updates the phis of the successors. The
 * old block is left without a terminator. */
SpvBlock *edit_split(SpvModule *m, SpvInst *at);
void edit_rename_pred(SpvModule *m, SpvBlock *b, SpvId from, SpvId to); /* in b's phis */
void edit_remove_pred(SpvModule *m, SpvBlock *b, SpvId pred);
void edit_add_incoming(SpvModule *m, SpvInst *phi, SpvId value, SpvId pred);
/* As edit_rename_pred, for all the blocks that `term` goes to. */
void edit_rename_source(SpvModule *m, const SpvInst *term, SpvId from, SpvId to);
void edit_retarget(SpvInst *term, SpvId from, SpvId to); /* a terminator's targets */
/* Whether an instruction is pure and has a value whatever its operands are, so that it may be
 * executed speculatively. */
bool edit_cannot_fail(const SpvModule *m, const SpvInst *i);
/* An access chain to a place that is there, wherever control has come to. */
bool edit_is_fixed_chain(const SpvModule *m, const SpvInst *i);
/* with[id] instead of id wherever the function uses it (0, and ids from n on: keep), following
 * chains. */
void edit_replace(SpvFunction *f, SpvId *with, uint32_t n);
/* Drops unreachable blocks and the phi operands for them. Merge blocks and continue targets that
 * their headers still name stay as empty blocks (SPIR-V 2.11). True when anything changed. */
bool edit_prune(SpvModule *m, SpvFunction *f, Arena *scratch);
/* Orders the function's blocks as its Cfg does, each after the blocks that dominate it. */
void edit_order_blocks(const Cfg *g);
/* Drops names, decorations, modes and interface entries of ids that are defined no more. */
void edit_sweep(SpvModule *m, Arena *scratch);
void edit_insert_global(SpvInst *before, SpvInst *i);
SpvInst *edit_another(SpvModule *m, const SpvInst *i); /* a copy with an id of its own, unlinked */
/* Decorations of ids are those of with[id], too (0, and ids from n on: none). */
void edit_share_decorations(SpvModule *m, const SpvId *with, uint32_t n);
/* A new variable of that type, in the interface of `entry`, an OpEntryPoint, where it must be. */
SpvId edit_variable(SpvModule *m, SpvInst *entry, uint32_t storage, SpvId type);
/* The Input variable with that BuiltIn; where there is none a new one of that type. */
SpvId edit_builtin(SpvModule *m, SpvInst *entry, uint32_t builtin, SpvId type);
/* Which BuiltIn a variable is; UINT32_MAX: none. */
uint32_t edit_which_builtin(SpvModule *m, SpvId variable);
/* OpCapability, or NULL */
SpvInst *edit_find_capability(const SpvModule *m, uint32_t capability);
void edit_capability(SpvModule *m, uint32_t capability); /* declares it, once */
/* The boolean whether one is true for all invocations of the subgroup, made before `at`, an
 * instruction of the block, or (NULL) at the block's end. Unlike other operations of subgroups it
 * does not reveal their size, so that the code generator may still choose it
 * (cpu/lanes/width.c). */
SpvId edit_all(SpvModule *m, SpvBlock *b, SpvInst *at, SpvId condition);
uint32_t edit_count(const SpvFunction *f); /* instructions */
bool edit_has_matrix(const SpvType *t);    /* is one, or holds one */
/* Whether OpBitcast makes a value of one type, as it lies in memory, one of the other. */
bool edit_casts(const SpvType *a, const SpvType *b);
/* The number of elements of an OpTypeCooperativeMatrixKHR that one invocation holds. False:
 * unknown. */
bool edit_matrix_length(const PassContext *c, SpvId type, uint64_t *length);
/* Places in words of all id operands of an instruction. 128 KB: one a function, or in an arena. */
typedef struct PassIdWords {
    uint16_t at[65536];
    uint32_t n;
} PassIdWords;
void edit_ids(const SpvInst *i, PassIdWords *out);

/* ---- split.c: the variables of the one function ---------------------------------------------- */

/* A Function variable, and what is done with it. */
typedef struct PassVariable {
    SpvInst *inst;
    const SpvType *type; /* of its contents */
    /* false: its address escapes, or it is volatile */
    bool followed;
    VEC(SpvInst *) chains;   /* OpAccessChain and kin, each directly on the variable */
    VEC(SpvInst *) accesses; /* OpLoad and OpStore, through the variable or a chain, in order */
} PassVariable;

typedef struct PassVariables {
    VEC(PassVariable) list;
    VEC(uint32_t) of; /* by id of a variable or chain: 1 + its place in list */
} PassVariables;

/* Needs a function without unreachable code. Copies of pointers and chains of chains are gone
 * after. */
PassVariables *variables_find(PassContext *c, const Cfg *g);
PassVariable *variable_of(PassVariables *v, SpvId pointer); /* NULL: none of them */
/* In the entry point, makes Private variables that can be followed, and that no other function
 * names, Function variables. */
void variables_localise(PassContext *c, const Cfg *g);
/* Makes one variable per part where parts are accessed by constant indices. */
void variables_split(PassContext *c, const Cfg *g);

/* ---- copy.c: copies of a loop's blocks ------------------------------------------------------- */

/* Shared by the loops of one Cfg. */
typedef struct PassLoopMarks {
    uint32_t *stamp, stamps; /* by block index: the loop that a block was last seen in */
    SpvId *map;              /* by id, n_map of them: loop_copy's; all zero between two loops */
    uint32_t n_map;
    /* by id, n_used of them: its users as they were at first, in `users` */
    uint32_t *use_start;
    SpvInst **users; /* NULL until asked for */
    uint32_t n_used;
} PassLoopMarks;

typedef struct PassLoopCopy {
    PassContext *c;
    const Cfg *g;
    const CfgLoop *loop;
    PassLoopMarks *marks;
    uint32_t stamp;
    /* of the loop, in the Cfg's order; then the unreachable ones that they name */
    VEC(SpvBlock *) blocks;
    SpvBlock *header, *latch;
    uint32_t size; /* instructions */
} PassLoopCopy;

PassLoopMarks loop_marks(PassContext *c, const Cfg *g);
/* Finds what a loop consists of. False: it has several latches, or more blocks than max_blocks. */
bool loop_open(PassLoopCopy *l, PassContext *c, const Cfg *g, PassLoopMarks *marks,
               const CfgLoop *loop, uint32_t max_blocks);
/* The same for all that a block dominates, which enters nothing but itself; `loop` is NULL. */
bool loop_open_behind(PassLoopCopy *l, PassContext *c, const Cfg *g, PassLoopMarks *marks,
                      SpvBlock *first, uint32_t max_blocks);
bool loop_holds(const PassLoopCopy *l, const SpvBlock *b);
/* Turns values that are used after the loop into phis of its exit, or else into variables. False if
 * one of them is a pointer; nothing has changed then. Of loops that share marks, earlier ones must
 * be closed before later ones. */
bool loop_close_values(PassLoopCopy *l);
/* Copies all blocks, placing the copies after `after`; the map leads to them. Header phis are not
 * copied: the caller has set their map entries. The header's OpLoopMerge is left out. Phis of
 * blocks outside get operands for the copies' edges. Returns the last block. */
SpvBlock *loop_copy(PassLoopCopy *l, SpvBlock *after);
SpvId loop_mapped(const PassLoopCopy *l, SpvId id);
void loop_done(PassLoopCopy *l); /* clears the map */
/* Whether a branch to that block stays in the loop and does not lead out of it. */
bool loop_stays(const PassLoopCopy *l, SpvId label);
/* Decides the conditional branch that ends block b, of a loop or a copy of it: to leave or not.
 * exit_when: the value of its condition that leaves. */
void loop_decide_exit(SpvModule *m, SpvBlock *b, bool exit_when, bool leave);
/* Redirects everything that enters the loop to `to`: edges, and constructs that end or continue
 * there. */
void loop_redirect_entries(PassLoopCopy *l, const SpvBlock *to);
/* Operand of a header phi for the edge from `pred`. */
SpvId loop_incoming(const SpvInst *phi, SpvId pred);
/* The loop control that the name of a loop's first block stands for (front/opencl/loops.c), and its
 * number; 0: none. */
uint32_t loop_named_control(const SpvModule *m, const SpvBlock *header, uint32_t *count);

/* A detour that the branch of block p (a position) may make in a loop: `n` blocks from `first` on,
 * one after the other, to where p else leads to, which is returned; UINT32_MAX: it is none. */
typedef struct PassDetour {
    uint32_t first, n;
    bool on_true;
} PassDetour;
uint32_t loop_detour(const PassLoopCopy *l, uint32_t p, PassDetour *d);

/* ---- version.c: a second version of the body ------------------------------------------------- */

typedef struct PassVersion {
    PassContext *c;
    const Cfg *g; /* of the function as it was */
    PassLoopMarks marks;
    PassLoopCopy copy;
    SpvBlock *entry, *body; /* what is in front of both, which is where variables are; the body */
    SpvInst *at;            /* where what chooses may be computed: the end of `entry` */
} PassVersion;

/* Copies the body of the one function, whose code is reachable. False: an error was reported. */
bool version_open(PassVersion *v, PassContext *c);
SpvBlock *version_block(const PassVersion *v, const SpvBlock *b); /* the copy of a block */
/* The copy runs where the condition, a boolean, is true. Simplifies. */
bool version_close(PassVersion *v, SpvId condition);

/* ---- range.c: how large numbers get ---------------------------------------------------------- */

#define RANGE_UNKNOWN UINT64_MAX

typedef struct PassRangeFact {
    uint64_t largest;
    uint32_t where; /* position of a block that dominates those where it is so; 0: nowhere */
} PassRangeFact;

/* Valid with c alone: then nothing is known of loops. */
typedef struct PassRange {
    PassContext *c;
    const Cfg *g;
    PassRangeFact *fact; /* by id, n_ids of them */
    uint32_t n_ids;
    uint32_t at; /* position of the block that is looked from; UINT32_MAX: any */
} PassRange;

/* A comparison that keeps a loop running: `of` < bound, a constant of at most 2^31 - 1. */
typedef struct PassTest {
    SpvId of;
    uint64_t bound;
    bool is_signed;
} PassTest;

void range_find(PassRange *s, PassContext *c, const Cfg *g); /* what loops' conditions tell */
/* The largest value of an integer as an unsigned number, at most 2^31 - 1; RANGE_UNKNOWN. */
uint64_t range_largest(PassRange *s, SpvId id);
/* stays_when: the condition's value that keeps the loop running. False: it is something else. */
bool range_test(SpvModule *m, SpvId condition, bool stays_when, PassTest *test);

/* ---- beginning.c: what a kernel can ask at its beginning ------------------------------------- */

/* An integer of any invocation, at any time, is between them. Terms are of PassBeginning.atoms: 1 +
 * place. */
typedef struct PassEnds {
    Polynomial low, high;
} PassEnds;

/* less + by <= more */
typedef struct PassRelation {
    SpvId less, more;
    uint32_t by;
    bool is_signed;
} PassRelation;

typedef struct PassBeginning {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    PassRange range;
    PolynomialReader reader; /* of 64 bits, for sums */
    struct PassAtom *atoms;
    uint32_t n_atoms;
    Polynomial *tests; /* none of them is negative; who takes some back sets n_tests */
    uint32_t n_tests;
    SpvId *becomes; /* by id, n_ids of them: what it is instead, if no test is negative; or 0 */
    uint32_t n_ids, left; /* values that may still be looked at */
    uint32_t at;          /* position of the block that is looked from */
} PassBeginning;

void beginning_open(PassBeginning *s, PassContext *c, const Cfg *g);
/* Where an integer is, if no test is negative. False: that is not known. */
bool beginning_ends(PassBeginning *s, SpvId id, PassEnds *x);
bool ends_are_one(const PassBeginning *s, const PassEnds *x); /* all invocations have the same */
/* Add tests; false: they never hold, or there are too many. That the number that the kernel
 * computes is the one between the ends, as a signed number, or (below the half of it, where it is
 * the same) as an unsigned one; that less + by <= more. */
bool beginning_ask_fit(PassBeginning *s, const PassEnds *x, uint32_t bits, bool is_signed);
bool beginning_ask_order(PassBeginning *s, const PassEnds *less, const PassEnds *more, uint32_t by);
void beginning_drop(PassBeginning *s);                /* drops the tests that others say already */
SpvId beginning_write(PassBeginning *s, SpvInst *at); /* the boolean whether no test is negative */
/* What a comparison says of two integers if it is `holds`. False: it is none of their order. */
bool relation_read(const SpvInst *i, bool holds, PassRelation *r);

/* ---- row_loops.c ----------------------------------------------------------------------------- */

/* How many iterations to do at once where each invocation walks along a row of its own; 1: none
 * does. Or how many of what is left over (`rest`). */
uint32_t loop_row_steps(const PassLoopCopy *l, const Uniformity *u, bool rest);

/* ---- copies.c: what workgroup memory is copied from ------------------------------------------ */

enum { COPIES_NESTED = 4, COPIES_TESTS = 8 }; /* loops and tests, at most */

/* A loop with one counter: it goes on while `condition` is `stays`, which is asked at the beginning
 * of an iteration or (at_end) at its end. */
typedef struct PassCounted {
    const CfgLoop *loop;
    const SpvInst *counter;
    SpvId start, next, condition;
    bool stays, at_end;
} PassCounted;

/* Goes on to the instruction if the condition is `when`, in so many of the loops. */
typedef struct PassChoice {
    SpvId condition;
    bool when;
    uint32_t loops;
} PassChoice;

/* Loops in which an instruction is, the outermost first, and tests on the way to it. */
typedef struct PassNest {
    PassCounted loops[COPIES_NESTED];
    PassChoice tests[COPIES_TESTS];
    uint32_t n, n_tests;
    bool surely;        /* else a test that is not known may have come out either way */
    uint32_t chosen_at; /* position of the first test's block; UINT32_MAX: none is outside loops */
} PassNest;

/* A store to workgroup memory, and the loops that do nothing but copy, if it is in any. */
typedef struct PassCopy {
    SpvInst *store;
    PassNest nest;
} PassCopy;

/* A variable of workgroup memory that is only copied to, and then only loaded from. */
typedef struct PassTile {
    SpvInst *variable;
    const SpvType *unit; /* a scalar or vector, which indices count */
    uint32_t units;
    VEC(PassCopy) copies;
    VEC(SpvInst *) loads;
    const SpvInst *source; /* the chain into the buffer of the first store; others end elsewhere */
    Polynomial *from;      /* by unit: the last index of that chain; `known` of them */
    uint8_t *known;
} PassTile;

typedef struct PassCopies {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    uint8_t *same; /* by id, n_same of them: the same for all invocations of the workgroup */
    uint32_t n_same;
    uint32_t left;                    /* values that may be looked at */
    VEC(SpvId) found_same;            /* since: phis of loops, in order */
    uint8_t *mine;                    /* by id: the tile's variable, or a chain into it */
    uint32_t invocations, invocation; /* of a workgroup; the one that is looked at */
    /* of the loops that an iteration is done of */
    const SpvInst *counters[COPIES_NESTED];
    uint64_t counts[COPIES_NESTED];
    uint32_t n_counters;
    PolynomialReader reader; /* its width is that of what was read last */
    PassIdWords ids;
} PassCopies;

/* One invocation that does an instruction, in one iteration of the loops around it; false: stop. */
typedef bool (*PassDoes)(PassCopies *s, void *user);

/* False: what a workgroup consists of is not known. */
bool copies_open(PassCopies *s, PassContext *c, const Cfg *g);
/* What is stored to a variable, and loaded by instructions of that opcode. False: other things are
 * done with it, or no barrier is between. */
bool copies_find(PassCopies *s, SpvInst *variable, uint16_t load, PassTile *t);
/* Where it was read, where it was copied from one buffer. */
bool copies_read(PassCopies *s, PassTile *t);
/* Whether the buffer, a variable, keeps until the loads what it holds at the copies. */
bool copies_kept(const PassCopies *s, const PassTile *t, SpvId buffer);
/* Notes that a buffer, a variable, is taken for other memory than what is written: Restrict. */
void copies_take_apart(PassCopies *s, SpvId buffer);
/* A buffer that is like any other. */
bool copies_plain_buffer(const PassCopies *s, const SpvInst *variable);
/* Whether all invocations find the same values for a polynomial's at a position, and these may be
 * computed behind the loops and tests there as well. */
bool copies_shared(PassCopies *s, const Polynomial *p, uint32_t at, const PassNest *nest);
/* Whether an instruction is the same for all invocations at a position. */
bool copies_same(PassCopies *s, SpvId id, uint32_t at);
/* Component k of s->invocation's number in the workgroup. */
uint32_t copies_local(const PassCopies *s, uint64_t k);
/* Whether it is component k of the invocation's number in the dispatch. In polynomials it stands
 * for that of the workgroup's first invocation, which all share. */
bool copies_is_global(const PassCopies *s, const SpvInst *i, uint64_t *k);
/* An integer, and the unit that a chain into the tile selects, for s->invocation. */
bool copies_index(PassCopies *s, SpvId id, Polynomial *p);
bool copies_unit(PassCopies *s, const PassTile *t, const SpvInst *chain, uint64_t *unit);
bool copies_in_order(const PassCopies *s, const SpvInst *a, const SpvInst *b); /* a comes first */

/* nest.c: the counted loops around an instruction that are not around `outside` as well, a
 * position, and the tests there. `surely`: all of them must be known. */
bool copies_nest(const PassCopies *s, const SpvInst *i, uint32_t outside, PassNest *nest,
                 bool surely);
/* Has all invocations do it; takes what they do from `left`. */
bool copies_each(PassCopies *s, const PassNest *nest, uint64_t *left, PassDoes does, void *user);
/* The outermost of these loops, or NULL. */
const CfgLoop *copies_outermost(const PassNest *nest);

/* ---- forget.c -------------------------------------------------------------------------------- */

/* Removes what was copied to tiles that nobody loads from any more; g: where they were found. */
bool copies_forget(PassContext *c, const Cfg *g, PassTile *const *tiles, uint32_t n);

/* ---- terms.c: polynomials as instructions ---------------------------------------------------- */

/* Instructions before `at`, on integers of the type. */
typedef struct PassTerms {
    PassCopies *copies;
    SpvInst *at;
    SpvId type;
} PassTerms;

SpvId terms_put(const PassTerms *w, uint16_t op, SpvId type, SpvId x, SpvId y); /* y 0: of x */
SpvId terms_times(const PassTerms *w, SpvId x, uint64_t n);
SpvId terms_sum(const PassTerms *w, SpvId x, SpvId y); /* 0 stands for 0 */
SpvId terms_as_wide(const PassTerms *w, SpvId x);      /* as `type` is */
SpvId terms_local(const PassTerms *w, uint64_t k);     /* a component of LocalInvocationId */
SpvId terms_product(const PassTerms *w, const PolynomialTerm *t); /* without `times`; 0: of none */

/* ---- values.c, dead.c: parts of simplify ----------------------------------------------------- */

/* Folds, forwards and merges equal values. True when anything changed. */
bool values_simplify(PassContext *c, const Cfg *g);
/* Removes whatever has no observable effect, in the function and in the preamble. */
void dead_remove(PassContext *c, const Cfg *g);

/* ---- fold.c ---------------------------------------------------------------------------------- */

enum { FOLD_MAX = 16 };

/* A constant scalar or vector. Bits in the type's width, the rest zero. */
typedef struct PassFoldValue {
    const SpvType *type; /* of a component */
    uint32_t count;      /* 1: a scalar */
    uint64_t bits[FOLD_MAX];
} PassFoldValue;

typedef struct PassFold {
    SpvModule *m;
    Arena *scratch;
    Map pool;              /* hash of type and words -> id */
    SpvInst *before;       /* where new constants go in the preamble; NULL: its end */
    bool denormals;        /* fold to and from denormal numbers, whatever the machine does */
    uint32_t towards_zero; /* RoundingModeRTZ: the sum of 16, 32, 64 that it is asked for */
} PassFold;

void fold_learn(PassFold *f, const SpvInst *i); /* a constant, into the pool */
/* Sets the modes that the entry point asks for; none if its inst is NULL (a kernel becomes a
 * shader). */
void fold_modes(PassFold *f, const SpvEntryPoint *entry);
PassFold fold_open(SpvModule *m, Arena *scratch);
bool fold_read(const PassFold *f, SpvId id, PassFoldValue *v);
int64_t fold_signed(const PassFoldValue *v, uint32_t component);
SpvId fold_write(PassFold *f, SpvId type, const PassFoldValue *v);
SpvId fold_int(PassFold *f, SpvId type, uint64_t value);
SpvId fold_bool(PassFold *f, SpvId type, bool value);
SpvId fold_composite(PassFold *f, SpvId type, const SpvId *parts, uint32_t n);
SpvId fold_null(PassFold *f, SpvId type);
/* The constituent of a constant composite (or null) at a member index; 0 when it has none. */
SpvId fold_member(PassFold *f, SpvId composite, uint32_t index);
/* Value of `op` with the operand words given (ids of constants, and literals where the instruction
 * has them); 0 when it has no value that is known here. */
SpvId fold_op(PassFold *f, uint16_t op, SpvId type, const uint32_t *operands, uint32_t n);
/* The same for a pure instruction; those with a rounding mode of their own are left to the
 * machine. */
SpvId fold_inst(PassFold *f, const SpvInst *i, const uint32_t *operands, uint32_t n);

#endif
