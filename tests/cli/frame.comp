// SPDX-License-Identifier: MIT
// The frame is set up and touched before the first branch: behind it, LLVM's loop that touches the pages of
// a large frame would take a register that lives across.
// RUN: %heddle compile %s --isa x86-64-v3 --emit native -o - | %filecheck %s
// CHECK: heddle_kernel:
// CHECK-NOT: {{[[:space:]]j[a-z]+[[:space:]]}}
// CHECK: movb $0, {{.*}}(%rsp)
// CHECK: {{[[:space:]]j[a-z]+[[:space:]]}}
#version 450
layout(local_size_x = 8) in;
layout(binding = 0) buffer Data { float data[]; };
void main()
{
    if (gl_WorkGroupID.x >= 7)
        return;
    data[gl_GlobalInvocationID.x] *= 2;
}
