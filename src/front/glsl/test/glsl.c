/* SPDX-License-Identifier: MIT
 *
 * glslang's messages as diagnostics; the module it makes; what happens without it.
 */
#include "base/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "front/glsl/glsl.h"
#include "front/glsl/messages.h"

static void messages(const char *text, TestDiags *d)
{
    Arena arena = { 0 };
    GlslNames names = { "/tmp/x/kernel.comp", "dir/my.comp", "// a \\\n  // b \\\nint c;\n" };
    glsl_messages(&arena, arena_strdup(&arena, text), &names, &d->sink);
    arena_free(&arena);
}

TEST(messages_have_positions)
{
    static const struct {
        const char *line, *text;
    } rows[] = {
        { "ERROR: /tmp/x/kernel.comp:5:25: 'foo' : undeclared identifier ",
          "dir/my.comp:5:25: error: undeclared identifier: 'foo' [GLSL]\n" },
        { "ERROR: /tmp/x/kernel.comp:5: 'foo' : undeclared identifier ",
          "dir/my.comp:5: error: undeclared identifier: 'foo' [GLSL]\n" },
        { "WARNING: /tmp/x/kernel.comp:3:1: '' : odd", "dir/my.comp:3:1: warning: odd [GLSL]\n" },
        { "ERROR: inc/a.glsl:2: 'x' : redefinition",
          "inc/a.glsl:2: error: redefinition: 'x' [GLSL]\n" },
        { "ERROR: a:b/c.glsl:12:3: 'x' : no", "a:b/c.glsl:12:3: error: no: 'x' [GLSL]\n" },
        { "ERROR: Linking compute stage: Missing entry point: Each stage requires one entry point",
          "dir/my.comp: error: Linking compute stage: Missing entry point: Each stage requires one "
          "entry point [GLSL]\n" },
        { "ERROR: 2 compilation errors.  No code generated.", "" },
        { "ERROR: /tmp/x/kernel.comp:5:28: '' : compilation terminated ", "" },
        { "SPIR-V is not generated for failed compile or link", "" },
        { "/tmp/x/kernel.comp", "" },
        { "WARNING: /tmp/x/kernel.comp:1:9: 'line continuation' : used at end of comment; x", "" },
        { "WARNING: /tmp/x/kernel.comp:2:9: 'line continuation' : used at end of comment; x",
          "dir/my.comp:2:9: warning: used at end of comment; x: 'line continuation' [GLSL]\n" },
        { "", "" },
        { "ERROR: ", "dir/my.comp: error:  [GLSL]\n" },
        { "ERROR: :::", "dir/my.comp: error: ::: [GLSL]\n" },
        { "ERROR: /tmp/x/kernel.comp:99999999999999999999: 'y' : far",
          "dir/my.comp:4294967295: error: far: 'y' [GLSL]\n" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        TestDiags d = TEST_DIAGS(d);
        messages(rows[i].line, &d);
        CHECK_STR(d.text, rows[i].text);
    }
    TestDiags d = TEST_DIAGS(d);
    messages("ERROR: /tmp/x/kernel.comp:1: 'a' : one\nERROR: /tmp/x/kernel.comp:2: 'b' : two\n",
             &d);
    CHECK_EQ_U64(d.sink.errors, 2);
}

static const char source[] = "#version 450\n"
                             "layout(local_size_x = 8) in;\n"
                             "layout(binding = 0) buffer Data { uint data[]; };\n"
                             "void main() { data[gl_LocalInvocationIndex] = VALUE; }\n";

typedef struct Compiled {
    Arena arena;
    TestDiags diags;
    ToolStatus status;
    uint32_t *words;
    size_t size;
} Compiled;

static Compiled *compile(const char *text, const GlslOptions *o)
{
    Compiled *c = calloc(1, sizeof *c);
    c->diags = (TestDiags)TEST_DIAGS(c->diags);
    jmp_buf oom;
    void *spirv = NULL;
    if (ARENA_GUARD(&c->arena, oom))
        return c;
    ToolSource named = { text, strlen(text), "some/where/k.comp" };
    c->status = glsl_compile(&c->arena, &named, o, &spirv, &c->size, &c->diags.sink);
    c->words = spirv;
    return c;
}

static void discard(Compiled *c)
{
    arena_free(&c->arena);
    free(c);
}

TEST(compiles_with_the_name_of_the_source)
{
    GlslOptions o = { .defines = &(GlslDefine){ "VALUE", "7u" },
                      .n_defines = 1,
                      .compiler = HEDDLE_TOOLCHAIN "/bin/glslang" };
    Compiled *c = compile(source, &o);
    CHECK_STR(c->diags.text, "");
    if (c->status == TOOL_OK && c->words) {
        CHECK_EQ_U64(c->words[0], 0x07230203);
        CHECK(memmem(c->words, c->size, "some/where/k.comp", 18) != NULL);
        CHECK(memmem(c->words, c->size, "/heddle-", 8) == NULL);
        CHECK(memmem(c->words, c->size, "#version", 8) == NULL);
    } else {
        CHECK(c->status == TOOL_OK);
    }
    discard(c);
}

/* The folder that HEDDLE_CACHE names, empty. */
static void begin_cache(char *folder)
{
    CHECK(mkdtemp(folder) != NULL);
    setenv("HEDDLE_CACHE", folder, 1);
}

/* Changes each file of a folder, or removes it. How many there were. */
static int each_file(const char *folder, void (*change)(const char *path))
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", folder, f->d_name);
        if (f->d_name[0] == '.')
            continue;
        change(path);
        n++;
    }
    if (d)
        closedir(d);
    return n;
}

