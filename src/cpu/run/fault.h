/* SPDX-License-Identifier: MIT
 *
 * fault: kernels that touch memory the program does not have. Such an access is a signal to the
 * thread that runs the kernel, whose handler would end the program; under a guard it ends the work
 * instead. What the kernel wrote before stays written.
 *
 * The handler stands for the whole process while there are devices. Signals that come from anywhere
 * but a guarded thread's own instructions go to the handler that was there before.
 */
#ifndef HEDDLE_CPU_RUN_FAULT_H
#define HEDDLE_CPU_RUN_FAULT_H

#include "cpu/machine/machine.h"
#include "cpu/run/run.h"
#include "cpu/run/fiber.h"

/* Counted: the first installs the handlers, the last puts back what was there. */
void fault_catch(void);
void fault_catch_no_more(void);

/* Calls work(user). False, with *fault filled in, when a fault ended that. `home`: where it runs on
 * fibers, the thread's own stack. */
bool fault_guarded(void (*work)(void *user), void *user, Fiber *home, DeviceFault *fault);
/* A guarded thread leaves its guard for what is no kernel of ours, and returns to it. */
void *fault_unguard(void);
void fault_reguard(void *guard);

#endif
