#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the golden tests: files that hold their input, how to run it, and what must come out.

    // RUN: %heddle compile %s --emit llvm -o - | %filecheck %s
    // CHECK: fmul

Each `RUN:` line is run by bash with pipefail from the root of the sources, and HEDDLE_CACHE names a
folder; a `\\` at its end continues it on the next RUN: line. A file without one is an input of
another test. Replaced:

    %s %S %t        the file, its folder, a path of its own to write to (and %t.anything)
    %levels         of the levels of x86-64 those that the machine has, for --isa: host x86-64-v4 ...
    %heddle %filecheck %clang %mlir-opt %glslang %spirv-val %spirv-as %spirv-dis %spirv-opt
    not CMD...      succeeds when CMD fails with a status below 126 (a crash is no proper failure)
    status N CMD... succeeds when CMD's status is N
    skip WHAT...    the machine has no such thing: the test is skipped for want of it
    interrupt ARGS... CMD...  Ctrl-C once CMD has come somewhere: tools/interrupt.py
    alike FILE N ARGS... runs an OpenCL C program on both devices, and, where there is a clang that
                    makes SPIR-V, what that makes of it (at -O$O); buffer N is the same bit for bit

`XFAIL: why` marks a known bug: the test must fail. `REQUIRES: level...` names what the CPU must
be, of what `heddle info` lists; else the test is skipped. `REQUIRES: clang_spirv` asks for a clang beside
FileCheck that compiles OpenCL C to SPIR-V, `REQUIRES: mlir` for heddle-mlir beside heddle and
mlir-opt beside FileCheck, `REQUIRES: gdb`, `perf` and `chromium` for these programs, `libclc` for LLVM's libclc.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import time

SKIPPED = 77
KINDS = ("comp", "glsl", "spvasm", "cl", "mlir")
PRELUDE = """set -o pipefail
not() { "$@"; local s=$?; [ $s -ne 0 ] && [ $s -lt 126 ]; }
status() { local want=$1; shift; "$@"; local s=$?; [ $s -eq "$want" ]; }
skip() { echo "$*"; exit 77; }
interrupt() { python3 tools/interrupt.py "$@"; }
alike() {
    local file=$1 n=$2; shift 2
    %heddle run $file "$@" --out $n=%t.alike.npy &&
    %heddle run $file "$@" --device reference --check --compare $n=%t.alike.npy --tolerance 0 || return 1
    ! %clang --print-targets 2>/dev/null | grep -q spirv64 || {
        %clang -cl-std=CL3.0 -Xclang -cl-ext=+all -target spirv64 -O${O:-1} -w -c $file \
            -o %t.alike.spv &&
        %heddle run %t.alike.spv "$@" --compare $n=%t.alike.npy --tolerance 0
    }
}
"""


def directives(text, name):
    return re.findall(r"^\s*(?://|;|#)\s*%s:[ \t]*(.*?)\s*$" % name, text, re.M)


def commands(text):
    joined = []
    for line in directives(text, "RUN"):
        if joined and joined[-1].endswith("\\"):
            joined[-1] = joined[-1][:-1] + line
        else:
            joined.append(line)
    return joined


def clang_of(options):
    return os.path.join(os.path.dirname(options.filecheck), "clang")


def clang_flags(options):
    try:
        p = subprocess.run([clang_of(options), "--print-targets"], stdout=subprocess.PIPE)
        return {"clang_spirv"} if b"spirv64" in p.stdout else set()
    except OSError:
        return set()


# Where the build looks for functions of double on NVIDIA's GPUs.
def libclc_flags():
    places = [os.environ.get("HEDDLE_LIBCLC"), "/usr/lib/clc/nvptx64--.bc",
              "/usr/share/clc/nvptx64--.bc"]
    return {"libclc"} if any(p and os.path.exists(p) for p in places) else set()


def mlir_opt_of(options):
    return os.path.join(os.path.dirname(options.filecheck), "mlir-opt")


def mlir_flags(options):
    tools = mlir_opt_of(options), os.path.join(os.path.dirname(options.heddle), "heddle-mlir")
    return {"mlir"} if all(map(os.path.exists, tools)) else set()


