# SPDX-License-Identifier: MIT
"""Devices, modules and kernels."""
from __future__ import annotations

import ctypes
import inspect
import os
import struct
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from . import _arrays
from ._diagnostics import CheckError, Log
from ._library import constants, encode, lib, new, structs, take_string, text, type_name

Dimensions = Union[int, Sequence[int]]
Source = Union[str, "os.PathLike[str]", bytes]


def _dimensions(value: Dimensions | None, what: str) -> Any:
    values = [] if value is None else [value] if isinstance(value, (int, np.integer)) else \
        list(value)
    if len(values) > 3 or any(int(v) < 1 or int(v) >= 2**32 for v in values):
        raise ValueError(f"{what}: one to three positive numbers are expected, not {value!r}")
    values = [int(v) for v in values] + [1] * (3 - len(values)) if values else [0, 0, 0]
    return (ctypes.c_uint32 * 3)(*values)


# ---- devices -------------------------------------------------------------------------------------

@dataclass(frozen=True)
class DeviceInfo:
    """What `heddle.devices()` says of one."""
    kind: str                       # "cpu", "reference"...
    ordinal: int
    name: str                       # "AMD Ryzen 9 7950X"
    target: str
    features: tuple[str, ...]
    threads: int
    vector_bits: int
    subgroup_sizes: tuple[int, ...]
    default_subgroup_size: int
    extensions: tuple[str, ...]
    levels: tuple[str, ...]         # what `isa` can name and the machine runs


def _kinds() -> dict[str, int]:
    """By name, all that this library has."""
    return {str(text(lib.heddle_device_kind_name(k))): k
            for k in range(constants["HEDDLE_N_DEVICE_KINDS"])}


class Device:
    """A device, by its kind ("cpu", "reference"), or "KIND:N" for the N-th of several."""
    made = False    # any, in this process or the one that it was forked from

    def __init__(self, name: str = "cpu", *, threads: int = 0, isa: str | None = None,
                 signal_handlers: bool = True) -> None:
        _refuse_fork()
        Device.made = True
        kind, _, ordinal = name.partition(":")
        kinds = _kinds()
        if kind not in kinds or (ordinal and not ordinal.isdigit()):
            raise ValueError(f"no device {name!r}; there are {', '.join(kinds)}")
        options = new("HeddleDeviceOptions", kind=kinds[kind], ordinal=int(ordinal or 0),
                      threads=threads, isa=encode(isa), no_signal_handlers=not signal_handlers)
        handle = ctypes.c_void_p()
        with Log() as log:
            log.check(lib.heddle_device_new(ctypes.byref(options), ctypes.byref(handle),
                                            log.handle))
        self.handle = handle.value
        self._finalizer = weakref.finalize(self, lib.heddle_device_free, self.handle)

    @property
    def info(self) -> DeviceInfo:
        i = lib.heddle_device_info(self.handle).contents
        return DeviceInfo(
            str(text(i.kind_name)), i.ordinal, str(text(i.name)), str(text(i.target)),
            tuple(str(text(i.features[k])) for k in range(i.n_features)), i.threads,
            i.vector_bits, tuple(i.subgroup_sizes[k] for k in range(i.n_subgroup_sizes)),
            i.default_subgroup_size,
            tuple(str(text(i.extensions[k])) for k in range(i.n_extensions)),
            tuple(str(text(i.levels[k])) for k in range(i.n_levels)))

    def __repr__(self) -> str:
        info = self.info
        return f"<heddle.Device {info.kind}:{info.ordinal} {info.name}>"


_shared: dict[str, Device] = {}
_lock = threading.Lock()
_forked = False


def _after_fork() -> None:
    """A device's threads do not follow into the child."""
    global _forked
    _forked = _forked or Device.made


os.register_at_fork(after_in_child=_after_fork)


def _refuse_fork() -> None:
    if _forked:
        raise RuntimeError("heddle's devices do not work in the child of a fork; start processes "
                           "by multiprocessing's 'spawn', or fork before the first device")


