/* SPDX-License-Identifier: MIT
 *
 * What the generator of random kernels is made of: types, identifiers, scopes, and the text it
 * writes (SPIR-V assembly). Private to random/.
 *
 * Everything is drawn from one seed. Each statement and each expression is a *node* with a number.
 * A node that is told to be left out is generated as always (so that all others stay what they
 * are), but its text is thrown away: a statement leaves nothing, an expression a constant. That is
 * what makes a failing kernel small.
 */
#ifndef HEDDLE_RANDOM_INTERNAL_H
#define HEDDLE_RANDOM_INTERNAL_H

#include <stdarg.h>
#include <stdio.h>

#include "random/random.h"

typedef struct GenType {
    GenKind kind;
    uint32_t n;
} GenType; /* n components, 1 to 4 */
typedef const char *GenId;

extern const char *const gen_kind_names[];
extern const char *const gen_matrix_types[]; /* by use */

/* Who has the same value (of an expression), who arrives together (of control flow). */
typedef enum GenLevel { IN_WORKGROUP, IN_SUBGROUP, IN_INVOCATION } GenLevel;

typedef struct GenValue {
    GenId id;
    GenType type;
    GenLevel level;
} GenValue;

/* A variable: a pointer, or the chain that leads to one from a buffer or a structure. */
typedef struct GenVariable {
    GenType type;
    const char *storage; /* "Function", "StorageBuffer" */
    GenId base;
    const char *chain; /* indices as text; "" when base is the pointer */
    uint32_t length;   /* elements of an array, a power of two; 0 = none */
    GenId whole;       /* the type of base's structure or array, of the function's */
} GenVariable;

typedef struct GenFunction {
    GenId id, type, signature; /* its type's id, that type's operands */
    GenType result, out[2];
    uint32_t n_out;
} GenFunction;

enum { MAX_VARIABLES = 40, MAX_VALUES = 64, MAX_FUNCTIONS = 3, MATRIX_VARIABLES = 2 };

typedef struct GenMark {
    uint32_t length, node;
    GenId label;
    bool dead;
} GenMark;

typedef struct Gen {
    Arena *arena;
    Rng rng;
    const uint8_t *skip; /* by node; may be NULL */
    uint32_t nodes, ids;
    uint32_t features, has;
    Str types, out, variables; /* constants; the function's body; its variables */
    Str functions;
    GenVariable variable[MAX_VARIABLES];
    uint32_t n_variables;
    GenValue value[MAX_VALUES];
    uint32_t n_values;
    GenFunction function[MAX_FUNCTIONS];
    uint32_t n_functions;
    GenId constant[2048]; /* declared so far */
    uint32_t n_constants;
    GenId label;          /* of the block being written */
    bool dead;            /* the block has its end */
    bool no_subgroups;    /* who meets whom is not told: after a fall-through, say */
    bool is_main, vulkan; /* vulkan: the memory model */
    GenLevel flow, limit; /* of the control flow; of the expression being written */
    uint32_t depth, budget;
    GenId loop_merge, loop_continue, switch_merge;
    GenLevel loop_flow, escape; /* who is in the loop; who may have left the construct */
    GenType result;             /* of the function, when not main */
    GenId invocation, local;    /* number in the dispatch, in the workgroup */
    uint32_t n_local, checkpoints;
    GenMatrices matrix;
} Gen;

/* ---- text.c ---- */

uint32_t gen_pick(Gen *g, uint32_t n);
bool gen_chance(Gen *g, uint32_t percent);
bool gen_is_float(GenType t);
bool gen_is_signed(GenType t);
GenType gen_scalar(GenKind kind);
GenType gen_of_kind(GenType t, GenKind kind);
bool gen_kind_allowed(const Gen *g, GenKind k);
GenKind gen_any_kind(Gen *g, GenKind first);
GenKind gen_any_int(Gen *g);
GenType gen_any_type(Gen *g);
GenId gen_declare(Gen *g, GenId name, const char *text);
GenId gen_type_name(Gen *g, GenType t);
GenId gen_pointer_type(Gen *g, const char *storage, GenId to);
GenId gen_new_id(Gen *g, const char *prefix);
PRINTF_LIKE(2, 3) void gen_say(Gen *g, const char *fmt, ...);
PRINTF_LIKE(2, 3) GenId gen_op(Gen *g, const char *fmt, ...);
void gen_start_block(Gen *g, GenId label);
void gen_branch(Gen *g, GenId to);
GenMark gen_begin_node(Gen *g);
void gen_take_back(Gen *g, GenMark mark);
bool gen_end_node(Gen *g, GenMark mark);
GenId gen_constant(Gen *g, GenType t, int64_t bits);
GenId gen_u32(Gen *g, uint32_t x);
GenId gen_random_constant(Gen *g, GenType t);

/* ---- expressions.c ---- */

GenId gen_canonical(Gen *g, GenType t, GenId x);
GenId gen_convert(Gen *g, GenType from, GenType to, GenId x);
GenId gen_digest(Gen *g, GenType t, GenId x);
GenId gen_pointer_to(Gen *g, const GenVariable *v, GenId index);
GenId gen_index_below(Gen *g, uint32_t length, uint32_t depth);
const GenVariable *gen_known_variable(Gen *g, GenType t);
GenId gen_expression(Gen *g, GenType t, uint32_t depth);
GenId gen_expression_at(Gen *g, GenType t, uint32_t depth, GenLevel limit);

/* ---- statements.c ---- */

void gen_add_variable(Gen *g, GenVariable v);
void gen_add_value(Gen *g, GenId id, GenType t, GenLevel level);
void gen_declare_variable(Gen *g);
void gen_own_variables(Gen *g);
void gen_matrix_shape(Gen *g, uint32_t use, uint32_t *rows, uint32_t *columns);
GenId gen_load_matrix(Gen *g, uint32_t use);
void gen_store_matrix(Gen *g, uint32_t k, bool column_major);
void gen_block(Gen *g, uint32_t n);

#endif
