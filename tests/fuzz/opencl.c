/* SPDX-License-Identifier: MIT
 *
 * Seeded mutations of OpenCL C: the kernels of tests/ and examples/, their tokens left out,
 * repeated, exchanged, replaced by others', nested many times over, their bytes changed. Each must
 * come to its end: a tree and LLVM IR, one in a few on to SPIR-V for OpenCL and for Vulkan, or a
 * diagnostic.
 *
 *     test_fuzz_opencl [--count N] [--first SEED] [--write SEED] [FILE...]
 *
 * Built with HEDDLE_FUZZER it is libFuzzer's target:
 *
 *     cmake --preset fuzz && ninja -C build/fuzz fuzz_opencl
 *     mkdir corpus && build/fuzz/test/fuzz_opencl -max_len=4000 corpus tests/opencl
 */
#include "base/base.h"
#include "front/opencl/opencl.h"
#include "pass/pass.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_FILES = 200, DEFAULT_COUNT = 1500, SPIRV_ONE_IN = 10, SECONDS = 20 };

static const char *const folders[] = { HEDDLE_SOURCE_DIR "/tests/opencl/kernels" };

/* As a kernel and as a shader. */
static bool take_to_spirv(Arena *arena, const OclSource *source, DiagSink *sink)
{
    static const OclOptions kernel = { .include_dirs = folders, .n_include_dirs = 1 };
    static const OclOptions shader = { .include_dirs = folders, .n_include_dirs = 1,
                                       .vulkan = true };
    if (!ocl_compile(arena, source, &kernel, sink))
        return sink->errors != 0;
    struct SpvModule *m = ocl_compile(arena, source, &shader, sink);
    return (m && pass_shader(m, sink)) || sink->errors;
}

/* False when it failed and nothing was said. */
static bool take(const char *text, size_t size, bool to_spirv)
{
    static const OclOptions options = { .include_dirs = folders, .n_include_dirs = 1 };
    OclSource source = { text, size, "fuzz.cl" };
    DiagSink sink = { 0 };
    Arena arena = { .limit = (size_t)1 << 30 };
    jmp_buf oom;
    volatile bool good = true;
    if (!ARENA_GUARD(&arena, oom)) {
        bool tree = ocl_to_ast(&arena, &source, &options, &sink) != NULL;
        good = tree || sink.errors;
        if (tree && to_spirv)
            good = take_to_spirv(&arena, &source, &sink);
        else if (tree)
            good = ocl_to_llvm(&arena, &source, &options, &sink) || sink.errors;
    }
    arena_free(&arena);
    return good;
}

#ifdef HEDDLE_FUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!take((const char *)data, size, false))
        __builtin_trap();
    return 0;
}

#else

typedef struct Text { char *data; size_t size; } Text;
typedef struct Corpus { Text file[MAX_FILES]; uint32_t n; } Corpus;

static bool read_text(const char *path, Text *out)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    fseek(f, 0, SEEK_END);
    out->size = (size_t)ftell(f);
    rewind(f);
    out->data = calloc(1, out->size + 1);
    bool good = out->data && fread(out->data, 1, out->size, f) == out->size;
    fclose(f);
    return good;
}

static void add_folder(Corpus *c, const char *path)
{
    char full[4096];
    DIR *d = opendir(path);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        const char *dot = strrchr(e->d_name, '.');
        snprintf(full, sizeof full, "%s/%s", path, e->d_name);
        if (dot && !strcmp(dot, ".cl") && c->n < MAX_FILES)
            c->n += read_text(full, &c->file[c->n]);
    }
    if (d)
        closedir(d);
}

/* ---- mutations ------------------------------------------------------------------------------- */

static size_t token_end(const Text *t, size_t at)
{
    size_t i = at;
    while (i < t->size && (t->data[i] == '_' || isalnum((unsigned char)t->data[i])))
        i++;
    return i > at ? i : MIN(at + 1, t->size);
}

static size_t token_start(const Text *t, Rng *r)
{
    size_t at = t->size ? rng_u64(r) % t->size : 0;
    while (at > 0 && at < t->size && (t->data[at] == ' ' || t->data[at] == '\n'))
        at--;
    return at;
}

static void splice(Text *t, size_t at, size_t end, const char *with, size_t n)
{
    char *out = malloc(t->size - (end - at) + n + 1);
    memcpy(out, t->data, at);
    memcpy(out + at, with, n);
    memcpy(out + at + n, t->data + end, t->size - end);
    t->size = t->size - (end - at) + n;
    out[t->size] = 0;
    free(t->data);
    t->data = out;
}

