/* SPDX-License-Identifier: MIT
 *
 * printf: the host's memory that kernels write what they print to.
 */
#include "cuda/internal.h"

#include <stdlib.h>

static uint64_t print_bytes(void)
{
    enum { USUAL = 1 << 20, LEAST = 4096 };
    const char *text = getenv("HEDDLE_GPU_PRINT");
    double bytes = text && *text ? atof(text) : USUAL;
    return bytes >= LEAST && bytes <= 1 << 30 ? (uint64_t)bytes : USUAL;
}

bool cuda_may_print(Cuda *c, CudaJob *j, NvptxEnv *env)
{
    uint64_t bytes = print_bytes();
    if (!j->kernel->code->n_prints || !j->x->print)
        return true;
    j->printed = cuda_take_block(c, bytes, j->sink);
    if (!j->printed)
        return false;
    NvptxPrinted *p = (NvptxPrinted *)j->printed->words;
    *p = (NvptxPrinted){ .room = (bytes - sizeof *p) / 8 };
    env->print = j->printed->address;
    return true;
}

/* Returns the words behind a call's; NULL: there are no more calls. */
static uint64_t *show(const CudaJob *j, uint64_t *at, const uint64_t *end)
{
    const NvptxKernel *code = j->kernel->code;
    uint64_t number = at < end ? *at++ : 0;
    if (!number || number > code->n_prints)
        return NULL;
    const NvptxPrint *p = &code->prints[number - 1];
    if (p->n_words > (uint64_t)(end - at))
        return NULL;
    for (uint32_t k = 0; k < p->n_words; k++)
        if (p->texts[k])
            at[k] = (uintptr_t)p->texts[k];
    j->x->print(j->x->user, p->format, at, p->n_words);
    return at + p->n_words;
}

void cuda_show_printed(const CudaJob *j)
{
    if (!j->printed)
        return;
    NvptxPrinted *p = (NvptxPrinted *)j->printed->words;
    for (uint64_t *at = p->words; at;)
        at = show(j, at, p->words + MIN(p->used, p->room));
    if (p->used > p->room)
        diag(j->sink, DIAG_WARNING, NULL, NULL,
             "%llu of the %llu bytes that the kernel printed did not fit (HEDDLE_GPU_PRINT=%llu "
             "would have taken them)",
             (unsigned long long)(p->used - p->room) * 8, (unsigned long long)p->used * 8,
             (unsigned long long)p->used * 8 + sizeof *p);
}
