/* SPDX-License-Identifier: MIT
 *
 * In: a target's triple and instruction sets. Out: the numbers that were measured of such machines.
 *
 * The first row that fits is the machine's; a new kind of machine is a new row above those that it
 * would have had. Figures are ratios to OpenBLAS in f32, one thread, at n = 256, 512, 1024 and 2048
 * (docs/PERFORMANCE.md, docs/BENCHMARKS.md); P and a number is a design rule of PERFORMANCE. What
 * is called a guess was never varied.
 */
#include "cpu/machine/machine.h"

/* clang-format off */
/* What all rows have in common so far: only the two x86 machines of the documents were measured. */
#define EVERYWHERE \
    .line_bytes = 64,           /* of every x86, and of nearly every AArch64 */ \
    /* Four k an iteration, which the scheduler may not mix: 1024 0.85 to 0.87, ld n+16 0.81 to \
     * 0.83; sixteen lose 8 to 19 % (P2). Short kernels have one: half the compile time. */ \
    .units_at_once = 4, \
    .short_units = 16, \
    /* Rows of four vectors, not column by column: 512 0.77 to 0.86, 1024 0.66 to 0.74. */ \
    .packed_vectors = 4, \
    .blocks_to_pack = 2,        /* guess: packing is a pass over B, which three blocks read */ \
    .queues = 2,                /* P6: one or two gain 20 to 25 % at 2048, more never won */ \
    /* f16 matrix * vector, rows of 4096 bytes, two at a time, from memory, Zen 5, ms: without \
     * 1.65, 4096 1.34 to 1.6, 8192 1.11, 12288 1.11, 16384 1.11; from L2 0.76 and 0.79. */ \
    .row_ahead = 8192, \
    .l2_bytes = 1 << 20,        /* guess: the least of today's servers */ \
    .spin_ns = 30000,           /* what waking a thread costs, about */ \
    /* P5: 4 x 4 workgroups gain 62 to 75 % at 2048; 4, 8 and 32 are the same (0.75 to 0.79). */ \
    .strands = 16, \
    .frames_percent = 75,       /* guess: the rest is for what streams through */ \
    /* 256 columns of 8192 f32, or of 32768 bytes, where L2 has 2 MB. */ \
    .panel_l2s = 4, \
    .yield_bytes = 65536,       /* P5: every four steps of k = 16; half as often as at first */ \
    /* Sum of 4 M floats, ratio to C's, Zen 3: 1024 0.41, 3072 0.47, 5120 0.57, 6144 and 8192 \
     * 0.62, 12288 0.53, 65536 0.42; Sapphire Rapids: 3072 and 6144 0.85. */ \
    .page_bytes = 6144, \
    .blocks_per_thread = 16,    /* guess: a thread that falls behind costs 6 % at most */ \
    /* So many make the counter's cost vanish: 64 empty workgroups take 1 us, one 0.12. */ \
    .block_groups = 64, \
    /* For wait queues: with a bound of four, 18 MB went at 0.96 to 1.03 where L2 is 2 MB. */ \
    .prefetch_l2s = 16, \
    /* P7 uses it for the order of blocks; 8, 4 and 2 are the same (0.61 to 0.63), 1 is worse. */ \
    .panel_groups = 8

/* Three quarters of the registers hold C. P1: 4 x 4 and 6 x 4 are within 3 %, 12 x 2 loses 6 to
 * 19 %, 16 x 1 is the worst. With 16 registers of 128 bits 4 x 2 is a guess from the same
 * proportion. */
