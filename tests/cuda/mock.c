/* SPDX-License-Identifier: MIT
 *
 * The driver of mock.h. Names, parameters and numbers are cuda/driver.h's, from which a table of
 * prototypes makes sure that none is missing.
 */
#include "mock.h"

#include "cuda/driver.h"

#include <stdlib.h>

#define EXPORT                      __attribute__((visibility("default")))
#define PROTOTYPE(name, parameters) EXPORT CuResult name parameters;
CUDA_FUNCTIONS(PROTOTYPE)
#undef PROTOTYPE

#define FRESH { .devices = 1, .major = 9, .version = 12080, .memory = UINT64_C(1) << 30 }
extern EXPORT MockCuda mock_cuda;
EXPORT void mock_reset(void);
MockCuda mock_cuda = FRESH;

enum { STAGED = 64 << 10 }; /* bytes of pageable memory that an asynchronous copy takes at once */

typedef enum OpKind { OP_COPY, OP_SET, OP_LAUNCH, OP_EVENT } OpKind;

typedef struct Stream Stream;
typedef struct Event {
    Stream *stream; /* that it was recorded on; NULL: it was not */
    bool done, timed;
    uint64_t time;
} Event;

typedef struct Op {
    OpKind kind;
    char *to;
    const char *from; /* what a copy or a launch keeps is behind the struct */
    size_t size;
    unsigned char value;
    Event *event;
    unsigned groups[3], local[3];
    struct Op *next;
    _Alignas(16) char kept[];
} Op;

struct Stream {
    Op *first, **last;
    bool hung;
};

typedef struct Module {
    size_t parameter_bytes;
} Module;

typedef struct Range {
    const char *start;
    size_t size;
    bool host; /* pinned or registered */
    bool own;  /* the mock's memory, not the program's */
    struct Range *next;
} Range;

typedef union Object Object;
union Object {
    Object *next;
    _Alignas(16) char align[16];
};

static struct {
    Object *objects; /* all that is counted in `live` but contexts */
    Range *ranges;
    uint64_t used, clock;
    int sticky; /* what ended the context */
    int depth;  /* of the stack of contexts */
} state;

/* The first line of every function: the failure that the test asked for, or the context's end. */
static CuResult asked(const char *name)
{
    if (!mock_cuda.fail || strcmp(mock_cuda.fail, name) || mock_cuda.fail_after-- > 0)
        return 0;
    mock_cuda.fail_after = -1; /* and so on */
    return mock_cuda.fail_with ? mock_cuda.fail_with : CU_ERROR_OUT_OF_MEMORY;
}
#define START()                                                                                    \
    do {                                                                                           \
        CuResult asked_ = asked(__func__);                                                         \
        if (asked_)                                                                                \
            return asked_;                                                                         \
    } while (0)
#define START_IN_CONTEXT()                                                                         \
    do {                                                                                           \
        START();                                                                                   \
        if (state.sticky || !state.depth)                                                          \
            return state.sticky ? state.sticky : 201;                                              \
    } while (0)

static void *made(size_t size)
{
    Object *o = calloc(1, sizeof *o + size);
    o->next = state.objects;
    state.objects = o;
    mock_cuda.live++;
    return o + 1;
}

static CuResult freed(void *p)
{
    Object **at = &state.objects;
    while (*at && *at + 1 != p)
        at = &(*at)->next;
    if (!*at) /* it was no object of the mock's, or is none any more */
        abort();
    Object *o = *at;
    *at = o->next;
    mock_cuda.live--;
    free(o);
    return 0;
}

/* ---- the driver and its devices -------------------------------------------------------------- */

CuResult cuInit(unsigned flags)
{
    START();
    (void)flags;
    return 0;
}

CuResult cuDriverGetVersion(int *out)
{
    START();
    *out = mock_cuda.version;
    return 0;
}

CuResult cuDeviceGetCount(int *out)
{
    START();
    *out = mock_cuda.devices;
    return 0;
}

CuResult cuDeviceGet(CuDevice *out, int ordinal)
{
    START();
    *out = ordinal;
    return ordinal < mock_cuda.devices ? 0 : 101;
}

CuResult cuDeviceGetName(char *out, int size, CuDevice device)
{
    START();
    (void)device;
    strncpy(out, "mock", (size_t)size);
    return 0;
}

