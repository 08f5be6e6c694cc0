/* SPDX-License-Identifier: MIT
 *
 * A libcuda.so.1 without a GPU, for tests of the host's side: memory is the host's, a stream is a
 * list of things to do that are done when somebody asks for it, and a launch calls the test. Each
 * function can be made to fail, and all that is made is counted.
 */
#ifndef HEDDLE_TESTS_CUDA_MOCK_H
#define HEDDLE_TESTS_CUDA_MOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct MockCuda {
    /* what the test asks for */
    const char *fail; /* a function by name: */
    int fail_with;    /* what it returns, */
    int fail_after;   /* once it was called so many times */
    int fault;        /* what the next kernel that runs ends the context with; 0: it does not */
    bool hang;        /* the next kernel has no end */
    int latency;      /* so many questions for a stream or an event are answered "not ready" */
    int devices;      /* that there are */
    int major, minor; /* their compute capability */
    int version;      /* the driver's */
    uint64_t memory;  /* bytes of device memory; more are not to be had */
    void (*kernel)(const void *parameters, const unsigned groups[3], const unsigned size[3]);
    /* what it saw */
    int live;      /* objects that nobody has freed: contexts, streams, events, memory, modules */
    int launches;  /* that have run */
    int questions; /* for streams and events */
    int blocked;   /* calls that would have waited for a kernel without an end */
    uint64_t in, out; /* bytes copied to the GPU and from it */
    char log[64];     /* what cuModuleLoadDataEx writes to its log when it fails */
} MockCuda;           /* the library's mock_cuda */

#endif
