#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every option that `heddle help COMMAND` lists works as it says.

    options.py HEDDLE

What a row of TESTS gives is run in a folder of kernels: its words, and what must hold of the status,
of what is printed and of the folder. ACCEPTED has a good value for each option, with which every
command that lists it must succeed. An option that the help lists and neither table has, and one in a
table that no help lists, are mistakes.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HEDDLE = os.path.abspath(sys.argv[1])
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMANDS = ("info", "compile", "check", "run", "bench", "layout", "profile", "profile-device",
            "test-driver", "new", "vulkan")

FILES = {
    "k.comp": """#version 450
layout(local_size_x = 32) in;
layout(constant_id = 7) const float SCALE = 2;
#ifndef PLUS
#define PLUS 0
#endif
layout(binding = 0) buffer X { float x[]; };
layout(push_constant) uniform P { float add; };
void main() { uint i = gl_GlobalInvocationID.x; x[i] = x[i] * SCALE + add + PLUS; }
""",
    "set.comp": """#version 450
layout(local_size_x = 32) in;
layout(constant_id = 7) const float SCALE = 2;
layout(binding = 0) buffer X { float x[]; };
layout(push_constant) uniform P { float add; };
void main() { x[gl_GlobalInvocationID.x] = 3 * SCALE + add; }
""",
    "plain.comp": """#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X { float x[]; };
void main() { x[gl_GlobalInvocationID.x] /= 3.0; }
""",
    "idle.comp": """#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X { float x[]; };
layout(binding = 1) readonly buffer N { uint n; };
void main() { uint k = 0; while (k < n) k++; x[gl_GlobalInvocationID.x] = k; }
""",
    "include.comp": """#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32) in;
layout(binding = 0) buffer X { float x[]; };
#include "three.glsl"
void main() { x[gl_GlobalInvocationID.x] = THREE; }
""",
    "parts/three.glsl": "const float THREE = 3;\n",
    "gather.comp": """#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X { float x[]; };
void main() { x[gl_GlobalInvocationID.x * 5] = 1; }
""",
    "outside.comp": """#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X { float x[]; };
void main() { x[gl_GlobalInvocationID.x + 100000000] = 1; }
""",
    "endless.comp": """#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X { uint x[]; };
void main() { uint k = 1; while (k != 0) { k += 2; x[gl_GlobalInvocationID.x] = k; } }
""",
    "order.comp": """#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X { uint n, x[]; };
void main() { x[gl_GlobalInvocationID.x] = atomicAdd(n, 1); }
""",
    "width.comp": """#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { uint x[]; };
void main() { x[gl_GlobalInvocationID.x] = subgroupAdd(1u); }
""",
    "k.cl": """kernel void first(global float *x, float add) { x[get_global_id(0)] += add; }
kernel void ids(global uint *x) { x[get_global_id(0) - get_global_offset(0)] = get_global_id(0); }
kernel void sizes(global uint *x) { x[get_global_id(0)] = get_local_size(0); }
""",
    "one.cl": "kernel void one(global float *x) { x[get_global_id(0)] = 1; }\n",
}

X = "--bind 0=full:3:f32[32]"
RUN = X + " --push list:f32:1 --groups 1"
CL = "k.cl --entry first --global 32 --bind 0=full:3:f32[32] --bind 1=list:f32:1"
WQ = os.path.join(TOP, "tests/cli/sweep.comp")
HINTED = WQ + " -D HINT --bind 0=rand:f32[16,80]@1 --bind b=rand:f32[80,16]@2 --bind 2=zeros:f32[16,16]" \
              " --push list:u32:80"
LOADS = os.path.join(TOP, "tests/mlir/rfc_loads.mlir")
GEMM = os.path.join(TOP, "examples/gemm.comp")


def printed(pattern, status=0):
    return lambda p, folder: p.returncode == status and re.search(pattern, p.stdout, re.S)


def without(pattern):
    return lambda p, folder: p.returncode == 0 and not re.search(pattern, p.stdout, re.S)


def said(test):
    """Of the object that --json prints."""
    return lambda p, folder: p.returncode == 0 and test(json.loads(p.stdout))


def wrote(name, test):
    def holds(p, folder):
        with open(os.path.join(folder, name), "rb") as f:
            return p.returncode == 0 and test(f.read())
    return holds


