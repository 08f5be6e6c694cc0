#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the documents tell people to type works: each command of heddle's in an indented line runs,
every one between backticks has options that there are, what is named or linked of the repository is
there, pictures are up to date, and the fragments of C and Python compile or run.

    commands.py HEDDLE MANIFEST BUILD [PART]     only commands that contain PART

`k.comp`, `k.cl` and `k.mlir` are kernels of this folder and of tests/mlir; `...` stands for what
they need besides. Programs of other people's are not run: `heddle vulkan -- PROGRAM` runs true.
"""
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
HEDDLE, MANIFEST, BUILD = (os.path.abspath(a) for a in sys.argv[1:4])
PART = sys.argv[4] if len(sys.argv) > 4 else ""
SECONDS = 300
DOCUMENTS = sorted(f for f in glob.glob("*.md", root_dir=TOP) + glob.glob("docs/*.md", root_dir=TOP)
                   + glob.glob("*/README.md", root_dir=TOP)
                   + glob.glob("share/*/README.md", root_dir=TOP) if f != "CHANGELOG.md")
# What `...` stands for, an option a row; those that the command gives itself are left out.
REST = {
    ".comp": ("--groups 8,8", "--bind 0=randn:f16[512,512]@1", "--bind 1=randn:f16[512,512]@2",
              "--bind 2=zeros:f32[512,512]"),
    ".cl": ("--global 128,4", "--bind 0=randn:f16[64,64]@1", "--bind 1=randn:f16[64,64]@2",
            "--bind 2=zeros:f32[64,64]"),
    ".mlir": ("--bind 0=randn:f32[8,4]@1", "--bind 1=zeros:f32[16,4]"),
}
COMMENT = re.compile(r"\s{2,}(?!-)\S.*$|\s+# .*$")


def lines_of(text):
    """(number, line) of the indented lines, those that a backslash joins in one."""
    fenced, joined, start = False, "", 0
    for n, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif joined or (line.startswith("    ") and not fenced):
            joined, start = joined + line.strip() + " ", start or n
            if line.endswith("\\"):
                joined = joined.rstrip(" \\") + " "
                continue
            yield start, joined.strip()
            joined, start = "", 0


def commands(text):
    """(number, words, the variables before them) of what is typed in a shell."""
    for n, line in lines_of(text):
        line = COMMENT.sub("", re.sub(r"\s+\.\.\.(?=\s|$)", " ...", line))
        match = re.match(r"(?:[A-Z_]+=\S+ )*(heddle|make|tools/|tests/|build/release/)", line)
        if match:
            try:
                yield n, shlex.split(line, comments=False)
            except ValueError as e:
                yield n, ["unreadable", str(e)]


def completed(words):
    """With what `...` stands for, and quickly: what is to be run, where it is a kernel's."""
    kernel = next((w for w in words if w.startswith("k.")), "")
    given = " ".join(words)
    rest = [] if "..." not in words else [
        option for option in REST[os.path.splitext(kernel)[1]]
        if option.split("=")[0].split(",")[0] not in given and option.split(" ")[0] not in (
            w for w in words if not w.startswith("--bind"))]
    at = words.index("...") if "..." in words else len(words)
    words = words[:at] + " ".join(rest).split() + words[at + 1:]
    if words[1] == "bench":
        words += ["--seconds", "0.01"]
    if words[1] == "test-driver" and "--seconds" in words:
        words[words.index("--seconds") + 1] = "1"
    if words[1] == "vulkan" and "--" in words and words[words.index("--") + 1] != "vulkaninfo":
        words[words.index("--") + 1:] = ["true"]
    return [HEDDLE] + words[1:]


def run(words, folder):
    """What is wrong; nothing where nothing is."""
    drivers = MANIFEST + os.pathsep + os.path.join(folder, "second.json")
    env = {**os.environ, "VK_DRIVER_FILES": drivers, "VK_ICD_FILENAMES": drivers,
           "LC_ALL": "C.UTF-8", "HOME": folder}
    if "vulkaninfo" in words and not shutil.which("vulkaninfo") or \
            "k.mlir" in words and not os.path.exists(os.path.join(BUILD, "bin/heddle-mlir")):
        print("skipped: " + " ".join(words[1:]))
        return ""
    out = None
    if ">" in words:
        out, words = words[words.index(">") + 1], words[:words.index(">")]
    words = [os.path.expandvars(w) for w in words]
    try:
        p = subprocess.run(words, cwd=folder, env=env, stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.STDOUT, timeout=SECONDS, errors="replace")
    except subprocess.TimeoutExpired:
        return "takes longer than %d s" % SECONDS
    if out:
        with open(os.path.join(folder, out), "w", encoding="utf-8") as f:
            f.write(p.stdout)
    no_gpu = "cuda" in words and not os.path.exists("/dev/nvidiactl") and "--emit" not in words
    if no_gpu and p.returncode:
        return "" if "cuda" in p.stdout.lower() else "says nothing of a GPU"
    return p.stdout[-1500:] + "(status %d)" % p.returncode if p.returncode else ""


def named(words):
    """Whether what is typed is there, where it is the repository's."""
    program = next(w for w in words if not re.match(r"[A-Z_]+=", w))
    if program == "make":
        with open(os.path.join(TOP, "Makefile"), encoding="utf-8") as f:
            rules = f.read()
        targets = [w for w in words[1:] if "=" not in w]
        return " ".join(t for t in targets if not re.search(
            r"^(?:[\w -]* )?%s(?: [\w -]*)?:" % re.escape(t), rules, re.M))
    path = os.path.join(TOP, program.replace("build/release", BUILD, 1))
    if "NAME" in program or not program.startswith(("tools/", "tests/", "build/release/")):
        return ""
    return "" if os.access(path, os.X_OK) else "%s is not there, or no program" % program


