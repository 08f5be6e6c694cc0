/* SPDX-License-Identifier: MIT
 *
 * In: work that calls kernels. Out: the work, or the fault that ended it (contract in fault.h).
 *
 * The handler finds the guard of its thread, notes what happened and jumps out of the kernel, on
 * whatever stack that runs: a kernel holds nothing that would have to be released. It restores the
 * signal mask before it jumps. The handler itself blocks nothing, but a handler that was installed
 * later and calls it may (a program's own, ThreadSanitizer's), and a fault that is blocked kills.
 */
#undef _FORTIFY_SOURCE /* its longjmp would take a jump from a fiber for a mistake */
#include "cpu/run/fault.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };

typedef struct Guard {
    Fiber *home;
    DeviceFault *fault;
    jmp_buf escape;
} Guard;

/* A handler gets no argument of ours: the thread says which guard it is under, and the process
 * which handlers were there before. Initial-exec, since the handler must not allocate. */
static _Thread_local __attribute__((tls_model("initial-exec"))) Guard *volatile current;
static struct {
    pthread_mutex_t lock;
    unsigned users;
    bool stands[COUNT_OF(signals)];
    struct sigaction before[COUNT_OF(signals)];
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

uint64_t fault_place(const void *context)
{
    const ucontext_t *u = context;
#if defined(__x86_64__)
    return (uint64_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return u->uc_mcontext.pc;
#else
    (void)u;
    return 0;
#endif
}

static DeviceFaultKind kind_of_access(const ucontext_t *u)
{
#if defined(__x86_64__)
    /* bit 1 of the page fault's error code is set by a write */
    return u->uc_mcontext.gregs[REG_ERR] & 2 ? DEVICE_FAULT_WRITE : DEVICE_FAULT_READ;
#else
    (void)u;
    return DEVICE_FAULT_ACCESS;
#endif
}

/* SI_KERNEL: the address is not canonical, and the CPU does not report it. */
static DeviceFault fault_of(int signal, const siginfo_t *info, const ucontext_t *u)
{
    DeviceFault f = { .place = fault_place(u) };
    if (signal == SIGFPE)
        f.kind = DEVICE_FAULT_ARITHMETIC;
    else if (signal == SIGILL)
        f.kind = DEVICE_FAULT_INSTRUCTION;
    else if (info->si_code == SI_KERNEL)
        f.kind = DEVICE_FAULT_NO_ADDRESS;
    else
        f.kind = kind_of_access(u);
    if (f.kind <= DEVICE_FAULT_ACCESS)
        f.address = (uintptr_t)info->si_addr;
    return f;
}

/* Not a kernel's fault: passes it on to the handler that was there before, or to the system, which
 * ends the program. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    unsigned k = 0;
    while (signals[k] != signal)
        k++;
    const struct sigaction *before = &process.before[k];
    bool sent = info->si_code <= 0; /* by kill() and the like, which nothing repeats */
    if (before->sa_flags & SA_SIGINFO) {
        before->sa_sigaction(signal, info, context);
    } else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
        before->sa_handler(signal);
    } else if (before->sa_handler == SIG_DFL || !sent) {
        sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
        if (sent)
            raise(signal);
    }
}

void fault_end(const DeviceFault *fault, const void *context)
{
    Guard *g = current;
    if (!g)
        return;
    current = NULL;
    *g->fault = *fault;
    pthread_sigmask(SIG_SETMASK, &((const ucontext_t *)context)->uc_sigmask, NULL);
    if (g->home)
        fiber_escape(g->home);
    longjmp(g->escape, 1);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    if (!current || info->si_code <= 0) {
        pass_on(signal, info, context);
        return;
    }
    DeviceFault f = fault_of(signal, info, context);
    fault_end(&f, context);
}

void fault_catch(void)
{
    struct sigaction ours = { .sa_sigaction = on_signal,
                              .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    sigemptyset(&ours.sa_mask);
    pthread_mutex_lock(&process.lock);
    for (unsigned k = 0; !process.users && k < COUNT_OF(signals); k++)
        if (!process.stands[k])
            process.stands[k] = sigaction(signals[k], &ours, &process.before[k]) == 0;
    process.users++;
    pthread_mutex_unlock(&process.lock);
}

/* A handler that was installed after ours may call ours as the one before it; then ours stays. */
void fault_catch_no_more(void)
{
    pthread_mutex_lock(&process.lock);
    process.users--;
    for (unsigned k = 0; !process.users && k < COUNT_OF(signals); k++) {
        struct sigaction now;
        if (sigaction(signals[k], NULL, &now) == 0 && now.sa_sigaction == on_signal)
            process.stands[k] = sigaction(signals[k], &process.before[k], NULL) != 0;
    }
    pthread_mutex_unlock(&process.lock);
}

bool fault_guarded(void (*work)(void *user), void *user, Fiber *home, DeviceFault *fault)
{
    Guard g; /* a jmp_buf is large to clear */
    g.home = home;
    g.fault = fault;
    if (setjmp(g.escape) == 0) {
        current = &g;
        work(user);
        current = NULL;
        return true;
    }
    if (home)
        fiber_escaped(home);
    return false;
}

void *fault_unguard(void)
{
    Guard *g = current;
    current = NULL;
    return g;
}

void fault_reguard(void *guard) { current = guard; }
