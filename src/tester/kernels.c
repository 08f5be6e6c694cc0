/* SPDX-License-Identifier: MIT
 *
 * Kernels of the family, for every combination of types and sizes that a device lists. Inputs are
 * small integers, and what comes of them is exact in every type on the way, so that neither the
 * order of sums nor rounding, which the extensions leave open, can make a difference.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tester/internal.h"
#include "tester/sources.h"

/* ---- types ----------------------------------------------------------------------------------- */

static const char *glsl_type(HeddleType t)
{
    static const char *const names[HEDDLE_N_TYPES] = {
        [HEDDLE_F16] = "float16_t",    [HEDDLE_F32] = "float",        [HEDDLE_BF16] = "bfloat16_t",
        [HEDDLE_E4M3] = "floate4m3_t", [HEDDLE_E5M2] = "floate5m2_t", [HEDDLE_S8] = "int8_t",
        [HEDDLE_S16] = "int16_t",      [HEDDLE_S32] = "int",          [HEDDLE_U8] = "uint8_t",
        [HEDDLE_U16] = "uint16_t",     [HEDDLE_U32] = "uint",
    };
    return names[t];
}

static bool is_number(HeddleType t) { return t >= HEDDLE_F16 && t <= HEDDLE_E5M2; }

/* Arithmetic of these is said in GLSL as that of others. */
static bool has_arithmetic(HeddleType t)
{
    return t != HEDDLE_BF16 && t != HEDDLE_E4M3 && t != HEDDLE_E5M2;
}

/* A number of the type as it lies in memory. */
static void put_number(uint8_t *to, HeddleType t, int x)
{
    float f = (float)x;
    double d = x;
    uint16_t h = t == HEDDLE_BF16 ? bf16_from_double(d) : f16_from_double(d);
    uint8_t b = t == HEDDLE_E4M3 ? e4m3_from_double(d) : e5m2_from_double(d);
    const void *from = t == HEDDLE_F32                        ? (const void *)&f
                       : t == HEDDLE_F64                      ? (const void *)&d
                       : t == HEDDLE_F16 || t == HEDDLE_BF16  ? (const void *)&h
                       : t == HEDDLE_E4M3 || t == HEDDLE_E5M2 ? (const void *)&b
                                                              : (const void *)&x;
    memcpy(to, from, heddle_type_size(t));
}

/* ---- cases ----------------------------------------------------------------------------------- */

enum { ELEMENTS = 4096, MOST_DEFINES = 16 };

/* What is about to be a case. */
typedef struct Plan {
    const TesterSource *source;
    HeddleMatrixShape shape;
    uint32_t orders, subgroup_size;
} Plan;

static const uint32_t *copy_words(Arena *a, const HeddleModule *m, size_t *size)
{
    const uint32_t *words = heddle_module_spirv(m, size);
    return arena_copy(a, words, *size);
}

const uint32_t *tester_compile(Arena *a, const char *source, const HeddleModuleOptions *o,
                               size_t *size)
{
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleModule *m = NULL;
    const uint32_t *words = NULL;
    if (!heddle_module_new(source, strlen(source), "kernel", o, &m, log))
        words = copy_words(a, m, size);
    heddle_module_free(m);
    heddle_log_free(log);
    return words;
}

static void compile_plan(Arena *a, const Plan *p, TesterCase *c)
{
    const HeddleMatrixShape *s = &p->shape;
    const char *const names[] = { "TA", "TB", "TC",     "TD",       "M",     "N",
                                  "K",  "W",  "ORDERS", "SATURATE", "FLOATS" };
    const char *const values[] = {
        glsl_type(s->a),
        glsl_type(s->b),
        glsl_type(s->c),
        glsl_type(s->result),
        arena_printf(a, "%u", s->m),
        arena_printf(a, "%u", s->n),
        arena_printf(a, "%u", s->k),
        arena_printf(a, "%u", p->subgroup_size),
        arena_printf(a, "%u", p->orders),
        s->saturating ? "1" : "0",
        is_number(s->result) ? "1" : "0",
    };
    HeddleDefine defines[MOST_DEFINES];
    Str text = { 0 };
    for (uint32_t k = 0; k < COUNT_OF(names); k++)
        defines[k] = (HeddleDefine){ names[k], values[k] };
    HeddleModuleOptions o = { .struct_size = sizeof o,
                              .language = HEDDLE_LANGUAGE_GLSL,
                              .target_env = "vulkan1.3",
                              .defines = defines,
                              .n_defines = COUNT_OF(names) };
    str_add(a, &text, tester_prelude);
    str_add(a, &text, p->source->text);
    c->words = tester_compile(a, text.data, &o, &c->size);
}