def device_of(device: Device | str | None, *, checked: bool = False) -> Device:
    """The device itself; the process's own of that name; by default the CPU or, to check, the
    reference device."""
    if isinstance(device, Device):
        return device
    name = device or ("reference" if checked else "cpu")
    with _lock:
        if name not in _shared:
            _shared[name] = Device(name)
        return _shared[name]


def devices() -> list[DeviceInfo]:
    """All devices of this machine."""
    return [device_of(f"{name}:{n}" if n else name).info for name, kind in _kinds().items()
            for n in range(lib.heddle_device_count(kind))]


# ---- modules -------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Binding:
    """A buffer, or an argument of OpenCL C, that a kernel uses."""
    set: int
    binding: int
    count: int
    kind: str               # "storage", "uniform", "value", "local", "image"
    name: str
    written: bool
    static_size: int
    type: str               # of its elements: "f16"...; "none" when they are no numbers


@dataclass(frozen=True)
class Constant:
    """A specialisation constant, with its default or, of a kernel, its value."""
    id: int
    name: str
    type: str
    value: int | float | bool


@dataclass(frozen=True)
class Matrix:
    """A type of cooperative matrices that a kernel declares."""
    rows: int
    columns: int
    type: str
    use: str                # "A", "B", "C"
    scope: str              # "subgroup", "workgroup"


@dataclass(frozen=True)
class KernelInfo:
    """What a kernel needs."""
    entry: str
    opencl: bool
    local_size: tuple[int, int, int]
    subgroup_size: int
    push_size: int
    shared_size: int
    bindings: tuple[Binding, ...]
    constants: tuple[Constant, ...]
    matrices: tuple[Matrix, ...]


_FORMATS = {"f16": "e", "f32": "f", "f64": "d"}


def _from_bits(kind: str, bits: int) -> int | float | bool:
    size = lib.heddle_type_size(lib.heddle_type_from_name(kind.encode()))
    if kind in _FORMATS:
        return float(struct.unpack(_FORMATS[kind], bits.to_bytes(8, "little")[:size])[0])
    if kind == "bool":
        return bool(bits)
    bits &= (1 << 8 * size) - 1
    return bits - (1 << 8 * size) if kind[0] == "s" and bits >> (8 * size - 1) else bits


def _to_bits(kind: str, value: Any) -> int:
    size = lib.heddle_type_size(lib.heddle_type_from_name(kind.encode()))
    if kind in _FORMATS:
        return int.from_bytes(struct.pack(_FORMATS[kind], float(value)), "little")
    if int(value) != value or not -(1 << 8 * size - 1) <= int(value) < 1 << 8 * size:
        raise ValueError(f"{value!r} is no value of type {kind}")
    return int(value) & ((1 << 8 * size) - 1)


def _named(prefix: str, value: int) -> str:
    return next(name[len(prefix):].lower() for name, v in constants.items()
                if name.startswith(prefix) and v == value)


def _info(raw: Any) -> KernelInfo:
    bindings, specs, matrices = (
        [getattr(raw, name)[i] for i in range(getattr(raw, "n_" + name))]
        for name in ("bindings", "specs", "matrices"))
    return KernelInfo(
        str(text(raw.entry)), raw.opencl, tuple(raw.local_size), raw.subgroup_size, raw.push_size,
        raw.shared_size,
        tuple(Binding(b.set, b.binding, b.count, _named("HEDDLE_BINDING_", b.kind),
                      str(text(b.name)), b.written, b.static_size, type_name(b.element))
              for b in bindings),
        tuple(Constant(s.id, str(text(s.name)), type_name(s.type),
                       _from_bits(type_name(s.type), s.bits)) for s in specs),
        tuple(Matrix(m.rows, m.columns, type_name(m.type), "ABC"[m.use],
                     _named("HEDDLE_SCOPE_", m.scope)) for m in matrices))


def _is_text(source: Any) -> bool:
    return isinstance(source, str) and "\n" in source


