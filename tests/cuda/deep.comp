// SPDX-License-Identifier: MIT
// An index that depends on a value in 2^40 ways: what it is a multiple of is not asked of each.
//
// RUN: for O in "" --no-optimisation; do \
// RUN:   %heddle compile %s $O --device cuda --isa sm_80 --emit ptx | %filecheck %s || exit 1; done
// CHECK: st.global
#version 460
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };

void main()
{
    uint x = a[0], y = a[1];
    [[unroll]] for (uint i = 0; i < 20; i++) {
        uint sum = x + y;
        y = x - y * a[i];
        x = sum | y;
    }
    a[x + y] = 1;
}
