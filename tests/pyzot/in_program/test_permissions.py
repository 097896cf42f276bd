"""The program decides where a guard leaves the decision to a person."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

import pytest

from pyzot import AsyncRuntime, ClosedError, PermissionAnswered, PermissionAsked, Runtime
from pyzot.in_program.permissions import REASON_LENGTH
from tests.support.messages_server import tool_reply
from tests.support.patience import PATIENCE_S
from tests.support.program_tools import calls, told, weather
from zotext import Extension, ask

OSLO = ("weather", {"city": "Oslo"})
SUN = ("Oslo: 1 sunny day(s)", False)


def refused(reason=""):
    return (f"the user refused{reason} (guard guard asked: it is far)", True)


@pytest.fixture
def asking(guard):
    """A guard that asks about each call."""

    @guard.intercept_tool_call
    def judge(call):
        return ask("it is far")

    return guard


@pytest.fixture
def start(asking, options):
    made = []

    def begin(**more):
        made.append(Runtime(extensions=[asking], functions=[weather], **{**options, **more}))
        return made[-1]

    yield begin
    for runtime in made:
        runtime.close()


# --- threads ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decision", "result"),
    [
        (True, SUN),
        (False, refused()),
        ("", refused()),
        ("stay here", refused(": stay here")),
    ],
)
def test_what_it_returns_decides(model, start, decision, result):
    calls(model, OSLO)
    asked, events = [], []

    def decide(question):
        asked.append((question, threading.current_thread()))
        return decision

    runtime = start(permission=decide)
    events = list(runtime.prompt("go"))
    assert told(model) == [result]
    ((question, thread),) = asked
    assert (question.extension, question.event, question.reason) == ("guard", "tool_call", "it is far")
    assert (question.tool_name, question.args, question.text) == ("weather", {"city": "Oslo"}, None)
    assert thread is not threading.main_thread()
    seen = [event for event in events if isinstance(event, (PermissionAsked, PermissionAnswered))]
    word = "allowed" if decision is True else "denied"
    assert seen == [question, PermissionAnswered(question.id, word, decision if isinstance(decision, str) else "")]


@pytest.mark.parametrize("wrong", [None, 1, 0, ["yes"], {}], ids=repr)
def test_anything_else_denies_and_is_shown(model, start, wrong, capfd):
    calls(model, OSLO)
    start(permission=lambda _question: wrong).run("go", check=True)
    assert told(model) == [refused(": the decision of the program failed: TypeError")]
    assert f"TypeError: permission returned {wrong!r}" in capfd.readouterr().err


@pytest.mark.parametrize("error", [LookupError("gone"), SystemExit(1), KeyboardInterrupt()], ids=repr)
def test_an_exception_denies_and_is_shown(model, start, error, capfd):
    calls(model, OSLO, OSLO)

    def decide(_question):
        raise error

    start(permission=decide).run("go", check=True)
    name = type(error).__name__
    assert told(model) == [refused(f": the decision of the program failed: {name}")] * 2
    said = capfd.readouterr().err
    assert said.count("Traceback") == 2
    assert "in decide" in said
    assert name in said


def test_a_long_reason_is_cut(model, start):
    calls(model, OSLO)
    start(permission=lambda _question: "x" * (REASON_LENGTH + 5)).run("go", check=True)
    assert told(model)[0][0].startswith("the user refused: xxx")


def test_an_object_that_is_no_function_is_refused_at_once(options):
    with pytest.raises(TypeError, match="permission is a function, not True"):
        Runtime(permission=True, **options)


def test_without_it_nothing_is_asked(model, start):
    calls(model, OSLO)
    events = list(start().prompt("go"))
    assert not [event for event in events if isinstance(event, PermissionAsked)]
    assert "no user can be asked here" in told(model)[0][0]


def test_it_may_take_its_time_and_ask_the_runtime_meanwhile(model, start):
    """The reading thread goes on: other requests are answered, and handlers run."""
    calls(model, OSLO)
    runtime = None

    def decide(_question):
        assert runtime.state().busy
        return any(tool.name == "weather" for tool in runtime.tools())

    runtime = start(permission=decide)
    runtime.run("go", check=True)
    assert told(model) == [SUN]


def test_a_decision_about_a_prompt_that_was_cancelled_meanwhile_counts_for_nothing(model, start):
    calls(model, OSLO)
    asked, goes_on = threading.Event(), threading.Event()

    def decide(_question):
        asked.set()
        assert goes_on.wait(PATIENCE_S)
        return True

    runtime = start(permission=decide)
    stream = runtime.prompt("go")
    seen = []
    for event in stream:
        seen.append(event)
        if isinstance(event, PermissionAsked):
            assert asked.wait(PATIENCE_S)
            runtime.cancel()
    assert [event.decision for event in seen if isinstance(event, PermissionAnswered)] == ["cancelled"]
    goes_on.set()
    assert runtime.run("again").text == "Done."


def test_a_coroutine_decides_in_a_runtime_without_a_loop(model, start):
    calls(model, OSLO)

    async def decide(question):
        await asyncio.sleep(0)
        return question.tool_name == "weather"

    start(permission=decide).run("go", check=True)
    assert told(model) == [SUN]


def test_a_runtime_closes_while_a_question_is_open(model, start):
    calls(model, OSLO)
    asked, goes_on = threading.Event(), threading.Event()

    def decide(_question):
        asked.set()
        goes_on.wait(PATIENCE_S)
        return True

    runtime = start(permission=decide)
    stream = runtime.prompt("go")
    assert asked.wait(PATIENCE_S)
    runtime.close()
    goes_on.set()
    stream.close()


# --- asyncio ----------------------------------------------------------------------------------------------------


def test_a_coroutine_runs_on_the_loop_of_the_program(model, options, asking):
    async def main():
        lock = asyncio.Lock()  # of this loop alone

        async def decide(question):
            async with lock:
                assert threading.current_thread() is threading.main_thread()
                return question.args["city"] == "Oslo" or "too far"

        given = {"extensions": [asking], "functions": [weather], "permission": decide}
        async with AsyncRuntime(**given, **options) as zot:
            await zot.run("go", check=True)

    calls(model, OSLO, ("weather", {"city": "Rome"}))
    asyncio.run(main())
    assert told(model) == [SUN, refused(": too far")]


def test_a_coroutine_is_cancelled_with_its_question(model, options, asking):
    async def main():
        asked, cancelled = asyncio.Event(), asyncio.Event()

        async def decide(_question):
            asked.set()
            try:
                return await asyncio.Event().wait()
            finally:
                cancelled.set()

        given = {"extensions": [asking], "functions": [weather], "permission": decide}
        async with AsyncRuntime(**given, **options) as zot:
            run = asyncio.create_task(zot.run("go"))
            await asyncio.wait_for(asked.wait(), PATIENCE_S)
            zot.cancel()
            await asyncio.wait_for(cancelled.wait(), PATIENCE_S)
            assert (await run).status == "interrupted"
            asked.clear(), cancelled.clear()
            run = asyncio.create_task(zot.run("again"))
            await asyncio.wait_for(asked.wait(), PATIENCE_S)
            await zot.close()
            await asyncio.wait_for(cancelled.wait(), PATIENCE_S)
            with suppress(ClosedError):  # the abort may be quicker than the end
                assert (await run).status == "interrupted"

    model.add(tool_reply([OSLO]), tool_reply([OSLO]))
    asyncio.run(main())


def test_a_coroutine_that_fails_denies_and_is_shown(model, options, asking, capfd):
    async def main():
        async def decide(_question):
            raise LookupError("gone")

        given = {"extensions": [asking], "functions": [weather], "permission": decide}
        async with AsyncRuntime(**given, **options) as zot:
            await zot.run("go", check=True)

    calls(model, OSLO)
    asyncio.run(main())
    assert told(model) == [refused(": the decision of the program failed: LookupError")]
    assert "LookupError: gone" in capfd.readouterr().err


def test_questions_of_extensions_are_put_at_the_same_time(model, options, asking):
    """Two calls that an extension makes, each with its own question."""
    caller = Extension("caller")

    @caller.command
    def both() -> str:
        with_threads = [threading.Thread(target=look, args=(city,)) for city in ("Oslo", "Rome")]
        for thread in with_threads:
            thread.start()
        for thread in with_threads:
            thread.join(PATIENCE_S)
        return " and ".join(sorted(texts))

    texts = []

    def look(city):
        texts.append(caller.call_tool("weather", {"city": city}).text)

    async def main():
        both_asked = asyncio.Barrier(2)

        async def decide(_question):
            async with asyncio.timeout(PATIENCE_S):
                await both_asked.wait()
            return True

        given = {"extensions": [asking, caller], "functions": [weather], "permission": decide}
        async with AsyncRuntime(**given, **options) as zot:
            return (await zot.command("/both")).text

    assert asyncio.run(main()) == "Oslo: 1 sunny day(s) and Rome: 1 sunny day(s)"
