/* SPDX-License-Identifier: MIT
 *
 * Literals to text and back: every bit pattern of the small formats, random ones of the wide
 * formats, and what must be refused.
 */
#include "base/test.h"
#include "spirv/internal.h"

static const SpvNumber formats[] = {
    { .is_float = true, .bits = 8, .format = SPV_E4M3 },
    { .is_float = true, .bits = 8, .format = SPV_E5M2 },
    { .is_float = true, .bits = 16, .format = SPV_IEEE },
    { .is_float = true, .bits = 16, .format = SPV_BF16 },
    { .is_float = true, .bits = 32, .format = SPV_IEEE },
    { .is_float = true, .bits = 64, .format = SPV_IEEE },
    { .bits = 8 },
    { .bits = 8, .is_signed = true },
    { .bits = 16 },
    { .bits = 16, .is_signed = true },
    { .bits = 32 },
    { .bits = 32, .is_signed = true },
    { .bits = 64 },
    { .bits = 64, .is_signed = true },
    { .is_float = true, .bits = 6, .format = SPV_E2M3 },
    { .is_float = true, .bits = 6, .format = SPV_E3M2 },
    { .is_float = true, .bits = 4, .format = SPV_E2M1 },
    { .is_float = true, .bits = 8, .format = SPV_E8M0 },
    { .is_float = true, .bits = 8, .format = SPV_MXINT8 },
};

static bool comes_back(Arena *a, SpvNumber n, uint64_t bits)
{
    Str text = { 0 };
    uint32_t words[2] = { (uint32_t)bits, (uint32_t)(bits >> 32) }, back[2] = { 0 };
    uint32_t count = n.bits > 32 ? 2 : 1;
    spv_print_number(a, &text, n, words, count);
    bool ok = spv_parse_number(n, text.data, back) == count && back[0] == words[0] &&
              (count < 2 || back[1] == words[1]);
    return ok || test_fail(__FILE__, __LINE__, "0x%llx of %u bits: %s gives 0x%x 0x%x",
                           (unsigned long long)bits, n.bits, text.data, back[0], back[1]);
}

TEST(all_small_and_random_wide_come_back)
{
    Rng rng = { 3 };
    for (size_t f = 0; f < COUNT_OF(formats); f++) {
        Arena a = { 0 };
        SpvNumber n = formats[f];
        uint32_t count = n.bits <= 16 ? 1u << n.bits : 5000;
        for (uint32_t k = 0; k < count; k++) {
            uint64_t bits = n.bits <= 16 ? k : rng_u64(&rng);
            if (k % 4 == 0 && n.bits > 16)
                bits &= UINT64_C(0xfff0000000000fff);
            if (n.bits == 32)
                bits = bits >> 16 & UINT32_MAX;
            if (n.is_signed && n.bits < 32)
                bits = (uint32_t)((int32_t)(bits << (32 - n.bits)) >> (32 - n.bits));
            comes_back(&a, n, bits);
        }
        arena_free(&a);
    }
}

static uint64_t parse(SpvNumber n, const char *text)
{
    uint32_t words[2] = { 0 };
    uint32_t count = spv_parse_number(n, text, words);
    return count ? words[0] | (count > 1 ? (uint64_t)words[1] << 32 : 0) : UINT64_MAX - 1;
}

#define REFUSED (UINT64_MAX - 1)

