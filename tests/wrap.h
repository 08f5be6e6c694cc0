/* SPDX-License-Identifier: MIT
 *
 * Calls of a test program whose place another file of it takes: with the linker's
 * --wrap=heddle_kernel_new each call is one of __wrap_heddle_kernel_new, and the library's function
 * is __real_heddle_kernel_new.
 */
#ifndef HEDDLE_TESTS_WRAP_H
#define HEDDLE_TESTS_WRAP_H

#include <heddle/heddle.h>

HeddleResult __real_heddle_device_new(const HeddleDeviceOptions *options, HeddleDevice **out,
                                      HeddleLog *log);
HeddleResult __wrap_heddle_device_new(const HeddleDeviceOptions *options, HeddleDevice **out,
                                      HeddleLog *log);

HeddleResult __real_heddle_kernel_new(HeddleDevice *device, const HeddleModule *module,
                                      const HeddleKernelOptions *options, HeddleKernel **out,
                                      HeddleLog *log);
HeddleResult __wrap_heddle_kernel_new(HeddleDevice *device, const HeddleModule *module,
                                      const HeddleKernelOptions *options, HeddleKernel **out,
                                      HeddleLog *log);

HeddleResult __real_heddle_buffer_new(HeddleDevice *device, uint64_t size, HeddleBuffer **out,
                                      HeddleLog *log);
HeddleResult __wrap_heddle_buffer_new(HeddleDevice *device, uint64_t size, HeddleBuffer **out,
                                      HeddleLog *log);

HeddleResult __real_heddle_buffer_wrap(HeddleDevice *device, void *data, uint64_t size,
                                       HeddleBuffer **out, HeddleLog *log);
HeddleResult __wrap_heddle_buffer_wrap(HeddleDevice *device, void *data, uint64_t size,
                                       HeddleBuffer **out, HeddleLog *log);

#endif
