"""`zot report --open`: a browser is started and not waited for; without one the page is named."""

from __future__ import annotations

import os
import subprocess

import pytest

from cli.report import browser
from cli.report.browser import open_in_browser
from cli.report.command import make_report
from tests.support.recorded_stats import recorded, write
from tests.support.zot_process import wait_until


@pytest.fixture
def page(tmp_path, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "a page.html").write_text("x")
    return tmp_path / "a page.html"


@pytest.fixture
def own_browser(tmp_path, monkeypatch):
    """Sets $BROWSER to a program of these lines; it gets the address as its argument."""

    def make(lines):
        program = tmp_path / "browser.sh"
        program.write_text(f"#!/bin/sh\n{lines}\n")
        program.chmod(0o755)
        monkeypatch.setenv("BROWSER", f"{program} %s")

    return make


def test_the_browser_gets_the_address_and_writes_nothing_here(page, own_browser, tmp_path, capfd):
    own_browser(f'echo noise; echo noise >&2; echo "$1" > {tmp_path}/seen')
    assert open_in_browser(str(page)) == ""
    assert (tmp_path / "seen").read_text() == f"file://{tmp_path}/a%20page.html\n"
    assert capfd.readouterr() == ("", "")


def test_without_a_display_no_browser_is_started(page):
    assert open_in_browser(str(page)) == "there is no display here"


def test_a_browser_that_fails_is_told(page, own_browser):
    own_browser("exit 3")
    assert open_in_browser(str(page)) == "no browser could be started"


def test_a_browser_that_stays_is_not_waited_for(page, own_browser, tmp_path, monkeypatch):
    class Impatient(subprocess.Popen[bytes]):
        """Its time is over once the browser runs."""

        def wait(self, timeout=None):
            if timeout is None:
                return super().wait()
            wait_until((tmp_path / "runs").exists)
            raise subprocess.TimeoutExpired(self.args, timeout)

    monkeypatch.setattr(browser.subprocess, "Popen", Impatient)
    os.mkfifo(tmp_path / "gate")
    own_browser(f"touch {tmp_path}/runs; read line < {tmp_path}/gate; echo closed > {tmp_path}/gate")
    assert open_in_browser(str(page)) == ""
    (tmp_path / "gate").write_text("close\n")
    assert (tmp_path / "gate").read_text() == "closed\n"


def test_a_report_is_opened_or_named(page, own_browser, tmp_path, capsys):
    run = write(tmp_path / "run.stats", recorded(4, 10))
    made = run.with_suffix(".html")
    assert make_report(str(run), None, opens=True) == 0
    assert capsys.readouterr().err == f"{made}: open it in a browser (there is no display here)\n"
    own_browser("true")
    assert make_report(str(run), None, opens=True) == 0
    assert capsys.readouterr().err == f"{made}: opened in the browser\n"
    assert make_report(str(run), "-", opens=True) == 2
    assert "--open opens a file" in capsys.readouterr().err
