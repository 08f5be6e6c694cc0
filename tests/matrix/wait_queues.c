/* SPDX-License-Identifier: MIT
 *
 * A hint for wait queues (SPV_QCOM_multiple_wait_queues) changes no bit: random loops over matrices
 * without it and with every number, on both devices, the cpu looking ahead in each dispatch, and
 * with software pipelines instead, which spirv-val accepts. What a loop loads ends where it may not
 * be touched any more (begins there, where the loop goes down), so that prefetches go past the end
 * and loads would fault. All numbers are small integers: whatever the order of the sums, they are
 * exact. With robust access what is loaded may be outside of the buffers, which then seem smaller
 * than they are, with strides next to where numbers end: it reads as zeros, pipelined or not.
 */
#include "base/test.h"
#include "cpu/cpu.h"
#include "front/glsl/glsl.h"
#include "reference/reference.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LOOPS = 14, GROUPS = 2, UNHINTED = -1, MOST = 8 };
enum { A, B, SUMS, ORDER, OUT, N_BUFFERS };

typedef struct Kind {
    const char *in, *out; /* components of A and B, and of the accumulator */
    uint32_t m, n, k, bytes;
} Kind;

static const Kind kinds[] = {
    { "float", "float", 16, 16, 8, 4 },         { "float", "float", 32, 16, 16, 4 },
    { "float16_t", "float", 8, 16, 16, 2 },     { "float16_t", "float", 16, 16, 16, 2 },
    { "int8_t", "int", 16, 16, 32, 1 },         { "int8_t", "int", 16, 8, 16, 1 },
};

/* Loops over i, where A's and B's tiles of the iteration are numbers x and y along K. */
typedef struct Form {
    const char *head, *first, *x, *y;
    bool down;
    uint32_t ahead; /* loads whose addresses go by one step, or by such a load's data */
} Form;

static const Form forms[] = {
    { "for (uint i = 0; i < steps; i++)", "", "i", "i", false, 2 },
    { "for (uint k = 0, i = 0; k < steps * TK; k += TK, i++)", "", "k / TK", "i", false, 1 },
    { "for (uint i = steps; i-- > 0;)", "", "i", "i", true, 2 },
    { "for (uint i = 0; ; i++)", "if (i >= steps) break;", "i", "steps - 1 - (steps - 1 - i)",
      false, 2 },
    { "for (uint i = 0; i < steps; i++)", "", "order[i]", "i", false, 3 },
    { "for (uint i = 0; i < steps; i++)", "if (order[i] == 1) continue;", "i", "i", false, 1 },
    { "for (uint i = 0, j = steps; i < steps; i++, j--)", "", "(i << 1) - i", "i * 3 - 2 * i",
      false, 2 },
};

typedef struct Buffer {
    uint8_t *map, *data;
    size_t mapped, size;
    uint8_t *start; /* what is in it before a run */
} Buffer;

typedef struct Loop {
    Arena arena;
    TestDiags diags;
    Rng rng;
    const Kind *kind;
    const Form *form;
    uint32_t steps, columns_of[2], stride[2], subgroup_size, interleave;
    bool constant, updates, restricts; /* steps is; the loop loads and stores tiles of sums */
    bool robust;                       /* and A and B are bound in part, with any strides */
    uint32_t left_out[2];              /* of their bytes, at the end */
    uint32_t ahead;                    /* loads that were pipelined */
    void *spirv;
    size_t spirv_size;
    Buffer buffers[N_BUFFERS];
    uint8_t *want;
} Loop;

static uint32_t pick(Loop *l, uint32_t n) { return (uint32_t)(rng_u64(&l->rng) >> 33) % n; }

/* ---- memory ---------------------------------------------------------------------------------- */

/* Pages that may not be touched lie before and behind; `size` bytes touch the ones behind (or to
 * the alignment that buffers need), or the ones before. */
static void make_buffer(Buffer *b, size_t size, bool first)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (size + page - 1) / page * page;
    b->size = size;
    b->mapped = inner + 2 * page;
    b->map = mmap(NULL, b->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(b->map != MAP_FAILED);
    REQUIRE(!mprotect(b->map + page, inner, PROT_READ | PROT_WRITE));
    b->data = b->map + page + (first ? 0 : (inner - size) & ~(size_t)15);
}

