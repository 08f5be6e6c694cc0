// SPDX-License-Identifier: MIT
// Between loads of what follows one another in a row of each work-item's own there is a function that
// writes the row: the loads behind it are not joined with those before.
// RUN: for isa in %levels; do \
// RUN:     %heddle run %s --isa $isa --global 32 --bind 0=randn:f32[1024]@1 --bind 1=zeros:f32[32] \
// RUN:         --bind 2=list:u32:3 --out 1=%t.npy && \
// RUN:     %heddle run %s --device reference --check --global 32 --bind 0=randn:f32[1024]@1 \
// RUN:         --bind 1=zeros:f32[32] --bind 2=list:u32:3 --compare 1=%t.npy || exit 1; \
// RUN: done
kernel __attribute__((reqd_work_group_size(32, 1, 1))) void rows(global float *a, global float *o, uint n)
{
    size_t l = get_local_id(0);
    global float *r = a + l * 16 + n;
    float s = r[0] + 2 * r[1] + 3 * r[2] + 4 * r[3];
    vstore4((float4)(s, 1, 2, 3), 0, r + 4);
    s += 5 * r[4] + 6 * r[5] + 7 * r[6] + 8 * r[7];
    s += fract(s, r + 2) + r[2] + r[3];
    o[l] = s;
}
