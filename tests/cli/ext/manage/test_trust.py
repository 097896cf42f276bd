"""The exit status of `zot ext trust`."""

from __future__ import annotations

import json

import pytest

from tests.support.forked import run
from tests.support.installing import source


@pytest.mark.parametrize(
    ("args", "status"),
    [(["gard"], 2), (["--revoke", "guard"], 2), (["./nowhere"], 2), (["."], 1), (["guard"], 0), (["./guard"], 2)],
    ids=["unknown", "not trusted", "no such folder", "no manifest", "by name", "not here"],
)
def test_exit_status(zot, args, status):
    source(zot.cwd / ".zot" / "extensions" / "guard")
    outcome = run(zot, "ext", "trust", "--json", *args)
    assert outcome.status == status, outcome
    assert all(json.loads(line) for line in outcome.stdout.splitlines())
    assert outcome.stderr.count("\n") == (status != 0)
