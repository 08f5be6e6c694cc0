#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py BUILD: the Python package's tests against the build's library; ends with `N passed, N
failed`. They need NumPy and pytest (Debian: python3-numpy python3-pytest)."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Count:
    def __init__(self):
        self.passed = self.failed = 0

    def pytest_runtest_logreport(self, report):
        self.passed += report.when == "call" and report.passed
        self.failed += report.failed

    def pytest_collectreport(self, report):
        self.failed += report.failed


def main():
    build = os.path.abspath(sys.argv[1])
    package = os.path.join(os.path.dirname(os.path.dirname(HERE)), "python")
    os.environ["HEDDLE_BUILD"] = build
    os.environ["HEDDLE_LIBRARY"] = os.path.join(build, "lib", "libheddle.so")
    os.environ["PYTHONPATH"] = package + os.pathsep + os.environ.get("PYTHONPATH", "")
    sys.path.insert(0, package)
    sys.dont_write_bytecode = True
    try:
        import numpy  # noqa: F401
        import pytest
    except ImportError as e:
        print("skipped: %s (Debian: python3-numpy python3-pytest)" % e)
        return 0
    count = Count()
    status = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "heddle.pytest_plugin",
                          "--rootdir", HERE, "-c", os.devnull, HERE, *sys.argv[2:]],
                         plugins=[count])
    if status and not count.failed:
        count.failed = 1
    print("%d passed, %d failed" % (count.passed, count.failed))
    return count.failed != 0


if __name__ == "__main__":
    sys.exit(main())
