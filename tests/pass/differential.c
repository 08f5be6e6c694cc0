/* SPDX-License-Identifier: MIT
 *
 * The kernels of this folder mean the same after each pass: the interpreter runs the module as it
 * was and as each pass left it, on the same buffers, and every byte must agree.
 */
#include "base/test.h"
#include "front/glsl/glsl.h"
#include "pass/pass.h"
#include "reference/reference.h"

#include <stdlib.h>

#define FOLDER HEDDLE_SOURCE_DIR "/tests/pass/"

enum { N_BUFFERS = 3, BYTES = 1 << 16 };

typedef struct Case {
    const char *file;
    const char *source;         /* NULL: what is in the file */
    bool floats;                /* what the buffers hold: small numbers as float or as uint */
    uint32_t groups[2], push[4];
    SpvSpecValue spec[4];
    uint32_t n_spec;
} Case;

static const Case cases[] = {
    { "gemm.comp", NULL, true, { 2, 2 }, { 128, 128, 80, 0x40000000 }, { { 0, 4 } }, 1 },
    { "gemm.comp", NULL, true, { 1, 2 }, { 64, 16, 24, 0x3f800000 },
      { { 0, 2 }, { 1, 1 }, { 2, 8 }, { 4, 8 } }, 4 },
    { "gemm.comp", NULL, true, { 1, 1 }, { 128, 128, 0, 0x3f800000 }, { { 0, 1 } }, 1 },
    { "returns.comp", NULL, false, { 2, 1 }, { 0 }, { { 0, 0 } }, 0 },
    { "control.comp", NULL, false, { 1, 1 }, { 9, 0 }, { { 0, 0 } }, 0 },
    { "control.comp", NULL, false, { 1, 1 }, { 9, 1 }, { { 0, 0 } }, 0 },
    { "control.comp", NULL, false, { 1, 1 }, { 9, 3 }, { { 0, 0 } }, 0 },
    { "aggregates.comp", NULL, true, { 1, 1 }, { 0 }, { { 0, 0 } }, 0 },
    { "constants.comp", NULL, true, { 1, 1 }, { 0 }, { { 0, 8 }, { 1, 5 } }, 2 },
    { "constants.comp", NULL, true, { 1, 1 }, { 0 }, { { 0, 4 }, { 2, 0 } }, 2 },
};

typedef struct Compare {
    const Case *k;
    TestDiags diags;
    uint32_t subgroup_size;
    ToolStatus status;
    bool versions; /* it made a version */
    bool staged;   /* workgroup memory is left behind `unstage` */
    uint8_t *start, *want, *got; /* N_BUFFERS * BYTES each */
} Compare;

static void fill(Compare *c)
{
    Rng rng = { 7 };
    for (uint32_t at = 0; at < N_BUFFERS * BYTES; at += 4) {
        uint32_t x = (uint32_t)(rng_uniform(&rng) * 40);
        float f = (float)x - 20;
        memcpy(c->start + at, c->k->floats ? (void *)&f : (void *)&x, 4);
    }
}

static bool interpret(Compare *c, Arena *a, SpvModule *m, bool specialised, uint8_t *buffers)
{
    RefBinding bindings[N_BUFFERS];
    SpvSpecValue spec[4];
    RefResult result;
    memcpy(buffers, c->start, (size_t)N_BUFFERS * BYTES);
    for (uint32_t n = 0; n < N_BUFFERS; n++)
        bindings[n] = (RefBinding){ .binding = n, .base = buffers + n * BYTES, .size = BYTES };
    for (uint32_t n = 0; n < c->k->n_spec; n++)
        spec[n] = (SpvSpecValue){ c->k->spec[n].id, c->k->spec[n].bits };
    RefDispatch d = { .bindings = bindings,
                      .n_bindings = N_BUFFERS,
                      .spec = spec,
                      .n_spec = specialised ? 0 : c->k->n_spec,
                      .push = c->k->push,
                      .push_size = sizeof c->k->push,
                      .groups = { c->k->groups[0], c->k->groups[1], 1 },
                      .subgroup_size = c->subgroup_size };
    return ref_dispatch(a, m, &d, &result, &c->diags.sink);
}

