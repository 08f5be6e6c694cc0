// SPDX-License-Identifier: MIT
// What the kernels of this folder share. 256 invocations, two workgroups of 128; each has eight words of
// input and puts results, the same number in each: bits that both devices must agree on, and floats that
// may differ by the ulps that the kernel's head allows.
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_spirv_intrinsics : require
#extension GL_EXT_control_flow_attributes : require

#ifdef WORKGROUP // of another shape
layout(WORKGROUP) in;
#define ME (gl_WorkGroupID.x * 128 + gl_LocalInvocationIndex)
#else
layout(local_size_x = 128) in;
#define ME gl_GlobalInvocationID.x
#endif
layout(std430, set = 0, binding = 0) readonly buffer In { uint words[]; };
layout(std430, set = 0, binding = 1) buffer Exact { uint exact[]; };
layout(std430, set = 0, binding = 2) buffer Approximate { float approximate[]; };

uint word(uint k) { return words[k * 256 + ME]; }
uint64_t word64(uint k) { return uint64_t(word(k)) | uint64_t(word(k + 4)) << 32; }

uint n_exact = 0, n_approximate = 0;
void put(uint x) { exact[n_exact++ * 256 + ME] = x; }
void put(int x) { put(uint(x)); }
void put(bool x) { put(x ? 1u : 0u); }
void put(uint64_t x) { put(uint(x)); put(uint(x >> 32)); }
void put(int64_t x) { put(uint64_t(x)); }
void put(uint16_t x) { put(uint(x)); }
void put(int16_t x) { put(uint(x)); }
void put(uint8_t x) { put(uint(x)); }
void put(int8_t x) { put(uint(x)); }
// One NaN is as good as another.
void put(float x) { put(x != x ? 0x7fc00000u : floatBitsToUint(x)); }
void put(float16_t x) { put(x != x ? 0x7e00u : uint(float16BitsToUint16(x))); }
void put(double x) { put(x != x ? 0x7ff8000000000000ul : doubleBitsToUint64(x)); }
void near(float x) { approximate[n_approximate++ * 256 + ME] = x; }
