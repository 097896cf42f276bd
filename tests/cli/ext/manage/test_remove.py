"""`zot ext remove` asks on a terminal."""

from __future__ import annotations

import os
import pty

import pytest

from tests.support.zot_fork import run


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


def test_each_command_says_of_a_link_that_leads_nowhere_what_to_do(zot, tmp_path):
    folder = zot.home / "extensions" / "guard"
    folder.parent.mkdir(parents=True)
    folder.symlink_to(tmp_path / "gone")
    for words in (["doctor"], ["trust", "--yes"], ["update"], ["disable"], ["enable"]):
        outcome = zot.run("ext", words[0], "guard", *words[1:])
        assert outcome.status == 1, outcome.text
        assert (
            f"is a link to {tmp_path / 'gone'}, which does not exist; put the folder back"
            in outcome.text + outcome.stderr
        )