static void put(uint8_t *to, const char *type, int32_t x)
{
    float f = (float)x;
    uint16_t half = f16_from_double(x);
    if (!strcmp(type, "float"))
        memcpy(to, &f, 4);
    else if (!strcmp(type, "float16_t"))
        memcpy(to, &half, 2);
    else if (!strcmp(type, "int8_t"))
        *to = (uint8_t)x;
    else
        memcpy(to, &x, 4);
}

static void make_buffers(Loop *l)
{
    const Kind *k = l->kind;
    uint32_t depth = l->steps * k->k, lines[2], length[2];
    size_t tiles = (size_t)GROUPS * k->m * k->n * 4;
    lines[A] = l->columns_of[A] ? depth : GROUPS * k->m;
    length[A] = l->columns_of[A] ? GROUPS * k->m : depth;
    lines[B] = l->columns_of[B] ? k->n : depth;
    length[B] = l->columns_of[B] ? depth : k->n;
    size_t sizes[N_BUFFERS] = { [SUMS] = tiles * l->steps, [ORDER] = l->steps * 4, [OUT] = tiles };
    for (uint32_t b = A; b <= B; b++) {
        l->stride[b] = length[b] + 16 * pick(l, 3);
        sizes[b] = ((size_t)(lines[b] - 1) * l->stride[b] + length[b]) * k->bytes;
    }
    for (uint32_t b = 0; b < N_BUFFERS; b++) {
        const char *type = b <= B ? k->in : b == ORDER ? "int" : k->out;
        uint32_t bytes = b <= B ? k->bytes : 4;
        make_buffer(&l->buffers[b], sizes[b], l->form->down);
        l->buffers[b].start = arena_alloc(&l->arena, sizes[b]);
        for (size_t at = 0; at < sizes[b]; at += bytes)
            put(l->buffers[b].start + at, type,
                b == ORDER ? (int32_t)pick(l, l->steps) : (int32_t)pick(l, 9) - 4);
    }
}

/* ---- the module ------------------------------------------------------------------------------ */

static const char *source(Loop *l)
{
    static const char text[] =
        "#version 460\n#pragma use_vulkan_memory_model\n"
        "#extension GL_KHR_cooperative_matrix : require\n"
        "#extension GL_KHR_memory_scope_semantics : require\n"
        "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
        "#extension GL_EXT_control_flow_attributes : require\n"
        "#extension GL_QCOM_multiple_wait_queues : require\n"
        "layout(local_size_x = %u) in;\n"
        "layout(binding = 0) readonly RESTRICT buffer A_ { IN a[]; };\n"
        "layout(binding = 1) readonly RESTRICT buffer B_ { IN b[]; };\n"
        "layout(binding = 2) buffer S_ { SUM sums[]; };\n"
        "layout(binding = 3) readonly RESTRICT buffer O_ { uint order[]; };\n"
        "layout(binding = 4) writeonly buffer C_ { SUM c[]; };\n"
        "layout(push_constant) uniform P_ { uint pushed, lda, ldb; };\n"
        "void main()\n{\n"
        "    const uint steps = %s, tile = TM * TN, g = gl_WorkGroupID.x;\n"
        "    coopmat<IN, gl_ScopeSubgroup, TM, TK, gl_MatrixUseA> ma;\n"
        "    coopmat<IN, gl_ScopeSubgroup, TK, TN, gl_MatrixUseB> mb;\n"
        "    coopmat<SUM, gl_ScopeSubgroup, TM, TN, gl_MatrixUseAccumulator> acc =\n"
        "        coopmat<SUM, gl_ScopeSubgroup, TM, TN, gl_MatrixUseAccumulator>(SUM(0)), old;\n"
        "    [[multiple_wait_queuesQCOM(1)]]\n"
        "    %s {\n        %s\n"
        "        uint x = (%s) * TK, y = (%s) * TK;\n"
        "        coopMatLoad(ma, a, %s, lda, gl_CooperativeMatrixLayout%sMajor);\n"
        "        coopMatLoad(mb, b, %s, ldb, gl_CooperativeMatrixLayout%sMajor);\n"
        "        acc = coopMatMulAdd(ma, mb, acc);\n%s"
        "    }\n"
        "    coopMatStore(acc, c, g * tile, TN, gl_CooperativeMatrixLayoutRowMajor);\n}\n";
    static const char update[] =
        "        coopMatLoad(old, sums, (g * steps + i) * tile, TN,\n"
        "                    gl_CooperativeMatrixLayoutRowMajor);\n"
        "        acc = acc + old;\n"
        "        coopMatStore(acc, sums, (g * steps + i) * tile, TN,\n"
        "                     gl_CooperativeMatrixLayoutRowMajor);\n";
    const Form *f = l->form;
    const char *steps = l->constant ? arena_printf(&l->arena, "%uu", l->steps) : "pushed";
    return arena_printf(&l->arena, text, l->subgroup_size, steps, f->head, f->first, f->x, f->y,
                        l->columns_of[A] ? "x * lda + g * TM" : "g * TM * lda + x",
                        l->columns_of[A] ? "Column" : "Row",
                        l->columns_of[B] ? "y" : "y * ldb", l->columns_of[B] ? "Column" : "Row",
                        l->updates ? update : "");
}

