/* SPDX-License-Identifier: MIT
 *
 * Robust access at the boundaries of numbers: indices around 0, the buffer's end, 2^31, 2^32, 2^63,
 * and sums of them that wrap, over kinds of access, types, layouts, subgroup sizes and machines.
 * What is inside of the buffer is accessed exactly, what is outside reads as zero and is not
 * written. The buffer lies in the middle of a terabyte that nobody may touch, with bytes before and
 * behind it that must stay as they are. Pointers are made by access chains, and by what variable
 * pointers allow: steps, choices, loops, choices between it and a buffer of no bytes.
 *
 * Which machine and subgroup size a kernel is run with goes round, and so does every third way the
 * lanes' indices differ; HEDDLE_TEST_ALL=1 takes all kernels through all of them (20 minutes).
 */
#include "run.h"

#include <sys/mman.h>

enum { LOCAL = 128, LIMIT = 6005, MARGIN = 4096, ROOM = 16384, BINDINGS = 3, REACH = 15 };

static bool thorough(void) { return getenv("HEDDLE_TEST_ALL") != NULL; }

/* ---- memory ---------------------------------------------------------------------------------- */

/* LIMIT bytes of a buffer with a margin on both sides; half a terabyte of nothing around them. */
static uint8_t *buffer_memory(void)
{
    static uint8_t *data;
    uint8_t *all = MAP_FAILED;
    if (data)
        return data;
    size_t half = (size_t)1 << 40; /* less where addresses are limited */
    while (all == MAP_FAILED && (half /= 2) > ROOM)
        all = mmap(NULL, 2 * half, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool open = all != MAP_FAILED && !mprotect(all + half, ROOM, PROT_READ | PROT_WRITE);
    return data = open ? all + half + MARGIN : NULL;
}

static void fill_memory(uint8_t *data)
{
    for (int32_t k = -MARGIN; k < ROOM - MARGIN; k++)
        data[k] = (uint8_t)(k * 167 + (k >> 8) * 13 + 1);
}

/* ---- kernels --------------------------------------------------------------------------------- */

typedef struct Element {
    const char *type;
    uint32_t component_bytes, components, stride;
} Element;
static const Element elements[] = {
    { "uint8_t", 1, 1, 1 }, { "uint16_t", 2, 1, 2 }, { "uint", 4, 1, 4 }, { "uint64_t", 8, 1, 8 },
    { "uvec2", 4, 2, 8 }, { "uvec3", 4, 3, 16 }, { "uvec4", 4, 4, 16 },
};

/* How an element is reached by numbers u and i: at head + (i * step + u * row + (l >> 3) * own)
 * elements. */
typedef struct Place {
    const char *members, *path;
    bool head;
    int64_t step, row, own;
} Place;
static const Place places[] = {
    { "T a[];", "a[i]", false, 1, 0, 0 },
    { "uint head[5]; T a[];", "a[i]", true, 1, 0, 0 },
    { "T a[][2048];", "a[p.u][i]", false, 1, 2048, 0 },
    { "T a[][3];", "a[i][p.u]", false, 3, 1, 0 },
    { "T a[][64];", "a[p.u + int(l >> 3)][i]", false, 1, 64, 64 },
};

/* Indices of the lanes: i = s + (l & mask) * times + (l >> 2) * block, which is how four lanes
 * share a block of so many elements. */
typedef struct Lanes { uint32_t mask; int32_t times, block; } Lanes;
enum { COUNTING = 1 }; /* the one that counts up by one */
static const Lanes lanes[] = { { 0, 0, 0 }, { 127, 1, 0 }, { 127, -1, 0 }, { 127, 3, 0 },
                               { 7, 4, 0 }, { 120, 1, 0 }, { 3, 1, 9 } };

typedef enum Effect { LOADS, STORES, ADDS } Effect;
typedef struct Access {
    const char *body;
    Effect effect;
    bool neighbours;            /* elements at i + 1 and i + 2 as well */
    bool wide;                  /* indices are Push.wide + ..., in 64 bits */
    bool leaves_out;            /* lanes l % 3 == 1 do nothing */
    bool bounded;               /* indices are s | REACH at most */
    bool nothing;               /* theirs is a buffer of no bytes, which they read as 0 */
} Access;
static const Access accesses[] = {
    { .body = "o[l] = AT(index());" },
    { .body = "AT(index()) = T(16 + KEY);", STORES },
    { .body = "if (l % 3 != 1) o[l] = AT(index());", .leaves_out = true },
    { .body = "if (l % 3 != 1) AT(index()) = T(16 + KEY);", STORES, .leaves_out = true },
    { .body = "int i = index(); o[l] = AT(i) + AT(i + 1) * T(3) + AT(i + 2) * T(5);",
      .neighbours = true },
    { .body = "o[l] = AT(min(index(), p.s | REACH));", .bounded = true },
    { .body = "if (l % 3 != 1) o[l] = AT(min(index(), p.s | REACH));", .leaves_out = true,
      .bounded = true },
    { .body = "o[l] = atomicAdd(AT(index()), T(1));", ADDS },
};

typedef struct Kernel {
    const Element *element;
    const Place *place;
    const Access *access;
    const Lanes *lanes;
} Kernel;

static SpvModule *module_of(Arena *arena, const Kernel *k)
{
    char path[64] = "";
    for (const char *c = k->place->path; *c; c++) /* the macro's parameter */
        snprintf(path + strlen(path), sizeof path - strlen(path), *c == 'i' && c[1] == ']'
                 ? "(x)" : "%c", *c);
    DiagSink sink = { 0 };
    return glsl_module(arena, arena_printf(arena,
        "#version 460\n"
        "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
        "#extension GL_EXT_shader_atomic_int64 : require\n"
        "layout(local_size_x = %u) in;\n"
        "layout(constant_id = 0) const uint MASK = 0;\n"
        "layout(constant_id = 1) const int TIMES = 0;\n"
        "layout(constant_id = 2) const int BLOCK = 0;\n"
        "layout(push_constant) uniform Push { int u; int s; } p;\n"
        "#define T %s\n#define AT(x) %s\n#define KEY (l & MASK)\n#define REACH %u\n"
        "layout(std430, binding = 0) buffer O { T o[]; };\n"
        "layout(std430, binding = 1) buffer A { %s };\n"
        "uint l = gl_LocalInvocationIndex;\n"
        "int index() { return int(uint(p.s) + KEY * uint(TIMES) + (l >> 2) * uint(BLOCK)); }\n"
        "void main() { %s }\n",
        LOCAL, k->element->type, path, REACH, k->place->members, k->access->body), &sink);
}

/* ---- what should come of it ------------------------------------------------------------------ */

typedef struct Push { int32_t u, s; int64_t wide; } Push;

/* Where lane l's element is, `beside` elements further: bytes from the buffer on. */
static __int128 offset_of(const Kernel *k, const Push *p, uint32_t l, uint32_t beside)
{
    const Place *at = k->place;
    uint32_t far = (l & k->lanes->mask) * (uint32_t)k->lanes->times +
                   (l >> 2) * (uint32_t)k->lanes->block;
    __int128 index = (int32_t)((uint32_t)p->s + far + beside), u = p->u;
    if (k->access->bounded)
        index = MIN(index, p->s | REACH);
    if (k->access->wide)
        index = (int64_t)((uint64_t)p->wide + (uint64_t)(int32_t)far);
    if (at->own)
        u = (int32_t)((uint32_t)p->u + (l >> 3));
    uint64_t head = at->head ? align_up(20, MIN(k->element->stride, 16)) : 0;
    return head + (index * at->step + u * at->row) * k->element->stride;
}

static bool is_inside(__int128 offset, uint32_t bytes)
{
    return offset >= 0 && offset + bytes <= LIMIT;
}

static uint64_t word_at(const uint8_t *data, __int128 offset, uint32_t bytes)
{
    uint64_t v = 0;
    if (is_inside(offset, bytes))
        memcpy(&v, data + (int64_t)offset, bytes);
    return v;
}

static bool takes_part(const Kernel *k, uint32_t l)
{
    return !k->access->leaves_out || l % 3 != 1;
}

/* Of lane l's component c, as the kernel computes it from `before`. */
static uint64_t expected_load(const Kernel *k, const Push *p, const uint8_t *before, uint32_t l,
                              uint32_t c)
{
    static const uint64_t weight[3] = { 1, 3, 5 };
    uint32_t bytes = k->element->component_bytes;
    uint64_t v = 0;
    for (uint32_t beside = 0; beside < (k->access->neighbours ? 3 : 1); beside++)
        v += weight[beside] * word_at(before, offset_of(k, p, l, beside) + c * bytes, bytes);
    return bytes < 8 ? v & (((uint64_t)1 << 8 * bytes) - 1) : v;
}

/* Makes of `before` what the buffer holds afterwards. */
static void expect_stores(const Kernel *k, const Push *p, uint8_t *data)
{
    uint32_t bytes = k->element->component_bytes;
    for (uint32_t l = 0; l < LOCAL; l++)
        for (uint32_t c = 0; c < k->element->components && takes_part(k, l); c++) {
            __int128 at = offset_of(k, p, l, 0) + c * bytes;
            uint64_t v = k->access->effect == ADDS ? word_at(data, at, bytes) + 1
                                                   : 16 + (l & k->lanes->mask);
            if (is_inside(at, bytes))
                memcpy(data + (int64_t)at, &v, bytes);
        }
}

typedef struct Outcome { uint8_t before[ROOM], after[ROOM], out[LOCAL * 16]; } Outcome;

static bool is_right(const Kernel *k, const Push *p, const Outcome *x, const uint8_t *data)
{
    static uint8_t want[ROOM];
    const Element *t = k->element;
    memcpy(want, x->before, ROOM);
    if (k->access->effect != LOADS)
        expect_stores(k, p, want + MARGIN);
    if (memcmp(want, data - MARGIN, ROOM))
        return false;
    for (uint32_t l = 0; l < LOCAL && k->access->effect != STORES; l++)
        for (uint32_t c = 0; c < t->components; c++) {
            uint64_t got = 0;
            memcpy(&got, x->out + l * t->stride + c * t->component_bytes, t->component_bytes);
            if (!takes_part(k, l)) {
                if (k->access->nothing && got != 0)
                    return false;
                continue;
            }
            bool outside = !is_inside(offset_of(k, p, l, 0), t->component_bytes);
            if (k->access->effect == ADDS ? outside && got != 0
                : got != expected_load(k, p, x->before + MARGIN, l, c))
                return false;
        }
    return true;
}

/* ---- numbers --------------------------------------------------------------------------------- */

enum { MOST = 512 };
typedef struct Numbers { Push push[MOST]; uint32_t n; } Numbers;

static void add(Numbers *all, int64_t u, int64_t s, int64_t wide)
{
    if (all->n < MOST)
        all->push[all->n++] = (Push){ (int32_t)u, (int32_t)(uint32_t)s, wide };
}

/* Ones that lead to the buffer's ends, and far from it, in one step or back and forth. */
static Numbers numbers_for(const Kernel *k)
{
    static const int64_t us[] = { 0, 1, -1, 7, -1048576, 1048576, -33554432, 33554432, INT32_MAX,
                                  INT32_MIN };
    static const int64_t beside[] = { -290, -130, -33, -17, -9, -3, -1, 0, 1, 5, 16, 40 };
    Numbers all = { .n = 0 };
    int64_t end = LIMIT / k->element->stride;
    uint64_t around = k->element->stride * (uint64_t)k->place->step;
    for (uint32_t j = 0; j < (k->place->row ? COUNT_OF(us) : 1); j++)
        for (uint32_t b = 0; b < COUNT_OF(beside); b++) {
            int64_t d = beside[b], back = -us[j] * k->place->row / k->place->step;
            add(&all, us[j], d, d);
            add(&all, us[j], end / k->place->step + d, end / k->place->step + d);
            add(&all, us[j], back + d, back + d);
            add(&all, us[j], INT32_MAX + d, ((int64_t)1 << 32) + d);
            add(&all, us[j], (INT32_MAX >> (d & 3)) + d, (int64_t)((~0ull / around) + (uint64_t)d));
            add(&all, us[j], INT32_MIN + MAX(d, 0), (int64_t)(((uint64_t)1 << 63) + (uint64_t)d));
        }
    return all;
}

/* ---- running --------------------------------------------------------------------------------- */

static const char *const levels[] = { "host", "x86-64-v4", "x86-64-v3", "x86-64-v2" };

static CpuDevice *the_device(void)
{
    static CpuDevice *device;
    DiagSink sink = { 0 };
    return device ? device : (device = cpu_device_new(1, true, &sink));
}

static CpuKernel *compile(const SpvModule *m, const Lanes *of, const char *level, uint32_t subgroup,
                          Messages *messages)
{
    DiagSink sink = { .report = keep_message, .user = messages };
    SpvSpecValue spec[3] = { { 0, of->mask }, { 1, (uint32_t)of->times },
                             { 2, (uint32_t)of->block } };
    PassOptions passes = { .optimise = true, .spec = spec, .n_spec = 3 };
    CpuOptions options = { .subgroup_size = subgroup, .robust = true, .optimise = true };
    CpuTarget target;
    if (!cpu_target(&target, level, &sink)) {
        messages->text[0] = 0;  /* another machine's */
        return NULL;
    }
    CpuKernel *kernel = cpu_compile(m, &target, &passes, &options, &sink);
    cpu_target_free(&target);
    return kernel;
}

/* Binding b has counts[b] descriptors (NULL: one each) from `buffers[b]` on. */
static bool dispatch_arrays(const CpuKernel *kernel, const DeviceBinding *const *buffers,
                            const uint32_t *counts, const void *push, Messages *messages)
{
    DiagSink sink = { .report = keep_message, .user = messages };
    const DeviceBinding *slots[BINDINGS];
    uint32_t in_slots[BINDINGS];
    for (uint32_t s = 0; s < kernel->n_slots; s++) {
        slots[s] = buffers[kernel->slots[s].binding];
        in_slots[s] = counts ? counts[kernel->slots[s].binding] : 1;
    }
    CpuDispatch d = { .kernel = kernel, .slots = slots, .counts = in_slots, .push = push,
                      .groups = { 1, 1, 1 } };
    return cpu_dispatch(the_device(), &d, &sink);
}

static bool dispatch(const CpuKernel *kernel, const DeviceBinding buffers[BINDINGS],
                     const void *push, Messages *messages)
{
    const DeviceBinding *each[BINDINGS];
    for (uint32_t b = 0; b < BINDINGS; b++)
        each[b] = &buffers[b];
    return dispatch_arrays(kernel, each, NULL, push, messages);
}

static void run_numbers(const Kernel *k, const CpuKernel *kernel, const char *level)
{
    static Outcome x;
    uint8_t *data = buffer_memory();
    Numbers all = numbers_for(k);
    fill_memory(data);
    memcpy(x.before, data - MARGIN, ROOM);
    for (uint32_t n = 0; n < all.n; n++) {
        Messages messages = { "" };
        DeviceBinding buffers[BINDINGS] = { { x.out, sizeof x.out }, { data, LIMIT },
                                            { n % 2 ? data + 400 : NULL, 0 } };
        memcpy(data - MARGIN, x.before, ROOM);
        memset(x.out, 0x5a, sizeof x.out);
        bool ran = dispatch(kernel, buffers, &all.push[n], &messages);
        if (ran && is_right(k, &all.push[n], &x, data))
            continue;
        test_fail(__FILE__, __LINE__, "%s, %s, %s, mask %u times %d block %d, %s, subgroup %u: "
                  "u %d, s %d, wide %lld%s%s", k->element->type, k->place->path, k->access->body,
                  k->lanes->mask, k->lanes->times, k->lanes->block, level, kernel->subgroup_size,
                  all.push[n].u, all.push[n].s, (long long)all.push[n].wide,
                  ran ? "" : ": ", messages.text);
        return;
    }
}

/* On `turns` of the machines and subgroup sizes, from `turn` on. */
static void run_kernel(const Kernel *k, const SpvModule *m, uint32_t turn)
{
    enum { SIZES = 5, TURNS = SIZES * COUNT_OF(levels) };
    for (uint32_t t = 0; t < (thorough() ? TURNS : 1); t++) {
        uint32_t at = (turn * 7 + t) % TURNS;
        Messages messages = { "" };
        const char *level = levels[at % COUNT_OF(levels)];
        CpuKernel *kernel = compile(m, k->lanes, level, 8u << at % SIZES, &messages);
        if (kernel)
            run_numbers(k, kernel, level);
        else if (*messages.text)
            test_fail(__FILE__, __LINE__, "%s: %s", k->access->body, messages.text);
        cpu_kernel_free(kernel);
    }
}

/* All kernels with one type of elements. */
static void check_element(const Element *t)
{
    if (!have_glslang())
        return;
    REQUIRE(buffer_memory() != NULL);
    uint32_t turn = (uint32_t)(t - elements);
    for (uint32_t p = 0; p < COUNT_OF(places); p++)
        for (uint32_t a = 0; a < COUNT_OF(accesses); a++) {
            if (accesses[a].effect == ADDS && (t->component_bytes < 4 || t->components > 1))
                continue;
            Kernel k = { t, &places[p], &accesses[a], NULL };
            Arena arena = { 0 };
            SpvModule *m = module_of(&arena, &k);
            CHECK(m != NULL);
            for (uint32_t l = 0; m && l < COUNT_OF(lanes); l++)
                if (thorough() || ++turn % (3 * HEDDLE_TEST_STEP) == 0 ||
                    (k.access->bounded && l == COUNTING)) {
                    k.lanes = &lanes[l];
                    run_kernel(&k, m, turn / 3);
                }
            arena_free(&arena);
        }
}

TEST(bytes) { check_element(&elements[0]); }
TEST(halves) { check_element(&elements[1]); }
TEST(words) { check_element(&elements[2]); }
TEST(longs) { check_element(&elements[3]); }
TEST(pairs) { check_element(&elements[4]); }
TEST(triples) { check_element(&elements[5]); }
TEST(quadruples) { check_element(&elements[6]); }

/* ---- indices of 64 bits, which GLSL does not have -------------------------------------------- */

static const char wide_text[] =
    "OpCapability Shader\nOpCapability Int64\nOpMemoryModel Logical GLSL450\n"
    "OpEntryPoint GLCompute %main \"main\" %lid %o %a %p\n"
    "OpExecutionMode %main LocalSize 128 1 1\nOpDecorate %lid BuiltIn LocalInvocationIndex\n"
    "OpDecorate %o DescriptorSet 0\nOpDecorate %o Binding 0\nOpDecorate %a DescriptorSet 0\n"
    "OpDecorate %a Binding 1\nOpDecorate %words ArrayStride 4\nOpDecorate %block Block\n"
    "OpMemberDecorate %block 0 Offset 0\nOpDecorate %push Block\n"
    "OpMemberDecorate %push 0 Offset 8\nOpDecorate %mask SpecId 0\nOpDecorate %times SpecId 1\n"
    "OpDecorate %of_block SpecId 2\n%void = OpTypeVoid\n%fn = OpTypeFunction %void\n"
    "%u32 = OpTypeInt 32 0\n%i64 = OpTypeInt 64 1\n%n0 = OpConstant %u32 0\n"
    "%n16 = OpConstant %u32 16\n%mask = OpSpecConstant %u32 0\n%times = OpSpecConstant %u32 0\n"
    "%of_block = OpSpecConstant %u32 0\n%n2 = OpConstant %u32 2\n%words = OpTypeRuntimeArray %u32\n"
    "%block = OpTypeStruct %words\n%push = OpTypeStruct %i64\n"
    "%p_block = OpTypePointer StorageBuffer %block\n%p_word = OpTypePointer StorageBuffer %u32\n"
    "%p_push = OpTypePointer PushConstant %push\n%p_long = OpTypePointer PushConstant %i64\n"
    "%p_in = OpTypePointer Input %u32\n%o = OpVariable %p_block StorageBuffer\n"
    "%a = OpVariable %p_block StorageBuffer\n%p = OpVariable %p_push PushConstant\n"
    "%lid = OpVariable %p_in Input\n%main = OpFunction %void None %fn\n%begin = OpLabel\n"
    "%l = OpLoad %u32 %lid\n%key = OpBitwiseAnd %u32 %l %mask\n%within = OpIMul %u32 %key %times\n"
    "%fourth = OpShiftRightLogical %u32 %l %n2\n%before = OpIMul %u32 %fourth %of_block\n"
    "%far = OpIAdd %u32 %within %before\n%far64 = OpSConvert %i64 %far\n"
    "%at = OpAccessChain %p_long %p %n0\n%start = OpLoad %i64 %at\n"
    "%i = OpIAdd %i64 %start %far64\n%element = OpAccessChain %p_word %a %n0 %i\n@"
    "OpReturn\nOpFunctionEnd\n";

/* An assembly text with these instructions in the place of its '@'. */
static SpvModule *assemble_with(Arena *arena, const char *text, const char *body)
{
    Messages messages = { "" };
    DiagSink sink = { .report = keep_message, .user = &messages };
    const char *split = strchr(text, '@');
    char *whole = arena_printf(arena, "%.*s%s%s", (int)(split - text), text, body, split + 1);
    SpvModule *m = spv_assemble(arena, whole, strlen(whole), "text", &sink);
    if (!m)
        test_fail(__FILE__, __LINE__, "%s", messages.text);
    return m;
}

static void check_words(const char *text, const Place *place, const Access *access, uint32_t *turn)
{
    Arena arena = { 0 };
    SpvModule *m = assemble_with(&arena, text, access->body);
    Kernel k = { &elements[2], place, access, NULL };
    for (uint32_t l = 0; m && l < COUNT_OF(lanes); l++) {
        k.lanes = &lanes[l];
        run_kernel(&k, m, (*turn)++);
    }
    arena_free(&arena);
}

TEST(wide_indices)
{
    static const Access wide[] = {
        { .body = "%x = OpLoad %u32 %element\n%out = OpAccessChain %p_word %o %n0 %l\n"
                  "OpStore %out %x\n", .wide = true },
        { .body = "%y = OpIAdd %u32 %key %n16\nOpStore %element %y\n", STORES, .wide = true },
    };
    REQUIRE(buffer_memory() != NULL);
    uint32_t turn = 0;
    for (uint32_t a = 0; a < COUNT_OF(wide); a++)
        check_words(wide_text, &places[0], &wide[a], &turn);
}

/* ---- variable pointers ----------------------------------------------------------------------- */

static const char variable_text[] =
    "OpCapability Shader\nOpCapability VariablePointers\n"
    "OpExtension \"SPV_KHR_variable_pointers\"\nOpMemoryModel Logical GLSL450\n"
    "OpEntryPoint GLCompute %main \"main\" %lid\n"
    "OpExecutionMode %main LocalSize 128 1 1\nOpDecorate %lid BuiltIn LocalInvocationIndex\n"
    "OpDecorate %o DescriptorSet 0\nOpDecorate %o Binding 0\nOpDecorate %a DescriptorSet 0\n"
    "OpDecorate %a Binding 1\nOpDecorate %z DescriptorSet 0\nOpDecorate %z Binding 2\n"
    "OpDecorate %words ArrayStride 4\nOpDecorate %p_word ArrayStride 4\nOpDecorate %block Block\n"
    "OpMemberDecorate %block 0 Offset 0\nOpDecorate %push Block\n"
    "OpMemberDecorate %push 0 Offset 0\nOpMemberDecorate %push 1 Offset 4\n"
    "OpDecorate %mask SpecId 0\nOpDecorate %times SpecId 1\nOpDecorate %of_block SpecId 2\n"
    "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%bool = OpTypeBool\n%u32 = OpTypeInt 32 0\n"
    "%i32 = OpTypeInt 32 1\n%n0 = OpConstant %u32 0\n%n1 = OpConstant %u32 1\n"
    "%n2 = OpConstant %u32 2\n%n3 = OpConstant %u32 3\n%n6 = OpConstant %u32 6\n"
    "%n16 = OpConstant %u32 16\n%mask = OpSpecConstant %u32 0\n%times = OpSpecConstant %i32 0\n"
    "%of_block = OpSpecConstant %i32 0\n%words = OpTypeRuntimeArray %u32\n"
    "%block = OpTypeStruct %words\n%push = OpTypeStruct %i32 %i32\n"
    "%p_block = OpTypePointer StorageBuffer %block\n%p_word = OpTypePointer StorageBuffer %u32\n"
    "%p_push = OpTypePointer PushConstant %push\n%p_int = OpTypePointer PushConstant %i32\n"
    "%p_in = OpTypePointer Input %u32\n%p_held = OpTypePointer Function %p_word\n"
    "%o = OpVariable %p_block StorageBuffer\n%a = OpVariable %p_block StorageBuffer\n"
    "%z = OpVariable %p_block StorageBuffer\n%p = OpVariable %p_push PushConstant\n"
    "%lid = OpVariable %p_in Input\n%main = OpFunction %void None %fn\n%begin = OpLabel\n"
    "%held = OpVariable %p_held Function\n%l = OpLoad %u32 %lid\n"
    "%key = OpBitwiseAnd %u32 %l %mask\n%within = OpIMul %i32 %key %times\n"
    "%fourth = OpShiftRightLogical %u32 %l %n2\n%before = OpIMul %i32 %fourth %of_block\n"
    "%far = OpIAdd %i32 %within %before\n%third = OpUMod %u32 %l %n3\n"
    "%left = OpIEqual %bool %third %n1\n%at_u = OpAccessChain %p_int %p %n0\n"
    "%u = OpLoad %i32 %at_u\n%at_s = OpAccessChain %p_int %p %n1\n%s = OpLoad %i32 %at_s\n"
    "%i = OpIAdd %i32 %s %far\n"
    "%y = OpIAdd %u32 %key %n16\n%out = OpAccessChain %p_word %o %n0 %l\n@"
    "OpReturn\nOpFunctionEnd\n";

#define OF_A     "%element = OpAccessChain %p_word %a %n0 %i\n"
#define STEPPED  "%row = OpAccessChain %p_word %a %n0 %u\n" \
                 "%element = OpPtrAccessChain %p_word %row %i\n"
#define OF_ROW   "%first = OpAccessChain %p_word %a %n0 %i\n" \
                 "%element = OpPtrAccessChain %p_word %first %u\n"
#define SELECTED OF_A "%none = OpAccessChain %p_word %z %n0 %i\n" \
                 "%q = OpSelect %p_word %left %none %element\n"
/* By a branch, and through a variable. */
#define MERGED   OF_A "OpSelectionMerge %met None\nOpBranchConditional %left %leaves %met\n" \
                 "%leaves = OpLabel\n%none = OpAccessChain %p_word %z %n0 %i\nOpBranch %met\n" \
                 "%met = OpLabel\n%q = OpPhi %p_word %none %leaves %element %begin\n"
#define HELD     SELECTED "OpStore %held %q\n%r = OpLoad %p_word %held\n"
/* The pointer steps from element to element; what is read is weighed 1, 3, 5. */
#define WALKED   OF_A "OpBranch %head\n%head = OpLabel\n" \
                 "%at = OpPhi %p_word %element %begin %next %again\n" \
                 "%sum = OpPhi %u32 %n0 %begin %sum1 %again\n" \
                 "%w = OpPhi %u32 %n1 %begin %w1 %again\nOpLoopMerge %done %again None\n" \
                 "OpBranch %again\n%again = OpLabel\n%x1 = OpLoad %u32 %at\n" \
                 "%weighed = OpIMul %u32 %x1 %w\n%sum1 = OpIAdd %u32 %sum %weighed\n" \
                 "%w1 = OpIAdd %u32 %w %n2\n%next = OpPtrAccessChain %p_word %at %n1\n" \
                 "%more = OpULessThan %bool %w1 %n6\nOpBranchConditional %more %head %done\n" \
                 "%done = OpLabel\n"
#define LOADED(from) "%x = OpLoad %u32 " from "\nOpStore %out %x\n"
#define ADDED(to) "%x = OpAtomicIAdd %u32 " to " %n1 %n0 %n1\nOpStore %out %x\n"
#define OTHERS .leaves_out = true, .nothing = true

TEST(variable_pointers)
{
    static const Place row = { "", "a[u] + i", false, 1, 1, 0 };
    static const Access by_row[] = {
        { .body = STEPPED LOADED("%element") }, { .body = OF_ROW LOADED("%element") },
        { .body = STEPPED "OpStore %element %y\n", STORES },
        { .body = OF_ROW ADDED("%element"), ADDS },
    }, by_index[] = {
        { .body = SELECTED LOADED("%q"), OTHERS }, { .body = MERGED LOADED("%q"), OTHERS },
        { .body = HELD LOADED("%r"), OTHERS }, { .body = MERGED ADDED("%q"), ADDS, OTHERS },
        { .body = SELECTED "OpStore %q %y\n", STORES, OTHERS },
        { .body = MERGED "OpStore %q %y\n", STORES, OTHERS },
        { .body = WALKED "OpStore %out %sum1\n", .neighbours = true },
    };
    REQUIRE(buffer_memory() != NULL);
    uint32_t turn = 0;
    for (uint32_t a = 0; a < COUNT_OF(by_row); a++)
        check_words(variable_text, &row, &by_row[a], &turn);
    for (uint32_t a = 0; a < COUNT_OF(by_index); a++)
        check_words(variable_text, &places[0], &by_index[a], &turn);
}

/* ---- kernels of their own -------------------------------------------------------------------- */

/* Compiles for each subgroup size, on machines that go round, and runs `check`. */
static void each_machine(const SpvModule *m, void (*check)(const CpuKernel *kernel))
{
    static const Lanes none;
    for (uint32_t k = 0; m && k < 5 * (thorough() ? COUNT_OF(levels) : 1); k++) {
        Messages messages = { "" };
        const char *level = levels[(k + k / 5) % COUNT_OF(levels)];
        CpuKernel *kernel = compile(m, &none, level, 8u << k % 5, &messages);
        if (kernel)
            check(kernel);
        else if (*messages.text)
            test_fail(__FILE__, __LINE__, "%s: %s", level, messages.text);
        cpu_kernel_free(kernel);
    }
}

static void each_machine_glsl(const char *declarations, const char *body,
                              void (*check)(const CpuKernel *kernel))
{
    if (!have_glslang())
        return;
    Arena arena = { 0 };
    DiagSink sink = { 0 };
    SpvModule *m = glsl_module(&arena, arena_printf(&arena,
        "#version 460\n"
        "#pragma use_vulkan_memory_model\n"
        "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
        "#extension GL_EXT_nonuniform_qualifier : require\n"
        "#extension GL_KHR_memory_scope_semantics : require\n"
        "#extension GL_KHR_cooperative_matrix : require\n"
        "#extension GL_KHR_shader_subgroup_basic : require\n"
        "layout(local_size_x = %u) in;\n"
        "layout(push_constant) uniform Push { int u; int s; } p;\n%s\n"
        "void main() { uint l = gl_LocalInvocationIndex; %s }\n", LOCAL, declarations, body),
        &sink);
    CHECK(m != NULL);
    each_machine(m, check);
    arena_free(&arena);
}

static void each_machine_assembly(const char *text, void (*check)(const CpuKernel *kernel))
{
    Arena arena = { 0 };
    Messages messages = { "" };
    DiagSink sink = { .report = keep_message, .user = &messages };
    SpvModule *m = spv_assemble(&arena, text, strlen(text), "text", &sink);
    if (m)
        pass_untyped(m);
    else
        test_fail(__FILE__, __LINE__, "%s", messages.text);
    each_machine(m, check);
    arena_free(&arena);
}

/* ---- copies of any size ---------------------------------------------------------------------- */

/* From word s of buffer `from` to word u of buffer `to`, `wide` bytes; one of the two is tested. */
typedef struct Copy { int32_t u, s; uint32_t bytes; bool into; } Copy;

static const char copy_text[] =
    "OpCapability Shader\nOpCapability UntypedPointersKHR\nOpCapability VulkanMemoryModel\n"
    "OpExtension \"SPV_KHR_untyped_pointers\"\nOpMemoryModel Logical Vulkan\n"
    "OpEntryPoint GLCompute %main \"main\" %to %from %p %lid\n"
    "OpExecutionMode %main LocalSize 1 1 1\nOpDecorate %lid BuiltIn LocalInvocationIndex\n"
    "OpDecorate %to DescriptorSet 0\nOpDecorate %to Binding 0\nOpDecorate %from DescriptorSet 0\n"
    "OpDecorate %from Binding 1\nOpDecorate %words ArrayStride 4\nOpDecorate %block Block\n"
    "OpMemberDecorate %block 0 Offset 0\nOpDecorate %push Block\n"
    "OpMemberDecorate %push 0 Offset 0\nOpMemberDecorate %push 1 Offset 4\n"
    "OpMemberDecorate %push 2 Offset 8\n%void = OpTypeVoid\n%fn = OpTypeFunction %void\n"
    "%u32 = OpTypeInt 32 0\n%n0 = OpConstant %u32 0\n%n1 = OpConstant %u32 1\n"
    "%n2 = OpConstant %u32 2\n%words = OpTypeRuntimeArray %u32\n%block = OpTypeStruct %words\n"
    "%push = OpTypeStruct %u32 %u32 %u32\n%ptr = OpTypeUntypedPointerKHR StorageBuffer\n"
    "%p_push = OpTypePointer PushConstant %push\n%p_number = OpTypePointer PushConstant %u32\n"
    "%p_in = OpTypePointer Input %u32\n%to = OpUntypedVariableKHR %ptr StorageBuffer %block\n"
    "%from = OpUntypedVariableKHR %ptr StorageBuffer %block\n%p = OpVariable %p_push PushConstant\n"
    "%lid = OpVariable %p_in Input\n%main = OpFunction %void None %fn\n%begin = OpLabel\n"
    "%l = OpLoad %u32 %lid\n%pu = OpAccessChain %p_number %p %n0\n%u0 = OpLoad %u32 %pu\n"
    "%u = OpIAdd %u32 %u0 %ZERO\n%ps = OpAccessChain %p_number %p %n1\n%s = OpLoad %u32 %ps\n"
    "%pn = OpAccessChain %p_number %p %n2\n%n = OpLoad %u32 %pn\n"
    "%d = OpUntypedAccessChainKHR %ptr %block %to %n0 %u\n"
    "%a = OpUntypedAccessChainKHR %ptr %block %from %n0 %s\n"
    "OpCopyMemorySized %d %a %n\nOpReturn\nOpFunctionEnd\n";

static uint8_t other[2 * ROOM];     /* the buffer that is not tested; all of it is bound */

static void check_copy(const CpuKernel *kernel, const Copy *c)
{
    static uint8_t want[2 * ROOM], was[ROOM];
    uint8_t *data = buffer_memory();
    fill_memory(data);
    memcpy(was, data - MARGIN, ROOM);
    for (uint32_t k = 0; k < sizeof other; k++)
        other[k] = (uint8_t)(k * 31 + 7);
    uint8_t *to = c->into ? data : other, *now = c->into ? data - MARGIN : other;
    size_t size = c->into ? ROOM : sizeof other;
    int64_t to_limit = c->into ? LIMIT : (int64_t)sizeof other;
    int64_t from_limit = c->into ? (int64_t)sizeof other : LIMIT;
    memcpy(want, now, size);
    for (int64_t k = 0; k < (int64_t)c->bytes; k++) {
        int64_t w = (int64_t)c->u * 4 + k, r = (int64_t)c->s * 4 + k;
        if (w >= 0 && w < to_limit)
            want[w + (to - now)] = r < 0 || r >= from_limit ? 0 : c->into ? other[r]
                                                                         : was[MARGIN + r];
        else if (w >= to_limit)
            break;
        else
            k = MIN(-w, (int64_t)c->bytes) + k - 1;
    }
    DeviceBinding a = { data, LIMIT }, b = { other, sizeof other };
    DeviceBinding buffers[BINDINGS] = { c->into ? a : b, c->into ? b : a };
    Messages messages = { "" };
    if (!dispatch(kernel, buffers, c, &messages) || memcmp(now, want, size))
        test_fail(__FILE__, __LINE__, "subgroup %u: %u bytes from word %d to word %d%s: %s",
                  kernel->subgroup_size, c->bytes, c->s, c->u, c->into ? ", into" : "",
                  messages.text);
}

static void check_copies(const CpuKernel *kernel)
{
    static const int32_t places[] = { 0, 1, -1, -7, 300, LIMIT / 4 - 2, LIMIT / 4, LIMIT / 4 + 1,
                                      INT32_MAX, INT32_MIN, 1 << 30, -(1 << 30), 4 - (1 << 30) };
    static const uint32_t sizes[] = { 0, 1, 4, 9, 64, 4000, 12000, 4000000, 0x7ffffffd, 0x80000000,
                                      0xffffffff };
    uint32_t failures = (uint32_t)test_state.failures;
    for (uint32_t p = 0; p < COUNT_OF(places); p++)
        for (uint32_t n = 0; n < COUNT_OF(sizes); n++)
            for (uint32_t into = 0; into < 2; into++) {
                Copy c = { 20, places[p], sizes[n], into };
                if (into)
                    c.u = places[p], c.s = 20;
                check_copy(kernel, &c);
            }
    CHECK((uint32_t)test_state.failures == failures);
}

static char *with(Arena *a, const char *text, const char *what, const char *value)
{
    const char *at = strstr(text, what);
    return arena_printf(a, "%.*s%s%s", (int)(at - text), text, value, at + strlen(what));
}

TEST(copies)
{
    REQUIRE(buffer_memory() != NULL);
    Arena arena = { 0 };
    each_machine_assembly(with(&arena, copy_text, "%ZERO", "%n0"), check_copies);
    each_machine_assembly(with(&arena, copy_text, "%ZERO", "%l"), check_copies);
    arena_free(&arena);
}

/* ---- matrices -------------------------------------------------------------------------------- */

enum { SIDE = 16 };
static bool by_columns;

static __int128 matrix_offset(const Push *p, uint32_t row, uint32_t column)
{
    uint32_t major = by_columns ? column : row, minor = by_columns ? row : column;
    return (__int128)p->s + (__int128)(uint32_t)p->u * major + minor;
}

#define AT(stride, element) { .u = stride, .s = element }
static const Push matrix_numbers[] = {
    AT(SIDE, 0), AT(SIDE, 100), AT(SIDE, -1), AT(SIDE, -200), AT(SIDE, LIMIT - 256),
    AT(SIDE, LIMIT - 255), AT(SIDE, LIMIT), AT(0, LIMIT - 16), AT(0, LIMIT - 9), AT(400, 5),
    AT(400, -5), AT(-1, 0), AT(INT32_MIN, 0), AT(INT32_MAX, 1), AT(SIDE, INT32_MAX),
    AT(SIDE, INT32_MIN), AT(-1, -1), AT(INT32_MIN, INT32_MIN), AT(1 << 28, 0), AT(1 << 28, -3),
};

/* out[row][column], a word each, is what lies in memory, or 0. */
static void check_matrix_load(const CpuKernel *kernel)
{
    uint32_t out[SIDE * SIDE];
    uint8_t *data = buffer_memory(), identity[SIDE * SIDE] = { 0 };
    fill_memory(data);
    for (uint32_t k = 0; k < SIDE; k++)
        identity[k * SIDE + k] = 1;
    for (uint32_t n = 0; n < COUNT_OF(matrix_numbers); n++) {
        const Push *p = &matrix_numbers[n];
        Messages messages = { "" };
        DeviceBinding buffers[BINDINGS] = { { out, sizeof out }, { data, LIMIT },
                                         { identity, sizeof identity } };
        memset(out, 0x5a, sizeof out);
        bool right = dispatch(kernel, buffers, p, &messages);
        for (uint32_t k = 0; right && k < SIDE * SIDE; k++)
            right = out[k] == word_at(data, matrix_offset(p, k / SIDE, k % SIDE), 1);
        if (!right)
            test_fail(__FILE__, __LINE__, "subgroup %u, stride %d, element %d: %s",
                      kernel->subgroup_size, p->u, p->s, messages.text);
    }
}

static void check_matrix_store(const CpuKernel *kernel)
{
    static uint8_t want[ROOM];
    uint8_t *data = buffer_memory(), in[SIDE * SIDE];
    memset(in, 0x77, sizeof in);
    for (uint32_t n = 0; n < COUNT_OF(matrix_numbers); n++) {
        const Push *p = &matrix_numbers[n];
        Messages messages = { "" };
        DeviceBinding buffers[BINDINGS] = { { in, sizeof in }, { data, LIMIT } };
        fill_memory(data);
        memcpy(want, data - MARGIN, ROOM);
        for (uint32_t k = 0; k < SIDE * SIDE; k++)
            if (is_inside(matrix_offset(p, k / SIDE, k % SIDE), 1))
                want[MARGIN + (int64_t)matrix_offset(p, k / SIDE, k % SIDE)] = 0x77;
        if (!dispatch(kernel, buffers, p, &messages) || memcmp(want, data - MARGIN, ROOM))
            test_fail(__FILE__, __LINE__, "subgroup %u, stride %d, element %d: %s",
                      kernel->subgroup_size, p->u, p->s, messages.text);
    }
}

TEST(matrices)
{
    REQUIRE(buffer_memory() != NULL);
    static const char *const load =
        "layout(binding = 0) buffer O { uint o[]; };\n"
        "layout(binding = 1) buffer A { uint8_t a[]; };\n"
        "layout(binding = 2) buffer I { uint8_t one[]; };\n"
        "#define MATRIX(t, u) coopmat<t, gl_ScopeSubgroup, 16, 16, gl_MatrixUse##u>\n";
    static const char *const layouts[] = { "gl_CooperativeMatrixLayoutRowMajor",
                                           "gl_CooperativeMatrixLayoutColumnMajor" };
    for (uint32_t k = 0; k < 2; k++) {
        Arena arena = { 0 };
        by_columns = k;
        each_machine_glsl(load, arena_printf(&arena,
            "MATRIX(uint8_t, A) a0; MATRIX(uint8_t, B) b; MATRIX(uint, Accumulator) c =\n"
            "MATRIX(uint, Accumulator)(0u); coopMatLoad(a0, a, p.s, uint(p.u), %s);\n"
            "coopMatLoad(b, one, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
            "c = coopMatMulAdd(a0, b, c); if (l < gl_SubgroupSize)\n"
            "coopMatStore(c, o, 0, 16, gl_CooperativeMatrixLayoutRowMajor);", layouts[k]),
            check_matrix_load);
        each_machine_glsl(load, arena_printf(&arena,
            "MATRIX(uint8_t, Accumulator) x; coopMatLoad(x, a, p.s, uint(p.u), %s);\n"
            "coopMatStore(MATRIX(uint, Accumulator)(x), o, 0, 16,\n"
            "gl_CooperativeMatrixLayoutRowMajor);", layouts[k]), check_matrix_load);
        each_machine_glsl(
            "layout(binding = 0) buffer O { uint8_t o[]; };\n"
            "layout(binding = 1) buffer A { uint8_t a[]; };\n", arena_printf(&arena,
            "coopmat<uint8_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> x;\n"
            "coopMatLoad(x, o, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
            "coopMatStore(x, a, p.s, uint(p.u), %s);", layouts[k]), check_matrix_store);
        arena_free(&arena);
    }
}

/* ---- arrays of buffers, no buffers, private arrays ------------------------------------------- */

enum { BOUND = 3 };

/* Every access goes to one of the buffers that are bound, out of whose words 0 and 1 the kernel
 * makes what it writes. */
static void check_descriptors(const CpuKernel *kernel)
{
    static const int32_t numbers[] = { 0, 1, 2, 3, 4, 100, -1, 400000, INT32_MAX, INT32_MIN };
    for (uint32_t n = 0; n < COUNT_OF(numbers); n++) {
        uint32_t out[LOCAL * 4], data[BOUND][LOCAL];
        DeviceBinding o = { out, sizeof out }, a[BOUND];
        for (uint32_t k = 0; k < BOUND; k++) {
            a[k] = (DeviceBinding){ data[k], sizeof data[k] };
            for (uint32_t w = 0; w < LOCAL; w++)
                data[k][w] = 100 + k;
        }
        const DeviceBinding *buffers[BINDINGS] = { &o, a };
        uint32_t counts[BINDINGS] = { 1, BOUND };
        Push p = { .u = numbers[n], .s = 5 };
        Messages messages = { "" };
        if (!dispatch_arrays(kernel, buffers, counts, &p, &messages)) {
            test_fail(__FILE__, __LINE__, "index %d: %s", numbers[n], messages.text);
            continue;
        }
        for (uint32_t l = 0; l < LOCAL; l++) {
            uint32_t u = (uint32_t)numbers[n], v = u + l;
            CHECK_EQ_U64(out[l], 100 + MIN(u, BOUND - 1));
            CHECK_EQ_U64(out[LOCAL + l], 100 + MIN(v, BOUND - 1));
            CHECK_EQ_U64(out[2 * LOCAL + l], LOCAL);
        }
    }
}

TEST(arrays_of_buffers)
{
    static const char *const body =
        "o[l] = a[p.u].x[l]; o[128 + l] = a[nonuniformEXT(p.u + l)].x[p.s];\n"
        "o[256 + l] = a[p.u].x.length(); a[nonuniformEXT(p.u + l)].x[l + 128] = 1;\n"
        "atomicAdd(a[nonuniformEXT(p.u - l)].x[p.s + 200], 1);";
    each_machine_glsl("layout(binding = 0) buffer O { uint o[]; };\n"
                      "layout(binding = 1) buffer A { uint x[]; } a[];\n", body, check_descriptors);
    /* declared with more than are bound */
    each_machine_glsl("layout(binding = 0) buffer O { uint o[]; };\n"
                      "layout(binding = 1) buffer A { uint x[]; } a[40];\n", body,
                      check_descriptors);
}

static void check_nothing(const CpuKernel *kernel)
{
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t out[LOCAL], last[2] = { 77, 77 };
        DeviceBinding buffers[BINDINGS] = { { out, sizeof out }, { k ? last + 1 : NULL, 0 } };
        Push p = { .u = 0 };
        Messages messages = { "" };
        memset(out, 0x5a, sizeof out);
        if (!dispatch(kernel, buffers, &p, &messages))
            test_fail(__FILE__, __LINE__, "%s", messages.text);
        for (uint32_t l = 0; l < LOCAL; l++)
            if (out[l])
                test_fail(__FILE__, __LINE__, "subgroup %u, lane %u: %#x", kernel->subgroup_size, l,
                          out[l]);
        CHECK(last[0] == 77 && last[1] == 77);
    }
}

