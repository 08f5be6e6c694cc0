/* SPDX-License-Identifier: MIT
 *
 * The driver's process. It opens the device and the reference device, and runs cases that it finds
 * in memory that it shares with its parent: one byte through a pipe says that there is one, another
 * one that it is done. When it dies or does not answer in time, the case is to blame, and the next
 * one gets a new process.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tester/internal.h"

/* Instructions of an invocation on the reference device; fewer where it looks for mistakes, as of
 * modules that are being made small, whose loops may have lost their ends. */
enum { BUDGET = 1 << 22, BUDGET_CHECKED = 1 << 16 };

/* ---- the child ------------------------------------------------------------------------------- */

typedef struct Child {
    TesterWorker *w;
    TesterMailbox *box;
    HeddleDevice *vulkan, *reference;
    HeddleKernel *scrub; /* or NULL */
    HeddleBuffer *scrubbed;
    HeddleLog *log;
} Child;

static void keep_message(Child *c)
{
    const HeddleDiagnostic *d = NULL;
    for (size_t k = 0; k < heddle_log_count(c->log); k++) {
        d = heddle_log_get(c->log, k);
        if (d->severity == HEDDLE_ERROR)
            break;
    }
    snprintf(c->box->message, sizeof c->box->message, "%s", d ? d->message : "");
}

static HeddleResult move_buffers(Child *c, HeddleBuffer **b, uint8_t *data, bool back)
{
    HeddleResult r = HEDDLE_OK;
    for (uint32_t k = 0; k < c->box->c.n_buffers && !r; k++) {
        const TesterBuffer *t = &c->box->c.buffers[k];
        r = back ? heddle_buffer_read(b[k], 0, data + t->at, t->size, c->log)
                 : heddle_buffer_write(b[k], 0, data + t->at, t->size, c->log);
    }
    return r;
}

/* Fills workgroup memory. What a kernel leaves there may be what the next one should have written:
 * the same one again, above all. */
static const char scrub_source[] =
    "#version 450\nlayout(local_size_x = 64) in;\nshared uint junk[4096];\n"
    "layout(set = 0, binding = 0) buffer B { uint to[]; };\n"
    "void main() {\n"
    "    uint i = gl_LocalInvocationIndex;\n"
    "    for (uint k = i; k < 4096; k += 64)\n"
    "        junk[k] = 0xdeadbee1u + to[i] + k * 0x9e3779b9u;\n"
    "    barrier();\n"
    "    to[i] = junk[(i * 61 + to[i]) & 4095];\n"
    "}\n";

static void open_scrub(Child *c)
{
    HeddleModuleOptions o = { .struct_size = sizeof o,
                              .language = HEDDLE_LANGUAGE_GLSL,
                              .target_env = "vulkan1.1" };
    HeddleModule *m = NULL;
    HeddleResult r = heddle_module_new(scrub_source, strlen(scrub_source), "scrub", &o, &m, c->log);
    r = r ? r : heddle_buffer_new(c->vulkan, 256, &c->scrubbed, c->log);
    if (!r)
        heddle_kernel_new(c->vulkan, m, NULL, &c->scrub, c->log);
    heddle_module_free(m);
}

static void scrub(Child *c)
{
    HeddleBinding b = { .buffer = c->scrubbed };
    HeddleDispatch d = { .struct_size = sizeof d,
                         .groups = { 64, 1, 1 },
                         .bindings = &b,
                         .n_bindings = 1 };
    if (c->scrub)
        heddle_dispatch(c->scrub, &d, NULL, c->log);
}

