// SPDX-License-Identifier: MIT
// Checked runs: mistakes are shown when they are found, and counted at the end; Ctrl-C ends a
// kernel that goes on, with what was found so far and where it was.
// RUN: status 1 %heddle run %s --check --groups 2 --bind 0=iota:u32[64] --push list:u32:0 2>&1 | %filecheck %s
// RUN: status 1 interrupt --seen 'error: write of' %heddle run %s --check --groups 2 \
// RUN:   --bind 0=iota:u32[64] --push list:u32:1 --budget 4294967295 | %filecheck %s --check-prefix=STOP
// CHECK: check_live.comp:[[@LINE+20]]: error: write of 4 bytes at {{.*}} of buffer 'X' {{.*}}in workgroup (0, 0, 0), invocation ({{.*}}[out-of-bounds]
// CHECK: check_live.comp:[[@LINE+19]]: note: that was so 64 times
// STOP: check_live.comp:[[@LINE+18]]: error: write of 4 bytes
// STOP: check_live.comp:{{.*}}: error: stopped here; in workgroup (0, 0, 0), invocation ({{.*}}[stopped]
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X
{
    uint x[];
};
layout(push_constant) uniform Push
{
    uint forever;
};

void main()
{
    uint i = gl_GlobalInvocationID.x, n = x[i];
    while (n == 0xffffffffu)
        n++;
    x[i + 100u] = n;
    while (forever != 0u && n != 7u)
        n = n * 1664525u + 1013904222u;
    x[i] = n;
}
