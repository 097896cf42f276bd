"""The conformance vectors are valid, current, and have the whole protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import msgspec
import pytest

from supervisor.harness.script import Side, parse_script, read_script
from tests.support.script_runs import run_script
from tests.vectors.record import EXAMPLES, HERE, VectorError, lacks, settled, sources, vector_of
from wire import frames
from wire.dialects.base import HOOK_POINTS
from zotext import EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMAS = Path(__file__).parents[2] / "wire" / "schemas"
SOURCES = sources()
VECTORS = sorted(HERE.glob("*.jsonl"))
FRAMES = {
    Side.EXTENSION: {cls.__struct_config__.tag: cls for cls in frames.FromExtension.__args__},
    Side.HOST: {cls.__struct_config__.tag: cls for cls in frames.FromHost.__args__},
}


def said(side: Side, kind: str = "") -> Iterator[dict[str, Any]]:
    for vector in VECTORS:
        for step in read_script(vector).steps:
            if step.side is side and kind in ("", step.frame["type"]):
                yield step.frame


# --- each of them -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", VECTORS, ids=lambda path: path.stem)
def test_each_line_is_a_frame_of_its_side(vector: Path):
    validators = {
        side: jsonschema_rs.validator_for(json.loads((SCHEMAS / f"frame.from-{side.value}.json").read_text()))
        for side in Side
    }
    for step in read_script(vector).steps:
        line = msgspec.json.encode(step.frame)
        decode = frames.decode_from_host if step.side is Side.HOST else frames.decode_from_extension
        frame = decode(line)
        assert type(frame) is FRAMES[step.side][step.frame["type"]], f"line {step.line}: {frame}"
        assert [error.message for error in validators[step.side].iter_errors(step.frame)] == [], f"line {step.line}"
        known = {"type", *type(frame).__struct_fields__}
        assert set(step.frame) <= known, f"line {step.line} has members that the protocol does not know"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda path: path.stem)
def test_a_vector_is_a_whole_conversation(vector: Path):
    steps = read_script(vector).steps
    assert [(step.side.value, step.frame["type"]) for step in (*steps[:2], *steps[-2:])] == [
        ("extension", "hello"),
        ("host", "hello_ack"),
        ("host", "shutdown"),
        ("extension", "shutdown_ack"),
    ]


def test_the_example_still_says_what_its_vector_says():
    """Of the vector that has every member; that the others are what examples say shows below."""
    outcome = run_script(HERE / "everything", read_script(HERE / "everything.jsonl"))
    assert outcome.failure is None, "\n".join([*outcome.failure.lines(), *outcome.stderr])


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.vector.stem)
def test_the_vector_is_what_its_script_gives(source):
    if missing := lacks(source.folder):
        pytest.skip(f"{missing} here, which {source.folder.name} needs")
    fresh = vector_of(source)
    assert source.vector.read_bytes() == fresh, f"run python -m tests.vectors.record {source.folder.name}"


def test_there_is_no_vector_without_an_example():
    assert set(VECTORS) <= {source.vector for source in SOURCES}


# --- all of them together -----------------------------------------------------------------------------------


NOT_TOLD = {"recoverable", "model", "tokens", "agent_run_id", "provider", "system_prompt"}
"""Members of an event that only questions about it have, or only extensions of other dialects are told."""


@pytest.mark.parametrize("side", Side)
def test_the_vectors_have_every_frame(side: Side):
    assert {frame["type"] for frame in said(side)} == set(FRAMES[side])


@pytest.mark.parametrize("side", Side)
def test_the_vectors_have_every_member_of_every_frame(side: Side):
    for kind, cls in FRAMES[side].items():
        found = {name for frame in said(side, kind) for name, value in frame.items() if value is not None}
        assert set(cls.__struct_fields__) - found == (NOT_TOLD if kind == "event" else set()), kind


def test_the_vectors_have_every_member_inside_of_frames():
    blocks = [block for frame in said(Side.EXTENSION, "tool_result") for block in frame["content"]]
    assert {name for block in blocks for name in block} == set(frames.ContentBlock.__struct_fields__)
    panels = [frame["open_panel"] for frame in said(Side.EXTENSION, "command_response") if "open_panel" in frame]
    assert {name for panel in panels for name in panel} == set(frames.Panel.__struct_fields__)
    results = [frame.get("modified_result") for frame in said(Side.EXTENSION, "event_intercept_response")]
    assert {name for result in results if result for name in result} == set(frames.ModifiedResult.__struct_fields__)


def test_the_vectors_have_every_event_and_every_question():
    assert {frame["event"] for frame in said(Side.HOST, "event")} == set(EVENTS)
    assert {frame["event"] for frame in said(Side.HOST, "event_intercept")} == HOOK_POINTS


def test_the_vectors_have_every_action_of_a_command():
    found = {frame.get("action") for frame in said(Side.EXTENSION, "command_response")}
    assert found >= {"prompt", "insert", "display", "noop", "open_panel", "tool_prompt"}


def test_the_vectors_have_both_kinds_of_close_and_every_key():
    assert list(said(Side.HOST, "panel_close"))
    assert list(said(Side.EXTENSION, "panel_close"))
    keys = {frame["key"] for frame in said(Side.HOST, "panel_key")}
    # see wire/frames/host_frames.py
    documented = "up down left right enter esc tab backspace delete home end pageup pagedown rune unknown"
    assert keys == set(documented.split())


# --- the tool and the tests themselves ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "wrong"), [(b'"shown"', b'"show"'), (b'"id":"3","text":"hold', b'"id":"4","text":"hold')]
)
def test_a_conversation_that_differs_is_found(right: bytes, wrong: bytes):
    text = (HERE / "everything.jsonl").read_bytes()
    assert right in text
    script = parse_script(text.replace(right, wrong), "changed")
    outcome = run_script(HERE / "everything", script, wait_s=5.0)
    assert outcome.failure is not None


def test_only_a_text_may_differ_each_time():
    assert settled({"a": "${any} s", "b": [1]}, {"a": "1 s", "b": [2], "c": None}) == {
        "a": "${any} s", "b": [2], "c": None,
    }  # fmt: skip
    with pytest.raises(VectorError, match="no text"):
        settled({"a": "${any}"}, {"a": 3})


def test_every_example_has_a_script():
    for folder in EXAMPLES.iterdir():
        if (folder / "extension.json").exists():
            scripts = list((folder / "tests").glob("*.jsonl"))
            assert scripts, folder.name
            assert all(read_script(script).about.title for script in scripts)
