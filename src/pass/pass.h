/* SPDX-License-Identifier: MIT
 *
 * pass: SPIR-V to SPIR-V. A pass is one file with one exported function and a contract: what it needs
 * and what it leaves. The pipeline is a table in pipeline.c; every module between two passes is valid
 * SPIR-V (spirv-val accepts it), and the tests say so.
 */
#ifndef HEDDLE_PASS_H
#define HEDDLE_PASS_H

#include "analysis/analysis.h"

typedef struct SpecValue { uint32_t id; uint64_t bits; } SpecValue; /* SpecId, value in the constant's width */

typedef struct PassOptions {
    const char *entry;          /* entry point, NULL = the only one */
    const SpecValue *spec;
    uint32_t n_spec;
    uint32_t subgroup_size;     /* folded into nothing by default; used by length queries and unrolling budgets */
    uint32_t max_unrolled;      /* instructions a fully unrolled loop may grow to; 0 = 16384 */
    uint32_t fuse_steps;        /* strip-mining of matrix loops; 0 = as many as make K about 64, 1 = off */
    bool optimise;              /* false: only what the code generator cannot do without */
    void (*after)(void *user, const char *pass, SpvModule *m);  /* for --emit and tests; may be NULL */
    void *user;
} PassOptions;

typedef struct PassContext {
    SpvModule *module;
    SpvEntryPoint entry;
    const PassOptions *options;
    DiagSink *sink;
    Arena *scratch;             /* reset between passes */
} PassContext;

/* Each returns false after reporting an error. */

/* Freezes specialisation constants to their given or default values (also through WorkgroupSize), turns
 * OpSpecConstantOp into constants, array lengths and matrix sizes with it. An id given that no constant
 * has is a warning. Leaves no OpSpecConstant*. */
bool pass_specialise(PassContext *c);
/* Inlines every call reachable from the entry point into it and drops the other functions. Early returns
 * become branches to the call's continuation (the graph stays reducible; its merge instructions are
 * kept where they still hold). Recursion is an error. */
bool pass_inline(PassContext *c);
/* Splits Function (and Private, once only one function is left) variables of structs, arrays and arrays of matrices that are accessed
 * by constant indices only into one variable a part, and promotes those whose address does not escape to SSA with phis. Wholly
 * loaded or stored composites are taken apart with composite extract and construct. */
bool pass_promote(PassContext *c);
/* Folds constants, copies, composites, trivial phis, branches on constants; drops unreachable blocks and
 * unused pure instructions, variables and types. */
bool pass_simplify(PassContext *c);
/* Fully unrolls counted loops whose trip count is constant and which index arrays of matrices by their
 * counter, call for it ([[unroll]] with matrices inside), or are short; then strip-mines a counted loop that only
 * chains multiply-adds by options->fuse_steps with a remainder loop. */
bool pass_unroll(PassContext *c);
bool pass_strip_mine(PassContext *c);

/* All of it, as the code generators want it: one function, specialised, in SSA. */
bool pass_pipeline(SpvModule *m, const PassOptions *o, SpvEntryPoint *entry, DiagSink *sink);

#endif
