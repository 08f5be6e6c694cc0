/* SPDX-License-Identifier: MIT
 *
 * Every instruction that the devices' tables name, in the kernels of this folder, on both devices
 * with the same input: bit by bit, or within a few ulps where the specification leaves that much.
 *
 * Lines at the head of a kernel say how it is run:
 *     // VARIANTS: T=int U=uint | T=int8_t U=uint8_t      compiled once for each set of macros
 *     // INPUT: int | float | half | double               what the input words are
 *     // SIZES: 8 32                                      subgroup sizes; 32 unless told
 *     // ULPS: 4                                          allowed for near(); of float
 *     // ABSOLUTE: 1e-6                                   or this much
 * A new kernel is a new file. An opcode in the tables and in no kernel of tests/ is a failure.
 * HEDDLE_OPS_LIST=1 prints which kernels cover which; HEDDLE_OPS=part runs those with it in their
 * names.
 */
#include "base/test.h"
#include "cpu/cpu.h"
#include "reference/reference.h"

#include <dirent.h>
#include <heddle/heddle.h>
#include <stdlib.h>

#define FOLDER HEDDLE_SOURCE_DIR "/tests/ops"

enum { N = 256, WORDS = 8, RESULTS = 320, MAX_FILES = 64 };

typedef struct Plan {
    char variants[1024], input[16];
    uint32_t sizes[5], n_sizes;
    double ulps, absolute;
} Plan;

static uint8_t seen_op[65536], seen_glsl[128];

/* ---- input ----------------------------------------------------------------------------------- */

static const uint32_t edges_int[] = {
    0,           1,           2,           3,          7,      8,          15,
    16,          31,          32,          63,         64,     127,        128,
    255,         256,         0x7fff,      0x8000,     0xffff, 0x7fffffff, 0x80000000u,
    0x80000001u, 0xffffffffu, 0xfffffffeu, 0xff80ff80u
};
static const double edges_float[] = {
    0.0,       -0.0,    1,        -1,       0.5,    -0.5,  1.5,          2.5,
    -2.5,      2,       0.1,      255,      65504,  65536, 2147483520.0, INFINITY,
    -INFINITY, NAN,     1e-5,     -3e-8,    6e-8,   448,   464,          57344,
    61440,     0x1p-14, 0x1p-126, 0x1p-140, 3.4e38, 1e-40, 16777217,     0x1.fffffep-1
};

static double random_float(Rng *r, uint32_t k)
{
    if (k % 4 == 0)
        return edges_float[rng_u64(r) % COUNT_OF(edges_float)];
    return rng_normal(r) * (k % 4 == 1 ? 100 : k % 4 == 2 ? 1 : 0.01);
}

static void fill(const char *kind, uint32_t *words)
{
    Rng r = { 1 };
    for (uint32_t k = 0; k < N * WORDS; k++) {
        uint32_t i = k % N, w = k / N;
        uint64_t bits = rng_u64(&r);
        if (!strcmp(kind, "float") && k % 5) {
            float f = (float)random_float(&r, k);
            memcpy(&words[k], &f, 4);
        } else if (!strcmp(kind, "half") && k % 5) {
            uint32_t low = f16_from_double(random_float(&r, k));
            words[k] = low | (uint32_t)f16_from_double(random_float(&r, k + 1)) << 16;
        } else if (!strcmp(kind, "double") && i % 5) {
            if (w < 4) {
                double d = random_float(&r, k);
                memcpy(&bits, &d, 8);
                words[w * N + i] = (uint32_t)bits;
                words[(w + 4) * N + i] = (uint32_t)(bits >> 32);
            }
        } else {
            words[k] = bits >> 60 < 8 ? edges_int[bits % COUNT_OF(edges_int)]
                     : bits >> 60 < 10 ? (uint32_t)bits % 64 : (uint32_t)bits;
        }
    }
}

/* ---- one run --------------------------------------------------------------------------------- */

typedef struct Run { uint32_t exact[N * RESULTS]; float approximate[N * RESULTS]; } Run;

static bool run(HeddleDevice *device, HeddleModule *m, const HeddleKernelOptions *o,
                uint32_t *words, Run *r, HeddleLog *log)
{
    HeddleKernel *k = NULL;
    HeddleBuffer *b[3] = { NULL };
    memset(r, 0, sizeof *r);
    void *data[3] = { words, r->exact, r->approximate };
    size_t size[3] = { N * WORDS * 4, sizeof r->exact, sizeof r->approximate };
    HeddleBinding bindings[3];
    bool good = heddle_kernel_new(device, m, o, &k, log) == HEDDLE_OK;
    for (uint32_t i = 0; i < 3; i++) {
        good = good && heddle_buffer_wrap(device, data[i], size[i], &b[i], log) == HEDDLE_OK;
        bindings[i] = (HeddleBinding){ .binding = i, .buffer = b[i] };
    }
    /* for kernels with a push constant */
    uint64_t address = good ? heddle_buffer_address(b[0]) : 0;
    HeddleDispatch d = { .groups = { 2, 1, 1 }, .bindings = bindings, .n_bindings = 3,
                         .push = &address, .push_size = sizeof address };
    good = good && heddle_dispatch(k, &d, NULL, log) == HEDDLE_OK;
    for (uint32_t i = 0; i < 3; i++)
        heddle_buffer_free(b[i]);
    heddle_kernel_free(k);
    return good;
}

