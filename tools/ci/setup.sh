#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     tools/ci/setup.sh ARCHIVE|URL [FOLDER]
#
# Makes a release's Vulkan driver the one of a CI job: unpacks it (once: FOLDER, by default
# ~/.cache/heddle, is worth caching) and prints the environment for `eval`. In a job of GitHub Actions
# the environment of the following steps gets it, too. Needs tar and zstd, and curl for a URL.
set -eu
from=$1
folder=${2:-${XDG_CACHE_HOME:-$HOME/.cache}/heddle}
name=$(basename "$from" .tar.zst)
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
if [ ! -x "$folder/$name/bin/heddle" ]; then
    command -v zstd > /dev/null || { echo "setup.sh: zstd is needed" >&2; exit 1; }
    new=$(mktemp -d "$folder/new-XXXXXX")
    trap 'rm -rf "$new"' EXIT
    case $from in
        *://*) curl -fsSL --retry 3 -o "$new/archive" "$from" ;;
        *) cp "$from" "$new/archive" ;;
    esac
    zstd -qdc "$new/archive" > "$new/tar"
    tar -C "$new" -xf "$new/tar"
    rm -rf "${folder:?}/$name"
    mv "$new/$name" "$folder/$name"
fi
manifest=$folder/$name/share/vulkan/icd.d/heddle_icd.json
mkdir -p "$folder/kernels"

# say NAME VALUE
say() {
    printf "export %s='%s'\n" "$1" "$2"
    [ -z "${GITHUB_ENV:-}" ] || echo "$1=$2" >> "$GITHUB_ENV"
}
say VK_DRIVER_FILES "$manifest"
say VK_ICD_FILENAMES "$manifest" # what loaders before 1.3.207 look at
say HEDDLE_LOG stderr
say HEDDLE_CACHE "$folder/kernels"
printf "export PATH='%s':\"\$PATH\"\n" "$folder/$name/bin"
[ -z "${GITHUB_PATH:-}" ] || echo "$folder/$name/bin" >> "$GITHUB_PATH"
