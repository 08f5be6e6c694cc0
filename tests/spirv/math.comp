#version 460
// GLSL.std.450, constants that are hard to print, integer dot products, bit operations.
#extension GL_EXT_integer_dot_product : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 1) in;
layout(binding = 0) buffer O { float o[64]; double d[16]; float16_t h[16]; };
void main() {
    float x = o[0];
    o[1] = sin(x) + pow(x, 2.5) + fma(x, 0.1, 1e-45) + mix(x, 3.0e38, 0.25) + 1.0 / 0.0;
    int e;
    o[2] = frexp(x, e) + ldexp(x, e) + modf(x, o[3]) - 0.0 / 0.0 + uintBitsToFloat(0x7fa00001);
    d[0] = d[1] * 1e-320LF + sqrt(d[2]) + 2.2250738585072014e-308LF - 1.7976931348623157e308LF;
    h[0] = h[1] * 65504.0hf + 6e-8hf - 1.0hf / 3.0hf;
    uint lo, hi;
    umulExtended(uint(x), 0xffffffffu, hi, lo);
    o[4] = float(hi + lo + bitCount(lo) + findMSB(hi) + bitfieldExtract(lo, 3, 5) + packHalf2x16(vec2(x)));
    o[5] = float(dotEXT(u8vec4(1, 2, 3, 4), u8vec4(lo)) + dotPacked4x8EXT(int(lo), int(hi)));
    mat4 m = inverse(mat4(x));
    o[6] = determinant(m) + length(m[0]) + dot(normalize(m[1].xyz), cross(m[2].xyz, m[3].xyz));
}
