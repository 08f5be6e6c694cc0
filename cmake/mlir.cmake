# SPDX-License-Identifier: MIT
#
# heddle-mlir, the program that makes SPIR-V of MLIR (src/mlir), where MLIR of the same LLVM is
# installed: its C API in archives, all else in the shared library.
file(GLOB sources CONFIGURE_DEPENDS src/mlir/*.c)
heddle_llvm_ask(llvm_lib --libdir)
find_library(HEDDLE_MLIR_LIBRARY MLIR PATHS "${llvm_lib}" NO_DEFAULT_PATH)
set(archives "")
foreach(part IN ITEMS IR RegisterEverything GPU)
    find_library(HEDDLE_MLIR_${part} MLIRCAPI${part} PATHS "${llvm_lib}" NO_DEFAULT_PATH)
    list(APPEND archives "${HEDDLE_MLIR_${part}}")
endforeach()
if(HEDDLE_LLVM_STATIC)
    message(STATUS "MLIR cannot be linked in: kernels in MLIR will not be understood")
    return()
endif()
if(NOT HEDDLE_MLIR_LIBRARY OR archives MATCHES "NOTFOUND" OR HEDDLE_LLVM_VERSION VERSION_LESS 22)
    message(STATUS "No MLIR 22 (Debian: libmlir-22-dev): kernels in MLIR will not be understood")
    return()
endif()

add_executable(heddle_mlir ${sources})
target_include_directories(heddle_mlir PRIVATE src)
target_link_libraries(heddle_mlir PRIVATE heddle_base_archive heddle_llvm_c ${archives}
    "${HEDDLE_MLIR_LIBRARY}" "${HEDDLE_LLVM_LIBRARY}" stdc++ m)
set_target_properties(heddle_mlir PROPERTIES OUTPUT_NAME heddle-mlir
    BUILD_RPATH "${llvm_lib}" INSTALL_RPATH "${llvm_lib}")
file(CREATE_LINK ../../bin/heddle-mlir "${PROJECT_BINARY_DIR}/libexec/heddle/heddle-mlir" SYMBOLIC)
install(TARGETS heddle_mlir DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/heddle)
