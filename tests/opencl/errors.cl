// SPDX-License-Identifier: MIT
//
// What is wrong with a program is said where it is, with a way out where one is plain.
//
// RUN: not %heddle compile %s -DNAMES --emit ast 2>&1 | %filecheck --check-prefix=NAMES %s
// RUN: not %heddle compile %s -DTYPES --emit ast 2>&1 | %filecheck --check-prefix=TYPES %s
// RUN: not %heddle compile %s -DSPACES --emit ast 2>&1 | %filecheck --check-prefix=SPACES %s
// RUN: not %heddle compile %s -DVECTORS --emit ast 2>&1 | %filecheck --check-prefix=VECTORS %s
// RUN: not %heddle compile %s -DSTATEMENTS --emit ast 2>&1 | %filecheck --check-prefix=STATEMENTS %s
// RUN: not %heddle compile %s -DDECLARATIONS --emit ast 2>&1 | %filecheck --check-prefix=DECLARATIONS %s
// RUN: not %heddle compile %s -DKERNELS --emit ast 2>&1 | %filecheck --check-prefix=KERNELS %s
// RUN: not %heddle compile %s -DDEEP --emit ast 2>&1 | %filecheck --check-prefix=DEEP %s
// RUN: not %heddle compile %s -DENDLESS --emit ast 2>&1 | %filecheck --check-prefix=ENDLESS %s

#ifdef NAMES
void names(int a, float4 v)
{
// NAMES-DAG: :[[@LINE+1]]:9: error: 'b' is not declared
    a = b;
// NAMES-DAG: :[[@LINE+1]]:9: error: function 'sqr' is not declared
    v = sqr(v);
// NAMES-DAG: :[[@LINE+1]]:9: error: function 'sqrrt' is not declared; is 'sqrt' meant?
    v = sqrrt(v);
// NAMES-DAG: :[[@LINE+1]]:9: error: no built-in 'dot' takes (int, int *)
    a = dot(a, &a);
// NAMES-DAG: :[[@LINE+1]]:9: error: built-in 'sqrt' takes 1 argument, not 2
    v = sqrt(v, v);
// NAMES-DAG: :[[@LINE+1]]:5: error: 'read_imagef': images are not supported
    read_imagef(a, a);
// NAMES-DAG: :[[@LINE+1]]:5: error: 'image2d_t': images are not supported
    image2d_t image;
// NAMES-DAG: :[[@LINE+1]]:5: error: 'enqueue_kernel': device-side queues are not supported
    enqueue_kernel(a);
// NAMES-DAG: :[[@LINE+1]]:10: error: blocks are not supported; a function does what they do
    int (^f)(int);
// NAMES-DAG: :[[@LINE+1]]:5: error: printf needs a format: a string literal, or a __constant array that one initialises
    printf();
    char text[4];
// NAMES-DAG: :[[@LINE+1]]:30: error: %s prints a string literal or another in __constant memory, not 'char *'
    printf("%% %4d %-3s", 1, text);
// NAMES-DAG: :[[@LINE+1]]:5: error: 'read_only': pipes are not supported
    read_only pipe int pipe_argument;
// NAMES-DAG: :[[@LINE+1]]:9: error: as_int needs a type of as many bytes, not 'float4'
    a = as_int(v);
// NAMES-DAG: :[[@LINE+1]]:9: error: 'convert_float4_sat' is no conversion: only integers saturate
    v = convert_float4_sat(v);
// NAMES-DAG: :[[@LINE+1]]:9: error: convert_int needs as many components, not 'float4'
    a = convert_int(v);
}
#endif

