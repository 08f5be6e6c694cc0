#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the rules of style that a machine can check; each rule is one test case.

A function that is one flat switch or table may be long when the comment `/* long: why */` stands
directly above it. Prints the ten longest functions.
"""
import argparse
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys

STAGES = "src/stages"
TABLE = "docs/ARCHITECTURE.md"
MAX_FUNCTION, MAX_COLUMNS, MAX_PARAMETERS = 120, 100, 6
MAX_FILE, MAX_FILE_ELSEWHERE = 900, 1500  # in src, and of tests and benchmarks outside of it
# Of the lengths of all functions in src, in lines.
MAX_MEDIAN, MAX_P99 = 12, 60
# What the tags and types that a folder's headers define begin with; base's are everybody's words.
PREFIXES = {
    "analysis": "Cfg MatrixWebs Polynomial Uniformity", "check": "Check", "cli": "Cli",
    "cpu": "Cpu",
    "cpu/gemm": "Gemm", "cpu/jit": "Cpu", "cpu/lanes": "Lanes Flow", "cpu/machine": "Cpu",
    "cpu/matrix": "Mat", "cpu/run": "Cpu Exec Fiber", "cuda": "Cu", "device": "Device Host",
    "emit": "Emit LV LT", "front": "Process Tool", "front/glsl": "Glsl", "front/mlir": "Mlir",
    "front/opencl": "Ocl", "llvm": "Ir", "lower": "Json Lower", "mlir": "Hm", "nvptx": "Nvptx",
    "pass": "Pass Shader", "random": "Gen", "reference": "R", "runtime": "Heddle Runtime",
    "spirv": "Spv", "tester": "Tester", "vk": "Vkf", "vkdevice": "Vkd", "vulkan": "Hv", "layer": "Hl",
}
# Words that say nothing without their object: of the functions and tags in src, no more than
# MAX_NAMESAKES may be called just that.
BARE = ("compile", "dispatch", "load", "prepare", "put", "refuse", "run", "store", "Run")
MAX_NAMESAKES = 2
# Functions with more parameters: Vulkan's entry points have the signatures that its registry gives
# them, and the public header keeps the ones it was released with.
SIGNED_BY_OTHERS = r"hv_|hl_|heddle_"
# What .clang-format holds for: not what a tool writes, and not tests outside these folders, where
# tables of modules and numbers are laid out by hand.
FORMATTED = r"src/(?!.*/test/)|src/(base|cli|front|mlir|reference|spirv)/"
FORMATTER = "clang-format-22"
# Headers of Khronos' in a folder that has the name of one of ours.
KHRONOS = ("vulkan/vulkan", "vulkan/vk_layer")
# The one function of the library whose purpose is to print.
PRINTS = {"src/runtime/log.c": "fprintf"}
FORBIDDEN = r"\b(abort|exit|_exit|quick_exit|assert|printf|puts|putchar|perror|fprintf|vprintf)\s*\("


def read_stages(path):
    """Folder of src: the folders whose headers it may see, itself aside."""
    with open(path, encoding="utf-8") as f:
        rows = [line.split() for line in f if not line.startswith("#")]
    return {row[0]: tuple(row[1:]) for row in rows if row}


USES = read_stages(STAGES)
with open("src/base/base.h", encoding="utf-8") as base_header:
    BASE = base_header.read()


def stage_of_header(name):
    """The longest listed folder that the header lies in: "front/mlir" of "front/mlir/mlir.h"."""
    folder = os.path.dirname(name)
    while folder and folder not in USES and folder != "heddle":
        folder = os.path.dirname(folder)
    return folder or None


def stage(path):
    return stage_of_header(path[len("src/"):]) if path.startswith("src/") else None


def is_test(path):
    return "/test/" in path or path.startswith(("tests/", "bench/")) or path == "src/base/test.h"


def bare(text):
    """The text without comments and the insides of literals; line breaks stay."""
    def blank(m):
        s = m.group(0)
        return s[0] + s[-1] if s[0] in "\"'" else re.sub(r"[^\n]", " ", s)
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text,
                  flags=re.S)


def parameters(signature, name):
    """How many a function of that name takes; those of its function pointers do not count."""
    inside = signature[signature.index(name) + len(name):].strip()[1:].rsplit(")", 1)[0]
    while re.search(r"\([^()]*\)", inside):
        inside = re.sub(r"\([^()]*\)", "", inside)
    return inside.count(",") + 1


def functions(path, text, code):
    """(lines, path:line, name, parameters, marked as long), the lines from the name's to the
    closing brace's."""
    lines, raw = code.split("\n"), text.split("\n")
    start = None
    for n, line in enumerate(lines):
        if line.startswith("{") or (re.match(r"[A-Za-z_].*\)\s*\{\s*$", line)
                                    and "=" not in line.split("(")[0]):
            head = n
            while head > 0 and lines[head - 1].strip() and not re.match(r"[}#]|.*[;}]\s*$",
                                                                         lines[head - 1]):
                head -= 1
            signature = " ".join(lines[head:n + 1])
            name = re.search(r"(\w+)\s*\(", signature)
            start = (head, name.group(1), parameters(signature, name.group(1))) if name else None
        elif line.startswith("}") and start:
            above = "\n".join(raw[max(0, start[0] - 3):start[0]])
            yield (n - start[0] + 1, "%s:%d" % (path, start[0] + 1), start[1], start[2],
                   "/* long:" in above)
            start = None


INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([\w./-]+)', re.M)


def included(header, seen):
    """The headers of this repository that the header brings with it: name -> who includes it."""
    path = "include/" + header if header.startswith("heddle/") else "src/" + header
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for name in INCLUDE.findall(f.read()):
                if (name not in seen and stage_of_header(name)
                        and not name.startswith(KHRONOS)):
                    seen[name] = header
                    included(name, seen)
    return seen


def arrows(path, text):
    here = stage(path)
    if not here:
        return
    for m in INCLUDE.finditer(text):
        name, line = m.group(1), text.count("\n", 0, m.start(1)) + 1
        if name.startswith("llvm-c") and here != "llvm" and "llvm" not in USES[here]:
            yield "%s:%d: %s does not know LLVM" % (path, line, here)
        elif stage_of_header(name) and not name.startswith(KHRONOS):
            for header, by in included(name, {name: None}).items():
                there = stage_of_header(header)
                allowed = is_test(path) and (there in ("base", "heddle"))
                if there != here and there not in USES[here] and not allowed:
                    yield "%s:%d: %s may not use %s%s" % (
                        path, line, here, header, ", which %s includes" % by if by else "")


def orders(stages):
    """What is wrong with the list of stages itself."""
    above = {"heddle"}
    for folder, uses in stages.items():
        for used in uses:
            if used not in above:
                yield "%s: %s uses %s, which is not above it" % (STAGES, folder, used)
        above.add(folder)
        if not os.path.isdir("src/" + folder):
            yield "%s: there is no folder %s" % (STAGES, folder)


def table_differs(stages):
    """Rows of the documentation's table that are not the list's."""
    with open(TABLE, encoding="utf-8") as f:
        rows = dict(re.findall(r"^\| `src/([\w/]+?)/` \| .*? \| (.*?) \|$", f.read(), re.M))
    for folder, uses in stages.items():
        told = rows.pop(folder, None)
        if told is None:
            yield "%s has no row for src/%s/" % (TABLE, folder)
        elif told != ", ".join(uses or ("libc",)):
            yield "%s: src/%s/ may use %s, by %s" % (TABLE, folder, ", ".join(uses), STAGES)
    for folder in rows:
        yield "%s: %s has no row for src/%s/" % (TABLE, STAGES, folder)


