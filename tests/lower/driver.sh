#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     driver.sh BUILD [SECONDS]
#
# A Vulkan driver of the system (VK_DRIVER_FILES chooses one) by heddle's own tests of the family:
# what the device is, its profile, and every case of the programs test_elsewhere_own_all_*, each in a
# process of its own with so many seconds, at most as many at once as there are processors. Prints
# what passes, what was refused for want of something that is not lowered, and what differs, with
# the first lines of what it said.
set -u
build=$1 seconds=${2:-40}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$build/bin/heddle" info 2>&1 | sed -n '/^vulkan/,/^  SPIR-V/p' | head -n 40
"$build/bin/heddle" profile-device 2>&1
HEDDLE_ELSEWHERE=1
export HEDDLE_ELSEWHERE
cases='khr:muladd_cpu khr:muladd_nv_cpu khr:values_cpu nv2:conversions_cpu nv2:elements_cpu
    nv2:reductions_cpu nv:conversions nv:decoding nv:functions_of_elements nv:reductions
    nv:random_tensors nv:tensors nv:workgroups qcom:conversions_cpu qcom:chain mixed:floats
    mixed:integers mixed:saturating_integers'
refusals='has no subgroups of|has no variables of its component type|maxComputeSharedMemorySize'
mistakes=' is .*, not |device was lost|was lost before|VkResult|no memory|cannot be'
one() {
    timeout "$seconds" "$build/test/test_elsewhere_own_all_${1%%:*}" "${1#*:}" > "$out/$1" 2>&1
    status=$?
    said=$(tail -n 1 "$out/$1" | grep passed)
    if [ $status = 0 ]; then
        echo "ok      $1: $said" > "$out/$1.verdict"
    elif [ $status = 1 ] && grep -qE "$refusals" "$out/$1" &&
        ! grep -vE "$refusals" "$out/$1" | grep -qE "$mistakes"; then
        { echo "REFUSED $1: what it lacks of these, and no other difference"
          grep -oE "$refusals" "$out/$1" | sort | uniq -c; } > "$out/$1.verdict"
    else
        { echo "DIFFERS $1: status $status; $said"
          grep -vE "$refusals" "$out/$1" | grep -E "$mistakes" | head -n 6 | cut -c 1-300 |
              sed 's/^/        /'; } > "$out/$1.verdict"
    fi
}
running=0
for c in $cases; do
    one "$c" &
    running=$((running + 1))
    [ $running -lt "$(nproc)" ] || { wait; running=0; }
done
wait
cat "$out"/*.verdict
! grep -q DIFFERS "$out"/*.verdict
