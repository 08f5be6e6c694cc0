/* SPDX-License-Identifier: MIT
 *
 * ask: who holds which element of the driver's matrices, asked of the driver itself. A kernel loads
 * a matrix and every invocation says what it got: of the rows' numbers, of the columns', and of
 * random ones, twice, which must be what the first two answers lead one to expect. Where they are
 * not, or nobody can say it in bits (lower/owner.c), such matrices go through workgroup memory.
 * Answers are kept for the process, and in HEDDLE_CACHE, as a profile, for the driver's version.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "vkdevice/vkdevice.h"

enum { RANDOM = 2, QUESTIONS = 2 + RANDOM, NOTHING = 127, LARGEST = 126 };

/* Of a component: how SPIR-V says it, and what that needs. */
typedef struct AskType {
    const char *type, *needs;
    uint32_t size;
} AskType;

#define STORES(bits)                                                                               \
    "OpCapability StorageBuffer" #bits "BitAccess\nOpExtension \"SPV_KHR_" #bits "bit_storage\"\n"
/* clang-format off */
static const AskType types[PROFILE_N_TYPES] = {
    [PROFILE_F16] = { "OpTypeFloat 16", "OpCapability Float16\n" STORES(16), 2 },
    [PROFILE_F32] = { "OpTypeFloat 32", "", 4 },
    [PROFILE_BF16] = { "OpTypeFloat 16 BFloat16KHR",
                       "OpCapability BFloat16TypeKHR\nOpCapability BFloat16CooperativeMatrixKHR\n"
                       STORES(16) "OpExtension \"SPV_KHR_bfloat16\"\n", 2 },
    [PROFILE_S8] = { "OpTypeInt 8 1", "OpCapability Int8\n" STORES(8), 1 },
    [PROFILE_U8] = { "OpTypeInt 8 0", "OpCapability Int8\n" STORES(8), 1 },
    [PROFILE_S32] = { "OpTypeInt 32 1", "", 4 },
};
/* clang-format on */

static const char text[] =
    "; Version: 1.3\n"
    "OpCapability Shader\nOpCapability GroupNonUniform\nOpCapability VulkanMemoryModel\n"
    "OpCapability CooperativeMatrixKHR\n"
    "%sOpExtension \"SPV_KHR_cooperative_matrix\"\nOpExtension \"SPV_KHR_vulkan_memory_model\"\n"
    "OpMemoryModel Logical Vulkan\n"
    "OpEntryPoint GLCompute %%main \"main\" %%lane\nOpExecutionMode %%main LocalSize %u 1 1\n"
    "OpDecorate %%lane BuiltIn SubgroupLocalInvocationId\nOpDecorate %%list ArrayStride %u\n"
    "OpDecorate %%block Block\nOpMemberDecorate %%block 0 Offset 0\n"
    "OpDecorate %%in DescriptorSet 0\nOpDecorate %%in Binding 0\n"
    "OpDecorate %%out DescriptorSet 0\nOpDecorate %%out Binding 1\n"
    "%%void = OpTypeVoid\n%%function = OpTypeFunction %%void\n%%bool = OpTypeBool\n"
    "%%u32 = OpTypeInt 32 0\n%%t = %s\n"
    "%%list = OpTypeRuntimeArray %%t\n%%block = OpTypeStruct %%list\n"
    "%%to_block = OpTypePointer StorageBuffer %%block\n"
    "%%to_t = OpTypePointer StorageBuffer %%t\n%%to_own = OpTypePointer Function %%t\n"
    "%%to_u32 = OpTypePointer Input %%u32\n"
    "%%in = OpVariable %%to_block StorageBuffer\n%%out = OpVariable %%to_block StorageBuffer\n"
    "%%lane = OpVariable %%to_u32 Input\n"
    "%%zero = OpConstant %%u32 0\n%%one = OpConstant %%u32 1\n%%scope = OpConstant %%u32 3\n"
    "%%rows = OpConstant %%u32 %u\n%%cols = OpConstant %%u32 %u\n%%use = OpConstant %%u32 %u\n"
    "%%most = OpConstant %%u32 %u\n"
    "%%matrix = OpTypeCooperativeMatrixKHR %%t %%scope %%rows %%cols %%use\n"
    "%%to_matrix = OpTypePointer Function %%matrix\n"
    "%%main = OpFunction %%void None %%function\n%%begin = OpLabel\n"
    "%%v = OpVariable %%to_matrix Function\n"
    "%%from = OpAccessChain %%to_t %%in %%zero %%zero\n"
    "%%m = OpCooperativeMatrixLoadKHR %%matrix %%from %%zero %%cols\nOpStore %%v %%m\n"
    "%%length = OpCooperativeMatrixLengthKHR %%u32 %%matrix\n"
    "%%fits = OpULessThan %%bool %%length %%most\n"
    "%%n = OpSelect %%u32 %%fits %%length %%most\n"
    "%%l = OpLoad %%u32 %%lane\n%%first = OpIMul %%u32 %%l %%most\nOpBranch %%head\n"
    "%%head = OpLabel\n%%i = OpPhi %%u32 %%zero %%begin %%next_i %%next\n"
    "%%more = OpULessThan %%bool %%i %%n\nOpLoopMerge %%end %%next None\n"
    "OpBranchConditional %%more %%body %%end\n"
    "%%body = OpLabel\n%%e = OpAccessChain %%to_own %%v %%i\n%%x = OpLoad %%t %%e\n"
    "%%at = OpIAdd %%u32 %%first %%i\n%%to = OpAccessChain %%to_t %%out %%zero %%at\n"
    "OpStore %%to %%x\nOpBranch %%next\n"
    "%%next = OpLabel\n%%next_i = OpIAdd %%u32 %%i %%one\nOpBranch %%head\n"
    "%%end = OpLabel\nOpReturn\nOpFunctionEnd\n";

