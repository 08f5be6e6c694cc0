/* SPDX-License-Identifier: MIT
 *
 * Images, samplers and texel buffers through the Vulkan driver: every format that it offers, every
 * filter and address mode against numbers computed here in double, every kind of descriptor.
 */
#include "gpu.h"

#include <math.h>

#include "base/image.h"

enum { MAX_BINDINGS = 6, N = 256 };

/* What a test binds: up to that many descriptors of one, or `count` of one, each. */
typedef struct Bind {
    VkDescriptorType type;
    uint32_t count;             /* 0: 1 */
    const VkSampler *immutable;
    VkDescriptorImageInfo images[4];
    VkDescriptorBufferInfo buffer;
    VkBufferView texels;
} Bind;

typedef struct Bench {
    Gpu gpu;
    GpuProgram program;
    GpuBuffer out;
} Bench;

/* ---- descriptors ----------------------------------------------------------------------------- */

static VkResult bench_layout(Bench *t, const Bind *binds, uint32_t n)
{
    VkDescriptorSetLayoutBinding bindings[MAX_BINDINGS] = { 0 };
    for (uint32_t i = 0; i < n; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){
            i, binds[i].type, binds[i].count ? binds[i].count : 1, VK_SHADER_STAGE_COMPUTE_BIT,
            binds[i].immutable };
    VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = n,
        .flags = t->program.flags, .pBindings = bindings };
    VkResult r = VK(CreateDescriptorSetLayout)(t->gpu.device, &set, NULL, &t->program.set_layout);
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1,
        .pSetLayouts = &t->program.set_layout };
    return r ? r : VK(CreatePipelineLayout)(t->gpu.device, &layout, NULL, &t->program.layout);
}

static VkWriteDescriptorSet write_of(const Bind *b, VkDescriptorSet set, uint32_t binding)
{
    return (VkWriteDescriptorSet){
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .dstBinding = binding,
        .descriptorCount = b->count ? b->count : 1, .descriptorType = b->type,
        .pImageInfo = b->images, .pBufferInfo = &b->buffer, .pTexelBufferView = &b->texels };
}

static void bench_write(Bench *t, const Bind *binds, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        VkWriteDescriptorSet w = write_of(&binds[i], t->program.set, i);
        if (binds[i].type != VK_DESCRIPTOR_TYPE_SAMPLER || !binds[i].immutable)
            VK(UpdateDescriptorSets)(t->gpu.device, 1, &w, 0, NULL);
    }
}

/* The program and a set of those descriptors. */
static bool bench_program(Bench *t, const char *glsl, const Bind *binds, uint32_t n)
{
    size_t size = 0;
    uint32_t *words = gpu_spirv(glsl, &size);
    VkShaderModuleCreateInfo module = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                        .codeSize = size, .pCode = words };
    VkResult r = words ? bench_layout(t, binds, n) : VK_ERROR_UNKNOWN;
    if (!r)
        r = VK(CreateShaderModule)(t->gpu.device, &module, NULL, &t->program.module);
    free(words);
    if (!r)
        r = gpu_program_pipeline(&t->gpu, &t->program);
    VkDescriptorType types[MAX_BINDINGS];
    for (uint32_t i = 0; i < n; i++)
        types[i] = binds[i].type;
    t->program.types = types;
    t->program.n_types = n;
    if (!r)
        r = gpu_program_set(&t->gpu, &t->program);
    t->program.types = NULL;
    if (!r && t->program.set)
        bench_write(t, binds, n);
    return !r || test_fail(__FILE__, __LINE__, "VkResult %d", r);
}

static bool bench_run(Bench *t, uint32_t x, uint32_t y)
{
    VkCommandBuffer c = gpu_begin(&t->gpu);
    gpu_bind(c, &t->program);
    VK(CmdDispatch)(c, x, y, 1);
    return gpu_finish(&t->gpu, c) == VK_SUCCESS;
}

static void bench_end_program(Bench *t)
{
    gpu_program_free(&t->gpu, &t->program);
    t->program = (GpuProgram){ 0 };
}

static bool bench_new(Bench *t, uint64_t out_bytes)
{
    t->gpu.robust = true;       /* for null descriptors */
    VkResult r = gpu_new(&t->gpu);
    if (!r)
        r = gpu_buffer(&t->gpu, out_bytes, &t->out);
    return !r || test_fail(__FILE__, __LINE__, "VkResult %d", r);
}

static void bench_free(Bench *t)
{
    gpu_buffer_free(&t->gpu, &t->out);
    bench_end_program(t);
    gpu_free(&t->gpu);
}

static Bind buffer_bind(const GpuBuffer *b)
{
    return (Bind){ .type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                   .buffer = { b->buffer, 0, VK_WHOLE_SIZE } };
}

/* ---- images ---------------------------------------------------------------------------------- */

typedef struct Picture {
    VkImage image;
    VkDeviceMemory memory;
    VkImageView view;
    VkExtent3D size;
    uint32_t levels, layers, samples; /* samples: 0 is 1 */
    VkFormat format;
    uint8_t *data;
} Picture;

static bool picture_new(Gpu *g, Picture *p, VkImageViewType type)
{
    bool cube = type == VK_IMAGE_VIEW_TYPE_CUBE || type == VK_IMAGE_VIEW_TYPE_CUBE_ARRAY;
    const VkImageType dim = p->size.depth > 1    ? VK_IMAGE_TYPE_3D
                            : p->size.height > 1 ? VK_IMAGE_TYPE_2D
                                                 : VK_IMAGE_TYPE_1D;
    VkImageUsageFlags usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                              VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT;
    VkFormatProperties offered;
    VK(GetPhysicalDeviceFormatProperties)(g->physical, p->format, &offered);
    if (!(offered.linearTilingFeatures & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT))
        usage &= ~(VkFlags)VK_IMAGE_USAGE_STORAGE_BIT;
    VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = dim, .format = p->format,
        .flags = cube ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0, .extent = p->size,
        .mipLevels = p->levels, .arrayLayers = p->layers, .samples = MAX(p->samples, 1u),
        .tiling = p->samples ? VK_IMAGE_TILING_OPTIMAL : VK_IMAGE_TILING_LINEAR, .usage = usage };
    VkImageFormatProperties most;
    bool fits = !VK(GetPhysicalDeviceImageFormatProperties)(
        g->physical, p->format, info.imageType, info.tiling, info.usage, info.flags, &most);
    if (!fits || !(most.sampleCounts & info.samples) ||
        VK(CreateImage)(g->device, &info, NULL, &p->image))
        return test_fail(__FILE__, __LINE__, "format %d: no image", p->format);
    VkMemoryRequirements need;
    VK(GetImageMemoryRequirements)(g->device, p->image, &need);
    VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .allocationSize = need.size };
    void *data;
    if (VK(AllocateMemory)(g->device, &memory, NULL, &p->memory) ||
        VK(BindImageMemory)(g->device, p->image, p->memory, 0) ||
        VK(MapMemory)(g->device, p->memory, 0, VK_WHOLE_SIZE, 0, &data))
        return test_fail(__FILE__, __LINE__, "no memory");
    p->data = data;
    uint32_t aspect = texel_format(p->format)->aspect;
    VkImageViewCreateInfo view = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, .image = p->image, .viewType = type,
        .format = p->format,
        .subresourceRange = { aspect, 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS } };
    VkImageMemoryBarrier ready = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER, .image = p->image,
        .newLayout = VK_IMAGE_LAYOUT_GENERAL, .subresourceRange = view.subresourceRange };
    VkCommandBuffer c = gpu_begin(g);
    VK(CmdPipelineBarrier)(c, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                           VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 0, NULL, 0, NULL, 1, &ready);
    return (!gpu_finish(g, c) && !VK(CreateImageView)(g->device, &view, NULL, &p->view)) ||
           test_fail(__FILE__, __LINE__, "no view");
}

static void picture_free(Gpu *g, Picture *p)
{
    VK(DestroyImageView)(g->device, p->view, NULL);
    VK(DestroyImage)(g->device, p->image, NULL);
    VK(FreeMemory)(g->device, p->memory, NULL);
}

/* One level of one layer, by the layout that the driver reports. */
static uint8_t *picture_at(Gpu *g, const Picture *p, uint32_t level, uint32_t layer)
{
    VkImageSubresource s = { VK_IMAGE_ASPECT_COLOR_BIT, level, layer };
    VkSubresourceLayout at;
    VK(GetImageSubresourceLayout)(g->device, p->image, &s, &at);
    return p->data + at.offset;
}

static Bind image_bind(VkDescriptorType type, const Picture *p, VkSampler s)
{
    return (Bind){ .type = type, .images = { { s, p->view, VK_IMAGE_LAYOUT_GENERAL } } };
}

/* ---- formats --------------------------------------------------------------------------------- */

static const VkFormat formats[] = {
#define TEXEL(name, number, ...) VK_FORMAT_##name,
#include "base/texel.def"
};

