#version 460
// Images and samplers: nothing here runs them, but modules that have them are read and written.
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba32f) uniform image2D img;
layout(binding = 1) uniform sampler2D tex[];
layout(binding = 2, r32ui) coherent uniform uimage3D vol;
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy);
    vec4 c = textureLod(tex[nonuniformEXT(p.x)], vec2(p) / 7.0, 1.5) + textureGather(tex[1], vec2(0.25), 2);
    c += textureGradOffset(tex[0], vec2(p), vec2(0.1), vec2(0.2), ivec2(1, -1)) + texelFetch(tex[2], p, 0);
    imageStore(img, p, imageLoad(img, p + imageSize(img)) + c);
    imageAtomicAdd(vol, ivec3(p, 0), 1u);
}
