/* SPDX-License-Identifier: MIT
 *
 * What the files of lower/ share: a builder of structured code, addresses of a matrix' elements,
 * workgroup memory to stage them in. Private to lower/.
 */
#ifndef HEDDLE_LOWER_INTERNAL_H
#define HEDDLE_LOWER_INTERNAL_H

#include "base/tiles.h"
#include "lower/lower.h"
#include "pass/edit.h"

/* Workgroup memory that matrices of a component type go through: a row of `count` for each
 * subgroup. */
typedef struct LowerStaging {
    SpvId element; /* type */
    uint32_t scope;
    SpvId variable;
    /* OpTypeArray, whose length is known when all have asked, and a row's, a constant; of one
     * dimension, for NVIDIA's driver (580) takes all rows for the first where the module has
     * variable pointers */
    SpvInst *all, *row;
    uint32_t rows, count;
} LowerStaging;

/* What becomes of a matrix type: it stays, becomes tiles of rows x cols, an array of elements. */
typedef enum LowerFateKind { FATE_STAYS, FATE_TILES, FATE_ARRAY } LowerFateKind;
typedef struct LowerFate {
    uint32_t kind, rows, cols;
} LowerFate;

/* A matrix that was a workgroup's: the whole of it, and the parts that it is dealt in. */
typedef struct LowerPart {
    uint32_t rows, columns, row_parts, column_parts;
} LowerPart;

/* A decode function that was copied for a buffer. */
typedef struct LowerDecoderCopy {
    SpvId function, variable, copy;
} LowerDecoderCopy;

/* A buffer that is declared once more, as an array of numbers. */
typedef struct LowerView {
    SpvId variable, number, view; /* number: their type */
} LowerView;

typedef struct LowerLineGroup LowerLineGroup; /* load_lines.c */

/* Element e is of the e / columns-th row and the e % columns-th column that a lane has any of. */
typedef struct LowerGrid {
    uint32_t rows, columns;
} LowerGrid;

typedef struct Lower {
    SpvModule *m;
    const LowerProfile *profile;
    Arena *scratch;
    DiagSink *sink;
    LowerReport *report;
    const char *pass; /* the name of the one that runs */
    SpvEntryPoint entry;
    uint32_t width;                  /* invocations of a subgroup, as the kernel has it */
    uint32_t lanes;                  /* of them there are: fewer in a small workgroup */
    uint32_t invocations, subgroups; /* of a workgroup */
    uint64_t own_memory;             /* bytes of the kernel's workgroup variables */
    LowerFate *fates;                /* by type id, n_fates of them: as the module was at first */
    uint32_t n_fates;
    bool has_arrays, has_tiles;
    LowerPart *parts; /* by type id, n_parts of them; rows 0: it was no workgroup's */
    uint32_t n_parts;
    uint32_t grid_columns; /* of subgroups, by which they are dealt */
    SpvModule *undealt;    /* as it was before; or NULL */
    bool crowded;          /* there is too little workgroup memory for that */
    VEC(LowerStaging) staging;
    Map apart; /* by array type: workgroup memory of its own */
    VEC(LowerDecoderCopy) decoders;
    VEC(LowerView) views;
    VEC(LowerGrid) whole_rows; /* shapes of matrices whose blocks have these (place.c) */
    Map places[3];             /* by function: the value of BuiltIn k there */
    uint32_t types_used;       /* PROFILE_HAS_*: of what functions and workgroup memory now hold */
    bool has_blocks;           /* of tensor layouts, of more than one element */
    bool asks_lane;            /* reads a builtin of subgroups */
    bool made_rows;            /* lower_rows left arrays that nothing needs */
    bool widened;  /* matrices are a workgroup's that was one subgroup: the target has none */
    bool hinted;   /* loops asked for wait queues */
    bool frugal;   /* no more workgroup memory than must be: else there was not enough */
    bool spends;   /* more was asked for */
    bool clips;    /* loads by tensor layouts may go beyond the tensor's end */
    bool has_rows; /* matrices of arrays that are functions of others' rows */
    LowerLineGroup *lines; /* that is being collected */
    bool shuffles;
    bool failed;
} Lower;

