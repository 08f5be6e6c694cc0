/* SPDX-License-Identifier: MIT
 *
 * In: a function to run on a stack of its own. Out: switches between such stacks that cost about as
 * much as a call (PERFORMANCE, section 6: 4 to 10 ns).
 *
 * x86-64 and aarch64 have a hand-written switch: push the callee-saved registers, exchange the
 * stack pointer, pop. It ends in an indirect jump, because a return would be mispredicted: the
 * return stack holds the other fiber's calls (rule 11). Other CPUs, and builds with hardware shadow
 * stacks, use ucontext. When a fiber is first activated, its Fiber is in the register of the first
 * argument, so no separate assembly entry is needed.
 */
#include "cpu/run/fiber.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define FIBER_TSAN 1
#endif

#if defined(FIBER_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(FIBER_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

#if defined(__CET__) && (__CET__ & 2)
#define FIBER_UCONTEXT 1 /* a shadow stack must be switched too */
#elif !defined(__x86_64__) && !defined(__aarch64__)
#define FIBER_UCONTEXT 1
#endif

#if defined(FIBER_UCONTEXT)
#include <ucontext.h>
#endif

/* ---- the switch ---------------------------------------------------------------------------- */

#if !defined(FIBER_UCONTEXT)

/* Stores the stack pointer in *from, loads `to`, and leaves `fiber` in the register of the first
 * argument. */
__attribute__((visibility("hidden"))) void heddle_fiber_swap(void **from, void *to, Fiber *fiber);

#if defined(__x86_64__)
__asm__(".text\n"
        ".balign 64\n"
        ".hidden heddle_fiber_swap\n"
        ".globl heddle_fiber_swap\n"
        ".type heddle_fiber_swap, @function\n"
        "heddle_fiber_swap:\n"
        "    .cfi_startproc\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"
        "    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    movq %rdx, %rdi\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n"
        "    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    popq %rcx\n"
        "    jmpq *%rcx\n"
        "    .cfi_endproc\n"
        ".size heddle_fiber_swap, .-heddle_fiber_swap\n");

/* What heddle_fiber_swap pops: six registers and the address to go to. The zero above stands for a
 * caller, and also gives the entered function the alignment that the ABI demands. */
static void *first_frame(char *top, void (*entry)(Fiber *))
{
    void **sp = (void **)top;
    *--sp = NULL;
    *--sp = (void *)(uintptr_t)entry;
    for (int i = 0; i < 6; i++)
        *--sp = NULL;
    return sp;
}
#else
#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define GO_ON "    ret\n" /* a jump would need a landing pad at its target */
#else
#define GO_ON "    br x30\n"
#endif
__asm__(".text\n"
        ".balign 64\n"
        ".hidden heddle_fiber_swap\n"
        ".globl heddle_fiber_swap\n"
        ".type heddle_fiber_swap, %function\n"
        "heddle_fiber_swap:\n"
        "    .cfi_startproc\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    mov x0, x2\n"
        "    ldp x19, x20, [sp, #0]\n    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n" GO_ON "    .cfi_endproc\n"
        ".size heddle_fiber_swap, .-heddle_fiber_swap\n");

/* What heddle_fiber_swap loads: 20 registers, of which x30 is the address to go to. */
static void *first_frame(char *top, void (*entry)(Fiber *))
{
    void **sp = (void **)top - 20;
    memset(sp, 0, 20 * sizeof *sp);
    sp[11] = (void *)(uintptr_t)entry;
    return sp;
}
#endif
#endif

/* ---- what the sanitizers must know --------------------------------------------------------- */

static void before_switch(Fiber *from, Fiber *to)
{
    to->previous = from;
#if defined(FIBER_ASAN)
    __sanitizer_start_switch_fiber(&from->fake_stack, to->low, to->size);
#endif
#if defined(FIBER_TSAN)
    if (!from->map)
        from->tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
}

