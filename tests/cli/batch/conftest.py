"""The folder of a batch, and the commands in the process that the tests fork."""

from __future__ import annotations

from importlib import import_module

import pytest

from cli.batch import BatchGroup
from supervisor.loop.loop import Loop
from tests.support.batch_journal import outcome, run_folder, tasks
from wire.batch.outcome import CommandEnd, TaskStatus, Usage

for module in (
    *(name for _title, names in BatchGroup.modules for name in names),
    "cli.batch.command",
    "agent.batch.journal.formats",
    "cli.run.run_view",
):
    import_module(module)  # once, and not in each fork


@pytest.fixture
def runs(zot):
    """Four tasks: one is ok, one has failed at its check, one has timed out, and one was not run."""
    loop = Loop()
    found = run_folder(
        zot.cwd / "runs",
        loop,
        tasks("one", "two", "three", "four"),
        outcome("one", text="Done.", usage=Usage(900, 300)),
        outcome(
            "two",
            status=TaskStatus.CHECK_FAILED,
            reason="exit 1: 2 tests failed",
            setup=CommandEnd(0, 100, "made\n"),
            check=CommandEnd(1, 2000, "E assert 1 == 2\n2 tests failed\n"),
        ),
        outcome("three", status=TaskStatus.TIMEOUT, reason="timeout", cost_usd=None),
    )
    loop.close()
    return found
