// SPDX-License-Identifier: MIT
//
// Every misuse of a matrix has a diagnostic that says what is wrong, and where; the parts are chosen by
// a macro, since twenty errors end a compilation.
//
// RUN: not %heddle compile %s -DTYPES --emit ast 2>&1 | %filecheck --check-prefix=TYPES %s
// RUN: not %heddle compile %s -DPLACES --emit ast 2>&1 | %filecheck --check-prefix=PLACES %s
// RUN: not %heddle compile %s -DCALLS --emit ast 2>&1 | %filecheck --check-prefix=CALLS %s
// RUN: not %heddle compile %s -DSHAPES --emit ast 2>&1 | %filecheck --check-prefix=SHAPES %s
// RUN: not %heddle compile %s -DOPERATORS --emit ast 2>&1 | %filecheck --check-prefix=OPERATORS %s
// RUN: not %heddle compile %s -DONCE --emit ast 2>&1 | %filecheck --check-prefix=ONCE %s
// RUN: not %heddle compile %s -DPRIVATE --emit asm 2>&1 | %filecheck --check-prefix=PRIVATE %s
// RUN: %heddle compile %s -DWARNINGS --emit ast 2>&1 >/dev/null | %filecheck --check-prefix=WARNINGS %s

#define SUB CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP
#define ROW CLK_COOPERATIVE_MATRIX_LAYOUT_ROW_MAJOR
#define NONE CLK_COOPERATIVE_MATRIX_OPERAND_NONE
#define MATRIX(t, m, n, use) t __attribute__((coop_mat(SUB, m, n, CLK_COOPERATIVE_MATRIX_##use)))
typedef MATRIX(half, 8, 16, A) a816;
typedef MATRIX(half, 16, 8, B) b168;
typedef MATRIX(float, 8, 8, ACCUMULATOR) c88;

#ifdef TYPES
void types(int n)
{
// TYPES-DAG: :[[@LINE+1]]:42: error: the number of rows must be an integer constant
    float a __attribute__((coop_mat(SUB, n, 8, CLK_COOPERATIVE_MATRIX_A)));
// TYPES-DAG: :[[@LINE+1]]:42: error: the number of rows must be from 1 to 1024, not 0
    float b __attribute__((coop_mat(SUB, 0, 8, CLK_COOPERATIVE_MATRIX_A)));
// TYPES-DAG: :[[@LINE+1]]:45: error: the number of columns must be from 1 to 1024, not 5000
    float c __attribute__((coop_mat(SUB, 8, 5000, CLK_COOPERATIVE_MATRIX_A)));
// TYPES-DAG: :[[@LINE+1]]:37: error: the only scope of a matrix is CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP
    float d __attribute__((coop_mat(memory_scope_work_group, 8, 8, CLK_COOPERATIVE_MATRIX_A)));
// TYPES-DAG: :[[@LINE+1]]:48: error: the use must be CLK_COOPERATIVE_MATRIX_A, _B or _ACCUMULATOR
    float e __attribute__((coop_mat(SUB, 8, 8, 7)));
// TYPES-DAG: :[[@LINE+1]]:46: error: coop_mat takes (scope, rows, columns, use); the use is missing
    float f __attribute__((coop_mat(SUB, 8, 8)));
// TYPES-DAG: :[[@LINE+1]]:72: error: coop_mat takes (scope, rows, columns, use) and no more
    float g __attribute__((coop_mat(SUB, 8, 8, CLK_COOPERATIVE_MATRIX_A, 1)));
// TYPES-DAG: :[[@LINE+1]]:28: error: coop_mat takes (scope, rows, columns, use)
    float h __attribute__((coop_mat));
// TYPES-DAG: :[[@LINE+1]]:48: error: the use is an enumerator, and "CLK_A" names none
    float i __attribute__((coop_mat(SUB, 8, 8, "CLK_A")));
// TYPES-DAG: :[[@LINE+1]]:37: error: the only scope of a matrix is CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP
    float o __attribute__((coop_mat(memory_scope_all_devices, 8, 8, CLK_COOPERATIVE_MATRIX_A)));
// TYPES-DAG: :[[@LINE+1]]:29: error: the components of a matrix are integers or floating-point numbers, not 'float4'
    float4 j __attribute__((coop_mat(SUB, 8, 8, CLK_COOPERATIVE_MATRIX_A)));
// TYPES-DAG: :[[@LINE+1]]:27: error: the components of a matrix are integers or floating-point numbers, not 'bool'
    bool k __attribute__((coop_mat(SUB, 8, 8, CLK_COOPERATIVE_MATRIX_A)));
// TYPES-DAG: :[[@LINE+1]]:26: error: this is a matrix already
    c88 l __attribute__((coop_mat(SUB, 8, 8, CLK_COOPERATIVE_MATRIX_A)));
// TYPES-DAG: :[[@LINE+1]]:9: error: a matrix has no size: it is spread over the sub-group
    n = sizeof(c88);
// TYPES-DAG: :[[@LINE+1]]:15: error: only {0} initialises a matrix; coop_mat_load fills it from memory
    c88 m = { 1 };
}
#endif

