# SPDX-License-Identifier: MIT
"""Which arrays are used in place, which are copied, and which are refused."""
import array
import ctypes
import enum
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import heddle
from conftest import COPY

FLOAT = {"TYPE": "float"}


@pytest.fixture(scope="module")
def copy():
    return heddle.Kernel(COPY, defines=FLOAT)


@pytest.fixture(scope="module")
def increment():
    return heddle.Kernel(COPY.replace("writeonly", "").replace("= x[", "+= x["), defines=FLOAT)


def misaligned(n):
    return heddle.aligned(n + 1)[1:]


def test_aligned():
    a = heddle.aligned((3, 5), np.float16)
    assert a.shape == (3, 5) and a.dtype == np.float16 and not a.ctypes.data % 64 and not a.any()


def test_in_place_is_no_copy(copy):
    x, y = heddle.aligned(64), heddle.aligned(64)
    x[:] = np.arange(64)
    copy(x, y, groups=2, copy=False)
    assert np.array_equal(x, y)


@pytest.mark.parametrize("make, why", [
    (lambda: misaligned(64), "aligned to 16 bytes"),
    (lambda: np.zeros(128, np.float32)[::2], "contiguous"),
    (lambda: np.zeros((8, 8), np.float32, order="F"), "contiguous")])
def test_others_are_copied_there_and_back(increment, make, why):
    x, y = make(), make()
    x[...], y[...] = np.arange(64).reshape(x.shape), 1
    increment(x, y, groups=2)
    assert np.array_equal(y, x + 1)
    with pytest.raises(ValueError, match=f"'x': the array is not {why}.*copy=False"):
        increment(x, heddle.aligned(64), groups=2, copy=False)


def test_a_read_only_array_is_not_written(copy):
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    x.flags.writeable = y.flags.writeable = False
    with pytest.raises(ValueError, match="'y': the kernel writes it, and the array is read-only"):
        copy(x, y, groups=2)
    with pytest.raises(ValueError, match="'y'.*read-only"):
        copy(x, bytes(256), groups=2)
    y = y.copy()
    copy(x, y, groups=2)
    assert np.array_equal(x, y)


def test_buffer_protocol(copy):
    x = array.array("f", range(64))
    for y in (bytearray(256), array.array("f", [0] * 64), (ctypes.c_float * 64)()):
        copy(x, y, groups=2)
        assert np.array_equal(np.frombuffer(y, np.float32), np.arange(64))
    y = bytearray(256)
    copy(bytes(x), memoryview(y), groups=2)
    assert y == bytes(x)


class Tensor:
    """An array of which nothing but DLPack is to be had."""

    def __init__(self, of, device=(1, 0), **more):
        self.of, self.device, self.more = of, device, more

    def __dlpack__(self, stream=None):
        return self.of.__dlpack__(**self.more)

    def __dlpack_device__(self):
        return self.device


def test_dlpack(copy):
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    copy(Tensor(x), Tensor(y), groups=2)
    assert np.array_equal(x, y)
    columns = np.zeros((64, 2), np.float32)
    copy(Tensor(x), Tensor(columns[:, 1]), groups=2)
    assert np.array_equal(columns[:, 1], x) and not columns[:, 0].any()
    with pytest.raises(TypeError, match="holds f32 in the kernel, f16 here"):
        copy(Tensor(x.astype(np.float16)), Tensor(y), groups=2)
    with pytest.raises(TypeError, match="neither in the CPU's memory nor on a GPU of NVIDIA's"):
        copy(Tensor(x, (10, 0)), Tensor(y), groups=2)


class Versioned:
    """A tensor by DLPack 1.0, written out: what such a capsule holds, by the specification's struct."""

    class Struct(ctypes.Structure):
        _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                    ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                    ("flags", ctypes.c_uint64), ("data", ctypes.c_void_p),
                    ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32),
                    ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                    ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p),
                    ("offset", ctypes.c_uint64)]

    def __init__(self, of, flags=0, major=1, device=(1, 0)):
        self.of, self.device, self.streams = of, device, []
        self.struct = self.Struct(major, 0, None, None, flags, of.ctypes.data, device, 1, 2, 32, 1,
                                  (ctypes.c_int64 * 1)(of.size), None, 0)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None, max_version=None):
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
        assert max_version == (1, 0)
        return new(ctypes.addressof(self.struct), b"dltensor_versioned", None)


def test_dlpack_says_what_may_be_written(copy):
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    copy(Versioned(x, flags=1), Versioned(y), groups=2)
    assert np.array_equal(x, y)
    with pytest.raises(ValueError, match="'y': the kernel writes it, and the array is read-only"):
        copy(Versioned(x), Versioned(y, flags=1), groups=2)
    with pytest.raises(TypeError, match="DLPack 2.0; 1 is known"):
        copy(Versioned(x, major=2), Versioned(y), groups=2)


class Jax(Versioned):
    """As JAX's arrays: of 64 bytes' alignment, which nobody may write, and whose devices are
    IntEnums; they have the buffer protocol on the CPU only."""

    class Kind(enum.IntEnum):
        CPU, CUDA = 1, 2

    def __init__(self, of, device=(1, 0)):
        super().__init__(of, flags=1, device=device)

    def __dlpack_device__(self):
        return self.Kind(self.device[0]), self.device[1]


