# SPDX-License-Identifier: MIT
"""libheddle's interface as ctypes, read from the C header itself.

Nothing is declared twice: enumerations, structs, types of functions and functions are what the text
of heddle.h says, so a header that grows needs no change here. What is read is the plain C that the
header is written in; anything else is an error.
"""
from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, field
from typing import Any

SCALARS: dict[str, Any] = {
    "bool": ctypes.c_bool, "int": ctypes.c_int, "double": ctypes.c_double,
    "size_t": ctypes.c_size_t, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64,
    "char": ctypes.c_char, "void": None,
}


class HeaderError(Exception):
    """The header holds what this reader does not know."""


@dataclass
class Header:
    constants: dict[str, int] = field(default_factory=dict)
    enums: dict[str, dict[str, int]] = field(default_factory=dict)
    structs: dict[str, Any] = field(default_factory=dict)
    callbacks: dict[str, Any] = field(default_factory=dict)
    opaque: set[str] = field(default_factory=set)
    functions: dict[str, tuple[Any, list[Any]]] = field(default_factory=dict)


def _type(header: Header, base: str, stars: int, *, returned: bool = False) -> Any:
    """The ctypes of `base` behind so many pointers."""
    if base in header.enums:
        kind: Any = ctypes.c_int
    elif base in header.structs:
        kind = header.structs[base]
    elif base in header.callbacks and stars == 1:
        return header.callbacks[base]
    elif base in header.opaque or base == "void":
        kind, stars = (ctypes.c_void_p, stars - 1) if stars else (None, 0)
    elif base == "char" and stars:
        # a string; one that is returned to be freed keeps its address
        kind, stars = (ctypes.c_void_p if returned else ctypes.c_char_p), stars - 1
    elif base in SCALARS:
        kind = SCALARS[base]
    else:
        raise HeaderError(f"unknown type {base}")
    for _ in range(stars):
        kind = ctypes.POINTER(kind)
    return kind


def _declared(text: str) -> tuple[str, int, str]:
    """ "const char *const *features" -> ("char", 2, "features")."""
    words = re.sub(r"\b(const|volatile|struct|enum)\b", " ", text).replace("*", " * ").split()
    name = words.pop() if len(words) > 1 and words[-1] != "*" else ""
    return words[0], words.count("*"), name


def _parameters(header: Header, text: str) -> list[Any]:
    if text.strip() == "void":
        return []
    return [_type(header, *_declared(one)[:2]) for one in text.split(",")]


def _fields(header: Header, body: str) -> list[tuple[str, Any]]:
    """Of a struct, declaration by declaration; one may declare several."""
    fields = []
    for declaration in filter(None, (d.strip() for d in body.split(";"))):
        if m := re.fullmatch(r"(.*?)\(\*(\w+)\)\((.*)\)", declaration, re.S):
            result = _type(header, *_declared(m[1] + " x")[:2])
            fields.append((m[2], ctypes.CFUNCTYPE(result, *_parameters(header, m[3]))))
            continue
        first, *others = declaration.split(",")
        base = _declared(first)[0]
        for one in [first, *(f"{base} {other}" for other in others)]:
            name, _, length = one.partition("[")
            _, stars, name = _declared(name)
            kind = _type(header, base, stars)
            if length:
                length = length.rstrip("] ")
                kind = kind * (header.constants.get(length) or int(length))
            fields.append((name, kind))
    return fields


def _enumerators(header: Header, body: str) -> dict[str, int]:
    values, following = {}, 0
    for one in filter(None, (e.strip() for e in body.split(","))):
        name, _, value = (part.strip() for part in one.partition("="))
        values[name] = int(value, 0) if value else following
        following = values[name] + 1
    header.constants.update(values)
    return values


def _statement(header: Header, text: str) -> None:
    if m := re.fullmatch(r"typedef enum (\w+) \{(.*)\} \w+", text, re.S):
        header.enums[m[1]] = _enumerators(header, m[2])
    elif m := re.fullmatch(r"enum \{(.*)\}", text, re.S):
        _enumerators(header, m[1])
    elif m := re.fullmatch(r"typedef struct (\w+) \{(.*)\} \w+", text, re.S):
        header.opaque.discard(m[1])
        header.structs[m[1]] = type(m[1], (ctypes.Structure,), {"_fields_": _fields(header, m[2])})
    elif m := re.fullmatch(r"typedef struct (\w+) \w+", text):
        header.opaque.add(m[1])
    elif m := re.fullmatch(r"typedef void (\w+)\((.*)\)", text, re.S):
        header.callbacks[m[1]] = ctypes.CFUNCTYPE(None, *_parameters(header, m[2]))
    elif m := re.fullmatch(r"HEDDLE_API (.*?)(\w+)\((.*)\)", text, re.S):
        base, stars, _ = _declared(m[1] + " x")
        freed = base == "char" and "const" not in m[1]
        header.functions[m[2]] = (_type(header, base, stars, returned=freed),
                                  _parameters(header, m[3]))
    else:
        raise HeaderError(f"cannot read: {text}")


def _statements(text: str) -> list[str]:
    """Split at semicolons outside of braces."""
    found, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c == "{") - (c == "}")
        if c == ";" and not depth:
            found.append(" ".join(text[start:at].split()))
            start = at + 1
    return found


def parse(text: str) -> Header:
    header = Header()
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.S)
    for name, value in re.findall(r"^#define (\w+) (\d+)$", text, re.M):
        header.constants[name] = int(value)
    for statement in _statements(re.sub(r"^#.*$", "", text, flags=re.M)):
        _statement(header, statement)
    return header
