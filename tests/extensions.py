#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `heddle info` says of SPIR-V extensions is what the CPU's code generator takes.

Every extension that a kernel here declares is in that list, unless no such kernel can be compiled.
"""
import argparse
import glob
import re
import subprocess
import struct
import sys
import tempfile

OP_EXTENSION = 10
KERNELS = ("tests/*/*.comp", "tests/*/*.spvasm", "examples/*.comp")
# Declared by a test of names and strings, which uses nothing of it.
ONLY_DECLARED = {"SPV_AMDX_shader_enqueue"}


def run(*command):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return p.stdout if p.returncode == 0 else None


def declared(binary):
    """The operands of a module's OpExtension instructions."""
    order = "<" if binary[:4] == b"\x03\x02\x23\x07" else ">"
    words = struct.unpack("%s%dI" % (order, len(binary) // 4), binary)
    at = 5
    while at < len(words) and words[at] >> 16:
        if words[at] & 0xffff == OP_EXTENSION:
            text = struct.pack("<%dI" % ((words[at] >> 16) - 1),
                               *words[at + 1:at + (words[at] >> 16)])
            yield text.split(b"\0")[0].decode()
        at += words[at] >> 16


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--heddle", required=True)
    heddle = p.parse_args().heddle
    listed = re.findall(r"\bSPV_\w+", run(heddle, "info").decode())
    wrong = [] if listed == sorted(set(listed)) else ["the list is not in order"]
    seen = set()
    for kernel in sorted(k for pattern in KERNELS for k in glob.glob(pattern)):
        with tempfile.NamedTemporaryFile(suffix=".spv") as f:
            if run(heddle, "compile", kernel, "--emit", "spirv", "-o", f.name) is None:
                continue
            found = set(declared(f.read()))
            seen |= found
            more = found - set(listed) - ONLY_DECLARED
            if more and run(heddle, "compile", f.name, "--emit", "llvm-plain") is not None:
                wrong.append("%s is compiled, and declares %s" % (kernel, ", ".join(sorted(more))))
    if len(seen) < 30:
        wrong.append("only %d extensions were seen" % len(seen))
    print("\n".join(wrong) if wrong else "%d extensions are listed, kernels declare %d"
          % (len(listed), len(seen)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
