// SPDX-License-Identifier: MIT
//
// C += A * B as a compiler of tensors has it, and the script by which MLIR makes a kernel of it:
// a workgroup makes 16 x 16 of C, 16 products at a time, as one contraction of vectors. See
// lower-linalg.sh.
module attributes {transform.with_named_sequence} {
  func.func @matmul(%a: memref<128x128xf16>, %b: memref<128x128xf16>, %c: memref<128x128xf32>) {
    linalg.generic {
        indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                         affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : memref<128x128xf16>, memref<128x128xf16>) outs(%c : memref<128x128xf32>) {
    ^bb0(%x: f16, %y: f16, %sum: f32):
      %xw = arith.extf %x : f16 to f32
      %yw = arith.extf %y : f16 to f32
      %p = arith.mulf %xw, %yw : f32
      %s = arith.addf %sum, %p : f32
      linalg.yield %s : f32
    }
    return
  }

  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %product = transform.structured.match ops{["linalg.generic"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %blocks = transform.structured.tile_using_forall %product
        tile_sizes [16, 16] (mapping = [#gpu.block<y>, #gpu.block<x>])
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %step, %loop = transform.structured.tile_using_for %tile tile_sizes [0, 0, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.vectorize %step : !transform.any_op
    %function = transform.structured.match ops{["func.func"]} in %root
        : (!transform.any_op) -> !transform.any_op
    transform.apply_patterns to %function {
      transform.apply_patterns.vector.reduction_to_contract
      transform.apply_patterns.vector.fold_arith_extension
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.memref.fold_memref_alias_ops
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    %hoisted = transform.structured.hoist_redundant_vector_transfers %function
        : (!transform.any_op) -> !transform.any_op
    %launch = transform.gpu.map_forall_to_blocks %hoisted generate_gpu_launch grid_dims = [8, 8, 1]
        : (!transform.any_op) -> !transform.any_op
    %threads = transform.gpu.map_nested_forall_to_threads %launch block_dims = [32, 1, 1]
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
