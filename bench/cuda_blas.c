/* SPDX-License-Identifier: MIT
 *
 * cuBLAS, opened at run time ("cuBLAS Library", section 3.2): a row-major product is the transposed
 * product of columns. It runs in the context that the device cuda has, on the same buffers.
 */
#include "base/base.h"

#include "cuda.h"

#include <dlfcn.h>
#include <math.h>

typedef struct BlasTypes {
    HeddleType input, result;
    int from, to, compute; /* cudaDataType, cublasComputeType_t */
} BlasTypes;

static const BlasTypes types[] = {
    { HEDDLE_F16, HEDDLE_F32, 2, 0, 68 },
    { HEDDLE_F16, HEDDLE_F16, 2, 2, 64 },
    { HEDDLE_BF16, HEDDLE_F32, 14, 0, 68 },
    { HEDDLE_S8, HEDDLE_S32, 3, 10, 72 },
};

typedef struct Blas {
    int (*create)(void **handle);
    int (*gemm)(void *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c,
                int c_type, int ldc, int compute, int algorithm);
    int (*retain)(void **context, int device);
    int (*set)(void *context);
    int (*synchronise)(void);
    void *handle;
} Blas;

static void *find(const char *const *names)
{
    for (; *names; names++) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

static bool open_blas(Blas *b)
{
    static const char *const blas[] = { "libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                        "/usr/local/cuda/lib64/libcublas.so", NULL };
    static const char *const cuda[] = { "libcuda.so.1", NULL };
    void *library = find(blas), *driver = find(cuda), *context;
    if (!library || !driver)
        return false;
    *(void **)&b->create = dlsym(library, "cublasCreate_v2");
    *(void **)&b->gemm = dlsym(library, "cublasGemmEx");
    *(void **)&b->retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    *(void **)&b->set = dlsym(driver, "cuCtxSetCurrent");
    *(void **)&b->synchronise = dlsym(driver, "cuCtxSynchronize");
    return b->create && b->gemm && b->retain && b->set && b->synchronise &&
           !b->retain(&context, 0) && !b->set(context) && !b->create(&b->handle);
}

static bool multiply(const Blas *b, const BlasTypes *t, const Problem *p,
                     HeddleBuffer *const *buffers)
{
    const float one = 1, zero = 0;
    const uint16_t half_one = 0x3c00, half_zero = 0;
    const int32_t whole_one = 1, whole_zero = 0;
    const void *alpha = t->compute == 72   ? (const void *)&whole_one
                        : t->compute == 64 ? (const void *)&half_one
                                           : (const void *)&one;
    const void *beta = t->compute == 72   ? (const void *)&whole_zero
                       : t->compute == 64 ? (const void *)&half_zero
                                          : (const void *)&zero;
    int n = (int)p->size, row = (int)p->stride;
    const void *a = (const void *)(uintptr_t)heddle_buffer_address(buffers[0]);
    const void *x = (const void *)(uintptr_t)heddle_buffer_address(buffers[1]);
    void *c = (void *)(uintptr_t)heddle_buffer_address(buffers[2]);
    return !b->gemm(b->handle, p->column_b, 0, n, n, n, alpha, x, t->from, row, a, t->from, row,
                    beta, c, t->to, row, t->compute, -1);
}

static bool multiply_some(const Blas *b, const BlasTypes *t, const Problem *p,
                          HeddleBuffer *const *buffers, uint32_t times)
{
    bool good = true;
    for (uint32_t i = 0; i < times && good; i++)
        good = multiply(b, t, p, buffers);
    return !b->synchronise() && good;
}

double blas_seconds(const Problem *p, HeddleBuffer *const *buffers)
{
    enum { TIMES = 10 };
    static Blas b;
    static int there = -1;
    const BlasTypes *t = NULL;
    for (uint32_t k = 0; k < COUNT_OF(types) && p->stride; k++)
        if (types[k].input == p->input && types[k].result == p->result)
            t = &types[k];
    if (!t)
        return NAN;
    if (there < 0)
        there = open_blas(&b);
    if (!there || !multiply_some(&b, t, p, buffers, 2))
        return NAN;
    double start = clock_seconds();
    return multiply_some(&b, t, p, buffers, TIMES) ? (clock_seconds() - start) / TIMES : NAN;
}