/* The error of an instruction that cannot be lowered; sets failed. Returns false. */
bool lower_refuse(Lower *l, const SpvInst *i, const char *fmt, ...) PRINTF_LIKE(3, 4);
void lower_note(Lower *l, const SpvInst *i, const char *how); /* a row of the report */

void lower_uses(Lower *l, const SpvType *t); /* there are variables and values of a number */

/* The target has them, or what small_floats or small_numbers puts in their place. */
bool lower_has(const Lower *l, const SpvType *t);
/* An integer or f16 that it does not calculate in, and that no variable of its own may hold. */
bool lower_is_small(const Lower *l, const SpvType *t);
bool lower_lacks_storage(const Lower *l, const SpvType *t); /* nor may buffers */
uint64_t lower_size(const Lower *l, const SpvType *t);      /* bytes of workgroup memory */
bool lower_lacks_float(const Lower *l, const SpvType *t);   /* bf16 or fp8, which it has not */
void lower_undecorate(Lower *l, SpvId id);
/* What says how a result is rounded or saturated holds for each part of it. The whole keeps it. */
void lower_hand_down(Lower *l, SpvId from, const SpvId *parts, uint32_t n);

/* Calls visit for every instruction of the functions; it may put others around it and remove it.
 * Stops where the pass has failed. */
void lower_each(Lower *l, void (*visit)(Lower *l, SpvInst *i));

/* ---- workgroup.c ----------------------------------------------------------------------------- */

/* What a matrix type was, in one part where it is whole, and where the subgroup's begins there. */
LowerPart lower_part(const Lower *l, const SpvType *matrix);
SpvId part_row(Lower *l, SpvInst *at, const SpvType *matrix);
SpvId part_column(Lower *l, SpvInst *at, const SpvType *matrix);
/* It was a workgroup's: then subgroups of a line of the grid may have copies of a part, and each
 * part's first subgroup can be told from them; 0: there are no copies. */
bool lower_is_part(const Lower *l, const SpvType *matrix);
SpvId part_is_first(Lower *l, SpvInst *at, const SpvType *matrix);

/* ---- fate.c ---------------------------------------------------------------------------------- */

void lower_decide_fates(Lower *l);
LowerFate lower_fate(const Lower *l, const SpvType *matrix);
LowerType lower_type_of(const SpvType *component, bool is_signed);
/* A matrix type that becomes an array. */
bool lower_is_array(const Lower *l, const SpvType *t);

/* ---- build.c: instructions before `at`, folded where operands are constants ------------------ */

SpvId build(Lower *l, SpvInst *at, uint16_t op, SpvId type, const uint32_t *operands, uint32_t n);
#define BUILD(l, at, op, type, ...)                                                                \
    build((l), (at), (op), (type), (uint32_t[]){ __VA_ARGS__ },                                    \
          sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))
