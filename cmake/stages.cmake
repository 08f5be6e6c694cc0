# SPDX-License-Identifier: MIT
#
# heddle_stages(FILE): of each stage that the file lists, heddle_stage(FOLDER USES). Folders that are
# no part of the library (the driver, programs) have their own rules in vulkan.cmake, mlir.cmake and
# library.cmake.
#
# heddle_stage(FOLDER USES): OBJECT library heddle_NAME from the sources in src/FOLDER and in the
# folders in it that are no stages themselves, and a test program test_NAME_FILE for each
# src/FOLDER/test/FILE.c, linked with that stage, the stages in USES and those that they use in turn,
# and no others. NAME is FOLDER with underscores. A stage without sources is left out. HEDDLE_STAGES
# collects the targets that libheddle consists of: the stages random and tester are the command's.
# Tests link archives of the same objects, so that one pulls in no more than what it tests. The stage
# llvm and those that use it see LLVM.
# The stages vk and vkdevice see Vulkan's headers; where there are none, vkdevice has absent.c alone.
set(HEDDLE_STAGES "")

set(HEDDLE_VULKAN_INCLUDE "${HEDDLE_TOOLCHAIN}/usr/include")
if(NOT EXISTS "${HEDDLE_VULKAN_INCLUDE}/vulkan/vk_icd.h")
    set(HEDDLE_VULKAN_INCLUDE "")
endif()

# MPFR is the oracle of some tests; they do without where it is not installed.
find_library(HEDDLE_MPFR mpfr)
find_library(HEDDLE_GMP gmp)
find_path(HEDDLE_MPFR_INCLUDE mpfr.h)

# Under a sanitizer tests take ten times as long: of many cases they take each HEDDLE_TEST_STEP-th,
# and have three times as long for them. Under an emulator they have all the time they take.
set(HEDDLE_TEST_STEP 1 CACHE STRING "Tests of many cases take one of so many")
set(HEDDLE_TEST_TARGETS 1 CACHE STRING "Of a test's programs for many targets one of so many is made")
set(HEDDLE_TEST_FIRST 0)    # which of them is a program's first: those of one source take others each
set(HEDDLE_TEST_SECONDS 600)
if(HEDDLE_SANITIZE)
    set(HEDDLE_TEST_SECONDS 900)
elseif(CMAKE_CROSSCOMPILING_EMULATOR)
    set(HEDDLE_TEST_SECONDS 7200)
endif()
if(HEDDLE_SANITIZE MATCHES "thread")
    set(HEDDLE_TEST_STEP 13)
elseif(HEDDLE_SANITIZE)
    set(HEDDLE_TEST_STEP 4)
endif()

# Programs that are not installed: the usual linker reads all of LLVM for each of them, which is most
# of a build; gold, part of Debian's binutils, and lld take a tenth of that.
include(CheckLinkerFlag)
set(HEDDLE_QUICK_LINK "")
foreach(linker IN ITEMS lld gold)
    check_linker_flag(C -fuse-ld=${linker} HEDDLE_LINKS_BY_${linker})
    if(HEDDLE_LINKS_BY_${linker} AND NOT HEDDLE_QUICK_LINK)
        set(HEDDLE_QUICK_LINK -fuse-ld=${linker})
    endif()
endforeach()

# What tests spend their time in is heddle, so their own code is not worth compiling for long.
set(HEDDLE_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)

function(heddle_test name source)
    add_executable(${name} "${source}")
    target_link_libraries(${name} PRIVATE ${ARGN} Threads::Threads m)
    target_link_options(${name} PRIVATE ${HEDDLE_QUICK_LINK})
    target_compile_options(${name} PRIVATE ${HEDDLE_TEST_OPTIONS})
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                               "${PROJECT_SOURCE_DIR}/include")
    target_compile_definitions(${name} PRIVATE
        "HEDDLE_TEST_STEP=${HEDDLE_TEST_STEP}" "HEDDLE_TEST_FIRST=${HEDDLE_TEST_FIRST}"
        "HEDDLE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"" "HEDDLE_TOOLCHAIN=\"${HEDDLE_TOOLCHAIN}\""
        "HEDDLE_CLANG=\"${HEDDLE_LLVM_BINDIR}/clang\"")
    if(HEDDLE_MPFR AND HEDDLE_GMP AND HEDDLE_MPFR_INCLUDE)
        target_compile_definitions(${name} PRIVATE HEDDLE_HAVE_MPFR=1)
        target_link_libraries(${name} PRIVATE ${HEDDLE_MPFR} ${HEDDLE_GMP})
    endif()
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES TIMEOUT ${HEDDLE_TEST_SECONDS})
endfunction()

