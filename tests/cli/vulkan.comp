// The environment that `heddle vulkan` makes.
// RUN: %heddle vulkan HEDDLE_STATS=1 -- env | %filecheck %s
// CHECK-DAG: VK_DRIVER_FILES={{.*}}/share/vulkan/icd.d/heddle_icd.json
// CHECK-DAG: VK_ICD_FILENAMES={{.*}}/share/vulkan/icd.d/heddle_icd.json
// CHECK-DAG: HEDDLE_STATS=1
// CHECK-DAG: HEDDLE_LOG=stderr
// CHECK-DAG: GGML_VK_VISIBLE_DEVICES=0
// RUN: HEDDLE_LOG=x.log %heddle vulkan -- env | %filecheck %s --check-prefix=KEPT
// KEPT: HEDDLE_LOG=x.log
// RUN: status 2 %heddle vulkan -- 2>&1 | %filecheck %s --check-prefix=USAGE
// USAGE: usage: heddle vulkan
// RUN: status 2 %heddle vulkan vulkaninfo 2>&1 | %filecheck %s --check-prefix=WORD
// WORD: vulkaninfo: NAME=VALUE expected, or -- before the program
// RUN: status 1 %heddle vulkan -- /no/such/program 2>&1 | %filecheck %s --check-prefix=NONE
// NONE: /no/such/program: No such file
// RUN: %heddle help vulkan | %filecheck %s --check-prefix=HELP
// HELP: HEDDLE_CHECK=1
