// SPDX-License-Identifier: MIT
// Who is where among subgroups, with nothing else that works on them.
// REQUIRES: mlir
// RUN: %heddle compile %s -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv
// RUN: for d in cpu reference; do %heddle run %s --device $d --bind 0=zeros:s32[16] \
// RUN:   --compare 0=list:s32:0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23 || exit 1; done
gpu.module @m {
  gpu.func @k(%out: memref<16xi32>) kernel
      attributes {spirv.entry_point_abi =
                  #spirv.entry_point_abi<workgroup_size = [16, 1, 1], subgroup_size = 8>} {
    %i = gpu.thread_id x
    %c2 = arith.constant 2 : index
    %lane = gpu.lane_id
    %group = gpu.subgroup_id : index
    %size = gpu.subgroup_size : index
    %first = arith.muli %group, %size : index
    %twice = arith.muli %first, %c2 : index
    %sum = arith.addi %twice, %lane : index
    %v = arith.index_cast %sum : index to i32
    memref.store %v, %out[%i] : memref<16xi32>
    gpu.return
  }
}
