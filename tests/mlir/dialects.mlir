// SPDX-License-Identifier: MIT
// Kernels in all dialects that make one: each entry point in one module, calls, unstructured control
// flow, memory of the workgroup, views, vectors, loops, scalars as arguments.
// REQUIRES: mlir
// RUN: %mlir-opt %s --emit-bytecode -o %t.bc && %heddle check %t.bc
// RUN: %heddle compile %s -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv
// RUN: %heddle compile %s --emit mlir-spirv | %mlir-opt > %t.mlir && %heddle check %t.mlir
// RUN: %heddle run %s --entry calls --bind 0=iota:f32[32] --bind 1=zeros:f32[32] --out 1=%t.npy
// RUN: %heddle run %t.mlir --entry calls --bind 0=iota:f32[32] --bind 1=zeros:f32[32] \
// RUN:   --compare 1=%t.npy --tolerance 0 --device reference
// RUN: %heddle run %s --entry flow --bind 0=full:2:f32[32] --bind 1=zeros:f32[32] \
// RUN:   --compare 1=full:22:f32[32]
// RUN: %heddle run %s --entry shared --bind 0=iota:f32[32] --bind 1=zeros:f32[32] --out 1=%t.r.npy
// RUN: %heddle run %s --entry shared --bind 0=%t.r.npy --bind 1=zeros:f32[32] --check \
// RUN:   --compare 1=iota:f32[32]
// RUN: %heddle run %s --entry views --bind 0=full:1:f32[8,128] --bind 1=zeros:f32[128] \
// RUN:   --bind 2=list:f32:3 --compare 1=full:24:f32[128] --device reference
// RUN: %heddle run %s --entry views --bind 0=full:1:f32[8,128] --bind 1=zeros:f32[128] \
// RUN:   --bind 2=list:f32:3 --compare 1=full:24:f32[128]
gpu.module @m {
  func.func private @square(%x: f32) -> f32 {
    %y = arith.mulf %x, %x : f32
    return %y : f32
  }
  gpu.func @calls(%a: memref<32xf32>, %b: memref<32xf32>) kernel {
    %i = gpu.thread_id x
    %x = memref.load %a[%i] : memref<32xf32>
    %y = func.call @square(%x) : (f32) -> f32
    %z = math.sqrt %y : f32
    %w = gpu.subgroup_reduce add %z : (f32) -> f32
    memref.store %w, %b[%i] : memref<32xf32>
    gpu.return
  }
  gpu.func @flow(%a: memref<32xf32>, %b: memref<32xf32>) kernel {
    %i = gpu.thread_id x
    %c10 = arith.constant 10 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%i] : memref<32xf32>
    cf.br ^loop(%c0, %x : index, f32)
  ^loop(%n: index, %s: f32):
    %more = arith.cmpi slt, %n, %c10 : index
    cf.cond_br %more, ^body, ^done
  ^body:
    %s2 = arith.addf %s, %x : f32
    %n2 = arith.addi %n, %c1 : index
    cf.br ^loop(%n2, %s2 : index, f32)
  ^done:
    memref.store %s, %b[%i] : memref<32xf32>
    gpu.return
  }
  gpu.func @shared(%a: memref<32xf32>, %b: memref<32xf32>)
      workgroup(%w: memref<32xf32, #gpu.address_space<workgroup>>)
      private(%p: memref<1xf32, #gpu.address_space<private>>)
      kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c31 = arith.constant 31 : index
    %r = arith.subi %c31, %i : index
    %x = memref.load %a[%i] : memref<32xf32>
    memref.store %x, %w[%i] : memref<32xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %y = memref.load %w[%r] : memref<32xf32, #gpu.address_space<workgroup>>
    memref.store %y, %p[%c0] : memref<1xf32, #gpu.address_space<private>>
    %z = memref.load %p[%c0] : memref<1xf32, #gpu.address_space<private>>
    memref.store %z, %b[%i] : memref<32xf32>
    gpu.return
  }
  gpu.func @views(%a: memref<8x128xf32>, %b: memref<128xf32>, %factor: f32) kernel {
    %i = gpu.thread_id x
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %p = affine.apply affine_map<(d0) -> (d0 * 4)>(%i)
    %s = memref.subview %a[0, %p][8, 4][1, 1]
        : memref<8x128xf32> to memref<8x4xf32, strided<[128, 1], offset: ?>>
    %sum = affine.for %r = 0 to 8 iter_args(%v = %zero) -> (vector<4xf32>) {
      %c0 = arith.constant 0 : index
      %x = vector.transfer_read %s[%r, %c0], %factor {in_bounds = [true]}
          : memref<8x4xf32, strided<[128, 1], offset: ?>>, vector<4xf32>
      %y = arith.addf %v, %x : vector<4xf32>
      affine.yield %y : vector<4xf32>
    }
    %f = vector.broadcast %factor : f32 to vector<4xf32>
    %t = arith.mulf %sum, %f : vector<4xf32>
    vector.transfer_write %t, %b[%p] {in_bounds = [true]} : vector<4xf32>, memref<128xf32>
    %u = vector.load %b[%p] : memref<128xf32>, vector<4xf32>
    vector.store %u, %b[%p] : memref<128xf32>, vector<4xf32>
    gpu.return
  }
}
