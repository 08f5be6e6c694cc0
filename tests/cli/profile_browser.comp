// SPDX-License-Identifier: MIT
// A browser shows what a profile's page says, which is what --json says, and draws its roofline.
// REQUIRES: chromium
// RUN: %heddle profile tests/cli/profile.comp --seconds 0.1 --groups 64 --bind 0=iota:f32[4096] \
// RUN:   --bind 1=zeros:f32[36864] --json --html %t.html > %t.json
// RUN: chromium --headless --no-sandbox --disable-gpu --dump-dom file://$(realpath %t.html) > %t.dom \
// RUN:   2> /dev/null && python3 %S/profile_page.py %t.json %t.dom && grep -q '<svg' %t.dom
// RUN: chromium --headless --no-sandbox --disable-gpu --window-size=1200,900 --screenshot=%t.png \
// RUN:   file://$(realpath %t.html) > /dev/null 2>&1 && python3 -c 'import sys; \
// RUN:   b = open(sys.argv[1], "rb").read(); assert b[:4] == b"\x89PNG" and len(b) > 20000, len(b)' %t.png
#version 450
void main() {}
