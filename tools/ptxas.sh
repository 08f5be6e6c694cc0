#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     tools/ptxas.sh [FOLDER]
#
# NVIDIA's assembler in a folder (build/ptxas), from Debian's package of CUDA 12.4, without what that
# depends on: tests/cuda/ptxas.py finds it there. It is NVIDIA's, under its licence (non-free).
set -eu
. "$(dirname "$0")/private-apt.sh"
into=${1:-build/ptxas}
mkdir -p "$into"
into=$(cd "$into" && pwd)
[ ! -x "$into/usr/bin/ptxas" ] || exit 0
can_fetch || { echo "tools/ptxas.sh: needs Debian's apt-get, dpkg-deb and keyring" >&2; exit 1; }

prepare "$into" trixie non-free
private_apt "$into/apt" update
cd "$into/apt"
private_apt "$into/apt" download nvidia-cuda-toolkit
dpkg-deb --fsys-tarfile nvidia-cuda-toolkit_*.deb | tar -C "$into" -xf - ./usr/bin/ptxas
rm -rf "$into/apt"
