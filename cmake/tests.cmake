# SPDX-License-Identifier: MIT
#
# The tests beyond the stages' own: programs of tests/*/ that see all stages, the golden files, the
# rules of style, the installation. Each prints `N passed, N failed`; tools/test.sh adds them up.
find_package(Python3 COMPONENTS Interpreter)
if(TARGET Python3::Interpreter) # scripts are run by this machine, whichever the programs are for
    set_property(TARGET Python3::Interpreter PROPERTY CROSSCOMPILING_EMULATOR "")
endif()
find_program(HEDDLE_FILECHECK NAMES FileCheck FileCheck-22 HINTS "${HEDDLE_LLVM_BINDIR}")

file(GLOB tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/*/*.c")
list(FILTER tests EXCLUDE REGEX "/tests/(cuda|fuzz|install|layer|lower|vulkan)/")
if(NOT TARGET heddle_vulkan)
    list(FILTER tests EXCLUDE REGEX "/tests/(device/(vulkan|ask)|tester/.*).c$")
endif()
foreach(test IN LISTS tests)
    cmake_path(GET test STEM stem)
    cmake_path(GET test PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    heddle_test(test_${folder}_${stem} "${test}" heddle_static)
    if(folder MATCHES "^(random|tester)$")
        target_link_libraries(test_${folder}_${stem} PRIVATE heddle_tester_archive
            heddle_random_archive heddle_static)
    endif()
endforeach()

# The family's tests with every kernel lowered for a target, tests/lower/PROFILE.json. One case in
# several will do: whole, each of them takes as long as it does unlowered, and more.
set(step ${HEDDLE_TEST_STEP})
math(EXPR HEDDLE_TEST_STEP "5 * ${step}")
set(lowered_tests none:khr none:tiny none:qcom none:mixed none:nv2 none:nv none:levels
        khr:qcom khr:nv2 khr:nv fits:khr fits:nv2
        fits:qcom fits:mixed narrow:khr narrow:qcom narrow:nv2 narrow:nv none:kernels
        fits:kernels khr:tensors narrow:tensors small:nv2 small:mixed small:tensors asked:nv2 asked:mixed asked:tensors
        integers:khr integers:tiny integers:nv2 integers:mixed integers:nv integers:levels integers:tensors
        stored:khr stored:tiny stored:qcom stored:mixed stored:nv2 stored:nv stored:levels stored:tensors
        words:khr words:tiny words:qcom words:mixed words:nv2 words:nv words:levels words:tensors words:kernels
        held:nv2 held:nv held:mixed half:nv2 half:nv half:mixed
        lines:loops lines:wait_queues mixture:tiny mixture:mixed shuffles:khr shuffles:nv shuffles:mixed slow:nv2 slow:nv slow:qcom slow:mixed
        tiles:khr tiles:nv2 tiles:nv tiles:nv_limits tiles:mixed tiles:qcom)
foreach(lowered IN LISTS lowered_tests)
    math(EXPR HEDDLE_TEST_FIRST "${HEDDLE_TEST_FIRST} + 1")
    math(EXPR other "${HEDDLE_TEST_FIRST} % ${HEDDLE_TEST_TARGETS}")
    if(other)
        continue()
    endif()
    string(REPLACE ":" ";" parts "${lowered}")
    list(GET parts 0 profile)
    list(GET parts 1 stem)
    set(name test_lower_${profile}_${stem})
    file(GLOB program "${PROJECT_SOURCE_DIR}/tests/matrix/${stem}.c"
        "${PROJECT_SOURCE_DIR}/tests/random/${stem}.c" "${PROJECT_SOURCE_DIR}/examples/${stem}.c")
    if(stem STREQUAL "kernels")
        math(EXPR HEDDLE_TEST_STEP "50 * ${step}")
    endif()
    heddle_test(${name} "${program}" heddle_random_archive heddle_static)
    target_sources(${name} PRIVATE tests/lower/lowered.c)
    target_compile_definitions(${name} PRIVATE "HEDDLE_LOWER=\"${profile}\""
        "EXAMPLES=\"${PROJECT_SOURCE_DIR}/examples\""
        $<$<IN_LIST:${profile},fits$<SEMICOLON>mixture$<SEMICOLON>small$<SEMICOLON>asked$<SEMICOLON>tiles>:HEDDLE_LOWER_TILES>)
    target_link_options(${name} PRIVATE -Wl,--wrap=heddle_kernel_new)
    # what is tested is what becomes of a kernel before it is compiled
    set_tests_properties(${name} PROPERTIES ENVIRONMENT HEDDLE_TIER=fast)
    if(profile MATCHES "^(words|held|half)$")
        target_compile_definitions(${name} PRIVATE HEDDLE_LOWER_WORDS)
        target_link_options(${name} PRIVATE -Wl,--wrap=heddle_buffer_new,--wrap=heddle_buffer_wrap)
    endif()
    math(EXPR HEDDLE_TEST_STEP "5 * ${step}")
endforeach()
set(HEDDLE_TEST_STEP ${step})

# And with --device vulkan in the cpu's place, or through the layer (:layer): on heddle's own driver, also where that lists less of
# matrices, or has them but bf16 and fp8 (:small), and on Mesa's lavapipe (Debian: mesa-vulkan-drivers), which has subgroups of 8 and none;
# there lowered for a target that lacks small numbers as well.
set(lavapipe /usr/share/vulkan/icd.d/lvp_icd.${CMAKE_SYSTEM_PROCESSOR}.json)
set(own "${PROJECT_BINARY_DIR}/share/vulkan/icd.d/heddle_icd.json")
math(EXPR HEDDLE_TEST_STEP "11 * ${step}")
set(elsewhere own:all:khr own:all:nv2 own:all:nv own:all:qcom own:all:mixed own:khr:nv2 own:khr:nv
    own:khr:qcom own:f16:khr own:f16:qcom own:none:khr own:none:nv2 own:none:qcom
    lavapipe:none:qcom lavapipe:none:nv lavapipe:none:nv2
    lavapipe:none:nv2:stored lavapipe:none:nv2:words lavapipe:none:nv:words
    own:none:khr:layer own:none:qcom:layer own:none:nv2:layer own:none:nv:layer own:khr:nv2:layer
    own:khr:qcom:layer own:f16:qcom:layer own:f16:khr:layer own:f16:khr:small:layer
    own:all:nv2:small:layer
    lavapipe:none:qcom:layer lavapipe:none:nv:layer lavapipe:none:nv2:layer)
if(NOT TARGET heddle_vulkan)
    set(elsewhere "")
elseif(HEDDLE_SANITIZE)    # what lavapipe leaves behind is its own affair
    set(lavapipe "${PROJECT_BINARY_DIR}/no-lavapipe.json")
    list(FILTER elsewhere EXCLUDE REGEX "^lavapipe|:layer$")
endif()
foreach(test IN LISTS elsewhere)
    math(EXPR HEDDLE_TEST_FIRST "${HEDDLE_TEST_FIRST} + 1")
    string(REPLACE ":" ";" parts "${test}")
    list(GET parts 0 driver)
    list(GET parts 1 matrices)
    list(GET parts 2 stem)
    set(name test_elsewhere_${driver}_${matrices}_${stem})
    if(test MATCHES ":layer$")
        string(REGEX REPLACE "^(.*):layer$" "test_layer_\\1" name "${test}")
        string(REPLACE ":" "_" name "${name}")
    elseif(test MATCHES ":(stored|words)$")
        set(name ${name}_${CMAKE_MATCH_1})
    endif()
    heddle_test(${name} "${PROJECT_SOURCE_DIR}/tests/matrix/${stem}.c" heddle_static)
    if(test MATCHES ":(stored|words)$")    # lowered before the driver sees it
        target_sources(${name} PRIVATE tests/lower/lowered.c)
        target_compile_definitions(${name} PRIVATE HEDDLE_LOWER_WORDS
            "HEDDLE_LOWER=\"${CMAKE_MATCH_1}\"")
        target_link_options(${name} PRIVATE
            -Wl,--wrap=heddle_kernel_new,--wrap=heddle_buffer_new,--wrap=heddle_buffer_wrap)
    endif()
    target_sources(${name} PRIVATE tests/lower/elsewhere.c)
    target_compile_definitions(${name} PRIVATE "HEDDLE_ELSEWHERE=\"${${driver}}\""
        "HEDDLE_ELSEWHERE_MATRICES=\"${matrices}\""
        $<$<STREQUAL:${driver},own>:HEDDLE_LOWER_TILES>
        $<$<STREQUAL:${driver},lavapipe>:HEDDLE_SMALL>)
    target_link_options(${name} PRIVATE -Wl,--wrap=heddle_device_new)
    add_dependencies(${name} heddle_vulkan)
    if(test MATCHES ":layer$")
        target_compile_definitions(${name} PRIVATE
            "HEDDLE_ELSEWHERE_LAYER=\"${PROJECT_BINARY_DIR}/share\""
            $<$<BOOL:$<FILTER:${parts},INCLUDE,small>>:HEDDLE_ELSEWHERE_SMALL>)
        add_dependencies(${name} heddle_layer)
    endif()
endforeach()
if(TARGET heddle_vulkan)
    target_compile_definitions(test_device_vulkan PRIVATE "HEDDLE_DRIVER=\"${own}\""
        "HEDDLE_LAVAPIPE=\"${lavapipe}\"")
    add_dependencies(test_device_vulkan heddle_vulkan)
    target_compile_definitions(test_device_ask PRIVATE "HEDDLE_DRIVER=\"${own}\"")
    target_include_directories(test_device_ask SYSTEM PRIVATE "${HEDDLE_VULKAN_INCLUDE}")
    add_dependencies(test_device_ask heddle_vulkan)
    target_compile_definitions(test_tester_faults PRIVATE "HEDDLE_DRIVER=\"${own}\""
        "HEDDLE_LAVAPIPE=\"${lavapipe}\"")
    add_dependencies(test_tester_faults heddle_vulkan)
endif()
# What HEDDLE_CACHE does they see in folders of their own, not in tools/test.sh's.
foreach(test IN ITEMS test_vulkan_cache test_device_ask test_layer layer_loader)
    if(TEST ${test})
        set_tests_properties(${test} PROPERTIES ENVIRONMENT_MODIFICATION HEDDLE_CACHE=unset:)
    endif()
endforeach()
set(HEDDLE_TEST_STEP ${step})
set(HEDDLE_TEST_FIRST 0)
# Tests on an NVIDIA GPU (`make test-cuda`), whole; without one they say that they were skipped.
foreach(of IN ITEMS matrix/khr matrix/tiny matrix/qcom matrix/mixed matrix/nv2 matrix/nv
        matrix/nv_limits
        matrix/loops ops/ops ops/precision ops/approximate opencl/std opencl/random
        opencl/print random/kernels)
    cmake_path(GET of STEM stem)
    set(name test_cuda_${stem})
    heddle_test(${name} "${PROJECT_SOURCE_DIR}/tests/${of}.c" heddle_random_archive heddle_static)
    target_sources(${name} PRIVATE tests/cuda/cuda.c)
    target_compile_definitions(${name} PRIVATE HEDDLE_TEST_CUDA HEDDLE_LOWER_TILES
        "SUBGROUP_SIZES=8, 16, 32, 32, 32")
    target_link_options(${name} PRIVATE -Wl,--wrap=heddle_device_new)
    if(NOT stem STREQUAL "approximate")
        target_compile_definitions(${name} PRIVATE HEDDLE_TEST_EXACT)
        target_link_options(${name} PRIVATE -Wl,--wrap=heddle_kernel_new)
    endif()
    set_tests_properties(${name} PROPERTIES LABELS cuda)
endforeach()

# The host's side of that device, on a libcuda that needs no GPU.
add_library(mock_cuda SHARED tests/cuda/mock.c)
target_include_directories(mock_cuda PRIVATE src include)
set_target_properties(mock_cuda PROPERTIES OUTPUT_NAME cuda SOVERSION 1
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/mock")
heddle_test(test_cuda_host "${PROJECT_SOURCE_DIR}/tests/cuda/host.c" heddle_static)
target_link_libraries(test_cuda_host PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(test_cuda_host PROPERTIES BUILD_RPATH "${PROJECT_BINARY_DIR}/test/mock")
add_dependencies(test_cuda_host mock_cuda)

target_sources(test_opencl_kernels PRIVATE bench/vulkan_host.c)
if(TARGET heddle_vulkan)
    target_include_directories(test_opencl_kernels SYSTEM PRIVATE "${HEDDLE_VULKAN_INCLUDE}")
    target_link_libraries(test_opencl_kernels PRIVATE ${CMAKE_DL_LIBS})
    target_compile_definitions(test_opencl_kernels PRIVATE
        "HEDDLE_MANIFEST=\"${PROJECT_BINARY_DIR}/share/vulkan/icd.d/heddle_icd.json\"")
    add_dependencies(test_opencl_kernels heddle_vulkan)
endif()

heddle_test(test_fuzz_mutations "${PROJECT_SOURCE_DIR}/tests/fuzz/mutations.c" heddle_static)
heddle_test(test_fuzz_operands "${PROJECT_SOURCE_DIR}/tests/fuzz/operands.c" heddle_static)
heddle_test(test_fuzz_opencl "${PROJECT_SOURCE_DIR}/tests/fuzz/opencl.c" heddle_static)
math(EXPR seconds "3 * ${HEDDLE_TEST_SECONDS}")
foreach(long IN ITEMS test_random_kernels test_fuzz_mutations)
    set_tests_properties(${long} PROPERTIES PROCESSORS 2 TIMEOUT ${seconds})
endforeach()
# libFuzzer's targets: SPIR-V read, SPIR-V the whole way, OpenCL C to LLVM IR.
if(HEDDLE_FUZZ)
    foreach(fuzz IN ITEMS spirv path opencl)
        add_executable(fuzz_${fuzz} tests/fuzz/${fuzz}.c)
        target_compile_definitions(fuzz_${fuzz} PRIVATE HEDDLE_FUZZER
            "HEDDLE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
        target_link_libraries(fuzz_${fuzz} PRIVATE heddle_static Threads::Threads m
            -fsanitize=fuzzer)
        target_include_directories(fuzz_${fuzz} PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                                        "${PROJECT_SOURCE_DIR}/include")
        set_target_properties(fuzz_${fuzz} PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
    endforeach()
endif()

# AArch64's under qemu-user, where tools/arm64.sh has made its folder.
if(NOT CMAKE_CROSSCOMPILING AND NOT HEDDLE_SANITIZE)
    add_test(NAME arm64 COMMAND tools/arm64.sh --short WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(arm64 PROPERTIES SKIP_RETURN_CODE 77 PROCESSORS 2 TIMEOUT 3600)
endif()

if(NOT Python3_Interpreter_FOUND)
    message(STATUS "No Python 3: the golden files and the style are not tested")
    return()
endif()
add_test(NAME style COMMAND Python3::Interpreter tools/check-style.py
    --compiler "${CMAKE_C_COMPILER}" --llvm "${HEDDLE_LLVM_CONFIG}"
    --headers "${HEDDLE_TOOLCHAIN}/usr/include"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
add_test(NAME messages COMMAND Python3::Interpreter tests/messages.py
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
add_test(NAME opencl_diagnostics COMMAND Python3::Interpreter tests/opencl/diagnostics.py
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
if(TARGET heddle_cli)
    add_test(NAME golden COMMAND Python3::Interpreter tools/golden.py
        --heddle $<TARGET_FILE:heddle_cli> --filecheck "${HEDDLE_FILECHECK}"
        --toolchain "${HEDDLE_TOOLCHAIN}" --scratch "${PROJECT_BINARY_DIR}/golden"
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    add_test(NAME options COMMAND Python3::Interpreter tests/cli/options.py
        $<TARGET_FILE:heddle_cli> WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    add_test(NAME examples COMMAND Python3::Interpreter tests/cli/examples.py
        $<TARGET_FILE:heddle_cli> WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(examples PROPERTIES TIMEOUT ${seconds})
    set_tests_properties(options PROPERTIES PROCESSORS 2 TIMEOUT ${seconds})
    add_test(NAME lower_profiles COMMAND Python3::Interpreter tests/lower/profiles.py
        --heddle $<TARGET_FILE:heddle_cli> --spirv-val "${HEDDLE_TOOLCHAIN}/bin/spirv-val"
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(lower_profiles PROPERTIES PROCESSORS 2 TIMEOUT ${seconds})
    add_test(NAME cuda_ptxas COMMAND Python3::Interpreter tests/cuda/ptxas.py
        --heddle $<TARGET_FILE:heddle_cli> --step ${HEDDLE_TEST_STEP}
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(cuda_ptxas PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${seconds})
    add_test(NAME charts COMMAND Python3::Interpreter tests/documents/charts.py
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    add_test(NAME documents COMMAND Python3::Interpreter tests/documents/run.py
        $<TARGET_FILE:heddle_cli> WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    if(TARGET heddle_vulkan AND NOT HEDDLE_SANITIZE)
        add_test(NAME documents_commands COMMAND Python3::Interpreter tests/documents/commands.py
            $<TARGET_FILE:heddle_cli> ${own} "${PROJECT_BINARY_DIR}"
            WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
        set_tests_properties(documents_commands PROPERTIES TIMEOUT ${seconds})
    endif()
    set_tests_properties(golden PROPERTIES PROCESSORS 2 TIMEOUT ${seconds})
    add_test(NAME extensions COMMAND Python3::Interpreter tests/extensions.py
        --heddle $<TARGET_FILE:heddle_cli> WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
endif()
# Where this build is itself one of those that the test makes, it would make itself once more.
if(NOT HEDDLE_SANITIZE AND HEDDLE_EXTRAS)
    add_test(NAME compilers COMMAND Python3::Interpreter tests/compilers.py "${PROJECT_BINARY_DIR}"
        "${HEDDLE_LLVM_CONFIG}" "${HEDDLE_TOOLCHAIN}" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(compilers PROPERTIES PROCESSORS 2 TIMEOUT 1800)    # two builds
endif()
if(TARGET heddle_shared AND NOT HEDDLE_SANITIZE)
    add_test(NAME abi COMMAND Python3::Interpreter tests/abi/run.py --compiler "${CMAKE_C_COMPILER}"
        --library $<TARGET_FILE:heddle_shared> WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    add_test(NAME install COMMAND sh "${PROJECT_SOURCE_DIR}/tests/install/run.sh"
        "${CMAKE_COMMAND}" "${CMAKE_C_COMPILER}" "${PROJECT_BINARY_DIR}")
    add_test(NAME deb COMMAND sh "${PROJECT_SOURCE_DIR}/tests/package/deb.sh"
        "${PROJECT_BINARY_DIR}/deb-test" "${HEDDLE_TOOLCHAIN}")
    set_tests_properties(deb PROPERTIES PROCESSORS 2 TIMEOUT 1800)    # a build
endif()
# The Python package by the first Python that has NumPy and pytest; Debian's where another is in PATH.
foreach(python IN ITEMS "${Python3_EXECUTABLE}" /usr/bin/python3)
    execute_process(COMMAND "${python}" -c "import numpy, pytest" RESULT_VARIABLE lacks
        OUTPUT_QUIET ERROR_QUIET)
    if(lacks EQUAL 0)
        set(HEDDLE_PYTHON "${python}")
        break()
    endif()
endforeach()
if(TARGET heddle_shared AND HEDDLE_PYTHON AND NOT HEDDLE_SANITIZE)
    add_test(NAME python COMMAND "${HEDDLE_PYTHON}" "${PROJECT_SOURCE_DIR}/tests/python/run.py"
        "${PROJECT_BINARY_DIR}")
    set_tests_properties(python PROPERTIES TIMEOUT ${HEDDLE_TEST_SECONDS})
    add_test(NAME cuda_python COMMAND "${HEDDLE_PYTHON}" "${PROJECT_SOURCE_DIR}/tests/python/gpu.py"
        "${PROJECT_BINARY_DIR}")
    set_tests_properties(cuda_python PROPERTIES LABELS cuda)
endif()
