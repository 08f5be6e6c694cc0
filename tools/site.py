#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a site of README.md and docs/ with mkdocs (Debian's package mkdocs): build/site.

Links between the pages stay; what they say of other files of the repository becomes plain text.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = "build/site-pages"
NAMES = {"README.md": "index.md", "python/README.md": "PYTHON.md"}


def name_of(path):
    """A file's name in the site; None where it is no part of it."""
    if path in NAMES:
        return NAMES[path]
    return path[len("docs/"):] if path.startswith("docs/") and os.path.isfile(path) else None


def linked(source, text):
    def link(m):
        bang, words, target = m.groups()
        path, _, anchor = target.partition("#")
        if re.match(r"\w+:", target) or not path:
            return m.group(0)
        name = name_of(os.path.normpath(os.path.join(os.path.dirname(source), path)))
        if not name:
            return words
        return "%s[%s](%s%s)" % (bang, words, name, "#" + anchor if anchor else "")
    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", link, text)


def main():
    os.chdir(TOP)
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree("docs/pictures", PAGES + "/pictures")
    for source in ["README.md", "python/README.md", *glob.glob("docs/*.md")]:
        with open(source, encoding="utf-8") as f:
            text = linked(source, f.read())
        with open(os.path.join(PAGES, name_of(source)), "w", encoding="utf-8") as f:
            f.write(text)
    if not shutil.which("mkdocs"):
        print("mkdocs is missing (Debian: mkdocs); the pages are in " + PAGES)
        return 1
    return subprocess.run(["mkdocs", "build", "--quiet", "--clean"]).returncode


if __name__ == "__main__":
    sys.exit(main())
