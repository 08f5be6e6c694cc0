# SPDX-License-Identifier: MIT
#
# libvulkan_heddle.so and its manifest, where the toolchain has the headers. Only the loader's doors
# are exported, so that a program may use another libheddle or LLVM beside it.
if(NOT HEDDLE_VULKAN_INCLUDE)
    message(STATUS "No Vulkan headers in ${HEDDLE_TOOLCHAIN}: the Vulkan driver is not built")
    return()
endif()
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/vulkan/*.c")
set(objects "")
foreach(stage IN LISTS HEDDLE_STAGES)
    list(APPEND objects $<TARGET_OBJECTS:${stage}>)
endforeach()
add_library(heddle_vulkan MODULE ${sources} ${objects})
target_include_directories(heddle_vulkan PRIVATE src include)
target_include_directories(heddle_vulkan SYSTEM PRIVATE "${HEDDLE_VULKAN_INCLUDE}")
target_link_libraries(heddle_vulkan PRIVATE ${HEDDLE_LLVM_LIBRARY} Threads::Threads m)
set_target_properties(heddle_vulkan PROPERTIES OUTPUT_NAME vulkan_heddle LINKER_LANGUAGE C)
# Never unloaded: a handler of signals may still lead to it.
target_link_options(heddle_vulkan PRIVATE -Wl,-Bsymbolic -Wl,-z,nodelete
    "-Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/vulkan.map")
set_target_properties(heddle_vulkan PROPERTIES
    LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/vulkan.map")

# The loader looks for the library beside the manifest: one for the build tree, one to install.
set(icd_dir "${CMAKE_INSTALL_DATADIR}/vulkan/icd.d")
set(HEDDLE_ICD_LIBRARY "../../../lib/libvulkan_heddle.so")
configure_file(cmake/heddle_icd.json.in "${PROJECT_BINARY_DIR}/share/vulkan/icd.d/heddle_icd.json")
file(RELATIVE_PATH HEDDLE_ICD_LIBRARY "/${icd_dir}"
    "/${CMAKE_INSTALL_LIBDIR}/libvulkan_heddle.so")
configure_file(cmake/heddle_icd.json.in install/heddle_icd.json)
install(TARGETS heddle_vulkan LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES "${PROJECT_BINARY_DIR}/install/heddle_icd.json" DESTINATION ${icd_dir})

if(NOT BUILD_TESTING)
    return()
endif()
file(GLOB tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/vulkan/*.c")
foreach(test IN LISTS tests)
    cmake_path(GET test STEM stem)
    heddle_test(test_vulkan_${stem} "${test}" heddle_static ${CMAKE_DL_LIBS})
    add_dependencies(test_vulkan_${stem} heddle_vulkan)
    target_include_directories(test_vulkan_${stem} SYSTEM PRIVATE "${HEDDLE_VULKAN_INCLUDE}")
    target_compile_definitions(test_vulkan_${stem} PRIVATE
        "HEDDLE_VULKAN_DRIVER=\"$<TARGET_FILE:heddle_vulkan>\"")
endforeach()
if(TARGET test_vulkan_dispatch AND NOT HEDDLE_SANITIZE)
    add_test(NAME vulkan_loader COMMAND sh "${PROJECT_SOURCE_DIR}/tests/vulkan/run.sh"
        "${PROJECT_BINARY_DIR}/share/vulkan/icd.d/heddle_icd.json"
        $<TARGET_FILE:test_vulkan_descriptors> $<TARGET_FILE:test_vulkan_dispatch>
        $<TARGET_FILE:test_vulkan_entries> $<TARGET_FILE:test_vulkan_images>
        $<TARGET_FILE:test_vulkan_sync>)
endif()