SpvId build_u32(Lower *l); /* the type */
SpvId build_bool(Lower *l);
SpvId build_const(Lower *l, uint32_t value);
SpvId build_add(Lower *l, SpvInst *at, SpvId a, SpvId b); /* of u32 */
SpvId build_sub(Lower *l, SpvInst *at, SpvId a, SpvId b);
SpvId build_mul(Lower *l, SpvInst *at, SpvId a, SpvId b);
SpvId build_div(Lower *l, SpvInst *at, SpvId a, uint32_t b);
SpvId build_mod(Lower *l, SpvInst *at, SpvId a, uint32_t b);
SpvId build_min(Lower *l, SpvInst *at, SpvId a, uint32_t most);
SpvId build_less(Lower *l, SpvInst *at, SpvId a, SpvId b); /* unsigned */
/* Of two conditions, of which 0 is none. */
SpvId build_both(Lower *l, SpvInst *at, uint16_t op, SpvId a, SpvId b);
SpvId build_select(Lower *l, SpvInst *at, SpvId c, SpvId a, SpvId b);
/* Any integer as u32, by truncation or with its sign. */
SpvId build_to_u32(Lower *l, SpvInst *at, SpvId value);
SpvId build_variable(Lower *l, SpvInst *at, SpvId type); /* of at's function */
SpvId build_load(Lower *l, SpvInst *at, SpvId type, SpvId pointer);
void build_store(Lower *l, SpvInst *at, SpvId pointer, SpvId value);
/* A pointer to an element of a variable that is an array. */
SpvId build_element(Lower *l, SpvInst *at, uint32_t storage, SpvId type, SpvId base, SpvId index);
/* Ends the instruction: what uses its result uses `with` (0: it has none). */
void build_replace(Lower *l, SpvInst *i, SpvId with);

/* A loop of `count` iterations before `at`. *body is where its body goes, *index counts from 0. */
void build_loop(Lower *l, SpvInst *at, uint32_t count, SpvInst **body, SpvId *index);
/* What is put before the result is carried out where the condition holds, and `at` behind it. */
SpvInst *build_if(Lower *l, SpvInst *at, SpvId condition);
/* The same, and with another way where it does not hold. */
void build_either(Lower *l, SpvInst *at, SpvId condition, SpvInst **yes, SpvInst **no);

/* for (Each e = each(l, at, n); each_next(&e);) ...: n times with the index e.index, unrolled where
 * n is small; instructions go before e.at. */
enum { UNROLLED = 32 };
typedef struct LowerEach {
    Lower *l;
    SpvInst *at;      /* in the body */
    SpvInst *outside; /* before the loop, once */
    SpvInst *behind;
    SpvId index;
    uint32_t n, k;
    bool looped;
    VEC(SpvId) held;   /* values and the variables that they are in, by turns */
    SpvId *parts, out; /* the result: its elements, or the variable that it is in */
} LowerEach;
LowerEach each_open(Lower *l, SpvInst *at, uint32_t n);
/* The same of n of so many in all. */
LowerEach each_open_part(Lower *l, SpvInst *at, uint32_t n, uint32_t all);
bool each_next(LowerEach *e);
/* Element e.index of a value that is an array (or a matrix), of the type given. */
SpvId each_get(LowerEach *e, SpvId value, SpvId element);
/* Element e.index of the result, which is an array of type `type`. */
void each_put(LowerEach *e, SpvId type, SpvId element, SpvId value);
SpvId each_result(LowerEach *e, SpvId type);

/* ---- places ---------------------------------------------------------------------------------- */

SpvId place_lane(Lower *l, SpvInst *at, uint32_t scope); /* of the subgroup or workgroup */
SpvId place_subgroup(Lower *l, SpvInst *at);
uint32_t place_lanes(const Lower *l, uint32_t scope);
/* By the module's memory model, Vulkan's, what others are to see must be made available. */
bool place_has_availability(const Lower *l);
/* All invocations of the scope are there, and see what others wrote to workgroup memory. */
void place_barrier(Lower *l, SpvInst *at, uint32_t scope);
SpvId place_builtin(Lower *l, uint32_t builtin, SpvId type);  /* an Input variable */
SpvId place_variable(Lower *l, uint32_t storage, SpvId type); /* of the module */

/* Element e of the invocation: the (e * lanes + lane)-th by rows, the last one where there are not
 * so many; or as PROFILE_TILES says, as owners say, or in blocks (place_block). */
typedef struct LowerElement {
    SpvId number, row, column;
} LowerElement;
uint32_t place_length(const Lower *l, const SpvType *matrix); /* elements that a lane holds */
/* Lane after lane, row by row, as place_dealt tells. */
bool place_is_by_number(const Lower *l, const SpvType *matrix);
LowerElement place_element(Lower *l, SpvInst *at, const SpvType *matrix, SpvId e);
/* owner.c: what the driver answered of a matrix, or of its tiles; NULL: nothing. Whether matrices
 * have their elements in the same order. And the row and the column of such an element. */
