// SPDX-License-Identifier: MIT
// heddle test-driver on heddle's own driver: a short run finds nothing.
// RUN: %heddle vulkan -- %heddle test-driver --seconds 2 --seed 5 -o %t.found > %t.md && %filecheck %s --input-file=%t.md && cmp %t.md %t.found/README.md
// CHECK: # heddle cpu
// CHECK: | agrees |
// CHECK: | of the family | {{[0-9]+}} of {{[0-9]+}} |
// CHECK: | random ones | {{[0-9]+}}, from seed 5 |
// CHECK-NOT: ## Findings
// RUN: %heddle vulkan -- %heddle test-driver --device vulkan:0 --seconds 1 --count 1 --json > %t.json && \
// RUN:   python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); \
// RUN:   assert j["result"] == "HEDDLE_OK" and j["findings"] == [] and j["seeds"] <= 1; \
// RUN:   assert j["kernels"]["agrees"] > 0 and j["kernels"]["differs"] == 0' %t.json
// RUN: status 2 %heddle test-driver --device cuda 2>&1 | %filecheck %s --check-prefix=KIND
// KIND: error: --device takes vulkan or vulkan:N here, not 'cuda'
// RUN: status 2 %heddle test-driver --known /no/such/file 2>&1 | %filecheck %s --check-prefix=KNOWN
// KNOWN: error: /no/such/file: No such file
// RUN: status 1 %heddle vulkan -- %heddle test-driver --device vulkan:7 2>&1 | %filecheck %s --check-prefix=NONE
// NONE: this machine has 1
