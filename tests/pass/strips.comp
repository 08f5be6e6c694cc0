// SPDX-License-Identifier: MIT
//
// What a subgroup loads, and stores with little work, goes through memory in the order of the addresses,
// as many lanes at a time as a register holds (src/cpu/jit/strips.c). Not where it sees that lanes read
// what others write, and not across barriers, also where they wait for nobody.
//
// RUN: for K in SUM SELECT WIDE SMALL INTO; do for S in 32 128; do \
// RUN:   D="-D $K --subgroup-size $S --groups 3 --bind 0=randn:f32[1024]@1 --bind 1=rand:s32[1024]@2 --bind 2=rand:s32[1024]@3"; \
// RUN:   %heddle run %s $D --device reference --out 2=%t.npy > /dev/null && for I in %levels; do \
// RUN:     for R in "" --robust; do %heddle run %s $D --isa $I $R --compare 2=%t.npy --tolerance 0 > /dev/null || exit 1; done; \
// RUN: done || exit 1; done; done
// RUN: %heddle compile %s -D SUM --isa x86-64-v4 --subgroup-size 32 --emit llvm | %filecheck %s
// RUN: %heddle compile %s -D SUM --isa x86-64-v3 --subgroup-size 16 --emit llvm | %filecheck %s
// RUN: %heddle compile %s -D NEXT --isa x86-64-v4 --subgroup-size 32 --emit llvm | %filecheck %s --check-prefix=NEXT
// RUN: %heddle compile %s -D ONE --isa x86-64-v4 --subgroup-size 128 --emit llvm | %filecheck %s --check-prefix=ONE

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK: load <[[N:8|16]] x i32>
// CHECK: load <[[N]] x float>
// CHECK: store <[[N]] x i32>
// CHECK: load <[[N]] x i32>
// CHECK: load <[[N]] x float>
// CHECK: store <[[N]] x i32>
// CHECK-NOT: store

// NEXT-LABEL: define {{.*}}@heddle_kernel(
// NEXT-COUNT-2: load <16 x i32>
// NEXT: store <32 x i32>

// ONE-LABEL: define {{.*}}@heddle_kernel(
// ONE: load <16 x i32>
// ONE-COUNT-8: store <16 x i32>
// ONE: fence
// ONE: load <8 x float>
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 128) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) readonly buffer B { int b[]; };
layout(binding = 1) readonly buffer B64 { int64_t b64[]; };
layout(binding = 1) readonly buffer B8 { int8_t b8[]; };
layout(binding = 2) buffer C { int c[]; };
layout(binding = 2) buffer C64 { int64_t c64[]; };
layout(binding = 2) buffer C16 { float16_t c16[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x, lane = gl_LocalInvocationIndex;
#if defined(SUM)
    c[i] = b[i] * 3 + int(a[i]);
#elif defined(SELECT)
    c[i + 1] = a[i] > 0.25 ? b[i + 4] : int(lane) - 7;
    c[i + 513] = min(abs(b[i]), int(fma(a[i], 4.0, floor(a[i]))));
#elif defined(WIDE)
    c64[i] = b64[i] + int64_t(lane) * 0x100000001l;
#elif defined(SMALL)
    c16[i] = float16_t(float(b8[i]) * 0.5 + a[i + 3]);
#elif defined(INTO)
    int t = c[i];
    c[i] = t ^ b[i];
    c[i + 512] = t + c[i];
#elif defined(NEXT)
    c[i] = c[i + 1] + 1;
#else
    c[i] = b[i] + 1;
    memoryBarrierBuffer();
    barrier();
    c64[i] = int64_t(a[i + 1]);
#endif
}
