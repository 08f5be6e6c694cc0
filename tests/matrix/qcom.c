/* SPDX-License-Identifier: MIT
 *
 * SPV_QCOM_cooperative_matrix_conversion on both devices: every use, component and array type,
 * sizes up to the subgroup's and below, subgroups of 8 to 128 (qcom.comp), and a chain of
 * multiply-adds between conversions (qcom_chain.comp).
 */
#include "base/test.h"

#include <heddle/heddle.h>
#include <stdlib.h>

#define FOLDER HEDDLE_SOURCE_DIR "/tests/matrix/"

enum { A, B, ACCUMULATOR };

typedef struct Form {
    const char *component, *element;
    uint32_t bytes, element_bytes, uses; /* uses: a bit each */
} Form;

static const Form forms[] = {
    { "float", "float", 4, 4, 7 },
    { "float", "uint", 4, 4, 7 },
    { "float16_t", "float16_t", 2, 2, 7 },
    { "float16_t", "uint", 2, 4, 7 },
    { "int8_t", "int8_t", 1, 1, 3 },
    { "int8_t", "uint", 1, 4, 3 },
    { "uint8_t", "uint8_t", 1, 1, 3 },
    { "uint8_t", "uint", 1, 4, 3 },
    { "int", "int", 4, 4, 4 },
    { "uint", "uint", 4, 4, 4 },
    { "int", "uint", 4, 4, 4 },
};
static const char *const uses[] = { "gl_MatrixUseA", "gl_MatrixUseB", "gl_MatrixUseAccumulator" };
static const uint32_t widths[] = { 8, 16, 32, 64, 128 };

typedef struct Fixture {
    HeddleDevice *device[2];
    HeddleLog *log;
} Fixture;

/* Not the notes on what lanes past the matrix get: that is what is tested. */
static void print(void *user, const HeddleDiagnostic *d)
{
    if (d->severity != HEDDLE_NOTE)
        heddle_print_to_stderr(user, d);
}

static Fixture setup(void)
{
    Fixture f = { .log = heddle_log_new(print, NULL) };
    heddle_device_new(NULL, &f.device[0], f.log);
    heddle_device_new(&(HeddleDeviceOptions){ .kind = HEDDLE_DEVICE_REFERENCE }, &f.device[1],
                      f.log);
    return f;
}

static void tear_down(Fixture *f)
{
    heddle_device_free(f->device[0]);
    heddle_device_free(f->device[1]);
    heddle_log_free(f->log);
}

static HeddleModule *compile(Fixture *f, const char *file, const Form *form, uint32_t use)
{
    HeddleDefine defines[] = { { "T", form ? form->component : "" },
                               { "E", form ? form->element : "" },
                               { "USE", uses[use] } };
    HeddleModuleOptions o = { .defines = defines, .n_defines = form ? 3 : 0 };
    HeddleModule *m = NULL;
    char path[1024];
    snprintf(path, sizeof(path), "%s%s", FOLDER, file);
    heddle_module_from_file(path, &o, &m, f->log);
    return m;
}

enum { IN_ARRAYS, IN_MATRIX, OUT_ARRAYS, OUT_MATRIX, OUT_BOTH, N_BUFFERS };

/* Component k of a lane's array is in byte k * bytes of it, packed or not. */
static bool convert(Fixture *f, HeddleModule *m, const Form *form, uint32_t use, uint32_t lanes,
                    uint32_t length, uint32_t W, int device)
{
    uint32_t M = use == B ? length : lanes, N = use == B ? lanes : length,
             line = length * form->bytes;
    uint64_t sizes[N_BUFFERS] = { W * line, M * N * form->bytes, W * line, M * N * form->bytes,
                                  W * line };
    HeddleBuffer *buffers[N_BUFFERS];
    HeddleBinding bindings[N_BUFFERS];
    uint8_t *x[N_BUFFERS];
    Rng r = { lanes + 7 * W };
    for (uint32_t k = 0; k < N_BUFFERS; k++) {
        heddle_buffer_new(f->device[device], sizes[k], &buffers[k], f->log);
        bindings[k] = (HeddleBinding){ .binding = k, .buffer = buffers[k] };
        x[k] = heddle_buffer_data(buffers[k]);
        for (uint64_t b = 0; b < sizes[k];
             b++) /* no float is a NaN: those need not keep their bits */
            x[k][b] = k < OUT_ARRAYS ? (uint8_t)(rng_uniform(&r) * 60) : 0xee;
    }
    HeddleSpecValue specs[] = { { 0, M }, { 1, N }, { 2, line / form->element_bytes }, { 10, W } };
    HeddleKernelOptions o = { .specs = specs, .n_specs = 4, .subgroup_size = W };
    HeddleKernel *kernel = NULL;
    HeddleDispatch d = { .bindings = bindings, .n_bindings = N_BUFFERS };
    bool good = heddle_kernel_new(f->device[device], m, &o, &kernel, f->log) == HEDDLE_OK &&
                heddle_dispatch(kernel, &d, NULL, f->log) == HEDDLE_OK;
    for (uint32_t l = 0; good && l < W; l++)
        for (uint32_t k = 0; good && k < length; k++) {
            uint64_t at = (use == B ? k * N + l : l * N + k) * form->bytes,
                     in = l * line + k * form->bytes;
            for (uint32_t b = 0; good && b < form->bytes; b++) {
                uint8_t want = l < lanes ? x[IN_MATRIX][at + b] : 0;
                good = x[OUT_ARRAYS][in + b] == want && x[OUT_BOTH][in + b] == want &&
                       (l >= lanes || x[OUT_MATRIX][at + b] == x[IN_ARRAYS][in + b]);
            }
            if (!good)
                printf("%s from %s, %s, %u lanes of %u, length %u, device %d: lane %u component %u "
                       "is wrong\n",
                       form->component, form->element, uses[use], lanes, W, length, device, l, k);
        }
    for (uint32_t k = 0; k < N_BUFFERS; k++)
        heddle_buffer_free(buffers[k]);
    heddle_kernel_free(kernel);
    return good;
}

