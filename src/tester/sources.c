/* SPDX-License-Identifier: MIT
 *
 * The kernels themselves. Every element of what they write is told by the specifications alone: who
 * holds an element of a matrix, and what depends on that, stays inside.
 */
#include "tester/sources.h"

const char tester_prelude[] =
    "#version 460\n"
    "#pragma use_vulkan_memory_model\n"
    "#extension GL_KHR_cooperative_matrix : require\n"
    "#extension GL_KHR_memory_scope_semantics : require\n"
    "#extension GL_KHR_shader_subgroup_basic : require\n"
    "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
    "#extension GL_EXT_control_flow_attributes : require\n"
    "#extension GL_EXT_bfloat16 : enable\n"
    "#extension GL_EXT_float_e4m3 : enable\n"
    "#extension GL_EXT_float_e5m2 : enable\n"
    "layout(set = 0, binding = 0) readonly buffer A { TA a[]; };\n"
    "layout(set = 0, binding = 1) readonly buffer B { TB b[]; };\n"
    "layout(set = 0, binding = 2) readonly buffer C { TC c[]; };\n"
    "layout(set = 0, binding = 3) readonly buffer P { uint p[]; };\n"
    "layout(set = 0, binding = 4) buffer X { TD x[]; };\n"
    "layout(set = 0, binding = 5) buffer Y { TD y[]; };\n"
    "layout(set = 0, binding = 6) buffer Z { uint z[]; };\n"
    "const int OA = ORDERS & 1, OB = ORDERS >> 1 & 1, OC = ORDERS >> 2 & 1, OD = ORDERS >> 3;\n"
    "const uint SA = (OA == 1 ? M : K) + 16, SB = (OB == 1 ? K : N) + 16;\n"
    "const uint SC = (OC == 1 ? M : N) + 16, SD = (OD == 1 ? M : N) + 16;\n"
    "#define MATRIX_A coopmat<TA, gl_ScopeSubgroup, M, K, gl_MatrixUseA>\n"
    "#define MATRIX_B coopmat<TB, gl_ScopeSubgroup, K, N, gl_MatrixUseB>\n"
    "#define MATRIX_C coopmat<TC, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>\n"
    "#define MATRIX_D coopmat<TD, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>\n"
    "#define HOW (SATURATE == 1 ? gl_MatrixOperandsSaturatingAccumulation : 0)\n";

/* ---- SPV_KHR_cooperative_matrix -------------------------------------------------------------- */

static const char muladd[] =
    "layout(local_size_x = W) in;\n"
    "void main() {\n"
    "    MATRIX_A ma; MATRIX_B mb; MATRIX_C mc;\n"
    "    coopMatLoad(ma, a, 16, SA, OA);\n"
    "    coopMatLoad(mb, b, 32, SB, OB);\n"
    "    coopMatLoad(mc, c, 48, SC, OC);\n"
    "    MATRIX_D md = coopMatMulAdd(ma, mb, mc, HOW);\n"
    "    coopMatStore(md, x, 16, SD, OD);\n"
    "    coopMatStore(coopMatMulAdd(ma, mb, MATRIX_C(TC(1)), HOW), y, 0, SD, 1 - OD);\n"
    "}\n";

static const char elements[] =
    "layout(local_size_x = W) in;\n"
    "void main() {\n"
    "    MATRIX_C m;\n"
    "    coopMatLoad(m, c, 0, SC, OC);\n"
    "    for (int i = 0; i < m.length(); i++) {\n"
    "        TC e = m[i];\n"
    "        if (e > TC(1))\n"
    "            e = e - TC(1);\n"
    "        m[i] = e + TC(2);\n"
    "    }\n"
    "    MATRIX_C twice = m + m, other = -m;\n"
    "    other = other * TC(3);\n"
    "    other = other - twice + MATRIX_C(TC(p[1]));\n"
    "    coopMatStore(MATRIX_D(twice), x, 0, SD, OD);\n"
    "    coopMatStore(MATRIX_D(other), y, 16, SD, OD);\n"
    "    for (int i = 0; i < m.length(); i++)\n"
    "        z[gl_SubgroupInvocationID] += 1;\n"
    "    z[gl_SubgroupInvocationID] = z[gl_SubgroupInvocationID] == m.length() ? 1 : 0;\n"
    "}\n";

