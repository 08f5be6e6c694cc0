// SPDX-License-Identifier: MIT
// Integer dot products, packed and not, with and without saturating accumulation.
// SIZES: 32 8
#version 460
#extension GL_GOOGLE_include_directive : require
#include "ops.glsl"

spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450) int sdot(uint x, uint y, spirv_literal int format);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4451) uint udot(uint x, uint y, spirv_literal int format);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4452) int sudot(uint x, uint y, spirv_literal int format);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4453) int sdot_sat(uint x, uint y, int c, spirv_literal int format);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4454) uint udot_sat(uint x, uint y, uint c, spirv_literal int format);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4455) int sudot_sat(uint x, uint y, int c, spirv_literal int format);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6016], id = 4450) int sdot(ivec3 x, ivec3 y);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6017], id = 4450) int sdot(i8vec4 x, i8vec4 y);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6017], id = 4451) uint udot(u8vec4 x, u8vec4 y);
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6016], id = 4454) uint udot_sat(u16vec2 x, u16vec2 y, uint c);

void main()
{
    uint x = word(0), y = word(1), c = word(2);
    put(sdot(x, y, 0)); put(udot(x, y, 0)); put(sudot(x, y, 0));
    put(sdot_sat(x, y, int(c), 0)); put(udot_sat(x, y, c, 0)); put(sudot_sat(x, y, int(c), 0));
    put(sdot(ivec3(x & 1023u, y & 1023u, 5), ivec3(-7, 9, c & 255u)));
    put(sdot(i8vec4(x, y, c, 1), i8vec4(y, x, 3, -128))); put(udot(u8vec4(x, y, c, 1), u8vec4(y, x, 3, 255)));
    put(udot_sat(u16vec2(x & 32767u, 7), u16vec2(y, c), c));
    put(sdot(words[4], y, 0));
    put(sdot(x & 0x0f0f0f0fu, y, 0)); put(sdot(x, (y >> 4) & 0x7f7f7f7fu, 0));
    put(udot(x & 0x0f0f0f0fu, y, 0)); put(sudot(x, y & 0x70707070u, 0));
    put(sdot(x, 0x80808080u, 0)); put(udot(0xffffffffu, y, 0)); put(sudot(words[3], y, 0));
    near(1.0);
}
