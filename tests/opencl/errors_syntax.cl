// SPDX-License-Identifier: MIT
//
// What is expected and missing is said where the token before it ends.
//
// RUN: not %heddle compile %s -DSTATEMENTS --emit ast 2>&1 | %filecheck --check-prefix=STATEMENTS %s
// RUN: not %heddle compile %s -DEXPRESSIONS --emit ast 2>&1 | %filecheck --check-prefix=EXPRESSIONS %s
// RUN: not %heddle compile %s -DINITIALISERS --emit ast 2>&1 | %filecheck --check-prefix=INITIALISERS %s
// RUN: not %heddle compile %s -DMEMBERS --emit ast 2>&1 | %filecheck --check-prefix=MEMBERS %s
// RUN: not %heddle compile %s -DTYPEOF --emit ast 2>&1 | %filecheck --check-prefix=TYPEOF %s
// RUN: not %heddle compile %s -DDECLARATORS --emit ast 2>&1 | %filecheck --check-prefix=DECLARATORS %s
// RUN: not %heddle compile %s -DATTRIBUTES --emit ast 2>&1 | %filecheck --check-prefix=ATTRIBUTES %s
// RUN: not %heddle compile %s -DBLOCK --emit ast 2>&1 | %filecheck --check-prefix=BLOCK %s
// RUN: not %heddle compile %s -DMEMBER --emit ast 2>&1 | %filecheck --check-prefix=MEMBER %s
// RUN: not %heddle compile %s -DREDECLARED --emit ast 2>&1 | %filecheck --check-prefix=REDECLARED %s
// RUN: not %heddle compile %s -DTYPES --emit ast 2>&1 | %filecheck --check-prefix=TYPES %s
// RUN: not %heddle compile %s -DUSES --emit ast 2>&1 | %filecheck --check-prefix=USES %s
// RUN: not %heddle compile %s -DRECURSION --emit ast 2>&1 | %filecheck --check-prefix=RECURSION %s
// RUN: not %heddle compile %s -DCIRCLE --emit ast 2>&1 | %filecheck --check-prefix=CIRCLE %s
// RUN: not %heddle compile %s -DPARTS --emit spirv 2>&1 | %filecheck --check-prefix=PARTS %s
// RUN: not %heddle compile %s -DADDRESSES --emit llvm 2>&1 | %filecheck --check-prefix=ADDRESSES %s

#ifdef STATEMENTS
void statements(int a)
{
// STATEMENTS-DAG: :[[@LINE+1]]:7: error: expected '(' after 'if'
    if a) ;
// STATEMENTS-DAG: :[[@LINE+1]]:10: error: expected '(' after 'while'
    while a) ;
// STATEMENTS-DAG: :[[@LINE+1]]:11: error: expected '(' after 'switch'
    switch a) {}
// STATEMENTS-DAG: :[[@LINE+1]]:25: error: expected ':' after 'default'
    switch (a) { default break; }
// STATEMENTS-DAG: :[[@LINE+1]]:24: error: expected ':' after a case
    switch (a) { case 1 break; }
// STATEMENTS-DAG: :[[@LINE+1]]:9: error: expected 'while' after the body of 'do'
    do ; (a);
// STATEMENTS-DAG: :[[@LINE+1]]:19: error: expected ';' after 'do'
    do ; while (a)
// STATEMENTS-DAG: :[[@LINE+1]]:8: error: expected '(' after 'for'
    for a = 1; a; a++) ;
// STATEMENTS-DAG: :[[@LINE+1]]:15: error: expected ';' after the start of 'for'
    for (a = 1 a; a++) ;
// STATEMENTS-DAG: :[[@LINE+1]]:13: error: expected ';' after the condition of 'for'
    for (; a a++) ;
// STATEMENTS-DAG: :[[@LINE+1]]:16: error: expected ')' after 'for'
    for (;; a++ ;
// STATEMENTS-DAG: :[[@LINE+1]]:10: error: expected a label after 'goto'
    goto 3;
// STATEMENTS-DAG: :[[@LINE+1]]:15: error: expected ';' after a jump
    { goto out }
    out: ;
// STATEMENTS-DAG: :[[@LINE+1]]:12: error: a declaration needs a block around it here
    if (a) int b;
// STATEMENTS-DAG: :[[@LINE+2]]:12: error: 'statements' yields nothing
// STATEMENTS-DAG: :[[@LINE+1]]:13: error: expected ';' after 'return'
    return a
}
#endif

