"""The views of an extension that several runs use: at its host, and in each of its runs."""

from __future__ import annotations

import json
import signal

import pytest

from supervisor.control.client import ControlClient, Endpoint
from tests.support.extension_folder import extension
from tests.support.gate_place import gate
from tests.support.html_page import Page
from tests.support.patience import PATIENCE_S
from tests.support.replay_script import ok
from tests.support.zot_process import wait_until
from wire import control


def test_the_host_tells_each_session_while_it_lasts_and_all_together_afterwards(zot):
    with gate(zot, extension(zot.folder, "echo")) as place:
        assert (place.stats().mode, place.stats().attached, place.stats().sessions) == ("shared", 0, ())
        with place.run("a") as one, place.run("b") as other:
            stats = place.host.client.ask(control.GetStats("s"), control.StatsReply).stats
            assert (stats.host.attached_runs, stats.host.attached_to) == (2, None)
            assert (stats.extensions["echo"].mode, stats.extensions["echo"].sessions) == ("private", ())
            now = stats.extensions["gate"]
            assert (now.attached, now.other_sessions) == (2, None)
            told = {session.pid: session for session in now.sessions}
            assert {pid: session.cwd for pid, session in told.items()} == {
                one.pid: str(zot.folder / "a"),
                other.pid: str(zot.folder / "b"),
            }
            assert [(each.calls, each.pending, each.frames_out) for each in told.values()] == [(1, 1, 1)] * 2
            assert len({session.session_id for session in told.values()}) == 2
            ps = zot.run("ps").text
            assert "2 ready, 2 runs attached" in ps
            assert ps.count(f", attached to {place.host.pid}") == 2
            status = zot.run("ext", "status", "gate", "--host", str(place.host.pid)).text
            assert "runs        shared, 2 runs now" in status
            assert f"{one.pid} in {zot.folder / 'a'}: 1 call, 1 in flight, 0 errors" in status
            assert "gate ▸2" in zot.run("top", str(place.host.pid), "--once").text
            place.release()
            results = [running.finish().result for running in (one, other)]
        wait_until(lambda: place.stats().attached == 0)
        gone = place.stats()
        assert gone.sessions == ()
        assert (gone.other_sessions.count, gone.other_sessions.calls, gone.other_sessions.pid) == (2, 2, None)
        shares = [result.extensions["gate"].hosted for result in results]
        assert {(share.pid, share.mode) for share in shares} == {(place.host.pid, "shared")}
        assert sum(share.busy_ms for share in shares) / 1000 == pytest.approx(gone.other_sessions.busy_s, abs=0.001)
        assert all(share.rss_peak_bytes > 0 and share.cpu_share_ms >= 0 for share in shares)
        costs = [result.extensions["gate"] for result in results]
        assert [(cost.cpu_ms, cost.rss_peak_bytes, cost.calls) for cost in costs] == [(0, 0, 1)] * 2


def test_a_run_tells_its_share_while_it_lasts_and_in_its_files(zot):
    with gate(zot) as place:
        recorded = zot.folder / "stats.jsonl"
        metrics = zot.folder / "metrics.prom"
        with place.run("a", "--stats", str(recorded), "--metrics", str(metrics)) as running:
            with ControlClient(Endpoint(running.pid, zot.home / "run" / f"{running.pid}.sock"), PATIENCE_S) as client:

                def seen():
                    stats = client.ask(control.GetStats(client.next_id()), control.StatsReply).stats
                    hosted = stats.extensions["gate"].hosted
                    return stats if hosted is not None and hosted.busy_ms else None

                stats = wait_until(seen)
            assert stats.host.attached_to == place.host.pid
            assert not stats.extensions["gate"].in_client
            status = zot.run("ext", "status", "gate", "--host", str(running.pid)).text
            assert f"use         shared, in host {place.host.pid}: ~" in status
            place.release()
            outcome = running.finish()
        share = outcome.result.extensions["gate"].hosted
        last = json.loads(recorded.read_text().splitlines()[-1])["extensions"]["gate"]
        assert last["hosted"] == {
            "pid": place.host.pid,
            "mode": "shared",
            "busy_ms": share.busy_ms,
            "cpu_share_ms": share.cpu_share_ms,
            "rss_peak_bytes": share.rss_peak_bytes,
        }
        assert "zot_extension_share_cpu_seconds_total" in metrics.read_text()
        page = zot.folder / "report.html"
        assert zot.run("report", recorded, "-o", page).status == 0
        (row,) = Page(page.read_text()).tables("Costs")[0]
        assert row[1].endswith(f"shared, in host {place.host.pid}")


def test_a_host_that_does_not_answer_does_not_keep_a_run_from_its_end(zot):
    with gate(zot) as place:
        cwd = zot.folder / "a"
        cwd.mkdir()
        command = f"kill -STOP {place.host.pid}"
        said = f"$ {command}\n\n[exit 0]  Took 0.0s"
        script = place.script(cwd).call(("bash", {"command": command}), results=[ok(said)]).answer("done")
        try:
            outcome = zot.run(*place.flags(cwd, script), cwd=cwd)
        finally:
            place.host.running.signal(signal.SIGCONT)
        assert outcome.status == 0, outcome.stderr
        hosted = outcome.result.extensions["gate"].hosted
        assert (hosted.pid, hosted.mode) == (place.host.pid, "shared")


def test_an_aborted_run_tells_the_share_that_it_knows(zot):
    with gate(zot) as place, place.run("a") as running:
        running.signal(signal.SIGINT)
        result = running.finish().result
        assert result.status == "interrupted"
        assert result.extensions["gate"].hosted.pid == place.host.pid


def test_the_host_counts_answers_that_come_too_late(zot):
    with gate(zot) as place:
        with place.run("a") as running:
            running.signal(signal.SIGINT)
            running.finish()
        wait_until(lambda: place.stats().attached == 0)
        place.release()
        wait_until(lambda: place.stats().answers_dropped == 1)


def test_a_leased_extension_has_the_same_accounts(zot):
    with gate(zot, sessions="leased") as place:
        cwd = zot.folder / "a"
        cwd.mkdir()
        script = place.script(cwd).call(("release", {}), results=[ok("released")]).answer("done")
        outcome = zot.run(*place.flags(cwd, script), cwd=cwd)
        assert outcome.status == 0, outcome.stderr
        cost = outcome.result.extensions["gate"]
        assert (cost.calls, cost.hosted.mode, cost.hosted.busy_ms > 0) == (1, "leased", True)
        wait_until(lambda: place.stats().attached == 0)
        now = place.stats()
        assert (now.mode, now.other_sessions.count, now.other_sessions.calls) == ("leased", 1, 1)
