/* SPDX-License-Identifier: MIT
 *
 * Each kind of finding has a kernel that must draw it and one, much alike, that must not.
 */
#include "kernel.h"

#define HEAD                                                                                       \
    "layout(local_size_x = 64) in;\n"                                                              \
    "layout(set = 0, binding = 0, std430) buffer O { uint o[]; };\n"                               \
    "layout(set = 0, binding = 1, std430) buffer F { float f[]; };\n"                              \
    "layout(push_constant) uniform P { uint p; };\n"                                               \
    "#define I gl_LocalInvocationIndex\n#define G gl_GlobalInvocationID.x\n"                       \
    "#define MAT coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>\n"

/* Which kinds are found, as a mask; UINT32_MAX where there is no glslang. The text of the
 * diagnostics goes to `text`. */
static uint32_t find(const char *body, uint32_t groups, uint32_t check, char *text, size_t size)
{
    Kernel k;
    _Alignas(16) uint32_t out[256] = { 0 };
    _Alignas(16) static float data[1024];
    uint32_t push = 3, kinds = 0;
    char source[4096];
    snprintf(source, sizeof(source), "%s%s", HEAD, body);
    if (!kernel_glsl(&k, source))
        return UINT32_MAX;
    memset(data, 0, sizeof(data));
    kernel_bind(&k, 0, out, sizeof(out));
    kernel_bind(&k, 1, data, sizeof(data));
    k.d.push = &push;
    k.d.push_size = 4;
    k.d.groups[0] = groups;
    k.d.check = check;
    k.d.budget = 1 << 18;
    kernel_run(&k);
    for (uint32_t i = 0; i < k.result.n_findings; i++)
        kinds |= 1u << k.result.findings[i].kind;
    snprintf(text, size, "%.2000s", k.text);
    kernel_free(&k);
    return kinds;
}

/* Exactly that kind, its message containing `part`; none where `part` is NULL. */
static void expect(int line, const char *body, uint32_t groups, RefFindingKind kind,
                   const char *part)
{
    char text[2048];
    uint32_t check = kind == REF_PORTABILITY  ? (uint32_t)REF_CHECK_PORTABILITY
                     : kind == REF_NOT_FINITE ? (uint32_t)REF_CHECK_ALL | REF_CHECK_FINITE
                                              : (uint32_t)REF_CHECK_ALL;
    uint32_t found = find(body, groups, check, text, sizeof(text));
    if (found == UINT32_MAX)
        return;
    if (found != (part ? 1u << kind : 0u))
        test_fail(__FILE__, line, "findings %#x, not %#x:\n%s", found, part ? 1u << kind : 0u,
                  text);
    else if (part && !strstr(text, part))
        test_fail(__FILE__, line, "'%s' is not in:\n%s", part, text);
}
#define DRAWS(kind, part, groups, body) expect(__LINE__, body, groups, kind, part)
#define CLEAN(groups, body)             expect(__LINE__, body, groups, REF_OUT_OF_BOUNDS, NULL)

TEST(out_of_bounds)
{
    DRAWS(REF_OUT_OF_BOUNDS, "which has 1024", 5, "void main() { o[G] = 1; }");
    CLEAN(4, "void main() { o[G] = 1; }");
    DRAWS(REF_OUT_OF_BOUNDS, "of 'a' is outside its array, which has 4", 1,
          "void main() { uint a[4] = uint[4](1, 2, 3, 4); o[I] = a[I / 8]; }");
    DRAWS(REF_OUT_OF_BOUNDS, "index 3 of 's' is outside its array, which has 3", 1,
          "struct S { uint n, a[3]; };\nshared S s[64];\nvoid main() { s[I].a[p] = I; }");
    CLEAN(1, "void main() { uint a[4] = uint[4](1, 2, 3, 4); o[I] = a[I / 16]; }");
    DRAWS(REF_OUT_OF_BOUNDS, "index 63 of 's' is outside its array, which has 63", 1,
          "shared uint s[63];\nvoid main() { s[I] = I; }");
    DRAWS(REF_OUT_OF_BOUNDS, "of 4 bytes", 1,
          "void main() { MAT m = MAT(1.0); if (gl_SubgroupID == 0) coopMatStore(m, f, 800, 32, "
          "gl_CooperativeMatrixLayoutRowMajor); }");
}

