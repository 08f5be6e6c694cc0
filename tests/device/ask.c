/* SPDX-License-Identifier: MIT
 *
 * Who holds which element of a matrix, asked of heddle's own driver, whose answer is known; and of
 * one that lies: for one load of four its invocations have got something else.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/test.h"
#include "vkdevice/vkdevice.h"

static VkdDevice *opened;
static PFN_vkWaitForFences wait_for;
static uint32_t waits, lying; /* which of four loads; 0: none */

enum { LANES = 32, ROOM = 2 * 16 * 16 / LANES, OTHER = 17 * ROOM };

/* What was written last is in the newest of the device's buffers, where lane 17's first element is
 * neither of the row nor of the column of lane 0's. */
static VKAPI_ATTR VkResult VKAPI_CALL wait_and_lie(VkDevice device, uint32_t n, const VkFence *f,
                                                   VkBool32 all, uint64_t limit)
{
    VkResult r = wait_for(device, n, f, all, limit);
    char *out = opened->pieces ? opened->pieces->mapped : NULL, first[4];
    if (out && lying && waits++ % 4 == lying - 1) {
        size_t size = opened->pieces->size / (LANES * ROOM);
        memcpy(first, out, size);
        memcpy(out, out + OTHER * size, size);
        memcpy(out + OTHER * size, first, size);
    }
    return r;
}

static bool open_own(void)
{
    DeviceBase *base = NULL;
    TestDiags d = TEST_DIAGS(d);
    setenv("VK_DRIVER_FILES", HEDDLE_DRIVER, 1);
    setenv("VK_ICD_FILENAMES", HEDDLE_DRIVER, 1);
    setenv("HEDDLE_MATRICES", "f16", 1);
    if (vulkan_device_ops.open(&(DeviceOptions){ 0 }, &base, &d.sink))
        return false;
    opened = (VkdDevice *)base;
    wait_for = opened->WaitForFences;
    opened->WaitForFences = wait_and_lie;
    return true;
}

static void ask_same(uint32_t lie)
{
    LowerProfile *p = &opened->facts.profile;
    p->ownership = PROFILE_OPAQUE;
    p->n_owners = 0;
    waits = 0;
    lying = lie;
    CHECK(arena_try(&opened->arena, vkd_ask, opened));
}

/* As if it were a driver that this process has never seen. */
static void ask_again(uint32_t lie)
{
    static uint64_t drivers;
    opened->base.info.identity = ++drivers;
    ask_same(lie);
}

TEST(known_answer)
{
    REQUIRE(open_own());
    const LowerProfile *p = &opened->facts.profile;
    CHECK(p->ownership == PROFILE_LINEAR && p->n_shapes);
    ask_again(0);
    CHECK(p->ownership == PROFILE_ASKED && p->n_owners >= 3); /* A, B, C */
    for (uint32_t k = 0; k < p->n_owners; k++) {
        const LowerOwner *o = &p->owners[k];
        for (uint32_t n = 0; n < o->rows * o->cols; n++) {
            uint32_t at[2];
            owner_place(o, n % p->subgroup_size, n / p->subgroup_size, at);
            CHECK(at[0] == n / o->cols && at[1] == n % o->cols);
        }
    }
    CHECK_CONTAINS(opened->base.info.profile, "\"ownership\": \"asked\"");
    vulkan_device_ops.close(&opened->base);
}

TEST(lies)
{
    REQUIRE(open_own());
    for (uint32_t lie = 1; lie <= 4; lie++) {
        ask_again(lie);
        CHECK(!opened->facts.profile.n_owners);
    }
    vulkan_device_ops.close(&opened->base);
}

TEST(a_process_asks_once)
{
    REQUIRE(open_own());
    const LowerProfile *p = &opened->facts.profile;
    ask_again(0);
    uint32_t n = p->n_owners;
    CHECK(n >= 3);
    ask_same(1);
    CHECK(p->ownership == PROFILE_ASKED && p->n_owners == n && !waits);
    ((LowerProfile *)p)->name = "another";
    ask_same(1);
    CHECK(!p->n_owners && waits);
    vulkan_device_ops.close(&opened->base);
}

/* Read instead of asked where they are kept, and the driver is the same. */
TEST(answers_are_kept)
{
    char folder[] = "/tmp/heddle-answers-XXXXXX", command[64], path[512];
    REQUIRE(mkdtemp(folder) != NULL);
    setenv("HEDDLE_CACHE", folder, 1);
    REQUIRE(open_own());
    const LowerProfile *p = &opened->facts.profile;
    ask_again(0);
    uint32_t n = p->n_owners;
    CHECK(n >= 3);
    ask_again(1); /* nobody is asked */
    CHECK(p->n_owners == n && !waits);
    VkfFacts *f = &opened->facts; /* as the layer does */
    f->profile.ownership = PROFILE_OPAQUE;
    f->profile.n_owners = 0;
    CHECK(vkf_cache_path(f, folder, "profile.json", path, sizeof path));
    CHECK(vkf_read_answers(f, path, &opened->arena) && p->n_owners == n);
    CHECK(!vkf_read_answers(f, path, &opened->arena)); /* it is known */
    CHECK(!vkf_cache_path(f, NULL, "profile.json", path, sizeof path));
    ((LowerProfile *)p)->name = "another";
    ask_again(1);
    CHECK(!p->n_owners && waits);
    vulkan_device_ops.close(&opened->base);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(!system(command));
    unsetenv("HEDDLE_CACHE");
}
