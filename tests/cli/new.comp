// SPDX-License-Identifier: MIT
// heddle new: what it writes runs as it stands, by its test and by the command in its comment, and
// overwrites nothing.
// RUN: rm -rf %t.d && mkdir -p %t.d && cd %t.d && %heddle new first && PATH=$(dirname %heddle):$PATH sh first_test.sh
// RUN: cd %t.d && PATH=$(dirname %heddle):$PATH && eval "$(sed -n 's|^//     *||p' first.comp | tr '\n' ' ')"
// RUN: cd %t.d && status 1 %heddle new first 2>&1 | grep -q 'first.comp: File exists'
// RUN: status 2 %heddle new 'a b' 2>&1 | grep -q 'is no name'
// RUN: status 2 %heddle new 2>&1 | grep -q 'usage: heddle new NAME'
