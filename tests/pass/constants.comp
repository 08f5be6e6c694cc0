#version 460
// Specialisation constants through operations, array lengths, workgroup size and dead branches.
layout(local_size_x_id = 0, local_size_y = 2) in;
layout(constant_id = 1) const int N = 4;
layout(constant_id = 2) const bool FLAG = true;
layout(constant_id = 3) const float F = 1.5;
const int N2 = N * 2 + 1;
const uvec3 V = uvec3(N, N2, 7u);
layout(set = 0, binding = 0) buffer Buf { float x[]; };
shared float s[N2 * 4];

void main() {
    float table[N2];
    uint id = gl_LocalInvocationIndex;
    for (int i = 0; i < N2; i++)
        table[i] = F * float(i) + float(V.y);
    s[id] = table[id % uint(N2)];
    barrier();
    if (FLAG && N > 2)
        x[id] = s[gl_WorkGroupSize.x - 1u];
    else
        x[id] = FLAG ? 2.0 : 3.0;
}
