// SPDX-License-Identifier: MIT
//
// Workgroups with short rows, several of which are one (src/pass/merge.c): filters with and without
// tests at edges, of numbers of workgroups that are no multiple of how many are merged, where the
// last ones, and those at the ends of rows if they are at edges, are done one by one. Numbers in the
// workgroup and of it are as they were.
//
// RUN: for S in "1 1" "2 3" "4 4" "8 8" "16 4"; do for E in 0 1; do for T in float uint8_t; do \
// RUN:   LX=${S% *} LY=${S#* }; D="-D LX=$LX -D LY=$LY -D EDGES=$E -D T=$T --groups $((300 / LX)),$((24 / LY))"; \
// RUN:   K=f32; test $T = float || K=u8; \
// RUN:   D="$D --bind 0=rand:$K[7800] --bind 1=zeros:$K[7800] --bind 2=zeros:u32[7800] --push list:s32:300,24"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy --out 2=%t.ids.npy && for I in %levels "host --robust" "host --threads 1"; do \
// RUN:     %heddle run %s $D --tier full --watchdog 0 --isa $I --compare 1=%t.npy --compare 2=%t.ids.npy --tolerance 0 || exit 1; \
// RUN: done || exit 1; done || exit 1; done || exit 1; done
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = LX, local_size_y = LY) in;
layout(set = 0, binding = 0) readonly buffer A { T a[]; };
layout(set = 0, binding = 1) writeonly buffer B { T b[]; };
layout(set = 0, binding = 2) writeonly buffer I { uint ids[]; };
layout(push_constant) uniform Sizes { int w, h; };
#if EDGES
#define AT(u, v) ((u) >= 0 && (u) < w && (v) >= 0 && (v) < h ? a[(v) * w + (u)] : T(0))
#else
#define AT(u, v) a[((v) + 1) * w + (u) + 1]
#endif

void main()
{
    int x = int(gl_WorkGroupID.x) * LX + int(gl_LocalInvocationID.x), y = int(gl_GlobalInvocationID.y);
    precise float sum = 0;
    for (int j = -1; j < 2; j++)
        for (int i = -1; i < 2; i++)
            sum += float(AT(x + i, y + j)) * float(i + 2 * j);
    b[y * w + x] = T(int(sum * 16) & 255);
    ids[y * w + x] = gl_LocalInvocationIndex + 1000u * gl_WorkGroupID.x + gl_NumWorkGroups.x * 500000u;
}
