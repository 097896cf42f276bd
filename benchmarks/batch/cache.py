"""Input from the provider's cache: its share and the dollars of a batch, with a server that counts by the documented
rules. Tasks have folders of their own, so of their requests only the tools and the first block of the system prompt are
alike."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.model import catalogue
from benchmarks.batch.place import PROMPT, TIMEOUT_S, Place
from benchmarks.report import Table
from benchmarks.workshop import PROGRAMS
from tests.support.messages_server import CachingAnswers, MessagesServer, text_reply, tool_reply
from tests.support.messages_server.prefix_cache import allowed_read, positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.claims import Claims
    from benchmarks.report import Report
    from tests.support.messages_server.replies import Reply
    from tests.support.messages_server.server import Received

MODEL = "claude-sonnet-5-5"
TASKS, QUICK_TASKS = 200, 4
JOBS, TURNS = 8, 3
OUTPUT_TOKENS = 300
"""Of each reply."""
STABLE_TOKENS = 20_000
"""In the tools and the stable block of the system prompt."""
TOOLS, TOOL_TOKENS = 20, 230
"""Of an extension with `in_tools`: the number of its tools, and about the tokens of each."""
FIRST_BYTE_S = 0.3
LEAST_SHARE = 0.9
"""Of the cached input that the rules allow."""
WORDS = "x" * (4 * OUTPUT_TOKENS - 40)


class Cached(NamedTuple):
    requests: int
    total: int
    """Input tokens, cached ones included."""
    read: int
    written: int
    allowed: int
    """The most that could be read by the rules."""
    usd: float
    wall_s: float

    @property
    def of_allowed(self) -> float:
        return self.read / self.allowed


def cache(report: Report, place: Place, claims: Claims, *, quick: bool) -> None:
    tasks = QUICK_TASKS if quick else TASKS
    table = cache_table(tasks)
    for name, flags in (
        ("a batch", []),
        ("--no-warm-cache", ["--no-warm-cache"]),
        ("--cache-ttl 1h", ["--cache-ttl=1h"]),
    ):
        report.progress(f"the provider's cache, {name}")
        found = cached_batch(place, tasks, *flags)
        add_row(table, name, found)
        if name == "a batch":
            claim = f"cached input: at least {LEAST_SHARE:g} of what the rules allow"
            claims.add(claim, f"{found.of_allowed:.3f}", None if quick else found.of_allowed >= LEAST_SHARE)
    report.show(table)


def cache_table(tasks: int, *, in_tools: bool = False) -> Table:
    """An empty one for `add_row`."""
    title = f"the provider's cache: {tasks} tasks of {TURNS} turns, {JOBS} jobs"
    title += f", {TOOLS} tools of an extension" if in_tools else ""
    columns = ("", "requests", "input tokens", "cached %", "allowed %", "of allowed", "written", "dollars", "wall s")
    return Table(title, columns)


def add_row(table: Table, name: str, found: Cached) -> None:
    shares = found.read / found.total * 100, found.allowed / found.total * 100, found.of_allowed
    table.add(name, found.requests, found.total, *shares, found.written, found.usd, found.wall_s)


def cached_batch(place: Place, tasks: int, *flags: str, in_tools: bool = False) -> Cached:
    """Runs a batch on a server with an empty cache, which counts the tokens. The dollars are those of this checkout's
    prices, whatever the place's. `in_tools`: a part of the stable tokens is in the tools of an extension."""
    flags = (*flags, "--no-ext", *(_extension(place) if in_tools else ()))
    write_prompt(place, flags)
    answers = CachingAnswers(_reply)
    rundir = place.rundir()
    with MessagesServer() as server:
        server.otherwise = lambda request: _delayed(answers(request))
        live = ["--provider", "anthropic", "--api-key", "k", "--base-url", server.base_url, "--model", MODEL]
        more = ["--workspace", "copy", *live, *flags]
        began = time.monotonic()
        with place.started(place.batch_argv(place.tasks(tasks), rundir, more, JOBS)) as running:
            _, said = running.communicate(timeout=4 * TIMEOUT_S)
        took = time.monotonic() - began
    if running.returncode or len(answers.counted) != tasks * TURNS:
        raise RuntimeError(
            f"the batch failed with {running.returncode}, {len(answers.counted)} requests: {said[-2000:]!r}"
        )
    shutil.rmtree(rundir)
    bodies = [one.request.body for one in answers.counted]
    allowed, total = allowed_read(bodies)
    uses = [one.use for one in answers.counted]
    info, usd = catalogue.find(MODEL), 0.0
    for use in uses:
        counts = {
            "input": use.input, "cache_read": use.read, "cache_write": use.written_5m + use.written_1h,
            "cache_write_1h": use.written_1h, "output": OUTPUT_TOKENS,
        }  # fmt: skip
        usd += catalogue.cost_usd(info, counts) or 0.0
    written = sum(use.written_5m + use.written_1h for use in uses)
    return Cached(len(uses), total, sum(use.read for use in uses), written, allowed, usd, took)


def _extension(place: Place) -> list[str]:
    """The flags for the extension, whose folder is made at the first call."""
    folder = place.folder / "wide"
    if not folder.exists():
        folder.mkdir()
        argv = [str(PROGRAMS / "wide_extension.py"), str(TOOLS), str(4 * TOOL_TOKENS)]
        manifest = {"name": "wide", "exec": sys.executable, "args": ["-I", "-S", *argv]}
        (folder / "extension.json").write_text(json.dumps(manifest))
    return ["--ext", str(folder), "--ext-wait", "60"]


def write_prompt(place: Place, flags: Sequence[str]) -> None:
    """Writes a SYSTEM.md with which the tools and the stable block of the system prompt have `STABLE_TOKENS`, and the
    file that the model reads. Does nothing if they are there."""
    path = place.folder / "home" / "SYSTEM.md"
    if path.exists():
        return
    (place.project / "notes.txt").write_text("A note of the project.\n" * 20)
    path.parent.mkdir(exist_ok=True)
    path.write_text("You are an agent.\n")
    rules = (f"Rule {number:05}: say what you have changed.\n" for number in range(STABLE_TOKENS))
    path.write_text("".join(rules)[: 4 * (STABLE_TOKENS - _stable_tokens(place, flags))])


def _stable_tokens(place: Place, flags: Sequence[str]) -> int:
    with MessagesServer(text_reply("ok")) as server:
        live = ["--provider", "anthropic", "--api-key", "k", "--base-url", server.base_url, "--model", MODEL]
        argv = [*place.zot, "--json", "--no-session", *live, *flags, PROMPT]
        subprocess.run(argv, cwd=place.project, env=place.env, stdin=-3, capture_output=True, check=True)
        (asked,) = server.requests
    return positions({**asked.body, "system": asked.body["system"][:1], "messages": []})[-1].tokens


def _delayed(reply: Reply) -> Reply:
    """The reply with a first byte that takes its time, on the thread of its connection."""

    def begin() -> None:
        time.sleep(FIRST_BYTE_S)
        if reply.on_begin is not None:
            reply.on_begin()

    return replace(reply, on_begin=begin)


def _reply(request: Received, usage: dict[str, int]) -> Reply:
    given: dict[str, Any] = {**usage, "output_tokens": OUTPUT_TOKENS}
    if len(request.body["messages"]) < 2 * TURNS - 1:
        return tool_reply([("read", {"path": "notes.txt"})], text=WORDS, **given)
    return text_reply(WORDS, **given)
