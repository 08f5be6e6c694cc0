# SPDX-License-Identifier: MIT
"""The wheel: what is in it, and that it runs where it is unpacked."""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("HEDDLE_BUILD", "")

GEMM = """
import numpy as np, heddle, sys
a = np.ones((64, 64), np.float32)
c = np.zeros((64, 64), np.float32)
heddle.run(sys.argv[1], a, a, c, groups=1, push=[64, 64, 64, 64])
assert (c == 64).all()
assert heddle.layout("8x8", "f16", "C")._repr_svg_()
print(heddle.__version__, heddle.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if not shutil.which("cmake") or not os.path.exists(f"{BUILD}/cmake_install.cmake"):
        pytest.skip("no CMake or no build tree")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder / "prefix"], check=True,
                   capture_output=True)
    done = subprocess.run(
        [sys.executable, "-c", "import backend; print(backend.build_wheel(r'%s'))" % folder],
        check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"),
             "HEDDLE_PREFIX": str(folder / "prefix")})
    shutil.rmtree(folder / "prefix")
    return folder / done.stdout.strip()


def unpack(wheel, folder):
    """As pip does, which keeps the bits of programs."""
    with zipfile.ZipFile(wheel) as z:
        for entry in z.infolist():
            path = z.extract(entry, folder)
            os.chmod(path, stat.S_IMODE(entry.external_attr >> 16))


def test_record_and_metadata(wheel):
    version = (ROOT / "VERSION").read_text().strip()
    assert re.fullmatch(rf"heddle-{version}-py3-none-(manylinux_2_\d+|linux)_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as z:
        names = z.namelist()
        record = z.read(f"heddle-{version}.dist-info/RECORD").decode().splitlines()
        assert [line.rsplit(",", 2)[0] for line in record] == names
        for line in record[:-1]:
            name, digest, size = line.rsplit(",", 2)
            data = z.read(name)
            got = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert digest == "sha256=" + got and int(size) == len(data)
        metadata = z.read(f"heddle-{version}.dist-info/METADATA").decode()
        assert f"\nVersion: {version}\n" in metadata
        assert z.read("heddle/heddle.h") == (ROOT / "include/heddle/heddle.h").read_bytes()
    for name in ("heddle/py.typed", "heddle/bin/heddle", "heddle/__init__.py"):
        assert name in names
    assert not [n for n in names if n.endswith(".c") or "__pycache__" in n]


def test_it_runs_where_it_is_unpacked(wheel, tmp_path):
    unpack(wheel, tmp_path / "site")
    kernel = shutil.copy(ROOT / "examples/gemm.comp", tmp_path)
    environment = {"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", GEMM, kernel], cwd="/", env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "site") in done.stdout
    command = subprocess.run(
        [sys.executable, "-c", "import heddle._command as c; c.main()", "--version"], cwd="/",
        env=environment, capture_output=True, text=True)
    assert command.stdout.startswith("heddle 0."), command.stderr


def test_it_has_what_mlir_needs(wheel, tmp_path):
    if not os.path.exists(f"{BUILD}/bin/heddle-mlir"):
        pytest.skip("heddle was built without MLIR")
    unpack(wheel, tmp_path / "site")
    check = "import heddle, sys; print(heddle.Module(sys.argv[1]).entry_points[0].entry)"
    done = subprocess.run([sys.executable, "-c", check, ROOT / "examples/mlir/gemm.mlir"], cwd="/",
                          env={"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin"},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def pip(*arguments, **environment):
    return subprocess.run([sys.executable, "-m", "pip", *arguments, "-q", "--no-deps", "--no-index",
                           "--no-cache-dir", "--disable-pip-version-check"], cwd="/", text=True,
                          env={**os.environ, **environment}, capture_output=True)


def test_pip_installs_it(wheel, tmp_path):
    pytest.importorskip("pip")
    done = pip("install", "--target", tmp_path / "site", wheel)
    assert done.returncode == 0, done.stderr
    environment = {"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin"}
    for command, said in (
            ([sys.executable, "-c", GEMM, ROOT / "examples/gemm.comp"], str(tmp_path / "site")),
            ([tmp_path / "site/bin/heddle", "--version"], "heddle 0.")):
        done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True)
        assert done.returncode == 0 and said in done.stdout, done.stderr


def test_pip_builds_it_from_the_source(wheel, tmp_path):
    """By PEP 517, of an installation that is there: building one takes minutes."""
    pytest.importorskip("pip")
    installed = wheel.parent / "prefix"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", installed], check=True,
                   capture_output=True)
    done = pip("wheel", "--no-build-isolation", "-w", tmp_path, ROOT, HEDDLE_PREFIX=str(installed))
    shutil.rmtree(installed)
    assert done.returncode == 0, done.stderr
    assert [p.name for p in tmp_path.glob("*.whl")] == [wheel.name]


def test_needs_are_read_as_binutils_reads_them():
    sys.path.insert(0, str(ROOT / "python"))
    import needed
    if not shutil.which("objdump"):
        pytest.skip("no objdump")
    library = pathlib.Path(BUILD) / "lib/libheddle.so"
    said = subprocess.run(["objdump", "-p", library], capture_output=True, text=True).stdout
    needs = needed.needs_of(library)
    assert needs.libraries == re.findall(r"^  NEEDED +(\S+)$", said, re.M)
    versions = re.findall(r"^    0x\w+ 0x\w+ \d+ (\S+)$", said, re.M)
    assert sorted(needs.versions) == sorted(versions) and needs.newest() >= (2, 2)


def test_a_library_that_is_too_new_is_refused():
    script = [sys.executable, str(ROOT / "python/needed.py")]
    library = str(pathlib.Path(f"{BUILD}/lib/libheddle.so").resolve())
    assert subprocess.run([*script, library], capture_output=True).returncode == 0
    for refused in (["--glibc", "2.2"], ["--only", "libc.so"]):
        assert subprocess.run([*script, *refused, library], capture_output=True).returncode == 1
