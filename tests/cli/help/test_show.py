"""`zot help`, alone and about a command, and what is said of a command that there is not."""

from __future__ import annotations

import pytest

from wire.exit_codes import Status


def test_help_alone_lists_all_commands_in_groups(zot):
    outcome = zot.run("help")
    assert (outcome.status, outcome.stderr) == (0, "")
    titles = [line for line in outcome.text.split("\n") if line.endswith(":") and not line.startswith(" ")]
    groups = ["First steps", "Models and keys", "Extensions", "Sessions", "Batches", "Running hosts", "Files", "More"]
    assert titles == [f"{group}:" for group in groups]
    for name in ("demo", "doctor", "help", "ext", "host", "ps", "top", "stop", "report", "schema", "models", "login"):
        assert f"\n  {name} " in outcome.text
    assert max(map(len, outcome.text.split("\n"))) <= 80


@pytest.mark.parametrize("words", [["top"], ["ext"], ["ext", "logs"]])
def test_help_of_a_command_is_what_its_flag_prints(zot, words):
    outcome = zot.run("help", *words)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.text == zot.run(*words, "--help").text


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["help", "tpo"], "no such command: 'tpo'; did you mean 'top'? (see zot --help)"),
        (["help", "ext", "lgos"], "no such command: 'lgos'; did you mean 'logs'? (see zot ext --help)"),
        (["help", "top", "logs"], "zot top has no commands of its own; see zot help top"),
        (["ext", "docter"], "no such command: 'docter'; did you mean 'doctor'?"),
        (["ext", "qqqqq"], "no such command: 'qqqqq'; there are bisect, call, "),
    ],
)
def test_a_command_that_there_is_not_is_told_with_the_nearest(zot, args, complaint):
    assert complaint in zot.run(*args).refusal()
    assert not zot.home.exists()


def test_a_group_without_a_command_prints_its_help_as_a_usage_error(zot):
    outcome = zot.run("ext")
    assert outcome.status == Status.USAGE.exit_code
    assert "Usage: zot ext" in outcome.text
    assert outcome.stderr == ""


def test_help_does_not_import_what_only_other_output_needs(zot):
    import sys

    from tests.cli.test_imports import imported

    outcome = zot.run("help", "ext", "logs", command=[sys.executable, "-X", "importtime", "-m", "pyzot"])
    assert outcome.status == 0
    assert not imported(outcome.stderr) & {"rich", "pydantic", "anthropic"}
