// SPDX-License-Identifier: MIT
//
// Numbers of 8 and 16 bits that count up over the lanes until they wrap, divided: the quotients
// are not what they would be without. Loops that add to them go on with what they are.
//
// RUN: for TF in uint8_t,4,2 uint8_t,8,3 uint16_t,1024,10 uint16_t,4,2 uint,4,2; do IFS=, read T F B <<< $TF; \
// RUN:   for W in 8 32 128; do \
// RUN:   D="-D T=$T -D FACTOR=$F -D BITS=$B --subgroup-size $W --bind 0=list:u32:13 --bind 1=zeros:u32[128] --groups 1"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && \
// RUN:   %heddle run %s $D --compare 1=%t.npy --tolerance 0 && \
// RUN:   %heddle run %s $D --no-optimisation --compare 1=%t.npy --tolerance 0 || exit 1; done; done
#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer N { uint rounds; };
layout(set = 0, binding = 1) writeonly buffer O { uint o[]; };

void main()
{
    T quotient = (T(gl_SubgroupInvocationID) * T(FACTOR)) >> T(BITS);
    uint all = 0;
    for (uint k = 0; k < rounds; k++) {
        all = all * 31 + uint(quotient);
        quotient += T(1);
    }
    o[gl_GlobalInvocationID.x] = all;
}
