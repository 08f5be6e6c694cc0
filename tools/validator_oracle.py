#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What heddle says of the modules in SPIRV-Tools' test/val, against what its validator says.

    tools/validator_oracle.py build/release/lib/libheddle.so DUMP... [--list FAMILY] [--every N]

A DUMP is a pair of files, NAME.bin and NAME.tsv, that the tests wrote (docs/CONFORMANCE.md says
how): all modules' bytes, and a line a module, fields divided by tabs: offset, size, test file,
test, environment, verdict (0: valid), verdict in the newest environment of that sort, verdict in
Vulkan 1.4 (both with every relaxation of layouts), options, diagnostic.

Modules for compute shaders and OpenCL kernels count: those with an entry point of these models,
and libraries. A module that is invalid only by what its environment lacks does not, nor does a
compute shader that is valid in its environment and not in Vulkan.
"""
import argparse
import collections
import ctypes
import os
import struct
import sys

FAMILIES = {
    "ids": "id ssa layout version state misc",
    "limits": "limits",
    "types": "data type_unique invalid_type small_type_uses literals",
    "constants": "constants",
    "composites": "composites",
    "memory": "memory storage logical_pointers",
    "decorations": "decoration annotation extension_spv_khr_linkonce_odr",
    "layout": "explicit_layout",
    "atomics": "atomics memory_semantics",
    "group": "barriers non_uniform group extension_spv_khr_subgroup_rotate",
    "extended instructions": "ext_inst opencl",
    "debug information": "ext_inst_debug shader_debug_info non_semantic",
    "control flow": "cfg adjacency function extension_spv_khr_subgroup_uniform_control_flow",
    "entry points": "entry_point modes interfaces",
    "capabilities": "capability extensions",
    "operands": "arithmetics bitwise conversion derivatives dot_product logicals primitives "
                "extension_spv_khr_integer_dot_product extension_spv_khr_bit_instructions "
                "extension_spv_khr_expect_assume",
    "built-ins": "builtins",
    "images": "image",
    "tensors": "tensor",
}
GL_COMPUTE, KERNEL = 5, 6
OP_ENTRY_POINT, OP_FUNCTION = 15, 54
CRASHED = "crashed"
RELAXED = 1 | 2 | 64 | 256  # stores, logical pointers, no layout, before HLSL's legalisation


class Diagnostic(ctypes.Structure):
    _fields_ = [("severity", ctypes.c_int), ("file", ctypes.c_char_p), ("line", ctypes.c_uint32),
                ("column", ctypes.c_uint32), ("has_instruction", ctypes.c_bool),
                ("instruction", ctypes.c_uint32), ("opcode", ctypes.c_char_p),
                ("id", ctypes.c_char_p), ("rule", ctypes.c_char_p), ("message", ctypes.c_char_p),
                ("text", ctypes.c_char_p)]


Module = collections.namedtuple("Module", "words file test env valid late vulkan bits text")


def family_of(file):
    name = file.removeprefix("val_").removesuffix(".cpp").removesuffix("_test")
    return next((f for f, files in FAMILIES.items() if name in files.split()), "others")


def models(words):
    """The execution models of a module's entry points."""
    code = struct.unpack(f"<{len(words) // 4}I", words)
    at, found = 5, set()
    while at < len(code):
        op, n = code[at] & 0xffff, code[at] >> 16
        if op == OP_ENTRY_POINT and n > 1:
            found.add(code[at + 1])
        if not n or op == OP_FUNCTION:
            break
        at += n
    return found


def counts(m):
    found = models(m.words)
    if found and not found & {GL_COMPUTE, KERNEL}:
        return False
    if not m.valid:
        return not m.late
    return not m.bits & RELAXED and (m.vulkan or GL_COMPUTE not in found)


def read(name):
    with open(name + ".bin", "rb") as blob, open(name + ".tsv", errors="replace") as index:
        data = blob.read()
        for line in index:
            at, size, file, test, env, verdict, late, vulkan, bits, text = \
                line.rstrip("\n").split("\t", 9)
            words = data[int(at):int(at) + int(size)]
            yield Module(words, file, test, env, verdict == "0", late == "0", vulkan == "0",
                         int(bits), text)


