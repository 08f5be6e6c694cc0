#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/vulkan/tables.def from the Vulkan registry and tools/vulkan_profile.py.

    tools/vulkan_tables.py [VK.XML] > src/vulkan/tables.def

The registry (default: the toolchain's, then the system's) says which commands and which query
structures there are and what members they have; the profile says what the driver supports. Rows:

    ENTRY(name, function, level, version, extensions)   level: GLOBAL, INSTANCE, PHYSICAL, DEVICE;
                                                  version: minor one of the core that has it;
                                                  extensions: else names of those that have it
    INSTANCE_EXTENSION(name, version)             DEVICE_EXTENSION(name, version)
    CREATES(function, parameters, out, count)     commands of the core's graphics part, all of them:
    DESTROYS(function, parameters)                by what they do
    MEASURES(function, parameters, out)
    RECORDS(function, parameters)
    FEATURES(struct, members, designated initialisers...)  of sType and those that are VK_TRUE
    PROPERTIES(struct, designated initialisers...)

A member name means the same in a core structure and in the extension's that it was promoted from,
so the profile names each once; one that means something else elsewhere is named with its
structure's name and a dot before it. Names of members it lists that no structure has are an error.
"""
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

import vulkan_profile as profile

CORE = ["VK_VERSION_1_%d" % i for i in range(5)]
# What no command of ours is for.
NOT_HERE = ("VK_KHR_surface", "VK_KHR_swapchain", "VK_EXT_descriptor_buffer")
REGISTRIES = ("build/toolchain/usr/share/vulkan/registry/vk.xml",
              "/usr/share/vulkan/registry/vk.xml")


def vulkan_only(element):
    return "vulkan" in element.get("api", "vulkan").split(",")


def find_registry():
    for path in sys.argv[1:] or REGISTRIES:
        if os.path.exists(path):
            return ElementTree.parse(path).getroot()
    sys.exit("no vk.xml (Debian: libvulkan-dev)")


def commands(root):
    """Name: (name of what it is an alias of, level)."""
    aliases, first, result = {}, {}, {}
    for c in root.findall("commands/command"):
        if not vulkan_only(c):
            continue
        if c.get("alias"):
            aliases[c.get("name")] = c.get("alias")
        else:
            kind = c.find("param/type")
            first[c.find("proto/name").text] = kind.text if kind is not None else None
    for name in list(first) + list(aliases):
        real = name
        while real in aliases:
            real = aliases[real]
        kind = first[real]
        level = {"VkInstance": "INSTANCE", "VkPhysicalDevice": "PHYSICAL", "VkDevice": "DEVICE",
                 "VkQueue": "DEVICE", "VkCommandBuffer": "DEVICE"}.get(kind, "GLOBAL")
        result[name] = (real, level)
    return result


def wanted_commands(root):
    """Name: (minor version of the core that has the command, []) or (0, extensions that have it)."""
    names = {}
    for f in root.findall("feature"):
        # Since 1.4.3xx the core versions are split in parts: VK_BASE_VERSION_1_0 and the like.
        name = re.sub("BASE_|COMPUTE_|GRAPHICS_", "", f.get("name"))
        if name in CORE and vulkan_only(f):
            names.update((c.get("name"), (CORE.index(name), []))
                         for c in f.findall("require/command"))
    core = set(names)
    for e in root.findall("extensions/extension"):
        if e.get("name") in profile.INSTANCE_EXTENSIONS + profile.DEVICE_EXTENSIONS:
            for r in e.findall("require"):
                if not set(NOT_HERE) & set(re.split(r"[(),+]", r.get("depends", ""))):
                    for c in r.findall("command"):
                        if c.get("name") not in core:
                            names.setdefault(c.get("name"), (0, []))[1].append(e.get("name"))
    return names


def print_graphics(root):
    names = {c.get("name") for f in root.findall("feature")
             if f.get("name").startswith("VK_GRAPHICS_VERSION") and vulkan_only(f)
             for c in f.findall("require/command")}
    names |= {"vkCreateSamplerYcbcrConversion", "vkDestroySamplerYcbcrConversion"}
    names -= {"vkCmdClearDepthStencilImage"} # which works
    for c in root.findall("commands/command"):
        if not vulkan_only(c) or c.findtext("proto/name") not in names:
            continue
        params = [p for p in c.findall("param") if vulkan_only(p)]
        row = "%s, (%s)" % (c.findtext("proto/name")[2:], ", ".join(
            " ".join("".join(p.itertext()).split()) for p in params))
        if params[0].findtext("type") == "VkCommandBuffer":
            print("RECORDS(%s)" % row)
        elif c.findtext("proto/type") == "VkResult":
            several = [n for n in (p.findtext("name") for p in params) if n.endswith("Count")]
            print("CREATES(%s, %s, %s)" % (row, params[-1].findtext("name"), (several + ["1"])[0]))
        elif params[-1].findtext("type") == "VkExtent2D":
            print("MEASURES(%s, %s)" % (row, params[-1].findtext("name")))
        else:
            print("DESTROYS(%s)" % row)


def extension_versions(root):
    versions = {}
    for e in root.findall("extensions/extension"):
        for enum in e.findall("require/enum"):
            if enum.get("name", "").endswith("_SPEC_VERSION") and enum.get("value"):
                versions.setdefault(e.get("name"), int(enum.get("value")))
    return versions


def in_core_header(root):
    """Structures that vulkan_core.h declares: of no platform, not provisional."""
    outside = set()
    inside = set()
    for e in root.findall("extensions/extension"):
        other = e.get("platform") or "vulkan" not in e.get("supported", "").split(",")
        for t in e.findall("require/type"):
            (outside if other else inside).add(t.get("name"))
    for f in root.findall("feature"):
        if not vulkan_only(f):
            outside.update(t.get("name") for t in f.findall("require/type"))
    return lambda name: name not in outside - inside


def query_structs(root, base):
    """(name, sType, members) of the structures that extend `base`."""
    known = in_core_header(root)
    for t in root.findall("types/type"):
        if t.get("category") != "struct" or t.get("alias") or not vulkan_only(t):
            continue
        if base not in (t.get("structextends") or "").split(",") or not known(t.get("name")):
            continue
        members = [m for m in t.findall("member") if vulkan_only(m)]
        s_type = [m.get("values") for m in members if m.find("name").text == "sType"]
        names = [m.find("name").text for m in members]
        yield t.get("name"), s_type[0], [n for n in names if n not in ("sType", "pNext")]


def print_entries(root):
    all_commands = commands(root)
    for name, (version, extensions) in sorted(wanted_commands(root).items()):
        real, level = all_commands[name]
        print('ENTRY(%s, %s, %s, %d, "%s")' % (name, real[2:], level, version,
                                               " ".join(extensions)))


def print_extensions(root):
    versions = extension_versions(root)
    for kind, names in (("INSTANCE", profile.INSTANCE_EXTENSIONS),
                        ("DEVICE", profile.DEVICE_EXTENSIONS)):
        for name in sorted(names):
            print("%s_EXTENSION(%s, %d)" % (kind, name, versions[name]))


def print_features(root):
    unused = set(profile.FEATURES)
    for name, s_type, members in query_structs(root, "VkPhysicalDeviceFeatures2"):
        on = [m for m in members
              if m in profile.FEATURES and "%s.%s" % (name, m) not in profile.NOT]
        unused -= set(on)
        print("FEATURES(%s, %d, .sType = %s%s)" % (name, len(members), s_type,
                                                   "".join(", .%s = 1" % m for m in on)))
    core = [m.find("name").text for m in
            root.find("types/type[@name='VkPhysicalDeviceFeatures']").findall("member")]
    on = [m for m in core if m in profile.FEATURES]
    print("CORE_FEATURES(%s)" % ", ".join(".%s = 1" % m for m in on))
    if unused - set(on):
        sys.exit("no such features: %s" % sorted(unused - set(on)))


def print_properties(root):
    unused = set(profile.PROPERTIES)
    for name, s_type, members in query_structs(root, "VkPhysicalDeviceProperties2"):
        known = [(m, key) for m in members for key in (m, "%s.%s" % (name, m))
                 if key in profile.PROPERTIES]
        unused -= {key for _, key in known}
        print("PROPERTIES(%s, .sType = %s%s)" % (name, s_type, "".join(
            ", .%s = %s" % (m, profile.PROPERTIES[key]) for m, key in known)))
    if unused:
        sys.exit("no such properties: %s" % sorted(unused))


def header_version(root):
    define = next(t for t in root.findall("types/type")
                  if t.get("category") == "define" and vulkan_only(t)
                  and t.findtext("name") == "VK_HEADER_VERSION")
    return "".join(define.itertext()).split()[-1]


def main():
    root = find_registry()
    lacks = set(profile.INSTANCE_EXTENSIONS + profile.DEVICE_EXTENSIONS)
    lacks -= set(extension_versions(root))
    if lacks:
        sys.exit("the registry is of header version %s and lacks %s: take a newer one, as "
                 "tools/toolchain.sh does" % (header_version(root), ", ".join(sorted(lacks))))
    print("/* SPDX-License-Identifier: MIT\n *\n * Written by tools/vulkan_tables.py from header "
          "version %s; do not edit. */" % header_version(root))
    for kind, write in (("ENTRY", print_entries), ("GRAPHICS", print_graphics),
                        ("EXTENSION", print_extensions), ("FEATURES", print_features),
                        ("PROPERTIES", print_properties)):
        print("\n#ifdef TABLE_%s" % kind)
        write(root)
        print("#endif")


if __name__ == "__main__":
    main()
