/* SPDX-License-Identifier: MIT
 *
 * Subgroup and workgroup operations, barriers and atomics on the reference device, with and without
 * divergence.
 */
#include "kernel.h"

#define HEAD                                                                                       \
    "layout(local_size_x = 64) in;\n"                                                              \
    "layout(set = 0, binding = 0, std430) buffer O { uint o[]; };\n"                               \
    "#define L gl_SubgroupInvocationID\n#define I gl_LocalInvocationIndex\n"

typedef struct Run {
    uint32_t out[1024];
    bool ran;
} Run;

static Run run(const char *body, uint32_t width, uint32_t groups)
{
    Kernel k;
    Run r = { .ran = false };
    char text[4096];
    snprintf(text, sizeof(text), "%s%s", HEAD, body);
    if (!kernel_glsl(&k, text))
        return r;
    kernel_bind(&k, 0, r.out, sizeof(r.out));
    k.d.subgroup_size = width;
    k.d.groups[0] = groups;
    k.d.check = REF_CHECK_ALL;
    KERNEL_RUN(&k);
    r.ran = true;
    kernel_free(&k);
    return r;
}

TEST(reductions_and_scans)
{
    Run r = run("void main() {\n"
                "  uint x = I + 1;\n"
                "  o[I] = subgroupAdd(x);\n"
                "  o[64 + I] = subgroupExclusiveAdd(x);\n"
                "  o[128 + I] = subgroupInclusiveMax(x ^ 5);\n"
                "  o[192 + I] = subgroupClusteredAdd(x, 4);\n"
                "  o[256 + I] = uint(subgroupMul(float(1 + (L & 1))));\n"
                "  o[320 + I] = subgroupAnd(x | 0xf0u);\n"
                "}\n",
                16, 1);
    for (uint32_t i = 0; i < 64 && r.ran; i++) {
        uint32_t first = i / 16 * 16, sum = 0, before = 0, most = 0, cluster = 0, all = ~0u;
        for (uint32_t j = first; j < first + 16; j++) {
            sum += j + 1;
            all &= (j + 1) | 0xf0;
            if (j < i)
                before += j + 1;
            if (j <= i)
                most = MAX(most, (j + 1) ^ 5);
            if (j / 4 == i / 4)
                cluster += j + 1;
        }
        CHECK_EQ_U64(r.out[i], sum);
        CHECK_EQ_U64(r.out[64 + i], before);
        CHECK_EQ_U64(r.out[128 + i], most);
        CHECK_EQ_U64(r.out[192 + i], cluster);
        CHECK_EQ_U64(r.out[256 + i], 256);
        CHECK_EQ_U64(r.out[320 + i], all);
    }
}

TEST(moving_values)
{
    Run r =
        run("void main() {\n"
            "  uint x = I * 10;\n"
            "  o[I] = subgroupBroadcast(x, 3) + subgroupBroadcastFirst(x);\n"
            "  o[64 + I] = subgroupShuffleXor(x, 5);\n"
            "  uint up = subgroupShuffleUp(x, 2);\n"
            "  o[128 + I] = L >= 2 ? up : 7;\n"
            "  o[192 + I] = subgroupQuadSwapDiagonal(x);\n"
            "  o[256 + I] = subgroupShuffle(x, 15 - L);\n"
            "  uvec4 b = subgroupBallot((L % 3) == 0);\n"
            "  o[320 + I] = b.x;\n"
            "  o[384 + I] = subgroupBallotBitCount(b) * 100 + subgroupBallotExclusiveBitCount(b);\n"
            "  o[448 + I] = subgroupBallotFindMSB(b) * 100 + subgroupBallotFindLSB(b);\n"
            "  o[512 + I] = uint(subgroupAll(x < 10000)) + 2 * uint(subgroupAny(x == 30)) + 4 * "
            "uint(subgroupAllEqual(x));\n"
            "  o[576 + I] = uint(subgroupElect());\n"
            "}\n",
            16, 1);
    for (uint32_t i = 0; i < 64 && r.ran; i++) {
        uint32_t first = i / 16 * 16, l = i % 16;
        CHECK_EQ_U64(r.out[i], (first + 3) * 10 + first * 10);
        CHECK_EQ_U64(r.out[64 + i], (i ^ 5) * 10);
        CHECK_EQ_U64(r.out[128 + i], l < 2 ? 7 : (i - 2) * 10);
        CHECK_EQ_U64(r.out[192 + i], (i ^ 3) * 10);
        CHECK_EQ_U64(r.out[256 + i], (first + 15 - l) * 10);
        CHECK_EQ_U64(r.out[320 + i], 0x9249);
        CHECK_EQ_U64(r.out[384 + i], 600 + (l + 2) / 3);
        CHECK_EQ_U64(r.out[448 + i], 1500);
        CHECK_EQ_U64(r.out[512 + i], 1 + (first == 0 ? 2 : 0));
        CHECK_EQ_U64(r.out[576 + i], l == 0);
    }
}

