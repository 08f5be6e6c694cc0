/* SPDX-License-Identifier: MIT
 *
 * The family's tests once more, on a Vulkan driver: linked into their programs, this takes the
 * place of heddle_device_new and opens a device of the driver HEDDLE_ELSEWHERE where they ask for
 * the cpu; heddle's own has no more of matrices than HEDDLE_ELSEWHERE_MATRICES. With
 * HEDDLE_ELSEWHERE in the environment it is the system's driver (tests/lower/driver.sh).
 */
#include "base/base.h"

#include <heddle/heddle.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

HeddleResult __real_heddle_device_new(const HeddleDeviceOptions *options, HeddleDevice **out,
                                      HeddleLog *log);
HeddleResult __wrap_heddle_device_new(const HeddleDeviceOptions *options, HeddleDevice **out,
                                      HeddleLog *log);

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
}

HeddleResult __wrap_heddle_device_new(const HeddleDeviceOptions *options, HeddleDevice **out,
                                      HeddleLog *log)
{
    HeddleDeviceOptions o = { .struct_size = sizeof o, .kind = HEDDLE_DEVICE_VULKAN };
    bool elsewhere = !options || options->kind == HEDDLE_DEVICE_CPU;
    return __real_heddle_device_new(elsewhere ? &o : options, out, log);
}
