/* SPDX-License-Identifier: MIT
 *
 * Random kernels (src/random/) on both devices: what they write must be equal bit by bit, whatever
 * the subgroup size, with and without robust access and optimisation; the interpreter must find
 * nothing wrong with them. A failure tells its seed.
 *
 *     test_random_kernels [--first SEED] [--count N] [--jobs N] [--seconds N]
 *         none begins after so many seconds: 100 unless --count or --seconds is given
 *     test_random_kernels --print SEED         the module
 *     test_random_kernels --minimise SEED      leaves statements and expressions out while it still
 *                                              fails, then prints the module and the failure
 */
#include "random/random.h"

#include <heddle/heddle.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_BUFFERS = GEN_BUFFERS, MAX_INVOCATIONS = 256, DEFAULT_COUNT = 2000 / HEDDLE_TEST_STEP,
       SECONDS = 120 * HEDDLE_TEST_STEP, USUAL_SECONDS = 60,
       VALIDATED = 50 /* one in */ };

#ifndef SUBGROUP_SIZES
#define SUBGROUP_SIZES 8, 16, 32, 64, 128
#endif
static const uint32_t sizes[] = { SUBGROUP_SIZES };

#ifdef HEDDLE_TEST_CUDA /* matrices are dealt by tiles there */
static const GenTarget *const target = &(GenTarget){
    .has = GEN_ALL & ~(GEN_OWNERSHIP | GEN_SMALL_OWNERSHIP) };
#else
static const GenTarget *const target;
#endif

/* What failed once, and why: they are tried first, whatever else is asked for. */
static const uint64_t failed_once[] = {
    10087377, 10093113, 10135183, /* clusters of masked lanes: LLVM's peephole optimiser */
    10212009, /* lanes outside the workgroup: a mask's spilled KMOV taken for a copy */
    10515591, /* a store of one lane, as wide as before it was narrowed */
    10590436, /* bytes shifted right by 0 where that matters */
    10560528, /* a ballot's words, reversed together */
    10222767, /* UMulExtended by 1 in a whole register */
    16667, /* an i1's upper bits taken for zeros, in what is not optimised */
    301555, 303240, 303795, 305826, 322893, /* on cuda, not optimised */
    310268, /* on cuda: selections of 16 bits in private memory */
    602818, 631173, /* on cuda: votes that nothing reads */
    706135, /* on cuda: private memory stored byte by byte */
    713185, /* on cuda: halves of a register taken for a whole */
    10197843, 10240238, /* never compiled: masks added as numbers */
    167, 252, 449, /* a store in parts, of other numbers than a load in parts at the same place */
};

/* Of what the machine has: one a level, where it has that. */
#ifdef HEDDLE_TEST_CUDA
static const char *const levels[] = { NULL };
#else
static const char *const levels[] = { "host", "x86-64-v4", "x86-64-v3", "x86-64-v2" };
#endif
enum { LEVELS = COUNT_OF(levels) };

/* Code of a level that the machine lacks can be looked at, but not run. */
static bool runs(const HeddleDevice *host, const char *level)
{
    const HeddleDeviceInfo *info = heddle_device_info(host);
    uint32_t k = 0;
    while (k < info->n_levels && strcmp(info->levels[k], level))
        k++;
    return k < info->n_levels;
}

typedef struct Devices {
    HeddleDevice *cpu[LEVELS], *reference;
    uint32_t n_cpu;
} Devices;

/* One run: how, and what it said. */
typedef struct Config {
    HeddleDevice *device;
    uint32_t subgroup_size;
    bool any_size; /* nobody asks for one: kernels that cannot tell 32 from others get what suits */
    bool cpu, robust, plain, fast, check;
    uint64_t seed;
} Config;

