#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     run.sh MANIFEST TEST...
#
# The driver through the loader: vulkaninfo lists the device, and the tests, which pass without a
# loader, pass with it under the Khronos validation layer without a word from that. What is not
# installed (Debian: vulkan-tools, vulkan-validationlayers) is skipped.
set -u
VK_DRIVER_FILES=$1
VK_ICD_FILENAMES=$1
export VK_DRIVER_FILES VK_ICD_FILENAMES
shift
passed=0 failed=0

# verdict NAME STATUS OUTPUT
verdict() {
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED: %s\n%s\n' "$1" "$3" | head -n 60
    fi
}

if ! command -v vulkaninfo > /dev/null; then
    echo "skipped: no vulkaninfo (Debian: vulkan-tools)"
    echo "0 passed, 0 failed"
    exit 0
fi
said=$(vulkaninfo 2>&1)
verdict vulkaninfo $? "$said"
device=$(printf '%s\n' "$said" | grep 'deviceName *= heddle')
verdict "vulkaninfo lists the device" $? "$said"
list=$(printf '%s\n' "$said" | grep 'VK_KHR_cooperative_matrix')
verdict "vulkaninfo lists cooperative matrices" $? "$said"

layers=""
if printf '%s\n' "$said" | grep -q VK_LAYER_KHRONOS_validation; then
    layers=VK_LAYER_KHRONOS_validation
else
    echo "no validation layer (Debian: vulkan-validationlayers): the tests run without it"
fi
for test in "$@"; do
    said=$(HEDDLE_TEST_LOADER=libvulkan.so.1 VK_INSTANCE_LAYERS=$layers "$test" 2>&1)
    verdict "$test" $? "$said"
    complaints=$(printf '%s\n' "$said" | grep -i 'validation \(error\|warning\)')
    [ -z "$complaints" ]
    verdict "$test: the validation layer" $? "$complaints"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
