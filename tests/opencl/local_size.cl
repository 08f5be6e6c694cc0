// SPDX-License-Identifier: MIT
// --local is the work-group's size of a kernel that leaves it open, as a shader too, whose
// specialisation constants it comes from; where it cannot be had, an error says so.
// RUN: for T in opencl vulkan; do for D in cpu reference; do \
// RUN:   %heddle run %s --entry open --target $T --device $D --local 32 --global 64 \
// RUN:     --bind 0=zeros:u32[64] --compare 0=full:32:u32[64] || exit 1; \
// RUN:   %heddle run %s --entry open --target $T --device $D --local 4,2,2 --global 16,2,2 \
// RUN:     --bind 0=zeros:u32[64] --compare 0=full:16:u32[64] || exit 1; \
// RUN:   %heddle run %s --entry fixed --target $T --device $D --local 8 --global 64 \
// RUN:     --bind 0=zeros:u32[64] --compare 0=full:8:u32[64] || exit 1; \
// RUN:   status 2 %heddle run %s --entry fixed --target $T --device $D --local 16 --global 64 \
// RUN:     --bind 0=zeros:u32[64] 2>&1 | %filecheck %s --check-prefix=FIXED || exit 1; \
// RUN: done; done
// RUN: status 2 %heddle run %s --entry open --target vulkan --local 32 --spec 0=16 --global 64 \
// RUN:   --bind 0=zeros:u32[64] 2>&1 | %filecheck %s --check-prefix=SPEC
// RUN: status 2 %heddle run %s --entry open --target vulkan --local 48 --global 64 \
// RUN:   --bind 0=zeros:u32[64] 2>&1 | %filecheck %s --check-prefix=EDGE
// FIXED: error: workgroups of 16x1x1 are asked for; the kernel is made for ones of 8x1x1
// SPEC: error: workgroups of 32x1x1 are asked for; the kernel is made for ones of 16x1x1
// EDGE: error: --global: 64 is no multiple of 48
kernel void open(global uint *o)
{
    uint i = get_global_id(2) * get_global_size(1) + get_global_id(1);
    o[i * get_global_size(0) + get_global_id(0)] =
        get_local_size(0) * get_local_size(1) * get_local_size(2);
}

kernel __attribute__((reqd_work_group_size(8, 1, 1))) void fixed(global uint *o)
{
    o[get_global_id(0)] = get_local_size(0);
}
