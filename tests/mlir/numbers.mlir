// SPDX-License-Identifier: MIT
// Numbers that shaders do not compute with, and layouts of memory: bf16, which lies in two bytes and
// is computed with as f32; fp8 and i4, moved and unpacked; rows with gaps, an offset, columns first.
// REQUIRES: mlir
// RUN: %heddle compile %s -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv
// RUN: for device in cpu 'reference --check'; do \
// RUN:   %heddle run %s --entry brain --device $device --bind 0=list:bf16:1.5,-2,0.0078125,256 \
// RUN:     --bind 1=list:bf16:0.5,3,1,1.5 --bind 2=zeros:bf16[4] --bind 3=zeros:f32[4] --bind 4=zeros:bf16[2,4] \
// RUN:     --tolerance 0 --compare 2=list:bf16:2,1,1.0078125,258 \
// RUN:     --compare 3=list:f32:1.5,-2,0.0078125,256 \
// RUN:     --compare 4=list:bf16:1.5,2,0.0078125,256,256,256,256,256 && \
// RUN:   %heddle run %s --entry small --device $device --bind 0=list:e4m3:1.5,-2,0.25,448 \
// RUN:     --bind 1=zeros:e4m3[4] --bind 2=list:u32:0x8fedc210 --bind 3=zeros:s32[8] --tolerance 0 \
// RUN:     --compare 1=list:e4m3:448,0.25,-2,1.5 --compare 3=list:s32:0,1,2,-4,-3,-2,-1,-8 && \
// RUN:   %heddle run %s --entry layouts --device $device --bind 0=iota:f32[64] --bind 1=iota:f32[16] \
// RUN:     --bind 2=zeros:f32[2,4] --tolerance 0 --compare 2=list:f32:12,13,20,21,0,4,1,5 || exit 1; done
gpu.module @m {
  gpu.func @brain(%a: memref<4xbf16>, %b: memref<4xbf16>, %o: memref<4xbf16>, %f: memref<4xf32>,
                  %m: memref<2x4xbf16>)
      kernel attributes {known_block_size = array<i32: 4, 1, 1>} {
    %i = gpu.thread_id x
    %x = memref.load %a[%i] : memref<4xbf16>
    %y = memref.load %b[%i] : memref<4xbf16>
    %s = arith.addf %x, %y : bf16
    %w = arith.extf %x : bf16 to f32
    memref.store %s, %o[%i] : memref<4xbf16>
    memref.store %w, %f[%i] : memref<4xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p = math.absf %x : bf16
    %r = gpu.all_reduce add %x uniform {} : (bf16) -> (bf16)
    %q = gpu.subgroup_reduce maxnumf %x : (bf16) -> bf16
    %t = arith.maximumf %r, %q : bf16
    memref.store %p, %m[%c0, %i] : memref<2x4xbf16>
    memref.store %t, %m[%c1, %i] : memref<2x4xbf16>
    gpu.return
  }
  gpu.func @small(%a: memref<4xf8E4M3FN>, %b: memref<4xf8E4M3FN>, %n: memref<8xi4>, %o: memref<8xi32>)
      kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %i = gpu.thread_id x
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %first = arith.cmpi ult, %i, %c4 : index
    scf.if %first {
      %x = memref.load %a[%i] : memref<4xf8E4M3FN>
      %j = arith.subi %c3, %i : index
      memref.store %x, %b[%j] : memref<4xf8E4M3FN>
    }
    %q = memref.load %n[%i] : memref<8xi4>
    %w = arith.extsi %q : i4 to i32
    memref.store %w, %o[%i] : memref<8xi32>
    gpu.return
  }
  gpu.func @layouts(%rows: memref<?x4xf32, strided<[8, 1], offset: 3>>,
                    %columns: memref<4x4xf32, strided<[1, 4]>>, %o: memref<2x4xf32>)
      kernel attributes {known_block_size = array<i32: 2, 2, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %i = gpu.thread_id y
    %j = gpu.thread_id x
    %i1 = arith.addi %i, %c1 : index
    %j1 = arith.addi %j, %c1 : index
    %double = arith.muli %i, %c2 : index
    %at = arith.addi %double, %j : index
    %x = memref.load %rows[%i1, %j1] : memref<?x4xf32, strided<[8, 1], offset: 3>>
    %y = memref.load %columns[%i, %j] : memref<4x4xf32, strided<[1, 4]>>
    memref.store %x, %o[%c0, %at] : memref<2x4xf32>
    memref.store %y, %o[%c1, %at] : memref<2x4xf32>
    gpu.return
  }
}
