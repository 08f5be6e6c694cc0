// SPDX-License-Identifier: MIT
// What leaves an array is an error of the kernel's, however far and whatever the array's size, and
// never the end of the command. An array ends where its pages do, but for its alignment to 64
// bytes: the element behind it is seen. Whole pages are left in both directions.
// RUN: rm -f %t.log; for n in 16 1024 524288; do for at in 0 1023 268435455; do for write in 0 1; do \
// RUN:   status 1 %heddle run %s --bind 0=zeros:u32[$n] --bind 1=zeros:u32[32] \
// RUN:     --push list:s32:$((n + at)),$write 2>> %t.log || exit 1; done; done; done
// RUN: for n in 16384 524288; do for at in -1 -1024 -268435456; do for write in 0 1; do \
// RUN:   status 1 %heddle run %s --bind 0=zeros:u32[$n] --bind 1=zeros:u32[32] \
// RUN:     --push list:s32:$at,$write 2>> %t.log || exit 1; done; done; done
// RUN: %filecheck %s --input-file %t.log && rm %t.log
// RUN: for n in 1 17 1000003; do for at in -268435456 -1024 -1 $n $((n + 1024)) \
// RUN:   $((n + 268435456)); do for write in 0 1; do \
// RUN:   %heddle run %s --groups 1 --bind 0=zeros:u32[$n] --bind 1=zeros:u32[32] \
// RUN:     --push list:s32:$at,$write 2> %t.log || [ $? -eq 1 ] && ! grep -v '^[^ ]*: error: \
// RUN: the kernel .* memory that the program does not have\|^heddle: note: that would be byte\|^heddle: note: it was in kernel' \
// RUN:   %t.log || exit 1; done; done; done
// RUN: status 1 %heddle bench %s --bind 0=zeros:u32[17] --bind 1=zeros:u32[32] \
// RUN:   --push list:s32:99999999,1 2>&1 | %filecheck %s
// CHECK: error: the kernel {{reads|writes}} memory that the program does not have: 0x
// CHECK-NEXT: heddle: note: that would be byte {{[0-9]+}} of set 0, binding 0 ('x'), which has
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X { uint x[]; };
layout(binding = 1) buffer Y { uint y[]; };
layout(push_constant) uniform Push { int at, write; };
void main()
{
    int i = int(gl_LocalInvocationID.x);
    if (write != 0)
        x[at + i] = 7;
    else
        y[i] = x[at + i];
}
