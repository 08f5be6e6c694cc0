# SPDX-License-Identifier: MIT
"""The build backend (PEP 517): makes a wheel of heddle/ and an installed libheddle, with nothing but
the standard library.

The installation is what HEDDLE_PREFIX names; else it is built by CMake's preset `package`, which
links LLVM in. The tag says which glibc that needs.
"""
from __future__ import annotations

import base64
import hashlib
import io
import os
import platform
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

from needed import elf_files, needs_of

ROOT = Path(__file__).resolve().parent.parent
VERSION = (ROOT / "VERSION").read_text().strip()
INFO = f"heddle-{VERSION}.dist-info"
# What any Linux has, by PEP 600 and the manylinux policies.
SYSTEM = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux", "libz.so",
          "libgcc_s.so", "libstdc++.so")
PREFIX = "build/package-tree/installed"
TREES = ("libexec/heddle/glslang", "libexec/heddle/glslang.d", "libexec/heddle/heddle-mlir",
         "share/heddle", "bin/heddle")
PROJECT = (ROOT / "pyproject.toml").read_text()


def _said(key: str) -> str:
    """A string of pyproject.toml, which Python reads itself from 3.11 on only."""
    found = re.search(rf'^{key} = "(.*)"$', PROJECT, re.M)
    assert found, key
    return found[1]


METADATA = f"""Metadata-Version: 2.1
Name: heddle
Version: {VERSION}
Summary: {_said("description")}
License: MIT
Requires-Python: {_said("requires-python")}
Requires-Dist: numpy>=1.22
Description-Content-Type: text/markdown

"""
ENTRY_POINTS = """[console_scripts]
heddle = heddle._command:main

[pytest11]
heddle = heddle.pytest_plugin
"""


def _prefix() -> Path:
    """A finished installation."""
    if named := os.environ.get("HEDDLE_PREFIX"):
        return Path(named)
    for command in (["tools/toolchain.sh", "build/toolchain"], ["tools/sysroot.sh", "build/sysroot"],
                    ["cmake", "--preset", "package"], ["cmake", "--build", "--preset", "package"],
                    ["cmake", "--install", "build/package-tree", "--prefix", PREFIX]):
        subprocess.run(command, cwd=ROOT, check=True)
    return ROOT / PREFIX


def _library(prefix: Path) -> Path:
    """The file that libheddle.so leads to."""
    found = [p for p in prefix.glob("lib*/**/libheddle.so") if p.exists()]
    if not found:
        raise FileNotFoundError(f"no libheddle.so in {prefix}")
    return found[0].resolve()


def _soname() -> str:
    major, minor, _ = VERSION.split(".")
    return f"libheddle.so.{major}" if major != "0" else f"libheddle.so.{major}.{minor}"


def _native(prefix: Path) -> dict[str, Path]:
    """Name in the wheel: file of the installation."""
    files = {f"heddle/lib/{_soname()}": _library(prefix)}
    for tree in TREES:
        top = prefix / tree
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file():
                files[f"heddle/{path.relative_to(prefix)}"] = path
    return files


def _tag(native: dict[str, Path]) -> str:
    machine = platform.machine()
    needs = [needs_of(path) for name, path in native.items()
             if "glslang.d" not in name and list(elf_files(path))]
    newest = max(n.newest() for n in needs)
    alone = all(lib.startswith(SYSTEM) for n in needs for lib in n.libraries
                if not lib.startswith("libheddle"))
    if not alone:
        return f"py3-none-linux_{machine}"
    return f"py3-none-manylinux_{newest[0]}_{newest[1]}_{machine}"


class _Wheel:
    def __init__(self, path: Path) -> None:
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record: list[str] = []

    def add(self, name: str, data: bytes, executable: bool = False) -> None:
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self) -> None:
        self.record.append(f"{INFO}/RECORD,,")
        self.zip.writestr(f"{INFO}/RECORD", "\n".join(self.record) + "\n")
        self.zip.close()


def build_wheel(wheel_directory: str, config_settings: object = None,
                metadata_directory: str | None = None) -> str:
    native = _native(_prefix())
    tag = _tag(native)
    name = f"heddle-{VERSION}-{tag}.whl"
    wheel = _Wheel(Path(wheel_directory) / name)
    for path in sorted((ROOT / "python/heddle").iterdir()):
        if path.suffix == ".py" or path.name in ("py.typed", "heddle.h"):
            wheel.add(f"heddle/{path.name}", path.read_bytes())
    for inside, path in native.items():
        wheel.add(inside, path.read_bytes(), os.access(path, os.X_OK))
    readme = (ROOT / "python/README.md").read_text(encoding="utf-8")
    texts = {"METADATA": METADATA + readme, "entry_points.txt": ENTRY_POINTS,
             "WHEEL": f"Wheel-Version: 1.0\nGenerator: heddle\nRoot-Is-Purelib: false\nTag: {tag}\n",
             "LICENSE": (ROOT / "LICENSE").read_text(encoding="utf-8")}
    for text, content in texts.items():
        wheel.add(f"{INFO}/{text}", content.encode())
    wheel.close()
    return name


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    """All that git knows of, and PKG-INFO."""
    top = f"heddle-{VERSION}"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True,
                             stdout=subprocess.PIPE).stdout.decode().split("\0")
    with tarfile.open(Path(sdist_directory) / f"{top}.tar.gz", "w:gz",
                      format=tarfile.PAX_FORMAT) as tar:
        for name in filter(None, tracked):
            tar.add(ROOT / name, f"{top}/{name}", recursive=False)
        entry = tarfile.TarInfo(f"{top}/PKG-INFO")
        entry.size = len(METADATA.encode())
        tar.addfile(entry, io.BytesIO(METADATA.encode()))
    return f"{top}.tar.gz"


def _nothing(config_settings: object = None) -> list[str]:
    return []


get_requires_for_build_wheel = get_requires_for_build_sdist = _nothing
