/* SPDX-License-Identifier: MIT
 *
 * Random kernels of OpenCL C, without matrices: heddle's front end and clang compile the same file,
 * the former for Vulkan too, all run, on the cpu and the reference device, with the same results.
 * Arithmetic that could overflow is of unsigned numbers, so that every kernel has one meaning.
 *
 * HEDDLE_RANDOM_KERNELS sets how many (48 unless told), HEDDLE_RANDOM_SEED the first one's seed.
 * Without a clang that makes SPIR-V, the two devices are compared.
 */
#include "base/test.h"

#include <heddle/heddle.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 96, VARIABLES = 5 };

static const char *const types[] = { "char", "uchar", "short", "ushort",
                                     "int",  "uint",  "long",  "ulong" };

typedef struct Program {
    Rng rng;
    char text[1 << 21];
    size_t size;
    uint32_t type[VARIABLES];
} Program;

static uint32_t below(Program *p, uint32_t n) { return (uint32_t)(rng_u64(&p->rng) >> 33) % n; }

static PRINTF_LIKE(2, 3) void put(Program *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(p->text + p->size, sizeof p->text - p->size, fmt, args);
    va_end(args);
    p->size = MIN(p->size + (size_t)MAX(n, 0), sizeof p->text - 1);
}

static const char *random_type(Program *p) { return types[below(p, COUNT_OF(types))]; }

static void expression(Program *p, uint32_t depth);

static void binary(Program *p, const char *format, uint32_t depth)
{
    for (const char *s = format; *s; s++) {
        if (*s == '@')
            expression(p, depth);
        else if (*s == 'T')
            put(p, "%s", random_type(p));
        else
            put(p, "%c", *s);
    }
}

/* T: any type; @: an expression. */
static void expression(Program *p, uint32_t depth)
{
    static const char *const forms[] = {
        "(T)((ulong)(@) + (ulong)(@))", "(T)((ulong)(@) - (ulong)(@))",
        "(T)((ulong)(@) * (ulong)(@))", "((@) & (@))", "((@) | (@))", "((@) ^ (@))", "(~(@))",
        "((T)(@) >> ((@) & 7))", "((ulong)(@) << ((@) & 63))", "((@) / (((@) & 15) + 1))",
        "((@) % (((@) & 31) + 1))", "((@) < (@))", "((@) == (@))", "((@) ? (long)(@) : (long)(@))",
        "(!(@))", "((@) && (@))", "((@) || (@))", "(T)(@)", "convert_char_sat((float)(short)(@))",
        "min((int)(@), (int)(@))", "popcount((uint)(@))", "abs((int)(@))",
        "rotate((uint)(@), (uint)(@))", "mul_hi((uint)(@), (uint)(@))",
        "add_sat((short)(@), (short)(@))", "((uint4)((uint)(@), (uint)(@), 7, 9).yx).x",
        "dot4((uint4)((uint)(@), 3, (uint)(@), 1), (uint4)((uint)(@)))",
        "(int)convert_float((short)(@))", "clamp((T)(@), (T)3, (T)100)",
        "sum8((uint8)((uint)(@)) * (uint8)((uint)(@), 2, 3, 4, (uint)(@), 6, 7, 8))",
        "({ T t_ = (T)(@); __typeof__(t_) u_ = (@); t_ ^= u_; t_; })",
        "({ uint s_ = 0; for (int k_ = 0; k_ < 3; k_++) s_ = s_ * 5 + (uint)(@); s_; })",
        ("({ __typeof__(@) t_; switch ((int)(@) & 7) { case 0 ... 2: t_ = (@); break; "
         "case 5 ... 6: t_ = 9; break; default: t_ = (@); } t_; })"),
        "__builtin_popcount((uint)(@))", "__builtin_expect((@), 1)",
        "sum8((convert_uint8((uchar8)((uchar)(@), 9, (uchar)(@), 1, 2, 3, 4, 5)) & 255).s73625140)",
    };
    if (!depth || !below(p, 6)) {
        if (below(p, 3))
            put(p, "x%u", below(p, VARIABLES));
        else
            put(p, "%d", (int)below(p, 200) - 100);
        return;
    }
    const char *form = forms[below(p, COUNT_OF(forms))];
    if (!strncmp(form, "clamp", 5)) { /* three operands of one type */
        const char *t = random_type(p);
        put(p, "clamp((%s)(", t);
        expression(p, depth - 1);
        put(p, "), (%s)3, (%s)100)", t, t);
        return;
    }
    binary(p, form, depth - 1);
}

static void assignment(Program *p)
{
    uint32_t k = below(p, VARIABLES);
    put(p, "        x%u = (%s)(", k, types[p->type[k]]);
    expression(p, 3);
    put(p, ");\n");
}

/* @: an expression; #: a variable; N: a small number. */
static void put_form(Program *p, const char *form)
{
    for (const char *s = form; *s; s++) {
        if (*s == '@')
            expression(p, 1);
        else if (*s == '#')
            put(p, "x%u", below(p, VARIABLES));
        else if (*s == 'N')
            put(p, "%u", below(p, 40));
        else
            put(p, "%c", *s);
    }
}