const LowerOwner *lower_owner(const Lower *l, const SpvType *matrix);
bool lower_are_alike(const Lower *l, const SpvType *a, const SpvType *b);
LowerElement owner_element(Lower *l, SpvInst *at, const SpvType *matrix, SpvId e);
void place_choose_blocks(Lower *l); /* before anything is placed */
bool place_grid(const Lower *l, const SpvType *matrix, LowerGrid *g); /* false: it is no grid */
/* Rows of such matrices are reduced in a loop: blocks have whole ones. */
bool place_has_whole_rows(const Lower *l, const SpvType *matrix);
/* That of a subgroup's block of what the workgroup shares; false: it has no blocks. */
bool place_block(const Lower *l, const SpvType *matrix, LowerGrid *g);
/* The same of any rows and columns, one after another. */
LowerElement place_dealt(Lower *l, SpvInst *at, uint32_t scope, const uint32_t size[2], SpvId e);
/* Whether lanes hold as many elements as there are, all of them. */
bool place_is_even(const Lower *l, const SpvType *matrix);
/* The lane has an e-th of `size` elements. */
SpvId place_holds(Lower *l, SpvInst *at, uint32_t scope, uint32_t size, SpvId e);
/* Where what only those do that hold an element goes. */
SpvInst *place_if_holds(Lower *l, SpvInst *at, const SpvType *matrix, SpvId e);

/* ---- staging.c ------------------------------------------------------------------------------- */

/* Room for `count` elements a subgroup. The result holds until the next call. */
LowerStaging *staging_of(Lower *l, SpvId element, uint32_t scope, uint32_t count);
/* Element `index` of the subgroup's row. */
SpvId staging_pointer(Lower *l, SpvInst *at, SpvId element, uint32_t scope, SpvId index);
SpvId staging_load(Lower *l, SpvInst *at, SpvId element, uint32_t scope, SpvId index);
void staging_store(Lower *l, SpvInst *at, uint32_t scope, SpvId index, SpvId value);
/* The same by a pointer. */
SpvId staging_read(Lower *l, SpvInst *at, SpvId element, SpvId pointer);
void staging_write(Lower *l, SpvInst *at, SpvId pointer, SpvId value);
/* A variable of the workgroup's that those share who ask for this type and size; 0: there is no
 * room. */
SpvId staging_apart(Lower *l, SpvId element, uint32_t count);
/* The whole matrix to the row and back, row by row from element `first` on. No barriers. */
void staging_put_matrix(Lower *l, SpvInst *at, SpvId matrix, uint32_t first);
SpvId staging_get_matrix(Lower *l, SpvInst *at, const SpvType *t, uint32_t first);
/* A matrix that lies in lines, which are its columns or its rows, in what a scope shares. */
typedef struct LowerLines {
    uint32_t scope;
    SpvId first;
    bool by_column;
    uint32_t stride; /* elements */
    SpvId element;   /* type; 0: the matrix' components */
} LowerLines;
void staging_put_lines(Lower *l, SpvInst *at, SpvId matrix, const LowerLines *x);
SpvId staging_get_lines(Lower *l, SpvInst *at, const SpvType *t, const LowerLines *x);
/* Whether there is as much memory, beside what others have asked for. */
bool staging_has_room(Lower *l, SpvId element, uint32_t scope, uint64_t count);
uint64_t staging_taken(const Lower *l); /* bytes of workgroup variables */
void staging_settle(Lower *l);          /* gives them their sizes */
bool staging_close(Lower *l);           /* false: there is not so much memory */

/* --- view.c ---------------------------------------------------------------------------------- */