static double ulps(float got, float want)
{
    if (got == want || (isnan(got) && isnan(want)))
        return 0;
    if (!isfinite(got) || !isfinite(want))
        return INFINITY;
    int e;
    frexp((double)want, &e);
    return fabs((double)got - (double)want) / ldexp(1, MAX(e - 24, -149));
}

static void compare(const char *what, const Plan *p, const Run *cpu, const Run *reference,
                    const uint32_t *words)
{
    for (uint32_t k = 0; k < N * RESULTS; k++) {
        uint32_t i = k % N;
        float got = cpu->approximate[k], want = reference->approximate[k];
        if (cpu->exact[k] != reference->exact[k])
            test_fail(__FILE__, __LINE__,
                      "%s: invocation %u of input %08x %08x %08x: put %u is %08x, not %08x", what,
                      i, words[i], words[N + i], words[2 * N + i], k / N, cpu->exact[k],
                      reference->exact[k]);
        if (ulps(got, want) > p->ulps && !(fabs((double)got - (double)want) <= p->absolute))
            test_fail(
                __FILE__, __LINE__,
                "%s: invocation %u of input %08x %08x %08x: near %u is %.9g, not %.9g: %g ulps",
                what, i, words[i], words[N + i], words[2 * N + i], k / N, (double)got, (double)want,
                ulps(got, want));
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void note(uint8_t *seen, const char *name, const char *kernel)
{
    *seen = 1;
    if (getenv("HEDDLE_OPS_LIST"))
        printf("%s %s\n", name, kernel);
}

static void note_opcodes(const HeddleModule *m, const char *kernel)
{
    size_t size;
    const uint32_t *w = heddle_module_spirv(m, &size);
    SpvId glsl = 0;
    uint8_t here[65536] = { 0 }, here_glsl[COUNT_OF(seen_glsl)] = { 0 };
    uint8_t set = spv_set_by_name("GLSL.std.450");
    for (size_t k = 5; w && k < size / 4 && w[k] >> 16; k += w[k] >> 16) {
        uint16_t op = w[k] & 0xffff;
        if (!here[op]++)
            note(&seen_op[op], spv_op_name(op), kernel);
        if (op == SpvOpExtInstImport && !strcmp((const char *)&w[k + 2], "GLSL.std.450"))
            glsl = w[k + 1];
        if (op == SpvOpExtInst && w[k + 3] == glsl && w[k + 4] < COUNT_OF(seen_glsl) &&
            !here_glsl[w[k + 4]]++)
            note(&seen_glsl[w[k + 4]], spv_ext_inst(set, w[k + 4])->name, kernel);
    }
}

static void line(const char *text, const char *key, char *out, size_t size)
{
    const char *at = strstr(text, key);
    if (at)
        snprintf(out, size, "%.*s", (int)strcspn(at + strlen(key), "\n"), at + strlen(key));
}

static bool read_plan(const char *path, Plan *p)
{
    char text[4096] = "", sizes[64] = "", number[32];
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    *p = (Plan){ .input = "int" };
    line(text, "VARIANTS:", p->variants, sizeof p->variants);
    line(text, "SIZES:", sizes, sizeof sizes);
    line(text, "INPUT: ", p->input, sizeof p->input);
    number[0] = 0;
    line(text, "ULPS:", number, sizeof number);
    p->ulps = strtod(number, NULL);
    number[0] = 0;
    line(text, "ABSOLUTE:", number, sizeof number);
    p->absolute = strtod(number, NULL);
    char *at = sizes;
    while (*at && p->n_sizes < 5) {
        p->sizes[p->n_sizes++] = (uint32_t)strtoul(at, &at, 10);
        at += strspn(at, " ");
    }
    if (!p->n_sizes)
        p->sizes[p->n_sizes++] = 32;
    return true;
}

static HeddleModule *compile(const char *path, char *variant, HeddleLog *log)
{
    HeddleDefine defines[16];
    HeddleModuleOptions o = { .defines = defines };
    char *rest = NULL;
    for (char *d = strtok_r(variant, " ", &rest); d && o.n_defines < 16;
         d = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(d, '=');
        if (value)
            *value++ = 0;
        defines[o.n_defines++] = (HeddleDefine){ d, value ? value : "1" };
    }
    HeddleModule *m = NULL;
    heddle_module_from_file(path, &o, &m, log);
    return m;
}

typedef struct Devices { HeddleDevice *cpu, *reference; HeddleLog *log; } Devices;

static void run_variant(const Devices *d, const char *path, const Plan *p, char *variant)
{
    static uint32_t words[N * WORDS] __attribute__((aligned(64)));
    static Run cpu __attribute__((aligned(64))), reference __attribute__((aligned(64)));
    char what[1200];
    const char *name = strrchr(path, '/') + 1;
    snprintf(what, sizeof what, "%s (%s)", name, variant);
    HeddleModule *m = compile(path, variant, d->log);
    if (!m) {
        test_fail(__FILE__, __LINE__, "%s does not compile", what);
        return;
    }
    note_opcodes(m, name);
    fill(p->input, words);
    for (uint32_t s = 0; s < p->n_sizes; s++) {
        HeddleKernelOptions o = { .subgroup_size = p->sizes[s] };
        char at[1300];
        snprintf(at, sizeof at, "%s, subgroups of %u", what, p->sizes[s]);
        if (!run(d->reference, m, &o, words, &reference, d->log)) {
            test_fail(__FILE__, __LINE__, "%s: the reference fails", at);
            continue;
        }
        for (int plain = 0; plain < 2 && (s == 0 || !plain); plain++) {
            o.no_optimisation = plain;
            if (run(d->cpu, m, &o, words, &cpu, d->log))
                compare(at, p, &cpu, &reference, words);
            else
                test_fail(__FILE__, __LINE__, "%s: the CPU fails", at);
        }
    }
    heddle_module_free(m);
}

static void run_kernel(const Devices *d, const char *path)
{
    Plan p;
    if (!read_plan(path, &p))
        return;
    char *rest = NULL, none[] = "";
    char *variant = p.variants[0] ? strtok_r(p.variants, "|", &rest) : none;
    for (; variant; variant = strtok_r(NULL, "|", &rest)) {
        run_variant(d, path, &p, variant);
        if (!rest)
            break;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_kernel(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *only = getenv("HEDDLE_OPS");
    return dot && (!strcmp(dot, ".comp") || !strcmp(dot, ".spvasm")) &&
           (!only || strstr(name, only));
}

TEST(kernels)
{
    Devices d = { .log = heddle_log_new(heddle_print_to_stderr, NULL) };
    REQUIRE(heddle_device_new(NULL, &d.cpu, d.log) == HEDDLE_OK);
    HeddleDeviceOptions o = { .kind = HEDDLE_DEVICE_REFERENCE };
    REQUIRE(heddle_device_new(&o, &d.reference, d.log) == HEDDLE_OK);
    char *files[MAX_FILES];
    int n = 0;
    DIR *dir = opendir(FOLDER);
    REQUIRE(dir);
    for (struct dirent *f; (f = readdir(dir));)
        if (is_kernel(f->d_name) && n < MAX_FILES)
            files[n++] = strdup(f->d_name);
    closedir(dir);
    qsort(files, (size_t)n, sizeof *files, by_name);
    for (int k = 0; k < n; k++) {
        char path[1024];
        snprintf(path, sizeof path, FOLDER "/%s", files[k]);
        run_kernel(&d, path);
        free(files[k]);
    }
    CHECK(n > 0);
    heddle_device_free(d.cpu);
    heddle_device_free(d.reference);
    heddle_log_free(d.log);
}

/* ---- coverage: after the kernels ------------------------------------------------------------- */

/* The kernels of another folder that need no macros: a test of its own runs them on both
 * devices. */
static void note_folder(const char *folder)
{
    char path[1024];
    snprintf(path, sizeof path, HEDDLE_SOURCE_DIR "/tests/%s", folder);
    DIR *dir = opendir(path);
    REQUIRE(dir);
    for (struct dirent *f; (f = readdir(dir));) {
        if (!is_kernel(f->d_name))
            continue;
        HeddleModule *m = NULL;
        snprintf(path, sizeof path, HEDDLE_SOURCE_DIR "/tests/%s/%s", folder, f->d_name);
        if (heddle_module_from_file(path, NULL, &m, NULL) == HEDDLE_OK)
            note_opcodes(m, f->d_name);
        heddle_module_free(m);
    }
    closedir(dir);
}

static void add_name(char *list, size_t size, const char *name)
{
    size_t n = strlen(list);
    snprintf(list + n, size - n, " %s", name);
}

TEST(kernels_cover_the_tables)
{
    if (getenv("HEDDLE_OPS"))
        return;
    char missing[4096] = "";
    uint32_t n;
    note_folder("images");
    note_folder("matrix");
    note_folder("opencl");
    const SpvOpInfo *ops = spv_all_ops(&n);
    for (uint32_t k = 0; k < n; k++)
        if ((cpu_handles(ops[k].op) || ref_handles(ops[k].op)) && !seen_op[ops[k].op])
            add_name(missing, sizeof missing, ops[k].name);
    const SpvExtInst *all = spv_ext_insts(spv_set_by_name("GLSL.std.450"), &n);
    for (uint32_t k = 0; k < n; k++)
        if (!seen_glsl[all[k].number] && strncmp(all[k].name, "Interpolate", 11) &&
            strcmp(all[k].name, "IMix"))
            add_name(missing, sizeof missing, all[k].name);
    if (missing[0])
        test_fail(__FILE__, __LINE__, "no kernel has%s", missing);
}
