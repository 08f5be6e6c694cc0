#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether a profile's page has the numbers that --json has, and no others.

    profile_page.py JSON PAGE
"""
import html.parser
import json
import sys


class Page(html.parser.HTMLParser):
    """rows: by file and line, what data-v says of each column; remarks: how many."""

    def __init__(self):
        super().__init__()
        self.rows, self.remarks, self.row = {}, 0, None

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "tr":
            self.row = None
            self.remarks += given.get("class") == "remark"
            if "data-file" in given:
                key = (given["data-file"] or None, int(given["data-line"]))
                assert key not in self.rows, key
                self.row = self.rows[key] = {}
        elif tag == "td" and "data-v" in given and self.row is not None:
            self.row[given["data-c"]] = float(given["data-v"])


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        profile = json.load(f)
    page = Page()
    with open(sys.argv[2], encoding="utf-8") as f:
        page.feed(f.read())
    about = ("file", "line", "remarks")
    lines = {(r["file"], r["line"]): {k: v for k, v in r.items() if k not in about and v is not None}
             for r in profile["lines"]}
    assert page.rows == lines, (page.rows, lines)
    assert page.remarks >= sum(len(r["remarks"]) for r in profile["lines"]), page.remarks
    print("%d lines, %d remarks" % (len(lines), page.remarks))


main()
