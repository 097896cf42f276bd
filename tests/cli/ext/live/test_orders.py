"""`zot ext stop`, `start` and `limit` with a real host, and without one."""

from __future__ import annotations

import json
import os
import pty
import stat
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import extension
from tests.support.host_process import Hosted, hosting
from tests.support.zot_fork import run
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.zot_process import Outcome, Zot

THEIRS = '{\n    "theme": "dark",  \n    "model": "m"\n}\n'
"""A file of zot's, with a space where no program writes one."""


@pytest.fixture
def host(zot: Zot) -> Iterator[Hosted]:
    """A host with a guard, and an extension that may hold memory."""
    soon = {"backoff_s": [0.01, 0.05]}
    made = [
        extension(zot.folder, "echo", on_failure="deny"),
        extension(zot.folder, "memory_hog", restart=soon, limits={"processes": 20}),
    ]
    with hosting(zot, *made) as running:
        yield running


def state(host: Hosted, name: str) -> str:
    return str(host.stats()[name].state)


def limits(zot: Zot) -> dict[str, Any]:
    (shown,) = run(zot, "ext", "limit", "memory_hog", "--json").json_lines
    return {each["limit"]: (each["allowed"], each["origin"]) for each in shown["limits"]}


def on_terminal(zot: Zot, answer: str, *args: str) -> Outcome:
    terminal, other = pty.openpty()
    os.write(terminal, answer.encode() + b"\n")
    try:
        return run(zot, *args, stdin=other)
    finally:
        os.close(terminal)
        os.close(other)


# --- stop and start ---------------------------------------------------------------------------------------------


def test_it_is_stopped_shown_and_started_again(zot: Zot, host: Hosted) -> None:
    stopped = run(zot, "ext", "stop", "memory_hog")
    assert (stopped.status, stopped.stdout) == (0, b"")
    assert stopped.stderr == f"zot ext stop: host {host.pid} has stopped memory_hog\n"
    assert host.stats()["memory_hog"].pids == ()
    again = run(zot, "ext", "stop", "memory_hog")
    assert (again.status, again.stderr) == (0, "zot ext stop: memory_hog is stopped already\n")
    shown = run(zot, "ext", "status", "memory_hog")
    assert shown.status == 1
    first, why, to_do, *_ = shown.text.splitlines()
    assert first.startswith("memory_hog: stopped for ")
    assert why == "why         it was stopped by zot ext stop; zot ext start memory_hog starts it again"
    assert to_do == f"to do       zot ext start memory_hog --host {host.pid}"
    assert "1 ready, 1 stopped" in run(zot, "ps").text
    assert "memory_hog       stopped" in run(zot, "top", "--once").text
    assert "memory_hog" not in run(zot, "doctor").text.partition("hosts ")[2]
    started = run(zot, "ext", "start", "memory_hog")
    assert (started.status, started.stderr) == (0, f"zot ext start: host {host.pid} starts memory_hog\n")
    wait_until(lambda: state(host, "memory_hog") == "ready")
    logged = run(zot, "ext", "logs", "memory_hog").text
    assert "a user asks for a start\n" in logged
    assert "a user asks for a restart" not in logged
    runs = run(zot, "ext", "start", "memory_hog", "--json")
    assert runs.json_lines == [{"host": host.pid, "name": "memory_hog", "changed": False, "state": "ready"}]
    assert "stopped    memory_hog: stopped by zot ext stop" in host.running.errors()


@pytest.mark.parametrize(("answer", "said"), [("y", "has stopped echo"), ("n", "aborted; nothing has changed")])
def test_a_guard_is_asked_about(zot: Zot, host: Hosted, answer: str, said: str) -> None:
    outcome = on_terminal(zot, answer, "ext", "stop", "echo")
    question, _, rest = outcome.stderr.partition("stop echo? [y/N] ")
    assert question.startswith("echo: it guards ")
    assert question.endswith(": while it is stopped, these are denied (on_failure deny)\n")
    assert (outcome.status, said in rest) == (0, True)
    assert state(host, "echo") == ("stopped" if answer == "y" else "ready")


