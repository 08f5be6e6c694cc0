// SPDX-License-Identifier: MIT
// Calls that cannot be meant are said.
// RUN: status 2 %heddle run %s --bind 0=zeros:f32[64] --groups 1 --global 64 2>&1 | %filecheck %s --check-prefix=BOTH
// RUN: %heddle run %s --bind 0=zeros:f32[64] --push list:s32:1 2>&1 | %filecheck %s --check-prefix=NEITHER
// RUN: %heddle run %s --bind 0=zeros:f32[64] --push list:s32:1 --groups 1 2>&1 | not grep warning
// RUN: status 2 %heddle run %s --bind 0=zeros:f32[64] --groups 1 --push list:s32:1,2 2>&1 | %filecheck %s --check-prefix=LONG
// RUN: status 1 %heddle run %s --bind 0=zeros:f32[64] --groups 1 2>&1 | %filecheck %s --check-prefix=SHORT
// RUN: status 2 %heddle run %s --bind 0=zeros:f32[64] --bind x=zeros:f32[64] --groups 1 2>&1 | %filecheck %s --check-prefix=TWICE
// RUN: status 2 %heddle run %s --bind 0=zeros:f32[64] --groups 1 --local 16 --push list:s32:1 2>&1 | %filecheck %s --check-prefix=LOCAL
// RUN: status 1 %heddle run %s --bind 0=zeros:f32[64] --groups 1 --push list:s32:-1 --compare 0=zeros:f32[64] 2>&1 | %filecheck %s --check-prefix=NAN
// RUN: %heddle check %s tests/cli/sizes.comp
// RUN: status 1 %heddle check tests/cli/errors.comp %s nowhere.comp 2>&1 | %filecheck %s --check-prefix=MANY
// RUN: status 2 %heddle run %s --tier best 2>&1 | grep -q "error: --tier takes auto, fast or full, not 'best'"
// RUN: HEDDLE_TIER=best %heddle run %s --bind 0=zeros:f32[64] --push list:s32:1 --groups 1 2>&1 | grep 'warning: HEDDLE_TIER is not auto, fast or full: ignored'
// RUN: HEDDLE_TIER=full %heddle run %s --bind 0=zeros:f32[64] --push list:s32:1 --groups 1 2>&1 | not grep warning
// RUN: %heddle run -h | %filecheck %s --check-prefix=HELP
// RUN: for c in info compile check run bench layout profile-device test-driver; do %heddle $c -h > %t.h && %heddle $c --help | cmp - %t.h || exit 1; done
// BOTH: error: --groups and --global both say how much runs
// NEITHER: warning: neither --groups nor --global is given: one workgroup runs
// LONG: error: --push: 8 bytes are given, the kernel has 4 bytes of push constants
// SHORT: error: the kernel has 4 bytes of push constants, 0 are given
// TWICE: error: --bind x=zeros:f32[64]: set 0, binding 0 is given twice
// LOCAL: error: workgroups of 16x1x1 are asked for; the kernel is made for ones of 32x1x1
// NAN: 32 of 64 differ, {{.*}}; 32 NaN, the first at 0
// MANY: errors.comp:{{.*}}error:
// MANY: nowhere.comp{{.*}}No such file
// HELP: |got - expected| <= X (1 + |expected|); default 0.001
// HELP: KERNEL is GLSL (.comp, .glsl), OpenCL C (.cl), MLIR (.mlir), SPIR-V (.spv)
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X
{
    float v[];
} x;
layout(push_constant) uniform Push
{
    int sign;
};

void main()
{
    x.v[gl_GlobalInvocationID.x] = sqrt(float(sign));
}
