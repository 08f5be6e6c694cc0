// SPDX-License-Identifier: MIT
// A program around a kernel, in dialects that no kernel is made of: it is read and left out.
// REQUIRES: mlir
// RUN: %heddle compile %s -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv
// RUN: %heddle run %s --bind 0=full:1:f32[32] --compare 0=full:2:f32[32]
// RUN: %heddle compile %s --emit mlir | %filecheck %s
// CHECK: gpu.func @twice
// CHECK-NOT: linalg
// CHECK-NOT: async
module attributes {gpu.container_module} {
  llvm.func @puts(!llvm.ptr) -> i32
  gpu.module @m {
    gpu.func @twice(%a: memref<32xf32>) kernel {
      %i = gpu.thread_id x
      %x = memref.load %a[%i] : memref<32xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %a[%i] : memref<32xf32>
      gpu.return
    }
  }
  func.func @main(%t: tensor<32xf32>) -> tensor<32xf32> {
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1 : index
    %n = arith.constant 32 : index
    %filled = linalg.fill ins(%zero : f32) outs(%t : tensor<32xf32>) -> tensor<32xf32>
    %m = bufferization.to_buffer %filled : tensor<32xf32> to memref<32xf32>
    %token = async.execute {
      gpu.launch_func @m::@twice blocks in (%one, %one, %one) threads in (%n, %one, %one)
          args(%m : memref<32xf32>)
      async.yield
    }
    async.await %token : !async.token
    return %filled : tensor<32xf32>
  }
}
