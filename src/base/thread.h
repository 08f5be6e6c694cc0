/* SPDX-License-Identifier: MIT
 *
 * thread: starting threads of the library's own. The program's signals are for the program's
 * threads, so none that is sent to the process is handled on these.
 */
#ifndef HEDDLE_THREAD_H
#define HEDDLE_THREAD_H

#include <pthread.h>

/* pthread_create; `name` (up to 15 letters) is for debuggers. */
int thread_start(pthread_t *thread, const pthread_attr_t *attributes, const char *name,
                 void *(*run)(void *user), void *user);

#endif
