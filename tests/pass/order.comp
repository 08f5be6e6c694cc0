// SPDX-License-Identifier: MIT
//
// What a subgroup loads, and stores with little work, goes through memory in the order of the addresses
// (src/cpu/jit/order.c), with masks, too; each array by itself, so that lanes may read what others write.
// Not vectors of two registers, nor many rows.
//
// RUN: for K in SUM TESTED SELECT WIDE SMALL INTO GATHER; do for S in 32 128; do \
// RUN:   D="-D $K --subgroup-size $S --groups 3 --bind 0=randn:f32[1024]@1 --bind 1=rand:s32[1024]@2 --bind 2=rand:s32[1024]@3 --bind 3=iota:u32[1024]"; \
// RUN:   %heddle run %s $D --device reference --out 2=%t.npy > /dev/null && for I in %levels; do \
// RUN:     for R in "" --robust; do %heddle run %s $D --isa $I $R --compare 2=%t.npy --tolerance 0 > /dev/null || exit 1; done; \
// RUN: done || exit 1; done; done
// RUN: %heddle compile %s -D SUM --isa x86-64-v4 --subgroup-size 64 --emit llvm | %filecheck %s
// RUN: %heddle compile %s -D SUM --isa x86-64-v3 --subgroup-size 32 --emit llvm | %filecheck %s
// RUN: %heddle compile %s -D TESTED --isa x86-64-v4 --subgroup-size 64 --emit llvm | %filecheck %s --check-prefix=TESTED
// RUN: %heddle compile %s -D SUM --isa x86-64-v4 --subgroup-size 32 --emit llvm | %filecheck %s --check-prefix=TWO
// RUN: %heddle compile %s -D ROWS --isa x86-64-v4 --subgroup-size 64 --emit llvm | %filecheck %s --check-prefix=ROWS

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK-COUNT-4: load <[[N:8|16]] x i32>
// CHECK-COUNT-4: load <[[N]] x float>
// CHECK-COUNT-4: store <[[N]] x i32>
// CHECK-NOT: store <

// TESTED-LABEL: define {{.*}}@heddle_kernel(
// TESTED-COUNT-4: call <16 x i32> @llvm.masked.load
// TESTED-COUNT-4: call <16 x float> @llvm.masked.load
// TESTED-COUNT-4: call void @llvm.masked.store.v16i32

// TWO: load <32 x i32>
// TWO: store <32 x i32>

// ROWS-LABEL: define {{.*}}@heddle_kernel(
// ROWS-NOT: load <16 x
// ROWS: store <64 x i32>
// ROWS-NOT: load <16 x
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
layout(binding = 3) readonly buffer Q { uint q[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x, lane = gl_LocalInvocationIndex;
#if defined(SUM)
    c[i] = b[i] * 3 + int(a[i]);
#elif defined(TESTED)
    if (i < 300)
        c[i + 1] = b[i + 3] * 3 + int(a[i]);
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
#elif defined(GATHER)
    c64[q[i]] = int64_t(b[q[i]]) * 3;
#else
    int sum[10];
    for (uint k = 0; k < 10; k++)
        sum[k] = b[i + k * 129];
    for (uint k = 0; k < 10; k++)
        c[i + k * 129] = sum[k] * 3;
#endif
}
