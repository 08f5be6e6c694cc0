/* SPDX-License-Identifier: MIT
 *
 * A thread starts with its maker's signal mask: all are blocked meanwhile, but those that an
 * instruction raises. They stay with the thread that executes it, and a blocked one would end the
 * program.
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
