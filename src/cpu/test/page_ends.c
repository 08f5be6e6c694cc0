/* SPDX-License-Identifier: MIT
 *
 * Loads of lanes some of which are beyond a page that nobody may touch, at its beginning or at its
 * end: where a machine has no masks for elements of a size, what lies in one page is loaded as a
 * whole, and nothing else is.
 */
#include "run.h"

#include <sys/mman.h>

enum { PAGE = 4096, LOCAL = 128 };

static const struct { const char *name; uint32_t bytes; } types[] = {
    { "uint8_t", 1 }, { "uint16_t", 2 }, { "float16_t", 2 }, { "float", 4 }, { "uint64_t", 8 },
};

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
    uint32_t bytes;
} Copier;

/* Of lanes [first, last), where `a` is lane 0's element. */
static bool copies(const Copier *c, const uint8_t *a, uint32_t first, uint32_t last)
{
    uint8_t out[LOCAL * 8];
    DiagSink sink = { 0 };
    uint32_t push[2] = { first, last };
    memset(out, 0, sizeof out);
    DeviceBinding buffers[2] = { { out, sizeof out }, { (void *)a, PAGE } };
    const DeviceBinding *slots[2];
    for (uint32_t s = 0; s < 2; s++)
        slots[s] = &buffers[c->kernel->slots[s].binding];
    CpuDispatch d = { .kernel = c->kernel, .slots = slots, .push = push, .groups = { 1, 1, 1 } };
    bool good = cpu_dispatch(c->device, &d, &sink);
    uint32_t begin = first * c->bytes, n = (last - first) * c->bytes;
    bool others = begin + n < sizeof out && out[begin + n];
    return good && !memcmp(out + begin, a + begin, n) && !others;
}

static void all_places(const Copier *c, const uint8_t *page)
{
    for (uint32_t n = 1; n < LOCAL; n += n < 20 ? 1 : 9)
        for (uint32_t first = 1; first + n < LOCAL; first += 7) {
            const uint8_t *begin = page - first * c->bytes;
            const uint8_t *end = page + PAGE - (size_t)(first + n) * c->bytes;
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
    for (uint32_t t = 0; have_glslang() && t < COUNT_OF(types); t++) {
        SpvModule *m = glsl_module(&arena, arena_printf(&arena,
            "#version 460\n#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
            "layout(local_size_x = %u) in;\n"
            "layout(push_constant) uniform Push { uint first, last; };\n"
            "layout(std430, binding = 0) buffer O { %s o[]; };\n"
            "layout(std430, binding = 1) buffer A { %s a[]; };\n"
            "void main() { uint i = gl_LocalInvocationIndex; if (i >= first && i < last)\n"
            "    o[i] = a[i]; }\n", LOCAL, types[t].name, types[t].name), &sink);
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
