/* SPDX-License-Identifier: MIT
 *
 * driver: CUDA's driver API, as much of it as the device calls ("CUDA Driver API", sections 6.2 to
 * 6.26): libcuda.so.1 by name, so that neither its headers nor the toolkit are needed. The names
 * with _v2 are those that its header means by the names without.
 */
#ifndef HEDDLE_CUDA_DRIVER_H
#define HEDDLE_CUDA_DRIVER_H

#include "base/base.h"

typedef int CuResult;
typedef int CuDevice;
typedef uint64_t CuAddress;
typedef void *CuContext, *CuModule, *CuFunction, *CuStream, *CuEvent;

/* CUresult */
enum {
    CU_SUCCESS = 0,
    CU_ERROR_OUT_OF_MEMORY = 2,
    CU_ERROR_NO_DEVICE = 100,
    CU_ERROR_INVALID_PTX = 218,
    CU_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CU_ERROR_NOT_READY = 600,
    CU_ERROR_ILLEGAL_ADDRESS = 700,
    CU_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CU_ERROR_LAUNCH_TIMEOUT = 702,
    CU_ERROR_ILLEGAL_INSTRUCTION = 715,
    CU_ERROR_MISALIGNED_ADDRESS = 716,
};

/* CUdevice_attribute */
enum {
    CU_ATTRIBUTE_MULTIPROCESSORS = 16,
    CU_ATTRIBUTE_MAJOR = 75,
    CU_ATTRIBUTE_MINOR = 76,
    CU_ATTRIBUTE_SHARED_BYTES = 97, /* of a block that asks for more than 48 KiB */
};

/* CUjit_option */
enum { CU_JIT_ERROR_LOG = 5, CU_JIT_ERROR_LOG_BYTES = 6, CU_JIT_OPTIMISATION = 7 };

/* CUfunction_attribute */
enum {
    CU_FUNC_MOST_THREADS = 0, /* that a block can have, for the registers it takes */
    CU_FUNC_LOCAL_BYTES = 3,  /* of a thread: arrays and what registers did not hold */
    CU_FUNC_REGISTERS = 4,
    CU_FUNC_SHARED_BYTES = 8, /* dynamic shared memory */
};

/* CUpointer_attribute */
enum { CU_POINTER_MEMORY_TYPE = 2, CU_POINTER_ORDINAL = 9 };

/* CUmemorytype */
enum { CU_MEMORY_DEVICE = 2 };

/* The stream that libraries use which ask for none. */
#define CU_STREAM_LEGACY ((CuStream)1)

enum {
    CU_STREAM_NON_BLOCKING = 1,  /* CUstream_flags */
    CU_EVENT_DISABLE_TIMING = 2, /* CUevent_flags */
    CU_HOST_PORTABLE_MAPPED = 3, /* CU_MEMHOSTALLOC_PORTABLE | DEVICEMAP */
};

/* clang-format off */
#define CUDA_FUNCTIONS(F) \
    F(cuInit, (unsigned)) \
    F(cuDriverGetVersion, (int *)) \
    F(cuDeviceGetCount, (int *)) \
    F(cuDeviceGet, (CuDevice *, int)) \
    F(cuDeviceGetName, (char *, int, CuDevice)) \
    F(cuDeviceGetAttribute, (int *, int, CuDevice)) \
    F(cuDeviceTotalMem_v2, (size_t *, CuDevice)) \
    F(cuDevicePrimaryCtxRetain, (CuContext *, CuDevice)) \
    F(cuDevicePrimaryCtxRelease_v2, (CuDevice)) \
    F(cuCtxPushCurrent_v2, (CuContext)) \
    F(cuCtxPopCurrent_v2, (CuContext *)) \
    F(cuModuleLoadDataEx, (CuModule *, const void *, unsigned, int *, void **)) \
    F(cuModuleUnload, (CuModule)) \
    F(cuModuleGetFunction, (CuFunction *, CuModule, const char *)) \
    F(cuFuncSetAttribute, (CuFunction, int, int)) \
    F(cuFuncGetAttribute, (int *, int, CuFunction)) \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, CuFunction, int, size_t)) \
    F(cuLaunchKernel, (CuFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                       unsigned, CuStream, void **, void **)) \
    F(cuStreamCreate, (CuStream *, unsigned)) \
    F(cuStreamDestroy_v2, (CuStream)) \
    F(cuStreamQuery, (CuStream)) \
    F(cuEventCreate, (CuEvent *, unsigned)) \
    F(cuEventDestroy_v2, (CuEvent)) \
    F(cuEventRecord, (CuEvent, CuStream)) \
    F(cuEventQuery, (CuEvent)) \
    F(cuEventElapsedTime, (float *, CuEvent, CuEvent)) \
    F(cuMemAlloc_v2, (CuAddress *, size_t)) \
    F(cuMemFree_v2, (CuAddress)) \
    F(cuMemHostAlloc, (void **, size_t, unsigned)) \
    F(cuMemFreeHost, (void *)) \
    F(cuMemHostRegister_v2, (void *, size_t, unsigned)) \
    F(cuMemHostUnregister, (void *)) \
    F(cuMemHostGetDevicePointer_v2, (CuAddress *, void *, unsigned)) \
    F(cuPointerGetAttribute, (void *, int, CuAddress)) \
    F(cuMemsetD8Async, (CuAddress, unsigned char, size_t, CuStream)) \
    F(cuMemcpyHtoDAsync_v2, (CuAddress, const void *, size_t, CuStream)) \
    F(cuMemcpyDtoHAsync_v2, (void *, CuAddress, size_t, CuStream)) \
    F(cuGetErrorName, (CuResult, const char **)) \
    F(cuGetErrorString, (CuResult, const char **))
/* clang-format on */

typedef struct CudaDriver {
#define MEMBER(name, parameters) CuResult(*name) parameters;
    CUDA_FUNCTIONS(MEMBER)
#undef MEMBER
    int version, n_devices;
    char missing[256]; /* why there is none; "" where there is */
} CudaDriver;

/* Opened once, for the process; never NULL. */
const CudaDriver *cuda_driver(void);

#endif
