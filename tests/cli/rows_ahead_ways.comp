// SPDX-License-Identifier: MIT
//
// Whether a loop has moved an address on is asked of each value once, not on each of the 9^12 ways
// to it, and of values of many operands too: phis behind switches.
//
// RUN: %heddle compile %s --emit llvm-plain | %filecheck %s
// CHECK: @heddle_kernel(

#version 450
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
layout(push_constant) uniform P { uint way[12]; };

#define STAGE(K) \
    switch (way[K]) { \
    case 0: x += 3; break; \
    case 1: t = t * 5 + 1; break; \
    case 2: t ^= 7; break; \
    case 3: t += a[K]; break; \
    case 4: t -= 9; break; \
    case 5: t = t + t; break; \
    case 6: t |= 1; break; \
    case 7: t = ~t; break; \
    default: t *= 11; break; \
    }

void main()
{
    uint x = gl_GlobalInvocationID.x, t = 0;
    STAGE(0) STAGE(1) STAGE(2) STAGE(3) STAGE(4) STAGE(5)
    STAGE(6) STAGE(7) STAGE(8) STAGE(9) STAGE(10) STAGE(11)
    b[gl_GlobalInvocationID.x] = a[x] + a[x + 1] + t;
}
