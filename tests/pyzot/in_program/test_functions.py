"""Functions of the program as tools of the model."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading

import pytest

from pyzot import RefusedError
from tests.support.messages_server import text_reply, tool_reply
from tests.support.patience import PATIENCE_S
from tests.support.program_tools import calls, told, weather

pytestmark = pytest.mark.slow


def größe() -> str:
    return "XL"


def test_a_function_is_a_tool_by_its_hints_and_docstring(model, start):
    calls(model, ("weather", {"city": "Oslo"}), ("weather", {"city": "Rome", "days": 3}))
    runtime = start(functions=[weather])
    tool = {tool.name: tool for tool in runtime.tools()}["weather"]
    assert (tool.extension, tool.description) == ("functions", "Tell the weather of a city.")
    result = runtime.run("go", check=True)
    offered = {tool["name"]: tool for tool in model.requests[0].body["tools"]}["weather"]
    assert offered["input_schema"]["required"] == ["city"]
    assert offered["input_schema"]["properties"]["city"]["description"] == "Its name."
    assert told(model) == [("Oslo: 1 sunny day(s)", False), ("Rome: 3 sunny day(s)", False)]
    assert result.extensions["functions"].calls == 2


def test_what_a_function_raises_is_told_to_the_model_and_to_the_program(model, start, capfd):
    calls(model, ("weather", {"city": "Atlantis"}), ("weather", {"town": "Oslo"}))
    start(functions=[weather]).run("go", check=True)
    assert told(model)[0] == ("LookupError: it has sunk", True)
    assert "town" in told(model)[1][0]
    said = capfd.readouterr().err
    assert "Traceback" in said
    assert "in weather" in said


def test_a_coroutine_is_a_tool_of_a_runtime_without_a_loop(model, start):
    async def fetch(url: str) -> str:
        await asyncio.sleep(0)
        return f"{url}: ok"

    calls(model, ("fetch", {"url": "a"}))
    start(functions=[fetch]).run("go", check=True)
    assert told(model) == [("a: ok", False)]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_a_coroutine_that_ends_the_loop_or_stops_it_takes_no_other_along(model, start, error):
    async def leave() -> str:
        raise error("bye")

    async def stop() -> str:
        asyncio.get_running_loop().stop()
        return "stopped"

    calls(model, ("leave", {}), ("stop", {}))
    start(functions=[leave, stop]).run("go", check=True)
    assert told(model) == [(f"{error.__name__}: bye", True), ("stopped", False)]


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ([lambda city: city], "has no name that the model could call it by"),
        ([weather, weather], "two are named 'weather'"),
        ([len], "tool 'len' is a .*: wrap it in a function with type hints"),
        (["weather"], "'weather' is no function"),
        ([größe], "'größe': models take ASCII letters"),
        ([functools.partial(weather, days=2)], "has no name that the model could call it by"),
        ("weather", "functions is a list of functions"),
        (weather, "functions is a list of functions"),
        ([contextlib.suppress], "suppress"),
    ],
)
def test_what_cannot_be_a_tool_is_a_type_error(start, functions, message):
    with pytest.raises(TypeError, match=message):
        start(functions=functions)


def test_a_parameter_without_a_hint_is_a_type_error_that_names_it(start):
    def ask(question):
        return question

    with pytest.raises(TypeError, match=r"tool 'ask': parameter 'question' has no type hint"):
        start(functions=[ask])


def test_a_function_with_the_name_of_a_built_in_tool_is_refused_unless_that_is_left_out(model, start):
    def read(path: str) -> str:
        return f"my {path}"

    with pytest.raises(RefusedError, match="functions: there is a built-in tool 'read'"):
        start(functions=[read])
    calls(model, ("read", {"path": "a"}))
    start(functions=[read], no_tools=True).run("go", check=True)
    assert told(model) == [("my a", False)]


def test_two_hundred_calls_in_a_row_need_no_more_threads_than_one(model, start):
    seen = set()

    def count(number: int) -> int:
        seen.add(threading.current_thread())
        return number

    for first in (0, 100):
        model.add(tool_reply([("count", {"number": number}) for number in range(first, first + 100)]))
    model.add(text_reply("Done."))
    runtime = start(functions=[count])
    assert runtime.run("go", check=True).extensions["functions"].calls == 200
    assert [text for text, _ in told(model, 2)] == [str(number) for number in range(100, 200)]
    assert len(seen) <= 8
    runtime.close()
    for thread in seen:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
