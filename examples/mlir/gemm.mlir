// SPDX-License-Identifier: MIT
//
// C = A * B of 256 x 256 numbers of 16 bits into 32: each subgroup makes 32 x 32 of C.
//
//     heddle run gemm.mlir --groups 8,8 --bind 0=randn:f16[256,256] --bind 1=randn:f16[256,256]
//         --bind 2=zeros:f32[256,256]
!a = !gpu.mma_matrix<16x16xf16, "AOp">
!b = !gpu.mma_matrix<16x16xf16, "BOp">
!c = !gpu.mma_matrix<16x16xf32, "COp">
!half = memref<256x256xf16>
!full = memref<256x256xf32>

gpu.module @gemm {
  gpu.func @gemm(%a: !half, %b: !half, %c: !full) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %i0 = arith.muli %by, %c32 : index
    %j0 = arith.muli %bx, %c32 : index
    %i1 = arith.addi %i0, %c16 : index
    %j1 = arith.addi %j0, %c16 : index
    %zero = arith.constant 0.0 : f32
    %none = gpu.subgroup_mma_constant_matrix %zero : !c
    %sum:4 = scf.for %k = %c0 to %c256 step %c16
        iter_args(%s00 = %none, %s01 = %none, %s10 = %none, %s11 = %none) -> (!c, !c, !c, !c) {
      %a0 = gpu.subgroup_mma_load_matrix %a[%i0, %k] {leadDimension = 256 : index} : !half -> !a
      %a1 = gpu.subgroup_mma_load_matrix %a[%i1, %k] {leadDimension = 256 : index} : !half -> !a
      %b0 = gpu.subgroup_mma_load_matrix %b[%k, %j0] {leadDimension = 256 : index} : !half -> !b
      %b1 = gpu.subgroup_mma_load_matrix %b[%k, %j1] {leadDimension = 256 : index} : !half -> !b
      %r00 = gpu.subgroup_mma_compute %a0, %b0, %s00 : !a, !b -> !c
      %r01 = gpu.subgroup_mma_compute %a0, %b1, %s01 : !a, !b -> !c
      %r10 = gpu.subgroup_mma_compute %a1, %b0, %s10 : !a, !b -> !c
      %r11 = gpu.subgroup_mma_compute %a1, %b1, %s11 : !a, !b -> !c
      scf.yield %r00, %r01, %r10, %r11 : !c, !c, !c, !c
    }
    gpu.subgroup_mma_store_matrix %sum#0, %c[%i0, %j0] {leadDimension = 256 : index} : !c, !full
    gpu.subgroup_mma_store_matrix %sum#1, %c[%i0, %j1] {leadDimension = 256 : index} : !c, !full
    gpu.subgroup_mma_store_matrix %sum#2, %c[%i1, %j0] {leadDimension = 256 : index} : !c, !full
    gpu.subgroup_mma_store_matrix %sum#3, %c[%i1, %j1] {leadDimension = 256 : index} : !c, !full
    gpu.return
  }
}
