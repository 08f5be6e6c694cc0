/* SPDX-License-Identifier: MIT
 *
 * printf, on the device that the test is for: each call's line once, in whatever order.
 */
#include "base/test.h"

#include <heddle/heddle.h>
#include <stdio.h>

static const char text[] =
    "kernel void k(global const int *x)\n"
    "{\n"
    "    int i = (int)get_global_id(0);\n"
    "    if (x[i] % 3 == 0)\n"
    "        printf(\"%s %d: %.2f %v3hhd 0x%lx %c\\n\", \"third\", i, (float)x[i] / 4,\n"
    "               (char3)(-1, 2, (char)i), (ulong)x[i] << 33, 'a' + i % 26);\n"
    "    else\n"
    "        for (int k = 0; k < x[i] % 3; k++)\n"
    "            printf(\"other %d of %d\\n\", k, i);\n"
    "    if (!i)\n"
    "        printf(\"100%%\\n\");\n"
    "}\n";

enum { ITEMS = 96, MOST = 4 * ITEMS, LINE = 80 };

typedef struct Lines {
    char line[MOST][LINE];
    uint32_t n;
} Lines;

static void on_print(void *user, const char *line, size_t length)
{
    Lines *l = user;
    if (l->n < MOST && length < LINE)
        memcpy(l->line[l->n++], line, length + 1);
}

static bool take(Lines *l, const char *line)
{
    for (uint32_t k = 0; k < l->n; k++) {
        if (strcmp(l->line[k], line))
            continue;
        memmove(l->line[k], l->line[--l->n], LINE);
        return true;
    }
    test_fail(__FILE__, __LINE__, "not printed: %s", line);
    return false;
}

static void take_item(Lines *l, int i, int x)
{
    char line[LINE];
    if (x % 3 == 0) {
        snprintf(line, sizeof line, "third %d: %.2f -1,2,%d 0x%llx %c\n", i, x / 4.0,
                 (signed char)i, (unsigned long long)x << 33, 'a' + i % 26);
        take(l, line);
    }
    for (int k = 0; k < x % 3; k++) {
        snprintf(line, sizeof line, "other %d of %d\n", k, i);
        take(l, line);
    }
}

TEST(each_call_prints_once)
{
    static Lines lines;
    _Alignas(16) static int x[1024];
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device = NULL;
    HeddleModule *module = NULL;
    HeddleKernel *kernel = NULL;
    HeddleBuffer *buffer = NULL;
    for (int i = 0; i < ITEMS; i++)
        x[i] = i * 7 % 11;
    REQUIRE(!heddle_device_new(NULL, &device, log));
    REQUIRE(!heddle_module_new(text, strlen(text), "k.cl", NULL, &module, log));
    REQUIRE(!heddle_kernel_new(device, module, NULL, &kernel, log));
    REQUIRE(!heddle_buffer_wrap(device, x, sizeof x, &buffer, log));
    HeddleDispatch d = { .struct_size = sizeof d,
                         .groups = { ITEMS / 32, 1, 1 },
                         .local_size = { 32, 1, 1 },
                         .bindings = &(HeddleBinding){ .buffer = buffer },
                         .n_bindings = 1,
                         .print = on_print,
                         .print_user = &lines };
    CHECK(!heddle_dispatch(kernel, &d, NULL, log));
    for (int i = 0; i < ITEMS; i++)
        take_item(&lines, i, x[i]);
    take(&lines, "100%\n");
    CHECK_EQ_U64(lines.n, 0);
    heddle_buffer_free(buffer);
    heddle_kernel_free(kernel);
    heddle_module_free(module);
    heddle_device_free(device);
    heddle_log_free(log);
}
