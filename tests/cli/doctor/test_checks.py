"""`zot doctor` names settings and faults, and starts no extension."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from cli.doctor import checks
from cli.doctor.checks import examine
from cli.doctor.host_checks import Check
from supervisor.cleanup.host_record import HostRecord
from supervisor.discovery.discover import read_manifest
from supervisor.discovery.trust_store import TrustStore
from supervisor.harness.findings import FindingLevel
from supervisor.process.cgroup_survey import OPT_OUT, CgroupDir, Unavailable
from tests.support.zot_process import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = "import sys; from cli.doctor.command import run_doctor; sys.exit(run_doctor(as_json='--json' in sys.argv))"
GONE = 2**22 + 1


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.setenv("ZOT_HOME", str(made))
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return made


def run(*flags: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *flags],
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
    )


def found(name: str) -> list[Check]:
    return [check for check in examine() if check.name == name]


def finding(name: str) -> Check:
    """The worst check of that name."""
    return max(found(name), key=lambda check: list(FindingLevel).index(check.level))


def extension(folder: Path, name: str, **manifest: Any) -> Path:
    made = folder / name
    made.mkdir(parents=True)
    (made / "extension.json").write_text(json.dumps({"name": name, "exec": "/bin/true", **manifest}))
    return made


def test_a_healthy_machine_has_no_failures(home: Path):
    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[-1] in ("nothing is wrong", "1 warning", "2 warnings")
    assert all(line.startswith(("ok   ", "warn ", "      ")) for line in lines[:-1])
    assert "sk-very-secret" not in done.stdout
    assert "\x1b" not in done.stdout
    assert list(home.iterdir()) == [], "it only looks"


def test_json_has_every_check(home: Path):
    extension(home / "extensions", "broken", exec="/nowhere/program")
    done = run("--json")
    said = json.loads(done.stdout)
    assert said.keys() == {"ok", "checks"}
    assert (done.returncode, said["ok"]) == (1, False)
    failed = [check for check in said["checks"] if check["level"] == "fail"]
    assert [(check["name"], check["message"]) for check in failed] == [
        ("extensions", "broken: cannot start /nowhere/program: no such file")
    ]
    keys = {"name", "level", "message", "advice", "host", "extension", "kind", "since"}
    assert all(check.keys() == keys for check in said["checks"])


def test_the_names_of_all_checks(home: Path):
    assert [check.name for check in examine()] == [
        "python", "processes", "exits", "orphans", "shell", "reaper", "limits", "home", "runtime", "config",
        "extensions", "open files", "models", "endpoint", "credential", "hosts", "past runs",
    ]  # fmt: skip


def test_every_finding_says_what_to_do(home: Path):
    extension(home / "extensions", "broken", exec="nowhere-to-be-found")
    (home / "config.json").write_text("{")
    assert all(check.advice for check in examine() if check.level is not FindingLevel.OK)


def test_a_check_that_breaks_is_a_finding_and_stops_no_other(home: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise RuntimeError("no idea")

    monkeypatch.setattr(checks, "survey", broken)
    assert finding("limits") == Check("limits", FindingLevel.FAIL, "could not be examined: RuntimeError: no idea")
    assert finding("hosts").level is FindingLevel.OK


# --- the system ---------------------------------------------------------------------------------------------


def test_a_system_without_pidfd(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    assert finding("exits").level is FindingLevel.WARN


def test_a_reaper_that_does_not_start_is_found(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("supervisor.cleanup.reaper.sys.executable", "/nowhere/python")
    check = finding("reaper")
    assert check.level is FindingLevel.WARN
    assert "cannot start /nowhere/python" in check.message


ALL = frozenset({"memory", "pids", "cpu"})
PLACES: dict[str, tuple[CgroupDir | Unavailable, str, str]] = {
    "none": (Unavailable("because"), "sampling watches rss_mb, processes and cpu_percent; no cgroup leaves", "because"),
    "all": (
        CgroupDir("/c", ALL, ALL, False, False),
        "cgroup leaves in /c; limited by the kernel: memory, pids, cpu",
        "",
    ),
    "some": (
        CgroupDir("/c", ALL - {"cpu"}, frozenset(), True, False),
        "cgroup leaves in /c; limited by the kernel: memory, pids; by sampling: cpu",
        "/c has no controller for cpu (cgroup v1 may hold them)",
    ),
}


@pytest.mark.parametrize("case", PLACES)
def test_which_limits_are_in_force(home: Path, monkeypatch: pytest.MonkeyPatch, case: str):
    place, message, advice = PLACES[case]
    monkeypatch.setattr(checks, "survey", lambda: place)
    assert finding("limits") == Check("limits", FindingLevel.OK, message, advice)


def test_leaves_can_be_switched_off(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(OPT_OUT, "1")
    assert finding("limits").advice == f"switched off by {OPT_OUT}"


# --- folders and files --------------------------------------------------------------------------------------


def is_a_file(home: Path) -> None:
    home.rmdir()
    home.touch()


HOMES: dict[str, tuple[Callable[[Path], object], FindingLevel, str]] = {
    "missing": (lambda home: home.rmdir(), FindingLevel.OK, "it will be made when needed"),
    "a file": (is_a_file, FindingLevel.FAIL, "is no folder"),
    "open to all": (lambda home: home.chmod(0o777), FindingLevel.WARN, "others may write to"),
    "private": (lambda home: home.chmod(0o700), FindingLevel.OK, "MiB free"),
}


@pytest.mark.parametrize("case", HOMES)
def test_the_home(home: Path, case: str):
    change, level, message = HOMES[case]
    change(home)
    check = finding("home")
    assert check.level is level
    assert message in check.message
    assert str(home) in check.message


def test_a_home_that_cannot_be_written_to(home: Path):
    home.chmod(0o500)
    if os.access(home, os.W_OK):
        pytest.skip("root may write everywhere")
    assert finding("home").level is FindingLevel.FAIL
    assert finding("runtime").level is FindingLevel.FAIL
    home.chmod(0o700)


@pytest.mark.parametrize(
    ("free", "level"), [(2**40, FindingLevel.OK), (2**26, FindingLevel.WARN), (2**20, FindingLevel.FAIL)]
)
def test_free_space(home: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: FindingLevel):
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda _: type("Usage", (), {"free": free}))
    assert finding("home").level is level
    assert finding("runtime").level is level


@pytest.mark.parametrize(
    ("text", "level", "message"),
    [
        ('{"limits": {"rss_mb": 9, "action": "stop"}}', FindingLevel.OK, "for all extensions: rss_mb 9, action stop"),
        ("{}", FindingLevel.OK, "limits for all extensions: none"),
        ('{"limits": {"rss_mb": -1}}', FindingLevel.FAIL, "limits.rss_mb"),
        ('{"limits": {"rss": 1}}', FindingLevel.FAIL, "rss"),
        ("{", FindingLevel.FAIL, "config.json"),
        ("[" * 100_000, FindingLevel.FAIL, "config.json"),
    ],
    ids=["limits", "empty", "negative", "unknown", "torn", "deep"],
)  # fmt: skip
def test_the_config(home: Path, text: str, level: FindingLevel, message: str):
    (home / "config.json").write_text(text)
    check = finding("config")
    assert check.level is level
    assert message in check.message


# --- extensions ---------------------------------------------------------------------------------------------


def test_extensions_are_listed_and_none_is_started(home: Path, tmp_path: Path):
    trace = tmp_path / "trace"
    extension(home / "extensions", "one", exec="/bin/sh", args=["-c", f"touch {trace}"])
    project = Path.cwd() / ".zot" / "extensions"
    extension(project, "two", workers=3)
    extension(home / "extensions", "three", enabled=False)
    listed, untrusted = found("extensions")
    assert listed == Check("extensions", FindingLevel.OK, "1 found: one; not started: three (disabled)")
    assert (untrusted.level, untrusted.advice) == (FindingLevel.WARN, "zot ext trust two")
    TrustStore(home).trust(project / "two", read_manifest(project / "two"))
    assert finding("extensions") == Check(
        "extensions", FindingLevel.OK, "2 found: two, one; not started: three (disabled)"
    )
    assert "for 4 processes of extensions" in finding("open files").message
    assert not trace.exists()


def test_each_broken_extension_is_a_line(home: Path):
    (extension(home / "extensions", "torn") / "extension.json").write_text("{")
    extension(home / "extensions", "fine")
    extension(home / "extensions", "lost", exec="./run.sh")
    failed = [check for check in found("extensions") if check.level is FindingLevel.FAIL]
    assert [check.message.split(":")[0] for check in failed] == [str(home / "extensions" / "torn"), "lost"]
    assert "parse manifest" in failed[0].message
    assert failed[1].message.endswith("run.sh: no such file")


def test_more_extensions_than_descriptors_is_found(home: Path, monkeypatch: pytest.MonkeyPatch):
    extension(home / "extensions", "many", workers=64)
    monkeypatch.setattr("resource.getrlimit", lambda _: (100, 300))
    check = finding("open files")
    assert check.level is FindingLevel.FAIL
    assert "64 processes" in check.message


def test_odd_bytes_in_a_folder_name_are_not_printed(home: Path):
    odd = home / "extensions" / os.fsdecode(b"\xff\x1b[31m")
    odd.mkdir(parents=True)
    for flags in ((), ("--json",)):
        done = run(*flags, PYTHONIOENCODING="ascii:strict")
        assert done.returncode == 1
        assert done.stderr == ""
        assert "\x1b" not in done.stdout


def test_a_working_folder_that_is_gone_is_found(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "project").rmdir()
    assert finding("extensions").level is FindingLevel.OK
    monkeypatch.chdir(tmp_path)


# --- credential and hosts -----------------------------------------------------------------------------------


def test_the_endpoint_and_the_source_of_the_credential_are_shown_and_never_the_credential(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    assert (
        finding("endpoint").message == "https://api.anthropic.com (the provider's own; ANTHROPIC_BASE_URL is not set)"
    )
    assert finding("credential") == Check("credential", FindingLevel.OK, "the key from ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "tok-very-secret")
    message = "the key from ANTHROPIC_API_KEY; ANTHROPIC_AUTH_TOKEN is not used"
    assert finding("credential")[1:3] == (FindingLevel.OK, message)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert finding("credential") == Check("credential", FindingLevel.OK, "the token from ANTHROPIC_AUTH_TOKEN")
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN")
    assert finding("credential").level is FindingLevel.WARN
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://me:very-secret@gateway:8080/x")
    assert finding("endpoint").message == "http://gateway:8080/x (from ANTHROPIC_BASE_URL)"
    assert finding("credential")[1:3] == (FindingLevel.OK, "none is sent to this endpoint")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "very-secret\n")
    assert finding("credential").level is FindingLevel.FAIL
    assert "very-secret" not in repr(examine())


def test_hosts_that_run_and_hosts_that_were_killed(home: Path):
    assert finding("hosts") == Check("hosts", FindingLevel.OK, "0 running")
    folder = home / "run"
    folder.mkdir()
    own = HostRecord.of_this_process("a" * 32, "0")
    own.write(folder)
    assert finding("hosts") == Check("hosts", FindingLevel.OK, f"1 running: {os.getpid()}")
    msgspec.structs.replace(own, pid=GONE).write(folder)
    (folder / "7.json").write_text("garbage")
    check = finding("hosts")
    assert check.level is FindingLevel.WARN
    assert check.message == f"1 running: {os.getpid()}; killed, and not cleaned up after yet: {GONE}"
    assert len(list(folder.iterdir())) == 3, "it only looks"
