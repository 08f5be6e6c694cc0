#!/bin/sh
# SPDX-License-Identifier: MIT
#
# bundle-glslang.sh TOOLCHAIN FOLDER: a copy of the toolchain's glslang in FOLDER that runs wherever
# it is moved to, on any C library or none: with its ld.so and libraries in FOLDER/glslang.d.
set -eu
toolchain=$1
out=$2
program=$toolchain/usr/bin/glslang
if [ -f "$program" ]; then
    loader=$(find "$toolchain/usr/lib" "$toolchain/usr/lib64" "$toolchain/lib" \
        -name 'ld-linux*.so.*' 2> /dev/null | head -n 1)
    libraries=$(dirname "$(find "$toolchain/usr/lib" -name 'libstdc++.so.6' | head -n 1)")
    needed=$("$loader" --library-path "$libraries" --list "$program")
    documents=$toolchain/usr/share/doc
else
    program=$(readlink -f "$toolchain/bin/glslang")
    needed=$(ldd "$program")
    loader=$(echo "$needed" | sed -n 's/^[[:space:]]*\(\/[^ ]*ld-linux[^ ]*\) .*/\1/p')
    documents=/usr/share/doc
fi
rm -rf "$out/glslang.d" "$out/glslang"
mkdir -p "$out/glslang.d"
install -m 755 "$program" "$out/glslang.d/glslang"
install -m 755 "$loader" "$out/glslang.d/ld.so"
echo "$needed" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | while read -r library; do
    case $library in *ld-linux*) continue ;; esac
    install -m 644 "$library" "$out/glslang.d/$(basename "$library")"
done
for package in glslang-tools libc6 gcc-16-base gcc-15-base gcc-14-base gcc-13-base; do
    if [ -f "$documents/$package/copyright" ]; then
        install -m 644 "$documents/$package/copyright" "$out/glslang.d/copyright.$package"
    fi
done
cat > "$out/glslang" << 'END'
#!/bin/sh
# Through its own ld.so and C library, so that it runs beside any other.
here=${0%/*}/glslang.d
exec "$here/ld.so" --library-path "$here" "$here/glslang" "$@"
END
chmod 755 "$out/glslang"
"$out/glslang" --version > /dev/null
