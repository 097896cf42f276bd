"""The fields of `register_tool` that zot has got since May 2026: what they do here, and what bad ones do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Raw

from supervisor.registry.registration import SCHEMA_LIMIT, RegistrationError, judge_output_schema, judge_tool
from wire.frames import RegisterTool

if TYPE_CHECKING:
    from tests.support.host import Host

REGISTERS = """
send(type="hello", name="x")
for fields in json.loads(%r):
    send(type="register_tool", **fields)
send(type="ready")
for frame in frames():
    pass
"""


def registers(host: Host, *tools: dict[str, Any]) -> Host:
    host.write("x", REGISTERS % json.dumps(tools))
    return host.start()


@pytest.mark.parametrize(
    ("fields", "is_deferred"),
    [
        ({}, False),
        ({"deferred": True}, True),
        ({"exposure": "deferred"}, True),
        ({"exposure": "", "deferred": True}, True),
        ({"exposure": "direct", "deferred": True}, False),
        ({"exposure": "codemode", "deferred": True}, False),
        ({"exposure": "model-only"}, False),
    ],
)
def test_an_exposure_counts_before_deferred(fields: dict[str, Any], is_deferred: bool):
    assert judge_tool(RegisterTool("t", **fields)).is_deferred is is_deferred


@pytest.mark.parametrize("replay", [None, "never", "safe", "idempotent", "reconcile", "often"])
def test_a_call_that_is_safe_to_replay_may_be_repeated(replay: str | None):
    """`idempotent` means: with an operation key, which this host does not send."""
    assert judge_tool(RegisterTool("t", replay=replay)).retry is (replay == "safe")


def test_an_unknown_exposure_skips_the_tool_and_names_the_near_one(host: Host):
    registers(host, {"name": "a", "exposure": "defered"}, {"name": "b", "exposure": "x" * 10_000}, {"name": "c"})
    assert host.tools() == {"c"}
    first, second = host.said_of("x")
    known = "direct, deferred, codemode, model-only"
    assert (
        first[1] == f"tool 'a': exposure 'defered' is not one of {known}; did you mean 'deferred'?; the tool is skipped"
    )
    assert len(second[1]) < 300


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("deferred", "yes"), ("exposure", 5), ("exposure", ["direct"]), ("interactive", 1), ("namespace", {}),
        ("namespace_description", 5), ("namespace_instructions", []), ("replay", True),
    ],
)  # fmt: skip
def test_a_field_of_another_type_skips_the_tool_and_is_named(host: Host, field: str, value: Any):
    registers(host, {"name": "bad", field: value}, {"name": "good"})
    assert host.tools() == {"good"}
    ((_, said),) = host.said_of("x")
    assert said.startswith("bad register_tool frame: ")
    assert said.endswith(f"`$.{field}`; ignored")


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        (5, "must be a JSON Schema object, not int"),
        ([], "must be a JSON Schema object, not list"),
        ({"type": "objekt"}, "is not valid JSON Schema"),
        ({"x": "y" * SCHEMA_LIMIT}, f"is larger than {SCHEMA_LIMIT} bytes"),
        ({"enum": [0] * 30_000}, "has more than 20000 values"),
    ],
)
def test_a_bad_output_schema_is_dropped_with_a_line_and_the_tool_stays(host: Host, schema: Any, fault: str):
    registers(host, {"name": "t", "output_schema": schema})
    assert host.extension("x").tools["t"].output_schema is None
    ((_, said),) = host.said_of("x")
    assert said.startswith(f"tool 't': output_schema {fault}")
    assert said.endswith("; the tool is kept without it")


@pytest.mark.parametrize("schema", [{"type": "array"}, {"anyOf": [{"type": "string"}]}, {}])
def test_an_output_schema_may_be_one_of_any_value(schema: Any):
    assert judge_output_schema(RegisterTool("t", output_schema=Raw(json.dumps(schema).encode()))) == schema


def test_null_is_no_output_schema_and_broken_json_is_a_fault():
    assert judge_output_schema(RegisterTool("t", output_schema=Raw(b"null"))) is None
    with pytest.raises(RegistrationError, match="is nested deeper than 100 levels"):
        judge_output_schema(RegisterTool("t", output_schema=Raw(b'{"a":' * 500 + b"1" + b"}" * 500)))


def test_fields_without_effect_are_named_once_in_the_log(host: Host):
    fields = {"namespace": "n", "namespace_description": "d", "replay": "reconcile"}
    registers(host, {"name": "a", **fields}, {"name": "b", **fields, "exposure": "codemode"})
    assert host.said_of("x") == []
    log = host.log("x")
    assert "tool 'a': namespace, namespace_description, replay 'reconcile' have no effect here" in log
    assert "tool 'b': exposure \"codemode\" has no effect here" in log
    assert log.count("no effect") == 2
