/* SPDX-License-Identifier: MIT
 *
 * In: a level's name, or nothing. Out: what the code generators and LLVM need to know of the
 * machine.
 *
 * The host's CPU and features are what LLVM detects. A named level is a row of the table below:
 * where the host lacks one of its features, its code can be looked at and not run.
 */
#include "cpu/machine/machine.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#elif defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#endif

typedef struct Level {
    const char *name, *arch, *cpu;
    const char *features; /* spelt out: what CpuTarget.sets are found from */
} Level;

/* clang-format off */
#define X86_V2 "+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2"
#define X86_V3 X86_V2 ",+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"
#define X86_V4 X86_V3 ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
#define COOPER_LAKE X86_V4 ",+avx512vnni,+avx512bf16"
#define ZEN_4 COOPER_LAKE ",+avx512ifma,+avx512vbmi,+avx512vbmi2,+avx512bitalg,+avx512vpopcntdq" \
    ",+gfni"

#define ALDER_LAKE X86_V3 ",+avxvnni,+gfni,+vaes,+vpclmulqdq"
#define ARROW_LAKE ALDER_LAKE ",+avxvnniint8"
#define SAPPHIRE_RAPIDS COOPER_LAKE ",+avx512ifma,+avx512vbmi,+avx512vbmi2,+avx512bitalg" \
    ",+avx512vpopcntdq,+gfni,+vaes,+vpclmulqdq,+avx512fp16,+avxvnni,+amx-tile,+amx-int8,+amx-bf16"
#define GRANITE_RAPIDS SAPPHIRE_RAPIDS ",+amx-fp16"

#define ARM_V8_2 "+v8.2a,+neon,+fullfp16,+dotprod"
#define ARM_V8_6 ARM_V8_2 ",+v8.6a,+fp16fml,+i8mm,+bf16"

static const Level levels[] = {
    {"x86-64", "x86_64", "x86-64", ""},
    {"x86-64-v2", "x86_64", "x86-64-v2", X86_V2},
    {"x86-64-v3", "x86_64", "x86-64-v3", X86_V3},
    {"x86-64-v4", "x86_64", "x86-64-v4", X86_V4},
    {"cooperlake", "x86_64", "cooperlake", COOPER_LAKE},
    {"znver4", "x86_64", "znver4", ZEN_4},
    {"alderlake", "x86_64", "alderlake", ALDER_LAKE},
    {"arrowlake", "x86_64", "arrowlake", ARROW_LAKE},
    {"sapphirerapids", "x86_64", "sapphirerapids", SAPPHIRE_RAPIDS},
    {"graniterapids", "x86_64", "graniterapids", GRANITE_RAPIDS},
    {"armv8", "aarch64", "generic", "+neon"},
    {"armv8.2", "aarch64", "generic", ARM_V8_2},
    {"armv8.6", "aarch64", "generic", ARM_V8_6},
};
/* clang-format on */

/* Whether the comma-separated list has exactly "+name". */
static bool has_feature(const char *features, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = features; p && *p;) {
        const char *end = strchr(p, ',');
        size_t len = end ? (size_t)(end - p) : strlen(p);
        if (len == n + 1 && p[0] == '+' && !memcmp(p + 1, name, n))
            return true;
        p = end ? end + 1 : NULL;
    }
    return false;
}

/* The first feature of `wanted` that `features` lacks, copied to `name`; false when there is none.
 * Architecture versions (+v8.2a) are implied by the features beside them. */
static bool lacks_feature(const char *features, const char *wanted, char *name, size_t size)
{
    for (const char *p = wanted; p && *p;) {
        const char *end = strchr(p, ',');
        size_t len = end ? (size_t)(end - p) : strlen(p);
        snprintf(name, size, "%.*s", (int)(len - 1), p + 1);
        if (strncmp(name, "v8", 2) != 0 && !has_feature(features, name))
            return true;
        p = end ? end + 1 : NULL;
    }
    return false;
}

/* Linux faults on the first tile instruction of a process that has not asked for their state
 * (arch_prctl(2), ARCH_REQ_XCOMP_PERM of XFEATURE_XTILEDATA); older kernels refuse. */
