"""How many files a stranger opens to follow one thing through the product: `python -m benchmarks.journeys [CHECKOUT]`.

Each journey is a real run of `zot`; counted are the files of the product with a function that runs on the way. With a
checkout the same is counted there and shown beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.copilot.contenders import SDK
from benchmarks.workshop import PROGRAMS, ROOT, Workshop
from tests.support.messages_server import MessagesServer, text_reply, tool_reply

if TYPE_CHECKING:
    from collections.abc import Iterable

TIMEOUT_S = 120.0
RUNS = 5
"""Runs of each journey. Timers that happen to fall into one are no part of it: only files of all runs count."""
PACKAGES = ("wire/", "supervisor/", "agent/", "cli/", "pyzot/")
BELOW_THE_AGENT = ("wire/", "supervisor/")
FLOOR = (
    "supervisor/loop/", "supervisor/accounting/", "supervisor/control/", "wire/framing/", "wire/lenient_json.py",
    "wire/text.py",
)  # fmt: skip
"""Files that know nothing of calls. Journeys below the agent do not count them."""
DENYING = """import { joinSession } from "@github/copilot-sdk/extension";
const decision = { permissionDecision: "deny", permissionDecisionReason: "not here" };
await joinSession({ hooks: { onPreToolUse: async () => decision } });
"""


class Journey(NamedTuple):
    name: str
    begin: str
    """The qualified names of the function that it begins with, in checkouts of any age, between spaces. It ends when
    that returns."""
    rooms: tuple[str, ...]
    """Only files below these folders count."""
    call: tuple[str, dict[str, str]] | None = None
    """The tool that the model calls, with its arguments."""
    goes_on: bool = False
    """Whether it goes on when `begin` returns."""

    @property
    def needs_sdk(self) -> bool:
        return self.call is not None and self.call[0] == "bash"


JOURNEYS = (
    Journey("a tool call", "ToolCalls.run", PACKAGES, ("weather", {"city": "Bern"})),
    Journey("a task of a batch", "Attempts.start", ("agent/batch/", "wire/batch/"), goes_on=True),
    Journey("an MCP tool, below the agent", "ToolCalls.run", BELOW_THE_AGENT, ("mcp__m__outline", {"path": "m.py"})),
    Journey(
        "a Copilot verdict",
        "Supervisor.intercept VerdictRequests.judge",
        BELOW_THE_AGENT,
        ("bash", {"command": "true"}),
    ),
)


def command_of(journey: Journey, checkout: Path, folder: Path) -> list[str]:
    """The arguments of `zot`, whose files are made in `folder`."""
    if journey.call is None:
        (folder / "tasks.jsonl").write_text('{"id":"one","prompt":"say ok"}\n')
        return ["batch", "tasks.jsonl", "-o", "runs", "-q"]
    if journey.call[0] == "weather":
        return ["-p", "-e", str(checkout / "examples" / "extensions" / "weather"), "go on"]
    if journey.needs_sdk:
        guard = folder / "guard"
        (guard / "node_modules" / "@github").mkdir(parents=True)
        (guard / "extension.mjs").write_text(DENYING)
        (guard / "node_modules" / "@github" / "copilot-sdk").symlink_to(SDK)
        return ["-p", "-e", str(guard), "go on"]
    (folder / "m.py").write_text("def one(): pass\n")
    server = {"command": sys.executable, "args": [str(checkout / "examples" / "mcp" / "outline.py")]}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"m": server}}))
    return ["-p", "--mcp-config", "mcp.json", "go on"]


def steady_files(journey: Journey, checkout: Path, folder: Path, runs: int) -> set[str]:
    """The files that every run of the journey passes."""
    return set.intersection(*(files_of(journey, checkout, folder / str(run)) for run in range(runs)))


def files_of(journey: Journey, checkout: Path, folder: Path) -> set[str]:
    """The files of this journey, relative to the checkout. Raises `RuntimeError` if it did not take place."""
    work, site, out = folder / "work", folder / "site", folder / "out"
    for each in (work, site):
        each.mkdir(parents=True)
    shutil.copy(PROGRAMS / "journey_trace.py", site / "sitecustomize.py")
    replies = [text_reply("done")] if journey.call is None else [tool_reply([journey.call]), text_reply("done")]
    with MessagesServer(*replies) as server:
        env = {
            **os.environ,
            "PYTHONPATH": f"{site}{os.pathsep}{checkout}",
            "ZOT_HOME": str(folder / "home"),
            "ANTHROPIC_BASE_URL": server.base_url,
            "ANTHROPIC_API_KEY": "key",
            "JOURNEY_ROOT": f"{checkout}{os.sep}",
            "JOURNEY_OUT": str(out),
            "JOURNEY_FROM": journey.begin,
            **({"JOURNEY_ON": "1"} if journey.goes_on else {}),
        }
        argv = [sys.executable, "-m", "pyzot", *command_of(journey, checkout, work)]
        done = subprocess.run(argv, cwd=work, env=env, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0 or server.unused or not out.exists():
        raise RuntimeError(f"{journey.name}: zot ended with {done.returncode}, files {out.exists()}: {done.stderr}")
    floor = FLOOR if journey.rooms is BELOW_THE_AGENT else ()
    return {
        name for name in out.read_text().splitlines() if name.startswith(journey.rooms) and not name.startswith(floor)
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journeys", description=__doc__)
    parser.add_argument("checkout", nargs="?", type=Path, help="another checkout, to count there, too")
    parser.add_argument("--files", action="store_true", help="name the files")
    parser.add_argument("--quick", action="store_true", help="a smoke test: one run of each, with timers in it")
    options = parser.parse_args(argv)
    trees = [ROOT, *([options.checkout.resolve()] if options.checkout else ())]
    with Workshop() as shop:
        for number, journey in enumerate(JOURNEYS):
            if journey.needs_sdk and not SDK.exists():
                print(f"{journey.name}: not counted: there is no SDK (make copilot-sdk)")
                continue
            runs = 1 if options.quick else RUNS
            found = [steady_files(journey, tree, shop.folder / f"{number}-{i}", runs) for i, tree in enumerate(trees)]
            print(f"{journey.name}: {', there '.join(f'{len(files)} files' for files in found)}")
            if options.files:
                _show(found)
    return 0


def _show(found: Iterable[set[str]]) -> None:
    for files in found:
        print("".join(f"    {name}\n" for name in sorted(files)))


if __name__ == "__main__":
    sys.exit(main())
