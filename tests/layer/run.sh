#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     run.sh BUILD MISUSE TEST...
#
# Programs through the loader and the layer, on heddle's own driver without matrices and on lavapipe:
# the driver's tests pass as they do without the layer, the lists are as the variable says, and the
# Khronos validation layer above and below has nothing to say. What is not installed (Debian:
# libvulkan1, vulkan-tools, mesa-vulkan-drivers, vulkan-validationlayers) is skipped.
set -u
build=$1
misuse=$2
shift 2
own=$build/share/vulkan/icd.d/heddle_icd.json
lavapipe=/usr/share/vulkan/icd.d/lvp_icd.$(uname -m).json
validation=VK_LAYER_KHRONOS_validation
layer=VK_LAYER_HEDDLE_cooperative_matrix
passed=0 failed=0
unset VK_INSTANCE_LAYERS HEDDLE_LAYER HEDDLE_LAYER_EXTENSIONS
export HEDDLE_MATRICES=none

# verdict NAME STATUS OUTPUT
verdict() {
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED: %s\n%s\n' "$1" "$3" | head -n 60
    fi
}
with_driver() { # DRIVER COMMAND...: through the layer
    driver=$1
    shift
    VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver "$build/bin/heddle" vulkan --layer -- "$@"
}

if ! command -v vulkaninfo > /dev/null; then
    echo "skipped: no vulkaninfo (Debian: vulkan-tools)"
    echo "0 passed, 0 failed"
    exit 0
fi
count() { grep -cE '^[[:space:]]*VK_(KHR_cooperative_matrix |NV_cooperative_matrix2 |QCOM_cooperative_matrix_conversion|QCOM_shader_multiple_wait|KHR_shader_bfloat16|EXT_shader_float8)'; }
for driver in "$own" "$lavapipe"; do
    [ -r "$driver" ] || continue
    types=0
    [ "$driver" = "$lavapipe" ] || types=2 # heddle's own has bf16 and 8-bit floats
    said=$(VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver vulkaninfo 2> /dev/null)
    n=$(printf '%s\n' "$said" | count)
    [ "$n" = $types ]
    verdict "$driver: bare" $? "$n extensions of the family"
    said=$(with_driver "$driver" vulkaninfo 2> /dev/null)
    n=$(printf '%s\n' "$said" | count)
    [ "$n" = 6 ]
    verdict "$driver: through the layer" $? "$n extensions of the family, not 6"
    said=$(HEDDLE_LAYER_EXTENSIONS=-VK_NV_cooperative_matrix2 with_driver "$driver" vulkaninfo \
        2> /dev/null)
    n=$(printf '%s\n' "$said" | count)
    [ "$n" = 5 ]
    verdict "$driver: one hidden" $? "$n extensions of the family, not 5"
done
if [ -r "$lavapipe" ]; then # what brings the layer brings no driver
    said=$(env -u VK_DRIVER_FILES -u VK_ICD_FILENAMES "$build/bin/heddle" vulkan --layer -- \
        vulkaninfo --summary 2> /dev/null | grep deviceName)
    printf '%s\n' "$said" | grep -q llvmpipe && ! printf '%s\n' "$said" | grep -qi heddle
    verdict "the system's drivers" $? "$said"
fi
said=$(HEDDLE_LAYER_EXTENSIONS=VK_NO with_driver "$own" vulkaninfo 2>&1 > /dev/null)
printf '%s\n' "$said" | grep -q "HEDDLE_LAYER_EXTENSIONS: 'VK_NO'"
verdict "a wrong variable is told of" $? "$said"
ldd "$build/lib/libVkLayer_heddle_cooperative_matrix.so" | grep -q LLVM
[ $? = 1 ]
verdict "no LLVM in the layer" $? ""

below="" above=""
if vulkaninfo 2> /dev/null | grep -q $validation; then
    below=$validation
    above=$validation:$layer
else
    echo "no validation layer (Debian: vulkan-validationlayers): the tests run without it"
fi
# complains NAME OUTPUT
complains() {
    complaints=$(printf '%s\n' "$2" | grep -i 'validation \(error\|warning\)')
    [ -z "$complaints" ]
    verdict "$1: the validation layer" $? "$complaints"
}
# What holds through any loader: the others call the driver as no loader does.
cases='every_member_of_every_features_struct_is_written
    every_member_of_every_properties_struct_is_written matrix_properties_by_scope_and_flags
    destroying_nothing wrong_shaders_are_explained too_many_push_constants a_lost_device_says_why
    a_stray_pointer_loses_the_device beyond_a_buffer a_lost_device_is_alone memory_that_is_gone
    a_lost_device_is_at_rest signals_are_the_programs empty_descriptors'
for case in $cases; do
    said=$(HEDDLE_TEST_LOADER=libvulkan.so.1 with_driver "$own" "$misuse" "$case" 2>&1)
    verdict "misuse: $case" $? "$said"
done
for test in "$@"; do
    said=$(HEDDLE_TEST_LOADER=libvulkan.so.1 VK_INSTANCE_LAYERS=$below with_driver "$own" "$test" 2>&1)
    verdict "$test: above the validation layer" $? "$said"
    complains "$test" "$said"
    [ -n "$above" ] || continue
    [ "${test##*/}" != test_layer ] || continue # which turns the layer on itself
    said=$(HEDDLE_TEST_LOADER=libvulkan.so.1 VK_INSTANCE_LAYERS=$above \
        VK_LAYER_PATH=$build/test/explicit_layer.d:/usr/share/vulkan/explicit_layer.d \
        VK_DRIVER_FILES=$own VK_ICD_FILENAMES=$own "$test" 2>&1)
    verdict "$test: below the validation layer" $? "$said"
    complains "$test" "$said"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