static void keep(const char *path) { (void)path; }
static void cut_short(const char *path) { CHECK(truncate(path, 30) == 0); }
static void change_last(const char *path)
{
    FILE *f = fopen(path, "r+");
    CHECK(f && fseek(f, -1, SEEK_END) == 0 && fputc('!', f) == '!' && fclose(f) == 0);
}
static void remove_file(const char *path) { CHECK(unlink(path) == 0); }

static bool same_module(const Compiled *a, const Compiled *b)
{
    return a->status == TOOL_OK && b->status == TOOL_OK && a->size == b->size &&
           !memcmp(a->words, b->words, a->size);
}

TEST(keeps_modules)
{
    char folder[] = "/tmp/heddle-test-XXXXXX";
    GlslDefine value = { "VALUE", "7u" };
    GlslOptions o = { .defines = &value,
                      .n_defines = 1,
                      .compiler = HEDDLE_TOOLCHAIN "/bin/glslang" };
    Compiled *plain = compile(source, &o);
    begin_cache(folder);
    Compiled *first = compile(source, &o), *again = compile(source, &o);
    CHECK_EQ_U64(each_file(folder, cut_short), 1);
    CHECK(same_module(plain, first) && same_module(plain, again));
    Compiled *mended = compile(source, &o); /* what is no cached module is made anew */
    CHECK(same_module(plain, mended));
    value.value = "8u";
    Compiled *other = compile(source, &o);
    CHECK(other->status == TOOL_OK && !same_module(plain, other));
    CHECK_EQ_U64(each_file(folder, keep), 2);
    CHECK_EQ_U64(each_file(folder, change_last), 2);
    Compiled *whole = compile(source, &o); /* so is one that a byte has changed of */
    CHECK(same_module(other, whole));
    CHECK_EQ_U64(each_file(folder, remove_file), 2);
    CHECK(rmdir(folder) == 0);
    unsetenv("HEDDLE_CACHE");
    Compiled *all[] = { plain, first, again, mended, other, whole };
    for (size_t k = 0; k < COUNT_OF(all); k++)
        discard(all[k]);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* Whether the module stores `value` where `text` is compiled with files of two folders. */
static bool stores(const char *const *folders, const char *text, uint32_t value)
{
    GlslOptions o = { .include_dirs = folders,
                      .n_include_dirs = 2,
                      .compiler = HEDDLE_TOOLCHAIN "/bin/glslang" };
    Compiled *c = compile(text, &o);
    CHECK_STR(c->diags.text, "");
    bool found = false; /* an OpConstant of three words and the value */
    for (size_t i = 0; c->words && i + 3 < c->size / 4; i++)
        found |= c->words[i] == (4u << 16 | 43) && c->words[i + 3] == value;
    discard(c);
    return found;
}

/* Included files may change, also those that others include, and new ones come before them. */
TEST(sees_what_is_included)
{
    static const char text[] = "#version 450\n"
                               "#extension GL_GOOGLE_include_directive : require\n"
                               "layout(binding = 0) buffer Data { uint data[]; };\n"
                               "# \tinclude \"a.glsl\" // what to include\n"
                               "void main() { data[0] = VALUE; }\n";
    char cache[] = "/tmp/heddle-test-XXXXXX", one[] = "/tmp/heddle-test-XXXXXX",
         two[] = "/tmp/heddle-test-XXXXXX";
    CHECK(mkdtemp(one) && mkdtemp(two));
    const char *const folders[] = { one, two };
    begin_cache(cache);
    write_text(two, "a.glsl", "#define VALUE 1001u\n");
    CHECK(stores(folders, text, 1001) && stores(folders, text, 1001));
    CHECK_EQ_U64(each_file(cache, keep), 1);
    write_text(two, "a.glsl", "#include \"b.glsl\"\n");
    write_text(two, "b.glsl", "#define VALUE 1002u\n");
    CHECK(stores(folders, text, 1002) && stores(folders, text, 1002));
    CHECK_EQ_U64(each_file(cache, keep), 2);
    write_text(two, "b.glsl", "#define VALUE 1003u\n");
    CHECK(stores(folders, text, 1003));
    write_text(one, "b.glsl", "#define VALUE 1004u\n"); /* beside the file that asks, first */
    CHECK(stores(folders, text, 1003));
    write_text(one, "a.glsl", "#include \"b.glsl\"\n");
    CHECK(stores(folders, text, 1004));
    CHECK_EQ_U64(each_file(cache, keep), 5);
    char *const made[] = { cache, one, two };
    for (size_t i = 0; i < COUNT_OF(made); i++)
        CHECK(each_file(made[i], remove_file) > 0 && rmdir(made[i]) == 0);
    unsetenv("HEDDLE_CACHE");
}

/* Sources whose includes a search for letters might not find are compiled each time. */
TEST(keeps_nothing_with_hidden_includes)
{
    static const char *const lines[] = {
        "#include /* this */ \"a.glsl\"\n",
        "#inc\\\nlude \"a.glsl\"\n",
        "#include \\\n \"a.glsl\"\n",
    };
    char cache[] = "/tmp/heddle-test-XXXXXX", one[] = "/tmp/heddle-test-XXXXXX";
    CHECK(mkdtemp(one));
    const char *const folders[] = { one, one };
    begin_cache(cache);
    write_text(one, "a.glsl", "#define VALUE 1001u\n");
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "#version 450\n#extension GL_GOOGLE_include_directive : require\n%s"
                 "layout(binding = 0) buffer Data { uint data[]; };\n"
                 "void main() { data[0] = VALUE; }\n",
                 lines[i]);
        CHECK(stores(folders, text, 1001));
    }
    CHECK_EQ_U64(each_file(cache, keep), 0);
    CHECK(each_file(one, remove_file) == 1 && rmdir(one) == 0 && rmdir(cache) == 0);
    unsetenv("HEDDLE_CACHE");
}