/* Copies `from` to `to` by a kernel, which also says what it fetched. */
static const char copy_kernel[] =
    "#version 460\n"
    "#extension GL_EXT_shader_image_load_formatted : require\n"
    "#extension GL_EXT_samplerless_texture_functions : require\n"
    "layout(local_size_x = 16, local_size_y = 4) in;\n"
    "layout(binding = 0) buffer Out { %svec4 fetched[64]; };\n"
    "layout(binding = 1) uniform %stexture2D texels;\n"
    "%s"
    "void main() {\n"
    "    ivec2 p = ivec2(gl_LocalInvocationID.xy);\n"
    "    fetched[p.y * 16 + p.x] = texelFetch(texels, p, 0);\n"
    "%s}\n";
static const char stores[] =
    "layout(binding = 2) uniform %simage2D from;\n"
    "layout(binding = 3) uniform writeonly %simage2D to;\n";

/* A program for each kind of number, kept for the next format. */
typedef struct Programs { GpuProgram all[3][2]; } Programs;

static bool copy_program(Bench *t, Programs *programs, int kind, bool stored, const Bind *binds)
{
    static const char *const prefixes[] = { "", "u", "i" };
    const char *prefix = prefixes[kind];
    char declared[256] = "", source[1024];
    t->program = programs->all[kind][stored];
    if (t->program.pipeline) {
        bench_write(t, binds, stored ? 4 : 2);
        return true;
    }
    if (stored)
        snprintf(declared, sizeof declared, stores, prefix, prefix);
    snprintf(source, sizeof source, copy_kernel, prefix, prefix, declared,
             stored ? "    imageStore(to, p, imageLoad(from, p));\n" : "");
    bool good = bench_program(t, source, binds, stored ? 4 : 2);
    programs->all[kind][stored] = t->program;
    return good;
}

static void check_format(Bench *t, Programs *programs, VkFormat format, Rng *rng)
{
    Picture from = { .format = format, .size = { 16, 4, 1 }, .levels = 1, .layers = 1 }, to = from;
    const TexelFormat *f = texel_format(format);
    VkFormatProperties offered;
    VK(GetPhysicalDeviceFormatProperties)(t->gpu.physical, format, &offered);
    bool stored = offered.optimalTilingFeatures & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT;
    int kind = f->kind == TEXEL_UINT ? 1 : f->kind == TEXEL_SINT ? 2 : 0;
    if (!picture_new(&t->gpu, &from, VK_IMAGE_VIEW_TYPE_2D) ||
        !picture_new(&t->gpu, &to, VK_IMAGE_VIEW_TYPE_2D))
        return;
    uint32_t x[64][4];
    for (int k = 0; k < 64; k++) { /* what the format has, without NaNs */
        uint32_t in[4];
        for (int c = 0; c < 4; c++)
            in[c] = kind ? (uint32_t)rng_u64(rng) : texel_bits((float)(rng_normal(rng)));
        texel_store(f, from.data + k * f->bytes, in);
        texel_load(f, from.data + k * f->bytes, x[k]);
    }
    Bind binds[] = { buffer_bind(&t->out),
                     image_bind(VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, &from, VK_NULL_HANDLE),
                     image_bind(VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, &from, VK_NULL_HANDLE),
                     image_bind(VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, &to, VK_NULL_HANDLE) };
    if (copy_program(t, programs, kind, stored, binds) && bench_run(t, 1, 1)) {
        if (memcmp(t->out.data, x, sizeof x))
            test_fail(__FILE__, __LINE__, "format %d is fetched wrongly", format);
        if (stored && memcmp(from.data, to.data, 64 * f->bytes))
            test_fail(__FILE__, __LINE__, "format %d is not stored as it was", format);
    }
    t->program = (GpuProgram){ 0 };
    picture_free(&t->gpu, &from);
    picture_free(&t->gpu, &to);
}

TEST(formats)
{
    Bench t = { 0 };
    Programs programs = { 0 };
    Rng rng = { 5 };
    uint32_t n = 0;
    if (!bench_new(&t, 64 * 16))
        return;
    for (size_t k = 0; k < COUNT_OF(formats); k++) {
        VkFormatProperties offered;
        /* A validation layer may be older than the youngest formats. */
        if (formats[k] >= VK_FORMAT_A1B5G5R5_UNORM_PACK16 && getenv("HEDDLE_TEST_LOADER"))
            continue;
        VK(GetPhysicalDeviceFormatProperties)(t.gpu.physical, formats[k], &offered);
        if (!(offered.optimalTilingFeatures & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT))
            continue;
        check_format(&t, &programs, formats[k], &rng);
        n++;
    }
    for (int k = 0; k < 6; k++)
        gpu_program_free(&t.gpu, &programs.all[k / 2][k % 2]);
    CHECK(n > 80);
    bench_free(&t);
}

/* Vulkan 1.3, tables 65 to 68, and 33.3: what every device has, as far as kernels are concerned. */
TEST(mandatory_formats)
{
    enum {
        SAMPLED = VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT,
        FILTERED = SAMPLED | VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT,
        STORED = VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT,
        ATOMIC = STORED | VK_FORMAT_FEATURE_STORAGE_IMAGE_ATOMIC_BIT,
        TEXELS = VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT,
        STORED_TEXELS = TEXELS | VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT,
        ATOMIC_TEXELS = STORED_TEXELS | VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_ATOMIC_BIT,
    };
    static const struct { VkFormat format; VkFlags image, buffer; } rows[] = {
        { VK_FORMAT_B4G4R4A4_UNORM_PACK16, FILTERED, 0 },
        { VK_FORMAT_R5G6B5_UNORM_PACK16, FILTERED, 0 },
        { VK_FORMAT_A1R5G5B5_UNORM_PACK16, FILTERED, 0 },
        { VK_FORMAT_R8_UNORM, FILTERED, TEXELS }, { VK_FORMAT_R8_SNORM, FILTERED, TEXELS },
        { VK_FORMAT_R8_UINT, SAMPLED, TEXELS }, { VK_FORMAT_R8_SINT, SAMPLED, TEXELS },
        { VK_FORMAT_R8G8_UNORM, FILTERED, TEXELS }, { VK_FORMAT_R8G8_SINT, SAMPLED, TEXELS },
        { VK_FORMAT_R8G8B8A8_UNORM, FILTERED | STORED, STORED_TEXELS },
        { VK_FORMAT_R8G8B8A8_SNORM, FILTERED | STORED, STORED_TEXELS },
        { VK_FORMAT_R8G8B8A8_UINT, SAMPLED | STORED, STORED_TEXELS },
        { VK_FORMAT_R8G8B8A8_SINT, SAMPLED | STORED, STORED_TEXELS },
        { VK_FORMAT_R8G8B8A8_SRGB, FILTERED, 0 }, { VK_FORMAT_B8G8R8A8_UNORM, FILTERED, TEXELS },
        { VK_FORMAT_B8G8R8A8_SRGB, FILTERED, 0 },
        { VK_FORMAT_A8B8G8R8_UNORM_PACK32, FILTERED, STORED_TEXELS },
        { VK_FORMAT_A8B8G8R8_SRGB_PACK32, FILTERED, 0 },
        { VK_FORMAT_A2B10G10R10_UNORM_PACK32, FILTERED, TEXELS },
        { VK_FORMAT_A2B10G10R10_UINT_PACK32, SAMPLED, TEXELS },
        { VK_FORMAT_R16_UINT, SAMPLED, TEXELS }, { VK_FORMAT_R16_SFLOAT, FILTERED, TEXELS },
        { VK_FORMAT_R16G16_SFLOAT, FILTERED, TEXELS },
        { VK_FORMAT_R16G16B16A16_UINT, SAMPLED | STORED, STORED_TEXELS },
        { VK_FORMAT_R16G16B16A16_SFLOAT, FILTERED | STORED, STORED_TEXELS },
        { VK_FORMAT_R32_UINT, SAMPLED | ATOMIC, ATOMIC_TEXELS },
        { VK_FORMAT_R32_SINT, SAMPLED | ATOMIC, ATOMIC_TEXELS },
        { VK_FORMAT_R32_SFLOAT, SAMPLED | STORED, STORED_TEXELS },
        { VK_FORMAT_R32G32_UINT, SAMPLED | STORED, STORED_TEXELS },
        { VK_FORMAT_R32G32_SFLOAT, SAMPLED | STORED, STORED_TEXELS },
        { VK_FORMAT_R32G32B32A32_SINT, SAMPLED | STORED, STORED_TEXELS },
        { VK_FORMAT_R32G32B32A32_SFLOAT, SAMPLED | STORED, STORED_TEXELS },
        { VK_FORMAT_B10G11R11_UFLOAT_PACK32, FILTERED, TEXELS },
        { VK_FORMAT_E5B9G9R9_UFLOAT_PACK32, FILTERED, 0 },
        { VK_FORMAT_D16_UNORM, SAMPLED, 0 }, { VK_FORMAT_D32_SFLOAT, SAMPLED, 0 },
    };
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    for (size_t k = 0; k < COUNT_OF(rows); k++) {
        VkFormatProperties3 more = { .sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3 };
        VkFormatProperties2 p = { .sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2, .pNext = &more };
        VK(GetPhysicalDeviceFormatProperties2)(g.physical, rows[k].format, &p);
        VkFlags image = p.formatProperties.optimalTilingFeatures;
        VkFlags buffer = p.formatProperties.bufferFeatures;
        if (~image & rows[k].image || ~buffer & rows[k].buffer)
            test_fail(__FILE__, __LINE__, "format %d has features %#x, %#x", rows[k].format, image,
                      buffer);
        CHECK((more.optimalTilingFeatures & image) == image);
        CHECK((more.bufferFeatures & buffer) == buffer);
    }
    VkFormatProperties none;
    VK(GetPhysicalDeviceFormatProperties)(g.physical, VK_FORMAT_BC1_RGB_UNORM_BLOCK, &none);
    CHECK(!none.optimalTilingFeatures && !none.bufferFeatures);
    gpu_free(&g);
}

