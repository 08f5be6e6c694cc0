/* SPDX-License-Identifier: MIT
 *
 * An entry point, lowered for the device, and where what came of it is kept: in memory, and in the
 * folder HEDDLE_CACHE. A key is of all that decides the words.
 */
#include <stdio.h>
#include <stdlib.h>

#include "check/check.h"
#include "layer/layer.h"

enum { MOST_CACHED = 64 << 20 }; /* bytes, in memory */

/* ---- messages -------------------------------------------------------------------------------- */

typedef struct Speaker {
    const HlStage *stage;
} Speaker;

static void speak(void *user, const Diag *d)
{
    static const VkDebugUtilsMessageSeverityFlagBitsEXT severities[] = {
        [DIAG_NOTE] = VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT,
        [DIAG_WARNING] = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
        [DIAG_ERROR] = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
    };
    const HlStage *s = ((const Speaker *)user)->stage;
    char text[2048];
    diag_format(d, text, sizeof text);
    hl_say(s->device->instance, severities[d->severity], s->module, d->rule ? d->rule : "heddle",
           text);
}

/* ---- keys and files -------------------------------------------------------------------------- */

static bool is_within(const VkSpecializationInfo *s, const VkSpecializationMapEntry *e)
{
    return e->offset <= s->dataSize && e->size <= s->dataSize - e->offset;
}

static HlKey key_of(const HlStage *s)
{
    const VkSpecializationInfo *i = s->specialization;
    HlKey key = s->key;
    for (int k = 0; k < 2; k++) {
        uint64_t h = key.hash[k] ^ atomic_load(&s->device->physical->target)->identity;
        h = hash_bytes(&s->compute, sizeof s->compute, h);
        if (!s->compute) {
            key.hash[k] = h;
            continue;
        }
        h = hash_bytes(&s->subgroup_size, sizeof s->subgroup_size, h);
        h = hash_bytes(s->entry, strlen(s->entry), h);
        for (uint32_t e = 0; i && e < i->mapEntryCount; e++) {
            const VkSpecializationMapEntry *m = &i->pMapEntries[e];
            if (!is_within(i, m))
                continue;
            h = hash_bytes(&m->constantID, sizeof m->constantID, h);
            h = hash_bytes((const char *)i->pData + m->offset, m->size, h);
        }
        key.hash[k] = h;
    }
    return key;
}

static void file_name(char *out, size_t size, const char *folder, const HlKey *key)
{
    snprintf(out, size, "%s/%016llx%016llx.lowered", folder, (unsigned long long)key->hash[0],
             (unsigned long long)key->hash[1]);
}

/* Before the words in a file. The sum is of the key, what is above it and the words: a driver is
 * given nothing of a file that was damaged, or that has another's name. */
typedef struct FileHead {
    uint32_t magic, native, whole, size;
    uint64_t sum;
} FileHead;
enum { FILE_MAGIC = 0x32776c68 }; /* hlw2 */

static uint64_t sum_of(const HlKey *key, const FileHead *head, const void *words)
{
    uint64_t h = hash_bytes(key, sizeof *key, 0);
    h = hash_bytes(head, offsetof(FileHead, sum), h);
    return hash_bytes(words, head->size, h);
}

static HlLowered *make_lowered(const HlKey *key, const FileHead *head, const void *words)
{
    HlLowered *l = malloc(sizeof *l + head->size);
    if (!l)
        return NULL;
    *l = (HlLowered){ .references = 1,
                      .key = *key,
                      .native = head->native,
                      .whole = head->whole,
                      .size = head->size };
    memcpy(l->words, words, head->size);
    return l;
}

static HlLowered *read_file(const char *folder, const HlKey *key)
{
    char path[4096];
    size_t size;
    FileHead head;
    file_name(path, sizeof path, folder, key);
    char *data = file_read(path, &size, NULL);
    if (!data)
        return NULL;
    HlLowered *l = NULL;
    if (size > sizeof head) {
        memcpy(&head, data, sizeof head);
        if (head.magic == FILE_MAGIC && head.size == size - sizeof head && head.size % 4 == 0 &&
            head.sum == sum_of(key, &head, data + sizeof head))
            l = make_lowered(key, &head, data + sizeof head);
    }
    free(data);
    return l;
}

static void write_file(const char *folder, const HlLowered *l)
{
    char path[4096];
    FileHead head = { FILE_MAGIC, l->native, l->whole, (uint32_t)l->size, 0 };
    head.sum = sum_of(&l->key, &head, l->words);
    file_name(path, sizeof path, folder, &l->key);
    file_write(path, &head, sizeof head, l->words, l->size, NULL);
}

/* ---- memory ---------------------------------------------------------------------------------- */

void hl_release_lowered(HlLowered *l)
{
    if (l && atomic_fetch_sub(&l->references, 1) == 1)
        free(l);
}

static HlLowered *find(HlDevice *d, const HlKey *key)
{
    pthread_mutex_lock(&d->cache_lock);
    HlLowered *l = d->lowered;
    while (l && memcmp(&l->key, key, sizeof *key))
        l = l->next;
    if (l)
        atomic_fetch_add(&l->references, 1);
    pthread_mutex_unlock(&d->cache_lock);
    return l;
}

