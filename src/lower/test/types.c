/* SPDX-License-Identifier: MIT
 *
 * Modules of stages that are no compute shaders: bf16 and fp8 become integers, and nothing else of
 * them changes; what integers cannot stand for is refused.
 */
#include "base/test.h"
#include "lower/lower.h"

/* A fragment shader with textures, derivatives and OpKill; a case puts declarations at "@". */
static const char shader[] =
    "OpCapability Shader\nOpCapability BFloat16TypeKHR\nOpCapability Float8EXT\n"
    "OpExtension \"SPV_KHR_bfloat16\"\nOpExtension \"SPV_EXT_float8\"\n"
    "OpMemoryModel Logical GLSL450\n"
    "OpEntryPoint Fragment %main \"main\" %uv %tex %color\n"
    "OpEntryPoint Fragment %main \"other\" %uv %tex %color\n"
    "OpExecutionMode %main OriginUpperLeft\n"
    "OpDecorate %uv Location 0\nOpDecorate %color Location 0\n"
    "OpDecorate %tex DescriptorSet 0\nOpDecorate %tex Binding 0\nOpDecorate %n SpecId 3\n"
    "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%u32 = OpTypeInt 32 0\n"
    "%f32 = OpTypeFloat 32\n%bf16 = OpTypeFloat 16 BFloat16KHR\n"
    "%fp8 = OpTypeFloat 8 Float8E4M3EXT\n"
    "%bf16x2 = OpTypeVector %bf16 2\n%f32x2 = OpTypeVector %f32 2\n%f32x4 = OpTypeVector %f32 4\n"
    "%bool = OpTypeBool\n%n = OpSpecConstant %u32 4\n%zero = OpConstant %f32 0\n"
    "%p_f32x2 = OpTypePointer Input %f32x2\n%p_f32x4 = OpTypePointer Output %f32x4\n"
    "%image = OpTypeImage %f32 2D 0 0 0 1 Unknown\n%sampled = OpTypeSampledImage %image\n"
    "%p_sampled = OpTypePointer UniformConstant %sampled\n"
    "%uv = OpVariable %p_f32x2 Input\n%color = OpVariable %p_f32x4 Output\n"
    "%tex = OpVariable %p_sampled UniformConstant\n@"
    "%main = OpFunction %void None %fn\n%begin = OpLabel\n"
    "%at = OpLoad %f32x2 %uv\n%from = OpLoad %sampled %tex\n"
    "%texel = OpImageSampleImplicitLod %f32x4 %from %at\n"
    "%x = OpCompositeExtract %f32 %at 0\n%slope = OpDPdx %f32 %x\n"
    "%few = OpFConvert %bf16x2 %at\n%back = OpFConvert %f32x2 %few\n"
    "%least = OpFConvert %fp8 %slope\n%wide = OpFConvert %f32 %least\n"
    "%negative = OpFOrdLessThan %bool %wide %zero\n"
    "OpSelectionMerge %on None\nOpBranchConditional %negative %off %on\n"
    "%off = OpLabel\nOpKill\n%on = OpLabel\n"
    "%y = OpCompositeExtract %f32 %back 1\n%times = OpConvertUToF %f32 %n\n"
    "%product = OpFMul %f32 %y %times\n%all = OpVectorTimesScalar %f32x4 %texel %product\n"
    "OpStore %color %all\nOpReturn\nOpFunctionEnd\n";

static SpvModule *lowered(Arena *a, const char *declarations, uint32_t features, TestDiags *d)
{
    Str text = { 0 };
    const char *at = strchr(shader, '@');
    const LowerProfile p = { .name = "device", .features = features };
    *d = (TestDiags)TEST_DIAGS(*d);
    str_printf(a, &text, "%.*s%s%s", (int)(at - shader), shader, declarations, at + 1);
    SpvModule *m = spv_assemble(a, text.data, text.len, "m.spvasm", &d->sink);
    return m && lower_types(m, &p, &d->sink) ? m : NULL;
}

static uint32_t count(const SpvModule *m, uint16_t op)
{
    uint32_t n = 0;
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        n += i->op == op;
    for (const SpvFunction *f = m->functions; f; f = f->next)
        for (const SpvBlock *b = f->first; b; b = b->next)
            for (const SpvInst *i = b->insts.first; i; i = i->next)
                n += i->op == op;
    return n;
}

static void check_lowered(uint32_t features, uint32_t integers)
{
    Arena a = { 0 };
    TestDiags d;
    SpvModule *m = lowered(&a, "", features, &d);
    CHECK(m != NULL);
    if (m) {
        CHECK(count(m, SpvOpTypeFloat) == 1 && count(m, SpvOpTypeInt) == 1 + integers);
        CHECK(count(m, SpvOpExtension) == 0 && count(m, SpvOpCapability) == 1 + integers);
        CHECK(count(m, SpvOpEntryPoint) == 2 && count(m, SpvOpSpecConstant) == 1);
        CHECK(count(m, SpvOpFConvert) == 0 && count(m, SpvOpDPdx) == 1);
        CHECK(count(m, SpvOpImageSampleImplicitLod) == 1 && count(m, SpvOpKill) == 1);
    }
    CHECK_CONTAINS(d.text, "");
    arena_free(&a);
}

TEST(types_become_integers)
{
    const uint32_t storage = PROFILE_HAS_STORAGE8 | PROFILE_HAS_STORAGE16;
    check_lowered(storage | PROFILE_HAS_INT8 | PROFILE_HAS_INT16, 2);
    check_lowered(0, 0); /* words stand for those */
}

TEST(what_is_refused)
{
    static const char *const rows[][2] = {
        { "%p = OpTypePointer Input %bf16\n%in = OpVariable %p Input\n",
          "stages pass no integers" },
        { "%s = OpTypeStruct %u32 %bf16x2\n%p = OpTypePointer Output %s\n"
          "%to = OpVariable %p Output\n",
          "stages pass no integers" },
        { "%k = OpSpecConstant %f32 1\n%c = OpSpecConstantOp %bf16 FConvert %k\n",
          "when the pipeline is made" },
        { "%w = OpConstant %u32 16\n%scope = OpConstant %u32 3\n"
          "%m = OpTypeCooperativeMatrixKHR %f32 %scope %w %w %scope\n",
          "compute shaders alone" },
    };
    for (size_t k = 0; k < COUNT_OF(rows); k++) {
        Arena a = { 0 };
        TestDiags d;
        CHECK(!lowered(&a, rows[k][0], PROFILE_HAS_INT16 | PROFILE_HAS_INT8, &d));
        CHECK_CONTAINS(d.text, rows[k][1]);
        arena_free(&a);
    }
}

/* Loops of other stages may have hints for wait queues as well. */
TEST(hints_are_dropped)
{
    static const char loop[] =
        "%yes = OpConstantTrue %bool\n%loops = OpFunction %void None %fn\n%first = OpLabel\n"
        "OpBranch %head\n%head = OpLabel\nOpLoopMerge %out %next MultipleWaitQueuesQCOM 2\n"
        "OpBranchConditional %yes %out %next\n%next = OpLabel\nOpBranch %head\n"
        "%out = OpLabel\nOpReturn\nOpFunctionEnd\n";
    for (uint32_t has = 0; has < 2; has++) {
        Arena a = { 0 };
        TestDiags d;
        SpvModule *m = lowered(&a, loop, has ? PROFILE_HAS_WAIT_QUEUES : 0, &d);
        CHECK(m && pass_has_wait_queues(m) == (has != 0));
        CHECK_CONTAINS(d.text, "");
        arena_free(&a);
    }
}
