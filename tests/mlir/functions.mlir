// SPDX-License-Identifier: MIT
// A rotation in a function is one in the subgroups of the kernels that call it, and a kernel whose
// interface names their size alone has a workgroup of one.
// REQUIRES: mlir
// RUN: %heddle compile %s -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv
// RUN: %heddle compile %s | %filecheck %s
// RUN: for how in spirv gpu; do for d in cpu reference; do \
// RUN:   %heddle run %s --bind 0=iota:f32[8,4] --bind 1=zeros:f32[4,4] --rotate-as $how --device $d \
// RUN:   --compare 1=list:f32:3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18 || exit 1; done; done
// CHECK: OpExecutionMode {{.*}} LocalSize 8 1 1
!m = !gpu.mma_matrix<4x4xf32, "COp">
gpu.module @m {
  func.func private @rotate(%a: !m, %b: !m) -> !m {
    %n = arith.constant 3 : i32
    %r = gpu.subgroup_mma_rotate %a, %b, %n : !m, !m, i32 -> !m
    return %r : !m
  }
  gpu.func @k(%in: memref<8x4xf32>, %out: memref<4x4xf32>)
      kernel attributes {spirv.entry_point_abi = #spirv.entry_point_abi<subgroup_size = 8>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %a = gpu.subgroup_mma_load_matrix %in[%c0, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !m
    %b = gpu.subgroup_mma_load_matrix %in[%c4, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !m
    %r = func.call @rotate(%a, %b) : (!m, !m) -> !m
    gpu.subgroup_mma_store_matrix %r, %out[%c0, %c0] {leadDimension = 4 : index} : !m, memref<4x4xf32>
    gpu.return
  }
}