CuResult cuDeviceGetAttribute(int *out, int which, CuDevice device)
{
    START();
    (void)device;
    *out = which == CU_ATTRIBUTE_MAJOR             ? mock_cuda.major
           : which == CU_ATTRIBUTE_MINOR           ? mock_cuda.minor
           : which == CU_ATTRIBUTE_SHARED_BYTES    ? 227 << 10
           : which == CU_ATTRIBUTE_MULTIPROCESSORS ? 132
                                                   : 0;
    return 0;
}

CuResult cuDeviceTotalMem_v2(size_t *out, CuDevice device)
{
    START();
    (void)device;
    *out = mock_cuda.memory;
    return 0;
}

CuResult cuDevicePrimaryCtxRetain(CuContext *out, CuDevice device)
{
    START();
    (void)device;
    mock_cuda.live++;
    *out = &state;
    return 0;
}

CuResult cuDevicePrimaryCtxRelease_v2(CuDevice device)
{
    START();
    (void)device;
    mock_cuda.live--;
    return 0;
}

CuResult cuCtxPushCurrent_v2(CuContext c)
{
    START();
    (void)c;
    state.depth++;
    return 0;
}

CuResult cuCtxPopCurrent_v2(CuContext *out)
{
    START();
    *out = &state;
    state.depth--;
    return 0;
}

CuResult cuGetErrorName(CuResult r, const char **out)
{
    *out = r == CU_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_THE_MOCK";
    return 0;
}

CuResult cuGetErrorString(CuResult r, const char **out)
{
    *out = r == CU_ERROR_OUT_OF_MEMORY ? "out of memory" : "an error of the mock's";
    return 0;
}

/* ---- modules --------------------------------------------------------------------------------- */

/* PTX says how large the kernel's parameter is: ".param .align 16 .b8 NAME_param_0[528]". */
CuResult cuModuleLoadDataEx(CuModule *out, const void *ptx, unsigned n, int *options, void **values)
{
    const char *size = strstr(ptx, "_param_0[");
    for (unsigned k = 0; k < n && mock_cuda.log[0]; k++)
        if (options[k] == CU_JIT_ERROR_LOG)
            strcpy(values[k], mock_cuda.log);
    START_IN_CONTEXT();
    if (strncmp(ptx, "//", 2) || !size)
        return CU_ERROR_INVALID_PTX;
    Module *m = made(sizeof *m);
    m->parameter_bytes = strtoul(strchr(size, '[') + 1, NULL, 10);
    *out = m;
    return 0;
}

CuResult cuModuleUnload(CuModule m)
{
    START_IN_CONTEXT();
    return freed(m);
}

CuResult cuModuleGetFunction(CuFunction *out, CuModule m, const char *name)
{
    START_IN_CONTEXT();
    *out = m;
    return strcmp(name, "heddle_kernel") ? 500 : 0;
}

CuResult cuFuncSetAttribute(CuFunction f, int which, int value)
{
    START_IN_CONTEXT();
    (void)f, (void)which, (void)value;
    return 0;
}

CuResult cuFuncGetAttribute(int *out, int which, CuFunction f)
{
    START_IN_CONTEXT();
    (void)f;
    *out = which == CU_FUNC_REGISTERS ? 40 : which == CU_FUNC_LOCAL_BYTES ? 16 : 1024;
    return 0;
}

