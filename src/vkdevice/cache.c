/* SPDX-License-Identifier: MIT
 *
 * Pipelines that the driver made before: its VkPipelineCache, in a file of the folder HEDDLE_CACHE
 * for each driver and version of it. A sum before the driver's data keeps damaged files from it.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "vkdevice/vkdevice.h"

typedef struct CacheHead {
    uint64_t magic, identity, sum;
} CacheHead;
#define MAGIC UINT64_C(0x31657069706b7668) /* hvkpipe1 */

bool vkd_cache_path(const VkdDevice *d, const char *what, char *out, size_t size)
{
    const char *folder = secure_getenv("HEDDLE_CACHE");
    return vkf_cache_path(&d->facts, folder, what, out, size) &&
           (mkdir(folder, 0777) == 0 || errno == EEXIST);
}

/* The driver's part of a file that is whole; or NULL. */
static const char *data_of(const VkdDevice *d, const char *file, size_t *size)
{
    CacheHead head;
    if (!file || *size < sizeof head)
        return NULL;
    memcpy(&head, file, sizeof head);
    *size -= sizeof head;
    bool good = head.magic == MAGIC && head.identity == d->base.info.identity &&
                head.sum == hash_bytes(file + sizeof head, *size, head.identity);
    return good ? file + sizeof head : NULL;
}

void vkd_open_cache(VkdDevice *d)
{
    char path[4096];
    size_t size = 0;
    if (!vkd_cache_path(d, "pipelines", path, sizeof path))
        return;
    char *file = file_read(path, &size, NULL);
    const char *data = data_of(d, file, &size);
    VkPipelineCacheCreateInfo info = { .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                       .initialDataSize = data ? size : 0,
                                       .pInitialData = data };
    d->cached = data ? size : 0;
    if (d->CreatePipelineCache(d->handle, &info, NULL, &d->cache))
        d->cache = VK_NULL_HANDLE;
    free(file);
}

/* Written where pipelines have been added. */
void vkd_close_cache(VkdDevice *d)
{
    char path[4096];
    size_t size = 0;
    if (!d->cache)
        return;
    bool more = !d->GetPipelineCacheData(d->handle, d->cache, &size, NULL) && size > d->cached;
    char *data = more && vkd_cache_path(d, "pipelines", path, sizeof path) ? malloc(size) : NULL;
    if (data && !d->GetPipelineCacheData(d->handle, d->cache, &size, data)) {
        CacheHead head = { MAGIC, d->base.info.identity,
                           hash_bytes(data, size, d->base.info.identity) };
        file_write(path, &head, sizeof head, data, size, NULL);
    }
    free(data);
    d->DestroyPipelineCache(d->handle, d->cache, NULL);
}
