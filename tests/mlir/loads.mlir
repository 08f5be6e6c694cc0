// SPDX-License-Identifier: MIT
// Which overlapping loads are found, and what becomes of them; the results stay the same.
// REQUIRES: mlir
// RUN: %heddle compile %s --rotate-loads --emit mlir | %mlir-opt | %filecheck %s
// RUN: %heddle compile %s --rotate-loads -o %t.spv && %spirv-val --target-env vulkan1.4 %t.spv
// RUN: for k in near,1 far,2 chain,1 flat,2 loop,1 fence,1 columns,1 wide,1 views,2; do \
// RUN:   b="--bind 0=randn:f32[24,8] --bind 1=zeros:f32[24,8]"; \
// RUN:   b="$b --entry ${k%,*} --groups ${k#*,}"; \
// RUN:   %heddle run %s $b --out 1=%t.npy || exit 1; \
// RUN:   %heddle run %s $b --rotate-loads --check --compare 1=%t.npy --tolerance 0 || exit 1; \
// RUN: done
!m = !gpu.mma_matrix<4x8xf32, "COp">
!mem = memref<24x8xf32>
!view = memref<4x8xf32, strided<[8, 1], offset: ?>>
gpu.module @m {
  // Constant rows, and the memref has all of the second tile.
  // CHECK-LABEL: gpu.func @near
  // CHECK-COUNT-2: gpu.subgroup_mma_load_matrix
  // CHECK-NOT: gpu.subgroup_mma_load_matrix
  // CHECK: gpu.return
  gpu.func @near(%a: !mem, %b: !mem) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %m2 = gpu.subgroup_mma_load_matrix %a[%c2, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m0 = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m1 = gpu.subgroup_mma_load_matrix %a[%c1, %c0] {leadDimension = 8 : index} : !mem -> !m
    %n1 = gpu.subgroup_mma_load_matrix %a[%c1, %c0] {leadDimension = 8 : index} : !mem -> !m
    gpu.subgroup_mma_store_matrix %m0, %b[%c0, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m1, %b[%c4, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %n1, %b[%c4, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m2, %b[%c8, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.return
  }
  // Nobody knows where the rows are: the last load itself, moved, stands for the tile behind.
  // CHECK-LABEL: gpu.func @far
  // CHECK: %[[Y2:.*]] = arith.addi %{{.*}}, %c2{{.*}} : index
  // CHECK: gpu.subgroup_mma_load_matrix %{{.*}}[%[[Y2]], %c0]
  // CHECK-NOT: gpu.subgroup_mma_load_matrix
  // CHECK: gpu.return
  gpu.func @far(%a: !mem, %b: !mem) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c12 = arith.constant 12 : index
    %x = gpu.block_id x
    %y = arith.muli %x, %c4 : index
    %y1 = arith.addi %y, %c1 : index
    %y2 = arith.addi %y1, %c1 : index
    %m0 = gpu.subgroup_mma_load_matrix %a[%y, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m1 = gpu.subgroup_mma_load_matrix %a[%y1, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m2 = gpu.subgroup_mma_load_matrix %a[%y2, %c0] {leadDimension = 8 : index} : !mem -> !m
    %o = arith.muli %x, %c12 : index
    %o1 = arith.addi %o, %c4 : index
    %o2 = arith.addi %o, %c8 : index
    gpu.subgroup_mma_store_matrix %m0, %b[%o, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m1, %b[%o1, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m2, %b[%o2, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.return
  }
  // Eight windows, three tiles; one window is a tile.
  // CHECK-LABEL: gpu.func @chain
  // CHECK-COUNT-3: gpu.subgroup_mma_load_matrix
  // CHECK-NOT: gpu.subgroup_mma_load_matrix
  // CHECK: gpu.return
  gpu.func @chain(%a: !mem, %b: !mem) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %c12 = arith.constant 12 : index
    %c16 = arith.constant 16 : index
    %c20 = arith.constant 20 : index
    %m0 = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m1 = gpu.subgroup_mma_load_matrix %a[%c1, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m2 = gpu.subgroup_mma_load_matrix %a[%c2, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m3 = gpu.subgroup_mma_load_matrix %a[%c3, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m4 = gpu.subgroup_mma_load_matrix %a[%c4, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m5 = gpu.subgroup_mma_load_matrix %a[%c5, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m6 = gpu.subgroup_mma_load_matrix %a[%c6, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m7 = gpu.subgroup_mma_load_matrix %a[%c7, %c0] {leadDimension = 8 : index} : !mem -> !m
    gpu.subgroup_mma_store_matrix %m1, %b[%c0, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m3, %b[%c4, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m4, %b[%c8, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m5, %b[%c12, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m6, %b[%c16, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m7, %b[%c20, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.return
  }
  // A memref of one dimension: rows are steps of the leading dimension.
  // CHECK-LABEL: gpu.func @flat
  // CHECK-COUNT-2: gpu.subgroup_mma_load_matrix
  // CHECK-NOT: gpu.subgroup_mma_load_matrix
  // CHECK: gpu.return
  gpu.func @flat(%a: memref<192xf32>, %b: memref<192xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %x = gpu.block_id x
    %s = arith.muli %x, %c8 : index
    %s1 = arith.addi %s, %c8 : index
    %s2 = arith.addi %s1, %c8 : index
    %m0 = gpu.subgroup_mma_load_matrix %a[%s] {leadDimension = 8 : index} : memref<192xf32> -> !m
    %m1 = gpu.subgroup_mma_load_matrix %a[%s1] {leadDimension = 8 : index} : memref<192xf32> -> !m
    %m2 = gpu.subgroup_mma_load_matrix %a[%s2] {leadDimension = 8 : index} : memref<192xf32> -> !m
    %z = arith.muli %x, %c64 : index
    %z1 = arith.addi %z, %c32 : index
    gpu.subgroup_mma_store_matrix %m0, %b[%z] {leadDimension = 8 : index} : !m, memref<192xf32>
    gpu.subgroup_mma_store_matrix %m1, %b[%z] {leadDimension = 8 : index} : !m, memref<192xf32>
    gpu.subgroup_mma_store_matrix %m2, %b[%z1] {leadDimension = 8 : index} : !m, memref<192xf32>
    gpu.return
  }
  // The counter of a loop has bounds, so the tile is known to lie in the memref.
  // CHECK-LABEL: gpu.func @loop
  // CHECK: scf.for
  // CHECK: %[[T:.*]] = arith.addi %arg2, %c4{{.*}} : index
  // CHECK: gpu.subgroup_mma_load_matrix %{{.*}}[%[[T]], %c0]
  // CHECK-NOT: gpu.subgroup_mma_load_matrix
  // CHECK: gpu.return
  gpu.func @loop(%a: !mem, %b: !mem) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    scf.for %y = %c0 to %c16 step %c8 {
    %y1 = arith.addi %y, %c1 : index
    %y2 = arith.addi %y, %c2 : index
    %m0 = gpu.subgroup_mma_load_matrix %a[%y, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m1 = gpu.subgroup_mma_load_matrix %a[%y1, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m2 = gpu.subgroup_mma_load_matrix %a[%y2, %c0] {leadDimension = 8 : index} : !mem -> !m
    %o = arith.addi %y, %c4 : index
    gpu.subgroup_mma_store_matrix %m0, %b[%y, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m1, %b[%y, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m2, %b[%o, %c0] {leadDimension = 8 : index} : !m, !mem
    }
    gpu.return
  }
  // Both arguments may be one buffer: what is loaded after the store stays there.
  // CHECK-LABEL: gpu.func @fence
  // CHECK-COUNT-2: gpu.subgroup_mma_load_matrix
  // CHECK: gpu.subgroup_mma_store_matrix
  // CHECK: gpu.subgroup_mma_load_matrix
  // CHECK: gpu.return
  gpu.func @fence(%a: !mem, %b: !mem) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %m0 = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m1 = gpu.subgroup_mma_load_matrix %a[%c1, %c0] {leadDimension = 8 : index} : !mem -> !m
    gpu.subgroup_mma_store_matrix %m0, %b[%c0, %c0] {leadDimension = 8 : index} : !m, !mem
    %m2 = gpu.subgroup_mma_load_matrix %a[%c2, %c0] {leadDimension = 8 : index} : !mem -> !m
    gpu.subgroup_mma_store_matrix %m1, %b[%c4, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m2, %b[%c8, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.return
  }
  // Windows that differ by columns are none of rows.
  // CHECK-LABEL: gpu.func @columns
  // CHECK-COUNT-3: gpu.subgroup_mma_load_matrix
  // CHECK: gpu.return
  gpu.func @columns(%a: memref<12x16xf32>, %b: memref<12x16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %m0 = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 16 : index} : memref<12x16xf32> -> !m
    %m1 = gpu.subgroup_mma_load_matrix %a[%c0, %c1] {leadDimension = 16 : index} : memref<12x16xf32> -> !m
    %m2 = gpu.subgroup_mma_load_matrix %a[%c1, %c2] {leadDimension = 16 : index} : memref<12x16xf32> -> !m
    gpu.subgroup_mma_store_matrix %m0, %b[%c0, %c0] {leadDimension = 16 : index} : !m, memref<12x16xf32>
    gpu.subgroup_mma_store_matrix %m1, %b[%c4, %c0] {leadDimension = 16 : index} : !m, memref<12x16xf32>
    gpu.subgroup_mma_store_matrix %m2, %b[%c8, %c0] {leadDimension = 16 : index} : !m, memref<12x16xf32>
    gpu.return
  }
  // Windows by views and by affine maps of what is one value are sums like others.
  // CHECK-LABEL: gpu.func @views
  // CHECK-COUNT-2: gpu.subgroup_mma_load_matrix
  // CHECK-NOT: gpu.subgroup_mma_load_matrix
  // CHECK: gpu.return
  gpu.func @views(%a: !mem, %b: !mem) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c12 = arith.constant 12 : index
    %x = gpu.block_id x
    %again = gpu.block_id x
    %y = arith.muli %c12, %x : index
    %y1 = affine.apply affine_map<(d0) -> (d0 * 12 + 1)>(%again)
    %y2 = affine.apply affine_map<(d0) -> (d0 + 1)>(%y1)
    %v = memref.subview %a[%y, 0] [4, 8] [1, 1] : !mem to !view
    %v1 = memref.subview %a[%y1, 0] [4, 8] [1, 1] : !mem to !view
    %m0 = gpu.subgroup_mma_load_matrix %v[%c0, %c0] {leadDimension = 8 : index} : !view -> !m
    %m1 = gpu.subgroup_mma_load_matrix %v1[%c0, %c0] {leadDimension = 8 : index} : !view -> !m
    %m2 = gpu.subgroup_mma_load_matrix %a[%y2, %c0] {leadDimension = 8 : index} : !mem -> !m
    %o1 = arith.addi %y, %c4 : index
    %o2 = arith.addi %y, %c8 : index
    gpu.subgroup_mma_store_matrix %m0, %b[%y, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m1, %b[%o1, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m2, %b[%o2, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.return
  }
  // Disjoint loads stay as they are.
  // CHECK-LABEL: gpu.func @wide
  // CHECK-COUNT-3: gpu.subgroup_mma_load_matrix
  // CHECK-NOT: spirv.
  // CHECK: gpu.return
  gpu.func @wide(%a: !mem, %b: !mem) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c12 = arith.constant 12 : index
    %m0 = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m1 = gpu.subgroup_mma_load_matrix %a[%c4, %c0] {leadDimension = 8 : index} : !mem -> !m
    %m2 = gpu.subgroup_mma_load_matrix %a[%c8, %c0] {leadDimension = 8 : index} : !mem -> !m
    gpu.subgroup_mma_store_matrix %m0, %b[%c0, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m1, %b[%c4, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.subgroup_mma_store_matrix %m2, %b[%c8, %c0] {leadDimension = 8 : index} : !m, !mem
    gpu.return
  }
}
