#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gpu.py BUILD: tensors in the memory of an NVIDIA GPU, which kernels on `cuda` use in place. Ends
with `N passed, N failed`.

The memory comes from libcuda.so.1 and is handed over by DLPack; where PyTorch or JAX has the GPU,
their tensors are used, too. NumPy is needed. The libcuda of tests/cuda/mock.c will do: its memory
is the process's, and NumPy computes what the kernel would.
"""
import ctypes
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GEMM = os.path.join(ROOT, "examples", "gemm.comp")
CUDA = 2    # DLPack's kDLCUDA

ADD = """#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer X { int x[]; };
layout(set = 0, binding = 1) buffer Y { int y[]; };
void main() { y[gl_GlobalInvocationID.x] += x[gl_GlobalInvocationID.x]; }
"""


class Skip(Exception):
    pass


class Mock(ctypes.Structure):
    """mock.h's MockCuda, as far as it is needed."""
    _fields_ = [("fail", ctypes.c_char_p), ("fail_with", ctypes.c_int),
                ("fail_after", ctypes.c_int), ("fault", ctypes.c_int), ("hang", ctypes.c_bool),
                ("latency", ctypes.c_int), ("devices", ctypes.c_int), ("major", ctypes.c_int),
                ("minor", ctypes.c_int), ("version", ctypes.c_int), ("memory", ctypes.c_uint64),
                ("kernel", ctypes.c_void_p), ("live", ctypes.c_int), ("launches", ctypes.c_int),
                ("questions", ctypes.c_int), ("blocked", ctypes.c_int), ("in_", ctypes.c_uint64),
                ("out", ctypes.c_uint64)]


class Gpu:
    """The first GPU, by NVIDIA's driver alone."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as e:
            raise Skip(e) from e
        count, context, self.stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        if self.library.cuInit(0) or self.library.cuDeviceGetCount(ctypes.byref(count)) or \
                not count.value:
            raise Skip("libcuda.so.1 has no GPU")
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxPushCurrent_v2", context)
        self.call("cuStreamCreate", ctypes.byref(self.stream), 0)
        self.mock = Mock.in_dll(self.library, "mock_cuda") if hasattr(self.library, "mock_cuda") \
            else None

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        assert not result, f"{name}: error {result}"

    def wait(self):
        while self.library.cuStreamQuery(self.stream) == 600:   # CUDA_ERROR_NOT_READY
            time.sleep(0.001)

    def new(self, shape, dtype):
        """Memory as an array, of which only the mock's can be looked at."""
        dtype, address = np.dtype(dtype), ctypes.c_uint64()
        size = int(np.prod(shape)) * dtype.itemsize
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return np.ndarray(shape, dtype, (ctypes.c_uint8 * size).from_address(address.value))

    def holding(self, array):
        memory = self.new(array.shape, array.dtype)
        self.call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(memory.ctypes.data),
                  ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), self.stream)
        self.wait()
        return memory

    def read(self, memory):
        array = np.empty(memory.shape, memory.dtype)
        self.call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(array.ctypes.data),
                  ctypes.c_uint64(memory.ctypes.data), ctypes.c_size_t(array.nbytes), self.stream)
        self.wait()
        return array

    def run(self, by_numpy, source, *tensors, **options):
        """A kernel on `cuda`; on the mock by_numpy(), once it was launched with these addresses."""
        seen = []

        @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        def launched(parameters, groups, size):
            # NvptxEnv begins with descriptors of what is bound, each an address and a size.
            own = (ctypes.c_uint64 * 2 * len(tensors)).from_address(parameters)
            seen.append({tuple(d) for d in own})
            by_numpy()

        if self.mock:
            self.mock.kernel = ctypes.cast(launched, ctypes.c_void_p)
            before = self.mock.in_, self.mock.out
        heddle.run(source, *tensors, device="cuda", copy=False, **options)
        if self.mock:
            assert (self.mock.in_, self.mock.out) == before, "the kernel's memory was copied"
            assert seen == [{(t.of.ctypes.data, t.of.nbytes) for t in tensors}]


def refused(error, says, source, *tensors, device="cuda", **options):
    try:
        heddle.run(source, *tensors, device=device, **options)
    except error as e:
        assert says in str(e), e
    else:
        raise AssertionError(f"not refused: {says}")


def small(shape, dtype):
    """Integers whose sums are exact in any order."""
    return np.random.default_rng(1).integers(-4, 5, shape).astype(dtype)


# ---- memory of the driver's own ------------------------------------------------------------------

def test_matrices_in_place(gpu, kind):
    n, defines = 128, {"INPUT": "float16_t"}
    a, b, c = small((n, n), np.float16), small((n, n), np.float16).T.copy(), \
        np.zeros((n, n), np.float32)
    x, y, z = gpu.holding(a), gpu.holding(b), gpu.holding(c)

    def by_numpy():
        z[...] = x.astype(np.float32) @ y.astype(np.float32)

    tensors = [kind(t, device=(CUDA, 0)) for t in (x, y, z)]
    how = {"groups": (2, 2), "push": [n] * 4, "defines": defines}
    gpu.run(by_numpy, GEMM, *tensors, **how)
    heddle.run(GEMM, a, b, c, device="cpu", **how)
    assert c.any() and np.array_equal(gpu.read(z), c)
    assert all(t.streams == [1] for t in tensors)   # CUDA's default stream, as DLPack numbers it


