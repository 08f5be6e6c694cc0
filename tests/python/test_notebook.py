# SPDX-License-Identifier: MIT
"""The notebook runs from its first cell to its last: by Jupyter where that is installed (Debian:
python3-nbclient python3-ipykernel), else its cells are run here."""
import json
import pathlib

import pytest

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "examples/python/matrices.ipynb"


def test_cells_run(capsys):
    names = {}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)  # noqa: S102
    said = capsys.readouterr().out
    assert "largest error" in said and "out-of-bounds" in said and "GFLOP/s" in said


def test_nothing_is_stored_in_it():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


def test_jupyter_runs_it_and_shows_the_picture():
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [output["data"] for cell in notebook.cells for output in cell.get("outputs", ())
             if "data" in output]
    assert any("image/svg+xml" in data for data in shown)
