#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     tests/package/run.sh heddle-VERSION-linux-ARCH.tar.zst [ROOT]
#
# Unpacks a release in a folder of its own and uses it in an empty environment: a GLSL kernel, an
# OpenCL C kernel, Vulkan's loader (where vulkaninfo is installed), Python's package (where NumPy is;
# its own tests too, where pytest is), and the lines of README.md and docs/CI.md. With ROOT all of it
# runs in that root (as root, by chroot and with /proc; debootstrap makes one). What its files need is
# read from the files.
set -u
exec 3>&1
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
# The second name is for loaders before 1.3.207.
manifest=$inside/moved/share/vulkan/icd.d/heddle_icd.json
on_driver() {
    bare VK_DRIVER_FILES="$manifest" VK_ICD_FILENAMES="$manifest" "$@"
}
by_hand() {
    on_driver vulkaninfo --summary | grep 'deviceName.*heddle'
}
# What the driver finds ends the program: the first kernel is sound, the second has a race.
fatal() {
    cat > "$work/race.comp" << 'END'
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer X { uint x[]; };
void main() { x[0] = gl_LocalInvocationIndex; }
END
    set -- on_driver HEDDLE_CHECK=fatal HEDDLE_LOG=stderr "$inside/moved/bin/heddle" run --device \
        vulkan --groups 1
    "$@" "$inside/examples/gemm.comp" --push list:u32:64,64,64,64 --bind 0=full:1:f32[64,64] \
        --bind 1=full:2:f32[64,64] --bind 2=zeros:f32[64,64] --compare 2=full:128:f32[64,64] ||
        return 1
    ! "$@" "$inside/race.comp" --bind 0=zeros:u32[1] && grep -q 'error:.*race' "$work/log"
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
    on_driver HEDDLE_MATRICES=none "$inside/moved/bin/heddle" vulkan --layer -- vulkaninfo |
        grep VK_NV_cooperative_matrix2
}
# The first indented lines of a document that begin so.
typed() {
    sed -n "s/^    \\($2.*\\)/\\1/p" "$here/$1" | head -n 1
}
# README.md's line, in the folder where the archive lies.
unpacked_by_line() {
    mkdir "$work/line" && cp "$archive" "$work/line" &&
        bare sh -ec "cd '$inside/line'; $(typed README.md 'tar -xf heddle')" | grep '^heddle '
}
# The lines of docs/CI.md, used twice: the second time all is there.
ci() {
    mkdir -p "$work/job/build/package" "$work/job/tools/ci" && cp "$archive" "$work/job/build/package" &&
        cp "$here/tools/ci/setup.sh" "$work/job/tools/ci" || return 1
    set -- bare HOME="$inside/home" sh -ec "cd '$inside/job'; $(typed docs/CI.md 'eval')
        $(typed docs/CI.md 'vulkaninfo'); heddle --version"
    "$@" && "$@" | grep 'deviceName.*heddle'
}
# Where pytest is: the arrays of all kinds, tensors of torch and JAX where these are.
python_tests() {
    mkdir "$work/tests" && cp -a "$here/tests/python" "$work/tests" && cp -a "$here/include" "$work" &&
        cp -a "$here/VERSION" "$work" &&
        bare PYTHONPATH="$inside" HEDDLE_LIBRARY="$inside/moved/lib/libheddle.so" \
            PYTHONDONTWRITEBYTECODE=1 python3 -m pytest -q -rs -p no:cacheprovider \
            -p heddle.pytest_plugin -c /dev/null --rootdir "$inside/tests" "$inside/tests/python" \
            -k "not wheel and not notebook" &&
        grep -E "passed|SKIPPED" "$work/log" >&3
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
    driver=$(xz -9e -c "$prefix/lib/libvulkan_heddle.so" | wc -c)
    whole=$(wc -c < "$archive")
    echo "driver $driver bytes compressed, everything $whole"
    [ "$driver" -le $((14 << 20)) ] && [ "$whole" -le $((45 << 20)) ]
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
    try "HEDDLE_CHECK=fatal" fatal
    if bare sh -c 'command -v zstd' > /dev/null; then
        try "docs/CI.md" ci
    fi
fi
if bare sh -c 'command -v zstd' > /dev/null; then
    try "README.md" unpacked_by_line
fi
if bare python3 -c 'import numpy' 2> /dev/null; then
    try "Python" python_package
    if bare python3 -c 'import pytest' 2> /dev/null; then
        try "Python's tests" python_tests
    fi
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
