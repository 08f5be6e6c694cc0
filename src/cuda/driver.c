/* SPDX-License-Identifier: MIT
 *
 * The driver's library, opened once.
 */
#include "cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static CudaDriver driver;

static bool find_functions(void *library)
{
#define FIND(name, parameters)                                                                     \
    *(void **)&driver.name = dlsym(library, #name);                                                \
    if (!driver.name) {                                                                            \
        snprintf(driver.missing, sizeof driver.missing, "libcuda.so.1 has no %s: it is too old",   \
                 #name);                                                                           \
        return false;                                                                              \
    }
    CUDA_FUNCTIONS(FIND)
#undef FIND
    return true;
}

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *name = "";
    if (!library) {
        snprintf(driver.missing, sizeof driver.missing,
                 "NVIDIA's driver is not there: libcuda.so.1 cannot be opened");
        return;
    }
    if (!find_functions(library))
        return;
    CuResult r = driver.cuInit(0);
    if (!r)
        r = driver.cuDriverGetVersion(&driver.version);
    if (!r)
        r = driver.cuDeviceGetCount(&driver.n_devices);
    if (r == CU_ERROR_NO_DEVICE || (!r && !driver.n_devices)) {
        snprintf(driver.missing, sizeof driver.missing,
                 "NVIDIA's driver is there, but no GPU of NVIDIA's");
    } else if (r) {
        driver.cuGetErrorName(r, &name);
        snprintf(driver.missing, sizeof driver.missing, "NVIDIA's driver does not start: %s",
                 name ? name : "an unknown error");
    }
}

const CudaDriver *cuda_driver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_driver);
    return &driver;
}
