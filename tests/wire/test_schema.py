"""The committed JSON Schemas follow the definitions, and accept what the encoders write."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.any_message import any_of, plain
from wire import control, events, frames, schema, stats
from wire.dialects.table import MODULES
from wire.manifest import Manifest

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES = {
    **{f"frame.{cls.__struct_config__.tag}": cls for cls in frames.FromExtension.__args__},
    **{f"frame.{cls.__struct_config__.tag}": cls for cls in frames.FromHost.__args__},
    **{f"event.{cls.__struct_config__.tag}": cls for cls in events.AnyRecord.__args__},
}


@cache
def validator(name: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(json.loads((schema.FOLDER / f"{name}.json").read_text()))


def test_the_committed_schemas_are_current():
    assert schema.stale() == []


def test_every_message_has_a_schema():
    assert set(MESSAGES) <= set(schema.definitions())


@pytest.mark.parametrize("name", sorted(schema.definitions()))
def test_each_schema_is_valid(name: str):
    jsonschema_rs.meta.validate(json.loads((schema.FOLDER / f"{name}.json").read_text()))


@given(st.data())
@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_encoded_messages_are_valid(name: str, data: st.DataObject):
    message = plain(data.draw(any_of(MESSAGES[name])))
    validator(name).validate(message)


@given(st.data())
@pytest.mark.parametrize(
    ("name", "union"),
    [
        ("frame.from-extension", frames.FromExtension),
        ("frame.from-host", frames.FromHost),
        ("event", events.AnyRecord),
        ("stats", stats.StatsLine),
        ("control.request", control.Request),
        ("control.reply", control.Reply),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_unions_accept_each_of_their_members(name: str, union: object, data: st.DataObject):
    cls = data.draw(st.sampled_from(union.__args__))
    validator(name).validate(plain(data.draw(any_of(cls))))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("frame.hello", {"type": "hello"}),
        ("frame.hello", {"type": "hello", "name": 5}),
        ("frame.hello", {"type": "helo", "name": "x"}),
        ("frame.tool_result", {"type": "tool_result", "id": "1", "content": "text"}),
        ("frame.tool_result", {"type": "tool_result", "id": "1", "content": [{"text": "no type"}]}),
        ("frame.event_intercept_response", {"type": "event_intercept_response", "id": "1", "block": "yes"}),
        ("frame.tool_call", {"type": "tool_call", "id": "1", "name": "x"}),
        ("event.turn_end", {"type": "turn_end", "stop": "end"}),
        ("event.text_delta", {"type": "text_delta", "delta": None}),
        ("frame.from-extension", {"type": "hello_ack"}),
        ("event", {"type": "fanfare"}),
        ("manifest", {"exec": "x"}),
        ("manifest", {"name": "a", "skills": "x"}),
        ("manifest", {"name": "a/b", "exec": "x"}),
        ("manifest", {"name": "a", "exec": "x", "timeouts": {"hello": 0}}),
        ("manifest", {"name": "a", "exec": "x", "timeouts": {"helo": 1}}),
        ("manifest", {"name": "a", "exec": "x", "on_failure": "maybe"}),
        ("manifest", {"name": "a", "exec": "x", "restart": {"policy": "sometimes"}}),
        ("manifest", {"name": "a", "exec": "x", "restart": {"backoff_s": [1]}}),
        ("manifest", {"name": "a", "exec": "x", "restart": {"no_restart_exit": [256]}}),
        ("manifest", {"name": "a", "exec": "x", "limits": {"rss": 1}}),
        ("manifest", {"name": "a", "exec": "x", "limits": {"processes": 0}}),
        ("manifest", {"name": "a", "exec": "x", "workers": 0}),
        ("manifest", {"name": "a", "exec": "x", "env": ["A-KEY"]}),
        ("manifest", {"name": "a", "exec": "x", "env_policy": "none"}),
    ],
    ids=str,
)
def test_wrong_messages_are_not_valid(name: str, wrong: dict):
    assert not validator(name).is_valid(wrong)


@given(any_of(Manifest), st.sampled_from([*MODULES]))
def test_a_manifest_that_can_be_written_can_be_read(manifest: Manifest, dialect: str):
    fields = plain(manifest) | {"name": "a", "exec": "x", "env": ["A_KEY"], "dialect": dialect}
    validator("manifest").validate(fields)


def test_a_missing_changed_or_foreign_file_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(schema, "FOLDER", tmp_path)
    assert schema.main([]) == 0
    assert schema.stale() == []
    (tmp_path / "event.json").write_text("{}")
    (tmp_path / "frame.hello.json").unlink()
    (tmp_path / "foreign.json").write_text("{}")
    assert schema.stale() == ["event.json", "foreign.json", "frame.hello.json"]
    assert schema.main(["--check"]) == 1
    assert schema.main([]) == 0
    assert schema.main(["--check"]) == 0
