#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     tools/install-deps.sh [--check] [PACKAGE...]
#
# Installs what building and testing heddle needs (and those packages), where that can be done without
# asking: on Debian 12 or later, as root, by apt. Elsewhere, and with --check, it says what is missing
# and how to get it. Quick when nothing is.
set -eu
check=""
if [ "${1:-}" = --check ]; then
    check=yes
    shift
fi

packages="build-essential cmake ninja-build pkg-config python3 libopenblas-dev libmpfr-dev
    vulkan-tools vulkan-validationlayers mesa-vulkan-drivers abigail-tools
    python3-numpy python3-pytest python3-nbclient python3-ipykernel $*"
llvm_versions="22 21 20 19"

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]; }
available() { [ -n "$(apt-cache show --no-all-versions "$1" 2> /dev/null)" ]; }

is_debian() {
    command -v dpkg-query > /dev/null && [ -r /etc/os-release ] && . /etc/os-release &&
        case "$ID ${ID_LIKE:-}" in debian*) : ;; *) false ;; esac
}

# Sets $llvm to the packages of the LLVM at hand, or of the newest that can be had.
choose_llvm() {
    for test in installed available; do
        for v in $llvm_versions; do
            if $test llvm-$v-dev; then
                llvm="llvm-$v-dev llvm-$v-tools clang-$v"
                # kernels in MLIR need 22 or later
                if [ $v -ge 22 ] && available libmlir-$v-dev; then
                    llvm="$llvm libmlir-$v-dev mlir-$v-tools"
                fi
                # functions of double on NVIDIA's GPUs
                available libclc-$v && llvm="$llvm libclc-$v"
                # the tests do without these: the style's, a build with the oldest LLVM, packages
                [ "$(id -u)" = 0 ] && [ -z "$check" ] || return 0
                [ $v = 22 ] && available clang-format-22 && llvm="$llvm clang-format-22"
                [ $v -gt 19 ] && available llvm-19-dev && llvm="$llvm llvm-19-dev"
                available lintian && llvm="$llvm debhelper dh-python dpkg-dev lintian"
                return 0
            fi
        done
    done
    llvm="llvm-22-dev llvm-22-tools clang-22 libclc-22"
}

missing_of() {
    missing=""
    for package in "$@"; do installed "$package" || missing="$missing $package"; done
}

debian() {
    choose_llvm
    missing_of $packages $llvm
    [ -n "$missing" ] || return 0
    if [ -n "$check" ] || [ "$(id -u)" != 0 ]; then
        echo "missing:$missing" >&2
        echo "make deps, as root, installs it:" \
            "apt-get install --no-install-recommends$missing" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq -o Acquire::Retries=3 update
    choose_llvm
    missing_of $packages $llvm
    echo "installing:$missing"
    apt-get -qq -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 install -y --no-install-recommends \
        $missing > /dev/null
}

elsewhere() {
    missing=""
    for tool in cc cmake ninja pkg-config python3; do
        command -v $tool > /dev/null || missing="$missing $tool"
    done
    llvm=""
    for config in llvm-config-22 llvm-config-21 llvm-config-20 llvm-config-19 llvm-config; do
        command -v $config > /dev/null && llvm=$config && break
    done
    [ -n "$llvm" ] || missing="$missing LLVM-19-or-later(with-llvm-config)"
    [ -z "$missing" ] && return 0
    echo "heddle needs, and does not find:$missing" >&2
    echo "also wanted: glslang 16.1, SPIRV-Tools 2026, OpenBLAS, MPFR; on Debian make installs all" >&2
    exit 1
}

if is_debian; then debian; else elsewhere; fi