def load(path):
    lib = ctypes.CDLL(path)
    for name in ("heddle_log_new", "heddle_log_get"):
        getattr(lib, name).restype = ctypes.c_void_p
    lib.heddle_log_new.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    lib.heddle_log_get.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    lib.heddle_log_count.argtypes = lib.heddle_log_free.argtypes = [ctypes.c_void_p]
    lib.heddle_module_new.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                                      ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    lib.heddle_module_free.argtypes = [ctypes.c_void_p]
    return lib


def check(lib, words):
    """heddle's verdict: "" where it takes the module, its first error else."""
    log, module, said = lib.heddle_log_new(None, None), ctypes.c_void_p(), "refused without a word"
    accepted = not lib.heddle_module_new(words, len(words), b"m.spv", None, ctypes.byref(module),
                                         log)
    for k in reversed(range(lib.heddle_log_count(log))):
        d = ctypes.cast(lib.heddle_log_get(log, k), ctypes.POINTER(Diagnostic)).contents
        if d.severity == 2:
            op = (d.opcode or b"-").decode()
            said = f"{op}: {d.message.decode(errors='replace')} [{(d.rule or b'-').decode()}]"
    if accepted:
        lib.heddle_module_free(module)
    lib.heddle_log_free(log)
    return "" if accepted else said


def run_batch(path, modules, first):
    """Verdicts from `first` on, of a process of its own: fewer than all where one kills it."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read_end)
        out = os.fdopen(write_end, "w")
        lib = load(path)
        for m in modules[first:]:
            print(check(lib, m.words).replace("\n", " "), file=out, flush=True)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, errors="replace") as lines:
        got = [line[:-1] for line in lines if line.endswith("\n")]
    os.waitpid(pid, 0)
    return got


def run(path, modules):
    verdicts = []
    while len(verdicts) < len(modules):
        verdicts += run_batch(path, modules, len(verdicts))
        if len(verdicts) < len(modules):
            verdicts.append(CRASHED)
    return verdicts


def table(modules, verdicts):
    counts = collections.defaultdict(collections.Counter)
    for m, v in zip(modules, verdicts):
        for family in (family_of(m.file), "all"):
            c = counts[family]
            c["valid" if m.valid else "invalid"] += 1
            c["crashed"] += v == CRASHED
            c["good" if m.valid and not v else "refused" if not m.valid and v else "other"] += 1
    print("| family | valid | accepted | invalid | refused | | crashed |\n" + "|---" * 7 + "|")
    for family in [*FAMILIES, "others", "all"]:
        c = counts[family]
        if c:
            print(f"| {family} | {c['valid']:,} | {c['good']:,} | {c['invalid']:,} | "
                  f"{c['refused']:,} | {100 * c['refused'] / max(1, c['invalid']):.0f} % | "
                  f"{c['crashed']} |")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("library")
    p.add_argument("dumps", nargs="+")
    p.add_argument("--list", metavar="FAMILY", help="where the two disagree: a family, or all")
    p.add_argument("--every", type=int, default=1, help="only each N-th module")
    p.add_argument("--save", metavar="FOLDER", help="write the modules of --list there")
    o = p.parse_args()
    modules = [m for name in o.dumps for m in read(name)
               if counts(m)][::o.every]
    verdicts = run(o.library, modules)
    for n, (m, v) in enumerate(zip(modules, verdicts)):
        if not o.list or m.valid == (not v) and v != CRASHED:
            continue
        if o.list in (family_of(m.file), "all"):
            print(f"{n}\t{'VALID' if m.valid else 'INVALID'}\t{m.file}\t{m.test}\t{m.env}\t"
                  f"{v or m.text}")
            if o.save:
                os.makedirs(o.save, exist_ok=True)
                with open(f"{o.save}/{n}.spv", "wb") as f:
                    f.write(m.words)
    table(modules, verdicts)


if __name__ == "__main__":
    sys.exit(main())
