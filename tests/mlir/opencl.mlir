// SPDX-License-Identifier: MIT
// A target of OpenCL's kind, which the module itself names: arguments are pointers.
// REQUIRES: mlir
// RUN: %heddle compile %s -o %t.spv && %spirv-val %t.spv
// RUN: for d in cpu reference; do %heddle run %s --device $d --bind 0=iota:f32[64] \
// RUN:   --bind 1=zeros:f32[64] --groups 2 --compare 1=iota:f32[64] || exit 1; done
#env = #spirv.target_env<#spirv.vce<v1.4, [Kernel, Addresses, Int64, Linkage], []>,
                         #spirv.resource_limits<>>
!mem = memref<64xf32, #spirv.storage_class<CrossWorkgroup>>
gpu.module @m attributes {spirv.target_env = #env} {
  gpu.func @k(%a: !mem, %b: !mem) kernel {
    %i = gpu.global_id x
    %x = memref.load %a[%i] : !mem
    memref.store %x, %b[%i] : !mem
    gpu.return
  }
}
