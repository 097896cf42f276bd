"""Sent prompts through the programs that people start: `zot -p`, `zot --json` and `zot rpc`."""

from __future__ import annotations

import sys

import pytest

import pyzot
from tests.support.calling_dialect import ZOT, caller
from tests.support.replay_script import Script
from tests.support.zot_process import Zot, wait_until
from wire import events
from wire.exit_codes import Status

COMMAND = [sys.executable, "-c", ZOT]
SENDS = """\
hello(events=["idle"])
want("SendPrompt", text="and the tests?")
left = 1
for kind, host in heard():
    if kind == "event" and left:
        left = 0
        want("SendPrompt", "l", text="the last one")
"""


@pytest.fixture
def zot(tmp_path):
    return Zot(tmp_path)


@pytest.fixture
def cassette(zot):
    script = (
        Script(zot.cwd).answer("Done.").prompt("and the tests?").answer("Green.").prompt("the last one").answer("Bye.")
    )
    return str(script.write(zot.folder / "cassette.jsonl"))


def test_the_stream_shows_each_prompt_its_sender_and_its_cost(zot, cassette, tmp_path):
    folder = caller(tmp_path, "tester", SENDS)
    ran = zot.run("--json", "--replay", cassette, "--ext", folder, "go", command=COMMAND, cold=True)
    ran.check(Status.OK, user_messages=3)
    senders = [message.extension for message in ran.of(events.UserMessage)]
    assert senders == [events.msgspec.UNSET, "tester", "tester"]
    assert [(sent.extension, sent.text, sent.usage.output) for sent in ran.result.sent] == [
        ("tester", "Green.", 5), ("tester", "Bye.", 5),
    ]  # fmt: skip
    assert (ran.result.text, ran.result.usage.output) == ("Done.", 15)
    session = [row["message"]["role"] for row in zot.session_rows() if row["type"] == "message"]
    assert session == ["user", "assistant"] * 3
    assert not (zot.home / "workspaces").exists()


def test_a_person_gets_the_answer_to_the_own_prompt_and_a_line_about_each_other_one(zot, cassette, tmp_path):
    folder = caller(tmp_path, "tester", SENDS)
    ran = zot.run("-p", "--replay", cassette, "--ext", folder, "go", command=COMMAND, cold=True)
    assert (ran.status, ran.stdout) == (0, b"Done.\n")
    assert "zot: extension tester sends prompt 1 of 10: and the tests?\n" in ran.stderr
    assert "zot: extension tester sends prompt 2 of 10: the last one\n" in ran.stderr


def test_a_program_hears_of_prompts_that_it_has_not_sent(zot, cassette, tmp_path):
    """`pyzot` gives the events of its own prompts to whom they belong, and the others to `on_event`."""
    folder = caller(tmp_path, "tester", SENDS.replace("hello(", 'hello(intercept=["user_prompt"], ', 1).replace(
        'want("SendPrompt", text="and the tests?")\n', ""
    ).replace("    if kind", """\
    if kind == "ask":
        if not host.get("sender"): want("SendPrompt", text="and the tests?")
        say("verdict", id=host["id"])
    if kind""", 1))  # fmt: skip
    heard = []
    done = []

    def on_event(event):
        heard.append(event)
        if isinstance(event, pyzot.Done):
            done.append(event)

    with pyzot.Runtime(
        cwd=zot.cwd, replay=cassette, ext=[folder], env=zot.env, program=COMMAND, on_event=on_event
    ) as runtime:
        mine = [event for event in runtime.prompt("go") if isinstance(event, pyzot.UserMessage)]
        wait_until(lambda: len(done) == 2)
    assert [message.extension for message in mine] == [None]
    assert [event.extension for event in heard if isinstance(event, pyzot.UserMessage)] == ["tester", "tester"]
    assert [event.text for event in heard if isinstance(event, pyzot.Result)] == ["Green.", "Bye."]