def test_nobody_to_ask_and_wrong_words_change_nothing(zot: Zot, host: Hosted) -> None:
    for args, said in (
        (["stop", "echo"], "echo: it guards "),
        (["stop", "echo", "--json"], "there is no terminal to ask: --yes agrees to it"),
        (["stop", "ecko"], "no such extension: 'ecko'; did you mean 'echo'?"),
        (["start", "ecko"], "no such extension: 'ecko'; did you mean 'echo'?"),
        (["limit", "ecko"], "no such extension: 'ecko'; did you mean 'echo'?"),
        (["limit", "memory_hog", "rss_mb=300", "rss=5"], "no such limit: 'rss'; did you mean 'rss_mb'?"),
        (["limit", "memory_hog", "rss_mb=0"], "rss_mb: write a number above 0, or none, not 0"),
        (["limit", "memory_hog", "--keep"], "--keep keeps limits that you name, as in rss_mb=300"),
        (["limit", "memory_hog", "rss_mb=1"], "rss_mb is "),
    ):
        outcome = run(zot, "ext", *args)
        assert outcome.status == 2, outcome
        assert said in " ".join(outcome.stderr.split())
    assert (state(host, "echo"), state(host, "memory_hog")) == ("ready", "ready")
    assert limits(zot) == {"processes": (20, "manifest")}
    assert not (zot.home / "config.json").exists()
    assert run(zot, "ext", "stop", "echo", "--yes").status == 0


def test_without_a_host_it_says_so(zot: Zot) -> None:
    zot.env.pop("XDG_RUNTIME_DIR", None)
    for args in (["stop", "echo"], ["start", "echo"]):
        outcome = run(zot, "ext", *args)
        assert (outcome.status, "no host is running" in outcome.stderr) == (1, True)


# --- limits -----------------------------------------------------------------------------------------------------


def test_limits_are_shown_beside_the_use(zot: Zot, host: Hosted) -> None:
    changed = run(zot, "ext", "limit", "memory_hog", "rss_mb=300", "cpu_pct=50", "file_mb=10")
    assert (changed.status, changed.stdout) == (0, b"")
    assert changed.stderr.splitlines() == [
        f"zot ext limit: host {host.pid} limits memory_hog now: rss_mb 300, cpu_percent 50, file_mb 10",
        "  file_mb: wholly in force from its next start, zot ext restart memory_hog",
        "  until the host ends; --keep keeps it",
    ]
    shown = run(zot, "ext", "limit", "memory_hog").text.splitlines()
    assert [line.split()[0] for line in shown] == [
        "limit", "rss_mb", "cpu_percent", "processes", "file_mb", "over"
    ]  # fmt: skip
    assert shown[1].split()[2:] == ["300", "zot", "ext", "limit,", "until", "the", "host", "ends"]
    assert shown[3].split() == ["processes", "1", "20", "its", "manifest"]
    assert "echo has no limits" in run(zot, "ext", "limit", "echo").stderr


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_limit_below_the_use_is_asked_about(zot: Zot, host: Hosted, answer: str) -> None:
    outcome = on_terminal(zot, answer, "ext", "limit", "memory_hog", "rss_mb=1", "breaches=1", "--keep")
    said, _, rest = outcome.stderr.partition("limit memory_hog to rss_mb 1, breaches 1? [y/N] ")
    assert said.startswith("memory_hog: rss_mb is ")
    assert said.endswith(" now, over 1: it would be ended, and started again\n")
    assert outcome.status == 0
    if answer == "n":
        assert rest == "aborted; nothing has changed\n"
        assert (limits(zot), (zot.home / "config.json").exists()) == ({"processes": (20, "manifest")}, False)
    else:
        wait_until(lambda: host.stats()["memory_hog"].limit_breaches)


