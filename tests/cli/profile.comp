// SPDX-License-Identifier: MIT
// heddle profile: what a line did, in a table, as JSON and as a page, which say the same. Looking costs next to nothing: both medians are of runs by turns.
// RUN: %heddle profile %s --seconds 0.2 --groups 64 --bind 0=iota:f32[4096] --bind 1=zeros:f32[36864] \
// RUN:   > %t.txt && %filecheck %s --input-file %t.txt
// RUN: %heddle profile %s --seconds 0.2 --groups 64 --bind 0=iota:f32[4096] --bind 1=zeros:f32[36864] \
// RUN:   --json --html %t.html --svg %t.svg > %t.json && python3 %S/profile_page.py %t.json %t.html
// RUN: python3 -c 'import sys, xml.dom.minidom as x; assert x.parse(sys.argv[1]).getElementsByTagName("circle")' %t.svg
// RUN: python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); \
// RUN:   assert j["sampled_seconds"] < 1.3 * j["seconds"] + 1e-4, j; \
// RUN:   assert sum(l["samples"] for l in j["lines"]) == j["samples"] > 20, j["samples"]; \
// RUN:   line = {l["line"]: l for l in j["lines"] if l["file"]}; a, b, c = (line[k] for k in (39, 41, 43)); \
// RUN:   assert (a["executions"], a["lanes"], a["vector"], a["bytes"]) == (64, 32, 64, 8192), a; \
// RUN:   assert (b["executions"], b["lanes"], b["operations"]) == (65536, 16, 2 * 65536 * 16), b; \
// RUN:   assert c["gather"] == 64 and c["remarks"][0]["kind"] == "gather", c; \
// RUN:   assert j["roofline"]["flops_per_second"] > 0 and j["result"] == "HEDDLE_OK"; \
// RUN:   assert b["samples"] + line[40]["samples"] > 0.8 * sum(l["samples"] for l in line.values()), line' %t.json
// RUN: status 2 %heddle profile %s --device reference 2>&1 | grep -q 'profile looks at the cpu device'
// CHECK: kernel{{.*}}runs{{.*}}time{{.*}}GFLOP/s
// CHECK: 64 {{ *}}32.0 {{ *}}64 {{ *}}8192 {{ *}}39 {{ *}}float v = x[i];
// CHECK: 41 {{ *}}v = fma(v, 0.75, 1.0);
// CHECK: 43 {{ *}}y[9u * i] = v;
// CHECK-NEXT: ^ scatter of 32 lanes: stride 36 bytes
// CHECK: roofline {{ *}}GFLOP/s
// CHECK: reached
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

void main()
{
    uint i = gl_GlobalInvocationID.x;
    float v = x[i];
    for (uint k = 0u; (i & 1u) == 0u && k < 1024u; k++)
        v = fma(v, 0.75, 1.0);
    if (i < 100000u)
        y[9u * i] = v;
}