/* The oldest make room. Two threads may add the same. */
static void add(HlDevice *d, HlLowered *l)
{
    pthread_mutex_lock(&d->cache_lock);
    atomic_fetch_add(&l->references, 1);
    l->next = d->lowered;
    d->lowered = l;
    d->cached += l->size;
    while (d->cached > MOST_CACHED && d->lowered->next) {
        HlLowered **last = &d->lowered;
        while ((*last)->next)
            last = &(*last)->next;
        d->cached -= (*last)->size;
        hl_release_lowered(*last);
        *last = NULL;
    }
    pthread_mutex_unlock(&d->cache_lock);
}

void hl_free_lowered(HlDevice *d)
{
    for (HlLowered *l = d->lowered, *next; l; l = next) {
        next = l->next;
        hl_release_lowered(l);
    }
}

/* ---- lowering -------------------------------------------------------------------------------- */

typedef struct Work {
    const HlStage *stage;
    HlKey key;
    Arena arena;
    DiagSink sink;
    HlLowered *made;
} Work;

/* Values for constants that the module does not have are allowed. */
static SpvSpecValue *find_specs(Work *w, const SpvModule *m, uint32_t *count)
{
    const VkSpecializationInfo *s = w->stage->specialization;
    SpvSpecValue *specs = NEW_ARRAY(&w->arena, SpvSpecValue, (s ? s->mapEntryCount : 0) + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; s && k < s->mapEntryCount; k++) {
        const VkSpecializationMapEntry *e = &s->pMapEntries[k];
        bool there = false;
        for (const SpvInst *i = m->globals.first; i && !there; i = i->next)
            there = i->op == SpvOpDecorate && spv_operand(i, 1) == SpvDecorationSpecId &&
                    spv_operand(i, 2) == e->constantID;
        if (!there || e->size > sizeof specs[n].bits || !is_within(s, e))
            continue;
        specs[n].id = e->constantID;
        memcpy(&specs[n++].bits, (const char *)s->pData + e->offset, e->size);
    }
    *count = n;
    return specs;
}

static SpvModule *read_module(Work *w)
{
    const HlStage *s = w->stage;
    char *name = arena_printf(&w->arena, "shader %016llx", (unsigned long long)s->key.hash[0]);
    SpvModule *m = spv_read(&w->arena, s->words, s->size, name, &w->sink);
    if (!m || !check_read(m, &w->sink))
        return NULL;
    if (!s->compute)
        return m;
    pass_nv_matrix(m);
    pass_untyped(m);
    return check_module(spv_clone(&w->arena, m), &w->sink) ? m : NULL;
}

static bool lower_compute(Work *w, SpvModule *m, const LowerProfile *profile, FileHead *head)
{
    const HlStage *s = w->stage;
    uint32_t size = 0;
    SpvEntryPoint entry;
    LowerOptions o = { .profile = profile,
                       .entry = s->entry,
                       .subgroup_size = s->subgroup_size,
                       .chosen_size = &size };
    o.spec = find_specs(w, m, &o.n_spec);
    if (!lower_module(m, &o, &w->sink) || !spv_entry_point(m, s->entry, &entry, &w->sink))
        return false;
    head->native = MIN(size, profile->max_subgroup_size);
    head->whole = entry.local_size[0] % head->native == 0;
    return true;
}

static void lower(void *user)
{
    Work *w = user;
    const HlPhysical *p = w->stage->device->physical;
    const LowerProfile *profile = &atomic_load(&p->target)->profile;
    FileHead head = { 0 };
    SpvModule *m = read_module(w);
    if (!m)
        return;
    bool good =
        w->stage->compute ? lower_compute(w, m, profile, &head) : lower_types(m, profile, &w->sink);
    if (!good || !vkf_accepts(&p->facts, m, &w->sink))
        return;
    size_t bytes;
    const void *words = spv_write(&w->arena, m, &bytes);
    head.size = (uint32_t)bytes;
    w->made = make_lowered(&w->key, &head, words);
}

static VkResult make(const HlStage *s, const HlKey *key, HlLowered **out)
{
    Speaker speaker = { s };
    Work w = { .stage = s, .key = *key, .sink = { .report = speak, .user = &speaker } };
    bool memory = arena_try(&w.arena, lower, &w);
    arena_free(&w.arena);
    *out = w.made;
    if (w.made)
        return VK_SUCCESS;
    if (!memory || !w.sink.errors)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    return VK_ERROR_UNKNOWN;
}

VkResult hl_lower(const HlStage *s, bool may_lower, HlLowered **out)
{
    const char *folder = s->device->instance->config.cache;
    HlKey key = key_of(s);
    *out = find(s->device, &key);
    if (*out)
        return VK_SUCCESS;
    HlLowered *l = folder ? read_file(folder, &key) : NULL;
    if (!l) {
        if (!may_lower || !s->words)
            return VK_PIPELINE_COMPILE_REQUIRED;
        VkResult r = make(s, &key, &l);
        if (r)
            return r;
        if (folder)
            write_file(folder, l);
    }
    add(s->device, l);
    *out = l;
    return VK_SUCCESS;
}