static bool has_workgroup_memory(const SpvModule *m)
{
    const SpvInst *i = m->globals.first;
    while (i && (i->op != SpvOpVariable || spv_operand(i, 0) != SpvStorageClassWorkgroup))
        i = i->next;
    return i;
}

/* Which only `inside` writes here: what it asks at the beginning is in 64 bits. */
static bool has_wide_integers(const SpvModule *m)
{
    const SpvInst *i = m->globals.first;
    while (i && (i->op != SpvOpTypeInt || spv_operand(i, 0) != 64))
        i = i->next;
    return i;
}

static void after(void *user, const char *pass, SpvModule *m)
{
    Compare *c = user;
    if (!strcmp(pass, "unstage"))
        c->staged = has_workgroup_memory(m);
    else if (!strcmp(pass, "inside"))
        c->versions = has_wide_integers(m);
    else if (c->k->source && strcmp(pass, "whole"))
        return;
    Arena a = { 0 };
    jmp_buf failed;
    a.on_failure = &failed;
    if (setjmp(failed)) {
        test_fail(__FILE__, __LINE__, "out of memory after %s", pass);
    } else {
        size_t size;
        const void *words = spv_write(&a, m, &size);
        SpvModule *again = spv_read(&a, words, size, pass, &c->diags.sink);
        if (!again || !interpret(c, &a, again, true, c->got))
            test_fail(__FILE__, __LINE__, "%s after %s: %s", c->k->file, pass, c->diags.text);
        else if (memcmp(c->want, c->got, (size_t)N_BUFFERS * BYTES))
            test_fail(__FILE__, __LINE__,
                      "%s computes something else after %s, with %d, %d, %d\n%s", c->k->file, pass,
                      (int)c->k->push[0], (int)c->k->push[1], (int)c->k->push[2],
                      c->k->source ? c->k->source : "");
    }
    arena_free(&a);
}

static const char *read_source(const char *path, Arena *a)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *source = arena_alloc(a, 65536);
    source[fread(source, 1, 65535, f)] = '\0';
    fclose(f);
    return source;
}

static SpvModule *compile(Compare *c, Arena *a)
{
    char path[1024];
    void *spirv;
    size_t size;
    snprintf(path, sizeof path, "%s%s", FOLDER, c->k->file);
    const char *source = c->k->source ? c->k->source : read_source(path, a);
    if (!source)
        return NULL;
    GlslOptions options = { .target_env = "vulkan1.3" };
    ToolSource named = { source, strlen(source), path };
    c->status = glsl_compile(a, &named, &options, &spirv, &size, &c->diags.sink);
    return c->status == TOOL_OK ? spv_read(a, spirv, size, path, &c->diags.sink) : NULL;
}

/* Whether what it looks for was done: a version for workgroups away from edges was made, or
 * (without `inside`) workgroup memory that was staged to is gone. */
static bool run_case(const Case *k, uint32_t subgroup_size, bool optimise, bool inside)
{
    static const uint32_t all = N_BUFFERS * BYTES;
    Compare c = { .k = k, .subgroup_size = subgroup_size, .status = TOOL_IO };
    Arena a = { 0 };
    jmp_buf failed;
    c.diags = (TestDiags)TEST_DIAGS(c.diags);
    a.on_failure = &failed;
    if (setjmp(failed)) {
        test_fail(__FILE__, __LINE__, "out of memory");
        arena_free(&a);
        return false;
    }
    c.start = arena_alloc(&a, all);
    c.want = arena_alloc(&a, all);
    c.got = arena_alloc(&a, all);
    fill(&c);
    SpvModule *m = compile(&c, &a);
    PassOptions o = { .spec = k->spec, .n_spec = k->n_spec, .subgroup_size = subgroup_size,
                      .optimise = optimise, .inside = inside, .unstage = 32,
                      .forward = inside, .after = after, .user = &c };
    SpvEntryPoint entry;
    if (c.status == TOOL_MISSING)
        printf("no glslang: %s is not tested\n", k->file);
    else if (!m || !interpret(&c, &a, spv_clone(&a, m), false, c.want))
        test_fail(__FILE__, __LINE__, "%s: %s", k->file, c.diags.text);
    else if (!memcmp(c.want, c.start, all))
        test_fail(__FILE__, __LINE__, "%s writes nothing", k->file);
    else
        CHECK(pass_pipeline(m, &o, &entry, &c.diags.sink));
    arena_free(&a);
    return inside ? c.versions : !c.staged;
}