/* Through workgroup memory to another subgroup. */
static const char staged[] =
    "layout(local_size_x = 2 * W) in;\n"
    "shared TC lds[2 * M * N];\n"
    "void main() {\n"
    "    uint me = gl_SubgroupID, you = 1 - me;\n"
    "    for (uint i = gl_LocalInvocationIndex; i < 2 * M * N; i += 2 * W)\n"
    "        lds[i] = c[2 * M * N - 1 - i];\n"
    "    barrier();\n"
    "    MATRIX_C mine, yours;\n"
    "    coopMatLoad(yours, lds, you * M * N, N, gl_CooperativeMatrixLayoutRowMajor);\n"
    "    barrier();\n"
    "    coopMatStore(yours, lds, me * M * N, M, gl_CooperativeMatrixLayoutColumnMajor);\n"
    "    barrier();\n"
    "    coopMatLoad(mine, lds, you * M * N, M, gl_CooperativeMatrixLayoutColumnMajor);\n"
    "    coopMatStore(mine, x, me * M * N, N, gl_CooperativeMatrixLayoutRowMajor);\n"
    "    barrier();\n"
    "    uint i = gl_LocalInvocationIndex;\n"
    "    y[i] = TD(lds[(i * 7 + 5) % (2 * M * N)]);\n"
    "}\n";

/* Arrays of matrices, functions of matrices, sums through a loop. */
static const char loops[] = "layout(local_size_x = W) in;\n"
                            "MATRIX_C next(MATRIX_A ma, MATRIX_B mb, MATRIX_C sum, uint step) {\n"
                            "    if (p[step] % 3 == 0)\n"
                            "        return sum;\n"
                            "    return coopMatMulAdd(ma, mb, sum);\n"
                            "}\n"
                            "void main() {\n"
                            "    MATRIX_C sums[2];\n"
                            "    sums[0] = MATRIX_C(TC(1));\n"
                            "    coopMatLoad(sums[1], c, 0, SC, OC);\n"
                            "    for (uint step = 0; step < 4; step++) {\n"
                            "        MATRIX_A ma; MATRIX_B mb;\n"
                            "        coopMatLoad(ma, a, step * 64, SA, OA);\n"
                            "        coopMatLoad(mb, b, step * 32, SB, OB);\n"
                            "        sums[step & 1] = next(ma, mb, sums[step & 1], step);\n"
                            "        if (step == 2)\n"
                            "            sums[0] = sums[1];\n"
                            "    }\n"
                            "    coopMatStore(sums[0], x, 0, SD, OD);\n"
                            "    coopMatStore(sums[1], y, 0, SD, OD);\n"
                            "}\n";

static const char queued[] = "#extension GL_QCOM_multiple_wait_queues : require\n"
                             "layout(local_size_x = W) in;\n"
                             "void main() {\n"
                             "    MATRIX_C sum = MATRIX_C(TC(0));\n"
                             "    [[multiple_wait_queuesQCOM(2)]]\n"
                             "    for (uint step = 0; step < 3 + p[0] % 2; step++) {\n"
                             "        MATRIX_A ma; MATRIX_B mb;\n"
                             "        coopMatLoad(ma, a, step * 32, SA, OA);\n"
                             "        coopMatLoad(mb, b, step * 16, SB, OB);\n"
                             "        sum = coopMatMulAdd(ma, mb, sum);\n"
                             "    }\n"
                             "    coopMatStore(sum, x, 0, SD, OD);\n"
                             "}\n";

/* ---- SPV_NV_cooperative_matrix2, SPV_NV_tensor_addressing ------------------------------------ */

