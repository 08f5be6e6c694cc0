# SPDX-License-Identifier: MIT
#
# The version is in the file VERSION. The header says it too, for programs that ask when they are
# compiled, and so does debian/changelog. While the major version is 0 a minor one may be incompatible, so both are in the soname.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS VERSION include/heddle/heddle.h
    debian/changelog)
file(STRINGS include/heddle/heddle.h defined REGEX "define HEDDLE_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX MATCHALL "[0-9]+" defined "${defined}")
list(JOIN defined "." defined)
if(NOT defined STREQUAL PROJECT_VERSION)
    message(FATAL_ERROR "include/heddle/heddle.h says ${defined}, VERSION ${PROJECT_VERSION}")
endif()
file(STRINGS debian/changelog packaged LIMIT_COUNT 1)
if(NOT packaged MATCHES "^heddle \\(${PROJECT_VERSION}\\)")
    message(FATAL_ERROR "debian/changelog says ${packaged}, VERSION ${PROJECT_VERSION}")
endif()
set(HEDDLE_SOVERSION ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(HEDDLE_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()
