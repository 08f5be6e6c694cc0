// SPDX-License-Identifier: MIT
// A buffer that is not bound but reached by its address in the push constants, on both devices.
// RUN: %heddle run %s --bind 9=iota:f32[32] --bind 0=zeros:f32[32] --push address:9 --push list:f32:3 \
// RUN:   --compare 0=full:3:f32[32] --tolerance 31 2>&1 | %filecheck %s
// RUN: %heddle run %s --bind 9=iota:f32[32] --bind 0=zeros:f32[32] --push address:9 --push list:f32:3 \
// RUN:   --compare 0=full:3:f32[32] --tolerance 31 --device reference --check 2>&1 | %filecheck %s
// RUN: status 2 %heddle run %s --bind 0=zeros:f32[32] --push address:9 2>&1 \
// RUN:   | %filecheck %s --check-prefix=NOTHING
// CHECK-NOT: warning: the kernel does not use
// CHECK: 0 of 32 differ, largest error 31
// NOTHING: error: --push address 9=: nothing is bound there
#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Floats { float x[]; };
layout(binding = 0) writeonly buffer Result { float result[]; };
layout(push_constant) uniform Push { Floats from; float add; };
void main()
{
    uint i = gl_LocalInvocationIndex;
    result[i] = from.x[i] + add;
}