def compiles_alone(header, options):
    flags = ["-std=c17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-Isrc",
             "-Iinclude", "-I" + options.llvm_include, "-isystem", options.headers, "-x", "c", "-"]
    p = subprocess.run([options.compiler] + flags, input=b'#include "%s"\n' % header.encode(),
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return None if p.returncode == 0 else p.stdout.decode(errors="replace")


def unprefixed(path, code):
    """Tags and types that a header defines, or lets others hold, under a name of no stage's."""
    folder = stage(path)
    if folder == "base" or not path.endswith(".h") or is_test(path):
        return
    own = tuple(PREFIXES.get(folder, "").split())
    every = tuple(word for words in PREFIXES.values() for word in words.split())
    base = set(re.findall(r"\b(?:struct|enum|union|typedef .*) (\w+)(?: \{|;)", BASE))
    for m in re.finditer(r"\b(?:struct|enum|union) ([A-Z]\w*)|^\} (\w+);|^typedef [^;{(]*?(\w+);",
                         code, re.M):
        name = m.group(1) or m.group(2) or m.group(3)
        defines = not m.group(1) or code[m.end():].lstrip().startswith("{")
        if not name.startswith(own if defines else every) and name not in base \
                and not name.startswith("LLVM"):
            yield "%s:%d: %s" % (path, code.count("\n", 0, m.start()) + 1, name)


def namesakes(found, tags):
    """What is defined under a bare word too often; found as functions() has it."""
    for word in BARE:
        places = [f[1] for f in found if f[2] == word and f[1].startswith("src/")
                  and not is_test(f[1])] + tags.get(word, [])
        if len(places) > MAX_NAMESAKES:
            yield "%s: %s" % (word, " ".join(places))


def unformatted(files):
    """The places that the formatter would change, as it names them; None where it is missing."""
    if not shutil.which(FORMATTER):
        return None
    p = subprocess.run([FORMATTER, "--dry-run", "--style=file", "--ferror-limit=50"] + files,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return re.findall(r"^(\S+:\d+):.*-Wclang-format-violations", p.stdout.decode(), re.M)


def check(files, options):
    """Rule: what breaks it."""
    rules = {name: [] for name in (
        "includes go down the table", "the table is told as it is", "functions are short",
        "functions take few parameters", "files are short", "lines are short",
        "headers compile alone", "SPDX line first", "the library neither prints nor exits",
        "no dead code or promises", "a function's brace has its line",
        "tags of headers begin with their stage's prefix", "names tell their object")}
    rules["includes go down the table"].extend(orders(USES))
    rules["the table is told as it is"].extend(table_differs(USES))
    found, formatted, tags = [], [], {}
    for path in files:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        lines, code = text.split("\n"), bare(text)
        if "SPDX-License-Identifier: MIT" not in "\n".join(lines[:2]):
            rules["SPDX line first"].append(path)
        written_by_a_tool = "do not edit." in "\n".join(lines[:8])
        for n, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS and not written_by_a_tool:
                rules["lines are short"].append("%s:%d: %d columns" % (path, n, len(line)))
        for m in re.finditer(r"\b(TODO|FIXME|XXX)\b|^#if 0\b", text, re.M):
            rules["no dead code or promises"].append(
                "%s:%d: %s" % (path, text.count("\n", 0, m.start()) + 1, m.group(0)))
        if not path.endswith((".c", ".h")):
            continue
        if stage(path):
            rules["tags of headers begin with their stage's prefix"].extend(unprefixed(path, code))
            for m in re.finditer(r"^(?:typedef )?struct (\w+) \{", "" if is_test(path) else code,
                                 re.M):
                tags.setdefault(m.group(1), []).append(path)
        if re.match(FORMATTED, path) and not written_by_a_tool:
            formatted.append(path)
        for m in re.finditer(r"^[A-Za-z][\w *]*\([^;{}]*\) \{$", code, re.M):
            rules["a function's brace has its line"].append(
                "%s:%d" % (path, code.count("\n", 0, m.start()) + 1))
        # Literals matter to #include, so the arrows see the text.
        rules["includes go down the table"].extend(arrows(path, text))
        most = MAX_FILE if path.startswith("src/") else MAX_FILE_ELSEWHERE
        if len(lines) - 1 > most:
            rules["files are short"].append("%s: %d lines" % (path, len(lines) - 1))
        found.extend(functions(path, text, code))
        if stage(path) not in (None, "cli", "mlir") and not is_test(path):
            for m in re.finditer(FORBIDDEN, code):
                if PRINTS.get(path) == m.group(1):
                    continue
                rules["the library neither prints nor exits"].append(
                    "%s:%d: %s" % (path, code.count("\n", 0, m.start()) + 1, m.group(1)))
        no_mlir = stage(path) == "mlir" and not os.path.isdir(options.llvm_include + "/mlir-c")
        if path.endswith(".h") and not is_test(path) and not no_mlir:
            said = compiles_alone(os.path.relpath(path), options)
            if said:
                rules["headers compile alone"].append("%s\n%s" % (path, said))
    places = unformatted(formatted)
    if places is None:
        print("skipped: files are formatted (no %s)" % FORMATTER)
    else:
        rules["files are formatted"] = places
    rules["names tell their object"].extend(namesakes(found, tags))
    found.sort(reverse=True)
    for length, where, name, n, marked in found:
        path = where.split(":")[0]
        if length > MAX_FUNCTION and not marked:
            rules["functions are short"].append("%s: %s: %d lines" % (where, name, length))
        if n > MAX_PARAMETERS and path.startswith("src/") and not is_test(path) and \
                not re.match(SIGNED_BY_OTHERS, name):
            rules["functions take few parameters"].append("%s: %s: %d" % (where, name, n))
    ours = sorted(f[0] for f in found if f[1].startswith("src/") and not is_test(f[1]))
    for what, is_, limit in (("median", statistics.median(ours), MAX_MEDIAN),
                             ("p99", ours[len(ours) * 99 // 100], MAX_P99)):
        if is_ > limit:
            rules["functions are short"].append("the %s in src: %d lines" % (what, is_))
    return rules, found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--llvm", default="llvm-config-22", help="llvm-config")
    parser.add_argument("--headers", default="build/toolchain/usr/include", help="Vulkan's")
    options = parser.parse_args()
    options.llvm_include = subprocess.run([options.llvm, "--includedir"], stdout=subprocess.PIPE,
                                          check=True).stdout.decode().strip()
    files = sorted(f for kind in ("c", "h", "def") for top in ("src", "include", "bench", "tests",
                                                               "examples")
                   for f in glob.glob("%s/**/*.%s" % (top, kind), recursive=True))
    rules, found = check(files, options)

    if found:
        lengths = sorted(f[0] for f in found)
        print("%d functions, median %d lines, p90 %d, p99 %d; the longest:" % (
            len(lengths), statistics.median(lengths), lengths[len(lengths) * 9 // 10],
            lengths[len(lengths) * 99 // 100]))
        for length, where, name, _, marked in found[:10]:
            print("%5d  %s  %s%s" % (length, where, name, "  (marked)" if marked else ""))
    failed = 0
    for rule, broken in rules.items():
        if broken:
            failed += 1
            print("FAILED: %s" % rule)
            for line in broken[:50]:
                print("    " + line)
    print("%d passed, %d failed" % (len(rules) - failed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
