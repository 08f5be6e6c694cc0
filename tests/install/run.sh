#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh CMAKE CC BUILD: installs the build to a folder of its own, moves it (a package must not know
# where it was installed), and builds and runs a consumer with pkg-config and with find_package.
set -u
cmake=$1 cc=$2 build=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$build/install-test
rm -rf "$work"
mkdir -p "$work"
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

install_and_move() {
    "$cmake" --install "$build" --prefix "$work/first" && mv "$work/first" "$work/prefix"
}
try "install" install_and_move
pc=$(find "$work/prefix" -name heddle.pc | head -n 1)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="$libdir/pkgconfig"

with_pkg_config() {
    "$cc" "$here/consumer.c" $(pkg-config --cflags --libs heddle) -o "$work/shared" &&
        LD_LIBRARY_PATH="$libdir" "$work/shared"
}
with_pkg_config_static() {
    "$cc" "$here/consumer.c" $(pkg-config --cflags heddle) "$libdir/libheddle.a" \
        $(pkg-config --static --libs heddle | sed 's/-lheddle//') -o "$work/static" &&
        "$work/static"
}
with_find_package() {
    "$cmake" -S "$here" -B "$work/consumer" -G Ninja -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_PREFIX_PATH="$work/prefix" && "$cmake" --build "$work/consumer" &&
        "$work/consumer/with_heddle" && "$work/consumer/with_heddle_static"
}
# The linker's own symbols are there where another library (LLVM 19) mentions them.
only_the_api_is_exported() {
    exported=$(nm -D --defined-only "$libdir/libheddle.so" | awk '{ print $3 }' |
        grep -v '^heddle_\|^HEDDLE_\|^__bss_start$\|^_edata$\|^_end$')
    echo "exported: $exported"
    [ -z "$exported" ]
}
# debian/ names each file that has no soname (the loader opens it), and has each library in a package.
packaged() {
    for file in "$libdir"/*.so; do
        name=$(basename "$file")
        grep -q "$name\|${name%.so}.so\*" "$here"/../../debian/*.install ||
            { echo "no package has $name"; return 1; }
        readelf -d "$file" | grep -q SONAME ||
            grep -q "/$name\]" "$here"/../../debian/*.lintian-overrides ||
            { echo "$name has no soname"; return 1; }
    done
}
try "pkg-config" with_pkg_config
try "pkg-config --static" with_pkg_config_static
try "find_package" with_find_package
try "exported symbols" only_the_api_is_exported
try "debian/" packaged
try "installed command" "$work/prefix/bin/heddle" info
nothing_of_the_build_tree() {
    ! grep -rlF "$build" "$work/prefix"
}
runs_glsl() {
    cd / && env -i "$work/prefix/bin/heddle" run "$here/../../examples/gemm.comp" --groups 1 \
        --push list:u32:64,64,64,64 --bind a=full:1:f32[64,64] --bind b=full:2:f32[64,64] \
        --bind c=zeros:f32[64,64] --compare c=full:128:f32[64,64]
}
# Driver and layer: what their manifests name is there, whatever folder that is.
manifests_name_files() {
    n=0
    for manifest in "$work"/prefix/share/vulkan/*/*.json; do
        named=$(sed -n 's/.*"library_path": *"\([^"]*\)".*/\1/p' "$manifest")
        echo "$manifest names $named"
        test -f "$(dirname "$manifest")/$named" || return 1
        n=$((n + 1))
    done
    [ $n = 2 ]
}
[ ! -d "$work/prefix/share/vulkan" ] || try "Vulkan's manifests" manifests_name_files
try "no path of the build tree" nothing_of_the_build_tree
try "GLSL, without an environment" runs_glsl
try "licence" find "$work/prefix" -name LICENSE

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
