# SPDX-License-Identifier: MIT
"""Which arrays are used in place, which are copied, and which are refused."""
import array
import ctypes

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

    def __init__(self, of, device=(1, 0)):
        self.of, self.device = of, device

    def __dlpack__(self, stream=None):
        return self.of.__dlpack__()

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
    with pytest.raises(TypeError, match="not in the CPU's memory"):
        copy(Tensor(x, (2, 0)), Tensor(y), groups=2)


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
