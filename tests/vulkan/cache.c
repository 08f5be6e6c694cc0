/* SPDX-License-Identifier: MIT
 *
 * Pipeline caches: what one process compiled the next one need not, and what is not this driver's
 * is not looked at.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/base.h"
#include "gpu.h"

static const char kernel[] =
    "#version 450\n"
    "layout(local_size_x = 16) in;\n"
    "layout(binding = 0) buffer B { float y[]; };\n"
    "void main() { uint i = gl_GlobalInvocationID.x; y[i] = sqrt(float(i)) + 1; }\n";

static const char special[] =
    "#version 450\n"
    "layout(constant_id = 0) const uint add = 0;\n"
    "layout(binding = 0) buffer B { uint y[]; };\n"
    "void main() { y[0] += add; }\n";

/* That kernel, which glslang compiles once for all devices. */
static VkResult program(Gpu *g, GpuProgram *p)
{
    static uint32_t *words;
    static size_t size;
    if (!words)
        words = gpu_spirv(kernel, &size);
    return words ? gpu_program(g, words, size, p) : VK_ERROR_UNKNOWN;
}

/* With a device of its own: a cache from `data`, the pipeline if that need not be compiled, and its
 * result checked. *out: the cache's data, for free(). */
static VkResult round_trip(const void *data, size_t size, bool compile, void **out,
                           size_t *out_size)
{
    Gpu g = { 0 };
    GpuBuffer b = { 0 };
    GpuProgram p = { .n_types = 1 };
    VkResult r = gpu_new(&g);
    if (r)
        return r;
    VkPipelineCacheCreateInfo info = { .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                       .initialDataSize = size, .pInitialData = data };
    CHECK(VK(CreatePipelineCache)(g.device, &info, NULL, &p.cache) == VK_SUCCESS);
    p.pipeline_flags = compile ? 0 : VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
    r = program(&g, &p);
    if (!r && !gpu_buffer(&g, 256, &b)) {
        gpu_write(&g, p.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, b.buffer, 0, VK_WHOLE_SIZE);
        VkCommandBuffer c = gpu_begin(&g);
        gpu_bind(c, &p);
        VK(CmdDispatch)(c, 4, 1, 1);
        CHECK(gpu_finish(&g, c) == VK_SUCCESS);
        CHECK_NEAR(((float *)b.data)[49], 8, 0);
    }
    if (out) {
        CHECK(VK(GetPipelineCacheData)(g.device, p.cache, out_size, NULL) == VK_SUCCESS);
        *out = malloc(*out_size);
        CHECK(VK(GetPipelineCacheData)(g.device, p.cache, out_size, *out) == VK_SUCCESS);
        size_t less = *out_size - 1;
        char *some = malloc(less);
        CHECK(VK(GetPipelineCacheData)(g.device, p.cache, &less, some) == VK_INCOMPLETE);
        CHECK(less >= 32 && less < *out_size);
        free(some);
    }
    gpu_buffer_free(&g, &b);
    gpu_program_free(&g, &p);
    VK(DestroyPipelineCache)(g.device, p.cache, NULL);
    gpu_free(&g);
    return r;
}

TEST(data_spares_compiling)
{
    void *data = NULL, *again = NULL;
    size_t size = 0, again_size = 0;
    CHECK(round_trip(NULL, 0, false, NULL, NULL) == VK_PIPELINE_COMPILE_REQUIRED);
    REQUIRE(round_trip(NULL, 0, true, &data, &size) == VK_SUCCESS);
    CHECK(size > 1000);
    CHECK(round_trip(data, size, false, &again, &again_size) == VK_SUCCESS);
    CHECK_EQ_U64(again_size, size);
    /* Every byte matters: what was changed is compiled again, and the result is right. */
    for (size_t i = 0; i < size; i += size / 23 + 1) {
        ((char *)data)[i] ^= 0x40;
        VkResult r = round_trip(data, size, false, NULL, NULL);
        CHECK(r == VK_PIPELINE_COMPILE_REQUIRED);
        ((char *)data)[i] ^= 0x40;
    }
    for (size_t n = 0; n < size; n += size / 11 + 1)
        CHECK(round_trip(data, n, false, NULL, NULL) == VK_PIPELINE_COMPILE_REQUIRED);
    free(data);
    free(again);
}

