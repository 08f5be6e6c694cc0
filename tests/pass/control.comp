// SPDX-License-Identifier: MIT
// RUN: %heddle compile %s --emit passes -o %t.spvasm && %filecheck %s < %t.spvasm
// RUN: %spirv-as --target-env vulkan1.3 %t.spvasm -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// Loops that depend on data stay, all variables are values.
// CHECK-NOT: OpVariable {{.*}} Function
// CHECK-COUNT-4: OpLoopMerge
// CHECK: OpVectorInsertDynamic
// CHECK-NOT: OpLoopMerge
#version 460
// Nested loops with break and continue, do-while, switch with fall-through, uniform and not.
layout(local_size_x = 8, local_size_y = 4) in;
layout(set = 0, binding = 0) buffer Buf { uint x[]; };
layout(push_constant) uniform Push { uint n; uint mode; } p;

void main() {
    uint id = gl_LocalInvocationIndex, sum = 0, i = 0;
    for (uint a = 0; a < p.n; a++) {
        if ((x[a] & 1u) != 0u)
            continue;
        for (uint b = 0; b < id; b++) {
            if (x[b] == 7u)
                break;
            switch (p.mode) {
            case 0u: sum += b; break;
            case 1u: sum ^= b;
            case 2u: sum += 3u; break;
            default: continue;
            }
            sum++;
        }
        if (sum > 1000u)
            break;
    }
    do {
        sum = sum * 5u + 1u;
        if (sum % 7u == 0u)
            continue;
        i++;
    } while (i < 10u);
    bool ok = sum > 3u && (p.mode == 1u || x[id] == 2u);
    while (ok) {
        sum >>= 1u;
        ok = sum > 50u;
    }
    uvec4 v = uvec4(sum, id, i, p.n);
    v.y = sum;
    v[id & 3u] += 5u;
    x[id] = v.x + v.y + v.z + v.w;
}
