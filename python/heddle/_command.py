# SPDX-License-Identifier: MIT
"""The command `heddle` of an installed wheel: the program that the wheel brings along."""
from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    program = str(Path(__file__).parent / "bin" / "heddle")
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as e:
        sys.exit(f"heddle: {program}: {e.strerror}")
