# SPDX-License-Identifier: MIT
#
# find_package(heddle): heddle::heddle is the shared library, heddle::heddle_static the static one.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/heddleTargets.cmake")
