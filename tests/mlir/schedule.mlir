// SPDX-License-Identifier: MIT
// A schedule of the transform dialect, which transform-interpreter leaves behind, is left out, with
// what extensions of other dialects add to it; positions behind it stay what they were.
// REQUIRES: mlir
// RUN: %heddle run %s --bind 0=full:1:f32[32] --compare 0=full:2:f32[32]
// RUN: %heddle compile %s --emit mlir | %filecheck %s
// RUN: sed 's/arith.addf %x, %x/arith.addf %x, %nope/' %s > %t.mlir
// RUN: not %heddle compile %t.mlir 2>&1 | %filecheck --check-prefix=WRONG %s
// CHECK-NOT: transform.structured
// CHECK: gpu.func @twice
// WRONG: :28:27: error: use of undeclared
module attributes {gpu.container_module, transform.with_named_sequence} {
  transform.named_sequence private @elsewhere(!transform.any_op {transform.readonly})
  transform.named_sequence @tile(%root: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.op<"func.func">) attributes {note = "{"} {
    %product = transform.structured.match ops{["linalg.generic"]} in %root // }
        : (!transform.any_op) -> !transform.any_op
    transform.yield %product, %product : !transform.any_op, !transform.any_op
  } transform.sequence failures(propagate) {
  ^bb0(%root: !transform.any_op):
    transform.apply_patterns to %root { transform.apply_patterns.no.such.thing } : !transform.any_op
  }
  gpu.module @m {
    gpu.func @twice(%a: memref<32xf32>) kernel {
      %i = gpu.thread_id x
      %x = memref.load %a[%i] : memref<32xf32>

      %y = arith.addf %x, %x : f32
      memref.store %y, %a[%i] : memref<32xf32>
      gpu.return
    }
  }
}
