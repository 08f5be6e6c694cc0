# SPDX-License-Identifier: MIT
#
# heddle_stage(NAME FOLDERS USES): OBJECT library heddle_NAME from src/FOLDER/*.c, and a test program
# test_NAME_FILE for each src/FOLDER/test/FILE.c, linked with that stage and the stages in USES only.
# A stage without sources is left out. HEDDLE_STAGES collects the targets. Tests link archives of the
# same objects, so that one pulls in no more than what it tests.
set(HEDDLE_STAGES "")

# MPFR is the oracle of some tests; they do without where it is not installed.
find_library(HEDDLE_MPFR mpfr)
find_library(HEDDLE_GMP gmp)
find_path(HEDDLE_MPFR_INCLUDE mpfr.h)

# Under a sanitizer tests take ten times as long: of many cases they take each HEDDLE_TEST_STEP-th,
# and have three times as long for them.
set(HEDDLE_TEST_STEP 1)
set(HEDDLE_TEST_SECONDS 300)
if(HEDDLE_SANITIZE)
    set(HEDDLE_TEST_SECONDS 900)
endif()
if(HEDDLE_SANITIZE MATCHES "thread")
    set(HEDDLE_TEST_STEP 13)
elseif(HEDDLE_SANITIZE)
    set(HEDDLE_TEST_STEP 4)
endif()

function(heddle_test name source)
    add_executable(${name} "${source}")
    target_link_libraries(${name} PRIVATE ${ARGN} Threads::Threads m)
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                               "${PROJECT_SOURCE_DIR}/include")
    target_compile_definitions(${name} PRIVATE
        "HEDDLE_TEST_STEP=${HEDDLE_TEST_STEP}"
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

function(heddle_stage name folder uses)
    set(targets "")
    foreach(stage IN LISTS uses)
        if(TARGET heddle_${stage})
            list(PREPEND targets heddle_${stage}_archive)
        endif()
    endforeach()
    set(sources "")
    foreach(part IN LISTS folder)
        file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${part}/*.c")
        list(APPEND sources ${found})
    endforeach()
    list(GET folder 0 folder)
    if(sources)
        add_library(heddle_${name} OBJECT ${sources})
        target_include_directories(heddle_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src"
                                                         "${PROJECT_SOURCE_DIR}/include")
        add_library(heddle_${name}_archive STATIC $<TARGET_OBJECTS:heddle_${name}>)
        set_target_properties(heddle_${name}_archive PROPERTIES
            LINKER_LANGUAGE C ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
        list(PREPEND targets heddle_${name}_archive)
        set(HEDDLE_STAGES ${HEDDLE_STAGES} heddle_${name} PARENT_SCOPE)
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
