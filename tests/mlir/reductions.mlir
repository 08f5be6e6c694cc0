// SPDX-License-Identifier: MIT
// Reductions of a workgroup, of one subgroup and of several of which the last may be smaller, and
// of a subgroup, where MLIR's conversion takes neither uniform ones nor those of bits. Every
// invocation gets the result: what the first and the last got is looked at. The workgroup's size
// has MLIR 22's name and the one from before.
// REQUIRES: mlir
// RUN: %heddle compile %s -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv
// RUN: for device in cpu 'reference --check'; do for n in 16 32 64; do \
// RUN:   %heddle run %s --entry integers --subgroup-size $n --device $device \
// RUN:     --bind 0=iota:s32[48] --bind 1=zeros:s32[2,9] --tolerance 0 --compare \
// RUN:     1=list:s32:597993336,1761075153,56502658,-2119232319,-91423867,2084311110,16,4080,152320912,597993336,1761075153,56502658,-2119232319,-91423867,2084311110,16,4080,152320912 \
// RUN:   && %heddle run %s --entry reals --subgroup-size $n --device $device \
// RUN:     --bind 0=iota:f32[48] --bind 1=zeros:f32[2,6] --tolerance 0 --compare \
// RUN:     1=list:f32:1080,1073741824,-1,46,-1,46,1080,1073741824,-1,46,-1,46 || exit 1; done; done
// RUN: for device in cpu 'reference --check'; do %heddle run %s --entry subgroup --device $device \
// RUN:   --subgroup-size 16 --bind 0=iota:s32[16] --bind 1=zeros:s32[4] \
// RUN:   --compare 1=list:s32:-731390936,848825456,16,4080 --tolerance 0 || exit 1; done
// RUN: %heddle compile %s | %filecheck %s
// CHECK-NOT: OpGroupNonUniform{{.*}} %Workgroup
gpu.module @m {
  gpu.func @integers(%x: memref<48xi32>, %o: memref<2x9xi32>)
      kernel attributes {known_block_size = array<i32: 48, 1, 1>} {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %c47 = arith.constant 47 : index
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %sixteen = arith.constant 16 : i32
    %mask = arith.constant 0xff0 : i32
    %spread = arith.constant 0x9e3779b1 : i32
    %v = memref.load %x[%t] : memref<48xi32>
    %p = arith.addi %v, %three : i32
    %w = arith.muli %p, %spread : i32
    %odd = arith.ori %w, %one : i32
    %hi = arith.ori %w, %sixteen : i32
    %lo = arith.andi %w, %mask : i32
    %r0 = gpu.all_reduce add %w {} : (i32) -> (i32)
    %r1 = gpu.all_reduce mul %odd uniform {} : (i32) -> (i32)
    %r2 = gpu.all_reduce minui %w {} : (i32) -> (i32)
    %r3 = gpu.all_reduce minsi %w uniform {} : (i32) -> (i32)
    %r4 = gpu.all_reduce maxui %w {} : (i32) -> (i32)
    %r5 = gpu.all_reduce maxsi %w uniform {} : (i32) -> (i32)
    %r6 = gpu.all_reduce and %hi {} : (i32) -> (i32)
    %r7 = gpu.all_reduce or %lo uniform {} : (i32) -> (i32)
    %r8 = gpu.all_reduce xor %w {} : (i32) -> (i32)
    %row = arith.divui %t, %c47 : index
    %first = arith.muli %row, %c47 : index
    %stores = arith.cmpi eq, %t, %first : index
    scf.if %stores {
      memref.store %r0, %o[%row, %c0] : memref<2x9xi32>
      memref.store %r1, %o[%row, %c1] : memref<2x9xi32>
      memref.store %r2, %o[%row, %c2] : memref<2x9xi32>
      memref.store %r3, %o[%row, %c3] : memref<2x9xi32>
      memref.store %r4, %o[%row, %c4] : memref<2x9xi32>
      memref.store %r5, %o[%row, %c5] : memref<2x9xi32>
      memref.store %r6, %o[%row, %c6] : memref<2x9xi32>
      memref.store %r7, %o[%row, %c7] : memref<2x9xi32>
      memref.store %r8, %o[%row, %c8] : memref<2x9xi32>
    }
    gpu.return
  }
  gpu.func @reals(%x: memref<48xf32>, %o: memref<2x6xf32>)
      kernel attributes {gpu.known_block_size = array<i32: 12, 2, 2>} {
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %tz = gpu.thread_id z
    %c2 = arith.constant 2 : index
    %c12 = arith.constant 12 : index
    %zy = arith.muli %tz, %c2 : index
    %y = arith.addi %zy, %ty : index
    %yx = arith.muli %y, %c12 : index
    %t = arith.addi %yx, %tx : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c47 = arith.constant 47 : index
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %half = arith.constant 30 : index
    %l = memref.load %x[%t] : memref<48xf32>
    %v = arith.subf %l, %one : f32
    %few = arith.cmpi ult, %t, %half : index
    %f = arith.select %few, %two, %one : f32
    %r0 = gpu.all_reduce add %v {} : (f32) -> (f32)
    %r1 = gpu.all_reduce mul %f uniform {} : (f32) -> (f32)
    %r2 = gpu.all_reduce minnumf %v {} : (f32) -> (f32)
    %r3 = gpu.all_reduce maxnumf %v uniform {} : (f32) -> (f32)
    %r4 = gpu.all_reduce minimumf %v {} : (f32) -> (f32)
    %r5 = gpu.all_reduce maximumf %v uniform {} : (f32) -> (f32)
    %row = arith.divui %t, %c47 : index
    %first = arith.muli %row, %c47 : index
    %stores = arith.cmpi eq, %t, %first : index
    scf.if %stores {
      memref.store %r0, %o[%row, %c0] : memref<2x6xf32>
      memref.store %r1, %o[%row, %c1] : memref<2x6xf32>
      memref.store %r2, %o[%row, %c2] : memref<2x6xf32>
      memref.store %r3, %o[%row, %c3] : memref<2x6xf32>
      memref.store %r4, %o[%row, %c4] : memref<2x6xf32>
      memref.store %r5, %o[%row, %c5] : memref<2x6xf32>
    }
    gpu.return
  }
  gpu.func @subgroup(%x: memref<16xi32>, %o: memref<4xi32>)
      kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c15 = arith.constant 15 : index
    %three = arith.constant 3 : i32
    %sixteen = arith.constant 16 : i32
    %mask = arith.constant 0xff0 : i32
    %spread = arith.constant 0x9e3779b1 : i32
    %v = memref.load %x[%t] : memref<16xi32>
    %p = arith.addi %v, %three : i32
    %w = arith.muli %p, %spread : i32
    %hi = arith.ori %w, %sixteen : i32
    %lo = arith.andi %w, %mask : i32
    %r0 = gpu.subgroup_reduce add %w uniform : (i32) -> (i32)
    %r1 = gpu.subgroup_reduce xor %w : (i32) -> (i32)
    %r2 = gpu.subgroup_reduce and %hi uniform : (i32) -> (i32)
    %r3 = gpu.subgroup_reduce or %lo : (i32) -> (i32)
    %last = arith.cmpi eq, %t, %c15 : index
    scf.if %last {
      memref.store %r0, %o[%c0] : memref<4xi32>
      memref.store %r1, %o[%c1] : memref<4xi32>
      memref.store %r2, %o[%c2] : memref<4xi32>
      memref.store %r3, %o[%c3] : memref<4xi32>
    }
    gpu.return
  }
}
