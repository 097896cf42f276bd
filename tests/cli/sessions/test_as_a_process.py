"""The commands as a user runs them: a process, and a shell that completes ids."""

from __future__ import annotations

import sys

from tests.support.session_files import ID


def test_a_run_lists_shows_and_completes(zot, sessions):
    command = [sys.executable, "-m", "pyzot"]
    outcome = zot.run("session", "show", "3a3e", command=command)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert "[6] assistant" in outcome.text
    zot.env["_ZOT_COMPLETE"] = "complete_bash"
    zot.env["COMP_WORDS"] = "zot session show 3"
    zot.env["COMP_CWORD"] = "3"
    assert zot.run(command=command).text.split() == [ID[:8]]
