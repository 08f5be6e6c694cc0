# SPDX-License-Identifier: MIT
"""libheddle, found and loaded.

It is what HEDDLE_LIBRARY names, else the one in this package (a wheel brings it), else the system's.
ctypes lets go of the interpreter's lock while a function of it runs.
"""
from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from ._header import parse

_here = Path(__file__).parent
header = parse((_here / "heddle.h").read_text(encoding="utf-8"))
constants = header.constants
structs = header.structs


def _soname() -> str:
    major, minor = constants["HEDDLE_VERSION_MAJOR"], constants["HEDDLE_VERSION_MINOR"]
    return f"libheddle.so.{major}" if major else f"libheddle.so.{major}.{minor}"


def _load() -> tuple[ctypes.CDLL, str]:
    own = _here / "lib" / _soname()
    path = os.environ.get("HEDDLE_LIBRARY") or (str(own) if own.exists() else _soname())
    try:
        library = ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(f"cannot load libheddle ({e}); HEDDLE_LIBRARY may name it") from e
    for name, (result, arguments) in header.functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    running = library.heddle_version().decode()
    if running.split(".")[:2] != [str(constants[f"HEDDLE_VERSION_{part}"])
                                  for part in ("MAJOR", "MINOR")]:
        raise ImportError(f"{path} is libheddle {running}, which this package is not made for")
    return library, path


lib, path = _load()
__version__: str = lib.heddle_version().decode()
_libc = ctypes.CDLL(None)
_libc.free.argtypes = [ctypes.c_void_p]


def new(name: str, **fields: Any) -> Any:
    """A struct, which says its size where it can."""
    kind = structs[name]
    value = kind(**fields)
    if "struct_size" in dict(kind._fields_):
        value.struct_size = ctypes.sizeof(kind)
    return value


def text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def encode(value: str | os.PathLike[str] | None) -> bytes | None:
    return None if value is None else os.fsencode(value)


def take_string(address: int | None) -> str:
    """A string that the library made for its caller to free."""
    if not address:
        raise MemoryError("out of memory")
    try:
        return ctypes.string_at(address).decode(errors="replace")
    finally:
        _libc.free(address)


def type_name(value: int) -> str:
    return str(text(lib.heddle_type_name(value)))


def beside(*parts: str) -> Path | None:
    """A file of the installation that the library belongs to."""
    folder = Path(library_file()).parent
    for up in (folder.parent, folder.parent.parent):
        if (found := up.joinpath(*parts)).exists():
            return found
    return None


class _DlInfo(ctypes.Structure):
    _fields_ = [("fname", ctypes.c_char_p), ("fbase", ctypes.c_void_p),
                ("sname", ctypes.c_char_p), ("saddr", ctypes.c_void_p)]


def library_file() -> str:
    """The file that was loaded, wherever the system found it."""
    info = _DlInfo()
    _libc.dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(_DlInfo)]
    address = ctypes.cast(lib.heddle_version, ctypes.c_void_p)
    if not _libc.dladdr(address, ctypes.byref(info)) or not info.fname:
        return path
    return os.path.realpath(os.fsdecode(info.fname))
