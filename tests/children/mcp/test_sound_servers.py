"""The sound servers are what the official client takes for MCP servers, in both eras."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
MODERN = "2026-07-28"
REFERENCE = (sys.executable, "-S", str(HERE / "reference.py"))
ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


@pytest.fixture
def sdk() -> Any:
    return pytest.importorskip("mcp", reason="the official client of Python is not installed")


def spoken_to(sdk: Any, argv: tuple[str, ...], talk: Any, mode: str = "auto", **options: Any) -> Any:
    """Returns the result of `talk(client)`, with a client of the official SDK."""

    async def speak() -> Any:
        parameters = sdk.StdioServerParameters(command=argv[0], args=list(argv[1:]))
        async with asyncio.timeout(PATIENCE_S), sdk.Client(parameters, mode=mode, **options) as client:
            return await talk(client)

    return asyncio.run(speak())


def reference(sdk: Any, talk: Any, *flags: str, era: str = "legacy", **options: Any) -> Any:
    mode = MODERN if era == "modern" else "legacy"
    return spoken_to(sdk, (*REFERENCE, "--era", era, *flags), talk, mode, **options)


def text_of(result: Any) -> str:
    assert not result.is_error, result
    return "".join(part.text for part in result.content)


async def all_tools(client: Any) -> list[str]:
    names: list[str] = []
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return names


@pytest.mark.parametrize(
    ("server", "version"),
    [
        ("reference.py", "2025-11-25"),
        ("reference.py --era modern", MODERN),
        ("reference.py --era both", MODERN),
        ("reference.sh", "2025-11-25"),
        ("reference.js", "2025-11-25"),
        ("reference.c", "2025-11-25"),
        ("launcher.sh", "2025-11-25"),
    ],
)
def test_a_client_that_tries_both_eras_calls_echo(sdk, server, version, request):
    file, *flags = server.split()
    if file in ("reference.js", "launcher.sh") and not shutil.which("node"):
        pytest.skip("no node here")
    argv = {
        "reference.py": REFERENCE,
        "reference.js": ("node", str(HERE / file)),
        "reference.sh": ("/bin/sh", str(HERE / file)),
        "launcher.sh": ("/bin/sh", str(HERE / file), "node", str(HERE / "reference.js")),
    }
    program = argv.get(file) or (str(request.getfixturevalue("compiled")("mcp/reference")),)

    async def talk(client: Any) -> None:
        assert client.protocol_version == version
        assert "echo" in await all_tools(client)
        for text in ("", 'q"\\ {}[], \n\té', "x" * 200_000):
            assert text_of(await client.call_tool("echo", {"text": text})) == text

    spoken_to(sdk, (*program, *flags), talk)


@ERAS
def test_each_kind_of_result(sdk, era):
    async def talk(client: Any) -> None:
        await all_tools(client)  # the client checks structured content against the schema that was listed
        total = await client.call_tool("add", {"a": 1, "b": 2})
        assert (total.structured_content, text_of(total)) == ({"sum": 3}, '{"sum": 3}')
        alone = await client.call_tool("structured", {})
        assert (alone.content, alone.structured_content) == ([], {"answer": [1, 2, {"deep": None}]})
        assert (await client.call_tool("nothing", {})).content == []
        failed = await client.call_tool("fail", {"text": "no"})
        assert (failed.is_error, failed.content[0].text) == (True, "no")
        with pytest.raises(sdk.MCPError, match="the arguments do not fit") as refused:
            await client.call_tool("refuse", {})
        assert refused.value.error.code == -32602
        picture = (await client.call_tool("picture", {})).content[0]
        assert (picture.type, picture.mime_type) == ("image", "image/png")
        links = (await client.call_tool("links", {})).content
        assert [part.type for part in links] == ["resource_link", "resource", "resource", "audio"]

    reference(sdk, talk, era=era)


@ERAS
def test_progress_and_a_call_that_is_taken_back(sdk, era):
    async def talk(client: Any) -> None:
        told: list[Any] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total, message))

        result = await client.call_tool("progress", {"steps": 3}, progress_callback=on_progress)
        assert text_of(result) == "3 steps"
        assert told == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]
        begun = asyncio.Event()

        async def on_first(*_: Any) -> None:
            begun.set()

        call = asyncio.ensure_future(
            client.call_tool("progress", {"steps": 10**6, "seconds": 0.01}, progress_callback=on_first)
        )
        await begun.wait()
        call.cancel()
        await asyncio.wait([call])
        (taken_back,) = json.loads(text_of(await client.call_tool("cancelled", {})))
        assert isinstance(taken_back["id"], int)

    reference(sdk, talk, era=era)


@ERAS
def test_prompts(sdk, era):
    async def talk(client: Any) -> None:
        greet, rules = (await client.list_prompts()).prompts
        assert [(one.name, one.required) for one in greet.arguments] == [("name", True), ("tone", None)]
        assert (rules.name, rules.arguments) == ("rules", None)
        greeting = await client.get_prompt("greet", {"name": "Ada"})
        assert greeting.messages[0].content.text == "Greet Ada, plainly."
        assert [message.role for message in (await client.get_prompt("rules")).messages] == [
            "user", "assistant", "user",
        ]  # fmt: skip

    reference(sdk, talk, era=era)


@ERAS
def test_log_messages(sdk, era):
    logged: list[Any] = []

    async def on_log(params: Any) -> None:
        logged.append((params.level, params.data))

    async def talk(client: Any) -> None:
        await client.call_tool("log", {"level": "critical", "data": "fire"})

    options = {"log_level": "info"} if era == "modern" else {}
    reference(sdk, talk, era=era, logging_callback=on_log, **options)
    assert logged == [("critical", "fire")]


def test_a_modern_server_is_silent_to_whom_asked_for_no_log(sdk):
    logged: list[Any] = []

    async def on_log(params: Any) -> None:
        logged.append(params)

    async def talk(client: Any) -> None:
        await client.call_tool("log", {"data": "fire"})

    reference(sdk, talk, era="modern", logging_callback=on_log)
    assert logged == []


def test_pages_early_messages_and_pings_before_the_answer(sdk):
    changes: list[str] = []

    async def on_message(message: Any) -> None:
        changes.append(type(message).__name__)

    async def talk(client: Any) -> None:
        names = await all_tools(client)
        assert (len(names), len(set(names))) == (18, 18)
        assert text_of(await client.call_tool("pongs", {})) == "5000"

    flags = ("--pages", "4", "--early", "--pings", "5000", "--changes", "3")
    reference(sdk, talk, *flags, message_handler=on_message)
    assert changes.count("ToolListChangedNotification") == 4


def test_a_question_to_the_client(sdk):
    async def talk(client: Any) -> None:
        asked = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object"}}}
        answer = json.loads(text_of(await client.call_tool("ask", asked)))
        assert "result" in answer or "error" in answer
        assert json.loads(text_of(await client.call_tool("ask", {"method": "ping"}))) == {"result": {}}

    reference(sdk, talk)


def test_a_list_that_changes_is_told_to_whom_listens(sdk):
    async def talk(client: Any) -> None:
        async with client.listen(tools_list_changed=True) as changes:
            assert changes.honored.tools_list_changed
            await client.call_tool("grow", {"name": "ivy"})
            async for _ in changes:
                break
        assert "ivy" in await all_tools(client)
        assert text_of(await client.call_tool("ivy", {})) == "grown"

    reference(sdk, talk, era="modern")


def test_several_rounds(sdk):
    async def on_question(_context: Any, params: Any) -> Any:
        assert params.message == "Which colour?"
        from mcp_types import ElicitResult

        return ElicitResult(action="accept", content={"colour": "red"})

    async def talk(client: Any) -> None:
        assert text_of(await client.call_tool("rounds", {"times": 3})) == "3 rounds"
        assert "red" in text_of(await client.call_tool("question", {}))

    reference(sdk, talk, era="modern", elicitation_callback=on_question)
