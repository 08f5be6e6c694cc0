# SPDX-License-Identifier: MIT
#
# heddle_llvm_c: LLVM's C API through its shared library. llvm-config rather than LLVMConfig.cmake, which
# wants the development files of everything LLVM itself was built with.
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
heddle_llvm_ask(HEDDLE_LLVM_LIBRARY --link-shared --libfiles)
message(STATUS "LLVM ${HEDDLE_LLVM_VERSION}: ${HEDDLE_LLVM_CONFIG}")

heddle_llvm_ask(llvm_targets --targets-built)

add_library(heddle_llvm_c INTERFACE)
target_include_directories(heddle_llvm_c SYSTEM INTERFACE "${llvm_include}")
target_link_libraries(heddle_llvm_c INTERFACE "${HEDDLE_LLVM_LIBRARY}")
# OpenCL C becomes SPIR-V by LLVM's own target.
if(llvm_targets MATCHES "SPIRV")
    target_compile_definitions(heddle_llvm_c INTERFACE HEDDLE_LLVM_SPIRV=1)
endif()
