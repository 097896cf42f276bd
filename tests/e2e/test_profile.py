"""`zot ext profile` with a real host, and a run whose extension hangs."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from supervisor.control.client import ControlError
from supervisor.traces.places import extension_of, runs_folder
from tests.support.extension_folder import extension, folder
from tests.support.host_process import hosting
from tests.support.profile_targets import needs_py_spy
from tests.support.terminal import open_terminal
from tests.support.zot_process import wait_until
from wire import frames

BUSY = """
import json, sys, threading
def count_the_stars():
    while True: sum(range(100))
def say(**frame): print(json.dumps(frame), flush=True)
say(type="hello", name="busy")
say(type="ready")
threading.Thread(target=count_the_stars, daemon=True).start()
for line in sys.stdin:
    if json.loads(line)["type"] == "shutdown": break
"""


def busy(parent: Path) -> Path:
    script = parent / "busy.py"
    script.write_text(BUSY)
    return folder(parent, "busy", [sys.executable, str(script)])


@pytest.mark.slow
@needs_py_spy
def test_a_busy_extension_is_profiled_and_what_cannot_be_is_refused(zot):
    with hosting(zot, busy(zot.folder), extension(zot.folder, "echo.sh", name="shell")) as host:
        (pid,) = host.stats()["busy"].pids
        made = json.loads(zot.run("ext", "profile", "busy", "--seconds", "1", "--json").stdout)
        assert (made["name"], made["host"], made["pid"], made["kind"]) == ("busy", host.pid, pid, "python")
        assert made["hot_spots"][0]["function"] == "count_the_stars"
        assert extension_of(Path(made["file"]).name, ".profile.json") == "busy"
        assert Path(made["file"]).parent == runs_folder(zot.home)
        assert f"profile     {made['file']}" in zot.run("ext", "status", "busy").text
        assert json.loads(zot.run("ext", "status", "busy", "--json").stdout)["profile"] == made["file"]
        refused = zot.run("ext", "profile", "shell")
        assert (refused.status, refused.stdout) == (1, b"")
        assert "shell: cannot be profiled: it is neither Python nor Node: " in refused.stderr
        assert host.stats()["busy"].pids == (pid,)


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("ecko",), 2, "no such extension: 'ecko'; did you mean 'echo'?"),
        (("echo", "--seconds", "0"), 2, "0 is not in the range 1<=x<=600"),
        (("echo", "--seconds", "601"), 2, "601 is not in the range 1<=x<=600"),
        (("echo", "-o", ""), 2, "--output: give it the name of a file"),
        (("echo", "-o", "missing/p.json"), 1, "missing/p.json: No such file or directory"),
        (("echo", "--host", "1"), 1, "there is no host 1"),
    ],
)
def test_a_faulty_command_line_is_refused_before_anything_starts(zot, words, status, told):
    with hosting(zot, extension(zot.folder, "echo")):
        refused = zot.run("ext", "profile", *words)
    assert (refused.status, refused.stdout) == (status, b"")
    assert told in refused.stderr


def test_without_a_host_nothing_is_profiled(zot):
    zot.env.pop("XDG_RUNTIME_DIR", None)
    refused = zot.run("ext", "profile", "echo")
    assert (refused.status, refused.stdout) == (1, b"")
    assert "no host is running" in refused.stderr


@pytest.mark.slow
@needs_py_spy
def test_the_screen_goes_on_while_it_profiles(zot):
    with hosting(zot, busy(zot.folder)), open_terminal(zot) as terminal:
        terminal.command(f"{terminal.zot} top --interval 0.1; echo status $?")
        terminal.wait_for(r"q quit")
        terminal.type("P")
        terminal.wait_for(r"^busy is being profiled for 10 s")
        wait_until(lambda: list(runs_folder(zot.home).glob("*.busy.1.profile.json")))
        terminal.type("P")
        terminal.wait_for(r"^a profile is being made; one at a time")
        terminal.type("q")
        terminal.wait_for(r"^status 0$")
    assert not list(runs_folder(zot.home).glob("*.profile.json")), "a profile that was broken off leaves no file"


HANGS = """
import json, sys, time
def wait_for_the_moon():
    while True: time.sleep(60)
def say(**frame): print(json.dumps(frame), flush=True)
say(type="hello", name="stuck")
say(type="register_tool", name="moon", schema={"type": "object"})
say(type="ready")
for line in sys.stdin:
    if json.loads(line)["type"] == "tool_call": wait_for_the_moon()
"""


def stuck(parent: Path) -> Path:
    script = parent / "stuck.py"
    script.write_text(HANGS)
    fields = {"stall_after": 1, "timeouts": {"tool_call": 0.5}, "restart": {"policy": "temporary"}}
    return folder(parent, "stuck", [sys.executable, str(script)], **fields)


@needs_py_spy
@pytest.mark.slow
def test_an_extension_that_hangs_in_a_run_is_profiled_beside_its_trace(zot):
    with hosting(zot, stuck(zot.folder), flags=("--profile-on-stall",)) as host:
        with pytest.raises(ControlError, match="no answer within"):
            host.call("moon")
        wait_until(lambda: host.stats()["stuck"].state == "failed")
    (file,) = runs_folder(zot.home).glob("*.stuck.1.profile.json")
    assert "wait_for_the_moon" in file.read_text()
    trace = (runs_folder(zot.home) / f"{file.name.split('.')[0]}.jsonl").read_text()
    marks = [json.loads(line) for line in trace.splitlines()]
    assert file.name in [mark["detail"] for mark in marks if mark.get("name") == "file"]
    assert "wait_for_the_moon" not in trace, "a trace has no text of an extension"


@needs_py_spy
@pytest.mark.slow
def test_a_profiler_goes_with_a_host_that_is_killed(zot):
    with hosting(zot, stuck(zot.folder), flags=("--profile-on-stall",)) as host:
        host.client.send(frames.ToolCall(host.client.next_id(), "moon", frames.Raw(b"{}")))
        wait_until(lambda: len(marked_processes(zot.home)) >= 3)  # its own, the profiler and py-spy
        host.running.signal(signal.SIGKILL)
        host.running.process.wait()
        wait_until(lambda: not marked_processes(zot.home))


def marked_processes(home: Path) -> list[int]:
    """Processes with the mark of an extension, with this home: those of the extension and the profilers."""
    found = []
    for folder_ in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder_ / "environ").read_bytes()
        except OSError:
            continue
        if b"ZOT_EXTENSION=stuck" in environment and f"ZOT_HOME={home}".encode() in environment:
            found.append(int(folder_.name))
    return found