TEST(folder)
{
    char folder[] = "/tmp/heddle-cache-XXXXXX", command[64];
    REQUIRE(mkdtemp(folder));
    setenv("HEDDLE_CACHE", folder, 1);
    CHECK(round_trip(NULL, 0, false, NULL, NULL) == VK_PIPELINE_COMPILE_REQUIRED);
    CHECK(round_trip(NULL, 0, true, NULL, NULL) == VK_SUCCESS);
    CHECK(round_trip(NULL, 0, false, NULL, NULL) == VK_SUCCESS);
    unsetenv("HEDDLE_CACHE");
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

static VkPipelineCache cache_new(Gpu *g)
{
    VkPipelineCacheCreateInfo info = { .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO };
    VkPipelineCache c = VK_NULL_HANDLE;
    CHECK(VK(CreatePipelineCache)(g->device, &info, NULL, &c) == VK_SUCCESS);
    return c;
}

/* ---- tiers ----------------------------------------------------------------------------------- */

enum { INVOCATIONS = 1024 };

/* Of so many steps that it begins with code that was compiled fast. What counts is the vectors that
 * they fill; of doubles half the steps do. `precise`, since AArch64's second tier contracts what
 * its first does not. */
static char *large_kernel(void)
{
    enum { STEPS = 6000, LINE = 64 };
    char *text = malloc((STEPS + 8) * LINE), *at = text;
    at += sprintf(at, "#version 450\nlayout(local_size_x = 64) in;\n"
                  "layout(binding = 0) buffer B { float y[]; };\n"
                  "void main() { uint i = gl_GlobalInvocationID.x;\n"
                  "precise double a = i, b = 1 - a;\n");
    for (unsigned k = 0; k < STEPS; k++)
        at += sprintf(at, "a = a * 0.%ulf + b; b = b * 0.5 - a;\n", 1000 + k % 3000);
    sprintf(at, "y[i] = float(a - b); }\n");
    return text;
}

static size_t data_size(const Gpu *g, VkPipelineCache cache)
{
    size_t size = 0;
    CHECK(VK(GetPipelineCacheData)(g->device, cache, &size, NULL) == VK_SUCCESS);
    return size;
}

static void run_large(Gpu *g, const GpuProgram *p)
{
    VkCommandBuffer c = gpu_begin(g);
    gpu_bind(c, p);
    VK(CmdDispatch)(c, INVOCATIONS / 64, 1, 1);
    CHECK(gpu_finish(g, c) == VK_SUCCESS);
}

/* And leaves the processors to the second tier's compiler for twice as long. */
static void run_for_a_while(Gpu *g, const GpuProgram *p)
{
    enum { NS = 100000000 };
    uint64_t start = clock_ns();
    while (clock_ns() - start < NS)
        run_large(g, p);
    nanosleep(&(struct timespec){ .tv_nsec = 2 * NS }, NULL);
}

/* Creates the kernel with a device of its own, and runs it, if it must be compiled until there is
 * code worth keeping. */
static VkResult run_until_kept(const char *text, bool compile, uint32_t *result)
{
    Gpu g = { 0 };
    GpuBuffer b;
    VkResult r = gpu_new(&g);
    if (r)
        return r;
    GpuProgram p = { .n_types = 1, .cache = cache_new(&g) };
    size_t empty = data_size(&g, p.cache);
    p.pipeline_flags = compile ? 0 : VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
    r = gpu_program_glsl(&g, text, &p);
    if (!r && !gpu_buffer(&g, INVOCATIONS * sizeof *result, &b)) {
        gpu_write(&g, p.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, b.buffer, 0, VK_WHOLE_SIZE);
        CHECK((data_size(&g, p.cache) == empty) == compile); /* it begins with the first tier */
        run_large(&g, &p);
        while (data_size(&g, p.cache) == empty) /* for minutes in an emulator */
            run_for_a_while(&g, &p);
        run_large(&g, &p);
        CHECK(rmdir(getenv("HEDDLE_CACHE")) && errno == ENOTEMPTY); /* whatever ends the process */
        memcpy(result, b.data, INVOCATIONS * sizeof *result);
        gpu_buffer_free(&g, &b);
    }
    gpu_program_free(&g, &p);
    VK(DestroyPipelineCache)(g.device, p.cache, NULL);
    gpu_free(&g);
    return r;
}

/* What a large kernel begins with is not kept; what takes its place is, and the next process begins
 * with that. */
TEST(folder_gets_the_second_tier)
{
    char folder[] = "/tmp/heddle-cache-XXXXXX", command[64], *text = large_kernel();
    uint32_t before[INVOCATIONS] = { 0 }, after[INVOCATIONS] = { 1 };
    REQUIRE(mkdtemp(folder));
    setenv("HEDDLE_CACHE", folder, 1);
    CHECK(run_until_kept(text, true, before) == VK_SUCCESS);
    CHECK(run_until_kept(text, false, after) == VK_SUCCESS);
    CHECK(!memcmp(before, after, sizeof before));
    unsetenv("HEDDLE_CACHE");
    free(text);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

/* ---- of the process ------------------------------------------------------------------------- */

/* Whether there is a pipeline that adds `add`; unless `compile` it must not need compiling. */
static bool special_pipeline(Gpu *g, GpuProgram *p, uint32_t add, bool compile)
{
    VkSpecializationMapEntry entry = { 0, 0, 4 };
    VkSpecializationInfo spec = { 1, &entry, 4, &add };
    p->spec = &spec;
    p->pipeline_flags = compile ? 0 : VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
    return gpu_program_pipeline(g, p) == VK_SUCCESS;
}

/* Of kernels that no pipeline uses, those that were used last are kept, up to a bound. */
TEST(kernels_do_not_pile_up)
{
    enum { N = 24 };
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 1 };
    setenv("HEDDLE_KEEP", "2", 1);
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    unsetenv("HEDDLE_KEEP");
    REQUIRE(gpu_program_glsl(&g, special, &p) == VK_SUCCESS);
    VK(DestroyPipeline)(g.device, p.pipeline, NULL);
    REQUIRE(special_pipeline(&g, &p, 0, true));
    VkPipeline used = p.pipeline;
    for (uint32_t i = 1; i < N; i++) {
        CHECK(special_pipeline(&g, &p, i, true));
        VK(DestroyPipeline)(g.device, p.pipeline, NULL);
        CHECK(special_pipeline(&g, &p, 1, false)); /* always the youngest but one */
        VK(DestroyPipeline)(g.device, p.pipeline, NULL);
    }
    uint32_t kept = 0;
    bool last = true;
    for (uint32_t i = N - 1; i > 1; i--) {
        bool found = special_pipeline(&g, &p, i, false);
        CHECK(last || !found);
        last = found;
        kept += found;
        VK(DestroyPipeline)(g.device, p.pipeline, NULL);
    }
    CHECK(kept > 4 && kept < 16);
    CHECK(special_pipeline(&g, &p, 0, false)); /* the oldest, which is in use */
    VK(DestroyPipeline)(g.device, p.pipeline, NULL);
    p.pipeline = used;
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

/* Whether the feedback says that the program's cache had it. */
static bool is_hit(Gpu *g, GpuProgram p, VkPipelineCache cache)
{
    VkPipelineCreationFeedback whole = { 0 }, stage = { 0 };
    VkPipelineCreationFeedbackCreateInfo feedback = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO,
        .pPipelineCreationFeedback = &whole, .pipelineStageCreationFeedbackCount = 1,
        .pPipelineStageCreationFeedbacks = &stage };
    p.next = &feedback;
    p.cache = cache;
    CHECK(gpu_program_pipeline(g, &p) == VK_SUCCESS);
    VK(DestroyPipeline)(g->device, p.pipeline, NULL);
    CHECK(whole.flags & VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT && whole.duration);
    CHECK_EQ_U64(whole.flags, stage.flags);
    return whole.flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
}

/* What the driver keeps for itself is no hit of the program's cache; what was merged into it is. */
TEST(hits_and_merging)
{
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 1 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_program_glsl(&g, kernel, &p) == VK_SUCCESS);
    VkPipelineCache a = cache_new(&g), b = cache_new(&g), both = cache_new(&g);
    CHECK(!is_hit(&g, p, VK_NULL_HANDLE));
    CHECK(!is_hit(&g, p, a));
    CHECK(is_hit(&g, p, a));
    VkPipelineCache sources[] = { b, a };
    CHECK(VK(MergePipelineCaches)(g.device, both, 2, sources) == VK_SUCCESS);
    CHECK(is_hit(&g, p, both));
    CHECK(!is_hit(&g, p, b));
    for (int i = 0; i < 3; i++)
        VK(DestroyPipelineCache)(g.device, (VkPipelineCache[]){ a, b, both }[i], NULL);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 8 };