static void after_switch(Fiber *self)
{
#if defined(FIBER_ASAN)
    /* Reports the bounds of the stack that was left, from which those of a thread's own stack
     * become known. */
    __sanitizer_finish_switch_fiber(self->fake_stack, &self->previous->low, &self->previous->size);
#endif
    (void)self;
}

/* ---- the interface ------------------------------------------------------------------------- */

bool fiber_new(Fiber *f, size_t bytes, uint32_t number)
{
    memset(f, 0, sizeof *f);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), stagger = number % 31 * 192;
    if (bytes > SIZE_MAX / 2)
        return false;
    size_t size = align_up(bytes + stagger, page);
    char *map = mmap(NULL, page + size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (map == MAP_FAILED)
        return false;
    if (mprotect(map, page, PROT_NONE) != 0) {
        munmap(map, page + size);
        return false;
    }
    f->map = map;
    f->map_size = page + size;
    f->low = map + page;
    f->size = size - stagger;
#if defined(FIBER_TSAN)
    f->tsan = __tsan_create_fiber(0);
#endif
#if defined(FIBER_UCONTEXT)
    f->sp = malloc(sizeof(ucontext_t));
    if (!f->sp) {
        fiber_free(f);
        return false;
    }
#endif
    return true;
}

void fiber_free(Fiber *f)
{
#if defined(FIBER_TSAN)
    if (f->map && f->tsan)
        __tsan_destroy_fiber(f->tsan);
#endif
#if defined(FIBER_UCONTEXT)
    free(f->sp);
#endif
    if (f->map)
        munmap(f->map, f->map_size);
    memset(f, 0, sizeof *f);
}

/* The outermost function of every fiber. It stays on the stack between two starts, so no frame is
 * ever abandoned: the sanitizers see all calls return. */
static void enter(Fiber *self)
{
    self->fake_stack = NULL;
    after_switch(self);
    for (;;)
        fiber_switch(self, self->main(self->argument));
}

#if defined(FIBER_UCONTEXT)

/* makecontext passes only ints, so the pointer is passed in two. */
static void enter_context(unsigned high, unsigned low)
{
    enter((Fiber *)(uintptr_t)((uint64_t)high << 32 | low));
}

static void lay_first_frame(Fiber *f)
{
    ucontext_t *context = f->sp;
    uint64_t self = (uintptr_t)f;
    getcontext(context);
    context->uc_stack.ss_sp = (void *)(uintptr_t)f->low;
    context->uc_stack.ss_size = f->size;
    context->uc_link = NULL;
    makecontext(context, (void (*)(void))enter_context, 2, (unsigned)(self >> 32), (unsigned)self);
}

static void swap(Fiber *from, Fiber *to)
{
    ucontext_t own;
    /* the context of a thread lives only while it waits, in this very frame */
    bool thread = !from->map;
    if (thread)
        from->sp = &own;
    swapcontext(from->sp, to->sp);
    if (thread)
        from->sp = NULL;
}

#else

static void lay_first_frame(Fiber *f)
{
    f->sp = first_frame((char *)((uintptr_t)f->low + f->size), enter);
}

static inline void swap(Fiber *from, Fiber *to) { heddle_fiber_swap(&from->sp, to->sp, to); }

#endif

void fiber_start(Fiber *f, FiberMain *main, void *argument)
{
    if (!f->main)
        lay_first_frame(f);
    f->main = main;
    f->argument = argument;
}

void fiber_switch(Fiber *from, Fiber *to)
{
    before_switch(from, to);
    swap(from, to);
    after_switch(from);
}

void fiber_escape(Fiber *home)
{
#if defined(FIBER_TSAN)
    __tsan_switch_to_fiber(home->tsan, 0);
#endif
    (void)home;
}

void fiber_escaped(Fiber *home)
{
#if defined(FIBER_ASAN)
    __sanitizer_start_switch_fiber(NULL, home->low, home->size);
    __sanitizer_finish_switch_fiber(home->fake_stack, NULL, NULL);
#endif
    (void)home;
}
