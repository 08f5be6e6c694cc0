// SPDX-License-Identifier: MIT
// The lengths of vectors that are members of structures, or (APART) lie in arrays of their own.
#version 460
layout(local_size_x = 64) in;
struct Particle { float x, y, z, mass, u, v, w, charge; };
layout(set = 0, binding = 0) readonly buffer Particles { Particle particles[]; };
layout(set = 0, binding = 1) writeonly buffer Result { float result[]; };
layout(set = 0, binding = 0) readonly buffer Numbers { float numbers[]; };
layout(push_constant) uniform Push { uint n; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
#ifdef APART
    float x = numbers[i], y = numbers[n + i], z = numbers[2 * n + i];
#else
    float x = particles[i].x, y = particles[i].y, z = particles[i].z;
#endif
    result[i] = sqrt(x * x + y * y + z * z);
}
