/* SPDX-License-Identifier: MIT
 *
 * What the files of cpu/lanes share with each other and nobody else.
 */
#ifndef HEDDLE_CPU_LANES_INTERNAL_H
#define HEDDLE_CPU_LANES_INTERNAL_H

#include "cpu/lanes/lanes.h"

/* slot.c: variables of the linearised function, which become SSA values */
typedef struct FlowSlot FlowSlot;
FlowSlot *slot_new(Emit *e, LT type, uint32_t home, bool zero);
void slot_store(Emit *e, const FlowSlot *s, LV v); /* at the current place */
LV slot_load(Emit *e, const FlowSlot *s);

/* affine.c */
/* The scalars of an Affine, kept for other blocks. */
typedef struct LanesSlots {
    FlowSlot *of[AFFINE_GROUPS + 1];
} LanesSlots;
void affine_store(Emit *e, LanesSlots *slots, uint32_t home, const EmitAffine *a);
EmitAffine affine_load(Emit *e, const LanesSlots *slots, EmitAffine a);
/* What two numbers have in common. Brings both to the smaller group, with their conditions
 * combined. */
EmitAffine affine_join(Emit *e, EmitAffine *a, EmitAffine *b);
/* Takes lanes that came by several ways, on each of which they counted up by `stride`, to count up
 * still: a test finds out. Sets *a, and returns v's copy, for which affine_expected knows the test
 * and what it is then (for any other value NULL). */
typedef struct LanesExpected {
    LV is, counting;
} LanesExpected;
LV affine_expect(Emit *e, LV v, int64_t stride, EmitAffine *a);
const LanesExpected *affine_expected(const Emit *e, LV v);
/* Whether it says without a test what all lanes hold. */
bool affine_is_whole(const Emit *e, const EmitAffine *a);
/* Whether the lanes of a group are less than 2^bits apart, so that they wrap at most once. */
bool affine_wraps_once(const EmitAffine *a);
/* All lanes of what counts up from a scalar. */
LV affine_counting(Emit *e, LV first, int64_t stride);
/* All lanes of what is the same within groups. */
LV affine_spread(Emit *e, const LV *first, uint32_t group);
/* How many low bits of a scalar integer are known to be zero; 64: all. */
uint32_t affine_zeros(LV v);
void affine_result(Emit *e, const SpvInst *i, EmitValue *v); /* fills v->affine */

/* flow.c */
enum { SLOT_NONE, SLOT_PLAIN, SLOT_MASKED };
int flow_needs_slot(const Emit *e, SpvId id);
uint32_t flow_slot_home(const Emit *e, SpvId id);
LLVMBuilderRef flow_top(Emit *e); /* at the top of the current block */
LV lanes_uniform(Emit *e, LV v);  /* EmitTarget.uniform */

bool flow_one_subgroup(const Emit *e); /* in each workgroup, for certain */

/* turns.c */
void turns_plan(Emit *e);
void turns_take(Emit *e, const CfgLoop *loop); /* on its back edge */

/* kept.c: EmitTarget.defined, elsewhere */
void kept_begin(Emit *e);
void kept_defined(Emit *e, const SpvInst *i, EmitValue *v);
const EmitValue *kept_elsewhere(Emit *e, const SpvInst *i, const EmitValue *v);

/* rows.c: EmitTarget.reached */
void rows_reached(Emit *e, const SpvInst *i);

/* called.c */
void called_return(Emit *e, const SpvInst *i); /* OpReturnValue, for the active lanes */
void called_exit(Emit *e);                     /* ends the function */

/* variables.c: EmitTarget's functions for variables */
void variables_lanes_begin(Emit *e);
void variables_lanes_begin_called(Emit *e); /* of a function that e->caller calls */
LV variables_given(Emit *e, LLVMBuilderRef b, EmitGiven what);
void variables_own(Emit *e, const SpvInst *variable, EmitPointer *p);
EmitPointer variables_copy(Emit *e, LV from, uint64_t size, uint64_t align);
void variables_zero_shared(Emit *e, LV base, uint64_t bytes);
void variables_memory_of(Emit *e, LV address, LV *shared, LV *own);
/* The size of a Function or Private variable that can be addressed, for all lanes. */
uint64_t variables_own_bytes(Emit *e, SpvId variable);
LV variables_dropped(Emit *e); /* 64 bytes that are written and never read */

