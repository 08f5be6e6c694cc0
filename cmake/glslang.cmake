# SPDX-License-Identifier: MIT
#
# glslang, which libheddle runs from libexec/heddle beside itself: a link in the build tree; what is
# installed has a copy with the libraries that it needs, unless it is the system's own.
set(bundle OFF)
if(EXISTS "${HEDDLE_TOOLCHAIN}/usr/bin/glslang")
    set(bundle ON)
endif()
option(HEDDLE_BUNDLE_GLSLANG "Install a copy of glslang" ${bundle})

target_compile_definitions(heddle_front PRIVATE
    "HEDDLE_LIBEXEC=\"${CMAKE_INSTALL_FULL_LIBEXECDIR}/heddle\"")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/libexec/heddle")
file(CREATE_LINK "${HEDDLE_TOOLCHAIN}/bin/glslang" "${PROJECT_BINARY_DIR}/libexec/heddle/glslang"
    SYMBOLIC)
if(HEDDLE_BUNDLE_GLSLANG)
    install(CODE "execute_process(COMMAND sh \"${PROJECT_SOURCE_DIR}/tools/bundle-glslang.sh\"
        \"${HEDDLE_TOOLCHAIN}\"
        \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBEXECDIR}/heddle\"
        COMMAND_ERROR_IS_FATAL ANY)")
endif()
