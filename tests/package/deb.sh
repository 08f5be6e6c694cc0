#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     tests/package/deb.sh FOLDER TOOLCHAIN
#
# What `make deb` does, lintian included, but for optimisation; then the packages are unpacked into a
# root of their own and used from there: a GLSL kernel, Vulkan's loader (where vulkaninfo is installed), Python's package
# (where NumPy is).
set -u
folder=$1 toolchain=$2
here=$(cd "$(dirname "$0")/../.." && pwd)
for tool in dpkg-buildpackage dh dh_python3 lintian; do
    command -v $tool > /dev/null || {
        echo "skipped: $tool is not here (Debian: debhelper dh-python dpkg-dev lintian)"
        exit 0
    }
done
missing=$(cd "$here" && dpkg-checkbuilddeps 2>&1) || { echo "skipped: $missing"; exit 0; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
root=$folder/root
passed=0
failed=0

# try WHAT COMMAND...
try() {
    what=$1
    shift
    if "$@" > "$folder.log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        cat "$folder.log"
    fi
}

packages() { DEB_BUILD_OPTIONS=noopt sh "$here/tools/deb.sh" "$folder" "$toolchain"; }
unpack() {
    for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$root" || return 1; done
    lib=$(dirname "$(find "$root/usr/lib" -name 'libheddle.so.*' | head -n 1)")
    [ -d "$lib" ]
}
# In an empty environment, as if the root were the system's.
within() { (cd / && env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH="$lib" "$@"); }
glsl() {
    within "$root/usr/bin/heddle" run "$here/examples/gemm.comp" --groups 1 \
        --push list:u32:64,64,64,64 --bind a=full:1:f32[64,64] --bind b=full:2:f32[64,64] \
        --bind c=zeros:f32[64,64] --compare c=full:128:f32[64,64]
}
vulkan() {
    manifest=$root/usr/share/vulkan/icd.d/heddle_icd.json
    within VK_DRIVER_FILES="$manifest" VK_ICD_FILENAMES="$manifest" vulkaninfo --summary |
        grep 'deviceName.*heddle'
}
python() {
    within PYTHONPATH="$root/usr/lib/python3/dist-packages" PYTHONDONTWRITEBYTECODE=1 \
        HEDDLE_LIBRARY="$lib/libheddle.so" /usr/bin/python3 -c "
import numpy as np, heddle
a, c = np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
heddle.run('$here/examples/gemm.comp', a, a, c, groups=1, push=[64, 64, 64, 64])
assert (c == 64).all()"
}
man_page() { gzip -dc "$root/usr/share/man/man1/heddle.1.gz" | grep 'test-driver'; }

try "the packages, and lintian" packages
try "unpacking" unpack
try "a GLSL kernel" glsl
try "the manual page" man_page
[ ! -x /usr/bin/vulkaninfo ] || try "vulkaninfo" vulkan
! /usr/bin/python3 -c 'import numpy' 2> /dev/null || try "Python" python
[ $failed -gt 0 ] || rm -rf "$folder"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