static bool may_use_tiles(void)
{
#if defined(__linux__) && defined(__x86_64__)
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}

/* All eight tiles 16 rows of 64 bytes (Intel SDM, LDTILECFG: palette 1). Once for a dispatch's
 * share of a thread: each time it takes as long as several products. */
CpuTiles cpu_tiles_begin(void)
{
    CpuTiles before = { { 0 } }, ours = { { 1 } };
    for (uint32_t t = 0; t < 8; t++) {
        ours.config[16 + 2 * t] = 64;
        ours.config[48 + t] = 16;
    }
#if defined(__x86_64__)
    __asm__ volatile("sttilecfg %0" : "=m"(before));
    __asm__ volatile("ldtilecfg %0" : : "m"(ours));
#endif
    return before;
}

void cpu_tiles_end(const CpuTiles *before)
{
#if defined(__x86_64__)
    if (before->config[0])
        __asm__ volatile("ldtilecfg %0" : : "m"(*before));
    else
        __asm__ volatile("tilerelease");
#else
    (void)before;
#endif
}

/* What makes up an instruction set. */
typedef struct InstructionSet {
    const char *name, *arch, *features;
} InstructionSet;

#define AVX512 "+avx512f,+avx512bw,+avx512dq,+avx512vl"

static const InstructionSet sets[] = {
    /* by the bits' order */
    { "sse2", "x86_64", "" },
    { "f16c", "x86_64", "+f16c" },
    { "avx2", "x86_64", "+avx2" },
    { "avx512", "x86_64", AVX512 },
    { "avx512-vnni", "x86_64", AVX512 ",+avx512vnni" },
    { "avx512-bf16", "x86_64", AVX512 ",+avx512bf16" },
    { "avx512-fp16", "x86_64", AVX512 ",+avx512fp16" },
    { "avx-vnni", "x86_64", "+avx2,+avxvnni" },
    { "amx-int8", "x86_64", "+amx-tile,+amx-int8" },
    { "amx-bf16", "x86_64", "+amx-tile,+amx-bf16" },
    { "neon", "aarch64", "+neon" },
    { "avx-vnni-int8", "x86_64", "+avx2,+avxvnniint8" },
    { "amx-fp16", "x86_64", "+amx-tile,+amx-fp16" },
    { "neon-dotprod", "aarch64", "+neon,+dotprod" },
    { "neon-i8mm", "aarch64", "+neon,+i8mm" },
    { "neon-bf16", "aarch64", "+neon,+bf16" },
    { "neon-fhm", "aarch64", "+neon,+fp16fml" },
    { "avx512-vbmi", "x86_64", AVX512 ",+avx512vbmi" },
};
_Static_assert(COUNT_OF(sets) == CPU_N_SETS, "a row a bit");

const char *cpu_set_name(uint32_t bit) { return sets[__builtin_ctz(bit)].name; }

static uint32_t find_sets(const CpuTarget *t)
{
    uint32_t found = 0;
    char lacks[32];
    for (size_t i = 0; i < COUNT_OF(sets); i++)
        if (!strncmp(t->triple, sets[i].arch, strlen(sets[i].arch)) &&
            !lacks_feature(t->features, sets[i].features, lacks, sizeof lacks))
            found |= 1u << i;
    /* Code for a CPU that this one is not is only looked at. */
    uint32_t tiles = CPU_AMX_INT8 | CPU_AMX_BF16 | CPU_AMX_FP16;
    return found & tiles && !t->lacks[0] && !may_use_tiles() ? found & ~tiles : found;
}

/* The first line of a small file; false when it cannot be read. */
static bool read_line(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool ok = fgets(out, (int)size, f) != NULL;
    fclose(f);
    if (ok)
        out[strcspn(out, "\n")] = 0;
    return ok;
}

