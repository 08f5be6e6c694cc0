// SPDX-License-Identifier: MIT
//
// --target vulkan: the same kernel as an OpenCL kernel and as a compute shader gives the same. Here
// is what the two environments say differently: pointers (casts, structures, phis, generic ones),
// arguments, workgroup memory that the caller sizes, loops and switches, atomics.
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle run %s --entry k --bind 0=zeros:u32[4096] --bind 1=rand:u32[1024]@3 \
// RUN:   --bind 2=local:128 --bind 3=list:s32:5 --bind 4=list:u8:1,2,3,4,5,6,7,8 \
// RUN:   --global 64 --local 32 --out 0=%t.npy
// RUN: for D in cpu reference; do %heddle run %t.spv --entry k --bind 0=zeros:u32[4096] \
// RUN:   --bind 1=rand:u32[1024]@3 --push list:s32:5,0 --push list:u8:1,2,3,4,5,6,7,8 \
// RUN:   --global 64 --spec 0=32 --spec 6=128 --device $D --compare 0=%t.npy --tolerance 0 \
// RUN:   || exit 1; done
// RUN: for F in examples/opencl/*.cl; do %heddle compile $F --target vulkan --emit spirv \
// RUN:   -o %t.example.spv && %spirv-val --target-env vulkan1.3 %t.example.spv || exit 1; done
// RUN: %heddle compile %t.spv | %filecheck %s --check-prefix=SHADER
//
// SHADER: OpMemoryModel Logical GLSL450
// SHADER: OpEntryPoint GLCompute {{.*}} "k"
// SHADER: OpExecutionModeId {{.*}} LocalSizeId
// SHADER: OpDecorate {{.*}} DescriptorSet 0
// SHADER: OpSelectionMerge
// SHADER: OpLoopMerge

typedef struct Pair { short a; char b[2]; int c; } Pair;
constant int table[6] = { 3, 1, 4, 1, 5, 9 };

int sum(const int *p, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += *p++;
    return s;
}

kernel void k(global uint *out, global const uint *in, local int *shared, int n, uchar8 bytes)
{
    uint g = get_global_id(0), l = get_local_id(0);
    global uint *o = out + g * 16;
    int own[8];
    Pair pairs[3];
    for (int i = 0; i < 8; i++)
        own[i] = in[g + i] & 255;
    o[0] = sum(own, n);
    shared[l] = in[g] & 1023;
    barrier(CLK_LOCAL_MEM_FENCE);
    o[1] = sum((int *)shared + (l & 16), 8);
    for (int i = 0; i < 3; i++) {
        pairs[i].a = in[g + i];
        pairs[i].b[0] = i;
        pairs[i].b[1] = g;
        pairs[i].c = own[i];
    }
    o[2] = ((uint *)&pairs[n % 3])[0];
    o[3] = pairs[g % 3].c;
    switch (in[g] % 5) {
    case 0: o[4] = 1; break;
    case 1: o[4] = 2;
    case 2: o[4] += 7; break;
    default: o[4] = table[g % 6];
    }
    uint x = in[g], steps = 0;
    while (x != 1 && steps < 40) {
        if (x & 1) {
            if (x > 0x50000000)
                break;
            x = 3 * x + 1;
        } else {
            x >>= 1;
        }
        steps++;
    }
    o[5] = steps;
    global const uchar *b = (global const uchar *)in;
    o[6] = b[g] + ((global const ushort *)in)[g];
    o[7] = as_uint(vload4(g, (global const float *)in).z) ^ as_uint(in[g] & 1 ? 1.5f : 2.5f);
    global const uint *p = g & 1 ? in + 7 : in + g;
    o[8] = *p;
    o[9] = bytes.s3 + bytes.s7;
    atomic_add(&out[2000], x & 15);
    atomic_max((volatile global int *)&out[2001], (int)g);
    local uint copied[16];
    event_t e = async_work_group_copy((local uchar *)copied, (global const uchar *)in + 3, 63, 0);
    wait_group_events(1, &e);
    o[12] = ((local uchar *)copied)[l];
    async_work_group_copy((global uchar *)out + 8192 + 64 * get_group_id(0), (local uchar *)copied,
                          63, 0);
    o[10] = get_global_size(0) + get_local_size(0) * 2 + get_num_groups(0) * 3 + get_group_id(0);
    o[11] = (uint)get_local_linear_id() + ((local int *)shared == 0 ? 5 : 6);
}