typedef struct Ask {
    VkdDevice *d;
    LowerOwner *o;
    Arena arena;
    DiagSink sink;        /* silent */
    uint32_t lanes, most; /* most: room for an invocation's elements, twice its share */
    DeviceKernel *kernel;
    DeviceMemory in, out;
    bool known;
} Ask;

/* ---- numbers --------------------------------------------------------------------------------- */

/* A number up to NOTHING, which all of these types have, as a component. */
static uint32_t encoded(LowerType t, uint32_t value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return t == PROFILE_F16    ? f16_from_double(value)
           : t == PROFILE_BF16 ? bf16_from_double(value)
           : t == PROFILE_F32  ? bits
                               : value;
}

static void put(LowerType t, char *to, uint32_t value)
{
    uint32_t bits = encoded(t, value);
    memcpy(to, &bits, types[t].size);
}

/* NOTHING + 1: it is none. */
static uint32_t get(LowerType t, const char *from)
{
    uint32_t bits = 0, value = 0;
    memcpy(&bits, from, types[t].size);
    while (value <= NOTHING && encoded(t, value) != bits)
        value++;
    return value;
}

static uint32_t asked(const LowerOwner *o, uint32_t question, uint32_t k)
{
    uint64_t seed = (uint64_t)question << 32 | k;
    return question == 0   ? k / o->cols
           : question == 1 ? k % o->cols
                           : (uint32_t)(hash_bytes(&seed, sizeof seed, 7) % (LARGEST + 1));
}

/* ---- one type of matrices -------------------------------------------------------------------- */

static bool dispatch(Ask *a)
{
    const DeviceBinding in = { (void *)(uintptr_t)a->in.address, a->in.size },
                        out = { (void *)(uintptr_t)a->out.address, a->out.size };
    const DeviceBinding *const slots[2] = { &in, &out };
    const uint32_t counts[2] = { 1, 1 };
    DeviceDispatch x = { .kernel = a->kernel,
                         .slots = slots,
                         .counts = counts,
                         .groups = { 1, 1, 1 },
                         .watchdog_ns = UINT64_C(10000000000) };
    return !vkd_dispatch(&a->d->base, &x, &a->arena, &a->sink);
}

/* What each invocation's elements are; NULL where one has more or fewer than its share. */
static const uint32_t *answer(Ask *a, uint32_t question)
{
    const LowerOwner *o = a->o;
    uint32_t n = o->rows * o->cols, length = n / a->lanes, size = types[o->type].size;
    uint32_t *to = NEW_ARRAY(&a->arena, uint32_t, n);
    char *in = a->in.host, *out = a->out.host;
    for (uint32_t k = 0; k < n; k++)
        put(o->type, in + k * size, asked(o, question, k));
    for (uint32_t k = 0; k < a->lanes * a->most; k++)
        put(o->type, out + k * size, NOTHING);
    if (!dispatch(a))
        return NULL;
    for (uint32_t k = 0; k < a->lanes * a->most; k++) {
        uint32_t value = get(o->type, out + k * size), e = k % a->most;
        if ((value == NOTHING) != (e >= length))
            return NULL;
        if (e < length)
            to[k / a->most * length + e] = value;
    }
    return to;
}

static void ask_questions(Ask *a)
{
    const LowerOwner *o = a->o;
    const uint32_t *answers[QUESTIONS];
    uint32_t n = o->rows * o->cols, *matrix = NEW_ARRAY(&a->arena, uint32_t, n);
    for (uint32_t k = 0; k < QUESTIONS; k++) {
        answers[k] = answer(a, k);
        if (!answers[k])
            return;
    }
    a->known = owner_fit(a->o, a->lanes, answers);
    for (uint32_t k = 2; k < QUESTIONS && a->known; k++) {
        for (uint32_t e = 0; e < n; e++)
            matrix[e] = asked(o, k, e);
        a->known = owner_explains(o, a->lanes, matrix, answers[k]);
    }
}

static bool compile(Ask *a)
{
    static const DeviceSlot slots[2] = { { 0, 0, 1, DEVICE_SLOT_BUFFER, false },
                                         { 0, 1, 1, DEVICE_SLOT_BUFFER, true } };
    const LowerOwner *o = a->o;
    const AskType *t = &types[o->type];
    const char *source = arena_printf(&a->arena, text, t->needs, a->lanes, t->size, t->type,
                                      o->rows, o->cols, o->use, a->most);
    SpvModule *m = spv_assemble(&a->arena, source, strlen(source), "ask", &a->sink);
    DeviceCompile how = { .module = m,
                          .entry = "main",
                          .slots = slots,
                          .n_slots = 2,
                          .local_size = { a->lanes, 1, 1 },
                          .subgroup_size = a->lanes };
    return m && !vkd_compile(&a->d->base, &how, &a->arena, &a->kernel, &a->sink);
}

