// SPDX-License-Identifier: MIT
// A kernel that does not end on the cpu device: it is said within two seconds of a processor's time,
// with the lines that it was in. What only takes long, in many workgroups, is left alone; and so
// are the threads that it runs on, of which the next dispatch makes use.
// RUN: status 1 %heddle run %s --groups 32 --bind 0=iota:u32[2048] --push list:u32:1 2>&1 | %filecheck %s
// RUN: status 1 %heddle run %s --groups 4,4 --threads 1 --bind 0=iota:u32[2048] --push list:u32:1 \
// RUN:   --watchdog 0.2 2>&1 | %filecheck %s --check-prefix=SOON
// RUN: status 1 %heddle run %s --groups 2 --bind 0=iota:u32[2048] --push list:u32:3 --watchdog 0.2 \
// RUN:   2>&1 | %filecheck %s --check-prefix=FIBERS
// RUN: %heddle run %s --groups 32 --bind 0=iota:u32[2048] --push list:u32:0 --watchdog 0.05 > /dev/null
// RUN: %heddle run %s --groups 400 --bind 0=iota:u32[25600] --push list:u32:4 --watchdog 0.3 > /dev/null
// RUN: status 130 interrupt --cpu 4 %heddle run %s --groups 1 --watchdog 0 --bind 0=iota:u32[2048] --push list:u32:1
// RUN: status 1 %heddle bench %s --groups 1 --watchdog 0.1 --bind 0=iota:u32[2048] --push list:u32:1 \
// RUN:   2>&1 | grep 'still running after 0.1 s in one subgroup' > /dev/null
// CHECK: watchdog.comp:{{3[4-9]|4[0-3]}}: error: still running after 1.5 s in one subgroup: an endless loop? (--watchdog 0 lets it run) [endless-loop]
// CHECK: watchdog.comp:{{.*}}: note: for 0.75 s it has been in lines 3{{[0-9]}} to 4{{[0-3]}}
// CHECK: note: it was in kernel 'main': run with --check (HEDDLE_CHECK=1) to see which invocation
// SOON: watchdog.comp:{{.*}}: error: still running after 0.2 s in one subgroup: an endless loop? (--watchdog 0 lets it run) [endless-loop]
// FIBERS: watchdog.comp:{{.*}}: error: still running after 0.2 s in one subgroup: an endless loop? (--watchdog 0 lets it run) [endless-loop]
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer X
{
    uint x[];
};
layout(push_constant) uniform Push
{
    uint how;
};
shared uint seen;

uint next(uint v)
{
    return v * 3u + how;
}

void main()
{
    uint i = gl_GlobalInvocationID.x, v = x[i];
    for (uint k = 0u; how == 1u || (how == 4u && k < 200000u); k++)
        v = next(v) | k;
    seen = 0u;
    barrier();
    while (how == 3u)
        seen = next(seen) | 1u;
    x[i] = v + seen;
}