TEST(floats_as_people_write_them)
{
    SpvNumber f16 = formats[2], f32 = formats[4], f64 = formats[5], e4 = formats[0];
    CHECK_EQ_U64(parse(f32, "1"), 0x3f800000);
    CHECK_EQ_U64(parse(f32, "-1.5e0"), 0xbfc00000);
    CHECK_EQ_U64(parse(f32, ".5"), 0x3f000000);
    CHECK_EQ_U64(parse(f32, "0x1p-149"), 1);
    CHECK_EQ_U64(parse(f32, "0x1.fffffep+127"), 0x7f7fffff);
    CHECK_EQ_U64(parse(f32, "0x1.8p+128"), 0x7fc00000);
    CHECK_EQ_U64(parse(f32, "0x3p0"), 0x40400000);
    CHECK_EQ_U64(parse(f32, "0x0.00001p+20"), 0x3f800000);
    CHECK_EQ_U64(parse(f16, "65504"), 0x7bff);
    CHECK_EQ_U64(parse(f16, "0x1.002p0"), 0x3c00); /* half way: to even */
    CHECK_EQ_U64(parse(f16, "0x1.006p0"), 0x3c02);
    CHECK_EQ_U64(parse(f16, "0x1p-25"), 0);
    CHECK_EQ_U64(parse(f16, "0x1.8p-25"), 1);
    CHECK_EQ_U64(parse(f64, "0.1"), UINT64_C(0x3fb999999999999a));
    CHECK_EQ_U64(parse(f64, "0x1.0000000000001p+1024"), UINT64_C(0x7ff0000000000001));
    CHECK_EQ_U64(parse(e4, "448"), 0x7e);
    CHECK_EQ_U64(parse(formats[16], "0x1.8p+2"), 7);
    CHECK_EQ_U64(parse(formats[16], "6"), 7);
    CHECK_EQ_U64(parse(formats[16], "8"), REFUSED);
    CHECK_EQ_U64(parse(formats[17], "0x1p-127"), 0);
    CHECK_EQ_U64(parse(formats[18], "-0x1p-6"), 0xff);
    CHECK_EQ_U64(parse(formats[18], "0x1p-7"), REFUSED);
    CHECK_EQ_U64(parse(f16, "0"), 0);
    CHECK_EQ_U64(parse(f16, "-0"), 0x8000);
    CHECK_EQ_U64(parse(f32, "1e39"), REFUSED);
    CHECK_EQ_U64(parse(f16, "65520"), REFUSED);
    CHECK_EQ_U64(parse(e4, "1000"), REFUSED);
    CHECK_EQ_U64(parse(f32, "0x1p+200"), REFUSED);
    CHECK_EQ_U64(parse(f32, "nan"), REFUSED);
    CHECK_EQ_U64(parse(f32, "1.5x"), REFUSED);
    CHECK_EQ_U64(parse(f32, ""), REFUSED);
    CHECK_EQ_U64(parse(f32, "-"), REFUSED);
    CHECK_EQ_U64(parse(f32, "0x"), REFUSED);
    CHECK_EQ_U64(parse(f32, "0x1p"), REFUSED);
}

TEST(integers_fit_or_are_refused)
{
    SpvNumber u8 = formats[6], s8 = formats[7], u32 = formats[10], s32 = formats[11];
    SpvNumber u64 = formats[12], s64 = formats[13];
    CHECK_EQ_U64(parse(u8, "255"), 255);
    CHECK_EQ_U64(parse(u8, "256"), REFUSED);
    CHECK_EQ_U64(parse(u8, "-1"), REFUSED);
    CHECK_EQ_U64(parse(s8, "-128"), 0xffffff80);
    CHECK_EQ_U64(parse(s8, "128"), REFUSED);
    CHECK_EQ_U64(parse(s8, "0xff"), 0xffffffff);
    CHECK_EQ_U64(parse(s32, "-2147483648"), 0x80000000);
    CHECK_EQ_U64(parse(s32, "2147483648"), REFUSED);
    CHECK_EQ_U64(parse(s32, "0xffffffff"), 0xffffffff);
    CHECK_EQ_U64(parse(u32, "4294967295"), 0xffffffff);
    CHECK_EQ_U64(parse(u32, "4294967296"), REFUSED);
    CHECK_EQ_U64(parse(u64, "18446744073709551615"), UINT64_MAX);
    CHECK_EQ_U64(parse(u64, "18446744073709551616"), REFUSED);
    CHECK_EQ_U64(parse(s64, "-9223372036854775808"), UINT64_C(1) << 63);
    CHECK_EQ_U64(parse(s64, "9223372036854775808"), REFUSED);
    CHECK_EQ_U64(parse(u32, "12a"), REFUSED);
    CHECK_EQ_U64(parse(u32, "0x"), REFUSED);
}
