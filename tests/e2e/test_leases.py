"""Leased extensions of a `zot host`: each process serves one run after another."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest

from tests.support.extension_folder import extension, folder
from tests.support.host_process import hosting
from tests.support.leasing_host import received
from tests.support.messages_server import text_reply, tool_reply
from tests.support.rpc_client import end
from tests.support.sdk_program import PRELUDE, PYTHON
from tests.support.zot_process import wait_until
from wire.exit_codes import Status

SOON = {"backoff_s": [0.01, 0.05], "max": 50}


@pytest.fixture
def record(zot):
    (zot.folder / "record").touch()
    return zot.folder / "record"


@pytest.fixture
def host(zot, record):
    made = extension(zot.folder, "lease_holder.py", record, name="leased", sessions="leased", restart=SOON)
    with hosting(zot, made) as host:
        yield host


def run(host, *words, server=None):
    model = () if server is None else ("--base-url", server.base_url, "--api-key", "k")
    return host.zot.run("--host", str(host.pid), *model, *words)


def who(running):
    """The pid of the process that serves this server."""
    wait_until(lambda: running.client.ask("list_commands")["data"]["commands"])
    return int(running.client.ask("run_command", name="/who")["data"]["text"])


def test_runs_one_after_another_have_one_process(host, record):
    pids = [run(host, "-p", "/who").text.strip() for _ in range(3)]
    wait_until(lambda: len(received(record, "lease_end")) == 3)
    assert set(pids) == {str(pid) for pid in host.stats()["leased"].pids}
    told = [each for each in received(record, "lease_begin", "lease_end", "event") if each["session_id"]]
    begun = [each["session_id"] for each in told if each["type"] == "lease_begin"]
    assert len(set(begun)) == 3
    for session in begun:
        mine = [(each["type"], each.get("event")) for each in told if each["session_id"] == session]
        assert mine == [
            ("lease_begin", None), ("event", "session_start"), ("event", "session_end"), ("lease_end", None),
        ]  # fmt: skip
    assert {each["cwd"] for each in received(record, "lease_begin")} == {str(host.zot.cwd)}


def test_a_shell_script_serves_one_run_after_another(zot, server, record):
    made = extension(zot.folder, "lease_holder.sh", record, name="leased", sessions="leased")
    with hosting(zot, made) as host:
        sessions = []
        for _ in range(2):
            server.add(tool_reply([("who", {})]), text_reply("Done."))
            outcome = run(host, "--json", "go", server=server).check(Status.OK)
            (said,) = outcome.tool_texts()
            assert said.split()[1] == outcome.result.session
            sessions.append(outcome.result.session)
        assert len(host.stats()["leased"].pids) == 1
        wait_until(lambda: len(record.read_text().splitlines()) == 4)
        wanted = [f"{kind} {session}" for session in sessions for kind in ("begin", "end")]
        assert [line.split(" ", 1)[1] for line in record.read_text().splitlines()] == wanted


def test_an_extension_of_the_sdk_forgets_each_run(zot, server):
    code = f"""{PRELUDE}
words = []

@ext.on_lease_begin
def begin(lease: Lease) -> None:
    words.append(lease.session_id)

@ext.on_lease_end
def end() -> None:
    words.clear()

@ext.tool
def who() -> str:
    return f"{{os.getpid()}} {{' '.join(words)}}"

