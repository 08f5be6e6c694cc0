// SPDX-License-Identifier: MIT
// Numbers of 16 bits behind addresses: stored only, they are converted; where no buffer may hold
// them, the error names the feature that is missing.
// RUN: %heddle compile %s --for tests/lower/stored.json --emit spirv -o %t.spv && \
// RUN: %spirv-val --target-env vulkan1.3 %t.spv && %spirv-dis %t.spv | %filecheck %s
// RUN: not %heddle compile %s --for tests/lower/words.json 2>&1 | %filecheck %s --check-prefix=WORDS
// CHECK: OpLoad %half %{{[0-9]+}} Aligned 2
// CHECK-NEXT: OpFConvert %float
// WORDS: lacks storageBuffer16BitAccess, and what it leads to is no variable's own
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Halves { float16_t x[]; };
layout(push_constant) uniform P { Halves from, to; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    to.x[i] = from.x[i] * float16_t(3);
}