#ifdef PLACES
// PLACES-DAG: :[[@LINE+1]]:12: error: a matrix lies in __private memory, not in __global; coop_mat_store brings its elements there
global c88 everywhere;
struct pair { c88 a; float b; };
// PLACES-DAG: :[[@LINE+1]]:20: error: a union holds no matrix, which has no bytes that others could share
union either { c88 a; float b; };
// PLACES-DAG: :[[@LINE+1]]:23: error: a kernel takes no matrices; pass a pointer and load from it
kernel void taken(c88 m) {}
// PLACES-DAG: :[[@LINE+1]]:32: error: a matrix lies in __private memory; a pointer to one is '__private T *'
kernel void pointed(global c88 *p)
{
// PLACES-DAG: :[[@LINE+1]]:15: error: a matrix lies in __private memory, not in __local; coop_mat_store brings its elements there
    local c88 shared;
// PLACES-DAG: :[[@LINE+1]]:23: error: a matrix lies in __private memory, not in __local; coop_mat_store brings its elements there
    local struct pair pairs[2];
}
#endif

#ifdef CALLS
// CALLS-DAG: :[[@LINE+1]]:80: error: a matrix lies in __private memory; a pointer to one is '__private T *'
void calls(global half *p, global const float *q, private float *r, global c88 *w, int n)
{
    c88 c;
// CALLS-DAG: :[[@LINE+1]]:5: error: nothing says which matrix coop_mat_load is to make; assign it to a variable, or cast it: (type)coop_mat_load(...)
    coop_mat_load(p, ROW, 8);
// CALLS-DAG: :[[@LINE+1]]:13: error: nothing says which matrix coop_mat_load is to make; assign it to a variable, or cast it: (type)coop_mat_load(...)
    c = c + coop_mat_load(q, ROW, 8);
// CALLS-DAG: :[[@LINE+1]]:9: error: coop_mat_load makes a matrix, not 'int'
    n = coop_mat_load(q, ROW, 8);
// CALLS-DAG: :[[@LINE+1]]:9: error: coop_mat_load takes 3 arguments, not 2
    c = coop_mat_load(q, ROW);
// CALLS-DAG: :[[@LINE+1]]:26: error: the layout must be a constant
    c = coop_mat_load(q, n, 8);
// CALLS-DAG: :[[@LINE+1]]:26: error: the layout: 2 is no value of its enumeration
    c = coop_mat_load(q, 2, 8);
// CALLS-DAG: :[[@LINE+1]]:23: error: coop_mat_load needs __global or __local memory, which the sub-group shares, not __private
    c = coop_mat_load(r, ROW, 8);
// CALLS-DAG: :[[@LINE+1]]:23: error: coop_mat_load needs a pointer to numbers, not 'int'
    c = coop_mat_load(n, ROW, 8);
// CALLS-DAG: :[[@LINE+1]]:20: error: coop_mat_store writes through '__global const float *', which is const
    coop_mat_store(q, c, ROW, 8);
// CALLS-DAG: :[[@LINE+1]]:23: error: coop_mat_store stores a matrix, not 'int'
    coop_mat_store(p, n, ROW, 8);
// CALLS-DAG: :[[@LINE+1]]:31: error: the stride is a number of elements, an integer, not 'float'
    c = coop_mat_load(q, ROW, 8.0f);
// CALLS-DAG: :[[@LINE+1]]:5: error: nothing says which matrix coop_mat_init is to make; assign it to a variable, or cast it: (type)coop_mat_init(...)
    coop_mat_init(1);
// CALLS-DAG: :[[@LINE+1]]:23: error: coop_mat_init makes all components of one number, not of '__global const float *'
    c = coop_mat_init(q);
// CALLS-DAG: :[[@LINE+1]]:25: error: coop_mat_length tells of a matrix, not 'int'
    n = coop_mat_length(n);
// CALLS-DAG: :[[@LINE+1]]:9: error: coop_matmul_add takes 4 arguments, not 3
    c = coop_matmul_add(c, c, c);
// CALLS-DAG: :[[@LINE+1]]:34: error: coop_mat_operand: 32 is no value of its enumeration
    c = coop_matmul_add(c, c, c, 32);
// CALLS-DAG: :[[@LINE+1]]:28: error: operand B of coop_matmul_add is a matrix, not 'int'
    c = coop_matmul_add(c, n, c, NONE);
// CALLS-DAG: :[[@LINE+1]]:13: error: initialiser: 'int' does not become 'coop_mat<float, 8x8, accumulator>'; coop_mat_load makes a matrix of what lies in memory, = {0} one of zeros
    c88 d = n;
// CALLS-DAG: :[[@LINE+1]]:9: error: assignment: 'coop_mat<float, 8x8, accumulator>' does not become 'int'; coop_mat_store brings its elements to memory
    n = c;
}
#endif

