"""A program that type checkers read; it is never run. Each `type: ignore` is a mistake that they must find."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from pyzot import (
    AnyEvent,
    AssistantMessage,
    AssistantStart,
    AsyncBatch,
    AsyncHost,
    AsyncRuntime,
    Batch,
    BatchSummary,
    ClearNotes,
    Command,
    CompactDone,
    CompactStart,
    Done,
    Error,
    ExtDisplay,
    ExtensionNotice,
    ExtInsert,
    ExtNotify,
    Host,
    PanelClose,
    PanelOpen,
    PanelRender,
    PermissionAnswered,
    PermissionAsked,
    Result,
    Retry,
    Runtime,
    RuntimeDied,
    Session,
    Stats,
    TextContent,
    TextDelta,
    ToolCall,
    ToolError,
    ToolProgress,
    ToolResult,
    ToolUseArgs,
    ToolUseEnd,
    ToolUseStart,
    TurnEnd,
    TurnStart,
    UnknownEvent,
    Usage,
    UserMessage,
)


def shown(event: AnyEvent) -> str:
    match event:
        case TextDelta(delta):
            return delta.upper()
        case ToolCall(id=id_, name=name):
            return id_ + name
        case Usage(cost_usd=None):
            return "?"
        case UserMessage(content=(TextContent(text), *_)):
            return text
        case Result(status="ok", text=text, usage=usage):
            return f"{text} {usage.input + 1}"
        case UnknownEvent(kind, members):
            return kind.upper() + str(members.get("x"))
        case _:
            return event.type + event.prompt + event.raw.decode()


def is_of_the_model(event: AnyEvent) -> bool:
    match event:
        case TextDelta() | ToolUseArgs() | ToolUseEnd() | ToolUseStart() | AssistantMessage() | AssistantStart():
            return True
        case UserMessage() | TurnStart() | TurnEnd() | Usage() | ToolCall() | ToolProgress() | ToolResult() | Error():
            return False
        case Done() | Session() | ExtensionNotice() | Retry() | Command() | ExtNotify() | ClearNotes() | ExtDisplay():
            return False
        case ExtInsert() | PanelOpen() | PanelRender() | PanelClose() | Result() | UnknownEvent():
            return False
        case CompactStart() | CompactDone() | PermissionAsked() | PermissionAnswered():
            return False
        case _:
            assert_never(event)


def tool() -> str:
    raise ToolError("no")


def decide(question: PermissionAsked) -> bool | str:
    return question.event == "tool_call" and f"{question.reason.upper()} {question.id}"


async def decide_asynchronously(question: PermissionAsked) -> bool:
    return question.tool_name == "read"


def use() -> None:
    try:
        with Runtime(permission=decide, model="x", tools=["read"], timeout=3, ext=["./a"], reasoning="low") as zot:
            for event in zot.prompt("hi", images=[b"", "path", {"mime_type": "x", "data": "y"}]):
                print(shown(event), is_of_the_model(event))
            result = zot.run("x", check=True)
            print(result.extensions["a"].cpu_ms + 1, zot.cost.cost_usd, zot.state().usage.input)
            print([tool.schema["type"] for tool in zot.tools()], zot.compact().upper(), zot.steer("x") is True)
    except RuntimeDied as error:
        print(error.exit_status + 1, error.stderr[0].upper())


async def use_asynchronously() -> None:
    async with AsyncRuntime(model="x", permission=decide_asynchronously) as zot, AsyncHost(3) as host:
        async for event in zot.prompt("hi"):
            print(shown(event))
        print((await zot.run("x")).text, (await zot.cost()).input)
        print((await host.call("x", {"a": 1})).is_error)
        async for item in host.watch(stats_s=1):
            match item:
                case Stats(extensions=extensions):
                    print(extensions["x"].rss_bytes + 1)
                case ExtensionNotice():
                    print(item.event)
                case _:
                    pass
    zot = await AsyncRuntime()
    await zot.close()


def heard(task: str, attempt: int, event: AnyEvent) -> None:
    print(task.upper(), attempt + 1, shown(event))


def evaluate() -> BatchSummary:
    tasks = [{"id": "a", "prompt": "b", "meta": {"n": 1}, "cwd": Path("c")}]
    Batch(["hi", {"prompt": "b"}], Path("runs"), redo="failed", model="x").close()
    with Batch(tasks, "runs", jobs=4, workspace="copy", on_event=heard, output_schema={}, deadline=3) as batch:
        for result in batch:
            print(result.text.upper(), result.usage.input + 1, result.extensions["a"].cpu_ms, result.meta["n"])
            print(result.check.output.upper() if result.check else result.cost_usd)
        batch.drain()
        return batch.wait()


async def evaluate_asynchronously() -> BatchSummary:
    async with AsyncBatch(["hi"], "runs") as batch:
        async for result in batch:
            print(result.id.upper())
        return await batch.wait()


def mistaken() -> None:
    Batch(["x"], "runs", job=4)  # type: ignore[call-arg]
    Batch(["x"], "runs", workspace="none")  # type: ignore[arg-type]
    Batch([5], "runs")  # type: ignore[list-item]
    Runtime(permission=lambda question: question.id + 1)  # type: ignore[operator]
    Runtime(permission=decide("x"))  # type: ignore[arg-type]
    Runtime(modle="x")  # type: ignore[call-arg]
    Runtime(timeout="3")  # type: ignore[arg-type]
    Runtime(reasoning="huge")  # type: ignore[arg-type]
    Host("x")  # type: ignore[arg-type]
    TextDelta("x").delta = "y"  # type: ignore[misc]
    TextDelta(dleta="x")  # type: ignore[call-arg]
    from pyzot import Runtme  # type: ignore[attr-defined]

    Runtme()
