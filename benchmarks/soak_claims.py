"""What came of a soak, and what it shows of the claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import vitals
from benchmarks.cast import names
from benchmarks.claims import Claims
from benchmarks.load import BARE, KINDS
from benchmarks.report import Table
from benchmarks.samples import percentiles

if TYPE_CHECKING:
    from benchmarks.report import Report
    from benchmarks.soak import Soak

RSS_GROWTH, RSS_GROWTH_BYTES = 0.10, 5 * 2**20
"""The host may grow by the larger of the two, from the second quarter of the storms to the last."""
FILES_PER_PROCESS = 6
SLOWER = 3.0
"""How much slower those that do well may answer in a storm, at p99."""


def tell(soak: Soak, report: Report, *, judge_time: bool) -> Claims:
    """Shows what happened and what is claimed. Times are judged only where they mean something."""
    report.show(_happened(soak))
    report.show(_latencies(soak))
    claims = Claims()
    for line in (*[f"a call {fault}" for fault in soak.ledger.faults()], *[f"left behind: {one}" for one in soak.left]):
        report.note(line)
    _judge_calls(soak, claims)
    _judge_host(soak, claims)
    for kind in KINDS:
        ratio = _slower(soak, kind)
        claims.add(
            f"{kind}: p99 of those that do well within {SLOWER:g} x of quiet",
            "no samples" if ratio is None else f"{ratio:.2f} x",
            None if not judge_time else ratio is not None and ratio <= SLOWER,
        )
    control = _slower(soak, BARE)
    claims.add(f"{BARE}: the same, with no supervisor", "no samples" if control is None else f"{control:.2f} x", None)
    report.show(claims.table)
    return claims


def _happened(soak: Soak) -> Table:
    accounts = [one.account for one in soak.supervisor.extensions]
    table = Table("what happened", ("", "count"))
    faults = [fault for one in names(soak.cast.hostile) for fault in soak.schedule.faults(one, soak.seed)]
    table.add(f"changes of fault, of {len(set(faults))} kinds", len(faults))
    for outcome, count in soak.ledger.outcomes.items():
        table.add(f"calls {outcome.value}", count)
    for who, count in sorted(soak.killed.items()):
        table.add(f"SIGKILL to {who}", count)
    for name in ("exits", "restarts", "limit_breaches", "junk_lines", "notes_dropped", "frames_in"):
        table.add(name.replace("_", " "), sum(getattr(one, name) for one in accounts))
    table.add("MB said by extensions", round(sum(one.bytes_in for one in accounts) / 1e6))
    table.add("started again by hand", soak.revived)
    for kind, count in sorted(soak.notices.items()):
        table.add(f"notices: {kind.replace('_', ' ')}", count)
    table.add("most processes of one extension", max(one.processes_peak for one in accounts))
    return table


def _latencies(soak: Soak) -> Table:
    columns = ("", "quiet p50 µs", "quiet p99 µs", "storm p50 µs", "storm p99 µs", "p99 storm / quiet", "samples")
    table = Table("answers of those that do well", columns)
    for kind in (*KINDS, BARE):
        quiet, storm = soak.load.samples[kind, "quiet"], soak.load.samples[kind, "storm"]
        if quiet and storm:
            a, b = percentiles(quiet), percentiles(storm)
            table.add(kind, a[0], a[2], b[0], b[2], b[2] / a[2], len(quiet) + len(storm))
    return table


def _slower(soak: Soak, kind: str) -> float | None:
    quiet, storm = soak.load.samples[kind, "quiet"], soak.load.samples[kind, "storm"]
    return percentiles(storm)[2] / percentiles(quiet)[2] if quiet and storm else None


def _judge_calls(soak: Soak, claims: Claims) -> None:
    ledger, load = soak.ledger, soak.load
    claims.add(f"{soak.size.calls:,} calls in storms", f"{load.stormy:,}", load.stormy >= soak.size.calls)
    found = f"{ledger.ended:,} of {ledger.begun:,}, {soak.open_at_stop} open at the stop"
    claims.add("every call ends exactly once, in time, with a reason", found, not ledger.faults())
    claims.add("latest end after a deadline", f"{ledger.worst_overrun_s * 1000:.0f} ms", None)
    failed = ", ".join(f"{why} {count}" for why, count in sorted(load.friends_failed.items()))
    only_died = not set(load.friends_failed) - {"died"}
    claims.add("those that do well fail only where they die", failed or "none failed", only_died)
    booked = sum(one.account.calls for one in soak.supervisor.extensions)
    fewest = load.asks - load.cancelled_asks
    most = load.asks + soak.killed.total()  # a call that a kill cut short may have been made again by a pool
    found = f"{booked:,} of {load.asks:,}"
    claims.add("the accounts have every request", found, fewest <= booked <= most)
    timeouts = sum(one.account.timeouts for one in soak.supervisor.extensions)
    claims.add("the accounts have every timeout", f"{timeouts:,} of {load.timeouts:,}", timeouts == load.timeouts)


def _judge_host(soak: Soak, claims: Claims) -> None:
    found = f"{len(soak.left)}; stopped in {soak.stop_s:.2f} s"
    claims.add("no process is left", found, not soak.left)
    before, after = soak.files_before, soak.files_after
    claims.add("as many descriptors after as before", f"{before} and {after}", before == after)
    stormy = [one for one in soak.looks if soak.schedule.is_storm(one.at)]
    first, last = (one.files - FILES_PER_PROCESS * one.processes for one in (soak.calm[0], soak.calm[-1]))
    found = f"{last - first:+} besides those of the processes, in {len(soak.calm)} quiet stretches"
    claims.add("descriptors do not pile up from one quiet stretch to the next", found, last - first <= 5)
    early, late = vitals.quarters([one.rss for one in stormy])
    allowed = max(RSS_GROWTH * early, RSS_GROWTH_BYTES)
    found = f"{early / 2**20:.1f} and {late / 2**20:.1f} MiB"
    claims.add("the host does not grow from the second quarter to the last", found, late - early <= allowed)
    first, last = soak.calm[0].processes, soak.calm[-1].processes
    claims.add("processes in the first and in the last quiet stretch", f"{first} and {last}", None)