def test_jax_arrays_are_read_and_never_written(copy):
    x, y = heddle.aligned(64), heddle.aligned(64)
    x[:] = np.arange(64)
    given = Jax(x)
    copy(given, y, groups=2, copy=False)
    assert np.array_equal(x, y) and given.streams == [None]
    with pytest.raises(ValueError, match="'y': the kernel writes it, and the array is read-only"):
        copy(y, given, groups=2)


def test_tensors_of_a_gpu_are_for_its_device(copy):
    x, y = heddle.aligned(64), np.zeros(64, np.float32)
    with pytest.raises(TypeError, match="'x': the tensor is on GPU 1, the kernel on cpu:0; "
                                        'device="cuda:1" uses it there'):
        copy(Versioned(x, device=(2, 1)), y, groups=2)
    with pytest.raises(TypeError, match="push constants.*from the CPU's memory"):
        copy(x, y, groups=2, push=Versioned(x, device=(2, 0)))


# With the CUDA driver that has no GPU (tests/cuda/mock.c), whose memory is the process's.
ON_A_GPU = """
import ctypes, sys
import numpy as np
import heddle
from conftest import COPY
from test_arrays import Versioned

cuda = ctypes.CDLL("libcuda.so.1")

def allocated(n):
    address = ctypes.c_uint64()
    cuda.cuCtxPushCurrent_v2(None)
    assert not cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * n))
    return np.ctypeslib.as_array((ctypes.c_float * n).from_address(address.value))

copy = heddle.Kernel(COPY, defines={"TYPE": "float"}, device="cuda")
x, y = allocated(64), allocated(64)
tensors = Versioned(x, device=(2, 0)), Versioned(y, device=(2, 0))
seen = []

@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
def kernel(parameters, groups, size):
    seen.append(ctypes.string_at(parameters, 64))

class Mock(ctypes.Structure):   # mock.h
    _fields_ = [("fail", ctypes.c_char_p), ("fail_with", ctypes.c_int),
                ("fail_after", ctypes.c_int), ("fault", ctypes.c_int), ("hang", ctypes.c_bool),
                ("latency", ctypes.c_int), ("devices", ctypes.c_int), ("major", ctypes.c_int),
                ("minor", ctypes.c_int), ("version", ctypes.c_int), ("memory", ctypes.c_uint64),
                ("kernel", ctypes.c_void_p), ("live", ctypes.c_int), ("launches", ctypes.c_int),
                ("questions", ctypes.c_int), ("blocked", ctypes.c_int), ("in", ctypes.c_uint64),
                ("out", ctypes.c_uint64)]

mock = Mock.in_dll(cuda, "mock_cuda")
mock.kernel = ctypes.cast(kernel, ctypes.c_void_p)
copy(*tensors, groups=2, copy=False)
assert mock.launches == 1 and getattr(mock, "in") == mock.out == 0
for t in tensors:
    assert t.of.ctypes.data.to_bytes(8, "little") in seen[0] and t.streams == [1]

def refused(error, says, *arrays):
    try:
        copy(*arrays, groups=2)
    except error as e:
        assert says in str(e), e
    else:
        assert False, says

refused(TypeError, "'y': the tensor is on GPU 1, the kernel on cuda:0", tensors[0],
        Versioned(y, device=(2, 1)))
refused(ValueError, "'x': the tensor on the GPU is not aligned to 16 bytes",
        Versioned(x[1:], device=(2, 0)), tensors[1])
refused(ValueError, "read-only", tensors[0], Versioned(y, flags=1, device=(2, 0)))
refused(heddle.ArgumentError, "are not memory of this GPU", tensors[0],
        Versioned(heddle.aligned(64), device=(2, 0)))
"""


def test_tensors_of_a_gpu_are_used_there():
    mock = pathlib.Path(os.environ["HEDDLE_BUILD"]) / "test/mock"
    if not (mock / "libcuda.so.1").exists():
        pytest.skip("the mock of CUDA's driver is not built")
    environment = dict(os.environ, LD_LIBRARY_PATH=str(mock),
                       PYTHONPATH=os.pathsep.join([*sys.path, str(pathlib.Path(__file__).parent)]))
    p = subprocess.run([sys.executable, "-c", ON_A_GPU], env=environment, text=True,
                       capture_output=True)
    assert p.returncode == 0, p.stderr


def test_types_are_compared(copy):
    y = np.zeros(64, np.float32)
    with pytest.raises(TypeError, match=r"'x' \(set 0, binding 0\) holds f32 .* f64 here.*view"):
        copy(np.arange(64.0), y, groups=2)
    x = np.arange(64, dtype=np.float32)
    copy(x.view(np.uint8), y.view(np.int32), groups=2)
    assert np.array_equal(x, y)
    with pytest.raises(TypeError, match="holds s32 in the kernel, s64 here"):
        heddle.run(COPY, np.arange(64), np.zeros(64, np.int32), groups=2, defines={"TYPE": "int"})


def test_what_is_no_array(copy):
    y = np.zeros(64, np.float32)
    for bad in (None, 3, "text", np.array([None] * 64)):
        with pytest.raises(TypeError, match="is no array|arrays of objects"):
            copy(bad, y, groups=2)
    with pytest.raises(ValueError, match="empty"):
        copy(np.zeros(0, np.float32), y, groups=2)