#ifdef SHAPES
void shapes(a816 a, b168 b, c88 c)
{
    MATRIX(half, 8, 8, B) b88;
    MATRIX(float, 16, 8, ACCUMULATOR) c168;
    MATRIX(float, 8, 16, ACCUMULATOR) c816;
    MATRIX(int, 8, 8, ACCUMULATOR) i88;
// SHAPES-DAG: :[[@LINE+1]]:28: error: operand B has 8 rows, but A has 16 columns (K)
    c = coop_matmul_add(a, b88, c, NONE);
// SHAPES-DAG: :[[@LINE+1]]:34: error: operand C has 16 rows, but A has 8 (M)
    c168 = coop_matmul_add(a, b, c168, NONE);
// SHAPES-DAG: :[[@LINE+1]]:34: error: operand C has 16 columns, but B has 8 (N)
    c816 = coop_matmul_add(a, b, c816, NONE);
// SHAPES-DAG: :[[@LINE+2]]:25: error: operand A is declared for use B; it must be CLK_COOPERATIVE_MATRIX_A
// SHAPES-DAG: :[[@LINE+1]]:28: error: operand B is declared for use A; it must be CLK_COOPERATIVE_MATRIX_B
    c = coop_matmul_add(b, a, c, NONE);
// SHAPES-DAG: :[[@LINE+1]]:11: error: integer and floating-point matrices do not multiply: A is 'half', B 'half', C 'int'
    i88 = coop_matmul_add(a, b, i88, NONE);
// SHAPES-DAG: :[[@LINE+1]]:34: error: only integers saturate: C is 'float'
    c = coop_matmul_add(a, b, c, CLK_COOPERATIVE_MATRIX_OPERAND_SATURATING_ACCUMULATION);
// SHAPES-DAG: :[[@LINE+1]]:9: error: assignment: 'coop_mat<half, 8x16, A>' does not become 'coop_mat<float, 8x8, accumulator>': the components differ (half and float)
    c = a;
// SHAPES-DAG: :[[@LINE+1]]:9: error: assignment: 'coop_mat<float, 16x8, accumulator>' does not become 'coop_mat<float, 8x8, accumulator>': the rows differ (16 and 8)
    c = c168;
// SHAPES-DAG: :[[@LINE+1]]:9: error: assignment: 'coop_mat<float, 8x16, accumulator>' does not become 'coop_mat<float, 8x8, accumulator>': the columns differ (16 and 8)
    c = c816;
}
#endif