class Module:
    """A kernel's source, read and checked.

    `source` is a path; or a text, which has line breaks; or the bytes of SPIR-V. Its kind (GLSL,
    OpenCL C, MLIR, SPIR-V, its assembly) is told by its contents and its name, or by `language`.
    """

    def __init__(self, source: Source, *, language: str | None = None, name: str | None = None,
                 defines: Mapping[str, Any] | None = None,
                 include_dirs: Iterable[str | os.PathLike[str]] = (),
                 target_env: str | None = None, vulkan: bool = False,
                 unchecked: bool = False) -> None:
        self.sources: dict[str, str] = {}
        kinds = {"asm": "SPIRV_ASM", None: "AUTO"}
        wanted = "HEDDLE_LANGUAGE_" + kinds.get(language, str(language).upper())
        if wanted not in constants:
            raise ValueError(f"no language {language!r}: glsl, opencl, mlir, spirv or asm")
        given = [(str(k).encode(), str(int(v) if v is True else v).encode())
                 for k, v in (defines or {}).items()]
        array = (structs["HeddleDefine"] * len(given))(*given)
        folders = [encode(folder) for folder in include_dirs]
        options = new("HeddleModuleOptions", language=constants[wanted], unchecked=unchecked,
                      include_dirs=(ctypes.c_char_p * len(folders))(*folders),
                      n_include_dirs=len(folders), defines=array, n_defines=len(given),
                      target_env=encode(target_env), opencl_to_vulkan=vulkan)
        handle = ctypes.c_void_p()
        with Log(self.sources) as log:
            log.check(self._open(source, name, options, handle, log))
        self.handle = handle.value
        self._finalizer = weakref.finalize(self, lib.heddle_module_free, self.handle)

    def _open(self, source: Source, name: str | None, options: Any, handle: Any, log: Log) -> int:
        out = ctypes.byref(options), ctypes.byref(handle), log.handle
        if isinstance(source, (bytes, bytearray, memoryview)):
            data, name = bytes(source), name or "<bytes>"
        elif _is_text(source):
            data, name = str(source).encode(), name or "<source>"
            self.sources[name] = str(source)
        else:
            return int(lib.heddle_module_from_file(encode(source), *out))  # type: ignore[arg-type]
        return int(lib.heddle_module_new(data, len(data), encode(name), *out))

    @property
    def spirv(self) -> bytes:
        size = ctypes.c_size_t()
        words = lib.heddle_module_spirv(self.handle, ctypes.byref(size))
        return ctypes.string_at(words, size.value)

    @property
    def entry_points(self) -> list[KernelInfo]:
        return [_info(lib.heddle_module_entry_point(self.handle, i).contents)
                for i in range(lib.heddle_module_n_entry_points(self.handle))]

    def entry_point(self, entry: str | None) -> KernelInfo | None:
        found = [e for e in self.entry_points if entry in (None, e.entry)]
        return found[0] if len(found) == 1 else None

    def disassemble(self, *, names: bool = True) -> str:
        return take_string(lib.heddle_module_disassemble(self.handle, names))


MODULE_OPTIONS = frozenset(inspect.signature(Module).parameters) - {"source"}


# ---- kernels -------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Report:
    """Of a run: how long it took, and with `stats` what it did."""
    seconds: float
    stats: Mapping[str, int]


def local(size: int) -> Local:
    """So many bytes of workgroup memory, for an OpenCL kernel's argument of that kind."""
    return Local(size)


@dataclass(frozen=True)
class Local:
    size: int


