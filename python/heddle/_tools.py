# SPDX-License-Identifier: MIT
"""Whole tasks in one call: run, check, bench, disassemble, and the layout of matrices."""
from __future__ import annotations

import ctypes
import inspect
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._core import MODULE_OPTIONS, Device, Kernel, Module, Report, Source, device_of
from ._diagnostics import Diagnostic, collected
from ._library import beside, constants, header, lib, new

_CALL = frozenset(inspect.signature(Kernel.__call__).parameters) - {"self", "arrays", "local_size"}


def _split(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is said of the kernel, and what of the run."""
    return ({k: v for k, v in options.items() if k not in _CALL},
            {k: v for k, v in options.items() if k in _CALL})


def _of_module(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is said of the source, and the rest."""
    return ({k: v for k, v in options.items() if k in MODULE_OPTIONS},
            {k: v for k, v in options.items() if k not in MODULE_OPTIONS})


def run(source: Source | Module, *arrays: Any, **options: Any) -> Report:
    """Compiles a kernel and runs it once:

        heddle.run("k.comp", a, b, out, groups=(8, 8), push=[n], spec={"N": 4}, defines={"T": 2})

    Options are those of `Kernel` and of its call. With check=True it runs slowly, on the device
    that finds mistakes, and raises CheckError with what it found.
    """
    kernel, call = _split(options)
    return Kernel(source, **kernel)(*arrays, **call)


def check(source: Source | Module, *, entry: str | None = None, device: Device | str | None = None,
          **options: Any) -> list[Diagnostic]:
    """What is wrong with a kernel, without running it: [] when nothing is."""
    of_module, of_kernel = _of_module(options)
    module = source if isinstance(source, Module) else None
    found: list[Diagnostic] = []
    if module is None:
        with collected() as found:
            module = Module(source, **of_module)
    if module is None:
        return found
    for name in [entry] if entry else [e.entry for e in module.entry_points]:
        with collected() as more:
            Kernel(module, entry=name, device=device, **of_kernel)
        found += more
    return list(dict.fromkeys(found))


# ---- bench ---------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Bench:
    """Times of a kernel's runs, in seconds."""
    runs: int
    median: float
    min: float
    max: float
    spread: float           # between the quartiles, of the median
    flops: int              # of the matrix multiply-adds of a run
    bytes: int              # of the arrays

    @property
    def gflops(self) -> float:
        return self.flops / self.median * 1e-9

    @property
    def gbytes(self) -> float:
        return self.bytes / self.median * 1e-9

    def __str__(self) -> str:
        rate = f", {self.gflops:.1f} GFLOP/s" if self.flops else ""
        return (f"{self.runs} runs, median {self.median * 1e3:.3f} ms, spread "
                f"{100 * self.spread:.1f} %{rate}, {self.gbytes:.2f} GB/s")


def bench(source: Source | Module, *arrays: Any, seconds: float = 0.5, **options: Any) -> Bench:
    """Runs a kernel for so long, at least five times, after a run that counts what it does."""
    if not seconds > 0:
        raise ValueError(f"seconds: {seconds!r} is not positive")
    kernel, call = _split(options)
    counting = Kernel(source, **kernel, stats=True)
    measured = Kernel(counting.module, **_of_module(kernel)[1])
    flops = counting(*arrays, **call).stats["flops"]
    measured(*arrays, **call)
    times: list[float] = []
    end = time.monotonic() + seconds
    while len(times) < 5 or time.monotonic() < end:
        times.append(measured(*arrays, **call).seconds)
    quarters = statistics.quantiles(times, n=4)
    size = sum(np.asarray(a).nbytes for a in arrays if hasattr(a, "__array__"))
    return Bench(len(times), quarters[1], min(times), max(times),
                 (quarters[2] - quarters[0]) / quarters[1], flops, size)


# ---- disassemble ---------------------------------------------------------------------------------

def disassemble(source: Source | Module, form: str = "asm", **options: Any) -> str:
    """A kernel as text: "asm", its SPIR-V; "passes", that after heddle's passes; "llvm" and
    "llvm-plain", LLVM's IR; "native", the machine's assembly."""
    if form == "asm":
        module = source if isinstance(source, Module) else Module(source, **options)
        return module.disassemble()
    if form not in ("passes", "llvm", "llvm-plain", "native"):
        raise ValueError(f"no form {form!r}: asm, passes, llvm, llvm-plain or native")
    emit = "spirv" if form == "passes" else form.replace("-", "_")
    text = Kernel(source, **options, emit=emit).text
    if form == "passes":
        return Module(text, language="spirv", unchecked=True).disassemble()
    return text.decode(errors="replace")


# ---- layout --------------------------------------------------------------------------------------

class Layout:
    """Who holds which element of a cooperative matrix. Notebooks show it as a picture.

    `lanes[row, column]` is the invocation, `elements[row, column]` which of its elements.
    """

    def __init__(self, shape: str | tuple[int, int], type: str = "f16", use: str = "A",
                 subgroup_size: int = 32, device: Device | str | None = None) -> None:
        rows, columns = (int(n) for n in shape.split("x")) if isinstance(shape, str) else shape
        uses = {"A": "A", "B": "B", "C": "ACCUMULATOR", "accumulator": "ACCUMULATOR"}
        kind = lib.heddle_type_from_name(type.encode())
        most = constants["HEDDLE_MATRIX_MOST"]
        if use not in uses or not kind:
            raise ValueError(f"a type such as 'f16', and use 'A', 'B' or 'C', not {type!r}, {use!r}")
        if not (0 < rows <= most and 0 < columns <= most and subgroup_size > 0):
            raise ValueError(f"a shape up to {most} x {most}, and a positive subgroup size")
        self.rows, self.columns, self.type, self.use = rows, columns, type, use
        self.subgroup_size = subgroup_size
        self._device = device_of(device)
        self._raw = new("HeddleMatrixLayout", rows=rows, columns=columns, type=kind,
                        use=header.enums["HeddleUse"]["HEDDLE_USE_" + uses[use]],
                        subgroup_size=subgroup_size)
        owners = [[self.owner(r, c) for c in range(columns)] for r in range(rows)]
        self.lanes = np.array([[o[0] for o in row] for row in owners])
        self.elements = np.array([[o[1] for o in row] for row in owners])

    @property
    def length(self) -> int:
        """Elements that one invocation holds."""
        return int(lib.heddle_matrix_length(self._device.handle, ctypes.byref(self._raw)))

    def owner(self, row: int, column: int) -> tuple[int, int]:
        """Who holds it: (lane, element)."""
        return self._ask(lib.heddle_matrix_owner, row, column)

    def position(self, lane: int, element: int) -> tuple[int, int]:
        """Where it lies: (row, column)."""
        return self._ask(lib.heddle_matrix_position, lane, element)

    def _ask(self, function: Any, x: int, y: int) -> tuple[int, int]:
        a, b = ctypes.c_uint32(), ctypes.c_uint32()
        if x < 0 or y < 0 or not function(self._device.handle, ctypes.byref(self._raw), x, y,
                                          ctypes.byref(a), ctypes.byref(b)):
            raise IndexError(f"nothing is at ({x}, {y})")
        return a.value, b.value

    def svg(self) -> str:
        """The picture that `heddle layout --svg` draws."""
        found = beside("bin", "heddle")
        command = str(found) if found else shutil.which("heddle")
        if not command:
            raise FileNotFoundError("the command heddle, which draws layouts, is not installed")
        done = subprocess.run(
            [command, "layout", f"{self.rows}x{self.columns}", self.type, self.use[0].upper()
             if self.use != "accumulator" else "C", "--subgroup-size", str(self.subgroup_size),
             "--svg", "-"], capture_output=True, check=False)
        if done.returncode:
            raise ValueError(done.stderr.decode(errors="replace").strip())
        text = done.stdout.decode()
        return text[text.index("<svg"):text.index("</svg>") + len("</svg>")]

    def _repr_svg_(self) -> str | None:
        try:
            return self.svg()
        except (OSError, ValueError):   # a notebook then shows the text
            return None

    def __repr__(self) -> str:
        return (f"<heddle.Layout {self.rows}x{self.columns} {self.type} {self.use}, "
                f"{self.length} elements in each of {self.subgroup_size} lanes>")


def layout(shape: str | tuple[int, int], type: str = "f16", use: str = "A",
           subgroup_size: int = 32, device: Device | str | None = None) -> Layout:
    """Who holds which element: heddle.layout("16x16", "f16", "A")."""
    return Layout(shape, type, use, subgroup_size, device)
