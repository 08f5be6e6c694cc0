// SPDX-License-Identifier: MIT
// max(c + a b^T, 0), as MLIR's conversion from vectors to matrices leaves it, against the same in
// double precision; elementwise operations that SPIR-V has for scalars only, with NaNs, which
// maximum and minimum pass on; products of integers, which wrap.
// REQUIRES: mlir
// RUN: %heddle compile %s -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv
// RUN: in="--bind 0=randn:f16[32,32]@1 --bind 1=randn:f16[32,32]@2 --bind 2=randn:f32[32,32]@3"; \
// RUN: %heddle run %s --entry double $in --bind 3=zeros:f64[32,32] --groups 32 --out 3=%t.npy && \
// RUN: for n in 8 16 32 64; do for device in cpu 'reference --check'; do %heddle run %s --entry wmma \
// RUN:   --subgroup-size $n --device $device $in --compare 2=%t.npy --tolerance 2e-6 || exit 1; done; done
// RUN: for device in cpu 'reference --check'; do \
// RUN:   %heddle run %s --entry bounds --device $device --bind 0=iota:f16[16,16] \
// RUN:     --bind 1=full:nan:f16[16,16] --bind 2=zeros:f16[3,16,16] --out 2=%t.npy && \
// RUN:   %heddle run %s --entry holds --device $device --bind 0=%t.npy --bind 1=zeros:s32[4] \
// RUN:     --compare 1=list:s32:256,256,512,0 --tolerance 0 && \
// RUN:   %heddle run %s --entry products --device $device --bind 0=iota:s32[16,16] \
// RUN:     --bind 1=full:-16777217:s32[16,16] --bind 2=zeros:s32[16,16] --out 2=%t.npy && \
// RUN:   %heddle run %s --entry wraps --device $device --bind 0=%t.npy --bind 1=zeros:s32[1] --groups 1 \
// RUN:     --compare 1=list:s32:256 --tolerance 0 || exit 1; done
!a = !gpu.mma_matrix<16x16xf16, "AOp">
!b = !gpu.mma_matrix<16x16xf16, "BOp">
!c = !gpu.mma_matrix<16x16xf32, "COp">
!h = !gpu.mma_matrix<16x16xf16, "COp">
!i = !gpu.mma_matrix<16x16xi32, "COp">
gpu.module @m {
  gpu.func @wmma(%a: memref<32x32xf16>, %b: memref<32x32xf16>, %c: memref<32x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    scf.for %i = %c0 to %c32 step %c16 {
      scf.for %j = %c0 to %c32 step %c16 {
        %C = gpu.subgroup_mma_load_matrix %c[%i, %j] {leadDimension = 32 : index} : memref<32x32xf32> -> !c
        %R = scf.for %k = %c0 to %c32 step %c16 iter_args(%acc = %C) -> (!c) {
          %A = gpu.subgroup_mma_load_matrix %a[%i, %k] {leadDimension = 32 : index} : memref<32x32xf16> -> !a
          %B = gpu.subgroup_mma_load_matrix %b[%j, %k] {leadDimension = 32 : index, transpose} : memref<32x32xf16> -> !b
          %D = gpu.subgroup_mma_compute %A, %B, %acc : !a, !b -> !c
          scf.yield %D : !c
        }
        %z = arith.constant 0.0 : f32
        %Z = gpu.subgroup_mma_constant_matrix %z : !c
        %M = gpu.subgroup_mma_elementwise maxf %R, %Z : (!c, !c) -> !c
        gpu.subgroup_mma_store_matrix %M, %c[%i, %j] {leadDimension = 32 : index} : !c, memref<32x32xf32>
      }
    }
    gpu.return
  }
  gpu.func @double(%a: memref<32x32xf16>, %b: memref<32x32xf16>, %c: memref<32x32xf32>, %o: memref<32x32xf64>)
      kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0.0 : f64
    %i = gpu.block_id x
    %j = gpu.thread_id x
    %x = memref.load %c[%i, %j] : memref<32x32xf32>
    %start = arith.extf %x : f32 to f64
    %sum = scf.for %k = %c0 to %c32 step %c1 iter_args(%s = %start) -> (f64) {
      %p = memref.load %a[%i, %k] : memref<32x32xf16>
      %q = memref.load %b[%j, %k] : memref<32x32xf16>
      %P = arith.extf %p : f16 to f64
      %Q = arith.extf %q : f16 to f64
      %PQ = arith.mulf %P, %Q : f64
      %t = arith.addf %s, %PQ : f64
      scf.yield %t : f64
    }
    %keep = arith.cmpf ogt, %sum, %zero : f64
    %m = arith.select %keep, %sum, %zero : f64
    memref.store %m, %o[%i, %j] : memref<32x32xf64>
    gpu.return
  }
  // max(x, 100), min(x, 100), max(x, NaN)
  gpu.func @bounds(%x: memref<16x16xf16>, %nan: memref<16x16xf16>, %o: memref<3x16x16xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %h = arith.constant 100.0 : f16
    %H = gpu.subgroup_mma_constant_matrix %h : !h
    %X = gpu.subgroup_mma_load_matrix %x[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf16> -> !h
    %N = gpu.subgroup_mma_load_matrix %nan[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf16> -> !h
    %0 = gpu.subgroup_mma_elementwise maxf %X, %H : (!h, !h) -> !h
    %1 = gpu.subgroup_mma_elementwise minf %X, %H : (!h, !h) -> !h
    %2 = gpu.subgroup_mma_elementwise maxf %X, %N : (!h, !h) -> !h
    gpu.subgroup_mma_store_matrix %0, %o[%c0, %c0, %c0] {leadDimension = 16 : index} : !h, memref<3x16x16xf16>
    gpu.subgroup_mma_store_matrix %1, %o[%c1, %c0, %c0] {leadDimension = 16 : index} : !h, memref<3x16x16xf16>
    gpu.subgroup_mma_store_matrix %2, %o[%c2, %c0, %c0] {leadDimension = 16 : index} : !h, memref<3x16x16xf16>
    gpu.return
  }
  // How many of each are right, and of NaNs twice as many.
  gpu.func @holds(%x: memref<768xf16>, %n: memref<4xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %c512 = arith.constant 512 : index
    %hundred = arith.constant 100 : index
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %t = gpu.thread_id x
    scf.for %i = %t to %c256 step %c32 {
      %high = arith.maxui %i, %hundred : index
      %low = arith.minui %i, %hundred : index
      %at1 = arith.addi %i, %c256 : index
      %at2 = arith.addi %i, %c512 : index
      %0 = memref.load %x[%i] : memref<768xf16>
      %1 = memref.load %x[%at1] : memref<768xf16>
      %2 = memref.load %x[%at2] : memref<768xf16>
      %h32 = arith.index_cast %high : index to i32
      %l32 = arith.index_cast %low : index to i32
      %h = arith.sitofp %h32 : i32 to f16
      %l = arith.sitofp %l32 : i32 to f16
      %is0 = arith.cmpf oeq, %0, %h : f16
      %is1 = arith.cmpf oeq, %1, %l : f16
      %is2 = arith.cmpf uno, %2, %2 : f16
      scf.if %is0 { %r = memref.atomic_rmw addi %one, %n[%c0] : (i32, memref<4xi32>) -> i32 }
      scf.if %is1 { %r = memref.atomic_rmw addi %one, %n[%c1] : (i32, memref<4xi32>) -> i32 }
      scf.if %is2 { %r = memref.atomic_rmw addi %two, %n[%c2] : (i32, memref<4xi32>) -> i32 }
    }
    gpu.return
  }
  gpu.func @products(%x: memref<16x16xi32>, %y: memref<16x16xi32>, %o: memref<16x16xi32>) kernel {
    %c0 = arith.constant 0 : index
    %X = gpu.subgroup_mma_load_matrix %x[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xi32> -> !i
    %Y = gpu.subgroup_mma_load_matrix %y[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xi32> -> !i
    %Z = gpu.subgroup_mma_elementwise muli %X, %Y : (!i, !i) -> !i
    gpu.subgroup_mma_store_matrix %Z, %o[%c0, %c0] {leadDimension = 16 : index} : !i, memref<16x16xi32>
    gpu.return
  }
  gpu.func @wraps(%x: memref<256xi32>, %n: memref<1xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %one = arith.constant 1 : i32
    %factor = arith.constant -16777217 : i32
    %t = gpu.thread_id x
    scf.for %i = %t to %c256 step %c32 {
      %0 = memref.load %x[%i] : memref<256xi32>
      %i32 = arith.index_cast %i : index to i32
      %1 = arith.muli %i32, %factor : i32
      %is = arith.cmpi eq, %0, %1 : i32
      scf.if %is { %r = memref.atomic_rmw addi %one, %n[%c0] : (i32, memref<1xi32>) -> i32 }
    }
    gpu.return
  }
}
