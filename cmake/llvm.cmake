# SPDX-License-Identifier: MIT
#
# heddle_llvm_c: LLVM's C API, through its shared library or from its archives. llvm-config rather than
# LLVMConfig.cmake, which wants the development files of everything LLVM itself was built with.
option(HEDDLE_LLVM_STATIC
    "Link LLVM, zlib, zstd and the C++ library into what needs them, for releases" OFF)
set(HEDDLE_LLVM_CONFIG "" CACHE FILEPATH "llvm-config of the LLVM to use (19 or later)")
if(NOT HEDDLE_LLVM_CONFIG)
    find_program(HEDDLE_LLVM_CONFIG_FOUND NAMES
        llvm-config-22 llvm-config-23 llvm-config-21 llvm-config-20 llvm-config-19 llvm-config)
    set(HEDDLE_LLVM_CONFIG "${HEDDLE_LLVM_CONFIG_FOUND}")
endif()
if(NOT HEDDLE_LLVM_CONFIG)
    message(FATAL_ERROR "LLVM 19 or later is needed (Debian: llvm-22-dev); "
                        "set HEDDLE_LLVM_CONFIG to its llvm-config")
endif()

function(heddle_llvm_ask result)
    execute_process(COMMAND "${HEDDLE_LLVM_CONFIG}" ${ARGN}
        OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set(${result} "${answer}" PARENT_SCOPE)
endfunction()

heddle_llvm_ask(HEDDLE_LLVM_VERSION --version)
if(HEDDLE_LLVM_VERSION VERSION_LESS 19)
    message(FATAL_ERROR "LLVM ${HEDDLE_LLVM_VERSION} (${HEDDLE_LLVM_CONFIG}) is too old: 19 or later")
endif()
heddle_llvm_ask(llvm_include --includedir)
heddle_llvm_ask(HEDDLE_LLVM_BINDIR --bindir)
if(HEDDLE_LLVM_STATIC)
    # All archives: the linker takes of them what is used, so targets that heddle does not initialise
    # stay outside. What else LLVM was built with (z3, libxml2, curses) is used by none of that.
    heddle_llvm_ask(archives --link-static --libfiles all)
    separate_arguments(archives)
    list(FILTER archives EXCLUDE REGEX "/libPolly") # packaged apart, and not used
    find_library(HEDDLE_ZLIB libz.a REQUIRED)
    find_library(HEDDLE_ZSTD libzstd.a REQUIRED)
    set(HEDDLE_LLVM_LIBRARY -Wl,--start-group ${archives} -Wl,--end-group
        -Wl,-Bstatic -lstdc++ -Wl,-Bdynamic "${HEDDLE_ZLIB}" "${HEDDLE_ZSTD}" -static-libgcc
        -ldl -lrt -lpthread m)
    if(CMAKE_SYSROOT)
        # GCC would look for start files and libraries in its own system first.
        foreach(folder IN ITEMS usr/lib lib)
            add_link_options("-B${CMAKE_SYSROOT}/${folder}/${CMAKE_LIBRARY_ARCHITECTURE}/"
                             "-L${CMAKE_SYSROOT}/${folder}/${CMAKE_LIBRARY_ARCHITECTURE}")
        endforeach()
        # Archives made for a newer C library than the one there.
        add_library(heddle_newer_libc OBJECT cmake/newer_libc.c)
        list(APPEND HEDDLE_LLVM_LIBRARY $<TARGET_OBJECTS:heddle_newer_libc>)
    endif()
    add_compile_options(-ffunction-sections -fdata-sections)
    add_link_options(-Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,-O1 -Wl,-s)
    # The usual linker takes minutes and gigabytes for it.
    find_program(HEDDLE_LLD NAMES ld.lld-22 ld.lld)
    if(HEDDLE_LLD)
        add_link_options("-B${CMAKE_BINARY_DIR}/linker" -fuse-ld=lld)
        file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/linker")
        file(CREATE_LINK "${HEDDLE_LLD}" "${CMAKE_BINARY_DIR}/linker/ld.lld" SYMBOLIC)
    endif()
else()
    heddle_llvm_ask(HEDDLE_LLVM_LIBRARY --link-shared --libfiles)
endif()
message(STATUS "LLVM ${HEDDLE_LLVM_VERSION}: ${HEDDLE_LLVM_CONFIG}")

heddle_llvm_ask(llvm_targets --targets-built)

add_library(heddle_llvm_c INTERFACE)
target_include_directories(heddle_llvm_c SYSTEM INTERFACE "${llvm_include}")
target_link_libraries(heddle_llvm_c INTERFACE "${HEDDLE_LLVM_LIBRARY}")
# OpenCL C becomes SPIR-V by LLVM's own target.
if(llvm_targets MATCHES "SPIRV")
    target_compile_definitions(heddle_llvm_c INTERFACE HEDDLE_LLVM_SPIRV=1)
endif()
# Code for AArch64 can be looked at on any machine; a release has the code generator of its own alone.
if(llvm_targets MATCHES "AArch64" AND NOT HEDDLE_LLVM_STATIC)
    target_compile_definitions(heddle_llvm_c INTERFACE HEDDLE_LLVM_AARCH64=1)
endif()
