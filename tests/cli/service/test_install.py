"""`zot host install` writes a unit that systemd reads as it is meant, and replaces and removes no other."""

from __future__ import annotations

import os
import pwd
import re
import sys

import pytest

from cli.os_errors import UnableError
from cli.service import install
from cli.service.host_flags import written_flags
from supervisor.service.systemd_unit import MARK
from tests.support.extension_folder import extension
from tests.support.project_extension import put
from tests.support.systemd import need_systemd_analyze, read, verify
from tests.support.zot_process import wait_until

START = "systemctl --user daemon-reload && systemctl --user enable --now zot-host\n"


@pytest.fixture
def unit(zot):
    """The path of the unit; `systemctl` is a program that tells of its calls."""
    zot.env["XDG_CONFIG_HOME"] = str(zot.folder / "config")
    programs = zot.folder / "programs"
    programs.mkdir()
    (programs / "systemctl").write_text(f"#!/bin/sh\necho called >> {zot.folder}/systemctl-called\n")
    (programs / "systemctl").chmod(0o755)
    zot.env["PATH"] = f"{programs}:{zot.env['PATH']}"
    yield zot.folder / "config" / "systemd" / "user" / "zot-host.service"
    assert not (zot.folder / "systemctl-called").exists(), "the user starts it"


def install_user(zot, *flags):
    return zot.run("host", "install", "--user", *flags)


def words_of(unit):
    return read(unit, is_of_user=True)[0][4:]


def test_the_unit_starts_this_host(zot, unit):
    need_systemd_analyze()
    echo = extension(zot.folder, "echo")
    done = install_user(zot, "-e", os.path.relpath(echo, zot.cwd), "--watch", "--log-format", "json")
    assert (done.status, done.text) == (0, START)
    assert f"wrote {unit}\n" in done.stderr
    assert verify(unit, is_of_user=True) == (0, "")
    words, variables = read(unit, is_of_user=True)
    assert words[:2] == [sys.executable, "-P"]
    assert words[3:] == ["host", "--ext", str(echo), "--cwd", str(zot.cwd), "--watch", "--log-format", "json"]
    assert variables == {"ZOT_HOME": str(zot.home), "PATH": ":".join(dict.fromkeys(zot.env["PATH"].split(":")))}
    assert unit.stat().st_mode & 0o777 == 0o644


def test_the_command_of_the_unit_is_a_host(zot, unit):
    need_systemd_analyze()
    assert install_user(zot, "--no-ext", "--cwd", ".").status == 0
    words, variables = read(unit, is_of_user=True)
    with zot.start(command=words, env={**variables, "PYTHONPATH": ""}, cwd="/", cold=True) as running:
        wait_until(lambda: list(zot.home.glob("run/*.sock")))
        assert zot.run("host", "health").status == 0
        assert zot.run("stop").status == 0
        assert running.finish().status == 0


def test_the_same_unit_is_left_and_another_one_is_shown(zot, unit):
    install_user(zot, "--no-ext")
    before = unit.stat()
    again = install_user(zot, "--no-ext")
    assert (again.status, again.text) == (0, START)
    assert f"{unit} is there already, with these flags\n" in again.stderr
    assert unit.stat() == before
    other = install_user(zot, "--no-ext", "--watch")
    assert (other.status, other.text) == (1, "")
    assert f"zot host install: {unit} is there and differs; --yes replaces it\n" in other.stderr
    lines = other.stderr.splitlines()
    assert [line[:10] for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        "-ExecStart",
        "+ExecStart",
    ]
    assert unit.stat() == before
    assert install_user(zot, "--no-ext", "--watch", "--yes").status == 0
    assert "--watch" in unit.read_text()


def test_a_unit_of_another_is_neither_replaced_nor_removed(zot, unit):
    unit.parent.mkdir(parents=True)
    unit.write_text("[Unit]\n")
    for words in (("install", "--user"), ("install", "--user", "--yes"), ("uninstall", "--user")):
        refused = zot.run("host", *words)
        assert (refused.status, refused.text) == (1, "")
        assert f"{unit} was not written by zot host install; move it away first" in refused.stderr
    assert unit.read_text() == "[Unit]\n"
    unit.unlink()
    unit.symlink_to("/dev/null")  # as `systemctl mask` does
    refused = zot.run("host", "install", "--user")
    assert refused.status == 1
    assert f"{unit} is a link to /dev/null" in refused.stderr


