# SPDX-License-Identifier: MIT
"""heddle: compute kernels with cooperative matrices, in GLSL, OpenCL C, MLIR or SPIR-V, run on this
machine's CPU on NumPy's arrays.

    import heddle, numpy as np
    heddle.run("scale.comp", x, y, groups=64)
"""
from ._arrays import aligned, element_type
from ._core import (Binding, Constant, Device, DeviceInfo, Kernel, KernelInfo, Local, Matrix,
                    Module, Report, devices, local)
from ._diagnostics import (ArgumentError, BindingError, CheckError, Diagnostic, FileError,
                           HeddleError, HeddleWarning, OutOfMemoryError, RunError, SourceError,
                           ToolError, UnsupportedError)
from ._library import __version__
from ._tools import Bench, Layout, bench, check, disassemble, layout, run

__all__ = [
    "ArgumentError", "Bench", "Binding", "BindingError", "CheckError", "Constant", "Device",
    "DeviceInfo", "Diagnostic", "FileError", "HeddleError", "HeddleWarning", "Kernel",
    "KernelInfo", "Layout", "Local", "Matrix", "Module", "OutOfMemoryError", "Report", "RunError",
    "SourceError", "ToolError", "UnsupportedError", "__version__", "aligned", "bench", "check",
    "devices", "disassemble", "element_type", "layout", "local", "run",
]
