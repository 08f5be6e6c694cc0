/* SPDX-License-Identifier: MIT
 *
 * Which instance or device a handle belongs to. Every call of a program's that the layer sees looks
 * here, so it takes no lock: a reader looks at nothing of a row but its key until that is its own,
 * and the program may not destroy what it is calling (Vulkan, "Threading Behavior").
 */
#include "layer/layer.h"

static uintptr_t key_of(const void *dispatchable) { return *(const uintptr_t *)dispatchable; }

void *hl_table_find(HlTable *t, const void *dispatchable)
{
    uintptr_t key = key_of(dispatchable);
    uint32_t n = atomic_load_explicit(&t->n, memory_order_acquire);
    for (uint32_t k = 0; k < n; k++)
        if (atomic_load_explicit(&t->keys[k], memory_order_acquire) == key)
            return t->values[k];
    return NULL;
}

bool hl_table_add(HlTable *t, const void *dispatchable, void *value)
{
    pthread_mutex_lock(&t->lock);
    uint32_t k = 0, n = atomic_load(&t->n);
    while (k < n && atomic_load(&t->keys[k]))
        k++;
    bool room = k < HL_TABLE_ROWS;
    if (room) {
        t->values[k] = value;
        atomic_store(&t->keys[k], key_of(dispatchable));
        atomic_store(&t->n, MAX(n, k + 1));
    }
    pthread_mutex_unlock(&t->lock);
    return room;
}

void hl_table_remove(HlTable *t, const void *value)
{
    pthread_mutex_lock(&t->lock);
    for (uint32_t k = 0, n = atomic_load(&t->n); k < n; k++)
        if (atomic_load(&t->keys[k]) && t->values[k] == value)
            atomic_store(&t->keys[k], 0);
    pthread_mutex_unlock(&t->lock);
}