#define NV2 "#extension GL_NV_cooperative_matrix2 : require\n"

static const char reduced[] =
    NV2 "layout(local_size_x = W) in;\n"
        "TC sum(const in TC f, const in TC g) { return f + g; }\n"
        "TC most(const in TC f, const in TC g) { return max(f, g); }\n"
        "void main() {\n"
        "    MATRIX_C m, rows, columns, both;\n"
        "    coopMatLoad(m, c, 0, SC, OC);\n"
        "    coopMatReduceNV(rows, m, gl_CooperativeMatrixReduceRowNV, sum);\n"
        "    coopMatReduceNV(columns, m, gl_CooperativeMatrixReduceColumnNV, sum);\n"
        "    coopMatReduceNV(both, m, gl_CooperativeMatrixReduceRowAndColumnNV, most);\n"
        "    coopMatStore(MATRIX_D(rows), x, 0, SD, OD);\n"
        "    coopMatStore(MATRIX_D(columns), x, 2048, SD, OD);\n"
        "    coopMatStore(MATRIX_D(both), y, 0, SD, OD);\n"
        "}\n";

static const char squares[] =
    NV2 "layout(local_size_x = W) in;\n"
        "TC sum(const in TC f, const in TC g) { return f + g; }\n"
        "void main() {\n"
        "    coopmat<TC, gl_ScopeSubgroup, (2 * M), (2 * N), gl_MatrixUseAccumulator> m;\n"
        "    MATRIX_C less;\n"
        "    coopMatLoad(m, c, 0, 2 * N, gl_CooperativeMatrixLayoutRowMajor);\n"
        "    coopMatReduceNV(less, m, gl_CooperativeMatrixReduce2x2NV, sum);\n"
        "    coopMatStore(MATRIX_D(less), x, 0, SD, OD);\n"
        "}\n";

static const char converted[] =
    NV2 "layout(local_size_x = W) in;\n"
        "void main() {\n"
        "    MATRIX_C m;\n"
        "    MATRIX_B turned;\n"
        "    coopMatLoad(m, c, 0, SC, OC);\n"
        "    coopMatTransposeNV(turned, coopmat<TB, gl_ScopeSubgroup, M, N,\n"
        "                                       gl_MatrixUseAccumulator>(m));\n"
        "    MATRIX_A same = MATRIX_A(m);\n"
        "    coopMatStore(coopMatMulAdd(same, turned, MATRIX_C(TC(0))), x, 0, SD, OD);\n"
        "    MATRIX_B straight = MATRIX_B(m);\n"
        "    coopMatStore(coopMatMulAdd(same, straight, m), y, 0, SD, OD);\n"
        "}\n";

static const char placed[] =
    NV2 "layout(local_size_x = W) in;\n"
        "TC place(const in uint row, const in uint col, const in TC e) {\n"
        "    return e + TC(row * 2 + col);\n"
        "}\n"
        "TC mix_with(const in uint row, const in uint col, const in TC e, const in TC f) {\n"
        "    return (row + col) % 3 == 0 ? f : col > row ? e : TC(5);\n"
        "}\n"
        "void main() {\n"
        "    MATRIX_C m, to;\n"
        "    coopMatLoad(m, c, 0, SC, OC);\n"
        "    coopMatPerElementNV(to, m, place);\n"
        "    coopMatStore(MATRIX_D(to), x, 0, SD, OD);\n"
        "    coopMatPerElementNV(to, m, mix_with, to);\n"
        "    coopMatStore(MATRIX_D(to), y, 0, SD, OD);\n"
        "}\n";

