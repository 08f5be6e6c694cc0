/* SPDX-License-Identifier: MIT
 *
 * check: static rules over a module, before any device compiles it. What the reader lets through is
 * structurally sound; what check lets through has operands of the types its opcodes ask for, so
 * that the devices need not look again. A rule is a row: id, the specification's section, text,
 * function. One file a family of rules; they are listed in check.c.
 */
#ifndef HEDDLE_CHECK_H
#define HEDDLE_CHECK_H

#include "spirv/spirv.h"

/* Every rule of every family over the whole module. False when an error was reported; the
 * diagnostics' `rule` is "id (section)". Specialisation constants count with their current values
 * where a rule needs one. */
bool check_module(SpvModule *m, DiagSink *sink);

typedef struct CheckRule {
    const char *id;      /* "coopmat-muladd-shape" */
    const char *section; /* "SPV_KHR_cooperative_matrix, OpCooperativeMatrixMulAddKHR" */
    const char *text;    /* what must hold, one sentence */
} CheckRule;
/* The rules, for documentation and tests: the n-th, or NULL past the last. */
const CheckRule *check_rule(uint32_t n);

/* By id: 1 where the value is an array that OpCompositeConstructCoopMatQCOM makes a matrix of, by
 * way of variables, copies and bit casts too. */
const uint8_t *check_qcom_fed(Arena *a, SpvModule *m);

#endif