TEST(every_pass_keeps_the_meaning)
{
    for (uint32_t k = 0; k < COUNT_OF(cases); k++)
        run_case(&cases[k], 32, true, true);
}

TEST(other_subgroups)
{
    for (uint32_t k = 0; k < COUNT_OF(cases); k++)
        if (strcmp(cases[k].file, "constants.comp"))
            run_case(&cases[k], 8, true, false);
}

TEST(the_minimum)
{
    for (uint32_t k = 0; k < COUNT_OF(cases); k++)
        run_case(&cases[k], 32, false, false);
}

/* ---- tiles that a workgroup stages ----------------------------------------------------------- */

static uint32_t any(Rng *rng, uint32_t n) { return (uint32_t)(rng_uniform(rng) * n) % n; }

static const char *one_of(Rng *rng, const char *const *texts, uint32_t n)
{
    return texts[any(rng, n)];
}

typedef struct Tile {
    uint32_t local[2], before[2], behind[2]; /* of the workgroup's own elements */
    uint32_t reads, most; /* that are worth it */
    bool turned, again; /* read by columns; in each iteration of a loop */
    bool by_some, late; /* filled behind a test; with what changes later */
} Tile;

static void write_filling(Rng *rng, Arena *a, Str *s, Tile *t)
{
    static const char *const element[] = { "a[v * n + u]", "T(a[v * n + u] + T(one))",
        "(u & 1) == 0 ? a[v * n + u] : u < 5 ? T(one) : a[v * n + u - 1]",
        "u >= 0 && u < n && v >= 0 && v < h ? a[v * n + u] : T(zero)",
        "v < h ? a[max(v, 0) * n + clamp(u, 0, n - 1)] : T(one)",
        "a[clamp(v, 0, h - 1) * n + clamp(u, 0, n - 1)]" };
    static const char *const origin[] = { "int(gl_WorkGroupID[k] * gl_WorkGroupSize[k])",
        "int(gl_GlobalInvocationID[k]) - int(gl_LocalInvocationID[k])" };
    static const char *const loops[] = {
        "for (int j = ly; j < H; j += LY) for (int i = lx; i < W; i += LX)",
        "for (int i = lx; i < W; i += LX) for (int j = ly; j < H; j += LY)",
        "for (int at = int(gl_LocalInvocationIndex); at < W * H; at += LX * LY)",
        "int j = ly, i; do { i = lx; do", /* see below */
        "for (int j = ly; j < H; j += LY) if (lx < (W + 1) / 2)"
        " for (int i = lx; i < W; i += (W + 1) / 2)" };
    bool single = !(t->before[0] | t->before[1] | t->behind[0] | t->behind[1]) && any(rng, 2);
    uint32_t loop = any(rng, 5);
    uint32_t form = any(rng, COUNT_OF(element)); /* the last three stay inside */
    t->again = any(rng, 4) == 0;
    t->most = form > 1 && form < 5 ? 6 : form < 2 && t->again ? 16 : 12;
    str_printf(a, s, "#define SHIFT %u\n#define ORIGIN(k) (%s)\n",
               form < 3 ? 2 : 2 * any(rng, 2), one_of(rng, origin, 2));
    str_printf(a, s, "int ox = ORIGIN(0), oy = ORIGIN(1);\n");
    str_printf(a, s, "%s {\n",
               t->again ? "for (int k = 0; k < h - 35; k += 2)" : "const int k = 0;");
    str_printf(a, s, "%s { %s\n", single ? "" : loops[loop],
               single      ? "int i = lx, j = ly;"
               : loop == 2 ? "int i = at % W, j = at / W;"
                           : "");
    str_printf(a, s, "int u = ox + i - BX + SHIFT, v = oy + j - BY + SHIFT + k;\n%s = %s; %s\n",
               any(rng, 2) ? "tile[j * W + i]" : "tile[i + W * j]", element[form],
               single || loop != 3 ? "}" : "i += LX; } while (i < W); j += LY; } while (j < H);");
}

