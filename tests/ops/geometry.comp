// SPDX-License-Identifier: MIT
// Vectors and matrices: sums of products may be fused, so close, for moderate values.
// INPUT: float
// SIZES: 32 8
// ULPS: 16
// ABSOLUTE: 2e-3
#version 460
#extension GL_GOOGLE_include_directive : require
#include "ops.glsl"

float tame(uint k)
{
    float x = uintBitsToFloat(word(k));
    return abs(x) < 16 && abs(x) > 0.01 ? x : 1.25 + float(k);
}
void all3(vec3 v) { near(v.x); near(v.y); near(v.z); }
void all4(vec4 v) { near(v.x); near(v.y); near(v.z); near(v.w); }

void vectors(vec3 a, vec3 b)
{
    near(dot(a, b)); near(length(a)); near(length(a.x)); near(distance(a, b)); near(distance(a.x, b.x));
    all3(normalize(a)); near(normalize(a.x)); all3(cross(a, b)); all3(faceforward(a, b, a)); all3(reflect(a, normalize(b)));
    all3(refract(normalize(a), normalize(b), 0.7)); all3(refract(normalize(a), normalize(b), 1.9));
    all3(mix(a, b, 0.3)); all3(smoothstep(vec3(-1), vec3(2), a)); all3(fma(a, b, vec3(1))); all3(a * b.x);
    near(mix(a.x, b.x, a.y > 0)); all3(faceforward(a, b, vec3(float(word(5) & 0u))));
}

void matrices(vec3 a, vec3 b, vec4 c)
{
    mat4 m = mat4(vec4(a, 1), vec4(b, -2), c, vec4(3, 1, a.x, 9));
    mat3x2 w = outerProduct(a.xy, b);
    near(w[2][1]);
    all4(m * c); all4(c * m); all4((m * m)[1]); all4((m * 0.5)[2]); all4(transpose(m)[1]);
    near(determinant(mat2(1 + a.x * 0.01, 20, 21, b.x * 0.1)));
    near(determinant(mat2(4 + a.x * 0.1, 1, b.x * 0.1, 3)));
    mat3 d = mat3(20, a.x, 1, b.x, 21, a.y, b.y, 1, 22);
    near(determinant(d) / 8000); all3(inverse(d)[1]);
    mat4 e = mat4(20, a.x, 1, a.z, b.x, 21, a.y, 1, b.y, 1, 22, b.z, 1, 2, 3, 30);
    all4(inverse(e)[2]); near(inverse(mat2(10, a.x * 0.1, 1, 9))[0][1]);
    int k = int(word(5) & 3u);
    vec4 v = c; v[k] = 7; near(c[k]); all4(v); near(m[k][3 - k]);
    all4(-c.wzyx); all4((m / 3.0)[0]);
}

// Some components are the same for all lanes, and the results' are not.
void partly_same(float a, float b)
{
    vec3 v = vec3(0.5, a, b), w = vec3(a, 0.25, 2);
    all3(normalize(v)); all3(cross(v, w)); all3(reflect(w, normalize(v)));
    all3(faceforward(v, w, v)); all3(refract(normalize(w), normalize(v), 0.7));
    mat2 m = mat2(10, a * 0.1, 1, 9);
    all4(vec4(m * m)); all4(vec4(transpose(m))); all4(vec4(inverse(m)));
}

void main()
{
    vec3 a = vec3(tame(0), tame(1), tame(2)), b = vec3(tame(3), tame(4), tame(5));
    vectors(a, b);
    matrices(a, b, vec4(tame(6), tame(7), 0.5, -1));
    partly_same(a.x, b.x);
    put(1);
}
