/* SPDX-License-Identifier: MIT
 *
 * Queues: dispatches that are submitted by several threads and waited for once, in order, each with
 * its times; and one that fails among others that do not.
 */
#include "base/test.h"

#include <pthread.h>
#include <stdlib.h>

#include "heddle/heddle.h"

/* numbers[0] = numbers[0] * 3 + push */
static const char kernel[] =
    "#version 460\n"
    "layout(local_size_x = 1) in;\n"
    "layout(binding = 0) buffer B { uint numbers[]; };\n"
    "layout(push_constant) uniform P { uint add; };\n"
    "void main() { numbers[0] = numbers[0] * 3 + add; }\n";
/* The same of an address, which may lead nowhere. */
static const char outside[] =
    "#version 460\n"
    "#extension GL_EXT_buffer_reference : require\n"
    "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
    "layout(local_size_x = 1) in;\n"
    "layout(buffer_reference) buffer B { uint numbers[]; };\n"
    "layout(push_constant) uniform P { uint64_t at; };\n"
    "void main() { B b = B(at); b.numbers[0] += 1; }\n";

enum { THREADS = 4, EACH = 50 };

typedef struct Fixture {
    HeddleLog *log;
    HeddleDevice *device;
    HeddleKernel *kernel;
    HeddleBuffer *buffer;
    HeddleQueue *queue;
} Fixture;

static HeddleKernel *compile(const Fixture *f, const char *text)
{
    HeddleModule *m = NULL;
    HeddleKernel *k = NULL;
    HeddleModuleOptions o = { .language = HEDDLE_LANGUAGE_GLSL };
    CHECK(heddle_module_new(text, strlen(text), "queue.comp", &o, &m, f->log) == HEDDLE_OK);
    CHECK(heddle_kernel_new(f->device, m, NULL, &k, f->log) == HEDDLE_OK);
    heddle_module_free(m);
    return k;
}

static Fixture fixture(HeddleDeviceKind kind)
{
    Fixture f = { .log = heddle_log_new(NULL, NULL) };
    HeddleDeviceOptions o = { .kind = kind, .threads = 2 };
    CHECK(heddle_device_new(&o, &f.device, f.log) == HEDDLE_OK);
    CHECK(heddle_buffer_new(f.device, 64, &f.buffer, f.log) == HEDDLE_OK);
    CHECK(heddle_queue_new(f.device, &f.queue, f.log) == HEDDLE_OK);
    f.kernel = compile(&f, kernel);
    return f;
}

static void fixture_free(Fixture *f)
{
    heddle_queue_free(f->queue);
    heddle_kernel_free(f->kernel);
    heddle_buffer_free(f->buffer);
    heddle_device_free(f->device);
    heddle_log_free(f->log);
}

/* What it is given lies in memory that is somebody else's again before the dispatch runs. */
static HeddleResult submit(const Fixture *f, uint32_t add, HeddleReport *report)
{
    HeddleBinding b = { .buffer = f->buffer };
    uint32_t push = add;
    HeddleDispatch d = { .struct_size = sizeof d, .groups = { 1, 1, 1 }, .bindings = &b,
                         .n_bindings = 1, .push = &push, .push_size = sizeof push };
    HeddleResult r = heddle_queue_submit(f->queue, f->kernel, &d, report, NULL);
    memset(&b, 0xff, sizeof b);
    memset(&push, 0xff, sizeof push);
    memset(&d, 0xff, sizeof d);
    return r;
}

TEST(dispatches_run_in_order)
{
    for (int kind = 0; kind < HEDDLE_N_DEVICE_KINDS; kind++) {
        if (!heddle_device_count((HeddleDeviceKind)kind))
            continue; /* this machine has none */
        Fixture f = fixture((HeddleDeviceKind)kind);
        HeddleReport reports[EACH] = { 0 };
        uint32_t want = 0, got = 0;
        for (uint32_t i = 0; i < EACH; i++) {
            CHECK(submit(&f, i, &reports[i]) == HEDDLE_OK);
            want = want * 3 + i;
        }
        CHECK(heddle_queue_wait(f.queue, f.log) == HEDDLE_OK);
        CHECK(heddle_buffer_read(f.buffer, 0, &got, sizeof got, f.log) == HEDDLE_OK);
        CHECK_EQ_U64(got, want);
        for (uint32_t i = 0; i < EACH; i++) {
            CHECK(reports[i].start <= reports[i].end && reports[i].seconds >= 0);
            CHECK(i == 0 || reports[i - 1].end <= reports[i].start);
        }
        CHECK(heddle_queue_wait(f.queue, f.log) == HEDDLE_OK); /* for nothing */
        CHECK(!heddle_log_count(f.log));
        fixture_free(&f);
    }
}

