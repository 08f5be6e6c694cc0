// SPDX-License-Identifier: MIT
//
// What the preprocessor has to say.
//
// RUN: not %heddle compile %s -DDIRECTIVES --emit ast 2>&1 | %filecheck --check-prefix=DIRECTIVES %s
// RUN: not %heddle compile %s -DEXPRESSIONS --emit ast 2>&1 | %filecheck --check-prefix=EXPRESSIONS %s
// RUN: not %heddle compile %s -DMACROS --emit ast 2>&1 | %filecheck --check-prefix=MACROS %s
// RUN: not %heddle compile %s -DLITERALS --emit ast 2>&1 | %filecheck --check-prefix=LITERALS %s
// RUN: %heddle compile %s -DWARNINGS --emit ast 2>&1 >/dev/null | %filecheck --check-prefix=WARNINGS %s
// RUN: not %heddle compile %s -DTWICE --emit ast 2>&1 | %filecheck --check-prefix=TWICE %s
// RUN: not %heddle compile %s -DMANY --emit ast 2>&1 | %filecheck --check-prefix=MANY %s
// RUN: not %heddle compile %s -DLONG --emit ast 2>&1 | %filecheck --check-prefix=LONG %s
// RUN: printf 'int a;\n  /* no end' >%t.COMMENT.cl
// RUN: not %heddle compile %t.COMMENT.cl --emit ast 2>&1 | %filecheck --check-prefix=COMMENT %s
// COMMENT: :2:3: error: comment without an end
// RUN: printf '#define F(a) a\nint a = F(1;\n' >%t.ARGUMENTS.cl
// RUN: not %heddle compile %t.ARGUMENTS.cl --emit ast 2>&1 | %filecheck --check-prefix=ARGUMENTS %s
// ARGUMENTS: :2:9: error: the arguments of macro 'F' have no ')'
// RUN: printf '\n#if 1\n' >%t.OPEN.cl
// RUN: not %heddle compile %t.OPEN.cl --emit ast 2>&1 | %filecheck --check-prefix=OPEN %s
// OPEN: :2:2: error: #if without its #endif
// RUN: printf 'int a;\n#else\n' >%t.ELSE.cl
// RUN: not %heddle compile %t.ELSE.cl --emit ast 2>&1 | %filecheck --check-prefix=ELSE %s
// ELSE: :2:2: error: #else without #if
// RUN: printf '#if 0\n#else\n#else\n#elif 1\n#endif\n' >%t.AFTER.cl
// RUN: not %heddle compile %t.AFTER.cl --emit ast 2>&1 | %filecheck --check-prefix=AFTER %s
// AFTER: :3:2: error: #else after #else
// AFTER: :4:2: error: #elif after #else

#ifdef DIRECTIVES
// DIRECTIVES-DAG: :[[@LINE+1]]:2: error: #define needs a name
#define
// DIRECTIVES-DAG: :[[@LINE+1]]:2: error: cannot find the file 'missing.h'; -I names a folder to look in
#include "missing.h"
// DIRECTIVES-DAG: :[[@LINE+1]]:2: error: #include needs "file" or <file>
#include nothing
// DIRECTIVES-DAG: :[[@LINE+1]]:2: error: #error this is wrong
#error this is wrong
// DIRECTIVES-DAG: :[[@LINE+1]]:2: error: #if without an expression
#if
#endif
// DIRECTIVES-DAG: :[[@LINE+1]]:2: error: unknown directive #unknown
#unknown
// DIRECTIVES-DAG: :[[@LINE+1]]:2: error: #undef needs a macro's name
#undef 3
// DIRECTIVES-DAG: :[[@LINE+1]]:2: error: #line needs a line's number, and "file" or nothing
#line x
// DIRECTIVES-DAG: :[[@LINE+1]]:2: error: #ifdef needs a macro's name
#ifdef
#endif
// DIRECTIVES-DAG: :[[@LINE+1]]:2: error: #ifndef needs a macro's name
#ifndef 3
#endif
// DIRECTIVES-DAG: :[[@LINE+1]]:1: error: _Pragma needs a string in parentheses
_Pragma(unroll)
// DIRECTIVES-DAG: :[[@LINE+1]]:2: error: #error don't
#error don't
#endif

#if 0
This is no token: ", nor is 'this.
#endif

#ifdef EXPRESSIONS
// EXPRESSIONS-DAG: :[[@LINE+1]]:2: error: expected an expression in #if
#if 1 +
#endif
// EXPRESSIONS-DAG: :[[@LINE+1]]:2: error: division by zero in #if
#if 1 / 0
#endif
// EXPRESSIONS-DAG: :[[@LINE+1]]:5: error: #if needs an integer
#if 1.5
#endif
// EXPRESSIONS-DAG: :[[@LINE+1]]:2: error: expected ')' in #if
#if (1
#endif
// EXPRESSIONS-DAG: :[[@LINE+1]]:2: error: expected ':' in #if
#if 1 ? 2
#endif
// EXPRESSIONS-DAG: :[[@LINE+1]]:5: error: 'defined' needs a macro's name
#if defined 3
#endif
// EXPRESSIONS-DAG: :[[@LINE+1]]:7: error: something follows the expression of #if
#if 1 2
#endif
#endif

