"""`zot doctor` asks what runs: hosts, runs and MCP servers, each for its extensions in trouble."""

from __future__ import annotations

import json
import shlex
import signal
from typing import TYPE_CHECKING, Any

from cli.doctor.host_checks import Check, _merge_alike
from supervisor.harness.findings import FindingLevel
from tests.support.extension_folder import extension
from tests.support.host_process import Hosted, hosting
from tests.support.zot_process import wait_until
from wire import frames

if TYPE_CHECKING:
    from tests.support.zot_process import Zot

SOON = {"restart": {"backoff_s": [0.01, 0.05], "max": 2}}


def examined(zot: Zot) -> tuple[int, list[dict[str, Any]]]:
    """The exit status, and the checks about hosts that are not OK."""
    done = zot.run("doctor", "--json")
    checks = json.loads(done.stdout)["checks"]
    return done.status, [check for check in checks if check["name"] == "hosts" and check["level"] != "ok"]


def test_what_is_in_trouble_is_told_with_the_next_command(zot: Zot) -> None:
    made = [
        extension(zot.folder, "echo"),
        extension(zot.folder, "exits_before_hello", **SOON),
        extension(zot.folder, "memory_hog", limits={"rss_mb": 60, "breaches": 1}, **SOON),
    ]
    with hosting(zot, *made) as host:
        host.client.send(frames.ToolCall("x", "eat", frames.Raw(b'{"mb": 100}')))
        wait_until(lambda: host.stats()["memory_hog"].restarts == 1)
        wait_until(lambda: host.stats()["exits_before_hello"].state == "failed")
        status, checks = examined(zot)
        assert status == 1
        failed, hog = checks
        assert [failed[key] for key in ("level", "host", "extension", "kind")] == [
            "fail", host.pid, "exits_before_hello", "failed",
        ]  # fmt: skip
        start = f'zot host {host.pid}: exits_before_hello: 2 exits in 0 s, last exit 3: "exits_before_hello: cannot '
        assert failed["message"].startswith(start)
        assert ", since 20" in failed["message"]
        assert failed["advice"] == (
            f"zot ext logs exits_before_hello -t; then zot ext restart exits_before_hello --host {host.pid}"
        )
        assert [hog[key] for key in ("level", "extension", "kind")] == ["warn", "memory_hog", "over_limit"]
        assert "memory_hog: ended 1 time for its limits, the last time: rss " in hog["message"]
        shown = zot.run("doctor").text
        assert f"fail hosts        zot host {host.pid}: exits_before_hello: " in shown
        assert "nothing is wrong" not in shown
        assert "\nalarm       ended 1 time for its limits" in zot.run("ext", "status", "memory_hog").text


def test_a_host_that_does_not_answer_is_told_and_not_waited_for(zot: Zot) -> None:
    with hosting(zot, extension(zot.folder, "echo")) as host:
        host.running.signal(signal.SIGSTOP)
        status, (check,) = examined(zot)
        assert (status, check["level"], check["host"]) == (1, "fail", host.pid)
        assert check["message"] == f"host {host.pid} does not answer"
        assert check["advice"].startswith(f"kill -CONT {host.pid} ")
        host.running.signal(signal.SIGCONT)


def test_what_a_host_has_not_started_is_told_from_any_folder(zot: Zot) -> None:
    inside = zot.cwd / ".zot" / "extensions"
    inside.mkdir(parents=True)
    extension(inside, "echo")
    (inside / "broken").mkdir()
    (inside / "broken" / "extension.json").write_text('{"name": "broken"}')
    with hosting(zot) as host:
        assert examined(zot)[1] == [], "the checks of this folder tell it"
        elsewhere = zot.folder / "elsewhere"
        elsewhere.mkdir()
        done = zot.run("doctor", "--json", cwd=elsewhere)
        told = [check for check in json.loads(done.stdout)["checks"] if check["kind"] == "not_started"]
        assert [(check["extension"], check["level"]) for check in told] == [("broken", "fail"), ("echo", "warn")]
        why = "manifest: exec is required, or skills, or a theme.json"
        assert told[0]["message"] == f"zot host {host.pid}: broken is not started: {why}"
        assert told[1]["message"] == f"zot host {host.pid}: echo is not started: not trusted (never seen)"
        advice = f"zot ext trust echo --cwd {shlex.quote(str(zot.cwd))}; then zot ext reload --host {host.pid}"
        assert told[1]["advice"] == advice
        assert zot.run("ext", "trust", "echo", "--yes").status == 0
        zot.run("ext", "reload", "--host", str(host.pid))
        done = zot.run("doctor", "--json", cwd=elsewhere)
        told = [check for check in json.loads(done.stdout)["checks"] if check["kind"] == "not_started"]
        assert [check["extension"] for check in told] == ["broken"]


def test_a_second_host_with_the_same_extensions_is_told(zot: Zot) -> None:
    echo = extension(zot.folder, "echo")
    with hosting(zot, echo) as first, zot.start("host", "--no-ext", "-e", echo) as running:
        second = Hosted(zot, running)
        second.settle()
        pids = ", ".join(map(str, sorted((first.pid, second.pid))))
        line = f"hosts {pids} each have processes of their own for echo"
        wait_until(lambda: f"info    shared     {line}; zot stop PID ends one" in running.errors())
        assert zot.run("ps").stderr == f"zot ps: {line}\n"
        assert line in zot.run("doctor").text
        second.client.close()
        running.signal(signal.SIGTERM)
        running.finish()
    assert "each have processes" not in first.running.errors(), "nobody else ran when the first one started"


def test_the_runs_of_a_batch_are_told_together() -> None:
    check = Check("hosts", FindingLevel.WARN, "run 7 (task a): guard: near its limit", "", 7, "guard", "near_limit")
    other = check._replace(message="run 8 (task b): guard: near its limit", host=8)
    told = list(_merge_alike([("batch", check), ("batch", other), ("9", check)]))
    assert [each.message for each in told] == [f"{check.message}; the same in 1 more", check.message]
