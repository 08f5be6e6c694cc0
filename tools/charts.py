#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the chart of what `make bench` measured: gemm.svg, from what bench_gemm printed.

    tools/charts.py gemm.txt gemm.svg
"""
import re
import sys

from pictures import INK, LINE, QUIET, box, text

SHADES = ("#bcd9f0", "#86b8e2", "#4f94cf", "#2f6fab")
LEFT, WIDTH, BAR, TOP = 230, 560, 13, 96
ROW = re.compile(r"(?P<kernel>\S.*?) +(?P<n>\d+) +(?P<ld>\d+) +(?P<threads>\d+) +[\d.]+ "
                 r"(?P<peers>(?: +[\d.]+ +[\d.]+ \[[\d. ]+\])+)")


def ratios(lines):
    """By kernel and size, beside oneDNN's product of the same types: OpenBLAS comes first, oneDNN
    with the operands as they lie second. One thread, rows that lie side by side."""
    found = {}
    for line in lines:
        m = ROW.match(line)
        peers = re.findall(r"[\d.]+ +([\d.]+) \[", m["peers"]) if m else ()
        if len(peers) > 1 and m["threads"] == "1" and m["n"] == m["ld"]:
            found.setdefault(m["kernel"], {})[int(m["n"])] = float(peers[1])
    return found


def chart(found, subtitle):
    sizes = sorted({n for of in found.values() for n in of})
    group = BAR * len(sizes) + 18
    height = TOP + group * len(found) + 34
    most = max(ratio for of in found.values() for ratio in of.values())
    scale = WIDTH / (int(most * 4) / 4 + 0.25)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="880" height="%d" viewBox="0 0 880 %d" '
           'font-family="Inter, \'Helvetica Neue\', \'DejaVu Sans\', Arial, sans-serif">'
           % (height, height), '<title>heddle\'s GEMM beside oneDNN\'s</title>',
           '<rect width="100%" height="100%" fill="#ffffff"/>',
           text(20, 30, "GEMM on one thread: speed relative to oneDNN", 18, weight=600,
                anchor="start"), text(20, 52, subtitle, 12, QUIET, anchor="start")]
    for k, n in enumerate(sizes):
        out += [box(LEFT + 90 * k, 64, 12, 12, SHADES[k % 4]).replace('rx="8"', 'rx="2"'),
                text(LEFT + 90 * k + 18, 75, "n = %d" % n, 12, QUIET, anchor="start")]
    for quarter in range(int(WIDTH / scale * 4) + 1):
        x = LEFT + quarter / 4 * scale
        out += ['<path d="M%.1f %dV%d" stroke="%s" stroke-width="%s"/>' % (
            x, TOP - 6, height - 28, INK if quarter == 4 else "#e3e7ed",
            1.5 if quarter == 4 else 1), text(x, height - 12, "%g" % (quarter / 4), 12, QUIET)]
    for k, (kernel, of) in enumerate(found.items()):
        y = TOP + 4 + group * k
        out.append(text(LEFT - 12, y + group / 2 - 5, kernel.replace(">", "&gt;"), 13,
                        anchor="end"))
        for i, n in enumerate(n for n in sizes if n in of):
            shade = sizes.index(n) % 4
            out += [box(LEFT, y + BAR * i, of[n] * scale, BAR - 2, SHADES[shade])
                    .replace('rx="8"', 'rx="2"'),
                    text(LEFT + of[n] * scale - 5, y + BAR * i + 9, "%.2f" % of[n], 10,
                         INK if shade < 2 else "#ffffff", anchor="end")]
    out.append('<path d="M%d %dV%d" stroke="%s"/>' % (LEFT, TOP - 6, height - 28, LINE))
    return "\n".join(out + ["</svg>", ""])


def main():
    log, picture = sys.argv[1:]
    with open(log, encoding="utf-8") as f:
        lines = f.read().split("\n")
    found = ratios(lines)
    if not found:
        print("%s has nothing beside oneDNN (Debian: libdnnl-dev), so no chart is drawn" % log)
        return
    with open(picture, "w", encoding="utf-8") as f:
        f.write(chart(found, lines[0]))
    print("drew %s" % picture)


if __name__ == "__main__":
    main()
