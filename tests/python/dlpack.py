# SPDX-License-Identifier: MIT
"""Tensors written out by DLPack's specification, for tests that have no library that makes them."""
import ctypes

_CODES = {"i": 0, "u": 1, "f": 2}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


def _capsule(of, name):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
    return new(ctypes.addressof(of), name, None)


class Versioned:
    """An array by DLPack 1.0. Only its address is looked at, which may be a GPU's."""

    def __init__(self, of, flags=0, major=1, device=(1, 0), offset=0):
        self.of, self.device, self.streams = of, device, []
        shape = (ctypes.c_int64 * of.ndim)(*of.shape)
        tensor = _Tensor(of.ctypes.data - offset, device, of.ndim, _CODES[of.dtype.kind],
                         8 * of.dtype.itemsize, 1, shape, None, offset)
        self.struct = _Versioned(major, 0, None, None, flags, tensor)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None, max_version=None):
        self.streams.append(stream)
        assert max_version == (1, 0)
        return _capsule(self.struct, b"dltensor_versioned")


class Unversioned(Versioned):
    """As libraries from before 1.0 do it, which cannot say that a tensor is read-only."""

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return _capsule(self.struct.tensor, b"dltensor")
