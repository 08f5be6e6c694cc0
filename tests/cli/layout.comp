// SPDX-License-Identifier: MIT
// Who holds which element: the rule of DESIGN, as text and as a picture.
// RUN: %heddle layout 4x4 f16 A --subgroup-size 8 | %filecheck %s
// RUN: %heddle layout 3x5 s8 C --subgroup-size 8 | %filecheck %s --check-prefix=PADDED
// RUN: %heddle layout 16x16 f16 B --svg %t.svg && python3 -c \
// RUN:   'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' %t.svg && grep -q 'neither TYPE nor USE' %t.svg
// RUN: %heddle layout 8x8 f32 C --device cuda --isa sm_80 | %filecheck %s --check-prefix=CUDA
// RUN: %heddle layout 16x8 f16 A --device cuda --isa sm_80 --svg %t.svg && grep -q 'the assignment of cuda' %t.svg
// RUN: %heddle layout 8x8 f32 C --device reference | %filecheck %s --check-prefix=REFERENCE
// RUN: %heddle layout 16x8 f32 A --arrays f32 --subgroup-size 16 --svg %t.svg && grep -q 'Qualcomm.*USE change' %t.svg
// CUDA: the assignment of cuda: neither TYPE nor USE changes it
// CUDA: 1 | {{ *}}4.0 4.1 5.0
// REFERENCE: the assignment of reference: neither TYPE nor USE changes it
// RUN: status 2 %heddle layout 4by4 f16 A 2>&1 | %filecheck %s --check-prefix=SHAPE
// RUN: status 2 %heddle layout 4x4 f17 A 2>&1 | %filecheck %s --check-prefix=TYPE
// RUN: status 2 %heddle layout 4x4 f16 D 2>&1 | %filecheck %s --check-prefix=USE
// RUN: status 2 %heddle layout 4x4 f16 A --subgroup-size 24 2>&1 | %filecheck %s --check-prefix=SIZE
// RUN: %heddle layout 4x16 f16 A --subgroup-size 8 --arrays u32 | %filecheck %s --check-prefix=PACKED
// RUN: %heddle layout 8x4 f32 B --subgroup-size 8 --arrays f32 | %filecheck %s --check-prefix=COLUMNS
// RUN: %heddle layout 64x32 s8 A --subgroup-size 64 --arrays u32 --svg %t.svg && python3 -c \
// RUN:   'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' %t.svg
// RUN: status 2 %heddle layout 4x8 f16 A --arrays f16 2>&1 | %filecheck %s --check-prefix=BYTES
// RUN: status 2 %heddle layout 4x16 f16 A --arrays f32 2>&1 | %filecheck %s --check-prefix=OTHER
// RUN: status 2 %heddle layout 64x16 f16 A --arrays f16 2>&1 | %filecheck %s --check-prefix=ROWS
// RUN: status 2 %heddle layout 4x4 f32 C --arrays f32 2>&1 | %filecheck %s --check-prefix=QUARTER
// RUN: status 2 %heddle layout 16x4 f64 A --arrays f64 2>&1 | %filecheck %s --check-prefix=COMPONENT
// COMPONENT: error: layout: --arrays: A and B are of f32, f16, s8 or u8, accumulators of {{.*}} not of f64
// PACKED: 4x16 f16 A from and to arrays u32[8] of a subgroup of 8. Cells: lane.element
// PACKED-NEXT: (lane i's array is row i; 2 elements a word, the first in the lowest bits)
// PACKED: 1 | 1.0 1.0 1.1 1.1 1.2 {{.*}} 1.7 1.7
// COLUMNS: (lane i's array is column i)
// COLUMNS: 7 | 0.7 1.7 2.7 3.7
// BYTES: error: layout: --arrays: an array is of 32 bytes, so A has 16 columns of f16 and B 16 rows
// OTHER: error: layout: --arrays f32: arrays are of the matrix's own type, or of u32
// ROWS: error: layout: --arrays: in a subgroup of 32 A has at most as many rows
// QUARTER: error: layout: --arrays: in a subgroup of 32 an accumulator has as many rows, half as many or
// CHECK: 4x4 f16 A, subgroup of 8: 2 elements an invocation
// CHECK-NEXT: the assignment of heddle's own devices: neither TYPE nor USE changes it
// CHECK: 0 | 0.0 1.0 2.0 3.0
// CHECK-NEXT: 1 | 4.0 5.0 6.0 7.0
// CHECK-NEXT: 2 | 0.1 1.1 2.1 3.1
// CHECK-NEXT: 3 | 4.1 5.1 6.1 7.1
// PADDED: (the last element of lanes 7 to 7 means nothing)
// SHAPE: error: layout: ROWSxCOLUMNS such as 16x16 expected
// TYPE: error: layout: an element type {{.*}}, not 'f17'
// USE: error: layout: the use is A, B or C {{.*}}, not 'D'
// SIZE: error: layout: --subgroup-size is a power of two up to 128, not 24