CuResult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, CuFunction f, int size, size_t bytes)
{
    START_IN_CONTEXT();
    (void)f, (void)bytes;
    *out = size ? 1536 / size : 0;
    return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void *new_range(const void *at, size_t size, bool host)
{
    Range *r = made(sizeof *r);
    *r = (Range){ at ? at : aligned_alloc(256, (size + 255) / 256 * 256), size, host, !at,
                  state.ranges };
    state.ranges = r;
    return (void *)(uintptr_t)r->start;
}

static CuResult free_range(const void *at)
{
    for (Range **r = &state.ranges; *r; r = &(*r)->next) {
        if ((*r)->start != at)
            continue;
        Range *gone = *r;
        *r = gone->next;
        state.used -= gone->host ? 0 : gone->size;
        if (gone->own)
            free((void *)(uintptr_t)gone->start);
        return freed(gone);
    }
    return 1;
}

static bool is_pinned(const void *at)
{
    for (const Range *r = state.ranges; r; r = r->next)
        if (r->host && (const char *)at >= r->start && (const char *)at < r->start + r->size)
            return true;
    return false;
}

CuResult cuMemAlloc_v2(CuAddress *out, size_t size)
{
    START_IN_CONTEXT();
    if (size > mock_cuda.memory - state.used)
        return CU_ERROR_OUT_OF_MEMORY;
    state.used += size;
    *out = (uintptr_t)new_range(NULL, size, false);
    return 0;
}

CuResult cuMemFree_v2(CuAddress at)
{
    START_IN_CONTEXT();
    return free_range((void *)(uintptr_t)at);
}

/* The device's memory only: the driver knows pinned memory as the host's. */
CuResult cuPointerGetAttribute(void *out, int which, CuAddress at)
{
    START_IN_CONTEXT();
    const char *p = (const char *)(uintptr_t)at;
    for (const Range *r = state.ranges; r; r = r->next) {
        if (p < r->start || p >= r->start + r->size)
            continue;
        *(int *)out = which == CU_POINTER_ORDINAL ? 0 : r->host ? 1 : CU_MEMORY_DEVICE;
        return 0;
    }
    return 1;
}

CuResult cuMemHostAlloc(void **out, size_t size, unsigned flags)
{
    START_IN_CONTEXT();
    (void)flags;
    *out = new_range(NULL, size, true);
    return 0;
}

CuResult cuMemFreeHost(void *at)
{
    START_IN_CONTEXT();
    return free_range(at);
}

CuResult cuMemHostRegister_v2(void *at, size_t size, unsigned flags)
{
    START_IN_CONTEXT();
    (void)flags;
    new_range(at, size, true);
    return 0;
}

CuResult cuMemHostUnregister(void *at)
{
    START_IN_CONTEXT();
    return free_range(at);
}

CuResult cuMemHostGetDevicePointer_v2(CuAddress *out, void *at, unsigned flags)
{
    START_IN_CONTEXT();
    (void)flags;
    *out = (uintptr_t)at;
    return 0;
}

/* ---- streams --------------------------------------------------------------------------------- */

static void do_op(Op *o)
{
    switch (o->kind) {
    case OP_COPY: memcpy(o->to, o->from, o->size); return;
    case OP_SET: memset(o->to, o->value, o->size); return;
    case OP_EVENT:
        o->event->done = true;
        o->event->time = state.clock += 1000;
        return;
    case OP_LAUNCH:
        mock_cuda.launches++;
        state.clock += 10000;
        if (mock_cuda.fault) {
            state.sticky = mock_cuda.fault;
            mock_cuda.fault = 0;
        } else if (mock_cuda.kernel) {
            mock_cuda.kernel(o->kept, o->groups, o->local);
        }
        return;
    }
}

/* Does what there is to do, up to a kernel without an end or a fault. */
static void work(Stream *s)
{
    while (s->first && !s->hung && !state.sticky) {
        Op *o = s->first;
        if (o->kind == OP_LAUNCH && mock_cuda.hang) {
            mock_cuda.hang = false;
            s->hung = true;
            return;
        }
        s->first = o->next;
        if (!s->first)
            s->last = &s->first;
        do_op(o);
        mock_cuda.live++;
        freed(o);
    }
}

static Op *add(Stream *s, OpKind kind, size_t kept)
{
    Op *o = made(sizeof *o + kept);
    mock_cuda.live--; /* it goes by itself */
    o->kind = kind;
    *s->last = o;
    s->last = &o->next;
    return o;
}

/* As the driver does it before it copies from or to pageable memory. */
static CuResult finish(Stream *s)
{
    work(s);
    if (!s->hung)
        return state.sticky;
    mock_cuda.blocked++;
    return CU_ERROR_LAUNCH_TIMEOUT;
}

CuResult cuStreamCreate(CuStream *out, unsigned flags)
{
    START_IN_CONTEXT();
    (void)flags;
    Stream *s = made(sizeof *s);
    s->last = &s->first;
    *out = s;
    return 0;
}

CuResult cuStreamDestroy_v2(CuStream stream)
{
    START_IN_CONTEXT();
    return finish(stream) ? CU_ERROR_LAUNCH_TIMEOUT : freed(stream);
}

CuResult cuStreamQuery(CuStream stream)
{
    mock_cuda.questions++;
    START_IN_CONTEXT();
    Stream *s = stream;
    if (mock_cuda.latency > 0 && mock_cuda.latency--)
        return CU_ERROR_NOT_READY;
    if (stream == CU_STREAM_LEGACY)
        return state.sticky;
    work(s);
    return state.sticky ? state.sticky : s->first ? CU_ERROR_NOT_READY : 0;
}

CuResult cuEventCreate(CuEvent *out, unsigned flags)
{
    START_IN_CONTEXT();
    Event *e = *out = made(sizeof(Event));
    e->timed = !(flags & CU_EVENT_DISABLE_TIMING);
    return 0;
}

CuResult cuEventDestroy_v2(CuEvent e)
{
    START_IN_CONTEXT();
    return freed(e);
}

CuResult cuEventRecord(CuEvent event, CuStream stream)
{
    START_IN_CONTEXT();
    Event *e = event;
    *e = (Event){ .stream = stream, .timed = e->timed };
    add(stream, OP_EVENT, 0)->event = e;
    return 0;
}

CuResult cuEventQuery(CuEvent event)
{
    mock_cuda.questions++;
    START_IN_CONTEXT();
    Event *e = event;
    if (mock_cuda.latency > 0 && mock_cuda.latency--)
        return CU_ERROR_NOT_READY;
    if (e->stream && !e->done)
        work(e->stream);
    return state.sticky ? state.sticky : e->stream && !e->done ? CU_ERROR_NOT_READY : 0;
}

CuResult cuEventElapsedTime(float *out, CuEvent from, CuEvent to)
{
    START_IN_CONTEXT();
    const Event *a = from, *b = to;
    if (!a->timed || !b->timed)
        return CU_ERROR_NO_DEVICE; /* any error: nothing is to ask */
    if (!a->done || !b->done)
        return CU_ERROR_NOT_READY;
    *out = (float)(b->time - a->time) * 1e-6f;
    return 0;
}

CuResult cuMemsetD8Async(CuAddress at, unsigned char value, size_t size, CuStream s)
{
    START_IN_CONTEXT();
    Op *o = add(s, OP_SET, 0);
    o->to = (char *)(uintptr_t)at;
    o->size = size;
    o->value = value;
    return 0;
}

CuResult cuMemcpyHtoDAsync_v2(CuAddress to, const void *from, size_t size, CuStream s)
{
    START_IN_CONTEXT();
    mock_cuda.in += size;
    bool pinned = is_pinned(from), staged = !pinned && size <= STAGED;
    if (!pinned && !staged) {
        CuResult r = finish(s);
        if (!r)
            memcpy((void *)(uintptr_t)to, from, size);
        return r;
    }
    Op *o = add(s, OP_COPY, staged ? size : 0);
    o->to = (char *)(uintptr_t)to;
    o->from = staged ? memcpy(o->kept, from, size) : from;
    o->size = size;
    return 0;
}

CuResult cuMemcpyDtoHAsync_v2(void *to, CuAddress from, size_t size, CuStream s)
{
    START_IN_CONTEXT();
    mock_cuda.out += size;
    if (!is_pinned(to)) {
        CuResult r = finish(s);
        if (!r)
            memcpy(to, (const void *)(uintptr_t)from, size);
        return r;
    }
    Op *o = add(s, OP_COPY, 0);
    o->to = to;
    o->from = (const char *)(uintptr_t)from;
    o->size = size;
    return 0;
}

CuResult cuLaunchKernel(CuFunction f, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y,
                        unsigned z, unsigned shared, CuStream s, void **parameters, void **extra)
{
    START_IN_CONTEXT();
    const Module *m = f;
    (void)extra;
    if (x * y * z > 1024 || shared > 227 << 10)
        return 1;
    Op *o = add(s, OP_LAUNCH, m->parameter_bytes);
    memcpy(o->kept, parameters[0], m->parameter_bytes);
    memcpy(o->groups, (unsigned[]){ gx, gy, gz }, sizeof o->groups);
    memcpy(o->local, (unsigned[]){ x, y, z }, sizeof o->local);
    return 0;
}

/* ---- for the test ---------------------------------------------------------------------------- */

/* As if the process began again. */
void mock_reset(void)
{
    while (state.ranges)
        free_range(state.ranges->start);
    while (state.objects)
        freed(state.objects + 1);
    state.sticky = state.depth = 0;
    state.used = 0;
    mock_cuda = (MockCuda)FRESH;
}
