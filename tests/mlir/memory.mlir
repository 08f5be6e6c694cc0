// SPDX-License-Identifier: MIT
// Cooperative matrices bring Vulkan's memory model: what invocations share is not private, barriers
// pass it on, atomics name the memory that they order.
// REQUIRES: mlir
// RUN: %heddle compile %s -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv
// RUN: %heddle compile %s | %filecheck %s
// RUN: %heddle run %s --bind 0=full:3:f32[16,16] --bind 1=zeros:f32[16,16] --bind 2=zeros:s32[4] \
// RUN:   --out 1=%t.npy --compare 2=list:s32:32,0,0,0
// RUN: %heddle run %s --bind 0=full:3:f32[16,16] --bind 1=zeros:f32[16,16] --bind 2=zeros:s32[4] \
// RUN:   --device reference --compare 1=%t.npy --compare 2=list:s32:32,0,0,0
// CHECK: OpCapability VulkanMemoryModelDeviceScope
// CHECK: OpMemoryModel Logical Vulkan
// CHECK: OpCooperativeMatrixLoadKHR {{.*}} NonPrivatePointer
// CHECK: OpCooperativeMatrixStoreKHR {{.*}} NonPrivatePointer
// CHECK: OpControlBarrier {{.*}}_24840
// CHECK: OpAtomicIAdd {{.*}}_72
// CHECK: OpLoad {{.*}} NonPrivatePointer
// CHECK: OpStore {{.*}} NonPrivatePointer
gpu.module @m {
  gpu.func @k(%a: memref<16x16xf32>, %b: memref<16x16xf32>, %n: memref<4xi32>)
      workgroup(%w: memref<16x16xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %m = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
    gpu.subgroup_mma_store_matrix %m, %w[%c0, %c0] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %q = memref.atomic_rmw addi %one, %n[%c0] : (i32, memref<4xi32>) -> i32
    %i = gpu.thread_id x
    %c15 = arith.constant 15 : index
    %j = arith.minui %i, %c15 : index
    %v = memref.load %w[%j, %c0] : memref<16x16xf32, #gpu.address_space<workgroup>>
    memref.store %v, %b[%j, %c0] : memref<16x16xf32>
    gpu.return
  }
}
