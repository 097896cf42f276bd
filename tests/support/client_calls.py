"""A server of rpc whose client calls tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.rpc_client import serve
from tests.support.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.support.rpc_client import Json, RpcClient, Served


def serve_calls(
    place: Path, script: Callable[[RpcClient], None], *extensions: Path, replies: Sequence[Any] = (), **given: Any
) -> Served:
    """A server with these extensions, and a model with these replies, for the script of a client that has seen their
    start."""

    def seen(client: RpcClient) -> None:
        client.ask("ping")
        for _ in extensions:
            client.until("extension", event="started")
        script(client)

    given = {"extensions": tuple(map(str, extensions)), "extension_wait": 60.0, "drain_s": 60.0, **given}
    return serve(place, ScriptedModel(*replies), seen, **given)


def call(client: RpcClient, tool: str, **args: Any) -> Json:
    """The data of the answer to a call."""
    answer = client.ask("call_tool", name=tool, args=args)
    assert answer["success"], answer
    data: Json = answer["data"]
    return data


def records_of_calls(served: Served) -> list[Json]:
    """The records of calls, also those of the model."""
    return [line for line in served.lines if line["type"] in ("tool_call", "tool_progress", "tool_result")]
