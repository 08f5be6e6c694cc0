/* SPDX-License-Identifier: MIT
 *
 * Kernels with images, in this folder, on both devices: cpu and reference, with descriptors made
 * here. For each image variable of a kernel there is an image of its dimensions with random size,
 * levels, layers, swizzle and texels, for each sampler one with random filters and address modes.
 * Results in `exact` and the images afterwards are equal bit by bit, those in `near` to rounding.
 * Which kernels there are is up to the folder: a new one is a new file.
 */
#include "base/test.h"
#include "cpu/cpu.h"
#include "reference/reference.h"
#include "runtime/internal.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#define FOLDER HEDDLE_SOURCE_DIR "/tests/images"

enum { N = 256, RESULTS = 256, MAX_VARIABLES = 32, MAX_COUNT = 4, ROUNDS = 12 };

typedef struct Memory {
    uint32_t input[16 * N], exact[RESULTS * N];
    float near[RESULTS * N];
} Memory;

/* A variable's images and samplers, the same twice: one to each device. */
typedef struct Slot {
    uint32_t binding, count;
    ImageDesc images[2][MAX_COUNT];
    SamplerDesc samplers[MAX_COUNT];
    ImageBinding bindings[2][MAX_COUNT];
} Slot;

static uint32_t below(Rng *r, uint32_t n) { return (uint32_t)(rng_u64(r) % n); }

/* ---- formats --------------------------------------------------------------------------------- */

/* SPIR-V's image formats as Vulkan's. */
static const uint32_t storage_formats[] = {
    [SpvImageFormatRgba32f] = 109,     [SpvImageFormatRgba16f] = 97,
    [SpvImageFormatR32f] = 100,        [SpvImageFormatRgba8] = 37,
    [SpvImageFormatRgba8Snorm] = 38,   [SpvImageFormatRg32f] = 103,
    [SpvImageFormatRg16f] = 83,        [SpvImageFormatR11fG11fB10f] = 122,
    [SpvImageFormatR16f] = 76,         [SpvImageFormatRgba16] = 91,
    [SpvImageFormatRgb10A2] = 64,      [SpvImageFormatRg16] = 77,
    [SpvImageFormatRg8] = 16,          [SpvImageFormatR16] = 70,
    [SpvImageFormatR8] = 9,            [SpvImageFormatRgba16Snorm] = 92,
    [SpvImageFormatRg16Snorm] = 78,    [SpvImageFormatRg8Snorm] = 17,
    [SpvImageFormatR16Snorm] = 71,     [SpvImageFormatR8Snorm] = 10,
    [SpvImageFormatRgba32i] = 108,     [SpvImageFormatRgba16i] = 96,
    [SpvImageFormatRgba8i] = 42,       [SpvImageFormatR32i] = 99,
    [SpvImageFormatRg32i] = 102,       [SpvImageFormatRg16i] = 82,
    [SpvImageFormatRg8i] = 21,         [SpvImageFormatR16i] = 75,
    [SpvImageFormatR8i] = 14,          [SpvImageFormatRgba32ui] = 107,
    [SpvImageFormatRgba16ui] = 95,     [SpvImageFormatRgba8ui] = 41,
    [SpvImageFormatR32ui] = 98,        [SpvImageFormatRgb10a2ui] = 68,
    [SpvImageFormatRg32ui] = 101,      [SpvImageFormatRg16ui] = 81,
    [SpvImageFormatRg8ui] = 20,        [SpvImageFormatR16ui] = 74,
    [SpvImageFormatR8ui] = 13,         [SpvImageFormatR64ui] = 110,
    [SpvImageFormatR64i] = 111,
};
static const uint32_t floats[] = { 9, 10, 2, 4, 6, 16, 37, 38, 43, 44, 50, 64, 70, 76, 83, 97,
                                   100, 103, 109, 122, 123 };
static const uint32_t signs[] = { 14, 21, 42, 75, 82, 96, 99, 102, 108 };
static const uint32_t wholes[] = { 13, 20, 41, 68, 74, 81, 95, 98, 101, 107 };
static const uint32_t depths[] = { 124, 125, 126 };

