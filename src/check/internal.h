/* SPDX-License-Identifier: MIT
 *
 * What the files of check/ share: a family's table of rules and the questions that rules ask.
 */
#ifndef HEDDLE_CHECK_INTERNAL_H
#define HEDDLE_CHECK_INTERNAL_H

#include "check/check.h"

typedef struct Checker Checker;

/* A rule is asked about each instruction whose opcode is in `ops` (0 ends the list) or in `group`.
 */
typedef struct CheckRow {
    CheckRule rule;
    uint16_t ops[10];
    bool (*group)(uint16_t op);
    void (*check)(Checker *c, SpvInst *i);
} CheckRow;

typedef struct CheckFamily {
    const CheckRow *rows;
    uint32_t n;
} CheckFamily;
extern const CheckFamily check_core_types, check_core_values, check_core_composites,
    check_core_memory, check_core_flow, check_core_group, check_glsl, check_khr_cooperative_matrix,
    check_qcom_conversion;

struct Checker {
    SpvModule *m;
    DiagSink *sink;
    Arena *arena;
    const CheckRow *row;   /* the rule being asked */
    SpvFunction *function; /* that the instruction is in, or NULL */
    uint8_t *holds_matrix; /* by type: 0 not asked yet, 1 no, 2 yes */
    const uint8_t *fed;    /* check_qcom_fed's, when asked */
    uint8_t qcom;          /* what of that extension is declared; 0 not asked yet */
    Map matched;           /* pairs of types found to match logically */
    bool failed;
};

/* Reports against the rule being asked. */
void broken(Checker *c, const SpvInst *i, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The type of operand `n` (a value), or NULL: not there, or no value. */
const SpvType *operand_type(Checker *c, const SpvInst *i, uint32_t n);
const SpvType *result_type(Checker *c, const SpvInst *i);
/* Reports and returns NULL when operand `n` is no value. */
const SpvType *want_value(Checker *c, const SpvInst *i, uint32_t n);

/* Scalar, or what a vector or cooperative matrix consists of; the type itself else. Never NULL for
 * a type that is not. */
const SpvType *component(const SpvType *t);
uint32_t components(const SpvType *t);        /* 1 for scalars, 0 for what is neither */
bool is_numeric(const SpvType *t);            /* int or float, scalar or vector */
bool of_kind(const SpvType *t, SpvKind kind); /* scalar or vector of that kind */
bool is_matrix(const SpvType *t);             /* a cooperative one */
/* As many components of as many bits and the same kind; signedness aside. For cooperative matrices
 * the same shape, scope and use. */
bool alike(const SpvType *a, const SpvType *b);
bool same_shape(const SpvType *a,
                const SpvType *b); /* the same number of components, matrices in all */
const char *type_name(Checker *c, const SpvType *t); /* "f32", "vec4 of s32", for messages */
/* Whether values of one may stand for the other without a conversion (types that are equal but for
 * layout decorations count as equal only where `logical`). */
bool same_type(const SpvType *a, const SpvType *b);

#endif
