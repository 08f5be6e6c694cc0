/* SPDX-License-Identifier: MIT
 *
 * oneDNN's matmul to compare with, on one thread: the operands as they lie, or the weights in the
 * layout that oneDNN likes best, made before. Where it is not installed there is nothing to compare
 * with, and onednn_name says so. Version 2's interface (Debian 12: libdnnl-dev).
 */
#ifndef HEDDLE_BENCH_ONEDNN_H
#define HEDDLE_BENCH_ONEDNN_H

#include <heddle/heddle.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef HEDDLE_DNNL
#include <oneapi/dnnl/dnnl.h>
#endif

typedef struct OnednnProduct {
    HeddleType a, b, c;
    uint32_t n, ld; /* n x n matrices, row-major */
    void *data[3];  /* A, B, C */
    bool packed;    /* the weights, B */
} OnednnProduct;

#if defined(HEDDLE_DNNL) && DNNL_VERSION_MAJOR == 2
#include <omp.h>

typedef struct Onednn {
    dnnl_primitive_t primitive;
    dnnl_stream_t stream;
    dnnl_memory_t memory[3];
    dnnl_exec_arg_t args[3];
} Onednn;

static inline const char *onednn_name(void)
{
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *name;
    } names[] = {
        { dnnl_cpu_isa_avx2, "AVX2" },
        { dnnl_cpu_isa_avx2_vnni, "AVX2 and AVX-VNNI" },
        { dnnl_cpu_isa_avx512_core, "AVX-512" },
        { dnnl_cpu_isa_avx512_core_vnni, "AVX-512 VNNI" },
        { dnnl_cpu_isa_avx512_core_bf16, "AVX-512 BF16" },
        { dnnl_cpu_isa_avx512_core_amx, "AMX" },
    };
    static char text[64];
    const dnnl_version_t *v = dnnl_version();
    const char *isa = "less than AVX2";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].isa == dnnl_get_effective_cpu_isa())
            isa = names[i].name;
    snprintf(text, sizeof text, "oneDNN %d.%d.%d with %s", v->major, v->minor, v->patch, isa);
    return text;
}

static inline bool onednn_type(HeddleType t, dnnl_data_type_t *out)
{
    switch (t) {
    case HEDDLE_F32: *out = dnnl_f32; return true;
    case HEDDLE_BF16: *out = dnnl_bf16; return true;
    case HEDDLE_S8: *out = dnnl_s8; return true;
    case HEDDLE_U8: *out = dnnl_u8; return true;
    case HEDDLE_S32: *out = dnnl_s32; return true;
    default: return false;
    }
}

/* The weights as they lie, put into the layout that the product asks for. */
static inline bool onednn_pack(Onednn *d, dnnl_engine_t engine, const dnnl_memory_desc_t *wanted)
{
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t reorder;
    dnnl_memory_t to;
    const dnnl_memory_desc_t *lies;
    if (dnnl_memory_get_memory_desc(d->memory[1], &lies) ||
        dnnl_memory_create(&to, wanted, engine, DNNL_MEMORY_ALLOCATE) ||
        dnnl_reorder_primitive_desc_create(&pd, lies, engine, wanted, engine, NULL) ||
        dnnl_primitive_create(&reorder, pd))
        return false;
    dnnl_exec_arg_t args[] = { { DNNL_ARG_SRC, d->memory[1] }, { DNNL_ARG_DST, to } };
    bool ok = !dnnl_primitive_execute(reorder, d->stream, 2, args) && !dnnl_stream_wait(d->stream);
    d->memory[1] = to;
    return ok;
}

/* False where it has no such product. What it takes is freed with the process. */
static inline bool onednn_open(Onednn *d, const OnednnProduct *p)
{
    static dnnl_engine_t engine;
    static const int names[3] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST };
    const HeddleType types[3] = { p->a, p->b, p->c };
    const dnnl_dims_t shape = { p->n, p->n }, strides = { p->ld, 1 };
    dnnl_memory_desc_t md[3], weights;
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd;
    omp_set_num_threads(1);
    if ((!engine && dnnl_engine_create(&engine, dnnl_cpu, 0)) ||
        dnnl_stream_create(&d->stream, engine, dnnl_stream_default_flags))
        return false;
    for (int i = 0; i < 3; i++) {
        dnnl_data_type_t t;
        if (!onednn_type(types[i], &t) ||
            dnnl_memory_desc_init_by_strides(&md[i], 2, shape, t, strides) ||
            dnnl_memory_create(&d->memory[i], &md[i], engine, p->data[i]))
            return false;
    }
    weights = md[1];
    if (p->packed &&
        dnnl_memory_desc_init_by_tag(&weights, 2, shape, md[1].data_type, dnnl_format_tag_any))
        return false;
    if (dnnl_matmul_desc_init(&desc, &md[0], &weights, NULL, &md[2]) ||
        dnnl_primitive_desc_create(&pd, &desc, NULL, engine, NULL) ||
        dnnl_primitive_create(&d->primitive, pd))
        return false;
    if (p->packed &&
        !onednn_pack(d, engine, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0)))
        return false;
    for (int i = 0; i < 3; i++)
        d->args[i] = (dnnl_exec_arg_t){ names[i], d->memory[i] };
    return true;
}

static inline void onednn_run(void *user)
{
    Onednn *d = user;
    dnnl_primitive_execute(d->primitive, d->stream, 3, d->args);
    dnnl_stream_wait(d->stream);
}

#else
typedef struct Onednn {
    int none;
} Onednn;
static inline const char *onednn_name(void)
{
    return "oneDNN 2 (Debian: libdnnl-dev) is not there to compare with";
}
static inline bool onednn_open(Onednn *d, const OnednnProduct *p)
{
    (void)d, (void)p;
    return false;
}
static inline void onednn_run(void *user) { (void)user; }
#endif

#endif