static ToolStatus compile(Loop *l)
{
    char m[12], n[12], k[12];
    GlslDefine defines[] = { { "IN", l->kind->in }, { "SUM", l->kind->out }, { "TM", m },
                             { "TN", n },           { "TK", k },
                             { "RESTRICT", l->restricts ? "restrict" : "" } };
    GlslOptions o = { .target_env = "vulkan1.3", .defines = defines,
                      .n_defines = COUNT_OF(defines) };
    const char *text = source(l);
    snprintf(m, sizeof m, "%u", l->kind->m);
    snprintf(n, sizeof n, "%u", l->kind->n);
    snprintf(k, sizeof k, "%u", l->kind->k);
    ToolSource named = { text, strlen(text), "loop.comp" };
    return glsl_compile(&l->arena, &named, &o, &l->spirv, &l->spirv_size, &l->diags.sink);
}

/* With that hint. */
static SpvModule *hinted(Loop *l, int32_t queues)
{
    const void *words = arena_copy(&l->arena, l->spirv, l->spirv_size);
    SpvModule *m = spv_read(&l->arena, words, l->spirv_size, "loop.comp", &l->diags.sink);
    uint32_t hints = 0;
    for (SpvFunction *f = m ? m->functions : NULL; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next) {
                if (i->op != SpvOpLoopMerge ||
                    !(i->words[3] & SpvLoopControlMultipleWaitQueuesQCOMMask))
                    continue;
                hints++;
                i->words[i->n_words - 1] = (uint32_t)queues;
                if (queues == UNHINTED) {
                    i->words[3] &= ~(uint32_t)SpvLoopControlMultipleWaitQueuesQCOMMask;
                    i->words[0] -= 1u << 16;
                    i->n_words--;
                }
            }
    if (hints != 1)
        test_fail(__FILE__, __LINE__, "%u hints: %s", hints, l->diags.text);
    return hints == 1 ? m : NULL;
}

/* The same with software pipelines, which spirv-val accepts and which asks for nothing. */
static SpvModule *pipelined(Loop *l, int32_t queues, uint32_t *ahead)
{
    static const char tool[] = HEDDLE_TOOLCHAIN "/bin/spirv-val";
    char path[] = "/tmp/heddle-wait-queues-XXXXXX", command[600];
    PassAheadReport report = { .arena = &l->arena };
    PassOptions o = { .fuse_steps = 1, .optimise = true, .ahead = &report };
    SpvEntryPoint entry;
    size_t size;
    SpvModule *m = hinted(l, queues);
    if (!m || !pass_pipeline(m, &o, &entry, &l->diags.sink))
        return NULL;
    for (uint32_t k = 0; k < report.loops.len; k++)
        *ahead += report.loops.data[k].ahead;
    const void *words = spv_write(&l->arena, m, &size);
    char *text = spv_disassemble(&l->arena, m, false);
    if (strstr(text, "MultipleWaitQueues") || strstr(text, "SPV_QCOM"))
        test_fail(__FILE__, __LINE__, "the hint is left:\n%s", text);
    int file = access(tool, X_OK) ? -1 : mkstemp(path);
    if (file >= 0) {
        bool written = write(file, words, size) == (ssize_t)size;
        close(file);
        snprintf(command, sizeof command, "%s --target-env vulkan1.3 %s", tool, path);
        if (!written || system(command))
            test_fail(__FILE__, __LINE__, "spirv-val rejects it, %d queues:\n%s", queues, text);
        unlink(path);
    }
    return spv_read(&l->arena, words, size, "pipelined", &l->diags.sink);
}

