// SPDX-License-Identifier: MIT
// --local takes effect on whatever a kernel in OpenCL C becomes: itself, and a shader for Vulkan, which
// runs on a Vulkan driver too; one that names its size refuses another.
// RUN: for t in opencl vulkan; do for d in cpu reference; do %heddle run %s --entry open --target $t \
// RUN:   --device $d --global 8 --local 4 --bind 0=zeros:u32[8] --compare 0=list:u32:4,4,4,4,4,4,4,4 \
// RUN:   --tolerance 0 || exit 1; done; done
// RUN: %heddle vulkan -- %heddle run %s --entry open --device vulkan --target vulkan --global 8 --local 2 \
// RUN:   --bind 0=zeros:u32[8] --compare 0=list:u32:2,2,2,2,2,2,2,2 --tolerance 0
// RUN: for t in opencl vulkan; do status 2 %heddle run %s --entry closed --target $t --global 8 --local 2 \
// RUN:   --bind 0=zeros:u32[8] 2>&1 | %filecheck %s || exit 1; done
// CHECK: error: {{.*}}4{{.*}}1{{.*}}1
kernel void open(global uint *x) { x[get_global_id(0)] = get_local_size(0); }

__attribute__((reqd_work_group_size(4, 1, 1)))
kernel void closed(global uint *x) { x[get_global_id(0)] = get_local_size(0); }
