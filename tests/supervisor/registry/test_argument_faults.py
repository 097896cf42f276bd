"""Plainly cheap schemas are checked in the loop, at once; a checker process checks the rest, if one can."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Raw

from supervisor.loop.future import Failure
from supervisor.registry.plain_schema import BYTES_LIMIT, STEPS_LIMIT, fault_at_once
from supervisor.registry.registration import judge_tool
from wire.frames import RegisterTool

if TYPE_CHECKING:
    from supervisor.calls.tool_call import ToolAnswer
    from tests.support.host import Host

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
    "required": ["city"],
    "additionalProperties": False,
}


def fault(schema: dict[str, Any], value: object) -> str | None:
    tool = judge_tool(RegisterTool("tool", schema=Raw(json.dumps(schema).encode())))
    return fault_at_once(tool.schema, tool.plain_parts, json.dumps(value).encode())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"city": "Berlin", "days": [1]}, ""),
        ({}, 'invalid args: /: "city" is a required property'),
        ({"city": 5}, 'invalid args: /city: 5 is not of type "string"'),
        ({"city": "x", "days": [1, "b"]}, 'invalid args: /days/1: "b" is not of type "integer"'),
        (
            {"city": 5, "town": 1},
            'invalid args: /city: 5 is not of type "string"; '
            "/: Additional properties are not allowed ('town' was unexpected)",
        ),
    ],
)
def test_a_mismatch_is_named_by_its_path(value: object, expected: str):
    assert fault(CITY, value) == expected


def test_of_many_faults_some_are_named_and_none_is_long():
    found = fault(CITY, {"city": "x", "days": ["y" * 1000] * 1000})
    assert found is not None
    assert found.count("/days/") == 5
    assert len(found) < 1500
    found = fault(CITY, {"x" * 5000: 1}) or ""
    assert found.endswith(" was unexpected)")


def test_what_takes_many_steps_is_left_to_a_checker():
    days = STEPS_LIMIT // 6 - 3
    assert fault(CITY, {"city": "x", "days": [1] * days}) == ""
    assert fault(CITY, {"city": "x", "days": [1] * (days + 1)}) is None
    assert fault(CITY, {"city": "x" * BYTES_LIMIT}) is None
    assert fault({"properties": {"a": {"$ref": "#"}}}, {}) is None


def test_what_is_no_json_is_not_checked():
    tool = judge_tool(RegisterTool("tool"))
    assert fault_at_once(tool.schema, tool.plain_parts, b"{") == ""


# --- with a real extension ---------------------------------------------------------------------------------------

TOOL = """
send(type="hello", name="x")
send(type="register_tool", name="weather", schema=%r)
send(type="ready")
for frame in frames():
    result(frame, "args " + json.dumps(frame["args"]))
"""
PATTERN = {"type": "object", "properties": {"a": {"pattern": "^x"}}}
HOSTILE = {
    "type": "object",
    "properties": {"x": {
        "$id": "http://x/inner",
        "$ref": "#/$defs/d0",
        "$defs": {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 10} for n in range(11)} | {"d11": {"not": {}}},
    }},
    "$defs": {f"d{n}": {} for n in range(12)},
}  # fmt: skip
"""Its references mean parts of the inner schema, of which each asks ten times for the next one."""
UNCHECKED = "calls of its tool 'weather' are not checked: a check takes more than "
WARNED = [[("warning", f"{UNCHECKED}{limit}")] for limit in ("a second of processor time", "5 s")]
"""The second one only where the check gets less than a fifth of a processor."""


def test_the_extension_is_not_called_with_what_does_not_fit(host: Host):
    host.write("x", TOOL % CITY)
    host.start()
    answer = host.call("weather", city=5)
    assert (answer.frame, answer.reason) == (None, 'invalid args: /city: 5 is not of type "string"')
    assert (host.cost("x").calls, host.cost("x").errors) == (0, 0), "it has done nothing wrong"
    assert host.text("weather", city="Berlin") == 'args {"city": "Berlin"}'
    assert host.said_of("x") == []


def checkers_of(host: Host) -> set[int | None]:
    """The pids of its children that are no workers."""
    workers = {worker.pid for extension in host.supervisor.extensions for worker in extension.all_workers}
    return host.loop.children - workers


def test_a_checker_starts_with_the_first_tool_that_needs_one(host: Host):
    host.write("x", TOOL % CITY)
    host.start()
    assert host.text("weather", city="x")
    assert checkers_of(host) == set()
    host.write("y", (TOOL % PATTERN).replace("weather", "climate"))
    host.supervisor.add(host.found[-1])
    host.until(lambda: host.supervisor.is_settled)
    assert len(checkers_of(host)) == 1
    answer = host.call("climate", a="y")
    assert (answer.failure, answer.reason) == (Failure.INVALID_ARGS, 'invalid args: /a: "y" does not match "^x"')
    assert host.text("climate", a="x") == 'args {"a": "x"}'
    assert len(checkers_of(host)) == 1
    assert host.said_of("y") == []


def test_guards_are_asked_while_a_hostile_schema_is_checked_and_the_call_goes_on_unchecked(host: Host):
    host.write("x", TOOL % HOSTILE)
    host.add("echo")
    host.start()
    answers: list[ToolAnswer] = []
    host.begin_call("weather", b'{"x": 1}', answers.append)
    echoes = 0
    while not answers:
        assert host.text("echo", text="here") == "here"
        echoes += 1
    assert echoes > 10
    assert answers[0].frame is not None, "the extension was called"
    assert host.said_of("x") in WARNED
    assert host.text("weather", x=2) == 'args {"x": 2}', "from now on at once"
    assert host.said_of("x") in WARNED


def test_a_call_that_is_checked_can_be_cancelled(host: Host):
    host.write("x", TOOL % HOSTILE)
    host.start()
    answers: list[ToolAnswer] = []
    calls = [host.begin_call("weather", b'{"x": 1}', answers.append) for _ in range(3)]
    calls[0].cancel("not wanted")
    calls[0].cancel("again")
    assert answers == [], "never from within the call"
    host.until(lambda: answers)
    host.supervisor.cancel_pending("all of them")
    host.until(lambda: len(answers) == 3)
    assert [(answer.failure, answer.reason) for answer in answers] == [
        (Failure.CANCELLED, "not wanted"), (Failure.CANCELLED, "all of them"), (Failure.CANCELLED, "all of them")
    ]  # fmt: skip
    assert host.cost("x").calls == 0


def test_the_end_of_the_host_ends_a_check(host: Host):
    host.write("x", TOOL % HOSTILE)
    host.start()
    answers: list[ToolAnswer] = []
    host.begin_call("weather", b'{"x": 1}', answers.append)
    host.stop()
    host.loop.run_until(lambda: bool(answers))
    assert [answer.failure for answer in answers] == [Failure.CANCELLED]
    assert host.loop.children == set()