static void *submit_many(void *user)
{
    const Fixture *f = user;
    for (uint32_t i = 0; i < EACH; i++) {
        CHECK(submit(f, 1, NULL) == HEDDLE_OK);
        if (i % 16 == 7)
            CHECK(heddle_queue_wait(f->queue, NULL) == HEDDLE_OK);
    }
    return NULL;
}

TEST(threads_submit_and_wait_side_by_side)
{
    for (int kind = 0; kind < HEDDLE_N_DEVICE_KINDS; kind++) {
        if (!heddle_device_count((HeddleDeviceKind)kind))
            continue; /* this machine has none */
        Fixture f = fixture((HeddleDeviceKind)kind);
        pthread_t threads[THREADS];
        uint32_t want = 0, got = 0;
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, submit_many, &f);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < THREADS * EACH; i++)
            want = want * 3 + 1;
        CHECK(heddle_queue_wait(f.queue, NULL) == HEDDLE_OK);
        CHECK(heddle_buffer_read(f.buffer, 0, &got, sizeof got, NULL) == HEDDLE_OK);
        CHECK_EQ_U64(got, want);
        fixture_free(&f);
    }
}

TEST(one_that_fails_stops_no_other)
{
    Fixture f = fixture(HEDDLE_DEVICE_CPU);
    HeddleKernel *k = compile(&f, outside);
    uint64_t nowhere = 8, there = heddle_buffer_address(f.buffer);
    HeddleDispatch d = { .groups = { 1, 1, 1 }, .push_size = sizeof there };
    uint64_t *const at[] = { &there, &nowhere, &there };
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        d.push = at[i];
        CHECK(heddle_queue_submit(f.queue, k, &d, NULL, f.log) == HEDDLE_OK);
    }
    CHECK(heddle_queue_wait(f.queue, f.log) == HEDDLE_ERROR_RUN);
    CHECK_EQ_U64(heddle_log_errors(f.log), 1);
    CHECK_EQ_U64(*(uint32_t *)heddle_buffer_data(f.buffer), 2);
    CHECK(heddle_queue_wait(f.queue, f.log) == HEDDLE_OK);
    heddle_kernel_free(k);
    fixture_free(&f);
}

TEST(what_is_wrong_at_once_is_said_at_once)
{
    Fixture f = fixture(HEDDLE_DEVICE_CPU), other = fixture(HEDDLE_DEVICE_REFERENCE);
    HeddleDispatch d = { .groups = { 1, 1, 1 } };
    HeddleQueue *q;
    CHECK(heddle_queue_submit(f.queue, f.kernel, &d, NULL, f.log) == HEDDLE_ERROR_BINDING);
    CHECK(heddle_queue_submit(f.queue, other.kernel, &d, NULL, f.log) == HEDDLE_ERROR_ARGUMENT);
    CHECK(heddle_queue_submit(f.queue, NULL, &d, NULL, f.log) == HEDDLE_ERROR_ARGUMENT);
    CHECK(heddle_queue_submit(f.queue, f.kernel, NULL, NULL, f.log) == HEDDLE_ERROR_ARGUMENT);
    CHECK(heddle_queue_submit(NULL, f.kernel, &d, NULL, f.log) == HEDDLE_ERROR_ARGUMENT);
    CHECK(heddle_queue_submit(f.queue, f.kernel, &d, &(HeddleReport){ .struct_size = 3 }, f.log) ==
          HEDDLE_ERROR_ARGUMENT);
    CHECK(heddle_queue_wait(NULL, f.log) == HEDDLE_ERROR_ARGUMENT);
    CHECK(heddle_queue_new(NULL, &q, f.log) == HEDDLE_ERROR_ARGUMENT && !q);
    CHECK(heddle_queue_wait(f.queue, f.log) == HEDDLE_OK);
    heddle_queue_free(NULL);
    fixture_free(&f);
    fixture_free(&other);
}
