/* SPDX-License-Identifier: MIT
 *
 * printf: threads reserve words of a buffer that the launch passes, and write there which call it
 * was and its arguments. The host, which knows the formats, shows them when the kernel has ended.
 */
#include "nvptx/internal.h"
#include "llvm/ir.h"

#include <stddef.h>
#include <stdlib.h>

static void put_word(Emit *e, LV words, LV at, uint32_t k, LV word)
{
    LV index = LLVMBuildAdd(e->b, at, ir_int(e->i64, k), "");
    LV store = LLVMBuildStore(e->b, word, LLVMBuildGEP2(e->b, e->i64, words, &index, 1, ""));
    LLVMSetAlignment(store, sizeof(uint64_t));
}

void threads_print(Emit *e, const EmitPrint *p)
{
    if (!p->text) {
        emit_error(e, NULL, NULL, "a printf whose format is not constant is not supported on %s",
                   e->target->name);
        return;
    }
    EmitPrint *kept = NEW(e->arena, EmitPrint);
    *kept = *p;
    vec_push(e->arena, &threads_of(e)->prints, kept);
    uint64_t number = threads_of(e)->prints.len, size = p->n_words + 1;
    LV memory = threads_env(e, e->b, e->i64, offsetof(NvptxEnv, print));
    EmitIf listens = if_begin(e, LLVMBuildICmp(e->b, LLVMIntNE, memory, ir_int(e->i64, 0), ""));
    LV used = LLVMBuildIntToPtr(e->b, memory, LLVMPointerTypeInContext(e->cx, SPACE_GLOBAL), ""),
       words = ir_at(e->b, used, ir_int(e->i64, offsetof(NvptxPrinted, words)));
    LV at =
        LLVMBuildAtomicRMWSyncScope(e->b, LLVMAtomicRMWBinOpAdd, used, ir_int(e->i64, size),
                                    LLVMAtomicOrderingMonotonic, threads_scope(e, SpvScopeDevice));
    LV room = ir_at(e->b, used, ir_int(e->i64, offsetof(NvptxPrinted, room)));
    room = ir_load(e->b, e->i64, room, sizeof(uint64_t));
    EmitIf begins = if_begin(e, LLVMBuildICmp(e->b, LLVMIntULT, at, room, ""));
    LV left = LLVMBuildSub(e->b, room, at, ""),
       fits = LLVMBuildICmp(e->b, LLVMIntULE, ir_int(e->i64, size), left, "");
    put_word(e, words, at, 0,
             LLVMBuildSelect(e->b, fits, ir_int(e->i64, number), ir_int(e->i64, 0), ""));
    EmitIf all = if_begin(e, fits);
    for (uint32_t k = 0; k < p->n_words; k++)
        put_word(e, words, at, k + 1, p->texts[k] ? ir_int(e->i64, 0) : p->words[k]);
    if_end(e, &all);
    if_end(e, &begins);
    if_end(e, &listens);
}

static bool keep(const EmitPrint *p, NvptxPrint *out)
{
    out->format = strdup(p->text);
    out->texts = calloc(p->n_words + 1, sizeof *out->texts);
    if (!out->format || !out->texts)
        return false;
    for (; out->n_words < p->n_words; out->n_words++) {
        const char *text = p->texts[out->n_words];
        if (text && !(out->texts[out->n_words] = strdup(text)))
            return false;
    }
    return true;
}

bool prints_keep(const Emit *e, NvptxKernel *k)
{
    uint32_t n = (uint32_t)threads_of(e)->prints.len;
    k->prints = calloc(n + 1, sizeof *k->prints);
    if (!k->prints)
        return false;
    k->n_prints = n;
    for (uint32_t i = 0; i < n; i++)
        if (!keep(threads_of(e)->prints.data[i], &k->prints[i]))
            return false;
    return true;
}

void prints_free(NvptxKernel *k)
{
    for (uint32_t i = 0; i < k->n_prints; i++) {
        NvptxPrint *p = &k->prints[i];
        for (uint32_t w = 0; w < p->n_words; w++)
            free(p->texts[w]);
        free(p->texts);
        free(p->format);
    }
    free(k->prints);
}