/* Buffers 0 to 3 are read: A, B, C and numbers up to 15; 4 to 6 are written: two of the result's
 * type and one of words. */
static void fill_buffers(Arena *a, const Plan *p, TesterCase *c)
{
    const HeddleMatrixShape *s = &p->shape;
    const HeddleType types[] = { s->a, s->b, s->c, HEDDLE_U32, s->result, s->result, HEDDLE_U32 };
    bool narrow = heddle_type_size(s->result) == 1 || s->result == HEDDLE_BF16;
    Rng r = { p->orders + 1 };
    c->n_buffers = COUNT_OF(types);
    for (uint32_t k = 0; k < c->n_buffers; k++) {
        uint32_t size = ELEMENTS * (uint32_t)heddle_type_size(types[k]);
        c->buffers[k] = (TesterBuffer){ .at = (uint32_t)c->data_size,
                                        .size = size,
                                        .compared = k >= 4,
                                        .type = k < 6 ? types[k] : HEDDLE_NO_TYPE };
        c->data_size += align_up(size, 16);
    }
    uint8_t *data = arena_alloc(a, c->data_size);
    c->data = data;
    for (uint32_t k = 0; k < 4; k++)
        for (uint32_t e = 0; e < ELEMENTS; e++) {
            bool sign = is_number(types[k]) || (types[k] >= HEDDLE_S8 && types[k] <= HEDDLE_S64);
            int x = (int)(rng_u64(&r) >> 40) % (k == 3 ? 16 : narrow ? 3 : 7);
            x -= k == 3 || !sign ? 0 : narrow ? 1 : 3;
            if (k == 2 && s->saturating && e % 3 == 0) /* C next to where the type ends */
                x = types[k] == HEDDLE_U8    ? 255
                    : types[k] == HEDDLE_S8  ? 127
                    : types[k] == HEDDLE_U32 ? -1
                                             : INT32_MAX;
            put_number(data + c->buffers[k].at + (size_t)e * heddle_type_size(types[k]), types[k],
                       x);
        }
}

static void make_case(Arena *a, const Plan *p, TesterCase *c)
{
    const HeddleMatrixShape *s = &p->shape;
    *c = (TesterCase){ .subgroup_size = p->subgroup_size, .groups = p->source->groups };
    snprintf(c->name, sizeof c->name, "%s %s*%s->%s%s %ux%ux%u orders %x subgroup %u",
             p->source->name, heddle_type_name(s->a), heddle_type_name(s->b),
             heddle_type_name(s->result), s->saturating ? " saturating" : "", s->m, s->n, s->k,
             p->orders, p->subgroup_size);
    compile_plan(a, p, c);
    fill_buffers(a, p, c);
}

/* ---- which ----------------------------------------------------------------------------------- */

/* Of devices that list none, and heddle lowers them all. */
static const HeddleMatrixShape lowered_shapes[] = {
    { 16, 16, 16, HEDDLE_F16, HEDDLE_F16, HEDDLE_F32, HEDDLE_F32, false, HEDDLE_SCOPE_SUBGROUP },
    { 8, 8, 8, HEDDLE_F32, HEDDLE_F32, HEDDLE_F32, HEDDLE_F32, false, HEDDLE_SCOPE_SUBGROUP },
    { 16, 16, 32, HEDDLE_S8, HEDDLE_S8, HEDDLE_S32, HEDDLE_S32, false, HEDDLE_SCOPE_SUBGROUP },
    { 16, 8, 16, HEDDLE_F16, HEDDLE_F16, HEDDLE_F16, HEDDLE_F16, false, HEDDLE_SCOPE_SUBGROUP },
    { 16, 16, 16, HEDDLE_U8, HEDDLE_U8, HEDDLE_U32, HEDDLE_U32, true, HEDDLE_SCOPE_SUBGROUP },
};