/* A slice that goes past the tensor's end on two sides. ORDERS chooses what is there. */
static const char tensors[] =
    NV2 "layout(local_size_x = W) in;\n"
        "void main() {\n"
        "    const uint H = M / 2 + 6, L = N / 2 + 9;\n"
        "    const int CLAMP = 1 + ORDERS % 4;\n"
        "    MATRIX_C m = MATRIX_C(TC(3));\n"
        "    tensorLayoutNV<2, CLAMP> t = createTensorLayoutNV(2, CLAMP);\n"
        "    t = setTensorLayoutDimensionNV(t, H, L);\n"
        "    t = setTensorLayoutStrideNV(t, 48, 1);\n"
        "    t = sliceTensorLayoutNV(t, 5, M, 7, N);\n"
        "    coopMatLoadTensorNV(m, c, 16, t);\n"
        "    coopMatStore(MATRIX_D(m), x, 0, N, gl_CooperativeMatrixLayoutRowMajor);\n"
        "    tensorLayoutNV<2, 1> u = createTensorLayoutNV(2, 1);\n"
        "    u = setTensorLayoutDimensionNV(u, M + 3, N - 2);\n"
        "    u = sliceTensorLayoutNV(u, 3, M, 2, N);\n"
        "    coopMatStoreTensorNV(MATRIX_D(m), y, 0, u);\n"
        "}\n";

/* Seen with its dimensions exchanged. */
static const char views[] =
    NV2 "layout(local_size_x = W) in;\n"
        "void main() {\n"
        "    MATRIX_C m = MATRIX_C(TC(3));\n"
        "    tensorLayoutNV<2> t = createTensorLayoutNV(2);\n"
        "    t = setTensorLayoutDimensionNV(t, N + 4, M + 2);\n"
        "    t = sliceTensorLayoutNV(t, 1, N, 2, M);\n"
        "    tensorViewNV<2, false, 1, 0> v = createTensorViewNV(2, false, 1, 0);\n"
        "    coopMatLoadTensorNV(m, c, 0, t, v);\n"
        "    coopMatStore(MATRIX_D(m), x, 0, SD, OD);\n"
        "}\n";

static const char decoded[] =
    NV2 "#extension GL_EXT_buffer_reference : require\n"
        "layout(local_size_x = W) in;\n"
        "layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Block {\n"
        "    float scale, q[4];\n"
        "};\n"
        "float decode(const in Block k, const in uint block[2], const in uint at[2]) {\n"
        "    return k.q[at[1]] * k.scale + float(block[0] + 32 * block[1]);\n"
        "}\n"
        "void main() {\n"
        "    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;\n"
        "    tensorLayoutNV<2> t = createTensorLayoutNV(2);\n"
        "    t = setTensorLayoutBlockSizeNV(t, 1, 4);\n"
        "    t = setTensorLayoutDimensionNV(t, 24, 32);\n"
        "    t = sliceTensorLayoutNV(t, 4, 16, 8, 16);\n"
        "    coopMatLoadTensorNV(m, a, 0, t, decode);\n"
        "    coopMatStore(m, x, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
        "}\n";

static const char workgroups[] =
    NV2 "layout(local_size_x = 4 * W) in;\n"
        "void main() {\n"
        "    coopmat<TA, gl_ScopeWorkgroup, (2 * M), K, gl_MatrixUseA> ma;\n"
        "    coopmat<TB, gl_ScopeWorkgroup, K, (2 * N), gl_MatrixUseB> mb;\n"
        "    coopmat<TC, gl_ScopeWorkgroup, (2 * M), (2 * N), gl_MatrixUseAccumulator> mc;\n"
        "    coopMatLoad(ma, a, 0, K, gl_CooperativeMatrixLayoutRowMajor);\n"
        "    coopMatLoad(mb, b, 0, K, gl_CooperativeMatrixLayoutColumnMajor);\n"
        "    coopMatLoad(mc, c, 0, 2 * N, gl_CooperativeMatrixLayoutRowMajor);\n"
        "    mc = coopMatMulAdd(ma, mb, mc);\n"
        "    coopMatStore(mc, x, 0, 2 * N, gl_CooperativeMatrixLayoutRowMajor);\n"
        "}\n";

/* ---- SPV_QCOM_cooperative_matrix_conversion -------------------------------------------------- */