/* ---- running --------------------------------------------------------------------------------- */

static uint32_t count(const char *text, size_t size, const char *what)
{
    uint32_t n = 0;
    const char *end = text + size;
    while ((text = memmem(text, (size_t)(end - text), what, strlen(what)))) {
        text += strlen(what);
        n++;
    }
    return n;
}

static uint64_t bound_size(const Loop *l, uint32_t b)
{
    return l->buffers[b].size - (b <= B ? l->left_out[b] : 0);
}

static bool run_cpu(Loop *l, const SpvModule *m, const uint32_t *push, uint32_t *prefetches)
{
    CpuTarget target;
    CpuDevice *device = cpu_device_new(1, true, &l->diags.sink);
    PassOptions passes = { .optimise = true };
    CpuOptions o = { .subgroup_size = l->subgroup_size, .optimise = true, .robust = l->robust,
                     .emit = CPU_EMIT_LLVM };
    if (!device || !cpu_target(&target, NULL, &l->diags.sink))
        return false;
    CpuKernel *k = cpu_compile(m, &target, &passes, &o, &l->diags.sink);
    DeviceBinding bound[N_BUFFERS];
    const DeviceBinding *slots[N_BUFFERS];
    for (uint32_t b = 0; b < N_BUFFERS; b++)
        bound[b] = (DeviceBinding){ l->buffers[b].data, bound_size(l, b) };
    for (uint32_t s = 0; k && s < k->n_slots; s++)
        slots[s] = &bound[k->slots[s].binding];
    CpuDispatch d = { .kernel = k, .slots = slots, .push = push, .groups = { GROUPS, 1, 1 },
                      .interleave = (int)l->interleave, .prefetch = true };
    bool good = k && cpu_dispatch(device, &d, &l->diags.sink);
    *prefetches = k ? count(k->text, k->text_size, "call void @llvm.prefetch") : 0;
    cpu_kernel_free(k);
    cpu_target_free(&target);
    cpu_device_free(device);
    return good;
}

static bool run_reference(Loop *l, SpvModule *m, const uint32_t *push)
{
    RefBinding bound[N_BUFFERS];
    for (uint32_t b = 0; b < N_BUFFERS; b++)
        bound[b] = (RefBinding){ .binding = b, .base = l->buffers[b].data,
                                 .size = bound_size(l, b) };
    RefDispatch d = { .bindings = bound, .n_bindings = N_BUFFERS, .push = push, .push_size = 12,
                      .groups = { GROUPS, 1, 1 }, .subgroup_size = l->subgroup_size,
                      .check = l->robust ? 0 : REF_CHECK_BOUNDS };
    RefResult result = { 0 };
    return ref_dispatch(&l->arena, m, &d, &result, &l->diags.sink) && !result.n_findings;
}

/* What is in the buffers afterwards is in l->want, which the first run fills. */
static bool run(Loop *l, SpvModule *m, int32_t queues, bool reference, uint32_t *prefetches)
{
    const uint32_t push[] = { l->steps, l->stride[A], l->stride[B] };
    size_t sums = l->buffers[SUMS].size, out = l->buffers[OUT].size;
    for (uint32_t b = 0; b < N_BUFFERS; b++)
        memcpy(l->buffers[b].data, l->buffers[b].start, l->buffers[b].size);
    if (!m || !(reference ? run_reference(l, m, push) : run_cpu(l, m, push, prefetches)))
        return test_fail(__FILE__, __LINE__, "%d queues: %s", queues, l->diags.text);
    if (!l->want) {
        l->want = arena_alloc(&l->arena, sums + out);
        memcpy(l->want, l->buffers[SUMS].data, sums);
        memcpy(l->want + sums, l->buffers[OUT].data, out);
    }
    return (!memcmp(l->want, l->buffers[SUMS].data, sums) &&
            !memcmp(l->want + sums, l->buffers[OUT].data, out)) ||
           test_fail(__FILE__, __LINE__, "%d queues on %s change bits", queues,
                     reference ? "reference" : "cpu");
}

