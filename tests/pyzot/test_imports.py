"""The cost of importing the API: little, and no module of ours but the API."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pyzot
import zotext
from tests.support.zot_process import ROOT

HEAVY = {"anthropic", "rich", "typer", "psutil", "asyncio", "msgspec", "orjson", "logging", "typing", "dataclasses"}
OURS = {"wire", "supervisor", "agent", "cli", "zotext"}


def modules(code):
    """The modules that the statement imports, in a fresh Python."""
    code = f"import sys; before = set(sys.modules); {code}; print(*sorted(set(sys.modules) - before))"
    argv = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"]
    return set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())


def test_the_package_alone_imports_nothing():
    assert modules("import pyzot") - {"__future__"} == {"pyzot"}


@pytest.mark.parametrize("name", ["Runtime", "Host", "Batch", "TaskResult", "TextDelta", "ZotError"])
def test_the_synchronous_names_import_nothing_heavy(name):
    found = modules(f"from pyzot import {name}")
    assert not found & (HEAVY | OURS)
    if name == "Runtime":
        assert not found & {"pyzot.host", "pyzot.async_runtime"}


@pytest.mark.parametrize("name", ["AsyncRuntime", "AsyncHost", "AsyncBatch"])
def test_the_asynchronous_names_add_asyncio(name):
    found = modules(f"from pyzot import {name}")
    assert "asyncio" in found
    assert not found & ((HEAVY - {"asyncio", "logging", "typing", "dataclasses"}) | OURS)


def test_the_error_of_a_tool_is_that_of_the_sdk():
    assert pyzot.ToolError is zotext.ToolError
    assert not modules("from pyzot import Runtime") & {"zotext", "pyzot.in_program.extensions"}


def test_each_name_is_there_and_no_other():
    assert len(pyzot.__all__) == len(set(pyzot.__all__))
    for name in pyzot.__all__:
        assert getattr(pyzot, name) is not None
    assert set(pyzot.__all__) <= set(dir(pyzot))
    with pytest.raises(AttributeError, match="no attribute 'Runtme'"):
        _ = pyzot.Runtme
