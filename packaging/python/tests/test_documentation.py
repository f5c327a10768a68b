# SPDX-License-Identifier: BSL-1.0
"""What a stranger does who has only the documentation: the code of the README, and the notebook."""

import pathlib
import re
import time

import pytest

here = pathlib.Path(__file__).resolve().parent


def test_the_code_of_the_readme(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (here.parent / "README.md").read_text(encoding="utf-8")
    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    begin = time.monotonic()
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    # A reader has five minutes for it, most of them for reading.
    assert time.monotonic() - begin < 60
    assert names["sim"].result().summary["jobs"]["completed"] == 3
    assert sorted(names["table"].policy.unique()) == ["fifo", "kueue", "standard"]
    first_fit = lambda state: [job["job"] for job in state["pending"]]
    assert names["episode"](first_fit, names["sim"]) < 0
    assert "tune" in capsys.readouterr().out


def test_the_notebook(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(here.parent / "examples" / "stepping.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
    text = "".join(o.get("text", "") for c in notebook.cells if c.cell_type == "code" for o in c.outputs)
    assert "standard" in text