/* ---- sampling -------------------------------------------------------------------------------- */

enum { WIDTH = 7, HEIGHT = 5, LEVELS = 3 };

static const char sample_kernel[] =
    "#version 460\n"
    "layout(local_size_x = 64) in;\n"
    "layout(binding = 0) buffer Out { vec4 color[256]; };\n"
    "layout(binding = 1) readonly buffer In { vec4 at[256]; };\n"
    "layout(binding = 2) uniform sampler2D s;\n"
    "void main() {\n"
    "    uint i = gl_GlobalInvocationID.x;\n"
    "    color[i] = textureLod(s, at[i].xy, at[i].z);\n"
    "}\n";

static double wrapped(double i, double n, VkSamplerAddressMode mode, bool *border)
{
    double twice = i - 2 * n * floor(i / (2 * n));
    switch (mode) {
    case VK_SAMPLER_ADDRESS_MODE_REPEAT: return i - n * floor(i / n);
    case VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT: return twice < n ? twice : 2 * n - 1 - twice;
    case VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE: return fmin(fmax(i, 0), n - 1);
    case VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER:
        *border |= i < 0 || i >= n;
        return fmin(fmax(i, 0), n - 1);
    default: return fmin(i < 0 ? -1 - i : i, n - 1);
    }
}

static double texel_number(const VkSamplerCreateInfo *s, int level, double i, double j, int c)
{
    bool border = false;
    double w = WIDTH >> level, h = HEIGHT >> level;
    i = wrapped(i, w, s->addressModeU, &border);
    j = wrapped(j, h, s->addressModeV, &border);
    return border ? c == 3 : level * 100 + c * 10 + sin(i * 5 + j);
}

static double level_number(const VkSamplerCreateInfo *s, VkFilter f, int level, const float *at,
                           int c)
{
    double u = (double)at[0] * (WIDTH >> level), v = (double)at[1] * (HEIGHT >> level);
    if (f == VK_FILTER_NEAREST)
        return texel_number(s, level, floor(u), floor(v), c);
    double i = floor(u - 0.5), j = floor(v - 0.5), a = u - 0.5 - i, b = v - 0.5 - j;
    return texel_number(s, level, i, j, c) * (1 - a) * (1 - b) +
           texel_number(s, level, i + 1, j, c) * a * (1 - b) +
           texel_number(s, level, i, j + 1, c) * (1 - a) * b +
           texel_number(s, level, i + 1, j + 1, c) * a * b;
}

static double expected(const VkSamplerCreateInfo *s, const float *at, int c)
{
    double lod = fmin(fmax(at[2] + (double)s->mipLodBias, s->minLod), s->maxLod);
    VkFilter f = lod <= 0 ? s->magFilter : s->minFilter;
    double d = fmin(fmax(lod, 0), LEVELS - 1);
    if (s->mipmapMode == VK_SAMPLER_MIPMAP_MODE_NEAREST)
        return level_number(s, f, (int)fmax(ceil(d + 0.5) - 1, 0), at, c);
    int low = (int)d;
    double x = level_number(s, f, low, at, c);
    return d == low ? x : x * (1 - d + low) + level_number(s, f, low + 1, at, c) * (d - low);
}

static void check_sampler(Bench *t, const Picture *p, const GpuBuffer *in,
                          const VkSamplerCreateInfo *info)
{
    VkSampler s;
    REQUIRE(VK(CreateSampler)(t->gpu.device, info, NULL, &s) == VK_SUCCESS);
    VkWriteDescriptorSet w = { .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                               .dstSet = t->program.set, .dstBinding = 2, .descriptorCount = 1,
                               .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER };
    VkDescriptorImageInfo image = { s, p->view, VK_IMAGE_LAYOUT_GENERAL };
    w.pImageInfo = &image;
    VK(UpdateDescriptorSets)(t->gpu.device, 1, &w, 0, NULL);
    CHECK(bench_run(t, 4, 1));
    const float *at = in->data, *color = t->out.data;
    for (int k = 0; k < N * 4; k++) {
        double want = expected(info, at + k / 4 * 4, k % 4);
        if (fabs(color[k] - want) > 1e-4)
            test_fail(__FILE__, __LINE__,
                      "filters %d %d %d, address %d %d: (%g, %g) level %g: %g, not %g",
                      info->magFilter, info->minFilter, info->mipmapMode, info->addressModeU,
                      info->addressModeV, (double)at[k / 4 * 4], (double)at[k / 4 * 4 + 1],
                      (double)at[k / 4 * 4 + 2], (double)color[k], want);
    }
    VK(DestroySampler)(t->gpu.device, s, NULL);
}

TEST(filters_and_address_modes)
{
    Bench t = { 0 };
    Rng rng = { 6 };
    GpuBuffer in;
    Picture p = { .format = VK_FORMAT_R32G32B32A32_SFLOAT, .size = { WIDTH, HEIGHT, 1 },
                  .levels = LEVELS, .layers = 1 };
    if (!bench_new(&t, N * 16) || !picture_new(&t.gpu, &p, VK_IMAGE_VIEW_TYPE_2D))
        return;
    REQUIRE(gpu_buffer(&t.gpu, N * 16, &in) == VK_SUCCESS);
    for (int level = 0; level < LEVELS; level++) {
        float *x = (float *)(void *)picture_at(&t.gpu, &p, (uint32_t)level, 0);
        for (int k = 0; k < (WIDTH >> level) * (HEIGHT >> level); k++)
            for (int c = 0; c < 4; c++)
                x[4 * k + c] = (float)(level * 100 + c * 10 +
                                       sin(k % (WIDTH >> level) * 5 + k / (WIDTH >> level)));
    }
    float *at = in.data;
    for (int k = 0; k < N * 4; k++)
        at[k] = (float)(rng_uniform(&rng) * 6 - 2.5);
    VkSamplerCreateInfo plain = { .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO };
    VkSampler any;
    REQUIRE(VK(CreateSampler)(t.gpu.device, &plain, NULL, &any) == VK_SUCCESS);
    Bind binds[] = { buffer_bind(&t.out), buffer_bind(&in),
                     image_bind(VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, &p, any) };
    if (bench_program(&t, sample_kernel, binds, 3))
        for (uint32_t k = 0; k < 8 * 25; k++) {
            VkSamplerCreateInfo s = {
                .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO, .magFilter = k & 1,
                .minFilter = k >> 1 & 1, .mipmapMode = k >> 2 & 1, .addressModeU = k / 8 % 5,
                .addressModeV = k / 40, .borderColor = VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK,
                .mipLodBias = k % 3 ? 0 : 0.3f, .minLod = k % 7 ? 0 : 0.6f,
                .maxLod = k % 11 ? VK_LOD_CLAMP_NONE : 1.4f };
            check_sampler(&t, &p, &in, &s);
        }
    VK(DestroySampler)(t.gpu.device, any, NULL);
    gpu_buffer_free(&t.gpu, &in);
    picture_free(&t.gpu, &p);
    bench_free(&t);
}

/* ---- the other dimensions: which texel is where ---------------------------------------------- */

static const char places_kernel[] =
    "#version 460\n"
    "#extension GL_EXT_samplerless_texture_functions : require\n"
    "layout(local_size_x = 1) in;\n"
    "layout(binding = 0) buffer Out { uint x[]; };\n"
    "layout(binding = 1) uniform utexture3D volume;\n"
    "layout(binding = 2) uniform utexture2DArray layers;\n"
    "layout(binding = 3) uniform usamplerCubeArray cubes;\n"
    "layout(binding = 4, r32ui) uniform uimageCube cube;\n"
    "layout(binding = 5, r32ui) uniform uimage2D one;\n"
    "void main() {\n"
    "    x[0] = texelFetch(volume, ivec3(1, 2, 3), 0).x;\n"
    "    x[1] = texelFetch(volume, ivec3(1, 0, 1), 1).x;\n"
    "    x[2] = texelFetch(layers, ivec3(2, 1, 5), 0).x;\n"
    "    x[3] = texelFetch(layers, ivec3(1, 0, 3), 1).x;\n"
    "    x[4] = textureLod(cubes, vec4(0, -1, 0.1, 1), 0).x;\n"
    "    x[5] = textureLod(cubes, vec4(0.1, 0.2, -1, 0), 0).x;\n"
    "    x[6] = imageLoad(cube, ivec3(1, 2, 4)).x;\n"
    "    x[7] = imageLoad(cube, ivec3(1, 2, 6)).x;\n"
    "    x[8] = textureSize(layers, 1).z; x[9] = textureSize(cubes, 0).z;\n"
    "    x[10] = textureQueryLevels(volume); x[11] = imageSize(one).y;\n"
    "    x[12] = imageAtomicAdd(one, ivec2(2, 1), 5);\n"
    "    x[13] = imageAtomicAdd(one, ivec2(2, 1), 1);\n"
    "    x[14] = imageAtomicMax(one, ivec2(9, 9), 7);\n"
    "}\n";

