"""`zot ext update`: consent to more of the environment, and updates that fail."""

from __future__ import annotations

import os
import pty

from tests.support.install_sources import source
from tests.support.zot_fork import run


def test_update_asks_before_an_extension_gets_more_of_the_environment(zot, made, installed):
    installed(made)
    source(made, env=["SOME_KEY"])
    outcome = run(zot, "ext", "update")
    assert outcome.status == 1
    assert "'guard' now asks for SOME_KEY" in outcome.stderr
    assert "--yes agrees" in outcome.stderr
    assert run(zot, "ext", "update", "--json").status == 1
    terminal, other = pty.openpty()
    os.write(terminal, b"y\n")
    outcome = run(zot, "ext", "update", stdin=other)
    os.close(terminal)
    os.close(other)
    assert outcome.stderr.startswith("guard now asks for SOME_KEY; agree? [y/N] updated guard")


def test_an_update_that_fails_does_not_stop_the_other_updates(zot, made, installed):
    other = source(zot.folder / "other", name="another")
    for each in (made, other):
        installed(each)
    source(made, version="2", program="#!/bin/sh\n")
    (other / "extension.json").unlink()
    outcome = run(zot, "ext", "update")
    assert outcome.status == 1
    assert "zot ext update: " in outcome.stderr
    assert "updated guard 1.0 -> 2" in outcome.stderr
    assert [line["action"] for line in run(zot, "ext", "update", "--json").json_lines] == ["failed", "up to date"]
