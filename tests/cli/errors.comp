// SPDX-License-Identifier: MIT
// glslang's messages, with the source's own name, line and column; exit status 1.
// RUN: status 1 %heddle check %s 2>&1 | %filecheck %s
// RUN: status 1 %heddle run - < %s 2>&1 | %filecheck %s --check-prefix=STDIN
// RUN: status 1 %heddle check nowhere.comp 2>&1 | %filecheck %s --check-prefix=FILE
// RUN: status 1 %heddle check %s --glslang /nonexistent/glslang 2>&1 | %filecheck %s --check-prefix=TOOL
// RUN: mkdir -p %t.tmp && TMPDIR=%t.tmp not %heddle check %s 2> /dev/null && rmdir %t.tmp
// RUN: printf '#!/bin/sh\nkill -SEGV $$\n' > %t.sh && chmod +x %t.sh && \
// RUN:   status 1 %heddle check %s --glslang %t.sh 2>&1 | %filecheck %s --check-prefix=CRASH
// CHECK: tests/cli/errors.comp:[[#@LINE + 11]]:{{[0-9]+}}: error: undeclared identifier: 'missing' [GLSL]
// CHECK-NOT: compilation terminated
// STDIN: standard input:{{[0-9]+}}:{{[0-9]+}}: error: undeclared identifier: 'missing'
// FILE: nowhere.comp: error: cannot open: No such file or directory
// CRASH: tests/cli/errors.comp: error: {{.*}}.sh was ended by signal 11 [GLSL]
// TOOL: heddle: error: cannot run /nonexistent/glslang, which GLSL needs: No such file or directory
#version 450
layout(local_size_x = 8) in;
layout(binding = 0) buffer Data { float data[]; };
void main()
{
    data[0] = missing;
}