def test_kept_limits_are_in_the_file_and_hold_in_the_next_host(zot: Zot, host: Hosted) -> None:
    file = zot.home / "config.json"
    file.write_text(THEIRS)
    file.chmod(0o640)
    (kept,) = run(zot, "ext", "limit", "memory_hog", "rss_mb=300", "processes=none", "--keep", "--json").json_lines
    assert (kept["kept_in"], kept["later"]) == (str(file), [])
    assert limits(zot) == {"rss_mb": (300, "kept")}
    assert file.read_text() == (
        '{\n    "theme": "dark",  \n    "model": "m",\n    "extension_limits": {\n        "memory_hog": {\n'
        '            "rss_mb": 300,\n            "processes": null\n        }\n    }\n}\n'
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    with hosting(zot, extension(zot.folder / "later", "memory_hog", limits={"processes": 20})) as later:
        host_flag = ("--host", str(later.pid))
        (shown,) = run(zot, "ext", "limit", "memory_hog", "--json", *host_flag).json_lines
        assert [(each["limit"], each["origin"]) for each in shown["limits"]] == [("rss_mb", "kept")]
        several = run(zot, "ext", "limit", "memory_hog", "rss_mb=5")
        assert (several.status, "2 hosts have it; name one with --host" in " ".join(several.stderr.split())) == (
            2,
            True,
        )
        assert (
            run(zot, "ext", "limit", "memory_hog", "rss_mb=default", "processes=default", "--keep", *host_flag).status
            == 0
        )
        assert json.loads(file.read_text()) == {"theme": "dark", "model": "m", "extension_limits": {}}


@pytest.mark.parametrize(
    ("make", "status", "said"),
    [
        (lambda file: file.write_text("{"), 2, "config.json:1:"),
        (lambda file: file.write_text('{"extension_limits": {"a": {"rss": 3}}}'), 2,
         "extension_limits.a: no such limit: 'rss'; did you mean 'rss_mb'?"),
        (lambda file: file.symlink_to("gone"), 2, "it is a link to gone, which is not there"),
        (lambda file: file.mkdir(), 2, "cannot be read: Is a directory"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_written_changes_nothing(
    zot: Zot, host: Hosted, make: Any, status: int, said: str
) -> None:
    make(zot.home / "config.json")
    outcome = run(zot, "ext", "limit", "memory_hog", "rss_mb=300", "--keep")
    assert (outcome.status, said in outcome.stderr) == (status, True), outcome.stderr
    assert limits(zot) == {"processes": (20, "manifest")}


def test_an_extension_that_no_host_has_gets_kept_limits_only(zot: Zot) -> None:
    zot.env.pop("XDG_RUNTIME_DIR", None)
    extension(zot.home / "extensions", "echo")
    for args, said in ((["rss_mb=5"], "with --keep it gets the limits at its next start"), ([], "zot ext info echo")):
        outcome = run(zot, "ext", "limit", "echo", *args)
        assert (outcome.status, said in outcome.stderr) == (1, True)
    unknown = run(zot, "ext", "limit", "eccho", "rss_mb=5", "--keep")
    assert (unknown.status, "did you mean 'echo'?" in unknown.stderr) == (2, True)
    kept = run(zot, "ext", "limit", "echo", "rss_mb=500", "--keep")
    assert (kept.status, "from its next start: rss_mb 500" in kept.stderr) == (0, True)
    assert "rss_mb 500" in run(zot, "ext", "info", "echo").text


def test_the_folder_of_an_installed_one_names_it(zot: Zot, host: Hosted) -> None:
    extension(zot.home / "extensions", "echo").rename(zot.home / "extensions" / "parrot")
    changed = run(zot, "ext", "limit", "parrot", "rss_mb=300")
    assert changed.stderr.splitlines()[0] == f"zot ext limit: host {host.pid} limits echo now: rss_mb 300"
    named = ("--host", str(host.pid))
    for where in ((), named):
        assert run(zot, "ext", "status", "parrot", "--json", *where).json_lines[0]["name"] == "echo"
        assert run(zot, "ext", "stats", "parrot", "--json", *where).json_lines[0]["name"] == "echo"
        assert run(zot, "ext", "call", "parrot", "echo", '{"text": "hi"}', *where).text == "hi\n"
        assert "no such extension" not in run(zot, "ext", "reload", "parrot", *where).stderr
        assert f"host {host.pid} restarts echo" in run(zot, "ext", "restart", "parrot", *where).stderr
    assert f"host {host.pid} has stopped echo" in run(zot, "ext", "stop", "parrot", "--yes").stderr
    assert "no such extension: 'parro'" in run(zot, "ext", "status", "parro", *named).stderr


def test_a_link_to_the_file_stays_a_link(zot: Zot, tmp_path: Path) -> None:
    zot.env.pop("XDG_RUNTIME_DIR", None)
    extension(zot.home / "extensions", "echo")
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    (zot.home / "config.json").symlink_to(real)
    assert run(zot, "ext", "limit", "echo", "rss_mb=500", "--keep").status == 0
    assert (zot.home / "config.json").is_symlink()
    assert json.loads(real.read_text()) == {"extension_limits": {"echo": {"rss_mb": 500}}}