static void number_texels(Gpu *g, const Picture *p)
{
    for (uint32_t level = 0; level < p->levels; level++)
        for (uint32_t layer = 0; layer < p->layers; layer++) {
            uint32_t w = MAX(p->size.width >> level, 1), h = MAX(p->size.height >> level, 1);
            uint32_t d = MAX(p->size.depth >> level, 1);
            uint32_t *x = (uint32_t *)(void *)picture_at(g, p, level, layer);
            for (uint32_t k = 0; k < w * h * d; k++)
                x[k] = level * 100000 + layer * 10000 + k / (w * h) * 1000 + k / w % h * 100 +
                       k % w;
        }
}

TEST(dimensions)
{
    Bench t = { 0 };
    VkFormat format = VK_FORMAT_R32_UINT;
    Picture p[] = { { .format = format, .size = { 4, 4, 4 }, .levels = 2, .layers = 1 },
                    { .format = format, .size = { 4, 3, 1 }, .levels = 2, .layers = 6 },
                    { .format = format, .size = { 4, 4, 1 }, .levels = 1, .layers = 12 },
                    { .format = format, .size = { 4, 4, 1 }, .levels = 1, .layers = 6 },
                    { .format = format, .size = { 4, 2, 1 }, .levels = 1, .layers = 1 } };
    static const VkImageViewType types[] = {
        VK_IMAGE_VIEW_TYPE_3D, VK_IMAGE_VIEW_TYPE_2D_ARRAY, VK_IMAGE_VIEW_TYPE_CUBE_ARRAY,
        VK_IMAGE_VIEW_TYPE_CUBE, VK_IMAGE_VIEW_TYPE_2D };
    Bind binds[6];
    if (!bench_new(&t, 256))
        return;
    VkSamplerCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO };
    VkSampler s;
    REQUIRE(VK(CreateSampler)(t.gpu.device, &info, NULL, &s) == VK_SUCCESS);
    binds[0] = buffer_bind(&t.out);
    for (int k = 0; k < 5; k++) {
        REQUIRE(picture_new(&t.gpu, &p[k], types[k]));
        number_texels(&t.gpu, &p[k]);
        binds[k + 1] = image_bind(k < 2    ? VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE
                                  : k == 2 ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
                                           : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
                                  &p[k], k == 2 ? s : VK_NULL_HANDLE);
    }
    static const uint32_t want[] = { 3201, 101001, 50102, 130001, 90102, 50101, 40201, 0,
                                     6,    2,      2,     2,      102,   107,   0 };
    if (bench_program(&t, places_kernel, binds, 6) && bench_run(&t, 1, 1)) {
        const uint32_t *x = t.out.data;
        for (uint32_t k = 0; k < COUNT_OF(want); k++)
            if (x[k] != want[k])
                test_fail(__FILE__, __LINE__, "place %u is %u, not %u", k, x[k], want[k]);
        CHECK_EQ_U64(((uint32_t *)(void *)p[4].data)[6], 108);
    }
    for (int k = 0; k < 5; k++)
        picture_free(&t.gpu, &p[k]);
    VK(DestroySampler)(t.gpu.device, s, NULL);
    bench_free(&t);
}

/* ---- texel buffers --------------------------------------------------------------------------- */

TEST(texel_buffers)
{
    static const char kernel[] =
        "#version 460\n"
        "layout(local_size_x = 64) in;\n"
        "layout(binding = 0) buffer Out { uint y[]; };\n"
        "layout(binding = 1) uniform usamplerBuffer from;\n"
        "layout(binding = 2, r32ui) uniform uimageBuffer to;\n"
        "void main() {\n"
        "    int i = int(gl_GlobalInvocationID.x);\n"
        "    y[i] = texelFetch(from, i).y;\n"
        "    imageStore(to, i, uvec4(i * 3)); imageAtomicAdd(to, i / 2, 1000);\n"
        "    if (i == 0) { y[254] = textureSize(from); y[255] = imageSize(to); }\n"
        "}\n";
    Bench t = { 0 };
    GpuBuffer from, to;
    if (!bench_new(&t, N * 4))
        return;
    REQUIRE(!gpu_buffer(&t.gpu, 4096, &from) && !gpu_buffer(&t.gpu, 4096, &to));
    for (int k = 0; k < 4096; k++)
        ((uint8_t *)from.data)[k] = (uint8_t)k;
    VkBufferViewCreateInfo a = { .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                 .buffer = from.buffer, .format = VK_FORMAT_R8G8_UINT,
                                 .offset = 16, .range = 200 };
    VkBufferViewCreateInfo b = { .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                 .buffer = to.buffer, .format = VK_FORMAT_R32_UINT,
                                 .offset = 64, .range = VK_WHOLE_SIZE };
    Bind binds[] = { buffer_bind(&t.out), { .type = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER },
                     { .type = VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER } };
    REQUIRE(!VK(CreateBufferView)(t.gpu.device, &a, NULL, &binds[1].texels));
    REQUIRE(!VK(CreateBufferView)(t.gpu.device, &b, NULL, &binds[2].texels));
    if (bench_program(&t, kernel, binds, 3) && bench_run(&t, 2, 1)) {
        const uint32_t *y = t.out.data, *x = (const uint32_t *)to.data + 16;
        for (uint32_t i = 0; i < 128; i++) {
            CHECK_EQ_U64(y[i], i < 100 ? (uint8_t)(16 + 2 * i + 1) : 0);
            CHECK_EQ_U64(x[i] % 1000, i * 3 % 1000);
        }
        CHECK_EQ_U64(y[254], 100);
        CHECK_EQ_U64(y[255], 1008);
    }
    VK(DestroyBufferView)(t.gpu.device, binds[1].texels, NULL);
    VK(DestroyBufferView)(t.gpu.device, binds[2].texels, NULL);
    gpu_buffer_free(&t.gpu, &from);
    gpu_buffer_free(&t.gpu, &to);
    bench_free(&t);
}

/* ---- kinds of descriptors -------------------------------------------------------------------- */

/* Four images and three samplers, each combination; an image that is not there. */
static const char kinds_kernel[] =
    "#version 460\n"
    "#extension GL_EXT_nonuniform_qualifier : require\n"
    "layout(local_size_x = 16) in;\n"
    "layout(binding = 0) buffer Out { float y[]; };\n"
    "layout(binding = 1) uniform texture1D images[4];\n"
    "layout(binding = 2) uniform sampler samplers[2];\n"
    "layout(binding = 3) uniform sampler1D both;\n"
    "void main() {\n"
    "    uint i = gl_LocalInvocationIndex;\n"
    "    y[i] = textureLod(sampler1D(images[nonuniformEXT(i & 3)],\n"
    "                                samplers[nonuniformEXT(i >> 2 & 1)]), 1.125, 0).x;\n"
    "    y[16 + i] = textureLod(both, 0.875 + float(i), 0).x;\n"
    "}\n";

enum { KIND_PLAIN, KIND_IMMUTABLE, KIND_PUSHED, KIND_TEMPLATE, KIND_COPIED, N_KINDS };

typedef struct TemplateData { Bind binds[4]; } TemplateData;

static void give(Bench *t, VkCommandBuffer c, const Bind *binds, int kind)
{
    TemplateData data;
    memcpy(data.binds, binds, sizeof data.binds);
    VkWriteDescriptorSet w[4];
    for (uint32_t k = 0; k < 4; k++)
        w[k] = write_of(&binds[k], VK_NULL_HANDLE, k);
    if (kind == KIND_PUSHED)
        VK(CmdPushDescriptorSetKHR)(c, VK_PIPELINE_BIND_POINT_COMPUTE, t->program.layout, 0, 4, w);
    if (kind == KIND_TEMPLATE) {
        VkDescriptorUpdateTemplateEntry entries[4];
        for (uint32_t k = 0; k < 4; k++)
            entries[k] = (VkDescriptorUpdateTemplateEntry){
                k, 0, w[k].descriptorCount, w[k].descriptorType,
                k * sizeof(Bind) + (k ? offsetof(Bind, images) : offsetof(Bind, buffer)),
                sizeof(VkDescriptorImageInfo) };
        VkDescriptorUpdateTemplateCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
            .descriptorUpdateEntryCount = 4, .pDescriptorUpdateEntries = entries,
            .descriptorSetLayout = t->program.set_layout };
        VkDescriptorUpdateTemplate made;
        REQUIRE(!VK(CreateDescriptorUpdateTemplate)(t->gpu.device, &info, NULL, &made));
        VK(UpdateDescriptorSetWithTemplate)(t->gpu.device, t->program.set, made, &data);
        VK(DestroyDescriptorUpdateTemplate)(t->gpu.device, made, NULL);
    }
    if (kind == KIND_COPIED) {
        VkDescriptorSetAllocateInfo set = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
            .descriptorPool = t->program.pool, .descriptorSetCount = 1,
            .pSetLayouts = &t->program.set_layout };
        VkDescriptorSet from = t->program.set;
        REQUIRE(!VK(AllocateDescriptorSets)(t->gpu.device, &set, &t->program.set));
        for (uint32_t k = 0; k < 4; k++) {
            VkCopyDescriptorSet copy = { .sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                         .srcSet = from, .srcBinding = k,
                                         .dstSet = t->program.set, .dstBinding = k,
                                         .descriptorCount = w[k].descriptorCount };
            VK(UpdateDescriptorSets)(t->gpu.device, 0, NULL, 1, &copy);
        }
    }
}

