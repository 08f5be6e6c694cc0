/* SPDX-License-Identifier: MIT
 *
 * libFuzzer target of the SPIR-V reader: what begins with the magic number (in either byte order)
 * is read, all else is assembled, so that the texts of tests/spirv are seeds as they are. What
 * could be read must write back to the same bytes, and its text must assemble. (clang's runtime
 * library is Debian's libclang-rt-22-dev.)
 *
 *     cmake --preset fuzz && ninja -C build/fuzz fuzz_spirv
 *     build/fuzz/test/fuzz_spirv -max_len=20000 corpus tests/spirv
 */
#include "spirv/spirv.h"

static void touch(void *user, uint32_t *id)
{
    *(uint32_t *)user ^= *id;
}

static bool visit(void *user, SpvInst *i)
{
    spv_each_id(i, touch, user);
    return true;
}

static bool is_module(const uint8_t *data, size_t size)
{
    uint32_t magic = 0;
    if (size >= 4)
        memcpy(&magic, data, 4);
    return magic == SpvMagicNumber || magic == __builtin_bswap32(SpvMagicNumber);
}

static void check(Arena *a, const uint8_t *data, size_t size)
{
    DiagSink sink = { 0 };
    bool binary = is_module(data, size);
    SpvModule *m = binary ? spv_read(a, data, size, "fuzz", &sink)
                          : spv_assemble(a, (const char *)data, size, "fuzz", &sink);
    uint32_t ids = 0;
    size_t written = 0;
    uint64_t value;
    if (!m) {
        if (!sink.errors)
            __builtin_trap();
        return;
    }
    const void *words = spv_write(a, m, &written);
    if (binary && (written != size || memcmp(words, data, size)))
        __builtin_trap();
    spv_each_inst(m, visit, &ids);
    for (SpvId id = 0; id < MIN(m->bound, 1000); id++) {
        spv_type(m, id);
        spv_constant(m, id, &value);
    }
    SpvEntryPoint e;
    spv_entry_point(m, NULL, &e, &sink);
    const char *text = spv_disassemble(a, m, ids & 1);
    if (!spv_assemble(a, text, strlen(text), "text", &sink) && sink.errors == 0)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Arena a;
    jmp_buf out_of_memory;
    a = (Arena){ .limit = 512 << 20, .on_failure = &out_of_memory };
    if (!setjmp(out_of_memory))
        check(&a, data, size);
    arena_free(&a);
    return 0;
}
