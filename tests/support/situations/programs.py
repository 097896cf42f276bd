"""Situations of a program that drives the agent: with `zot rpc`, or with `pyzot`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyzot import BusyError, RefusedError, Runtime, RuntimeDied, TextDelta
from tests.support.messages_server import stall_midway, text_reply
from tests.support.situations.stage import situation

if TYPE_CHECKING:
    from tests.support.situations.stage import Stage


@situation("zot: rpc: the first line had not the token of ZOTCORE_RPC_TOKEN")
def no_token(stage: Stage) -> str:
    requests = stage.file("requests", '{"type":"ping"}\n')
    with requests.open("rb") as stdin:
        stage.zot.env["ZOTCORE_RPC_TOKEN"] = "a"
        return stage.zot.run("rpc", stdin=stdin).stderr


def runtime(stage: Stage, **options: Any) -> Runtime:
    return Runtime(
        program=stage.zot.command, env=stage.zot.env, cwd=stage.zot.cwd, base_url=stage.server.base_url, api_key="k",
        **options,
    )  # fmt: skip


@situation("RuntimeDied: zot ended with exit status …: …")
def a_wrong_option(stage: Stage) -> str:
    with pytest.raises(RuntimeDied) as error:
        runtime(stage, ext=["no-such-folder"])
    return f"RuntimeDied: {error.value}"


@situation("BusyError: a prompt of this runtime runs; …")
def a_second_prompt(stage: Stage) -> str:
    stage.server.add(stall_midway(text_reply("Once upon a time"), after=4))
    with runtime(stage) as zot, zot.prompt("a story") as events:
        next(event for event in events if isinstance(event, TextDelta))
        with pytest.raises(BusyError) as error:
            zot.run("another one")
    return f"BusyError: {error.value}"


@situation("RefusedError: a line of … bytes is over the limit of 16 MiB")
def too_many_images(stage: Stage) -> str:
    image = b"GIF89a" + bytes(3_700_000)
    with runtime(stage) as zot, pytest.raises(RefusedError) as error:
        zot.run("what do they show?", [image] * 4)
    return f"RefusedError: {error.value}"
