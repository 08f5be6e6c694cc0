// SPDX-License-Identifier: MIT
// Instructions that GLSL has no word for.
// INPUT: float
// SIZES: 32 8
// ULPS: 1000
// ABSOLUTE: 1e-3
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#include "ops.glsl"

#define KERNEL capabilities = [6]
spirv_instruction(KERNEL, id = 158) bool is_finite(float x);
spirv_instruction(KERNEL, id = 159) bool is_normal(float x);
spirv_instruction(KERNEL, id = 160) bool sign_bit(float x);
spirv_instruction(KERNEL, id = 161) bool less_or_greater(float x, float y);
spirv_instruction(KERNEL, id = 162) bool ordered(float x, float y);
spirv_instruction(KERNEL, id = 163) bool unordered(float x, float y);
spirv_instruction(KERNEL, id = 118) uint8_t saturate_unsigned(int x);
spirv_instruction(KERNEL, id = 119) int16_t saturate_signed(uint x);
spirv_instruction(id = 116) float quantize(float x);
spirv_instruction(id = 77) uint component(uvec4 v, uint k);
spirv_instruction(id = 78) uvec4 with_component(uvec4 v, uint x, uint k);
spirv_instruction(id = 83) float copy(float x);
spirv_instruction(extensions = ["SPV_KHR_expect_assume"], capabilities = [5629], id = 5631) bool expect(bool x, bool y);
spirv_instruction(extensions = ["SPV_KHR_expect_assume"], capabilities = [5629], id = 5630) void assume(bool x);
spirv_instruction(extensions = ["SPV_EXT_replicated_composites"], capabilities = [6024], id = 4463) vec4 replicate(float x);
spirv_instruction(set = "GLSL.std.450", id = 79) float nmin(float x, float y);
spirv_instruction(set = "GLSL.std.450", id = 80) float nmax(float x, float y);
spirv_instruction(set = "GLSL.std.450", id = 81) float nclamp(float x, float y, float z);
spirv_instruction(set = "GLSL.std.450", id = 35) float modf_to(float x, spirv_by_reference float whole);
spirv_instruction(set = "GLSL.std.450", id = 35) vec2 modf_to(vec2 x, spirv_by_reference vec2 whole);
spirv_instruction(set = "GLSL.std.450", id = 51) float frexp_to(float x, spirv_by_reference int power);
spirv_instruction(extensions = ["SPV_KHR_fma"], capabilities = [6030], id = 4427) float fused(float x, float y, float z);
spirv_instruction(extensions = ["SPV_KHR_fma"], capabilities = [6030], id = 4427) float16_t fused(float16_t x, float16_t y, float16_t z);
spirv_instruction(set = "GLSL.std.450", id = 53) float ldexp64(float x, int64_t power);
spirv_instruction(extensions = ["SPV_KHR_shader_clock"], capabilities = [5055], id = 5056) uvec2 clock(uint scope);
spirv_instruction(id = 232) uint increment(spirv_by_reference uint x, uint scope, uint semantics);
spirv_instruction(id = 233) uint decrement(spirv_by_reference uint x, uint scope, uint semantics);
spirv_instruction(id = 235) uint take(spirv_by_reference uint x, uint scope, uint semantics, uint value);
spirv_instruction(KERNEL, id = 318) bool test_and_set(spirv_by_reference uint x, uint scope, uint semantics);
spirv_instruction(KERNEL, id = 319) void clear_flag(spirv_by_reference uint x, uint scope, uint semantics);
spirv_instruction(KERNEL, id = 231) uint swap_weak(spirv_by_reference uint x, uint scope, uint equal, uint unequal, uint value, uint comparator);
spirv_instruction(id = 63) void copy_memory(spirv_by_reference uint to, spirv_by_reference uint from);

shared uint cell[8];
struct Pair { uint a; float b[2]; };

