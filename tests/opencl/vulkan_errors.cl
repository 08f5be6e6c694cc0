// SPDX-License-Identifier: MIT
//
// What Vulkan has no counterpart of is an error that names it.
//
// RUN: for K in STRING DOUBLE GLOBAL NONE; do \
// RUN:   not %heddle compile %s --target vulkan -D$K --emit spirv -o %t 2>&1 || exit 1; done \
// RUN:   | %filecheck %s
// RUN: %heddle compile examples/opencl/reduction.cl --emit spirv -o %t.spv
// RUN: status 2 %heddle check %t.spv --target vulkan 2>&1 | %filecheck %s --check-prefix=COMPILED
// RUN: not %heddle compile %s --target metal 2>&1 | %filecheck %s --check-prefix=TARGET
//
// CHECK: no counterpart of a printf of a string that is not constant
// CHECK: no counterpart of the function sin of 64 bits
// CHECK: no counterpart of a variable of the program in global memory
// CHECK: no counterpart of an access through a null pointer
// COMPILED: --target vulkan: {{.*}}.spv is SPIR-V, not OpenCL C
// TARGET: --target takes opencl or vulkan, not 'metal'

#ifdef GLOBAL
global int counter = 3;
#endif

kernel void k(global float *out, global float *in, int n)
{
    size_t i = get_global_id(0);
#ifdef STRING
    printf("%s\n", n ? "one" : "another");
#elif defined DOUBLE
    out[i] = sin((double)n);
#elif defined GLOBAL
    counter++;
#elif defined NONE
    global float *none = 0;
    out[i] = none[n];
#endif
}
