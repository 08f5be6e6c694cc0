// SPDX-License-Identifier: MIT
// -g: the lines of the source in machine code, those of inlined functions too. GDB stops at them,
// assembly and LLVM IR show them, and a fault names its line. An object without -g has none.
// RUN: %heddle compile %s -g --emit llvm | %filecheck %s --check-prefix=IR
// RUN: %heddle compile %s -g --emit llvm-plain | %filecheck %s --check-prefix=IR
// RUN: %heddle compile %s -g --emit native | %filecheck %s --check-prefix=ASM
// RUN: %heddle compile %s -g --emit ptx --device cuda --isa sm_80 | %filecheck %s --check-prefix=PTX
// RUN: %heddle compile %s --emit llvm | not grep -E 'DILocation|debug.comp'
// RUN: %heddle compile %s --emit object | not grep -a debug_line
// RUN: HEDDLE_DEBUG=1 %heddle compile %s --emit object | grep -a -q debug_line
// RUN: status 1 %heddle run %s -g --bind 0=rand:f32[64] --bind 1=zeros:f32[64] --groups 2 \
// RUN:   --push list:s32:4000000 2>&1 | %filecheck %s --check-prefix=FAULT
// RUN: status 1 %heddle run %s --bind 0=rand:f32[64] --bind 1=zeros:f32[64] --groups 2 \
// RUN:   --push list:s32:4000000 2>&1 | %filecheck %s --check-prefix=FAULT
// RUN: status 1 %heddle run %s --bind 0=rand:f32[64] --bind 1=zeros:f32[64] --groups 2 \
// RUN:   --push list:s32:4000000 --watchdog 0 2>&1 | %filecheck %s --check-prefix=BARE
// RUN: glslang=$(dirname %glslang)/glslang; $glslang -gVS -V --target-env vulkan1.3 %s -o %t.spv \
// RUN:   > /dev/null && %heddle compile %t.spv -g --emit native | %filecheck %s --check-prefix=ASM
// IR-DAG: ; {{.*}}debug.comp:[[@LINE+36]]: {{ *}}float v = x[i];
// IR-DAG: ; {{.*}}debug.comp:[[@LINE+29]]: {{ *}}return v * 3.0 + 1.0;
// IR-DAG: !DISubprogram(name: "debug.comp:main"
// IR-DAG: !DISubprogram(name: "scale"
// IR-DAG: !DILocation(line: [[@LINE+26]], {{.*}}inlinedAt:
// ASM-DAG: # {{.*}}debug.comp:[[@LINE+31]]: {{ *}}float v = x[i];
// ASM-DAG: # {{.*}}debug.comp:[[@LINE+24]]: {{ *}}return v * 3.0 + 1.0;
// PTX: // {{.*}}debug.comp:[[@LINE+29]]: {{ *}}float v = x[i];
// FAULT: debug.comp:[[@LINE+31]]: error: the kernel writes memory that the program does not have: 0x
// FAULT-NEXT: note: that would be byte 16000{{[0-9]+}} of set 0, binding 1 ('y'), which has 256 bytes
// FAULT-NEXT: note: it was in kernel 'main': run with --check (HEDDLE_CHECK=1) to see which invocation
// BARE: heddle: error: the kernel writes memory that the program does not have: 0x
// BARE: note: it was in kernel 'main'
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer X
{
    float x[];
};
layout(binding = 1) buffer Y
{
    float y[];
};
layout(push_constant) uniform Push
{
    int offset;
};

float scale(float v)
{
    return v * 3.0 + 1.0;
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    float v = x[i];
    if (v > 0.5)
        v = scale(v);
    y[i + offset] = v;
}