good = printed("")

# Of each option: words behind `heddle`, and what must hold.
TESTS = [
    ("--bind", "run k.comp %s --compare 0=full:7:f32[32] --tolerance 0" % RUN, good),
    ("--bind", "run k.comp --bind 0.0=full:3:f32[32] --push list:f32:1 --compare x=full:7:f32[32]", good),
    ("--bind", "run k.cl --entry first --global 32 --bind 0=full:3:f32[32] --bind 1=list:f32:4"
     " --compare 0=full:7:f32[32]", good),
    ("--out", "run k.comp %s --out 0=x.npy" % RUN, wrote("x.npy", lambda b: b.startswith(b"\x93NUMPY"))),
    ("--out", "run k.comp --bind 0=x.npy --push list:f32:0 --compare 0=full:14:f32[32]", good),
    ("--compare", "run k.comp %s --compare 0=full:8:f32[32]" % RUN, printed("32 of 32 differ", 1)),
    ("--tolerance", "run k.comp %s --compare 0=full:7.5:f32[32] --tolerance 0.1" % RUN, good),
    ("--tolerance", "run k.comp %s --compare 0=full:7.5:f32[32] --tolerance 0.01" % RUN, printed("differ", 1)),
    ("--groups", "run plain.comp --bind 0=zeros:f32[192] --groups 3,2 --json",
     said(lambda j: j["groups"] == [3, 2, 1])),
    ("--global", "run plain.comp --bind 0=zeros:f32[192] --global 96,2 --json",
     said(lambda j: j["groups"] == [3, 2, 1])),
    ("--offset", "run k.cl --entry ids --global 32 --offset 0,3 --bind 0=zeros:u32[32]"
     " --compare 0=iota:u32[32] --tolerance 0", good),
    ("--offset", "run k.cl --entry ids --global 32 --offset 5 --bind 0=zeros:u32[32] --out 0=ids.npy",
     wrote("ids.npy", lambda b: b.endswith((36).to_bytes(4, "little")))),
    ("--local", "run k.cl --entry sizes --global 32 --local 8 --bind 0=zeros:u32[32]"
     " --compare 0=full:8:u32[32] --tolerance 0", good),
    ("--push", "run k.comp %s --push list:f32:4 --compare 0=full:10:f32[32]" % X, good),
    ("--spec", "run k.comp %s --spec 7=5 --compare 0=full:16:f32[32]" % RUN, good),
    ("--spec", "run k.comp %s --spec SCALE=5 --compare 0=full:16:f32[32]" % RUN, good),
    ("--spec", "check k.comp --spec 9=5", printed("no specialisation constant 9", 2)),
    ("--entry", "compile k.cl --entry ids --emit passes", without("%first")),
    ("--entry", "run k.comp %s --entry other" % RUN, printed("no compute entry point is called 'other'", 1)),
    ("--device", "run k.comp %s --device reference --json" % RUN, said(lambda j: j["device"] == "reference")),
    ("--device", "run k.comp %s --device cpu:7" % RUN, printed("no cpu device with ordinal 7", 1)),
    ("--device", "info --device reference --json", said(lambda j: [d["kind"] for d in j["devices"]] == ["reference"])),
    ("--device", "layout 4x4 f16 A --device cpu", printed("the assignment of cpu")),
    ("--check", "run outside.comp --groups 1 %s --check" % X, printed("out-of-bounds", 1)),
    ("--check", "bench outside.comp --groups 1 %s --check --seconds 0.01" % X, printed("out-of-bounds", 1)),
    ("--check", "run width.comp --groups 1 --bind 0=zeros:u32[64] --check", without("portability")),
    ("--check", "run width.comp --groups 1 --bind 0=zeros:u32[64] --check=portability",
     printed(r"subgroups of .*\[portability\]", 1)),
    ("--subgroup-size", "run k.comp %s --subgroup-size 16 --json" % RUN, said(lambda j: j["subgroup_size"] == 16)),
    ("--subgroup-size", "layout 4x4 f16 A --subgroup-size 8", printed("subgroup of 8")),
    ("--threads", "run k.comp %s --threads 1 --compare 0=full:7:f32[32]" % RUN, good),
    ("--threads", "run k.comp %s --threads x" % RUN, printed("--threads takes T", 2)),
    ("--interleave", "run plain.comp --bind 0=full:6:f32[512] --groups 4,4 --interleave 16"
     " --compare 0=full:2:f32[512]", printed("differ", 1)),
    ("--isa", "compile plain.comp --isa x86-64-v2 --emit native", without("%[yz]mm")),
    ("--isa", "compile plain.comp --isa x86-64-v4 --emit native", printed("%zmm")),
    ("--isa", "info --isa znver4 --json", said(lambda j: "znver4" in json.dumps(j))),
    ("--isa", "run plain.comp %s --isa x86-64-v9" % X, printed("x86-64-v9", 1)),
    ("--robust", "run outside.comp --groups 1 %s --robust --compare 0=full:3:f32[32]" % X, good),
    ("--robust", "compile one.cl --robust --emit native", printed("robust access needs buffers with bounds", 1)),
    ("--no-robust", "compile plain.comp --device cuda --isa sm_80 --emit native", printed("setp|selp")),
    ("--no-robust", "compile plain.comp --device cuda --isa sm_80 --no-robust --emit native", without("selp")),
    ("-g", "compile k.comp -g --emit object -o g.o", wrote("g.o", lambda b: b".debug_line" in b)),
    ("-g", "compile k.comp -g --emit llvm", printed("DILocation")),
    ("-g", "compile k.comp --emit llvm", without("DILocation")),
    ("--tier", "compile idle.comp --isa x86-64-v3 --tier fast --emit native", printed(r"\sj[a-z]+\s")),
    ("--tier", "compile idle.comp --isa x86-64-v3 --tier full --emit native", without(r"\sj[a-z]+\s")),
    ("--tier", "run plain.comp --groups 1 %s --tier auto" % X, good),
    ("--exact", "compile plain.comp --device cuda --isa sm_80 --exact --emit native", printed("div.rn.f32")),
    ("--exact", "compile plain.comp --device cuda --isa sm_80 --emit native", without("div.rn.f32")),
    ("--no-optimisation", "compile k.comp --no-optimisation --emit native", printed("heddle_kernel")),
    ("--seed", "run order.comp --groups 1 --device reference --seed 1 --bind 0=zeros:u32[33] --out 0=s1.npy", good),
    ("--seed", "run order.comp --groups 1 --device reference --seed 2 --bind 0=zeros:u32[33] --compare 0=s1.npy",
     printed("differ", 1)),
    ("--seed", "run order.comp --groups 1 --device reference --seed 1 --bind 0=zeros:u32[33] --compare 0=s1.npy", good),
    ("--budget", "run endless.comp --groups 1 --device reference --budget 5000 --bind 0=zeros:u32[32]",
     printed("still running after 5[0-9]{3} instructions", 1)),
    ("--watchdog", "run endless.comp --groups 1 --watchdog 0.1 --bind 0=zeros:u32[32]",
     printed("still running after 0.1 s", 1)),
    ("--remarks", "compile gather.comp --isa x86-64-v4 --remarks", printed(r"scatter of 32 lanes: stride 20 bytes \[gather\]")),
    ("--html", "profile k.comp %s --seconds 0.01 --html p.html" % RUN,
     wrote("p.html", lambda b: b"<html" in b and b"SCALE + add" in b)),
    ("--pipeline", "compile %s -D HINT --pipeline --stats --emit asm" % WQ, printed("loop")),
    ("--for", "compile %s --for subgroup8 --emit asm" % GEMM, without("OpTypeCooperativeMatrixKHR")),
    ("--stats", "run k.comp %s --stats" % RUN, printed("vector accesses, bytes")),
    ("--stats", "compile %s --for subgroup8 --stats --emit asm" % GEMM, printed("matri")),
    ("--json", "run k.comp %s --json" % RUN, said(lambda j: j["result"] == "HEDDLE_OK")),
    ("--json", "bench k.comp %s --seconds 0.01 --json" % RUN, said(lambda j: j["runs"] > 0)),
    ("--json", "check k.comp k.cl --json", said(lambda j: [f["good"] for f in j["files"]] == [True, True])),
    ("--json", "info --json", said(lambda j: j["version"] and j["shapes"])),
    ("--json", "profile k.comp %s --seconds 0.01 --json" % RUN, said(lambda j: j["lines"])),
    ("--seconds", "bench plain.comp --bind 0=zeros:f32[1048576] --groups 32768 --seconds 0.3 --json",
     said(lambda j: 0.05 < j["runs"] * j["seconds"] < 3)),
    ("-o", "compile k.comp --emit asm -o k.spvasm", wrote("k.spvasm", lambda b: b"OpEntryPoint" in b)),
    ("--emit", "compile k.comp --emit spirv -o k.spv", wrote("k.spv", lambda b: b[:4] == b"\x03\x02\x23\x07")),
    ("--emit", "compile k.comp", printed("OpEntryPoint")),
    ("--emit", "compile k.comp --emit passes", printed("OpEntryPoint")),
    ("--emit", "compile k.comp --emit llvm", printed("define .*heddle_kernel")),
    ("--emit", "compile k.comp --emit llvm-plain", printed("define .*heddle_kernel")),
    ("--emit", "compile k.comp --emit native", printed("heddle_kernel:")),
    ("--emit", "compile k.comp --emit object -o k.o", wrote("k.o", lambda b: b[1:4] == b"ELF")),
    ("--emit", "compile one.cl --emit ast", printed("one")),
    ("--language", "run noname --language glsl %s --compare 0=full:1:f32[32]" % X, good),
    ("-I", "run include.comp -I parts --groups 1 %s --compare 0=full:3:f32[32]" % X, good),
    ("-I", "check include.comp", printed("three.glsl", 1)),
    ("-D", "run k.comp -D PLUS=9 %s --compare 0=full:16:f32[32]" % RUN, good),
    ("--target-env", "compile k.comp --target-env vulkan1.0", printed("Version: 1.0")),
    ("--target", "compile one.cl --target vulkan", printed("OpEntryPoint GLCompute")),
    ("--target", "compile one.cl --target opencl", printed("OpEntryPoint Kernel")),
    ("--glslang", "check k.comp --glslang /no/such/glslang", printed("/no/such/glslang", 1)),
    ("--sweep", "bench %s --sweep wait-queues --seconds 0" % HINTED, printed("wait queues")),
    ("--arrays", "layout 4x16 f16 A --subgroup-size 8 --arrays u32", printed(r"arrays u32\[8\]")),
    ("--svg", "layout 4x4 f16 A --svg l.svg", wrote("l.svg", lambda b: b"<svg" in b)),
    ("--svg", "bench %s --sweep wait-queues --seconds 0 --svg b.svg" % HINTED,
     wrote("b.svg", lambda b: b"<svg" in b)),
    ("--svg", "profile k.comp %s --seconds 0.01 --svg p.svg" % RUN, wrote("p.svg", lambda b: b"<svg" in b)),
    ("-h", "vulkan -h", printed("HEDDLE_LOG=FILE")),
]
# Of MLIR, where heddle-mlir is there.
MLIR = [
    ("--rotate-loads", "compile %s --rotate-loads --emit mlir" % LOADS, printed("= spirv.GroupNonUniformRotateKHR")),
    ("--rotate-loads", "compile %s --emit mlir" % LOADS, without("= spirv.GroupNonUniformRotateKHR")),
    ("--rotate-as", "compile %s --rotate-loads --rotate-as gpu --emit mlir" % LOADS,
     without("= spirv.GroupNonUniformRotateKHR")),
]

