"""Tools, called through the harness: arguments, schemas, handlers of each kind, errors."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from zotext import Extension, RegistrationError, Result, ToolContext, ToolError
from zotext.testing import Harness


def test_an_exception_is_a_clean_error_and_its_traceback_is_on_stderr(ext: Extension, capsys: Any):
    @ext.tool
    def broken(kind: str) -> str:
        if kind == "exit":
            raise SystemExit(3)
        if kind == "told":
            raise ToolError("no such city")
        raise ValueError("boom")

    with Harness(ext) as host:
        answer = host.call_tool("broken", kind="raise")
        assert (answer.is_error, answer.text) == (True, "ValueError: boom")
        assert "raise ValueError" in capsys.readouterr().err
        assert host.call_tool("broken", kind="exit").text == "SystemExit: 3"
        capsys.readouterr()
        answer = host.call_tool("broken", kind="told")
        assert (answer.is_error, answer.text) == (True, "no such city")
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({}, "bad arguments: city: is missing; expected a string"),
        ({"city": 3}, "bad arguments: city: expected a string, got 3"),
        ({"city": "a", "cty": "b"}, "bad arguments: cty: there is no such argument; known are city"),
    ],
)
def test_arguments_are_checked_before_the_call(ext: Extension, args: dict[str, Any], text: str):
    called = []

    @ext.tool
    def weather(city: str) -> None:
        called.append(city)

    with Harness(ext) as host:
        answer = host.call_tool("weather", args)
        assert host.call_tool("no_such_tool").text == "sample has no tool 'no_such_tool'"
    assert (answer.is_error, answer.text, called) == (True, text, [])


def test_a_given_schema_passes_the_arguments_unread(ext: Extension):
    schema = {"type": "object", "properties": {"a": {"type": ["integer", "string"]}}}

    @ext.tool(name="raw", description="As it is.", schema=schema)
    def anything(args: dict, ctx: ToolContext) -> Any:  # type: ignore[type-arg]
        return {"tool": ctx.name, "args": args}

    with Harness(ext) as host:
        assert host.tools["raw"]["schema"] == schema
        assert host.tools["raw"]["description"] == "As it is."
        assert host.call_tool("raw", {"a": "x", "b": 1}).json == {"tool": "raw", "args": {"a": "x", "b": 1}}

    with pytest.raises(RegistrationError, match="with schema= it takes one parameter"):
        ext.tool(name="two", schema=schema)(lambda a, b: None)


def test_methods_wrapped_functions_and_callable_objects_can_be_tools(ext: Extension):
    class Shop:
        def price(self, item: str) -> str:
            """Price of an item."""
            return f"{item}: 1"

        def __call__(self, item: str) -> str:
            return item

    def loud(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> str:
            return function(*args, **kwargs).upper()

        return inner

    ext.tool(Shop().price)
    ext.tool(name="shop")(Shop())

    @ext.tool
    @loud
    def quiet(text: str) -> str:
        return text

    with Harness(ext) as host:
        assert host.tools["price"]["description"] == "Price of an item."
        assert [host.call_tool(name, item="a").text for name in ("price", "shop")] == ["a: 1", "a"]
        assert host.call_tool("quiet", text="a").text == "A"


def test_a_deferred_tool_and_one_that_offers_it(ext: Extension):
    size = {"type": "object", "properties": {"bytes": {"type": "integer"}}}

    @ext.tool(deferred=True, output_schema=size)
    def measure() -> dict[str, int]:
        return {"bytes": 3}

    @ext.tool(exposure="model-only", interactive=True)
    def load() -> Result:
        return Result("there is measure, too", activate=["measure"], structured=[1])

    with Harness(ext) as host:
        options = ("deferred", "exposure", "output_schema", "interactive")
        said = {name: {option: frame.get(option) for option in options} for name, frame in host.tools.items()}
        assert said == {
            "measure": {"deferred": True, "exposure": None, "output_schema": size, "interactive": None},
            "load": {"deferred": None, "exposure": "model-only", "output_schema": None, "interactive": True},
        }
        loaded, measured = host.call_tool("load"), host.call_tool("measure")
    assert (loaded.activated, loaded.structured) == (["measure"], [1])
    assert (measured.json, measured.structured, measured.activated) == ({"bytes": 3}, {"bytes": 3}, [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"exposure": "both"}, "exposure is one of direct, deferred, codemode, model-only, not 'both'"),
        ({"exposure": True}, "exposure is one of direct, deferred, codemode, model-only, not True"),
        ({"output_schema": "object"}, "output_schema is a dict, not str"),
        ({"deferred": "yes"}, "deferred is True or False, not 'yes'"),
        ({"interactive": 1}, "interactive is True or False, not 1"),
    ],
)
def test_an_option_of_a_wrong_type_raises_at_once(ext: Extension, options: dict[str, Any], said: str):
    with pytest.raises(RegistrationError) as caught:
        ext.tool(name="t", **options)(lambda: None)
    assert str(caught.value) == f"tool 't': {said}"