TEST(undefined_values)
{
    DRAWS(REF_UNDEFINED, "stored to a buffer", 1,
          "void main() { uint x; if (I < 32) x = 5; o[I] = x + 1; }");
    CLEAN(1, "void main() { uint x; if (I < 32) x = 5; o[I] = I < 32 ? x + 1 : 0; }");
    DRAWS(REF_UNDEFINED, "decides a branch", 1,
          "void main() { uint x[2]; x[1] = 4; if (x[p & 4] > 5) o[I] = 1; }");
    CLEAN(1, "void main() { uint x[2]; x[1] = 4; if (x[p & 1] > 5) o[I] = 1; }");
    DRAWS(REF_UNDEFINED, "stored to a buffer", 1,
          "shared uint s[64];\nvoid main() { if (I != 9) s[I] = I; barrier(); o[I] = s[63 - I]; }");
    DRAWS(REF_UNDEFINED, "stored to a buffer", 1,
          "void main() { MAT a, b = MAT(1.0); if (gl_SubgroupID > 5) a = b;\n"
          "  coopMatStore(a, f, gl_SubgroupID * 256, 16, gl_CooperativeMatrixLayoutRowMajor); }");
}

TEST(races)
{
    DRAWS(REF_RACE, "races with", 1,
          "shared uint s[64];\nvoid main() { s[I] = 0; barrier(); s[I] = I; o[I] = s[I ^ 1]; }");
    CLEAN(1, "shared uint s[64];\nvoid main() { s[I] = I; barrier(); o[I] = s[I ^ 1]; }");
    DRAWS(REF_RACE, "races with", 1,
          "shared uint s[64];\nvoid main() { s[I] = 0; controlBarrierArrive(); s[I] = I;\n"
          "controlBarrierWait(); o[I] = s[I ^ 1]; }");
    DRAWS(REF_RACE, "races with", 1,
          "shared uint s[64];\nvoid main() { s[I] = I; controlBarrierArrive(); o[I] = s[I ^ 1];\n"
          "controlBarrierWait(); }");
    CLEAN(1, "shared uint s[64];\nvoid main() { s[I] = I; controlBarrierArrive(); uint x = s[I];\n"
             "controlBarrierWait(); o[I] = s[I ^ 1] + x; }");
    CLEAN(1, "shared uint s[64], t[64];\n"
             "void main() { s[I] = I; controlBarrierArrive(); t[I] = I; barrier();\n"
             "o[I] = t[I ^ 1] + s[I ^ 2]; controlBarrierWait(); o[I] += s[I ^ 1]; }");
    /* a fence behind the arrival releases by the barrier behind the wait */
#define FENCED(fence)                                                                              \
    "shared uint s[64];\nvoid main() { controlBarrierArrive(); s[I] = I; " fence                   \
    "controlBarrierWait();\n"                                                                      \
    "controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, 0, 0); o[I] = s[I ^ 1]; }"
    CLEAN(1, FENCED("memoryBarrierShared(); "));
    DRAWS(REF_RACE, "races with", 1, FENCED(""));
#undef FENCED
    DRAWS(REF_RACE, "did not order buffer memory", 1,
          "void main() { o[I] = I; barrier(); o[64 + I] = o[I ^ 1]; }");
    CLEAN(1, "void main() { o[I] = I; memoryBarrierBuffer(); barrier(); o[64 + I] = o[I ^ 1]; }");
    DRAWS(REF_RACE, "of workgroup (", 2, "void main() { o[I] = gl_WorkGroupID.x; }");
    CLEAN(2, "void main() { atomicAdd(o[I], gl_WorkGroupID.x); }");
    DRAWS(REF_RACE, "", 1, "void main() { if (I == 3) o[0] = 1; else atomicAdd(o[0], 1); }");
    DRAWS(REF_RACE, "both are atomic", 2,
          "void main() { atomicAdd(o[0], 1, gl_ScopeWorkgroup, 0, 0); }");
    DRAWS(REF_RACE, "both are atomic", 1,
          "void main() { atomicAdd(o[0], 1, gl_ScopeSubgroup, 0, 0); }");
    CLEAN(2, "void main() { atomicAdd(o[gl_WorkGroupID.x], 1, gl_ScopeWorkgroup, 0, 0); }");
    CLEAN(1, "void main() { atomicAdd(o[gl_SubgroupID], 1, gl_ScopeSubgroup, 0, 0); }");
    CLEAN(1, "void main() { atomicAdd(o[I], 1, gl_ScopeSubgroup, 0, 0);\n"
             "memoryBarrierBuffer(); barrier();\n"
             "atomicAdd(o[I ^ 40], 1, gl_ScopeSubgroup, 0, 0); }");
    CLEAN(1, "void main() { o[I] = I; subgroupMemoryBarrier(); subgroupBarrier(); o[64 + I] = o[I "
             "^ 1]; }");
    DRAWS(REF_RACE, "subgroup", 1,
          "shared float s[512];\nvoid main() { MAT m = MAT(1.0);\n"
          "  for (uint j = I; j < 512; j += 64) s[j] = 0; barrier(); coopMatStore(m, s, "
          "gl_SubgroupID * 256, 16, 0);\n"
          "  f[I] = s[I * 8]; }");
}

