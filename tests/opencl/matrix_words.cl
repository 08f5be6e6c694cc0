// SPDX-License-Identifier: MIT
//
// The words of the RFC's section 4.6 and of cl_khr_cooperative_matrix's later drafts, and pointers
// without an address space: to matrices, and to the memory they come from. All kernels make the
// same numbers.
//
// RUN: for K in words pointers either; do for D in cpu reference; do \
// RUN:   %heddle run %s --entry $K --bind 0=zeros:s32[256] --bind 1=iota:s8[256] \
// RUN:   --bind 2=zeros:s32[256] --global 32 --device $D --out 0=%t.$K.$D.npy && \
// RUN:   %heddle run %s --target vulkan --entry $K --bind 0=zeros:s32[256] --bind 1=iota:s8[256] \
// RUN:   --bind 2=zeros:s32[256] --groups 1 --device $D \
// RUN:   --compare 0=%t.$K.$D.npy --tolerance 0 && \
// RUN:   cmp %t.$K.$D.npy %t.words.cpu.npy || exit 1; done; done
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle compile %s --emit asm | %filecheck %s
// CHECK: OpCooperativeMatrixLengthKHR
// CHECK: OpCooperativeMatrixMulAddKHR {{.*}}MatrixASignedComponentsKHR|MatrixBSignedComponentsKHR|MatrixCSignedComponentsKHR|MatrixResultSignedComponentsKHR
#pragma OPENCL EXTENSION cl_khr_cooperative_matrix : enable
#ifndef cl_khr_cooperative_matrix
#error the extension has no macro
#endif
#define ROW CLK_COOPERATIVE_MATRIX_LAYOUT_ROW_MAJOR
typedef char A __attribute__((coop_mat(memory_scope_sub_group, 16, 16, CLK_COOPERATIVE_MATRIX_A)));
typedef char B __attribute__((coop_mat("CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP", 16, 16,
                                       "CLK_COOPERATIVE_MATRIX_B")));
typedef int C __attribute__((coop_mat(CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP, 16, 16,
                                      CLK_COOPERATIVE_MATRIX_ACCUMULATOR)));

__attribute__((reqd_work_group_size(32, 1, 1)))
kernel void words(global int *o, global const char *x, global int *n)
{
    A a = coop_mat_load(x, ROW, 16);
    B b;
    C c;
    b = coop_mat_init(-2);
    c = coop_mat_init(7.0f);
    n[0] = coop_mat_length(c);
    c = coop_mat_mulAdd(a, b, c);
    coop_mat_store(o, c, ROW, 16);
}

A get(const char *p, size_t stride)
{
    A a = coop_mat_load(p, ROW, stride);
    return a;
}

void multiply(const A *a, B b[2], C *c)
{
    *c = coop_mat_mulAdd(*a, b[1], *c, CLK_COOPERATIVE_MATRIX_OPERAND_MATRIX_A_SIGNED |
                                           CLK_COOPERATIVE_MATRIX_OPERAND_MATRIX_B_SIGNED |
                                           CLK_COOPERATIVE_MATRIX_OPERAND_MATRIX_C_SIGNED |
                                           CLK_COOPERATIVE_MATRIX_OPERAND_MATRIX_RESULT_SIGNED);
}

void put(int *p, C c) { coop_mat_store(p, c, ROW, 16); }

__attribute__((reqd_work_group_size(32, 1, 1)))
kernel void pointers(global int *o, global const char *x, global int *n)
{
    generic const char *p = x;
    A a = get(p, 16);
    B b[2];
    C c = coop_mat_init(7);
    b[0] = coop_mat_init(1);
    b[1] = coop_mat_init(-2);
    multiply(&a, b, &c);
    put(o, c);
}

__attribute__((reqd_work_group_size(32, 1, 1)))
kernel void either(global int *o, global const char *x, global int *n)
{
    local char tile[256];
    for (uint i = get_local_id(0); i < 256; i += 32)
        tile[i] = x[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    const char *from[2] = { tile, (const char *)x };
    A a = get(from[n[1] & 1], 16);
    B b[2] = { { 0 }, (B)coop_mat_init(-2) };
    C c = coop_mat_init(7);
    multiply(&a, b, &c);
    put(n[2] ? n : o, c);
}
