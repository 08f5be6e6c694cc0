// SPDX-License-Identifier: MIT
// Atomics on workgroup memory and on the output buffer. Results that hang on the order of invocations are
// left out, but for those of a scan: their sum tells.
// VARIANTS: T=int | T=uint | T=int64_t WIDE=1 | T=uint64_t WIDE=1
// SIZES: 32 8 128
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_atomic_int64 : require
#include "ops.glsl"

shared T one[16], many[8][16], seen;
layout(std430, set = 0, binding = 1) buffer Cells { T cells[]; };

void main()
{
    uint l = gl_LocalInvocationIndex;
    if (l < 16) {
        one[l] = T(l == 5 || l == 3 ? -1 : 0);
        for (uint k = 0; k < 8; k++)
            many[k][l] = T(k == 5 || k == 3 ? -1 : 0);
    }
    if (l == 0)
        seen = T(0);
    barrier();
    T x = T(word(0));
    uint c = word(1) & 15u;
    T before = atomicAdd(one[0], x);
    atomicMin(one[1], x); atomicMax(one[2], x); atomicAnd(one[3], x); atomicOr(one[4], x); atomicXor(one[6], x);
    atomicAdd(many[0][c], x); atomicMin(many[1][c], x); atomicMax(many[2][c], x); atomicAnd(many[3][c], x);
    atomicOr(many[4][c], x); atomicXor(many[6][c], x);
    atomicAdd(one[7], T(1));
    if ((word(2) & 1u) != 0)
        atomicAdd(one[8], x);
    // every value between 0 and 127 is handed out once
    T ticket = atomicAdd(one[9], T(1));
    atomicXor(one[10], ticket * ticket); atomicAdd(one[11], ticket * ticket);
    T old = atomicExchange(many[7][l & 15], x);
    atomicAdd(seen, old);
    atomicCompSwap(many[5][c], T(-1), T(c));
    T read = atomicLoad(one[0], gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsAcquire);
    atomicStore(one[12], T(77), gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsRelease);
    barrier();
    for (uint k = 0; k < 13; k++)
        put(one[k]);
    for (uint k = 0; k < 7; k++)
        put(many[k][l & 15]);
    T rest = seen;
    if (l == 0)
        for (uint k = 0; k < 16; k++)
            rest += many[7][k];
    put(l == 0 ? rest : T(0));
    // in a buffer, by both workgroups
    uint base = 256 * 100 / 2;
    atomicAdd(cells[base], x); atomicMax(cells[base + 1 + c], x); atomicAdd(cells[base + 20 + c], x);
    atomicCompSwap(cells[base + 40 + c], T(0), T(c + 1)); atomicExchange(cells[base + 60 + c], T(c));
    near(1.0);
}
