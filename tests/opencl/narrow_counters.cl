// SPDX-License-Identifier: MIT
//
// What is left of an int in a char or a short wraps, other than an int in OpenCL C, where it goes on
// as an index, in a vote and as a loop's counter. What an int becomes as a long may be an index, but
// no counter: its overflow is undefined, that of an unsigned int before it is not.
//
// RUN: for E in at vote count widened; do for W in 8 32 128; do \
// RUN:   D="--entry $E --subgroup-size $W --bind 0=rand:s32[65536]@1 --bind 1=zeros:s32[256] --local 128 --global 256"; \
// RUN:   %heddle run %s $D --device reference --out 1=%t.npy && \
// RUN:   %heddle run %s $D --compare 1=%t.npy --tolerance 0 && \
// RUN:   %heddle run %s $D --no-optimisation --compare 1=%t.npy --tolerance 0 || exit 1; done; done

kernel void at(global const int *in, global int *out)
{
    int id = get_global_id(0);
    char narrow = (char)(id + 100);
    short wider = (short)(id + 32700);
    out[id] = in[128 + narrow] + in[32768 + wider];
}

kernel void vote(global const int *in, global int *out)
{
    int id = get_global_id(0);
    char narrow = (char)(id + 100);
    short wider = (short)(id + 32700);
    out[id] = (sub_group_any((int)narrow < -20) ? 1 : 0) + (sub_group_all((int)wider > 0) ? 2 : 0);
}

kernel void count(global const int *in, global int *out)
{
    int id = get_global_id(0), all = 0, rounds = in[0];
    char narrow = (char)(id + 100);
    for (int k = narrow; rounds != 0; k += 17) {
        all = all * 31 + k;
        rounds = (int)((unsigned)rounds >> 1);
    }
    out[id] = all;
}

kernel void widened(global const int *in, global int *out)
{
    unsigned id = get_global_id(0), rounds = in[0];
    int wraps = (int)(id + 2147483600u), all = 0;
    for (long k = wraps; rounds != 0; k += 17) {
        all = all * 31 + (int)(k >> 16);
        rounds >>= 1;
    }
    out[id] = all + (sub_group_all((long)wraps < 0) ? 1 : 0);
}
