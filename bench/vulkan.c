/* SPDX-License-Identifier: MIT
 *
 * What going through the Vulkan driver costs: an empty dispatch, many in one command buffer, a
 * pipeline that is cached, and a GEMM beside the same kernel through libheddle; then that kernel
 * beside Mesa's lavapipe, where that has cooperative matrices.
 *
 *     bench_vulkan [MANIFEST of lavapipe]
 */
#include "bench.h"

#include "heddle/heddle.h"
#include "vulkan_host.h"

enum { SIZE = 1024, STEPS = 1000 };

static const char empty[] = "#version 450\nlayout(local_size_x = 32) in;\nvoid main() {}\n";

static HeddleModule *module_new(const char *text, const char *name,
                                const HeddleModuleOptions *options, HeddleLog *log)
{
    HeddleModule *m = NULL;
    if (text)
        heddle_module_new(text, strlen(text), name, options, &m, log);
    else
        heddle_module_from_file(name, options, &m, log);
    if (!m)
        exit(1);
    return m;
}

static VulkanHost *host_new(const char *manifest)
{
    const char *reason;
    setenv("VK_DRIVER_FILES", manifest, 1);
    setenv("VK_ICD_FILENAMES", manifest, 1);
    VulkanHost *h = vulkan_host_new(VULKAN_CPU, &reason);
    if (!h)
        printf("%s: %s\n", manifest, reason);
    return h;
}

static double median_run(VulkanProgram *p, int runs)
{
    double times[BENCH_MAX_ROUNDS];
    for (int i = 0; i < BENCH_MAX_ROUNDS; i++) {
        double start = bench_now(2);
        for (int k = 0; k < runs; k++)
            vulkan_program_run(p);
        times[i] = (bench_now(2) - start) / runs;
    }
    qsort(times, BENCH_MAX_ROUNDS, sizeof *times, bench_compare);
    return times[BENCH_MAX_ROUNDS / 2];
}

static void overheads(VulkanHost *h, HeddleLog *log)
{
    static VulkanStep steps[STEPS];
    HeddleModule *m = module_new(empty, "empty.comp", NULL, log);
    for (int i = 0; i < STEPS; i++) {
        steps[i].spirv = heddle_module_spirv(m, &steps[i].size);
        for (int k = 0; k < 3; k++)
            steps[i].groups[k] = 1;
    }
    VulkanProgram *one = vulkan_program_new(h, steps, 1, NULL, 0, NULL, 0);
    double start = bench_now(2);
    VulkanProgram *many = vulkan_program_new(h, steps, STEPS, NULL, 0, NULL, 0);
    double made = (bench_now(2) - start) / STEPS;
    if (one && many) {
        printf("empty dispatch, submitted and waited for   %8.2f us\n",
               median_run(one, 100) * 1e6);
        printf("%d of them in one command buffer         %8.2f us\n", STEPS,
               median_run(many, 1) * 1e6);
        printf("pipeline from a warm cache                 %8.2f us\n", made * 1e6);
    }
    if (one)
        vulkan_program_free(one);
    if (many)
        vulkan_program_free(many);
    heddle_module_free(m);
}

/* ---- the same kernel through both doors ------------------------------------------------------ */

typedef struct Direct { HeddleKernel *kernel; HeddleDispatch dispatch; HeddleLog *log; } Direct;

static void run_direct(void *user)
{
    Direct *d = user;
    heddle_dispatch(d->kernel, &d->dispatch, NULL, d->log);
}

static void run_vulkan(void *user) { vulkan_program_run(user); }

static bool gemm(VulkanHost *h, HeddleLog *log)
{
    static const HeddleDefine defines[] = { { "INPUT", "float16_t" } };
    const HeddleModuleOptions options = { .defines = defines, .n_defines = 1 };
    const uint32_t push[] = { SIZE, SIZE, SIZE, SIZE };
    const uint64_t sizes[] = { SIZE * SIZE * 2, SIZE * SIZE * 2, SIZE * SIZE * 4 };
    HeddleModule *m = module_new(NULL, HEDDLE_SOURCE_DIR "/examples/gemm.comp", &options, log);
    VulkanStep step = { .groups = { SIZE / 64, SIZE / 64, 1 } };
    step.spirv = heddle_module_spirv(m, &step.size);
    VulkanProgram *p = vulkan_program_new(h, &step, 1, sizes, 3, push, sizeof push);
    HeddleDevice *device = NULL;
    HeddleBinding bindings[3];
    Direct d = { .log = log };
    heddle_device_new(NULL, &device, log);
    if (!p || !device || heddle_kernel_new(device, m, NULL, &d.kernel, log))
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        bindings[i] = (HeddleBinding){ .binding = i };
        heddle_buffer_new(device, sizes[i], &bindings[i].buffer, log);
    }
    d.dispatch = (HeddleDispatch){ .groups = { SIZE / 64, SIZE / 64, 1 }, .bindings = bindings,
                                   .n_bindings = 3, .push = push, .push_size = sizeof push };
    const double work = 2.0 * SIZE * SIZE * SIZE;
    BenchCase direct = { .name = "libheddle", .run = run_direct, .user = &d, .work = work };
    BenchCase vulkan = { .name = "Vulkan", .run = run_vulkan, .user = p, .work = work };
    BenchOptions o = { .threads = 2, .rounds = 21 };
    bool believable = bench_paired(&direct, &vulkan, 1, &o);
    printf("GEMM %d, f16 -> f32: libheddle %.1f GFLOP/s, Vulkan %.1f, ratio %.3f (%.3f-%.3f)\n",
           SIZE, direct.rate, vulkan.rate, vulkan.ratio, vulkan.p25, vulkan.p75);
    vulkan_program_free(p);
    heddle_kernel_free(d.kernel);
    for (uint32_t i = 0; i < 3; i++)
        heddle_buffer_free(bindings[i].buffer);
    heddle_device_free(device);
    heddle_module_free(m);
    return believable;
}

