# SPDX-License-Identifier: MIT
"""The sources as other compilers and other versions of LLVM see them than the build's own: each file
of src/ is gone through without making code, warnings being errors. What is not installed is named and
skipped.

    compilers.py BUILD LLVM-CONFIG
"""
import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import sys

FLAGS = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]


def config(program, what):
    return subprocess.run([program, what], stdout=subprocess.PIPE, text=True).stdout.strip()


def sources(build):
    """Each file's definitions and folders, as the build has them."""
    with open(os.path.join(build, "compile_commands.json")) as f:
        commands = json.load(f)
    found = {}
    for c in commands:
        name = os.path.relpath(os.path.join(c["directory"], c["file"]))
        if not name.startswith("src/") or not name.endswith(".c") or "/test/" in name:
            continue
        words = shlex.split(c["command"])
        found[name] = [w for k, w in enumerate(words)
                       if w[:2] in ("-D", "-I") or w.startswith("-std=") or w == "-isystem"
                       or words[k - 1] == "-isystem"]
    return found


def check(command):
    p = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    return "" if p.returncode == 0 else p.stderr


def check_all(name, compiler, files):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [s for s in pool.map(lambda f: check([compiler, *FLAGS, *files[f], f]), files) if s]
    for s in said[:5]:
        print(s[:2000])
    print("%s: %d files, %d not accepted" % (name, len(files), len(said)))
    return not said


def main():
    build, llvm = sys.argv[1:]
    files = sources(build)
    here = config(llvm, "--includedir")
    good = []
    clang = next(filter(shutil.which, ("clang-22", "clang-21", "clang-20", "clang-19")), None)
    if clang:
        good.append(check_all(clang, clang, files))
    else:
        print("skipped: no clang of version 19 or later")
    for version in (19, 20, 21, 22):
        other = "llvm-config-%d" % version
        there = config(other, "--includedir") if shutil.which(other) else None
        if not there:
            print("skipped: LLVM %d is not installed" % version)
        elif there != here:
            spirv = "SPIRV" in config(other, "--targets-built")
            with_it = {f: [there if w == here else w for w in flags
                           if spirv or not w.startswith("-DHEDDLE_LLVM_SPIRV")]
                       for f, flags in files.items() if here in flags and "src/mlir/" not in f}
            good.append(check_all("LLVM %d" % version, "cc", with_it))
    print("%d passed, %d failed" % (sum(good), len(good) - sum(good)))
    return not all(good)


sys.exit(main())
