"""Shows the result of a soak: what happened, and which claims hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import vitals
from benchmarks.claims import Claims
from benchmarks.load import BARE, KINDS
from benchmarks.report import Table
from benchmarks.samples import percentiles
from wire.dialects.long_lines import LONGEST

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from benchmarks.cast import Schedule
    from benchmarks.ledger import Ledger
    from benchmarks.load import Load
    from benchmarks.report import Report
    from benchmarks.vitals import Vitals
    from supervisor.accounting.account import Account

RSS_GROWTH, RSS_GROWTH_BYTES = 0.10, 5 * 2**20 + LONGEST
"""Share and bytes. From the second quarter of the storms to the last, the host may grow by the larger of the two. One
of the longest frames may be coming in when it is looked at."""
FILES_PER_PROCESS = 6
SLOWER = 3.0
"""Multiple of the quiet p99 that the p99 of friends may reach in a storm."""


@dataclass(frozen=True)
class SoakResult:
    wanted_calls: int
    """Number of calls that the storms should have."""
    seed: int
    schedule: Schedule
    hostile: Collection[str]
    """Names of the hostile extensions."""
    accounts: Sequence[Account]
    """One account for each extension."""
    ledger: Ledger
    load: Load
    killed: Mapping[str, int]
    """Number of SIGKILLs to `friends` and to `hostile`."""
    revived: int
    """Extensions that were started again after the supervisor gave them up."""
    notices: Mapping[str, int]
    open_at_stop: int
    """Calls without an answer when the supervisor began to stop."""
    stop_s: float
    files_before: int
    files_after: int
    """Descriptors of the host before the start and after the stop."""
    looks: Sequence[Vitals]
    calm: Sequence[Vitals]
    """One look at the end of each quiet stretch, with the processes counted."""
    left: Sequence[str]
    """One line for each process that is left behind."""


def tell(result: SoakResult, report: Report, *, judge_time: bool) -> Claims:
    """Shows what happened and whether the claims hold. Without `judge_time`, times are shown but not judged."""
    report.show(_happened(result))
    report.show(_latencies(result))
    claims = Claims()
    for fault in result.ledger.faults():
        report.note(f"a call {fault}")
    for process in result.left:
        report.note(f"left behind: {process}")
    _judge_calls(result, claims)
    _judge_host(result, claims)
    for kind in KINDS:
        ratio = _slower(result, kind)
        claims.add(
            f"{kind}: p99 of those that do well within {SLOWER:g} x of quiet",
            "no samples" if ratio is None else f"{ratio:.2f} x",
            None if not judge_time else ratio is not None and ratio <= SLOWER,
        )
    control = _slower(result, BARE)
    claims.add(f"{BARE}: the same, with no supervisor", "no samples" if control is None else f"{control:.2f} x", None)
    report.show(claims.table)
    return claims


def _happened(result: SoakResult) -> Table:
    table = Table("what happened", ("", "count"))
    faults = [fault for name in result.hostile for fault in result.schedule.faults(name, result.seed)]
    table.add(f"changes of fault, of {len(set(faults))} kinds", len(faults))
    for outcome, count in result.ledger.outcomes.items():
        table.add(f"calls {outcome.value}", count)
    for who, count in sorted(result.killed.items()):
        table.add(f"SIGKILL to {who}", count)
    for name in ("exits", "restarts", "limit_breaches", "junk_lines", "notes_dropped", "frames_in"):
        table.add(name.replace("_", " "), sum(getattr(account, name) for account in result.accounts))
    table.add("MB said by extensions", round(sum(account.bytes_in for account in result.accounts) / 1e6))
    table.add("started again by hand", result.revived)
    for kind, count in sorted(result.notices.items()):
        table.add(f"notices: {kind.replace('_', ' ')}", count)
    table.add("most processes of one extension", max(account.processes_peak for account in result.accounts))
    return table


def _latencies(result: SoakResult) -> Table:
    columns = ("", "quiet p50 µs", "quiet p99 µs", "storm p50 µs", "storm p99 µs", "p99 storm / quiet", "samples")
    table = Table("answers of those that do well", columns)
    for kind in (*KINDS, BARE):
        quiet, storm = result.load.samples[kind, "quiet"], result.load.samples[kind, "storm"]
        if quiet and storm:
            a, b = percentiles(quiet), percentiles(storm)
            table.add(kind, a[0], a[2], b[0], b[2], b[2] / a[2], len(quiet) + len(storm))
    return table


def _slower(result: SoakResult, kind: str) -> float | None:
    quiet, storm = result.load.samples[kind, "quiet"], result.load.samples[kind, "storm"]
    return percentiles(storm)[2] / percentiles(quiet)[2] if quiet and storm else None


def _judge_calls(result: SoakResult, claims: Claims) -> None:
    ledger, load = result.ledger, result.load
    claims.add(f"{result.wanted_calls:,} calls in storms", f"{load.stormy:,}", load.stormy >= result.wanted_calls)
    found = f"{ledger.ended:,} of {ledger.begun:,}, {result.open_at_stop} open at the stop"
    claims.add("every call ends exactly once, in time, with a reason", found, not ledger.faults())
    claims.add("latest end after a deadline", f"{ledger.worst_overrun_s * 1000:.0f} ms", None)
    failed = ", ".join(f"{why} {count}" for why, count in sorted(load.friends_failed.items()))
    only_died = not set(load.friends_failed) - {"died"}
    claims.add("those that do well fail only where they die", failed or "none failed", only_died)
    booked = sum(account.calls for account in result.accounts)
    fewest = load.asks - load.cancelled_asks
    most = load.asks + sum(result.killed.values())  # a pool may repeat a call that a kill has cut short
    found = f"{booked:,} of {load.asks:,}"
    claims.add("the accounts have every request", found, fewest <= booked <= most)
    timeouts = sum(account.timeouts for account in result.accounts)
    claims.add("the accounts have every timeout", f"{timeouts:,} of {load.timeouts:,}", timeouts == load.timeouts)


def _judge_host(result: SoakResult, claims: Claims) -> None:
    found = f"{len(result.left)}; stopped in {result.stop_s:.2f} s"
    claims.add("no process is left", found, not result.left)
    before, after = result.files_before, result.files_after
    claims.add("as many descriptors after as before", f"{before} and {after}", before == after)
    stormy = [look for look in result.looks if result.schedule.is_storm(look.at)]
    first, last = (look.files - FILES_PER_PROCESS * look.processes for look in (result.calm[0], result.calm[-1]))
    found = f"{last - first:+} besides those of the processes, in {len(result.calm)} quiet stretches"
    claims.add("descriptors do not pile up from one quiet stretch to the next", found, last - first <= 5)
    early, late = vitals.quarters([look.rss for look in stormy])
    allowed = max(RSS_GROWTH * early, RSS_GROWTH_BYTES)
    found = f"{early / 2**20:.1f} and {late / 2**20:.1f} MiB"
    claims.add("the host does not grow from the second quarter to the last", found, late - early <= allowed)
    first, last = result.calm[0].processes, result.calm[-1].processes
    claims.add("processes in the first and in the last quiet stretch", f"{first} and {last}", None)