TEST(divergence)
{
    DRAWS(REF_DIVERGENT, "is reached by 7 of the 32", 1,
          "void main() { MAT m = MAT(1.0); if (I < 39)\n"
          "  { if (gl_SubgroupID == 1) coopMatStore(m, f, 0, 16, "
          "gl_CooperativeMatrixLayoutRowMajor); } }");
    CLEAN(1, "void main() { MAT m = MAT(1.0); if (I >= 32)\n"
             "  { coopMatStore(m, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor); } }");
    DRAWS(REF_DIVERGENT, "the others have ended", 1,
          "void main() { if (I > 50) return; barrier(); o[I] = 1; }");
    DRAWS(REF_DIVERGENT, "arrives at a split barrier again", 1,
          "void main() { controlBarrierArrive(); controlBarrierArrive(); controlBarrierWait(); }");
    DRAWS(REF_DIVERGENT, "without having arrived", 1,
          "void main() { controlBarrierArrive();\n"
          "for (int k = 0; k < 2; k++) controlBarrierWait(); }");
    DRAWS(REF_DIVERGENT, "the others have ended", 1,
          "void main() { controlBarrierArrive(); if (I > 50) return; controlBarrierWait(); }");
    CLEAN(1, "void main() { for (int k = 0; k < 2; k++) { controlBarrierArrive();\n"
             "controlBarrierWait(); } o[I] = 1; }");
    DRAWS(REF_DEADLOCK, "of 64 invocations wait here, others at", 1,
          "void main() { if (I > 50) { barrier(); o[I] = 2; } else { barrier(); o[I] = 1; } }");
}

TEST(uniform_operands)
{
    DRAWS(REF_NOT_UNIFORM, "stride", 1,
          "void main() { MAT m = MAT(1.0); if (gl_SubgroupID == 0) coopMatStore(m, f, 0, 16 + I / "
          "31, 0); }");
    DRAWS(REF_NOT_UNIFORM, "pointer", 1,
          "void main() { MAT m = MAT(1.0); if (gl_SubgroupID == 0) coopMatStore(m, f, I / 31, 16, "
          "0); }");
    CLEAN(1, "void main() { MAT m = MAT(1.0); coopMatStore(m, f, 256 * gl_SubgroupID, 16, 0); }");
    DRAWS(REF_NOT_UNIFORM, "the invocation to broadcast from differs", 1,
          "void main() { o[I] = subgroupBroadcast(I, I / 60 & 1u); }");
    CLEAN(1, "void main() { o[I] = subgroupBroadcast(I, p); }");
}

TEST(misalignment)
{
    const char *body =
        "layout(buffer_reference, buffer_reference_align = 4, std430) buffer R { uint x; };\n"
        "layout(set = 0, binding = 2, std430) buffer A { uint64_t a; };\n"
        "void main() { if (I == 0) { R r = R(a + OFFSET); o[0] = r.x; } }";
    for (int off = 0; off <= 4; off += 2) {
        Kernel k;
        char source[2048];
        uint32_t out[4] = { 0 }, words[4] = { 1, 2, 3, 4 };
        uint64_t a = (uint64_t)(uintptr_t)words;
        snprintf(source, sizeof(source), "#define OFFSET %dul\n%s%s", off, HEAD, body);
        if (!kernel_glsl(&k, source))
            return;
        RefMemory memory = { words, sizeof(words) };
        k.d.memory = &memory;
        k.d.n_memory = 1;
        k.d.check = REF_CHECK_ALL;
        kernel_bind(&k, 0, out, sizeof(out));
        kernel_bind(&k, 2, &a, sizeof(a));
        CHECK(kernel_run(&k));
        CHECK(kernel_found(&k, REF_MISALIGNED) == (off == 2));
        kernel_free(&k);
    }
}

