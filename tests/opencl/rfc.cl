// SPDX-License-Identifier: MIT
//
// The examples of the cooperative matrix RFC for OpenCL C, section by section, against the IR printed
// there. Where its text is loose, the form that LLVM's SPIR-V target takes wins:
//   - the type's numbers are scope, rows, columns, use; the RFC prints rows, columns, scope, use, and
//     0 for the scope, which SPIR-V calls 3;
//   - names go on with their mangled parameters, since functions of one name differ in their types,
//     and calls are spir_func;
//   - layout and operands are i32 and the stride is a size_t, i64; the RFC has i8 8 and i32 3;
//   - a scalar beside a matrix of float is a float; the RFC has i32 4;
//   - the RFC's last example quotes the enumerators, which would make strings of them.
//
// RUN: %heddle compile %s --emit llvm -o - | %filecheck %s
// RUN: %heddle compile %s --emit spirv -o %t.spv && %spirv-val %t.spv
// RUN: llc=$(dirname %filecheck)/llc; [ ! -x $llc ] || { %heddle compile %s --emit llvm -o %t.ll && $llc -mtriple=spirv64 \
// RUN:   --spirv-ext=+SPV_KHR_cooperative_matrix -filetype=obj %t.ll -o %t.llc.spv && %spirv-val %t.llc.spv; }
// RUN: %heddle compile %s --emit ast -o - | %filecheck --check-prefix=AST %s

#define SUBGROUP CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP
#define A_ CLK_COOPERATIVE_MATRIX_A
#define B_ CLK_COOPERATIVE_MATRIX_B
#define ACC CLK_COOPERATIVE_MATRIX_ACCUMULATOR

// 4.1, examples 1 and 2
// AST-LABEL: Kernel declares
// AST: Declaration vmat1 [coop_mat<float, 8x8, A>]
// AST-NEXT: CooperativeMatrixType float 8x8 scope CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP use CLK_COOPERATIVE_MATRIX_A
// AST: Declaration vmat2 [coop_mat<half, 4x4, B>]
// AST-NEXT: CooperativeMatrixType half 4x4 scope CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP use CLK_COOPERATIVE_MATRIX_B
// CHECK-LABEL: define spir_kernel void @declares
// CHECK: %vmat1 = alloca target("spirv.CooperativeMatrixKHR", float, 3, 8, 8, 0)
// CHECK: %vmat2 = alloca target("spirv.CooperativeMatrixKHR", half, 3, 4, 4, 1)
kernel void declares(void)
{
    float vmat1 __attribute__((coop_mat(CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP, 8, 8,
                                        CLK_COOPERATIVE_MATRIX_A)));
    typedef half chmat44 __attribute__((coop_mat(CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP, 4, 4,
                                                 CLK_COOPERATIVE_MATRIX_B)));
    chmat44 vmat2;
}

// 4.3
// CHECK-LABEL: define spir_kernel void @lowers
// CHECK: %m = alloca target("spirv.CooperativeMatrixKHR", half, 3, 2, 4, 0)
kernel void lowers(void)
{
    typedef half matA __attribute__((coop_mat(SUBGROUP, 2, 4, A_)));
    matA m;
}

// 4.5, coop_mat_load
// CHECK-LABEL: define spir_kernel void @loads
// CHECK: %m = alloca target("spirv.CooperativeMatrixKHR", float, 3, 8, 4, 0)
// CHECK: [[P:%.*]] = load ptr addrspace(1), ptr %A.addr
// CHECK: [[V:%.*]] = call spir_func target("spirv.CooperativeMatrixKHR", float, 3, 8, 4, 0) @_Z32__spirv_CooperativeMatrixLoadKHR{{[^(]*}}(ptr addrspace(1) [[P]], i32 0, i64 3)
// CHECK: store target("spirv.CooperativeMatrixKHR", float, 3, 8, 4, 0) [[V]], ptr %m
// AST-LABEL: Kernel loads
// AST: Assign = [coop_mat<float, 8x4, A>]
// AST: CooperativeMatrixLoad row-major [coop_mat<float, 8x4, A>]
// AST-NEXT: CooperativeMatrixType float 8x4
kernel void loads(global const float *A)
{
    typedef float matA __attribute__((coop_mat(SUBGROUP, 8, 4, A_)));
    matA m;
    m = coop_mat_load(A, CLK_COOPERATIVE_MATRIX_LAYOUT_ROW_MAJOR, 3);
}