#ifdef EXPRESSIONS
struct pair { int a; };
void expressions(int a, int *p, struct pair s)
{
// EXPRESSIONS-DAG: :[[@LINE+1]]:12: error: expected an argument after ','
    abs(a, );
// EXPRESSIONS-DAG: :[[@LINE+1]]:10: error: expected ')' after the arguments
    abs(a;
// EXPRESSIONS-DAG: :[[@LINE+1]]:15: error: expected ')' after the type
    sizeof(int;
// EXPRESSIONS-DAG: :[[@LINE+3]]:10: error: a type has no name here
// EXPRESSIONS-DAG: :[[@LINE+2]]:11: error: expected ')' after the type
// EXPRESSIONS-DAG: :[[@LINE+1]]:11: error: expected an expression, not ';'
    (int a;
// EXPRESSIONS-DAG: :[[@LINE+1]]:8: error: expected ']' after the subscript
    p[a;
// EXPRESSIONS-DAG: :[[@LINE+1]]:7: error: expected a member's name after '.'
    s.;
// EXPRESSIONS-DAG: :[[@LINE+1]]:8: error: expected a member's name after '->'
    p->;
// EXPRESSIONS-DAG: :[[@LINE+1]]:10: error: expected ':' between the values of '?:'
    a ? 1;
// EXPRESSIONS-DAG: :[[@LINE+1]]:9: error: expected an expression; a list in braces only initialises
    a = { 1 };
// EXPRESSIONS-DAG: :[[@LINE+1]]:9: error: expected an expression, not '@'
    a = @;
// EXPRESSIONS-DAG: :[[@LINE+1]]:9: error: expected an expression, not 'é'
    a = é;
// EXPRESSIONS-DAG: :[[@LINE+1]]:11: error: expected ')' after the expression
    a = (1;
}
#endif

#ifdef INITIALISERS
// INITIALISERS-DAG: :[[@LINE+1]]:31: error: expected '}' after the components
constant int4 v = { 1, 2, 3, 4;
// INITIALISERS-DAG: :[[@LINE+2]]:22: error: expected '}' after a value in braces
// INITIALISERS-DAG: :[[@LINE+1]]:22: error: expected ';' after the declaration
constant int i = { 1, 2 };
// INITIALISERS-DAG: :[[@LINE+2]]:23: error: initialiser: '__constant char *' does not convert to 'char'; a cast makes an integer of a pointer
// INITIALISERS-DAG: :[[@LINE+1]]:28: error: expected '}' after the initialisers
constant char s[] = { "abc" 1 };
// INITIALISERS-DAG: :[[@LINE+1]]:26: error: expected '}' after the initialisers
constant int list[] = { 1 2 };
// INITIALISERS-DAG: :[[@LINE+1]]:26: error: expected '=' after a designator
constant int at[] = { [1] 2 };
// INITIALISERS-DAG: :[[@LINE+1]]:25: error: expected ']' after a designator
constant int to[] = { [1 = 2 };
// INITIALISERS-DAG: :[[@LINE+1]]:25: error: an array is initialised by a list in braces
constant int whole[3] = 1;
// INITIALISERS-DAG: :[[@LINE+1]]:25: error: the string is longer than the array
constant char text[2] = "abc";
// INITIALISERS-DAG: :[[@LINE+2]]:33: error: expected '}' after the string
// INITIALISERS-DAG: :[[@LINE+1]]:33: error: expected ';' after the declaration
constant char texts[] = { "abc", 1 };
struct pair { int a, b; };
// INITIALISERS-DAG: :[[@LINE+1]]:30: error: 'int' has nothing to designate
constant struct pair p = { .a.b = 1 };
// INITIALISERS-DAG: :[[@LINE+1]]:28: error: '__constant struct pair' is no array
constant struct pair q = { [0] = 1 };
// INITIALISERS-DAG: :[[@LINE+1]]:29: error: '__constant struct pair' has no member of this name
constant struct pair r = { .c = 1 };
struct none;
// INITIALISERS-DAG: :[[@LINE+2]]:35: error: 'struct none' has no known size
// INITIALISERS-DAG: :[[@LINE+1]]:58: error: initialiser: 'int' does not convert to 'struct pair'
void none(void) { struct none n = { 1 }; struct pair m = 1; }
// INITIALISERS-DAG: :[[@LINE+1]]:23: error: an initialiser of more than 1048576 elements
constant int most[] = { [1048576] = 1 };
#endif

#ifdef MEMBERS
struct unknown;
struct members {
// MEMBERS-DAG: :[[@LINE+1]]:10: error: expected ';' after a member
    int a
// MEMBERS-DAG: :[[@LINE+1]]:10: error: expected a type
    int b;
// MEMBERS-DAG: :[[@LINE+1]]:10: error: a member of type 'void', whose size is not known
    void c;
// MEMBERS-DAG: :[[@LINE+1]]:20: error: a member of type 'struct unknown', whose size is not known
    struct unknown d;
// MEMBERS-DAG: :[[@LINE+1]]:15: error: a member has no address space of its own
    local int e;
// MEMBERS-DAG: :[[@LINE+1]]:5: error: a member has no storage class
    static int f;
// MEMBERS-DAG: :[[@LINE+1]]:11: error: expected a member's name
    float *;
// MEMBERS-DAG: :[[@LINE+1]]:11: error: a member of type 'void (int)', whose size is not known
    void (g)(int);
};
// MEMBERS-DAG: :[[@LINE+1]]:1: error: expected a tag or '{'
struct;
// MEMBERS-DAG: :[[@LINE+1]]:1: error: expected a tag or '{'
enum;
enum numbers { ONE, TWO
};
// MEMBERS-DAG: :[[@LINE+2]]:18: error: expected '}' after the enumerators
// MEMBERS-DAG: :[[@LINE+1]]:25: error: expected ';' after the declaration
enum more { THREE THREE2 };
// MEMBERS-DAG: :[[@LINE+1]]:8: error: 'numbers' is an enumeration
struct numbers { int a; };
struct one { int a; };
// MEMBERS-DAG: :[[@LINE+2]]:7: error: 'one' is a structure
// MEMBERS-DAG: :[[@LINE+1]]:11: error: 'second' has type '__global union one', whose size is not known
union one second;
// MEMBERS-DAG: :[[@LINE+1]]:8: error: the structure is too large
struct huge { char a[4294967295][256], b[4294967295][256]; };
#endif

#ifdef TYPEOF
void typeof_operand(int a)
{
// TYPEOF: :[[@LINE+1]]:15: error: expected '(' after 'typeof'
    __typeof__ a;
// TYPEOF: :[[@LINE+1]]:13: error: expected ')' after the operand of 'typeof'
    typeof(a b;
}
#endif

#ifdef DECLARATORS
int;
// DECLARATORS-DAG: :[[@LINE+2]]:18: error: a type has no initialiser
// DECLARATORS-DAG: :[[@LINE+1]]:17: error: expected ';' after the declaration
typedef int type = 3;
// DECLARATORS-DAG: :[[@LINE+2]]:8: error: two address spaces: __global and __local
// DECLARATORS-DAG: :[[@LINE+1]]:18: error: a __local variable belongs in a kernel
global local int two;
// DECLARATORS-DAG: :[[@LINE+1]]:1: error: these words together name no type
float int words;
// DECLARATORS-DAG: :[[@LINE+1]]:1: error: two types in one declaration
struct pair { int a : 3; } int pair;
// DECLARATORS-DAG: :[[@LINE+1]]:7: error: expected a name
float struct unknown *both;
// DECLARATORS-DAG: :[[@LINE+1]]:12: error: expected ']' after the length
int array[3;
// DECLARATORS-DAG: :[[@LINE+1]]:12: error: expected ')' after the declarator
int (nested;
// DECLARATORS-DAG: :[[@LINE+1]]:19: error: expected ',' between parameters
int function(int a int b);
// DECLARATORS-DAG: :[[@LINE+3]]:20: error: expected ',' between parameters
// DECLARATORS-DAG: :[[@LINE+2]]:20: error: expected a type
// DECLARATORS-DAG: :[[@LINE+1]]:20: error: expected ')' after the parameters
int function2(int a;
// DECLARATORS-DAG: :[[@LINE+1]]:11: error: a function cannot yield 'int[3]'
int yields(void)[3];
typedef int elements[2];
// DECLARATORS-DAG: :[[@LINE+1]]:17: error: a function cannot yield 'int[2]'
elements yields2(void);
// DECLARATORS-DAG: :[[@LINE+1]]:30: error: a type has no name here
int cast(void) { return (int a)3; }
// DECLARATORS-DAG: :[[@LINE+1]]:9: error: the array is too large
int huge[4294967295][4294967295];
// DECLARATORS-DAG: :[[@LINE+1]]:1: error: 'unknown' is no type
unknown thing;
// DECLARATORS-DAG: :[[@LINE+1]]:1: error: expected a type
+ 3;
#endif

#ifdef TYPES
int type;
// TYPES-DAG: :[[@LINE+1]]:72: error: nested too deeply: a declarator of more than 64 levels
int ****************************************************************** many;
// TYPES-DAG: :[[@LINE+1]]:21: error: a parameter cannot have type 'void'
void parameter(void a);
// TYPES-DAG: :[[@LINE+1]]:13: error: the initialiser of a variable that lasts must be constant
int value = type;
// TYPES-DAG: :[[@LINE+1]]:10: error: expected ';' after the declaration
int after a;
// TYPES-DAG: :[[@LINE+1]]:1: error: '}' without '{'
}
#endif

#ifdef ATTRIBUTES
// ATTRIBUTES-DAG: :[[@LINE+1]]:20: error: expected '(' after '__attribute__'
int a __attribute__;
// ATTRIBUTES-DAG: :[[@LINE+1]]:21: error: expected '(' after '__attribute__('
int b __attribute__(;
// ATTRIBUTES-DAG: :[[@LINE+2]]:22: error: expected an attribute's name
// ATTRIBUTES-DAG: :[[@LINE+1]]:22: error: expected ',' between attributes
int c __attribute__((3));
// ATTRIBUTES-DAG: :[[@LINE+1]]:28: error: expected ',' between attributes
int d __attribute__((unused used));
// ATTRIBUTES-DAG: :[[@LINE+1]]:29: error: expected ')' after the attributes
int e __attribute__((unused);
// ATTRIBUTES-DAG: :[[@LINE+1]]:22: error: an alignment is a power of two up to 65536
int f __attribute__((aligned(3)));
// ATTRIBUTES-DAG: :[[@LINE+1]]:33: error: expected ')' after the attributes
int g __attribute__((aligned(4));
// ATTRIBUTES-DAG: :[[@LINE+1]]:31: error: expected ')' after the attribute's arguments
int h __attribute__((aligned(4, 5)));
// ATTRIBUTES-DAG: :[[@LINE+2]]:38: error: expected ',' between the sizes
// ATTRIBUTES-DAG: :[[@LINE+1]]:38: error: expected ')' after the attribute's arguments
__attribute__((reqd_work_group_size(1 2 3))) kernel void k(void) {}
// ATTRIBUTES-DAG: :[[@LINE+1]]:22: warning: unknown attribute 'nonsense' is ignored
int i __attribute__((nonsense(1, 2)));
// ATTRIBUTES-DAG: :[[@LINE+1]]:21: error: a pointer is no matrix
int *__attribute__((coop_mat(CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP, 8, 8, CLK_COOPERATIVE_MATRIX_A))) p;
#endif

#ifdef BLOCK
void block(void)
// BLOCK-DAG: :[[@LINE+1]]:2: error: expected '}' at the end of a block
{
#endif

#ifdef MEMBER
// MEMBER-DAG: :[[@LINE+1]]:21: error: expected '}' after the members
struct open { int a;
#endif

#ifdef USES
struct unknown;
int undefined(int);
int function(int);
constant int *named(void);
void uses(int a, int *p, struct unknown *u, float *f, const int *c, local int *l, void *v)
{
    typedef int type;
// USES-DAG: :[[@LINE+1]]:9: error: 'type' is a type; an expression is expected
    a = type;
// USES-DAG: :[[@LINE+1]]:9: error: a function can only be called: there are no pointers to functions
    a = function;
// USES-DAG: :[[@LINE+1]]:14: error: a function has no address: there are no pointers to functions
    a = (int)&function;
// USES-DAG: :[[@LINE+1]]:9: error: '&' needs something that lies in memory
    a = &(a + 1) != 0;
// USES-DAG: :[[@LINE+1]]:7: error: what a 'struct unknown *' points to has no known size
    u + 1;
// USES-DAG: :[[@LINE+1]]:6: error: what a 'struct unknown *' points to has no known size
    u[0];
// USES-DAG: :[[@LINE+1]]:5: error: what a 'struct unknown *' points to has no known size
    *u;
// USES-DAG: :[[@LINE+1]]:5: error: what a 'void *' points to has no known size
    *v;
// USES-DAG: :[[@LINE+1]]:9: warning: assignment: 'float *' becomes 'int *', which points to another type; a cast says that it is meant
    p = f;
// USES-DAG: :[[@LINE+1]]:9: warning: assignment: 'const int *' becomes 'int *' and loses qualifiers
    p = c;
// USES-DAG: :[[@LINE+1]]:11: warning: comparison of pointers to different types: 'int *' and 'float *'
    a = p == f;
// USES-DAG: :[[@LINE+1]]:7: warning: division by zero
    a / 0;
// USES-DAG: :[[@LINE+1]]:6: error: 'int *' has no members
    p.a;
    struct pair { int a : 3; } s, *q = &s;
// USES-DAG: :[[@LINE+1]]:6: error: 'struct pair *' is a pointer; '->' selects a member
    q.a;
// USES-DAG: :[[@LINE+1]]:21: error: a vector's components are numbers or vectors, not 'int *'
    (int4)(1, 2, 3, p);
// USES-DAG: :[[@LINE+1]]:18: error: printf does not print 'struct pair'
    printf("%d", s);
// USES-DAG: :[[@LINE+1]]:25: warning: index 3 is outside of 'int[2]'
    int list[2] = { list[3] };
// USES-DAG: :[[@LINE+1]]:5: error: vec_step needs a scalar or a vector, not 'struct pair'
    vec_step(s);
// USES-DAG: :[[@LINE+1]]:5: error: a bit-field has no size
    sizeof(s.a);
// USES-DAG: :[[@LINE+1]]:5: error: 'struct unknown' has no known size
    sizeof(struct unknown);
// USES-DAG: :[[@LINE+1]]:24: error: the initialiser of a variable that lasts must be constant
    static int later = a;
}
#endif

#ifdef REDECLARED
// REDECLARED-DAG: :[[@LINE+1]]:12: error: 'unseen' is used but not defined
extern int unseen;
int seen(void) { return unseen; }
// REDECLARED-DAG: :[[@LINE+1]]:19: error: 'SAME' is declared twice
enum both { SAME, SAME };
// REDECLARED-DAG: :[[@LINE+1]]:1: error: 'both' is defined twice
enum both { OTHER };
// REDECLARED-DAG: :[[@LINE+1]]:12: error: 'once' is initialised twice
global int once = 1, once = 2;
kernel void shared(void)
{
// REDECLARED-DAG: :[[@LINE+1]]:15: error: a __local variable cannot be initialised; assign to it after
    local int here = 3;
}
// REDECLARED-DAG: :[[@LINE+1]]:13: note: it was declared here
typedef int name;
// REDECLARED-DAG: :[[@LINE+1]]:15: error: 'name' is declared twice
typedef float name;
// REDECLARED-DAG: :[[@LINE+1]]:24: error: 'elsewhere' is declared twice, and not alike
void calls(void) { int elsewhere(int); elsewhere(1); }
int elsewhere(float a) { return a; }
#endif

#ifdef RECURSION
int itself(int a)
{
// RECURSION-DAG: :[[@LINE+1]]:16: error: 'itself' calls itself: recursion is not supported
    return a ? itself(a - 1) : 0;
}
#endif

#ifdef CIRCLE
int third(int a);
int first(int a) { return third(a); }
// CIRCLE-DAG: :[[@LINE+1]]:28: error: 'second' calls itself through 'first': recursion is not supported
int second(int a) { return first(a); }
int third(int a) { return a ? second(a - 1) : 0; }
int outside(int a) { return second(a) + third(a); }
#endif

#ifdef ADDRESSES
constant int here = 1;
// ADDRESSES: :[[@LINE+1]]:53: error: a constant address cannot be in a union, a packed structure or one with bit-fields
constant union { constant int *p; long i; } there = { &here };
#endif

#ifdef PARTS
constant int list[3] = { 1, 2, 3 };
constant int *constant whole = list, *constant none = 0;
// PARTS: :[[@LINE+1]]:31: error: an address in the initialiser of 'part' can only be a whole variable's, and alone; assign it in a function
constant int *constant part = &list[1];
// PARTS: :[[@LINE+1]]:36: error: an address in the initialiser of 'several' can only be a whole variable's, and alone; assign it in a function
constant int *constant several[] = { list, 0 };
kernel void parts(global int *o)
{
    const constant char *names[20] = { "many", "names", [19] = "last" };
    o[0] = whole[2] + *part + names[o[1]][0] + (none != 0);
}
#endif
