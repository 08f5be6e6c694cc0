# SPDX-License-Identifier: MIT
#
# A program for each bench/*.c, compiled for this very machine as what it compares with is. They need
# OpenBLAS to compare with; `cmake --build --target bench` builds them all.
if(NOT TARGET heddle_static)
    return()
endif()
find_library(HEDDLE_OPENBLAS openblas PATH_SUFFIXES openblas-pthread openblas)
find_path(HEDDLE_OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES
    ${CMAKE_LIBRARY_ARCHITECTURE} ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread openblas)
if(NOT HEDDLE_OPENBLAS OR NOT HEDDLE_OPENBLAS_INCLUDE)
    message(STATUS "No OpenBLAS (Debian: libopenblas-dev): bench/ is not built")
    return()
endif()
include(CheckCCompilerFlag)
check_c_compiler_flag(-march=native HEDDLE_MARCH_NATIVE)

add_custom_target(bench)
file(GLOB programs CONFIGURE_DEPENDS bench/*.c)
# What bench/compute.c consists of besides itself: the loops that it compares with, and Vulkan for
# lavapipe, which it opens at run time.
set(compute_parts bench/compute_loops.c bench/vulkan_host.c)
list(TRANSFORM compute_parts PREPEND "${PROJECT_SOURCE_DIR}/")
list(REMOVE_ITEM programs ${compute_parts})
foreach(program IN LISTS programs)
    cmake_path(GET program STEM stem)
    add_executable(bench_${stem} "${program}")
    add_dependencies(bench bench_${stem})
    target_include_directories(bench_${stem} PRIVATE src "${HEDDLE_OPENBLAS_INCLUDE}")
    target_compile_definitions(bench_${stem} PRIVATE "HEDDLE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
    target_compile_options(bench_${stem} PRIVATE -O3 $<$<BOOL:${HEDDLE_MARCH_NATIVE}>:-march=native>)
    target_link_libraries(bench_${stem} PRIVATE heddle_static "${HEDDLE_OPENBLAS}" m)
endforeach()
find_package(Threads REQUIRED)
target_sources(bench_compute PRIVATE ${compute_parts})
target_link_libraries(bench_compute PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