def options_of(text):
    """(number, command, option) of the commands between backticks."""
    for m in re.finditer(r"`heddle (\w+)([^`]*)`", text):
        for option in re.findall(r"(?<=\s)--?[a-zA-Z][-\w]*", m.group(2).split(" -- ")[0]):
            yield text.count("\n", 0, m.start()) + 1, m.group(1), option


def helped(command, known={}):
    if command not in known:
        p = subprocess.run([HEDDLE, "help", command], stdout=subprocess.PIPE, text=True)
        known[command] = set(re.findall(r"^  (--?[-\w]+)", p.stdout, re.M)) | {"-o", "-D", "-I"}
    return known[command]


def fragment(kind, code, folder):
    """What is wrong with a fenced block."""
    if kind == "c":
        includes = "\n".join(re.findall(r"^#include.*", code, re.M))
        body = re.sub(r"^#include.*", "", code, flags=re.M)
        source = "#include <stddef.h>\n%s\nvoid f(void *data, size_t size)\n{\n%s\n}\n" % (includes,
                                                                                           body)
        p = subprocess.run(["cc", "-std=c17", "-Wall", "-Werror", "-fsyntax-only", "-x", "c", "-",
                            "-I" + os.path.join(TOP, "include")], input=source, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return p.stdout if p.returncode else ""
    if kind != "python" or "import heddle" not in code:
        return ""
    python = next((p for p in (sys.executable, "/usr/bin/python3") if not subprocess.run(
        [p, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode), None)
    if not python:
        print("skipped: no NumPy")
        return ""
    env = {**os.environ, "PYTHONPATH": os.path.join(TOP, "python"), "PYTHONDONTWRITEBYTECODE": "1",
           "HEDDLE_LIBRARY": os.path.join(BUILD, "lib", "libheddle.so")}
    p = subprocess.run([python, "-c", code], cwd=folder, env=env, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    return p.stdout if p.returncode else ""


def broken_links(document, text):
    """Files and headings that links of a document name and that are not there."""
    for m in re.finditer(r"\]\(([^)\s]+)\)", text):
        target, _, anchor = m.group(1).partition("#")
        if re.match(r"\w+:", m.group(1)):
            continue
        path = os.path.join(TOP, os.path.dirname(document), target) if target else \
            os.path.join(TOP, document)
        if not os.path.exists(path):
            yield "%s: %s" % (document, m.group(1))
        elif anchor and path.endswith(".md"):
            with open(path, encoding="utf-8") as f:
                heads = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-")
                         for h in re.findall(r"^#+ (.*)", f.read(), re.M)}
            if anchor not in heads:
                yield "%s: %s" % (document, m.group(1))


def old_pictures(folder):
    """Pictures that tools/pictures.py would draw otherwise."""
    subprocess.run([sys.executable, os.path.join(TOP, "tools/pictures.py"), folder, HEDDLE],
                   check=True)
    for path in glob.glob(folder + "/*.svg"):
        kept = os.path.join(TOP, "docs/pictures", os.path.basename(path))
        with open(path, "rb") as new, open(kept, "rb") as old:
            if new.read() != old.read():
                yield os.path.relpath(kept, TOP)


def cases(folder):
    pictures = os.path.join(folder, "pictures")
    os.mkdir(pictures)
    yield "docs/pictures are drawn anew by tools/pictures.py", " ".join(old_pictures(pictures))
    for document in DOCUMENTS:
        with open(os.path.join(TOP, document), encoding="utf-8") as f:
            text = f.read()
        yield "%s: links" % document, "\n".join(broken_links(document, text))
        for n, words in commands(text):
            where = "%s:%d: %s" % (document, n, " ".join(words))
            if PART not in where:
                continue
            if words[0] == "heddle":
                yield where, run(completed(words), folder)
            else:
                yield where, named(words)
        for n, command, option in options_of(text):
            where = "%s:%d: heddle %s %s" % (document, n, command, option)
            if PART in where:
                yield where, "" if option in helped(command) else "there is no such option"
        for kind, code in re.findall(r"^```(c|python)\n(.*?)^```", text, re.M | re.S):
            if PART in document:
                yield "%s: a fragment of %s" % (document, kind), fragment(kind, code, folder)


def second_driver(folder):
    """Commands that name a second device find the driver once more."""
    with open(MANIFEST, encoding="utf-8") as f:
        manifest = json.load(f)
    library = os.path.join(os.path.dirname(MANIFEST), manifest["ICD"]["library_path"])
    manifest["ICD"]["library_path"] = os.path.realpath(library)
    with open(os.path.join(folder, "second.json"), "w", encoding="utf-8") as f:
        json.dump(manifest, f)


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("examples", "bench", "docs", "tests"):
            os.symlink(os.path.join(TOP, name), os.path.join(folder, name))
        for name in ("k.comp", "k.cl"):
            shutil.copy(os.path.join(HERE, name), folder)
        shutil.copy(os.path.join(TOP, "examples/gemm.comp"), folder)
        second_driver(folder)
        shutil.copy(os.path.join(TOP, "tests/mlir/rfc_loads.mlir"), os.path.join(folder, "k.mlir"))
        for name, wrong in cases(folder):
            passed += not wrong
            failed += bool(wrong)
            if wrong:
                print("FAILED: %s:\n%s" % (name, wrong))
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
