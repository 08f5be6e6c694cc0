/* SPDX-License-Identifier: MIT
 *
 * Sources of kernels, in GLSL. Defined for them are TA, TB, TC, TD (types of A, B, C and the
 * result), M, N, K, W (invocations of a subgroup), ORDERS (a bit each: A, B, C, the result by
 * columns), SATURATE and FLOATS (the result is floating point). Private to tester/.
 */
#ifndef HEDDLE_TESTER_SOURCES_H
#define HEDDLE_TESTER_SOURCES_H

#include "base/base.h"

typedef struct TesterSource {
    const char *name, *text;
    uint32_t groups, orders; /* workgroups; how many orders of rows it is tried in */
    bool once;               /* it is not about a device's shapes */
    bool arithmetic;         /* needs types that GLSL calculates with */
    bool plain;              /* no saturation */
    bool square;             /* M, N and K are one */
} TesterSource;

extern const TesterSource tester_sources[];
extern const uint32_t tester_n_sources;
extern const char tester_prelude[];

#endif
