#version 460
// SPDX-License-Identifier: MIT
// Copies to workgroup memory from which matrices may not be loaded directly, or not by the obvious
// address: what the cpu device computes is what the interpreter does.
// RUN: for K in CALLED OTHER WIDE COLUMN REVERSED "BEHIND --push" "NESTED --push" "LEAVES --push"; do \
// RUN:   case $K in *push) P="--push list:u32:4";; *) P=;; esac; \
// RUN:   set -- %s -D ${K%% *} --groups 1 $P --bind 0=rand:f32[65536]@1 --bind 1=zeros:f32[1024]; \
// RUN:   %heddle run "$@" --device reference --out 1=%t.npy && \
// RUN:   %heddle run "$@" --compare 1=%t.npy || { echo $K; exit 1; }; done
// RUN: set -- %s -D ADDRESS --groups 1 --push address:0 --bind 0=iota:f32[1024]; \
// RUN: %heddle run "$@" --device reference --out 0=%t.npy && %heddle run "$@" --compare 0=%t.npy
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_buffer_reference : require
#define LIES gl_CooperativeMatrixLayoutRowMajor
#define MATRIX coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
#define COPY(n, value) [[unroll]] for (uint e = 0; e < n; e += 128) tile[e + me] = value
layout(local_size_x = 128) in;
#ifdef WIDE
layout(std140, set = 0, binding = 0) readonly buffer A { float a[]; };
#elif defined COLUMN
layout(row_major, set = 0, binding = 0) readonly buffer A { mat4 m4[]; };
#else
layout(set = 0, binding = 0) buffer A { float a[]; };
#endif
shared float tile[1024], other[1024];
#ifdef ADDRESS
layout(buffer_reference) buffer Result { float c[]; };
layout(push_constant) uniform P { Result at; };
#else
layout(set = 0, binding = 1) buffer C { float c[]; };
layout(push_constant) uniform P { uint n; };
#endif

#ifdef CALLED /* the tile is used by a function that is called for elements */
float each(const in uint row, const in uint column, const in float x) { return x + tile[row]; }
#elif defined OTHER /* such functions alone use what subgroups exchange */
float give(const in uint row, const in uint column, const in float x)
{
    float s = x;
    for (uint k = 0; k < 50; k++)
        s = sin(s + 1);
    other[gl_SubgroupID * 256 + row * 16 + column] = x + s;
    return x;
}
float take(const in uint row, const in uint column, const in float x)
{
    return x + other[(3 - gl_SubgroupID) * 256 + row * 16 + column];
}
#endif

void main()
{
    uint me = gl_LocalInvocationIndex, own = gl_SubgroupID * 256;
    MATRIX m;
#if defined ADDRESS || defined CALLED || defined OTHER
    COPY(1024, a[e + me]);
#elif defined BEHIND /* counters that invocations share in an iteration, and not behind the loop */
    uint i = 0;
    while (true) {
        if (i == n)
            break;
        barrier();
        if (me % 2 == 0 && i + 1 == n)
            break;
        i++;
    }
    COPY(1024, a[i * 1024 + e + me]);
#elif defined WIDE
    COPY(1024, a[e + me]);
#elif defined COLUMN
    COPY(1024, m4[1][2][(e + me) % 4]);
#elif defined REVERSED
    COPY(1024, a[4096 - 64 * ((e + me) / 16) + (e + me) % 16]);
#elif defined NESTED /* what the inner loop begins with varies from the second time on */
    uint first = 0;
    m = MATRIX(0.0);
    for (uint k = 0; k < 3; k++) {
        barrier();
        uint i = first;
        for (uint j = 0; j < n; j++) {
            barrier();
            COPY(1024, a[first * 1024 + e + me]);
            [[unroll]] for (uint e = 0; e < 1024; e += 128)
                other[e + me] = a[i * 1024 + e + me];
            barrier();
            MATRIX more;
            coopMatLoad(more, tile, own, 16, LIES);
            m += more;
            coopMatLoad(more, other, own, 16, LIES);
            m += more;
            i++;
        }
        first = i + (me & 1);
    }
#elif defined LEAVES /* written meanwhile, by a subgroup that is ahead */
    COPY(1024, a[e + me]);
    for (uint k = 0; k < n; k++)
        a[2048 + k * 128 + me] = 1;
#endif
    barrier();
#ifndef NESTED
    coopMatLoad(m, tile, own, 16, LIES);
#endif
#ifdef CALLED
    coopMatPerElementNV(m, m, each);
#elif defined OTHER
    MATRIX ignored;
    coopMatPerElementNV(ignored, m, give);
    barrier();
    coopMatPerElementNV(m, ignored, take);
#endif
#ifdef ADDRESS
    coopMatStore(m, at.c, (own + 512) % 1024, 16, LIES);
#else
    coopMatStore(m, c, own, 16, LIES);
#endif
}