/* index.c: EmitTarget.add_lanes */
void index_add_lanes(Emit *e, EmitPointer *p, LV index, EmitAffine affine, int64_t stride);

enum { ACCESS_WIDEST = 4 }; /* scalars a lane that one vector access spans */

/* ---- by_lanes.c: one lane after the other ---------------------------------------------------- */

/* Whether a gather or scatter of such elements should be one. `mask`: NULL if all are active. */
bool by_lanes_needed(Emit *e, uint32_t bits, LV mask, bool store);
/* Elements of a vector of addresses, or of a run from one address on; those that are not in the
 * mask load 0. */
LV by_lanes_gather(Emit *e, LT type, LV address, unsigned align, LV mask);
void by_lanes_scatter(Emit *e, LV v, LV address, unsigned align, LV mask);
/* The loop itself; *at is the lane's address. lane_loop_end ends it. */
LanesLoop by_lanes_begin(Emit *e, LV address, LV mask, LV *at);
/* Memory for what is loaded or stored: ACCESS_WIDEST numbers of 64 bits for each lane; an element
 * of such an array. */
LV by_lanes_values(Emit *e);
LV by_lanes_element(Emit *e, LT element, LV array, LV index);

/* access.c: EmitTarget.load, store, load_leaf, store_leaf; address.c: address; copy.c */
/* Counts an access to memory that others can see: its bytes, or with a mask those of a lane. */
void access_count(Emit *e, const EmitPointer *p, HeddleAccess kind, LV mask, uint64_t bytes);
LV access_zeros(Emit *e); /* 64 bytes of memory, for loads that must not read where they would */
void access_load(Emit *e, const EmitPointer *p, LV *leaves);
void access_store(Emit *e, const EmitPointer *p, const LV *leaves);
/* Whether the lanes' scalars lie apart, so that each takes a gather of its own, unchecked. */
bool access_is_apart(Emit *e, const EmitPointer *p);
/* Whether a number would be taken from vectors with one or two lanes' each. */
bool access_is_far(Emit *e, const EmitPointer *p);
bool access_in_windows(Emit *e, const EmitPointer *p); /* each lane a piece of its own block */
/* If the lanes' numbers or vectors most likely lie in a row, with a few of the next ones between
 * them, and are best loaded with these: how many there are from lane to lane. Else 0. */
uint32_t access_row_stride(Emit *e, const EmitPointer *p);
LV access_load_leaf(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t);
void access_store_leaf(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t, LV v);
LV address_of_part(Emit *e, const EmitPointer *p, int64_t byte, uint32_t size);
void copy_sized(Emit *e, const SpvInst *i);

/* address.c */
/* A scalar of an access, `byte` bytes into the pointee. */
typedef struct LanesPart {
    int64_t byte;
    const SpvType *type;
} LanesPart;
bool address_checked(Emit *e, const EmitPointer *p); /* robust access tests whether it is inside */
/* Bytes from base, modulo 2^64: i64 or <W x i64>. Not for LAYOUT_LANES. */
LV address_offset(Emit *e, const EmitPointer *p, int64_t byte);
/* base + (offset + constant + byte) * scale: without the lanes' part */
LV address_uniform(Emit *e, const EmitPointer *p, int64_t byte, int64_t scale);
LV address_group(Emit *e, const EmitPointer *p, int64_t byte,
                 uint32_t group);                     /* of its first lane */
int64_t address_lane_stride(const EmitPointer *p);    /* bytes between lanes of a group */
LV address_first_lane(Emit *e, const EmitPointer *p); /* the index of the first lane */
/* Whether a - b is a constant, as far as one sees. */
bool address_apart_by(LV a, LV b, int64_t *by);
/* i1: whether all lanes, by the first lane of their group and without wrapping, are signed numbers
 * from least to most. NULL: the first lanes are not known. */