# A value with which every command succeeds; of those that lower or need a GPU's kernels a kernel.
ACCEPTED = {
    "--bind": X, "--out": "--out 0=o.npy", "--compare": "--compare 0=full:7:f32[32]",
    "--tolerance": "--tolerance 1", "--groups": "--groups 1", "--global": "--global 32",
    "--offset": "--offset 0,0", "--local": "--local 32", "--push": "--push list:f32:1", "--spec": "--spec 7=2",
    "--entry": "--entry main", "--device": "--device cpu", "--check": "--check",
    "--subgroup-size": "--subgroup-size 32", "--threads": "--threads 1", "--interleave": "--interleave 1",
    "--isa": "--isa host", "--robust": "--robust", "--no-robust": "--no-robust", "-g": "-g",
    "--exact": "--exact", "--tier": "--tier fast", "--no-optimisation": "--no-optimisation", "--seed": "--seed 3",
    "--budget": "--budget 100000", "--watchdog": "--watchdog 5", "--remarks": "--remarks",
    "--html": "--html a.html", "--pipeline": "--pipeline", "--for": "--for heddle", "--stats": "--stats",
    "--json": "--json", "--seconds": "--seconds 0.01", "-o": "-o a.out", "--emit": "--emit asm",
    "--language": "--language glsl", "-I": "-I parts", "-D": "-D PLUS=0", "--target-env": "--target-env vulkan1.2",
    "--target": "--target opencl", "--glslang": None, "--rotate-loads": "--rotate-loads",
    "--rotate-as": "--rotate-as spirv", "--sweep": None, "--arrays": "--arrays f16", "--svg": "--svg a.svg",
    "--help": "--help", "-h": "-h",
}
# What else stands there, by command; that of others needs a Vulkan driver: tests/cli/test_driver.comp,
# vulkan.comp, tests/documents.
BASE = {
    "info": "", "compile": "set.comp", "check": "set.comp", "run": "set.comp " + RUN,
    "bench": "set.comp %s --seconds 0.01" % RUN, "layout": "16x16 f16 A",
    "profile": "set.comp %s --seconds 0.01" % RUN,
}
ELSEWHERE = {"test-driver": {"--device", "--json", "--seconds", "--seed", "--count", "--patience", "--known", "-o"},
             "profile-device": {"-o"}}


