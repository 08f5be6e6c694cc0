/* SPDX-License-Identifier: MIT
 *
 * What a user of the installed library writes: the installation's test builds and runs it.
 */
#include <heddle/heddle.h>

#include <stdio.h>

int main(void)
{
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device;
    if (heddle_device_new(NULL, &device, log) != HEDDLE_OK)
        return 1;
    printf("heddle %s on %s\n", heddle_version(), heddle_device_info(device)->name);
    heddle_device_free(device);
    heddle_log_free(log);
    HeddleMatrixLayout m = { .rows = 16, .columns = 16, .subgroup_size = 32 };
    return heddle_matrix_length(NULL, &m) != 8;
}
