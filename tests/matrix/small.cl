// SPDX-License-Identifier: MIT
// A workgroup of 8 in a subgroup of 32 holds the whole of its matrix: 32 elements each.
// RUN: for D in cpu reference; do \
// RUN:   %heddle run %s --subgroup-size 32 --bind 0=zeros:s32[256] --bind 1=zeros:s32[8] --global 8 \
// RUN:   --device $D --compare 0=full:9:s32[256] --compare 1=full:32:s32[8] --tolerance 0 || exit 1; done
#pragma OPENCL EXTENSION cl_khr_cooperative_matrix : enable
typedef int Matrix __attribute__((coop_mat(memory_scope_sub_group, 16, 16,
                                           CLK_COOPERATIVE_MATRIX_ACCUMULATOR)));

__attribute__((reqd_work_group_size(8, 1, 1)))
kernel void sizes(global int *o, global int *n)
{
    Matrix c = coop_mat_init(9);
    n[get_local_id(0)] = coop_mat_length(c);
    coop_mat_store(o, c, CLK_COOPERATIVE_MATRIX_LAYOUT_ROW_MAJOR, 16);
}