def options_of(command):
    p = subprocess.run([HEDDLE, "help", command], stdout=subprocess.PIPE, text=True, check=True)
    return set(re.findall(r"^  (--?[a-zA-Z][-\w]*)", p.stdout, re.M))


def run(words, folder):
    return subprocess.run([HEDDLE] + words.split(), cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE if "--json" in words else subprocess.STDOUT,
                          text=True, timeout=300, errors="replace")


def wrong(words, holds, folder):
    """What is wrong; nothing where nothing is."""
    p = run(words, folder)
    try:
        if holds(p, folder):
            return []
    except (OSError, ValueError, KeyError) as e:
        return ["heddle %s: %s" % (words, e)]
    return ["heddle %s: status %d\n%s" % (words, p.returncode, p.stdout[-600:])]


def accepted(command, option, folder):
    """A command with a good value of the option, of which BASE may have another."""
    if option in ("-h", "--help"):
        return wrong("%s %s" % (command, option), printed("^usage: heddle " + command), folder)
    value, base = ACCEPTED[option], BASE[command]
    if value is None or (command, option) == ("bench", "--svg"):  # it draws what --sweep measures
        return []
    if option in ("--global", "--local"):
        base = base.replace(" --groups 1", "")
    if option == "--push" or option == "--bind":
        base = re.sub(r"%s \S+" % option, "", base)
    return wrong("%s %s %s" % (command, base, value), good, folder)


