// SPDX-License-Identifier: MIT
// The RFC's rotation of 4x4 matrices in a subgroup of 16, operation by operation, in both forms.
// REQUIRES: mlir
// RUN: %heddle compile %s --emit mlir --rotate-as gpu | %mlir-opt | %filecheck %s --check-prefix=GPU
// RUN: %heddle compile %s --emit mlir-spirv | %mlir-opt | %filecheck %s --check-prefix=SPIRV
// RUN: %heddle compile %s -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv
// RUN: %heddle compile %s --rotate-as gpu -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv
// RUN: status 2 %heddle check %s --subgroup-size 32 2>&1 | %filecheck %s --check-prefix=SIZE
// SIZE: the kernel was compiled for subgroups of 16, not 32
// GPU: %[[A:.*]] = gpu.subgroup_mma_load_matrix
// GPU: %[[B:.*]] = gpu.subgroup_mma_load_matrix
// GPU: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// GPU: %[[NEW:.*]] = gpu.subgroup_mma_constant_matrix %[[ZERO]]
// GPU: %[[V0:.*]] = gpu.subgroup_mma_extract_thread_local %[[A]][%{{.*}}]
// GPU: %[[V1:.*]] = gpu.subgroup_mma_extract_thread_local %[[B]][%{{.*}}]
// GPU: %[[INDEX:.*]] = gpu.lane_id
// GPU: %[[LANE:.*]] = arith.index_cast %[[INDEX]]
// GPU: %[[C:.*]] = arith.cmpi sge, %[[LANE]], %c4_i32 : i32
// GPU: %[[S:.*]] = arith.select %[[C]], %[[V0]], %[[V1]] : f32
// GPU: %[[R:.*]], %{{.*}} = gpu.rotate %[[S]], 4, 16 : f32
// GPU: gpu.subgroup_mma_insert_thread_local %[[R]], %[[NEW]][%{{.*}}]
// SPIRV-DAG: %[[A:.*]] = spirv.KHR.CooperativeMatrixLoad
// SPIRV-DAG: %[[FOUR:.*]] = spirv.Constant 4 : i32
// SPIRV: %[[B:.*]] = spirv.KHR.CooperativeMatrixLoad
// SPIRV: %[[ZERO:.*]] = spirv.Constant 0.000000e+00 : f32
// SPIRV: %[[NEW:.*]] = spirv.CompositeConstruct %[[ZERO]] : (f32) -> !spirv.coopmatrix<4x4xf32, Subgroup, MatrixA>
// SPIRV: %[[V0:.*]] = spirv.CompositeExtract %{{.*}}[0 : i32] : !spirv.coopmatrix<4x4xf32, Subgroup, MatrixA>
// SPIRV: %[[V1:.*]] = spirv.CompositeExtract %[[B]][0 : i32] : !spirv.coopmatrix<4x4xf32, Subgroup, MatrixA>
// SPIRV: %[[LANE:.*]] = spirv.Load "Input"
// SPIRV: %[[C:.*]] = spirv.SGreaterThanEqual %[[LANE]], %{{.*}} : i32
// SPIRV: %[[S:.*]] = spirv.Select %[[C]], %[[V0]], %[[V1]] : i1, f32
// SPIRV: %[[R:.*]] = spirv.GroupNonUniformRotateKHR <Subgroup> %[[S]], %{{.*}} : f32, i32 -> f32
// SPIRV: spirv.CompositeInsert %[[R]], %[[NEW]][0 : i32] : f32 into !spirv.coopmatrix<4x4xf32, Subgroup, MatrixA>
#abi = #spirv.entry_point_abi<workgroup_size = [16, 1, 1], subgroup_size = 16>
gpu.module @rfc {
  gpu.func @rotate(%in: memref<8x4xf32>, %id: memref<4x4xf32>, %out: memref<4x4xf32>)
      kernel attributes {spirv.entry_point_abi = #abi} {
    %c0 = arith.constant 0 : index
    %row4 = arith.constant 4 : index
    %c4 = arith.constant 4 : i32
    %MMA0 = gpu.subgroup_mma_load_matrix %in[%c0, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !gpu.mma_matrix<4x4xf32, "AOp">
    %MMA1 = gpu.subgroup_mma_load_matrix %in[%row4, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !gpu.mma_matrix<4x4xf32, "AOp">
    %r = gpu.subgroup_mma_rotate %MMA0, %MMA1, %c4 : !gpu.mma_matrix<4x4xf32, "AOp">, !gpu.mma_matrix<4x4xf32, "AOp">, i32 -> !gpu.mma_matrix<4x4xf32, "AOp">
    %b = gpu.subgroup_mma_load_matrix %id[%c0, %c0] {leadDimension = 4 : index} : memref<4x4xf32> -> !gpu.mma_matrix<4x4xf32, "BOp">
    %z = arith.constant 0.0 : f32
    %c = gpu.subgroup_mma_constant_matrix %z : !gpu.mma_matrix<4x4xf32, "COp">
    %d = gpu.subgroup_mma_compute %r, %b, %c : !gpu.mma_matrix<4x4xf32, "AOp">, !gpu.mma_matrix<4x4xf32, "BOp"> -> !gpu.mma_matrix<4x4xf32, "COp">
    gpu.subgroup_mma_store_matrix %d, %out[%c0, %c0] {leadDimension = 4 : index} : !gpu.mma_matrix<4x4xf32, "COp">, memref<4x4xf32>
    gpu.return
  }
}
