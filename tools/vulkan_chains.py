#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/layer/chains.def from Vulkan's header: the structures that the layer can copy.

    tools/vulkan_chains.py VULKAN_CORE.H > src/layer/chains.def

A row is STRUCT(type, sType). They are the structures that may be in the chains of
VkDeviceCreateInfo, VkPipelineShaderStageCreateInfo and VkShaderCreateInfoEXT. A structure's sType
is its name in capitals; where the underscores are, only the header knows.
"""
import re
import sys

NAMES = r"VkPhysicalDevice\w*Features\w*$|VkPipelineShaderStage\w+CreateInfo\w*$|\w*Device\w*CreateInfo\w*$"
MORE = ("VkDebugUtilsObjectNameInfoEXT", "VkPipelineRobustnessCreateInfo",
        "VkPipelineRobustnessCreateInfoEXT", "VkShaderModuleCreateInfo",
        "VkShaderModuleValidationCacheCreateInfoEXT", "VkShaderRequiredSubgroupSizeCreateInfoEXT",
        "VkDevicePipelineBinaryInternalCacheControlKHR",
        "VkShaderDescriptorSetAndBindingMappingInfoEXT")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        text = f.read()
    types = {}
    for name in re.findall(r"^    VK_STRUCTURE_TYPE_(\w+) = \d+", text, re.M):
        types[name.replace("_", "")] = name
    print("/* SPDX-License-Identifier: MIT\n *\n"
          " * Written by tools/vulkan_chains.py; do not edit. */")
    for name in sorted(set(re.findall(r"^typedef struct (\w+) \{\n    VkStructureType +sType;",
                                      text, re.M))):
        if name in ("VkDeviceCreateInfo", "VkPipelineShaderStageCreateInfo"):
            continue
        if not re.match(NAMES, name) and name not in MORE:
            continue
        plain = name[2:].upper()
        if plain in types:
            print("STRUCT(%s, VK_STRUCTURE_TYPE_%s)" % (name, types[plain]))


if __name__ == "__main__":
    main()
