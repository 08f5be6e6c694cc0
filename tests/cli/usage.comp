// SPDX-License-Identifier: MIT
// Where a call is wrong the command that a comment of the kernel's shows is printed, in one line, as
//
//     heddle run tests/cli/usage.comp --groups 2
//         --bind 0=zeros:f32[64] \
//         --push list:f32:1
//
// and no more of it (tests/cli/examples.py: every example has one). Programs that read JSON are not disturbed.
// RUN: status 1 %heddle run %s --bind 0=zeros:f32[64] --groups 2 2>&1 | %filecheck %s
// RUN: status 2 %heddle run %s --groups 2 --push list:f32:1,2 --bind 0=zeros:f32[64] 2>&1 | %filecheck %s --check-prefix=LONG
// RUN: %heddle run %s --groups 2 --push list:f32:1 --bind 0=zeros:f32[64] 2>&1 | not grep 'how it is run'
// RUN: status 1 %heddle run %s --bind 0=zeros:f32[64] --groups 2 --json 2> /dev/null | python3 -m json.tool > /dev/null
// RUN: status 2 %heddle run tests/cli/run.comp --groups 0 2>&1 | not grep 'how it is run'
// CHECK: error: the kernel has 4 bytes of push constants, 0 are given
// CHECK: note: tests/cli/usage.comp says how it is run:
// CHECK-NEXT: {{^    }}heddle run tests/cli/usage.comp --groups 2 --bind 0=zeros:f32[64] --push list:f32:1{{$}}
// LONG: usage.comp says how it is run:
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X
{
    float x[];
};
layout(push_constant) uniform Push
{
    float add;
};

void main()
{
    x[gl_GlobalInvocationID.x] += add;
}
