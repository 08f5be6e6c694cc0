// SPDX-License-Identifier: MIT
// --stats counts accesses by kind, with the bytes of the lanes that took part: as the code that was
// made does them, or by the addresses that they turn out to be. A Vulkan driver does not say.
// RUN: %heddle run %s --stats --device reference --bind 0=iota:f32[64] --bind 1=zeros:f32[64] --groups 1 | %filecheck %s
// RUN: %heddle run %s --stats --device reference --subgroup-size 128 --bind 0=iota:f32[128] --bind 1=zeros:f32[128] --groups 2 | %filecheck %s --check-prefix=PART
// RUN: %heddle vulkan -- %heddle run %s --stats --device vulkan --bind 0=iota:f32[64] --bind 1=zeros:f32[64] --groups 1 | %filecheck %s --check-prefix=UNKNOWN
// RUN: %heddle vulkan -- %heddle run %s --json --stats --device vulkan --bind 0=iota:f32[64] --bind 1=zeros:f32[64] --groups 1 \
// RUN:   | python3 -c 'import json, sys; j = json.load(sys.stdin); assert len(j["stats"]) == 17 and set(j["stats"].values()) == {None}, j'
// RUN: %heddle run %s --stats --bind 0=iota:f32[64] --bind 1=zeros:f32[64] --groups 1 | %filecheck %s
// RUN: %heddle run %s --stats --subgroup-size 64 --bind 0=iota:f32[64] --bind 1=zeros:f32[64] --groups 1 | %filecheck %s --check-prefix=WIDE
// RUN: %heddle run %s --stats --subgroup-size 128 --bind 0=iota:f32[64] --bind 1=zeros:f32[64] --groups 1 | %filecheck %s --check-prefix=HALF
// RUN: %heddle bench %s --seconds 0.01 --stats --bind 0=iota:f32[64] --bind 1=zeros:f32[64] --groups 1 | %filecheck %s
// CHECK: scalar accesses, bytes 2, 8
// CHECK: vector accesses, bytes 2, 256
// CHECK: masked accesses, bytes 2, 80
// CHECK: gathers and scatters, bytes 2, 256
// WIDE: scalar accesses, bytes 1, 4
// WIDE: vector accesses, bytes 1, 256
// WIDE: masked accesses, bytes 1, 80
// WIDE: gathers and scatters, bytes 1, 256
// HALF: masked accesses, bytes 2, 336
// PART: scalar accesses, bytes 2, 8
// PART: vector accesses, bytes 2, 512
// PART: masked accesses, bytes 2, 160
// PART: gathers and scatters, bytes 2, 512
// UNKNOWN: vulkan
// UNKNOWN: matrix loads {{ *}}–
// UNKNOWN: barriers {{ *}}–
// UNKNOWN: bytes stored {{ *}}–
// UNKNOWN: scalar accesses {{ *}}–
// UNKNOWN: gathers and scatters {{ *}}–
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X
{
    float x[];
};
layout(binding = 1) buffer Y
{
    float y[];
};

void main()
{
    uint i = gl_GlobalInvocationID.x;
    float v = x[0] + x[(i * i) % 64u];
    if (mod(x[i], 16.0) < 5.0)
        y[i] = v;
}
