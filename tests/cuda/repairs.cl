// SPDX-License-Identifier: MIT
// Where libclc's functions are not quite C's: erfc of float loses results that are denormal, so that
// it is computed in double; lgamma has itself at minus infinity, which therefore never gets there;
// tgamma is off by up to 64 ulps in float, and has infinity at minus zero, whose sign it gets.
//
// REQUIRES: libclc
// RUN: %heddle compile %s --entry of_float --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// RUN: %heddle compile %s --entry of_double --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix DOUBLE < %t.ptx
// RUN: %heddle compile %s --entry of_zero --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix ZERO < %t.ptx
// CHECK: cvt.f64.f32
// CHECK: cvt.rn.f32.f64
// DOUBLE: setp.eq.f64 {{.*}}, 0dFFF0000000000000
// DOUBLE-NEXT: selp.f64 {{.*}}, 0d7FF0000000000000
kernel void of_float(global float *x) { x[0] = erfc(x[1]); }
kernel void of_double(global double *x) { x[0] = lgamma(x[1]); }
// ZERO: cvt.f64.f32
// ZERO: copysign.f64
kernel void of_zero(global float *x) { x[0] = tgamma(x[1]); }
