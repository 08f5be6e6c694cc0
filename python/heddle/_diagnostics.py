# SPDX-License-Identifier: MIT
"""What libheddle has to say: errors become exceptions, warnings go through `warnings`."""
from __future__ import annotations

import ctypes
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ._library import constants, header, lib, text

SEVERITIES = {constants["HEDDLE_NOTE"]: "note", constants["HEDDLE_WARNING"]: "warning",
              constants["HEDDLE_ERROR"]: "error"}


@dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong, and where. `str` gives it with the line of the source."""
    severity: str           # "note", "warning" or "error"
    message: str
    text: str               # all of it as one line: "gemm.comp:12:3: error: message [rule]"
    file: str | None = None
    line: int = 0           # from 1; 0 when unknown
    column: int = 0
    rule: str | None = None     # the specification's section or VUID that is broken
    opcode: str | None = None   # "OpLoad"
    id: str | None = None       # "%acc", the instruction's result
    instruction: int | None = None  # its index in the SPIR-V module
    excerpt: str = ""       # the line of the source, with a mark below the column

    def __str__(self) -> str:
        return f"{self.text}\n{self.excerpt}" if self.excerpt else self.text


class HeddleWarning(UserWarning):
    """A warning of heddle's about a kernel or its use; `diagnostic` is all of it."""

    def __init__(self, message: str, diagnostic: Diagnostic | None = None) -> None:
        super().__init__(message)
        self.diagnostic = diagnostic


class HeddleError(Exception):
    """A failed call. The first error's position and rule are its own, too."""
    result = "HEDDLE_ERROR"

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        errors = [d for d in diagnostics if d.severity == "error"] or diagnostics
        self.findings = errors
        first = errors[0] if errors else Diagnostic("error", "failed", self.result)
        self.file, self.line, self.column = first.file, first.line, first.column
        self.rule, self.message, self.excerpt = first.rule, first.message, first.excerpt
        super().__init__("\n".join(str(d) for d in diagnostics) or self.result)


class ArgumentError(HeddleError, ValueError):
    result = "HEDDLE_ERROR_ARGUMENT"


class OutOfMemoryError(HeddleError, MemoryError):
    result = "HEDDLE_ERROR_MEMORY"


class FileError(HeddleError, OSError):
    result = "HEDDLE_ERROR_IO"


class ToolError(HeddleError):
    """A compiler that heddle runs (glslang, heddle-mlir) is missing."""
    result = "HEDDLE_ERROR_TOOL"


class SourceError(HeddleError):
    """The kernel's source or module is wrong."""
    result = "HEDDLE_ERROR_SOURCE"


class UnsupportedError(HeddleError):
    """The kernel asks for what the device does not have."""
    result = "HEDDLE_ERROR_UNSUPPORTED"


class BindingError(HeddleError, ValueError):
    """A buffer or push constants that the kernel uses are missing."""
    result = "HEDDLE_ERROR_BINDING"


class RunError(HeddleError):
    """The kernel did wrong while it ran."""
    result = "HEDDLE_ERROR_RUN"


class CheckError(RunError):
    """What a checked run found; `findings` are the mistakes, one by one."""


_ERRORS = {constants[kind.result]: kind
           for kind in (ArgumentError, OutOfMemoryError, FileError, ToolError, SourceError,
                        UnsupportedError, BindingError, RunError)}


def _outside() -> FrameType | None:
    """The frame that called this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame and frame.f_globals.get("__package__") == __package__:
        frame = frame.f_back
    return frame


_collecting = threading.local()


@contextmanager
def collected() -> Iterator[list[Diagnostic]]:
    """All that calls of this thread have to say goes into a list; an error of heddle's ends them
    and is swallowed."""
    found: list[Diagnostic] = []
    _collecting.into = found
    try:
        yield found
    except HeddleError:
        pass
    finally:
        _collecting.into = None


def warn(message: str, diagnostic: Diagnostic | None = None) -> None:
    frame = _outside()
    warning = HeddleWarning(message, diagnostic)
    if frame is None:
        warnings.warn(warning)
        return
    warnings.warn_explicit(warning, None, frame.f_code.co_filename, frame.f_lineno,
                           module=frame.f_globals.get("__name__"),
                           registry=frame.f_globals.setdefault("__warningregistry__", {}))


def _line_of(file: str | None, line: int, sources: dict[str, str]) -> str | None:
    if not file or not line:
        return None
    source = sources.get(file)
    if source is None:
        try:
            with open(file, encoding="utf-8", errors="replace") as f:
                source = f.read()
        except OSError:
            return None
    lines = source.splitlines()
    return lines[line - 1] if line <= len(lines) else None


def _excerpt(file: str | None, line: int, column: int, sources: dict[str, str]) -> str:
    found = _line_of(file, line, sources)
    if found is None:
        return ""
    shown = f"{line:5} | {found}"
    if not 0 < column <= len(found) + 1:
        return shown
    blank = "".join("\t" if c == "\t" else " " for c in found[:column - 1])
    return f"{shown}\n      | {blank}^"


class Log:
    """A log of the library's for one call, with the texts of sources that are in no file.

        with Log(sources) as log:
            log.check(lib.heddle_..., log.handle)
    """

    def __init__(self, sources: dict[str, str] | None = None) -> None:
        self.sources = {} if sources is None else sources
        self.handle: Any = None

    def __enter__(self) -> Log:
        self.handle = lib.heddle_log_new(header.callbacks["HeddleReportFn"](), None)
        if not self.handle:
            raise MemoryError("out of memory")
        return self

    def __exit__(self, *_: object) -> None:
        lib.heddle_log_free(self.handle)
        self.handle = None

    def diagnostics(self) -> list[Diagnostic]:
        count = lib.heddle_log_count(self.handle)
        return [self._diagnostic(lib.heddle_log_get(self.handle, i).contents)
                for i in range(count)]

    def _diagnostic(self, d: ctypes.Structure) -> Diagnostic:
        raw: Any = d
        file = text(raw.file)
        return Diagnostic(
            SEVERITIES[raw.severity], text(raw.message) or "", text(raw.text) or "", file,
            raw.line, raw.column, text(raw.rule), text(raw.opcode), text(raw.id),
            raw.instruction if raw.has_instruction else None,
            _excerpt(file, raw.line, raw.column, self.sources))

    def check(self, result: int, error: type[HeddleError] | None = None) -> None:
        """Raises what the result and the log say; what are no errors are warnings."""
        said = self.diagnostics()
        into = getattr(_collecting, "into", None)
        if into is not None:
            into += said
        if result:
            raise (error or _ERRORS.get(result, HeddleError))(said)
        for d in said if into is None else ():
            if d.severity == "warning":
                warn(str(d), d)