static const char rows[] =
    "#extension GL_QCOM_cooperative_matrix_conversion : require\n"
    "layout(local_size_x = W) in;\n"
    "void main() {\n"
    "    uint lane = gl_SubgroupInvocationID;\n"
    "    float row[32], part[8], column[8], sum[8];\n"
    "    uint bits[8];\n"
    "    for (int k = 0; k < 32; k++)\n"
    "        row[k] = a[lane * 32 + k];\n"
    "    for (uint k = 0; k < 8; k++)\n"
    "        sum[k] = c[lane * 8 + k];\n"
    "    coopmat<float, gl_ScopeSubgroup, W, 8, gl_MatrixUseA> ma;\n"
    "    coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseB> mb;\n"
    "    coopmat<float, gl_ScopeSubgroup, W, 8, gl_MatrixUseAccumulator> mc;\n"
    "    vectorToCoopmatQCOM(sum, mc);\n"
    "    for (int step = 0; step < 4; step++) {\n"
    "        extractSubArrayQCOM(row, step * 8, part);\n"
    "        for (int k = 0; k < 8; k++)\n"
    "            column[k] = lane < 8 ? b[(step * 8 + k) * 8 + lane] : 77.0;\n"
    "        vectorToCoopmatQCOM(part, ma);\n"
    "        vectorToCoopmatQCOM(column, mb);\n"
    "        mc = coopMatMulAdd(ma, mb, mc);\n"
    "    }\n"
    "    coopmatToVectorQCOM(mc, sum);\n"
    "    bitcastQCOM(sum, bits);\n"
    "    for (uint k = 0; k < 8; k++) {\n"
    "        x[lane * 8 + k] = sum[k];\n"
    "        z[lane * 8 + k] = bits[k];\n"
    "    }\n"
    "}\n";

/* ---- without matrices: what those consist of where they are lowered -------------------------- */

static const char transposed[] =
    "layout(local_size_x = 64) in;\n"
    "shared uint tile[64];\n"
    "void main() {\n"
    "    uint i = gl_LocalInvocationIndex, at = gl_WorkGroupID.x * 64 + i;\n"
    "    for (uint round = 0; round < 3; round++) {\n"
    "        tile[i] = p[at] * 5 + i + round * z[at];\n"
    "        barrier();\n"
    "        z[at] = tile[i % 8 * 8 + i / 8] ^ z[at] << 3;\n"
    "        barrier();\n"
    "    }\n"
    "}\n";

static const char scanned[] = "layout(local_size_x = 64) in;\n"
                              "shared uint sums[64];\n"
                              "shared uint most, all;\n"
                              "void main() {\n"
                              "    uint i = gl_LocalInvocationIndex;\n"
                              "    if (i == 0)\n"
                              "        most = all = 0;\n"
                              "    sums[i] = p[gl_GlobalInvocationID.x] + 1;\n"
                              "    barrier();\n"
                              "    for (uint step = 1; step < 64; step *= 2) {\n"
                              "        uint add = i >= step ? sums[i - step] : 0;\n"
                              "        barrier();\n"
                              "        sums[i] += add;\n"
                              "        barrier();\n"
                              "    }\n"
                              "    atomicMax(most, sums[i] % 17);\n"
                              "    atomicAdd(all, sums[63 - i]);\n"
                              "    atomicAdd(z[1024], i);\n"
                              "    atomicOr(z[1025], 1u << i % 32);\n"
                              "    atomicMin(z[1026 + i], i);\n"
                              "    barrier();\n"
                              "    z[gl_GlobalInvocationID.x] = sums[i] * 3 + most + all;\n"
                              "}\n";

