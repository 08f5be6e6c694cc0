#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     tools/sysroot.sh [FOLDER]              default build/sysroot
#
# The C library and headers of Debian 11 (glibc 2.31) in a folder of their own, for releases that run
# on systems as old as that. The folder appears whole or not at all.
set -eu
. "$(dirname "$0")/private-apt.sh"
dir=${1:-build/sysroot}
[ -f "$dir/.complete" ] && exit 0
can_fetch || { echo "sysroot.sh: apt-get, dpkg and Debian's keys are needed" >&2; exit 1; }
rm -rf "$dir.new"
trap 'rm -rf "$dir.new"' EXIT
mkdir -p "$dir.new"
work=$(cd "$dir.new" && pwd)
unpack "$work" bullseye libc6-dev || { echo "sysroot.sh: cannot fetch libc6-dev" >&2; exit 1; }
# Links to absolute paths lead out of the folder.
find "$work" -type l | while read -r link; do
    to=$(readlink "$link")
    case $to in /*) ln -sfnr "$work$to" "$link" ;; esac
done
touch "$work/.complete"
rm -rf "$dir"
mv "$work" "$dir"