static bool suits(const TesterSource *s, const HeddleMatrixShape *shape)
{
    HeddleType types[] = { shape->a, shape->b, shape->c, shape->result };
    for (uint32_t k = 0; k < COUNT_OF(types); k++)
        if (!glsl_type(types[k]))
            return false;
    bool plain = has_arithmetic(shape->a) && has_arithmetic(shape->result);
    return shape->scope == HEDDLE_SCOPE_SUBGROUP && MAX(shape->m, shape->n) <= 32 &&
           shape->k <= 64 && (plain || !s->arithmetic) && (!s->plain || !shape->saturating) &&
           (!s->square || (shape->m == shape->n && shape->n == shape->k));
}

/* Every source with every shape, each in some of the orders of rows. */
static bool find_plan(const TesterMailbox *device, uint32_t i, Plan *p)
{
    static const uint8_t orders[] = { 0, 5, 10, 15, 3, 12, 6, 9 };
    static const HeddleMatrixShape floats = { 16,         16,         16,
                                              HEDDLE_F32, HEDDLE_F32, HEDDLE_F32,
                                              HEDDLE_F32, false,      HEDDLE_SCOPE_SUBGROUP };
    const HeddleMatrixShape *shapes = device->n_shapes ? device->shapes : lowered_shapes;
    uint32_t n = device->n_shapes ? device->n_shapes : COUNT_OF(lowered_shapes);
    for (uint32_t s = 0; s < n; s++) /* shapes outermost: the first ones are the preferred */
        for (uint32_t k = 0; k < tester_n_sources; k++) {
            const TesterSource *source = &tester_sources[k];
            if (source->once ? s > 0 : !suits(source, &shapes[s]))
                continue;
            if (i < source->orders) {
                *p = (Plan){ source, source->once ? floats : shapes[s],
                             orders[(i + s) % COUNT_OF(orders)], device->subgroup_size };
                return true;
            }
            i -= source->orders;
        }
    return false;
}

bool tester_case(Arena *a, const TesterMailbox *device, uint32_t i, TesterCase *c)
{
    Plan p;
    if (!find_plan(device, i, &p))
        return false;
    make_case(a, &p, c);
    return true;
}

uint32_t tester_n_cases(const TesterMailbox *device)
{
    Plan p;
    uint32_t n = 0;
    while (find_plan(device, n, &p))
        n++;
    return n;
}

/* ---- random kernels -------------------------------------------------------------------------- */

static HeddleType type_of(GenKind k)
{
    static const HeddleType types[N_KINDS] = {
        [S8] = HEDDLE_S8,   [U8] = HEDDLE_U8,   [S32] = HEDDLE_S32,
        [U32] = HEDDLE_U32, [F16] = HEDDLE_F16, [F32] = HEDDLE_F32,
    };
    return types[k];
}

static const GenMatrices *listed_matrices(Arena *a, const TesterMailbox *device, uint32_t *n)
{
    static const GenKind kinds[] = { S8, U8, S32, U32, F16, F32 };
    GenMatrices *list = NEW_ARRAY(a, GenMatrices, TESTER_SHAPES + 1);
    *n = 0;
    for (uint32_t k = 0; k < device->n_shapes; k++) {
        const HeddleMatrixShape *s = &device->shapes[k];
        GenMatrices m = { s->m, s->n, s->k, BOOL, BOOL };
        for (uint32_t t = 0; t < COUNT_OF(kinds); t++) {
            m.a = type_of(kinds[t]) == s->a ? kinds[t] : m.a;
            m.c = type_of(kinds[t]) == s->c ? kinds[t] : m.c;
        }
        bool fits = s->m <= 32 && s->n <= 32 && s->k <= 32 && s->m * s->n <= 512;
        bool f16_sums = m.c == F16; /* which chains of sums are not exact in */
        if (m.a && m.c && fits && !f16_sums && s->a == s->b && s->c == s->result &&
            !s->saturating && s->scope == HEDDLE_SCOPE_SUBGROUP)
            list[(*n)++] = m;
    }
    return list;
}