static const TexelFormat *choose_format(Rng *r, const SpvImageType *t, bool compares)
{
    if (t->format)
        return texel_format(storage_formats[t->format]);
    if (compares)
        return texel_format(depths[below(r, COUNT_OF(depths))]);
    if (t->sampled_type->kind == SPV_FLOAT && t->sampled == 2)
        return texel_format(floats[below(r, COUNT_OF(floats) - 1)]);
    if (t->sampled_type->kind == SPV_FLOAT)
        return texel_format(floats[below(r, COUNT_OF(floats))]);
    return texel_format(t->sampled_type->is_signed ? signs[below(r, COUNT_OF(signs))]
                                                   : wholes[below(r, COUNT_OF(wholes))]);
}

/* ---- images ---------------------------------------------------------------------------------- */

static void fill_texels(Rng *r, const ImageDesc *m)
{
    const TexelFormat *f = m->format;
    for (uint64_t at = 0; at + f->bytes <= m->size; at += f->bytes) {
        uint32_t x[4] = { 0 };
        for (int c = 0; c < 4; c++)
            x[c] = texel_is_integer(f) ? (uint32_t)rng_u64(r)
                                       : texel_bits((float)(rng_uniform(r) * 1.2 - 0.1));
        texel_store(f, m->data + at, x);
    }
}

/* Levels behind one another, each with rows, slices and layers a little apart. */
static void place_levels(ImageDesc *m, const uint32_t size[3])
{
    uint64_t at = 0, b = m->format->bytes;
    for (uint32_t k = 0; k < m->n_levels; k++) {
        ImageLevel *v = &m->levels[k];
        for (int c = 0; c < 3; c++)
            v->size[c] = MAX(size[c] >> k, 1);
        v->row = (v->size[0] + 1) * b;
        v->slice = v->row * v->size[1] + b;
        v->layer = v->slice * v->size[2] * m->n_samples + b;
        v->base = (uint8_t *)(uintptr_t)at; /* offsets, until there is memory */
        at += v->layer * m->n_layers;
    }
    m->size = at;
}

static void bind_memory(ImageDesc *m, uint8_t *data)
{
    for (uint32_t k = 0; k < m->n_levels; k++)
        m->levels[k].base = data + (uintptr_t)m->levels[k].base;
    m->data = data;
}

static void make_image(Arena *a, Rng *r, const SpvImageType *t, bool compares, ImageDesc *two)
{
    uint32_t size[3] = { 1, 1, 1 };
    ImageDesc m = { .format = choose_format(r, t, compares), .dim = t->dim, .n_levels = 1,
                    .n_layers = 1, .n_samples = 1, .swizzle = { 0, 1, 2, 3 } };
    uint32_t n = t->dim == SpvDimCube ? 2 : t->n_space;
    for (uint32_t k = 0; k < n; k++)
        size[k] = 1 + below(r, t->dim == SpvDimBuffer ? 300 : below(r, 3) ? 33 : 5);
    if (t->dim == SpvDimCube)
        size[1] = size[0];
    if (t->arrayed)
        m.n_layers = 1 + below(r, 4);
    m.n_layers *= t->dim == SpvDimCube ? 6 : 1;
    if (t->multisampled)
        m.n_samples = 2u << below(r, 3);
    if (t->sampled == 1 && t->dim != SpvDimBuffer) {
        m.n_levels = t->multisampled ? 1 : 1 + below(r, 6);
        for (int c = 0; c < 4 && !compares && below(r, 2); c++)
            m.swizzle[c] = (uint8_t)below(r, 6);
    }
    place_levels(&m, size);
    two[0] = two[1] = m;
    for (int k = 0; k < 2; k++)
        bind_memory(&two[k], arena_alloc(a, m.size));
    fill_texels(r, &two[0]);
    memcpy(two[1].data, two[0].data, m.size);
}

static void make_sampler(Rng *r, const SpvImageType *t, bool border_of_integers, SamplerDesc *s)
{
    *s = (SamplerDesc){ .mag_linear = below(r, 2), .min_linear = below(r, 2),
                        .mip_linear = below(r, 2), .compare = (uint8_t)below(r, 8),
                        .bias = (float)(rng_uniform(r) - 0.5) * below(r, 2),
                        .min_lod = below(r, 3) ? 0 : 0.75f, .max_lod = below(r, 3) ? 1000 : 1.5f };
    for (int k = 0; k < 3; k++)
        s->address[k] = (uint8_t)below(r, 5);
    for (int k = 0; k < 4; k++)
        s->border[k] = border_of_integers ? below(r, 9) : texel_bits((float)below(r, 5) / 4);
    s->unnormalized = t->dim == SpvDim2D && !t->arrayed && !below(r, 6);
}