// 4.5, coop_mat_store
// CHECK-LABEL: define spir_kernel void @stores
// CHECK: [[V:%.*]] = load target("spirv.CooperativeMatrixKHR", half, 3, 2, 4, 0), ptr %m
// CHECK: call spir_func void @_Z33__spirv_CooperativeMatrixStoreKHR{{[^(]*}}(ptr addrspace(1) {{%.*}}, target("spirv.CooperativeMatrixKHR", half, 3, 2, 4, 0) [[V]], i32 0, i64 3)
kernel void stores(global half *A)
{
    typedef half matA __attribute__((coop_mat(SUBGROUP, 2, 4, A_)));
    matA m;
    coop_mat_store(A, m, CLK_COOPERATIVE_MATRIX_LAYOUT_ROW_MAJOR, 3);
}

// 4.5, coop_matmul_add
// CHECK-LABEL: define spir_kernel void @multiplies
// CHECK: [[D:%.*]] = call spir_func target("spirv.CooperativeMatrixKHR", float, 3, 4, 2, 2) @_Z34__spirv_CooperativeMatrixMulAddKHR{{[^(]*}}(target("spirv.CooperativeMatrixKHR", float, 3, 4, 8, 0) {{%.*}}, target("spirv.CooperativeMatrixKHR", float, 3, 8, 2, 1) {{%.*}}, target("spirv.CooperativeMatrixKHR", float, 3, 4, 2, 2) {{%.*}}, i32 8)
// CHECK: store target("spirv.CooperativeMatrixKHR", float, 3, 4, 2, 2) [[D]], ptr %d
// AST-LABEL: Kernel multiplies
// AST: CooperativeMatrixMultiplyAdd operands 8 [coop_mat<float, 4x2, accumulator>]
kernel void multiplies(void)
{
    typedef float matA __attribute__((coop_mat(SUBGROUP, 4, 8, A_)));
    typedef float matB __attribute__((coop_mat(SUBGROUP, 8, 2, B_)));
    typedef float matC __attribute__((coop_mat(SUBGROUP, 4, 2, ACC)));
    matA a;
    matB b;
    matC c, d;
    d = coop_matmul_add(a, b, c, CLK_COOPERATIVE_MATRIX_OPERAND_MATRIX_RESULT_SIGNED);
}

// 4.6
// CHECK-LABEL: define spir_kernel void @operates
// CHECK: [[C:%.*]] = call spir_func target("spirv.CooperativeMatrixKHR", float, 3, 4, 8, 0) @_Z34__spirv_CooperativeMatrixScalarMul{{[^(]*}}(target("spirv.CooperativeMatrixKHR", float, 3, 4, 8, 0) {{%.*}}, float 4.000000e+00)
// CHECK: store target("spirv.CooperativeMatrixKHR", float, 3, 4, 8, 0) [[C]], ptr %c
// CHECK: [[N:%.*]] = call spir_func target("spirv.CooperativeMatrixKHR", float, 3, 4, 8, 0) @_Z34__spirv_CooperativeMatrixScalarNeg{{[^(]*}}(target("spirv.CooperativeMatrixKHR", float, 3, 4, 8, 0) {{%.*}})
// CHECK: store target("spirv.CooperativeMatrixKHR", float, 3, 4, 8, 0) [[N]], ptr %c
// CHECK: [[L:%.*]] = load target("spirv.CooperativeMatrixKHR", float, 3, 4, 8, 0), ptr %c
// CHECK: [[R:%.*]] = load target("spirv.CooperativeMatrixKHR", float, 3, 4, 8, 0), ptr %c
// CHECK: [[S:%.*]] = call spir_func target("spirv.CooperativeMatrixKHR", float, 3, 4, 8, 0) @_Z34__spirv_CooperativeMatrixBinaryAdd{{[^(]*}}(target("spirv.CooperativeMatrixKHR", float, 3, 4, 8, 0) [[L]], target("spirv.CooperativeMatrixKHR", float, 3, 4, 8, 0) [[R]])
// CHECK: store target("spirv.CooperativeMatrixKHR", float, 3, 4, 8, 0) [[S]], ptr %c
kernel void operates(void)
{
    typedef float matA __attribute__((coop_mat(CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP, 4, 8,
                                               CLK_COOPERATIVE_MATRIX_A)));
    matA a;
    matA c = a * 4;
    c = -c;
    c = c + c;
}