static void nest(Text *t, Rng *r, size_t at)
{
    static const char *const openers[] = { "(", "{", "[", "-", "*", "if(1)", "(int)", "a?", "f(",
                                           "struct{", "#if 1\n", "!", "x=", "do ", "sizeof " };
    const char *what = openers[rng_u64(r) % COUNT_OF(openers)];
    size_t times = 1 + rng_u64(r) % 3000, n = strlen(what);
    char *many = malloc(times * n + 1);
    for (size_t i = 0; i < times; i++)
        memcpy(many + i * n, what, n);
    splice(t, at, at, many, times * n);
    free(many);
}

static Text mutate(const Corpus *c, uint64_t seed)
{
    static const char *const words[] = {
        "0", "-1", "0xffffffffffffffff", "1e400f", "float4", "half", "global", "__local", "struct",
        "const", "kernel", "void", "case 3:", "goto x;", "typedef", "[]", "(", ")", "{", "}", ";",
        "##", "#", "\"", "'", ".s0", "->", "coop_mat_load", "__attribute__((packed))", "&", "*",
        "= {0}", "= {", "...", "union", "enum", ":3", "\\\n", "/*", "static", "return", "sizeof",
    };
    Rng r = { seed * 0x9e3779b97f4a7c15u };
    const Text *from = &c->file[rng_u64(&r) % c->n];
    Text t = { malloc(from->size + 1), from->size };
    memcpy(t.data, from->data, from->size + 1);
    uint32_t times = 1 + (uint32_t)(rng_u64(&r) % 6);
    for (uint32_t i = 0; i < times; i++) {
        size_t a = token_start(&t, &r), a_end = token_end(&t, a);
        const Text *other = &c->file[rng_u64(&r) % c->n];
        size_t b = token_start(other, &r), b_end = token_end(other, b);
        const char *word = words[rng_u64(&r) % COUNT_OF(words)];
        switch (rng_u64(&r) % 9) {
        case 0: splice(&t, a, a_end, "", 0); break;
        case 1: splice(&t, a, a, word, strlen(word)); break;
        case 2: splice(&t, a, a_end, word, strlen(word)); break;
        case 3: splice(&t, a, a_end, other->data + b, b_end - b); break;
        case 4: splice(&t, a, a, other->data + b, MIN(other->size - b, 200)); break;
        case 5:
            a_end = a + rng_u64(&r) % 100;
            splice(&t, a, MIN(t.size, a_end), "", 0);
            break;
        case 6:
            if (t.size)
                t.data[rng_u64(&r) % t.size] = (char)rng_u64(&r);
            break;
        case 7: t.size = t.size ? rng_u64(&r) % t.size : 0; break;
        default: nest(&t, &r, a);
        }
    }
    return t;
}

/* ---- running --------------------------------------------------------------------------------- */

static volatile uint64_t current;

static void on_signal(int signal)
{
    char text[100];
    int n = snprintf(text, sizeof text, "mutation %" PRIu64 ": signal %d\n", current, signal);
    if (write(1, text, (size_t)n) < 0)
        _exit(3);
    _exit(2);
}

static int usage(void)
{
    printf("test_fuzz_opencl [--count N] [--first SEED] [--write SEED] [FILE...]\n");
    return 2;
}

int main(int n, char **args)
{
    static Corpus corpus;
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM };
    uint64_t count = DEFAULT_COUNT, first = 0, failed = 0, done = 0;
    for (uint32_t i = 0; i < COUNT_OF(signals); i++)
        signal(signals[i], on_signal);
    add_folder(&corpus, HEDDLE_SOURCE_DIR "/tests/opencl");
    add_folder(&corpus, HEDDLE_SOURCE_DIR "/tests/opencl/kernels");
    add_folder(&corpus, HEDDLE_SOURCE_DIR "/examples/opencl");
    for (int i = 1; i < n; i++) {
        if (args[i][0] != '-') {
            Text t = { 0 };
            if (read_text(args[i], &t))
                printf("%s: %s\n", args[i], take(t.data, t.size, true) ? "good" : "silent");
            free(t.data);
            count = 0;
        } else if (i + 1 == n) {
            return usage();
        } else if (!strcmp(args[i], "--count")) {
            count = strtoull(args[++i], NULL, 10);
        } else if (!strcmp(args[i], "--first")) {
            first = strtoull(args[++i], NULL, 10);
        } else if (!strcmp(args[i], "--write")) {
            Text t = mutate(&corpus, strtoull(args[++i], NULL, 10));
            fwrite(t.data, 1, t.size, stdout);
            return 0;
        } else {
            return usage();
        }
    }
    for (uint64_t i = 0; i < count && corpus.n; i++, done++) {
        current = first + i;
        Text t = mutate(&corpus, current);
        alarm(SECONDS);
        if (!take(t.data, t.size, current % SPIRV_ONE_IN == 0)) {
            printf("mutation %" PRIu64 ": failed without a diagnostic\n", current);
            failed++;
        }
        free(t.data);
    }
    alarm(0);
    if (count)
        printf("%" PRIu64 " passed, %" PRIu64 " failed\n", done - failed, failed);
    return failed != 0;
}

#endif
