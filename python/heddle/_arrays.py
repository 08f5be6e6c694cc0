# SPDX-License-Identifier: MIT
"""Arrays of others as memory for kernels: NumPy's, what has the buffer protocol, tensors by DLPack.

Kernels read and write the memory itself where it is contiguous and aligned to 16 bytes. Else they
get a copy, and what they wrote is copied back. Tensors on a GPU are only ever used in place.
"""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._library import lib, type_name

ALIGNMENT = 16  # what heddle_buffer_wrap asks for
# DLPack's kDLCPU, kDLCUDA, and what the latter calls the stream that all others wait for.
_HOST, _CUDA, _DEFAULT_STREAM = 1, 2, 1

# Where ml_dtypes' names are not the library's.
_NAMES = {"float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}


@dataclass
class Memory:
    """An array's bytes, and what keeps them alive."""
    array: np.ndarray[Any, Any]     # a view of what was given
    type: str                       # "f16", "s32"...; "none" where the library has no such type
    writable: bool
    owner: Any = None
    gpu: int | None = None          # in the memory of this GPU of NVIDIA's: nothing here reads it

    @property
    def in_place(self) -> bool:
        return bool(self.array.flags.c_contiguous) and not self.array.ctypes.data % ALIGNMENT


def element_type(dtype: Any) -> str:
    """The library's name for a dtype; "none" if it has none."""
    name = np.dtype(dtype).name
    return type_name(lib.heddle_type_from_name(_NAMES.get(name, name).encode()))


def aligned(shape: Any, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Zeros that kernels use in place: aligned to 64 bytes, as NumPy's own need not be."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start:start + size].view(kind).reshape(shape)


# ---- DLPack --------------------------------------------------------------------------------------

class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("ordinal", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


_CODES = {0: "s{}", 1: "u{}", 2: "f{}", 4: "bf{}", 6: "bool", 10: "e4m3", 12: "e5m2"}
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_is_named = ctypes.pythonapi.PyCapsule_IsValid
_is_named.restype, _is_named.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned, of DLPack 1.0."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_READ_ONLY = 1                  # a flag of DLPack 1.0


# Libraries whose tensors never change, though the DLPack that they come by cannot say it.
_IMMUTABLE = {"jax", "jaxlib", "tensorflow"}


def _is_read_only(value: Any) -> bool:
    """Of a tensor by a DLPack from before 1.0."""
    if type(value).__module__.partition(".")[0] in _IMMUTABLE:
        return True
    try:
        return memoryview(value).readonly
    except (TypeError, ValueError, BufferError):
        return False


def _tensor_of(value: Any, **stream: int) -> tuple[Any, _Tensor, bool]:
    """What keeps a tensor's memory, what it is, and whether it may be written."""
    try:
        capsule = value.__dlpack__(max_version=(1, 0), **stream)
    except TypeError:           # from before 1.0
        capsule = value.__dlpack__(**stream)
    # Either is freed with its tensor when nothing takes it over.
    if _is_named(capsule, b"dltensor_versioned"):
        v = _Versioned.from_address(_pointer_of(capsule, b"dltensor_versioned"))
        if v.major != 1:
            raise TypeError(f"the tensor comes by DLPack {v.major}.{v.minor}; 1 is known")
        return capsule, v.tensor, not v.flags & _READ_ONLY
    return capsule, _Tensor.from_address(_pointer_of(capsule, b"dltensor")), \
        not _is_read_only(value)


def _from_dlpack(tensor: Any) -> Memory:
    device, ordinal = map(int, tensor.__dlpack_device__())
    if device not in (_HOST, _CUDA):
        raise TypeError("the tensor is neither in the CPU's memory nor on a GPU of NVIDIA's; "
                        "copy it there first")
    gpu = ordinal if device == _CUDA else None
    # What the tensor's library has begun goes before the default stream, which heddle waits for.
    capsule, t, writable = _tensor_of(tensor, **({} if gpu is None else {
        "stream": _DEFAULT_STREAM}))
    if t.lanes != 1 or t.bits % 8:
        raise TypeError(f"tensors of {t.bits} bits in {t.lanes} lanes are not supported")
    shape = tuple(t.shape[i] for i in range(t.rank))
    item = t.bits // 8
    strides = tuple(t.strides[i] * item for i in range(t.rank)) if t.strides else None
    if any(s < 0 for s in strides or ()):
        raise TypeError("tensors with negative strides are not supported")
    reach = item + sum((n - 1) * s for n, s in zip(shape, strides)) if strides else \
        item * int(np.prod(shape, dtype=np.int64))
    data = (t.data or 0) + t.offset
    raw = (ctypes.c_uint8 * (reach if all(shape) else 0)).from_address(data)
    view = np.ndarray(shape, np.dtype(f"V{item}"), raw, strides=strides)
    kind = _CODES.get(t.code, "none").format(t.bits)
    return Memory(view, kind, writable, (capsule, tensor), gpu)


# ---- anything ------------------------------------------------------------------------------------

def memory_of(value: Any) -> Memory:
    """Of an array; TypeError where it is none."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("arrays of objects have no bytes for a kernel")
        return Memory(value, element_type(value.dtype), bool(value.flags.writeable), value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _from_dlpack(value)
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"{type(value).__name__} is no array: NumPy's, an object with the buffer "
                        "protocol, or a tensor with __dlpack__ is expected") from None
    if view.format in ("B", "b", "c"):  # bytes, of which nobody knows what they are
        return Memory(np.frombuffer(view, np.uint8), "none", not view.readonly, value)
    array = np.asarray(view)
    return Memory(array, element_type(array.dtype), not view.readonly, value)


def to_bytes(value: Any) -> bytes:
    """Push constants, arguments: bytes as they are; Python's integers and floats as 32 bits."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tobytes()
    if isinstance(value, (bool, int)):
        if not -2**31 <= value < 2**32:
            raise OverflowError(f"{value} does not fit 32 bits; numpy.int64({value}) has 64")
        return np.array(value & 0xffffffff, np.uint32).tobytes()
    if isinstance(value, float):
        return np.float32(value).tobytes()
    if isinstance(value, (list, tuple)):
        return b"".join(map(to_bytes, value))
    memory = memory_of(value)
    if memory.gpu is not None:
        raise TypeError("push constants and arguments by value come from the CPU's memory")
    return memory.array.tobytes()
