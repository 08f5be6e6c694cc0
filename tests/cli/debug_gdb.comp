// SPDX-License-Identifier: MIT
// A session in GDB: it stops at a line of a function that was inlined, and the stack says so.
// REQUIRES: gdb
// RUN: gdb -nx -batch -ex 'set breakpoint pending on' -ex 'set debuginfod enabled off' \
// RUN:   -ex 'break debug_gdb.comp:28' -ex run -ex 'bt 2' -ex delete \
// RUN:   -ex 'break debug_gdb.comp:36' -ex continue -ex 'bt 1' -ex delete -ex continue \
// RUN:   --args %heddle run %s -g --bind 0=rand:f32[64] --bind 1=zeros:f32[64] --groups 2 \
// RUN:   --threads 1 2>&1 | %filecheck %s
// CHECK: hit Breakpoint 1, scale () at {{.*}}debug_gdb.comp:28
// CHECK: #0 {{.*}}scale () at {{.*}}debug_gdb.comp:28
// CHECK: #1 {{.*}}debug_gdb.comp:main () at {{.*}}debug_gdb.comp:35
// CHECK: hit Breakpoint 2, debug_gdb.comp:main () at {{.*}}debug_gdb.comp:36
// CHECK: exited normally
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer X
{
    float x[];
};
layout(binding = 1) buffer Y
{
    float y[];
};

float scale(float v)
{

    return v * 3.0 + 1.0;
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    float v = x[i];
    if (v > 0.5) v = scale(v);
    y[i] = v;
}