typedef struct Maker {
    Gpu *g;
    const GpuProgram *program;
    VkPipelineCache cache, own;
    uint32_t number;
} Maker;

/* Pipelines that others make too and such that nobody else does, into the cache of all and out of
 * it; it is read and merged from meanwhile. */
static void *make_pipelines(void *user)
{
    Maker *m = user;
    GpuProgram p = *m->program;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        size_t size = 0;
        p.cache = i % 3 ? m->cache : VK_NULL_HANDLE;
        CHECK(special_pipeline(m->g, &p, i % 2 ? i : 100 * m->number + i, true));
        VK(DestroyPipeline)(m->g->device, p.pipeline, NULL);
        CHECK(VK(GetPipelineCacheData)(m->g->device, m->cache, &size, NULL) == VK_SUCCESS);
        CHECK(VK(MergePipelineCaches)(m->g->device, m->own, 1, &m->cache) == VK_SUCCESS);
    }
    return NULL;
}

TEST(pipelines_from_many_threads)
{
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 1 };
    GpuBuffer b;
    pthread_t threads[THREADS];
    Maker makers[THREADS];
    setenv("HEDDLE_KEEP", "1", 1); /* others' kernels go meanwhile */
    REQUIRE(!gpu_new(&g) && !gpu_program_glsl(&g, special, &p) && !gpu_buffer(&g, 64, &b));
    unsetenv("HEDDLE_KEEP");
    VkPipelineCache all = cache_new(&g);
    for (uint32_t i = 0; i < THREADS; i++) {
        makers[i] = (Maker){ &g, &p, all, cache_new(&g), i };
        pthread_create(&threads[i], NULL, make_pipelines, &makers[i]);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        VK(DestroyPipelineCache)(g.device, makers[i].own, NULL);
    }
    VkPipeline first = p.pipeline;
    p.cache = all;
    CHECK(special_pipeline(&g, &p, 7, false));
    *(uint32_t *)b.data = 1;
    gpu_write(&g, p.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, b.buffer, 0, VK_WHOLE_SIZE);
    VkCommandBuffer c = gpu_begin(&g);
    gpu_bind(c, &p);
    VK(CmdDispatch)(c, 1, 1, 1);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    CHECK_EQ_U64(*(uint32_t *)b.data, 8);
    VK(DestroyPipeline)(g.device, first, NULL);
    VK(DestroyPipelineCache)(g.device, all, NULL);
    gpu_program_free(&g, &p);
    gpu_buffer_free(&g, &b);
    gpu_free(&g);
}

