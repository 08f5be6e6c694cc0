/* SPDX-License-Identifier: MIT
 *
 * Seeded mutations of real modules (every kernel of tests/, examples/ and bench/, compiled, and the
 * assembly texts) on the whole way of path.h: cut short, bits flipped, words and instructions
 * exchanged. Each must end in a result or in a diagnostic.
 *
 *     test_fuzz_mutations [--count N] [--first SEED] [--jobs N] [--compile N] [--seconds N]
 *         one in N of those that could be compiled are (LLVM takes most of the time)
 *         none begins after so many seconds: 50, or 25 where tests take a part of their cases,
 *         unless --count or --seconds is given
 *     test_fuzz_mutations --write SEED         that module to fuzz-SEED.spv
 *     test_fuzz_mutations --take FILE          that module the whole way, in this process
 *     test_fuzz_mutations --corpus FOLDER      the modules, for libFuzzer
 */
#include "path.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_MODULES = 400, DEFAULT_COUNT = 100000, DEFAULT_COMPILE = 20,
       SECONDS = 60 * HEDDLE_TEST_STEP, USUAL_SECONDS = HEDDLE_TEST_STEP > 1 ? 25 : 50 };

typedef struct Bytes { char *name; uint8_t *data; size_t size; } Bytes;
typedef struct Corpus { Arena arena; Bytes module[MAX_MODULES]; uint32_t n; } Corpus;

/* ---- modules --------------------------------------------------------------------------------- */

