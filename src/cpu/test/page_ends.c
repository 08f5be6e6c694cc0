/* SPDX-License-Identifier: MIT
 *
 * Loads of lanes some of which are beyond a page that nobody may touch, at its beginning or at its
 * end, or would be if they were not clamped to it: where a machine has no masks for elements of a
 * size, what lies in one page is loaded as a whole, and nothing else is.
 */
#include "run.h"

#include <sys/mman.h>

enum { PAGE = 4096, LOCAL = 128 };

static const struct { const char *name; uint32_t bytes; } types[] = {
    { "uint8_t", 1 }, { "uint16_t", 2 }, { "float16_t", 2 }, { "float", 4 }, { "uint64_t", 8 },
};

/* Which lanes load, and what, in GLSL and in C. */
static const char *const loads[] = {
    "if (i >= first && i < last) o[i] = a[i];",
    "o[i] = a[clamp(i, first, last - 1)];",
    "if ((i ^ first) % 5 < 2) o[i] = a[clamp(i, first, last - 1)];",
};

/* Lanes that follow one another, and rows of 16 that as far as the compiler sees need not. */
static const char *const indices[] = {
    "int(gl_LocalInvocationIndex)",
    "int(gl_LocalInvocationID.y) * width + int(gl_LocalInvocationID.x)",
};

static bool is_active(uint32_t load, int32_t i, int32_t first, int32_t last)
{
    return load == 0 ? i >= first && i < last : load == 1 || (i ^ first) % 5 < 2;
}

static const char *const machines[] = { NULL, "x86-64-v4", "x86-64-v3", "x86-64-v2" };

static uint8_t *page_between(void)
{
    uint8_t *all = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool open = all != MAP_FAILED && !mprotect(all + PAGE, PAGE, PROT_READ | PROT_WRITE);
    for (uint32_t k = 0; open && k < PAGE; k++)
        all[PAGE + k] = (uint8_t)(k * 167 % 120 + 1); /* no NaN */
    return open ? all + PAGE : NULL;
}

typedef struct Copier {
    CpuDevice *device;
    CpuKernel *kernel;
    uint32_t bytes, load;
} Copier;

/* Of elements [first, last), where `a` is element 0. */
static bool copies(const Copier *c, const uint8_t *a, int32_t first, int32_t last)
{
    uint8_t out[LOCAL * 8], expected[LOCAL * 8];
    DiagSink sink = { 0 };
    int32_t push[3] = { first, last, 16 };
    memset(out, 0, sizeof out);
    memset(expected, 0, sizeof expected);
    for (int32_t i = 0; i < LOCAL; i++)
        if (is_active(c->load, i, first, last))
            memcpy(expected + (uint32_t)i * c->bytes,
                   a + MIN(MAX(i, first), last - 1) * (int32_t)c->bytes, c->bytes);
    DeviceBinding buffers[2] = { { out, sizeof out }, { (void *)a, PAGE } };
    const DeviceBinding *slots[2];
    for (uint32_t s = 0; s < 2; s++)
        slots[s] = &buffers[c->kernel->slots[s].binding];
    CpuDispatch d = { .kernel = c->kernel, .slots = slots, .push = push, .groups = { 1, 1, 1 } };
    return cpu_dispatch(c->device, &d, &sink) && !memcmp(out, expected, LOCAL * c->bytes);
}

static void all_places(const Copier *c, const uint8_t *page)
{
    for (int32_t n = 1, bytes = (int32_t)c->bytes; n < LOCAL; n += n < 20 ? 1 : 9)
        for (int32_t first = 1; first + n < LOCAL; first += 7) {
            const uint8_t *begin = page - first * bytes;
            const uint8_t *end = page + PAGE - (first + n) * bytes;
            CHECK(copies(c, begin, first, first + n));
            CHECK(copies(c, end, first, first + n));
        }
}

TEST(nothing_beyond_a_page_is_loaded)
{
    const uint8_t *page = page_between();
    DiagSink sink = { 0 };
    Arena arena = { 0 };
    Copier c = { .device = cpu_device_new(1, true, &sink) };
    REQUIRE(page && c.device);
    enum { LOADS = COUNT_OF(loads), INDICES = COUNT_OF(indices) };
    for (uint32_t v = 0; have_glslang() && v < COUNT_OF(types) * LOADS * INDICES; v++) {
        uint32_t t = v / LOADS / INDICES;
        c.load = v % LOADS;
        SpvModule *m = glsl_module(&arena, arena_printf(&arena,
            "#version 460\n#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
            "layout(local_size_x = 16, local_size_y = %u) in;\n"
            "layout(push_constant) uniform Push { int first, last, width; };\n"
            "layout(std430, binding = 0) buffer O { %s o[]; };\n"
            "layout(std430, binding = 1) buffer A { %s a[]; };\n"
            "void main() { int i = %s; %s }\n", LOCAL / 16, types[t].name, types[t].name,
            indices[v / LOADS % INDICES], loads[c.load]), &sink);
        c.bytes = types[t].bytes;
        for (uint32_t k = 0; m && k < COUNT_OF(machines) * 2; k++) {
            CpuTarget target;
            PassOptions passes = { .optimise = true };
            CpuOptions o = { .subgroup_size = k % 2 ? 64 : 16, .optimise = true,
                             .tier = CPU_TIER_FULL };
            if (!cpu_target(&target, machines[k / 2], &sink))
                continue; /* not this machine */
            c.kernel = cpu_compile(m, &target, &passes, &o, &sink);
            CHECK(c.kernel != NULL);
            if (c.kernel)
                all_places(&c, page);
            cpu_kernel_free(c.kernel);
            cpu_target_free(&target);
        }
    }
    cpu_device_free(c.device);
    arena_free(&arena);
}