static void check_kind(Bench *t, Bind *binds, int kind)
{
    const float *y = t->out.data;
    memset(t->out.data, 0xff, 128);
    VkSampler immutable[] = { binds[2].images[0].sampler, binds[2].images[1].sampler,
                              binds[3].images[0].sampler };
    Bind given[4];
    memcpy(given, binds, sizeof given);
    if (kind == KIND_IMMUTABLE) { /* what is written for samplers is ignored */
        given[2].immutable = immutable;
        given[3].immutable = immutable + 2;
        given[3].images[0].sampler = VK_NULL_HANDLE;
    }
    if (kind == KIND_PUSHED)
        t->program.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT;
    if (!bench_program(t, kinds_kernel, given, 4))
        return;
    VkCommandBuffer c = gpu_begin(&t->gpu);
    give(t, c, given, kind);
    gpu_bind(c, &t->program);
    VK(CmdDispatch)(c, 1, 1, 1);
    CHECK(gpu_finish(&t->gpu, c) == VK_SUCCESS);
    for (uint32_t i = 0; i < 16; i++) { /* of four texels, repeated or clamped */
        float first = i % 4 == 3 ? 0 : (float)(i % 4 * 10 + (i & 4 ? 3 : 0));
        if (y[i] != first || y[16 + i] != 3)
            test_fail(__FILE__, __LINE__, "kind %d: %u is %g and %g, not %g and 3", kind, i,
                      (double)y[i], (double)y[16 + i], (double)first);
    }
    bench_end_program(t);
}

TEST(descriptors)
{
    Bench t = { 0 };
    Picture p[3];
    VkSampler s[2];
    if (!bench_new(&t, 256))
        return;
    for (int k = 0; k < 2; k++) {
        VkSamplerCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
            .addressModeU = k ? VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE
                              : VK_SAMPLER_ADDRESS_MODE_REPEAT };
        REQUIRE(!VK(CreateSampler)(t.gpu.device, &info, NULL, &s[k]));
    }
    Bind binds[4] = { buffer_bind(&t.out),
                      { .type = VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, .count = 4 },
                      { .type = VK_DESCRIPTOR_TYPE_SAMPLER, .count = 2 } };
    for (int k = 0; k < 3; k++) {
        p[k] = (Picture){ .format = VK_FORMAT_R32_SFLOAT, .size = { 4, 1, 1 }, .levels = 1,
                          .layers = 1 };
        REQUIRE(picture_new(&t.gpu, &p[k], VK_IMAGE_VIEW_TYPE_1D));
        for (int i = 0; i < 4; i++)
            ((float *)(void *)p[k].data)[i] = (float)(k * 10 + i);
        binds[1].images[k] = (VkDescriptorImageInfo){ .imageView = p[k].view };
    }
    for (int k = 0; k < 4; k++)
        binds[1].images[k].imageLayout = VK_IMAGE_LAYOUT_GENERAL;
    binds[2].images[0].sampler = s[0];
    binds[2].images[1].sampler = s[1];
    binds[3] = image_bind(VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, &p[0], s[1]);
    for (int kind = 0; kind < N_KINDS; kind++)
        check_kind(&t, binds, kind);
    for (int k = 0; k < 3; k++)
        picture_free(&t.gpu, &p[k]);
    for (int k = 0; k < 2; k++)
        VK(DestroySampler)(t.gpu.device, s[k], NULL);
    bench_free(&t);
}

/* ---- mutable descriptors --------------------------------------------------------------------- */

/* One binding that descriptors of all types share: kind k is element (k + turn) % 8. */
static const char mutable_kernel[] =
    "#version 460\n"
    "#extension GL_EXT_nonuniform_qualifier : require\n"
    "layout(binding = 0) buffer Out { uint turn; uint y[]; };\n"
    "layout(binding = 1) buffer B { uint x[]; } buffers[];\n"
    "layout(binding = 1) uniform U { uint x; } uniforms[];\n"
    "layout(binding = 1) uniform texture1D images[];\n"
    "layout(binding = 1) uniform sampler samplers[];\n"
    "layout(binding = 1) uniform sampler1D both[];\n"
    "layout(binding = 1) uniform usamplerBuffer texels[];\n"
    "layout(binding = 1, r32ui) uniform uimage1D stored[];\n"
    "layout(binding = 1, r32ui) uniform uimageBuffer kept[];\n"
    "#define AT(k) (k + turn) % 8\n"
    "void main() {\n"
    "    y[0] = buffers[AT(0)].x[3]; buffers[AT(0)].x[4] = 4;\n"
    "    y[1] = uniforms[AT(1)].x;\n"
    "    y[2] = uint(textureLod(sampler1D(images[AT(2)], samplers[AT(3)]), 0.625, 0).x);\n"
    "    y[3] = uint(textureLod(both[AT(4)], 0.375, 0).x);\n"
    "    y[4] = texelFetch(texels[AT(5)], 5).x;\n"
    "    y[5] = imageLoad(stored[AT(6)], 3).x;\n"
    "    y[6] = imageAtomicAdd(kept[AT(7)], 6, 1);\n"
    "}\n";

static const VkDescriptorType mutable_types[8] = {
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
    VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, VK_DESCRIPTOR_TYPE_SAMPLER,
    VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER,
    VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER,
};

/* Sets of that program: the one that it uses, and one on the host only. */
typedef struct Mutables {
    Bench bench;
    GpuBuffer in;
    Picture read, stored;
    VkSampler sampler;
    VkBufferView texels;
    VkDescriptorSetLayout host_layout;
    VkDescriptorPool host_pool;
    VkDescriptorSet host;
} Mutables;

static VkResult mutable_set(Mutables *u, bool host, VkDescriptorSetLayout *layout,
                            VkDescriptorPool *pool, VkDescriptorSet *set)
{
    VkMutableDescriptorTypeListEXT lists[2] = { { 0 }, { 8, mutable_types } };
    VkMutableDescriptorTypeCreateInfoEXT types = {
        .sType = VK_STRUCTURE_TYPE_MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_EXT,
        .mutableDescriptorTypeListCount = 2, .pMutableDescriptorTypeLists = lists };
    VkDescriptorSetLayoutBinding bindings[2] = {
        { 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL },
        { 1, VK_DESCRIPTOR_TYPE_MUTABLE_EXT, 8, VK_SHADER_STAGE_COMPUTE_BIT, NULL } };
    VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .pNext = &types,
        .flags = host ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_HOST_ONLY_POOL_BIT_EXT : 0,
        .bindingCount = 2, .pBindings = bindings };
    VkDescriptorPoolSize sizes[] = { { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1 },
                                     { VK_DESCRIPTOR_TYPE_MUTABLE_EXT, 8 } };
    VkDescriptorPoolCreateInfo some = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .pNext = &types, .maxSets = 1,
        .flags = host ? VK_DESCRIPTOR_POOL_CREATE_HOST_ONLY_BIT_EXT : 0, .poolSizeCount = 2,
        .pPoolSizes = sizes };
    VkDevice d = u->bench.gpu.device;
    VkDescriptorSetLayoutSupport fits = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_SUPPORT };
    VK(GetDescriptorSetLayoutSupport)(d, &info, &fits);
    CHECK(fits.supported);
    VkResult r = VK(CreateDescriptorSetLayout)(d, &info, NULL, layout);
    r = r ? r : VK(CreateDescriptorPool)(d, &some, NULL, pool);
    VkDescriptorSetAllocateInfo one = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorPool = *pool, .descriptorSetCount = 1,
                                        .pSetLayouts = layout };
    return r ? r : VK(AllocateDescriptorSets)(d, &one, set);
}