/* The buffer as an array of numbers, or of vectors of them: a variable. */
SpvId lower_view(Lower *l, SpvId variable, const SpvType *number);
/* What a block's members say of its memory: NonWritable if all do, others if any does. */
bool lower_has_property(Lower *l, const SpvType *block, uint32_t property);
/* The bytes from the beginning of something of that type to where the chain's indices lead, a u32;
 * 0: it has no layout. */
SpvId lower_view_bytes(Lower *l, SpvInst *chain, const SpvType *t);
/* The variable of the buffer, and the bytes from its beginning to where the pointer leads; 0: it is
 * none that the pointer names. */
SpvId lower_view_start(Lower *l, SpvInst *chain, SpvId *bytes);

/* --- address.c: the elements that a matrix load or store names ------------------------------- */

typedef struct LowerAddress {
    SpvInst *inst;                    /* the access */
    SpvInst *chain;                   /* OpAccessChain or kin */
    uint32_t index;                   /* its operand that selects from the array */
    uint32_t wraps;                   /* structures of one member that it has to go into yet */
    const SpvType *pointee, *element; /* where it leads then; the matrix' component */
    SpvId stride;                     /* in pointees */
    bool by_column;
    uint32_t major, minor;        /* lines, and elements in each */
    uint32_t memory[4], n_memory; /* operands of an access to one pointee */
} LowerAddress;
bool address_open(Lower *l, SpvInst *i, const SpvType *matrix, LowerAddress *out);
/* For elements of a type, one behind the other, from the pointer that is the first operand on.
 * Memory operands begin with operand `memory`. */
bool address_open_at(Lower *l, SpvInst *i, const SpvType *element, uint32_t memory,
                     LowerAddress *out);
/* Where the pointer leads to pieces of elements in a buffer that it names: to elements, which begin
 * at multiples of their size ("The Pointer must be a multiple of 16B";
 * VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986). Else nothing happens. */
void address_as_elements(Lower *l, LowerAddress *a);
/* Whether a pointer is one that these take. */
bool address_is_known(Lower *l, SpvId pointer);
SpvId address_first(const LowerAddress *a); /* the index in the array that it begins at */
/* A pointer like the access' own, that many elements of the array behind it. */
SpvId address_pointer(Lower *l, SpvInst *at, const LowerAddress *a, SpvId number);
SpvId address_load(Lower *l, SpvInst *at, const LowerAddress *a, SpvId major, SpvId minor);
/* Where pointees are larger than elements, an element must be a component of one. */
void address_store(Lower *l, SpvInst *at, const LowerAddress *a, SpvId major, SpvId minor,
                   SpvId value);
/* Elements in a pointee; 1 where it is not larger than one. */
uint32_t address_packed(const LowerAddress *a);
/* Pointee `number`, made of so many elements. */
void address_store_packed(Lower *l, SpvInst *at, const LowerAddress *a, SpvId number,
                          const SpvId *elements);

/* --- window.c: a part of matrices that goes through workgroup memory at once ------------------ */

/* A matrix as the target has it: tiles of a type, row by row; one where it stays, or is staged
 * before it becomes an array. */
typedef struct LowerTiles {
    const SpvType *whole;
    SpvId type;          /* of a tile */
    uint32_t rows, cols; /* of tiles */
    uint32_t tall, wide; /* elements of one */
} LowerTiles;
LowerTiles lower_tiles(Lower *l, const SpvType *matrix);
SpvId lower_tile_of(Lower *l, SpvInst *at, const LowerTiles *t, SpvId matrix, uint32_t k);

/* Rows and columns of a whole that is made of such units, and of a part of it. */
typedef struct LowerWindow {
    uint32_t all_rows, all_cols, tall, wide; /* given */
    uint32_t bytes;                          /* that go through for an element; given */
    uint32_t rows, cols, row, col;           /* the part, and where it begins */
} LowerWindow;
/* The first part: the whole where there is memory for it, else lines of units, else less of one. */
void window_open(const Lower *l, LowerWindow *w, uint32_t scope);
bool window_next(LowerWindow *w);
uint32_t lower_multiple(uint32_t a, uint32_t b); /* the least common one */
/* What lies in the window of a matrix (transposed), side by side with others in its type's staging
 * from element `first` on. No barriers. */
