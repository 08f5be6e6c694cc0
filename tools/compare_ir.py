#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows what a change of the code generator changes: the LLVM IR of every kernel, before and after.

    tools/compare_ir.py record FOLDER     with the heddle of before
    tools/compare_ir.py compare FOLDER    with the heddle of after; exits 1 where something differs

Kernels are those under tests/, examples/ and bench/kernels and what is named behind the folder
(files or folders); each is compiled for subgroups of 8 and 32 invocations, for this machine and for
x86-64-v3. Names of values and blocks do not count.
"""
import argparse
import concurrent.futures
import difflib
import hashlib
import os
import re
import subprocess
import sys

ENDINGS = (".comp", ".cl", ".spvasm", ".spv", ".mlir")
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def kernels(extra):
    for top in [os.path.join(HERE, d) for d in ("tests", "examples", "bench/kernels")] + extra:
        if os.path.isfile(top):
            yield top
        for folder, _, names in sorted(os.walk(top)):
            yield from (os.path.join(folder, n) for n in sorted(names) if n.endswith(ENDINGS))


def canonical(text):
    """Every local name replaced by the order in which it first appears in its function."""
    seen = {}

    def number(m):
        return "%%%d" % seen.setdefault(m.group(0), len(seen))
    out = []
    for line in text.split("\n"):
        if line.startswith("define"):
            seen = {}
        line = re.sub(r"; preds = .*", "", line)
        label = re.match(r"([\w.$-]+):(.*)", line)
        if label:
            line = "%" + label.group(1) + ":" + label.group(2)
        out.append(re.sub(r"%[\w.$-]+", number, line).rstrip())
    return "\n".join(out)


def run(heddle, arguments):
    try:
        p = subprocess.run([heddle, "compile"] + arguments, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=300)
    except subprocess.TimeoutExpired:
        return "no result in 300 seconds"
    if p.returncode:
        return "rc %d\n%s" % (p.returncode, p.stderr.decode(errors="replace"))
    return p.stdout.decode(errors="replace")


def one(heddle, folder, kernel):
    """The kernel's IR in all its forms by name, after one run of the front end."""
    name = os.path.relpath(kernel, HERE) if kernel.startswith(HERE + os.sep) else kernel
    tag = hashlib.sha1(name.encode()).hexdigest()[:12] + "-" + os.path.basename(kernel)
    spirv = os.path.join(folder, tag + ".spv")
    if not os.path.exists(spirv):
        said = run(heddle, [kernel, "--emit", "spirv", "-o", spirv])
        if not os.path.exists(spirv):
            return {tag: said}
    said = run(heddle, [spirv, "--emit", "passes"])
    several = re.search(r"several entry points, name one of: (.*)", said)
    entries = re.findall(r"'([^']*)'", several.group(1)) if several else [None]
    out = {}
    for entry in entries:
        for w in ("8", "32"):
            for isa in ("host", "x86-64-v3"):
                text = run(heddle, [spirv, "--emit", "llvm-plain", "--subgroup-size", w, "--isa",
                                    isa] + (["--entry", entry] if entry else []))
                name = "%s.%s.%s%s" % (tag, w, isa, "." + entry if entry else "")
                out[name] = canonical(text.replace(spirv, os.path.basename(spirv)))
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("action", choices=("record", "compare"))
    p.add_argument("folder")
    p.add_argument("more", nargs="*")
    p.add_argument("--heddle", default=os.path.join(HERE, "build/release/bin/heddle"))
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    o = p.parse_args()
    os.makedirs(o.folder, exist_ok=True)
    same = different = 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        work = [pool.submit(one, o.heddle, o.folder, k) for k in kernels(o.more)]
        for w in work:
            for name, text in w.result().items():
                path = os.path.join(o.folder, name + ".ll")
                if o.action == "record":
                    with open(path, "w", encoding="utf-8") as f:
                        f.write(text)
                    same += 1
                    continue
                old = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
                if old == text:
                    same += 1
                    continue
                different += 1
                print("differs: " + name)
                for line in list(difflib.unified_diff(old.split("\n"), text.split("\n"),
                                                      lineterm="", n=1))[:12]:
                    print("    " + line)
    print("%d %s" % (same, "recorded" if o.action == "record" else
                     "the same, %d different" % different))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