#ifdef TYPES
struct s { int a : 3; const int c; };
// TYPES-DAG: :[[@LINE+1]]:6: note: it is declared here
void types(struct s s, const int k, int *p, float f)
{
// TYPES-DAG: :[[@LINE+1]]:7: error: '%' does not go with 'float' and 'int'
    f % 2;
// TYPES-DAG: :[[@LINE+1]]:7: error: cannot assign: it is const
    k = 1;
// TYPES-DAG: :[[@LINE+1]]:7: error: cannot assign: it is const
    s = s;
// TYPES-DAG: :[[@LINE+1]]:7: error: cannot assign: what is left of it is no place in memory
    3 = k;
// TYPES-DAG: :[[@LINE+1]]:7: error: 'struct s' has no member 'b'
    s.b;
// TYPES-DAG: :[[@LINE+1]]:6: error: 'float' has no members
    f.a;
// TYPES-DAG: :[[@LINE+1]]:6: error: 'struct s' is no pointer; '.' selects a member
    s->a;
// TYPES-DAG: :[[@LINE+1]]:6: error: 'int *' has no members
    p.a;
// TYPES-DAG: :[[@LINE+1]]:5: error: a bit-field has no address
    &s.a;
// TYPES-DAG: :[[@LINE+1]]:12: error: cannot assign: what is left of it is no place in memory
    &k + 1 = p;
// TYPES-DAG: :[[@LINE+1]]:9: error: assignment: 'const int' does not convert to 'int *'; a cast makes a pointer of an integer
    p = k;
// TYPES-DAG: :[[@LINE+1]]:9: error: assignment: 'struct s' does not convert to 'float'
    f = s;
// TYPES-DAG: :[[@LINE+1]]:9: error: a value is needed, and this has none
    f = types(s, k, p, f);
// TYPES-DAG: :[[@LINE+1]]:5: error: '*' does not go with 'float'
    *f;
// TYPES-DAG: :[[@LINE+1]]:5: error: 'int *' is no function
    p();
// TYPES-DAG: :[[@LINE+1]]:6: error: 'float' cannot be subscripted by 'int'
    f[2];
// TYPES-DAG: :[[@LINE+1]]:7: error: '*' does not go with 'int *' and 'int'
    p * 2;
// TYPES-DAG: :[[@LINE+1]]:5: error: 'types' takes 4 arguments, not 1
    types(s);
// TYPES-DAG: :[[@LINE+2]]:10: error: 'unknown' is not declared
// TYPES-DAG: :[[@LINE+1]]:19: error: expected an expression, not ')'
    f = (unknown *)p;
}
#endif

#ifdef SPACES
int outside = 3;
// SPACES-DAG: :[[@LINE+1]]:13: error: a variable outside of functions is __constant or __global
private int wrong;
// SPACES-DAG: :[[@LINE+1]]:11: error: a __local variable belongs in a kernel
local int here;
// SPACES-DAG: :[[@LINE+1]]:14: error: a __constant variable needs an initialiser
constant int unset;
// SPACES-DAG: :[[@LINE+1]]:22: error: the initialiser of a variable that lasts must be constant
constant int twice = outside;
void spaces(global int *g, local int *l, constant int *c, int *p)
{
// SPACES-DAG: :[[@LINE+1]]:9: error: assignment: '__local int *' would become '__global int *', which points into another address space
    g = l;
// SPACES-DAG: :[[@LINE+1]]:9: error: assignment: 'int *' would become '__local int *', which points into another address space
    l = p;
// SPACES-DAG: :[[@LINE+1]]:9: error: assignment: '__constant int *' would become 'int *', which points into another address space
    p = c;
// SPACES-DAG: :[[@LINE+1]]:9: error: '__local int *' cannot be cast to '__global int *', which points into another address space
    g = (global int *)l;
// SPACES-DAG: :[[@LINE+1]]:8: error: cannot assign: it lies in __constant memory
    *c = 1;
// SPACES-DAG: :[[@LINE+1]]:16: error: a __global variable in a function must be static
    global int x;
// SPACES-DAG: :[[@LINE+1]]:15: error: a __local variable belongs in a kernel; pass 'spaces' a pointer to one
    local int y;
// SPACES-DAG: :[[@LINE+1]]:17: error: a variable lies in one address space, __generic is for pointers
    generic int z;
}
// SPACES-DAG: :[[@LINE+1]]:26: error: a parameter is __private itself; what it points to may lie elsewhere
void parameter(local int x)
{
}
#endif

#ifdef VECTORS
void vectors(float4 v, int4 i, double d, float2 w)
{
// VECTORS-DAG: :[[@LINE+1]]:9: error: assignment: 'int4' does not convert to 'float4'; convert_float4() converts
    v = i;
// VECTORS-DAG: :[[@LINE+1]]:7: error: '+' does not go with 'float4' and 'float2'
    v + w;
// VECTORS-DAG: :[[@LINE+1]]:9: error: 'double' has a greater rank than the components of 'float4'; a cast to 'float' says that it is meant
    v * d;
// VECTORS-DAG: :[[@LINE+1]]:7: error: 'q' names no components of a 'float4'
    v.q;
// VECTORS-DAG: :[[@LINE+1]]:7: error: 'float2' has 2 components: there is no 'z'
    w.z;
// VECTORS-DAG: :[[@LINE+1]]:7: error: there is no vector of 5 components
    v.xyzwx;
// VECTORS-DAG: :[[@LINE+1]]:7: error: 'float4' has 4 components: there is no 's9'
    v.s9;
// VECTORS-DAG: :[[@LINE+1]]:10: error: cannot assign: a component is named twice
    v.xx = w;
// VECTORS-DAG: :[[@LINE+1]]:5: error: a 'float4' has 4 components, and these are 3
    (float4)(1, 2, 3);
// VECTORS-DAG: :[[@LINE+1]]:18: error: 'int2' does not go into a 'float4'; convert_float2() converts
    (float4)(w, i.xy);
// VECTORS-DAG: :[[@LINE+1]]:9: error: 'float4' cannot be cast to 'int4'; convert_int4() does it
    i = (int4)v;
// VECTORS-DAG: :[[@LINE+1]]:9: error: a condition is a scalar or a pointer, not 'float4'; any() or all() makes one of a vector
    if (v) ;
// VECTORS-DAG: :[[@LINE+1]]:5: error: the condition of a vector '?:' has integer components, not 'float4'
    v ? v : v;
// VECTORS-DAG: :[[@LINE+1]]:7: error: the condition 'int4' and the values 'float2' of '?:' differ in shape
    i ? w : w;
// VECTORS-DAG: :[[@LINE+1]]:5: error: a component of a vector has no address
    &v.x;
// VECTORS-DAG: :[[@LINE+1]]:7: error: '<<' does not go with 'float4' and 'int'
    v << 1;
// VECTORS-DAG: :[[@LINE+1]]:15: error: initialiser: 'float4' does not convert to 'float'; .x takes the first component
    float f = v;
}
#endif

