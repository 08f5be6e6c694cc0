// SPDX-License-Identifier: MIT
// What is wrong is said where it is wrong: all operations that MLIR does not convert, mistakes in
// rotations (whose text MLIR sees in another form), of syntax too.
// REQUIRES: mlir
// RUN: split-file() { awk -v d="$2" '/^\/\/ ---- /{f=d"."$3; next} {print > (f ? f : "/dev/null")}' \
// RUN:   "$1"; }; split-file %s %t
// RUN: not %heddle check %t.convert 2>&1 | %filecheck %s --check-prefix=CONVERT
// RUN: not %heddle check %t.rotate 2>&1 | %filecheck %s --check-prefix=ROTATE
// RUN: not %heddle check %t.parse --language mlir 2>&1 | %filecheck %s --check-prefix=PARSE
// RUN: not %heddle check %t.syntax 2>&1 | %filecheck %s --check-prefix=SYNTAX
// RUN: not %heddle check %t.columns 2>&1 | %filecheck %s --check-prefix=COLUMNS
// RUN: not %heddle check %t.bytes --rotate-as gpu 2>&1 | %filecheck %s --check-prefix=BYTES
// RUN: not %heddle check %t.none 2>&1 | %filecheck %s --check-prefix=NONE
// RUN: not %heddle check %t.twice 2>&1 | %filecheck %s --check-prefix=TWICE
// RUN: not %heddle check %t.wide 2>&1 | %filecheck %s --check-prefix=WIDE
// RUN: not %heddle check %t.elements 2>&1 | %filecheck %s --check-prefix=ELEMENTS
// RUN: not %heddle check %t.brackets 2>&1 | %filecheck %s --check-prefix=BRACKETS
// RUN: not %heddle check %t.reduce 2>&1 | %filecheck %s --check-prefix=REDUCE
// RUN: not %heddle check %t.workgroup 2>&1 | %filecheck %s --check-prefix=WORKGROUP
// RUN: not %heddle check %t.negative 2>&1 | %filecheck %s --check-prefix=NEGATIVE
// RUN: not %heddle check %t.sizes 2>&1 | %filecheck %s --check-prefix=SIZES
// CONVERT: convert:5:5: error: MLIR has no conversion of this gpu.printf to SPIR-V
// CONVERT: convert:6:10: error: MLIR has no conversion of this vector.transfer_read to SPIR-V
// CONVERT: convert:8:10: error: MLIR has no conversion of this scf.index_switch to SPIR-V
// ROTATE: rotate:6:10: error: {{.*}}offset is 257; 16x16 matrices have elements 0 to 256
// ROTATE: rotate:7:10: error: {{.*}}of one type, not !gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_m
// ROTATE: rotate:8:10: error: {{.*}}takes matrices (!gpu.mma_matrix), not f32
// ROTATE: rotate:9:10: error: {{.*}}offset is an i32, not index
// ROTATE: rotate:10:10: error: {{.*}}9 elements of 3x3 matrices are not a whole number
// PARSE: parse:2:5: error: custom op 'gpu.nothing' is unknown
// SYNTAX: syntax:3:41: error: gpu.subgroup_mma_rotate: expected ',' and another operand
// COLUMNS: columns:3:163: error: expected '=' after SSA name
// BYTES: bytes:5:38: error: the gpu dialect cannot take elements out of
// NONE: none:1:1: error: no function of the module is a kernel
// TWICE: twice:5:3: error: two gpu.modules define "k"
// WIDE: wide:4:10: error: MLIR has no conversion of this vector.from_elements to SPIR-V
// WIDE-NEXT: wide:7:5: error: MLIR has no conversion of this gpu.printf to SPIR-V
// WIDE-NOT: error
// ELEMENTS: elements:8:10: error: gpu.subgroup_mma_extract: element 2; an invocation holds elements 0 to 1 of
// ELEMENTS: elements:9:10: error: gpu.subgroup_mma_extract takes one number in brackets
// ELEMENTS: elements:10:10: error: gpu.subgroup_mma_extract: an element of {{.*}} is no f16
// ELEMENTS: elements:11:10: error: gpu.subgroup_mma_insert makes a {{.*}} of one, not a !gpu.mma_matrix<4x4
// ELEMENTS: elements:12:10: error: gpu.subgroup_mma_extract takes a matrix (!gpu.mma_matrix), not f32
// ELEMENTS: elements:13:10: error: the 9 elements of 3x3 matrices are not a whole number for each of
// ELEMENTS: elements:14:10: error: gpu.rotate's width is a constant power of two up to the subgroup's 32
// ELEMENTS: elements:15:10: error: gpu.rotate's width is a constant power of two up to the subgroup's 32
// ELEMENTS: elements:16:10: error: gpu.rotate's offset and width are i32, not i32 and index
// ELEMENTS: elements:17:10: error: gpu.rotate takes and gives a number of one type, not f32 and f16
// ELEMENTS: elements:18:11: error: gpu.subgroup_mma_extract: the gpu dialect cannot take elements out of
// BRACKETS: brackets:3:38: error: gpu.subgroup_mma_extract: expected '[' and the number of an element
// REDUCE: reduce:4:10: error: gpu.all_reduce by a region of operations
// WORKGROUP: workgroup:2:3: error: array<i32: 64, 1, 1000000>: a workgroup has 1 to 16384 invocations
// NEGATIVE: negative:2:3: error: {{.*}}workgroup_size = [64, 0, 1]>: a workgroup has 1 to 16384
// SIZES: sizes:6:10: error: {{.*}}kernels have subgroups of different sizes
// ---- convert
gpu.module @m {
  gpu.func @k(%a: memref<64xf32>, %b: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %x = memref.load %a[%i] : memref<64xf32>
    gpu.printf "hello %f\n", %x : f32
    %v = vector.transfer_read %a[%i], %x : memref<64xf32>, vector<4xf32>
    %e = vector.extract %v[0] : f32 from vector<4xf32>
    %s = scf.index_switch %i -> f32
    case 2 { scf.yield %e : f32 }
    default { scf.yield %x : f32 }
    memref.store %s, %b[%i] : memref<64xf32>
    gpu.return
  }
}
// ---- rotate
gpu.module @m {
  gpu.func @k(%a: !gpu.mma_matrix<16x16xf32, "COp">, %b: !gpu.mma_matrix<16x16xf16, "COp">, %c: !gpu.mma_matrix<3x3xf32, "COp">) kernel {
    %n = arith.constant 257 : i32
    %f = arith.constant 1.0 : f32
    %i = arith.constant 1 : index %m = arith.constant 1 : i32
    %1 = gpu.subgroup_mma_rotate %a, %a, %n : !gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">, i32 -> !gpu.mma_matrix<16x16xf32, "COp">
    %2 = gpu.subgroup_mma_rotate %a, %b, %n : !gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf16, "COp">, i32 -> !gpu.mma_matrix<16x16xf32, "COp">
    %3 = gpu.subgroup_mma_rotate %f, %f, %n : f32, f32, i32 -> f32
    %4 = gpu.subgroup_mma_rotate %a, %a, %i : !gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">, index -> !gpu.mma_matrix<16x16xf32, "COp">
    %5 = gpu.subgroup_mma_rotate %c, %c, %m : !gpu.mma_matrix<3x3xf32, "COp">, !gpu.mma_matrix<3x3xf32, "COp">, i32 -> !gpu.mma_matrix<3x3xf32, "COp">
    gpu.return
  }
}
// ---- parse
gpu.module @m {
    gpu.nothing %a
}
// ---- syntax
gpu.module @m {
  gpu.func @k(%a: !gpu.mma_matrix<16x16xf32, "COp">, %n: i32) kernel {
    %r = gpu.subgroup_mma_rotate %a, %n : !gpu.mma_matrix<16x16xf32, "COp">, i32 -> f32
  }
}
// ---- columns
gpu.module @m {
  gpu.func @k(%a: !gpu.mma_matrix<16x16xf32, "COp">, %n: i32) kernel {
    %r = gpu.subgroup_mma_rotate %a, %a, %n : !gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">, i32 -> !gpu.mma_matrix<16x16xf32, "COp"> %none
    gpu.return
  }
}
// ---- bytes
gpu.module @m {
  gpu.func @k(%a: memref<16x16xi8>, %n: i32, %c: memref<16x16xi32>) kernel {
    %0 = arith.constant 0 : index
    %m = gpu.subgroup_mma_load_matrix %a[%0, %0] {leadDimension = 16 : index} : memref<16x16xi8> -> !gpu.mma_matrix<16x16xsi8, "AOp">
    %x = arith.constant 0 : i32 %r = gpu.subgroup_mma_rotate %m, %m, %n : !gpu.mma_matrix<16x16xsi8, "AOp">, !gpu.mma_matrix<16x16xsi8, "AOp">, i32 -> !gpu.mma_matrix<16x16xsi8, "AOp">
    gpu.return
  }
}
// ---- elements
!c = !gpu.mma_matrix<8x8xf32, "COp">
gpu.module @m {
  func.func @f(%a: !c, %b: !gpu.mma_matrix<3x3xf32, "COp">, %s: !gpu.mma_matrix<8x8xsi8, "AOp">, %v: f32, %n: i32, %i: index) {
    %w0 = arith.constant 32 : i32
    %w1 = arith.constant 12 : i32
    // MLIR's own rotation is left as it is.
    %r, %valid = gpu.rotate %v, 3, 16 : f32
    %0 = gpu.subgroup_mma_extract %a[2] : !c -> f32
    %1 = gpu.subgroup_mma_extract %a[0, 1] : !c -> f32
    %2 = gpu.subgroup_mma_extract %a[0] : !c -> f16
    %3 = gpu.subgroup_mma_insert %v, %a[1] : f32, !c -> !gpu.mma_matrix<4x4xf32, "COp">
    %4 = gpu.subgroup_mma_extract %v[0] : f32 -> f32
    %5 = gpu.subgroup_mma_extract %b[0] : !gpu.mma_matrix<3x3xf32, "COp"> -> f32
    %6 = gpu.rotate %v, %n, %w1 : f32, i32, i32 -> f32
    %7 = gpu.rotate %v, %n, %n : f32, i32, i32 -> f32
    %8 = gpu.rotate %v, %n, %i : f32, i32, index -> f32
    %9 = gpu.rotate %v, %n, %w0 : f32, i32, i32 -> f16
    %s0 = gpu.subgroup_mma_extract %s[0] : !gpu.mma_matrix<8x8xsi8, "AOp"> -> i8
    return
  }
  gpu.func @k() kernel { gpu.return }
}
// ---- brackets
gpu.module @m {
  func.func @f(%a: !gpu.mma_matrix<8x8xf32, "COp">) {
    %0 = gpu.subgroup_mma_extract %a : !gpu.mma_matrix<8x8xf32, "COp"> -> f32
  }
}
// ---- reduce
gpu.module @m {
  gpu.func @k(%a: memref<64xf32>) kernel {
    %i = gpu.thread_id x %v = memref.load %a[%i] : memref<64xf32>
    %s = gpu.all_reduce %v {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      "gpu.yield"(%z) : (f32) -> ()
    } : (f32) -> (f32)
    memref.store %s, %a[%i] : memref<64xf32>
    gpu.return
  }
}
// ---- workgroup
gpu.module @m {
  gpu.func @k(%a: memref<64xf32>) kernel attributes {gpu.known_block_size = array<i32: 64, 1, 1000000>} {
    %i = gpu.thread_id x %v = memref.load %a[%i] : memref<64xf32>
    %s = gpu.all_reduce add %v {} : (f32) -> (f32)
    memref.store %s, %a[%i] : memref<64xf32>
    gpu.return
  }
}
// ---- negative
gpu.module @m {
  gpu.func @k() kernel attributes {spirv.entry_point_abi = #spirv.entry_point_abi<workgroup_size = [64, 0, 1]>} { gpu.return }
}
// ---- none
gpu.module @m {
  func.func @k() { return }
}
// ---- twice
gpu.module @m {
  gpu.func @k() kernel { gpu.return }
}
gpu.module @n {
  gpu.func @k() kernel { gpu.return }
}
// ---- wide
gpu.module @m {
  gpu.func @k(%a: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %v = vector.load %a[%i] : memref<64xf32>, vector<8xf32>
    %w = arith.addf %v, %v : vector<8xf32>
    %s = vector.reduction <add>, %w : vector<8xf32> into f32
    gpu.printf "hello %f\n", %s : f32
    gpu.return
  }
}
// ---- sizes
!m = !gpu.mma_matrix<4x8xf32, "COp">
gpu.module @m {
  func.func @f(%m: !m) -> !m {
    %n = arith.constant 3 : i32
    // Which lane holds what?
    %r = gpu.subgroup_mma_rotate %m, %m, %n : !m, !m, i32 -> !m
    return %r : !m
  }
  gpu.func @a() kernel attributes {spirv.entry_point_abi = #spirv.entry_point_abi<subgroup_size = 16>} { gpu.return }
  gpu.func @b() kernel { gpu.return }
}
