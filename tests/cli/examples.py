#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every example says how it is run: where a call fails, heddle prints that. It works, on both devices,
which count the same: what one of them does not count is null, and the cpu has no barriers where it
takes staging apart.

    examples.py HEDDLE
"""
import glob
import json
import os
import re
import shlex
import subprocess
import sys

HEDDLE = os.path.abspath(sys.argv[1])
# Of accesses: the interpreter's are the kernel's, the cpu's those that its code makes of them.
KINDS = ("scalar", "vector", "masked", "gather")


def run(words):
    return subprocess.run([HEDDLE] + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=300)


def said(example):
    """The command's words; None where nothing is said."""
    p = run(["run", example])
    m = re.search(r"^heddle: note: (.*) says how it is run:\n    heddle (run .*)$", p.stderr, re.M)
    return shlex.split(m[2]) if p.returncode and m and m[1] == example else None


def wrong(example):
    words, stats = said(example), []
    if not words or words[1] != example:
        return "no command is shown"
    if example.endswith("texture.comp"):  # fewer of its rows
        words[words.index("--groups") + 1] = "4"
    for device in ("cpu", "reference"):
        p = run(words + ["--device", device, "--stats", "--json"])
        if p.returncode:
            return device + ": " + p.stderr
        out = json.loads(p.stdout)
        stats.append({k: v for k, v in out["stats"].items() if v is not None and k not in KINDS})
        if "--subgroup-size" not in words:  # barriers count by subgroups
            words += ["--subgroup-size", str(out["subgroup_size"])]
    cpu, reference = stats
    differ = {k: (cpu[k], v) for k, v in reference.items()
              if cpu[k] != v and (k, cpu[k]) != ("barriers", 0)}
    return "counts differ: %s" % differ if differ or len(reference) != 8 else ""


def main():
    examples = sorted(glob.glob("examples/*.comp") + glob.glob("examples/opencl/*.cl"))
    bad = ["%s: %s" % (e, w) for e in examples for w in [wrong(e)] if w]
    print("\n".join(bad) or "%d examples" % len(examples))
    return len(bad) != 0 or len(examples) < 18


if __name__ == "__main__":
    sys.exit(main())