/* Pointers into one array or the other, which are kept in arrays, alone and in structures. */
static void pointers(Program *p)
{
    static const char *const forms[] = {
        "    const int *list[4];\n"
        "    for (int k = 0; k < 4; k++)\n"
        "        list[k] = (@) & 1 ? own + k : (const int *)(a + k * N);\n"
        "    list[(@) & 3] = own + ((@) & 3);\n"
        "    own[(@) & 3] = @;\n"
        "    # ^= *list[(@) & 3] ^ picked(list, (int)(@));\n"
        "    list[1] = list[(@) & 3];\n"
        "    # ^= picked(list, 1) ^ list[3][0];\n",
        "    const int *far = (const int *)a;\n"
        "    Cell cells[3] = { { 1, { own, far } }, { 2, { far + N, own + 1 } },\n"
        "                      { 3, { own + 3, own } } };\n"
        "    cells[(@) & 1].at[(@) & 1] = own + ((@) & 3);\n"
        "    Cell one = cells[((@) & 255) % 3];\n"
        "    # ^= one.n ^ *one.at[(@) & 1];\n"
        "    one.at[0] = (@) & 1 ? one.at[1] : cells[2].at[(@) & 1];\n"
        "    cells[1] = one;\n"
        "    # ^= *cells[((@) & 255) % 3].at[0];\n",
        "    global const int *rows[2][3];\n"
        "    for (int k = 0; k < 6; k++)\n"
        "        rows[k / 3][k % 3] = a + k * N;\n"
        "    rows[(@) & 1][((@) & 255) % 3] += N;\n"
        "    # ^= rows[(@) & 1][((@) & 255) % 3][(@) & 7] ^ *rows[1][N & 1];\n",
    };
    put_form(p, forms[below(p, COUNT_OF(forms))]);
}

static void statement(Program *p)
{
    uint32_t what = below(p, 8);
    if (what == 7) {
        pointers(p);
    } else if (what == 6) {
        put(p, "    switch ((int)(");
        expression(p, 1);
        put(p, ") & 31) {\n    case 1 ... 9:\n");
        assignment(p);
        put(p, "    case %u:\n", 10 + below(p, 5));
        assignment(p);
        put(p, "        break;\n    case 20 ... %u:\n", 20 + below(p, 12));
        assignment(p);
        put(p, "    }\n");
    } else if (what == 5) { /* a pointer into one array or the other, which walks */
        put(p, "    const int *p = (");
        expression(p, 1);
        put(p, ") & 1 ? own : (const int *)(a + %u);\n    own[(", below(p, 40));
        expression(p, 1);
        put(p, ") & 3] = ");
        expression(p, 1);
        put(p, ";\n    x%u ^= *p + p[(", below(p, VARIABLES));
        expression(p, 1);
        put(p, ") & 3];\n");
    } else if (what == 0) {
        static const char *const hints[] = { "", "#pragma unroll\n", "#pragma unroll 2\n",
                                             "#pragma nounroll\n" };
        put(p, "%s    for (int k = 0; k < %u; k++) {\n", hints[below(p, COUNT_OF(hints))],
            2 + below(p, 6));
        assignment(p);
        put(p, "        if ((");
        expression(p, 2);
        put(p, ") == 0) %s;\n", below(p, 2) ? "break" : "continue");
        assignment(p);
        put(p, "    }\n");
    } else if (what == 1) {
        put(p, "    if (");
        expression(p, 2);
        put(p, ") {\n");
        assignment(p);
        put(p, "    } else {\n");
        assignment(p);
        put(p, "    }\n");
    } else if (what == 2) {
        put(p, "    switch ((int)(");
        expression(p, 1);
        put(p, ") & 3) {\n    case 0:\n");
        assignment(p);
        put(p, "    case 2:\n");
        assignment(p);
        put(p, "        break;\n    default:\n");
        assignment(p);
        put(p, "    }\n");
    } else {
        assignment(p);
    }
}

