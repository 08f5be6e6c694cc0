/* SPDX-License-Identifier: MIT
 *
 * A kernel that leaves the workgroup's size to its dispatches, each of which has its own, for so
 * long that code for those sizes takes the first one's place. Items tell who they are in all
 * dispatches alike, those of smaller workgroups at the edges included.
 */
#include "base/test.h"
#include "base/thread.h"

#include <heddle/heddle.h>

enum { WORDS = 8, ITEMS = 50 * 20, FOR_MS = 250 };

static const char source[] =
    "__kernel void who(__global uint *o, uint steps)\n"
    "{\n"
    "    uint x = get_global_id(0), y = get_global_id(1), h = x * 31 + y;\n"
    "    __global uint *to = o + 8 * (y * get_global_size(0) + x);\n"
    "    for (uint k = 0; k < steps; k++)\n"
    "        h = h * 1664525u + get_local_id(0) + get_local_size(1);\n"
    "    to[0] = h;\n"
    "    to[1] = get_local_size(0) << 16 | get_local_size(1);\n"
    "    to[2] = get_local_id(0) << 16 | get_local_id(1);\n"
    "    to[3] = get_group_id(0) << 16 | get_group_id(1);\n"
    "    to[4] = get_enqueued_local_size(0) << 16 | get_enqueued_local_size(1);\n"
    "    to[5] = get_num_groups(0) << 16 | get_num_groups(1);\n"
    "    to[6] = get_global_linear_id();\n"
    "    to[7] = get_local_linear_id();\n"
    "}\n";

static const uint32_t sizes[][2] = { { 8, 4 },  { 50, 1 },  { 16, 3 },
                                     { 1, 20 }, { 64, 64 }, { 8, 4 } };
static const uint32_t global[2] = { 50, 20 };

static void expect(const uint32_t local[2], uint32_t steps, uint32_t x, uint32_t y,
                   uint32_t want[WORDS])
{
    uint32_t at[2] = { x, y }, id[2], group[2], has[2], n[2];
    for (int k = 0; k < 2; k++) {
        id[k] = at[k] % local[k];
        group[k] = at[k] / local[k];
        has[k] = MIN(local[k], global[k] - group[k] * local[k]);
        n[k] = (global[k] + local[k] - 1) / local[k];
    }
    want[0] = x * 31 + y;
    for (uint32_t k = 0; k < steps; k++)
        want[0] = want[0] * 1664525u + id[0] + has[1];
    want[1] = has[0] << 16 | has[1];
    want[2] = id[0] << 16 | id[1];
    want[3] = group[0] << 16 | group[1];
    want[4] = local[0] << 16 | local[1];
    want[5] = n[0] << 16 | n[1];
    want[6] = y * global[0] + x;
    want[7] = id[1] * has[0] + id[0];
}

static bool told_right(const uint32_t *out, const uint32_t local[2], uint32_t steps)
{
    for (uint32_t i = 0; i < ITEMS; i++) {
        uint32_t want[WORDS];
        expect(local, steps, i % global[0], i / global[0], want);
        if (!memcmp(out + i * WORDS, want, sizeof want))
            continue;
        test_fail(__FILE__, __LINE__, "item %u in workgroups of %u x %u", i, local[0], local[1]);
        return false;
    }
    return true;
}

static bool dispatch(HeddleKernel *k, HeddleBuffer *to, const uint32_t local[2], uint32_t steps)
{
    HeddleBinding b[] = { { .binding = 0, .buffer = to },
                          { .binding = 1, .value = &steps, .size = sizeof steps } };
    HeddleDispatch d = { .global_size = { global[0], global[1], 1 },
                         .local_size = { local[0], local[1], 1 },
                         .bindings = b,
                         .n_bindings = 2 };
    return heddle_dispatch(k, &d, NULL, NULL) == HEDDLE_OK;
}

TEST(dispatches_choose_sizes)
{
    static _Alignas(16) uint32_t out[ITEMS * WORDS];
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device = NULL;
    HeddleModule *m = NULL;
    HeddleKernel *k = NULL;
    HeddleBuffer *to = NULL;
    HeddleModuleOptions o = { .language = HEDDLE_LANGUAGE_OPENCL };
    CHECK(!heddle_device_new(NULL, &device, log));
    CHECK(!heddle_module_new(source, sizeof source - 1, "sizes.cl", &o, &m, log));
    CHECK(!heddle_kernel_new(device, m, NULL, &k, log));
    CHECK(!heddle_buffer_wrap(device, out, sizeof out, &to, log));
    for (uint32_t s = 0; k && to && s < COUNT_OF(sizes); s++) {
        uint64_t start = clock_ns();
        uint32_t steps = 200;
        bool good = true;
        while (good && clock_ns() - start < FOR_MS * UINT64_C(1000000)) {
            memset(out, 0, sizeof out);
            good = dispatch(k, to, sizes[s], steps) && told_right(out, sizes[s], steps);
        }
        CHECK(good);
    }
    heddle_buffer_free(to);
    heddle_kernel_free(k);
    heddle_module_free(m);
    heddle_device_free(device);
    heddle_log_free(log);
}