#ifdef OPERATORS
void operators(a816 a, b168 b, c88 c, int n, float f)
{
// OPERATORS-DAG: :[[@LINE+1]]:11: error: matrices cannot be compared
    n = c == c;
// OPERATORS-DAG: :[[@LINE+1]]:10: error: a matrix has no subscripts: its elements are spread over the sub-group; coop_mat_store brings them to memory
    f = c[0];
// OPERATORS-DAG: :[[@LINE+1]]:11: error: a matrix has no subscripts: its elements are spread over the sub-group; coop_mat_store brings them to memory
    n = &c[0] != 0;
// OPERATORS-DAG: :[[@LINE+1]]:10: error: a matrix has no members: its elements are spread over the sub-group
    f = c.x;
// OPERATORS-DAG: :[[@LINE+1]]:11: error: '*' needs matrices of one type: the components differ (half and float); coop_matmul_add multiplies A by B
    c = a * c;
// OPERATORS-DAG: :[[@LINE+1]]:11: error: '+' needs matrices of one type: the rows differ (8 and 16)
    a = a + b;
// OPERATORS-DAG: :[[@LINE+1]]:13: error: the scalar beside 'coop_mat<float, 8x8, accumulator>' must be 'float', not 'int'; a cast to 'float' converts
    c = c * n;
// OPERATORS-DAG: :[[@LINE+1]]:11: error: '+' does not go with 'coop_mat<float, 8x8, accumulator>' and 'float'; only '*' takes a matrix and a scalar
    c = c + f;
// OPERATORS-DAG: :[[@LINE+1]]:11: error: '%' does not go with a matrix; '+', '-', '*' and '/' do, component by component
    c = c % c;
// OPERATORS-DAG: :[[@LINE+1]]:9: error: '!' does not go with a matrix; only unary '-' does
    c = !c;
// OPERATORS-DAG: :[[@LINE+1]]:6: error: '++' does not go with 'coop_mat<float, 8x8, accumulator>'
    c++;
// OPERATORS-DAG: :[[@LINE+1]]:9: error: a condition is a scalar or a pointer, not 'coop_mat<float, 8x8, accumulator>'
    if (c) n = 1;
}
#endif

#ifdef ONCE
// Of what is made with an attribute that is wrong nothing more is said.
// ONCE: :[[@LINE+1]]:50: error: the number of rows must be from 1 to 1024, not 0
typedef float wrong __attribute__((coop_mat(SUB, 0, 8, CLK_COOPERATIVE_MATRIX_A)));
wrong twice(wrong m) { return m + m * 2; }
kernel void once(global float *p)
{
    wrong a = coop_mat_load(p, ROW, 8), b[2], c = { 0 };
    a = twice(a) * 2 - c;
    b[1] = coop_mat_init(a);
    coop_mat_store(p, b[1], ROW, 8);
    p[0] = coop_mat_length(a);
}
// ONCE-NOT: error
#endif

#ifdef PRIVATE
c88 from(const float *p) { return (c88)coop_mat_load(p, ROW, 8); }
// PRIVATE: error: matrices move to and from memory that invocations share
kernel void own(global float *q)
{
    float mine[64];
    for (int i = 0; i < 64; i++)
        mine[i] = q[i];
    coop_mat_store(q, from(mine), ROW, 8);
}
#endif

#ifdef WARNINGS
kernel void warnings(global const float *p, global int *q)
{
// WARNINGS-DAG: :[[@LINE+1]]:28: warning: 'coop_mat<half, 8x16, A>' lies in memory as 'float': the bytes are taken as they are, nothing is converted
    a816 m = coop_mat_load(p, ROW, 8);
    MATRIX(char, 8, 16, A) a = coop_mat_load((global const char *)p, ROW, 16);
    MATRIX(char, 16, 8, B) b = coop_mat_load((global const char *)p, ROW, 8);
    MATRIX(int, 8, 8, ACCUMULATOR) c = {0};
// WARNINGS-DAG: :[[@LINE+1]]:25: warning: the components are 'char', but CLK_COOPERATIVE_MATRIX_OPERAND_MATRIX_A_SIGNED is not given: they are taken as unsigned
    c = coop_matmul_add(a, b, c, 2 | 4 | 8);
    coop_mat_store(q, c, ROW, 8);
}
#endif