/* ---- a kernel's variables -------------------------------------------------------------------- */

static const SpvType *variable_type(SpvModule *m, const SpvInst *i, uint32_t *count)
{
    const SpvType *t = spv_type_of(m, i->id)->element;
    *count = t->kind == SPV_ARRAY ? t->count : 1;
    return t->kind == SPV_ARRAY ? t->element : t;
}

static bool make_slot(Arena *a, Rng *r, SpvModule *m, const SpvInst *i, bool compares, Slot *s)
{
    SpvImageType image = { .sampled = 0 };
    const SpvType *t = variable_type(m, i, &s->count);
    bool has_image = spv_image_type(m, t, &image) != NULL;
    if (!has_image && t->kind != SPV_SAMPLER)
        return false;
    s->binding = *spv_decoration(m, i->id, -1, SpvDecorationBinding, NULL);
    for (uint32_t k = 0; k < s->count; k++) {
        ImageDesc two[2] = { { 0 } };
        bool nothing = has_image && !below(r, 16); /* a null descriptor */
        if (has_image)
            make_image(a, r, &image, compares, two);
        make_sampler(r, &image, has_image && image.sampled_type->kind == SPV_INT, &s->samplers[k]);
        for (int d = 0; d < 2; d++) {
            s->images[d][k] = two[d];
            s->bindings[d][k] = (ImageBinding){
                has_image && !nothing ? &s->images[d][k] : NULL,
                t->kind == SPV_IMAGE ? NULL : &s->samplers[k] };
        }
    }
    return true;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static const Slot *slot_at(const Slot *slots, uint32_t n, uint32_t binding)
{
    for (uint32_t k = 0; k < n; k++)
        if (slots[k].binding == binding)
            return &slots[k];
    return NULL;
}

static bool run_cpu(const SpvModule *m, uint32_t subgroup, DeviceBinding buffers[3],
                    const Slot *slots, uint32_t n, DiagSink *sink)
{
    CpuTarget target;
    if (!cpu_target(&target, NULL, sink))
        return false;
    PassOptions passes = { .optimise = true };
    CpuOptions o = { .subgroup_size = subgroup, .optimise = true, .robust = subgroup == 8 };
    CpuKernel *k = cpu_compile(m, &target, &passes, &o, sink);
    CpuDevice *device = cpu_device_new(1, true, sink);
    const DeviceBinding *bound[MAX_VARIABLES];
    uint32_t counts[MAX_VARIABLES];
    for (uint32_t s = 0; k && s < k->n_slots; s++) {
        const Slot *of = slot_at(slots, n, k->slots[s].binding);
        bound[s] = of ? (const void *)of->bindings[0] : &buffers[k->slots[s].binding];
        counts[s] = of ? of->count : 1;
    }
    CpuDispatch d = { .kernel = k, .slots = bound, .counts = counts, .groups = { 1, 1, 1 } };
    bool good = k && device && cpu_dispatch(device, &d, sink);
    cpu_device_free(device);
    cpu_kernel_free(k);
    cpu_target_free(&target);
    return good;
}

static bool run_reference(Arena *a, const SpvModule *m, uint32_t subgroup, DeviceBinding buffers[3],
                          const Slot *slots, uint32_t n, DiagSink *sink)
{
    RefBinding *all = NEW_ARRAY(a, RefBinding, 3 + n * MAX_COUNT);
    RefDispatch d = { .bindings = all, .groups = { 1, 1, 1 }, .subgroup_size = subgroup };
    for (uint32_t k = 0; k < 3; k++)
        all[d.n_bindings++] = (RefBinding){ .binding = k, .base = buffers[k].base,
                                            .size = buffers[k].size };
    for (uint32_t s = 0; s < n; s++)
        for (uint32_t k = 0; k < slots[s].count; k++)
            all[d.n_bindings++] = (RefBinding){ .binding = slots[s].binding, .element = k,
                                                .image = slots[s].bindings[1][k] };
    return ref_dispatch(a, spv_clone(a, m), &d, NULL, sink);
}

static void fill_input(Rng *r, uint32_t *input)
{
    for (uint32_t k = 0; k < 8 * N; k++) {
        float x = (float)(rng_uniform(r) * 4 - 1.5);
        x = below(r, 8) ? x : (float)((int)below(r, 9) - 4) / 2;
        input[k] = texel_bits(x);
        input[8 * N + k] = (uint32_t)rng_u64(r) >> below(r, 31);
    }
}

static bool is_near(float a, float b)
{
    return a == b || (isnan(a) && isnan(b)) || fabsf(a - b) <= 1e-6f * fmaxf(fabsf(a), 1);
}

static void compare(const char *what, const Memory *cpu, const Memory *reference, const Slot *slots,
                    uint32_t n)
{
    for (uint32_t k = 0; k < RESULTS * N; k++) {
        if (cpu->exact[k] != reference->exact[k])
            test_fail(__FILE__, __LINE__, "%s: invocation %u, put %u is %#x, not %#x", what, k % N,
                      k / N, cpu->exact[k], reference->exact[k]);
        if (!is_near(cpu->near[k], reference->near[k]))
            test_fail(__FILE__, __LINE__, "%s: invocation %u, about %u is %g, not %g", what, k % N,
                      k / N, (double)cpu->near[k], (double)reference->near[k]);
    }
    for (uint32_t s = 0; s < n; s++)
        for (uint32_t k = 0; k < slots[s].count; k++) {
            const ImageDesc *a = &slots[s].images[0][k], *b = &slots[s].images[1][k];
            if (a->data && memcmp(a->data, b->data, a->size))
                test_fail(__FILE__, __LINE__, "%s: the images at binding %u[%u] differ", what,
                          slots[s].binding, k);
        }
}

static void run_round(const char *name, SpvModule *m, bool compares, uint32_t round)
{
    static const uint32_t subgroups[] = { 32, 8, 64, 16, 128 };
    Arena a = { 0 };
    Rng r = { 1000 + round };
    TestDiags said = TEST_DIAGS(said);
    Slot *slots = NEW_ARRAY(&a, Slot, MAX_VARIABLES);
    Memory *cpu = NEW(&a, Memory), *reference = NEW(&a, Memory);
    uint32_t n = 0, subgroup = subgroups[round % COUNT_OF(subgroups)];
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpVariable && n < MAX_VARIABLES)
            n += make_slot(&a, &r, m, i, compares, &slots[n]);
    fill_input(&r, cpu->input);
    *reference = *cpu;
    bool good = true;
    for (int d = 0; d < 2 && good; d++) {
        Memory *x = d ? reference : cpu;
        DeviceBinding buffers[3] = { { x->input, sizeof x->input }, { x->exact, sizeof x->exact },
                                  { x->near, sizeof x->near } };
        good = d ? run_reference(&a, m, subgroup, buffers, slots, n, &said.sink)
                 : run_cpu(m, subgroup, buffers, slots, n, &said.sink);
    }
    const char *what = arena_printf(&a, "%s, round %u, subgroups of %u", name, round, subgroup);
    if (!good)
        test_fail(__FILE__, __LINE__, "%s: %s", what, said.text);
    else
        compare(what, cpu, reference, slots, n);
    arena_free(&a);
}

TEST(kernels)
{
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    DIR *dir = opendir(FOLDER);
    uint32_t n = 0;
    const char *only = getenv("HEDDLE_IMAGES");
    REQUIRE(dir);
    for (struct dirent *f; (f = readdir(dir));) {
        char path[1024];
        const char *dot = strrchr(f->d_name, '.');
        HeddleModule *m = NULL;
        Arena a = { 0 };
        if (!dot || (strcmp(dot, ".comp") && strcmp(dot, ".spvasm")) ||
            (only && !strstr(f->d_name, only)))
            continue;
        snprintf(path, sizeof path, FOLDER "/%s", f->d_name);
        CHECK(heddle_module_from_file(path, NULL, &m, log) == HEDDLE_OK);
        bool compares = strstr(f->d_name, "shadow") != NULL;
        for (uint32_t round = 0; m && round < ROUNDS; round++)
            run_round(f->d_name, spv_clone(&a, m->spv), compares, round);
        arena_free(&a);
        heddle_module_free(m);
        n++;
    }
    closedir(dir);
    heddle_log_free(log);
    CHECK(n > 0);
}
