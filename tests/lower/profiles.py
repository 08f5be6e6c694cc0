#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lowers kernels of the family for each profile that heddle brings, and some that lack more: what
comes out is valid, and where nothing does, the error says why, and names the instruction or limit.

    tests/lower/profiles.py --heddle HEDDLE --spirv-val SPIRV-VAL [--verbose] [FILE...]

By default those of examples/ and tests/matrix/ that need no definitions but their comments'.
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

ENVIRONMENT = "vulkan1.3"
LESS = ["stored", "words", "held", "half", "slow"]  # the first lack features of small numbers
REFUSED = re.compile(r"error: [\w ]+ cannot be lowered for '.+': .+ \(instruction \d+, Op\w+.*\)$"
                     r"|\[maxComputeSharedMemorySize\]$", re.M)


def run(command):
    p = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=300)
    return p.returncode, p.stdout.decode(errors="replace")


def flags(path):
    """What the first command in an example says of compiling it."""
    with open(path) as f:
        m = re.search(r"heddle run (.*(?:\\\n.*)*)", f.read())
    found = re.findall(r"(-D|--subgroup-size) (\S+)", m[1]) if m else []
    return [w for pair in found for w in pair]


def lower(options, spirv, words, profile, out):
    """What is wrong; "" where nothing is, None where it was refused."""
    status, said = run([options.heddle, "compile", spirv, *words, "--for", profile,
                        "--emit", "spirv", "-o", out])
    if status:
        return None if status == 1 and REFUSED.search(said) else said.strip()[:600]
    status, said = run([options.spirv_val, "--target-env", ENVIRONMENT, out])
    return said.strip()[:600] if status else ""


def jobs(options, folder):
    profiles = sorted(glob.glob("share/profiles/*.json")) + ["tests/lower/%s.json" % p for p in LESS]
    files = options.files or sorted(glob.glob("examples/*.comp") + glob.glob("tests/matrix/*.comp"))
    for i, path in enumerate(files):
        spirv, words = os.path.join(folder, "%d.spv" % i), flags(path)
        if run([options.heddle, "compile", path, *words, "--emit", "spirv", "-o", spirv])[0]:
            continue  # wants definitions
        size = [w for k, w in zip([""] + words, words) if "--subgroup-size" in (k, w)]
        for j, profile in enumerate(profiles):
            yield path, spirv, size, profile, os.path.join(folder, "%d-%d.spv" % (i, j))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--spirv-val", required=True)
    parser.add_argument("--verbose", action="store_true", help="a line a kernel and profile")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    count = collections.Counter()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        todo = list(jobs(options, folder))
        wrongs = pool.map(lambda job: lower(options, *job[1:]), todo)
        for (path, _, _, profile, _), wrong in zip(todo, wrongs):
            result = "refused" if wrong is None else "FAILED" if wrong else "ok"
            count[result] += 1
            if wrong or options.verbose:
                print("%s: %s for %s%s" % (result, path, profile, "\n" + wrong if wrong else ""))
    print("%d refused with a reason" % count["refused"])
    print("%d passed, %d failed" % (count["ok"] + count["refused"], count["FAILED"]))
    return count["FAILED"] != 0 or not count["ok"]


if __name__ == "__main__":
    sys.exit(main())