def test_what_lies_around_a_tensor_stays(gpu):
    x, whole = np.arange(64, dtype=np.int32), np.full(256, 7, np.int32)
    there, around = gpu.holding(x), gpu.holding(whole)
    part = around[64:128]

    def by_numpy():
        part[...] += there

    gpu.run(by_numpy, ADD, Versioned(there, flags=1, device=(CUDA, 0)),
            Versioned(part, device=(CUDA, 0), offset=256), groups=2)
    whole[64:128] += x
    assert np.array_equal(gpu.read(around), whole) and np.array_equal(gpu.read(there), x)


def test_work_of_the_tensors_library_comes_first(gpu):
    if gpu.mock:
        return      # its streams know nothing of one another
    large, y = gpu.new(1 << 26, np.int32), gpu.holding(np.zeros(64, np.int32))
    for value in range(1, 33):      # at least 8 GiB, which take milliseconds
        gpu.call("cuMemsetD8Async", ctypes.c_uint64(large.ctypes.data), value,
                 ctypes.c_size_t(large.nbytes), gpu.stream)
    gpu.run(None, ADD, Versioned(large[-64:], device=(CUDA, 0)), Versioned(y, device=(CUDA, 0)),
            groups=2)
    assert (gpu.read(y) == 0x20202020).all()


def test_what_is_refused(gpu):
    host = heddle.aligned(64, np.int32)
    x, y = (gpu.holding(host) for _ in range(2))
    here, there = Versioned(x, device=(CUDA, 0)), Versioned(y, device=(CUDA, 0))
    refused(TypeError, "'y': the tensor is on GPU 1, the kernel on cuda:0", ADD, here,
            Versioned(y, device=(CUDA, 1)), groups=2)
    refused(TypeError, 'the kernel on cpu:0; device="cuda:0" uses it there', ADD, here, there,
            groups=2, device="cpu")
    refused(ValueError, "'x': the tensor on the GPU is not aligned to 16 bytes", ADD,
            Versioned(x[1:], device=(CUDA, 0)), there, groups=2)
    refused(ValueError, "read-only", ADD, here, Versioned(y, flags=1, device=(CUDA, 0)), groups=2)
    refused(heddle.ArgumentError, "are not memory of this GPU", ADD, here,
            Versioned(host, device=(CUDA, 0)), groups=2)
    assert not gpu.read(y).any()


# ---- libraries' tensors --------------------------------------------------------------------------

def with_torch():
    try:
        import torch
    except ImportError as e:
        raise Skip(e) from e
    if not torch.cuda.is_available():
        raise Skip("PyTorch has no GPU")
    return torch


def test_torch(gpu):
    torch = with_torch()
    for kind, name in ((torch.float16, "float16_t"), (torch.float32, "float")):
        a, b = (torch.randint(-4, 5, (256, 256), device="cuda").to(kind) for _ in range(2))
        c = torch.zeros(256, 256, device="cuda")
        address = c.data_ptr()
        heddle.run(GEMM, a, b, c, groups=(4, 4), push=[256] * 4, device="cuda", copy=False,
                   defines={"INPUT": name})
        assert c.data_ptr() == address and torch.equal(c, a.float() @ b.float())
    x, y = (torch.zeros(1 << 20, dtype=torch.int32, device="cuda") for _ in range(2))
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):    # what was begun there comes first, too
        for _ in range(256):
            x += 1
        heddle.run(ADD, x, y, groups=x.numel() // 32, device="cuda", copy=False)
    assert (y == 256).all()
    refused(ValueError, "not contiguous", ADD, x[:128:2], y, groups=2)


def test_jax(gpu):
    try:
        import jax
        device = jax.devices("cuda")[0]
    except (ImportError, RuntimeError) as e:
        raise Skip(str(e).split("\n", 1)[0]) from e
    x = jax.device_put(np.arange(64, dtype=np.int32), device)
    y = gpu.holding(np.ones(64, np.int32))
    gpu.run(None, ADD, x, Versioned(y, device=(CUDA, 0)), groups=2)
    assert np.array_equal(gpu.read(y), np.arange(1, 65))
    refused(ValueError, "read-only", ADD, Versioned(y, device=(CUDA, 0)), x, groups=2)
    assert np.array_equal(x, np.arange(64))


def main():
    passed = failed = 0
    try:
        gpu = Gpu()
        tests = [("matrices by DLPack 1.0", lambda: test_matrices_in_place(gpu, Versioned)),
                 ("matrices by an older DLPack", lambda: test_matrices_in_place(gpu, Unversioned)),
                 ("what lies around a tensor", lambda: test_what_lies_around_a_tensor_stays(gpu)),
                 ("order", lambda: test_work_of_the_tensors_library_comes_first(gpu)),
                 ("what is refused", lambda: test_what_is_refused(gpu)),
                 ("PyTorch", lambda: test_torch(gpu)), ("JAX", lambda: test_jax(gpu))]
    except Skip as e:
        print(f"skipped: {e}")
        tests = []
    for name, test in tests:
        try:
            test()
            passed += 1
        except Skip as e:
            print(f"skipped: {name}: {e}")
        except Exception:       # whatever it is, it is the test's
            failed += 1
            print(f"FAILED: {name}\n{traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    os.environ.setdefault("HEDDLE_LIBRARY", os.path.join(sys.argv[1], "lib", "libheddle.so"))
    # JAX would take most of the GPU's memory, as it does by default.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    sys.path[:0] = [HERE, os.path.join(ROOT, "python")]
    sys.dont_write_bytecode = True
    try:
        import numpy as np
    except ImportError as e:
        print(f"skipped: {e} (Debian: python3-numpy)\n0 passed, 0 failed")
        sys.exit(0)
    import heddle
    from dlpack import Unversioned, Versioned
    sys.exit(main())