void floats(float x, float y)
{
    put(is_finite(x)); put(is_normal(x)); put(sign_bit(x)); put(less_or_greater(x, y)); put(ordered(x, y));
    put(unordered(x, y)); put(saturate_unsigned(int(word(3)) >> 20)); put(saturate_signed(word(3) >> (word(4) & 31u)));
    put(fused(x, y, 0.1)); put(quantize(x)); put(copy(x)); put(expect(x > 0, true)); assume(cell.length() == 8);
    vec4 v = replicate(x); put(v.w);
    bool differ = x != y && !isnan(x) && !isnan(y);
    put(differ || isnan(x) ? nmin(x, y) : 0); put(differ || isnan(x) ? nmax(x, y) : 0); put(nclamp(x, -1.5, 2.5));
    // normal at the edge; a sum that float would round to a tie of f16; powers beyond 32 bits
    float edge = uintBitsToFloat(0x007fffffu + (word(2) & 1u));
    put(is_normal(edge)); put(is_normal(-edge));
    float16_t odd = 1.0009765625hf + float16_t(word(2) & 1u) * 0.0009765625hf;
    put(fused(odd, 0.99853515625hf * 0.00048828125hf, odd)); put(fused(1.0009765625hf, float16_t(0.9990234375 * 0.00048828125), odd));
    put(ldexp64(1.5, int64_t(word(2) & 1u) << 32 | 3l)); put(ldexp64(x, int64_t(int(word(3))) << 20));
    uvec3 least = mix(uvec3(word(2), word(3), 5), uvec3(word(3), word(2), 9), lessThan(uvec3(word(2), word(3), 7), uvec3(word(3), word(2), 8)));
    put(least.x); put(least.y); put(least.z);
    float whole; int power;
    put(modf_to(x, whole)); put(whole);
    vec2 wholes, parts = modf_to(vec2(1.5, isnan(x) ? 2.25 : x), wholes);
    put(parts.x); put(parts.y); put(wholes.x); put(wholes.y);
    put(isnan(x) || isinf(x) ? 0 : frexp_to(x, power)); put(isnan(x) || isinf(x) ? 0 : power);
}

void atomics()
{
    uint l = gl_LocalInvocationIndex;
    if (l < 8)
        cell[l] = 1000;
    barrier();
    uint x = increment(cell[0], 2, 0), y = decrement(cell[1], 2, 0), z = take(cell[2], 2, 0, l);
    increment(cell[3 + (l & 1)], 2, 0); take(cell[5], 2, 0, 3);
    bool first = test_and_set(cell[6], 2, 0);
    put(first);
    memoryBarrierShared();
    barrier();
    clear_flag(cell[6], 2, 0);
    swap_weak(cell[7], 2, 0, 0, 5, 1000);
    barrier();
    for (int k = 0; k < 8; k++)
        put(cell[k]);
    barrier();
    if (l < 8)
        cell[l] = 100 + l;
    barrier();
    // one invocation a cell has the right comparator; one invocation alone
    swap_weak(cell[l & 7], 2, 0, 0, l + 1000, l >> 3 == 1 ? 100 + (l & 7) : 1);
    barrier();
    if (l == 77)
        atomicExchange(cell[1], l);
    barrier();
    for (int k = 0; k < 8; k++)
        put(cell[k]);
}

void clocks()
{
    uvec2 before = clock(1), after = clock(3);
    put(after.y > before.y || (after.y == before.y && after.x >= before.x));
}

void composites()
{
    Pair p, q = Pair(word(0), float[2](1.0, uintBitsToFloat(word(1))));
    p = q;
    p.b[0] = 7;
    uint k = word(2) & 1;
    put(p.b[k]); put(q.b[k]); put(p.a);
    uvec4 v = uvec4(word(0), word(1), 5, 6);
    put(v[word(3) & 3]); v[word(2) & 3] = 9; put(v.x + v.y + v.z + v.w);
    uvec4 w = with_component(v, 11, word(2) & 3);
    put(component(w, word(3) & 3)); put(w.x ^ w.y ^ w.z ^ w.w); put(component(w, 2));
    uint from = word(5), to = 0;
    copy_memory(to, from);
    put(to); put(words.length());
}

void main()
{
    floats(uintBitsToFloat(word(0)), uintBitsToFloat(word(1)));
    atomics();
    composites();
    clocks();
    near(1.0);
}
