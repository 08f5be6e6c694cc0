/* SPDX-License-Identifier: MIT
 *
 * Kernels as bytes: a header, the slots, the counts, the object file. The header has the size and a
 * hash of what follows, so that files cut short or changed are told from whole ones; whether the
 * bytes are of this build and this CPU is for the caller to know.
 */
#include "cpu/cpu.h"
#include "cpu/jit/jit.h"

#include <stdlib.h>

#define MAGIC UINT64_C(0x316c6e726b646568) /* "hedkrnl1" */

typedef struct Header {
    uint64_t magic, size; /* of what is behind the header */
    uint64_t hash;        /* of that and of the header with a 0 here */
    CpuKernel kernel;     /* its pointers are NULL */
} Header;

static uint64_t hash_of(const Header *h, const void *body)
{
    Header plain;
    memcpy(&plain, h, sizeof plain);
    plain.hash = 0;
    return hash_bytes(body, h->size, hash_bytes(&plain, sizeof plain, MAGIC));
}

size_t cpu_kernel_save(const CpuKernel *k, void *out)
{
    size_t slots = k->n_slots * sizeof *k->slots, counts = k->n_counts * sizeof *k->counts;
    size_t size = slots + counts + k->text_size;
    if (!k->text_size || !out)
        return k->text_size ? sizeof(Header) + size : 0;
    char *body = (char *)out + sizeof(Header);
    if (slots)
        memcpy(body, k->slots, slots);
    if (counts)
        memcpy(body + slots, k->counts, counts);
    memcpy(body + slots + counts, k->text, k->text_size);
    Header h;
    memset(&h, 0, sizeof h);
    h.magic = MAGIC;
    h.size = size;
    memcpy(&h.kernel, k, sizeof *k);
    h.kernel.code = NULL;
    h.kernel.slots = NULL;
    h.kernel.text = NULL;
    h.kernel.owner = NULL;
    h.kernel.lines = NULL;
    h.kernel.rows = NULL;
    h.kernel.counts = NULL;
    h.kernel.remarks = NULL;
    h.kernel.n_remarks = 0;
    h.hash = hash_of(&h, body);
    memcpy(out, &h, sizeof h);
    return sizeof h + size;
}

static CpuKernel *refuse_stored(CpuKernel *k, DiagSink *sink, const char *why)
{
    diag(sink, DIAG_ERROR, NULL, NULL, "a stored kernel %s", why);
    cpu_kernel_free(k);
    return NULL;
}

static void *copy(const void *from, size_t size)
{
    void *to = malloc(size + !size);
    return to && size ? memcpy(to, from, size) : to;
}

CpuKernel *cpu_kernel_load(const char *name, const void *data, size_t size, DiagSink *sink)
{
    Header h;
    if (size < sizeof h)
        return refuse_stored(NULL, sink, "is cut short");
    memcpy(&h, data, sizeof h);
    const char *body = (const char *)data + sizeof h;
    size_t slots = h.kernel.n_slots * sizeof *h.kernel.slots;
    size_t counts = h.kernel.n_counts * sizeof *h.kernel.counts;
    if (h.magic != MAGIC || h.size != size - sizeof h || h.hash != hash_of(&h, body) ||
        slots + counts > h.size || h.kernel.text_size != h.size - slots - counts)
        return refuse_stored(NULL, sink, "is damaged");
    CpuKernel *k = copy(&h.kernel, sizeof h.kernel);
    if (!k)
        return refuse_stored(NULL, sink, "finds no memory");
    k->slots = copy(body, slots);
    k->counts = copy(body + slots, counts);
    k->text = copy(body + slots + counts, h.kernel.text_size);
    if (!k->slots || !k->counts || !k->text)
        return refuse_stored(k, sink, "finds no memory");
    CpuJit jit;
    CpuOptions options = { .name = name, .debug = k->debug };
    if (!cpu_jit_load(k->text, k->text_size, &options, &jit, sink))
        return refuse_stored(k, sink, "cannot be linked");
    k->code = jit.code;
    k->owner = jit.owner;
    k->lines = jit.lines;
    return k;
}