/* ---- beside lavapipe ------------------------------------------------------------------------- */

/* C = A * B, all 8 x 8 x 8, what lavapipe has; a subgroup a 32 x 32 block. */
static const char small_gemm[] =
    "#version 460\n"
    "#pragma use_vulkan_memory_model\n"
    "#extension GL_KHR_cooperative_matrix : require\n"
    "#extension GL_KHR_memory_scope_semantics : require\n"
    "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
    "layout(local_size_x = 8) in;\n"
    "layout(binding = 0) readonly buffer A { float16_t a[]; };\n"
    "layout(binding = 1) readonly buffer B { float16_t b[]; };\n"
    "layout(binding = 2) writeonly buffer C { float c[]; };\n"
    "const uint N = 512;\n"
    "#define M(T, U) coopmat<T, gl_ScopeSubgroup, 8, 8, U>\n"
    "void main()\n"
    "{\n"
    "    uint y = gl_WorkGroupID.y * 32, x = gl_WorkGroupID.x * 32;\n"
    "    M(float, gl_MatrixUseAccumulator) sum[4][4];\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        for (int j = 0; j < 4; j++)\n"
    "            sum[i][j] = M(float, gl_MatrixUseAccumulator)(0);\n"
    "    for (uint k = 0; k < N; k += 8) {\n"
    "        M(float16_t, gl_MatrixUseA) l[4];\n"
    "        M(float16_t, gl_MatrixUseB) r[4];\n"
    "        for (int i = 0; i < 4; i++) {\n"
    "            coopMatLoad(l[i], a, (y + 8 * i) * N + k, N, 0);\n"
    "            coopMatLoad(r[i], b, k * N + x + 8 * i, N, 0);\n"
    "        }\n"
    "        for (int i = 0; i < 4; i++)\n"
    "            for (int j = 0; j < 4; j++)\n"
    "                sum[i][j] = coopMatMulAdd(l[i], r[j], sum[i][j]);\n"
    "    }\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        for (int j = 0; j < 4; j++)\n"
    "            coopMatStore(sum[i][j], c, (y + 8 * i) * N + x + 8 * j, N, 0);\n"
    "}\n";

static void beside_lavapipe(const char *ours, const char *manifest, HeddleLog *log)
{
    enum { N = 512 };
    const char *manifests[] = { ours, manifest };
    const uint64_t sizes[] = { N * N * 2, N * N * 2, N * N * 4 };
    HeddleModule *m = module_new(small_gemm, "small.comp", NULL, log);
    VulkanStep step = { .groups = { N / 32, N / 32, 1 } };
    step.spirv = heddle_module_spirv(m, &step.size);
    double rates[2] = { 0 };
    setenv("HEDDLE_SUBGROUP_SIZE", "8", 1);
    for (int i = 0; i < 2; i++) {
        VulkanHost *h = host_new(manifests[i]);
        bool able = h && vulkan_host_has_matrices(h);
        VulkanProgram *p = able ? vulkan_program_new(h, &step, 1, sizes, 3, NULL, 0) : NULL;
        if (p) {
            rates[i] = 2.0 * N * N * N / median_run(p, 1) * 1e-9;
            printf("GEMM %d by 8x8x8, f16 -> f32, subgroups of 8: %.1f GFLOP/s on %s\n", N,
                   rates[i], vulkan_host_name(h));
            vulkan_program_free(p);
        } else if (h) {
            printf("%s has no cooperative matrices\n", vulkan_host_name(h));
        }
        if (h)
            vulkan_host_free(h);
    }
    if (rates[0] > 0 && rates[1] > 0)
        printf("ratio %.1f\n", rates[0] / rates[1]);
    heddle_module_free(m);
}

/* Where Debian's package has the manifest: since Mesa 25, and before. */
static const char *find_lavapipe(void)
{
    const char *now = "/usr/share/vulkan/icd.d/lvp_icd.json";
    return access(now, R_OK) == 0 ? now : "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
}

int main(int argc, char **argv)
{
    const char *lavapipe = argc > 1 ? argv[1] : find_lavapipe();
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    VulkanHost *h = host_new(HEDDLE_MANIFEST);
    bool good = true;
    if (h) {
        overheads(h, log);
        good = gemm(h, log);
        vulkan_host_free(h);
        if (access(lavapipe, R_OK) == 0)
            beside_lavapipe(HEDDLE_MANIFEST, lavapipe, log);
        else
            printf("no lavapipe to compare with (Debian: mesa-vulkan-drivers)\n");
    }
    heddle_log_free(log);
    return !good;
}