static void ask_one(void *user)
{
    Ask *a = user;
    uint64_t size = types[a->o->type].size;
    if (compile(a) &&
        vkd_alloc(&a->d->base, a->o->rows * a->o->cols * size, HEDDLE_PLACEMENT_HOST, &a->in) &&
        vkd_alloc(&a->d->base, a->lanes * a->most * size, HEDDLE_PLACEMENT_HOST, &a->out))
        ask_questions(a);
}

static bool ask(VkdDevice *d, LowerOwner *o)
{
    Ask a = { .d = d, .o = o, .lanes = d->facts.profile.subgroup_size };
    uint32_t n = o->rows * o->cols;
    if (!types[o->type].size || n % a.lanes || o->rows > LARGEST || o->cols > LARGEST)
        return false;
    a.most = 2 * n / a.lanes;
    bool memory = arena_try(&a.arena, ask_one, &a);
    if (a.in.own)
        vkd_free(&d->base, &a.in);
    if (a.out.own)
        vkd_free(&d->base, &a.out);
    if (a.kernel)
        vkd_release(a.kernel);
    arena_free(&a.arena);
    return memory && a.known;
}

/* ---- all of the device's --------------------------------------------------------------------- */

static bool has_asked(const LowerOwner *list, uint32_t n, const LowerOwner *o)
{
    for (uint32_t k = 0; k < n; k++)
        if (list[k].type == o->type && list[k].use == o->use && list[k].rows == o->rows &&
            list[k].cols == o->cols)
            return true;
    return false;
}

static void ask_all(VkdDevice *d)
{
    LowerProfile *p = &d->facts.profile;
    LowerOwner *known = NEW_ARRAY(&d->arena, LowerOwner, 3 * p->n_shapes + 1);
    LowerOwner *all = NEW_ARRAY(&d->arena, LowerOwner, 3 * p->n_shapes + 1);
    uint32_t n = 0, n_all = 0;
    for (uint32_t k = 0; k < 3 * p->n_shapes; k++) {
        const LowerShape *s = &p->shapes[k / 3];
        LowerOwner o = k % 3 == 0   ? (LowerOwner){ s->a, k % 3, s->m, s->k, { { 0 } }, { { 0 } } }
                       : k % 3 == 1 ? (LowerOwner){ s->b, k % 3, s->k, s->n, { { 0 } }, { { 0 } } }
                                    : (LowerOwner){ s->c, k % 3, s->m, s->n, { { 0 } }, { { 0 } } };
        bool fixed = s->m && !s->flexible && s->scope == SpvScopeSubgroup;
        if (!fixed || has_asked(all, n_all, &o))
            continue;
        all[n_all++] = o;
        if (!d->lost && ask(d, &o))
            known[n++] = o;
    }
    p->owners = known;
    p->n_owners = n;
    p->ownership = PROFILE_ASKED;
}

/* ---- what is kept of them -------------------------------------------------------------------- */

/* Profiles with the answers of drivers that this process has asked. They stay. */
typedef struct Answered {
    const struct Answered *next;
    uint64_t identity;
    char profile[];
} Answered;

static struct {
    pthread_mutex_t lock;
    const Answered *first;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool recall(VkdDevice *d)
{
    pthread_mutex_lock(&process.lock);
    const Answered *a = process.first;
    pthread_mutex_unlock(&process.lock);
    while (a && (a->identity != d->base.info.identity ||
                 !vkf_take_answers(&d->facts, a->profile, strlen(a->profile), &d->arena)))
        a = a->next;
    return a;
}

static void remember(const VkdDevice *d, const char *profile)
{
    size_t size = strlen(profile) + 1;
    Answered *a = malloc(sizeof *a + size);
    if (!a)
        return;
    a->identity = d->base.info.identity;
    memcpy(a->profile, profile, size);
    pthread_mutex_lock(&process.lock);
    a->next = process.first;
    process.first = a;
    pthread_mutex_unlock(&process.lock);
}

void vkd_ask(void *user)
{
    VkdDevice *d = user;
    char path[4096];
    LowerProfile *p = &d->facts.profile;
    bool kept = vkd_cache_path(d, "profile.json", path, sizeof path);
    if (p->ownership != PROFILE_OPAQUE || !p->n_shapes)
        return;
    bool recalled = recall(d);
    bool there = recalled || (kept && vkf_read_answers(&d->facts, path, &d->arena));
    if (!there)
        ask_all(d);
    d->base.info.profile = profile_write(&d->arena, p);
    if (!recalled && !d->lost)
        remember(d, d->base.info.profile);
    if (kept && !there && !d->lost)
        file_write(path, d->base.info.profile, strlen(d->base.info.profile), NULL, 0, NULL);
}
