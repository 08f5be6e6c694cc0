#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws overview.svg, the README's picture, and with HEDDLE the layouts of the gallery.

    tools/pictures.py FOLDER [HEDDLE]    docs/pictures, and build/release/bin/heddle
"""
import os
import subprocess
import sys

INK, QUIET, LINE = "#1b1f27", "#5b6270", "#8c95a4"
SOURCES = ("GLSL", "OpenCL C", "MLIR", "SPIR-V")
DEVICES = (("this CPU", "AMX, AVX-512, AVX2: about as fast as OpenBLAS"),
           ("NVIDIA GPUs", "tensor cores, by the driver alone"),
           ("any Vulkan driver", "also one without matrix extensions"),
           ("a checking interpreter", "races, bounds, unset values by source line"))
FACES = "a command  ·  a C library  ·  a Python package  ·  a Vulkan driver"
LAYOUTS = (("layout_a.svg", "8x16 f16 A"),
           ("layout_rows.svg", "16x16 f16 A --subgroup-size 16 --arrays f16"))


def text(x, y, words, size=15, colour=INK, weight=400, anchor="middle"):
    return ('<text x="%d" y="%d" font-size="%d" font-weight="%d" text-anchor="%s" fill="%s">%s'
            '</text>' % (x, y, size, weight, anchor, colour, words))


def box(x, y, width, height, fill, edge="none"):
    return '<rect x="%d" y="%d" width="%d" height="%d" rx="8" fill="%s" stroke="%s"/>' % (
        x, y, width, height, fill, edge)


def arrow(x, y, to_x, to_y):
    middle = (x + to_x) // 2
    return ('<path d="M%d %dC%d %d %d %d %d %d" fill="none" stroke="%s" stroke-width="1.5" '
            'marker-end="url(#tip)"/>' % (x, y, middle, y, middle, to_y, to_x - 6, to_y, LINE))


def tile(x, y, size, n):
    """A matrix whose squares have the colours of the lanes that hold them."""
    colours = ("#2f6fab", "#4f94cf", "#86b8e2", "#bcd9f0")
    cell = size // n
    return [box(x + c * cell, y + r * cell, cell - 2, cell - 2, colours[(r * n + c) // 2 % 4])
            .replace('rx="8"', 'rx="2"') for r in range(n) for c in range(n)]


def overview():
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="880" height="330" viewBox="0 0 880 330" '
           'font-family="Inter, \'Helvetica Neue\', \'DejaVu Sans\', Arial, sans-serif">',
           '<title>One matrix kernel, in GLSL, OpenCL C, MLIR or SPIR-V, on any device</title>',
           '<defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" '
           'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="%s"/></marker></defs>'
           % LINE,
           '<rect width="100%" height="100%" fill="#ffffff"/>',
           text(90, 34, "your kernel", 13, QUIET), text(380, 34, "heddle", 13, QUIET),
           text(698, 34, "runs on", 13, QUIET)]
    for k, name in enumerate(SOURCES):
        y = 50 + 56 * k
        out += [box(30, y, 120, 40, "#f3f5f8", "#d5dae2"), text(90, y + 25, name, 15, weight=600),
                arrow(150, y + 20, 270, 154)]
    out += [box(270, 50, 220, 208, "#eaf3fb", "#4f94cf"), *tile(328, 68, 104, 4),
            text(380, 204, "compiles, checks, lowers", 14, weight=600),
            text(380, 228, "names the source line and", 13, QUIET),
            text(380, 245, "the rule that was broken", 13, QUIET)]
    for k, (name, about) in enumerate(DEVICES):
        y = 50 + 56 * k
        out += [arrow(490, 154, 546, y + 20), box(546, y, 304, 40, "#f3f5f8", "#d5dae2"),
                text(698, y + 18, name, 15, weight=600), text(698, y + 33, about, 12, QUIET)]
    out += [text(440, 304, FACES, 14, QUIET), "</svg>"]
    return "\n".join(out) + "\n"


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "overview.svg"), "w", encoding="utf-8") as f:
        f.write(overview())
    for name, shape in LAYOUTS if len(sys.argv) > 2 else ():
        subprocess.run([sys.argv[2], "layout", *shape.split(), "--svg", os.path.join(folder, name)],
                       stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    main()
