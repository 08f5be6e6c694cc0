// SPDX-License-Identifier: MIT
// Scalars and vectors of bf16 and fp8 on a target that has none: every number of each format, and
// what lies at, beside and between two of them, from f32, f64 and integers, becomes bit for bit
// what the reference device makes of it.
// RUN: %heddle compile %s --for lavapipe --emit spirv -o %t.spv | %filecheck %s && \
// RUN: %spirv-val --target-env vulkan1.3 %t.spv && \
// RUN: %spirv-dis %t.spv | %filecheck %s --check-prefix=NONE
// RUN: BINDS="--bind 0=iota:u16[65536] --bind 1=iota:u8[65536] --bind 2=zeros:u32[65536,4] \
// RUN:     --bind 3=zeros:u16[65536,8] --bind 4=zeros:u8[65536,8] --bind 5=zeros:u8[65536,8] \
// RUN:     --bind 6=zeros:u8[65536,8]"; \
// RUN: %heddle run %s --device reference --groups 256 $BINDS --out 2=%t.2.npy --out 3=%t.3.npy \
// RUN:     --out 4=%t.4.npy --out 5=%t.5.npy --out 6=%t.6.npy && \
// RUN: %heddle run %t.spv --groups 256 $BINDS --compare 2=%t.2.npy --compare 3=%t.3.npy \
// RUN:     --compare 4=%t.4.npy --compare 5=%t.5.npy --compare 6=%t.6.npy --tolerance 0
// RUN: %heddle compile %s --for tests/lower/words.json --emit spirv -o %t.words.spv && \
// RUN: %spirv-val --target-env vulkan1.3 %t.words.spv && \
// RUN: %spirv-dis %t.words.spv | %filecheck %s --check-prefix=WORDS
// RUN: BINDS="--bind 0=iota:u16[65536] --bind 1=iota:u8[65536] --bind 2=zeros:u32[65536,4] \
// RUN:     --bind 3=zeros:u16[65536,8] --bind 4=zeros:u8[65536,8] --bind 5=zeros:u8[65536,8] \
// RUN:     --bind 6=zeros:u8[65536,8]"; \
// RUN: %heddle run %t.words.spv --groups 256 $BINDS --compare 2=%t.2.npy --compare 3=%t.3.npy \
// RUN:     --compare 4=%t.4.npy --compare 5=%t.5.npy --compare 6=%t.6.npy --tolerance 0
// CHECK: OpFConvert {{ *}}{{[0-9]+}} {{ *}}small_floats {{ *}}integer arithmetic
// NONE-NOT: {{BFloat16|Float8|OpTypeFloat 8|SPV_EXT_float8|SPV_KHR_bfloat16}}
// WORDS-NOT: {{OpType(Int|Float) (8|16)|Int8|Int16|Float16|BitAccess}}
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_float_e4m3 : require
#extension GL_EXT_float_e5m2 : require

layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer All16 { bfloat16_t all16[]; };
layout(set = 0, binding = 1) readonly buffer All8 { floate4m3_t all8[]; };
layout(set = 0, binding = 2) writeonly buffer Wide { uvec4 wide[]; };
layout(set = 0, binding = 3) writeonly buffer Out16 { bfloat16_t out16[]; };
layout(set = 0, binding = 4) writeonly buffer Out4 { floate4m3_t out4[]; };
layout(set = 0, binding = 5) writeonly buffer Out5 { floate5m2_t out5[]; };
layout(set = 0, binding = 6) writeonly buffer Most { floate4m3_t most4[]; };

#define PUT(k, x) at = i * 8 + (k); out16[at] = bfloat16_t(x); out4[at] = floate4m3_t(x); \
    out5[at] = floate5m2_t(x)

/* The payload of NaNs is anything. */
#define BITS(x) (isnan(x) ? 1 : floatBitsToUint(x))

void main()
{
    const uint i = gl_GlobalInvocationID.x, low[4] = uint[](0x8000, 0x7fff, 0x8001, i);
    uint at;
    floate4m3_t e4 = all8[i];
    floate5m2_t e5 = uintBitsToFloate5m2EXT(uint8_t(i));
    wide[i] = uvec4(BITS(float(all16[i])), BITS(float(e4)), BITS(float(e5)),
                    BITS(float(float16_t(e4))));
    for (uint k = 0; k < 4; k++) {
        float x = uintBitsToFloat(i << 16 | low[k]);
        PUT(k, x);
        saturatedConvertEXT(most4[at], x);
    }
    double between = uintBitsToFloat(i << 16 | 0x8000);
    PUT(4, i % 65536 / 128 % 256 == 255 ? 0.5lf : between * (1.0lf + 1e-12lf));
    PUT(5, int(i * 65537) >> (i % 32));
    PUT(6, (uint64_t(i) << 48 | 1) >> (i % 61));
    bf16vec2 pair = bf16vec2(vec2(e4, i));
    out16[i * 8 + 7] = pair.x;
    out4[i * 8 + 7] = floate4m3_t(pair.y);
    out5[i * 8 + 7] = floate5m2_t(all16[i]);
}
