// SPDX-License-Identifier: MIT
//
// A product of matrices with operators at its end, on both devices.
//
// RUN: %heddle run %s --bind 0=randn:f16[64,64]@1 --bind 1=randn:f16[64,64]@2 \
// RUN:   --bind 2=zeros:f32[64,64] --bind 3=full:64:u32[1] --global 128,4,1 --out 2=%t.npy
// RUN: %heddle run %s --bind 0=randn:f16[64,64]@1 --bind 1=randn:f16[64,64]@2 \
// RUN:   --bind 2=zeros:f32[64,64] --bind 3=full:64:u32[1] --global 128,4,1 --device reference \
// RUN:   --compare 2=%t.npy --tolerance 1e-4
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: for D in cpu reference; do %heddle run %t.spv --bind 0=randn:f16[64,64]@1 \
// RUN:   --bind 1=randn:f16[64,64]@2 --bind 2=zeros:f32[64,64] --push full:64:u32[1] \
// RUN:   --global 128,4,1 --device $D --compare 2=%t.npy --tolerance 1e-4 || exit 1; done
// RUN: %heddle compile %s --emit asm -o - | %filecheck %s
// CHECK-DAG: OpCooperativeMatrixMulAddKHR
// CHECK-DAG: OpFNegate
// CHECK-DAG: OpMatrixTimesScalar
// CHECK-DAG: OpFAdd %spirv_CooperativeMatrixKHR

typedef half matA __attribute__((coop_mat(CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP, 16, 16, CLK_COOPERATIVE_MATRIX_A)));
typedef half matB __attribute__((coop_mat(CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP, 16, 16, CLK_COOPERATIVE_MATRIX_B)));
typedef float matC __attribute__((coop_mat(CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP, 16, 16, CLK_COOPERATIVE_MATRIX_ACCUMULATOR)));
__attribute__((intel_reqd_sub_group_size(32), reqd_work_group_size(32,1,1)))
kernel void gemm(global const half *a, global const half *b, global float *c, uint n)
{
    uint row = get_group_id(1) * 16, col = get_group_id(0) * 16;
    matC acc = {0};
    for (uint k = 0; k < n; k += 16) {
        matA x = coop_mat_load(a + row * n + k, CLK_COOPERATIVE_MATRIX_LAYOUT_ROW_MAJOR, n);
        matB y = coop_mat_load(b + k * n + col, CLK_COOPERATIVE_MATRIX_LAYOUT_ROW_MAJOR, n);
        acc = coop_matmul_add(x, y, acc, CLK_COOPERATIVE_MATRIX_OPERAND_NONE);
    }
    acc = -acc * 2.0f + acc;
    coop_mat_store(c + row * n + col, acc, CLK_COOPERATIVE_MATRIX_LAYOUT_ROW_MAJOR, n);
}
