// SPDX-License-Identifier: MIT
// bench --sweep wait-queues runs a hinted kernel with every number of them and draws what came out;
// the other loop controls stay. What cannot be swept is said.
// RUN: %heddle bench %s -D HINT --sweep wait-queues --seconds 0 --bind 0=rand:f32[16,80]@1 \
// RUN:   --bind b=rand:f32[80,16]@2 --bind 2=zeros:f32[16,16] --push list:u32:80 --svg %t.svg \
// RUN:   --out 2=%t.npy > %t.txt && %filecheck %s --input-file %t.txt && \
// RUN:   %filecheck %s --check-prefix=BEST --input-file %t.txt
// RUN: %heddle run %s --bind 0=rand:f32[16,80]@1 --bind 1=rand:f32[80,16]@2 \
// RUN:   --bind 2=zeros:f32[16,16] --push list:u32:80 --compare 2=%t.npy --tolerance 0
// RUN: python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' %t.svg
// RUN: %filecheck %s --check-prefix=SVG --input-file %t.svg
// RUN: status 1 %heddle bench %s --sweep wait-queues --bind 0=rand:f32[16,80] \
// RUN:   --bind 1=rand:f32[80,16] --bind 2=zeros:f32[16,16] --push list:u32:80 2>&1 | \
// RUN:   %filecheck %s --check-prefix=UNHINTED
// RUN: status 2 %heddle bench %s --sweep queues 2>&1 | %filecheck %s --check-prefix=WHAT
// RUN: status 2 %heddle bench %s --svg %t.svg 2>&1 | %filecheck %s --check-prefix=ALONE
// RUN: %heddle help bench | %filecheck %s --check-prefix=HELP
// CHECK: sweep.comp on cpu: medians of {{[0-9]+}} runs each, by turns
// CHECK-NEXT: wait queues {{ *}}median {{ *}}GFLOP/s {{ *}}ratio
// CHECK-NEXT: unhinted {{.*s}} {{ *}}{{[0-9.]+}} {{ *}}1.000
// CHECK-NEXT: {{^ *}}0 {{.* [0-9]+\.[0-9][0-9][0-9]}}
// CHECK-COUNT-7: {{^ *[1-7] .* [0-9]+\.[0-9][0-9][0-9]}}
// CHECK-NEXT: {{^ *}}8 {{.* [0-9]+\.[0-9][0-9][0-9] .*$}}
// CHECK-NOT: {{.}}
// BEST: {{ (█){28}$}}
// SVG: >Wait queues of {{.*}}sweep.comp</text>
// SVG-COUNT-10: <rect x={{.*}} height={{.*}}/>
// SVG: stroke-dasharray
// SVG: </svg>
// UNHINTED: error: --sweep wait-queues: no loop of {{.*}}sweep.comp asks for wait queues
// WHAT: error: --sweep takes wait-queues, not 'queues'
// ALONE: error: --svg draws what --sweep measures
// HELP: --sweep wait-queues
// HELP: --svg FILE
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_QCOM_multiple_wait_queues : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) readonly buffer B { float b[]; };
layout(binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Sizes { uint k_total; };
void main()
{
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> ma;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> mb;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> mc =
        coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
#ifdef HINT
    [[dependency_infinite, multiple_wait_queuesQCOM(3)]]
#endif
    for (uint k = 0; k < k_total; k += 16) {
        coopMatLoad(ma, a, k, k_total, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(mb, b, k * 16, 16, gl_CooperativeMatrixLayoutRowMajor);
        mc = coopMatMulAdd(ma, mb, mc);
    }
    coopMatStore(mc, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