static void all_forms(int device)
{
    Fixture f = setup();
    for (uint32_t n = 0; n < COUNT_OF(forms) * 3; n++) {
        if (!TEST_TAKES(n))
            continue;
        const Form *form = &forms[n / 3];
        uint32_t use = n % 3;
        HeddleModule *m = form->uses >> use & 1 ? compile(&f, "qcom.comp", form, use) : NULL;
        CHECK(m || !(form->uses >> use & 1));
        for (uint32_t k = 0; m && k < COUNT_OF(widths); k += HEDDLE_TEST_STEP) {
            uint32_t W = widths[k], half = MAX(W >> (1 + n % 2), 1u);
            /* Of accumulators; long arrays of many lanes take long to compile: of f32 alone. */
            uint32_t columns = n == ACCUMULATOR ? W : W > 32 ? 16 : n & 1 ? W : W / 2;
            uint32_t length = use == ACCUMULATOR ? columns : 32 / form->bytes;
            CHECK(convert(&f, m, form, use, k % 2 == n % 2 ? W : half, length, W, device));
        }
        heddle_module_free(m);
    }
    tear_down(&f);
}

TEST(conversions_cpu) { all_forms(0); }
TEST(conversions_reference) { all_forms(1); }

/* ---- between multiply-adds ------------------------------------------------------------------- */

static bool chain(Fixture *f, HeddleModule *m, uint32_t W, int device)
{
    enum { N = 8, K = 32 };
    HeddleBuffer *buffers[3];
    HeddleBinding bindings[3];
    uint64_t sizes[3] = { W * K * 4, K * N * 4, W * (N + 8) * 4 };
    float *x[3], start[128 * N];
    Rng r = { W };
    for (uint32_t k = 0; k < 3; k++) {
        heddle_buffer_new(f->device[device], sizes[k], &buffers[k], f->log);
        bindings[k] = (HeddleBinding){ .binding = k, .buffer = buffers[k] };
        x[k] = heddle_buffer_data(buffers[k]);
        for (uint64_t n = 0; n < sizes[k] / 4; n++)
            x[k][n] = (float)(rng_uniform(&r) * 2 - 1);
    }
    memcpy(start, x[2], W * N * 4);
    int32_t push[2] = { 4, 1 };
    HeddleSpecValue specs[] = { { 0, W }, { 10, W } };
    HeddleKernelOptions o = { .specs = specs, .n_specs = 2, .subgroup_size = W };
    HeddleKernel *kernel = NULL;
    HeddleDispatch d = {
        .bindings = bindings, .n_bindings = 3, .push = push, .push_size = sizeof(push)
    };
    bool good = heddle_kernel_new(f->device[device], m, &o, &kernel, f->log) == HEDDLE_OK &&
                heddle_dispatch(kernel, &d, NULL, f->log) == HEDDLE_OK;
    for (uint32_t l = 0; good && l < W; l++)
        for (uint32_t n = 0; good && n < N; n++) {
            double sum = start[l * N + n];
            for (uint32_t k = 0; k < K; k++)
                sum += (double)x[0][l * K + k] * x[1][k * N + n];
            /* 33 terms of at most 1 in f32 */
            good = fabs(sum - x[2][l * N + n]) <= 33 * 33 * 6e-8 &&
                   x[2][W * N + l * 8 + n] == x[0][l * K + l % 4 * 8 + n];
            if (!good)
                printf("chain in subgroups of %u, device %d: [%u][%u] is %g, not %g, or its part "
                       "is wrong\n",
                       W, device, l, n, x[2][l * N + n], sum);
        }
    for (uint32_t k = 0; k < 3; k++)
        heddle_buffer_free(buffers[k]);
    heddle_kernel_free(kernel);
    return good;
}

TEST(chain)
{
    Fixture f = setup();
    HeddleModule *m = compile(&f, "qcom_chain.comp", NULL, 0);
    CHECK(m);
    for (uint32_t k = 0; m && k < COUNT_OF(widths) * 2; k++)
        CHECK(chain(&f, m, widths[k / 2], (int)(k % 2)));
    heddle_module_free(m);
    tear_down(&f);
}