static void add_file(Corpus *c, const char *path)
{
    static const HeddleDefine defines[] = { { "T", "int" }, { "U", "uint" }, { "W", "32" } };
    HeddleModuleOptions o = { .defines = defines, .n_defines = 0 };
    HeddleModule *m = NULL;
    size_t size;
    if (heddle_module_from_file(path, &o, &m, NULL) != HEDDLE_OK) {
        o.n_defines = COUNT_OF(defines);
        heddle_module_from_file(path, &o, &m, NULL);
    }
    const uint32_t *words = m ? heddle_module_spirv(m, &size) : NULL;
    if (words && c->n < MAX_MODULES)
        c->module[c->n++] = (Bytes){ arena_strdup(&c->arena, path),
                                     arena_copy(&c->arena, words, size), size };
    heddle_module_free(m);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static void add_folder(Corpus *c, const char *path)
{
    char *names[500];
    uint32_t n = 0;
    DIR *d = opendir(path);
    for (struct dirent *e = d ? readdir(d) : NULL; e && n < COUNT_OF(names); e = readdir(d))
        if (e->d_name[0] != '.')
            names[n++] = arena_strdup(&c->arena, e->d_name);
    if (d)
        closedir(d);
    qsort(names, n, sizeof names[0], by_name);
    for (uint32_t i = 0; i < n; i++) {
        char *full = arena_printf(&c->arena, "%s/%s", path, names[i]);
        if (ends_with(full, ".comp") || ends_with(full, ".spvasm"))
            add_file(c, full);
        else if (!strchr(names[i], '.'))
            add_folder(c, full);
    }
}

static void make_corpus(Corpus *c)
{
    static const char *const folders[] = { "tests", "examples", "bench" };
    for (uint32_t i = 0; i < COUNT_OF(folders); i++)
        add_folder(c, arena_printf(&c->arena, HEDDLE_SOURCE_DIR "/%s", folders[i]));
}

/* ---- mutations ------------------------------------------------------------------------------- */

/* The offsets, in words, of the instructions; their count. */
static uint32_t instructions(const uint32_t *w, size_t n, uint32_t *at, uint32_t max)
{
    uint32_t count = 0;
    for (size_t k = 5; k < n && w[k] >> 16 && count < max; k += w[k] >> 16)
        at[count++] = (uint32_t)k;
    return count;
}

static size_t change_instruction(Rng *r, uint32_t *w, size_t n, uint32_t how)
{
    static uint32_t at[20000];
    uint32_t count = instructions(w, n, at, COUNT_OF(at));
    if (count < 2)
        return n;
    uint32_t a = at[rng_u64(r) % count], b = at[rng_u64(r) % count];
    uint32_t length = w[a] >> 16, operands = length - 1;
    if (a + length > n)
        return n;
    switch (how) {
    case 0:     /* left out */
        memmove(w + a, w + a + length, (n - a - length) * 4);
        return n - length;
    case 1:     /* another opcode of a neighbourhood, or another instruction's */
        w[a] = (w[a] & 0xffff0000u) |
               (rng_u64(r) & 1 << 20 ? w[b] & 0xffff : (w[a] ^ (rng_u64(r) >> 60)) & 0xffff);
        return n;
    case 2:     /* an operand is another id, or a small number */
        if (operands)
            w[a + 1 + rng_u64(r) % operands] =
                (uint32_t)(rng_u64(r) >> 33) % (rng_u64(r) & 1 << 20 ? w[3] + 1 : 20);
        return n;
    case 3:     /* an operand from elsewhere */
        if (operands && w[b] >> 16 > 1)
            w[a + 1 + rng_u64(r) % operands] = w[b + 1];
        return n;
    default:    /* the same twice: the second in another's place when as long */
        if (w[b] >> 16 == length && b + length <= n)
            memcpy(w + b, w + a, length * 4);
        return n;
    }
}

/* The mutation of a seed; malloc'd. */
static uint8_t *mutate(const Corpus *c, uint64_t seed, size_t *size)
{
    Rng r = { seed * 0x9e3779b97f4a7c15u };
    const Bytes *from = &c->module[rng_u64(&r) % c->n];
    uint8_t *data = malloc(from->size);
    *size = from->size;
    if (!data)
        return NULL;
    memcpy(data, from->data, from->size);
    uint32_t kind = (uint32_t)(rng_u64(&r) >> 60), times = 1 + (uint32_t)(rng_u64(&r) >> 62);
    if (kind == 0) {
        *size = rng_u64(&r) % from->size;
    } else if (kind == 1) {
        *size = rng_u64(&r) % from->size / 4 * 4;
    } else if (kind < 6) {
        for (uint32_t i = 0; i < times; i++)
            data[rng_u64(&r) % *size] ^= (uint8_t)(1 << (rng_u64(&r) >> 61));
    } else {
        for (uint32_t i = 0; i < times; i++)
            *size = 4 * change_instruction(&r, (uint32_t *)(void *)data, *size / 4, kind % 5);
    }
    return data;
}

/* ---- running --------------------------------------------------------------------------------- */

/* What is being done: kept when it crashes, for the numbers change with the modules. */
static volatile uint64_t current;
static const void *volatile current_data;
static volatile size_t current_size;

static void on_signal(int signal)
{
    char text[160], path[64];
    snprintf(path, sizeof path, "/tmp/heddle-fuzz-%" PRIu64 ".spv", current);
    int n = snprintf(text, sizeof text, "mutation %" PRIu64 ": signal %d: %s\n", current, signal,
                     path);
    int f = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (f < 0 || write(f, (const void *)current_data, current_size) < 0 ||
        write(1, text, (size_t)n) < 0)
        _exit(3);
    _exit(2);
}

typedef struct Plan {
    uint64_t first, count;
    uint32_t jobs, compile;
    uint64_t seconds; /* of mutations; 0: until all are done */
} Plan;

/* Of the modules as they are, of which other tests run most, each worker takes some. */
static bool is_taken(const Plan *plan, uint64_t i)
{
    return i / plan->jobs % HEDDLE_TEST_STEP == 0;
}

static int work(const Corpus *c, const Plan *plan, uint32_t job, uint64_t *stages)
{
    static Path path;
    static const uint32_t sizes[] = { 8, 16, 32 };
    int failed = 0;
    time_t end = 0;
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM };
    for (uint32_t i = 0; i < COUNT_OF(signals); i++)
        signal(signals[i], on_signal);
    if (!path_open(&path))
        return 1;
    for (uint64_t i = job; i < plan->count + c->n; i += plan->jobs) {
        bool whole = i < c->n;      /* the modules as they are come first */
        size_t size = whole ? c->module[i].size : 0;
        if (whole && !is_taken(plan, i))
            continue;
        if (!whole && !end)
            end = time(NULL) + (time_t)plan->seconds;
        if (!whole && plan->seconds && time(NULL) >= end)
            break;
        current = whole ? i : plan->first + i - c->n;
        alarm(SECONDS);
        uint8_t *data = whole ? malloc(size) : mutate(c, current, &size);
        if (!data)
            return 1;
        if (whole)
            memcpy(data, c->module[i].data, size);
        current_data = data;
        current_size = size;
        path.compile = whole || current % plan->compile == 0;
        path.subgroup_size = sizes[current / plan->compile % COUNT_OF(sizes)];
        Stage stage = path_take(&path, data, size);
        free(data);
        stages[stage]++;
        if (path.silent) {
            printf("mutation %" PRIu64 ": failed without saying why\n", current);
            failed++;
        }
    }
    path_close(&path);
    return MIN(failed, 100);
}