uint32_t cpu_host_l2_bytes(const CpuTuning *t)
{
    static const char dir[] = "/sys/devices/system/cpu/cpu0/cache/index";
    for (int i = 0; i < 8; i++) {
        char path[128], text[32];
        snprintf(path, sizeof path, "%s%d/level", dir, i);
        if (!read_line(path, text, sizeof text))
            break;
        if (strcmp(text, "2") != 0)
            continue;
        snprintf(path, sizeof path, "%s%d/size", dir, i);
        if (!read_line(path, text, sizeof text))
            break;
        char *end;
        unsigned long n = strtoul(text, &end, 10);
        n <<= *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
        if (n >= 64 << 10 && n <= 1 << 30)
            return (uint32_t)n;
    }
#if defined(_SC_LEVEL2_CACHE_SIZE)
    long n = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (n >= 64 << 10 && n <= 1 << 30)
        return (uint32_t)n;
#endif
    return t->l2_bytes;
}

/* Besides this machine's, the architecture whose code generator cpu/jit asks LLVM for. */
static bool has_generator(const char *arch)
{
#ifdef HEDDLE_LLVM_AARCH64
    return !strcmp(arch, "aarch64");
#else
    (void)arch;
    return false;
#endif
}

static const Level *level_named(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(levels); i++)
        if (!strcmp(levels[i].name, name))
            return &levels[i];
    return NULL;
}

static bool is_of(const CpuTarget *t, const Level *l)
{
    return !strncmp(t->triple, l->arch, strlen(l->arch));
}

/* Without SSE4A, which only Zen has: its inserts and extracts are SSE's old encodings, which among
 * AVX instructions take tens of cycles each. With them llama.cpp's product with mxfp4 took 5.7 ms
 * on a Zen 3 where it takes 1.2. */
static char *without_sse4a(const char *triple, const char *features)
{
    char *all = NULL;
    if (strncmp(triple, "x86_64", 6) != 0)
        return strdup(features);
    return asprintf(&all, "%s%s-sse4a", features, *features ? "," : "") < 0 ? NULL : all;
}

static void become(CpuTarget *t, const Level *l)
{
    free(t->features);
    t->features = without_sse4a(t->triple, l->features);
    snprintf(t->cpu, sizeof t->cpu, "%s", l->cpu);
}

static bool take_level(CpuTarget *t, const char *name, DiagSink *sink)
{
    const Level *l = level_named(name);
    t->foreign = l && !is_of(t, l);
    if (!l || (t->foreign && !has_generator(l->arch))) {
        diag(sink, DIAG_ERROR, NULL, NULL, "there is no CPU level \"%s\" on this machine (%s)",
             name, t->triple);
        return false;
    }
    if (t->foreign) {
        snprintf(t->lacks, sizeof t->lacks, "%s", l->arch);
        snprintf(t->triple, sizeof t->triple, "%s-unknown-linux-gnu", l->arch);
    } else if (!lacks_feature(t->features, l->features, t->lacks, sizeof t->lacks)) {
        t->lacks[0] = 0;
    }
    become(t, l);
    return true;
}

/* HEDDLE_ISA makes the machine the lesser one that a level names. False: it has no such level. */
static bool lessen(CpuTarget *t)
{
    const char *name = secure_getenv("HEDDLE_ISA");
    if (!name || !*name)
        return true;
    const Level *l = level_named(name);
    char lacks[sizeof t->lacks];
    if (!l || !is_of(t, l) || lacks_feature(t->features, l->features, lacks, sizeof lacks))
        return false;
    become(t, l);
    return t->features != NULL;
}

/* LLVM reads AArch64's from /proc/cpuinfo, which is another machine's under qemu-user, and not all
 * of them. The kernel tells each process of its own (Linux, arch/arm64/elf_hwcaps.rst). */
static char *host_features(const char *triple, const char *by_llvm)
{
#if defined(__linux__) && defined(__aarch64__)
    (void)triple;
    static const struct {
        unsigned long type, bit;
        const char *feature;
    } caps[] = {
        { AT_HWCAP, 1ul << 1, ",+neon" },     { AT_HWCAP, 1ul << 10, ",+fullfp16" },
        { AT_HWCAP, 1ul << 20, ",+dotprod" }, { AT_HWCAP, 1ul << 23, ",+fp16fml" },
        { AT_HWCAP2, 1ul << 13, ",+i8mm" },   { AT_HWCAP2, 1ul << 14, ",+bf16" },
    };
    char all[4096];
    int n = snprintf(all, sizeof all, "%s", by_llvm);
    for (size_t i = 0; i < COUNT_OF(caps) && n < (int)sizeof all; i++)
        if (getauxval(caps[i].type) & caps[i].bit)
            n += snprintf(all + n, sizeof all - (size_t)n, "%s", caps[i].feature + !n);
    return strdup(n < (int)sizeof all ? all : by_llvm);
#else
    return without_sse4a(triple, by_llvm);
#endif
}

