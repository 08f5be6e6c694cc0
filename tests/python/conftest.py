# SPDX-License-Identifier: MIT
"""Kernels that several tests run."""
import pathlib

import numpy as np
import pytest

pytest_plugins = ["pytester"]

SCALE = """#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const int FACTOR = 3;
layout(constant_id = 1) const float BIAS = 0.0;
#ifndef T
#define T float
#endif
layout(set = 0, binding = 0) readonly buffer X { T x[]; };
layout(set = 0, binding = 1) buffer Y { T y[]; };
layout(push_constant) uniform P { uint n; };
void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < n)
        y[i] = T(FACTOR) * x[i] + T(BIAS);
}
"""

COPY = """#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer X { TYPE x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { TYPE y[]; };
void main() { y[gl_GlobalInvocationID.x] = x[gl_GlobalInvocationID.x]; }
"""


@pytest.fixture
def scale():
    return SCALE


@pytest.fixture
def scale_file(tmp_path):
    path = tmp_path / "scale.comp"
    path.write_text(SCALE)
    return path


@pytest.fixture
def xy():
    import heddle
    x, y = heddle.aligned(1000), heddle.aligned(1000)
    x[:] = np.arange(1000)
    return x, y


@pytest.fixture
def examples():
    return pathlib.Path(__file__).resolve().parents[2] / "examples"
