#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     tools/deb.sh FOLDER TOOLCHAIN
#
# Builds Debian's packages into FOLDER, for this system, and has lintian look at them. From a copy of
# the sources, because the tools write into debian/ and the folder above. TOOLCHAIN: of
# tools/toolchain.sh.
set -eu
mkdir -p "$1"
into=$(cd "$1" && pwd)
toolchain=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
rm -rf "${into:?}"/*
mkdir -p "$into/heddle/build"
tar --exclude=./build --exclude=./.git -cf - . | tar -C "$into/heddle" -xf -
ln -s "$toolchain" "$into/heddle/build/toolchain"
cd "$into/heddle"
dpkg-buildpackage -b -us -uc > ../log 2>&1 || { tail -n 30 ../log; exit 1; }
lintian --fail-on error,warning ../*.changes
