#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Assembles the PTX of kernels by NVIDIA's assembler, which needs no GPU.

    tests/cuda/ptxas.py --heddle HEDDLE [--verbose] [FILE...]

By default those of examples/, bench/kernels/ and tests/cuda/ (--all: of all tests/), for sm_80 and
sm_90a. `ptxas` is $HEDDLE_PTXAS, one in PATH, or what `tools/ptxas.sh build/ptxas` fetched; without
one nothing is tested. Says how many registers the kernels take at most and which of them spill.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ISAS = "sm_80", "sm_90a"
SKIPPED = 77
MATRIX = "-D", "AB=float16_t", "-D", "CD=float"
# What they are compiled with, several times where there are several.
VARIANTS = {
    "examples/gemm.comp": [(), ("-D", "INPUT=float16_t"),
                           ("-D", "INPUT=float16_t", "-D", "OUTPUT=float16_t"),
                           ("-D", "INPUT=int8_t", "-D", "OUTPUT=int")],
    "examples/dequantise.comp": [("--subgroup-size", "64")],
    "bench/kernels/gemm.comp": [MATRIX, MATRIX + ("-D", "COLUMN_B")],
    "bench/kernels/gemm_shared.comp": [MATRIX],
    "bench/kernels/nv_gemm.comp": [("-D", "AB=float16_t", "-D", "LOADS=%d" % n) for n in range(3)],
}
# Errors of kernels that are not for this device, or not to be compiled as they are.
NOT_FOR_IT = re.compile(r"image|sampl|printf|needs? a definition|undeclared identifier|"
                        r"no compute entry point|several entry points|syntax error|is not supported on cuda|#error|"
                        r"subgroups of|glslang|no such field")


def find_ptxas():
    own = os.path.join("build", "ptxas", "usr", "bin", "ptxas")
    named = os.environ.get("HEDDLE_PTXAS")
    return named or shutil.which("ptxas") or (own if os.path.exists(own) else None)


def kernels(everything):
    found = []
    for folder in "examples", "bench/kernels", "tests/*" if everything else "tests/cuda":
        for kind in "comp", "cl":
            found += glob.glob("%s/*.%s" % (folder, kind))
    return sorted(found)


def run(command):
    p = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=300)
    return p.returncode, p.stdout.decode(errors="replace")


def assemble(ptxas, heddle, path, flags, isa):
    """(what came of it, text): ok with (registers, spilled bytes), left out, compile, assemble."""
    with tempfile.TemporaryDirectory() as folder:
        ptx = os.path.join(folder, "k.ptx")
        status, said = run([heddle, "compile", path, *flags, "--device", "cuda", "--isa", isa,
                            "--emit", "ptx", "-o", ptx])
        if status:
            known = path.startswith("tests/") or NOT_FOR_IT.search(said)
            return "left out" if known and status < 126 else "compile", said
        status, said = run([ptxas, "-v", "-O1", "-arch=" + isa, ptx, "-o", "/dev/null"])
        if status:
            return "assemble", said
        registers = max(map(int, re.findall(r"Used (\d+) registers", said)), default=0)
        spilled = sum(map(int, re.findall(r"(\d+) bytes spill stores", said)))
        return "ok", (registers, spilled)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--verbose", action="store_true", help="a line a kernel")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--step", type=int, default=1, help="of kernels for each target take one of so many")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    ptxas = find_ptxas()
    if not ptxas:
        print("skipped: no ptxas (HEDDLE_PTXAS, PATH, or tools/ptxas.sh build/ptxas)")
        return SKIPPED
    named = [(path, flags) for path in options.files or kernels(options.all)
             for flags in VARIANTS.get(path, [()])]
    step = min(options.step, len(ISAS)) # so that each kernel is assembled
    jobs = [(*job, isa) for k, job in enumerate(named) for n, isa in enumerate(ISAS)
            if (k + n) % step == 0]
    results = {"ok": 0, "left out": 0, "compile": 0, "assemble": 0}
    most, spilling = 0, []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda job: assemble(ptxas, options.heddle, *job), jobs)
        for (path, flags, isa), (result, told) in zip(jobs, done):
            name = " ".join((path, *flags, isa))
            results[result] += 1
            if result in ("compile", "assemble"):
                print("FAILED: %s\n%s" % (name, told.strip()[:2000]))
                continue
            if result == "ok":
                most = max(most, told[0])
                if told[1]:
                    spilling.append("%s (%d bytes)" % (name, told[1]))
            if options.verbose:
                print("%s: %s" % (name, "%d registers, %d bytes spilled" % told if result == "ok"
                                  else "left out: " + told.strip().split("\n")[0]))
    print("%s: up to %d registers; %d spill%s" % (ptxas, most, len(spilling),
                                                "".join("\n    " + s for s in spilling)))
    print("%d left out (images, printf, kernels that need definitions)" % results["left out"])
    failed = results["compile"] + results["assemble"]
    print("%d passed, %d failed" % (results["ok"], failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
