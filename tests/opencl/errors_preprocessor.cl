// SPDX-License-Identifier: MIT
//
// What the preprocessor has to say.
//
// RUN: not %heddle compile %s --emit ast 2>&1 | %filecheck %s

#define F(a, b) a
// CHECK-DAG: :[[@LINE+1]]:2: error: #define needs a name
#define
// CHECK-DAG: :[[@LINE+1]]:13: error: expected ',' or ')' in a macro's parameters
#define G(a a) 1
#define H # x
// CHECK-DAG: :[[@LINE+1]]:11: error: '##' at the beginning of a macro
#define I ## x
// CHECK-DAG: :[[@LINE+1]]:2: error: cannot find the file 'missing.h'; -I names a folder to look in
#include "missing.h"
// CHECK-DAG: :[[@LINE+1]]:2: error: #include needs "file" or <file>
#include nothing
// CHECK-DAG: :[[@LINE+1]]:2: error: #error this is wrong
#error this is wrong
// CHECK-DAG: :[[@LINE+1]]:2: error: #if without an expression
#if
#endif
// CHECK-DAG: :[[@LINE+1]]:2: error: expected an expression in #if
#if 1 +
#endif
// CHECK-DAG: :[[@LINE+1]]:2: error: division by zero in #if
#if 1 / 0
#endif
// CHECK-DAG: :[[@LINE+1]]:2: error: unknown directive #unknown
#unknown
// CHECK-DAG: :[[@LINE+1]]:2: error: #undef needs a macro's name
#undef 3
// CHECK-DAG: :[[@LINE+1]]:2: error: #line needs a line's number, and "file" or nothing
#line x
// CHECK-DAG: :[[@LINE+1]]:2: error: #else without #if
#else
// CHECK-DAG: :[[@LINE+1]]:2: error: #endif without #if
#endif
// CHECK-DAG: :[[@LINE+2]]:9: error: macro 'F' takes 2 arguments, not 1
// CHECK-DAG: :[[@LINE+1]]:13: error: expected an expression, not ';'
int a = F(1);
// CHECK-DAG: :[[@LINE+1]]:9: error: '08' is no number
int b = 08;
// CHECK-DAG: :[[@LINE+1]]:9: error: more than one character between quotes
int c = 'ab';
// CHECK-DAG: :[[@LINE+1]]:9: error: unknown escape '\q'
int d = '\q';
// CHECK-DAG: :[[@LINE+1]]:9: error: missing " at the end of the line
int e = "no end;
#if 1