TEST(ranges)
{
    DRAWS(REF_RANGE, "shift of a 32-bit value by 35", 1, "void main() { o[I] = 1u << (p + 32); }");
    CLEAN(1, "void main() { o[I] = 1u << (p + 28); }");
    DRAWS(REF_RANGE, "division by zero", 1, "void main() { o[I] = 7u / (p - 3); }");
    CLEAN(1, "void main() { o[I] = 7u / (p - 2); }");
    DRAWS(REF_RANGE, "does not fit", 1, "void main() { o[I] = uint(float(p) * -1e9); }");
    CLEAN(1, "void main() { o[I] = uint(float(p) * 1e9); }");
    DRAWS(REF_RANGE, "a bit field of 3 bits at 30 in 32 bits", 1,
          "void main() { o[I] = bitfieldExtract(p, 30, int(p)); }");
    DRAWS(REF_RANGE, "bits 7 and up, 4 of them, of a number of 8", 1,
          "void main() { f[I] = float(bitcastExtractfe2m1EXT(uint8_t(I), p + 4)); }");
    CLEAN(1, "void main() { f[I] = float(bitcastExtractfe2m1EXT(uint8_t(I), p + 1)); }");
}

/* Where it arises, not where it goes. */
TEST(not_finite)
{
#define FINITE(body) expect(__LINE__, body, 1, REF_NOT_FINITE, NULL)
    DRAWS(REF_NOT_FINITE, "OpFDiv makes infinity of 1 and 0", 1,
          "void main() { f[I] = 2.0 + 1.0 / float(p - 3); }");
    DRAWS(REF_NOT_FINITE, "Sqrt makes NaN of -1", 1,
          "void main() { f[I] = 2.0 * sqrt(float(p) - 4.0); }");
    DRAWS(REF_NOT_FINITE, "Log makes -infinity of 0", 1, "void main() { f[I] = log(f[I]); }");
    DRAWS(REF_NOT_FINITE, "OpFConvert makes infinity of 70000", 1,
          "void main() { f[I] = float(float16_t(f[I] + 70000.0)); }");
    DRAWS(REF_NOT_FINITE, "OpVectorTimesScalar makes infinity of 2e+38 and 3", 1,
          "void main() { f[I] = (vec3(1, 1, 2e38) * float(p)).z; }");
    DRAWS(REF_NOT_FINITE, "OpDot makes infinity", 1,
          "void main() { f[I] = dot(vec2(2e38, p), vec2(p, 1)); }");
    DRAWS(REF_NOT_FINITE, "OpGroupNonUniformFAdd makes infinity of finite values", 1,
          "void main() { f[I] = subgroupAdd(1e37 * float(p)); }");
    DRAWS(REF_NOT_FINITE, "OpCooperativeMatrixMulAddKHR makes infinity of finite matrices", 1,
          "#define M(use) coopmat<float, gl_ScopeSubgroup, 16, 16, use>\n"
          "void main() { MAT c = coopMatMulAdd(M(gl_MatrixUseA)(1e38), M(gl_MatrixUseB)(float(p)), "
          "MAT(0.0));\n coopMatStore(c, f, 256 * gl_SubgroupID, 16, 0); }");
    FINITE("void main() { f[I] = uintBitsToFloat(0x7f800000u) - float(p); }");
    FINITE("void main() { f[I] = exp(f[I] - uintBitsToFloat(0x7f800000u)); }");
    FINITE("void main() { f[I] = isinf(intBitsToFloat(0x7f800000) * p) ? 1e38 * float(p) : 0; }");
#undef FINITE
}