static bool mutables_new(Mutables *u)
{
    Bench *t = &u->bench;
    size_t size = 0;
    u->read = u->stored = (Picture){ .format = VK_FORMAT_R32_SFLOAT, .size = { 4, 1, 1 },
                                     .levels = 1, .layers = 1 };
    u->stored.format = VK_FORMAT_R32_UINT;
    if (!bench_new(t, 256) || gpu_buffer(&t->gpu, 256, &u->in) ||
        !picture_new(&t->gpu, &u->read, VK_IMAGE_VIEW_TYPE_1D) ||
        !picture_new(&t->gpu, &u->stored, VK_IMAGE_VIEW_TYPE_1D))
        return false;
    VkBufferViewCreateInfo view = { .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                    .buffer = u->in.buffer, .format = VK_FORMAT_R32_UINT,
                                    .range = VK_WHOLE_SIZE };
    VkSamplerCreateInfo sampler = { .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO };
    VkDevice d = t->gpu.device;
    GpuProgram *p = &t->program;
    VkPipelineLayoutCreateInfo layout = { .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                          .setLayoutCount = 1, .pSetLayouts = &p->set_layout };
    uint32_t *words = gpu_spirv(mutable_kernel, &size);
    VkShaderModuleCreateInfo module = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                        .codeSize = size, .pCode = words };
    bool made = words && !VK(CreateBufferView)(d, &view, NULL, &u->texels) &&
                !VK(CreateSampler)(d, &sampler, NULL, &u->sampler) &&
                !mutable_set(u, false, &p->set_layout, &p->pool, &p->set) &&
                !mutable_set(u, true, &u->host_layout, &u->host_pool, &u->host) &&
                !VK(CreatePipelineLayout)(d, &layout, NULL, &p->layout) &&
                !VK(CreateShaderModule)(d, &module, NULL, &p->module) &&
                !gpu_program_pipeline(&t->gpu, p);
    free(words);
    return made;
}

static void mutables_free(Mutables *u)
{
    VkDevice d = u->bench.gpu.device;
    VK(DestroyDescriptorPool)(d, u->host_pool, NULL);
    VK(DestroyDescriptorSetLayout)(d, u->host_layout, NULL);
    VK(DestroyBufferView)(d, u->texels, NULL);
    VK(DestroySampler)(d, u->sampler, NULL);
    picture_free(&u->bench.gpu, &u->read);
    picture_free(&u->bench.gpu, &u->stored);
    gpu_buffer_free(&u->bench.gpu, &u->in);
    bench_free(&u->bench);
}

/* Every kind of descriptor at every element, over what was there before: written to the set of the
 * host and copied, every third time written at once. */
static void check_mutables(Mutables *u, uint32_t turn)
{
    Bench *t = &u->bench;
    bool copied = turn % 3 != 2;
    for (uint32_t k = 0; k < 8; k++) {
        VkDescriptorImageInfo image = { k == 3 || k == 4 ? u->sampler : VK_NULL_HANDLE,
                                        k == 6 ? u->stored.view : u->read.view,
                                        VK_IMAGE_LAYOUT_GENERAL };
        VkDescriptorBufferInfo buffer = { u->in.buffer, k == 1 ? 64 : 0, VK_WHOLE_SIZE };
        VkWriteDescriptorSet w = {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstBinding = 1,
            .dstSet = copied ? u->host : t->program.set, .dstArrayElement = (k + turn) % 8,
            .descriptorCount = 1, .descriptorType = mutable_types[k], .pImageInfo = &image,
            .pBufferInfo = &buffer, .pTexelBufferView = &u->texels };
        VK(UpdateDescriptorSets)(t->gpu.device, 1, &w, 0, NULL);
    }
    VkCopyDescriptorSet copy = { .sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                 .srcSet = u->host, .srcBinding = 1, .dstSet = t->program.set,
                                 .dstBinding = 1, .descriptorCount = 8 };
    VK(UpdateDescriptorSets)(t->gpu.device, 0, NULL, copied, &copy);
    gpu_write(&t->gpu, t->program.set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, t->out.buffer, 0, 256);
    for (uint32_t k = 0; k < 64; k++)
        ((uint32_t *)u->in.data)[k] = 100 + k;
    for (uint32_t k = 0; k < 4; k++) {
        ((float *)(void *)u->read.data)[k] = (float)(10 + k);
        ((uint32_t *)(void *)u->stored.data)[k] = 20 + k;
    }
    memset(t->out.data, 0xff, 256);
    *(uint32_t *)t->out.data = turn;
    const uint32_t *y = (uint32_t *)t->out.data + 1, *in = u->in.data;
    static const uint32_t expected[] = { 103, 116, 12, 11, 105, 23, 106 };
    CHECK(bench_run(t, 1, 1));
    for (uint32_t k = 0; k < 7; k++)
        CHECK_EQ_U64(y[k], expected[k]);
    CHECK(in[4] == 4 && in[6] == 107);
}

TEST(mutable_descriptors)
{
    for (int check = 0; check < 2; check++) {
        Mutables u = { 0 };
        if (check)
            setenv("HEDDLE_CHECK", "1", 1);
        REQUIRE(mutables_new(&u));
        for (uint32_t turn = 0; turn < 8; turn++)
            check_mutables(&u, turn);
        mutables_free(&u);
        unsetenv("HEDDLE_CHECK");
    }
}

/* Layouts of what a mutable descriptor cannot be, or of no list, are not supported. */
TEST(mutable_layouts)
{
    static const struct { VkDescriptorType type; bool fits; } all[] = {
        { VK_DESCRIPTOR_TYPE_SAMPLER, true }, { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, true },
        { VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, false },
        { VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, false },
        { VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR, false },
    };
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    for (uint32_t k = 0; k < COUNT_OF(all) && !getenv("HEDDLE_TEST_LOADER"); k++) {
        VkMutableDescriptorTypeListEXT list = { 1, &all[k].type };
        VkMutableDescriptorTypeCreateInfoEXT types = {
            .sType = VK_STRUCTURE_TYPE_MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_EXT,
            .mutableDescriptorTypeListCount = 1, .pMutableDescriptorTypeLists = &list };
        VkDescriptorSetLayoutBinding b = { 0, VK_DESCRIPTOR_TYPE_MUTABLE_EXT, 1,
                                           VK_SHADER_STAGE_COMPUTE_BIT, NULL };
        VkDescriptorSetLayoutCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .pNext = &types,
            .bindingCount = 1, .pBindings = &b };
        VkDescriptorSetLayoutSupport s = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_SUPPORT };
        VK(GetDescriptorSetLayoutSupport)(g.device, &info, &s);
        CHECK(s.supported == all[k].fits);
        info.pNext = NULL;
        VK(GetDescriptorSetLayoutSupport)(g.device, &info, &s);
        CHECK(!s.supported);
    }
    gpu_free(&g);
}

/* ---- depth and stencil in one image ---------------------------------------------------------- */

static const char both_kernel[] =
    "#version 460\n"
    "layout(local_size_x = 8, local_size_y = 4) in;\n"
    "layout(binding = 0) buffer Out { vec4 y[]; };\n"
    "layout(binding = 1) uniform sampler2D depth;\n"
    "layout(binding = 2) uniform sampler2DShadow nearer;\n"
    "layout(binding = 3) uniform usampler2D stencil;\n"
    "void main() {\n"
    "    ivec2 p = ivec2(gl_LocalInvocationID.xy);\n"
    "    vec2 at = (vec2(p) + 0.5) / vec2(8, 4);\n"
    "    y[p.y * 8 + p.x] = vec4(texelFetch(depth, p, 0).x, textureLod(nearer, vec3(at, 0.5), 0),\n"
    "                            texelFetch(stencil, p, 0).x, textureSize(stencil, 0).x);\n"
    "}\n";

typedef struct Both {
    VkImage image;
    VkDeviceMemory memory;
    VkImageView views[2];       /* of the depth, of the stencil */
} Both;

static bool both_new(Gpu *g, VkFormat format, Both *b)
{
    VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .imageType = VK_IMAGE_TYPE_2D,
        .format = format, .extent = { 8, 4, 1 }, .mipLevels = 1, .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                 VK_IMAGE_USAGE_SAMPLED_BIT };
    VkImageFormatProperties most;
    VkMemoryRequirements need;
    if (VK(GetPhysicalDeviceImageFormatProperties)(g->physical, format, info.imageType, info.tiling,
                                                   info.usage, 0, &most) ||
        VK(CreateImage)(g->device, &info, NULL, &b->image))
        return test_fail(__FILE__, __LINE__, "format %d: no image", format);
    VK(GetImageMemoryRequirements)(g->device, b->image, &need);
    VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .allocationSize = need.size };
    if (VK(AllocateMemory)(g->device, &memory, NULL, &b->memory) ||
        VK(BindImageMemory)(g->device, b->image, b->memory, 0))
        return test_fail(__FILE__, __LINE__, "no memory");
    for (int k = 0; k < 2; k++) {
        VkImageAspectFlags aspect = k ? VK_IMAGE_ASPECT_STENCIL_BIT : VK_IMAGE_ASPECT_DEPTH_BIT;
        VkImageViewCreateInfo view = {
            .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, .image = b->image,
            .viewType = VK_IMAGE_VIEW_TYPE_2D, .format = format,
            .subresourceRange = { aspect, 0, 1, 0, 1 } };
        if (VK(CreateImageView)(g->device, &view, NULL, &b->views[k]))
            return test_fail(__FILE__, __LINE__, "no view");
    }
    return true;
}

static void both_free(Gpu *g, Both *b)
{
    for (int k = 0; k < 2; k++)
        VK(DestroyImageView)(g->device, b->views[k], NULL);
    VK(DestroyImage)(g->device, b->image, NULL);
    VK(FreeMemory)(g->device, b->memory, NULL);
}

