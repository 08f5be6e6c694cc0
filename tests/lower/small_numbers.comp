// SPDX-License-Identifier: MIT
// Integers of 8 and 16 bits and f16 on targets that only store them, and on those that do not even
// that: arithmetic, conversions, bit casts, vectors, structures and push constants give what the
// reference device makes of them, bit for bit, and neighbours in a word stay whole.
// RUN: BINDS="--bind 0=iota:u16[65536] --bind 1=iota:u8[65536] --bind 2=zeros:u16[65536,16] \
// RUN:     --bind 3=zeros:u8[65536,12] --bind 4=zeros:u32[65536,4] --bind 5=zeros:u8[65536,8]"; \
// RUN: %heddle run %s --device reference --groups 256 $BINDS --out 2=%t.2.npy --out 3=%t.3.npy \
// RUN:     --out 4=%t.4.npy --out 5=%t.5.npy && \
// RUN: for p in stored words held half; do \
// RUN:     %heddle compile %s --for tests/lower/$p.json --emit spirv -o %t.$p.spv && \
// RUN:     %spirv-val --target-env vulkan1.3 --scalar-block-layout %t.$p.spv && \
// RUN:     %heddle run %t.$p.spv --groups 256 $BINDS --compare 2=%t.2.npy --compare 3=%t.3.npy \
// RUN:         --compare 4=%t.4.npy --compare 5=%t.5.npy --tolerance 0 || exit 1; done
// RUN: %spirv-dis %t.stored.spv | %filecheck %s --check-prefix=STORED
// RUN: %spirv-dis %t.words.spv | %filecheck %s --check-prefix=WORDS
// STORED-NOT: {{OpCapability (Int8|Int16|Float16)}}
// STORED-DAG: OpCapability StorageBuffer8BitAccess
// STORED-DAG: OpCapability StorageBuffer16BitAccess
// STORED: [[#HALF:]] = OpLoad %half
// STORED-NEXT: OpFConvert %float %[[#HALF]]
// WORDS-NOT: {{OpType(Int|Float) (8|16)|Int8|Int16|Float16|BitAccess}}
// WORDS: OpAtomicAnd %uint
// WORDS: OpAtomicOr %uint
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 256) in;
struct Mixed { uint8_t a; i8vec3 b; float16_t c; uint16_t d; };
layout(set = 0, binding = 0) readonly buffer All16 { float16_t all16[]; };
layout(set = 0, binding = 1) readonly buffer All8 { int8_t all8[]; };
layout(set = 0, binding = 2) buffer Out16 { uint16_t out16[]; };
layout(set = 0, binding = 3) buffer Out8 { uint8_t out8[]; };
layout(set = 0, binding = 4) buffer Out32 { uvec4 out32[]; };
layout(set = 0, binding = 5, scalar) buffer Structures { Mixed all[]; };

/* The payload of NaNs is anything. */
uint16_t bits(float16_t x) { return isnan(x) ? 1us : float16BitsToUint16(x); }

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    float16_t x = all16[i], y = all16[(i * 40503u + 7) % 65536], z = float16_t(uint(i));
    int8_t s = all8[i], t = all8[(i >> 8) % 65536];
    uint8_t u = uint8_t(s), v = uint8_t(t);
    float16_t halves[] = { x + y, x * y, x - y, max(x, y), -x, x + z, float16_t(float(x) * 1.0001),
                           float16_t(double(i) / 65537.0lf), float16_t(int(i * 65537)) };
    for (uint k = 0; k < 9; k++)
        out16[i * 16 + k] = bits(halves[k]);
    /* precise: machines that multiply and add f16 at once do not overflow between the two */
    precise f16vec2 pair = f16vec2(x, y) * f16vec2(2, 0.5);
    uint word = packFloat2x16(f16vec2(float16_t(s), float16_t(v)));
    precise float16_t sum = pair.x + float16_t(0.25) * pair.y;
    out16[i * 16 + 9] = bits(sum);
    out16[i * 16 + 10] = uint16_t(int16_t(s) * int16_t(t) + int16_t(i));
    out16[i * 16 + 11] = uint16_t(i) / uint16_t(uint(v) + 1);
    out16[i * 16 + 12] = uint16_t(int16_t(i) >> 3us);
    out16[i * 16 + 13] = uint16_t(i) >> 3us;
    u8vec4 parts = unpack8(word);
    uint8_t bytes[] = { u + v, u * v, uint8_t(s / max(t, int8_t(1))), uint8_t(s % max(t, int8_t(1))),
                        u << 3us, u >> 1us, uint8_t(s >> 1us), ~u, parts.y, min(u, v),
                        uint8_t(max(s, t)), uint8_t(s < t ? 1 : u < v ? 2 : 3) };
    for (uint k = 0; k < 12; k++)
        out8[i * 12 + k] = bytes[k];
    out32[i] = uvec4(uint(int(s)), uint(u), word, pack32(parts));
    all[i].b.y = s;
    all[i].d = uint16_t(i);
    Mixed m = all[i];
    m.a = v;
    m.b = m.b + i8vec3(1, 2, 3) * t;
    m.c = float16_t(u);
    all[i] = m;
}
