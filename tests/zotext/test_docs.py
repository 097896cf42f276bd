"""Every example of docs/sdk-python.md runs, and every public name is in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import zotext
import zotext.testing
from zotext.testing import Harness, HostSide, Program

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "sdk-python.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=[re.findall(r"def (\w+)", code)[0] for code in EXAMPLES])
def test_an_example_runs(code: str, tmp_path: Path):
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    (tmp_path / "example.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-W", "error", "example.py"],
        cwd=tmp_path,
        env=path,
        input="",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


BASES = {"CallContext", "RegistrationError", "Response", "HostInfo", "EVENTS", "Cancelled"}
"""Names that authors need not write."""
VERDICTS = {"AddContext", "Allow", "Ask", "Block", "RewriteArgs", "ReplaceText", "ReplaceResult"}
"""Classes that the docs name by the functions that make them."""


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


def test_every_public_name_is_in_an_example_or_at_least_in_the_text():
    code = "\n".join(EXAMPLES)
    assert {name for name in zotext.__all__ if name not in code} - BASES - VERDICTS == set()
    for_the_sdk = {"attach", "connect", "disconnect", "greeted_by", "threads"}
    calls = public(zotext.Extension) | public(zotext.Extension.__mro__[1])
    assert {name for name in calls - for_the_sdk if f"ext.{name}" not in code} == set()
    calls = public(zotext.CallContext) | public(zotext.ToolContext) | public(zotext.HostInfo)
    assert {name for name in calls - {"cancel"} if name not in TEXT} == set()
    calls = public(HostSide) | public(Harness) | public(Program)
    assert {name for name in calls - {"greet"} if name not in TEXT} == set()
