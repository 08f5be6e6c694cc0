// SPDX-License-Identifier: MIT
// The RFC's four overlapping loads: two are left, and three rotations.
// REQUIRES: mlir
// RUN: %heddle compile %s --emit mlir --rotate-loads --rotate-as gpu -o %t.mlir
// RUN: %mlir-opt %t.mlir -o %t.again && %filecheck %s < %t.again
// RUN: %heddle check - < %s
// RUN: %heddle compile %s --rotate-loads -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv
// RUN: %heddle run %s --bind 0=randn:f32[8,4]@1 --bind 1=zeros:f32[16,4] --out 1=%t.npy --stats \
// RUN:   | %filecheck %s --check-prefix=BEFORE
// RUN: %heddle run %s --bind 0=randn:f32[8,4]@1 --bind 1=zeros:f32[16,4] --compare 1=%t.npy \
// RUN:   --tolerance 0 --rotate-loads --stats | %filecheck %s --check-prefix=AFTER
// RUN: %heddle run %s --bind 0=randn:f32[8,4]@1 --bind 1=zeros:f32[16,4] --compare 1=%t.npy \
// RUN:   --tolerance 0 --rotate-loads --rotate-as gpu --device reference
// CHECK-DAG: %[[ROW4:.*]] = arith.addi %{{.*}}, %c4{{.*}} : index
// CHECK-DAG: %[[A:.*]] = gpu.subgroup_mma_load_matrix %{{.*}}[%c0, %c0]
// CHECK: %[[B:.*]] = gpu.subgroup_mma_load_matrix %{{.*}}[%{{.*}}, %c0]
// CHECK-NOT: gpu.subgroup_mma_load_matrix
// CHECK: gpu.rotate %{{.*}}, 4, 16 : f32
// CHECK: gpu.rotate %{{.*}}, 8, 16 : f32
// CHECK: gpu.rotate %{{.*}}, 12, 16 : f32
// BEFORE: matrix loads {{ *}}4
// BEFORE-NOT: in the text
// AFTER: matrix loads {{ *}}2
// AFTER: in the text: 4 before rotation of overlapping ones, 2 after
// AFTER: 0 of 64 differ
#abi = #spirv.entry_point_abi<workgroup_size = [16, 1, 1], subgroup_size = 16>
!m = !gpu.mma_matrix<4x4xf32, "COp">
gpu.module @rfc {
  gpu.func @windows(%in: memref<8x4xf32>, %out: memref<16x4xf32>)
      kernel attributes {spirv.entry_point_abi = #abi} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c12 = arith.constant 12 : index
    %m0 = gpu.subgroup_mma_load_matrix %in[%c0, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !m
    %m1 = gpu.subgroup_mma_load_matrix %in[%c1, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !m
    %m2 = gpu.subgroup_mma_load_matrix %in[%c2, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !m
    %m3 = gpu.subgroup_mma_load_matrix %in[%c3, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !m
    gpu.subgroup_mma_store_matrix %m0, %out[%c0, %c0] {leadDimension = 4 : index} : !m, memref<16x4xf32>
    gpu.subgroup_mma_store_matrix %m1, %out[%c4, %c0] {leadDimension = 4 : index} : !m, memref<16x4xf32>
    gpu.subgroup_mma_store_matrix %m2, %out[%c8, %c0] {leadDimension = 4 : index} : !m, memref<16x4xf32>
    gpu.subgroup_mma_store_matrix %m3, %out[%c12, %c0] {leadDimension = 4 : index} : !m, memref<16x4xf32>
    gpu.return
  }
}
