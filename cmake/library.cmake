# SPDX-License-Identifier: MIT
#
# libheddle, shared and static, and the command; what of them is installed and how others find it.
if(NOT TARGET heddle_runtime)
    return()
endif()
include(CMakePackageConfigHelpers)

# From the stages' objects, so that the static library depends on nothing that is not installed.
set(objects "")
foreach(stage IN LISTS HEDDLE_STAGES)
    list(APPEND objects $<TARGET_OBJECTS:${stage}>)
endforeach()
# A release has no archive: it would need LLVM's.
set(kinds SHARED STATIC)
if(HEDDLE_LLVM_STATIC)
    set(kinds SHARED)
endif()
foreach(kind IN LISTS kinds)
    string(TOLOWER "heddle_${kind}" library)
    add_library(${library} ${kind} ${objects})
    target_link_libraries(${library} PRIVATE ${HEDDLE_LLVM_LIBRARY} Threads::Threads m)
    target_include_directories(${library} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    set_target_properties(${library} PROPERTIES OUTPUT_NAME heddle LINKER_LANGUAGE C
        VERSION ${PROJECT_VERSION} SOVERSION ${HEDDLE_SOVERSION})
endforeach()
set_target_properties(heddle_shared PROPERTIES EXPORT_NAME heddle
    LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/heddle.map")
target_link_options(heddle_shared PRIVATE
    "-Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/heddle.map")
if(NOT HEDDLE_SANITIZE)
    target_link_options(heddle_shared PRIVATE -Wl,-z,defs)
endif()
list(TRANSFORM kinds TOLOWER OUTPUT_VARIABLE libraries)
list(TRANSFORM libraries PREPEND heddle_)
install(TARGETS ${libraries} EXPORT heddle)
install(DIRECTORY include/heddle TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE TYPE DOC)

file(GLOB sources CONFIGURE_DEPENDS src/cli/*.c)
if(sources)
    add_executable(heddle_cli ${sources})
    target_include_directories(heddle_cli PRIVATE src)
    target_link_libraries(heddle_cli PRIVATE heddle_tester_archive heddle_random_archive
        heddle_spirv_archive heddle_base_archive heddle_shared Threads::Threads m)
    set_target_properties(heddle_cli PROPERTIES OUTPUT_NAME heddle
        INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    install(TARGETS heddle_cli)
    # The manual and completions, which the command writes itself.
    foreach(document IN ITEMS man=man/man1/heddle.1 zsh=zsh/site-functions/_heddle
            bash=bash-completion/completions/heddle fish=fish/vendor_completions.d/heddle.fish)
        string(REGEX REPLACE "=.*" "" form "${document}")
        string(REGEX REPLACE ".*=" "" place "${document}")
        cmake_path(GET place PARENT_PATH folder)
        file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/share/${folder}")
        add_custom_command(OUTPUT "${PROJECT_BINARY_DIR}/share/${place}"
            COMMAND heddle_cli help ${form} > "${PROJECT_BINARY_DIR}/share/${place}" VERBATIM)
        list(APPEND documents "${PROJECT_BINARY_DIR}/share/${place}")
        install(FILES "${PROJECT_BINARY_DIR}/share/${place}"
            DESTINATION "${CMAKE_INSTALL_DATADIR}/${folder}")
    endforeach()
    add_custom_target(heddle_documents ALL DEPENDS ${documents})
    # Beside the command in the build tree too, where it looks for them.
    file(GLOB profiles CONFIGURE_DEPENDS share/profiles/*)
    file(COPY ${profiles} DESTINATION "${PROJECT_BINARY_DIR}/share/heddle/profiles")
    install(FILES ${profiles} DESTINATION "${CMAKE_INSTALL_DATADIR}/heddle/profiles")
endif()

set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
install(EXPORT heddle NAMESPACE heddle:: FILE heddleTargets.cmake DESTINATION ${cmake_dir})
write_basic_package_version_file(heddleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/heddleConfig.cmake "${CMAKE_CURRENT_BINARY_DIR}/heddleConfigVersion.cmake"
    DESTINATION ${cmake_dir})

# The prefix is where the file lies, so that `cmake --install --prefix` and packagers may choose it.
set(pc_dir "/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH HEDDLE_PC_PREFIX "${pc_dir}" "/")
configure_file(cmake/heddle.pc.in heddle.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/heddle.pc"
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
