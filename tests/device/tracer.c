/* SPDX-License-Identifier: MIT
 *
 * A device whose memory is its own: the program reaches no byte of it, and its addresses are none
 * of the program's. It runs no kernel either. A dispatch leaves in the first buffer that is bound
 * what the device was told of it: how many instructions and basic blocks the kernel has, of how
 * many workgroups the dispatch consists, and how many descriptors are bound.
 */
#include "base/test.h"

#include <pthread.h>
#include <stdlib.h>

#include "runtime/runtime.h"

/* ---- the device ------------------------------------------------------------------------------ */

/* Where its blocks of memory begin, and how far each is from the next: no program has anything
 * there, on any machine that heddle runs on. */
static const uint64_t first_address = 1ull << 52, stride = 1ull << 30;
enum { MOST_BLOCKS = 16, MOST_BYTES = 1 << 20 };

enum { WORD_INSTRUCTIONS, WORD_BLOCKS, WORD_GROUPS, WORD_DESCRIPTORS, N_WORDS };

typedef struct Tracer {
    DeviceBase base;
    pthread_mutex_t lock;       /* of who takes a block and who gives one back */
    uint8_t *blocks[MOST_BLOCKS];
} Tracer;

typedef struct TracedKernel {
    DeviceKernel base;
    uint32_t instructions, blocks;
} TracedKernel;

static HeddleResult tracer_open(const DeviceOptions *options, DeviceBase **out, DiagSink *sink);