TEST(endless)
{
    DRAWS(REF_ENDLESS, "endless loop", 1,
          "void main() { uint x = 1; while (x != p * 0) x |= 1; o[I] = x; }");
    /* told by their state, which comes again: of several values, of an array, in a function, after
     * a while, with stores of what is there already */
    DRAWS(REF_ENDLESS, "nothing that it hangs on changes", 1,
          "void main() { uint x = p; while (x != 7) x = x * 3 % 1009; o[I] = x; }");
    DRAWS(REF_ENDLESS, "nothing that it hangs on changes", 1,
          "uint g(uint x) { uint a[5] = uint[5](0, 1, 2, 3, 4), n = 0;\n"
          "  for (uint i = 0; a[i % 5] < 5; i = (i + x) % 10) n ^= a[i % 5]; return n; }\n"
          "void main() { o[I] = g(p); }");
    DRAWS(REF_ENDLESS, "nothing that it hangs on changes", 1,
          "void main() { uint x = 0; for (uint i = 0; i < 2999 || p == 3; i = min(i + 1, 2999u))\n"
          "    o[I] = p; }");
    DRAWS(REF_ENDLESS, "nothing that it hangs on changes", 1,
          "void main() { for (uint i = 0; i < 5;) { o[I] = 5; o[I] = p; } }");
    DRAWS(REF_ENDLESS, "nobody of its workgroup", 1,
          "void main() { while (atomicOr(o[64], 0u) == 0u); }");
    DRAWS(REF_ENDLESS, "nobody of its workgroup", 1,
          "void main() { while (atomicCompSwap(o[64], 0u, 1u) != 0u); }");
    DRAWS(REF_ENDLESS, "nobody of its workgroup", 1,
          "void main() { if (I == 0) barrier(); while (I > 0 && atomicOr(o[64], 0u) == 0u);\n"
          "  atomicOr(o[64], 1u); }");
    DRAWS(REF_ENDLESS, "still running after", 1,
          "void main() { uint x = 1; while (x != 0) { x += 2; o[I] = x; } }");
}

/* Loops that end, though for long it does not look like it. */
TEST(not_endless)
{
    CLEAN(1, "void main() { uint a[4] = uint[4](0, 0, 0, 0);\n"
             "  while (a[p & 3] < 5000) a[p & 3]++; o[I] = a[p & 3]; }");
    CLEAN(1, "void main() { uint n = 0; for (uint i = 0; i < 80; i++)\n"
             "    for (uint j = 0; j < 80; j++) n = 5; o[I] = n; }");
    CLEAN(1, "void main() { if (I == 5) { uint n = 0; for (uint i = 0; i < 3000; i++) n += i * n;\n"
             "    atomicOr(o[64], 1 + n * 0); }\n"
             "  else while (atomicOr(o[64], 0u) == 0u); }");
    CLEAN(1, "shared uint turn; void main() { if (I == 0) turn = 0; barrier();\n"
             "  while (atomicOr(turn, 0u) != I); atomicAdd(turn, 1u); }");
    CLEAN(1, "void main() { if (I < 5) { uint n = subgroupAdd(I); for (uint i = 0; i < 3000; i++)\n"
             "      n = n * 3 + i; n = subgroupMax(n) | 1; if (I == 0) atomicOr(o[64], n); }\n"
             "  else while (atomicOr(o[64], 0u) == 0u); }");
}

TEST(portability)
{
    DRAWS(REF_PORTABILITY, "matrix elements", 1,
          "void main() { MAT m = MAT(0.0); for (int e = 0; e < m.length(); e++) m[e] = float(e);\n"
          "  coopMatStore(m, f, gl_SubgroupID * 256, 16, 0); }");
    expect(__LINE__,
           "void main() { MAT m = MAT(0.0); for (int e = 0; e < m.length(); e++) m[e] += 3.0;\n"
           "  if (gl_SubgroupID == 0) coopMatStore(m, f, 0, 16, 0); }",
           1, REF_PORTABILITY, NULL);
    DRAWS(REF_PORTABILITY, "subgroups of", 1, "void main() { o[I] = subgroupAdd(1u); }");
}

TEST(findings_are_few)
{
    Kernel k;
    uint32_t out[4] = { 0 };
    if (!kernel_glsl(&k, HEAD "void main() { for (uint j = 0; j < 10; j++) o[64 + I] = j; }"))
        return;
    kernel_bind(&k, 0, out, sizeof(out));
    k.d.check = REF_CHECK_ALL;
    CHECK(kernel_run(&k));
    CHECK_EQ_U64(k.result.n_findings, 1);
    if (k.result.n_findings)
        CHECK_EQ_U64(k.result.findings[0].count, 640);
    CHECK(strstr(k.text, "640 times") != NULL);
    CHECK(strstr(k.text, ".comp:") != NULL);
    kernel_free(&k);
}

