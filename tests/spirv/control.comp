#version 460
// Control flow: switch with fall-through, nested loops, early exits, loop controls.
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
layout(binding = 0) buffer O { int o[]; };
layout(binding = 1) buffer L { int64_t l[]; };
int pick(int x) {
    switch (x) {
    case -1: return 5;
    case 0:
    case 1: x += 3;
    case 2: x *= 2; break;
    case 0x7fffffff: return -x;
    default: x = 9;
    }
    return x;
}
void main() {
    int i = int(gl_GlobalInvocationID.x), acc = 0;
    switch (uint(l[0])) {
    case 0x80000000u: acc = 1; break;
    case 0xffffffffu: acc = 2; break;
    }
    [[unroll]] for (int k = 0; k < 4; k++) acc += pick(k - 1);
    [[dont_unroll, dependency_length(4)]] for (int k = 0; k < i; k++) {
        if ((k & 3) == 3) continue;
        for (int j = 0; j < k; j++) {
            if (j * k > 50) break;
            acc += j;
        }
        if (acc > 1000) { o[i] = -1; return; }
    }
    [[flatten]] if (acc > 10) acc -= 10; else acc += 10;
    int w = 0;
    do { w += 2; } while (w < acc && w != 40);
    o[i] = acc + w;
}
