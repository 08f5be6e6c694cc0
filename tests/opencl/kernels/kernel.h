/* SPDX-License-Identifier: MIT
 *
 * What the kernels of this folder have in common: 64 invocations, 128 random words in, eight words
 * out each; x, y, z are three of the random words.
 */
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
#define KERNEL(name)                                                                               \
    __attribute__((reqd_work_group_size(16, 1, 1)))                                                \
    kernel void name(global uint *out, global const uint *in)
#define BEGIN                                                                                      \
    uint g = get_global_id(0), l = get_local_id(0);                                                \
    uint x = in[g], y = in[g + 17], z = in[g + 40];                                                \
    global uint *o = out + g * 8;                                                                  \
    (void)l, (void)x, (void)y, (void)z, (void)o