static bool every_number(Loop *l)
{
    uint32_t plain = 0, prefetches = 0, none, ahead;
    bool good = run(l, hinted(l, UNHINTED), UNHINTED, true, NULL) &&
                run(l, hinted(l, UNHINTED), UNHINTED, false, &plain);
    for (int32_t queues = 0; queues <= MOST && good; queues++) {
        bool slowly = queues % 4 == 3 || queues == MOST; /* the interpreter too */
        good = (!slowly || run(l, hinted(l, queues), queues, true, NULL)) &&
               run(l, hinted(l, queues), queues, false, &prefetches);
        /* a loop of a constant number of steps may be gone, and a line may hold what comes next */
        bool far = !l->columns_of[B] || (queues != 1 && l->kind->k * l->kind->bytes >= 32);
        if (good && !l->constant && far && prefetches <= plain)
            good = test_fail(__FILE__, __LINE__, "%d queues: nothing is prefetched", queues);
        ahead = 0;
        SpvModule *m = pipelined(l, queues, &ahead);
        good = good && run(l, m, queues, false, &none) &&
               (!slowly || run(l, m, queues, true, NULL));
        l->ahead += ahead;
    }
    /* stores elsewhere may be stores to what is loaded, unless it says that they are not */
    uint32_t want = l->updates && !l->restricts ? 0 : l->form->ahead * (MOST + 1);
    if (good && l->ahead != want)
        good = test_fail(__FILE__, __LINE__, "%u loads are pipelined, not %u", l->ahead, want);
    return good;
}

static void choose(Loop *l, uint64_t seed)
{
    l->rng = (Rng){ seed };
    l->form = &forms[seed % COUNT_OF(forms)];
    l->kind = &kinds[pick(l, COUNT_OF(kinds))];
    l->steps = 1 + pick(l, 9);
    l->columns_of[A] = pick(l, 2);
    l->columns_of[B] = pick(l, 2);
    l->subgroup_size = 8u << pick(l, 3);
    l->interleave = pick(l, 2) ? 1 : 16;
    l->constant = !pick(l, 4);
    l->updates = pick(l, 2);
    l->restricts = pick(l, 2);
}

/* Strides that lead out of the buffers, most of all and hardly; what is bound ends before them. */
static void lead_outside(Loop *l)
{
    static const uint32_t strides[] = { 0, 1u << 20, 1u << 28, 1u << 30, INT32_MAX, UINT32_MAX };
    for (uint32_t b = A; b <= B; b++) {
        l->left_out[b] = pick(l, (uint32_t)l->buffers[b].size);
        if (!pick(l, 2))
            l->stride[b] = strides[pick(l, COUNT_OF(strides))] - 16 * pick(l, 3);
    }
}

/* False: no use in going on. */
static bool random_loop(Loop *l, uint64_t seed)
{
    choose(l, seed);
    make_buffers(l);
    if (l->robust)
        lead_outside(l);
    ToolStatus status = compile(l);
    if (status == TOOL_MISSING)
        printf("no glslang: wait queues are not tested\n");
    else if (status != TOOL_OK)
        test_fail(__FILE__, __LINE__, "%s", l->diags.text);
    else if (!every_number(l))
        test_fail(__FILE__, __LINE__, "seed %llu:\n%s", (unsigned long long)seed, source(l));
    else
        return true;
    return false;
}

static bool run_seed(uint64_t seed, bool robust)
{
    Loop *l = calloc(1, sizeof *l);
    jmp_buf failed;
    if (!l)
        return test_fail(__FILE__, __LINE__, "out of memory");
    l->diags = (TestDiags)TEST_DIAGS(l->diags);
    l->robust = robust;
    l->arena.on_failure = &failed;
    if (setjmp(failed))
        return test_fail(__FILE__, __LINE__, "out of memory");
    bool good = random_loop(l, seed);
    for (uint32_t b = 0; b < N_BUFFERS; b++)
        munmap(l->buffers[b].map, l->buffers[b].mapped);
    arena_free(&l->arena);
    free(l);
    return good;
}

static void run_seeds(uint64_t first, bool robust)
{
    bool good = true;
    for (uint32_t k = 0; k < LOOPS && good; k++)
        good = !TEST_TAKES(k) || run_seed(first + k, robust);
}

TEST(no_number_of_wait_queues_changes_a_bit) { run_seeds(1, false); }

TEST(what_is_outside_of_a_buffer_reads_as_zeros) { run_seeds(101, true); }