LV address_firsts_within(Emit *e, const EmitAffine *a, int64_t least, int64_t most);
/* i1: whether all groups of lanes are inside, by the address of their first lane. NULL if each lane
 * must be tested, or none. */
LV address_all_inside(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n);
/* i1: whether the bytes from `low` to `high` behind p's uniform part and `at` are inside. */
LV address_run_inside(Emit *e, const EmitPointer *p, LV at, int64_t low, int64_t high);
/* As address_all_inside for several accesses, with as few tests as possible. test[k] stays NULL if
 * access k must test for itself. */
void access_inside(Emit *e, const EmitPointer *p, uint32_t n, LV *test);

/* access.c: the scalars of the pointee, in order */
LanesPart *access_parts(Emit *e, const EmitPointer *p, uint32_t *n);
/* Loads such scalars, which need not be all of the pointee. */
void access_load_parts(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n,
                       LV *leaves);

/* together.c: accesses of a block that share a test */
void together_block(Emit *e, SpvBlock *block); /* before its first instruction */
/* The result of that test for a load or store, i1; NULL: it has none. */
LV together_inside(Emit *e, const SpvInst *i);

/* image.c */
void image_load(Emit *e, const EmitPointer *p, LV *leaves);

/* builtin.c */
bool builtin_begin(Emit *e); /* entry mask, lane ids */
/* The leaves of an input variable, in the entry block; affine has room for as many. False after
 * reporting. */
bool builtin_value(Emit *e, const SpvInst *variable, LV *leaves, EmitAffine *affine, uint32_t n);

/* subgroup.c */
/* The difference of v between neighbours of a quad, in x (1) or y (2). */
LV subgroup_slope(Emit *e, const SpvInst *i, LV v, uint32_t axis);
/* Whether an operation is one of the subgroup's; if not, of the workgroup's, which this emits, or
 * an error. */
bool subgroup_is_scope(Emit *e, const SpvInst *i);

/* vote.c */
LV vote_same(Emit *e, LV x, LV y); /* i1 a lane: of a leaf */

/* group.c: operations of a whole workgroup */
bool group_is_subgroup(Emit *e); /* a workgroup has one subgroup */
void group_inst(Emit *e, const SpvInst *i);
EmitFn group_async_copy, group_wait_events;

/* print.c */
/* ---- holes.c: stores of small numbers with holes between them -------------------------------- */

bool holes_suit(Emit *e, const EmitPointer *p, const LanesPart *part);
/* Of a scalar of each lane, v as memory has it. */
void holes_store(Emit *e, const EmitPointer *p, const LanesPart *part, LV v, uint32_t align);

/* ---- windows.c: pieces of blocks that follow one another ------------------------------------- */

/* Whether a load is worth a test of whether all lanes are active. */
bool windows_wanted(Emit *e, const EmitPointer *p, const LanesPart *part);
/* Loads a scalar of each lane so, of `type` all together. NULL: it cannot. */
LV windows_load(Emit *e, const EmitPointer *p, const LanesPart *part, LT type, uint32_t align);

/* ---- slices.c: pieces of blocks, for windows.c ----------------------------------------------- */

bool slices_suit(Emit *e, const EmitPointer *p, const LanesPart *part);
/* Loads a scalar of each lane, all of which are active, of `type` all together. NULL: it cannot. */
LV slices_load(Emit *e, const EmitPointer *p, const LanesPart *part, LT type);

/* ---- near.c: lanes most of which count up ---------------------------------------------------- */

typedef struct LanesNear {
    EmitPointer at;    /* behind the test with groups of a permutation's size */
    LV mask;           /* of the lanes; NULL: all */
    LV distance, last; /* of a lane from its group's first, i32; of its group's last one */
} LanesNear;
/* Whether a load can be such a one where what is expected does not hold. */
bool near_suits(Emit *e, const EmitPointer *p, const LanesPart *part);
/* i1: whether it can, for the lanes in the mask. In: `at` and `mask`. near_load relies on that. */
LV near_test(Emit *e, LanesNear *n, const LanesPart *part);
LV near_load(Emit *e, const LanesNear *n, const LanesPart *part, LT scalar, uint32_t align);

