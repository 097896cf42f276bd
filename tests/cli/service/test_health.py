"""`zot host health` tells within seconds whether hosts answer and their extensions run."""

from __future__ import annotations

import os
import signal

import pytest

from cli.service.health import _cells, _of_extension
from tests.support.extension_folder import extension, folder
from tests.support.host_process import hosting
from tests.support.recorded_stats import extension_stats
from tests.support.zot_process import wait_until
from wire.stats import Alarm


def health(zot, *words):
    done = zot.run("host", "health", *words)
    return done.status, [tuple(line.split(None, 3)) for line in done.text.splitlines()], done.stderr


def test_a_host_whose_extensions_run_is_well(zot):
    with hosting(zot, extension(zot.folder, "echo"), flags=("--no-ext",)) as host:
        status, lines, errors = health(zot)
        assert (status, errors) == (0, "")
        (_, pid, name, said), second = lines
        assert (pid, name) == (str(host.pid), "-")
        assert said.startswith("zot host with 1 extension, for ")
        assert second == ("ok", str(host.pid), "echo", "ready")
        assert health(zot, str(host.pid))[0] == 0
        records = zot.run("host", "health", "--json").json_lines
        assert [(each["status"], each["extension"], each["state"]) for each in records] == [
            ("ok", "", "running"),
            ("ok", "echo", "ready"),
        ]
        host.running.signal(signal.SIGTERM)
        host.running.finish()


def test_an_extension_that_is_given_up_fails(zot):
    broken = folder(zot.folder, "broken", ["/bin/false"], restart={"policy": "temporary"})
    with hosting(zot, extension(zot.folder, "echo"), broken, flags=("--no-ext",)) as host:
        status, lines, _ = health(zot)
        assert status == 1
        assert [line[0] for line in lines] == ["ok", "ok", "fail"]
        assert lines[2][2] == "broken"
        assert lines[2][3].startswith("failed: ")
        host.running.signal(signal.SIGTERM)
        host.running.finish()


def test_an_extension_that_a_reload_could_not_start_fails(zot):
    faulty = zot.home / "extensions" / "faulty"
    with hosting(zot) as host:
        faulty.mkdir(parents=True)
        (faulty / "extension.json").write_text("{")
        host.running.signal(signal.SIGHUP)
        wait_until(lambda: "extension load" in host.running.errors())
        status, lines, _ = health(zot)
        assert status == 1
        assert lines[1][:3] == ("fail", str(host.pid), "faulty")
        assert lines[1][3].startswith("skipped: not started: ")
        host.running.signal(signal.SIGTERM)
        host.running.finish()


def test_a_host_that_hangs_fails_and_others_are_told(zot):
    with hosting(zot, flags=("--no-ext",)) as hanging, hosting(zot, flags=("--no-ext",)) as other:
        os.kill(hanging.pid, signal.SIGSTOP)
        status, lines, _ = health(zot)
        assert status == 1
        told = {line[1]: (line[0], line[3]) for line in lines}
        assert told[str(hanging.pid)][0] == "fail"
        assert "does not answer; kill -CONT" in told[str(hanging.pid)][1]
        assert told[str(other.pid)][0] == "ok"
        assert health(zot, str(other.pid))[0] == 0
        os.kill(hanging.pid, signal.SIGCONT)
        for host in (hanging, other):
            host.running.signal(signal.SIGTERM)
            host.running.finish()


def test_without_a_host_all_is_not_well(zot):
    done = zot.run("host", "health")
    assert (done.status, done.text) == (1, "")
    assert done.stderr == "zot host health: no host is running; start one with zot host\n"
    assert "there is no host 999999999; see zot ps" in zot.run("host", "health", "999999999").stderr
    assert "0 is not in the range" in zot.run("host", "health", "0").refusal()


def test_a_killed_host_is_none(zot):
    with hosting(zot, flags=("--no-ext",)) as host:
        host.running.signal(signal.SIGKILL)
        host.running.process.wait()
        wait_until(lambda: zot.run("host", "health").status == 1)


@pytest.mark.parametrize(
    ("kinds", "is_ok"),
    [
        ((), True),
        (("near_limit",), True),
        (("memory_grows", "near_limit"), True),
        (("restarting",), False),
        (("over_limit",), False),
        (("failed", "near_limit"), False),
    ],
)
def test_which_alarms_make_an_extension_fail(kinds, is_ok):
    alarms = tuple(Alarm(kind, f"it is {kind}", None) for kind in kinds)
    verdict = _of_extension(7, "host", "a", extension_stats(alarms=alarms))
    assert verdict.is_ok is is_ok
    said = [kind for kind in kinds if f"it is {kind}" in verdict.message]
    assert said == ([kind for kind in kinds if kind != "near_limit"] if not is_ok else list(kinds))


def test_no_sign_of_an_extension_reaches_the_terminal():
    alarm = Alarm("failed", "\x1b[31mred\x9b31m\nok  7  forged", None)
    assert all(map(str.isprintable, _cells(_of_extension(7, "host", "a", extension_stats(alarms=(alarm,))))))
