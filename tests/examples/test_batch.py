"""The example of a batch runs without a key, and the README shows what it says."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.zot_fixtures import zot
from tests.support.zot_fork import run

__all__ = ["zot"]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "batch"


def ends(text):
    """Of each line about the end of a task, all that is the same in every run."""
    return sorted(re.findall(r"^\[\d/\d\] (\w+) +(\w+)  [\d.]+ m?s  (\S+)(.*)$", text, re.MULTILINE))


def test_the_recordings_fit_and_the_readme_shows_what_is_said(zot, tmp_path):
    runs = tmp_path / "runs"
    found = zot.run("batch", "tasks.jsonl", "-o", runs, "--workspace", "copy", cwd=EXAMPLE)
    assert found.status == 10, found.stderr
    results = {one["id"]: one for one in run(zot, "batch", "results", runs).json_lines}
    assert {name: one["status"] for name, one in results.items()} == {
        "total": "ok", "vat": "check_failed", "docstrings": "ok",
    }, "new recordings: python -m tests.record_batch"  # fmt: skip
    assert results["docstrings"]["answer"] == {"functions": ["total", "with_vat"]}
    assert "+        result += price" in (runs / "diffs" / "total.diff").read_text()
    assert "result = price\n" in (EXAMPLE / "shop" / "prices.py").read_text(), "only copies are changed"
    assert sorted(path.name for path in (runs / "workspaces").iterdir()) == sorted(results)

    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    assert ends(found.stderr) == ends(shown)
    tokens = "2 of 3 tasks ok in [^;]*; 5,600 tokens, \\$0.015\n"
    assert re.search(tokens, found.stderr)
    assert re.search(tokens, shown)
