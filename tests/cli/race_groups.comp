// SPDX-License-Identifier: MIT
// A race names both invocations with their workgroups, and both lines.
// RUN: status 1 %heddle run %s --check --groups 2,2 --bind 0=zeros:u32[8] 2>&1 | %filecheck %s
// CHECK: race_groups.comp:[[@LINE+11]]: error: write of 'X' races with the write by invocation (0, 0, 0) of workgroup (0, 0, 0) at instruction {{[0-9]+}} (line [[@LINE+11]]); in workgroup (1, 0, 0), invocation (0, 0, 0)
#version 450
layout(local_size_x = 8) in;
layout(binding = 0) buffer X
{
    uint x[];
};

void main()
{

    x[gl_LocalInvocationID.x] = gl_GlobalInvocationID.x;
}
