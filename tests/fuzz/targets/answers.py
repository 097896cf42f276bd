"""Schemas of answers, which a user writes, and the answers, which a model writes."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from agent.answers.checked_text import repair_request
from agent.answers.schema import AnswerSchema, AnswerSchemaError
from tests.fuzz import seeds
from tests.fuzz.target import Target, with_file
from wire import events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "files": {"type": "array", "items": {"$ref": "#/$defs/file"}, "uniqueItems": True, "maxItems": 9},
        "kind": {"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["x", None]}]},
        "name": {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$", "maxLength": 40},
    },
    "required": ["files"],
    "additionalProperties": False,
    "$defs": {"file": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}},
}
OLD = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"const": 1}], "additionalItems": False}
ANSWERS = (
    '{"files": [{"path": "a"}, {"path": "b"}], "kind": 2, "name": "a-b"}',
    '```json\n{"files": [],\n "kind": null}\n```',
    "Here it is:\n```\n{}\n```",
    '{"files": [{"path": 1}, {}], "kind": "y", "more": 1.5e3}',
)


@with_file("schema.json")
def schemas(file: Path) -> None:
    """A file is a schema that texts are held against, or is refused."""
    try:
        schema = AnswerSchema(str(file))
    except AnswerSchemaError:
        return
    for text in ANSWERS:
        schema.check(text)


@contextmanager
def answers(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """A text is an answer whose JSON fits into a record, or the model is told in few words what is wrong."""
    path = folder / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    schema = AnswerSchema(str(path))

    def take(data: bytes) -> None:
        verdict = schema.check(data.decode("utf-8", "replace"))
        if not verdict.fits:
            assert len(repair_request(verdict)) < 12_000
            return
        value = msgspec.json.decode(verdict.text)
        assert isinstance(verdict.answer, msgspec.Raw)
        assert msgspec.json.decode(bytes(verdict.answer)) == value
        used = events.Totals(0, 0, 0, 0)
        result = events.Result("ok", 0, "", verdict.text, 1, used, None, 1, "s", {}, verdict.answer)
        line = events.encode(result)
        assert line.count(b"\n") == line.endswith(b"\n")

    yield take


TARGETS = (
    Target("answer_schemas", lambda: [seeds.as_line(SCHEMA), seeds.as_line(OLD)], schemas, 500, share=0.3),
    Target("answers", lambda: [text.encode() for text in ANSWERS], answers, 1250),
)