@pytest.mark.parametrize(
    ("flags", "status", "reason"),
    [
        (("--cwd", "nowhere"), 2, "--cwd nowhere: no such folder"),
        (("--stats-interval", "5"), 2, "--stats-interval has no effect without --stats FILE"),
        (("--stats", "nowhere/x"), 2, "--stats nowhere/x: there is no folder"),
        (("--share", "nope"), 2, "--share: no such extension: 'nope'"),
        (("--log-level", "loud"), 2, "'loud' is not one of"),
        (("--detach",), 2, "No such option: --detach"),
        (("-e", "nowhere"), 9, "extension nowhere was named with --ext, and cannot be loaded"),
    ],
)
def test_wrong_flags_are_refused_before_anything_is_written(zot, unit, flags, status, reason):
    refused = install_user(zot, *flags)
    assert (refused.status, refused.text) == (status, "")
    assert reason in refused.stderr
    assert not unit.parent.exists()


def test_a_faulty_config_is_refused_too(zot, unit):
    zot.home.mkdir()
    (zot.home / "config.json").write_text("[]")
    refused = install_user(zot)
    assert (refused.status, unit.exists()) == (2, False)


def test_skipped_extensions_are_told(zot, unit):
    put(zot, "echo")
    done = install_user(zot)
    assert done.status == 0
    assert "zot ext trust" in done.stderr


def test_variables_of_otel_that_the_service_will_miss_are_named(zot, unit):
    zot.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:4318"
    said = "OTEL_EXPORTER_OTLP_ENDPOINT: not written"
    assert said not in install_user(zot).stderr
    assert said in install_user(zot, "--yes", "--otel").stderr
    assert "OTEL_" not in unit.read_text()


def test_what_was_written_is_removed(zot, unit):
    install_user(zot, "--no-ext")
    wanted = unit.parent / "default.target.wants"
    wanted.mkdir()
    (wanted / unit.name).symlink_to(unit)
    (wanted / "other.service").symlink_to(unit)
    done = zot.run("host", "uninstall", "--user")
    assert (done.status, done.text) == (0, "systemctl --user stop zot-host; systemctl --user daemon-reload\n")
    assert f"removed {unit}\n" in done.stderr
    assert not unit.exists()
    assert os.listdir(wanted) == ["other.service"]
    again = zot.run("host", "uninstall", "--user")
    assert again.status == 1
    assert f"there is no {unit}" in again.stderr


def test_without_systemd_it_says_what_to_do(zot, unit):
    zot.env["PATH"] = str(zot.folder)
    for words in (("install", "--user"), ("install",), ("uninstall",)):
        refused = zot.run("host", *words)
        assert refused.status == 1
        assert "there is no systemd here; use zot host -d, or a container: docs/service.md" in refused.stderr


# --- for the system's manager ---------------------------------------------------------------------------------


@pytest.fixture
def system(tmp_path, monkeypatch):
    """The folder of the system's units."""
    monkeypatch.setattr(install, "OF_THE_SYSTEM", tmp_path / "system")
    monkeypatch.setattr(install.shutil, "which", lambda _name: "/bin/systemctl")
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "system"


FLAGS = {
    "ext": (), "mcp_config": (), "no_ext": True, "cwd": None, "trust_project": False, "watch": False,
    "strict_guards": False, "allow_asked": False, "profile_on_stall": False, "stats": None, "stats_interval": None,
    "metrics": None, "openmetrics": False, "otel": False, "no_trace": False, "share": (), "log_format": "console",
    "log_level": "info",
}  # fmt: skip


def test_a_unit_of_the_system_runs_as_the_user_who_calls_it(system, capsys):
    need_systemd_analyze()
    assert install.run_install(FLAGS, is_of_user=False, replaces=False) == 0
    unit = system / "zot-host.service"
    me = pwd.getpwuid(os.geteuid()).pw_name
    assert f"\nUser={me}\n" in unit.read_text()
    assert verify(unit, is_of_user=False) == (0, "")
    said = capsys.readouterr()
    assert said.out == "systemctl daemon-reload && systemctl enable --now zot-host\n"
    assert ("run as root" in said.err) == (me == "root")