enum {
    STENCIL_AT = 256, BACK_AT = 512,
    BOTH = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT,
};

static void both_barrier(VkCommandBuffer c, const Both *b, VkImageLayout from)
{
    VkImageMemoryBarrier ready = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER, .image = b->image, .oldLayout = from,
        .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT, .newLayout = VK_IMAGE_LAYOUT_GENERAL,
        .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT |
                         VK_ACCESS_SHADER_READ_BIT,
        .subresourceRange = { BOTH, 0, 1, 0, 1 } };
    VK(CmdPipelineBarrier)(c, VK_PIPELINE_STAGE_TRANSFER_BIT,
                           VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0,
                           0, NULL, 0, NULL, 1, &ready);
}

/* One depth and one stencil of those that are cleared to. */
static bool both_clears(Gpu *g, const GpuBuffer *b, const Both *to)
{
    VkImageSubresourceRange depth = { VK_IMAGE_ASPECT_DEPTH_BIT, 0, 1, 0, 1 };
    VkImageSubresourceRange both = { BOTH, 0, 1, 0, 1 };
    VkClearDepthStencilValue first = { 0.25f, 77 }, second = { 1, 99 };
    VkBufferImageCopy part = { .bufferOffset = BACK_AT, .imageOffset = { 7, 3, 0 },
                               .imageSubresource = { VK_IMAGE_ASPECT_DEPTH_BIT, 0, 0, 1 },
                               .imageExtent = { 1, 1, 1 } };
    VkCommandBuffer c = gpu_begin(g);
    both_barrier(c, to, VK_IMAGE_LAYOUT_UNDEFINED);
    VK(CmdClearDepthStencilImage)(c, to->image, VK_IMAGE_LAYOUT_GENERAL, &first, 1, &both);
    both_barrier(c, to, VK_IMAGE_LAYOUT_GENERAL);
    VK(CmdClearDepthStencilImage)(c, to->image, VK_IMAGE_LAYOUT_GENERAL, &second, 1, &depth);
    both_barrier(c, to, VK_IMAGE_LAYOUT_GENERAL);
    VK(CmdCopyImageToBuffer)(c, to->image, VK_IMAGE_LAYOUT_GENERAL, b->buffer, 1, &part);
    part.imageSubresource.aspectMask = VK_IMAGE_ASPECT_STENCIL_BIT;
    part.bufferOffset += STENCIL_AT;
    VK(CmdCopyImageToBuffer)(c, to->image, VK_IMAGE_LAYOUT_GENERAL, b->buffer, 1, &part);
    return gpu_finish(g, c) == VK_SUCCESS;
}

/* From the buffer to one image, aspect by aspect, both to the other, and back to the buffer. */
static bool both_copies(Gpu *g, const GpuBuffer *b, const Both images[2])
{
    VkBufferImageCopy parts[2];
    for (uint32_t k = 0; k < 2; k++)
        parts[k] = (VkBufferImageCopy){
            .bufferOffset = k * STENCIL_AT, .imageExtent = { 8, 4, 1 },
            .imageSubresource = { k ? VK_IMAGE_ASPECT_STENCIL_BIT : VK_IMAGE_ASPECT_DEPTH_BIT, 0, 0,
                                  1 } };
    VkImageCopy all = { { BOTH, 0, 0, 1 }, { 0 }, { BOTH, 0, 0, 1 }, { 0 }, { 8, 4, 1 } };
    VkCommandBuffer c = gpu_begin(g);
    for (int k = 0; k < 2; k++)
        both_barrier(c, &images[k], VK_IMAGE_LAYOUT_UNDEFINED);
    VK(CmdCopyBufferToImage)(c, b->buffer, images[0].image, VK_IMAGE_LAYOUT_GENERAL, 2, parts);
    both_barrier(c, &images[0], VK_IMAGE_LAYOUT_GENERAL);
    VK(CmdCopyImage)(c, images[0].image, VK_IMAGE_LAYOUT_GENERAL, images[1].image,
                     VK_IMAGE_LAYOUT_GENERAL, 1, &all);
    both_barrier(c, &images[1], VK_IMAGE_LAYOUT_GENERAL);
    for (int k = 0; k < 2; k++)
        parts[k].bufferOffset += BACK_AT;
    VK(CmdCopyImageToBuffer)(c, images[1].image, VK_IMAGE_LAYOUT_GENERAL, b->buffer, 2, parts);
    return gpu_finish(g, c) == VK_SUCCESS;
}

/* The stencil as a color and back, upside down (maintenance8). */
static void check_both_as_color(Gpu *g, const Both images[2])
{
    Picture color = { .format = VK_FORMAT_R8_UINT, .size = { 8, 4, 1 }, .levels = 1, .layers = 1 };
    VkImageCopy out[4], in[4];
    REQUIRE(picture_new(g, &color, VK_IMAGE_VIEW_TYPE_2D));
    for (int32_t k = 0; k < 4; k++) {
        VkImageSubresourceLayers a = { VK_IMAGE_ASPECT_STENCIL_BIT, 0, 0, 1 };
        VkImageSubresourceLayers b = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1 };
        out[k] = (VkImageCopy){ a, { 0, k, 0 }, b, { 0, 3 - k, 0 }, { 8, 1, 1 } };
        in[k] = (VkImageCopy){ b, { 0, 3 - k, 0 }, a, { 0, k, 0 }, { 8, 1, 1 } };
    }
    VkCommandBuffer c = gpu_begin(g);
    VK(CmdCopyImage)(c, images[0].image, VK_IMAGE_LAYOUT_GENERAL, color.image,
                     VK_IMAGE_LAYOUT_GENERAL, 4, out);
    VK(CmdCopyImage)(c, color.image, VK_IMAGE_LAYOUT_GENERAL, images[1].image,
                     VK_IMAGE_LAYOUT_GENERAL, 4, in);
    CHECK(gpu_finish(g, c) == VK_SUCCESS);
    for (uint32_t k = 0; k < 32; k++)
        CHECK_EQ_U64(color.data[(3 - k / 8) * 8 + k % 8], 255 - 7 * k);
    picture_free(g, &color);
}

static void check_both(Bench *t, VkFormat format, const TexelFormat *depth)
{
    Both images[2] = { { 0 } };
    GpuBuffer b;
    VkSampler s[2];
    REQUIRE(!gpu_buffer(&t->gpu, 1024, &b) && both_new(&t->gpu, format, &images[0]) &&
            both_new(&t->gpu, format, &images[1]));
    for (int k = 0; k < 2; k++) {
        VkSamplerCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                     .compareEnable = k, .compareOp = VK_COMPARE_OP_LESS };
        REQUIRE(!VK(CreateSampler)(t->gpu.device, &info, NULL, &s[k]));
    }
    uint8_t *bytes = b.data;
    memset(bytes, 0, 1024);
    for (uint32_t k = 0; k < 32; k++) {
        uint32_t x[4] = { texel_bits((float)k / 31) };
        texel_store(depth, bytes + k * depth->bytes, x);
        bytes[STENCIL_AT + k] = (uint8_t)(255 - 7 * k);
    }
    uint32_t cleared[4];
    CHECK(both_clears(&t->gpu, &b, &images[1]));
    texel_load(depth, bytes + BACK_AT, cleared);
    CHECK_NEAR(texel_float(cleared[0]), 1, 0);
    CHECK_EQ_U64(bytes[BACK_AT + STENCIL_AT], 77);
    memset(bytes + BACK_AT, 0, BACK_AT);
    CHECK(both_copies(&t->gpu, &b, images));
    CHECK(!memcmp(bytes, bytes + BACK_AT, BACK_AT));
    if (!getenv("HEDDLE_TEST_LOADER")) /* Debian 12's validation layer does not know the way */
        check_both_as_color(&t->gpu, images);
    const VkImageView views[] = { images[1].views[0], images[1].views[0], images[1].views[1] };
    Bind binds[4] = { buffer_bind(&t->out) };
    for (int k = 0; k < 3; k++)
        binds[k + 1] = (Bind){ .type = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                               .images = { { s[k == 1], views[k], VK_IMAGE_LAYOUT_GENERAL } } };
    CHECK(bench_program(t, both_kernel, binds, 4) && bench_run(t, 1, 1));
    const float *y = t->out.data;
    for (uint32_t k = 0; k < 32; k++) {
        uint32_t x[4];
        texel_load(depth, bytes + k * depth->bytes, x);
        CHECK_NEAR(y[4 * k], texel_float(x[0]), 0);
        CHECK_NEAR(y[4 * k + 1], k >= 16 ? 1 : 0, 0);
        CHECK_NEAR(y[4 * k + 2], 255 - 7 * (int)k, 0);
        CHECK_NEAR(y[4 * k + 3], 8, 0);
    }
    bench_end_program(t);
    for (int k = 0; k < 2; k++) {
        both_free(&t->gpu, &images[k]);
        VK(DestroySampler)(t->gpu.device, s[k], NULL);
    }
    gpu_buffer_free(&t->gpu, &b);
}