/* A kernel that has the declaration, and nothing else to speak of. */
static bool driver_takes(Arena *a, TesterWorker *w, const char *declared, const char *mode)
{
    TesterCase c = { .name = "what the driver has", .groups = 1 };
    HeddleModuleOptions o = { .struct_size = sizeof o, .language = HEDDLE_LANGUAGE_SPIRV_ASM };
    char *text =
        arena_printf(a,
                     "; SPIR-V\n; Version: 1.6\nOpCapability Shader\n%s"
                     "OpMemoryModel Logical %s\nOpEntryPoint GLCompute %%main \"main\"\n"
                     "OpExecutionMode %%main LocalSize 1 1 1\n%s%%void = OpTypeVoid\n"
                     "%%type = OpTypeFunction %%void\n"
                     "%%main = OpFunction %%void None %%type\n%%label = OpLabel\n"
                     "OpReturn\nOpFunctionEnd\n",
                     declared, strstr(declared, "VulkanMemoryModel") ? "Vulkan" : "GLSL450", mode);
    c.subgroup_size = w->box->subgroup_size;
    c.words = tester_compile(a, text, &o, &c.size);
    c.data = (const uint8_t *)"";
    return c.words && worker_run(w, &c) == TESTER_SAME;
}

/* Whether invocations are in subgroups in the order of their indices, which Vulkan leaves open. */
static bool keeps_order(Arena *a, TesterWorker *w)
{
    static const uint8_t sizes[][3] = { { 33, 1, 1 }, { 5, 3, 1 }, { 4, 4, 2 }, { 3, 2, 4 } };
    HeddleModuleOptions o = { .struct_size = sizeof o,
                              .language = HEDDLE_LANGUAGE_GLSL,
                              .target_env = "vulkan1.3" };
    for (uint32_t k = 0; k < COUNT_OF(sizes); k++) {
        TesterCase c = { .name = "order of invocations",
                         .groups = 1,
                         .n_buffers = 1,
                         .subgroup_size = w->box->subgroup_size,
                         .data_size = 4096 };
        char *text =
            arena_printf(a,
                         "#version 460\n#extension GL_KHR_shader_subgroup_basic : require\n"
                         "layout(local_size_x = %u, local_size_y = %u, local_size_z = %u) in;\n"
                         "layout(set = 0, binding = 0) buffer B { uvec4 to[]; };\n"
                         "void main() { to[gl_LocalInvocationIndex] = uvec4(gl_SubgroupID,\n"
                         "    gl_SubgroupInvocationID, gl_SubgroupSize, gl_NumSubgroups); }\n",
                         sizes[k][0], sizes[k][1], sizes[k][2]);
        c.words = tester_compile(a, text, &o, &c.size);
        c.data = arena_alloc(a, c.data_size);
        c.buffers[0] = (TesterBuffer){ .size = (uint32_t)c.data_size, .compared = true };
        if (!c.words || worker_run(w, &c) != TESTER_SAME)
            return false;
    }
    return true;
}

