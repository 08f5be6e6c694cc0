// SPDX-License-Identifier: MIT
// bench reports a distribution and, as it knows the matrices' operations, a rate; --stats counts them.
// RUN: %heddle bench %s --seconds 0.05 --bind 0=rand:f32[16,16] --bind 1=rand:f32[16,16] \
// RUN:   --bind 2=zeros:f32[16,16] | %filecheck %s
// RUN: %heddle run %s --stats --bind 0=rand:f32[16,16] --bind 1=rand:f32[16,16] \
// RUN:   --bind 2=zeros:f32[16,16] | %filecheck %s --check-prefix=STATS
// What does not apply has no line.
// RUN: %heddle run %s --stats --device reference --bind 0=rand:f32[16,16] \
// RUN:   --bind 1=rand:f32[16,16] --bind 2=zeros:f32[16,16] | %filecheck %s --check-prefix=INTERPRETED
// RUN: %heddle info | %filecheck %s --check-prefix=INFO
// CHECK: runs {{.*}}median {{.*}}min {{.*}}max {{.*}}spread {{.*}}GFLOP/s {{.*}}GB/s
// CHECK-NEXT: bench.comp {{.*}}cpu {{.*}}32  1x1x1 {{.*}} % {{ *}}{{[0-9.]+}} {{ *}}{{[0-9.]+}}
// STATS: matrix loads {{ *}}2{{$}}
// STATS: matrix stores {{ *}}1{{$}}
// STATS: multiply-adds {{ *}}1{{$}}
// STATS: operations in them {{ *}}8192{{$}}
// STATS-NOT: conversions
// STATS-NOT: {{barriers|yields}}
// STATS: bytes loaded {{ *}}2048{{$}}
// INTERPRETED: matrix loads {{ *}}2{{$}}
// INTERPRETED: matrix stores {{ *}}1{{$}}
// INTERPRETED: multiply-adds {{ *}}1{{$}}
// INTERPRETED: operations in them {{ *}}8192{{$}}
// INTERPRETED-NOT: yields
// INTERPRETED: bytes loaded {{ *}}2048{{$}}
// INTERPRETED: bytes stored {{ *}}1024{{$}}
// INTERPRETED-NOT: {{accesses|gathers}}
// INFO: cpu: {{.+}}
// INFO: subgroup sizes {{ *}}8 16 32 64 128 (default 32)
// INFO: reference:
// INFO: SPV_KHR_cooperative_matrix
// INFO: 16x16x16 {{ *}}f16*f16->f32, f16*f16->f16, bf16*bf16->f32
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) readonly buffer B { float b[]; };
layout(binding = 2) writeonly buffer C { float c[]; };
void main()
{
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> ma;
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> mb;
    coopMatLoad(ma, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(mb, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> mc =
        coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
    coopMatStore(coopMatMulAdd(ma, mb, mc), c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