/* Queues that only compute do not copy depths from buffers (VUID-vkCmdCopyBufferToImage-07739). */
TEST(depth_and_stencil)
{
    static const VkFormat all[][2] = {
        { VK_FORMAT_D16_UNORM_S8_UINT, VK_FORMAT_D16_UNORM },
        { VK_FORMAT_D24_UNORM_S8_UINT, VK_FORMAT_X8_D24_UNORM_PACK32 },
        { VK_FORMAT_D32_SFLOAT_S8_UINT, VK_FORMAT_D32_SFLOAT } };
    Bench t = { 0 };
    setenv("HEDDLE_CLAIM_GRAPHICS", "1", 1);
    REQUIRE(bench_new(&t, 512));
    unsetenv("HEDDLE_CLAIM_GRAPHICS");
    for (uint32_t k = 0; k < COUNT_OF(all); k++)
        check_both(&t, all[k][0], texel_format(all[k][1]));
    bench_free(&t);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Writes each sample of `a` (pass 0), or says what is fetched of `b` and `c` (pass 1). */
static const char samples_kernel[] =
    "#version 460\n"
    "layout(local_size_x = 8, local_size_y = 8) in;\n"
    "layout(binding = 0) buffer Out { uint pass; uint counts[7]; uvec2 y[]; };\n"
    "layout(binding = 1, r32ui) uniform uimage2DMSArray a;\n"
    "layout(binding = 2) uniform usampler2DMSArray b;\n"
    "layout(binding = 3) uniform usampler2DMS c;\n"
    "void main() {\n"
    "    ivec2 p = ivec2(gl_LocalInvocationID.xy);\n"
    "    counts[0] = imageSamples(a); counts[1] = textureSamples(b);\n"
    "    counts[2] = textureSamples(c); counts[3] = textureSize(b).z;\n"
    "    for (int l = 0; l < 2; l++)\n"
    "        for (int s = 0; s < imageSamples(a); s++) {\n"
    "            if (pass == 0)\n"
    "                imageStore(a, ivec3(p, l), s, uvec4(s * 1000 + l * 100 + p.y * 10 + p.x));\n"
    "            else\n"
    "                y[((l * 8 + s) * 8 + p.y) * 8 + p.x] =\n"
    "                    uvec2(texelFetch(b, ivec3(p, l), s).x, texelFetch(c, p, s).x);\n"
    "        }\n"
    "}\n";

static void check_samples(uint32_t samples)
{
    enum { SIZE = 8 };
    Bench t = { 0 };
    REQUIRE(bench_new(&t, 32 + 2 * 8 * SIZE * SIZE * 8));
    Picture p[3]; /* stored to; copied to; cleared */
    for (int k = 0; k < 3; k++) {
        p[k] = (Picture){ .format = VK_FORMAT_R32_UINT, .size = { SIZE, SIZE, 1 }, .levels = 1,
                          .layers = k == 2 ? 1 : 2, .samples = samples };
        REQUIRE(picture_new(&t.gpu, &p[k], k == 2 ? VK_IMAGE_VIEW_TYPE_2D
                                                  : VK_IMAGE_VIEW_TYPE_2D_ARRAY));
    }
    Bind binds[] = { buffer_bind(&t.out),
                     image_bind(VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, &p[0], VK_NULL_HANDLE),
                     image_bind(VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, &p[1], VK_NULL_HANDLE),
                     image_bind(VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, &p[2], VK_NULL_HANDLE) };
    VkSamplerCreateInfo sampler = { .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO };
    VkSampler s;
    REQUIRE(!VK(CreateSampler)(t.gpu.device, &sampler, NULL, &s));
    binds[2].images[0].sampler = binds[3].images[0].sampler = s;
    REQUIRE(bench_program(&t, samples_kernel, binds, 4));
    uint32_t *out = t.out.data;
    const uint32_t *y = out + 8;
    out[0] = 0;
    CHECK(bench_run(&t, 1, 1));
    VkCommandBuffer c = gpu_begin(&t.gpu);
    VkClearColorValue sevens = { .uint32 = { 7 } };
    VkClearColorValue nines = { .uint32 = { 9 } };
    VkImageSubresourceRange first = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 };
    VkImageSubresourceRange both = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 2 };
    VkImageCopy part = { { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 2 }, { 0, 0, 0 },
                         { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 2 }, { 3, 2, 0 }, { 5, 6, 1 } };
    VK(CmdClearColorImage)(c, p[1].image, VK_IMAGE_LAYOUT_GENERAL, &nines, 1, &both);
    VK(CmdClearColorImage)(c, p[2].image, VK_IMAGE_LAYOUT_GENERAL, &sevens, 1, &first);
    VkMemoryBarrier barrier = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT };
    VK(CmdPipelineBarrier)(c, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1,
                           &barrier, 0, NULL, 0, NULL);
    VK(CmdCopyImage)(c, p[0].image, VK_IMAGE_LAYOUT_GENERAL, p[1].image, VK_IMAGE_LAYOUT_GENERAL, 1,
                     &part);
    CHECK(gpu_finish(&t.gpu, c) == VK_SUCCESS);
    out[0] = 1;
    CHECK(bench_run(&t, 1, 1));
    CHECK(out[1] == samples && out[2] == samples && out[3] == samples && out[4] == 2);
    for (uint32_t k = 0; k < 2 * samples * SIZE * SIZE; k++) {
        uint32_t i = k % SIZE, j = k / SIZE % SIZE, one = k / SIZE / SIZE % samples;
        uint32_t layer = k / SIZE / SIZE / samples;
        const uint32_t *at = &y[2 * (((layer * 8 + one) * SIZE + j) * SIZE + i)];
        CHECK_EQ_U64(at[0], i < 3 || j < 2 ? 9
                                           : one * 1000 + layer * 100 + (j - 2) * 10 + i - 3);
        CHECK_EQ_U64(at[1], 7);
    }
    VK(DestroySampler)(t.gpu.device, s, NULL);
    for (int k = 0; k < 3; k++)
        picture_free(&t.gpu, &p[k]);
    bench_free(&t);
}

static VkSampleCountFlags counts_of(VkPhysicalDevice d, VkImageType type, VkImageTiling tiling,
                                    VkImageCreateFlags flags)
{
    VkImageFormatProperties most;
    CHECK(!VK(GetPhysicalDeviceImageFormatProperties)(d, VK_FORMAT_R8G8B8A8_UNORM, type, tiling,
                                                      VK_IMAGE_USAGE_SAMPLED_BIT, flags, &most));
    return most.sampleCounts;
}

TEST(samples)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    CHECK_EQ_U64(counts_of(g.physical, VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_OPTIMAL, 0), 1);
    gpu_free(&g);
    setenv("HEDDLE_CLAIM_GRAPHICS", "1", 1);
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    CHECK_EQ_U64(counts_of(g.physical, VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_OPTIMAL, 0), 15);
    CHECK_EQ_U64(counts_of(g.physical, VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_LINEAR, 0), 1);
    CHECK_EQ_U64(counts_of(g.physical, VK_IMAGE_TYPE_3D, VK_IMAGE_TILING_OPTIMAL, 0), 1);
    CHECK_EQ_U64(counts_of(g.physical, VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_OPTIMAL,
                           VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT), 1);
    gpu_free(&g);
    for (uint32_t samples = 2; samples <= 8; samples *= 2)
        check_samples(samples);
    unsetenv("HEDDLE_CLAIM_GRAPHICS");
}

/* ---- clearing -------------------------------------------------------------------------------- */

TEST(clearing)
{
    Gpu g = { 0 };
    REQUIRE(gpu_new(&g) == VK_SUCCESS);
    Picture p = { .format = VK_FORMAT_R8G8B8A8_UNORM, .size = { 5, 3, 1 }, .levels = 2,
                  .layers = 3 };
    REQUIRE(picture_new(&g, &p, VK_IMAGE_VIEW_TYPE_2D_ARRAY));
    VkCommandBuffer c = gpu_begin(&g);
    VkClearColorValue all = { .float32 = { 0, 0.2f, 0.4f, 1 } };
    VkClearColorValue part = { .float32 = { 1, 1, 0, 0 } };
    VkImageSubresourceRange whole = { VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0,
                                      VK_REMAINING_ARRAY_LAYERS };
    VkImageSubresourceRange one = { VK_IMAGE_ASPECT_COLOR_BIT, 1, 1, 1, 1 };
    VK(CmdClearColorImage)(c, p.image, VK_IMAGE_LAYOUT_GENERAL, &all, 1, &whole);
    VK(CmdClearColorImage)(c, p.image, VK_IMAGE_LAYOUT_GENERAL, &part, 1, &one);
    CHECK(gpu_finish(&g, c) == VK_SUCCESS);
    for (uint32_t level = 0; level < 2; level++)
        for (uint32_t layer = 0; layer < 3; layer++) {
            const uint32_t *x = (const void *)picture_at(&g, &p, level, layer);
            for (int k = 0; k < (level ? 2 : 15); k++)
                CHECK_EQ_U64(x[k], level == 1 && layer == 1 ? 0x0000ffff : 0xff663300);
        }
    picture_free(&g, &p);
    gpu_free(&g);
}
