#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tools/test.sh BUILD [OPTION...]: runs the tests of a build tree through ctest, all or those that
# its options select, and ends with the sum of their cases, `N passed, N failed`. A program that dies before it can count is one failure.
# What several programs compile alike is compiled once, as build trees beside one another do: they share a
# folder for modules and kernels. Of the latter those of older builds are of no use any more.
set -u
jobs=$(getconf _NPROCESSORS_ONLN)
build=$1
shift
HEDDLE_CACHE=$(cd "$build/.." && pwd)/kernels
export HEDDLE_CACHE
mkdir -p "$HEDDLE_CACHE"
find "$HEDDLE_CACHE" -type f ! -name 'glsl-*' ! -newer "$build/.ninja_log" -delete 2> /dev/null
ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error "$@"
status=$?
awk -v status=$status '
    # ctest calls a program that was not built "passed" in its log; the line before the header tells.
    /^Unable to find executable/ { missing = 1 }
    /^[0-9]+\/[0-9]+ Testing: / { p = 0; f = 0; counted = 0 }
    /^[0-9]+ passed, [0-9]+ failed$/ { p = $1; f = $3; counted = 1 }
    /^Test Passed\.$/ && !missing { passed += counted ? p : 1; failed += f }
    /^Test Failed\.$/ || (/^Test Passed\.$/ && missing) {
        passed += p
        failed += f ? f : 1
        missing = 0
    }
    END {
        if (status && !failed) failed = 1
        printf "%d passed, %d failed\n", passed, failed
        exit failed != 0
    }' "$build/Testing/Temporary/LastTest.log"
