"""`zot -p "/name args"` and `zot --json "/name args"` run a command of an extension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.faulty_run import program
from tests.support.replay_script import Script
from wire import events
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Outcome, Zot

ACTS = """
hello()
for name in ("prompt", "insert", "display", "noop", "panel", "error", "odd", "hang", "die", "note"):
    send(type="register_command", name=name)
send(type="ready")
for frame in frames():
    name, args = frame["name"], frame.get("args", "")
    answer = {
        "prompt": {"action": "prompt", "prompt": args},
        "insert": {"action": "insert", "insert": "to be edited: " + args},
        "display": {"action": "display", "display": "shown: " + args},
        "noop": {"action": "noop"},
        "panel": {"action": "open_panel", "open_panel": {"id": "p", "title": "T", "lines": ["a", "b"], "footer": "F"}},
        "error": {"action": "display", "display": "no", "error": "it went wrong"},
        "odd": {"action": "dance"},
        "note": {"action": "noop"},
    }
    if name == "note":
        send(type="notify", level="warn", message="mind " + args)
    if name == "die":
        print("cannot go on", file=sys.stderr, flush=True)
        sys.exit(4)
    if name != "hang":
        send(type="command_response", id=frame["id"], **answer[name])
"""


SAYS_WHO = """
if %r:
    time.sleep(0.4)
hello()
send(type="register_command", name="who")
send(type="ready")
for frame in frames():
    send(type="command_response", id=frame["id"], action="display", display=%r)
"""


@pytest.fixture
def acts(zot: Zot) -> Path:
    return program(zot.folder, "acts", ACTS, timeouts={"command": 0.3}, restart={"policy": "temporary"})


def run(zot: Zot, acts: Path, mode: str, *words: str) -> Outcome:
    """Runs without a key: commands need no model."""
    return zot.run(mode, "--no-ext", "-e", acts, *words)


@pytest.mark.parametrize(
    ("command", "stdout"),
    [
        ("/insert x", "to be edited: x\n"),
        ("/display  a b ", "shown: a b\n"),
        ("/panel", "T\na\nb\nF\n"),
        ("/noop", ""),
    ],
)
def test_print_mode_prints_what_the_command_displays(zot: Zot, acts: Path, command: str, stdout: str):
    outcome = run(zot, acts, "-p", command)
    assert (outcome.status, outcome.text, outcome.stderr) == (0, stdout, "")


@pytest.mark.parametrize(
    ("command", "record"),
    [
        ("/insert x", events.ExtInsert("acts", "to be edited: x")),
        ("/display x", events.ExtDisplay("acts", "shown: x")),
        ("/panel", events.PanelOpen("acts", "p", "T", ("a", "b"), "F")),
        ("/note x", events.ExtNotify("acts", "warn", "mind x")),
        ("/NOTE x", events.ExtNotify("acts", "warn", "mind x")),
    ],
)
def test_json_mode_has_the_records_of_the_command(zot: Zot, acts: Path, command: str, record: Any):
    outcome = run(zot, acts, "--json", command).check(Status.OK)
    name, _, args = command[1:].partition(" ")
    assert outcome.of(events.Command) == [events.Command("acts", name.lower(), args)]
    assert outcome.of(type(record)) == [record]
    assert not outcome.of(events.UserMessage)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("/error", "/error: it went wrong"),
        ("/odd", "/odd: extension acts failed: there is no action 'dance'"),
        ("/hang", "/hang: extension acts failed: no answer within 0.3 s (timeouts.command in its manifest)"),
        ("/die", '/die: extension acts failed: it ended (exit 4): "cannot go on"'),
        (
            "/dispaly x",
            "no such command: '/dispaly'; did you mean '/display'; to send it to the model as text, put -- or a space"
            " before it",
        ),
    ],
)
def test_a_failing_command_is_an_error_of_the_run(zot: Zot, acts: Path, command: str, reason: str):
    outcome = run(zot, acts, "--json", command).check(Status.ERROR)
    assert outcome.result.reason == reason
    assert f"zot: {reason}" in outcome.warnings
    assert not outcome.of(events.UserMessage)


def test_a_prompt_of_a_command_is_sent_to_the_model(zot: Zot, acts: Path):
    script = Script(zot.cwd, "say hi").answer("Hi.")
    outcome = zot.run(*zot.replay_flags(script), "-e", acts, "/prompt say hi").check(Status.OK)
    (message,) = outcome.of(events.UserMessage)
    assert message.content == (events.TextContent("say hi"),)
    assert outcome.result.text == "Hi."


@pytest.mark.parametrize(
    ("words", "prompt"),
    [
        (["--", "/display x"], "/display x"),
        ([" /display x"], " /display x"),
        (["/usr/bin is full"], "/usr/bin is full"),
    ],
)
def test_text_that_is_no_command_is_a_prompt(zot: Zot, acts: Path, words: list[str], prompt: str):
    path = Script(zot.cwd, prompt).answer("I see.").write(zot.folder / "cassette")
    outcome = zot.run("--json", "--no-ext", "-e", acts, "--replay", path, *words).check(Status.OK)
    assert not outcome.of(events.Command)
    assert outcome.result.text == "I see."


def test_the_first_extension_with_a_command_has_it(zot: Zot):
    slow, quick = (program(zot.folder, name, SAYS_WHO % (name == "slow", name)) for name in ("slow", "quick"))
    outcome = zot.run("-p", "--no-ext", "-e", slow, "-e", quick, "/Who")
    assert (outcome.status, outcome.text) == (0, "slow\n")
    hidden = "zot: extension quick: its command '/who' is hidden: extension slow has that name"
    assert set(outcome.warnings) <= {hidden}
