/* SPDX-License-Identifier: MIT
 *
 * Structs of the public header that grow: what of one the caller has, which may be older or newer
 * than the library, and what the library has. A field that is added begins where the struct of the
 * version before ended, its padding included.
 */
#include "runtime/internal.h"

static bool is_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i])
            return false;
    }
    return true;
}

/* Bytes that the caller has, or 0 after reporting. */
static size_t size_of(const RuntimeSized *s, const void *given, HeddleLog *log)
{
    enum { ABSURD = 1 << 16 }; /* what was never set */
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size == 0)
        return s->first;
    if (size >= sizeof size && size < ABSURD)
        return size;
    log_fail(log, HEDDLE_ERROR_ARGUMENT, "%s.struct_size is %zu, which is no size of it", s->name,
             size);
    return 0;
}

bool sized_read(const RuntimeSized *s, const void *from, void *to, HeddleLog *log)
{
    memset(to, 0, s->now);
    if (!from)
        return true;
    size_t size = size_of(s, from, log);
    if (size > s->now && !is_zero((const unsigned char *)from + s->now, size - s->now)) {
        log_fail(log, HEDDLE_ERROR_ARGUMENT, "%s has fields that heddle %s does not know", s->name,
                 heddle_version());
        return false;
    }
    memcpy(to, from, MIN(size, s->now));
    return size != 0;
}

bool sized_write(const RuntimeSized *s, void *to, const void *from, HeddleLog *log)
{
    size_t size = to ? size_of(s, to, log) : 0, head = sizeof(size_t);
    if (size)
        memcpy((char *)to + head, (const char *)from + head, MIN(size, s->now) - head);
    return !to || size;
}

bool sized_check(const RuntimeSized *s, const void *given, HeddleLog *log)
{
    return !given || size_of(s, given, log);
}

/* Ends at the last field that it had in 0.2. */
#define SIZED(T, last)                                                                             \
    { #T,                                                                                          \
      (offsetof(T, last) + sizeof(((T *)0)->last) + _Alignof(T) - 1) / _Alignof(T) * _Alignof(T),  \
      sizeof(T) }

const RuntimeSized sized_device_options = SIZED(HeddleDeviceOptions, no_signal_handlers);
const RuntimeSized sized_matrix_layout = SIZED(HeddleMatrixLayout, subgroup_size);
const RuntimeSized sized_module_options = SIZED(HeddleModuleOptions, rotate_by_gpu);
const RuntimeSized sized_pipeline_options = SIZED(HeddlePipelineOptions, subgroup_size);
const RuntimeSized sized_kernel_options = SIZED(HeddleKernelOptions, emit);
const RuntimeSized sized_dispatch = SIZED(HeddleDispatch, print_user);
const RuntimeSized sized_report = SIZED(HeddleReport, stats);
const RuntimeSized sized_comparison = SIZED(HeddleComparison, expected);
