/* SPDX-License-Identifier: MIT
 *
 * thread: starting threads of the library's own. Signals sent to the process are meant for the
 * program's own threads, so they are never handled on these.
 */
#ifndef HEDDLE_THREAD_H
#define HEDDLE_THREAD_H

#include <pthread.h>

/* pthread_create; `name` (up to 15 letters) is for debuggers. */
int thread_start(pthread_t *thread, const pthread_attr_t *attributes, const char *name,
                 void *(*run)(void *user), void *user);

#endif
