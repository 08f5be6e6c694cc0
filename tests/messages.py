#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every message of --check, of faults and of the command line has a test that reads it.

The messages are the format strings of the calls below; a test has one where three words of it in a
row stand in a file of tests/ or of a test/ folder. Prints those that none has, and fails.
"""
import glob
import os
import re
import sys

# By folder: the functions that report, and where the format is among their arguments.
CALLS = {"src/reference": {"found": 4, "endless_found": 2},
         "src/cli": {"complain": 0},
         "src/cpu/run": {"diag": 4}}
# What only a machine that is out of something says.
WITHOUT = {"out of memory", "thread %u of %u cannot be started: %s"}
LITERALS = r'(?:"(?:[^"\\]|\\.)*"\s*)+'


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


def joined(literals):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)).replace('\\"', '"')


def messages(path, calls):
    """The formats; of `c ? "a" : "b"` both."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for call in re.finditer(r"(?<![\w.>])(%s)\(" % "|".join(calls), text):
        given = arguments(text, call.end())
        if calls[call[1]] < len(given):
            for part in re.findall(LITERALS, given[calls[call[1]]]):
                yield joined(part)


def is_read(message, tests):
    """Whether three words in a row, or a piece with fewer, are in a test."""
    pieces = [p.split() for p in re.split(r"%[-+ #0-9.*]*(?:ll|l|z)?[a-z]|\\n", message)]
    most = min(3, max(map(len, pieces)))
    return most == 0 or any(" ".join(p[k:k + most]) in tests
                            for p in pieces for k in range(len(p) - most + 1))


def texts():
    """What the tests say, with literals that C joins in one and what FileCheck escapes plain."""
    out = []
    for path in glob.glob("tests/**/*.*", recursive=True) + glob.glob("src/**/test/*.*", recursive=True):
        if os.path.isfile(path) and path != "tests/messages.py":
            with open(path, encoding="utf-8", errors="ignore") as f:
                out.append(re.sub(r'"\s*\n\s*"', "", f.read()))
    return re.sub(r"\s+", " ", "\n".join(out))


def main():
    tests, missing = texts(), 0
    for folder, calls in CALLS.items():
        for path in sorted(glob.glob(folder + "/*.c")):
            for message in dict.fromkeys(messages(path, calls)):
                if message not in WITHOUT and not is_read(message, tests):
                    print("%s: no test reads: %s" % (path, message))
                    missing += 1
    return missing != 0


if __name__ == "__main__":
    sys.exit(main())
