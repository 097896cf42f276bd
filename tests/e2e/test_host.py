"""`zot host`: extensions without an agent, for clients of its socket."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest

from supervisor.control.client import GoneError
from tests.support.extension_folder import extension
from tests.support.host_process import Hosted, hosting
from tests.support.zot_process import ROOT, wait_until
from wire import control, frames
from wire.exit_codes import Status

RAW = frames.Raw


def test_tools_verdicts_and_events_for_two_clients_at_once(zot):
    seen = zot.folder / "seen"
    made = [
        extension(zot.folder, "echo"),
        extension(zot.folder, "blocker", "turn_start", "not today"),
        extension(zot.folder, "recorder", seen),
    ]
    with hosting(zot, *made) as host:
        other = host.connect()
        info = other.ask(control.Info("i"), control.HostInfoReply)
        assert (info.pid, info.kind, info.cwd) == (host.pid, "host", str(zot.cwd))
        assert info.extensions == ("echo", "blocker", "recorder")
        tools = other.ask(control.Registered("r"), control.Registrations).tools
        assert [(tool.name, tool.extension) for tool in tools] == [("echo", "echo")]
        assert (host.call("echo", "hello"), host.call("echo", "and you", other)) == ("hello", "and you")
        verdict = other.ask(frames.EventIntercept("v", "turn_start", step=1), frames.InterceptResponse)
        assert (verdict.block, verdict.reason) == (True, "not today")
        question = frames.EventIntercept("w", "tool_call", tool_name="read", tool_args=RAW(b'{"path": "a"}'))
        assert other.ask(question, frames.InterceptResponse) == control.Verdict("w")
        other.send(frames.Event("turn_start", step=7, session_id="mine", cwd="/etc", sequence=900))
        other.send(frames.Event("tool_confirmation_requested", tool_name="read"))
        other.send(frames.Event("turn_start", step=8))
        wait_until(lambda: b'"step":8' in seen.read_bytes())
        told = [json.loads(line) for line in seen.read_bytes().splitlines()]
        first, second = (frame for frame in told if frame.get("step") in (7, 8))
        assert (first["cwd"], first["session_id"]) == (str(zot.cwd), second["session_id"])
        assert first["session_id"] != "mine"
        assert second["sequence"] == first["sequence"] + 2 < 10, "the host numbers events of all clients"
        other.close()
        assert host.stats()["echo"].calls >= 3
        assert host.call("echo", "still there") == "still there"


def test_many_calls_at_once_are_each_answered_once(zot):
    with hosting(zot, extension(zot.folder, "echo")) as host:
        client = host.client
        for number in range(500):
            client.send(frames.ToolCall(f"c{number}", "echo", RAW(b'{"text":"%d"}' % number)))
        answers = [client.next(20.0) for _ in range(500)]
        assert sorted(answer.id for answer in answers) == sorted(f"c{number}" for number in range(500))
        assert all(answer.content[0].text == answer.id[1:] for answer in answers)
        assert host.stats()["echo"].calls == 500


def test_an_extension_is_restarted_and_a_misspelt_name_gets_a_suggestion(zot):
    with hosting(zot, extension(zot.folder, "echo")) as host:
        (before,) = host.stats()["echo"].pids
        assert host.zot.run("ext", "restart", "ecko").stderr.startswith(
            "zot: no such extension: 'ecko'; did you mean 'echo'?"
        )
        assert host.zot.run("ext", "restart", "echo").status == 0
        wait_until(lambda: host.stats()["echo"].state == "ready" and host.stats()["echo"].pids != (before,))
        assert host.call("echo", "again") == "again"


# --- how it ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_everything_in_order(zot, number):
    with hosting(zot, extension(zot.folder, "echo")) as host:
        host.running.signal(number)
        outcome = host.running.finish()
    assert (outcome.status, outcome.stdout, outcome.leftovers) == (0, b"", [])
    assert outcome.warnings[-1].split()[1:] == ["info", "stopped", "by", number.name, f"pid={host.pid}"]
    assert not host.socket.exists()
    assert "[zot] ended: exit 0" in (zot.home / "logs" / "ext-echo.log").read_text()


def test_zot_stop_waits_until_the_host_is_gone(zot):
    with hosting(zot, extension(zot.folder, "echo")) as host:
        outcome = zot.run("stop")
        assert (outcome.status, outcome.stdout) == (0, b"")
        assert outcome.stderr.startswith(f"zot stop: host {host.pid} has stopped (")
        ended = host.running.finish()
        assert (ended.status, ended.leftovers) == (0, [])
        with pytest.raises(GoneError):
            list(iter(host.stats, None))


def test_a_second_signal_stops_at_once(zot):
    with hosting(zot, extension(zot.folder, "ignores_shutdown")) as host:
        host.running.signal(signal.SIGINT)
        wait_until(lambda: "once more to stop at once" in host.running.errors())
        host.running.signal(signal.SIGINT)
        outcome = host.running.finish()
    assert outcome.warnings[-1].endswith(f" stopped    by SIGINT, at once pid={host.pid}")
    assert (outcome.status, outcome.leftovers) == (Status.INTERRUPTED.exit_code, [])


def test_a_host_without_a_required_extension_stops(zot):
    zot.env.pop("XDG_RUNTIME_DIR", None)
    made = extension(zot.folder, "exits_before_hello", required=True, restart={"policy": "temporary"})
    outcome = zot.run("host", "-e", made, "-e", extension(zot.folder, "echo"))
    assert (outcome.status, outcome.leftovers) == (Status.REQUIRED_EXTENSION.exit_code, [])
    assert "stopped    by the required extension exits_before_hello, which could not be started" in outcome.stderr


def test_xdg_runtime_dir_is_used_and_found(zot):
    runtime = zot.folder / "runtime"
    runtime.mkdir(mode=0o700)
    zot.env["XDG_RUNTIME_DIR"] = str(runtime)
    with zot.start("host", "--no-ext") as running:
        wait_until((runtime / "zot" / f"{running.pid}.sock").exists)
        assert json.loads(zot.run("ps", "--json").stdout)["pid"] == running.pid
        assert zot.run("stop", str(running.pid)).status == 0
        assert running.finish().status == 0


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["host", "--cwd", "missing"], "--cwd missing: no such folder"),
        (["host", "--stats", "a", "--stats-interval", "nan"], "--stats-interval: nan is not a number of seconds"),
        (["host", "--stats", "a", "--metrics", "./a"], "--stats and --metrics name the same file, ./a; each needs its"),
        (["ext", "logs", "x", "--since"], "zot: Option '--since' requires an argument (see zot ext logs --help)\n"),
        (["ext", "logs", "y", "--since", "x"], "2026-11-22T10:30:00+09:00) (see zot ext logs --help)"),
        (["host", "extra"], "no such command: 'extra'; there are health, install, uninstall (see zot host --help)"),
        (["top", "--sort", "cpuu"], "--sort: 'cpuu' is not one of name, state, cpu,"),
        (["top", "--interval", "nan"], "--interval: nan is not a number of seconds"),
        (["top", "abc"], "'abc' is not a valid int"),
        (["ext", "sats", "x"], "no such command: 'sats'; did you mean 'stats' or 'status'?"),
        (["ext", "logs", "../x"], "no such log of an extension"),
        (["exr"], "no such command: 'exr'; did you mean 'ext'?"),
    ],
)
def test_a_command_line_that_cannot_be_run(zot, args, complaint):
    zot.env.pop("XDG_RUNTIME_DIR", None)
    (zot.home / "logs").mkdir(parents=True)
    (zot.home / "logs" / "ext-y.log").touch()
    outcome = zot.run(*args)
    assert (outcome.status, outcome.stdout) == (2, b"")
    assert complaint in outcome.stderr
    assert len(outcome.warnings) == 1


def test_a_host_without_an_extension_that_was_named_says_why_it_stops(zot):
    (zot.cwd / "broken").mkdir()
    (zot.cwd / "broken" / "extension.json").write_text("{}")
    outcome = zot.run("host", "--no-ext", "-e", "broken", "-e", str(extension(zot.folder, "silent")))
    assert outcome.status == 9
    events = [line.split(maxsplit=3)[2:] for line in outcome.stderr.splitlines()]
    assert [event for event, _ in events] == ["serving", "skipped", "stopped"], "the others did not fail"
    assert events[-1][1].startswith("by itself: extension broken was named with --ext, and cannot be loaded: manifest")


@pytest.mark.parametrize("args", [["top"], ["stop"], ["ext", "stats", "x"], ["ext", "reload"]])
def test_without_a_host_the_message_says_how_to_start_one(zot, args):
    zot.env.pop("XDG_RUNTIME_DIR", None)
    outcome = zot.run(*args)
    assert (outcome.status, outcome.stdout) == (1, b"")
    assert outcome.stderr == f"zot {' '.join(args).removesuffix(' x')}: no host is running; start one with zot host\n"


def test_with_several_hosts_the_pid_must_be_given(zot):
    with hosting(zot, extension(zot.folder, "echo")) as first, zot.start("host", "--no-ext") as running:
        second = Hosted(zot, running)
        outcome = zot.run("top")
        assert outcome.status == 2
        assert outcome.stderr.startswith("zot: 2 hosts are running; name one by its pid: ")
        for pid in (first.pid, second.pid):
            assert f"{pid} (host in {zot.cwd})" in outcome.stderr
        assert zot.run("stop", str(second.pid)).status == 0
        assert running.finish().status == 0
        second.client.close()
        missing = zot.run("stop", str(second.pid))
        assert (missing.status, missing.stderr) == (
            1,
            f"zot stop: there is no host {second.pid}; there are {first.pid} (host in {zot.cwd})\n",
        )
        assert len(zot.run("ps").text.splitlines()) == 2


def test_the_example_of_the_documentation(zot):
    page = (ROOT / "docs" / "control.md").read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with hosting(zot, extension(zot.folder, "echo")) as host:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program, str(host.socket)],
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout == "['echo']\nhi\n{'type': 'event_intercept_response', 'id': '3'}\n"


def test_the_socket_of_a_killed_host_goes_with_its_record(zot):
    with hosting(zot, extension(zot.folder, "echo")) as host:
        run = zot.home / "run"
        assert {path.suffix for path in run.iterdir()} == {".sock", ".attach", ".json"}
        host.running.signal(signal.SIGKILL)
        wait_until(lambda: not list(run.iterdir()))
