"""examples/embedding/notebook.ipynb: its cells run where a loop runs already, and in a real kernel if there is one."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

from tests.support.embedding_program import EXAMPLES, project
from tests.support.messages_server import text_reply, tool_reply

NOTEBOOK = EXAMPLES / "notebook.ipynb"
REPLIES = [
    tool_reply([("read", {"path": "notes.md"})]),
    text_reply("It sums prices.", output_tokens=20),
    text_reply("Prices, summed.", output_tokens=20),
]
SAID = ["[read {'path': 'notes.md'}]", "It sums prices.Prices, summed.", "45 tokens, $0.00051"]

AS_IPYTHON_DOES = """
import ast, asyncio, inspect, json, sys

async def run(cells):
    names = {}
    for cell in cells:
        ran = eval(compile(cell, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if inspect.iscoroutine(ran):
            await ran

with open(sys.argv[1]) as file:
    notebook = json.load(file)
asyncio.run(run("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"))
"""
IN_A_KERNEL = """
import sys, warnings
warnings.simplefilter("ignore")  # theirs
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=120, extra_arguments=["--log-level=ERROR"]).execute()
for cell in notebook.cells:
    for output in cell.get("outputs", ()):
        assert output.name == "stdout", output
        print(output.text, end="")
"""


def test_the_cells_run_in_a_loop_that_runs_already(tmp_path):
    with project(tmp_path, *REPLIES) as made:
        assert made.run(AS_IPYTHON_DOES, str(NOTEBOOK)).splitlines() == SAID


def test_the_notebook_runs_in_a_real_kernel(tmp_path):
    for name in ("nbclient", "ipykernel"):
        if find_spec(name) is None:
            pytest.skip(f"no {name} here")
    with project(tmp_path, *REPLIES) as made:
        made.env |= {"JUPYTER_PLATFORM_DIRS": "1", "IPYTHONDIR": str(tmp_path), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        assert made.run(IN_A_KERNEL, str(NOTEBOOK)).splitlines() == SAID
        assert len(made.server.requests[-1].body["messages"]) == 5


def test_the_notebook_is_kept_without_outputs():
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
