/* SPDX-License-Identifier: MIT
 *
 * Kernels as bytes: a seal, what NvptxKernel says, the PTX. The seal tells files cut short or
 * changed from whole ones; what is behind it is read by a cursor and checked all the same.
 * Numbers are the machine's own: the bytes are for the same build.
 */
#include "cuda/internal.h"

#include <stdlib.h>

#define MAGIC UINT64_C(0x3274707864656868) /* "hhedxpt2" */

enum { BY_ADDRESS = 1, NOT_OPTIMISED = 2, OPENCL = 4 };

/* ---- writing --------------------------------------------------------------------------------- */

/* Counts where there is nothing to write to. */
typedef struct Writer {
    char *to;
    size_t size;
} Writer;

static void put(Writer *w, const void *data, size_t size)
{
    if (w->to)
        memcpy(w->to + w->size, data, size);
    w->size += size;
}

static void put_u32(Writer *w, uint64_t value)
{
    uint32_t word = (uint32_t)value;
    put(w, &word, sizeof word);
}

static void put_kernel(Writer *w, const CudaKernel *k)
{
    const NvptxKernel *code = k->code;
    _Static_assert(sizeof *code == 104, "what NvptxKernel has more of is stored as well");
    put_u32(w, (k->by_address ? BY_ADDRESS : 0) | (k->not_optimised ? NOT_OPTIMISED : 0) |
                   (k->arguments ? OPENCL : 0));
    put_u32(w, code->subgroup_size);
    for (uint32_t i = 0; i < 3; i++)
        put_u32(w, code->local_size[i]);
    for (uint32_t i = 0; i < 3; i++)
        put_u32(w, code->fused[i]);
    put_u32(w, code->column_axis);
    put_u32(w, code->shared_bytes);
    put_u32(w, code->push_bytes);
    put_u32(w, code->parameter_bytes);
    put_u32(w, code->n_slots);
    for (uint32_t i = 0; i < code->n_slots; i++) {
        const NvptxSlot *s = &code->slots[i];
        put_u32(w, s->set);
        put_u32(w, s->binding);
        put_u32(w, s->count);
        put_u32(w, s->written);
    }
    put_u32(w, strlen(code->ptx));
    put(w, code->ptx, strlen(code->ptx));
}

static uint64_t seal(const void *body, size_t size) { return hash_bytes(body, size, MAGIC); }

size_t cuda_save(const DeviceKernel *kernel, void *out)
{
    const CudaKernel *k = (const CudaKernel *)kernel;
    uint64_t head[] = { MAGIC, 0 };
    Writer w = { .to = out };
    if (k->code->n_prints)
        return 0;
    put(&w, head, sizeof head);
    put_kernel(&w, k);
    if (out) {
        head[1] = seal((char *)out + sizeof head, w.size - sizeof head);
        memcpy(out, head, sizeof head);
    }
    return w.size;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool take_slots(Cursor *c, NvptxKernel *code)
{
    enum { WORDS = 4 };
    uint32_t n = cursor_u32(c);
    if (n > (c->size - c->pos) / (WORDS * sizeof(uint32_t)))
        return false;
    code->slots = calloc(n + 1, sizeof *code->slots);
    if (!code->slots)
        return false;
    code->n_slots = n;
    for (uint32_t i = 0; i < n; i++) {
        NvptxSlot *s = &code->slots[i];
        s->set = cursor_u32(c);
        s->binding = cursor_u32(c);
        s->count = cursor_u32(c);
        s->written = cursor_u32(c);
    }
    return true;
}

static bool take_ptx(Cursor *c, NvptxKernel *code)
{
    uint32_t size = cursor_u32(c);
    const uint8_t *text = cursor_bytes(c, size);
    if (!text || c->pos != c->size || memchr(text, 0, size))
        return false;
    code->ptx = malloc((size_t)size + 1);
    if (!code->ptx)
        return false;
    memcpy(code->ptx, text, size);
    code->ptx[size] = 0;
    return true;
}

static bool are_sizes(const uint32_t n[3])
{
    enum { MOST = 1024 };
    return n[0] && n[1] && n[2] && n[0] <= MOST && n[1] <= MOST && n[2] <= MOST;
}

/* What a dispatch relies on. */
static bool is_sound(const NvptxKernel *code, uint32_t flags)
{
    const uint32_t *n = code->local_size;
    bool is_open = flags & OPENCL && !n[0] && !n[1] && !n[2]; /* the dispatch's affair */
    return (is_open || are_sizes(n)) && are_sizes(code->fused) && code->column_axis < 3 &&
           code->subgroup_size && code->push_bytes <= NVPTX_PARAMETER_BYTES &&
           code->parameter_bytes == sizeof(NvptxEnv) + align_up(code->push_bytes, 16) &&
           code->parameter_bytes <= NVPTX_PARAMETER_BYTES;
}

static bool take_kernel(Cursor *c, NvptxKernel *code, uint32_t *flags)
{
    *flags = cursor_u32(c);
    code->subgroup_size = cursor_u32(c);
    for (uint32_t i = 0; i < 3; i++)
        code->local_size[i] = cursor_u32(c);
    for (uint32_t i = 0; i < 3; i++)
        code->fused[i] = cursor_u32(c);
    code->column_axis = cursor_u32(c);
    code->shared_bytes = cursor_u32(c);
    code->push_bytes = cursor_u32(c);
    code->parameter_bytes = cursor_u32(c);
    return take_slots(c, code) && take_ptx(c, code) && !c->overrun && is_sound(code, *flags);
}

static DeviceKernel *refuse(NvptxKernel *code, DiagSink *sink, const char *why)
{
    nvptx_free(code);
    diag(sink, DIAG_ERROR, NULL, NULL, "a stored kernel %s", why);
    return NULL;
}

DeviceKernel *cuda_load(DeviceBase *d, const DeviceCompile *how, const void *data, size_t size,
                        DiagSink *sink)
{
    uint64_t head[2];
    uint32_t flags;
    if (size < sizeof head)
        return refuse(NULL, sink, "is cut short");
    memcpy(head, data, sizeof head);
    Cursor c = { .data = (const uint8_t *)data + sizeof head, .size = size - sizeof head };
    if (head[0] != MAGIC || head[1] != seal(c.data, c.size))
        return refuse(NULL, sink, "is damaged");
    NvptxKernel *code = calloc(1, sizeof *code);
    if (!code || !take_kernel(&c, code, &flags))
        return refuse(code, sink, "is damaged, or there is no memory for it");
    if (!(flags & OPENCL) != !(how && how->arguments))
        return refuse(code, sink, "is another one's");
    CudaKernel *k = cuda_new_kernel((Cuda *)d, code, how);
    if (!k)
        return refuse(code, sink, "finds no memory");
    k->by_address = flags & BY_ADDRESS;
    k->not_optimised = flags & NOT_OPTIMISED;
    if (!cuda_load_code((Cuda *)d, k, sink))
        return &k->base;
    cuda_release(&k->base);
    return NULL;
}