def main():
    folder, bad = tempfile.mkdtemp(), []
    for name, text in {**FILES, "noname": FILES["plain.comp"]}.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    listed = {c: options_of(c) for c in COMMANDS}
    every, tested = set().union(*listed.values()), {t[0] for t in TESTS + MLIR}
    elsewhere = set().union(*ELSEWHERE.values())
    bad += ["%s has no test" % o for o in sorted(every - tested - elsewhere - {"-h", "--help"})]
    bad += ["%s is in no help" % o for o in sorted((tested | set(ACCEPTED)) - every)]
    pairs = [(c, o) for c in COMMANDS for o in sorted(listed[c] - ELSEWHERE.get(c, set()))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for found in pool.map(lambda pair: accepted(*pair, folder), pairs):
            bad += found
    mlir = os.path.exists(os.path.join(os.path.dirname(HEDDLE), "heddle-mlir"))
    for option, words, holds in TESTS + (MLIR if mlir else []):
        if option not in listed[words.split()[0]]:
            bad += ["%s is not listed: heddle %s" % (option, words)]
        bad += wrong(words, holds, folder)
    shutil.rmtree(folder)
    print("\n".join(bad) or "%d options" % sum(map(len, listed.values())))
    return len(bad) != 0


if __name__ == "__main__":
    sys.exit(main())
