// SPDX-License-Identifier: MIT
// The forms of a kernel. SPIR-V goes back in and comes out the same.
// RUN: %heddle compile %s | %filecheck %s --check-prefix=ASM
// RUN: %heddle compile %s -o %t.spv && %spirv-val %t.spv
// RUN: %heddle compile %t.spv --emit spirv -o %t.again.spv && cmp %t.spv %t.again.spv
// RUN: %heddle compile %t.spv --emit asm -o %t.spvasm && %heddle compile %t.spvasm -o %t.back.spv \
// RUN:   && %heddle compile %t.back.spv | %filecheck %s --check-prefix=ASM
// RUN: cp %t.spv %t.glsl && %heddle check %t.glsl
// RUN: %heddle compile %s --emit passes | %filecheck %s --check-prefix=PASSES
// RUN: %heddle compile %s --emit llvm | %filecheck %s --check-prefix=LLVM
// RUN: %heddle compile %s --emit native -o %t.s && grep -q ret %t.s
// RUN: %heddle compile %s --emit object -o %t.o && test -s %t.o
// RUN: status 1 %heddle compile %s -o /nonexistent/x.spv 2>&1 | %filecheck %s --check-prefix=WRITE
// ASM: OpEntryPoint GLCompute %main "main"
// ASM: OpExecutionMode %main LocalSize 8 1 1
// ASM: OpString "{{.*}}emit.comp"
// ASM: OpFunctionCall
// PASSES-NOT: OpFunctionCall
// PASSES: OpFunctionEnd
// LLVM: define {{.*}}void
// WRITE: error: /nonexistent/x.spv: cannot write: No such file or directory
#version 450
layout(local_size_x = 8) in;
layout(binding = 0) buffer Data { float data[]; };
float twice(float x)
{
    return 2 * x;
}
void main()
{
    data[gl_LocalInvocationIndex] = twice(data[gl_LocalInvocationIndex]);
}
