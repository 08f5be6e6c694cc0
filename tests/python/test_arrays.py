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
from dlpack import Unversioned, Versioned

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


@pytest.mark.skipif(not hasattr(np.ndarray, "__dlpack__"), reason="NumPy from before 1.22")
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


@pytest.mark.parametrize("device", [(1, 0), (2, 0)])
def test_nor_where_their_dlpack_cannot_say_so(copy, device):
    """JAX's own is from before 1.0, and of bf16 and on GPUs it has no buffer protocol either."""
    of = type("ArrayImpl", (Unversioned,), {"__module__": "jaxlib._jax"})
    x, y = heddle.aligned(64), heddle.aligned(64)
    with pytest.raises(ValueError, match="'y': the kernel writes it, and the array is read-only"):
        copy(x, of(y, device=device), groups=2)


def test_tensors_of_a_gpu_are_for_its_device(copy):
    x, y = heddle.aligned(64), np.zeros(64, np.float32)
    with pytest.raises(TypeError, match="'x': the tensor is on GPU 1, the kernel on cpu:0; "
                                        'device="cuda:1" uses it there'):
        copy(Versioned(x, device=(2, 1)), y, groups=2)
    with pytest.raises(TypeError, match="push constants.*from the CPU's memory"):
        copy(x, y, groups=2, push=Versioned(x, device=(2, 0)))


def test_tensors_of_a_gpu_are_used_there():
    """By gpu.py, with the CUDA driver that has no GPU (tests/cuda/mock.c)."""
    build = os.environ.get("HEDDLE_BUILD", "")
    mock = pathlib.Path(build, "test/mock")
    if not (mock / "libcuda.so.1").exists():
        pytest.skip("the mock of CUDA's driver is not built")
    p = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("gpu.py"), build],
                       env=dict(os.environ, LD_LIBRARY_PATH=str(mock)), text=True,
                       capture_output=True)
    assert p.returncode == 0 and int(p.stdout.split()[-4]) >= 5, p.stdout + p.stderr


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
