/* SPDX-License-Identifier: MIT
 *
 * For releases, which are linked with glibc 2.31: what archives of LLVM, of the C++ library and of
 * GCC's take from glibc 2.32 to 2.36. Each function does what its manual page says.
 */
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* glibc 2.32: whether locks may be left out; no. */
HIDDEN char __libc_single_threaded;

/* glibc 2.33: mallinfo with numbers that do not overflow. */
struct mallinfo2 {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
HIDDEN struct mallinfo2 mallinfo2(void);
struct mallinfo2 mallinfo2(void)
{
    struct mallinfo m = mallinfo();
    return (struct mallinfo2){ (unsigned)m.arena,    (unsigned)m.ordblks,  (unsigned)m.smblks,
                               (unsigned)m.hblks,    (unsigned)m.hblkhd,   (unsigned)m.usmblks,
                               (unsigned)m.fsmblks,  (unsigned)m.uordblks, (unsigned)m.fordblks,
                               (unsigned)m.keepcost };
}

/* glibc 2.36: a random number, of std::random_device. */
HIDDEN uint32_t arc4random(void);
uint32_t arc4random(void)
{
    uint32_t number = 0;
    while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        ;
    return number;
}

/* glibc 2.35: the object that holds an address, for unwinding. */
struct dl_find_object {
    unsigned long long flags;
    void *map_start, *map_end;
    struct link_map *link_map;
    void *eh_frame;
    unsigned long long reserved[7];
};

struct find_object {
    uintptr_t address;
    struct dl_find_object *result;
};

static int contains(struct dl_phdr_info *info, size_t size, void *user)
{
    const struct find_object *f = user;
    uintptr_t start = UINTPTR_MAX, end = 0;
    void *eh_frame = NULL;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME)
            eh_frame = (void *)at;
        if (p->p_type != PT_LOAD)
            continue;
        start = at < start ? at : start;
        end = at + p->p_memsz > end ? at + p->p_memsz : end;
    }
    if (f->address < start || f->address >= end || !eh_frame)
        return 0;
    *f->result = (struct dl_find_object){ .map_start = (void *)start,
                                          .map_end = (void *)end,
                                          .eh_frame = eh_frame };
    return 1;
}

HIDDEN int _dl_find_object(void *address, struct dl_find_object *result);
int _dl_find_object(void *address, struct dl_find_object *result)
{
    struct find_object f = { (uintptr_t)address, result };
    return dl_iterate_phdr(contains, &f) ? 0 : -1;
}
