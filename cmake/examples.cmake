# SPDX-License-Identifier: MIT
#
# A program example_FILE for each examples/FILE.c, against the public library only.
if(NOT TARGET heddle_shared)
    return()
endif()
file(GLOB programs CONFIGURE_DEPENDS examples/*.c)
foreach(program IN LISTS programs)
    cmake_path(GET program STEM stem)
    add_executable(example_${stem} "${program}")
    target_compile_definitions(example_${stem} PRIVATE
        "EXAMPLES=\"${PROJECT_SOURCE_DIR}/examples\"")
    target_link_libraries(example_${stem} PRIVATE heddle_shared ${CMAKE_DL_LIBS} m)
    target_link_options(example_${stem} PRIVATE ${HEDDLE_QUICK_LINK})
endforeach()

# The demonstration, as `make run` runs it: a program fails if one of its results is wrong.
if(BUILD_TESTING AND NOT HEDDLE_SANITIZE)
    foreach(demonstration IN ITEMS gemm conversions tensors mlir opencl opencl_matrices)
        add_test(NAME example_${demonstration} COMMAND example_${demonstration}
            WORKING_DIRECTORY "${PROJECT_BINARY_DIR}")
        set_tests_properties(example_${demonstration} PROPERTIES TIMEOUT ${HEDDLE_TEST_SECONDS})
    endforeach()
endif()
