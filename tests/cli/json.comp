// SPDX-License-Identifier: MIT
// --json: one object, whatever happens, with names that stay (docs/JSON.md has each of them).
// RUN: %heddle run %s --json --stats --groups 2 --bind 0=iota:f32[64] --compare 0=iota:f32[64] > %t.json; \
// RUN:   python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); \
// RUN:   assert j["result"] == "HEDDLE_ERROR_MISMATCH" and j["groups"] == [2, 1, 1]; \
// RUN:   assert j["stats"]["vector"] == {"accesses": 4, "bytes": 512} and j["flops_per_second"] is None; \
// RUN:   assert j["comparisons"][0]["different"] == 64 and j["comparisons"][0]["nan"] == 0; \
// RUN:   assert j["diagnostics"][0]["severity"] == "error"' %t.json
// RUN: %heddle run %s --json --stats --device reference --groups 2 --bind 0=iota:f32[64] > %t.json && \
// RUN:   python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); \
// RUN:   assert j["stats"]["vector"] == {"accesses": 4, "bytes": 512} and j["device"] == "reference"' %t.json
// RUN: %heddle bench %s --json --seconds 0.01 --groups 2 --bind 0=zeros:f32[64] > %t.json && \
// RUN:   python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); \
// RUN:   assert j["min_seconds"] <= j["seconds"] <= j["max_seconds"] and j["runs"] >= 5; \
// RUN:   assert j["result"] == "HEDDLE_OK" and j["diagnostics"] == []' %t.json
// RUN: %heddle run %s --json > %t.json 2> /dev/null || python3 -c 'import json, sys; \
// RUN:   j = json.load(open(sys.argv[1])); assert j["result"] == "HEDDLE_ERROR_BINDING"' %t.json
// RUN: status 1 %heddle check --json %s tests/cli/errors.comp > %t.json 2> /dev/null && \
// RUN:   python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); \
// RUN:   assert [f["good"] for f in j["files"]] == [True, False] and j["diagnostics"][0]["line"]' %t.json
// RUN: %heddle info --json > %t.json && python3 -c 'import json, sys; \
// RUN:   j = json.load(open(sys.argv[1])); assert j["devices"][0]["kind"] == "cpu"; \
// RUN:   assert 32 in j["devices"][0]["subgroup_sizes"] and j["shapes"][0]["m"]' %t.json
// RUN: python3 -c 'import json, re; text = open("docs/JSON.md").read(); \
// RUN:   names = set(re.findall(r"json_\w+\([^;]*?\"(\w+)\"", "".join(open("src/cli/" + f + ".c").read() for f in ("json", "run", "profiler")))); \
// RUN:   assert not [n for n in names if n not in text], names'
// What a device does not count is null; what two count is the same.
// RUN: for d in cpu reference; do %heddle run examples/gemm.comp --device $d --stats --json --groups 2,2 \
// RUN:   --push list:u32:128,128,128,128 --bind a=randn:f32[128,128]@1 --bind b=randn:f32[128,128]@2 \
// RUN:   --bind c=zeros:f32[128,128] > %t.$d || exit 1; done; python3 -c 'import json, sys; \
// RUN:   a, b = (json.load(open(f))["stats"] for f in sys.argv[1:]); \
// RUN:   both = [k for k in a if isinstance(b[k], int)]; assert {k: a[k] for k in both} == {k: b[k] for k in both}, (a, b); \
// RUN:   assert a["muladds"] == 512 and b["flops"] == 2 * 128 ** 3 and len(both) == 8, b; \
// RUN:   assert b["yields"] is None and b["bytes_copied"] is None' %t.cpu %t.reference
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X
{
    float x[];
};

void main() { x[gl_GlobalInvocationID.x] += 1.0; }