static void describe(const Config *c, char *text, size_t size)
{
    const HeddleDeviceInfo *info = heddle_device_info(c->device);
    snprintf(text, size, "%s %s, subgroups of %u%s%s%s%s", info->kind_name, info->target,
             c->subgroup_size, c->any_size ? " or any" : "", c->robust ? ", robust" : "",
             c->plain ? ", not optimised" : c->fast ? ", the first tier" : "",
             c->check ? ", checked" : "");
}

/* ---- memory ---------------------------------------------------------------------------------- */

static GenMemory new_memory(const GenKernel *k)
{
    GenMemory m = { 0 };
    gen_sizes(k, m.size);
    for (uint32_t i = 0; i < N_BUFFERS; i++)
        m.data[i] = aligned_alloc(64, (m.size[i] + 63) / 64 * 64);
    return m;
}

static void free_memory(GenMemory *m)
{
    for (uint32_t i = 0; i < N_BUFFERS; i++)
        free(m->data[i]);
}

/* ---- running --------------------------------------------------------------------------------- */

static bool run(const HeddleModule *module, const GenKernel *k, const Config *c, GenMemory *m,
                HeddleLog *log)
{
    HeddleDevice *device = c->device;
    HeddleKernelOptions o = { .subgroup_size = c->any_size ? 0 : c->subgroup_size,
                              .robust = c->robust, .check = c->check, .no_optimisation = c->plain,
                              .tier = c->fast ? HEDDLE_TIER_FAST : HEDDLE_TIER_AUTO };
    HeddleKernel *kernel = NULL;
    HeddleBuffer *b[N_BUFFERS] = { NULL };
    HeddleBinding bindings[N_BUFFERS];
    bool good = heddle_kernel_new(device, module, &o, &kernel, log) == HEDDLE_OK;
    for (uint32_t i = 0; i < N_BUFFERS; i++) {
        good = good && heddle_buffer_wrap(device, m->data[i], m->size[i], &b[i], log) == HEDDLE_OK;
        bindings[i] = (HeddleBinding){ .binding = i, .buffer = b[i] };
    }
    HeddleDispatch dispatch = { .groups = { k->groups, 1, 1 }, .bindings = bindings,
                                .n_bindings = N_BUFFERS, .seed = c->seed, .max_threads = 1 };
    good = good && heddle_dispatch(kernel, &dispatch, NULL, log) == HEDDLE_OK;
    for (uint32_t i = 0; i < N_BUFFERS; i++)
        heddle_buffer_free(b[i]);
    heddle_kernel_free(kernel);
    return good;
}

static void tell_log(const HeddleLog *log)
{
    for (size_t i = 0; i < heddle_log_count(log) && i < 5; i++)
        printf("    %s\n", heddle_log_get(log, i)->text);
}

static bool same(const GenKernel *k, const GenMemory *got, const GenMemory *want, bool quiet)
{
    for (uint32_t b = 1; b < N_BUFFERS; b++) {
        const uint32_t *g = got->data[b], *w = want->data[b];
        for (size_t i = 0; i < want->size[b] / 4; i++) {
            if (g[i] == w[i])
                continue;
            if (!quiet) {
                uint32_t each = b == 1 ? GEN_SLOTS
                              : b == 3 ? GEN_OWN_BYTES / 4 : GEN_MATRIX_OUTPUTS;
                printf("    buffer %u, word %zu of %s %zu: %08x, not %08x (workgroups of %u)\n", b,
                       i % each, b == 6 ? "subgroup" : "invocation", i / each, g[i], w[i],
                       k->local[0] * k->local[1] * k->local[2]);
            }
            return false;
        }
    }
    return true;
}

/* The interpreter first, then the cpu in some configurations, which go round with the seed: one for
 * most kernels, with every third two and then another subgroup size. */
