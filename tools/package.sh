#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     tools/package.sh INSTALLED OUT
#
# Packs an installation of the preset `package` as OUT/heddle-VERSION-linux-ARCH.tar.zst, with the
# licences of what is linked in, and checks that it runs where it is unpacked (tests/package/run.sh).
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
installed=$1
out=$2
name=heddle-$(cat "$here/VERSION")-linux-$(uname -m)
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -a "$installed" "$work/$name"

licences=$work/$name/share/doc/heddle/licences
mkdir -p "$licences"
for package in llvm-22-dev libmlir-22-dev zlib1g-dev libzstd-dev gcc-12-base; do
    install -m 644 "/usr/share/doc/$package/copyright" "$licences/$package"
done
cat > "$work/$name/README" << END
heddle $(cat "$here/VERSION"): bin/heddle help. It runs from wherever it lies.

    bin/heddle run KERNEL ...            a kernel in GLSL, OpenCL C or SPIR-V
    bin/heddle vulkan -- PROGRAM ...     a program that uses Vulkan
    bin/heddle vulkan --layer -- PROGRAM ...     the same on the system's drivers, with what they lack
    VK_DRIVER_FILES=\$PWD/share/vulkan/icd.d/heddle_icd.json PROGRAM     the same by hand

include/, lib/pkgconfig and lib/cmake are for programs that use libheddle. Licences of what is
inside: share/doc/heddle and libexec/heddle/glslang.d.
END
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" |
    zstd -q -f -19 -T0 -o "$out/$name.tar.zst"
sh "$here/tests/package/run.sh" "$out/$name.tar.zst"
