/* SPDX-License-Identifier: MIT
 *
 * gpu.subgroup_mma_rotate by numbers: for types, shapes, uses and subgroup sizes a module is
 * written that rotates two loaded matrices by many offsets, constant ones and ones that it loads,
 * and stores what comes out; both lowerings, both devices, bit by bit against the definition: the
 * elements of one matrix and then the other, from number `offset` on. Matrices that cannot be
 * stored (A and B) are multiplied by the identity. Passed over where heddle is built without MLIR.
 */
#include "base/test.h"

#include <heddle/heddle.h>
#include <stdlib.h>

typedef struct Config {
    const char *name;
    const char *element, *memory, *sum;     /* types: of the matrices, in memory, of products */
    HeddleType type, sum_type;
    char use;                               /* 'A', 'B', 'C' */
    uint32_t rows, columns, subgroup;
} Config;

static const Config configs[] = {
    { "one element", "f32", "f32", "f32", HEDDLE_F32, HEDDLE_F32, 'C', 4, 4, 16 },
    { "A", "f16", "f16", "f32", HEDDLE_F16, HEDDLE_F32, 'A', 16, 16, 32 },
    { "B", "f16", "f16", "f32", HEDDLE_F16, HEDDLE_F32, 'B', 16, 16, 16 },
    { "three elements", "i32", "i32", "i32", HEDDLE_S32, HEDDLE_S32, 'C', 6, 16, 32 },
    { "doubles", "f64", "f64", "f64", HEDDLE_F64, HEDDLE_F64, 'C', 8, 4, 8 },
    { "wide", "f32", "f32", "f32", HEDDLE_F32, HEDDLE_F32, 'A', 16, 8, 64 },
    { "signed bytes", "si8", "i8", "i32", HEDDLE_S8, HEDDLE_S32, 'A', 16, 16, 32 },
    { "unsigned bytes", "ui8", "i8", "i32", HEDDLE_U8, HEDDLE_S32, 'B', 8, 16, 32 },
};

enum { MAX_OFFSETS = 12, MAX_ELEMENTS = 256 };

typedef struct Run {
    const Config *c;
    uint32_t n, offsets[MAX_OFFSETS], n_offsets;
    Arena arena;
    Str text;
} Run;

/* ---- the module ------------------------------------------------------------------------------ */

static void choose_offsets(Run *r)
{
    uint32_t n = r->n, w = r->c->subgroup;
    const uint32_t all[] = { 0, 1, r->c->columns, w - 1, w, w + 3, n / 2 + 1, n - 1, n };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (all[i] <= n)
            r->offsets[r->n_offsets++] = all[i];
    }
}

static void write_head(Run *r)
{
    const Config *c = r->c;
    uint32_t side = c->use == 'B' ? c->rows : c->columns;
    str_printf(&r->arena, &r->text,
               "!i = !gpu.mma_matrix<%ux%ux%s, \"%cOp\">\n!sum = !gpu.mma_matrix<%ux%ux%s, "
               "\"COp\">\n", side, side, c->element, c->use == 'A' ? 'B' : 'A', c->rows, c->columns,
               c->sum);
    str_printf(&r->arena, &r->text,
               "!m = !gpu.mma_matrix<%ux%ux%s, \"%cOp\">\n"
               "!in = memref<%ux%ux%s>\n!id = memref<%ux%ux%s>\n!out = memref<%ux%ux%s>\n"
               "gpu.module @m {\n"
               "gpu.func @k(%%in: !in, %%id: !id, %%offsets: memref<%uxi32>, %%out: !out) kernel "
               "attributes {spirv.entry_point_abi = #spirv.entry_point_abi<workgroup_size = "
               "[%u, 1, 1], subgroup_size = %u>} {\n%%c0 = arith.constant 0 : index\n"
               "%%below = arith.constant %u : index\n",
               c->rows, c->columns, c->element, c->use, 2 * c->rows, c->columns, c->memory,
               side, side, c->memory, 2 * r->n_offsets * c->rows, c->columns, c->sum, r->n_offsets,
               c->subgroup, c->subgroup, c->rows);
    static const char *const names[] = { "a", "b" }, *const at[] = { "c0", "below" };
    for (int i = 0; i < 2; i++)
        str_printf(&r->arena, &r->text,
                   "%%%s = gpu.subgroup_mma_load_matrix %%in[%%%s, %%c0] {leadDimension = %u : "
                   "index} : !in -> !m\n", names[i], at[i], c->columns);
    if (c->use == 'C')
        return;
    str_printf(&r->arena, &r->text,
               "%%one = gpu.subgroup_mma_load_matrix %%id[%%c0, %%c0] {leadDimension = %u : index}"
               " : !id -> !i\n%%zero = arith.constant %s : %s\n"
               "%%none = gpu.subgroup_mma_constant_matrix %%zero : !sum\n",
               side, c->sum[0] == 'f' ? "0.0" : "0", c->sum);
}

