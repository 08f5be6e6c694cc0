// SPDX-License-Identifier: MIT
// The products of AArch64, whose code is looked at on any machine: of pairs of rows and columns, of
// four bytes, of two bf16, of f16 added to f32.
// RUN: %heddle compile %S/engines.comp --isa armv8.2 -D AB=int8_t -D C=int --emit native | \
// RUN:   %filecheck %s --check-prefix=SDOT
// RUN: %heddle compile %S/engines.comp --isa armv8.2 -D AB=uint8_t -D C=uint --emit native | \
// RUN:   %filecheck %s --check-prefix=UDOT
// RUN: %heddle compile %S/engines.comp --isa armv8.6 -D AB=int8_t -D C=int --emit native | \
// RUN:   %filecheck %s --check-prefix=SMMLA
// RUN: %heddle compile %S/engines.comp --isa armv8.6 -D AB=uint8_t -D C=uint --emit native | \
// RUN:   %filecheck %s --check-prefix=UMMLA
// RUN: %heddle compile %S/engines.comp --isa armv8.6 -D B_TYPE=uint8_t -D AB=int8_t \
// RUN:   -D C=int --emit native | \
// RUN:   %filecheck %s --check-prefix=USDOT
// RUN: %heddle compile %S/engines.comp --isa armv8.6 -D B_TYPE=int8_t -D AB=uint8_t \
// RUN:   -D C=int --emit native | \
// RUN:   %filecheck %s --check-prefix=USMMLA
// RUN: %heddle compile %S/engines.comp --isa armv8.6 --emit native | \
// RUN:   %filecheck %s --check-prefix=BFMMLA
// RUN: %heddle compile %S/engines.comp --isa armv8.6 -D KEEP --emit native | \
// RUN:   %filecheck %s --check-prefix=KEPT
// RUN: %heddle compile %S/engines.comp --isa armv8.6 -D M=1 --emit native | \
// RUN:   %filecheck %s --check-prefix=BFDOT
// RUN: %heddle compile %S/engines.comp --isa armv8.6 -D AB=float16_t --emit native | \
// RUN:   %filecheck %s --check-prefix=FMLAL
// RUN: %heddle compile %S/engines.comp --isa armv8 -D AB=float --emit native | \
// RUN:   %filecheck %s --check-prefix=FMLA
// SDOT: sdot v{{[0-9]+}}.4s, v{{[0-9]+}}.16b, v{{[0-9]+}}
// UDOT: udot v{{[0-9]+}}.4s, v{{[0-9]+}}.16b, v{{[0-9]+}}
// SMMLA: smmla v{{[0-9]+}}.4s, v{{[0-9]+}}.16b, v{{[0-9]+}}.16b
// UMMLA: ummla v{{[0-9]+}}.4s, v{{[0-9]+}}.16b, v{{[0-9]+}}.16b
// USDOT: usdot v{{[0-9]+}}.4s, v{{[0-9]+}}.16b, v{{[0-9]+}}
// USMMLA: usmmla v{{[0-9]+}}.4s, v{{[0-9]+}}.16b, v{{[0-9]+}}.16b
// BFMMLA: bfmmla v{{[0-9]+}}.4s, v{{[0-9]+}}.8h, v{{[0-9]+}}.8h
// KEPT-NOT: bf{{dot|mmla}}
// KEPT: fmla v{{[0-9]+}}.4s
// KEPT-NOT: bf{{dot|mmla}}
// BFDOT: bfdot v{{[0-9]+}}.4s, v{{[0-9]+}}.8h, v{{[0-9]+}}
// FMLAL: fmlal v{{[0-9]+}}.4s, v{{[0-9]+}}.4h, v{{[0-9]+}}
// FMLA: fmla v{{[0-9]+}}.4s
