// SPDX-License-Identifier: MIT
//
// Hints how to unroll loops: LLVM heeds them where it knows how often a loop runs, shaders carry
// them as loop controls, and kernels in the names of loops' first blocks, for heddle's own passes.
//
// RUN: %heddle compile %s --emit asm | %filecheck --check-prefix=KERNEL %s
// RUN: %heddle compile %s --emit passes | %filecheck --check-prefix=PASSES %s
// RUN: %heddle compile %s --target vulkan --emit asm | %filecheck --check-prefix=SHADER %s
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: for D in cpu reference; do %heddle run %s --bind 0=randn:f32[128]@1 \
// RUN:   --bind 1=list:s32:5 --global 1 --device $D --out 0=%t.npy && \
// RUN:   %heddle run %t.spv --bind 0=randn:f32[128]@1 --push list:s32:5 --groups 1 --device $D \
// RUN:   --compare 0=%t.npy --tolerance 0 || exit 1; done
// RUN: not %heddle compile %s -DWRONG --emit ast 2>&1 | %filecheck --check-prefix=WRONG %s

// A hundred multiplications, then one of a loop that is not unrolled, and a subtraction of one that
// tests whether to do it: not LLVM unrolls that, but passes that know lanes may.
// KERNEL-COUNT-100: OpFMul
// KERNEL: OpFMul
// KERNEL-NOT: OpFMul
// KERNEL: OpFSub
// KERNEL-NOT: OpFSub

// PASSES-COUNT-100: OpFMul
// PASSES: OpFMul
// PASSES-NOT: OpFMul
// PASSES-COUNT-8: OpFSub
// PASSES-NOT: OpFSub

// SHADER: OpLoopMerge %{{.*}} DontUnroll
// SHADER: OpLoopMerge %{{.*}} Unroll
// SHADER: OpLoopMerge %{{.*}} PartialCount 4
// SHADER: OpLoopMerge %{{.*}} PartialCount 3
// SHADER: OpLoopMerge %{{.*}} DontUnroll
// SHADER: OpLoopMerge %{{.*}} Unroll
// SHADER: OpLoopMerge %{{.*}} None
// SHADER: OpLoopMerge %{{.*}} Unroll
// SHADER-NOT: OpLoopMerge

#pragma OPENCL FP_CONTRACT OFF
#define FOUR 4

#ifdef WRONG
void wrong(int n)
{
// WRONG: :[[@LINE+1]]:39: error: how often to unroll must be an integer constant
    __attribute__((opencl_unroll_hint(n))) while (n--) ;
}
#endif

kernel void hints(global float *o, int n)
{
    float s = 0.5f;
    int t = 0;
#pragma unroll
    for (int i = 0; i < 100; i++)
        s += o[i] * s;
#pragma nounroll
    for (int i = 0; i < 3; i++)
        s += o[i] * s;
    s += 1;
#pragma unroll
    for (int i = 0; i < n; i++)
        s += o[i];
#pragma unroll FOUR
    for (int i = 0; i < n; i++)
        s += o[i + 1];
    __attribute__((opencl_unroll_hint(3)))
    while (t < n) {
        s += o[t];
        t += 2;
    }
    if (n > 3)
        __attribute__((opencl_unroll_hint(1))) do {
            s += o[t];
        } while (--t);
    _Pragma("unroll") for (int i = 0; i < n; i++)
        s += o[i + 2];
    for (int i = 0; i < n; i++)
        s += o[i + 3];
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (i < n)
            s -= o[i + 4];
    o[0] = s;
}