static bool compare(const Devices *d, const HeddleModule *module, const GenKernel *k, uint64_t seed,
                    bool quiet, HeddleLog *log)
{
    GenMemory want = new_memory(k), got = new_memory(k);
    bool outside = k->features & OUTSIDE, good = true;
    Config c = { .subgroup_size = sizes[seed % 5], .robust = outside };
    char text[100];
    for (uint32_t i = 0; i < (seed % 3 ? 2 : 5) && good; i++) {
        uint64_t turn = seed / 15 + i;
        c.cpu = i % 3 != 0;
        c.seed = seed * 7 + i;
        c.device = c.cpu ? d->cpu[turn % 3 ? 0 : (turn / 3 + seed) % d->n_cpu] : d->reference;
        if (i == 3)
            c.subgroup_size = sizes[(seed + 1 + seed / 5 % 4) % 5];
        c.robust = c.cpu && (outside || turn & 1);
        c.plain = c.cpu && (turn >> 1 & 3) == 0;
        c.fast = c.cpu && (turn >> 1 & 3) == 1;
        c.any_size = c.cpu && c.subgroup_size == 32 && (turn >> 1 & 3) == 2;
        c.check = !c.cpu && !outside && turn & 1;
        GenMemory *to = c.cpu ? &got : &want;
        gen_fill(to, k, seed);
        heddle_log_clear(log);
        describe(&c, text, sizeof text);
        good = run(module, k, &c, to, log);
        if (!good && !quiet) {
            printf("  %s: fails\n", text);
            tell_log(log);
        } else if (good && c.cpu && !same(k, &got, &want, true)) {
            good = false;
            if (!quiet) {
                printf("  %s: differs from the interpreter\n", text);
                same(k, &got, &want, false);
            }
        }
    }
    free_memory(&want);
    free_memory(&got);
    return good;
}

static bool validate(const HeddleModule *module, uint64_t seed)
{
    char path[64], command[512];
    size_t size;
    const uint32_t *words = heddle_module_spirv(module, &size);
    if (access(HEDDLE_TOOLCHAIN "/bin/spirv-val", X_OK))
        return true;
    snprintf(path, sizeof path, "/tmp/heddle_random_%d_%" PRIu64 ".spv", (int)getpid(), seed);
    FILE *f = fopen(path, "wb");
    if (!f)
        return true;
    fwrite(words, 1, size, f);
    fclose(f);
    snprintf(command, sizeof command, "%s/bin/spirv-val --target-env vulkan1.4 %s 1>&2",
             HEDDLE_TOOLCHAIN, path);
    bool good = system(command) == 0;
    unlink(path);
    return good;
}

static bool test(const Devices *d, const GenKernel *k, uint64_t seed, bool quiet)
{
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleModule *module = NULL;
    HeddleModuleOptions o = { .language = HEDDLE_LANGUAGE_SPIRV_ASM };
    bool good =
        heddle_module_new(k->text, strlen(k->text), "random", &o, &module, log) == HEDDLE_OK;
    if (!good && !quiet) {
        printf("  refused\n");
        tell_log(log);
    }
    if (good && !quiet && seed % VALIDATED == 0 && !validate(module, seed)) {
        printf("  spirv-val refuses it\n");
        good = false;
    }
    good = good && compare(d, module, k, seed, quiet, log);
    heddle_module_free(module);
    heddle_log_free(log);
    return good;
}

static bool open_devices(Devices *d)
{
    HeddleDeviceOptions reference = { .kind = HEDDLE_DEVICE_REFERENCE, .threads = 1 };
    HeddleLog *log = heddle_log_new(NULL, NULL);
    *d = (Devices){ .n_cpu = 0 };
    for (uint32_t k = 0; k < LEVELS; k++) {
        HeddleDeviceOptions cpu = { .threads = 1, .isa = levels[k] };
        d->n_cpu += (!k || (d->n_cpu && runs(d->cpu[0], levels[k]))) &&
                    heddle_device_new(&cpu, &d->cpu[d->n_cpu], log) == HEDDLE_OK;
    }
    bool good = heddle_device_new(&reference, &d->reference, log) == HEDDLE_OK && d->n_cpu;
    heddle_log_free(log);
    return good;
}