static void write_rotation(Run *r, uint32_t k)
{
    const Config *c = r->c;
    uint32_t i = k % r->n_offsets;
    bool loaded = k >= r->n_offsets;
    str_printf(&r->arena, &r->text, "%%row%u = arith.constant %u : index\n", k, k * c->rows);
    if (loaded)
        str_printf(&r->arena, &r->text,
                   "%%at%u = arith.constant %u : index\n"
                   "%%n%u = memref.load %%offsets[%%at%u] : memref<%uxi32>\n", k, i, k, k,
                   r->n_offsets);
    else
        str_printf(&r->arena, &r->text, "%%n%u = arith.constant %u : i32\n", k, r->offsets[i]);
    str_printf(&r->arena, &r->text,
               "%%r%u = gpu.subgroup_mma_rotate %%a, %%b, %%n%u : !m, !m, i32 -> !m\n", k, k);
    const char *value = "r", *type = "!m";
    if (c->use != 'C') {
        static const char *const forms[] = {
            "%%p%u = gpu.subgroup_mma_compute %%r%u, %%one, %%none : !m, !i -> !sum\n",
            "%%p%u = gpu.subgroup_mma_compute %%one, %%r%u, %%none : !i, !m -> !sum\n"
        };
        char line[160];
        snprintf(line, sizeof line, forms[c->use == 'B'], k, k);
        str_add(&r->arena, &r->text, line);
        value = "p";
        type = "!sum";
    }
    str_printf(&r->arena, &r->text,
               "gpu.subgroup_mma_store_matrix %%%s%u, %%out[%%row%u, %%c0] {leadDimension = %u : "
               "index} : %s, !out\n", value, k, k, c->columns, type);
}

/* ---- running it ------------------------------------------------------------------------------ */

static double input(const Config *c, uint32_t i)
{
    return c->type == HEDDLE_S8 ? (double)(i % 251) - 125 : (double)(i % 251);
}

static HeddleArray *array(HeddleType type, uint64_t rows, uint64_t columns)
{
    HeddleArray *a = NULL;
    heddle_array_new(type, 2, (uint64_t[]){ rows, columns }, &a, NULL);
    return a;
}

typedef struct Data {
    HeddleArray *in, *id, *offsets, *out;
} Data;

static bool make_data(Run *r, Data *d)
{
    const Config *c = r->c;
    uint32_t side = c->use == 'B' ? c->rows : c->columns;
    d->in = array(c->type, 2 * c->rows, c->columns);
    d->id = array(c->type, side, side);
    d->offsets = array(HEDDLE_S32, 1, r->n_offsets);
    d->out = array(c->sum_type, 2ull * r->n_offsets * c->rows, c->columns);
    if (!d->in || !d->id || !d->offsets || !d->out)
        return false;
    for (uint32_t i = 0; i < 2 * r->n; i++)
        heddle_array_set(d->in, i, input(c, i));
    for (uint32_t i = 0; i < side; i++)
        heddle_array_set(d->id, i * side + i, 1);
    for (uint32_t i = 0; i < r->n_offsets; i++)
        heddle_array_set(d->offsets, i, r->offsets[i]);
    return true;
}

