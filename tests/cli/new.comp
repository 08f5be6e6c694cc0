// SPDX-License-Identifier: MIT
// heddle new: what it writes runs as it stands, by its test and by the command in its comment, and
// overwrites nothing. The test takes PATH's heddle or, where there is none, the one that wrote it.
// RUN: rm -rf %t.d && mkdir -p %t.d && cd %t.d && %heddle new first && PATH=$(dirname %heddle):$PATH sh first_test.sh
// RUN: cd %t.d && PATH=$(dirname %heddle):$PATH && eval "$(sed -n 's|^//     *||p' first.comp | tr '\n' ' ')"
// RUN: cd %t.d && mkdir -p bin && printf '#!/bin/sh\necho "found $1"\n' > bin/heddle && chmod +x bin/heddle && (PATH=$PWD/bin:$PATH sh first_test.sh 2> /dev/null || true) | grep -q 'found run'
// RUN: cd %t.d && mkdir -p "it's" && cp %heddle "it's/own" && "it's/own" new second && grep -q "it'.''s/own" second_test.sh && PATH=/usr/bin:/bin && sh second_test.sh
// RUN: cd %t.d && status 1 %heddle new first 2>&1 | grep -q 'first.comp: File exists'
// RUN: status 2 %heddle new 'a b' 2>&1 | grep -q 'is no name'
// RUN: status 2 %heddle new 2>&1 | grep -q 'usage: heddle new NAME'