static int many(const Corpus *c, const Plan *plan)
{
    int failed = 0, ends[2];
    uint64_t stages[N_STAGES] = { 0 }, part[N_STAGES];
    if (pipe(ends))
        return 1;
    for (uint32_t job = 0; job < plan->jobs; job++) {
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0) {
            int status = work(c, plan, job, stages);
            if (write(ends[1], stages, sizeof stages) < 0)
                status = 1;
            fflush(stdout);
            _exit(status);
        }
    }
    close(ends[1]);
    while (read(ends[0], part, sizeof part) == sizeof part)
        for (uint32_t s = 0; s < N_STAGES; s++)
            stages[s] += part[s];
    close(ends[0]);
    for (uint32_t job = 0; job < plan->jobs; job++) {
        int status = 0;
        wait(&status);
        failed += WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    uint64_t done = 0, whole = 0;
    for (uint32_t s = 0; s < N_STAGES; s++)
        done += stages[s];
    for (uint32_t i = 0; i < c->n; i++)
        whole += is_taken(plan, i);
    failed += plan->count && done <= whole; /* then nothing was tested */
    printf("%" PRIu64 " mutations of %u modules: %" PRIu64 " refused, %" PRIu64 " checked, %" PRIu64
           " interpreted, %" PRIu64 " compiled, %" PRIu64 " run\n", done - MIN(done, whole), c->n,
           stages[0], stages[1], stages[2], stages[3], stages[4]);
    printf("%d passed, %d failed\n", failed == 0, failed != 0);
    return failed != 0;
}

static int write_bytes(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size)
        return 1;
    return fclose(f) != 0;
}

static int write_corpus(const Corpus *c, const char *folder)
{
    char path[1000];
    int failed = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        snprintf(path, sizeof path, "%s/%03u.spv", folder, i);
        failed += write_bytes(path, c->module[i].data, c->module[i].size);
    }
    printf("%u modules\n", c->n);
    return failed != 0;
}

static int take(const char *file)
{
    static Path path = { .compile = true, .subgroup_size = 8 };
    static uint8_t data[1 << 20];
    FILE *f = fopen(file, "rb");
    if (!f || !path_open(&path))
        return 1;
    size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    Stage stage = path_take(&path, data, size);
    printf("stage %d%s\n", (int)stage, path.silent ? ", failed without saying why" : "");
    path_close(&path);
    return path.silent;
}

static int one(const Corpus *c, uint64_t seed)
{
    char path[100];
    size_t size;
    uint8_t *data = mutate(c, seed, &size);
    snprintf(path, sizeof path, "fuzz-%" PRIu64 ".spv", seed);
    int status = data ? write_bytes(path, data, size) : 1;
    free(data);
    printf("%s\n", path);
    return status;
}

int main(int argc, char **argv)
{
    static Corpus corpus;
    Plan plan = { 1, DEFAULT_COUNT, 2, DEFAULT_COMPILE, argc == 1 ? USUAL_SECONDS : 0 };
    int status = -1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 3 && !strcmp(argv[1], "--take"))
        return take(argv[2]);
    make_corpus(&corpus);
    for (int i = 1; i + 1 < argc && status < 0; i += 2) {
        uint64_t x = strtoull(argv[i + 1], NULL, 0);
        if (!strcmp(argv[i], "--write"))
            status = one(&corpus, x);
        else if (!strcmp(argv[i], "--corpus"))
            status = write_corpus(&corpus, argv[i + 1]);
        else if (!strcmp(argv[i], "--first"))
            plan.first = x;
        else if (!strcmp(argv[i], "--count"))
            plan.count = x;
        else if (!strcmp(argv[i], "--jobs"))
            plan.jobs = (uint32_t)MIN(MAX(x, 1), 64);
        else if (!strcmp(argv[i], "--compile"))
            plan.compile = (uint32_t)MAX(x, 1);
        else if (!strcmp(argv[i], "--seconds"))
            plan.seconds = x;
    }
    if (status < 0)
        status = corpus.n ? many(&corpus, &plan) : 1;
    arena_free(&corpus.arena);
    return status;
}
