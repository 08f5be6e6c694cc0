#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library's binary interface: which symbols it exports at which version, and that programs that
were compiled with the last release's header go on working (abidiff, where it is installed; Debian:
abigail-tools).

What abidiff compares are the runtime's objects, compiled here with debug information: all public
functions are defined there. The release's dump is written by

    tests/abi/run.py --library build/release/lib/libheddle.so --dump

when a release is made. That the comparison can fail is tested with headers that break the rules.
"""
import argparse
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HEADER, MAP = "include/heddle/heddle.h", "cmake/heddle.map"
DUMP = "tests/abi/heddle-0.2-%s.abi" % platform.machine()


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def run(*command):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return p.returncode, p.stdout.decode(errors="replace")


def declared(text):
    return set(re.findall(r"^HEDDLE_API [^;(]*?(heddle_\w+)\(", text, re.M))


def mapped(text):
    """Symbol: the version it is listed under."""
    return {name: version for version, names in re.findall(r"^(\w[\w.]*) \{(.*?)^\}", text,
                                                           re.M | re.S)
            for name in re.findall(r"\bheddle_\w+(?=;)", names)}


def exported(library):
    said = run("nm", "-D", "--defined-only", "--with-symbol-versions", library)[1]
    return dict(re.findall(r" (heddle_\w+)@@?([\w.]+)$", said, re.M))


def compile_runtime(options, header, out):
    """A library of the runtime alone, by the header: what it needs of others stays undefined."""
    include = os.path.join(os.path.dirname(out), "include")
    os.makedirs(include + "/heddle", exist_ok=True)
    with open(include + "/heddle/heddle.h", "w", encoding="utf-8") as f:
        f.write(header)
    return run(options.compiler, "-std=c17", "-D_GNU_SOURCE", "-g", "-O0", "-fPIC", "-shared",
               "-fvisibility=hidden", "-w", "-I" + include, "-Isrc", "-ffile-prefix-map=%s=." %
               os.getcwd(), "-Wl,--version-script=" + MAP, "-Wl,-soname,libheddle.so",
               "-Wl,--unresolved-symbols=ignore-all", "-o", out,
               *sorted(glob.glob("src/runtime/*.c")))


def growing(header):
    """Structs that say their size."""
    return set(re.findall(r"^typedef struct (\w+) \{\n    size_t struct_size;", header, re.M))


def grows_at_its_end(name, lines, growable):
    size = re.match(r"  type size changed from (\d+) to \d+", lines[0])
    return name in growable and size and all(
        re.match(r"  \d+ data member insertions?:$", line) or
        (m := re.match(r"    '.*', at offset (\d+) ", line)) and
        int(m.group(1)) >= int(size.group(1))
        for line in lines[1:])


def has_new_members(lines):
    return all(re.match(r"  type size hasn't changed|  \d+ enumerator (insertion|change)s?:|"
                        r"    '.*' value '\d+'$|    '\w+::HEDDLE_N_\w+' from value ", line)
               for line in lines)


def breaks(said, header):
    """What of abidiff's changes, type by type, is more than the header's opening comment allows."""
    growable, public = growing(header), set(re.findall(r"^} (\w+);", header, re.M))
    wrong = re.findall(r"^.* summary: (?:[1-9]\d* Removed|0 Removed, [1-9]\d* Changed).*$", said,
                       re.M)
    for block in re.split(r"\n\n|\n(?=')", said)[1:]:
        lines = block.strip().split("\n") if block.strip() else []
        head = re.match(r"'(struct|enum) (\w+)' changed:$", lines[0]) if lines else None
        if head and head.group(1) == "struct" and grows_at_its_end(head.group(2), lines[1:],
                                                                   growable):
            continue
        if head and head.group(1) == "struct" and head.group(2) not in public:
            continue    # what handles lead to
        if head and head.group(1) == "enum" and has_new_members(lines[1:]):
            continue
        if lines:
            wrong.append(block)
    return "\n".join(wrong)


def differs(options, header, work):
    """What abidiff says about a library of that header: "" when old programs go on working."""
    library = work + "/libheddle.so"
    status, said = compile_runtime(options, header, library)
    if status:
        return said
    status, said = run("abidiff", "--leaf-changes-only", "--no-added-syms", "--no-show-locs", DUMP,
                       library)
    return said if status & 3 else breaks(said, header)    # 1 and 2: it could not compare


# Changes to the header that old programs would notice, and some that they would not.
def insert_field(text):
    return text.replace("    uint32_t threads; ",
                        "    uint64_t inserted;\n    uint32_t threads; ", 1)


def change_type(text):
    return text.replace("    uint64_t seed; ", "    uint32_t seed; ", 1)


def fill_padding(text):
    return text.replace("} HeddleDeviceOptions;", "    bool added;\n} HeddleDeviceOptions;", 1)


def drop_function(text):
    return text.replace("HEDDLE_API const char *heddle_version(void);",
                        "const char *heddle_version(void);", 1)


def grow_array_element(text):
    return text.replace("} HeddleBinding;", "    uint64_t added;\n} HeddleBinding;", 1)


def grow_options(text):
    return text.replace("} HeddleDeviceOptions;", "    uint64_t added;\n} HeddleDeviceOptions;", 1)


def add_kind(text):
    return text.replace("    HEDDLE_N_DEVICE_KINDS\n",
                        "    HEDDLE_DEVICE_ADDED,\n    HEDDLE_N_DEVICE_KINDS\n", 1)


BREAKS = (insert_field, change_type, fill_padding, grow_array_element, drop_function)
KEEPS = (grow_options, add_kind)


def abidiff_cases(options, work):
    header = read(HEADER)
    if not shutil.which("abidiff"):
        print("skipped: abidiff is not installed (Debian: abigail-tools)")
        return
    if not os.path.exists(DUMP):
        print("skipped: there is no dump of the last release for this machine (%s)" % DUMP)
        return
    yield "programs of the last release", differs(options, header, work)
    for change in BREAKS:
        said = differs(options, change(header), work)
        yield "%s is noticed" % change.__name__, "" if said else "abidiff sees nothing in it"
    for change in KEEPS:
        yield "%s is allowed" % change.__name__, differs(options, change(header), work)


def symbol_cases(options):
    names, versions = declared(read(HEADER)), mapped(read(MAP))
    yield "the map lists what the header declares", " ".join(sorted(names ^ set(versions)))
    there = exported(options.library)
    yield "the library exports what the map lists", " ".join(
        sorted("%s@%s" % x for x in set(versions.items()) ^ set(there.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--library", required=True)
    parser.add_argument("--dump", action="store_true", help="write the dump of this release")
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as work:
        if options.dump:
            library = work + "/libheddle.so"
            status, said = compile_runtime(options, read(HEADER), library)
            if not status:
                status, said = run("abidw", "--headers-dir", work + "/include",
                                   "--drop-private-types", "--no-comp-dir-path", "--no-corpus-path",
                                   "--no-show-locs", "--out-file", DUMP, library)
            print(said, end="")
            return status
        for cases in (symbol_cases(options), abidiff_cases(options, work)):
            for name, wrong in cases:
                passed += not wrong
                failed += bool(wrong)
                if wrong:
                    print("FAILED: %s:\n%s" % (name, wrong))
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