ext.run()
"""
    script = zot.folder / "sdk.py"
    script.write_text(code)
    made = folder(zot.folder, "leased", [*PYTHON, str(script)], sessions="leased")
    with hosting(zot, made) as host:
        for _ in range(2):
            server.add(tool_reply([("who", {})]), text_reply("Done."))
            outcome = run(host, "--json", "go", server=server).check(Status.OK)
            assert outcome.tool_texts() == [f"{host.stats()['leased'].pids[0]} {outcome.result.session}"]
        assert host.stats()["leased"].exits == 0


@pytest.mark.slow
def test_runs_at_the_same_time_have_a_process_each(host, rpc):
    with ExitStack() as stack:
        servers = [stack.enter_context(rpc("--host", str(host.pid))) for _ in range(3)]
        pids = {who(running) for running in servers}
        assert len(pids) == 3
        assert set(host.stats()["leased"].pids) == pids
        end(servers.pop())
        assert int(run(host, "-p", "/who").text) in pids
        for running in servers:
            end(running)
    assert len(host.stats()["leased"].pids) == 3


def test_a_crash_hurts_its_run_alone(host, server, rpc, record):
    with rpc("--host", str(host.pid)) as one, rpc("--host", str(host.pid)) as other:
        before = who(one), who(other)
        server.add(tool_reply([("do", {"do": "crash"})]), text_reply("It has died."))
        one.client.prompt("go")
        assert "exit 3" in json.dumps(server.requests[-1].body["messages"][-1])
        wait_until(lambda: one.client.ask("ext_stats")["data"]["extensions"]["leased"]["state"] == "ready")
        server.add(tool_reply([("do", {"do": "pid"})]), text_reply("Done."))
        one.client.prompt("go on")
        assert str(before[0]) not in json.dumps(server.requests[-1].body["messages"][-1])
        assert who(other) == before[1]
        stats = {running: running.client.ask("ext_stats")["data"]["extensions"]["leased"] for running in (one, other)}
        assert (stats[one]["restarts"], stats[one]["unexpected_exits"]) == (1, 1)
        assert (stats[other]["restarts"], stats[other]["unexpected_exits"]) == (0, 0)
        (session,) = {each["session_id"] for each in received(record, "lease_begin") if each["pid"] == before[0]}
        mine = [each["pid"] for each in received(record, "lease_begin") if each["session_id"] == session]
        assert len(set(mine)) == 2, "the next process begins a lease for the same run"
        starts = [each for each in received(record, "event") if each["session_id"] == session]
        assert [each["pid"] for each in starts if each["event"] == "session_start"] == mine
        said = end(one).stderr
        assert "it ended (exit 3)" in said
        assert "ready again, restart 1" in said
        assert end(other).stderr == ""


def test_one_that_does_not_say_leases_is_started_by_each_run(zot, record):
    made = extension(zot.folder, "lease_holder.py", record, "other", name="leased", sessions="leased")
    with hosting(zot, made) as host:
        outcome = run(host, "--ext", made, "-p", "/who")
        assert int(outcome.text) not in host.stats()["leased"].pids
        assert "leased: its hello does not announce the feature leases" in outcome.stderr
        assert outcome.leftovers == []


@pytest.mark.slow
def test_a_process_that_never_answers_lease_begin(host, server, record):
    silent = host.zot.cwd / "silent"
    silent.mkdir()
    server.add(text_reply("Without it."))
    outcome = host.zot.run(
        "--host", str(host.pid), "--base-url", server.base_url, "--api-key", "k", "-p", "go", cwd=silent
    )
    assert (outcome.status, outcome.text) == (0, "Without it.\n")
    assert "has not answered lease_begin with lease_ready within 2 s" in outcome.stderr
    assert host.stats()["leased"].timeouts >= 1
    assert int(run(host, "-p", "/who").text) in host.stats()["leased"].pids
    assert received(record, "lease_begin")[0]["pid"] not in host.stats()["leased"].pids


@pytest.mark.slow
def test_processes_that_sleep_are_started_for_runs_one_by_one(zot, server):
    lazy = {"start": "lazy", "env_policy": "minimal", "workers": 3}
    made = extension(zot.folder, "lease_holder.sh", "/dev/null", name="leased", sessions="leased", **lazy)
    with hosting(zot, made) as host:
        wait_until(lambda: len(host.stats()["leased"].pids) == 3)
        assert host.zot.run("stop", str(host.pid)).status == 0
    with hosting(zot, made) as host:
        assert host.stats()["leased"].pids == ()
        for _ in range(3):
            server.add(tool_reply([("who", {})]), text_reply("Done."))
            (said,) = run(host, "--json", "go", server=server).check(Status.OK).tool_texts()
            assert host.stats()["leased"].pids == (int(said.split()[0]),)


@pytest.mark.slow
@pytest.mark.parametrize("action", ["restart", "reload"])
def test_a_restart_or_reload_with_runs_attached(host, rpc, action):
    with rpc("--host", str(host.pid)) as one, rpc("--host", str(host.pid)) as other:
        before = {who(one), who(other)}
        assert host.zot.run("ext", action, "leased", "--host", str(host.pid)).status == 0

        def is_replaced(running):
            stats = running.client.ask("ext_stats")["data"]["extensions"]["leased"]
            return stats["state"] == "ready" and who(running) not in before

        for running in (one, other):
            wait_until(lambda running=running: is_replaced(running))
        assert who(one) != who(other)
        wait_until(lambda: set(host.stats()["leased"].pids) == {who(one), who(other)})
        for running in (one, other):
            end(running)


def test_the_host_stops_in_the_middle_of_a_call(host, server, rpc):
    server.add(tool_reply([("do", {"do": "keep"})]), text_reply("It is gone."))
    with rpc("--host", str(host.pid)) as running:
        running.client.send("prompt", message="go")
        running.client.until("tool_call")
        wait_until(lambda: host.stats()["leased"].pending)
        assert host.zot.run("stop", str(host.pid)).status == 0
        running.client.until("done")
        assert "leased/do failed" in json.dumps(server.requests[-1].body["messages"][-1])
        outcome = host.running.finish()
        assert (outcome.status, outcome.leftovers) == (0, [])
        server.add(text_reply("Without it."))
        assert running.client.prompt("go on")[-2]["status"] == "ok"
        assert "its host" in end(running).stderr
