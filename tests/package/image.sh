#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     tests/package/image.sh docker|podman|buildah
#
# Builds the Dockerfile's image, which takes minutes and the network, and uses it: the command, a
# kernel, Vulkan, Python. buildah needs no daemon and no user namespaces with BUILDAH_ISOLATION=chroot.
set -u
engine=$1
here=$(cd "$(dirname "$0")/../.." && pwd)
passed=0
failed=0

# try WHAT COMMAND...
try() {
    what=$1
    shift
    if "$@" > /dev/null; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED: $what"; fi
}
case $engine in
    buildah)
        buildah bud -t heddle "$here" > /dev/null && container=$(buildah from --pull-never localhost/heddle) || exit 1
        trap 'buildah rm "$container" > /dev/null' EXIT
        within() { buildah run -v "$here/examples:/work" "$container" -- "$@"; }
        ;;
    *)
        "$engine" build -q -t heddle "$here" > /dev/null || exit 1
        within() { "$engine" run --rm -v "$here/examples:/work" heddle "$@"; }
        ;;
esac
vulkan() { within vulkaninfo --summary | grep 'deviceName.*heddle'; }
try "heddle info" within heddle info
try "a kernel" within heddle run gemm.comp --groups 1 --push list:u32:64,64,64,64 \
    --bind 0=full:1:f32[64,64] --bind 1=full:2:f32[64,64] --bind 2=zeros:f32[64,64] \
    --compare 2=full:128:f32[64,64]
try "vulkaninfo" vulkan
try "Python" within python3 -c "
import numpy as np, heddle
a, c = np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
heddle.run('gemm.comp', a, a, c, groups=1, push=[64, 64, 64, 64])
assert (c == 64).all()"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
