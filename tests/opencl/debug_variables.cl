// SPDX-License-Identifier: MIT
// Variables of OpenCL C in GDB, by -g --no-optimisation: a lane's is an element; of functions that
// were inlined, too. Results stay what they are.
// REQUIRES: gdb
// RUN: gdb -nx -batch -ex 'set breakpoint pending on' -ex 'set debuginfod enabled off' \
// RUN:   -ex 'break debug_variables.cl:41' -ex run -ex 'print v[3]' -ex 'print p[1][2]' -ex 'print n' \
// RUN:   -ex 'print w[1]@2' -ex 'print j' -ex 'print i[31]' -ex delete -ex continue --args %heddle run %s \
// RUN:   -g --no-optimisation --global 64 --bind 0=iota:f32[64] --bind 1=zeros:f32[64] \
// RUN:   --bind 2=list:s32:2 --threads 1 2>&1 | %filecheck %s
// RUN: %heddle run %s --global 64 --bind 0=iota:f32[64] --bind 1=zeros:f32[64] --bind 2=list:s32:2 \
// RUN:   --out 1=%t.npy && %heddle run %s -g --no-optimisation --global 64 --bind 0=iota:f32[64] \
// RUN:   --bind 1=zeros:f32[64] --bind 2=list:s32:2 --compare 1=%t.npy --tolerance 0
// RUN: HEDDLE_DEBUG=variables %heddle compile %s | grep 'OpStore .* Volatile' > /dev/null
// RUN: %heddle compile %s | not grep Volatile
// CHECK: hit Breakpoint 1, debug_variables.cl:k () at {{.*}}debug_variables.cl:41
// CHECK: $1 = 31
// CHECK: $2 = 6
// CHECK: $3 = 2
// CHECK: $4 = {13, 22}
// CHECK: $5 = 2
// CHECK: $6 = 31
// CHECK: exited normally

float scale(float u)
{
    float w = u * 3.0f;
    w += 1.0f;
    return w;
}

kernel void k(global const float *x, global float *y, int n)
{
    int i = get_global_id(0);
    float v = x[i];
    float2 p = (float2)(v, v + 1.0f);
    int j = 0;
    for (; j < n; j++)
        v = scale(v);
    p.y *= 2.0f;
    v += 0.0f * p.x;
    y[i] = v + p.y;
}