typedef struct Merges { VkDevice device; VkPipelineCache to, from; VkResult result; } Merges;

static void *merge_often(void *user)
{
    Merges *m = user;
    for (int i = 0; i < 2000 && !m->result; i++)
        m->result = VK(MergePipelineCaches)(m->device, m->to, 1, &m->from);
    return NULL;
}

/* VK_KHR_maintenance8: the driver minds who else uses the target, be it as a source. */
TEST(merging_both_ways)
{
    Gpu g = { 0 };
    GpuProgram p = { .n_types = 1 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS && gpu_program_glsl(&g, kernel, &p) == VK_SUCCESS);
    VkPipelineCache a = cache_new(&g), b = cache_new(&g);
    Merges there = { g.device, a, b, VK_SUCCESS }, back = { g.device, b, a, VK_SUCCESS };
    pthread_t other;
    CHECK(!is_hit(&g, p, a));
    REQUIRE(pthread_create(&other, NULL, merge_often, &there) == 0);
    merge_often(&back);
    pthread_join(other, NULL);
    CHECK(there.result == VK_SUCCESS && back.result == VK_SUCCESS);
    CHECK(is_hit(&g, p, b));
    VK(DestroyPipelineCache)(g.device, a, NULL);
    VK(DestroyPipelineCache)(g.device, b, NULL);
    gpu_program_free(&g, &p);
    gpu_free(&g);
}