class Kernel:
    """A kernel, compiled once; called with its arrays it runs.

        kernel = heddle.Kernel("scale.comp", spec={"FACTOR": 3})
        kernel(x, y, groups=64, push=[1024, 0.5])

    Several threads may call one kernel at once.
    """

    def __init__(self, source: Source | Module, *, device: Device | str | None = None,
                 entry: str | None = None, spec: Mapping[int | str, Any] | None = None,
                 subgroup_size: int = 0, local_size: Dimensions | None = None,
                 robust: bool = False, check: bool | str = False, stats: bool = False,
                 optimise: bool = True, emit: str | None = None, **module: Any) -> None:
        if check not in (False, True, "portability"):
            raise ValueError(f"check is True or 'portability', not {check!r}")
        self.module = source if isinstance(source, Module) else Module(source, **module)
        if module and isinstance(source, Module):
            raise TypeError(f"{', '.join(module)}: only of a source that is no Module yet")
        self.device = device_of(device, checked=bool(check))
        self.checked = bool(check)
        values = _spec_values(self.module.entry_point(entry), spec or {})
        options = new("HeddleKernelOptions", entry=encode(entry), specs=values,
                      n_specs=len(values), subgroup_size=subgroup_size, robust=robust,
                      local_size=_dimensions(local_size, "local_size"), check=self.checked,
                      check_portability=check == "portability", stats=stats,
                      no_optimisation=not optimise,
                      emit=constants[f"HEDDLE_EMIT_{(emit or 'nothing').upper()}"])
        handle = ctypes.c_void_p()
        with Log(self.module.sources) as log:
            log.check(lib.heddle_kernel_new(self.device.handle, self.module.handle,
                                            ctypes.byref(options), ctypes.byref(handle),
                                            log.handle))
        self.handle = handle.value
        # The device comes along, because it must go last.
        self._finalizer = weakref.finalize(self, _free_kernel, self.handle, self.device)
        self.info = _info(lib.heddle_kernel_info(self.handle).contents)

    @property
    def seconds(self) -> float:
        """How long compiling it took."""
        return float(lib.heddle_kernel_seconds(self.handle))

    @property
    def text(self) -> bytes:
        """The form that `emit` asked for."""
        size = ctypes.c_size_t()
        data = lib.heddle_kernel_text(self.handle, ctypes.byref(size))
        return ctypes.string_at(data, size.value) if data else b""

    def __call__(self, *arrays: Any, groups: Dimensions | None = None,
                 global_size: Dimensions | None = None, local_size: Dimensions | None = None,
                 push: Any = b"", bindings: Mapping[Any, Any] | None = None, copy: bool = True,
                 threads: int = 0, seed: int = 0) -> Report:
        """Runs it. Arrays go to the bindings in their order, or by `bindings`: {name or number or
        (set, number): array}, of which an array of buffers takes a list. `push` is bytes, NumPy's
        arrays and scalars, or a list of these and of numbers, which have 32 bits. With copy=False
        an array that cannot be used in place is an error."""
        _refuse_fork()
        with _Run(self, copy) as run:
            run.bind(arrays, bindings or {})
            return run.dispatch(groups=groups, global_size=global_size, local_size=local_size,
                                push=push, threads=threads, seed=seed)

    def __repr__(self) -> str:
        return f"<heddle.Kernel {self.info.entry} on {self.device.info.kind}>"


def _free_kernel(handle: Any, device: Device) -> None:
    del device  # it lived as long as this call's arguments
    lib.heddle_kernel_free(handle)


def _spec_values(info: KernelInfo | None, given: Mapping[int | str, Any]) -> Any:
    values = (structs["HeddleSpecValue"] * len(given))()
    known = info.constants if info else ()
    for slot, (key, value) in zip(values, given.items()):
        found = [c for c in known if key in (c.id, c.name)]
        if not found:
            raise ValueError(f"no specialisation constant {key!r}; there are "
                             f"{', '.join(f'{c.id} {c.name}'.strip() for c in known) or 'none'}")
        slot.id, slot.bits = found[0].id, _to_bits(found[0].type, value)
    return values


