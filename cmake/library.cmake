# SPDX-License-Identifier: MIT
#
# libheddle, shared and static, and the command; what of them is installed and how it is found.
if(NOT TARGET heddle_runtime)
    return()
endif()
include(CMakePackageConfigHelpers)

foreach(kind IN ITEMS SHARED STATIC)
    string(TOLOWER "heddle_${kind}" library)
    add_library(${library} ${kind})
    add_library(heddle::${library} ALIAS ${library})
    target_link_libraries(${library} PRIVATE ${HEDDLE_STAGES} Threads::Threads m)
    target_include_directories(${library} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    set_target_properties(${library} PROPERTIES OUTPUT_NAME heddle
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
endforeach()
