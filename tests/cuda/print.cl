// SPDX-License-Identifier: MIT
// printf: a thread reserves words of the buffer that the launch may have, and writes the number of
// the call and its arguments there; strings stay with the host, which therefore has to know them.
//
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit ptx -o %t.ptx && %filecheck %s < %t.ptx
// RUN: %heddle compile %s --emit asm -o - | sed 's/^ *%void = OpTypeVoid/%bool = OpTypeBool\n&/; \
// RUN:   s/^ *%_str_1 = .*/&\n%none = OpConstantNull %_ptr_UniformConstant__arr_uchar_uint_7/; \
// RUN:   s/^.*printf %_str_0 %_str_1 \(%[0-9]*\)/%is = OpIEqual %bool \1 %uint_7\n \
// RUN:     %either = OpSelect %_ptr_UniformConstant__arr_uchar_uint_7 %is %_str_0 %none\n \
// RUN:     %r = OpExtInst %uint %1 printf %either %_str_1 \1/' > %t.spvasm && \
// RUN: status 1 %heddle compile %t.spvasm --device cuda --isa sm_80 --emit ptx -o - 2>&1 | \
// RUN:   %filecheck %s --check-prefix OPEN
// CHECK-NOT: .global .align
// CHECK: ld.param.b64 [[BUFFER:%rd[0-9]+]], [heddle_kernel_param_0+536];
// CHECK-NEXT: setp.eq.b64 [[NOBODY:%p[0-9]+]], [[BUFFER]], 0;
// CHECK-NEXT: @[[NOBODY]] bra
// CHECK: atom.global.add.u64 [[AT:%rd[0-9]+]], {{.*}}, 3;
// CHECK: selp.b64 [[NUMBER:%rd[0-9]+]], 1, 0,
// CHECK: st.global.b64 {{.*}}, [[NUMBER]];
// CHECK: st.global.b64 {{.*}}, 0;
// OPEN: error: a printf whose format is not constant is not supported on cuda
kernel void k(global int *x) { printf("%s %d\n", "lane", (int)get_global_id(0) + x[0]); }