static const char subgroups[] =
    "#extension GL_KHR_shader_subgroup_arithmetic : require\n"
    "#extension GL_KHR_shader_subgroup_ballot : require\n"
    "#extension GL_KHR_shader_subgroup_vote : require\n"
    "#extension GL_KHR_shader_subgroup_shuffle : require\n"
    "#extension GL_KHR_shader_subgroup_shuffle_relative : require\n"
    "layout(local_size_x = 2 * W) in;\n"
    "void main() {\n"
    "    uint lane = gl_SubgroupInvocationID, v = p[gl_SubgroupID * W + lane] * 3 + lane;\n"
    "    uint at = (gl_SubgroupID * W + lane) * 16;\n"
    "    z[at] = subgroupAdd(v);\n"
    "    z[at + 1] = subgroupMax(v) - subgroupMin(v);\n"
    "    z[at + 2] = subgroupInclusiveAdd(v);\n"
    "    z[at + 3] = subgroupExclusiveAdd(v);\n"
    "    z[at + 4] = subgroupShuffle(v, (lane * 3 + 1) % W);\n"
    "    z[at + 5] = subgroupShuffleXor(v, 3u);\n"
    "    uint up = subgroupShuffleUp(v, 1u), down = subgroupShuffleDown(v, 2u);\n"
    "    z[at + 6] = lane > 0 ? up : 9;\n"
    "    z[at + 7] = lane + 2 < W ? down : 7;\n"
    "    z[at + 8] = subgroupBallotBitCount(subgroupBallot(v % 3 == 0));\n"
    "    z[at + 9] = subgroupBroadcast(v, 5u);\n"
    "    z[at + 10] = subgroupBroadcastFirst(v);\n"
    "    z[at + 11] = (subgroupAll(v % 5 != 0) ? 1 : 0) + (subgroupAny(v > 40) ? 2 : 0);\n"
    "    z[at + 12] = subgroupXor(v) ^ subgroupOr(v) ^ subgroupAnd(v);\n"
    "    z[at + 13] = subgroupBallotExclusiveBitCount(subgroupBallot((v & 1) == 1));\n"
    "    z[at + 14] = subgroupAllEqual(v / 64) ? 1 : 0;\n"
    "    z[at + 15] = uint(subgroupMul(float(v % 2 + 1)) != 0.0);\n"
    "}\n";

static const char integers[] =
    "layout(local_size_x = 32) in;\n"
    "void main() {\n"
    "    uint i = gl_GlobalInvocationID.x, u = p[i] * 0x9e3779b9u + i, at = i * 16;\n"
    "    int s = int(u), d = int(p[i + 1]) + 2;\n"
    "    z[at] = u / (p[i + 1] + 1) + u % (p[i + 2] + 3);\n"
    "    z[at + 1] = uint(s / d);\n"
    "    z[at + 2] = uint(s >> (p[i] & 31)) + (u >> (p[i + 3] & 31)) * 3;\n"
    "    z[at + 3] = uint(bitfieldExtract(s, int(p[i]), 9)) + bitfieldExtract(u, int(p[i]), 7);\n"
    "    z[at + 4] = bitfieldInsert(u, p[i + 4], 5, 6) ^ bitfieldReverse(u);\n"
    "    z[at + 5] = uint(min(s, d)) + max(u, 0x80000000u) * 5 + uint(clamp(s, -9, 9));\n"
    "    z[at + 6] = (s < d ? 1u : 0u) + (u < uint(d) ? 2u : 0u) + (s <= -d ? 4u : 0u);\n"
    "    z[at + 7] = uint(findLSB(u)) + uint(findMSB(s)) * 64 + uint(bitCount(u)) * 4096;\n"
    "    uint high, low; umulExtended(u, u + 3, high, low);\n"
    "    z[at + 8] = high ^ low;\n"
    "    int8_t b = int8_t(s >> 3); uint8_t ub = uint8_t(u >> 5); int16_t h = int16_t(s >> 7);\n"
    "    z[at + 9] = uint(int(b)) + uint(ub) * 3 + uint(int(h)) * 7;\n"
    "    uvec4 v = uvec4(u, p[i], i, u >> 9);\n"
    "    z[at + 10] = v.wzyx.x + v.yxwz.y * 3 + v[i & 3] * 7;\n"
    "    z[at + 11] = ~u & uint(-s) | u >> 3 ^ uint(s << 2);\n"
    "    float f = float(s >> 12), g = float(u >> 20);\n"
    "    z[at + 12] = uint(int(f)) + uint(g) * 3 + floatBitsToUint(f + g);\n"
    "    z[at + 13] = (f < g ? 1 : 0) + (f <= 0.0 ? 2 : 0) + (-f >= g ? 4 : 0);\n"
    "    z[at + 14] = uint(int(floor(g / 4.0))) + uint(int(abs(f) * 0.5));\n"
    "    z[at + 15] = uint(int(mix(f, g, (u & 4) == 0)));\n"
    "}\n";

