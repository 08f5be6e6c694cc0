#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/charts.py: the chart has the ratios to oneDNN of one thread's plain rows, and no others."""
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

LINES = """peak 234.3 GFLOP/s f32 a core, 2 cores; oneDNN 2.6.3 with AMX
kernel                         n    ld thr     Gop/s  OpenBLAS, oneDNN
f32 of 16x16x16            compiled in 580 ms
f32 of 16x16x16   256   256   1   161.2   142.1  1.135 [1.127 1.135]   178.5  0.924 [0.921 0.924]
f32 of 16x16x16   256   272   1   164.6   145.1  1.151 [1.135 1.151]   182.4  0.914 [0.908 0.914]
s8->s32 of 16x16x16   1024  1024   1   1500.0   145.1  9.151 [9.135 9.151]   1200.0  1.250 [1.200 1.300]
s8->s32 of 16x16x16   1024  1024   2   2500.0   1500.0  1.667 [1.600 1.700]
f16->f32 of 16x16x16   256   256   1   161.2   142.1  1.135 [1.127 1.135]
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        log, picture = os.path.join(folder, "gemm.txt"), os.path.join(folder, "gemm.svg")
        with open(log, "w", encoding="utf-8") as f:
            f.write(LINES)
        subprocess.run([sys.executable, "-B", "tools/charts.py", log, picture], check=True)
        words = [e.text for e in ElementTree.parse(picture).iter() if e.text]
    failed = 0
    for word, times in (("0.92", 1), ("1.25", 1), ("0.91", 0), ("1.67", 0), ("n = 256", 1),
                        ("n = 1024", 1), ("s8->s32 of 16x16x16", 1), ("f16->f32 of 16x16x16", 0)):
        # the axis has 1.25 as well
        if words.count(word) - (word == "1.25") != times:
            failed += 1
            print("FAILED: %r is there %d times: %s" % (word, words.count(word), words))
    print("%d passed, %d failed" % (8 - failed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