/* From the case's data to `out`. */
static HeddleResult run_kernel(Child *c, HeddleDevice *d, HeddleKernel *k, uint8_t *out)
{
    const TesterCase *t = &c->box->c;
    HeddleBuffer *b[TESTER_BUFFERS] = { NULL };
    HeddleBinding bindings[TESTER_BUFFERS];
    HeddleResult r = HEDDLE_OK;
    for (uint32_t n = 0; n < t->n_buffers && !r; n++) {
        r = heddle_buffer_new(d, MAX(t->buffers[n].size, 16), &b[n], c->log);
        bindings[n] = (HeddleBinding){ .binding = n, .buffer = b[n], .size = t->buffers[n].size };
    }
    HeddleDispatch dispatch = { .struct_size = sizeof dispatch,
                                .groups = { t->groups, 1, 1 },
                                .bindings = bindings,
                                .n_bindings = t->n_buffers,
                                .budget = c->box->checked ? BUDGET_CHECKED : BUDGET };
    r = r ? r : move_buffers(c, b, c->box->data, false);
    r = r ? r : heddle_dispatch(k, &dispatch, NULL, c->log);
    r = r ? r : move_buffers(c, b, out, true);
    for (uint32_t n = 0; n < t->n_buffers; n++)
        heddle_buffer_free(b[n]);
    return r;
}

static HeddleResult open_words(Child *c, const void *words, size_t size, HeddleModule **m)
{
    HeddleModuleOptions o = { .struct_size = sizeof o, .language = HEDDLE_LANGUAGE_SPIRV };
    return heddle_module_new(words, size, c->box->c.name, &o, m, c->log);
}

static HeddleResult run_reference(Child *c, const void *words, size_t size, uint8_t *out)
{
    HeddleKernelOptions o = { .struct_size = sizeof o,
                              .subgroup_size = c->box->c.subgroup_size,
                              .check = c->box->checked };
    HeddleModule *m = NULL;
    HeddleKernel *k = NULL;
    HeddleResult r = open_words(c, words, size, &m);
    r = r ? r : heddle_kernel_new(c->reference, m, &o, &k, c->log);
    r = r ? r : run_kernel(c, c->reference, k, out);
    heddle_kernel_free(k);
    heddle_module_free(m);
    return r;
}

/* The module as a driver with the planted fault would understand it; false: it is not in there. */
static bool open_planted(Child *c, HeddleModule **m, HeddleResult *r)
{
    const TesterOptions *o = c->w->o;
    Arena a = { 0 };
    DiagSink quiet = { 0 };
    SpvModule *spv = spv_read(&a, c->box->words, c->box->c.size, "planted", &quiet);
    bool there = spv && o->plant(o->plant_user, spv);
    size_t size = 0;
    const void *words = there ? spv_write(&a, spv, &size) : NULL;
    HeddleModuleOptions unchecked = { .struct_size = sizeof unchecked,
                                      .language = HEDDLE_LANGUAGE_SPIRV,
                                      .unchecked = true };
    if (there)
        *r = heddle_module_new(words, size, "planted", &unchecked, m, c->log);
    arena_free(&a);
    return there;
}

static void keep_emitted(Child *c, const HeddleKernel *k)
{
    size_t size = 0;
    const void *text = heddle_kernel_text(k, &size);
    heddle_kernel_lowerings(k, &c->box->n_lowered);
    c->box->emitted_size = size <= TESTER_WORDS ? size : 0;
    if (c->box->emitted_size)
        memcpy(c->box->emitted, text, size);
}

static TesterVerdict failed_as(HeddleResult r, bool ran)
{
    bool lacks = r == HEDDLE_ERROR_UNSUPPORTED || (!ran && r == HEDDLE_ERROR_SOURCE);
    return lacks ? TESTER_LACKS : TESTER_FAILS;
}

static TesterVerdict run_driver(Child *c)
{
    TesterMailbox *box = c->box;
    HeddleKernelOptions o = { .struct_size = sizeof o,
                              .subgroup_size = box->c.subgroup_size,
                              .emit = HEDDLE_EMIT_SPIRV };
    HeddleModule *m = NULL;
    HeddleKernel *k = NULL;
    HeddleResult r = HEDDLE_OK;
    TesterVerdict v = TESTER_SAME;
    if (!c->w->o->plant)
        r = open_words(c, box->words, box->c.size, &m);
    else if (!open_planted(c, &m, &r))
        return TESTER_SAME;
    box->at_driver = true;
    r = r ? r : heddle_kernel_new(c->vulkan, m, &o, &k, c->log);
    if (r)
        v = failed_as(r, false);
    else
        keep_emitted(c, k);
    if (!r)
        scrub(c);
    r = r ? r : run_kernel(c, c->vulkan, k, box->got);
    box->at_driver = false;
    if (r && !v)
        v = failed_as(r, true);
    if (v)
        keep_message(c);
    else if (compare_buffers(&box->c, box->expected, box->got, box->message, sizeof box->message))
        v = TESTER_DIFFERS;
    heddle_kernel_free(k);
    heddle_module_free(m);
    return v;
}

