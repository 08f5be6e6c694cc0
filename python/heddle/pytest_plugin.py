# SPDX-License-Identifier: MIT
"""pytest's fixture `heddle_check`, which runs a kernel on the device that looks for mistakes, and
fails the test with what it found:

    def test_scale(heddle_check):
        heddle_check("scale.comp", x, y, groups=64)
        assert np.allclose(y, 3 * x)
"""
from __future__ import annotations

from typing import Any, Callable

import pytest

from . import HeddleError, Report, run


@pytest.fixture
def heddle_check() -> Callable[..., Report]:
    """Like heddle.run(..., check=True), of which check="portability" asks for more."""
    def checked(source: Any, *arrays: Any, **options: Any) -> Report:
        __tracebackhide__ = True
        try:
            return run(source, *arrays, **{"check": True, **options})
        except HeddleError as e:
            found = "\n".join(str(d) for d in e.findings)
            pytest.fail(f"heddle found {len(e.findings)} mistake(s):\n{found}", pytrace=False)
    return checked