static void write_reads(Rng *rng, Arena *a, Str *s, Tile *t)
{
    const char *at = t->turned ? "tile[(lx + BX + (%s)) * W + ly + BY + (%s)]"
                               : "tile[(ly + BY + (%s)) * W + lx + BX + (%s)]";
    if (any(rng, 3) == 0) {
        t->reads = (t->before[0] + 1 + t->behind[0]) * (t->before[1] + 1 + t->behind[1]);
        str_printf(a, s, "for (int y = -BY; y <= EY; y++) for (int x = -BX; x <= EX; x++) ");
        str_printf(a, s, "sum = sum * 5u + uint(int(");
        str_printf(a, s, at, "y", "x");
        str_printf(a, s, "));\n");
        return;
    }
    t->reads = 1 + any(rng, 5);
    for (uint32_t n = t->reads; n--;) {
        char dx[16], dy[16];
        snprintf(dx, sizeof dx, "%d", (int)any(rng, t->before[0] + t->behind[0] + 1) -
                                          (int)t->before[0]);
        snprintf(dy, sizeof dy, "%d", (int)any(rng, t->before[1] + t->behind[1] + 1) -
                                          (int)t->before[1]);
        str_printf(a, s, "sum = sum * 5u + uint(int(");
        str_printf(a, s, at, t->turned ? dx : dy, t->turned ? dy : dx);
        str_printf(a, s, "));\n");
    }
}

/* By some invocations, of what only they compute: a number of the workgroup's that is not written
 * any more, or (late) one that is. */
static void write_filling_by_some(Rng *rng, Arena *a, Str *s, Tile *t)
{
    static const char *const number[] = { "d[gl_WorkGroupID.y * 2 + gl_WorkGroupID.x]", "other[1]",
                                          "h * h - n", "n / 7 + one" };
    uint32_t form = any(rng, COUNT_OF(number));
    const char *guard[] = { "gl_LocalInvocationIndex < (W * H + 1) / 2", "lx < LX && ly < 1",
                            "lx % 2 == 0 && ly % 2 == 0" };
    const char *loops[] = {
        "for (int at = int(gl_LocalInvocationIndex); at < W * H; at += (W * H + 1) / 2)",
        "for (int at = lx; at < W * H; at += LX)",
        "for (int at = (ly / 2) * ((LX + 1) / 2) + lx / 2; at < W * H; "
        "at += ((LX + 1) / 2) * ((LY + 1) / 2))" };
    uint32_t who = any(rng, 3);
    t->late = form < 2;
    str_printf(a, s, "if (gl_LocalInvocationIndex == 0) other[1] = n + 3; barrier();\n");
    str_printf(a, s, "if (%s) {\nint q = int(%s);\n", guard[who], number[form]);
    if (any(rng, 3) == 0)
        str_printf(a, s, "if (h > 35) q = q * 3; else q -= n;\n");
    str_printf(a, s, "%s { int i = at %% W, j = at / W;\n", loops[who]);
    str_printf(a, s, "tile[j * W + i] = T(a[i + j * W + 5] + T(q)); } }\n");
}