/* Whether what a kernel was lowered to does what it does, on the reference device. */
static void judge_lowering(Child *c)
{
    TesterMailbox *box = c->box;
    char text[TESTER_MESSAGE];
    uint8_t *other = malloc(TESTER_DATA);
    bool checked = box->checked;
    box->checked = false;
    box->judged_by_lowered = other && !run_reference(c, box->emitted, box->emitted_size, other);
    box->lowering_differs =
        box->judged_by_lowered && compare_buffers(&box->c, box->expected, other, text, sizeof text);
    box->checked = checked;
    free(other);
}

static TesterVerdict run_case(Child *c)
{
    TesterMailbox *box = c->box;
    heddle_log_clear(c->log);
    box->n_lowered = 0;
    box->emitted_size = 0;
    box->judged_by_lowered = box->lowering_differs = false;
    *box->message = 0;
    if (!box->keeps && run_reference(c, box->words, box->c.size, box->expected)) {
        keep_message(c);
        return TESTER_NO_TEST;
    }
    heddle_log_clear(c->log);
    TesterVerdict v = run_driver(c);
    if (v == TESTER_DIFFERS && box->n_lowered && c->w->judges)
        judge_lowering(c);
    return v;
}

static void describe_device(Child *c)
{
    TesterMailbox *box = c->box;
    const HeddleDeviceInfo *info = heddle_device_info(c->vulkan);
    const char *profile = heddle_device_profile(c->vulkan);
    size_t n;
    const HeddleMatrixShape *shapes = heddle_matrix_shapes(c->vulkan, &n);
    snprintf(box->device, sizeof box->device, "%s", info->name);
    snprintf(box->driver, sizeof box->driver, "%s", info->driver);
    snprintf(box->profile, sizeof box->profile, "%s", profile ? profile : "");
    box->subgroup_size = info->default_subgroup_size;
    box->n_shapes = (uint32_t)MIN(n, TESTER_SHAPES);
    memcpy(box->shapes, shapes, box->n_shapes * sizeof *shapes);
}

static void open_devices(Child *c)
{
    HeddleDeviceOptions vulkan = { .struct_size = sizeof vulkan,
                                   .kind = HEDDLE_DEVICE_VULKAN,
                                   .ordinal = c->w->o->ordinal };
    HeddleDeviceOptions reference = { .struct_size = sizeof reference,
                                      .kind = HEDDLE_DEVICE_REFERENCE,
                                      .threads = 1 };
    HeddleResult r = heddle_device_new(&reference, &c->reference, c->log);
    c->box->at_driver = true;
    r = r ? r : heddle_device_new(&vulkan, &c->vulkan, c->log);
    if (!r) {
        open_scrub(c);
        describe_device(c);
    } else {
        keep_message(c);
    }
    c->box->opened = r;
    c->box->at_driver = false;
}

/* Never returns. Drivers have threads and handlers of their own, so that nothing is torn down. */
static void be_child(TesterWorker *w, int from, int to)
{
    Child c = { .w = w, .box = w->box, .log = heddle_log_new(NULL, NULL) };
    char byte = 0;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) /* drivers chat */
        dup2(null, 1), dup2(null, 2);
    open_devices(&c);
    while (write(to, &byte, 1) == 1 && read(from, &byte, 1) == 1)
        c.box->verdict = run_case(&c);
    for (;;)
        kill(getpid(), SIGKILL);
}

/* ---- the parent ------------------------------------------------------------------------------ */

/* Waits for it to die by itself, or helps. */
static void end_child(TesterWorker *w, bool dies, int *status)
{
    if (!w->pid)
        return;
    close(w->to);
    close(w->from);
    if (!dies)
        kill(w->pid, SIGKILL);
    while (waitpid(w->pid, status, 0) < 0 && errno == EINTR)
        ;
    w->pid = 0;
}