static void close_devices(Devices *d)
{
    for (uint32_t k = 0; k < d->n_cpu; k++)
        heddle_device_free(d->cpu[k]);
    heddle_device_free(d->reference);
}

/* ---- many, in processes of their own --------------------------------------------------------- */

/* The seed that a crash tells. */
static volatile uint64_t current;

static void on_signal(int signal)
{
    char text[64];
    int n = snprintf(text, sizeof text, "seed %" PRIu64 ": signal %d\n", current, signal);
    if (write(1, text, (size_t)n) < 0)
        _exit(3);
    _exit(2);
}

typedef struct Range {
    uint64_t first, count;
    uint32_t jobs;
    time_t end; /* 0: when all are done */
} Range;

/* `next` is shared by the jobs: how many were begun, with those that failed once. */
static int work(const Range *r, _Atomic uint64_t *next)
{
    Devices d;
    int failed = 0;
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM };
    for (uint32_t i = 0; i < COUNT_OF(signals); i++)
        signal(signals[i], on_signal);
    if (!open_devices(&d))
        return 1;
    while (!r->end || time(NULL) < r->end) {
        uint64_t i = atomic_fetch_add(next, 1);
        if (i >= COUNT_OF(failed_once) + r->count) {
            atomic_fetch_sub(next, 1);
            break;
        }
        current = i < COUNT_OF(failed_once) ? failed_once[i]
                                            : r->first + i - COUNT_OF(failed_once);
        alarm(SECONDS);
        Arena arena = { 0 };
        GenKernel k = gen_kernel(&arena, current, NULL, target);
        if (!test(&d, &k, current, false)) {
            printf("seed %" PRIu64 ": FAILED\n", current);
            failed++;
        }
        arena_free(&arena);
        if (failed >= 20)
            break;
    }
    close_devices(&d);
    return MIN(failed, 100);
}

static int many(const Range *r)
{
    int failed = 0;
    _Atomic uint64_t *next = mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (next == MAP_FAILED)
        return 1;
    fflush(stdout);
    for (uint32_t job = 0; job < r->jobs; job++) {
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0) {
            int status = work(r, next);
            fflush(stdout);
            _exit(status);
        }
    }
    for (uint32_t job = 0; job < r->jobs; job++) {
        int status = 0;
        wait(&status);
        failed += WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    uint64_t old = COUNT_OF(failed_once), done = atomic_load(next);
    printf("%" PRIu64 " random kernels from seed %" PRIu64 "\n", done - MIN(done, old), r->first);
    printf("%d passed, %d failed\n", failed == 0, failed != 0);
    return failed != 0;
}

/* ---- making one small ------------------------------------------------------------------------ */