static const char *staged_kernel(Rng *rng, Arena *a, Tile *t)
{
    static const char *const types[] = { "float", "uint", "int", "int8_t", "uint16_t",
                                         "float16_t" };
    static const char *const head =
        "#version 460\n"
        "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
        "#extension GL_EXT_shader_16bit_storage : require\n"
        "#extension GL_EXT_shader_8bit_storage : require\n"
        "#define T %s\n#define LX %u\n#define LY %u\n"
        "#define BX %u\n#define BY %u\n#define EX %u\n#define EY %u\n"
        "#define W (LX + BX + EX)\n#define H (LY + BY + EY)\n"
        "layout(local_size_x = LX, local_size_y = LY) in;\n"
        "layout(binding = 0) restrict readonly buffer A { T a[]; };\n"
        "layout(binding = 1) buffer D { int d[]; };\n"
        "layout(binding = 2) buffer C { uint c[]; };\n"
        "layout(push_constant) uniform P { int n, h, zero, one; };\n"
        "shared T tile[W * H];\nshared int other[2];\n"
        "void main() {\n"
        "int lx = int(gl_LocalInvocationID.x), ly = int(gl_LocalInvocationID.y);\n"
        "uint sum = 1u;\n";
    Str s = { 0 };
    uint32_t x = 2 + any(rng, 4);
    *t = (Tile){ .local = { 1u << x, 1u << (5 + any(rng, 2) - x) } };
    for (uint32_t k = 0; k < 4 && any(rng, 4); k++)
        *(k < 2 ? &t->before[k] : &t->behind[k - 2]) = any(rng, 3);
    t->turned = t->local[0] == t->local[1] && t->before[0] == t->before[1] &&
                t->behind[0] == t->behind[1] && any(rng, 2);
    const char *type = one_of(rng, types, COUNT_OF(types));
    str_printf(a, &s, head, type, t->local[0], t->local[1], t->before[0], t->before[1],
               t->behind[0], t->behind[1]);
    bool by_some = any(rng, 4) == 0;
    if (by_some)
        str_printf(a, &s, "{\n");
    (by_some ? write_filling_by_some : write_filling)(rng, a, &s, t);
    str_printf(a, &s, "barrier();\n");
    if (by_some) /* what was used is another number now */
        str_printf(a, &s, "if (gl_LocalInvocationIndex == 0) { other[1] = 99;\n"
                          "d[gl_WorkGroupID.y * 2 + gl_WorkGroupID.x] = 98; }\n"
                          "memoryBarrierBuffer(); barrier();\n");
    write_reads(rng, a, &s, t);
    t->by_some = by_some;
    str_printf(a, &s, "barrier();\n}\n"
                      "c[gl_GlobalInvocationID.y * 128 + gl_GlobalInvocationID.x] = sum;\n}\n");
    return s.data;
}

TEST(tiles_that_are_not_staged)
{
    uint32_t gone = 0;
    for (uint32_t k = 0; k < 120 / HEDDLE_TEST_STEP; k++) {
        Rng rng = { 1000 + k };
        Arena a = { 0 };
        Tile t;
        Case c = { .file = "a staged tile", .floats = k % 2, .groups = { 2, 2 },
                   .push = { 70, 40, 0, 1 } };
        c.source = staged_kernel(&rng, &a, &t);
        bool want = !t.turned && t.reads <= t.most;
        bool is_gone = run_case(&c, 32, true, false);
        run_case(&c, 32, true, true);
        if (t.by_some ? is_gone && t.late : is_gone != want)
            test_fail(__FILE__, __LINE__, "%s:\n%s", is_gone ? "not staged" : "staged", c.source);
        gone += is_gone;
        arena_free(&a);
    }
    CHECK(gone);
}

/* ---- tests at edges -------------------------------------------------------------------------- */

static const char *const numbers[] = {
    "x", "y", "lx", "x - 1", "y + 2", "gx * LX + lx", "(x << 1) - 3", "x + gx", "5 - y", "x - lx",
    "x + k", "y - k", "gy * 8 + k", "x + k * 4 - 4", "int(gl_LocalInvocationIndex) + gx * 4",
    "2147483600 + x", "x * 65536 + y", "(lx & 3) + gx * 2", "lx / 4 + x % 8 + gy", "x * n",
};

static const char *const edges[] = { "0", "1", "2", "-1", "16", "40", "n", "h", "n - 1", "h * 2",
                                     "n + h", "n - 40", "zero", "one - n" };

static void write_condition(Rng *rng, Arena *a, Str *s)
{
    static const char *const compare[] = { "<", "<=", ">", ">=", "==", "!=" };
    static const char *const types[] = { "int", "int", "uint" };
    const char *type = one_of(rng, types, 3);
    bool turned = any(rng, 4) == 0;
    const char *own = one_of(rng, numbers, COUNT_OF(numbers)),
               *edge = one_of(rng, edges, COUNT_OF(edges));
    str_printf(a, s, "%s(%s) %s %s(%s)", type, turned ? edge : own,
               one_of(rng, compare, COUNT_OF(compare)), type, turned ? own : edge);
}