/* What LLVM detects, or what HEDDLE_ISA leaves of it; false: out of memory. */
static bool detect(CpuTarget *t, DiagSink *sink)
{
    memset(t, 0, sizeof *t);
    char *triple = LLVMGetDefaultTargetTriple(), *cpu = LLVMGetHostCPUName();
    char *features = LLVMGetHostCPUFeatures();
    snprintf(t->triple, sizeof t->triple, "%s", triple);
    snprintf(t->cpu, sizeof t->cpu, "%s", cpu);
    t->features = host_features(t->triple, features);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    if (t->features && !lessen(t))
        diag(sink, DIAG_WARNING, NULL, NULL,
             "HEDDLE_ISA is not a CPU level that this machine has: ignored");
    return t->features != NULL;
}

bool cpu_target_any(CpuTarget *t, const char *level, DiagSink *sink)
{
    bool ok = detect(t, sink);
    if (ok && level && strcmp(level, "host") != 0)
        ok = take_level(t, level, sink);
    if (!t->features)
        diag(sink, DIAG_ERROR, NULL, NULL, "out of memory");
    if (!ok || !t->features) {
        cpu_target_free(t);
        return false;
    }
    LLVMGetVersion(&t->llvm[0], &t->llvm[1], &t->llvm[2]);
    t->sets = find_sets(t);
    t->tuning = cpu_tuning(t);
    t->vector_bits = t->tuning->vector_bits;
    t->l2_bytes = cpu_host_l2_bytes(t->tuning);
    return true;
}

const CpuTuning *cpu_host_tuning(void)
{
    CpuTarget t;
    DiagSink unheard = { 0 };
    if (detect(&t, &unheard))
        t.sets = find_sets(&t);
    const CpuTuning *tuning = cpu_tuning(&t);
    cpu_target_free(&t);
    return tuning;
}

bool cpu_target_runs(const CpuTarget *t, DiagSink *sink)
{
    if (t->lacks[0])
        diag(sink, DIAG_ERROR, NULL, NULL, "this machine lacks \"%s\", which CPU level \"%s\" has",
             t->lacks, t->cpu);
    return !t->lacks[0];
}

bool cpu_target(CpuTarget *t, const char *level, DiagSink *sink)
{
    if (!cpu_target_any(t, level, sink))
        return false;
    bool runs = cpu_target_runs(t, sink);
    if (!runs)
        cpu_target_free(t);
    return runs;
}

uint32_t cpu_host_levels(const char *names[CPU_MOST_LEVELS])
{
    _Static_assert(COUNT_OF(levels) <= CPU_MOST_LEVELS, "room for all");
    CpuTarget t;
    DiagSink unheard = { 0 };
    uint32_t n = 0;
    if (detect(&t, &unheard))
        for (size_t i = 0; i < COUNT_OF(levels); i++)
            if (is_of(&t, &levels[i]) &&
                !lacks_feature(t.features, levels[i].features, t.lacks, sizeof t.lacks))
                names[n++] = levels[i].name;
    cpu_target_free(&t);
    return n;
}

void cpu_target_free(CpuTarget *t)
{
    free(t->features);
    memset(t, 0, sizeof *t);
}

bool cpu_gathers(const CpuTarget *t)
{
    static const char *const slow[] = { "x86-64", "haswell", "broadwell", "znver" };
    bool gathers = (t->sets & (CPU_AVX2 | CPU_AVX512)) != 0;
    for (size_t i = 0; i < COUNT_OF(slow) && !(t->sets & CPU_AVX512); i++)
        gathers &= strncmp(t->cpu, slow[i], strlen(slow[i])) != 0;
    return gathers;
}
