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
