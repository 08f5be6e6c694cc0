#version 460
// Structures, nested arrays, matrices, layouts, push constants, buffer references, 8-bit storage.
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 4, local_size_y = 4) in;
struct Inner { vec3 v; float w; mat3 m[2]; };
struct Outer { Inner in_[3]; ivec2 k; int8_t b[5]; };
layout(buffer_reference, std430) buffer Node;
layout(buffer_reference, std430) buffer Node { Node next; float value; };
layout(std140, binding = 0) uniform U { layout(row_major) mat4x3 rm; mat2 cm; float f[3]; } u;
layout(std430, binding = 1) buffer S { Outer items[]; } s;
layout(scalar, binding = 2) buffer T { Outer items[2]; vec3 tail[]; } t;
layout(push_constant) uniform P { Node head; uint n; vec2 xy; } p;
void main() {
    Node at = p.head;
    float sum = 0.0;
    for (uint i = 0; i < p.n; i++, at = at.next) sum += at.value;
    Inner x = s.items[0].in_[1];
    x.v = u.rm[1] + x.m[1] * vec3(p.xy, u.f[2]) + u.cm[1].xyx;
    s.items[gl_LocalInvocationIndex].in_[2] = x;
    t.items[1] = s.items[0];
    t.tail[t.tail.length() - 1] = vec3(sum);
    s.items[1].b[int(sum) % 5] = int8_t(s.items.length());
}
