/* SPDX-License-Identifier: MIT
 *
 * Where programs are found: the environment, beside this program, in PATH.
 */
#include "base/test.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "front/tool.h"

TEST(the_environment_comes_first)
{
    Arena arena = { 0 };
    setenv("HEDDLE_TEST_TOOL", "/somewhere/else", 1);
    CHECK_STR(tool_find(&arena, "HEDDLE_TEST_TOOL", "glslang"), "/somewhere/else");
    setenv("HEDDLE_TEST_TOOL", "", 1);
    CHECK(strcmp(tool_find(&arena, "HEDDLE_TEST_TOOL", "glslang"), ""));
    unsetenv("HEDDLE_TEST_TOOL");
    arena_free(&arena);
}

TEST(then_what_lies_beside_this_program)
{
    Arena arena = { 0 };
    char self[PATH_MAX], folder[PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    REQUIRE(n > 0);
    self[n] = 0;
    *strrchr(self, '/') = 0;
    snprintf(folder, sizeof folder, "%s/../libexec/heddle/beside-%d", self, (int)getpid());
    FILE *f = fopen(folder, "we");
    REQUIRE(f);
    fclose(f);
    char name[32];
    snprintf(name, sizeof name, "beside-%d", (int)getpid());
    CHECK_STR(tool_find(&arena, "HEDDLE_TEST_TOOL", name), name); /* it cannot be run yet */
    chmod(folder, 0755);
    CHECK_STR(tool_find(&arena, "HEDDLE_TEST_TOOL", name), folder);
    unlink(folder);
    arena_free(&arena);
}

TEST(else_the_name_is_left_to_path)
{
    Arena arena = { 0 };
    CHECK_STR(tool_find(&arena, "HEDDLE_TEST_TOOL", "no-such-program"), "no-such-program");
    arena_free(&arena);
}
