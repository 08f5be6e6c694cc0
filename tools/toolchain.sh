#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Puts glslang, the SPIR-V tools and the Vulkan and SPIR-V headers in a private folder:
#
#     tools/toolchain.sh [FOLDER]            default build/toolchain
#
# FOLDER/bin/{glslang,spirv-val,spirv-as,spirv-dis,spirv-opt,spirv-link} and
# FOLDER/usr/include/{vulkan,spirv}. Where the system has all of them new enough they are linked to;
# otherwise Debian forky's packages are unpacked there together with the C library they were built
# for, and run through that library's own ld.so. apt gets its own state, cache and sources; nothing
# outside FOLDER is touched. The folder appears whole or not at all.
set -eu

min_glslang=16.1
min_spirv=2026.0
tools="glslang spirv-val spirv-as spirv-dis spirv-opt spirv-link"
packages="glslang-tools spirv-tools spirv-headers libvulkan-dev"

fail() {
    echo "toolchain.sh: $*" >&2
    exit 1
}

mkdir -p "${1:-build/toolchain}.parent"
dir=$(cd "${1:-build/toolchain}.parent" && pwd)
rmdir "$dir"
dir=${dir%.parent}
stamp=$(cat "$0" "$(dirname "$0")/private-apt.sh" | cksum)

done_already() { [ "$(cat "$dir/.complete" 2>/dev/null)" = "$stamp" ]; }

done_already && exit 0
exec 9> "$dir.lock"
if command -v flock > /dev/null; then flock 9; fi
done_already && exit 0
work=$dir.new
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$work/bin"

# at_least VERSION MINIMUM
at_least() {
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -t. -k1,1n -k2,2n | head -n 1)" = "$2" ]
}

system_is_new_enough() {
    for tool in $tools; do command -v "$tool" > /dev/null || return 1; done
    [ -f /usr/include/vulkan/vulkan_core.h ] || return 1
    [ -f /usr/include/spirv/unified1/spirv.h ] || return 1
    glslang=$(glslang --version | sed -n 's/^Glslang Version: [0-9]*:\([0-9.]*\).*/\1/p')
    spirv=$(spirv-val --version | sed -n 's/^SPIRV-Tools v\([0-9.]*\).*/\1/p')
    at_least "${glslang:-0}" $min_glslang && at_least "${spirv:-0}" $min_spirv
}

. "$(dirname "$0")/private-apt.sh"

unpack_forky() {
    can_fetch || fail "install glslang >= $min_glslang, SPIRV-Tools >= $min_spirv and their headers" \
        "(this system has no apt-get, dpkg or Debian's keys to fetch them with)"
    unpack "$work" forky $packages || fail "cannot fetch $packages"
    rm -rf "$work/etc" "$work/var" "$work/usr/sbin" "$work"/usr/lib/*/gconv "$work"/usr/lib/python* "$work"/usr/bin/*py* "$work"/usr/bin/debconf*
    find "$work/usr/lib" -name '*.a' -delete
    find "$work/usr/share" -not -type d -not -name copyright -delete

    loader=$(find "$work/usr/lib" "$work/usr/lib64" "$work/lib" "$work/lib64" \
        -name 'ld-linux*.so.*' 2>/dev/null | head -n 1)
    [ -n "$loader" ] || fail "no ld.so among the unpacked packages"
    libraries=$dir/usr/lib/$(basename "$(dirname "$(find "$work/usr/lib" -name 'libstdc++.so.6' |
        head -n 1)")")
    for tool in $tools; do
        [ -f "$work/usr/bin/$tool" ] || fail "no $tool among the unpacked packages"
        printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' \
            "$dir${loader#"$work"}" "$libraries" "$dir/usr/bin/$tool" > "$work/bin/$tool"
        chmod +x "$work/bin/$tool"
    done
}

if system_is_new_enough; then
    for tool in $tools; do ln -s "$(command -v "$tool")" "$work/bin/$tool"; done
    mkdir -p "$work/usr/include"
    ln -s /usr/include/vulkan /usr/include/spirv "$work/usr/include"
else
    unpack_forky
fi
rm -rf "$dir"
mv "$work" "$dir"
for tool in glslang spirv-val; do
    "$dir/bin/$tool" --version > /dev/null || fail "$dir/bin/$tool does not run"
done
echo "$stamp" > "$dir/.complete"
