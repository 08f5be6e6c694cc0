// SPDX-License-Identifier: MIT
//
// printf becomes NonSemantic.DebugPrintf: strings are part of the format, small numbers words,
// floats what they were before C's promotion, wide vectors several of four.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle compile %t.spv | %filecheck %s
// RUN: %heddle run %t.spv --bind 0=zeros:u32[8] --bind 1=randn:f32[64]@3 --global 8
//
// CHECK: OpExtInstImport "NonSemantic.DebugPrintf"
// CHECK: [[FORMAT:%[0-9]+]] = OpString "item %d of %5.2f 100%% per%%cent %v4f,%v4f <%v4d> %lu %d %lx
// CHECK: [[DONE:%[0-9]+]] = OpString "done"
// CHECK: OpExtInst %void {{.*}} DebugPrintf [[FORMAT]]
// CHECK: OpExtInst %void {{.*}} DebugPrintf [[DONE]]{{$}}

kernel void k(global uint *out, global const float *in)
{
    size_t g = get_global_id(0);
    float8 v = vload8(g, in);
    uchar4 c = (uchar4)(1, 2, 3, g);
    printf("item %d of %5.2f 100%% %s %v8f <%v4hhd> %lu %c %p\n", (int)g, in[g], "per%cent", v, c,
           (ulong)g, 'x', out);
    if (g == 3)
        printf("done");
    out[g] = printf("%v2lx|%x", (ulong2)(g, 2), (short)-g);
}