static void free_data(Data *d)
{
    heddle_array_free(d->in);
    heddle_array_free(d->id);
    heddle_array_free(d->offsets);
    heddle_array_free(d->out);
}

static void verify(const Run *r, const Data *d, const char *how)
{
    for (uint32_t k = 0; k < 2 * r->n_offsets; k++) {
        uint32_t offset = r->offsets[k % r->n_offsets];
        for (uint32_t i = 0; i < r->n; i++) {
            double got = heddle_array_get(d->out, (uint64_t)k * r->n + i);
            double want = input(r->c, i + offset);
            if (got != want && !test_fail(__FILE__, __LINE__,
                                          "%s, %s, offset %u%s: element %u is %g, not %g",
                                          r->c->name, how, offset,
                                          k < r->n_offsets ? "" : " loaded", i, got, want))
                return;
        }
    }
}

static void run_on(Run *r, const HeddleModule *module, HeddleDeviceKind kind, const char *how,
                   HeddleLog *log)
{
    Data data = { 0 };
    HeddleDevice *device = NULL;
    HeddleKernel *kernel = NULL;
    HeddleBuffer *buffers[4] = { 0 };
    HeddleBinding bindings[4];
    CHECK(make_data(r, &data));
    CHECK(!heddle_device_new(&(HeddleDeviceOptions){ .kind = kind }, &device, log));
    CHECK(!heddle_kernel_new(device, module, NULL, &kernel, log));
    HeddleArray *arrays[] = { data.in, data.id, data.offsets, data.out };
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(!heddle_buffer_wrap(device, arrays[i]->data, arrays[i]->size, &buffers[i], log));
        bindings[i] = (HeddleBinding){ .binding = i, .buffer = buffers[i] };
    }
    HeddleDispatch dispatch = { .bindings = bindings, .n_bindings = 4 };
    CHECK(kernel && !heddle_dispatch(kernel, &dispatch, NULL, log));
    verify(r, &data, how);
    for (uint32_t i = 0; i < 4; i++)
        heddle_buffer_free(buffers[i]);
    heddle_kernel_free(kernel);
    heddle_device_free(device);
    free_data(&data);
}

static bool run_config(const Config *c)
{
    Run r = { .c = c, .n = c->rows * c->columns };
    choose_offsets(&r);
    write_head(&r);
    for (uint32_t k = 0; k < 2 * r.n_offsets; k++)
        write_rotation(&r, k);
    str_add(&r.arena, &r.text, "gpu.return }}\n");
    HeddleResult result = HEDDLE_OK;
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    for (int gpu = 0; gpu < 2 && !result; gpu++) {
        HeddleModule *module;
        HeddleLog *heard = gpu ? NULL : log;
        HeddleModuleOptions o = { .language = HEDDLE_LANGUAGE_MLIR, .rotate_by_gpu = gpu };
        result = heddle_module_new(r.text.data, r.text.len, c->name, &o, &module, heard);
        if (result == HEDDLE_ERROR_TOOL)
            break;
        /* The gpu dialect has no elements of these types. */
        bool refused = gpu && (c->type == HEDDLE_S8 || c->type == HEDDLE_U8);
        CHECK(refused ? result == HEDDLE_ERROR_SOURCE : !result);
        for (int kind = 0; kind < HEDDLE_N_DEVICE_KINDS && !result; kind++)
            /* what a Vulkan driver lacks, such as rotations, is not heddle's to have */
            if (kind != HEDDLE_DEVICE_VULKAN && heddle_device_count((HeddleDeviceKind)kind))
                run_on(&r, module, (HeddleDeviceKind)kind, gpu ? "by gpu" : "by spirv", log);
        heddle_module_free(module);
    }
    heddle_log_free(log);
    arena_free(&r.arena);
    return result != HEDDLE_ERROR_TOOL;
}

TEST(every_type_and_offset)
{
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        if (!run_config(&configs[i])) {
            printf("passed over: no MLIR\n");
            return;
        }
    }
}