/* True when it said that it is done in time. */
static bool wait_for_child(const TesterWorker *w, bool *late)
{
    double patience = w->patience;
    struct pollfd p = { .fd = w->from, .events = POLLIN };
    int n;
    char byte;
    while ((n = poll(&p, 1, (int)(patience * 1000))) < 0 && errno == EINTR)
        ;
    *late = n == 0;
    return n > 0 && read(w->from, &byte, 1) == 1;
}

static bool start_child(TesterWorker *w)
{
    int down[2], up[2] = { -1, -1 };
    if (pipe2(down, O_CLOEXEC))
        return false;
    w->pid = pipe2(up, O_CLOEXEC) ? -1 : fork();
    if (!w->pid) {
        close(down[1]);
        close(up[0]);
        be_child(w, down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    w->to = down[1];
    w->from = up[0];
    if (w->pid < 0) {
        close(w->to);
        close(w->from);
        w->pid = 0;
        return false;
    }
    return true;
}

/* What a child that did not answer died of. */
static TesterVerdict explain_death(TesterWorker *w, bool late)
{
    TesterMailbox *box = w->box;
    int was = 0;
    bool at_driver = box->at_driver;
    end_child(w, !late, &was);
    if (late)
        snprintf(box->message, sizeof box->message, "it did not end in time");
    else if (WIFSIGNALED(was))
        snprintf(box->message, sizeof box->message, "signal %d (%s)", WTERMSIG(was),
                 strsignal(WTERMSIG(was)));
    else
        snprintf(box->message, sizeof box->message, "it ended its process with %d",
                 WEXITSTATUS(was));
    return !at_driver ? TESTER_NO_TEST : late ? TESTER_HANGS : TESTER_CRASHES;
}

static bool restart(TesterWorker *w)
{
    bool late = false;
    w->box->opened = HEDDLE_ERROR_RUN;
    if (!start_child(w))
        return false;
    if (wait_for_child(w, &late) && !w->box->opened)
        return true;
    if (w->box->opened == HEDDLE_ERROR_RUN)
        explain_death(w, late);
    end_child(w, false, &(int){ 0 });
    return false;
}

TesterVerdict worker_run(TesterWorker *w, const TesterCase *c)
{
    TesterMailbox *box = w->box;
    bool late = false, keeps = box->keeps;
    char byte = 1;
    if (!c->words || c->size > TESTER_WORDS || c->data_size > TESTER_DATA) {
        snprintf(box->message, sizeof box->message, "%s",
                 c->words ? "it is too large" : "its source does not compile");
        return TESTER_NO_TEST;
    }
    if (!w->pid && !restart(w))
        return TESTER_CRASHES;
    box->c = *c;
    box->keeps = keeps;
    memcpy(box->words, c->words, c->size);
    memcpy(box->data, c->data, c->data_size);
    box->at_driver = false;
    if (write(w->to, &byte, 1) != 1 || !wait_for_child(w, &late))
        return explain_death(w, late);
    if (box->verdict == TESTER_FAILS) /* the device may be lost */
        end_child(w, false, &(int){ 0 });
    return box->verdict;
}

HeddleResult worker_open(TesterWorker *w, const TesterOptions *o, HeddleLog *log)
{
    *w = (TesterWorker){ .o = o, .patience = o->patience ? o->patience : 20 };
    signal(SIGPIPE, SIG_IGN);
    w->box = mmap(NULL, sizeof *w->box, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w->box == MAP_FAILED) {
        w->box = NULL;
        return HEDDLE_ERROR_MEMORY;
    }
    if (restart(w))
        return HEDDLE_OK;
    HeddleResult r = w->box->opened ? w->box->opened : HEDDLE_ERROR_RUN;
    if (r == HEDDLE_ERROR_RUN || !log)
        return r;
    /* once more here, for the log: it was refused without harm */
    HeddleDeviceOptions vulkan = { .struct_size = sizeof vulkan,
                                   .kind = HEDDLE_DEVICE_VULKAN,
                                   .ordinal = o->ordinal };
    HeddleDevice *d = NULL;
    heddle_device_new(&vulkan, &d, log);
    heddle_device_free(d);
    return r;
}

void worker_close(TesterWorker *w)
{
    end_child(w, false, &(int){ 0 });
    if (w->box)
        munmap(w->box, sizeof *w->box);
}
