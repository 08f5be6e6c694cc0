# SPDX-License-Identifier: MIT
"""ctypes' idea of the interface against the C compiler's: every struct, field and enumerator."""
import ctypes
import os
import re
import shutil
import subprocess

import pytest

from heddle._header import HeaderError, parse
from heddle._library import header, lib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADER = open(os.path.join(ROOT, "include/heddle/heddle.h"), encoding="utf-8").read()


def facts_of_ctypes():
    facts = {name: value for name, value in header.constants.items()}
    for name, kind in header.structs.items():
        facts[f"sizeof {name}"] = ctypes.sizeof(kind)
        for field, _ in kind._fields_:
            facts[f"{name}.{field}"] = getattr(kind, field).offset
            facts[f"sizeof {name}.{field}"] = getattr(kind, field).size
    return facts


def facts_of_the_compiler(compiler, names, folder):
    lines = []
    for name in names:
        if m := re.fullmatch(r"sizeof (\w+)\.(\w+)", name):
            value = f"sizeof(((struct {m[1]} *)0)->{m[2]})"
        elif m := re.fullmatch(r"sizeof (\w+)", name):
            value = f"sizeof(struct {m[1]})"
        elif m := re.fullmatch(r"(\w+)\.(\w+)", name):
            value = f"offsetof(struct {m[1]}, {m[2]})"
        else:
            value = name
        lines.append(f'    printf("%s=%lld\\n", "{name}", (long long)({value}));')
    source = folder / "facts.c"
    source.write_text('#include <stdio.h>\n#include "heddle/heddle.h"\nint main(void)\n{\n' +
                      "\n".join(lines) + "\n}\n")
    program = str(folder / "facts")
    subprocess.run([compiler, f"-I{ROOT}/include", str(source), "-o", program], check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {name: int(value) for name, value in (line.split("=") for line in said.splitlines())}


def test_structs_and_enums_agree_with_the_compiler(tmp_path):
    compiler = os.environ.get("CC") or shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    ours = facts_of_ctypes()
    assert ours == facts_of_the_compiler(compiler, ours, tmp_path)


def test_nothing_is_left_out():
    text = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)
    assert set(header.structs) == set(re.findall(r"^typedef struct (\w+) \{", text, re.M))
    assert set(header.enums) == set(re.findall(r"^typedef enum (\w+) \{", text, re.M))
    assert set(header.functions) == set(re.findall(r"^HEDDLE_API [^;(]*?(heddle_\w+)\(", text, re.M))
    for name, (_, parameters) in header.functions.items():
        inside = re.search(name + r"\(([^;]*)\);", text)[1]
        assert len(parameters) == (0 if inside.strip() == "void" else inside.count(",") + 1), name
        assert hasattr(lib, name)


def test_a_field_that_moves_is_noticed(tmp_path):
    changed = parse(HEADER.replace("    uint32_t threads; ", "    uint64_t x, threads; ", 1))
    assert changed.structs["HeddleDeviceOptions"].isa.offset != \
        header.structs["HeddleDeviceOptions"].isa.offset


@pytest.mark.parametrize("text", ["typedef struct X { long x; } X;", "union U { int x; };",
                                  "HEDDLE_API void f(FILE *f);"])
def test_what_it_cannot_read_is_an_error(text):
    with pytest.raises(HeaderError):
        parse(text)
