# SPDX-License-Identifier: MIT
"""Kernels run on arrays, with all that a run may be given."""
import numpy as np
import pytest

import heddle
from conftest import COPY

OPENCL = """
kernel void scale(global const float *x, global float *y, float factor, uint n, local float *tile)
{
    size_t i = get_global_id(0);
    tile[get_local_id(0)] = x[i];
    if (i < n)
        y[i] = factor * tile[get_local_id(0)];
}
"""


def test_run(scale_file, xy):
    x, y = xy
    report = heddle.run(scale_file, x, y, groups=16, push=[1000])
    assert np.array_equal(y, 3 * x) and report.seconds > 0


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_constants_by_name_and_number(scale, xy, device):
    x, y = xy
    kernel = heddle.Kernel(scale, spec={"FACTOR": -5, 1: 0.5}, device=device)
    kernel(x, y, groups=(16, 1), push=[1000])
    assert np.array_equal(y, -5 * x + 0.5)
    assert [(c.name, c.value) for c in kernel.info.constants] == [("FACTOR", -5), ("BIAS", 0.5)]


def test_defines(scale):
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    heddle.run(scale, x, y, push=[64], defines={"T": "int"})
    assert np.array_equal(y, 3 * x)


def test_bindings_by_name(scale, xy):
    x, y = xy
    kernel = heddle.Kernel(scale)
    for key in ("y", 1, (0, 1)):
        y[:] = 0
        kernel(x, bindings={key: y}, groups=16, push=np.uint32(1000))
        assert np.array_equal(y, 3 * x)
    with pytest.raises(TypeError, match="bound twice.*0.0 x, 0.1 y"):
        kernel(x, y, bindings={"x": x}, groups=16, push=[1000])
    with pytest.raises(TypeError, match="not there"):
        kernel(x, bindings={"z": y}, groups=16, push=[1000])
    with pytest.raises(TypeError, match="3 arrays for 2 bindings"):
        kernel(x, y, y)


def test_missing_bindings_and_constants(scale, xy):
    x, y = xy
    with pytest.raises(heddle.BindingError):
        heddle.run(scale, x, groups=16, push=[1000])
    with pytest.raises(heddle.BindingError):
        heddle.run(scale, x, y, groups=16)
    with pytest.raises(ValueError, match="no specialisation constant 'FACTR'; there are 0 FACTOR"):
        heddle.Kernel(scale, spec={"FACTR": 1})
    with pytest.raises(ValueError, match="no value of type s32"):
        heddle.Kernel(scale, spec={"FACTOR": 1 << 40})
    with pytest.raises(ValueError, match="groups"):
        heddle.run(scale, x, y, groups=0, push=[1000])
    with pytest.raises(ValueError, match="no device 'gpu'"):
        heddle.Kernel(scale, device="gpu")
    with pytest.raises(OverflowError):
        heddle.run(scale, x, y, push=[1 << 40])


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_opencl(device):
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    kernel = heddle.Kernel(OPENCL, language="opencl", device=device)
    kernel(x, y, 2.5, 100, heddle.local(64 * 4), global_size=100, local_size=32)
    assert np.array_equal(y, 2.5 * x)


def test_gemm(examples):
    a, b = (np.random.default_rng(s).standard_normal((128, 128), np.float32) for s in (1, 2))
    c = np.zeros((128, 128), np.float32)
    sizes = np.array([128, 128, 128, 128], np.uint32)
    for types, kind in (({}, np.float32), ({"INPUT": "float16_t"}, np.float16)):
        kernel = heddle.Kernel(examples / "gemm.comp", defines=types, stats=True)
        report = kernel(a.astype(kind), b.astype(kind), c, groups=(2, 2), push=sizes)
        want = a.astype(kind).astype(float) @ b.astype(kind).astype(float)
        assert np.allclose(c, want, atol=1e-2)
        assert report.stats["flops"] == 2 * 128**3
        assert {m.use for m in kernel.info.matrices} == {"A", "B", "C"}


@pytest.mark.parametrize("kind, name", [
    (np.float16, "float16_t"), (np.float64, "double"), (np.int8, "int8_t"), (np.int64, "int64_t"),
    (np.uint16, "uint16_t"), (np.float32, "float")])
def test_types(kind, name):
    x, y = np.arange(64).astype(kind), np.zeros(64, kind)
    heddle.run(COPY, x, y, groups=2, defines={"TYPE": name})
    assert np.array_equal(x, y)


def test_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for kind, name in ((ml_dtypes.bfloat16, "bf16"), (ml_dtypes.float8_e4m3fn, "e4m3"),
                       (ml_dtypes.float8_e5m2, "e5m2")):
        assert heddle.element_type(kind) == name
    source = COPY.replace("#extension", "#extension GL_EXT_bfloat16 : require\n#extension", 1)
    x, y = np.arange(64).astype(ml_dtypes.bfloat16), np.zeros(64, ml_dtypes.bfloat16)
    heddle.run(source, x, y, groups=2, defines={"TYPE": "bfloat16_t"})
    assert np.array_equal(x, y)
    with pytest.raises(TypeError, match="holds bf16 in the kernel, f16 here"):
        heddle.run(source, x.astype(np.float16), y, groups=2, defines={"TYPE": "bfloat16_t"})


def test_spirv_goes_round(scale, xy):
    x, y = xy
    module = heddle.Module(scale)
    for again in (module.spirv, heddle.disassemble(module)):
        y[:] = 0
        heddle.run(again, x, y, groups=16, push=[1000])
        assert np.array_equal(y, 3 * x)
    assert [e.entry for e in module.entry_points] == ["main"]


def test_devices():
    kinds = [d.kind for d in heddle.devices()]
    assert kinds[:2] == ["cpu", "reference"]
    assert heddle.Device("cpu", threads=1).info.threads == 1
    assert "cpu:0" in repr(heddle.Device("cpu"))
    with pytest.raises(heddle.UnsupportedError):
        heddle.Device("cpu", isa="z80")


@pytest.mark.parametrize("device", [d.kind for d in heddle.devices() if d.ordinal == 0])
def test_every_device_of_this_machine(scale, xy, device):
    x, y = xy
    odd = np.zeros(2000, np.float32)[::2]
    for out in (y, odd):
        heddle.run(scale, x, out, groups=16, push=[1000], device=device)
        assert np.array_equal(out, 3 * x)
