// SPDX-License-Identifier: MIT
// perf finds a kernel's functions by their names: in the map of symbols, and where it may record.
// HEDDLE_PERF=jitdump, where LLVM can, dumps the code with its lines.
// REQUIRES: perf
// RUN: HEDDLE_PERF=1 bash -c 'echo $$ > %t.pid; exec "$@"' - \
// RUN:   %heddle run examples/gemm.comp --groups 2,2 --push list:u32:128,128,128,128 \
// RUN:   --bind a=randn:f32[128,128]@1 --bind b=randn:f32[128,128]@2 --bind c=zeros:f32[128,128] \
// RUN:   > /dev/null && %filecheck %s --check-prefix=MAP --input-file /tmp/perf-$(cat %t.pid).map \
// RUN:   && rm /tmp/perf-$(cat %t.pid).map
// RUN: perf record -q -e cpu-clock -o %t.data true > /dev/null 2>&1 || skip perf that may record; \
// RUN:   HEDDLE_PERF=1 perf record -q -e cpu-clock -o %t.data %heddle bench examples/gemm.comp \
// RUN:   --groups 8,8 --push list:u32:512,512,512,512 --seconds 0.3 \
// RUN:   --bind a=randn:f32[512,512]@1 --bind b=randn:f32[512,512]@2 --bind c=zeros:f32[512,512] \
// RUN:   > /dev/null 2>&1 && perf report -i %t.data --stdio --sort symbol 2> /dev/null \
// RUN:   | %filecheck %s --check-prefix=REPORT
// MAP: {{^[0-9a-f]+ [0-9a-f]+}} gemm.comp:main gemm_f32_f32_f32_16x16x16_
// MAP: {{^[0-9a-f]+ [0-9a-f]+}} gemm.comp:main{{$}}
// REPORT: gemm.comp:main gemm_f32_f32_f32_16x16x16_
#version 450
void main() {}
