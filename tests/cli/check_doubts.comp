// SPDX-License-Identifier: MIT
// What is no mistake, but seldom meant, is a warning of --check: the first place where a NaN or an
// infinity arises. The run is good.
// RUN: %heddle run %s --check --bind 0=iota:f32[32] 2>&1 | %filecheck %s --implicit-check-not error:
// RUN: %heddle run %s --check --bind 0=iota:f32[32] --json 2> /dev/null | python3 -c 'import json, sys; \
// RUN:   d = json.load(sys.stdin); assert d["result"] == "HEDDLE_OK", d; \
// RUN:   assert [(x["severity"], x["line"]) for x in d["diagnostics"] if x["rule"] == "not-finite"][:2] \
// RUN:     == [("warning", 24), ("warning", 23)], d'
// CHECK: check_doubts.comp:24:{{.*}}warning: Sqrt makes NaN of -1; in workgroup (0, 0, 0), invocation (4, 0, 0) {{.*}}[not-finite]
// CHECK: check_doubts.comp:23:{{.*}}warning: OpFDiv makes infinity of 1 and 0; in workgroup (0, 0, 0), invocation (5, 0, 0) {{.*}}[not-finite]
// CHECK: check_doubts.comp:24:{{.*}}note: that was so 5 times
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X
{
    float x[];
};

void main()
{
    uint i = gl_GlobalInvocationID.x;
    float d = x[i] - 5.0;
    float e = 1.0 / d;
    float f = sqrt(d);
    x[i] = e * 2.0 + f;
}
