// SPDX-License-Identifier: MIT
// Lengths that are specialised; 0 is an error.
// RUN: for d in cpu reference; do \
// RUN: %heddle run %s --device $d --spec 0=9 --spec 1=70 --bind 0=zeros:f32[4] \
// RUN: --compare 0=list:f32:10,10,10,10 || exit; done
// RUN: for d in cpu reference; do for n in 0 1; do \
// RUN: status 1 %heddle run %s --device $d --spec $n=0 --bind 0=zeros:f32[4] 2>&1 \
// RUN: | %filecheck %s --check-prefix=NONE || exit; done; done
// NONE: error: the length is specialised to 0
#version 460
#extension GL_EXT_long_vector : require
layout(local_size_x = 4) in;
layout(constant_id = 0) const uint N = 4;
layout(constant_id = 1) const uint V = 7;
layout(set = 0, binding = 0) buffer Out { float o[]; };

void main()
{
    float a[N];
    vector<float, V> v = vector<float, V>(2);
    for (uint k = 0; k < N; k++)
        a[k] = float(k);
    o[gl_LocalInvocationIndex] = a[N - 1] + v[V - 1];
}
