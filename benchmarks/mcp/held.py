"""How long an MCP server that says much at once holds the guards of others: their longest verdict."""

from __future__ import annotations

import json
import time
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.hosts import EVENT
from benchmarks.report import Table
from benchmarks.workshop import CHILDREN, PROGRAMS, stop

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchmarks.claims import Claims
    from benchmarks.report import Report
    from benchmarks.workshop import Workshop
    from supervisor.calls.merged_registrations import OwnedTool
    from supervisor.supervisor import Supervisor

ROUNDS = 8
MOST_MS = 100.0
"""The claim: no verdict waits longer for what another extension says."""
PATIENCE_S = 30.0
TOOLS = 500
LAST = f"_{TOOLS - 2}"
"""How the name of the last new tool ends: 500 are used, and `bulk` is one of them."""
CASES: dict[str, dict[str, int]] = {
    "nothing: a result of one byte": {"size": 1},
    "a result of 1 MiB": {"size": 2**20},
    "a result of 5.9 MiB": {"size": int(5.9 * 2**20)},
    "5,000 pings in one write": {"pings": 5000},
    "a list of 500 new tools": {"tools": TOOLS},
}


def held(report: Report, shop: Workshop, claims: Claims, *, quick: bool) -> None:
    rounds = 1 if quick else ROUNDS
    guard = [shop.compiled(CHILDREN / "echo.c")] if shop.has_compiler else shop.python(CHILDREN / "echo.py")
    columns = ("", "verdict p50 µs", "longest ms", "longest of all ms", "until it is over ms", "rounds")
    table = Table("verdicts of a guard while another extension says much", columns)
    for name, args in list(CASES.items())[:: len(CASES) - 1 if quick else 1]:
        report.progress(f"held: {name}")
        bulk = shop.python(PROGRAMS / "mcp_bulk.py")
        supervisor = shop.started([shop.extension("guard", guard), shop.extension("bulk", bulk, 1, dialect="mcp")])
        try:
            found = [_while_it_speaks(supervisor, args) for _ in range(rounds)]
        finally:
            stop(supervisor)
        longest = [worst for _, worst, _ in found]
        middle, until = median(p50 for p50, _, _ in found), median(taken for _, _, taken in found)
        table.add(name, middle, median(longest), max(longest), until, len(found))
        claim = f"{name}: no verdict takes over {MOST_MS:g} ms (median of the rounds' longest)"
        claims.add(claim, f"{median(longest):.1f} ms", None if quick else median(longest) <= MOST_MS)
    report.show(table)


def _while_it_speaks(supervisor: Supervisor, args: dict[str, int]) -> tuple[float, float, float]:
    """Asks the guard again and again until the other has said all. Returns p50 in µs and the longest in ms of the
    verdicts, and the ms until all was said."""
    answers: list[Any] = []
    tools = supervisor.registrations.tools()
    known = {name for name in tools if name.endswith(LAST)}
    supervisor.begin_call(_bulk(tools), json.dumps(args).encode(), answers.append)

    def is_over() -> bool:
        return bool(answers) and ("tools" not in args or is_new(supervisor.registrations.tools()))

    def is_new(tools: Iterable[str]) -> bool:
        return any(name.endswith(LAST) and name not in known for name in tools)

    samples = []
    began = time.perf_counter()
    while not is_over():
        if time.perf_counter() - began > PATIENCE_S:
            raise RuntimeError(f"not over within {PATIENCE_S:g} s: {args}")
        start = time.perf_counter()
        supervisor.intercept(EVENT)
        samples.append(time.perf_counter() - start)
    assert answers[0].frame is not None, answers[0].reason
    assert not answers[0].frame.is_error, answers[0].frame
    return median(samples) * 1e6, max(samples) * 1e3, (time.perf_counter() - began) * 1e3


def _bulk(tools: Mapping[str, OwnedTool]) -> OwnedTool:
    return next(owned for name, owned in tools.items() if name.endswith("bulk"))
