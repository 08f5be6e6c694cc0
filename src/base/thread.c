/* SPDX-License-Identifier: MIT
 *
 * A thread inherits its creator's signal mask, so all signals are blocked while it is created,
 * except those that an instruction raises: these go to the thread that executes the instruction,
 * and would end the program if blocked.
 */
#include "base/thread.h"

#include <signal.h>

#include "base/base.h"

int thread_start(pthread_t *thread, const pthread_attr_t *attributes, const char *name,
                 void *(*run)(void *user), void *user)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < COUNT_OF(own); i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_BLOCK, &others, &before);
    int error = pthread_create(thread, attributes, run, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        pthread_setname_np(*thread, name);
    return error;
}
