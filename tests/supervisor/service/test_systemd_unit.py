"""systemd reads a unit of ours as it is meant, whatever is in its paths."""

from __future__ import annotations

import getpass
import re
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.service.systemd_unit import UNIT, Service, is_ours, quoted, unit_text
from tests.support.systemd import need_systemd_analyze, read, verify

if TYPE_CHECKING:
    from pathlib import Path

AWKWARD = (
    "--cwd", "/a b/%h $HOME ${X} $$ 'q\" \\", "--ext", ";", "--ext", "", "--ext", "/x\ny\t\x07", "--ext", "/ü\u2028😀",
    "--stats", "@-:+!x", "--metrics", "#no comment", "--share", "\\", "*?[a]~", "{a,b}", "|&<>", "%%", "%n%i", "\\x41",
)  # fmt: skip


def service(*flags: str, account: str = "", home: str = "/h", path: str = "/usr/bin") -> Service:
    return Service((sys.executable, "-P", "/p/__main__.py", "host", *flags), "/project", home, path, account)


def write(folder: Path, made: Service) -> Path:
    unit = folder / UNIT
    unit.write_bytes(unit_text(made).encode("utf-8", "surrogateescape"))
    return unit


@pytest.mark.parametrize("account", ["", getpass.getuser()])
def test_systemd_has_nothing_to_object(tmp_path: Path, account: str):
    need_systemd_analyze()
    unit = write(tmp_path, service(*AWKWARD, account=account, home="/h %o", path="/usr/bin:/a b/%c"))
    assert verify(unit, is_of_user=not account) == (0, "")


def test_systemd_reads_the_words_that_are_meant(tmp_path: Path):
    need_systemd_analyze()
    made = service(*AWKWARD, "\udcff\udc80", home='/h %o "x" $y \\', path="/usr/bin:/a b/%c")
    words, variables = read(write(tmp_path, made), is_of_user=True)
    assert words == list(made.argv)
    assert variables == {"ZOT_HOME": made.home, "PATH": made.path}


@pytest.mark.parametrize("program", ["/a b/python", "/a$HOME/python", "/100%/python"])
def test_the_program_may_have_an_awkward_path_too(tmp_path: Path, program: str):
    need_systemd_analyze()
    made = service()._replace(argv=(program, "host"))
    assert read(write(tmp_path, made), is_of_user=True)[0] == [program, "host"]


def c_unescaped(word: str) -> str:
    """The word as systemd.syntax(7) reads it, with `%%` as one percent sign."""
    if not word.startswith('"'):
        return word
    assert word.endswith('"')
    text = re.sub(r"\\(x[0-9a-f]{2}|.)", lambda m: chr(int(m[1][1:], 16)) if m[1][0] == "x" else m[1], word[1:-1])
    assert "%" not in text.replace("%%", "")
    return text.replace("%%", "%")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_one_word_on_one_line(text: str):
    word = quoted(text)
    assert not re.search(r"[\n\r\0]", word)
    assert c_unescaped(word) == text


def test_a_project_of_any_name_is_one_line_for_people(tmp_path: Path):
    need_systemd_analyze()
    unit = write(tmp_path, service()._replace(project="/a\nExecStart=/bin/false\x1b[31m%h\\"))
    assert verify(unit, is_of_user=True) == (0, "")
    assert "\nDescription=zot host in /a?ExecStart=/bin/false?[31m%%h\n" in unit.read_text()


def test_a_unit_of_the_users_manager_asks_for_nothing_that_needs_privileges():
    text = unit_text(service())
    assert not re.search(r"^(User|Protect\w+|Private\w+|Wants)=", text, re.MULTILINE)
    assert "WantedBy=default.target" in text
    assert re.search(r"^User=me$", unit_text(service(account="me")), re.MULTILINE)


@pytest.mark.parametrize("setting", ["Type=notify", "Delegate=yes", "KillMode=mixed", "OOMPolicy=continue"])
def test_each_unit_has_what_the_host_relies_on(setting: str):
    for account in ("", "me"):
        assert f"\n{setting}\n" in unit_text(service(account=account))


@pytest.mark.parametrize(
    "setting",
    ["MemoryDenyWriteExecute", "ProtectControlGroups", "ProtectHome", "PrivateTmp", "ProtectKernelTunables",
     "RestrictSUIDSGID"],
)  # fmt: skip
def test_no_unit_takes_away_what_extensions_need(setting: str):
    assert setting not in unit_text(service(account="me"))


def test_a_file_of_ours_is_known():
    assert is_ours(unit_text(service()))
    assert not is_ours("[Unit]\n")