static void write_step(Rng *rng, Arena *a, Str *s)
{
    static const char *const limits[] = { "min", "max", "clamp" };
    uint32_t form = any(rng, 4), limit = any(rng, 3);
    if (form == 0) {
        const char *own = one_of(rng, numbers, COUNT_OF(numbers));
        const char *type = any(rng, 2) ? "int" : "uint";
        str_printf(a, s, "sum = sum * 5u + uint(%s(%s(%s), %s(%s)", limits[limit], type, own, type,
                   limit == 2 ? "0" : one_of(rng, edges, COUNT_OF(edges)));
        if (limit == 2)
            str_printf(a, s, ", %s(max(n, 0))", type);
        str_printf(a, s, "));\n");
        return;
    }
    str_printf(a, s, form == 1 ? "if (" : "sum = sum * 5u + (");
    for (uint32_t n = 1 + any(rng, 4); n--;) {
        write_condition(rng, a, s);
        str_printf(a, s, n ? any(rng, 5) ? " && " : " || " : "");
    }
    str_printf(a, s, form == 1 ? ") sum = sum * 7u + a[uint(x + k) & 1023];\n"
                               : " ? uint(k) + 2u : 1u);\n");
}

static const char *kernel_with_edges(Rng *rng, Arena *a)
{
    static const char *const loops[][2] = {
        { "const int k = 1; {\n", "}\n" },
        { "for (int k = -2; k <= 2; k++) {\n", "}\n" },
        { "for (int k = 0; k < few; k++) {\n", "}\n" },
        { "for (int k = 0; few > k; k += 3) {\n", "}\n" },
        { "for (int k = lx; k < 40; k += int(LX)) {\n", "}\n" },
        { "int k = 1; do {\n", "k += 2; } while (k < few);\n" },
        { "for (uint j = 2u; j < uint(few); j += 2u) { int k = int(j);\n", "}\n" },
        { "for (int k = n - 3; k < n; k++) {\n", "if (k > n - 2) break; }\n" },
        { "for (int i = 0; i < few; i += 2) for (int k = i; k < i + 3; k++) {\n", "}\n" },
        { "int k = few; while (k >= 0) {\n", "k -= 2; }\n" },
    };
    static const char *const head =
        "#version 460\n#define LX %u\n#define LY %u\n"
        "layout(local_size_x = LX, local_size_y = LY) in;\n"
        "layout(binding = 0) readonly buffer A { uint a[]; };\n"
        "layout(binding = 2) buffer C { uint c[]; };\n"
        "layout(push_constant) uniform P { int n, h, few, one; };\n"
        "const int zero = 0;\n"
        "void main() {\n"
        "int x = int(gl_GlobalInvocationID.x), y = int(gl_GlobalInvocationID.y);\n"
        "int lx = int(gl_LocalInvocationID.x), gx = int(gl_WorkGroupID.x);\n"
        "int gy = int(gl_WorkGroupID.y); uint sum = 1u;\n";
    Str s = { 0 };
    uint32_t x = 3 + any(rng, 3), loop = any(rng, COUNT_OF(loops));
    str_printf(a, &s, head, 1u << x, 64u >> x);
    str_printf(a, &s, "%s", loops[loop][0]);
    for (uint32_t n = 1 + any(rng, 5); n--;)
        write_step(rng, a, &s);
    str_printf(a, &s, "%sc[gl_GlobalInvocationID.y * 128 + gl_GlobalInvocationID.x] = sum;\n}\n",
               loops[loop][1]);
    return s.data;
}

/* The size of the image that the kernel may think of; some overflow. */
static uint32_t any_size(Rng *rng)
{
    static const uint32_t sizes[] = { 0, 1, 17, 40, 64, 100, 128, 1000, 1000, 100000, INT32_MAX,
                                      INT32_MAX - 20, 0x80000000, (uint32_t)-5 };
    return sizes[any(rng, COUNT_OF(sizes))];
}

TEST(versions_away_from_edges)
{
    uint32_t versions = 0, n = 240 / HEDDLE_TEST_STEP;
    for (uint32_t k = 0; k < n; k++) {
        Rng rng = { 3000 + k };
        Arena a = { 0 };
        Case c = { .file = "tests at edges", .groups = { 3, 3 },
                   .push = { any_size(&rng), any_size(&rng), any(&rng, 14), 1 } };
        c.source = kernel_with_edges(&rng, &a);
        versions += run_case(&c, 32, true, true);
        arena_free(&a);
    }
    CHECK(versions > n / 4);
}