TEST(no_memory)
{
    each_machine_glsl(
        "layout(binding = 0) buffer O { uint o[]; };\n"
        "layout(binding = 1) buffer A { uint a[]; };\n",
        "coopmat<uint, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;\n"
        "coopMatLoad(m, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
        "coopMatStore(m, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
        "a[l] = 5; a[p.s] = 6; a[l * 3] = 7; atomicAdd(a[p.s], 1); atomicAdd(a[l], 1);\n"
        "o[l] = a[l] + a[p.s] + a[l * 5] + a.length() + m[0];", check_nothing);
}

/* An index of 8 bits is signed: what is below 0 is as far outside as what is above 299, and stays
 * in the array. */
static void check_narrow(const CpuKernel *kernel)
{
    uint32_t out[LOCAL];
    DeviceBinding buffers[BINDINGS] = { { out, sizeof out } };
    Messages messages = { "" };
    if (!dispatch(kernel, buffers, NULL, &messages))
        test_fail(__FILE__, __LINE__, "%s", messages.text);
    for (uint32_t l = 0; l < LOCAL; l++)
        CHECK_EQ_U64(out[l], (int8_t)(l * 3) >= 0 ? (uint32_t)(int8_t)(l * 3) : 299);
}

TEST(narrow_indices)
{
    each_machine_assembly(
        "OpCapability Shader\nOpCapability Int8\nOpMemoryModel Logical GLSL450\n"
        "OpEntryPoint GLCompute %main \"main\" %lid %o\nOpExecutionMode %main LocalSize 128 1 1\n"
        "OpDecorate %lid BuiltIn LocalInvocationIndex\nOpDecorate %o DescriptorSet 0\n"
        "OpDecorate %o Binding 0\nOpDecorate %words ArrayStride 4\nOpDecorate %block Block\n"
        "OpMemberDecorate %block 0 Offset 0\n%void = OpTypeVoid\n%fn = OpTypeFunction %void\n"
        "%bool = OpTypeBool\n%u32 = OpTypeInt 32 0\n%u8 = OpTypeInt 8 0\n%n0 = OpConstant %u32 0\n"
        "%n1 = OpConstant %u32 1\n%n3 = OpConstant %u32 3\n%n300 = OpConstant %u32 300\n"
        "%words = OpTypeRuntimeArray %u32\n%block = OpTypeStruct %words\n"
        "%own = OpTypeArray %u32 %n300\n%p_own = OpTypePointer Function %own\n"
        "%p_mine = OpTypePointer Function %u32\n%p_block = OpTypePointer StorageBuffer %block\n"
        "%p_word = OpTypePointer StorageBuffer %u32\n%p_in = OpTypePointer Input %u32\n"
        "%o = OpVariable %p_block StorageBuffer\n%lid = OpVariable %p_in Input\n"
        "%main = OpFunction %void None %fn\n%begin = OpLabel\n%t = OpVariable %p_own Function\n"
        "%l = OpLoad %u32 %lid\nOpBranch %head\n%head = OpLabel\n"
        "%i = OpPhi %u32 %n0 %begin %next %body\n%more = OpULessThan %bool %i %n300\n"
        "OpLoopMerge %done %body None\nOpBranchConditional %more %body %done\n%body = OpLabel\n"
        "%at = OpAccessChain %p_mine %t %i\nOpStore %at %i\n%next = OpIAdd %u32 %i %n1\n"
        "OpBranch %head\n%done = OpLabel\n%far = OpIMul %u32 %l %n3\n"
        "%narrow = OpUConvert %u8 %far\n%from = OpAccessChain %p_mine %t %narrow\n"
        "%x = OpLoad %u32 %from\n"
        "%to = OpAccessChain %p_word %o %n0 %l\nOpStore %to %x\nOpReturn\nOpFunctionEnd\n",
        check_narrow);
}