TEST(divergent)
{
    Run r = run("uint f(uint n) { if (n > 5) return subgroupAdd(1u); return subgroupAdd(100u); }\n"
                "void main() {\n"
                "  uint s = 0;\n"
                "  if (L < 5) s += subgroupAdd(1u); else s += 10 * subgroupAdd(1u);\n"
                "  for (uint j = 0; j < L; j++) {\n"
                "    s += 1000 * subgroupAdd(1u);\n"
                "    if (j == 3) continue;\n"
                "    if (j == 6) break;\n"
                "    s += 100000 * uint(subgroupElect());\n"
                "  }\n"
                "  o[I] = s;\n"
                "  o[64 + I] = subgroupAdd(1u) + f(L);\n"
                "  switch (L & 3) {\n"
                "  case 0: s = subgroupAdd(1u); break;\n"
                "  case 1: s = subgroupAdd(2u);\n"
                "  case 2: s += subgroupAdd(10u); break;\n"
                "  default: s = 0; break;\n"
                "  }\n"
                "  o[128 + I] = s;\n"
                "}\n",
                16, 1);
    uint32_t s0[16];
    for (uint32_t l = 0; l < 16; l++) {
        s0[l] = l < 5 ? 5 : 110;
        for (uint32_t j = 0; j < l; j++) {
            s0[l] += 1000 * (15 - j);
            if (j == 3)
                continue;
            if (j == 6)
                break;
            s0[l] += 100000 * (l == j + 1);
        }
    }
    for (uint32_t i = 0; i < 64 && r.ran; i++) {
        uint32_t l = i % 16;
        CHECK_EQ_U64(r.out[i], s0[l]);
        CHECK_EQ_U64(r.out[64 + i], 16 + (l > 5 ? 10 : 600));
        uint32_t want = (l & 3) == 0 ? 4 : (l & 3) == 1 ? 8 + 80 : (l & 3) == 2 ? s0[l] + 80 : 0;
        CHECK_EQ_U64(r.out[128 + i], want);
    }
}

TEST(shared_memory)
{
    Run r = run("shared uint s[64];\n"
                "void main() {\n"
                "  s[I] = I * I;\n"
                "  for (uint d = 1; d < 64; d *= 2) {\n"
                "    barrier();\n"
                "    uint x = I >= d ? s[I - d] : 0;\n"
                "    barrier();\n"
                "    s[I] += x;\n"
                "  }\n"
                "  barrier();\n"
                "  o[gl_GlobalInvocationID.x] = s[63 - I];\n"
                "}\n",
                8, 3);
    for (uint32_t i = 0; i < 192 && r.ran; i++) {
        uint32_t want = 0;
        for (uint32_t j = 0; j <= 63 - i % 64; j++)
            want += j * j;
        CHECK_EQ_U64(r.out[i], want);
    }
}

TEST(atomics)
{
    Run r =
        run("shared uint s;\n"
            "void main() {\n"
            "  if (I == 0) s = 0;\n"
            "  barrier();\n"
            "  uint t = atomicAdd(s, 1);\n"
            "  o[10 + t] = 1;\n"
            "  atomicMax(o[0], gl_GlobalInvocationID.x);\n"
            "  atomicAdd(o[1], 3);\n"
            "  atomicXor(o[2], I);\n"
            "  uint old, seen = o[300];\n"
            "  do { old = seen; seen = atomicCompSwap(o[3], old, old + 2); } while (seen != old);\n"
            "}\n",
            32, 1);
    if (!r.ran)
        return;
    CHECK_EQ_U64(r.out[0], 63);
    CHECK_EQ_U64(r.out[1], 192);
    CHECK_EQ_U64(r.out[2], 0);
    CHECK_EQ_U64(r.out[3], 128);
    for (uint32_t i = 0; i < 64; i++)
        CHECK_EQ_U64(r.out[10 + i], 1);
}

TEST(release_and_acquire)
{
    Run r = run("shared uint flag, value;\n"
                "void main() {\n"
                "  if (I == 0) flag = 0;\n"
                "  barrier();\n"
                "  if (I == 5) {\n"
                "    value = 77;\n"
                "    atomicStore(flag, 1u, gl_ScopeWorkgroup, gl_StorageSemanticsShared, "
                "gl_SemanticsRelease);\n"
                "  }\n"
                "  if (I == 40) {\n"
                "    while (atomicLoad(flag, gl_ScopeWorkgroup, gl_StorageSemanticsShared, "
                "gl_SemanticsAcquire) == 0);\n"
                "    o[0] = value;\n"
                "  }\n"
                "}\n",
                32, 1);
    if (r.ran)
        CHECK_EQ_U64(r.out[0], 77);
}

TEST(partitions)
{
    Run r = run("void main() {\n"
                "  uint x = I % 3;\n"
                "  uvec4 p = subgroupPartitionNV(x);\n"
                "  o[I] = p.x;\n"
                "  o[64 + I] = subgroupPartitionedAddNV(I, p);\n"
                "  o[128 + I] = subgroupPartitionedExclusiveAddNV(1u, p);\n"
                "}\n",
                16, 1);
    for (uint32_t i = 0; i < 64 && r.ran; i++) {
        uint32_t first = i / 16 * 16, bits = 0, sum = 0, before = 0;
        for (uint32_t j = first; j < first + 16; j++)
            if (j % 3 == i % 3) {
                bits |= 1u << (j - first);
                sum += j;
                before += j < i;
            }
        CHECK_EQ_U64(r.out[i], bits);
        CHECK_EQ_U64(r.out[64 + i], sum);
        CHECK_EQ_U64(r.out[128 + i], before);
    }
}
