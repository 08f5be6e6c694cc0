// SPDX-License-Identifier: MIT
// Variables in GDB. With -g --no-optimisation those of numbers are in memory: a lane's is an element,
// of functions that were inlined too. With -g alone those are that have to be: arrays whose index
// varies.
// REQUIRES: gdb
// RUN: gdb -nx -batch -ex 'set breakpoint pending on' -ex 'set debuginfod enabled off' \
// RUN:   -ex 'break debug_variables.comp:44' -ex run -ex 'print w' -ex 'print w[5]' -ex 'print v[1]@3' \
// RUN:   -ex 'info locals' -ex up -ex 'print v[31]' -ex 'print i' -ex delete \
// RUN:   -ex 'break debug_variables.comp:59' -ex continue -ex 'print v[2]@4' -ex 'print p[1][3]' \
// RUN:   -ex 'print n' -ex 'print q[2][7]' -ex delete -ex continue \
// RUN:   --args %heddle run %s -g --no-optimisation --bind 0=iota:f32[64] --bind 1=zeros:f32[64] \
// RUN:   --groups 2 --threads 1 2>&1 | %filecheck %s
// RUN: gdb -nx -batch -ex 'set breakpoint pending on' -ex 'set debuginfod enabled off' \
// RUN:   -ex 'break debug_variables.comp:59' -ex run -ex 'print q[2][7]' -ex 'print v' -ex delete \
// RUN:   -ex continue --args %heddle run %s -g --bind 0=iota:f32[64] --bind 1=zeros:f32[64] \
// RUN:   --groups 2 --threads 1 2>&1 | %filecheck %s --check-prefix=FAST
// CHECK: hit Breakpoint 1, scale () at {{.*}}debug_variables.comp:44
// CHECK: $1 = {{[{]}}1, 4, 7, 10, 13, {{.*}}, 94}
// CHECK: $2 = 16
// CHECK: $3 = {1, 2, 3}
// CHECK-DAG: {{^}}v = {0, 1, 2,
// CHECK-DAG: {{^}}w = {1, 4, 7,
// CHECK: debug_variables.comp:main ()
// CHECK: $4 = 31
// CHECK: $5 = {0, 1, 2, 3,
// CHECK: hit Breakpoint 2
// CHECK: $6 = {7, 10, 13, 16}
// CHECK: $7 = 6
// CHECK: $8 = 3
// CHECK: $9 = 10
// CHECK: exited normally
// FAST: hit Breakpoint 1
// FAST: $1 = 10
// FAST: No symbol "v" in current context
// FAST: exited normally
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };

float scale(float v)
{
    float w = v * 3.0 + 1.0;
    w += 0.0;
    return w;
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    float v = x[i];
    int n = 3;
    float q[4];
    for (int k = 0; k < 4; k++)
        q[(k + i) & 3] = v + k;
    vec2 p = vec2(v);
    p.y *= 2.0;
    v = scale(v);
    y[i] = v + q[i & n] + p.y;
}
