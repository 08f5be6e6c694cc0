#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks for cliffs among variants of ordinary kernels, which somebody might write next.

    bench/variants.py [--heddle CMD] [--only TEXT] [--seconds S] [--factor X] [--all] [--keep FOLDER]

Elementwise kernels, transpositions, reductions, stencils and matrix products are generated in GLSL
and OpenCL C: with each type of elements, several strides, tiles and blocks, with and without guards
at edges, staging and unrolling. Every variant of a family computes as much for each element, and,
with the same stride, of as much memory, so one that takes X times (3, unless told) as long for an
element as the fastest of its family, stride and type is a cliff, and is printed; with --all the
others are, too. A last table compares the types. Times are the shortest of all runs on one thread,
with data that stay in the second-level cache.
"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

# name: (in GLSL, in OpenCL C, what it is computed in)
TYPES = {"f32": ("float", "float", "float"), "f16": ("float16_t", "half", "float"),
         "bf16": ("bfloat16_t", None, "float"), "s8": ("int8_t", "char", "int"),
         "u8": ("uint8_t", "uchar", "int"), "s32": ("int", "int", "int")}

GLSL = """#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_control_flow_attributes : require
#define T {type}
#define SUM {sum}
#define TO_SUM(x) {sum}(x)
#define TO_T(x) {type}(x)
#define ID(k) int(gl_GlobalInvocationID[k])
#define LOCAL(k) int(gl_LocalInvocationID[k])
#define GROUP(k) int(gl_WorkGroupID[k])
#define SYNC barrier()
#define UNROLL [[unroll]]
layout(local_size_x = LX, local_size_y = LY) in;
layout(set = 0, binding = 0) readonly buffer A {{ T a[]; }};
layout(set = 0, binding = 1) readonly buffer B {{ T b[]; }};
layout(set = 0, binding = 2) writeonly buffer C {{ T c[]; }};
layout(push_constant) uniform Sizes {{ int n; }};
{shared}
void main()
{{{body}}}
"""
OPENCL = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define T {type}
#define SUM {sum}
#define TO_SUM(x) ({sum})(x)
#define TO_T(x) ({type})(x)
#define ID(k) (int)get_global_id(k)
#define LOCAL(k) (int)get_local_id(k)
#define GROUP(k) (int)get_group_id(k)
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
#define UNROLL _Pragma("unroll")
kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void variant(global const T *a, global const T *b, global T *c, int n)
{{
{shared}{body}}}
"""

ELEMENTWISE = """
    for (int u = 0; u < EACH; u++) {
        int i = STRIDE * (BLOCKED != 0 ? ID(0) * EACH + u : u * (N / STRIDE / EACH) + ID(0));
        if (GUARD == 0 || i < n)
            c[i] = TO_T(TO_SUM(a[i]) * 2 + TO_SUM(b[i]));
    }
"""
TRANSPOSITION = """
    int x = ID(0), y = ID(1);
#if STAGED
    if (GUARD == 0 || x < n && y < n)
        tile[LOCAL(1) * (TILE + PAD) + LOCAL(0)] = a[y * n + x];
    SYNC;
    x = GROUP(1) * TILE + LOCAL(0);
    y = GROUP(0) * TILE + LOCAL(1);
    if (GUARD == 0 || x < n && y < n)
        c[y * n + x] = tile[LOCAL(0) * (TILE + PAD) + LOCAL(1)];
#elif SCATTER
    if (GUARD == 0 || x < n && y < n)
        c[x * n + y] = a[y * n + x];
#else
    if (GUARD == 0 || x < n && y < n)
        c[y * n + x] = a[x * n + y];
#endif
"""
REDUCTION = """
    SUM sum = SUM_ZERO;
    int first = GROUP(0) * (N / GROUPS);
    for (int k = LOCAL(0); k < N / GROUPS; k += LX)
        if (GUARD == 0 || first + k < n)
            sum += TO_SUM(a[first + k]);
    part[LOCAL(0)] = sum;
    SYNC;
#if HALVES
    for (int half_ = LX / 2; half_ > 0; half_ /= 2) {
        if (LOCAL(0) < half_)
            part[LOCAL(0)] += part[LOCAL(0) + half_];
        SYNC;
    }
#else
    for (int step_ = 1; step_ < LX; step_ *= 2) {
        if (LOCAL(0) % (2 * step_) == 0)
            part[LOCAL(0)] += part[LOCAL(0) + step_];
        SYNC;
    }
#endif
    if (LOCAL(0) == 0)
        c[GROUP(0)] = TO_T(part[0]);