def test_under_sudo_it_runs_as_the_user_who_called_sudo(system, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    nobody = pwd.getpwnam("nobody")
    monkeypatch.setenv("SUDO_USER", "nobody")
    monkeypatch.setenv("HOME", "/root")
    monkeypatch.setenv("XDG_STATE_HOME", "/root/state")
    monkeypatch.delenv("ZOT_HOME")
    install.run_install(FLAGS, is_of_user=False, replaces=False)
    text = (system / "zot-host.service").read_text()
    assert "\nUser=nobody\n" in text
    assert f"\nEnvironment=ZOT_HOME={nobody.pw_dir}/.local/state/zot\n" in text


@pytest.mark.parametrize("answer", [True, False])
def test_at_a_terminal_it_asks_before_it_replaces(system, monkeypatch, answer):
    install.run_install(FLAGS, is_of_user=False, replaces=False)
    questions = []
    monkeypatch.setattr(install, "is_attended", lambda: True)
    monkeypatch.setattr(install, "ask", lambda text: questions.append(text) or answer)
    more = {**FLAGS, "watch": True}
    if answer:
        assert install.run_install(more, is_of_user=False, replaces=False) == 0
    else:
        with pytest.raises(UnableError, match="is there and differs; --yes replaces it"):
            install.run_install(more, is_of_user=False, replaces=False)
    assert len(questions) == 1
    assert ("--watch" in (system / "zot-host.service").read_text()) is answer


def test_under_sudo_the_own_manager_is_not_that_of_root(system, monkeypatch):
    monkeypatch.setattr(install.os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_USER", "me")
    for run in (lambda: install.run_uninstall(is_of_user=True), lambda: install.target(is_of_user=True)):
        with pytest.raises(UnableError, match="call it as me, without sudo"):
            run()


def test_an_account_that_is_not_there_is_refused(system, monkeypatch):
    monkeypatch.setattr(install.os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_USER", "no-such-user")
    with pytest.raises(UnableError, match="there is no account no-such-user"):
        install.run_install(FLAGS, is_of_user=False, replaces=False)


def test_a_folder_without_permission_is_refused_with_advice(system, monkeypatch):
    def refuse(*_args):
        raise PermissionError(13, "Permission denied", str(system))

    monkeypatch.setattr(install, "make_folder", refuse)
    with pytest.raises(UnableError, match="Permission denied; call it with sudo, or use --user"):
        install.run_install(FLAGS, is_of_user=False, replaces=False)


def test_on_macos_it_is_a_property_list_in_the_session(system, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(install.sys, "platform", "darwin")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert install.run_install(FLAGS, is_of_user=True, replaces=False) == 0
    written = tmp_path / "Library" / "LaunchAgents" / "pyzot.host.plist"
    assert "not tried" in written.read_text()
    assert re.fullmatch(rf"launchctl bootstrap gui/\d+ {written}\n", capsys.readouterr().out)
    assert install.run_uninstall(is_of_user=True) == 0
    assert not written.exists()
    with pytest.raises(UnableError, match="on macOS only with --user"):
        install.run_install(FLAGS, is_of_user=False, replaces=False)


def test_each_flag_is_written_as_it_was_given(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    given = {**FLAGS, "ext": ("a", "/b"), "cwd": "p", "stats": "s", "stats_interval": 2.5, "share": ("x", "y")}
    given |= {"log_level": "debug", "strict_guards": True}
    assert written_flags(given) == (
        "--ext", f"{tmp_path}/a", "--ext", "/b", "--no-ext", "--cwd", f"{tmp_path}/p", "--strict-guards",
        "--stats", f"{tmp_path}/s", "--stats-interval", "2.5", "--share", "x", "--share", "y", "--log-level", "debug",
    )  # fmt: skip


def test_the_first_line_marks_a_file_of_ours(zot, unit):
    install_user(zot, "--no-ext")
    assert unit.read_text().startswith(MARK)
