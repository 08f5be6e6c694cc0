# SPDX-License-Identifier: MIT
"""Kernels run from several threads, and other Python goes on meanwhile."""
import gc
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import heddle
from conftest import SCALE

LONG = """#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer X { uint x[]; };
layout(push_constant) uniform P { uint n; };
void main()
{
    uint a = x[gl_LocalInvocationIndex];
    for (uint i = 0; i < n; i++)
        a = a * 1664525u + 1013904223u;
    x[gl_LocalInvocationIndex] = a;
}
"""


def test_one_kernel_from_many_threads(scale):
    kernel = heddle.Kernel(scale)

    def work(seed):
        x = np.random.default_rng(seed).standard_normal(1000).astype(np.float32)
        for _ in range(20):
            y = np.zeros(1000, np.float32)
            kernel(x, y, groups=16, push=[1000])
            assert np.array_equal(y, 3 * x)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


def test_kernels_compiled_by_many_threads(scale):
    def work(factor):
        x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
        heddle.run(scale, x, y, push=[64], spec={"FACTOR": factor})
        with pytest.raises(heddle.SourceError):
            heddle.Kernel(scale.replace("main", "mine"))
        return np.array_equal(y, factor * x)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(1, 9)))


def test_the_lock_is_let_go_while_a_kernel_runs():
    kernel = heddle.Kernel(LONG)
    x = np.ones(32, np.uint32)
    n = 1000000
    while kernel(x, push=[n]).seconds < 0.2:
        n *= 2
    spans = []

    def run():
        start = time.monotonic()
        kernel(x, push=[n])
        spans.append((start, time.monotonic()))

    thread = threading.Thread(target=run)
    thread.start()
    ticks = []
    while thread.is_alive():
        ticks.append(time.monotonic())
        time.sleep(0.005)
    start, end = spans[0]
    assert sum(start < t < end for t in ticks) > 5


def test_objects_go_in_any_order(scale):
    for _ in range(3):
        device = heddle.Device("cpu", threads=1)
        kernel = heddle.Kernel(scale, device=device)
        del device
        gc.collect()
        x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
        kernel(x, y, push=[64])
        assert y[0] == 3
        del kernel
        gc.collect()


def test_the_child_of_a_fork_says_that_it_cannot():
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    kernel = heddle.Kernel(SCALE)
    child = os.fork()
    if not child:
        refused = 0
        for call in (lambda: kernel(x, y, push=[64]), lambda: heddle.run(SCALE, x, y, push=[64])):
            try:
                call()
            except RuntimeError as e:
                refused += "spawn" in str(e)
        os._exit(refused != 2)
    assert os.waitpid(child, 0)[1] == 0
