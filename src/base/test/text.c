/* SPDX-License-Identifier: MIT */
#include "base/test.h"

TEST(str_grows)
{
    Arena a = { 0 };
    Str s = { 0 };
    str_add(&a, &s, "");
    CHECK_STR(s.data, "");
    str_add(&a, &s, "heddle");
    str_addn(&a, &s, "-loom", 2);
    str_printf(&a, &s, "%d%%", 50);
    CHECK_STR(s.data, "heddle-l50%");
    CHECK_EQ_U64(s.len, strlen(s.data));
    for (int i = 0; i < 1000; i++)
        str_printf(&a, &s, "%04d", i);
    CHECK_EQ_U64(s.len, 4011);
    CHECK_STR(s.data + 4007, "0999");
    arena_free(&a);
}

TEST(cursor_reads_both_orders)
{
    const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7 };
    Cursor c = { .data = bytes, .size = sizeof(bytes) };
    uint32_t native;
    memcpy(&native, bytes, 4);
    CHECK_EQ_U64(cursor_u32(&c), native);
    c.pos = 0;
    c.swap = true;
    CHECK_EQ_U64(cursor_u32(&c), __builtin_bswap32(native));
    uint16_t half;
    memcpy(&half, bytes + 4, 2);
    CHECK_EQ_U64(cursor_u16(&c), __builtin_bswap16(half));
    CHECK_EQ_U64(cursor_u8(&c), 7);
    CHECK(!c.overrun && c.pos == 7);
}

TEST(cursor_stops_at_the_end)
{
    const uint8_t bytes[] = { 1, 2, 3 };
    Cursor c = { .data = bytes, .size = sizeof(bytes) };
    CHECK_EQ_U64(cursor_u32(&c), 0);
    CHECK(c.overrun && c.pos == 3);
    CHECK_EQ_U64(cursor_u8(&c), 0);
    c = (Cursor){ .data = bytes, .size = sizeof(bytes), .pos = 1 };
    CHECK(cursor_bytes(&c, 2) == bytes + 1);
    CHECK(cursor_bytes(&c, 0) == bytes + 3 && !c.overrun);
    CHECK(cursor_bytes(&c, SIZE_MAX) == NULL && c.overrun);
    Cursor empty = { 0 };
    CHECK_EQ_U64(cursor_u16(&empty), 0);
    CHECK(empty.overrun);
}

TEST(diagnostics_as_text)
{
    TestDiags t = TEST_DIAGS(t);
    DiagLoc source = { .file = "k.comp", .line = 12, .column = 3 };
    DiagLoc inst = { .file = "k.spv",
                     .has_inst = true,
                     .inst = 7,
                     .opcode = "OpIAdd",
                     .result = "%sum" };
    diag(&t.sink, DIAG_ERROR, &source, NULL, "%d is too many", 9);
    diag(&t.sink, DIAG_WARNING, &inst, "VUID-1", "odd");
    diag(&t.sink, DIAG_NOTE, NULL, NULL, "that is all");
    CHECK_STR(t.text, "k.comp:12:3: error: 9 is too many\n"
                      "k.spv: warning: odd (instruction 7, OpIAdd %sum) [VUID-1]\n"
                      "note: that is all\n");
    CHECK_EQ_U64(t.sink.errors, 1);
    CHECK_EQ_U64(t.sink.warnings, 1);
}

TEST(diagnostics_stop_but_count)
{
    TestDiags t = TEST_DIAGS(t);
    t.sink.max_errors = 2;
    for (int i = 0; i < 5; i++) {
        diag(&t.sink, DIAG_ERROR, NULL, NULL, "e%d", i);
        diag(&t.sink, DIAG_NOTE, NULL, NULL, "n%d", i);
    }
    CHECK_STR(t.text, "error: e0\nnote: n0\nerror: e1\nnote: n1\n");
    CHECK_EQ_U64(t.sink.errors, 5);
    diag(NULL, DIAG_ERROR, NULL, NULL, "no sink");
    DiagSink silent = { 0 };
    diag(&silent, DIAG_ERROR, NULL, NULL, "no callback");
    CHECK_EQ_U64(silent.errors, 1);
}

TEST(long_messages_are_whole)
{
    TestDiags t = TEST_DIAGS(t);
    diag(&t.sink, DIAG_ERROR, NULL, NULL, "%3000d!", 1);
    CHECK_EQ_U64(t.len, 7 + 3001 + 1);
}

TEST(format_cuts_and_tells_the_length)
{
    Diag d = { .severity = DIAG_ERROR, .message = "message", .rule = "R" };
    char out[10];
    CHECK_EQ_U64(diag_format(&d, NULL, 0), strlen("error: message [R]"));
    CHECK_EQ_U64(diag_format(&d, out, sizeof(out)), strlen("error: message [R]"));
    CHECK_STR(out, "error: me");
}
