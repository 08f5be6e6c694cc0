// SPDX-License-Identifier: MIT
// What a kernel does wrong while it runs is said with the position in its source, also behind a
// rotation, and for operations that SPIR-V has no result of.
// REQUIRES: mlir
// RUN: not %heddle run %s --check --bind 0=iota:f32[32] --bind 1=zeros:f32[16] 2>&1 | %filecheck %s
// RUN: %heddle compile %s -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv
// RUN: %heddle compile %t.spv | %filecheck %s --check-prefix=ASM
// CHECK: lines.mlir:[[#@LINE+13]]:5: error: write of 4 bytes at byte 64
// ASM: OpString "{{.*}}lines.mlir"
// ASM: OpLine %{{[^ ]*}} [[#@LINE+8]] 10
// ASM: OpCooperativeMatrixLoadKHR
// ASM: OpLine %{{[^ ]*}} [[#@LINE+8]] 5
// ASM: OpControlBarrier
// ASM-NOT: Location
!m = !gpu.mma_matrix<4x8xf32, "COp">
gpu.module @m { gpu.func @k(%a: memref<32xf32>, %b: memref<32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %m = gpu.subgroup_mma_load_matrix %a[%c0] {leadDimension = 8 : index} : memref<32xf32> -> !m
    %n = arith.constant 8 : i32 %r = gpu.subgroup_mma_rotate %m, %m, %n : !m, !m, i32 -> !m
    gpu.barrier
    gpu.subgroup_mma_store_matrix %r, %b[%c0] {leadDimension = 8 : index} : !m, memref<32xf32>
    gpu.return } }
