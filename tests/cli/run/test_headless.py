"""Cassettes that a run cannot play or write."""

from __future__ import annotations

import re

import pytest

from tests.support.replay_script import Script


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "No such file or directory"),
        (b"", "is empty"),
        (b"garbage\n", "c.jsonl:1: not JSON"),
        (b'{"type":"session"}\n', "c.jsonl:1: not a cassette"),
        (b'{"type":"cassette","version":99}\n', "version 99; this program reads version 1"),
        (b'{"type":"cassette","version":1}\n{"type":"exchange"', "c.jsonl:2: the line is cut off"),
        (
            b'{"type":"cassette","version":1}\n{"type":"exchange","request":{},"reply":[]}\n',
            "c.jsonl:2: the reply does",
        ),
        (b"\xff\xfe\0\n", "c.jsonl:1: not JSON"),
    ],
)
def test_a_cassette_that_cannot_be_played(zot, content, complaint):
    cassette = zot.folder / "c.jsonl"
    if content is not None:
        cassette.write_bytes(content)
    text = zot.run("--json", "--replay", cassette, "x").refusal()
    assert text.startswith("zot: --replay: ")
    assert complaint in text


def test_a_cassette_that_cannot_be_written(zot):
    (zot.folder / "notes.txt").write_text("my notes\n")
    assert "it is a directory" in zot.run("-p", "--record", zot.folder, "x").refusal()
    assert "No such file or directory" in zot.run("-p", "--record", zot.folder / "no" / "c", "x").refusal()
    assert "not a cassette; remove it first" in zot.run("-p", "--record", zot.folder / "notes.txt", "x").refusal()
    assert (zot.folder / "notes.txt").read_text() == "my notes\n"


@pytest.mark.parametrize(
    "line", [{"type": "text_delta"}, {"type": "final"}, {"type": "error"}, {"type": "tool_use_end"}]
)
def test_a_cassette_with_an_incomplete_line_is_refused(zot, line):
    script = Script(zot.cwd).answer("Hello")
    reply = script._exchanges[0][1]
    number = len(reply) - 1 if line["type"] in ("final", "error") else 1
    reply[number] = line
    cassette = script.write(zot.folder / "c.jsonl")
    refusal = zot.run("--json", "--replay", cassette, "x").refusal()
    assert re.search(rf"c\.jsonl:2: reply\[{number}\]\.\w+ is required$", refusal.strip()), refusal