function(heddle_stage folder uses)
    string(REPLACE "/" "_" name "${folder}")
    set(below ${uses})
    foreach(used IN LISTS uses)
        list(APPEND below ${HEDDLE_BELOW_${used}})
    endforeach()
    set(HEDDLE_BELOW_${folder} ${below} PARENT_SCOPE)
    list(TRANSFORM below REPLACE "/" "_")
    set(targets "")
    foreach(stage IN LISTS HEDDLE_STAGES)
        string(REGEX REPLACE "^heddle_" "" stage "${stage}")
        if(stage IN_LIST below)
            list(PREPEND targets heddle_${stage}_archive)
        endif()
    endforeach()
    set(here "${PROJECT_SOURCE_DIR}/src/${folder}")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${here}/*.c")
    list(FILTER sources EXCLUDE REGEX "^${here}/(.*/)?test/")
    if(folder STREQUAL "vkdevice")
        if(HEDDLE_VULKAN_INCLUDE)
            list(FILTER sources EXCLUDE REGEX "/absent.c$")
        else()
            list(FILTER sources INCLUDE REGEX "/absent.c$")
        endif()
    elseif(folder STREQUAL "vk" AND NOT HEDDLE_VULKAN_INCLUDE)
        set(sources "")
    endif()
    foreach(other IN LISTS HEDDLE_FOLDERS)
        if(other MATCHES "^${folder}/")
            list(FILTER sources EXCLUDE REGEX "/src/${other}/")
        endif()
    endforeach()
    if(sources)
        add_library(heddle_${name} OBJECT ${sources})
        target_include_directories(heddle_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src"
                                                         "${PROJECT_SOURCE_DIR}/include")
        add_library(heddle_${name}_archive STATIC $<TARGET_OBJECTS:heddle_${name}>)
        set_target_properties(heddle_${name}_archive PROPERTIES
            LINKER_LANGUAGE C ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
        if(folder MATCHES "^vk(device)?$" AND HEDDLE_VULKAN_INCLUDE)
            target_include_directories(heddle_${name} SYSTEM PRIVATE "${HEDDLE_VULKAN_INCLUDE}")
        endif()
        if("llvm" IN_LIST uses OR folder STREQUAL "llvm")
            target_link_libraries(heddle_${name} PUBLIC heddle_llvm_c)
            target_link_libraries(heddle_${name}_archive INTERFACE heddle_llvm_c)
        endif()
        list(PREPEND targets heddle_${name}_archive)
        if(NOT folder MATCHES "^(random|tester)$")
            set(HEDDLE_STAGES ${HEDDLE_STAGES} heddle_${name} PARENT_SCOPE)
        endif()
    endif()
    if(NOT BUILD_TESTING)
        return()
    endif()
    file(GLOB tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/test/*.c")
    foreach(test IN LISTS tests)
        cmake_path(GET test STEM stem)
        heddle_test(test_${name}_${stem} "${test}" ${targets})
    endforeach()
endfunction()

macro(heddle_stages file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${file}")
    file(STRINGS "${PROJECT_SOURCE_DIR}/${file}" rows REGEX "^[a-z]")
    string(REGEX REPLACE " [^;]*" "" HEDDLE_FOLDERS "${rows}")
    foreach(row IN LISTS rows)
        separate_arguments(row)
        list(POP_FRONT row folder)
        if(NOT folder MATCHES "^(vulkan|layer|mlir|cli)$")
            heddle_stage("${folder}" "${row}")
        endif()
    endforeach()
endmacro()