/* In a child, so that a crash or an endless loop counts as the failure that it is. */
static bool fails(const GenKernel *k, uint64_t seed, bool quiet)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        Devices d;
        alarm(20);
        if (quiet && !freopen("/dev/null", "w", stderr))
            _exit(0);
        bool good = open_devices(&d) && test(&d, k, seed, quiet);
        fflush(stdout);
        _exit(good ? 0 : 1);
    }
    waitpid(child, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static bool still_fails(uint64_t seed, const uint8_t *skip)
{
    Arena arena = { 0 };
    GenKernel k = gen_kernel(&arena, seed, skip, target);
    bool failed = fails(&k, seed, true);
    arena_free(&arena);
    return failed;
}

static bool names(const char *line, size_t length, const char *id, size_t n)
{
    for (const char *s = line; s + n <= line + length; s++)
        if (!memcmp(s, id, n) && (s + n == line + length || strchr(" \n", s[n])))
            return true;
    return false;
}

/* The text without what defines something that no other line but decorations and the entry point
 * mentions; NULL when there is nothing of the kind. */
static const char *without_unused(Arena *a, const char *text)
{
    Str out = { 0 };
    bool any = false;
    const char *unused = NULL;
    for (const char *s = text, *end; *s; s = end) {
        end = strchr(s, '\n') + 1;
        const char *is = *s == '%' ? strstr(s, " = Op") : NULL;
        bool keep = !is || is > end || strstr(is, "OpLabel") == is + 3 ||
                    strstr(is, "OpFunction") == is + 3 || strstr(is, "OpAtomic") == is + 3;
        for (const char *t = text, *next; !keep && *t; t = next) {
            next = strchr(t, '\n') + 1;
            keep = t != s && strncmp(t, "OpDecorate", 10) && strncmp(t, "OpMemberDecorate", 16) &&
                   strncmp(t, "OpEntryPoint", 12) &&
                   names(t, (size_t)(next - t), s, (size_t)(is - s));
        }
        if (keep || any || strstr(is, "Variable") == is + 5) {
            str_addn(a, &out, s, (size_t)(end - s));
            continue;
        }
        any = true;
        unused = arena_strndup(a, s, (size_t)(is - s));
    }
    if (!unused)
        return NULL;
    /* its decorations */
    Str rest = { 0 };
    for (const char *s = out.data, *end; *s; s = end) {
        end = strchr(s, '\n') + 1;
        if (strncmp(s, "OpDecorate", 10) || !names(s, (size_t)(end - s), unused, strlen(unused)))
            str_addn(a, &rest, s, (size_t)(end - s));
    }
    return rest.data;
}

static void print_small(uint64_t seed, const uint8_t *skip)
{
    Arena arena = { 0 };
    GenKernel k = gen_kernel(&arena, seed, skip, target), small = k;
    for (const char *text = k.text; text; text = without_unused(&arena, text))
        small.text = text;
    if (fails(&small, seed, true))
        k = small;
    printf("%s\n", k.text);
    fails(&k, seed, false);
    arena_free(&arena);
}

static int minimise(uint64_t seed)
{
    static uint8_t skip[GEN_MAX_NODES];
    Arena arena = { 0 };
    uint32_t n = gen_kernel(&arena, seed, NULL, target).nodes;
    arena_free(&arena);
    if (!still_fails(seed, skip)) {
        printf("seed %" PRIu64 " passes\n", seed);
        return 0;
    }
    for (uint32_t step = n / 2; step; step = step > 1 ? (step + 1) / 2 : 0) {
        for (uint32_t at = 0; at < n; at += step) {
            uint8_t before[GEN_MAX_NODES];
            uint32_t end = MIN(at + step, n), set = 0;
            memcpy(before, skip, sizeof skip);
            for (uint32_t i = at; i < end; i++)
                set += skip[i];
            memset(skip + at, 1, end - at);
            if (set < end - at && !still_fails(seed, skip))
                memcpy(skip, before, sizeof skip);
        }
    }
    print_small(seed, skip);
    return 1;
}

int main(int argc, char **argv)
{
    Range r = { .first = 1, .count = DEFAULT_COUNT, .jobs = 2 };
    uint64_t seconds = argc == 1 ? USUAL_SECONDS : 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t x = strtoull(argv[i + 1], NULL, 0);
        if (!strcmp(argv[i], "--minimise"))
            return minimise(x);
        if (!strcmp(argv[i], "--print")) {
            Arena arena = { 0 };
            printf("%s", gen_kernel(&arena, x, NULL, target).text);
            arena_free(&arena);
            return 0;
        }
        if (!strcmp(argv[i], "--first"))
            r.first = x;
        else if (!strcmp(argv[i], "--count"))
            r.count = x;
        else if (!strcmp(argv[i], "--jobs"))
            r.jobs = (uint32_t)MIN(MAX(x, 1), 64);
        else if (!strcmp(argv[i], "--seconds"))
            seconds = x;
    }
    r.end = seconds ? time(NULL) + (time_t)seconds : 0;
    return many(&r);
}