#ifdef MACROS
#define F(a, b) a
// MACROS-DAG: :[[@LINE+1]]:13: error: expected ',' or ')' in a macro's parameters
#define G(a a) 1
// MACROS-DAG: :[[@LINE+1]]:18: error: two parameters named 'a'
#define TWICE(a, a) 1
#define H # x
// MACROS-DAG: :[[@LINE+1]]:11: error: '##' at the beginning of a macro
#define I ## x
// MACROS-DAG: :[[@LINE+1]]:13: error: '##' at the end of a macro
#define J x ##
// MACROS-DAG: :[[@LINE+1]]:14: error: '#' needs a parameter of the macro after it
#define K(a) # b
#define PASTE(a, b) a##b
// MACROS-DAG: :[[@LINE+2]]:9: error: macro 'F' takes 2 arguments, not 1
// MACROS-DAG: :[[@LINE+1]]:13: error: expected an expression, not ';'
int a = F(1);
// MACROS-DAG: :[[@LINE+2]]:9: error: '##' makes a comment of '//'
// MACROS-DAG: :[[@LINE+1]]:15: error: expected an expression, not '/'
int b = PASTE(/, /);
// MACROS-DAG: :[[@LINE+1]]:9: error: '##' makes '+*', which is no token
int c = PASTE(+, *) 3;
#endif

#ifdef LITERALS
// LITERALS-DAG: :[[@LINE+1]]:9: error: '08' is no number
int b = 08;
// LITERALS-DAG: :[[@LINE+1]]:9: error: empty character
int c = '';
// LITERALS-DAG: :[[@LINE+1]]:9: error: unknown escape '\q'
int d = '\q';
// LITERALS-DAG: :[[@LINE+1]]:9: error: '99999999999999999999' does not fit 64 bits
int f = 99999999999999999999;
// LITERALS-DAG: :[[@LINE+1]]:9: error: an escape stands for one byte, and this is larger
int g = '\400';
// LITERALS-DAG: :[[@LINE+3]]:9: error: missing " at the end of the line
// LITERALS-DAG: :[[@LINE+2]]:9: error: initialiser: '__constant char *' does not convert to 'int'; a cast makes an integer of a pointer
// LITERALS-DAG: :[[@LINE+1]]:17: error: expected ';' after the declaration
int j = "no end;
float h = 0x1.8;
// LITERALS-DAG: :[[@LINE+1]]:11: error: '1.5x' is no number
float i = 1.5x;
#endif

#ifdef WARNINGS
// WARNINGS-DAG: :[[@LINE+1]]:9: note: it was defined here
#define A 1
// WARNINGS-DAG: :[[@LINE+1]]:9: warning: macro 'A' is defined anew
#define A 2
// WARNINGS-DAG: :[[@LINE+1]]:18: warning: more than one character between quotes: the last is the lowest byte
constant int c = 'ab';
// WARNINGS-DAG: :[[@LINE+1]]:2: warning: #warning mind this
#warning mind this
// WARNINGS-DAG: :[[@LINE+1]]:2: warning: unknown pragma is ignored
#pragma whatever
// WARNINGS-DAG: :[[@LINE+1]]:2: warning: expected '#pragma OPENCL EXTENSION name : enable' or 'disable'
#pragma OPENCL EXTENSION cl_khr_fp64
#endif

#ifdef TWICE
// TWICE-DAG: :[[@LINE+1]]:2: error: #include nested more than 64 deep
#include "errors_preprocessor.cl"
#endif

#ifdef MANY
#define A0
#define A1 A0 A0 A0 A0 A0 A0 A0 A0
#define A2 A1 A1 A1 A1 A1 A1 A1 A1
#define A3 A2 A2 A2 A2 A2 A2 A2 A2
#define A4 A3 A3 A3 A3 A3 A3 A3 A3
#define A5 A4 A4 A4 A4 A4 A4 A4 A4
#define A6 A5 A5 A5 A5 A5 A5 A5 A5
#define A7 A6 A6 A6 A6 A6 A6 A6 A6
// MANY-DAG: :[[@LINE+1]]:1: error: macros stand for too much: more than 1048576 uses
A7
#endif

#ifdef LONG
#define A(a) a a a a a a a a
#define B(a) A(A(A(A(a))))
// LONG-DAG: :[[@LINE+1]]:1: error: macros stand for too much: more than 2097152 tokens
B(B(;))
#endif
