"""`--replay` gives the stream that `--record` kept, in another folder and without the server; or a mismatch."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.support.extension_folder import EXAMPLES, extension
from tests.support.golden import golden
from tests.support.messages_server import (
    MessagesServer,
    events_reply,
    http_error,
    message_events,
    stall_midway,
    text_block,
    text_reply,
    thinking_block,
    tool_block,
)
from tests.support.zot_process import Zot, rows
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Outcome

LONG = "a line of sixty-four characters, to be more than fifty KiB: yes\n" * 1_000
"""More than a result may have: it is cut, and names the file with the whole."""
CALLS = [
    tool_block("read", '{"path": "a.txt"}', call_id="t1"),
    tool_block("bash", '{"command": "pwd"}', call_id="t5"),
    tool_block("bash", '{"command": "head -c 60000 /dev/zero | tr \\\\\\\\0 x"}', call_id="t2"),
    tool_block("echo", '{"text": "ünï"}', call_id="t3"),
    tool_block("echo", json.dumps({"text": LONG}), call_id="t6"),
    tool_block("nope", '{"broken": ', call_id="t4"),
]


@dataclass(frozen=True)
class Recorded:
    """A run with thought, tools, a guard and a rewriter: what it said, where it ran, and its cassette."""

    outcome: Outcome
    zot: Zot
    cassette: Path


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Recorded:
    """For all tests of the module, to be read only."""
    zot = Zot(tmp_path_factory.mktemp("recorded"))
    cassette = zot.folder / "cassette.jsonl"
    with MessagesServer(
        events_reply(message_events([thinking_block("hm"), text_block("See."), *CALLS], stop_reason="tool_use")),
        text_reply(f"In {zot.cwd}: AKIAIOSFODNN7EXAMPLE"),
    ) as server:
        outcome = run(zot, "--base-url", server.base_url, "--record", cassette)
        assert server.unused == 0
    return Recorded(outcome.check(Status.OK), zot, cassette)


def run(zot, *flags):
    if not (zot.cwd / "a.txt").exists():
        (zot.cwd / "a.txt").write_text("alpha\n")
    if not (zot.folder / "ext-echo").exists():
        extension(zot.folder, "echo")
    exts = ["-e", zot.folder / "ext-echo", "-e", EXAMPLES / "guard", "-e", EXAMPLES / "redactor"]
    # Each request is to offer the same tools: the first one waits for all extensions.
    return zot.run("--json", "--ext-wait", "120", *flags, *exts, "go")


def comparable(outcome, zot) -> str:
    """Without progress, whose pieces vary, and without the order in which extensions got ready."""
    text = golden(outcome, zot).replace(str(zot.folder), "<folder>")
    lines = [line for line in text.splitlines() if not line.startswith(("tool_progress", "extension"))]
    return "\n".join(lines)


def test_a_replay_gives_the_same_stream_also_in_another_folder(recorded, tmp_path):
    elsewhere = tmp_path / "else" / "where"
    elsewhere.mkdir(parents=True)
    there = Zot(elsewhere)
    first, again = recorded.outcome, run(there, "--replay", recorded.cassette).check(Status.OK)
    log = re.compile(r"zot-(?:bash|result)-[0-9a-f]{12}\.(?:log|txt)")
    assert log.sub("<log>", comparable(again, there)) == log.sub("<log>", comparable(first, recorded.zot))
    assert "[redacted:aws-key-id]" in again.result.text
    assert str(there.cwd) in again.result.text
    assert again.result.usage == first.result.usage
    assert again.result.cost_usd == first.result.cost_usd


def test_a_mismatch_shows_the_difference(recorded, zot):
    (zot.cwd / "a.txt").write_text("beta\n")
    outcome = run(zot, "--replay", recorded.cassette).check(Status.ERROR)
    shown = outcome.stderr[outcome.stderr.index("zot: the run differs") :].splitlines()
    place = recorded.cassette
    assert shown[0] == (
        f"zot: the run differs from cassette {place}:3 at request 2 of 2; record it again with --record {place}"
    )
    assert shown[1:4] == [
        "     messages[2].content[0].content[0].text",
        '       recorded: "alpha\\n"',
        '       asked:    "beta\\n"',
    ]


@pytest.mark.slow
def test_a_replay_names_what_this_machine_adds_and_the_flags_that_leave_it_out(recorded, zot):
    """An extension that is installed and the user's context file: with both flags the recording plays."""
    place = recorded.cassette
    shutil.copytree(EXAMPLES / "weather", zot.home / "extensions" / "weather")
    (zot.home / "AGENTS.md").write_text("Use tabs.\n## Tests\n")
    outcome = run(zot, "--replay", place).check(Status.ERROR)
    assert outcome.result.error_kind == "cassette"
    assert outcome.result.reason.splitlines()[0] == (
        f"the run differs from cassette {place}:2 at request 1 of 2; leave out what it has not: --no-ext (extensions "
        "here offer weather), --no-context-files (an AGENTS.md or CLAUDE.md is here)"
    )
    run(zot, "--no-ext", "--no-context-files", "--replay", place).check(Status.OK)


def test_errors_are_recorded_too(zot, server):
    server.add(http_error(401, "who are you"))
    cassette = zot.folder / "c.jsonl"
    first = zot.run("--json", "--base-url", server.base_url, "--record", cassette, "go").check(Status.AUTHENTICATION)
    again = zot.run("--json", "--replay", cassette, "go").check(Status.AUTHENTICATION)
    advice = "http://<server> wants a credential"  # on a line of its own; it is about the recording user's access
    kept = [line for line in golden(first).splitlines() if not line.startswith(advice)]
    assert golden(again).splitlines() == kept


def test_a_recording_that_is_interrupted_keeps_what_was_complete(zot, server):
    block = tool_block("bash", '{"command": "true"}', call_id="t1")
    whole = events_reply(message_events([block], stop_reason="tool_use"))
    cassette = zot.folder / "c.jsonl"
    server.add(whole, stall_midway(text_reply("x"), after=3))
    with zot.start("--json", "--base-url", server.base_url, "--record", cassette, "go") as running:
        server.wait_until_held()
        running.process.kill()
        running.process.wait()
    assert [row["type"] for row in rows(cassette.read_bytes())] == ["cassette", "exchange"]


@pytest.mark.slow
def test_a_cassette_on_a_full_disk_is_said_and_costs_only_itself(zot, server):
    server.add(text_reply("x" * 20_000), text_reply("never"))
    cassette = zot.folder / "c.jsonl"
    flags = ["--base-url", server.base_url, "--record", cassette, "--no-session"]
    outcome = zot.run("--json", *flags, "go", command=zot.with_file_limit(16)).check(Status.OK)
    assert outcome.warnings == [f"zot: the cassette is incomplete: cannot write cassette {cassette}: File too large"]
