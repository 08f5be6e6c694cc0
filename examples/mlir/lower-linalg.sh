#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A product of matrices in linalg to one in the gpu dialect, by MLIR's own passes; the module comes
# out on standard output and is one that heddle runs:
#
#     lower-linalg.sh [FILE] > kernel.mlir
set -eu
file=${1:-$(dirname "$0")/linalg.mlir}
for opt in mlir-opt-22 /usr/lib/llvm-22/bin/mlir-opt mlir-opt; do
    command -v $opt > /dev/null && break
done

# transform-interpreter runs the script that the file itself holds: tiles, vectors, contractions, a
# launch. Then contractions become operations on subgroups' matrices, and the launch a kernel.
exec $opt "$file" --pass-pipeline="builtin.module(
    transform-interpreter,
    func.func(convert-vector-to-gpu),
    lower-affine,
    gpu-launch-sink-index-computations,
    gpu-kernel-outlining,
    canonicalize,
    cse)"
