/* SPDX-License-Identifier: MIT
 *
 * Kernels written the natural way, each by turns with a twin that computes the same (or as much) in
 * the way that is known to be fast: another kernel, or a loop of C. One line a row: both rates, the
 * twin's time to the kernel's, and the ratio that is the goal. A cliff that comes back is a ratio
 * far below its goal. One thread.
 *
 *     bench_cliffs [--row TEXT] [--rounds N]
 */
#include "bench.h"

#include <heddle/heddle.h>

enum { MAX_ARRAYS = 6, MAX_DEFINES = 4, N = 512, SPARSE = 65536, PER_ROW = 16, NUMBERS = 1 << 22,
       BLOCK_ROWS = 1024, ROW_BLOCKS = 64 };

typedef enum Loop { NO_LOOP, LOOP_SPARSE, LOOP_SUM, LOOP_BLOCKS8, LOOP_BLOCKS4 } Loop;

/* A kernel with its arrays, or a loop of C over the same arrays. */
typedef struct Side {
    const char *file, *entry;   /* of the sources; NULL: `loop` */
    HeddleDefine defines[MAX_DEFINES]; /* up to the first without a name */
    HeddleSpecValue specs[MAX_DEFINES]; /* up to the first with the value 0 */
    uint32_t groups[3];         /* or, of OpenCL C, invocations */
    uint32_t local[3];          /* 0: what the library chooses */
    bool open;                  /* OpenCL C, compiled without knowing */
    bool robust;
    Loop loop;
} Side;

/* What both sides compute. Arrays are specifications of heddle_array_from_spec, except "starts",
 * "columns" (of a sparse matrix), "value:N" and "local:BYTES". */
typedef struct Row {
    const char *name;
    Side side[2];               /* the kernel, its twin */
    const char *arrays[MAX_ARRAYS];
    uint32_t push[5];
    size_t push_size;
    double work, goal;
} Row;

#define GEMM { "randn:f16[262144]@1", "randn:f16[262144]@2", "randn:f32[512]@3",                   \
               "zeros:f32[262144]" }
#define BLOCKS { "value:512", "randn:f32[262144]@1", "randn:f32[262144]@2", "zeros:f32[262144]" }
#define TILES { "randn:f32[16384]@1", "zeros:f32[16384]" }
#define TILE(what, m, n)                                                                           \
    { .file = "kernels/nv_tile.comp", .groups = { 1, 1, 1 },                                       \
      .defines = { { "WHAT", what }, { "M", m }, { "N", n } } }
#define PLACES(type) { "rand:" type "[65536]@1", "zeros:" type "[65536]" }
#define TENSOR(...)                                                                                \
    { .file = "kernels/cliff_tensor.comp", .groups = { 1, 1, 1 }, .defines = { __VA_ARGS__ } }
/* A transfer beside a plain one of as many elements. */
#define TRANSFER(name_, type, t, goal_, how, ...)                                                  \
    { .name = name_, .side = { TENSOR({ "T", t }, how, __VA_ARGS__),                               \
                               TENSOR({ "T", t }, how, { "WHAT", "0" }) },                         \
      .arrays = PLACES(type), .push = { 2000, 2, 4, 8, 64 }, .push_size = 20,                      \
      .work = 2000.0 * 64 * 64, .goal = goal_ }
/* A matrix of quantised blocks times a vector. Scales may be any number that is finite. */
#define QUANTISED(name_, format, bytes, loop_, goal_)                                              \
    { .name = name_,                                                                               \
      .side = { { .file = "kernels/cliff_blocks.comp", .groups = { BLOCK_ROWS, 1, 1 },             \
                  .defines = { { "FORMAT", format } } }, { .loop = loop_ } },                      \
      .arrays = { "rand:u8[" bytes "]@1", "rand:u8[2304]@2", "zeros:f32[1024]" },                  \
      .push = { ROW_BLOCKS }, .push_size = 4, .work = 64.0 * BLOCK_ROWS * ROW_BLOCKS,              \
      .goal = goal_ }
