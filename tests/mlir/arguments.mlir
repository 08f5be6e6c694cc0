// SPDX-License-Identifier: MIT
// What a kernel's arguments are: numbers, and buffers of them. Every other type is an error that
// names it and says what is wrong with it, where it stands.
// REQUIRES: mlir
// RUN: split-file() { awk -v d="$2" '/^\/\/ ---- /{f=d"."$3; next} {print > (f ? f : "/dev/null")}' \
// RUN:   "$1"; }; split-file %s %t
// RUN: %heddle compile %t.good -o %t.spv && %spirv-val --target-env vulkan1.4 --scalar-block-layout %t.spv
// RUN: status 1 %heddle check %t.numbers 2>&1 | %filecheck %s --check-prefix=NUMBERS
// RUN: status 1 %heddle check %t.buffers 2>&1 | %filecheck %s --check-prefix=BUFFERS
// RUN: status 1 %heddle check %t.inside 2>&1 | %filecheck %s --check-prefix=INSIDE
// NUMBERS: numbers:3:5: error: argument 0 of "k" is i1: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:4:5: error: argument 1 of "k" is tensor<4xf32>: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:5:5: error: argument 2 of "k" is tensor<*xf32>: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:6:5: error: argument 3 of "k" is complex<f32>: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:7:5: error: argument 4 of "k" is none: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:8:5: error: argument 5 of "k" is tuple<i32, f32>: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:9:5: error: argument 6 of "k" is vector<4xf32>: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:10:5: error: argument 7 of "k" is vector<2x2xf32>: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:11:5: error: argument 8 of "k" is () -> (): a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:12:5: error: argument 9 of "k" is !gpu.async.token: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:13:5: error: argument 10 of "k" is !gpu.mma_matrix<16x16xf32, "COp">: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:14:5: error: argument 11 of "k" is !llvm.ptr: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:15:5: error: argument 12 of "k" is !spirv.ptr<f32, StorageBuffer>: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:16:5: error: argument 13 of "k" is !spirv.array<4 x f32>: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:17:5: error: argument 14 of "k" is !no.type: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:18:5: error: argument 15 of "k" is f80: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:19:5: error: argument 16 of "k" is tf32: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:20:5: error: argument 17 of "k" is i128: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:21:5: error: argument 18 of "k" is i3: a kernel takes numbers of 2 to 64 bits, and memrefs
// NUMBERS: numbers:22:5: error: argument 19 of "k" is memref<*xf32>: a kernel takes numbers of 2 to 64 bits, and memrefs
// BUFFERS: buffers:3:5: error: argument 0 of "k" is memref<4xf80>: a buffer consists of numbers of up to 64 bits
// BUFFERS: buffers:4:5: error: argument 1 of "k" is memref<4xi128>: a buffer consists of numbers of up to 64 bits
// BUFFERS: buffers:5:5: error: argument 2 of "k" is memref<4xvector<8xf32>>: a buffer consists of numbers of up to 64 bits
// BUFFERS: buffers:6:5: error: argument 3 of "k" is memref<4xvector<2x2xf32>>: a buffer consists of numbers of up to 64 bits
// BUFFERS: buffers:7:5: error: argument 4 of "k" is memref<4xvector<2xi4>>: a buffer consists of numbers of up to 64 bits
// BUFFERS: buffers:8:5: error: argument 5 of "k" is memref<4xmemref<4xf32>>: a buffer consists of numbers of up to 64 bits
// BUFFERS: buffers:9:5: error: argument 6 of "k" is memref<4x0xf32>: a buffer has at least one element
// BUFFERS: buffers:10:5: error: argument 7 of "k" is memref<?x?xf32>: its strides and offset are known only
// BUFFERS: buffers:11:5: error: argument 8 of "k" is memref<4x?xf32>: its strides and offset are known only
// BUFFERS: buffers:12:5: error: argument 9 of "k" is memref<?x?xf32, strided<[?, 1], offset: ?>>: its strides and offset are known only
// BUFFERS: buffers:13:5: error: argument 10 of "k" is memref<4x4xf32, strided<[8, 1], offset: ?>>: its strides and offset are known only
// BUFFERS: buffers:14:5: error: argument 11 of "k" is memref<4xf32, strided<[?]>>: its strides and offset are known only
// BUFFERS: buffers:15:5: error: argument 12 of "k" is memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>: MLIR finds no strides in its layout
// BUFFERS: buffers:16:5: error: argument 13 of "k" is memref<4xf32, 3>: arguments are buffers; a kernel declares other memory
// BUFFERS: buffers:17:5: error: argument 14 of "k" is memref<4xf32, "far">: arguments are buffers; a kernel declares other memory
// BUFFERS: buffers:18:5: error: argument 15 of "k" is memref<4xf32, #gpu.address_space<workgroup>>: arguments are buffers; a kernel declares other memory
// BUFFERS: buffers:19:5: error: argument 16 of "k" is memref<4xf32, #gpu.address_space<private>>: arguments are buffers; a kernel declares other memory
// BUFFERS: buffers:20:5: error: argument 17 of "k" is memref<4xf32, #spirv.storage_class<Input>>: arguments are buffers; a kernel declares other memory
// INSIDE: inside:4:10: error: MLIR has no conversion of this memref.reinterpret_cast to SPIR-V: memref<?x?xf32, strided<[?, 1]>>:
// ---- good
gpu.module @m {
  gpu.func @k(
    %a0: index,
    %a2: i2,
    %a3: i4,
    %a4: i8,
    %a5: i16,
    %a6: i32,
    %a7: i64,
    %a8: si32,
    %a9: f8E4M3FN,
    %a10: f16,
    %a11: bf16,
    %a12: f32,
    %a13: f64,
    %a14: memref<f32>,
    %a15: memref<?xf32>,
    %a16: memref<?x4xf32>,
    %a17: memref<4x4xf32, strided<[1, 4], offset: 3>>,
    %a18: memref<4x?xf32, strided<[8, 1]>>,
    %a19: memref<4xf32, affine_map<(d0) -> (d0 * 2)>>,
    %a20: memref<4xi1>,
    %a21: memref<8xi4>,
    %a22: memref<4xindex>,
    %a23: memref<4xcomplex<f32>>,
    %a24: memref<4xvector<3xf32>>,
    %a25: memref<4xf8E5M2>,
    %a26: memref<4xf32, 0>,
    %a27: memref<4xf32, #gpu.address_space<global>>,
    %a28: memref<4xf32, #spirv.storage_class<StorageBuffer>>) kernel {
    gpu.return
  }
}
// ---- numbers
gpu.module @m {
  gpu.func @k(
    %a0: i1,
    %a1: tensor<4xf32>,
    %a2: tensor<*xf32>,
    %a3: complex<f32>,
    %a4: none,
    %a5: tuple<i32, f32>,
    %a6: vector<4xf32>,
    %a7: vector<2x2xf32>,
    %a8: () -> (),
    %a9: !gpu.async.token,
    %a10: !gpu.mma_matrix<16x16xf32, "COp">,
    %a11: !llvm.ptr,
    %a12: !spirv.ptr<f32, StorageBuffer>,
    %a13: !spirv.array<4 x f32>,
    %a14: !no.type,
    %a15: f80,
    %a16: tf32,
    %a17: i128,
    %a18: i3,
    %a19: memref<*xf32>) kernel {
    gpu.return
  }
}
// ---- buffers
gpu.module @m {
  gpu.func @k(
    %a0: memref<4xf80>,
    %a1: memref<4xi128>,
    %a2: memref<4xvector<8xf32>>,
    %a3: memref<4xvector<2x2xf32>>,
    %a4: memref<4xvector<2xi4>>,
    %a5: memref<4xmemref<4xf32>>,
    %a6: memref<4x0xf32>,
    %a7: memref<?x?xf32>,
    %a8: memref<4x?xf32>,
    %a9: memref<?x?xf32, strided<[?, 1], offset: ?>>,
    %a10: memref<4x4xf32, strided<[8, 1], offset: ?>>,
    %a11: memref<4xf32, strided<[?]>>,
    %a12: memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>,
    %a13: memref<4xf32, 3>,
    %a14: memref<4xf32, "far">,
    %a15: memref<4xf32, #gpu.address_space<workgroup>>,
    %a16: memref<4xf32, #gpu.address_space<private>>,
    %a17: memref<4xf32, #spirv.storage_class<Input>>) kernel {
    gpu.return
  }
}
// ---- inside
gpu.module @m {
  gpu.func @k(%a: memref<16xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %m = memref.reinterpret_cast %a to offset: [0], sizes: [%n, %n], strides: [%n, 1] : memref<16xf32> to memref<?x?xf32, strided<[?, 1]>>
    %v = memref.load %m[%c0, %c0] : memref<?x?xf32, strided<[?, 1]>>
    memref.store %v, %a[%c0] : memref<16xf32>
    gpu.return
  }
}
