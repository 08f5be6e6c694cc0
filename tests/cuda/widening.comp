// SPDX-License-Identifier: MIT
// 16 bits are widened by halves, but for what is loaded, which is widened as it is.
//
// RUN: for how in "" --no-optimisation; do \
// RUN:   %heddle compile %s --device cuda --isa sm_80 $how --emit ptx -o %t.ptx && \
// RUN:   %filecheck %s < %t.ptx || exit 1; \
// RUN: done
// CHECK-LABEL: heddle_kernel(
// CHECK-NOT: {{cvt.u32.u16|mul.wide.u16}}
// CHECK: mov.b16 z, 0; mov.b32 {{%r[0-9]+}}, {{[{]%rs[0-9]+, z}}};
// CHECK-NOT: {{cvt.u32.u16|mul.wide.u16}}
// RUN: %heddle compile %s -D LOADED --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix LOADED < %t.ptx
// LOADED-NOT: mov.b16 z
// LOADED: ret;
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer B { float16_t x[]; };
layout(set = 0, binding = 1) buffer C { uint y[]; };

void main()
{
    uint id = gl_GlobalInvocationID.x;
#ifdef LOADED
    y[id] = uint(float16BitsToUint16(x[id])) * 31;
#else
    y[id] = uint(float16BitsToUint16(min(x[id], float16_t(7.5)))) * 31;
#endif
}
