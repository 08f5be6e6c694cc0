# SPDX-License-Identifier: MIT
"""bench, layout, disassemble, and the fixture for pytest."""
import xml.dom.minidom

import numpy as np
import pytest

import heddle


def test_bench(examples):
    a = b = np.ones((128, 128), np.float32)
    c = np.zeros((128, 128), np.float32)
    found = heddle.bench(examples / "gemm.comp", a, b, c, groups=(2, 2), seconds=0.05,
                         push=[128, 128, 128, 128], defines={"INPUT": "float"})
    assert found.runs >= 5 and found.min <= found.median <= found.max
    assert found.flops == 2 * 128**3 and found.bytes == 3 * 4 * 128**2 and found.gflops > 0
    assert "GFLOP/s" in str(found)
    with pytest.raises(ValueError):
        heddle.bench(examples / "gemm.comp", a, b, c, seconds=0)


def test_layout():
    layout = heddle.layout("16x8", "f16", "B")
    assert layout.lanes.shape == (16, 8) and layout.length == 4
    for row in range(16):
        for column in range(8):
            lane, element = layout.owner(row, column)
            assert layout.position(lane, element) == (row, column)
            assert (lane, element) == (layout.lanes[row, column], layout.elements[row, column])
    with pytest.raises(IndexError):
        layout.owner(16, 0)
    picture = xml.dom.minidom.parseString(layout._repr_svg_())
    assert picture.documentElement.tagName == "svg"
    assert "16 × 8 f16, B, in a subgroup of 32" in layout.svg()
    for bad in (("16x16", "f17", "A"), ("16x16", "f16", "D"), ("0x16", "f16", "A")):
        with pytest.raises(ValueError):
            heddle.layout(*bad)


def test_disassemble(scale):
    assert "OpEntryPoint GLCompute" in heddle.disassemble(scale)
    assert "OpEntryPoint GLCompute" in heddle.disassemble(scale, "passes")
    assert "define" in heddle.disassemble(scale, "llvm")
    assert "define" in heddle.disassemble(scale, "llvm-plain")
    assert "heddle_kernel" in heddle.disassemble(scale, "native")
    with pytest.raises(ValueError):
        heddle.disassemble(scale, "wasm")


def test_the_fixture_passes(heddle_check, scale, xy):
    x, y = xy
    heddle_check(scale, x, y, groups=16, push=[1000])
    assert np.array_equal(y, 3 * x)


@pytest.mark.skipif(not hasattr(pytest, "Pytester"), reason="pytest from before 6.2")
def test_the_fixture_fails_with_the_findings(pytester, scale):
    pytester.makepyfile(f"""
        import numpy as np
        SCALE = {scale!r}
        def test_kernel(heddle_check):
            x, y = np.ones(64, np.float32), np.ones(64, np.float32)
            heddle_check(SCALE, x, y, groups=2, push=[128])
        """)
    result = pytester.runpytest_subprocess("-p", "heddle.pytest_plugin")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*heddle found 2 mistake(s):*", "*out-of-bounds*", "*x[[]i[]]*"])