def _refuse_type(b: Binding, memory: _arrays.Memory) -> None:
    """Bytes and integers may hold the bits of something else; numbers of another format or size,
    and NumPy's 64-bit ones where the kernel has others, are mistakes."""
    real = b.type[0] == "f" or b.type in ("bf16", "e4m3", "e5m2")
    size = lib.heddle_type_size(lib.heddle_type_from_name(b.type.encode()))
    item = memory.array.itemsize
    other_real = memory.type[0] == "f" or memory.type in ("bf16", "e4m3", "e5m2")
    wrong = real and (other_real or item != size) or item == 8 and size != 8
    if "none" in (b.type, memory.type) or memory.type in (b.type, "u8") or not wrong:
        return
    raise TypeError(f"'{b.name}' (set {b.set}, binding {b.binding}) holds {b.type} in the kernel, "
                    f"{memory.type} here; array.view(numpy.uint8) passes the bytes as they are")


class _Run:
    """A dispatch: wraps what it binds, and lets go of it afterwards."""

    def __init__(self, kernel: Kernel, copy: bool) -> None:
        self.kernel, self.copy = kernel, copy
        self.buffers: list[Any] = []
        self.kept: list[Any] = []
        self.rows: list[Any] = []
        self.back: list[tuple[Any, Any]] = []   # what was copied, and where it came from
        self.far: list[tuple[Any, Any]] = []    # buffers elsewhere, and whose copies they are

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_: object) -> None:
        for buffer in self.buffers:
            lib.heddle_buffer_free(buffer)

    # ---- what is bound ----

    def bind(self, arrays: Sequence[Any], named: Mapping[Any, Any]) -> None:
        known = self.kernel.info.bindings
        if len(arrays) > len(known):
            raise TypeError(f"{len(arrays)} arrays for {len(known)} bindings: {self._known()}")
        for b, value in zip(known, arrays):
            self._bind_all(b, value)
        for key, value in named.items():
            found = [b for b in known if key in (b.name, (b.set, b.binding)) or
                     (key == b.binding and b.set == 0)]
            if not found or found[0] in known[:len(arrays)]:
                raise TypeError(f"binding {key!r} is {'bound twice' if found else 'not there'}; "
                                f"the kernel has {self._known()}")
            self._bind_all(found[0], value)

    def _known(self) -> str:
        return ", ".join(f"{b.set}.{b.binding} {b.name}".strip()
                         for b in self.kernel.info.bindings) or "none"

    def _bind_all(self, b: Binding, value: Any) -> None:
        if b.count == 1:
            self._bind(b, 0, value)
            return
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"'{b.name}' is an array of buffers: a list is expected")
        for index, one in enumerate(value):
            self._bind(b, index, one)

    def _bind(self, b: Binding, index: int, value: Any) -> None:
        row = structs["HeddleBinding"](set=b.set, binding=b.binding, index=index)
        if b.kind == "value":
            self._value(b, row, value)
        elif isinstance(value, Local):
            row.size = value.size
        else:
            self._buffer(b, row, value)
        self.rows.append(row)

    def _value(self, b: Binding, row: Any, value: Any) -> None:
        if isinstance(value, (bool, int, float)) and b.type != "none":
            bits = _to_bits(b.type, value)
            data = bits.to_bytes(8, "little")[:b.static_size]
        else:
            data = _arrays.to_bytes(value)
        kept = ctypes.create_string_buffer(data, len(data))
        self.kept.append(kept)
        row.value, row.size = ctypes.addressof(kept), len(data)

    def _buffer(self, b: Binding, row: Any, value: Any) -> None:
        memory = _arrays.memory_of(value)
        array = memory.array
        if not array.size:
            raise ValueError(f"'{b.name}': an empty array cannot be bound")
        if b.written and not memory.writable:
            raise ValueError(f"'{b.name}': the kernel writes it, and the array is read-only")
        _refuse_type(b, memory)
        if memory.gpu is not None:
            row.buffer = self._on_gpu(b, memory)
        else:
            if not memory.in_place:
                array = self._copied(b, memory)
            row.buffer = self._wrapped(b, array)
        self.kept.append((memory, array))

    def _on_gpu(self, b: Binding, memory: _arrays.Memory) -> Any:
        device = self.kernel.device
        info, array = device.info, memory.array
        if (info.kind, info.ordinal) != ("cuda", memory.gpu):
            raise TypeError(f"'{b.name}': the tensor is on GPU {memory.gpu}, the kernel on "
                            f"{info.kind}:{info.ordinal}; device=\"cuda:{memory.gpu}\" uses it "
                            "there, and its copy on the CPU can be used everywhere")
        if not memory.in_place:
            raise ValueError(f"'{b.name}': the tensor on the GPU is not {self._lacks(array)}, and "
                             "heddle copies none there")
        handle = ctypes.c_void_p()
        with Log() as log:
            log.check(lib.heddle_buffer_wrap_address(
                device.handle, array.ctypes.data, array.nbytes, ctypes.byref(handle), log.handle))
        self.buffers.append(handle.value)
        return handle.value

    @staticmethod
    def _lacks(array: Any) -> str:
        return f"aligned to {_arrays.ALIGNMENT} bytes" if array.flags.c_contiguous else \
            "contiguous in C's order"

    def _wrapped(self, b: Binding, array: Any) -> Any:
        device, handle = self.kernel.device.handle, ctypes.c_void_p()
        data = array.ctypes.data, array.nbytes
        with Log() as log:
            result = lib.heddle_buffer_wrap(device, *data, ctypes.byref(handle), log.handle)
            far = result == constants["HEDDLE_ERROR_UNSUPPORTED"]
            if not far:
                log.check(result)
        if far:     # a device that cannot reach the program's memory gets a copy in its own
            with Log() as log:
                log.check(lib.heddle_buffer_new_placed(
                    device, array.nbytes, constants["HEDDLE_PLACEMENT_DEVICE"],
                    ctypes.byref(handle), log.handle))
                self.buffers.append(handle.value)
                log.check(lib.heddle_buffer_write(handle, 0, *data, log.handle))
            if b.written:
                self.far.append((handle.value, array))
        else:
            self.buffers.append(handle.value)
        return handle.value

    def _copied(self, b: Binding, memory: _arrays.Memory) -> Any:
        given = memory.array
        if not self.copy:
            raise ValueError(f"'{b.name}': the array is not {self._lacks(given)}, and copy=False")
        array = _arrays.aligned(given.shape, given.dtype)
        array[...] = given
        if b.written:
            self.back.append((given, array))
        return array

    # ---- running ----

    def dispatch(self, *, groups: Dimensions | None, global_size: Dimensions | None,
                 local_size: Dimensions | None, push: Any, threads: int, seed: int) -> Report:
        data = _arrays.to_bytes(push)
        rows = (structs["HeddleBinding"] * len(self.rows))(*self.rows)
        constants_ = (ctypes.c_uint32 * ((len(data) + 3) // 4)).from_buffer_copy(
            data.ljust((len(data) + 3) // 4 * 4, b"\0"))
        d = new("HeddleDispatch", groups=_dimensions(groups, "groups"),
                global_size=_dimensions(global_size, "global_size"),
                local_size=_dimensions(local_size, "local_size"), bindings=rows,
                n_bindings=len(rows), push=ctypes.addressof(constants_) if data else None,
                push_size=len(data), max_threads=threads, seed=seed)
        report = new("HeddleReport")
        with Log(self.kernel.module.sources) as log:
            result = lib.heddle_dispatch(self.kernel.handle, ctypes.byref(d),
                                         ctypes.byref(report), log.handle)
            for buffer, array in self.far:  # also what a kernel wrote before it failed
                lib.heddle_buffer_read(buffer, 0, array.ctypes.data, array.nbytes, log.handle)
            for given, array in self.back:
                given[...] = array
            failed = result == constants["HEDDLE_ERROR_RUN"] and self.kernel.checked
            log.check(result, CheckError if failed else None)
        stats = {name: getattr(report.stats, name) for name, _ in report.stats._fields_}
        return Report(report.seconds, stats)
