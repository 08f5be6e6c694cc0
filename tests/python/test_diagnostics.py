# SPDX-License-Identifier: MIT
"""Errors are exceptions that know where and why; warnings are Python's."""
import warnings

import numpy as np
import pytest

import heddle
from conftest import SCALE

WRONG = SCALE.replace("y[i] = T(FACTOR)", "y[j] = T(FACTOR)")


def test_source_errors_know_the_place(tmp_path):
    path = tmp_path / "wrong.comp"
    path.write_text(WRONG)
    for source, name in ((WRONG, "<source>"), (path, str(path))):
        with pytest.raises(heddle.SourceError) as caught:
            heddle.Kernel(source)
        e = caught.value
        line = WRONG.splitlines().index("        y[j] = T(FACTOR) * x[i] + T(BIAS);") + 1
        assert (e.file, e.line, e.rule) == (name, line, "GLSL") and "undeclared" in e.message
        assert e.excerpt == (f"{line:5} | {WRONG.splitlines()[line - 1]}\n      | " +
                             " " * (e.column - 1) + "^")
        assert e.excerpt in str(e) and e.diagnostics[0].severity == "error"


def test_rules_of_the_specification_are_named():
    text = heddle.disassemble(SCALE)
    bad = text.replace("OpMemoryModel Logical GLSL450", "OpMemoryModel Logical Vulkan", 1)
    with pytest.raises(heddle.SourceError) as caught:
        heddle.Module(bad, language="asm")
    assert caught.value.rule and caught.value.diagnostics[0].text.endswith("]")


def test_files_that_are_not_there():
    with pytest.raises(OSError, match="nowhere.comp"):
        heddle.Kernel("nowhere.comp")
    with pytest.raises(heddle.FileError):
        heddle.Kernel("nowhere.comp")


def test_no_compiler(monkeypatch):
    monkeypatch.setenv("HEDDLE_GLSLANG", "/nonexistent/glslang")
    with pytest.raises(heddle.ToolError, match="/nonexistent/glslang"):
        heddle.Kernel(SCALE)


def test_warnings_come_from_the_caller(xy):
    source = SCALE.replace("if (i < n)", "x[1023] == 0.0 ? 0 : 1;\n    if (i < n)")
    source = source.replace("buffer X { T x[]; }", "buffer X { T x[1024]; }")
    x, y = xy
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        heddle.run(source, x, y, groups=1, push=[64])
    assert len(caught) == 1 and caught[0].category is heddle.HeddleWarning
    assert caught[0].filename == __file__
    assert caught[0].message.diagnostic.severity == "warning"
    with warnings.catch_warnings():
        warnings.simplefilter("error", heddle.HeddleWarning)
        with pytest.raises(heddle.HeddleWarning):
            heddle.run(source, x, y, groups=1, push=[64])


def test_checked_runs_find_mistakes(scale, xy):
    x, y = xy
    heddle.run(scale, x, y, groups=16, push=[1000], check=True)
    assert np.array_equal(y, 3 * x)
    with pytest.raises(heddle.CheckError) as caught:
        heddle.run(scale, x, y, groups=32, push=[2000], check=True)
    assert [d.rule for d in caught.value.findings] == ["out-of-bounds"] * 2
    assert "1000 times" in caught.value.message and caught.value.excerpt


def test_races_are_found():
    race = SCALE.replace("T(FACTOR) * x[i]", "y[i + 1] + x[i]")
    x, y = np.zeros(64, np.float32), np.zeros(65, np.float32)
    with pytest.raises(heddle.CheckError, match="race"):
        heddle.run(race, x, y, push=[64], check=True)


def test_a_fault_is_an_error_and_no_crash():
    wild = SCALE.replace("x[i] +", "x[i * 100000000] +")
    x, y = np.zeros(64, np.float32), np.zeros(64, np.float32)
    with pytest.raises(heddle.RunError):
        heddle.run(wild.replace("i * 100000000", "i * 1000000000u + 1000000000u"), x, y, push=[64])


def test_check():
    assert heddle.check(SCALE) == []
    found = heddle.check(WRONG)
    assert found and found[0].severity == "error" and found[0].line
    assert heddle.check(SCALE, defines={"T": "nothing"})
