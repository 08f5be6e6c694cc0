// SPDX-License-Identifier: MIT
// The command line's own mistakes: exit status 2, and a suggestion where one is near.
// RUN: status 2 %heddle 2>&1 | %filecheck %s --check-prefix=USAGE
// RUN: %heddle help | %filecheck %s --check-prefix=USAGE
// RUN: %heddle help run | %filecheck %s --check-prefix=HELP
// RUN: %heddle run --help | %filecheck %s --check-prefix=HELP
// RUN: %heddle --version | grep -Eq '^heddle [0-9]+\.[0-9]+\.[0-9]+$'
// RUN: status 2 %heddle rnu x.comp 2>&1 | %filecheck %s --check-prefix=COMMAND
// RUN: status 2 %heddle run %s --bnid 0=x 2>&1 | %filecheck %s --check-prefix=OPTION
// RUN: status 2 %heddle run %s --subgroup 32 2>&1 | %filecheck %s --check-prefix=PREFIX
// RUN: status 2 %heddle check %s --bind 0=x 2>&1 | %filecheck %s --check-prefix=OTHER
// RUN: status 2 %heddle run %s --groups 2,x 2>&1 | %filecheck %s --check-prefix=GROUPS
// RUN: status 2 %heddle run %s --groups 2>&1 | %filecheck %s --check-prefix=VALUE
// RUN: status 2 %heddle run %s --device gpu 2>&1 | %filecheck %s --check-prefix=DEVICE
// RUN: status 2 %heddle run %s --device cpu:x 2>&1 | %filecheck %s --check-prefix=ORDINAL
// RUN: status 1 %heddle run %s --device cpu:1 2>&1 | %filecheck %s --check-prefix=SECOND
// RUN: status 2 %heddle run %s --global 33 2>&1 | %filecheck %s --check-prefix=GLOBAL
// RUN: status 2 %heddle compile %s --emit wasm 2>&1 | %filecheck %s --check-prefix=EMIT
// RUN: status 2 %heddle run 2>&1 | %filecheck %s --check-prefix=NONE
// RUN: status 1 %heddle run %s --subgroup-size 24 2>&1 | %filecheck %s --check-prefix=WIDTH
// RUN: status 1 %heddle run %s --device cpu --check 2>&1 | %filecheck %s --check-prefix=CHECKS
// RUN: status 2 %heddle run %s --rotate-as scf 2>&1 | %filecheck %s --check-prefix=ROTATE
// RUN: status 2 %heddle run %s --language fortran 2>&1 | %filecheck %s --check-prefix=LANGUAGE
// RUN: status 2 %heddle run %s -D =1 2>&1 | %filecheck %s --check-prefix=DEFINE
// RUN: status 2 %heddle run %s --stats=1 2>&1 | %filecheck %s --check-prefix=FLAG
// RUN: status 2 %heddle run %s --qqqqqqqq 2>&1 | %filecheck %s --check-prefix=FAR
// RUN: status 2 %heddle qqqqqqqq 2>&1 | %filecheck %s --check-prefix=NOWHERE
// RUN: python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' %heddle compile %s --emit spirv \
// RUN:   | %filecheck %s --check-prefix=TERMINAL
// ROTATE: error: --rotate-as takes spirv or gpu, not 'scf'
// LANGUAGE: error: --language takes glsl, spirv, asm, opencl or mlir, not 'fortran'
// DEFINE: error: -D takes NAME or NAME=VALUE
// FLAG: error: --stats takes no value
// FAR: error: unknown option --qqqqqqqq; see `heddle help`
// NOWHERE: error: unknown command qqqqqqqq; `heddle help` lists them
// TERMINAL: this form is binary: name a file with -o
// USAGE: usage: heddle COMMAND
// USAGE: bench {{ *}}run a kernel for a while
// HELP: usage: heddle run KERNEL [options]
// HELP: --bind N=SPEC
// HELP: SPEC is a NumPy file
// COMMAND: heddle: error: unknown command rnu; is run meant?
// OPTION: heddle: error: unknown option --bnid; is --bind meant?
// PREFIX: is --subgroup-size meant?
// OTHER: heddle: error: unknown option --bind
// GROUPS: heddle: error: --groups takes X,Y,Z, not '2,x'
// VALUE: heddle: error: --groups needs a value: --groups X,Y,Z
// DEVICE: heddle: error: --device takes cpu, reference, vulkan or cuda, not 'gpu'
// ORDINAL: heddle: error: --device takes cpu, reference, vulkan or cuda, not 'cpu:x'
// SECOND: error: there is no cpu device with ordinal 1: this machine has 1
// GLOBAL: heddle: error: --global: 33 is no multiple of 32, the workgroup's size in x
// EMIT: heddle: error: --emit takes spirv, asm, passes, {{.*}} or ast, not 'wasm'
// NONE: heddle: error: usage: heddle run KERNEL [options]
// WIDTH: heddle: error: the cpu device has no subgroups of 24
// CHECKS: heddle: error: only the reference device can check a kernel
#version 450
layout(local_size_x = 32) in;
void main()
{
}
