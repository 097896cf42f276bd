"""`zot host` is a command with flags, and a group."""

from __future__ import annotations

import signal

import pytest

from tests.support.extension_folder import extension
from tests.support.host_process import hosting


def test_without_a_word_it_is_the_host(zot):
    with hosting(zot, extension(zot.folder, "echo"), flags=("--no-ext", "--log-format", "json")) as host:
        assert host.call("echo", "hello") == "hello"
        host.running.signal(signal.SIGTERM)
        assert host.running.finish().status == 0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("instal",), "no such command: 'instal'; did you mean 'install' or 'uninstall'? (see zot host --help)"),
        (("--watch", "guard"), "no such command: 'guard'; there are health, install, uninstall (see zot host --help)"),
        (("--watch", "install"), "install goes before its flags: zot host install … (see zot host --help)"),
        (("install", "--detach"), "No such option: --detach"),
        (("--user",), "No such option: --user"),
    ],
)
def test_a_wrong_word_is_refused_and_no_host_starts(zot, words, reason):
    assert reason in zot.run("host", *words).refusal()
    assert not zot.home.exists()


def test_the_help_has_flags_and_commands(zot):
    told = zot.run("host", "--help").text
    for text in ("[OPTIONS] | COMMAND [ARGS]...", "As a service:", "install ", "--detach", "--share NAME"):
        assert text in told
    assert zot.run("help", "host", "health").text == zot.run("host", "health", "--help").text


def test_a_shell_offers_commands_and_flags(zot):
    env = {"_TYPER_COMPLETE_ARGS": "zot host ", "_ZOT_COMPLETE": "complete_zsh"}
    offered = zot.run(env=env, cold=True).text
    for word in ("install", "uninstall", "health"):
        assert word in offered
    env["_TYPER_COMPLETE_ARGS"] = "zot host --det"
    assert "--detach" in zot.run(env=env, cold=True).text