static const char flow[] =
    "layout(local_size_x = 32) in;\n"
    "uint digits(uint n) {\n"
    "    for (uint k = 0; k < 12; k++) {\n"
    "        if (n == 0)\n"
    "            return k;\n"
    "        n /= 3;\n"
    "    }\n"
    "    return 99;\n"
    "}\n"
    "void main() {\n"
    "    uint i = gl_GlobalInvocationID.x, sum = i;\n"
    "    for (uint k = 0; k < p[i] + 2; k++) {\n"
    "        if ((k + i) % 5 == 3)\n"
    "            continue;\n"
    "        switch ((k * 7 + p[k]) % 6) {\n"
    "        case 0: sum += 3;\n"
    "        case 1: sum = sum * 5 + 1; break;\n"
    "        case 2: case 3:\n"
    "            for (uint n = k; n > 0; n--) {\n"
    "                if ((n ^ i) == 5)\n"
    "                    break;\n"
    "                sum += n * 11;\n"
    "            }\n"
    "            break;\n"
    "        case 4: if (i % 2 == 0) { sum ^= 0x55; break; } sum += 1000;\n"
    "        default: sum += digits(sum & 1023);\n"
    "        }\n"
    "        if (sum > 0x40000000)\n"
    "            break;\n"
    "    }\n"
    "    uint table[4] = uint[](sum, i, p[i], 7);\n"
    "    table[sum & 3] += 17;\n"
    "    z[i] = table[0] + table[1] * 3 + table[2] * 5 + table[3] * 7 + (sum > 9 ? 1 : 2);\n"
    "}\n";

/* clang-format off */
const TesterSource tester_sources[] = {
    { "plain/transposition", transposed, 2, 1, .once = true },
    { "plain/scan", scanned, 1, 1, .once = true },
    { "plain/subgroups", subgroups, 1, 1, .once = true },
    { "plain/integers", integers, 4, 1, .once = true },
    { "plain/control flow", flow, 4, 1, .once = true },
    { "khr/multiply-add", muladd, 1, 4, .once = false },
    { "khr/elements", elements, 1, 1, .arithmetic = true, .plain = true },
    { "khr/workgroup memory", staged, 1, 1, .arithmetic = true, .plain = true },
    { "khr/loops", loops, 1, 1, .plain = true },
    { "wait queues/loops", queued, 1, 1, .plain = true },
    { "nv2/reductions", reduced, 1, 1, .arithmetic = true, .plain = true },
    { "nv2/reductions of squares", squares, 1, 1, .arithmetic = true, .plain = true },
    { "nv2/conversions", converted, 1, 1, .arithmetic = true, .plain = true, .square = true },
    { "nv2/functions of elements", placed, 1, 1, .arithmetic = true, .plain = true },
    { "nv2/tensors", tensors, 1, 2, .arithmetic = true, .plain = true },
    { "nv2/views", views, 1, 1, .arithmetic = true, .plain = true },
    { "nv2/decoding", decoded, 1, 1, .once = true },
    { "nv2/workgroups", workgroups, 1, 1, .plain = true },
    { "qcom/rows", rows, 1, 1, .once = true },
};
/* clang-format on */
const uint32_t tester_n_sources = COUNT_OF(tester_sources);
