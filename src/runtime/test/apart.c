/* SPDX-License-Identifier: MIT
 *
 * Kernels whose buffers share memory, though they do not say that these may: what workgroups have
 * put into workgroup memory before they write is not read again, from what is not there any more.
 */
#include "base/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "heddle/heddle.h"

enum { GROUP = 256, GROUPS = 4, N = GROUP * GROUPS };

/* Each workgroup adds to its rows of 32 elements the first one. */
static const char source[] =
    "#version 460\n"
    "layout(local_size_x = 32, local_size_y = 8) in;\n"
    "layout(binding = 0) readonly buffer A { float a[]; };\n"
    "layout(binding = 1) writeonly buffer C { float c[]; };\n"
    "shared float tile[256];\n"
    "void main() {\n"
    "    uint me = gl_LocalInvocationIndex, first = gl_WorkGroupID.x * 256;\n"
    "    tile[me] = a[first + me];\n"
    "    barrier();\n"
    "    c[first + me] = tile[me] + 1000.0 * tile[gl_LocalInvocationID.x];\n"
    "}\n";

/* The same; `c` alone is written, whatever else is behind `a`. */
static const char opencl[] =
    "kernel __attribute__((reqd_work_group_size(32, 8, 1)))\n"
    "void apart(global const float *a, global float *c) {\n"
    "    local float tile[256];\n"
    "    int me = get_local_id(1) * 32 + get_local_id(0), first = get_group_id(0) * 256;\n"
    "    tile[me] = a[first + me];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    c[first + me] = tile[me] + 1000.0f * tile[get_local_id(0)];\n"
    "}\n";

static HeddleKernel *compile(HeddleDevice *device, bool is_opencl, HeddleLog *log)
{
    HeddleModule *m = NULL;
    HeddleKernel *k = NULL;
    const char *text = is_opencl ? opencl : source;
    HeddleModuleOptions o = { .language = is_opencl ? HEDDLE_LANGUAGE_OPENCL
                                                    : HEDDLE_LANGUAGE_GLSL };
    if (heddle_module_new(text, strlen(text), "apart", &o, &m, log) == HEDDLE_OK)
        CHECK(heddle_kernel_new(device, m, NULL, &k, log) == HEDDLE_OK);
    else
        printf("no %s: nothing is tested\n", is_opencl ? "OpenCL C" : "glslang");
    heddle_module_free(m);
    return k;
}

/* From element `from` on to those from `to` on, a multiple of a workgroup or nothing in common. */
static void check(HeddleKernel *k, HeddleBuffer *b, uint32_t from, uint32_t to, HeddleLog *log)
{
    float *x = heddle_buffer_data(b), before[3 * N];
    HeddleBinding bindings[] = { { .buffer = b, .offset = from * 4, .size = N * 4 },
                                 { .binding = 1, .buffer = b, .offset = to * 4, .size = N * 4 } };
    HeddleDispatch d = { .groups = { GROUPS, 1, 1 }, .bindings = bindings, .n_bindings = 2 };
    for (uint32_t n = 0; n < 3 * N; n++)
        before[n] = x[n] = (float)(n % 997);
    CHECK(heddle_dispatch(k, &d, NULL, log) == HEDDLE_OK);
    for (uint32_t n = 0; n < N; n++) {
        float want = before[from + n] + 1000 * before[from + n / GROUP * GROUP + n % 32];
        if (x[to + n] != want)
            test_fail(__FILE__, __LINE__, "%u to %u: [%u] is %g, not %g", from, to, n,
                      (double)x[to + n], (double)want);
    }
}

static void check_all(HeddleDevice *device, bool is_opencl, HeddleLog *log)
{
    HeddleBuffer *b = NULL;
    HeddleKernel *k = compile(device, is_opencl, log);
    if (!k)
        return;
    CHECK_EQ_U64(heddle_kernel_info(k)->shared_size, 0); /* read where it comes from */
    CHECK(heddle_buffer_new(device, 3 * N * 4, &b, log) == HEDDLE_OK);
    check(k, b, 0, N, log);
    check(k, b, N, N, log);
    check(k, b, 2 * N, 0, log);
    heddle_buffer_free(b);
    heddle_kernel_free(k);
}

TEST(in_place)
{
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleDevice *device = NULL;
    CHECK(heddle_device_new(NULL, &device, log) == HEDDLE_OK);
    check_all(device, false, log);
    check_all(device, true, log);
    heddle_device_free(device);
    heddle_log_free(log);
}

TEST(kept_in_place)
{
    char folder[] = "/tmp/heddle-apart-XXXXXX", command[64];
    CHECK(mkdtemp(folder) && !setenv("HEDDLE_CACHE", folder, 1));
    HeddleLog *log = heddle_log_new(NULL, NULL);
    for (uint32_t k = 0; k < 2; k++) { /* compiled, then taken from the folder */
        HeddleDevice *device = NULL;
        CHECK(heddle_device_new(NULL, &device, log) == HEDDLE_OK);
        check_all(device, false, log);
        check_all(device, true, log);
        heddle_device_free(device);
    }
    heddle_log_free(log);
    CHECK(!unsetenv("HEDDLE_CACHE"));
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(!system(command));
}
