// SPDX-License-Identifier: MIT
// RUN: %heddle compile %s --emit passes -o %t.spvasm && %filecheck %s < %t.spvasm
// One function. A return from within a loop leaves it by a plain branch, so that spirv-val is not asked.
// CHECK-NOT: OpSpecConstant
// CHECK-COUNT-1: OpFunction %void
// CHECK-NOT: OpFunctionCall
// CHECK-NOT: OpVariable {{.*}} Function
// CHECK: OpReturn
// CHECK-NOT: OpFunction %
#version 460
// Functions that return early: in a selection, in a loop, in a switch, nested, with out parameters.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Buf { int x[]; };

int sign_of(int v) {
    if (v < 0)
        return -1;
    if (v > 0)
        return 1;
    return 0;
}

int find(int v, int n) {
    for (int i = 0; i < n; i++) {
        if (x[i] == v)
            return i;
        if (x[i] < 0)
            break;
    }
    return -1;
}

int pick(int v) {
    switch (v & 3) {
    case 0: return 10;
    case 1: v += 3;
    case 2: v *= 2; break;
    default: return sign_of(v);
    }
    return v;
}

void halves(int v, out int low, inout int high, in int bias) {
    bias += 1;
    low = (v & 0xffff) + bias;
    if (high > 100)
        return;
    high += v >> 16;
}

int endless(int v) {
    for (;;) {
        v = v * 3 + 1;
        if (v > 1000)
            return v;
    }
}

void main() {
    int i = int(gl_GlobalInvocationID.x), low = 0, high = i * 50;
    if (i >= x.length())
        return;
    for (int k = 0; sign_of(k - 4) < 0; k++)
        high += find(k, 8);
    halves(x[i], low, high, 7);
    x[i] = pick(low) + find(high, 16) + endless(low & 15);
}