#ifdef STATEMENTS
int statements(int a, float f)
{
// STATEMENTS-DAG: :[[@LINE+1]]:5: error: 'break' outside of a loop and a switch
    break;
// STATEMENTS-DAG: :[[@LINE+1]]:5: error: 'continue' outside of a loop
    continue;
// STATEMENTS-DAG: :[[@LINE+1]]:5: error: 'case' outside of a switch
    case 1:;
// STATEMENTS-DAG: :[[@LINE+1]]:5: error: there is no label 'nowhere'
    goto nowhere;
// STATEMENTS-DAG: :[[@LINE+1]]:13: error: switch needs an integer, not 'float'
    switch (f) {}
// STATEMENTS-DAG: :[[@LINE+2]]:26: error: the switch has this case already
// STATEMENTS-DAG: :[[@LINE+1]]:43: error: two defaults in one switch
    switch (a) { case 1: case 1: default: default:; }
// STATEMENTS-DAG: :[[@LINE+1]]:37: error: a range of cases ends before it begins
    switch (a) { case 1: case 6 ... 5:; }
// STATEMENTS-DAG: :[[@LINE+1]]:26: error: the switch has this case already
    switch (a) { case 4: case 1 ... 5:; }
// STATEMENTS-DAG: :[[@LINE+1]]:34: error: the switch has this case already
    switch (a) { case -3 ... -1: case -2:; }
// STATEMENTS-DAG: :[[@LINE+1]]:23: error: a case must be an integer constant
    switch (a) { case a:; }
again:
// STATEMENTS-DAG: :[[@LINE+1]]:1: error: two labels named 'again'
again:
// STATEMENTS-DAG: :[[@LINE+1]]:5: error: 'statements' must yield 'int'
    return;
// STATEMENTS-DAG: :[[@LINE+1]]:10: error: expected ';' after the expression
    a = 1
    if (a) int b;
// STATEMENTS-DAG: :[[@LINE+2]]:13: error: expected ')' after the expression
// STATEMENTS-DAG: :[[@LINE+1]]:13: error: expected ';' after the expression
    while (a
// STATEMENTS-DAG: :[[@LINE+1]]:1: error: expected an expression, not '}'
}
// STATEMENTS-DAG: :[[@LINE+1]]:19: error: statements in an expression belong in a function
constant int n = ({ 1; });
void yields(void)
{
// STATEMENTS-DAG: :[[@LINE+1]]:12: error: 'yields' yields nothing
    return 1;
}
#endif

#ifdef DECLARATIONS
struct unfinished;
// DECLARATIONS-DAG: :[[@LINE+1]]:19: error: 'value' has type '__global struct unfinished', whose size is not known
struct unfinished value;
// DECLARATIONS-DAG: :[[@LINE+2]]:27: error: two members named 'a'
// DECLARATIONS-DAG: :[[@LINE+1]]:8: note: it was defined here
struct twice { int a; int a; };
// DECLARATIONS-DAG: :[[@LINE+1]]:8: error: 'twice' is defined twice
struct twice { int b; };
// DECLARATIONS-DAG: :[[@LINE+1]]:1: error: enumeration 'twice' is not defined
enum twice e;
// DECLARATIONS-DAG: :[[@LINE+1]]:10: error: an array cannot have this length
int array[-1];
// DECLARATIONS-DAG: :[[@LINE+2]]:13: error: 'f' is declared twice, and not alike
// DECLARATIONS-DAG: :[[@LINE+1]]:5: note: it was declared here
int f(int), f(float);
// DECLARATIONS-DAG: :[[@LINE+1]]:19: error: two parameters named 'a'
int f2(int a, int a) { return a; }
// DECLARATIONS-DAG: :[[@LINE+1]]:5: note: it was defined here
int g(void) { return 1; }
// DECLARATIONS-DAG: :[[@LINE+1]]:5: error: 'g' is defined twice
int g(void) { return 2; }
// DECLARATIONS-DAG: :[[@LINE+1]]:7: error: there are no pointers to functions
void (*pointer)(int);
// DECLARATIONS-DAG: :[[@LINE+2]]:13: error: there are no arrays of 'void'
// DECLARATIONS-DAG: :[[@LINE+1]]:6: error: a variable cannot have type 'void'
void nothing[3];
// DECLARATIONS-DAG: :[[@LINE+1]]:1: error: these words together name no type; 'long' has 64 bits already
long long number;
// DECLARATIONS-DAG: :[[@LINE+1]]:1: error: these words together name no type
short float real;
// DECLARATIONS-DAG: :[[@LINE+3]]:25: error: a bit-field is an integer, not 'float'
// DECLARATIONS-DAG: :[[@LINE+2]]:36: error: a bit-field of 'int' cannot have 40 bits
// DECLARATIONS-DAG: :[[@LINE+1]]:51: error: only a bit-field without a name can have no bits
struct bits { float f : 3; int i : 40; int zero : 0; };
// DECLARATIONS-DAG: :[[@LINE+1]]:32: error: more values than '__constant int[2]' has room for
constant int list[2] = { 1, 2, 3 };
// DECLARATIONS-DAG: :[[@LINE+1]]:29: error: '__constant struct bits' has no member of this name
constant struct bits b = { .nothing = 1 };
// DECLARATIONS-DAG: :[[@LINE+1]]:23: error: index 5 is outside of '__constant int[2]'
constant int c[2] = { [5] = 1 };
#endif

#ifdef KERNELS
// KERNELS-DAG: :[[@LINE+1]]:12: error: a kernel yields void, not 'int'
kernel int yields(void) { return 1; }
// KERNELS-DAG: :[[@LINE+1]]:26: error: a kernel's pointer needs an address space: __global, __local or __constant
kernel void pointer(int *p) {}
// KERNELS-DAG: :[[@LINE+1]]:26: error: a kernel takes no 'bool'
kernel void boolean(bool b) {}
// KERNELS-DAG: :[[@LINE+1]]:1: error: only a function is a kernel
kernel int variable;
// KERNELS-DAG: :[[@LINE+1]]:37: error: a size is at least 1
__attribute__((reqd_work_group_size(0, 1, 1))) kernel void sizes(void) {}
__attribute__((overloadable)) int either(int a, float b) { return 1; }
__attribute__((overloadable)) int either(float a, int b) { return 2; }
// KERNELS-DAG: :[[@LINE+1]]:30: error: two functions 'either' suit these arguments equally well
int ambiguous(void) { return either(1, 2); }
// KERNELS-DAG: :[[@LINE+1]]:25: error: no function 'either' takes these arguments
int none(void) { return either(1); }
int alone(int a);
// KERNELS-DAG: :[[@LINE+1]]:35: error: 'alone' is declared twice, and not alike
__attribute__((overloadable)) int alone(float a) { return 2; }
// KERNELS-DAG: :[[@LINE+1]]:5: error: 'undefined' is called but not defined
int undefined(int);
kernel void calls(void) { undefined(1); }
// KERNELS-DAG: :[[@LINE+1]]:22: error: functions take a fixed number of arguments
void variadic(int a, ...) {}
#endif

#ifdef DEEP
#define P4(x) ((((x))))
#define P16(x) P4(P4(P4(P4(x))))
#define P64(x) P16(P16(P16(P16(x))))
// DEEP-DAG: :[[@LINE+1]]:49: error: nested too deeply: more than 400 levels
int deep(void) { return P64(P64(P64(P64(P64(P64(P64(P64(1)))))))); }
#endif

#ifdef ENDLESS
#define A0 1 + 1 + 1 + 1 +
#define A1 A0 A0 A0 A0 A0 A0 A0 A0
#define A2 A1 A1 A1 A1 A1 A1 A1 A1
#define A3 A2 A2 A2 A2 A2 A2 A2 A2
#define A4 A3 A3 A3 A3 A3 A3 A3 A3
// ENDLESS-DAG: :[[@LINE+1]]:28: error: nested too deeply: an expression of more than 1200 levels
int endless(void) { return A4 1; }
#endif
