// SPDX-License-Identifier: MIT
// The RFC's proposal 2 as it is written: an element out of a matrix, one into it, and a rotation of
// values whose offset and width are operands; among all of a subgroup and among parts of it, by a
// number and by one that is known only as the kernel runs; beside MLIR's own rotation. @matrix is
// the RFC's example: the rows 1 to 4 of what has 8.
// REQUIRES: mlir
// RUN: %heddle compile %s --emit mlir --rotate-as gpu | %mlir-opt | %filecheck %s --check-prefix=GPU
// RUN: %heddle compile %s --emit mlir-spirv | %mlir-opt | %filecheck %s --check-prefix=SPIRV
// RUN: for as in gpu spirv; do for device in cpu 'reference --check'; do \
// RUN:   %heddle compile %s --rotate-as $as -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv && \
// RUN:   %heddle run %s --entry matrix --rotate-as $as --device $device --bind 0=iota:f32[8,4] \
// RUN:     --bind 1=zeros:f32[4,4] --tolerance 0 \
// RUN:     --compare 1=list:f32:4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19 && \
// RUN:   %heddle run %s --entry values --rotate-as $as --device $device --bind 0=iota:s32[16] \
// RUN:     --bind 1=zeros:s32[5,16] --bind 2=list:s32:7 --tolerance 0 --compare 1=list:s32:\
// RUN:     3,4,5,6,7,8,9,10,11,12,13,14,15,0,1,2,7,8,9,10,11,12,13,14,15,0,1,2,3,4,5,6,\
// RUN:     2,3,0,1,6,7,4,5,10,11,8,9,14,15,12,13,3,0,1,2,7,4,5,6,11,8,9,10,15,12,13,14,\
// RUN:     1,2,3,4,5,6,7,0,9,10,11,12,13,14,15,8 || exit 1; done; done
// GPU: gpu.subgroup_mma_extract_thread_local %{{.*}}[%{{.*}}] : !gpu.mma_matrix<4x4xf32, "COp"> -> f32
// GPU: gpu.rotate %{{.*}}, 4, 16 : f32
// GPU: gpu.subgroup_mma_insert_thread_local
// SPIRV: spirv.CompositeExtract %{{.*}}[0 : i32] : !spirv.coopmatrix<4x4xf32, Subgroup, MatrixAcc>
// SPIRV: spirv.GroupNonUniformRotateKHR <Subgroup> %{{.*}}, %{{.*}} : f32, i32 -> f32
// SPIRV: spirv.CompositeInsert %{{.*}}[0 : i32] : f32 into !spirv.coopmatrix<4x4xf32, Subgroup, MatrixAcc>
#abi = #spirv.entry_point_abi<workgroup_size = [16, 1, 1], subgroup_size = 16>
!c = !gpu.mma_matrix<4x4xf32, "COp">
gpu.module @rfc {
  gpu.func @matrix(%src: memref<8x4xf32>, %dst: memref<4x4xf32>)
      kernel attributes {spirv.entry_point_abi = #abi} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %offset = arith.constant 4 : i32
    %width = arith.constant 16 : i32
    %index = gpu.lane_id
    %lane = arith.index_cast %index : index to i32
    %a = gpu.subgroup_mma_load_matrix %src[%c0, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !c
    %b = gpu.subgroup_mma_load_matrix %src[%c4, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !c
    %0 = gpu.subgroup_mma_extract %a[0] : !c -> f32
    %1 = gpu.subgroup_mma_extract %b [ 0 ] {} : !c -> f32
    %here = arith.cmpi sge, %lane, %offset : i32
    %s = arith.select %here, %0, %1 : f32
    %t = gpu.rotate %s, %offset, %width : f32, i32, i32 -> f32
    %r = gpu.subgroup_mma_insert %t, %a[0] {note = "{"} : f32, !c -> !c
    gpu.subgroup_mma_store_matrix %r, %dst[%c0, %c0] {leadDimension = 4 : index} : !c, memref<4x4xf32>
    gpu.return
  }
  gpu.func @values(%in: memref<16xi32>, %out: memref<5x16xi32>, %n: i32)
      kernel attributes {spirv.entry_point_abi = #abi} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %two = arith.constant 2 : i32
    %four = arith.constant 4 : i32
    %eight = arith.constant 8 : i32
    %nine = arith.constant 9 : i32
    %sixteen = arith.constant 16 : i32
    %lane = gpu.lane_id
    %v = memref.load %in[%lane] : memref<16xi32>
    %0, %valid = gpu.rotate %v, 3, 16 : i32
    %1 = gpu.rotate %v, %n, %sixteen : i32, i32, i32 -> i32
    %2 = gpu.rotate %v, %two, %four : i32, i32, i32 -> i32
    %3 = gpu.rotate %v, %n, %four : i32, i32, i32 -> i32
    %4 = gpu.rotate %v, %nine, %eight : i32, i32, i32 -> i32
    memref.store %0, %out[%c0, %lane] : memref<5x16xi32>
    memref.store %1, %out[%c1, %lane] : memref<5x16xi32>
    memref.store %2, %out[%c2, %lane] : memref<5x16xi32>
    memref.store %3, %out[%c3, %lane] : memref<5x16xi32>
    memref.store %4, %out[%c4, %lane] : memref<5x16xi32>
    gpu.return
  }
}
