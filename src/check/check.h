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

/* The rules on what a module says of itself, which later stages rewrite: decorations, layouts. */
bool check_read(SpvModule *m, DiagSink *sink);
/* Every other rule of every family over the whole module. False when an error was reported; the
 * diagnostics' `rule` is "id (section)". What specialisation constants decide is left open: their
 * defaults may never be used. */
bool check_module(SpvModule *m, DiagSink *sink);
/* The same again when specialisation has decided it. Doubts were uttered the first time. */
bool check_specialised(SpvModule *m, DiagSink *sink);

typedef struct CheckRule {
    const char *id;      /* "coopmat-muladd-shape" */
    const char *section; /* "SPV_KHR_cooperative_matrix, OpCooperativeMatrixMulAddKHR" */
    const char *text;    /* what must hold, one sentence */
} CheckRule;
/* The rules, for documentation and tests: the n-th, or NULL past the last. */
const CheckRule *check_rule(uint32_t n);

#endif
