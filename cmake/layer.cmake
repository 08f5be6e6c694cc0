# SPDX-License-Identifier: MIT
#
# libVkLayer_heddle_cooperative_matrix.so and its manifest. Of the stages it has those that src/stages
# names for it: no LLVM.
if(NOT HEDDLE_VULKAN_INCLUDE)
    return()
endif()
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/layer/*.c")
set(objects "")
foreach(stage IN ITEMS base spirv check analysis pass lower device vk vkdevice)
    list(APPEND objects $<TARGET_OBJECTS:heddle_${stage}>)
endforeach()
add_library(heddle_layer MODULE ${sources} ${objects})
target_include_directories(heddle_layer PRIVATE src include)
target_include_directories(heddle_layer SYSTEM PRIVATE "${HEDDLE_VULKAN_INCLUDE}")
target_compile_definitions(heddle_layer PRIVATE "HEDDLE_VERSION=\"${PROJECT_VERSION}\"")
target_link_libraries(heddle_layer PRIVATE Threads::Threads m)
set_target_properties(heddle_layer PROPERTIES OUTPUT_NAME VkLayer_heddle_cooperative_matrix
    LINKER_LANGUAGE C LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/layer.map")
target_link_options(heddle_layer PRIVATE -Wl,-Bsymbolic
    "-Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/layer.map")
if(NOT HEDDLE_SANITIZE)
    target_link_options(heddle_layer PRIVATE -Wl,-z,defs)
endif()

set(layer_dir "${CMAKE_INSTALL_DATADIR}/vulkan/implicit_layer.d")
set(HEDDLE_LAYER_LIBRARY "../../../lib/libVkLayer_heddle_cooperative_matrix.so")
set(HEDDLE_LAYER_ENVIRONMENT "
        \"enable_environment\": { \"HEDDLE_LAYER\": \"1\" },
        \"disable_environment\": { \"HEDDLE_LAYER_DISABLE\": \"1\" },")
configure_file(cmake/heddle_layer.json.in
    "${PROJECT_BINARY_DIR}/share/vulkan/implicit_layer.d/heddle_layer.json")
file(RELATIVE_PATH HEDDLE_LAYER_LIBRARY "/${layer_dir}"
    "/${CMAKE_INSTALL_LIBDIR}/libVkLayer_heddle_cooperative_matrix.so")
configure_file(cmake/heddle_layer.json.in install/heddle_layer.json)
# Once more in a folder without drivers: loaders before 1.3.296 look for layers where they look for
# drivers (`heddle vulkan --layer`).
set(alone_dir "${CMAKE_INSTALL_DATADIR}/heddle/layer/vulkan/implicit_layer.d")
set(HEDDLE_LAYER_LIBRARY "../../../../../lib/libVkLayer_heddle_cooperative_matrix.so")
configure_file(cmake/heddle_layer.json.in
    "${PROJECT_BINARY_DIR}/share/heddle/layer/vulkan/implicit_layer.d/heddle_layer.json")
file(RELATIVE_PATH HEDDLE_LAYER_LIBRARY "/${alone_dir}"
    "/${CMAKE_INSTALL_LIBDIR}/libVkLayer_heddle_cooperative_matrix.so")
configure_file(cmake/heddle_layer.json.in install/layer/heddle_layer.json)
install(FILES "${PROJECT_BINARY_DIR}/install/layer/heddle_layer.json" DESTINATION ${alone_dir})
# For tests: explicit, so that others may be above it.
set(HEDDLE_LAYER_ENVIRONMENT "")
set(HEDDLE_LAYER_LIBRARY "../../lib/libVkLayer_heddle_cooperative_matrix.so")
configure_file(cmake/heddle_layer.json.in "${PROJECT_BINARY_DIR}/test/explicit_layer.d/heddle.json")
install(TARGETS heddle_layer LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES "${PROJECT_BINARY_DIR}/install/heddle_layer.json" DESTINATION ${layer_dir})

if(BUILD_TESTING AND TARGET heddle_vulkan AND NOT HEDDLE_SANITIZE)
    heddle_test(test_layer "${PROJECT_SOURCE_DIR}/tests/layer/layer.c" heddle_static
        ${CMAKE_DL_LIBS})
    add_dependencies(test_layer heddle_vulkan heddle_layer)
    target_include_directories(test_layer SYSTEM PRIVATE "${HEDDLE_VULKAN_INCLUDE}")
    target_compile_definitions(test_layer PRIVATE
        "HEDDLE_SHARE=\"${PROJECT_BINARY_DIR}/share\"" "HEDDLE_VULKAN_DRIVER=\"\"")
    heddle_test(test_layer_driver "${PROJECT_SOURCE_DIR}/tests/layer/driver.c" heddle_static
        ${CMAKE_DL_LIBS})
    add_dependencies(test_layer_driver heddle_vulkan heddle_layer)
    target_include_directories(test_layer_driver SYSTEM PRIVATE "${HEDDLE_VULKAN_INCLUDE}")
    target_compile_definitions(test_layer_driver PRIVATE
        "HEDDLE_LAYER_FILE=\"$<TARGET_FILE:heddle_layer>\""
        "HEDDLE_VULKAN_DRIVER=\"$<TARGET_FILE:heddle_vulkan>\"")
    add_test(NAME layer_loader COMMAND sh "${PROJECT_SOURCE_DIR}/tests/layer/run.sh"
        "${PROJECT_BINARY_DIR}" $<TARGET_FILE:test_vulkan_misuse>
        $<TARGET_FILE:test_vulkan_dispatch> $<TARGET_FILE:test_vulkan_descriptors>
        $<TARGET_FILE:test_vulkan_sync> $<TARGET_FILE:test_layer>)
endif()
