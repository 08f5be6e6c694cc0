#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     tools/arm64.sh [--short] [FOLDER [OPTION...]]      default build/arm64; ctest's options
#
# Builds heddle for AArch64 and runs its tests under qemu-user: Debian 12's arm64 packages, unpacked in
# FOLDER/root (a gigabyte, once), this machine's clang, FOLDER/build. No rights of root are needed, and
# no binfmt_misc: ctest starts each test program by qemu, and glslang, which those start, is this
# machine's. Tests that are scripts around the heddle command are left out, except where the kernel
# starts programs of AArch64 by itself (Debian: binfmt-support); so are those of other drivers.
# Of the cases of tests that have thousands each 13th is taken, as under ThreadSanitizer; HEDDLE_TEST_STEP
# in the environment is another step, 1 for all.
# qemu keeps notes of every page of addresses that was ever mapped, used or not: the 8 GB around each array
# became 13 GB of its heap. Where addresses are limited there are 128 KB around an array instead.
# --short: the fiber switch, dispatches, faults and their places; ends with 77 if FOLDER is not there.
set -eu
cd "$(dirname "$0")/.."
. tools/private-apt.sh
fail() { echo "arm64.sh: $*" >&2; exit 1; }

short=""
if [ "${1:-}" = --short ]; then
    short=yes
    shift
fi
mkdir -p build
dir=${1:-build/arm64}
[ $# -eq 0 ] || shift
[ -z "$short" ] || [ -f "$dir/root/.complete" ] || exit 77

qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) ||
    fail "qemu-user is needed (Debian: qemu-user-static)"
clang=$(command -v clang-22 || command -v clang) || fail "clang is needed (Debian: clang-22)"

make_root() {
    can_fetch || fail "apt-get, dpkg and Debian's keys are needed"
    rm -rf "$dir/root.new"
    mkdir -p "$dir/root.new"
    root=$(cd "$dir/root.new" && pwd)
    apt_arch=arm64 apt_security=yes
    unpack "$root" bookworm libc6-dev libgcc-12-dev llvm-22-dev libmpfr-dev ||
        fail "cannot fetch Debian's packages for arm64"
    # Links to absolute paths lead out of the folder.
    find "$root" -type l | while read -r link; do
        to=$(readlink "$link")
        case $to in /*) ln -sfnr "$root$to" "$link" ;; esac
    done
    touch "$root/.complete"
    rm -rf "$dir/root"
    mv "$root" "$dir/root"
}

[ -f "$dir/root/.complete" ] || make_root
dir=$(cd "$dir" && pwd)
root=$dir/root

# The programs of LLVM there, by way of qemu.
cat > "$dir/llvm-config" << END
#!/bin/sh
exec "$qemu" -L "$root" "$root/usr/lib/llvm-22/bin/llvm-config" "\$@"
END
chmod +x "$dir/llvm-config"
cat > "$dir/toolchain.cmake" << END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER "$clang")
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_SYSROOT "$root")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
add_link_options(-fuse-ld=lld)
set(CMAKE_CROSSCOMPILING_EMULATOR "$qemu;-cpu;max;-L;$root")
END
tools/toolchain.sh build/toolchain
cmake -G Ninja -S . -B "$dir/build" -DCMAKE_BUILD_TYPE=Release -DHEDDLE_EXTRAS=OFF \
    -DCMAKE_TOOLCHAIN_FILE="$dir/toolchain.cmake" -DHEDDLE_LLVM_CONFIG="$dir/llvm-config" \
    -DHEDDLE_TEST_STEP="${HEDDLE_TEST_STEP:-13}" \
    > "$dir/log" || { cat "$dir/log"; exit 1; }

ulimit -v 25165824
if [ -n "$short" ]; then
    tests="test_cpu_fiber test_cpu_exec test_cpu_lines test_front_tool"
    # shellcheck disable=SC2086
    cmake --build "$dir/build" --target $tests
    exec tools/test.sh "$dir/build" -R "^($(echo $tests | tr ' ' '|'))\$" "$@"
fi
cmake --build "$dir/build"
foreign="lavapipe|loader|layer|cuda|test_device_vulkan|^(style|compilers|abi|install)\$"
if [ ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]; then
    foreign="$foreign|^(golden|documents|documents_commands|extensions|opencl_diagnostics|python)\$"
    foreign="$foreign|^(options|examples|deb|lower_profiles|messages|charts|test_tester_faults)\$"
fi
export QEMU_LD_PREFIX="$root"
exec tools/test.sh "$dir/build" -E "$foreign" "$@"