void window_put(Lower *l, SpvInst *at, const LowerWindow *w, SpvId matrix, uint32_t first,
                bool transposed);
/* Tiles of a result that lies there, into its parts. */
void window_get(Lower *l, SpvInst *at, const LowerWindow *w, const LowerTiles *t, uint32_t first,
                SpvId *parts);

/* --- deal.c: a matrix made of elements by those who hold them -------------------------------- */

/* What a matrix is made from: others, of its shape (or transposed), element by element; where it is
 * staged it begins with element `first`. Without a result, elements are only used. Seldom: there is
 * a way around, which must not become slower for this one; as it does on NVIDIA's driver where a
 * loop chooses among the elements of tiles, for these are kept in memory then, everywhere. */
typedef struct LowerDealt {
    const SpvId *from;
    uint32_t n_from, first;
    bool transposed, used_only, seldom;
} LowerDealt;

/* for (Deal d = deal_open(l, at, type, dealt); deal_next(&d);) deal_put(&d, value); deal_close(&d):
 * the value may be computed before d.at, of d.element. Where nobody knows who holds what, the
 * elements go by way of the staging, as many at once as there is memory for. */
typedef struct LowerDeal {
    Lower *l;
    SpvInst *inst, *at; /* at: in the body, where the invocation has such an element */
    const SpvType *type;
    LowerDealt what;
    LowerWindow window;
    bool known;      /* of all of them: nothing is staged */
    SpvId one;       /* the element's variable, where some have none */
    SpvId out;       /* the result's, where it alone is known */
    SpvId *parts;    /* its tiles */
    VEC(SpvId) held; /* what is known of the others, and the variables it is in, by turns */
    LowerEach each;
    LowerElement element;
} LowerDeal;
bool deal_is_known(const Lower *l, const SpvType *matrix);
LowerDeal deal_open(Lower *l, SpvInst *at, const SpvType *type, const LowerDealt *what);
bool deal_next(LowerDeal *d);
/* The same element of the k-th that it is made from. */
SpvId deal_get(LowerDeal *d, uint32_t k);
void deal_put(LowerDeal *d, SpvId value);
SpvId deal_close(LowerDeal *d);
/* A number between component types, as conversions of matrices do it. */
SpvId deal_convert(Lower *l, SpvInst *at, const SpvType *to, SpvId value);

/* ---- small_floats.c, small_numbers.c, small_memory.c: numbers of 8 and 16 bits --------------- */

/* A conversion to a small format. */
typedef struct LowerNarrowing {
    const SpvType *to;
    bool towards_zero, saturates;
} LowerNarrowing;
/* f32 of a float's bits, which are a u32's lowest, and back. */
SpvId small_widen(Lower *l, SpvInst *at, const SpvType *t, SpvId bits);
SpvId small_narrow(Lower *l, SpvInst *at, const LowerNarrowing *n, SpvId value);
/* The operand of a conversion: what f32 does not hold is rounded to odd there. */
SpvId small_as_f32(Lower *l, SpvInst *at, uint16_t op, SpvId value);
static inline const SpvType *lower_scalar(const SpvType *t) /* a vector's; t may be NULL */
{
    return t && t->kind == SPV_VECTOR ? t->element : t;
}
void lower_merge_types(SpvModule *m); /* that are to be unique, and are the same */

/* Where a buffer's variable is declared as words: what pointers into it lead to. */
typedef struct LowerWords {
    SpvId variable, bytes; /* 0: none; bytes from the block's beginning */
} LowerWords;

