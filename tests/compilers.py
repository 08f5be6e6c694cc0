# SPDX-License-Identifier: MIT
"""heddle by another compiler and by other versions of LLVM than the build's own, warnings being errors.
With clang and the oldest LLVM that is installed, both in one build, it is built, linked and run: the
stages' tests of generated code, the family's, random kernels, one case of 33. With every other
version of LLVM the sources are gone through without making code, and by clang with the build's own.
What is not installed is named and skipped.

    compilers.py BUILD LLVM-CONFIG TOOLCHAIN
"""
import concurrent.futures
import json
import os
import shlex
import shutil
import subprocess
import sys

FLAGS = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
VERSIONS = (19, 20, 21, 22, 23)
TARGETS = ("heddle_cli", "heddle_shared", "heddle_vulkan", "heddle_layer")
TESTS = ("test_cpu_arith", "test_cpu_gemm", "test_cpu_jit", "test_cpu_math", "test_llvm_ir",
         "test_matrix_khr", "test_matrix_nv2", "test_matrix_qcom", "test_ops_ops",
         "test_opencl_std", "test_random_kernels", "test_runtime_api", "test_vulkan_dispatch")


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


def build_and_run(name, folder, options):
    """In a build tree of its own, beside this build's."""
    def step(*command):
        p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if p.returncode:
            print("\n".join(p.stdout.splitlines()[-30:]))
        return p
    for command in (("cmake", "-S", ".", "-B", folder, "-G", "Ninja", "-DHEDDLE_EXTRAS=OFF",
                     "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG",
                     "-DHEDDLE_WERROR=ON", "-DHEDDLE_TEST_STEP=33",
                     *options),
                    ("cmake", "--build", folder, "--target", *TARGETS, *TESTS)):
        if step(*command).returncode:
            print("%s: does not build" % name)
            return False
    p = step("tools/test.sh", folder, "-R", "^(%s)$" % "|".join(TESTS))
    print("%s, linked and run: %s" % (name, p.stdout.rstrip().split("\n")[-1]))
    return p.returncode == 0


def newest_clang():
    return next(filter(shutil.which, ("clang-%d" % v for v in reversed(VERSIONS))), None)


def other_versions(llvm):
    """(version, its llvm-config) of what is installed besides the build's own."""
    here = config(llvm, "--includedir")
    for version in VERSIONS:
        program = shutil.which("llvm-config-%d" % version)
        if not program or not config(program, "--includedir"):
            print("skipped: LLVM %d is not installed" % version)
        elif config(program, "--includedir") != here:
            yield version, program


def as_if(files, llvm, other):
    """The files about LLVM, with another one's headers in its place."""
    here, there = config(llvm, "--includedir"), config(other, "--includedir")
    spirv = "SPIRV" in config(other, "--targets-built")
    return {f: [there if w == here else w for w in flags
                if spirv or not w.startswith("-DHEDDLE_LLVM_SPIRV")]
            for f, flags in files.items() if here in flags and "src/mlir/" not in f}


def main():
    build, llvm, toolchain = sys.argv[1:]
    clang = newest_clang()
    if not clang:
        print("skipped: no clang of version 19 or later")
    files = sources(build)
    others = list(other_versions(llvm))
    good = [check_all("LLVM %d" % version, "cc", as_if(files, llvm, program))
            for version, program in others[1:]]
    name, options = clang or "cc", ["-DHEDDLE_LLVM_CONFIG=" + llvm]
    if clang:
        options.append("-DCMAKE_C_COMPILER=" + clang)
    if others:
        name, options[0] = "%s, LLVM %d" % (name, others[0][0]), "-DHEDDLE_LLVM_CONFIG=" + others[0][1]
        if clang:
            good.append(check_all(clang, clang, files))
    if clang or others:
        good.append(build_and_run(name, os.path.join(build, "other"),
                                  [*options, "-DHEDDLE_TOOLCHAIN=" + toolchain]))
    print("%d passed, %d failed" % (sum(good), len(good) - sum(good)))
    return not all(good)


sys.exit(main())