static const CpuTuning rows[] = {
    /* Zen 5 fetches rows by itself: without prefetches bf16 at 1024 and 2048 goes from 0.99 to 1.04
     * and from 1.09 to 1.13 of oneDNN (ld n+16 0.96 to 0.98 and 0.93 to 0.97), f32 by 1 to 2 %.
     * Zen 4: rows that lie a power of two apart share the eight ways of L1. Sum of 4 M floats,
     * ratio to C's, leaps 4 ahead into L1 0.53, 8 0.47, 16 0.45; into L2 4 0.54, 8 0.61, 14 0.60.
     * Where L1 has twelve ways (Emerald Rapids), 4 into L1 0.77, 8 into L2 0.71.
     * Zen 5, rows from memory, one thread, GB/s, into L2, into L1, and again 2048 ahead: f16 27,
     * 32, 33; q8_0 19, 28, 35. llama.cpp's tokens a second: 93, 96, 101; 144, 155, 160. Workgroups
     * two at once and one by one, two threads: 47, 70; 37, 53; q4_0 62, 56, from L3 68, 58; tokens
     * 104, 103; 171, 216; 389, 388. */
    { .name = "Zen 4", .arch = "x86_64", .cpu = "znver4", .needs = CPU_AVX512,
      .vector_bits = 512, .accumulators = 24, .block_vectors = 4, .rows_ahead = 0,
      .leaps_ahead = 8, .leaps_into_l2 = true, EVERYWHERE },
    { .name = "Zen with AVX-512", .arch = "x86_64", .cpu = "znver", .needs = CPU_AVX512,
      .vector_bits = 512, .accumulators = 24, .block_vectors = 4, .rows_ahead = 0,
      .row_again = 2048, .one_by_one_l2s = 32, .leaps_ahead = 4, EVERYWHERE },
    /* Emerald Rapids starts a vdpbf16ps every other cycle: 102 Gop/s at 256, two fmas a cycle
     * reach 139 with conversions. Zen 5 does twice its fmas' work (prototypes: 498 to 243). */
    { .name = "x86-64 with AVX-512", .arch = "x86_64", .cpu = "", .needs = CPU_AVX512,
      .vector_bits = 512, .accumulators = 24, .block_vectors = 4, .slow = CPU_AVX512_BF16,
      .rows_ahead = 1, .leaps_ahead = 4, EVERYWHERE },
    /* Zen 3, workgroups two at once and one by one, two threads from memory, GB/s: q8_0 11, 16;
     * q4_0 10, 12; f16 13, 13. llama.cpp's tokens a second: 47, 63; 72, 91; 26, 27. vmaskmovps
     * stores in some twenty cycles: one store a lane, c[i] if i < n 0.97 to 0.31 ns, c[2 * i]
     * 1.36 to 0.57, c[2 * i] if i < n 1.9 to 0.6; a stencil's tile 3.0 to 1.4. */
    { .name = "Zen with AVX2", .arch = "x86_64", .cpu = "znver", .needs = CPU_AVX2,
      .vector_bits = 256, .accumulators = 12, .block_vectors = 3, .rows_ahead = 1,
      .one_by_one_l2s = 32, .leaps_ahead = 4, .slow_masked_stores = true, EVERYWHERE },
    /* Emerald Rapids by 256 bits, ratio to oneDNN, 256 and 1024: 4 x 3 instead of 4 x 2 f32 0.86 to
     * 0.94 and 0.81 to 0.88, s8 by vpdpbusd 1.36 to 1.54 and 0.93 to 1.04; 6 x 2 is 2 to 4 % less.
     * Pairs by vpmaddwd need a register more: 0.95 to 0.82. */
    { .name = "x86-64 with AVX2", .arch = "x86_64", .cpu = "", .needs = CPU_AVX2,
      .vector_bits = 256, .accumulators = 12, .block_vectors = 3, .rows_ahead = 1, .leaps_ahead = 4,
      EVERYWHERE },
    { .name = "x86-64", .arch = "x86_64", .cpu = "", .vector_bits = 128,
      .accumulators = 12, .block_vectors = 2, .rows_ahead = 1, .leaps_ahead = 4,
      EVERYWHERE },
    { .name = "any", .arch = "", .cpu = "", .vector_bits = 128,
      .accumulators = 24, .block_vectors = 4, .rows_ahead = 1, .leaps_ahead = 4,
      EVERYWHERE },
};
/* clang-format on */

static bool begins_with(const char *s, const char *head) { return !strncmp(s, head, strlen(head)); }

const CpuTuning *cpu_tuning(const CpuTarget *t)
{
    const CpuTuning *row = rows;
    while (!begins_with(t->triple, row->arch) || !begins_with(t->cpu, row->cpu) ||
           (row->needs & ~t->sets))
        row++;
    return row;
}