#define ONE_SUBGROUP                                                                               \
    "void main() { if (gl_SubgroupID != 0) return; MAT m = MAT(1.0);\n"                            \
    "  tensorLayoutNV<2> t = setTensorLayoutDimensionNV(createTensorLayoutNV(2), 32, 32);\n"
#define CLAMPED                                                                                    \
    "void main() { if (gl_SubgroupID != 0) return; MAT m = MAT(1.0);\n"                            \
    "  tensorLayoutNV<2, 1> t = setTensorLayoutDimensionNV(createTensorLayoutNV(2, 1), 32, 32);\n"
#define VIEW(dims)                                                                                 \
    "  tensorViewNV<2, true> v = setTensorViewDimensionsNV(createTensorViewNV(2, true), " dims     \
    ");\n"
#define SLICE "sliceTensorLayoutNV(t, 0, 16, 8, 16)"

TEST(tensors)
{
    CLEAN(1, ONE_SUBGROUP "coopMatLoadTensorNV(m, f, 4, " SLICE "); "
                          "coopMatStoreTensorNV(m, f, 0, " SLICE "); }");
    DRAWS(REF_MISALIGNED, "not a multiple of 16", 1,
          ONE_SUBGROUP "coopMatLoadTensorNV(m, f, 3, " SLICE "); }");
    DRAWS(REF_OUT_OF_BOUNDS, "outside dimension 1, which has 32, and the clamp mode is Undefined",
          1, ONE_SUBGROUP "coopMatLoadTensorNV(m, f, 0, sliceTensorLayoutNV(t, 0, 16, 17, 16)); }");
    CLEAN(1, CLAMPED "coopMatLoadTensorNV(m, f, 0, sliceTensorLayoutNV(t, 0, 16, 17, 16)); }");
    DRAWS(REF_RANGE, "is mirrored in dimension 0, which has 1: a remainder by 0", 1,
          "void main() { if (gl_SubgroupID != 0) return; MAT m;\n"
          "  tensorLayoutNV<2, 4> t =\n"
          "    setTensorLayoutDimensionNV(createTensorLayoutNV(2, 4), 1, 32);\n"
          "  coopMatLoadTensorNV(m, f, 0, " SLICE "); }");
    CLEAN(1, "void main() { if (gl_SubgroupID != 0) return; MAT m;\n"
             "  tensorLayoutNV<2, 4> t =\n"
             "    setTensorLayoutDimensionNV(createTensorLayoutNV(2, 4), 2, 32);\n"
             "  coopMatLoadTensorNV(m, f, 0, " SLICE "); }");
    DRAWS(REF_RACE, "elements (0, 0) and (8, 0) of the matrix go to one element of the tensor", 1,
          ONE_SUBGROUP "coopMatStoreTensorNV(m, f, 0, sliceTensorLayoutNV(t, 0, 8, 8, 16)); }");
    DRAWS(REF_RACE, "of the matrix go to one element of the tensor", 1,
          ONE_SUBGROUP "t = setTensorLayoutStrideNV(t, 32, 0);\n"
                       "coopMatStoreTensorNV(m, f, 0, " SLICE "); }");
    DRAWS(REF_RACE, "blocks of 4 in dimension 1", 1,
          ONE_SUBGROUP "t = setTensorLayoutBlockSizeNV(t, 1, 4);\n"
                       "coopMatStoreTensorNV(m, f, 0, " SLICE "); }");
    DRAWS(REF_RANGE, "the view has 512 elements, the slice 256", 1,
          ONE_SUBGROUP VIEW("16, 32") "coopMatLoadTensorNV(m, f, 0, " SLICE ", v); }");
    DRAWS(REF_RANGE, "the matrix has more elements than the view, 128", 1,
          ONE_SUBGROUP VIEW(
              "8, 16") "coopMatLoadTensorNV(m, f, 0, sliceTensorLayoutNV(t, 0, 8, 0, 16), v); }");
    DRAWS(REF_RANGE, "the view leads to element", 1,
          ONE_SUBGROUP VIEW("16, 16") "coopMatLoadTensorNV(m, f, 0, " SLICE
                                      ", setTensorViewStrideNV(v, 17, 1)); }");
    CLEAN(1, ONE_SUBGROUP VIEW("16, 16") "coopMatLoadTensorNV(m, f, 0, " SLICE ", v); }");
    DRAWS(REF_RANGE, "the span of dimension 1 is 0", 1,
          ONE_SUBGROUP "coopMatLoadTensorNV(m, f, 0, sliceTensorLayoutNV(t, 0, 16, 0, 0)); }");
    DRAWS(REF_RANGE, "stride 0 is 31", 1, ONE_SUBGROUP "t = setTensorLayoutStrideNV(t, 31, 1); }");
    DRAWS(REF_NOT_UNIFORM, "the tensor layout differs", 1,
          ONE_SUBGROUP
          "coopMatLoadTensorNV(m, f, 0, sliceTensorLayoutNV(t, 0, 16, I / 16, 16)); }");
    DRAWS(REF_DIVERGENT, "reached by 16 of the 32", 1,
          ONE_SUBGROUP "if (I < 16) coopMatLoadTensorNV(m, f, 0, " SLICE "); }");
}