static void write_kernel(Program *p, uint32_t number)
{
    put(p, "__attribute__((reqd_work_group_size(32, 1, 1)))\n");
    put(p, "kernel void k%u(global const int *a, global long *r)\n{\n", number);
    put(p, "    int i = get_global_id(0);\n");
    for (uint32_t k = 0; k < VARIABLES; k++) {
        p->type[k] = below(p, COUNT_OF(types));
        put(p, "    %s x%u = (%s)a[i * %u + %u];\n", types[p->type[k]], k, types[p->type[k]],
            VARIABLES, k);
    }
    put(p, "    int own[4] = { i, 2, -3, 4 };\n");
    for (uint32_t k = 0; k < 5; k++) {
        put(p, "    {\n");
        statement(p);
        put(p, "    }\n");
    }
    put(p, "    r[i] = x0");
    for (uint32_t k = 1; k < VARIABLES; k++)
        put(p, " ^ (long)((ulong)x%u << %u)", k, k * 3);
    put(p, ";\n}\n\n");
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct Fixture {
    HeddleDevice *devices[2];
    HeddleLog *log;
    HeddleArray *in, *out;
} Fixture;

static bool run(Fixture *f, HeddleModule *m, uint32_t device, const char *entry)
{
    HeddleKernel *k = NULL;
    HeddleBuffer *a = NULL, *r = NULL;
    HeddleKernelOptions o = { .entry = entry };
    HeddleDevice *d = f->devices[device];
    memset(f->out->data, 0, f->out->size);
    bool good = !heddle_kernel_new(d, m, &o, &k, f->log) &&
                !heddle_buffer_wrap(d, f->in->data, f->in->size, &a, f->log) &&
                !heddle_buffer_wrap(d, f->out->data, f->out->size, &r, f->log);
    HeddleBinding b[2] = { { .binding = 0, .buffer = a }, { .binding = 1, .buffer = r } };
    HeddleDispatch x = { .groups = { N / 32, 1, 1 }, .bindings = b, .n_bindings = 2 };
    good = good && !heddle_dispatch(k, &x, NULL, f->log);
    heddle_buffer_free(a);
    heddle_buffer_free(r);
    heddle_kernel_free(k);
    return good;
}

/* The file as clang compiles it; NULL where there is no such clang. */
static HeddleModule *by_clang(const Program *p, HeddleLog *log)
{
    char path[64], out[64], command[1024];
    HeddleModule *m = NULL;
    snprintf(path, sizeof path, "random_%d.cl", (int)getpid());
    snprintf(out, sizeof out, "random_%d.spv", (int)getpid());
    FILE *file = fopen(path, "w");
    bool good = file && fwrite(p->text, 1, p->size, file) == p->size;
    if (file)
        fclose(file);
    snprintf(command, sizeof command,
             "%s -cl-std=CL3.0 -target spirv64 -O1 -w -c %s -o %s 2>/dev/null", HEDDLE_CLANG, path,
             out);
    if (good && !system(command))
        heddle_module_from_file(out, NULL, &m, log);
    remove(path);
    remove(out);
    return m;
}

static uint32_t setting(const char *name, uint32_t otherwise)
{
    const char *s = getenv(name);
    return s ? (uint32_t)strtoul(s, NULL, 0) : otherwise;
}

TEST(both_compilers_and_both_devices_agree)
{
    uint32_t n = setting("HEDDLE_RANDOM_KERNELS", 48);
    Program *p = calloc(1, sizeof *p);
    Fixture f = { .log = heddle_log_new(heddle_print_to_stderr, NULL) };
    p->rng.state = setting("HEDDLE_RANDOM_SEED", 1);
    heddle_device_new(NULL, &f.devices[0], f.log);
    heddle_device_new(&(HeddleDeviceOptions){ .kind = HEDDLE_DEVICE_REFERENCE }, &f.devices[1],
                      f.log);
    heddle_array_from_spec("rand:s32[480]@9", &f.in, f.log);
    heddle_array_new(HEDDLE_S64, 1, (uint64_t[]){ N }, &f.out, f.log);
    put(p, "uint dot4(uint4 a, uint4 b)\n{\n    uint4 p = a * b;\n"
           "    return p.x + p.y + p.z + p.w;\n}\n\n"
           "typedef struct Cell { int n; const int *at[2]; } Cell;\n\n"
           "int picked(const int **list, int k) { return *list[k & 3]; }\n\n"
           "uint sum8(uint8 v)\n{\n    uint4 s = v.even + v.odd * 3;\n"
           "    return s.x - s.y + s.z * s.w;\n}\n\n");
    for (uint32_t k = 0; k < n; k++)
        write_kernel(p, k);
    HeddleModule *own = NULL, *shader = NULL, *other = by_clang(p, f.log);
    HeddleModuleOptions o = { .language = HEDDLE_LANGUAGE_OPENCL };
    CHECK(!heddle_module_new(p->text, p->size, "random.cl", &o, &own, f.log));
    o.opencl_to_vulkan = true;
    CHECK(!heddle_module_new(p->text, p->size, "random.cl", &o, &shader, f.log));
    for (uint32_t k = 0; own && k < n; k++) {
        char entry[16];
        int64_t first[N];
        snprintf(entry, sizeof entry, "k%u", k);
        CHECK(run(&f, own, 0, entry));
        memcpy(first, f.out->data, sizeof first);
        CHECK(run(&f, own, 1, entry));
        if (memcmp(first, f.out->data, sizeof first))
            test_fail(__FILE__, __LINE__, "%s: the devices differ", entry);
        if (shader && (!run(&f, shader, 0, entry) || memcmp(first, f.out->data, sizeof first)))
            test_fail(__FILE__, __LINE__, "%s: the shader differs", entry);
        if (other && (!run(&f, other, 0, entry) || memcmp(first, f.out->data, sizeof first)))
            test_fail(__FILE__, __LINE__, "%s: the compilers differ", entry);
    }
    if (!own || test_state.failures)
        printf("%s", p->text);
    heddle_module_free(own);
    heddle_module_free(shader);
    heddle_module_free(other);
    heddle_array_free(f.in);
    heddle_array_free(f.out);
    heddle_device_free(f.devices[0]);
    heddle_device_free(f.devices[1]);
    heddle_log_free(f.log);
    free(p);
}