/* ---- table.c: addresses that differ by constants --------------------------------------------- */

enum { TABLE_DEPTH = 24 };
/* Lane l is at address + at[l], if `expected` holds. */
typedef struct LanesTable {
    LV base;     /* while it is found: the index is base + at[l] */
    LV address;  /* that all lanes share */
    LV expected; /* i1, a scalar; NULL: it holds */
    int64_t at[128];
} LanesTable;
/* False: the lanes' addresses do not differ by constants, as far as one sees. */
bool table_open(Emit *e, const EmitPointer *p, LanesTable *t);
/* i1: whether all that the lanes load is inside, if `expected` holds. */
LV table_inside(Emit *e, const EmitPointer *p, const LanesTable *t, const LanesPart *part,
                uint32_t n);
/* Whether each of the scalars is loaded by chunks; and that for all lanes. */
bool table_suits(Emit *e, const LanesTable *t, const LanesPart *part, uint32_t n);
void table_load(Emit *e, const EmitPointer *p, const LanesTable *t, const LanesPart *part,
                uint32_t n, LV *leaves);
/* p's lane_index, computed once more. */
LV table_index_again(Emit *e, LV v, uint32_t depth);

/* next_group.c: how far on the next workgroup's load lies; NULL: that is not known */
LV next_group_distance(Emit *e, SpvId pointer);

/* repeated.c: where lanes repeat a few numbers, these converted; else NULL */
LV repeated_widen(Emit *e, LV x, IrComp from, IrComp to);

/* EmitTarget.load_together is both of these. lookup.c */
bool lookup_load(Emit *e, const SpvInst *i, const EmitPointer *p, LV *leaves);
/* series.c */
bool series_load(Emit *e, const SpvInst *i, const EmitPointer *p, LV *leaves);
/* Whether loads before and behind the instruction may load different things. */
bool series_ends(const SpvInst *i);

/* ---- chunks.c: scalars that follow one another in each lane ---------------------------------- */

/* Loads the first of n scalars of each lane so; how many, 0 if it cannot. */
bool chunks_suit(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n);
uint32_t chunks_load(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n, LV *leaves);
/* Blocks of CHUNKS_BLOCK bytes have `stride` scalars of a lane, then those of the next: the k-th of
 * all lanes, for each k. Where it suits, that takes fewer permutations than picking them. */
enum { CHUNKS_BLOCK = 16 };
bool chunks_suit_rows(Emit *e, uint32_t bits, uint32_t lanes, uint32_t stride);
void chunks_split_rows(Emit *e, const LV *blocks, uint32_t lanes, uint32_t stride, LV *leaves);
/* Block by block: a scalar of x, one of y, the next of x, of their first or second halves. */
LV chunks_interleave(Emit *e, LV x, LV y, uint32_t in_block, bool second);

/* ---- in_place.c: dot products of numbers as they lie ----------------------------------------- */

/* Whether numbers that an OpLoad loads lead to dot products only. */
bool in_place_wanted(Emit *e, const SpvInst *load);
/* n parts of each lane as they lie, <W * n x T>: loaded, or made where they lie otherwise. */
LV in_place_load(Emit *e, const EmitPointer *p, const LanesPart *part, uint32_t n, unsigned align);
LV in_place_from(Emit *e, const LV *leaves, uint32_t n);
void in_place_keep(Emit *e, const LV *leaves, uint32_t n, LV all); /* for lanes_dot */
/* EmitTarget.dot */
LV lanes_dot(Emit *e, const SpvInst *i, const LV *x, const LV *y, uint32_t n);

/* ---- dot.c ----------------------------------------------------------------------------------- */

LV lanes_dot4(Emit *e, LV x, LV y, bool x_signed, bool y_signed); /* EmitTarget.dot4 */

void lanes_print(Emit *e, const EmitPrint *p);

#endif
