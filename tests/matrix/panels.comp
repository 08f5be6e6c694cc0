// SPDX-License-Identifier: MIT
// Operands that are packed once for several workgroups, as they are counted: of a B that the kernel
// only reads, a column of workgroups packs one panel a strip of k; of one that may change meanwhile
// each workgroup packs its own. Results are those of the reference in each case.
// RUN: run="%heddle run %s --groups 4,4 --threads 1 --bind a=randn:f32[256,64] --bind b=randn:f32[64,256]"; \
// RUN: run="$run --bind c=zeros:f32[256,256] --stats"; \
// RUN: $run -D WRITES=1 --out c=%t.npy | %filecheck %s --check-prefix=OWN && \
// RUN: $run --compare c=%t.npy --tolerance 0 | %filecheck %s && \
// RUN: for d in COHERENT ATOMIC; do \
// RUN:   $run -D $d=1 --compare c=%t.npy --tolerance 0 | %filecheck %s --check-prefix=OWN || exit 1; done
// CHECK: panels packed {{ *}}4{{$}}
// CHECK: panels shared {{ *}}12{{$}}
// OWN: multiply-adds
// OWN-NOT: {{^}}panels 
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_control_flow_attributes : require
#ifdef COHERENT
#define HOW coherent readonly
#elif defined(WRITES)
#define HOW
#else
#define HOW readonly
#endif
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer InputA { float a[]; };
layout(set = 0, binding = 1) HOW buffer InputB { float b[]; };
layout(set = 0, binding = 2) buffer Output { float c[]; };
#ifdef ATOMIC
shared uint counter;
#endif

void main()
{
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> acc[4][4];
    uint row = gl_WorkGroupID.y * 64, col = gl_WorkGroupID.x * 64;
    [[unroll]] for (uint i = 0; i < 16; i++)
        acc[i / 4][i % 4] = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
    for (uint k = 0; k < 64; k += 16) {
        coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> ma[4];
        coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> mb[4];
        [[unroll]] for (uint i = 0; i < 4; i++) {
            coopMatLoad(ma[i], a, (row + i * 16) * 64 + k, 64,
                        gl_CooperativeMatrixLayoutRowMajor);
            coopMatLoad(mb[i], b, k * 256 + col + i * 16, 256,
                        gl_CooperativeMatrixLayoutRowMajor);
        }
        [[unroll]] for (uint i = 0; i < 16; i++)
            acc[i / 4][i % 4] = coopMatMulAdd(ma[i / 4], mb[i % 4], acc[i / 4][i % 4]);
    }
#ifdef ATOMIC
    atomicAdd(counter, 1);
#endif
    [[unroll]] for (uint i = 0; i < 16; i++)
        coopMatStore(acc[i / 4][i % 4], c, (row + i / 4 * 16) * 256 + col + i % 4 * 16, 256,
                     gl_CooperativeMatrixLayoutRowMajor);
}
