#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ELF files need of the system: libraries, and the newest version of glibc's symbols.

    needed.py [--glibc 2.31] [--only LIB,LIB...] FILE|FOLDER...

Prints a line a file. Fails where a file needs a newer glibc, or a library that is not listed. What
brings a loader of its own along (a folder with an ld.so) is not read.
"""
from __future__ import annotations

import argparse
import os
import re
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

LOAD, DYNAMIC = 1, 2                                # p_type
NEEDED, STRTAB, VERNEED, VERNEEDNUM = 1, 5, 0x6ffffffe, 0x6fffffff  # d_tag


@dataclass
class Needs:
    libraries: list[str]
    versions: list[str]     # "GLIBC_2.34"

    def newest(self, prefix: str = "GLIBC") -> tuple[int, ...]:
        return max((tuple(map(int, v.split("_", 1)[1].split("."))) for v in self.versions
                    if re.fullmatch(prefix + r"_[\d.]+", v)), default=(0,))


class Elf:
    """Of 64 bits, little-endian; the dynamic section is all that is read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        start, size, count = (struct.unpack_from("<Q", data, 32)[0],
                              *struct.unpack_from("<HH", data, 54))
        rows = [struct.unpack_from("<IIQQQQQQ", data, start + i * size) for i in range(count)]
        self.loads = [(r[3], r[2], r[5]) for r in rows if r[0] == LOAD]
        self.tags: list[tuple[int, int]] = []
        for r in rows:
            if r[0] == DYNAMIC:
                self.tags = [struct.unpack_from("<QQ", data, at)
                             for at in range(r[2], r[2] + r[5], 16)]

    def place(self, address: int) -> int:
        """In the file."""
        return next(offset + address - start for start, offset, size in self.loads
                    if start <= address < start + size)

    def tag(self, tag: int) -> int:
        return next((value for t, value in self.tags if t == tag), 0)

    def string(self, at: int) -> str:
        start = self.place(self.tag(STRTAB)) + at
        return self.data[start:self.data.index(b"\0", start)].decode()

    def needs(self) -> Needs:
        libraries = [self.string(value) for t, value in self.tags if t == NEEDED]
        versions: list[str] = []
        at = self.place(self.tag(VERNEED)) if self.tag(VERNEED) else 0
        for _ in range(self.tag(VERNEEDNUM)):
            _, count, _, first, following = struct.unpack_from("<HHIII", self.data, at)
            one = at + first
            for _ in range(count):
                _, _, _, name, more = struct.unpack_from("<IHHII", self.data, one)
                versions.append(self.string(name))
                one += more
            at += following
        return Needs(libraries, versions)


def elf_files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        if not (path / "ld.so").exists():
            for inside in sorted(path.iterdir()):
                yield from elf_files(inside)
    elif path.is_file() and not path.is_symlink():
        with open(path, "rb") as f:
            if f.read(5) == b"\x7fELF\x02":
                yield path


def needs_of(path: Path) -> Needs:
    return Elf(path.read_bytes()).needs()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--glibc", help="the newest version that may be needed")
    parser.add_argument("--only", help="the libraries that may be needed, by their names' starts")
    parser.add_argument("path", nargs="+", type=Path)
    options = parser.parse_args()
    most = tuple(map(int, options.glibc.split("."))) if options.glibc else (9999,)
    allowed = tuple(options.only.split(",")) if options.only else ("",)
    wrong = 0
    for path in (f for p in options.path for f in elf_files(p)):
        needs = needs_of(path)
        strange = [name for name in needs.libraries if not name.startswith(allowed)]
        wrong += bool(strange) or needs.newest() > most
        print(f"{os.path.relpath(path)}: glibc {'.'.join(map(str, needs.newest()))}, "
              f"{' '.join(needs.libraries)}"
              f"{' -- not allowed: ' + ' '.join(strange) if strange else ''}"
              f"{' -- too new' if needs.newest() > most else ''}")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
