#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manual page and the completions of the shells: they hold every command and option of the help,
and those who read them (groff, bash, zsh, fish) find nothing wrong, where they are installed.

    run.py HEDDLE
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HEDDLE = sys.argv[1]


def run(*command, given=None):
    p = subprocess.run(command, input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})
    return p.returncode, p.stdout


def document(form):
    status, text = run(HEDDLE, "help", form)
    return text if not status else ""


def helped():
    """Command: its options, as `heddle help` has them."""
    usage = run(HEDDLE, "help")[1]
    commands = re.findall(r"^  (\w+) ", usage, re.M)
    return {c: re.findall(r"^  (-[-\w]+)", run(HEDDLE, "help", c)[1].split("Variables")[0], re.M)
            for c in commands}


def missing(text, spelled):
    """What of the help's commands and options is not in a document."""
    return " ".join(word for command, options in helped().items() for word in [command, *options]
                    if not re.search(spelled(word), text))


def reads(form, suffix, *reader):
    """What a program says of a document; nothing where there is no such program."""
    if not shutil.which(reader[0]):
        print("skipped: no %s" % reader[0])
        return ""
    with tempfile.NamedTemporaryFile("w", suffix=suffix) as f:
        f.write(document(form))
        f.flush()
        status, said = run(*reader, f.name)
    return said if status or (form == "man" and said) else ""


def bash_completes(words, expected):
    script = document("bash") + ('COMP_WORDS=(%s)\nCOMP_CWORD=%d\n_heddle\necho "${COMPREPLY[@]}"\n'
                                 % (" ".join(words), len(words) - 1))
    status, said = run("bash", "-u", "-c", script)
    return "" if not status and said.split() == expected else said or "nothing"


def cases():
    def dashes(word):
        return r"\\fB" + word.replace("-", r"\\-") + r"\\fR"

    def whole(word):
        return r"(?<![\w-])" + re.escape(word) + r"(?![\w-])"

    def long_or_short(word):
        return (r"-l " if word.startswith("--") else r"(-s|-a) ") + re.escape(
            word.lstrip("-")) + r"\b" if word.startswith("-") else r"-a " + word
    yield "manual", missing(document("man"), dashes)
    yield "bash", missing(document("bash"), whole)
    yield "zsh", missing(document("zsh"), whole)
    yield "fish", missing(document("fish"), long_or_short)
    yield "groff finds nothing wrong", reads("man", ".1", "groff", "-man", "-ww", "-z")
    yield "bash reads it", reads("bash", ".bash", "bash", "-n")
    yield "zsh reads it", reads("zsh", ".zsh", "zsh", "-n")
    yield "fish reads it", reads("fish", ".fish", "fish", "-n")
    yield "bash completes commands", bash_completes(["heddle", "la"], ["layout"])
    yield "bash completes options", bash_completes(["heddle", "layout", "--sv"], ["--svg"])
    yield "bash completes options of that command only", bash_completes(
        ["heddle", "layout", "--bin"], [])
    yield "other words are no document", "" if run(HEDDLE, "help", "tcsh")[0] else "tcsh"


def main():
    passed = failed = 0
    for name, wrong in cases():
        passed += not wrong
        failed += bool(wrong)
        if wrong:
            print("FAILED: %s:\n%s" % (name, wrong))
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
