/* SPDX-License-Identifier: MIT
 *
 * fiber: stacks for subgroups that wait for each other, and the switch between them.
 *
 * A Fiber is a stack of its own and the place where it stopped. fiber_switch saves the callee-saved
 * registers on the running stack and continues the other fiber. Floating-point control registers
 * are not switched, as no kernel changes them. All fibers of a group are run by one thread at a
 * time.
 */
#ifndef HEDDLE_CPU_RUN_FIBER_H
#define HEDDLE_CPU_RUN_FIBER_H

#include "base/base.h"

typedef struct Fiber Fiber;
typedef Fiber *FiberMain(void *argument); /* returns the fiber to go on with */

/* Valid when zero-initialised, which stands for the thread's own stack. */
struct Fiber {
    void *sp;  /* where it stopped; with ucontext a ucontext_t */
    char *map; /* a guard page, then the stack; NULL for a thread's own */
    size_t map_size;
    const void *low; /* lowest address of the stack proper, and its size */
    size_t size;
    FiberMain *main;
    void *argument;
    Fiber *previous;         /* the fiber that last switched to this one */
    void *fake_stack, *tsan; /* the sanitizers' handles */
};

/* Maps a stack of at least `bytes`. Its top is moved down by a few cache lines that depend on
 * `number`, so that the hot ends of neighbouring stacks do not share a cache set. False: out of
 * memory. */
bool fiber_new(Fiber *f, size_t bytes, uint32_t number);
void fiber_free(Fiber *f);
/* Makes the next switch to f call main(argument) on its stack. f is new, or its last main has
 * returned. */
void fiber_start(Fiber *f, FiberMain *main, void *argument);
void fiber_switch(Fiber *from, Fiber *to);
/* Calls around a longjmp from a fiber to the thread's own stack (`home`), before and after it. The
 * fibers left behind can only be freed. */
void fiber_escape(Fiber *home);
void fiber_escaped(Fiber *home);

#endif