/* What small_numbers does; ids are those of the module as it was, below n. */
typedef struct LowerSmall {
    Lower *l;
    const SpvType **old; /* by id: the type that the value had */
    SpvId *value;        /* by id of a type: what values of it are now; 0: not known yet */
    LowerWords *words;   /* by id of a pointer */
    uint8_t *written;    /* by id of a variable: parts of words are stored to it */
    uint8_t *used;       /* by id: otherwise than by being stored where others see it */
    uint32_t n;
    bool towards_zero; /* what is converted to f16 */
} LowerSmall;

SpvId small_value(LowerSmall *s, SpvId type); /* the type of values */
bool small_is_own(uint32_t storage);          /* memory that nobody but the kernel sees */
/* The type has such numbers in it, as values or in memory. */
bool small_holds(const Lower *l, const SpvType *t, bool (*is)(const Lower *, const SpvType *));
/* A number's bits as a u32, and back; `t` is what it was. */
SpvId small_encode(LowerSmall *s, SpvInst *at, const SpvType *t, SpvId value);
SpvId small_decode(LowerSmall *s, SpvInst *at, const SpvType *t, SpvId bits);
/* Buffers become words where they must. False after refusing. */
bool small_open_memory(LowerSmall *s);
/* False: it is not about memory that others see, or stays as it is. */
bool small_access(LowerSmall *s, SpvInst *i);

/* ---- the passes ------------------------------------------------------------------------------ */

/* Matrices of a workgroup's scope become a part each subgroup's. Before lower_decide_fates. */
void lower_workgroup(Lower *l);
/* A subgroup that is larger than the target's and all of its workgroup becomes several. First. */
void lower_whole_subgroup(Lower *l);
/* Parts of different matrices that are of one shape become of one type. */
void lower_workgroup_close(Lower *l);

/* OpBitCastArrayQCOM, OpExtractSubArrayQCOM, OpComposite{Construct,Extract}CoopMatQCOM: matrices
 * go through workgroup memory by KHR's loads and stores. */
void lower_qcom(Lower *l);
/* A subgroup's part of a matrix is what its own invocations' arrays hold. */
bool lower_is_own_part(const Lower *l, const SpvType *matrix, bool by_column);
/* Before it: matrices of arrays that are functions of others' rows are made of those, where it is
 * known who holds what. */
void lower_rows(Lower *l);
/* Whether there are such matrices, whoever holds what. It wants l->m and l->scratch alone. */
bool lower_has_rows(Lower *l);
uint32_t lower_qcom_width(const Lower *l); /* invocations that a subgroup must have for them */
/* Reductions, functions of elements, conversions between uses, transposition. */
void lower_nv2(Lower *l);
void lower_reduce(Lower *l, SpvInst *i);
/* A reduction by shuffles, where it is known who holds what. False: it is not done so. */
bool lower_reduce_held(Lower *l, SpvInst *i);
/* Tensor layouts and views become arrays of words, loads and stores by them element by element. */
void lower_tensor(Lower *l);
/* Matrices whose fate is tiles become arrays of those. */
void fit_matrices(Lower *l);
/* Those whose fate it is become arrays of their elements, (e * W + l)-th by rows in lane l. */
void lower_khr(Lower *l);
void khr_load(Lower *l, SpvInst *i); /* khr_memory.c */
void khr_store(Lower *l, SpvInst *i);
void khr_multiply(Lower *l, SpvInst *i); /* khr_multiply.c */
/* What the target loads slowly from buffers it loads by way of workgroup memory. */
void load_lines(Lower *l);
/* Subgroups larger than the target's become parts of the workgroup: what they do together goes
 * through workgroup memory. */
void wide_subgroups(Lower *l);
/* bf16 and fp8 that the target lacks become integers. After what computes with them is gone. */
void small_floats(Lower *l);
/* Integers of 8 and 16 bits and f16 that the target does not calculate in become numbers of 32
 * bits, but for buffers; and these arrays of words, where they may not hold such numbers either. */
void small_numbers(Lower *l);
/* Declares what is used, and nothing that is not; puts declarations into order. */
void lower_finish(Lower *l);

#endif
