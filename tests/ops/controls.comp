// SPDX-License-Identifier: MIT
// Float controls: denormals flushed and results rounded towards zero, by width (of which glslang
// keeps one a mode).
// VARIANTS: FLUSH=16 | FLUSH=32 | FLUSH=64 | ZERO=16 | ZERO=32 | ZERO=64 | KEEP=1
// INPUT: float
// SIZES: 32 8
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_bfloat16 : require
#include "ops.glsl"

#define CONTROLS extensions = ["SPV_KHR_float_controls"]
#if defined(FLUSH)
spirv_execution_mode(CONTROLS, capabilities = [4465], 4460, FLUSH);
#elif defined(ZERO)
spirv_execution_mode(CONTROLS, capabilities = [4468], 4463, ZERO);
#else
spirv_execution_mode(CONTROLS, capabilities = [4464], 4459, 32);
spirv_execution_mode(CONTROLS, capabilities = [4466], 4461, 32);
spirv_execution_mode(CONTROLS, capabilities = [4467], 4462, 16);
#endif

#define FUSED spirv_instruction(extensions = ["SPV_KHR_fma"], capabilities = [6030], id = 4427)
FUSED float fused(float x, float y, float z);
FUSED float16_t fused(float16_t x, float16_t y, float16_t z);
FUSED double fused(double x, double y, double z);

layout(constant_id = 0) const double third = 1.0lf / 3.0lf;
layout(constant_id = 1) const double above = 1.00146484375lf;

void main()
{
    float x = uintBitsToFloat(word(0)), y = uintBitsToFloat(word(1)), z = uintBitsToFloat(word(0) & 0x807fffffu);
    // bf16 is nobody's width (Vulkan): neither flushed nor rounded otherwise, kept by both devices
    bfloat16_t brain = uintBitsToBFloat16EXT(uint16_t(word(0) & 0x807fu));
    put(float(brain)); put(float(bfloat16_t(x))); put(float(bfloat16_t(double(x) * 1.0000001lf)));
    precise float sum = x + y, product = x * y, quotient = x / y, small = z + z, smaller = z * 0.5;
    put(sum); put(x - y); put(quotient);
#ifdef FLUSH
    put(small); put(smaller); put(-z); put(float16_t(z)); put(product);
    /* denormals that come in, are compared, converted, packed or given to a function are zeros */
    precise float large = z * 1e38, sum16 = float(float16_t(x * 1e-38 + 1e-5));
    float16_t q = uint16BitsToFloat16(uint16_t(word(0) & 0x83ffu)), one = 1.0hf;
    precise float16_t scaled = q * 1024.0hf, added = q + q;
    put(large); put(z > 0); put(z == 0); put(z < -z); put(sum16);
    put(scaled); put(added); put(float(q)); put(double(z)); put(q == 0.0hf); put(-q); put(q < one);
    put(abs(z)); put(max(z, -z)); put(sign(z)); put(floor(z)); put(ldexp(z, 30)); put(abs(q));
    put(ldexp(1.0, -130)); put(packHalf2x16(vec2(1e-6, x == x ? x : 0.0))); put(unpackHalf2x16(word(0) & 0x83ff83ffu).y);
    put(fma(z, 1e30, z)); put(clamp(z, -1.0, 1.0)); put(step(0.0, z));
    put(fract(abs(z))); put(length(z)); put(mod(z, 1.0)); put(mod(q, one));
#else
    precise float tiniest = z * y, half_tiniest = z * 0.7, ratio = z / 3.0;
    precise double small64 = uint64BitsToDouble(word64(0) & 0x807ffffffffffffful), tiny64 = small64 * 0.7lf, product64 = double(y) * small64;
    precise double square64 = (double(x) * 1e-160lf) * (double(y) * 1e-160lf);
    put(product); put(tiniest); put(half_tiniest); put(ratio); put(tiny64); put(product64); put(square64);
    precise float beyond = uintBitsToFloat(0x7f7fffffu - (word(2) & 1u)) * 2.0, below = uintBitsToFloat(0xff7fffffu) + uintBitsToFloat(0xff7fff00u + (word(2) & 1u));
    put(beyond); put(below); put(double(word64(2) | 1ul)); put(double(int64_t(word64(2) | 1ul))); put(float(0x100000000000001ul << (word(2) & 7u)));
    put(float((1ul << 60) - 1ul - (word(2) & 1ul))); put(float(-(1l << 60) + 1l + int64_t(word(2) & 1u)));
#endif
    float16_t h = float16_t(x), k = float16_t(y);
    precise float16_t hsum = h + k, hproduct = h * k;
    put(h); put(hsum); put(hproduct);
    precise double d = double(x) + double(y) * 1e-9lf, e = double(x) / 3.0lf;
    put(d); put(float(d)); put(e);
    put(float(int(word(2)))); put(float16_t(word(3))); put(float(word64(2)));
    precise double two_thirds = third + third;
    put(float(third)); put(float16_t(third)); put(float(-above)); put(float16_t(-above)); put(float(two_thirds));
    precise float most = 16777215.0 + 0.75;
    put(most); put(float(0x7fffffff));
    double nearly = 0.99999lf; // to be folded
    put(float(bfloat16_t(nearly))); put(float(float16_t(nearly)));
    double u = uint64BitsToDouble(word64(0)), v = uint64BitsToDouble(word64(1)), w = uint64BitsToDouble(word64(2));
    double tiny = 5e-324lf, wide = 1.7e308lf;
    put(fused(x, y, z)); put(fused(x, y, -x)); put(fused(h, k, -h)); put(fused(u, v, w)); put(fused(u, v, -u));
    put(fused(double(x), tiny, double(y))); put(fused(double(x) * 1e-200lf, -double(y) * 1e-200lf, 1.0lf));
    put(fused(wide, 2.0lf + double(x) * 1e-30lf, -wide)); put(fused(tiny, 0.75lf, tiny * double(word(3) & 1u)));
    near(1.0);
}
