"""Cassettes that a run cannot play or write."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "No such file or directory"),
        (b"garbage\n", "c.jsonl:1: not JSON"),
        (b'{"type":"cassette","version":1}\n{"type":"exchange"', "c.jsonl:2: the line is cut off"),
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