TEST(matrices_stored_by_lines)
{
    DRAWS(REF_RACE, "rows 0 and 1 of the matrix overlap: they have 64 bytes and begin 32 apart", 1,
          "void main() { if (gl_SubgroupID != 0) return; MAT m = MAT(1.0);\n"
          "  coopMatStore(m, f, 0, 8, gl_CooperativeMatrixLayoutRowMajor); }");
    DRAWS(REF_RACE, "columns 0 and 1 of the matrix overlap", 1,
          "void main() { if (gl_SubgroupID != 0) return; MAT m = MAT(1.0);\n"
          "  coopMatStore(m, f, 0, 0, gl_CooperativeMatrixLayoutColumnMajor); }");
    CLEAN(1, "void main() { if (gl_SubgroupID != 0) return; MAT m = MAT(1.0);\n"
             "  coopMatLoad(m, f, 0, 0, gl_CooperativeMatrixLayoutRowMajor);\n"
             "  coopMatStore(m, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor); }");
}

TEST(functions_of_elements)
{
    CLEAN(1, "float each(const in uint r, const in uint c, const in float x) { return x + 1; }\n"
             "void main() { MAT m = MAT(1.0); coopMatPerElementNV(m, m, each); }");
    DRAWS(REF_UNSUPPORTED, "a tangled instruction", 1,
          "float each(const in uint r, const in uint c, const in float x)\n"
          "{ return subgroupAdd(x); }\n"
          "void main() { MAT m = MAT(1.0); coopMatPerElementNV(m, m, each); }");
    DRAWS(REF_ENDLESS, "an endless loop: nobody", 1,
          "float each(const in uint r, const in uint c, const in float x)\n"
          "{ while (p == 3) { if (f[r] == 5) break; } return x; }\n"
          "void main() { MAT m = MAT(1.0); coopMatPerElementNV(m, m, each); }");
    DRAWS(REF_OUT_OF_BOUNDS, "which has 1024", 1,
          "float each(const in uint r, const in uint c, const in float x)\n"
          "{ o[r * 16 + c + 1] = 3; return x; }\n"
          "void main() { if (gl_SubgroupID != 0) return;\n"
          "  MAT m = MAT(1.0); coopMatPerElementNV(m, m, each); }");
}

TEST(decode_functions)
{
    static const char two[] =
        "#extension GL_NV_cooperative_matrix_decode_vector : enable\n"
        "layout(buffer_reference, std430, buffer_reference_align = 4) buffer R { float x[2]; };\n"
        "float one(const in R r, const in uint b[2], const in uint i[2]) { return r.x[i[1]]; }\n"
        "vec2 both(const in R r, const in uint b[2], const in uint i[2])\n"
        "{ return vec2(r.x[0], r.x[1]) + OFF; }\n"
        "void main() { MAT m; tensorLayoutNV<2> t = createTensorLayoutNV(2);\n"
        "  t = setTensorLayoutBlockSizeNV(t, 1, SIZE);\n"
        "  t = setTensorLayoutDimensionNV(t, 16, 16);\n"
        "  coopMatLoadTensorNV(m, f, 0, t, one, both);\n"
        "  coopMatStore(m, f, 512, 16, gl_CooperativeMatrixLayoutRowMajor); }";
    char body[2048];
    snprintf(body, sizeof(body), "#define OFF 1\n#define SIZE 2\n%s", two);
    DRAWS(REF_PORTABILITY, "another assignment", 1, body);
    snprintf(body, sizeof(body), "#define OFF 0\n#define SIZE 2\n%s", two);
    expect(__LINE__, body, 1, REF_PORTABILITY, NULL);
}
