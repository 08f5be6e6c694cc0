/* SPDX-License-Identifier: MIT
 *
 * What the kernels of this folder share: eight floats and eight integers of input an invocation,
 * results that must be the same on both devices, results that may differ by rounding.
 */
#extension GL_EXT_nonuniform_qualifier : require

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Input { float number[8][256]; int whole[8][256]; };
layout(std430, binding = 1) buffer Exact { uint exact[]; };
layout(std430, binding = 2) buffer Near { float near[]; };

uint me = gl_GlobalInvocationID.x, n_exact = 0, n_near = 0;

#define F(k) number[k][me]
#define I(k) whole[k][me]

void put(uint x) { exact[n_exact++ * 256 + me] = x; }
void put(int x) { put(uint(x)); }
void put(ivec2 x) { put(x.x); put(x.y); }
void put(ivec3 x) { put(x.xy); put(x.z); }
void put(ivec4 x) { put(x.xyz); put(x.w); }
void put(uvec4 x) { put(ivec4(x)); }
/* Texels are the same, not only near. */
void put(vec4 x) { put(floatBitsToUint(x)); }
void about(float x) { near[n_near++ * 256 + me] = x; }
void about(vec2 x) { about(x.x); about(x.y); }
void about(vec4 x) { about(x.xy); about(x.zw); }

/* Invocations take turns with what diverges. */
bool some() { return (I(7) & 3) != 0; }
