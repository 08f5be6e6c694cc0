// SPDX-License-Identifier: MIT
//
// Loops with tests, of a function with arrays: these, of matrices too, are split by unrolling
// however the loop is written.
//
// RUN: D="--bind 0=zeros:s32[1024] --bind 1=rand:s8[1024] --bind 2=list:s32:3 --global 32"; \
// RUN: %heddle run %s $D --entry matrices --device reference --out 0=%t.npy && \
// RUN: for I in %levels; do %heddle run %s $D --entry matrices --isa $I --compare 0=%t.npy \
// RUN:   --tolerance 0 || exit 1; done
// RUN: %heddle compile %s --target vulkan --entry matrices --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle compile %s --entry numbers --emit passes | %filecheck %s
// RUN: D="--bind 0=randn:f32[512] --bind 1=zeros:f32[8] --global 8"; \
// RUN: %heddle run %s $D --entry numbers --device reference --out 1=%t.npy && \
// RUN: for I in %levels; do %heddle run %s $D --entry numbers --isa $I --compare 1=%t.npy \
// RUN:   --tolerance 1e-6 || exit 1; done

// CHECK-NOT: OpTypeArray
// CHECK: OpFunctionEnd

#pragma OPENCL EXTENSION cl_khr_cooperative_matrix : enable
#define ROW CLK_COOPERATIVE_MATRIX_LAYOUT_ROW_MAJOR
#define MATRIX(type, use) \
    type __attribute__((coop_mat(memory_scope_sub_group, 16, 16, CLK_COOPERATIVE_MATRIX_##use)))
typedef MATRIX(char, A) A;
typedef MATRIX(char, B) B;
typedef MATRIX(int, ACCUMULATOR) C;

kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void matrices(global int *o, global const char *x, int n)
{
    C c[4];
    B b = coop_mat_load(x, ROW, 16);
    int i = 0;
#pragma unroll
    while (i < 2) {
        c[i] = coop_mat_init(7 + i);
        if (i < n) {
            A a = coop_mat_load(x + i * 16, ROW, 16);
            c[i] = coop_mat_mulAdd(a, b, c[i]);
        }
        i++;
    }
#pragma unroll
    for (; 4 > i; i++) {
        c[i] = coop_mat_init(9 + i);
        if (i < n) {
            A a = coop_mat_load(x + i * 16, ROW, 16);
            c[i] = coop_mat_mulAdd(a, b, c[i]);
        }
    }
    i = 0;
#pragma unroll
    do {
        if (i < n)
            coop_mat_store(o + i * 256, c[i], ROW, 16);
        i++;
    } while (i < 4);
}

kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void numbers(global const float *x, global float *o)
{
    float sums[48];
    int id = get_global_id(0);
#pragma unroll
    for (int i = 0; i < 48; i++)
        sums[i] = x[i * 8 + id];
    for (int k = 0; k < 8; k++) {
#pragma unroll
        for (int i = 0; i < 48; i++) {
            if (i % 3 == 0)
                sums[i] *= 0.5f;
            if (i % 5 == 0)
                sums[i] += sums[(i + 7) % 48];
            else if (i % 2)
                sums[i] -= 0.25f;
        }
    }
    float all = 0;
#pragma unroll
    for (int i = 0; i < 48; i++)
        if (i % 7)
            all += sums[i];
    o[id] = all;
}
