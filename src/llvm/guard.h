/* SPDX-License-Identifier: MIT
 *
 * llvm: what everybody who calls LLVM's code generators needs.
 *
 * LLVM's handler of fatal errors (an operation that cannot be selected) is one for the process, and
 * must not return, or the process ends. Parts of LLVM recurse as deep as expressions are long,
 * which the caller's stack may be too small for.
 */
#ifndef HEDDLE_LLVM_GUARD_H
#define HEDDLE_LLVM_GUARD_H

#include "base/base.h"

/* Runs work(user) on a thread with a large stack. A fatal error of LLVM's in it ends it: `fatal` is
 * told the reason, and the LLVM objects that `work` used must be left alone, since nothing is known
 * of their state. Returns false then, otherwise what work returned. */
bool llvm_guarded(bool (*work)(void *user), void (*fatal)(void *user, const char *reason),
                  void *user);

#endif
