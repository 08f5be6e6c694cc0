/* SPDX-License-Identifier: MIT
 *
 * Kernels that outlive the process: files of a folder, each of which is what DeviceOps.save made,
 * under a name that is a hash of all that decides it. Several processes may use a folder at once.
 * Nothing is ever removed.
 */
#include "device/device.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

uint64_t device_identity(const DeviceBase *d)
{
    Dl_info self;
    struct stat file;
    uint32_t version[] = { HEDDLE_VERSION_MAJOR, HEDDLE_VERSION_MINOR, HEDDLE_VERSION_PATCH };
    uint64_t h = hash_bytes(version, sizeof version, d->info.identity);
    if (dladdr((void *)(uintptr_t)device_identity, &self) && !stat(self.dli_fname, &file)) {
        int64_t build[] = { file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec };
        h = hash_bytes(build, sizeof build, h);
    }
    return hash_bytes(d->ops->name, strlen(d->ops->name), h);
}

DeviceKey device_key(uint64_t identity) { return (DeviceKey){ { identity, identity + 1 } }; }

void device_key_add(DeviceKey *key, const void *data, size_t size)
{
    for (size_t i = 0; i < COUNT_OF(key->hash); i++)
        key->hash[i] = hash_bytes(data, size, key->hash[i]);
}

size_t device_save(const DeviceKernel *k, void *out)
{
    const DeviceOps *ops = k->device->ops;
    return ops->save ? ops->save(k, out) : 0;
}

DeviceKernel *device_load(DeviceBase *d, const DeviceCompile *how, const void *data, size_t size)
{
    return d->ops->load ? d->ops->load(d, how, data, size, NULL) : NULL;
}

/* "FOLDER/0123456789abcdef0123456789abcdef" */
static bool file_name(char *out, size_t size, const char *folder, const DeviceKey *key)
{
    int n = snprintf(out, size, "%s/%016llx%016llx", folder, (unsigned long long)key->hash[0],
                     (unsigned long long)key->hash[1]);
    return n > 0 && (size_t)n < size;
}

DeviceKernel *device_find_stored(const char *folder, DeviceBase *d, const DeviceCompile *how,
                                 const DeviceKey *key)
{
    char path[4096];
    size_t size;
    char *data = file_name(path, sizeof path, folder, key) ? file_read(path, &size, NULL) : NULL;
    DeviceKernel *k = data ? device_load(d, how, data, size) : NULL;
    free(data);
    return k;
}

bool device_store(const char *folder, const DeviceKernel *k, const DeviceKey *key)
{
    char path[4096];
    size_t size = device_save(k, NULL);
    void *data = size ? malloc(size) : NULL;
    if (!data)
        return false;
    device_save(k, data);
    if (file_name(path, sizeof path, folder, key) && (!mkdir(folder, 0777) || errno == EEXIST))
        file_write(path, data, size, NULL, 0, NULL);
    free(data);
    return true;
}

void device_keep(const char *_Atomic *folder, const DeviceKernel *k, const DeviceKey *key)
{
    const char *into = atomic_load_explicit(folder, memory_order_relaxed);
    if (into && device_store(into, k, key))
        atomic_store_explicit(folder, NULL, memory_order_relaxed);
}