/* Rows of blocks that lanes share, beside rows of 24 rounds. */
#define SHARED(length, robust_)                                                                    \
    { .file = "kernels/cliff_shared.comp", .groups = { BLOCK_ROWS, 1, 1 }, .robust = robust_,      \
      .defines = { { "LENGTH", length } } }
#define ROWS_OF(name_, length, robust, goal_)                                                      \
    { .name = name_, .side = { SHARED(length, robust), SHARED("6144", false) },                    \
      .arrays = { "rand:u8[3538944]@1", "rand:u8[6912]@2", "zeros:f32[1024]" }, .push_size = 4,    \
      .work = 2.0 * 6144 * BLOCK_ROWS, .goal = goal_ }
#define LOAD { "LOAD", "1" }
#define STORE { "STORE", "1" }
/* By time, as if lines were all as long. */
#define REDUCTION(name_, what, n, goal_)                                                           \
    { .name = name_, .side = { TILE(what, "64", #n), TILE(what, "64", "64") }, .arrays = TILES,    \
      .push = { 500, 0x3f800000 }, .push_size = 8, .work = 500.0 * 64 * 64, .goal = goal_ }
/* Tiles of 64 queries, of which so many are there, and 512 keys. */
#define ATTENTION(queries)                                                                         \
    { .file = "../examples/tensor_attention.comp", .groups = { 1, 1, 1 },                          \
      .defines = { { "T", "float16_t" } }, .specs = { { 0, queries }, { 1, 512 } } }
/* 512 x 64 numbers by workgroups of x * y, beside rows of 256. */
#define GROUPS(x, y)                                                                               \
    { .file = "kernels/cliff_groups.comp", .groups = { 512 / (x), 64 / (y), 1 },                   \
      .defines = { { "LX", #x }, { "LY", #y } } }
#define GROUPED(x, y, goal_)                                                                       \
    { .name = "workgroups of " #x " by " #y, .side = { GROUPS(x, y), GROUPS(256, 1) },             \
      .arrays = { "rand:f32[32768]@1", "zeros:f32[32768]" }, .work = 32768, .goal = goal_ }
#define CL(file_, entry_, ...)                                                                     \
    { .file = "kernels/" file_, .entry = entry_, .groups = { __VA_ARGS__ } }

static const Row rows[] = {
    { .name = "tiles staged with edge tests",
      .side = { { .file = "kernels/cliff_staged.comp", .groups = { 16, 16, 1 } },
                { .file = "kernels/cliff_staged.comp", .groups = { 16, 16, 1 },
                  .defines = { { "PLAIN", "1" } } } },
      .arrays = GEMM, .push = { N, N, N }, .push_size = 12, .work = 2.0 * N * N * N, .goal = 0.5 },
    { .name = "private float[8][8]",
      .side = { CL("cliff_private.cl", "scalars", 64, 64, 1),
                CL("cliff_private.cl", "named", 64, 64, 1) },
      .arrays = BLOCKS, .work = 2.0 * N * N * N, .goal = 0.9 },
    { .name = "private float4[8][2]",
      .side = { CL("cliff_private.cl", "vectors", 64, 64, 1),
                CL("cliff_private.cl", "named", 64, 64, 1) },
      .arrays = BLOCKS, .work = 2.0 * N * N * N, .goal = 0.9 },
    { .name = "workgroup left to the dispatch",
      .side = { { .file = "kernels/cliff_private.cl", .entry = "named", .groups = { 64, 64, 1 },
                  .open = true },
                CL("cliff_private.cl", "named", 64, 64, 1) },
      .arrays = BLOCKS, .work = 2.0 * N * N * N, .goal = 0.9 },
    REDUCTION("rows of 63 reduced", "1", 63, 0.77),
    REDUCTION("rows of 60 reduced", "1", 60, 0.77),
    REDUCTION("columns of 63 reduced", "2", 63, 0.77),
    { .name = "rows of e4m3 reduced",
      .side = { { .file = "kernels/nv_tile.comp", .groups = { 1, 1, 1 },
                  .defines = { { "WHAT", "1" }, { "T", "floate4m3_t" } } },
                TILE("1", "64", "64") },
      .arrays = TILES, .push = { 500, 0x3f800000 }, .push_size = 8, .work = 500.0 * 64 * 64,
      .goal = 0.67 },
    { .name = "attention of 4 queries of 64",
      .side = { ATTENTION(4), ATTENTION(64) },
      .arrays = { "randn:f16[4096]@1", "randn:f16[32768]@2", "randn:f16[32768]@3",
                  "zeros:f16[32768]", "zeros:f32[4096]" },
      .work = 4.0 * 64 * 64 * 512, .goal = 3.0 },
    { .name = "rows of e4m3 added",
      .side = { { .file = "kernels/nv_tile.comp", .groups = { 1, 1, 1 },
                  .defines = { { "WHAT", "1" }, { "T", "floate4m3_t" }, { "SUM", "1" } } },
                { .file = "kernels/nv_tile.comp", .groups = { 1, 1, 1 },
                  .defines = { { "WHAT", "1" }, { "SUM", "1" } } } },
      .arrays = TILES, .push = { 500, 0x3f800000 }, .push_size = 8, .work = 500.0 * 64 * 64,
      .goal = 0.67 },
    TRANSFER("f16 load, clip of 60 rows", "f16", "float16_t", 0.5, LOAD, { "WHAT", "1" }),
    TRANSFER("f32 load, clip of 60 rows", "f32", "float", 0.5, LOAD, { "WHAT", "1" }),
    TRANSFER("4-D view, constant sizes", "f16", "float16_t", 0.33, LOAD, { "WHAT", "2" }),
    TRANSFER("4-D view, sizes at run time", "f16", "float16_t", 0.25, LOAD, { "WHAT", "2" },
             { "RUNTIME", "1" }),
    TRANSFER("slice of 32 columns for 64", "f16", "float16_t", 0.33, LOAD, { "WHAT", "3" },
             { "SPAN", "32" }),
    TRANSFER("slice of 128 columns for 64", "f16", "float16_t", 0.33, LOAD, { "WHAT", "3" },
             { "SPAN", "128" }),
    TRANSFER("clamped to a constant", "f16", "float16_t", 0.4, LOAD, { "WHAT", "4" },
             { "CLAMP", "1" }),
    TRANSFER("clamped to the edge", "f16", "float16_t", 0.4, LOAD, { "WHAT", "4" },
             { "CLAMP", "2" }),
    TRANSFER("repeated at an edge", "f16", "float16_t", 0.4, LOAD, { "WHAT", "4" },
             { "CLAMP", "3" }),
    TRANSFER("mirrored at an edge", "f16", "float16_t", 0.4, LOAD, { "WHAT", "4" },
             { "CLAMP", "4" }),
    TRANSFER("f16 store, clip of 60 rows", "f16", "float16_t", 0.4, STORE, { "WHAT", "1" }),
    TRANSFER("f16 store transposed by a view", "f16", "float16_t", 0.33, STORE, { "WHAT", "5" }),
    TRANSFER("f16 store by columns", "f16", "float16_t", 0.33, STORE, { "WHAT", "6" }),
    TRANSFER("f32 store by columns", "f32", "float", 0.33, STORE, { "WHAT", "6" }),
    TRANSFER("s8 store by columns", "s8", "int8_t", 0.33, STORE, { "WHAT", "6" }),
    TRANSFER("f16 load by columns", "f16", "float16_t", 0.33, LOAD, { "WHAT", "6" }),
    TRANSFER("f32 load by columns", "f32", "float", 0.33, LOAD, { "WHAT", "6" }),
    QUANTISED("blocks of 34 bytes, 8 bits", "8", "2228224", LOOP_BLOCKS8, 0.9),
    QUANTISED("blocks of 18 bytes, 4 bits", "4", "1179648", LOOP_BLOCKS4, 0.8),
    ROWS_OF("shared blocks, 22 rounds", "5632", false, 0.9),
    ROWS_OF("shared blocks, robust access", "6144", true, 0.5),
    { .name = "four halves a lane",
      .side = { { .file = "kernels/cliff_halves.comp", .groups = { 128, 1, 1 } },
                { .file = "kernels/cliff_halves.comp", .groups = { 128, 1, 1 },
                  .defines = { { "IN_LINE", "1" } } } },
      .arrays = { "rand:f16[524288]@1", "rand:f32[2048]@2", "zeros:f32[256]" }, .push = { 2048 },
      .push_size = 4, .work = 2.0 * 524288, .goal = 0.5 },
    { .name = "members of structures",
      .side = { { .file = "kernels/cliff_members.comp", .groups = { 512, 1, 1 } },
                { .file = "kernels/cliff_members.comp", .groups = { 512, 1, 1 },
                  .defines = { { "APART", "1" } } } },
      .arrays = { "rand:f32[262144]@1", "zeros:f32[32768]" }, .push = { 32768 }, .push_size = 4,
      .work = 32768, .goal = 0.33 },
    { .name = "tables of 16 numbers",
      .side = { { .file = "kernels/cliff_lookup.comp", .groups = { 2048, 1, 1 } },
                { .file = "kernels/cliff_lookup.comp", .groups = { 2048, 1, 1 },
                  .defines = { { "COMPUTED", "1" } } } },
      .arrays = { "rand:u32[262144]@1", "zeros:f32[262144]" }, .push = { 262144 }, .push_size = 4,
      .work = 262144 * 8, .goal = 0.5 },
    GROUPED(1, 1, 0.5),
    GROUPED(8, 8, 0.8),
    { .name = "m * 0.5 + k on a matrix", .side = { TILE("5", "64", "64"), TILE("6", "64", "64") },
      .arrays = TILES, .push = { 500, 0x3f800000 }, .push_size = 8, .work = 1000.0 * 64 * 64,
      .goal = 1.0 },
    { .name = "sum of 4 M numbers",
      .side = { { .file = "../examples/opencl/reduction.cl", .entry = "reduction",
                  .groups = { 256 * 64, 1, 1 }, .local = { 256, 1, 1 } },
                { .loop = LOOP_SUM } },
      .arrays = { "rand:f32[4194304]@1", "zeros:f32[64]", "value:4194304", "local:1024" },
      .work = NUMBERS, .goal = 0.7 },
    { .name = "sparse matrix times vector",
      .side = { CL("cliff_rows.cl", "sparse", SPARSE, 1, 1), { .loop = LOOP_SPARSE } },
      .arrays = { "value:65536", "starts", "columns", "randn:f32[1048576]@1", "randn:f32[65536]@2",
                  "zeros:f32[65536]" },
      .work = 2.0 * SPARSE * PER_ROW, .goal = 1.0 },
};

typedef struct Run {
    const Row *row;
    const Side *side;
    HeddleKernel *kernel;
    HeddleArray *array[MAX_ARRAYS];
    HeddleBuffer *buffer[MAX_ARRAYS];
    HeddleBinding binding[MAX_ARRAYS];
    int32_t value[MAX_ARRAYS];
    uint32_t n;
} Run;

/* ---- the loops ------------------------------------------------------------------------------- */

static void sparse_loop(const Run *r)
{
    const int32_t *starts = r->array[1]->data, *columns = r->array[2]->data;
    const float *values = r->array[3]->data, *x = r->array[4]->data;
    float *y = r->array[5]->data;
    for (int i = 0; i < SPARSE; i++) {
        float sum = 0;
        for (int32_t k = starts[i]; k < starts[i + 1]; k++)
            sum += values[k] * x[columns[k]];
        y[i] = sum;
    }
}

/* In as many sums as hide the additions' latency. */
static void sum_loop(const Run *r)
{
    enum { SUMS = 8, LANES = sizeof(BenchVector) / sizeof(float) };
    const BenchVector *x = r->array[0]->data;
    BenchVector sum[SUMS] = { 0 };
    for (int i = 0; i < NUMBERS / LANES; i += SUMS)
        for (int k = 0; k < SUMS; k++)
            sum[k] += x[i + k];
    for (int k = 1; k < SUMS; k++)
        sum[0] += sum[k];
    ((float *)r->array[1]->data)[0] = sum[0][0];
}

/* A matrix's blocks, 2 + 4 * format bytes each, times the vector's of 32 bytes and a scale. */
static void blocks_loop(const Run *r, uint32_t format)
{
    const uint8_t *block = r->array[0]->data;
    const int8_t *vector = r->array[1]->data;
    float *y = r->array[2]->data;
    for (int i = 0; i < BLOCK_ROWS; i++) {
        float sum = 0;
        for (int b = 0; b < ROW_BLOCKS; b++, block += 2 + 4 * format) {
            const int8_t *x = vector + 36 * b, *q = (const int8_t *)block + 2;
            int32_t dot = 0;
            float scale;
            for (int k = 0; format == 8 && k < 32; k++)
                dot += q[k] * x[k];
            for (int k = 0; format == 4 && k < 16; k++)
                dot += (q[k] & 15) * x[k] + ((uint8_t)q[k] >> 4) * x[k + 16];
            _Float16 half;
            memcpy(&half, block, 2);
            memcpy(&scale, x + 32, 4);
            sum += (float)half * scale * (float)dot;
        }
        y[i] = sum;
    }
}

/* ---- a side ---------------------------------------------------------------------------------- */

static void run(void *user)
{
    Run *r = user;
    const Side *s = r->side;
    if (s->loop) {
        if (s->loop >= LOOP_BLOCKS8)
            blocks_loop(r, s->loop == LOOP_BLOCKS8 ? 8 : 4);
        else
            (s->loop == LOOP_SPARSE ? sparse_loop : sum_loop)(r);
        return;
    }
    HeddleDispatch d = { .bindings = r->binding, .n_bindings = r->n, .push = r->row->push,
                         .push_size = r->row->push_size, .max_threads = 1 };
    memcpy(s->entry ? d.global_size : d.groups, s->groups, sizeof(d.groups));
    memcpy(d.local_size, s->local, sizeof(d.local_size));
    if (heddle_dispatch(r->kernel, &d, NULL, NULL) != HEDDLE_OK)
        fprintf(stderr, "%s: the dispatch failed\n", r->row->name);
}

static bool open_kernel(HeddleDevice *device, HeddleLog *log, Run *r)
{
    const Side *s = r->side;
    char path[512];
    HeddleModule *m = NULL;
    HeddleModuleOptions of_source = { .defines = s->defines };
    while (of_source.n_defines < MAX_DEFINES && s->defines[of_source.n_defines].name)
        of_source.n_defines++;
    HeddleKernelOptions o = { .entry = s->entry, .robust = s->robust, .specs = s->specs };
    while (o.n_specs < MAX_DEFINES && s->specs[o.n_specs].bits)
        o.n_specs++;
    snprintf(path, sizeof(path), "%s/bench/%s", HEDDLE_SOURCE_DIR, s->file);
    memcpy(o.local_size, s->local, sizeof(o.local_size));
    if (s->entry && !s->open && !s->local[0])
        heddle_local_size(s->groups, o.local_size);
    bool ok = !heddle_module_from_file(path, &of_source, &m, log)
        && !heddle_kernel_new(device, m, &o, &r->kernel, log);
    heddle_module_free(m);
    return ok;
}

static bool open_array(HeddleDevice *device, HeddleLog *log, Run *r, const char *spec)
{
    uint32_t k = r->n++;
    HeddleBinding *b = &r->binding[k];
    *b = (HeddleBinding){ .binding = k };
    if (!strncmp(spec, "local:", 6)) {
        b->size = (uint64_t)atoi(spec + 6);
        return true;
    }
    if (!strncmp(spec, "value:", 6)) {
        r->value[k] = atoi(spec + 6);
        b->value = &r->value[k];
        b->size = 4;
        return true;
    }
    bool starts = !strcmp(spec, "starts"), columns = !strcmp(spec, "columns");
    if (heddle_array_from_spec(starts ? "zeros:s32[65537]" : columns ? "zeros:s32[1048576]" : spec,
                               &r->array[k], log)
        || heddle_buffer_wrap(device, r->array[k]->data, r->array[k]->size, &r->buffer[k], log))
        return false;
    int32_t *data = r->array[k]->data;
    for (int32_t i = 0; starts && i <= SPARSE; i++)
        data[i] = i * PER_ROW;
    for (uint32_t i = 0; columns && i < SPARSE * PER_ROW; i++)
        data[i] = (int32_t)(i * 2654435761u % SPARSE);
    b->buffer = r->buffer[k];
    return true;
}

static bool open_run(HeddleDevice *device, HeddleLog *log, const Row *row, const Side *side, Run *r)
{
    *r = (Run){ .row = row, .side = side };
    bool ok = true;
    for (int k = 0; k < MAX_ARRAYS && row->arrays[k]; k++)
        ok &= open_array(device, log, r, row->arrays[k]);
    return ok && (side->loop || open_kernel(device, log, r));
}

static void close_run(Run *r)
{
    heddle_kernel_free(r->kernel);
    for (uint32_t k = 0; k < r->n; k++) {
        heddle_buffer_free(r->buffer[k]);
        heddle_array_free(r->array[k]);
    }
}

static bool measure(HeddleDevice *device, HeddleLog *log, const Row *row, int rounds)
{
    Run slow, fast;
    bool ok = open_run(device, log, row, &row->side[0], &slow);
    ok &= open_run(device, log, row, &row->side[1], &fast);
    /* until code for the workgroups that it runs with takes the first one's place */
    for (int k = 0; ok && row->side[0].open && k < 100; k++)
        run(&slow);
    if (ok) {
        BenchCase twin = { .name = "twin", .run = run, .user = &fast, .work = row->work };
        BenchCase ours = { .name = row->name, .run = run, .user = &slow, .work = row->work };
        BenchOptions o = { .threads = 1, .rounds = rounds };
        ok = bench_paired(&twin, &ours, 1, &o);
        printf("%-32s %8.2f %8.2f %6.2f  [%.2f %.2f]  %4.2f %s\n", row->name, ours.rate, twin.rate,
               ours.ratio, ours.p25, ours.p75, row->goal,
               ours.ratio >= row->goal ? "reached" : "missed");
        fflush(stdout);
    }
    close_run(&slow);
    close_run(&fast);
    return ok;
}

int main(int argc, char **argv)
{
    const char *only = bench_option(argc, argv, "--row");
    const char *rounds = bench_option(argc, argv, "--rounds");
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device;
    if (heddle_device_new(NULL, &device, log))
        return 1;
    printf("%-32s %8s %8s %6s  %-11s  goal\n", "row", "Gop/s", "twin", "ratio", "quartiles");
    bool ok = true;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
        if (!only || strstr(rows[k].name, only))
            ok &= measure(device, log, &rows[k], rounds ? atoi(rounds) : 9);
    heddle_device_free(device);
    heddle_log_free(log);
    return !ok;
}