"""
ROWS = """
    SUM sum = SUM_ZERO;
    int row = ID(0);
    UNROLLED for (int k = 0; k < COLUMNS; k++)
        if (GUARD == 0 || k < n)
            sum += TO_SUM(a[BY_COLUMNS != 0 ? k * (N / COLUMNS) + row : row * COLUMNS + k]);
    c[row] = TO_T(sum);
"""
STENCIL = """
    int x = ID(0), y = ID(1);
#if STAGED
    for (int j = LOCAL(1); j < LY + 2; j += LY)
        for (int i = LOCAL(0); i < LX + 2; i += LX) {
            int u = GROUP(0) * LX + i - 1, v = GROUP(1) * LY + j - 1;
            tile[j * (LX + 2) + i] = AT(u, v);
        }
    SYNC;
#define NEAR(i, j) TO_SUM(tile[(LOCAL(1) + 1 + (j)) * (LX + 2) + LOCAL(0) + 1 + (i)])
#else
#define NEAR(i, j) TO_SUM(AT(x + (i), y + (j)))
#endif
    c[y * n + x] = TO_T(NEAR(0, 0) * 2 + NEAR(-1, 0) + NEAR(1, 0) + NEAR(0, -1) + NEAR(0, 1));
"""
FILTER = """
    int x = ID(0), y = ID(1);
    SUM sum = SUM_ZERO;
#if STAGED
    for (int j = LOCAL(1); j < LY + 2 * RADIUS; j += LY)
        for (int i = LOCAL(0); i < LX + 2 * RADIUS; i += LX) {
            int u = GROUP(0) * LX + i - RADIUS, v = GROUP(1) * LY + j - RADIUS;
            tile[j * (LX + 2 * RADIUS) + i] = AT(u, v);
        }
    SYNC;
#define NEAR(i, j) tile[(LOCAL(1) + RADIUS + (j)) * (LX + 2 * RADIUS) + LOCAL(0) + RADIUS + (i)]
#else
#define NEAR(i, j) AT(x + (i), y + (j))
#endif
    for (int j = -RADIUS; j <= RADIUS; j++)
        for (int i = -RADIUS; i <= RADIUS; i++)
            sum += TO_SUM(NEAR(i, j)) * (i * 2 + j);
    c[y * n + x] = TO_T(sum);
"""
# How stencils and filters read at edges. The last is for an array with a border.
EDGES = {"tests": "((u) >= 0 && (u) < n && (v) >= 0 && (v) < n ? a[(v) * n + (u)] : TO_T(0))",
         "clamps": "a[clamp(v, 0, n - 1) * n + clamp(u, 0, n - 1)]",
         "border": "a[((v) + RADIUS) * (n + 2 * RADIUS) + (u) + RADIUS]"}
PRODUCT = """
    SUM sum[BLOCK][BLOCK];
    int top = GROUP(1) * TILE, left = GROUP(0) * TILE, self = LOCAL(1) * LX + LOCAL(0);
    UNROLLED for (int i = 0; i < BLOCK; i++)
        UNROLLED for (int j = 0; j < BLOCK; j++)
            sum[i][j] = SUM_ZERO;
    for (int k = 0; k < n; k += STEP) {
#if STAGED
        for (int i = self; i < TILE * STEP; i += LX * LY) {
            int r = top + i / STEP, d = k + i % STEP;
            tile_a[i] = GUARD == 0 || r < n && d < n ? a[r * n + d] : TO_T(0);
        }
        for (int i = self; i < TILE * STEP; i += LX * LY) {
            int d = k + i / TILE, s = left + i % TILE;
            tile_b[i] = GUARD == 0 || d < n && s < n ? b[d * n + s] : TO_T(0);
        }
        SYNC;
#define AT_A(i, d) tile_a[(LOCAL(1) * BLOCK + (i)) * STEP + (d)]
#define AT_B(d, j) tile_b[(d) * TILE + LOCAL(0) * BLOCK + (j)]
#else
#define AT_A(i, d) a[(top + LOCAL(1) * BLOCK + (i)) * n + k + (d)]
#define AT_B(d, j) b[(k + (d)) * n + left + LOCAL(0) * BLOCK + (j)]
#endif
        UNROLLED for (int d = 0; d < STEP; d++)
            UNROLLED for (int i = 0; i < BLOCK; i++)
                UNROLLED for (int j = 0; j < BLOCK; j++)
                    sum[i][j] += TO_SUM(AT_A(i, d)) * TO_SUM(AT_B(d, j));
#if STAGED
        SYNC;
#endif
    }
    UNROLLED for (int i = 0; i < BLOCK; i++)
        UNROLLED for (int j = 0; j < BLOCK; j++)
            c[(top + LOCAL(1) * BLOCK + i) * n + left + LOCAL(0) * BLOCK + j] = TO_T(sum[i][j]);
