# SPDX-License-Identifier: MIT
"""Tensors of PyTorch and JAX on the CPU, where these are installed."""
import numpy as np
import pytest

import heddle
from conftest import COPY


def torch_types(torch):
    return [(torch.float32, "float"), (torch.float16, "float16_t"), (torch.bfloat16, "bfloat16_t"),
            (torch.float64, "double"), (torch.int8, "int8_t"), (torch.uint8, "uint8_t"),
            (torch.int32, "int"), (torch.int64, "int64_t")]


def source_of(name):
    bfloat = "#extension GL_EXT_bfloat16 : require\n#extension"
    return COPY.replace("#extension", bfloat, 1) if name == "bfloat16_t" else COPY


def test_torch_in_place():
    torch = pytest.importorskip("torch")
    for kind, name in torch_types(torch):
        x, y = torch.arange(64).to(kind), torch.zeros(64, dtype=kind)
        heddle.run(source_of(name), x, y, groups=2, defines={"TYPE": name}, copy=False)
        assert torch.equal(x, y), kind


def test_torch_views_are_copied_back():
    torch = pytest.importorskip("torch")
    x, whole = torch.arange(64.0), torch.zeros(64, 2)
    heddle.run(COPY, x, whole[:, 1], groups=2, defines={"TYPE": "float"})
    assert torch.equal(whole[:, 1], x) and not whole[:, 0].any()
    with pytest.raises(TypeError, match="holds f32 in the kernel, f64 here"):
        heddle.run(COPY, x.double(), whole[:, 1], groups=2, defines={"TYPE": "float"})


def test_torch_gemm(examples):
    torch = pytest.importorskip("torch")
    a, b, c = torch.randn(128, 128), torch.randn(128, 128), torch.zeros(128, 128)
    heddle.run(examples / "gemm.comp", a, b, c, groups=(2, 2), push=[128, 128, 128, 128],
               copy=False)
    assert torch.allclose(c, a @ b, atol=1e-3)


def test_jax():
    jax = pytest.importorskip("jax")
    x = jax.device_put(np.arange(64, dtype=np.float32), jax.devices("cpu")[0])
    y = np.zeros(64, np.float32)
    heddle.run(COPY, x, y, groups=2, defines={"TYPE": "float"})
    assert np.array_equal(x, y)
    for kind, name in (("float32", "float"), ("bfloat16", "bfloat16_t")):
        x = x.astype(kind)
        with pytest.raises(ValueError, match="read-only"):     # JAX's arrays never change
            heddle.run(source_of(name), np.asarray(x), x, groups=2, defines={"TYPE": name})
