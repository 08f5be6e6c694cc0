// SPDX-License-Identifier: MIT
// --local: the workgroup's size of a kernel that names none; one that does keeps it, and says so.
// REQUIRES: mlir
// RUN: %heddle compile %s | %filecheck %s --check-prefix=OPEN
// RUN: %heddle compile %s --subgroup-size 16 | %filecheck %s --check-prefix=NARROW
// RUN: for device in cpu reference; do %heddle run %s --entry open --device $device --local 8,4,2 \
// RUN:   --groups 1 --bind 0=zeros:u32[3] --compare 0=list:u32:8,4,2 --tolerance 0 || exit 1; done
// RUN: %heddle run %s --entry open --groups 1 --bind 0=zeros:u32[3] \
// RUN:   --compare 0=list:u32:32,1,1 --tolerance 0
// RUN: status 2 %heddle run %s --entry closed --local 8 --groups 1 --bind 0=zeros:u32[3] 2>&1 | \
// RUN:   grep 'workgroups of 8x1x1 are asked for; the kernel is made for ones of 4x2x1'
// OPEN: OpExecutionMode %open LocalSize 32 1 1
// NARROW: OpExecutionMode %open LocalSize 16 1 1
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @open(%out: memref<3xi32>) kernel {
      %x = gpu.block_dim x
      %y = gpu.block_dim y
      %z = gpu.block_dim z
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %i = arith.index_cast %x : index to i32
      %j = arith.index_cast %y : index to i32
      %k = arith.index_cast %z : index to i32
      memref.store %i, %out[%c0] : memref<3xi32>
      memref.store %j, %out[%c1] : memref<3xi32>
      memref.store %k, %out[%c2] : memref<3xi32>
      gpu.return
    }
    gpu.func @closed(%out: memref<3xi32>) kernel attributes {known_block_size = array<i32: 4, 2, 1>} {
      gpu.return
    }
  }
}