static void tracer_close(DeviceBase *d)
{
    Tracer *t = (Tracer *)d;
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static bool tracer_alloc(DeviceBase *d, uint64_t size, HeddlePlacement placement,
                         DeviceMemory *out)
{
    Tracer *t = (Tracer *)d;
    uint8_t *bytes = NULL;
    uint32_t k = 0;
    pthread_mutex_lock(&t->lock);
    while (k < MOST_BLOCKS && t->blocks[k])
        k++;
    if (k < MOST_BLOCKS && placement == HEDDLE_PLACEMENT_DEVICE && size <= MOST_BYTES)
        bytes = t->blocks[k] = calloc(1, size);
    pthread_mutex_unlock(&t->lock);
    *out = (DeviceMemory){ .address = first_address + k * stride, .size = size, .own = bytes };
    return bytes != NULL;
}

static void tracer_free(DeviceBase *d, DeviceMemory *m)
{
    Tracer *t = (Tracer *)d;
    pthread_mutex_lock(&t->lock);
    t->blocks[(m->address - first_address) / stride] = NULL;
    pthread_mutex_unlock(&t->lock);
    free(m->own);
}

static HeddleResult tracer_read(DeviceBase *d, const DeviceMemory *m, uint64_t offset, void *to,
                                uint64_t size, DiagSink *sink)
{
    (void)d, (void)sink;
    memcpy(to, (const uint8_t *)m->own + offset, size);
    return HEDDLE_OK;
}

static HeddleResult tracer_write(DeviceBase *d, const DeviceMemory *m, uint64_t offset,
                                 const void *from, uint64_t size, DiagSink *sink)
{
    (void)d, (void)sink;
    memcpy((uint8_t *)m->own + offset, from, size);
    return HEDDLE_OK;
}

static uint32_t length(const SpvInstList *list)
{
    uint32_t n = 0;
    for (const SpvInst *i = list->first; i; i = i->next)
        n++;
    return n;
}

/* From OpFunction to OpFunctionEnd, of all functions that the module defines or declares. */
static void count_instructions(const SpvModule *m, TracedKernel *k)
{
    for (const SpvFunction *f = m->functions; f; f = f->next) {
        k->instructions += length(&f->head) + length(&f->before_end) + (f->end != NULL);
        for (const SpvBlock *b = f->first; b; b = b->next, k->blocks++)
            k->instructions += length(&b->before) + length(&b->insts);
    }
}

static const SpvInst *entry_point(const SpvModule *m, const char *name)
{
    uint32_t n;
    for (const SpvInst *i = m->globals.first; i; i = i->next) {
        if (i->op == SpvOpEntryPoint && !strcmp(spv_string(i, 2, &n), name))
            return i;
    }
    return NULL;
}

static HeddleResult tracer_compile(DeviceBase *d, const DeviceCompile *c, Arena *arena,
                                   DeviceKernel **out, DiagSink *sink)
{
    uint32_t subgroups = c->subgroup_size ? c->subgroup_size : c->required_subgroup_size;
    bool has_buffer = false;
    for (uint32_t s = 0; s < c->n_slots; s++)
        has_buffer |= c->slots[s].kind == DEVICE_SLOT_BUFFER;
    if (!has_buffer || c->emit || (subgroups && subgroups != d->info.default_subgroup_size)) {
        spv_error(c->module, entry_point(c->module, c->entry), sink, NULL,
                  !has_buffer ? "'%s' has no buffer that the tracer could write to"
                  : c->emit ? "the tracer makes nothing of '%s' that could be kept"
                  : "'%s' asks for subgroups that the tracer does not have", c->entry);
        return HEDDLE_ERROR_UNSUPPORTED;
    }
    TracedKernel *k = NEW(arena, TracedKernel);
    k->base = (DeviceKernel){ .device = d, .slots = c->slots, .n_slots = c->n_slots,
                              .subgroup_size = d->info.default_subgroup_size,
                              .shared_bytes = c->shared_bytes, .push_bytes = c->push_bytes,
                              .cost = sizeof(*k) };
    for (int i = 0; i < 3; i++)
        k->base.local_size[i] = c->local_size[i] ? c->local_size[i] : c->wanted_size[i];
    count_instructions(c->module, k);
    *out = &k->base;
    return HEDDLE_OK;
}

static void tracer_release(DeviceKernel *k)
{
    (void)k;                    /* all of it is in the arena */
}

static HeddleResult tracer_dispatch(DeviceBase *d, DeviceDispatch *x, Arena *scratch,
                                    DiagSink *sink)
{
    (void)scratch;
    const TracedKernel *k = (const TracedKernel *)x->kernel;
    uint32_t words[N_WORDS] = { k->instructions, k->blocks };
    const DeviceBinding *to = NULL;
    x->start_ns = clock_ns();
    DeviceRegion r;
    for (uint32_t n = 0; device_region(x, &n, &r);)
        words[WORD_GROUPS] += r.groups[0] * r.groups[1] * r.groups[2];
    for (uint32_t s = 0; s < k->base.n_slots; s++) {
        bool buffers = k->base.slots[s].kind == DEVICE_SLOT_BUFFER;
        for (uint32_t i = 0; i < x->counts[s]; i++) {
            const DeviceBinding *b = &x->slots[s][i];
            words[WORD_DESCRIPTORS] += !buffers || b->base;
            to = !to && buffers && b->base ? b : to;
        }
    }
    x->end_ns = clock_ns();
    uint64_t address = to ? (uintptr_t)to->base : 0, offset = (address - first_address) % stride;
    if (!to || to->size < sizeof(words)) {
        x->fault = (DeviceFault){ .kind = DEVICE_FAULT_WRITE,
                                  .address = to ? address + to->size : 0 };
        diag(sink, DIAG_ERROR, NULL, NULL, "no buffer is bound that what was traced fits in");
        return HEDDLE_ERROR_RUN;
    }
    memcpy(((Tracer *)d)->blocks[(address - first_address) / stride] + offset, words,
           sizeof(words));
    return HEDDLE_OK;
}

static const DeviceOps tracer_ops = {
    .name = "tracer",
    .open = tracer_open, .close = tracer_close,
    .alloc = tracer_alloc, .free = tracer_free, .read = tracer_read, .write = tracer_write,
    .compile = tracer_compile, .release = tracer_release, .dispatch = tracer_dispatch,
};

static HeddleResult tracer_open(const DeviceOptions *options, DeviceBase **out, DiagSink *sink)
{
    (void)options;
    static const uint32_t subgroup_sizes[] = { 32 };
    Tracer *t = calloc(1, sizeof(*t));
    if (!t) {
        diag(sink, DIAG_ERROR, NULL, NULL, "out of memory");
        return HEDDLE_ERROR_MEMORY;
    }
    t->base = (DeviceBase){ .ops = &tracer_ops, .info = {
        .name = "tracer", .target = "", .subgroup_sizes = subgroup_sizes,
        .n_subgroup_sizes = COUNT_OF(subgroup_sizes), .default_subgroup_size = subgroup_sizes[0],
    } };
    pthread_mutex_init(&t->lock, NULL);
    *out = &t->base;
    return HEDDLE_OK;
}

/* ---- the test -------------------------------------------------------------------------------- */

static const char branches[] =
    "#version 460\n"
    "layout(local_size_x = 8) in;\n"
    "layout(binding = 1) buffer A { uint a[]; };\n"
    "layout(binding = 4) buffer B { uint b[]; } many[2];\n"
    "uint twice(uint x) { return x > 7 ? x + x : 2 * x; }\n"
    "void main() { for (uint i = 0; i < a[1]; i++) many[i & 1].b[i] = twice(a[i]); }\n";
static const char pure[] = "#version 460\nlayout(local_size_x = 8) in;\nvoid main() { }\n";
static const char arguments[] =
    "kernel void sum(int n, local int *scratch, global int *out) { out[get_global_id(0)] = n; }\n";

/* In subgroups of eight. */
static const char narrow[] =
    "__attribute__((intel_reqd_sub_group_size(8)))\n"
    "kernel void sum(global int *out) { out[get_global_id(0)] = 1; }\n";

typedef struct Fixture {
    HeddleLog *log;
    HeddleDevice *device;
    HeddleModule *module;
    HeddleKernel *kernel;
    HeddleBuffer *buffer;       /* of 64 bytes */
} Fixture;

static Fixture fixture(const char *text, HeddleLanguage language, HeddleResult compiled)
{
    Fixture f = { .log = heddle_log_new(NULL, NULL) };
    HeddleModuleOptions o = { .language = language };
    CHECK(device_new(&tracer_ops, &(HeddleDeviceOptions){0}, &f.device, f.log) == HEDDLE_OK);
    CHECK(heddle_module_new(text, strlen(text), "traced", &o, &f.module, f.log) == HEDDLE_OK);
    CHECK(heddle_kernel_new(f.device, f.module, NULL, &f.kernel, f.log) == compiled);
    CHECK(heddle_buffer_new_placed(f.device, 64, HEDDLE_PLACEMENT_DEVICE, &f.buffer, f.log) ==
          HEDDLE_OK);
    return f;
}

static void end(Fixture *f)
{
    heddle_buffer_free(f->buffer);
    heddle_kernel_free(f->kernel);
    heddle_module_free(f->module);
    heddle_device_free(f->device);
    heddle_log_free(f->log);
}

/* What the device should say of the kernel, from the module's words. */
static void count_words(const HeddleModule *m, uint32_t *instructions, uint32_t *blocks)
{
    size_t size;
    const uint32_t *words = heddle_module_spirv(m, &size);
    bool inside = false;
    *instructions = *blocks = 0;
    for (size_t i = 5; i < size / 4; i += words[i] >> 16) {
        uint32_t op = words[i] & 0xffff;
        inside |= op == SpvOpFunction;
        *instructions += inside;
        *blocks += op == SpvOpLabel;
        inside &= op != SpvOpFunctionEnd;
    }
}

TEST(traces_a_shader)
{
    Fixture f = fixture(branches, HEDDLE_LANGUAGE_GLSL, HEDDLE_OK);
    uint32_t instructions, blocks, words[16], before[16];
    count_words(f.module, &instructions, &blocks);
    CHECK(blocks > 6 && instructions > 40);
    for (uint32_t i = 0; i < 16; i++)
        before[i] = 100 + i;
    HeddleBuffer *other = NULL;
    CHECK(heddle_buffer_new_placed(f.device, 32, HEDDLE_PLACEMENT_DEVICE, &other, f.log) ==
          HEDDLE_OK);
    CHECK(heddle_buffer_write(f.buffer, 0, before, sizeof(before), f.log) == HEDDLE_OK);
    HeddleBinding b[] = { { .binding = 4, .index = 1, .buffer = other },
                          { .binding = 4, .buffer = other },
                          { .binding = 1, .buffer = f.buffer, .offset = 16 } };
    HeddleDispatch x = { .groups = { 2, 3, 5 }, .base_group = { 1, 0, 7 }, .bindings = b,
                         .n_bindings = COUNT_OF(b) };
    HeddleReport report = { .struct_size = sizeof(report) };
    CHECK(heddle_dispatch(f.kernel, &x, &report, f.log) == HEDDLE_OK);
    CHECK(report.seconds >= 0 && report.end > 0);
    CHECK(heddle_buffer_read(f.buffer, 0, words, sizeof(words), f.log) == HEDDLE_OK);
    for (uint32_t i = 0; i < 16; i++) {
        if (i < 4 || i >= 4 + N_WORDS)
            CHECK_EQ_U64(words[i], before[i]);
    }
    CHECK_EQ_U64(words[4 + WORD_INSTRUCTIONS], instructions);
    CHECK_EQ_U64(words[4 + WORD_BLOCKS], blocks);
    CHECK_EQ_U64(words[4 + WORD_GROUPS], 30);
    CHECK_EQ_U64(words[4 + WORD_DESCRIPTORS], 3);
    /* in the middle */
    uint32_t two[2] = { 0 };
    CHECK(heddle_buffer_read(f.buffer, 20, two, sizeof(two), f.log) == HEDDLE_OK);
    CHECK(two[0] == blocks && two[1] == 30);
    CHECK(heddle_buffer_read(f.buffer, 60, two, sizeof(two), f.log) == HEDDLE_ERROR_ARGUMENT);
    heddle_buffer_free(other);
    end(&f);
}

/* Ten invocations in workgroups of four are three workgroups; values and workgroup memory are
 * descriptors too. The runtime's queue calls the device's dispatch. */
TEST(traces_an_opencl_kernel_in_a_queue)
{
    Fixture f = fixture(arguments, HEDDLE_LANGUAGE_OPENCL, HEDDLE_OK);
    HeddleQueue *queue = NULL;
    CHECK(heddle_queue_new(f.device, &queue, f.log) == HEDDLE_OK);
    int32_t n = 3;
    HeddleBinding b[] = { { .binding = 0, .value = &n, .size = sizeof(n) },
                          { .binding = 1, .size = 64 }, { .binding = 2, .buffer = f.buffer } };
    HeddleDispatch x = { .global_size = { 10, 1, 1 }, .local_size = { 4, 1, 1 }, .bindings = b,
                         .n_bindings = COUNT_OF(b) };
    CHECK(heddle_queue_submit(queue, f.kernel, &x, NULL, f.log) == HEDDLE_OK);
    CHECK(heddle_queue_wait(queue, f.log) == HEDDLE_OK);
    uint32_t words[N_WORDS] = { 0 }, instructions, blocks;
    count_words(f.module, &instructions, &blocks);
    CHECK(heddle_buffer_read(f.buffer, 0, words, sizeof(words), f.log) == HEDDLE_OK);
    CHECK_EQ_U64(words[WORD_INSTRUCTIONS], instructions);
    CHECK_EQ_U64(words[WORD_BLOCKS], blocks);
    CHECK_EQ_U64(words[WORD_GROUPS], 3);
    CHECK_EQ_U64(words[WORD_DESCRIPTORS], 3);
    heddle_queue_free(queue);
    end(&f);
}

static bool says(const Fixture *f, const char *part)
{
    for (size_t i = 0; i < heddle_log_count(f->log); i++) {
        if (strstr(heddle_log_get(f->log, i)->text, part))
            return true;
    }
    return false;
}

TEST(refuses_kernels_without_buffers)
{
    Fixture f = fixture(pure, HEDDLE_LANGUAGE_GLSL, HEDDLE_ERROR_UNSUPPORTED);
    CHECK(!f.kernel && heddle_log_errors(f.log) == 1);
    CHECK(says(&f, "OpEntryPoint") && says(&f, "'main' has no buffer that the tracer could"));
    end(&f);
}

TEST(refuses_what_it_does_not_make)
{
    Fixture f = fixture(branches, HEDDLE_LANGUAGE_GLSL, HEDDLE_OK);
    HeddleKernel *k = f.kernel;
    HeddleKernelOptions forms = { .emit = HEDDLE_EMIT_NATIVE }, wide = { .subgroup_size = 64 };
    CHECK(heddle_kernel_new(f.device, f.module, &forms, &k, f.log) == HEDDLE_ERROR_UNSUPPORTED);
    CHECK(!k && says(&f, "the tracer makes nothing of 'main' that could be kept"));
    CHECK(heddle_kernel_new(f.device, f.module, &wide, &k, f.log) == HEDDLE_ERROR_UNSUPPORTED);
    CHECK(!k && says(&f, "the tracer device has no subgroups of 64"));
    end(&f);
    f = fixture(narrow, HEDDLE_LANGUAGE_OPENCL, HEDDLE_ERROR_UNSUPPORTED);
    CHECK(!f.kernel && says(&f, "'sum' asks for subgroups that the tracer does not have"));
    end(&f);
}

TEST(has_no_memory_that_the_program_sees)
{
    Fixture f = fixture(branches, HEDDLE_LANGUAGE_GLSL, HEDDLE_OK);
    CHECK(!heddle_buffer_data(f.buffer) && heddle_buffer_address(f.buffer) >= first_address);
    _Alignas(64) char bytes[64];
    HeddleBuffer *b = f.buffer;
    CHECK(heddle_buffer_new(f.device, 64, &b, f.log) == HEDDLE_ERROR_MEMORY && !b);
    CHECK(heddle_buffer_wrap(f.device, bytes, 64, &b, f.log) == HEDDLE_ERROR_UNSUPPORTED && !b);
    CHECK(says(&f, "the tracer device cannot reach the program's memory"));
    HeddleBuffer *more[MOST_BLOCKS] = { NULL };     /* one too many */
    for (uint32_t i = 0; i < MOST_BLOCKS; i++) {
        HeddleResult r = heddle_buffer_new_placed(f.device, 8, HEDDLE_PLACEMENT_DEVICE, &more[i],
                                                  f.log);
        CHECK(r == (i + 1 < MOST_BLOCKS ? HEDDLE_OK : HEDDLE_ERROR_MEMORY));
    }
    for (uint32_t i = 0; i < MOST_BLOCKS; i++)
        heddle_buffer_free(more[i]);
    end(&f);
}

/* The runtime says of a fault's address which binding it is beside, though it is the device's. */
TEST(says_that_a_buffer_is_too_small)
{
    Fixture f = fixture(branches, HEDDLE_LANGUAGE_GLSL, HEDDLE_OK);
    HeddleBinding b[] = { { .binding = 1, .buffer = f.buffer, .size = 12 },
                          { .binding = 4, .buffer = f.buffer, .offset = 48 },
                          { .binding = 4, .index = 1, .buffer = f.buffer, .offset = 48 } };
    HeddleDispatch x = { .bindings = b, .n_bindings = COUNT_OF(b) };
    CHECK(heddle_dispatch(f.kernel, &x, NULL, f.log) == HEDDLE_ERROR_RUN);
    CHECK(heddle_log_errors(f.log) == 1 && says(&f, "no buffer is bound that what was traced"));
    CHECK(says(&f, "byte 12 of set 0, binding 1 ('a'), which has 12 bytes"));
    end(&f);
}
