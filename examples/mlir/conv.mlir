// SPDX-License-Identifier: MIT
//
// Convolution by a sliding window, 3 x 1 and 3 x 3: out[x][y][k] is the sum over dx, dy and c of
// in[x + dx][y + dy][c] * weights[dx][dy][c][k]. Sixteen neighbours in y and sixteen channels are a
// matrix; the windows of neighbouring dy overlap in all rows but one, so that two of their three
// loads are of what is in registers already. `heddle run --rotate-loads` makes rotations of them.
//
//     heddle run conv.mlir --entry conv3x1 --groups 64,4 --stats --rotate-loads
//         --bind 0=randn:f16[66,66,64] --bind 1=randn:f16[3,64,64] --bind 2=zeros:f32[64,64,64]
!a = !gpu.mma_matrix<16x16xf16, "AOp">
!b = !gpu.mma_matrix<16x16xf16, "BOp">
!sum = !gpu.mma_matrix<16x16xf32, "COp">
!in = memref<66x66x64xf16>
!out = memref<64x64x64xf32>
!w31 = memref<3x64x64xf16>
!w33 = memref<3x3x64x64xf16>

gpu.module @conv {
  gpu.func @conv3x1(%in: !in, %weights: !w31, %out: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c48 = arith.constant 48 : index
    %c64 = arith.constant 64 : index
    %x = gpu.block_id x
    %tile = gpu.block_id y
    %y0 = arith.muli %tile, %c16 : index
    %y1 = arith.addi %y0, %c1 : index
    %y2 = arith.addi %y0, %c2 : index
    %zero = arith.constant 0.0 : f32
    %none = gpu.subgroup_mma_constant_matrix %zero : !sum
    %sum:4 = scf.for %c = %c0 to %c64 step %c16
        iter_args(%s0 = %none, %s1 = %none, %s2 = %none, %s3 = %none) -> (!sum, !sum, !sum, !sum) {
      %a0 = gpu.subgroup_mma_load_matrix %in[%x, %y0, %c] {leadDimension = 64 : index} : !in -> !a
      %a1 = gpu.subgroup_mma_load_matrix %in[%x, %y1, %c] {leadDimension = 64 : index} : !in -> !a
      %a2 = gpu.subgroup_mma_load_matrix %in[%x, %y2, %c] {leadDimension = 64 : index} : !in -> !a
      %b00 = gpu.subgroup_mma_load_matrix %weights[%c0, %c, %c0] {leadDimension = 64 : index}
          : !w31 -> !b
      %r00 = gpu.subgroup_mma_compute %a0, %b00, %s0 : !a, !b -> !sum
      %b01 = gpu.subgroup_mma_load_matrix %weights[%c1, %c, %c0] {leadDimension = 64 : index}
          : !w31 -> !b
      %r01 = gpu.subgroup_mma_compute %a1, %b01, %r00 : !a, !b -> !sum
      %b02 = gpu.subgroup_mma_load_matrix %weights[%c2, %c, %c0] {leadDimension = 64 : index}
          : !w31 -> !b
      %r02 = gpu.subgroup_mma_compute %a2, %b02, %r01 : !a, !b -> !sum
      %b10 = gpu.subgroup_mma_load_matrix %weights[%c0, %c, %c16] {leadDimension = 64 : index}
          : !w31 -> !b
      %r10 = gpu.subgroup_mma_compute %a0, %b10, %s1 : !a, !b -> !sum
      %b11 = gpu.subgroup_mma_load_matrix %weights[%c1, %c, %c16] {leadDimension = 64 : index}
          : !w31 -> !b
      %r11 = gpu.subgroup_mma_compute %a1, %b11, %r10 : !a, !b -> !sum
      %b12 = gpu.subgroup_mma_load_matrix %weights[%c2, %c, %c16] {leadDimension = 64 : index}
          : !w31 -> !b
      %r12 = gpu.subgroup_mma_compute %a2, %b12, %r11 : !a, !b -> !sum
      %b20 = gpu.subgroup_mma_load_matrix %weights[%c0, %c, %c32] {leadDimension = 64 : index}
          : !w31 -> !b
      %r20 = gpu.subgroup_mma_compute %a0, %b20, %s2 : !a, !b -> !sum
      %b21 = gpu.subgroup_mma_load_matrix %weights[%c1, %c, %c32] {leadDimension = 64 : index}
          : !w31 -> !b
      %r21 = gpu.subgroup_mma_compute %a1, %b21, %r20 : !a, !b -> !sum
      %b22 = gpu.subgroup_mma_load_matrix %weights[%c2, %c, %c32] {leadDimension = 64 : index}
          : !w31 -> !b
      %r22 = gpu.subgroup_mma_compute %a2, %b22, %r21 : !a, !b -> !sum
      %b30 = gpu.subgroup_mma_load_matrix %weights[%c0, %c, %c48] {leadDimension = 64 : index}
          : !w31 -> !b
      %r30 = gpu.subgroup_mma_compute %a0, %b30, %s3 : !a, !b -> !sum
      %b31 = gpu.subgroup_mma_load_matrix %weights[%c1, %c, %c48] {leadDimension = 64 : index}
          : !w31 -> !b
      %r31 = gpu.subgroup_mma_compute %a1, %b31, %r30 : !a, !b -> !sum
      %b32 = gpu.subgroup_mma_load_matrix %weights[%c2, %c, %c48] {leadDimension = 64 : index}
          : !w31 -> !b
      %r32 = gpu.subgroup_mma_compute %a2, %b32, %r31 : !a, !b -> !sum
      scf.yield %r02, %r12, %r22, %r32 : !sum, !sum, !sum, !sum
    }
    gpu.subgroup_mma_store_matrix %sum#0, %out[%x, %y0, %c0] {leadDimension = 64 : index} : !sum, !out
    gpu.subgroup_mma_store_matrix %sum#1, %out[%x, %y0, %c16] {leadDimension = 64 : index} : !sum, !out
    gpu.subgroup_mma_store_matrix %sum#2, %out[%x, %y0, %c32] {leadDimension = 64 : index} : !sum, !out
    gpu.subgroup_mma_store_matrix %sum#3, %out[%x, %y0, %c48] {leadDimension = 64 : index} : !sum, !out
    gpu.return
  }

  gpu.func @conv3x3(%in: !in, %weights: !w33, %out: !out) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c48 = arith.constant 48 : index
    %c64 = arith.constant 64 : index
    %x = gpu.block_id x
    %tile = gpu.block_id y
    %y0 = arith.muli %tile, %c16 : index
    %y1 = arith.addi %y0, %c1 : index
    %y2 = arith.addi %y0, %c2 : index
    %zero = arith.constant 0.0 : f32
    %none = gpu.subgroup_mma_constant_matrix %zero : !sum
    %sum:4 = scf.for %dx = %c0 to %c3 step %c1
        iter_args(%q0 = %none, %q1 = %none, %q2 = %none, %q3 = %none) -> (!sum, !sum, !sum, !sum) {
      %xd = arith.addi %x, %dx : index
      %part:4 = scf.for %c = %c0 to %c64 step %c16
          iter_args(%s0 = %q0, %s1 = %q1, %s2 = %q2, %s3 = %q3) -> (!sum, !sum, !sum, !sum) {
        %a0 = gpu.subgroup_mma_load_matrix %in[%xd, %y0, %c] {leadDimension = 64 : index} : !in -> !a
        %a1 = gpu.subgroup_mma_load_matrix %in[%xd, %y1, %c] {leadDimension = 64 : index} : !in -> !a
        %a2 = gpu.subgroup_mma_load_matrix %in[%xd, %y2, %c] {leadDimension = 64 : index} : !in -> !a
        %b00 = gpu.subgroup_mma_load_matrix %weights[%dx, %c0, %c, %c0] {leadDimension = 64 : index}
            : !w33 -> !b
        %r00 = gpu.subgroup_mma_compute %a0, %b00, %s0 : !a, !b -> !sum
        %b01 = gpu.subgroup_mma_load_matrix %weights[%dx, %c1, %c, %c0] {leadDimension = 64 : index}
            : !w33 -> !b
        %r01 = gpu.subgroup_mma_compute %a1, %b01, %r00 : !a, !b -> !sum
        %b02 = gpu.subgroup_mma_load_matrix %weights[%dx, %c2, %c, %c0] {leadDimension = 64 : index}
            : !w33 -> !b
        %r02 = gpu.subgroup_mma_compute %a2, %b02, %r01 : !a, !b -> !sum
        %b10 = gpu.subgroup_mma_load_matrix %weights[%dx, %c0, %c, %c16] {leadDimension = 64 : index}
            : !w33 -> !b
        %r10 = gpu.subgroup_mma_compute %a0, %b10, %s1 : !a, !b -> !sum
        %b11 = gpu.subgroup_mma_load_matrix %weights[%dx, %c1, %c, %c16] {leadDimension = 64 : index}
            : !w33 -> !b
        %r11 = gpu.subgroup_mma_compute %a1, %b11, %r10 : !a, !b -> !sum
        %b12 = gpu.subgroup_mma_load_matrix %weights[%dx, %c2, %c, %c16] {leadDimension = 64 : index}
            : !w33 -> !b
        %r12 = gpu.subgroup_mma_compute %a2, %b12, %r11 : !a, !b -> !sum
        %b20 = gpu.subgroup_mma_load_matrix %weights[%dx, %c0, %c, %c32] {leadDimension = 64 : index}
            : !w33 -> !b
        %r20 = gpu.subgroup_mma_compute %a0, %b20, %s2 : !a, !b -> !sum
        %b21 = gpu.subgroup_mma_load_matrix %weights[%dx, %c1, %c, %c32] {leadDimension = 64 : index}
            : !w33 -> !b
        %r21 = gpu.subgroup_mma_compute %a1, %b21, %r20 : !a, !b -> !sum
        %b22 = gpu.subgroup_mma_load_matrix %weights[%dx, %c2, %c, %c32] {leadDimension = 64 : index}
            : !w33 -> !b
        %r22 = gpu.subgroup_mma_compute %a2, %b22, %r21 : !a, !b -> !sum
        %b30 = gpu.subgroup_mma_load_matrix %weights[%dx, %c0, %c, %c48] {leadDimension = 64 : index}
            : !w33 -> !b
        %r30 = gpu.subgroup_mma_compute %a0, %b30, %s3 : !a, !b -> !sum
        %b31 = gpu.subgroup_mma_load_matrix %weights[%dx, %c1, %c, %c48] {leadDimension = 64 : index}
            : !w33 -> !b
        %r31 = gpu.subgroup_mma_compute %a1, %b31, %r30 : !a, !b -> !sum
        %b32 = gpu.subgroup_mma_load_matrix %weights[%dx, %c2, %c, %c48] {leadDimension = 64 : index}
            : !w33 -> !b
        %r32 = gpu.subgroup_mma_compute %a2, %b32, %r31 : !a, !b -> !sum
        scf.yield %r02, %r12, %r22, %r32 : !sum, !sum, !sum, !sum
      }
      scf.yield %part#0, %part#1, %part#2, %part#3 : !sum, !sum, !sum, !sum
    }
    gpu.subgroup_mma_store_matrix %sum#0, %out[%x, %y0, %c0] {leadDimension = 64 : index} : !sum, !out
    gpu.subgroup_mma_store_matrix %sum#1, %out[%x, %y0, %c16] {leadDimension = 64 : index} : !sum, !out
    gpu.subgroup_mma_store_matrix %sum#2, %out[%x, %y0, %c32] {leadDimension = 64 : index} : !sum, !out
    gpu.subgroup_mma_store_matrix %sum#3, %out[%x, %y0, %c48] {leadDimension = 64 : index} : !sum, !out
    gpu.return
  }
}