/* What the cache gives must not be the program's doing. */
TEST(needs_no_compiler_for_what_it_kept)
{
    char folder[] = "/tmp/heddle-test-XXXXXX", program[64];
    begin_cache(folder);
    snprintf(program, sizeof(program), "%s/../heddle-test-%ld.sh", folder, (long)getpid());
    FILE *f = fopen(program, "w");
    CHECK(f && fprintf(f,
                       "#!/bin/sh\n[ -e %s/once ] && exit 1\n: > %s/once\n"
                       "exec %s/bin/glslang \"$@\"\n",
                       folder, folder, HEDDLE_TOOLCHAIN) > 0);
    CHECK(f && fclose(f) == 0 && chmod(program, 0700) == 0);
    GlslOptions o = { .defines = &(GlslDefine){ "VALUE", "7u" },
                      .n_defines = 1,
                      .compiler = program };
    Compiled *first = compile(source, &o), *again = compile(source, &o);
    CHECK(same_module(first, again));
    unlink(program);
    each_file(folder, remove_file);
    CHECK(rmdir(folder) == 0);
    unsetenv("HEDDLE_CACHE");
    discard(first);
    discard(again);
}

TEST(says_what_is_wrong)
{
    GlslOptions o = { .compiler = HEDDLE_TOOLCHAIN "/bin/glslang" };
    Compiled *c = compile(source, &o);
    CHECK(c->status == TOOL_WRONG_SOURCE);
    CHECK_CONTAINS(c->diags.text, "some/where/k.comp:4:");
    CHECK_CONTAINS(c->diags.text, "undeclared identifier: 'VALUE'");
    discard(c);
    c = compile("", &o);
    CHECK(c->status == TOOL_WRONG_SOURCE);
    CHECK(c->diags.sink.errors > 0);
    discard(c);
    o.target_env = "vulkan9.9";
    c = compile(source, &o);
    CHECK(c->status == TOOL_WRONG_SOURCE);
    CHECK(c->diags.sink.errors > 0);
    discard(c);
}

TEST(says_that_there_is_no_compiler)
{
    GlslOptions o = { .compiler = "/nonexistent/glslang" };
    Compiled *c = compile(source, &o);
    CHECK(c->status == TOOL_MISSING);
    CHECK_CONTAINS(c->diags.text, "cannot run /nonexistent/glslang");
    discard(c);
    o.compiler = "/bin/false";
    c = compile(source, &o);
    CHECK(c->status == TOOL_WRONG_SOURCE);
    CHECK_CONTAINS(c->diags.text, "/bin/false ended with status 1");
    discard(c);
}

static void compile_again(void *user)
{
    Compiled *c = user;
    GlslOptions o = { .compiler = HEDDLE_TOOLCHAIN "/bin/glslang" };
    void *spirv = NULL;
    ToolSource named = { source, sizeof source - 1, "k.comp" };
    c->status = glsl_compile(&c->arena, &named, &o, &spirv, &c->size, &c->diags.sink);
}

TEST(runs_out_of_memory_cleanly)
{
    for (size_t limit = 1; limit < 1 << 20; limit *= 3) {
        Compiled *c = calloc(1, sizeof *c);
        c->diags = (TestDiags)TEST_DIAGS(c->diags);
        c->arena.limit = limit;
        arena_try(&c->arena, compile_again, c);
        discard(c);
    }
}