def program_flags():
    return {name for name in ("gdb", "perf", "chromium") if shutil.which(name)}


def level_flags(options):
    said = subprocess.run([options.heddle, "info"], stdout=subprocess.PIPE).stdout.decode()
    found = re.search(r"^  runs code for +(.+(?:\n {18}.+)*)", said, re.M)
    return set(found[1].split()) if found else set()


def levels(flags):
    return " ".join(["host"] + sorted(flags & {"x86-64-v2", "x86-64-v3", "x86-64-v4"}))


def substitute(command, path, options):
    out = os.path.join(options.scratch, os.path.relpath(path))
    os.makedirs(os.path.dirname(out), exist_ok=True)
    table = {"s": path, "S": os.path.dirname(path), "t": out, "heddle": options.heddle,
             "filecheck": options.filecheck, "clang": clang_of(options),
             "mlir-opt": mlir_opt_of(options), "levels": levels(options.flags)}
    for tool in ("glslang", "spirv-val", "spirv-as", "spirv-dis", "spirv-opt"):
        table[tool] = os.path.join(options.toolchain, "bin", tool)
    names = "|".join(sorted(map(re.escape, table), key=len, reverse=True))
    return re.sub("%%(%s)(?![\\w-])" % names, lambda m: table[m.group(1)], command)


# A kernel that is run at a level which not every machine has; `compile` may name any.
RUNS_AT_LEVEL = re.compile(r"\bfor \w+ in [^;]*\bhost\b[^;]*\bx86-64-v4\b|"
                           r"%heddle run\b[^;|&]*--isa (x86-64-v4|sapphirerapids)\b")


def run(path, text, options):
    """(passed, what to tell); passed is None when it was skipped for want of what is told."""
    if RUNS_AT_LEVEL.search(" ".join(commands(text))):
        return False, "runs at a level that a machine may lack: name the levels by %levels"
    missing = set(" ".join(directives(text, "REQUIRES")).split()) - options.flags
    if missing:
        return None, sorted(missing)
    told, failed = "", False
    for command in commands(text):
        script = substitute(PRELUDE + command, path, options)
        try:
            p = subprocess.run(["bash", "-c", script], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
            output, failed = p.stdout.decode(errors="replace"), p.returncode != 0
            if p.returncode == SKIPPED:
                return None, [output.strip()]
        except subprocess.TimeoutExpired:
            output, failed = "timed out", True
        if failed:
            told = "RUN: %s\n%s" % (command, output[-4000:])
            break
    known = directives(text, "XFAIL")
    if known and not failed:
        return False, "passes, but is marked XFAIL: %s" % known[0]
    return failed == bool(known), told


def timed(path, text, options):
    start = time.monotonic()
    result = run(path, text, options)
    return time.monotonic() - start, result


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("heddle", "filecheck", "toolchain", "scratch"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("files", nargs="*", help="only these")
    options = parser.parse_args()
    options.flags = (level_flags(options) | clang_flags(options) | mlir_flags(options) | program_flags() |
                     libclc_flags())

    os.environ.setdefault("HEDDLE_CACHE", os.path.join(options.scratch, "kernels"))
    files = options.files or [f for k in KINDS for folder in ("tests", "src", "examples")
                              for f in glob.glob("%s/**/*.%s" % (folder, k), recursive=True)]
    tests = []
    for path in sorted(files):
        with open(path, errors="replace") as f:
            text = f.read()
        if commands(text):
            tests.append((path, text))

    passed = failed = skipped = 0
    missing, times = set(), []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda t: timed(*t, options), tests)
        for (path, _), (seconds, result) in zip(tests, results):
            times.append((seconds, path))
            if result[0] is None:
                skipped += 1
                missing.update(result[1])
                print("skipped: %s (%s)" % (path, ", ".join(result[1])))
            elif result[0]:
                passed += 1
            else:
                failed += 1
                print("FAILED: %s\n%s" % (path, result[1]))
    if skipped:
        print("%d skipped for want of %s" % (skipped, ", ".join(sorted(missing))))
    print("the slowest: " + ", ".join("%s %.1f s" % (path, seconds)
                                      for seconds, path in sorted(times, reverse=True)[:10]))
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
