# SPDX-License-Identifier: MIT
#
# heddle-mlir, the program that makes SPIR-V of MLIR (src/mlir), where MLIR of the same LLVM is
# installed, with a compiler of C++ for the one file that says what of it is used. Its C API is in
# archives; all else is in a shared library, or, in releases, in archives too.
if(HEDDLE_FUZZ) # by flags that the compiler of C++ need not know
    return()
endif()
heddle_llvm_ask(llvm_lib --libdir)
include(CheckLanguage)
check_language(CXX)
if(HEDDLE_LLVM_STATIC)
    file(GLOB HEDDLE_MLIR_LIBRARY "${llvm_lib}/libMLIR*.a")
    list(FILTER HEDDLE_MLIR_LIBRARY EXCLUDE REGEX "/libMLIR(CAPI|Test|[A-Za-z]*Execution)")
else()
    find_library(HEDDLE_MLIR_LIBRARY MLIR PATHS "${llvm_lib}" NO_DEFAULT_PATH)
endif()
set(archives "")
foreach(part IN ITEMS IR # and of the dialects that src/mlir/register.cpp names
        Affine Arith Async Bufferization Complex ControlFlow Func GPU Index Linalg LLVM Math MemRef
        NVGPU NVVM SCF Shape SPIRV Tensor TransformDialect UB Vector)
    find_library(HEDDLE_MLIR_${part} NAMES libMLIRCAPI${part}.a PATHS "${llvm_lib}" NO_DEFAULT_PATH
        NO_CMAKE_FIND_ROOT_PATH)
    list(APPEND archives "${HEDDLE_MLIR_${part}}")
endforeach()
if(NOT HEDDLE_MLIR_LIBRARY OR archives MATCHES "NOTFOUND" OR NOT CMAKE_CXX_COMPILER
   OR HEDDLE_LLVM_VERSION VERSION_LESS 22)
    message(STATUS "No MLIR 22 (Debian: libmlir-22-dev) or C++: kernels in MLIR will not be understood")
    return()
endif()

enable_language(CXX)
file(GLOB sources CONFIGURE_DEPENDS src/mlir/*.c src/mlir/*.cpp)
add_executable(heddle_mlir ${sources})
target_include_directories(heddle_mlir PRIVATE src)
target_compile_features(heddle_mlir PRIVATE cxx_std_17)
# As MLIR was compiled.
target_compile_options(heddle_mlir PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:-fno-rtti;-fno-sanitize=all>")
target_link_libraries(heddle_mlir PRIVATE heddle_base_archive heddle_llvm_c
    -Wl,--start-group ${archives} ${HEDDLE_MLIR_LIBRARY} -Wl,--end-group ${HEDDLE_LLVM_LIBRARY}
    stdc++ m)
set_target_properties(heddle_mlir PROPERTIES OUTPUT_NAME heddle-mlir LINKER_LANGUAGE C)
if(NOT HEDDLE_LLVM_STATIC)
    set_target_properties(heddle_mlir PROPERTIES BUILD_RPATH "${llvm_lib}"
        INSTALL_RPATH "${llvm_lib}")
endif()
file(CREATE_LINK ../../bin/heddle-mlir "${PROJECT_BINARY_DIR}/libexec/heddle/heddle-mlir" SYMBOLIC)
install(TARGETS heddle_mlir DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/heddle)
