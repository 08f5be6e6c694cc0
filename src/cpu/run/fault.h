/* SPDX-License-Identifier: MIT
 *
 * fault: kernels that access memory which the program does not have. Such an access sends a signal
 * to the thread that runs the kernel, whose handler would end the program. Under a guard it ends
 * only the work. What the kernel had written stays written.
 *
 * While there are devices, the handler is the whole process's. Signals that do not come from a
 * guarded thread's own instructions go on to the handler that was there before.
 */
#ifndef HEDDLE_CPU_RUN_FAULT_H
#define HEDDLE_CPU_RUN_FAULT_H

#include "cpu/machine/machine.h"
#include "cpu/run/run.h"
#include "cpu/run/fiber.h"

/* These calls are counted: the first installs the handlers, the last restores what was there. */
void fault_catch(void);
void fault_catch_no_more(void);

/* Calls work(user). False, with *fault filled in, if a fault ended it. `home`: if it runs on
 * fibers, the thread's own stack. */
bool fault_guarded(void (*work)(void *user), void *user, Fiber *home, DeviceFault *fault);
/* For handlers of other signals: ends the guarded work of this thread as a fault would, or returns
 * where there is none. `context`: the handler's third argument. */
void fault_end(const DeviceFault *fault, const void *context);
/* Where the thread was when the signal came. */
uint64_t fault_place(const void *context);
/* A guarded thread leaves its guard for code that is not a kernel, and returns to it. */
void *fault_unguard(void);
void fault_reguard(void *guard);

#endif
