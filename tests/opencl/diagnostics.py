#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every diagnostic of the OpenCL C front end has a golden test that says its line and column.

The messages are the format strings in src/front/opencl/; the goldens the lines of tests/opencl/*.cl
that FileCheck looks for: `:[[@LINE+1]]:9: error: text`. Prints the messages without one, and fails.
"""
import glob
import os
import re
import sys

# Where the format is among the arguments.
CALLS = {"ocl_error": 2, "ocl_warning": 2, "ocl_note": 2, "wrong": 1, "jump": 3, "ocl_expect": 2}
# What no program of a sensible size can bring about, or only a broken LLVM.
WITHOUT = {"too many members"}


def arguments(text, at):
    """The arguments of the call whose '(' is before `at`."""
    out, depth, start = [], 1, at
    while depth:
        c = text[at]
        if c == '"':
            at = re.compile(r'"(?:[^"\\]|\\.)*"').match(text, at).end() - 1
        depth += (c == "(") - (c == ")")
        if (c == "," and depth == 1) or not depth:
            out.append(text[start:at])
            start = at + 1
        at += 1
    return out


def messages(source):
    """The formats; of `c ? "a" : "b"` both."""
    with open(source) as f:
        text = f.read()
    for call in re.finditer(r"\b(%s)\(" % "|".join(CALLS), text):
        list_ = arguments(text, call.end())
        where = CALLS[call[1]]
        if where >= len(list_):
            continue
        for part in re.findall(r'(?:"(?:[^"\\]|\\.)*"\s*)+', list_[where]):
            message = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', part)).replace('\\"', '"')
            message = message.replace("\\\\", "\\")
            if call[1] == "ocl_expect":
                message = "expected %s " + message
            if message != "%s":
                yield message


def pattern(message):
    parts = re.split(r"%(?:\.\*)?(?:ll|l)?[a-z]", message)
    return ".*".join(re.escape(p) for p in parts)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    golden = set()
    for path in glob.glob(os.path.join(root, "tests/opencl/*.cl")):
        with open(path) as f:
            golden |= set(re.findall(r":\d+: (?:error|warning|note): (.*)", f.read()))
    golden = "\n".join(golden)
    missing = 0
    for source in sorted(glob.glob(os.path.join(root, "src/front/opencl/*.c"))):
        for message in dict.fromkeys(messages(source)):
            if message not in WITHOUT and not re.search("^%s$" % pattern(message), golden, re.M):
                print("%s: no golden test: %s" % (os.path.basename(source), message))
                missing += 1
    return missing != 0


if __name__ == "__main__":
    sys.exit(main())
