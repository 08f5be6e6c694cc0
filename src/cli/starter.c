/* SPDX-License-Identifier: MIT
 *
 * new: a kernel to begin with, which runs as it is, and a test of it. Nothing is overwritten.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* %1$s: the kernel's name; %2$s: this command, for a shell */
static const char kernel[] =
    "// %1$s: c = a b, of matrices of 64 x 64 halves; c is of floats.\n"
    "//\n"
    "//     heddle run %1$s.comp --groups 4,4 --bind a=randn:f16[64,64]@1\n"
    "//         --bind b=randn:f16[64,64]@2 --bind c=zeros:f32[64,64]\n"
    "//\n"
    "// A workgroup is a subgroup, and makes a tile of 16 x 16 of c.\n"
    "#version 460\n"
    "#pragma use_vulkan_memory_model\n"
    "#extension GL_KHR_cooperative_matrix : require\n"
    "#extension GL_KHR_memory_scope_semantics : require\n"
    "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n"
    "\n"
    "layout(local_size_x = 32) in;\n"
    "layout(binding = 0) readonly buffer A { float16_t data[]; } a;\n"
    "layout(binding = 1) readonly buffer B { float16_t data[]; } b;\n"
    "layout(binding = 2) writeonly buffer C { float data[]; } c;\n"
    "\n"
    "const uint TILE = 16, N = 64;\n"
    "\n"
    "void main()\n"
    "{\n"
    "    uint row = gl_WorkGroupID.y * TILE, column = gl_WorkGroupID.x * TILE;\n"
    "    coopmat<float, gl_ScopeSubgroup, TILE, TILE, gl_MatrixUseAccumulator> sum =\n"
    "        coopmat<float, gl_ScopeSubgroup, TILE, TILE, gl_MatrixUseAccumulator>(0.0);\n"
    "    for (uint k = 0; k < N; k += TILE) {\n"
    "        coopmat<float16_t, gl_ScopeSubgroup, TILE, TILE, gl_MatrixUseA> x;\n"
    "        coopmat<float16_t, gl_ScopeSubgroup, TILE, TILE, gl_MatrixUseB> y;\n"
    "        coopMatLoad(x, a.data, row * N + k, N, gl_CooperativeMatrixLayoutRowMajor);\n"
    "        coopMatLoad(y, b.data, k * N + column, N, gl_CooperativeMatrixLayoutRowMajor);\n"
    "        sum = coopMatMulAdd(x, y, sum);\n"
    "    }\n"
    "    coopMatStore(sum, c.data, row * N + column, N, gl_CooperativeMatrixLayoutRowMajor);\n"
    "}\n";

static const char test[] =
    "#!/bin/sh\n"
    "# Sums of 64 products of 2 and 3; then the CPU against the interpreter, which looks for\n"
    "# mistakes while it runs. Where PATH has no heddle, the one that wrote this file is used.\n"
    "set -e\n"
    "cd \"$(dirname \"$0\")\"\n"
    "command -v heddle > /dev/null || heddle() { %2$s \"$@\"; }\n"
    "heddle run %1$s.comp --groups 4,4 --bind a=full:2:f16[64,64] --bind b=full:3:f16[64,64] \\\n"
    "    --bind c=zeros:f32[64,64] --compare c=full:384:f32[64,64]\n"
    "random=\"--groups 4,4 --bind a=randn:f16[64,64]@1 --bind b=randn:f16[64,64]@2\"\n"
    "out=$(mktemp -u).npy\n"
    "heddle run %1$s.comp $random --bind c=zeros:f32[64,64] --out c=$out\n"
    "heddle run %1$s.comp $random --bind c=zeros:f32[64,64] --check --compare c=$out\n"
    "rm $out\n";

/* Between single quotes, where a shell takes all but these as they are. */
static void quote(const char *s, char out[4 * PATH_MAX + 3])
{
    *out++ = '\'';
    for (; *s; s++) {
        size_t n = *s == '\'' ? 4 : 1;
        memcpy(out, n > 1 ? "'\\''" : s, n);
        out += n;
    }
    memcpy(out, "'", 2);
}

static bool write_file(const char *name, const char *suffix, const char *format, const char *self)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", name, suffix);
    FILE *f = fopen(path, "wxe");
    const char *slash = strrchr(name, '/');
    bool good = f && fprintf(f, format, slash ? slash + 1 : name, self) > 0;
    int error = errno;
    if (f && fclose(f) && good) {
        good = false;
        error = errno;
    }
    if (good)
        printf("wrote %s\n", path);
    else
        complain("%s: %s", path, strerror(error));
    return good;
}

static bool is_name(const char *s)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
    size_t n = strlen(s);
    return n && n < 256 && s[n - 1] != '/' && !s[strspn(s, letters)];
}

int command_new(const CliOptions *o)
{
    const char *name = o->inputs.data[0];
    if (!is_name(name)) {
        complain("'%s' is no name: letters, digits, _ - and . make one", name);
        return EXIT_USAGE;
    }
    char self[PATH_MAX], quoted[4 * PATH_MAX + 3];
    quote(own_path(self, 0) ? self : "heddle", quoted);
    if (!write_file(name, ".comp", kernel, quoted) || !write_file(name, "_test.sh", test, quoted))
        return EXIT_WRONG;
    printf("try: sh %s_test.sh\n", name);
    return EXIT_DONE;
}
