"""Situations of an extension: its manifest, its start, its calls, its end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.extension_folder import folder
from tests.support.replay_script import Script
from tests.support.situations.stage import situation, situations
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.situations.stage import Stage

ONCE = {"policy": "temporary"}
QUICK = {"hello": 0.5, "tool_call": 0.3, "intercept": 0.3}


def started(stage: Stage, needed: tuple[str, dict[str, object]]) -> str:
    """The stderr of a run with one of the children, with these fields in its manifest."""
    child, manifest = needed
    return stage.answered("--ext-wait", "120", "-e", stage.extension(child, **manifest)).stderr


situations(
    started,
    {
        "zot: extension …: said no hello within …": ("silent", {"timeouts": QUICK, "restart": ONCE}),
        "zot: extension …: it exited before its hello (exit 3): …": ("exits_before_hello", {"restart": ONCE}),
        "zot: extension …: its first frame must be hello, not …": ("first_frame_not_hello", {"restart": ONCE}),
        "zot: extension …: writes lines that are not messages to its stdout; they are skipped and counted": (
            "junk_between",
            {},
        ),
        "zot: extension …: the definitions of its … tools take about … tokens of every request to the model; …": (
            "large_tools",
            {},
        ),
        "zot: extension …: extension.json: nothing reads the fields …": ("echo", {"prority": 5, "author": "me"}),
        "… no such field; did you mean 'on_failure'? It is not started: …": ("echo", {"onFailure": "deny"}),
        "zot: extension … is required and could not be started: …": (
            "exits_before_hello",
            {"required": True, "restart": ONCE},
        ),
    },
)


def called(stage: Stage, extension: Path, tool: str, *, times: int = 1) -> str:
    """The stderr of a run whose model calls a tool of the extension. The tool's result may differ from the cassette."""
    script = Script(stage.zot.cwd, extra={tool: ""})
    for _ in range(times):
        script.call((tool, {}), results=[("", False)])
    cassette = script.answer("Done.").write(stage.zot.folder / "cassette.jsonl")
    return stage.zot.run("-p", "--ext-wait", "120", "--replay", cassette, "-e", extension, "go").stderr


@situation("zot: extension …: cannot start …: not executable (chmod +x …)")
def not_executable(stage: Stage) -> str:
    made = folder(stage.zot.folder, "x", ["./run"])
    (made / "run").write_text("#!/bin/sh\n")
    return stage.answered("-e", made).stderr


@situation("zot: extension …: it ended (exit 7) with 1 call pending: …")
def dies(stage: Stage) -> str:
    return called(stage, stage.extension("dies_in_call", restart=ONCE), "die")


@situation("… exits in … s, last exit 3: …; given up: zot ext restart … tries again")
def crashes_again_and_again(stage: Stage) -> str:
    restart = {"backoff_s": [0.01, 0.01], "max": 2}
    with stage.zot.start("host", "-e", stage.extension("exits_before_hello", restart=restart)) as host:
        wait_until(lambda: "given up" in host.errors())
        return host.errors()


@situation("zot: extension …: its tool … failed: no answer within … s")
def no_answer(stage: Stage) -> str:
    return called(stage, stage.extension("never_answers", timeouts=QUICK, restart=ONCE), "hang")


@situation("zot: extension load: …: exec is required, or skills, or a theme.json")
def no_exec(stage: Stage) -> str:
    made = stage.zot.home / "extensions" / "x"
    made.mkdir(parents=True)
    (made / "extension.json").write_text(json.dumps({"name": "x"}))
    return stage.answered().stderr


@situation("zot: extension …: its tool '…' is hidden: extension … has that name")
def two_tools_of_one_name(stage: Stage) -> str:
    both = [stage.extension("echo", name=name) for name in ("a", "b")]
    return stage.answered("--ext-wait", "120", "-e", both[0], "-e", both[1]).stderr


@situation("zot: extension …: cannot start …: no such program on PATH …")
def no_such_program(stage: Stage) -> str:
    return stage.answered("-e", folder(stage.zot.folder, "x", ["pyhton3", "main.py"])).stderr


@situation("zot: extension … starts without … (secrets by their names; shown once). …")
def withheld(stage: Stage) -> str:
    return stage.zot.run(*stage.replay(), "-e", stage.extension("echo"), "go", env={"GITHUB_TOKEN": "x"}).stderr


@situation("zot: no extension that runs has the command '/x'; extension … did not start: …")
def command_of_one_that_did_not_start(stage: Stage) -> str:
    return stage.zot.run("-p", "-e", stage.extension("exits_before_hello"), "/x").stderr


@situation("… it is over its limits: …")
def over_its_limits(stage: Stage) -> str:
    limits = {"frames_per_s": 1, "breaches": 1, "action": "stop"}
    with stage.zot.start("host", "-e", stage.extension("flood_notify", limits=limits)) as host:
        wait_until(lambda: "over its limits" in host.errors())
        return host.errors()
