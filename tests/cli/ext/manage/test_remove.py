"""`zot ext remove` asks on a terminal."""

from __future__ import annotations

import os
import pty

import pytest

from tests.support.forked import run


@pytest.mark.parametrize(("answer", "said"), [("y", "removed "), ("n", "aborted"), ("", "aborted")])
def test_remove_asks_on_a_terminal(zot, made, installed, answer, said):
    installed(made)
    terminal, other = pty.openpty()
    os.write(terminal, answer.encode() + b"\n")
    outcome = run(zot, "ext", "remove", "guard", stdin=other)
    os.close(terminal)
    os.close(other)
    folder = zot.home / "extensions" / "guard"
    assert outcome.status == 0
    assert outcome.stderr.startswith(f"remove {folder}? [y/N] {said}")
    assert folder.exists() == (said == "aborted")
