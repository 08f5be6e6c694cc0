/* SPDX-License-Identifier: MIT
 *
 * The guard around LLVM: a large stack, and a way out of fatal errors, which unwind by longjmp to
 * the guard of their thread.
 */
#include "llvm/guard.h"

#include "base/thread.h"

#include <llvm-c/ErrorHandling.h>
#include <setjmp.h>
#include <unistd.h>

#define THREAD_STACK ((size_t)64 << 20)

typedef struct Guard {
    bool (*work)(void *user);
    void (*fatal)(void *user, const char *reason);
    void *user;
    bool ok;
    jmp_buf escape;
} Guard;

/* The handler knows no context: the thread tells which guard it belongs to. */
static _Thread_local Guard *current;

static void on_fatal_error(const char *reason)
{
    Guard *g = current;
    if (g) {
        current = NULL;
        g->fatal(g->user, reason);
        longjmp(g->escape, 1);
    }
    /* Another user of the same LLVM in this process: as LLVM does without a handler. */
    static const char prefix[] = "LLVM ERROR: ";
    ssize_t ignored = write(STDERR_FILENO, prefix, sizeof prefix - 1);
    ignored = write(STDERR_FILENO, reason, strlen(reason));
    ignored = write(STDERR_FILENO, "\n", 1);
    (void)ignored;
}

static void install(void) { LLVMInstallFatalErrorHandler(on_fatal_error); }

static void *run_guarded(void *argument)
{
    Guard *g = argument;
    current = g;
    if (setjmp(g->escape) == 0)
        g->ok = g->work(g->user);
    else
        g->ok = false;
    current = NULL;
    return NULL;
}

bool llvm_guarded(bool (*work)(void *user), void (*fatal)(void *user, const char *reason),
                  void *user)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    Guard g = { .work = work, .fatal = fatal, .user = user };
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    bool started = pthread_attr_setstacksize(&attributes, THREAD_STACK) == 0 &&
                   thread_start(&thread, &attributes, "heddle llvm", run_guarded, &g) == 0;
    pthread_attr_destroy(&attributes);
    if (started)
        pthread_join(thread, NULL);
    else
        run_guarded(&g);
    return g.ok;
}
