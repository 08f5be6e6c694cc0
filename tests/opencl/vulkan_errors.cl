// SPDX-License-Identifier: MIT
//
// What Vulkan has no counterpart of is an error that names it.
//
// RUN: for K in POINTER GROUP PRINTF DOUBLE ROUND ADDRESS LOAD GLOBAL NONE EVENT EXPONENT; do \
// RUN:   not %heddle compile %s --target vulkan -D$K --emit spirv -o %t 2>&1 || exit 1; done \
// RUN:   | %filecheck %s
// RUN: not %heddle compile %s --target metal 2>&1 | %filecheck %s --check-prefix=TARGET
//
// CHECK: no counterpart of a pointer that may lead to one or another buffer or variable
// CHECK: no counterpart of a function of the whole work-group
// CHECK: no counterpart of the function printf
// CHECK: no counterpart of the function sin of 64 bits
// CHECK: no counterpart of a rounding mode other than to nearest even
// CHECK: no counterpart of an address as an integer
// CHECK: no counterpart of a pointer that is no argument's, variable's or part of one
// CHECK: no counterpart of a variable of the program in global memory
// CHECK: no counterpart of an access through a null pointer
// CHECK: no counterpart of a variable of this type
// CHECK: no counterpart of the function frexp
// TARGET: --target takes opencl or vulkan, not 'metal'

#ifdef GLOBAL
global int counter = 3;
#endif

kernel void k(global float *out, global float *in, int n)
{
    size_t i = get_global_id(0);
#ifdef POINTER
    global float *p = n ? out : in;
    *p = 1;
#elif defined GROUP
    out[i] = work_group_reduce_add(n);
#elif defined PRINTF
    printf("%d\n", n);
#elif defined DOUBLE
    out[i] = sin((double)n);
#elif defined ROUND
    out[i] = convert_float_rtz(n);
#elif defined ADDRESS
    out[i] = (size_t)in;
#elif defined LOAD
    global float *q[2] = { out, in };
    *q[n & 1] = 1;
#elif defined GLOBAL
    counter++;
#elif defined NONE
    global float *none = 0;
    out[i] = none[n];
#elif defined EVENT
    local float copy[16];
    event_t e = async_work_group_copy(copy, in, 16, 0);
    wait_group_events(1, &e);
    out[i] = copy[n];
#elif defined EXPONENT
    int e;
    out[i] = frexp(in[i], &e);
#endif
}