"""


class Variant:
    """A kernel: its family and body, what tells it from the others, and how it is run. `work` is
    the number of elements (of products: multiply-adds), `n` the argument."""

    def __init__(self, family, body, traits, local, groups, room, n, work, shared=()):
        self.family, self.body, self.traits, self.shared = family, body, traits, shared
        self.local, self.groups, self.room, self.n, self.work = local, groups, room, n, work

    def kin(self, kind):
        """What is the same for all variants that it is compared with."""
        return self.family, kind, self.traits.get("STRIDE")

    def name(self, kind, language):
        traits = ["%s=%s" % (k.lower(), v) for k, v in self.traits.items()]
        return " ".join([self.family, kind, language, "%dx%d" % self.local] + traits)

    def source(self, kind, language):
        glsl, opencl, total = TYPES[kind]
        word, text = ("shared", GLSL) if language == "glsl" else ("    local", OPENCL)
        shared = "".join("%s %s %s[%d];\n" % (word, t, name, size) for t, name, size in self.shared)
        macros = dict(self.traits, LX=self.local[0], LY=self.local[1], SUM_ZERO=0,
                      N=self.room, GROUPS=self.groups[0])
        if "UNROLL" in macros:
            macros["UNROLLED"] = "UNROLL" if macros.pop("UNROLL") else ""
        macros.setdefault("RADIUS", 1)
        edges = EDGES.get(macros.pop("EDGES", None))
        lines = ["#define %s %s" % item for item in macros.items()]
        lines += ["#define AT(u, v) %s" % edges] if edges else []
        body = text.format(type=glsl if language == "glsl" else opencl, sum=total, shared=shared,
                           body=self.body)
        at = body.index("\n") + 1 # behind #version
        return body[:at] + "\n".join(lines) + "\n" + body[at:]

    def command(self, heddle, path, kind, language, seconds):
        global_size = [g * l for g, l in zip(self.groups, self.local)]
        line = [heddle, "bench", path, "--threads", "1", "--json", "--seconds", str(seconds),
                "--global", ",".join(map(str, global_size))]
        for k, what in enumerate(("rand", "rand", "zeros")):
            line += ["--bind", "%d=%s:%s[%d]" % (k, what, kind, self.room)]
        n = "list:s32:%d" % self.n
        return line + (["--push", n] if language == "glsl" else ["--bind", "3=" + n])


def each(**traits):
    """All combinations."""
    return [dict(zip(traits, values)) for values in itertools.product(*traits.values())]


def elementwise():
    n = 16384
    for t in each(STRIDE=(1, 2, 3), EACH=(1, 4), BLOCKED=(0, 1), GUARD=(0, 1)):
        if t["EACH"] == 1 and t["BLOCKED"]:
            continue
        yield Variant("elementwise", ELEMENTWISE, t, (64, 1),
                      (n // t["EACH"] // 64, 1), n * t["STRIDE"], n * t["STRIDE"], n)


def transposition():
    n = 128
    for t in each(TILE=(8, 16, 32), STAGED=(0, 1), PAD=(0, 1), SCATTER=(0, 1), GUARD=(0, 1)):
        if t["STAGED"] and t["SCATTER"] or not t["STAGED"] and t["PAD"]:
            continue
        tile = t["TILE"]
        yield Variant("transposition", TRANSPOSITION, t, (tile, tile), (n // tile, n // tile), n * n,
                      n, n * n, [("T", "tile", tile * (tile + t["PAD"]))])


def reduction():
    n, groups = 65536, 8
    for t in each(HALVES=(1, 0), GUARD=(0, 1)):
        for local in (64, 256):
            yield Variant("reduction", REDUCTION, t, (local, 1),
                          (groups, 1), n, n, n, [("SUM", "part", local)])


def rows():
    n = 32768
    for t in each(COLUMNS=(16, 60, 64), BY_COLUMNS=(0, 1), UNROLL=(0, 1), GUARD=(0, 1)):
        lines = n // 64
        yield Variant("rows", ROWS, t, (64, 1), (lines // 64, 1), lines * t["COLUMNS"],
                      t["COLUMNS"], lines * t["COLUMNS"])


def stencil():
    n = 128
    for local in ((16, 16), (32, 8), (8, 8), (128, 1)):
        for t in each(STAGED=(0, 1), EDGES=tuple(EDGES)):
            yield Variant("stencil", STENCIL, t, local, (n // local[0], n // local[1]),
                          (n + 2) * (n + 2), n, n * n,
                          [("T", "tile", (local[0] + 2) * (local[1] + 2))])


def square_filter():
    n = 128
    for local in ((16, 16), (32, 8), (8, 8)):
        for t in each(RADIUS=(1, 2), STAGED=(0, 1), EDGES=tuple(EDGES)):
            side = n + 2 * t["RADIUS"]
            size = (local[0] + 2 * t["RADIUS"]) * (local[1] + 2 * t["RADIUS"])
            yield Variant("filter", FILTER, t, local, (n // local[0], n // local[1]), side * side, n,
                          n * n * (2 * t["RADIUS"] + 1) ** 2, [("T", "tile", size)])


def product():
    n = 128
    for t in each(TILE=(16, 32), BLOCK=(1, 2, 4), STEP=(8, 16), STAGED=(1, 0), GUARD=(0, 1),
                  UNROLL=(0, 1)):
        if t["GUARD"] and not t["STAGED"]:
            continue
        side, size = t["TILE"] // t["BLOCK"], t["TILE"] * t["STEP"]
        yield Variant("product", PRODUCT, t, (side, side), (n // t["TILE"], n // t["TILE"]), n * n,
                      n, n ** 3, [("T", "tile_a", size), ("T", "tile_b", size)])


# Each family, and the part of its variants that other types than f32, and OpenCL C, take.
FAMILIES = ((elementwise, 5), (transposition, 7), (reduction, 3), (rows, 7), (stencil, 7),
            (square_filter, 7), (product, 17))


def selection():
    """(variant, type, language): all in GLSL and f32, and every so many of them otherwise; which
    ones shifts from type to type."""
    for family, part in FAMILIES:
        variants = list(family())
        for shift, kind in enumerate(TYPES):
            for language in ("glsl", "opencl"):
                if language == "opencl" and not TYPES[kind][1]:
                    continue
                all_of_them = kind == "f32" and language == "glsl"
                at = (shift * 5 + 3 * (language == "opencl")) % part
                for k, v in enumerate(variants):
                    if all_of_them or k % part == at:
                        yield v, kind, language


def measure(args, folder, v, kind, language):
    """Nanoseconds for an element, or a message."""
    path = os.path.join(folder, v.name(kind, language).replace(" ", "_")
                        + (".comp" if language == "glsl" else ".cl"))
    with open(path, "w", encoding="utf-8") as f:
        f.write(v.source(kind, language))
    done = subprocess.run(v.command(args.heddle, path, kind, language, args.seconds),
                          capture_output=True, text=True, check=False)
    if done.returncode:
        return None, done.stderr.strip() or done.stdout.strip()
    return json.loads(done.stdout)["min_seconds"] * 1e9 / v.work, None


def show(times, factor, everything):
    best = {}
    for (v, kind, _), t in times.items():
        best[v.kin(kind)] = min(t, best.get(v.kin(kind), t))
    cliffs = 0
    print("%8s %6s  variant" % ("ns", "times"))
    for (v, kind, language), t in sorted(times.items(),
                                         key=lambda x: -x[1] / best[x[0][0].kin(x[0][1])]):
        ratio = t / best[v.kin(kind)]
        cliffs += ratio > factor
        if everything or ratio > factor:
            print("%8.3f %6.1f  %s" % (t, ratio, v.name(kind, language)))
    print("%d of %d variants take more than %g times as long as the fastest of their family and "
          "type" % (cliffs, len(times), factor))
    print("\nfastest of each family and type, ns for an element\n%-14s" % "" +
          "".join("%8s" % k for k in TYPES))
    for family in dict.fromkeys(f for f, _, _ in best):
        of_all = {k: min([t for (f, kind, _), t in best.items() if (f, kind) == (family, k)] or [0])
                  for k in TYPES}
        print("%-14s" % family + "".join("%8.3f" % t if t else "%8s" % "-"
                                         for t in of_all.values()))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--heddle", default="build/release/bin/heddle")
    p.add_argument("--only", default="", help="variants whose name has this text")
    p.add_argument("--seconds", type=float, default=0.05, help="of measuring, for each")
    p.add_argument("--factor", type=float, default=3)
    p.add_argument("--all", action="store_true", help="print all variants")
    p.add_argument("--keep", help="a folder that the sources are left in")
    args = p.parse_args()
    times, failed = {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for v, kind, language in selection():
            if args.only not in v.name(kind, language):
                continue
            t, message = measure(args, folder, v, kind, language)
            if t is None:
                failed += 1
                print("%s: %s" % (v.name(kind, language), message), file=sys.stderr)
            else:
                times[v, kind, language] = t
    show(times, args.factor, args.all)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
