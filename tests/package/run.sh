#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     tests/package/run.sh heddle-VERSION-linux-ARCH.tar.zst [ROOT]
#
# Unpacks a release in a folder of its own and uses it in an empty environment: a GLSL kernel, an
# OpenCL C kernel, Vulkan's loader (where vulkaninfo is installed), Python's package (where NumPy is).
# With ROOT all of it runs in that root (as root, by chroot and with /proc; debootstrap makes one). What its files need is read
# from the files.
set -u
archive=$(readlink -f "$1")
root=${2:-}
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "$root/tmp/heddle-package-XXXXXX")
if [ -n "$root" ]; then
    mount -t proc proc "$root/proc" || exit 1
    trap 'rm -rf "$work"; umount "$root/proc"' EXIT
else
    trap 'rm -rf "$work"' EXIT
fi
passed=0
failed=0

# try WHAT COMMAND...
try() {
    what=$1
    shift
    if "$@" > "$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what: $*"
        cat "$work/log"
    fi
}

unpack() {
    mkdir "$work/first" && zstd -qdc "$archive" | tar -C "$work/first" -xf - &&
        mv "$work/first"/heddle-* "$work/moved" && cp -a "$here/examples" "$work"
}
try "unpack" unpack
prefix=$work/moved
inside=${work#"$root"} # as the root sees it

# In an empty environment, and in the root if there is one.
bare() {
    if [ -n "$root" ]; then
        chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin "$@"
    else
        (cd / && env -i PATH=/usr/bin:/bin "$@")
    fi
}
multiply() {
    kernel=$1
    shift
    bare "$inside/moved/bin/heddle" run "$inside/examples/$kernel" "$@" --compare 2=full:128:f32[64,64]
}
glsl() {
    multiply gemm.comp --groups 1 --push list:u32:64,64,64,64 --bind 0=full:1:f32[64,64] \
        --bind 1=full:2:f32[64,64] --bind 2=zeros:f32[64,64]
}
opencl() {
    multiply opencl/gemm.cl --global 32 --bind 0=full:1:f16[64,64] --bind 1=full:2:f16[64,64] \
        --bind 2=zeros:f32[64,64] --bind 3=list:u32:64 --bind 4=list:u32:64
}
# Its results are the example's affair.
mlir() {
    bare "$inside/moved/bin/heddle" compile "$inside/examples/mlir/gemm.mlir" -o "$inside/gemm.spv" &&
        bare "$inside/moved/bin/heddle" check "$inside/gemm.spv"
}
checked() {
    bare "$inside/moved/bin/heddle" check "$inside/examples/gemm.comp"
}
vulkan() {
    bare "$inside/moved/bin/heddle" vulkan -- vulkaninfo --summary | grep 'deviceName.*heddle'
}
by_hand() {
    bare VK_DRIVER_FILES="$inside/moved/share/vulkan/icd.d/heddle_icd.json" vulkaninfo --summary |
        grep 'driverName.*heddle'
}
# The file that the layer's manifest names, which is the one that the loader opens.
layer() {
    manifest=$prefix/share/vulkan/implicit_layer.d/heddle_layer.json
    named=$(sed -n 's/.*"library_path": *"\([^"]*\)".*/\1/p' "$manifest")
    echo "$manifest names $named"
    case $named in /* | "") return 1 ;; esac
    nm -D --defined-only "$(dirname "$manifest")/$named" | grep vkNegotiateLoaderLayerInterface
}
through_layer() {
    bare HEDDLE_MATRICES=none VK_DRIVER_FILES="$inside/moved/share/vulkan/icd.d/heddle_icd.json" \
        VK_ICD_FILENAMES="$inside/moved/share/vulkan/icd.d/heddle_icd.json" \
        "$inside/moved/bin/heddle" vulkan --layer -- vulkaninfo | grep VK_NV_cooperative_matrix2
}
# The environment that a CI job gets, used twice: the second time all is there.
ci() {
    cp "$archive" "$work" && cp "$here/tools/ci/setup.sh" "$work" || return 1
    set -- bare sh -ec "sh '$inside/setup.sh' '$inside/$(basename "$archive")' '$inside/cache' > \
        '$inside/env'; . '$inside/env'; heddle --version; vulkaninfo --summary"
    "$@" && "$@" | grep 'deviceName.*heddle'
}
python_package() {
    cp -aL "$here/python/heddle" "$work/heddle" && bare PYTHONPATH="$inside" \
        HEDDLE_LIBRARY="$inside/moved/lib/libheddle.so" python3 -c "
import numpy as np, heddle
a, c = np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
heddle.run('$inside/examples/gemm.comp', a, a, c, groups=1, push=[64, 64, 64, 64])
assert (c == 64).all()"
}
needs_little() {
    python3 "$here/python/needed.py" --glibc 2.31 "$prefix" \
        --only libc.so,libm.so,libdl.so,librt.so,libpthread.so,ld-linux,libheddle.so
}
exports() {
    for file in libheddle.so libvulkan_heddle.so libVkLayer_heddle_cooperative_matrix.so; do
        strange=$(nm -D --defined-only "$prefix/lib/$file" | awk '{ print $3 }' |
            grep -v '^heddle_\|^HEDDLE_\|^vk_icd\|^vkNegotiateLoaderLayer')
        echo "$file exports $strange"
        [ -z "$strange" ] || return 1
    done
}
says_no_build_path() { ! grep -rlF "$here" "$prefix"; }
is_small() {
    driver=$(zstd -q -19 -c "$prefix/lib/libvulkan_heddle.so" | wc -c)
    whole=$(wc -c < "$archive")
    echo "driver $driver bytes compressed, everything $whole"
    [ "$driver" -le $((18 << 20)) ] && [ "$whole" -le $((45 << 20)) ]
}
with_pkg_config() {
    cc "$here/tests/install/consumer.c" -o "$work/consumer" \
        $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs heddle) &&
        LD_LIBRARY_PATH=$prefix/lib "$work/consumer"
}

try "GLSL" glsl
try "OpenCL C" opencl
try "MLIR" mlir
try "check" checked
if bare sh -c 'command -v vulkaninfo' > /dev/null; then
    try "heddle vulkan" vulkan
    try "VK_DRIVER_FILES" by_hand
    try "heddle vulkan --layer" through_layer
    if bare sh -c 'command -v zstd' > /dev/null; then
        try "tools/ci/setup.sh" ci
    fi
fi
if bare python3 -c 'import numpy' 2> /dev/null; then
    try "Python" python_package
fi
try "the layer's manifest" layer
try "what its files need" needs_little
try "exported symbols" exports
try "no path of the build tree" says_no_build_path
if [ -z "$root" ]; then
    try "size" is_small
    try "pkg-config" with_pkg_config
fi
for text in share/doc/heddle/LICENSE share/doc/heddle/licences/llvm-22-dev \
    libexec/heddle/glslang.d/copyright.glslang-tools; do
    try "licence" test -s "$prefix/$text"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
