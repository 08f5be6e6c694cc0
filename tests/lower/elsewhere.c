/* SPDX-License-Identifier: MIT
 *
 * The family's tests once more, on a Vulkan driver: linked into their programs, this takes the
 * place of heddle_device_new and opens a device of the driver HEDDLE_ELSEWHERE where they ask for
 * the cpu; heddle's own has no more of matrices than HEDDLE_ELSEWHERE_MATRICES. With
 * HEDDLE_ELSEWHERE in the environment it is the system's driver (tests/lower/driver.sh). With
 * HEDDLE_ELSEWHERE_LAYER, a build's share/, that build's layer is between heddle and the driver:
 * then the device has all of the family, and it is the layer that lowers; with
 * HEDDLE_ELSEWHERE_SMALL that is bf16 and fp8 as well, though the driver has them.
 */
#include "base/base.h"
#include "../wrap.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void choose_driver(void)
{
    if (getenv("HEDDLE_ELSEWHERE"))
        return;
    if (access(HEDDLE_ELSEWHERE, R_OK)) {
        printf("passed over: no %s\n0 passed, 0 failed\n", HEDDLE_ELSEWHERE);
        exit(0);
    }
    setenv("VK_DRIVER_FILES", HEDDLE_ELSEWHERE, 1);
    setenv("VK_ICD_FILENAMES", HEDDLE_ELSEWHERE, 1);
    setenv("HEDDLE_MATRICES", HEDDLE_ELSEWHERE_MATRICES, 1);
#ifdef HEDDLE_ELSEWHERE_LAYER
    if (!dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL)) {
        printf("passed over: no libvulkan.so.1, and without the loader no layer\n"
               "0 passed, 0 failed\n");
        exit(0);
    }
    setenv("XDG_DATA_DIRS", HEDDLE_ELSEWHERE_LAYER ":/usr/share", 1);
    setenv("VK_ADD_IMPLICIT_LAYER_PATH", HEDDLE_ELSEWHERE_LAYER "/vulkan/implicit_layer.d", 1);
    setenv("HEDDLE_LAYER", "1", 1);
    setenv("HEDDLE_LAYER_SUBGROUPS", "64", 1);
    setenv("HEDDLE_LOG", "stderr", 0);
#ifdef HEDDLE_ELSEWHERE_SMALL
    setenv("HEDDLE_LAYER_EXTENSIONS", "+VK_KHR_shader_bfloat16,+VK_EXT_shader_float8", 1);
#endif
#endif
}

/* That the driver lacks them, and the layer lists them. */
static bool has_family(const HeddleDevice *d)
{
    const HeddleDeviceInfo *info = heddle_device_info(d);
    int found = 0;
    for (size_t k = 0; k < info->n_features; k++)
        found += !strcmp(info->features[k], "NV_cooperative_matrix2") ||
                 !strcmp(info->features[k], "QCOM_cooperative_matrix_conversion");
    return found == 2;
}

HeddleResult __wrap_heddle_device_new(const HeddleDeviceOptions *options, HeddleDevice **out,
                                      HeddleLog *log)
{
    HeddleDeviceOptions o = { .struct_size = sizeof o, .kind = HEDDLE_DEVICE_VULKAN };
    bool elsewhere = !options || options->kind == HEDDLE_DEVICE_CPU;
    HeddleResult r = __real_heddle_device_new(elsewhere ? &o : options, out, log);
#ifdef HEDDLE_ELSEWHERE_LAYER
    bool layered = true;
#else
    bool layered = false;
#endif
    if (!r && elsewhere && layered && !has_family(*out)) {
        printf("the layer does not list the family\n0 passed, 1 failed\n");
        exit(1);
    }
    return r;
}