/* What a small kernel can ask for: where the driver takes it, it has it. */
static const struct {
    uint32_t has;
    const char *declared, *mode;
} questions[] = {
    { GEN_INT64, "OpCapability Int64\n", "" },
    { GEN_FLOAT64, "OpCapability Float64\n", "" },
    { GEN_FLOAT_MODES,
      "OpCapability DenormPreserve\nOpCapability RoundingModeRTE\n"
      "OpCapability SignedZeroInfNanPreserve\n",
      "OpExecutionMode %main DenormPreserve 16\nOpExecutionMode %main DenormPreserve 32\n"
      "OpExecutionMode %main RoundingModeRTE 16\nOpExecutionMode %main RoundingModeRTE 32\n"
      "OpExecutionMode %main SignedZeroInfNanPreserve 16\n"
      "OpExecutionMode %main SignedZeroInfNanPreserve 32\n" },
    { GEN_MEMORY_MODEL,
      "OpCapability VulkanMemoryModel\nOpCapability VulkanMemoryModelDeviceScope\n", "" },
    { GEN_RECONVERGES, "OpExtension \"SPV_KHR_maximal_reconvergence\"\n",
      "OpExecutionMode %main MaximallyReconvergesKHR\n" },
    { GEN_SUBGROUPS,
      "OpCapability GroupNonUniformVote\nOpCapability GroupNonUniformBallot\n"
      "OpCapability GroupNonUniformArithmetic\nOpCapability GroupNonUniformShuffle\n"
      "OpCapability GroupNonUniformShuffleRelative\nOpCapability GroupNonUniformClustered\n"
      "OpCapability GroupNonUniformQuad\n",
      "" },
    { GEN_ROTATES,
      "OpCapability GroupNonUniformRotateKHR\nOpExtension \"SPV_KHR_subgroup_rotate\"\n", "" },
    { GEN_DOTS, "OpCapability DotProduct\nOpCapability DotProductInput4x8Bit\n", "" },
};

GenTarget tester_target(Arena *a, TesterWorker *w)
{
    const TesterMailbox *device = w->box;
    GenTarget t = { .has = 0 };
    for (uint32_t k = 0; k < COUNT_OF(questions); k++)
        if (driver_takes(a, w, questions[k].declared, questions[k].mode))
            t.has |= questions[k].has;
    if (t.has & GEN_SUBGROUPS && (device->subgroup_size < 8 || !keeps_order(a, w)))
        t.has &= ~(uint32_t)(GEN_SUBGROUPS | GEN_ROTATES);
    if (!(t.has & GEN_SUBGROUPS) || !(t.has & GEN_MEMORY_MODEL))
        return t;
    t.has |= GEN_MATRICES;
    if (device->n_shapes)
        t.matrices = listed_matrices(a, device, &t.n_matrices);
    if (t.matrices && !t.n_matrices)
        t.has &= ~(uint32_t)GEN_MATRICES;
    /* heddle's own order is what it has of those that it lowers, and its own driver */
    if (!device->n_shapes || strstr(device->profile, "\"ownership\": \"linear\""))
        t.has |= GEN_OWNERSHIP | GEN_SMALL_OWNERSHIP;
    return t;
}

bool tester_random(Arena *a, const TesterMailbox *device, const GenTarget *t, uint64_t seed,
                   TesterCase *c)
{
    GenKernel k = gen_kernel(a, seed, NULL, t);
    GenMemory m = { 0 };
    size_t at = 0, sizes[GEN_BUFFERS];
    HeddleModuleOptions o = { .struct_size = sizeof o, .language = HEDDLE_LANGUAGE_SPIRV_ASM };
    *c = (TesterCase){ .groups = k.groups,
                       .n_buffers = GEN_BUFFERS,
                       .subgroup_size = device->subgroup_size };
    snprintf(c->name, sizeof c->name, "random %llu", (unsigned long long)seed);
    gen_sizes(&k, sizes);
    for (uint32_t n = 0; n < GEN_BUFFERS; n++) {
        c->buffers[n] =
            (TesterBuffer){ .at = (uint32_t)at, .size = (uint32_t)sizes[n], .compared = true };
        if (n == 6)
            c->buffers[n].type = type_of(k.c);
        at += align_up(sizes[n], 16);
    }
    uint8_t *data = arena_alloc(a, at);
    for (uint32_t n = 0; n < GEN_BUFFERS; n++) {
        m.data[n] = data + c->buffers[n].at;
        m.size[n] = sizes[n];
    }
    gen_fill(&m, &k, seed);
    c->data = data;
    c->data_size = at;
    c->words = tester_compile(a, k.text, &o, &c->size);
    return c->words != NULL;
}
