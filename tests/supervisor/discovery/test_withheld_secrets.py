"""The user is told once for each extension and variable what was withheld."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from supervisor.discovery.found_extension import Scope
from supervisor.discovery.withheld_secrets import EXTENSIONS_KEPT, report_new
from supervisor.home.config import Config
from tests.support.project_extension import found

HOST = {"PATH": "/bin", "GITHUB_TOKEN": "value-1", "HF_TOKEN": "value-2", "ZOTCORE_RPC_TOKEN": "value-3"}


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def guard(name="guard", **fields):
    return found(Path("/x"), Scope.GLOBAL, name=name, **fields)


def tell(home, *extensions, config=None, environ=HOST):
    return report_new(home, extensions, config or Config(), environ)


def test_it_is_said_once_for_each_extension_and_variable(home):
    line = tell(home, guard())
    assert line == (
        "zot: extension guard starts without GITHUB_TOKEN and HF_TOKEN (secrets by their names; shown once). "
        "zot ext info guard tells more; to hand one over, put"
        f' {{"env_grant":{{"guard":["GITHUB_TOKEN"]}}}} into {home}/config.json'
    )
    assert tell(home, guard()) == ""
    assert "extension guard starts without NPM_TOKEN (secrets" in tell(
        home, guard(), environ={**HOST, "NPM_TOKEN": "x"}
    )
    assert "extension desk starts without GITHUB_TOKEN and HF_TOKEN (secrets" in tell(home, guard(), guard("desk"))
    assert tell(home, guard("desk"), guard()) == ""
    text = (home / "withheld.json").read_text()
    assert "value" not in text
    assert json.loads(text)["told"]["guard"] == ["GITHUB_TOKEN", "HF_TOKEN", "NPM_TOKEN"]
    assert stat.S_IMODE((home / "withheld.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("fields", "config"),
    [
        ({"env": ("GITHUB_TOKEN", "HF_TOKEN")}, Config()),
        ({}, Config(env_grant={"guard": ("GITHUB_TOKEN", "HF_TOKEN")})),
        ({"env_policy": "minimal"}, Config()),
        ({}, Config(env_policy="minimal")),
    ],
    ids=["asked for", "granted", "minimal", "minimal for all"],
)
def test_nothing_is_said_of_what_was_not_withheld(home, fields, config):
    assert tell(home, guard(**fields), config=config) == ""
    assert not home.exists()


def test_the_line_says_exactly_who_did_not_get_what(home):
    several = [guard("a"), guard("b"), guard("c", env=("HF_TOKEN",)), guard("d", env=("HF_TOKEN", "GITHUB_TOKEN"))]
    line = tell(home, *several)
    assert (
        "extensions a and b start without GITHUB_TOKEN and HF_TOKEN; extension c starts without GITHUB_TOKEN (" in line
    )


def test_no_key_of_the_host_is_proposed_if_there_is_another(home):
    assert '{"guard":["GITHUB_TOKEN"]}' in tell(home, guard(), environ={**HOST, "KIMI_API_KEY": "x"})
    assert '{"desk":["KIMI_API_KEY"]}' in tell(home, guard("desk"), environ={"KIMI_API_KEY": "x"})


def test_the_key_that_is_set_for_zot_itself_is_no_news(home):
    own = {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_AUTH_TOKEN": "x", "ANTHROPIC_CUSTOM_HEADERS": "x"}
    assert tell(home, guard(), environ=own) == ""
    assert "extension guard starts without GITHUB_TOKEN and HF_TOKEN (" in tell(home, guard(), environ={**HOST, **own})


def test_many_are_counted_on_one_line(home):
    many = {f"S{number:02}_TOKEN": "" for number in range(30)}
    line = tell(home, *(guard(f"e{number:02}") for number in range(20)), environ=many)
    assert (
        "e00, e01, e02, e03, e04 and 15 more start without S00_TOKEN, S01_TOKEN, S02_TOKEN, S03_TOKEN, S04_TOKEN"
        in line
    )
    assert line.count("\n") == 0
    assert len(line) < 500


def test_names_that_no_config_can_grant_are_not_told(home):
    assert tell(home, guard(), environ={"npm_config_//r/:_authToken": "", "a\udcff_TOKEN": ""}) == ""


@pytest.mark.parametrize("text", ["", "{", "[]", '{"told": 3}', '{"told": {"guard": [1]}}', "\udcff" * 3, "[" * 5000])
def test_a_damaged_file_is_replaced(home, text):
    home.mkdir()
    (home / "withheld.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert tell(home, guard()) != ""
    assert tell(home, guard()) == ""


def test_a_home_that_cannot_be_written_to_is_no_error(home):
    home.write_text("not a folder")
    assert tell(home, guard()) != ""


def test_the_file_stays_small(home):
    for number in range(3):
        tell(home, *(guard(f"e{number}-{each}") for each in range(300)))
    told = json.loads((home / "withheld.json").read_text())["told"]
    assert len(told) == EXTENSIONS_KEPT
    assert "e2-299" in told
