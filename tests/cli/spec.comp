// SPDX-License-Identifier: MIT
// Specialisation constants of each type by id and by name, also as the workgroup's size.
// RUN: %heddle run %s --bind 0=zeros:f32[16] --compare 0=list:f32:4,-1,0.5,0,0,0,0,0,0,0,0,0,0,0,0,0 \
// RUN:   | %filecheck %s
// RUN: %heddle run %s --bind 0=zeros:f32[16] --spec 0=8 --spec 3=-7 --spec scale=2.25 --spec 5=true \
// RUN:   --compare 0=list:f32:8,-7,2.25,1,0,0,0,0,0,0,0,0,0,0,0,0 | %filecheck %s
// RUN: status 2 %heddle run %s --spec 9=1 2>&1 | %filecheck %s --check-prefix=UNKNOWN
// RUN: status 2 %heddle run %s --spec scale=big 2>&1 | %filecheck %s --check-prefix=VALUE
// RUN: status 2 %heddle run %s --spec scale 2>&1 | %filecheck %s --check-prefix=FORM
// CHECK: 0 of 16 differ
// UNKNOWN: error: --spec 9=1: the kernel has no specialisation constant 9
// VALUE: error: --spec scale=big: 'big' is no value of type f32
// FORM: error: --spec takes ID=VALUE, not 'scale'
#version 450
layout(local_size_x_id = 0) in;
layout(local_size_x = 4) in;
layout(constant_id = 3) const int offset = -1;
layout(constant_id = 4) const float scale = 0.5;
layout(constant_id = 5) const bool flag = false;
layout(binding = 0) buffer Data { float data[]; };
void main()
{
    if (gl_LocalInvocationIndex == 0) {
        data[0] = float(gl_WorkGroupSize.x);
        data[1] = float(offset);
        data[2] = scale;
        data[3] = flag ? 1.0 : 0.0;
    }
}
