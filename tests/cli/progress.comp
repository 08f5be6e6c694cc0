// SPDX-License-Identifier: MIT
// A long check shows on a terminal how far it has come, and leaves no trace of that; elsewhere it
// shows nothing.
// RUN: python3 %S/terminal.py %heddle run %s --check --groups 400 --bind 0=iota:u32[25600] > %t.log && \
// RUN:   %filecheck %s --input-file %t.log
// RUN: %heddle run %s --check --groups 400 --bind 0=iota:u32[25600] 2>&1 | not grep -q 'workgroups'
// CHECK: {{[1-9][0-9]*}} of 400 workgroups{{.*}} s left
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer X
{
    uint x[];
};

void main()
{
    uint i = gl_GlobalInvocationID.x, n = x[i];
    for (uint k = 0u; k < 400u; k++)
        n = n * 1664525u + 1013904222u;
    x[i] = n;
}
