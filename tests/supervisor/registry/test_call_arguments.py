"""Arguments that readers could understand in different ways, or that no request could carry, are not sent."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from supervisor.registry.plain_schema import unfit_reason
from tests.support.any_message import JSON
from wire.lenient_json import ARGUMENTS_DEPTH


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (b"{", "invalid args: not valid JSON: "),
        (b"[1]", "invalid args: must be a JSON object, not [1]"),
        (b"null", "invalid args: must be a JSON object, not null"),
        (nested(ARGUMENTS_DEPTH + 1), "invalid args: nested deeper than 100 levels"),
        (nested(900), "invalid args: nested deeper than 100 levels"),
        (nested(100_000), "invalid args: not valid JSON: "),
        (b'{"a":' + b"[" * 1000 + b"]" * 1000 + b',"a":1}', "invalid args: nested deeper than 100 levels"),
        (b'{"command": "ls", "command": "rm -rf /"}', 'invalid args: the name "command" occurs twice in one object'),
        (b'{"command": 1, "\\u0063ommand": 2}', 'the name "command" occurs twice'),
        (b'{"edits": [{"oldText": "a", "b": 1, "oldText": "a"}]}', 'the name "oldText" occurs twice'),
    ],
    ids=lambda value: str(value[:40]),
)
def test_unfit(args: bytes, reason: str):
    assert (unfit_reason(args) or "").startswith(reason) or reason in (unfit_reason(args) or "")


@pytest.mark.parametrize(
    "args",
    [b"{}", nested(ARGUMENTS_DEPTH), b'{"a": {"x": 1}, "b": {"x": 1}}', b'{"n": 123456789012345678901234567890}'],
)
def test_what_fits(args: bytes):
    assert unfit_reason(args) is None


@given(JSON)
def test_every_object_fits_and_nothing_else(value: object):
    assert (unfit_reason(json.dumps(value).encode()) is None) == isinstance(value, dict)
