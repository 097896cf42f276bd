"""From the options of a run to a run that can start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.configure import prepare
from agent.model.anthropic_provider import AnthropicProvider
from agent.model.provider import ProviderUnavailable
from agent.model.replay_provider import RecordingProvider, ReplayProvider
from agent.options import RunRequest
from agent.request_checks import UsageError
from tests.support.replay_script import Script
from wire.exit_codes import Status


@pytest.fixture
def asked(tmp_path, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return lambda **more: RunRequest(home=tmp_path / "home", cwd=str(tmp_path), **more)


def test_defaults(asked, tmp_path):
    options = prepare(asked()).options
    assert options.cwd == str(tmp_path)
    assert options.model == "claude-sonnet-5-5"
    assert options.reply_tokens == 32_000
    assert options.tools == {"read", "write", "edit", "bash"}
    assert options.keep_session
    assert not (tmp_path / "home").exists(), "nothing is made before there is something to keep"


def test_the_settings_offer_the_tools_of_extensions_where_no_flag_says_otherwise(asked, tmp_path):
    (tmp_path / "home").mkdir()
    assert not prepare(asked()).options.copilot
    assert prepare(asked(copilot=True, tools=frozenset())).options.copilot
    with pytest.raises(UsageError, match="--copilot and --no-ext exclude each other"):
        prepare(asked(copilot=True, discover=False))
    (tmp_path / "home" / "config.json").write_text('{"copilot": true}')
    assert prepare(asked()).options.copilot
    cassette = Script(tmp_path).answer("x").write(tmp_path / "c.jsonl")
    for more in (
        {"tools": frozenset({"read"})},
        {"tools": frozenset()},
        {"discover": False},
        {"replay": str(cassette)},
    ):
        assert not prepare(asked(**more)).options.copilot, more
    assert prepare(asked(replay=str(cassette), copilot=True)).options.copilot


def test_an_unknown_model_gets_a_modest_limit(asked):
    options = prepare(asked(model="llama-99b")).options
    assert (options.model, options.reply_tokens) == ("llama-99b", 8_192)


def test_the_home_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "x"))
    assert prepare(RunRequest()).options.home == tmp_path / "x"
    monkeypatch.delenv("ZOT_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("sys.platform", "linux")
    assert prepare(RunRequest()).options.home == tmp_path / "state" / "zot"


def test_a_relative_folder_is_made_absolute(monkeypatch, tmp_path):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    assert prepare(RunRequest(cwd="sub/../sub")).options.cwd == str(tmp_path / "sub")


def test_the_request_decides_the_provider(asked, loop, tmp_path, monkeypatch):
    refusal = prepare(asked()).make_provider(loop)
    assert isinstance(refusal, ProviderUnavailable)
    assert refusal.status is Status.AUTHENTICATION
    for more in ({"api_key": "k"}, {"base_url": "http://localhost:1"}):
        assert isinstance(prepare(asked(**more)).make_provider(loop), AnthropicProvider)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert isinstance(prepare(asked()).make_provider(loop), AnthropicProvider)
    cassette = tmp_path / "c.jsonl"
    assert isinstance(prepare(asked(record=str(cassette))).make_provider(loop), RecordingProvider)
    assert isinstance(prepare(asked(replay=str(cassette))).make_provider(loop), ReplayProvider)


def test_the_model_of_a_cassette_is_the_default_of_its_replay(asked, tmp_path):
    cassette = tmp_path / "c.jsonl"
    exchange = '{"type":"exchange","request":{"model":"old-model"},"reply":[{"type":"error","kind":"x","message":""}]}'
    cassette.write_text('{"type":"cassette","version":1}\n' + exchange + "\n")
    assert prepare(asked(replay=str(cassette))).options.model == "old-model"
    assert prepare(asked(replay=str(cassette), model="mine")).options.model == "mine"


def test_an_address_that_is_none_is_an_error_wherever_it_is_from(asked, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="--base-url ftp://x: must start with http"):
        prepare(asked(base_url="ftp://x"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "gateway:80")
    with pytest.raises(UsageError, match="ANTHROPIC_BASE_URL gateway:80: must start with http"):
        prepare(asked())
    prepare(asked(replay=str(Script(tmp_path).answer("x").write(tmp_path / "c.jsonl"))))


def test_the_key_may_come_from_a_file(asked, loop, tmp_path):
    file = tmp_path / "key"
    file.write_text("sk-1\n")
    file.chmod(0o644)
    prepared = prepare(asked(api_key_file=str(file)))
    assert isinstance(prepared.make_provider(loop), AnthropicProvider)
    assert [warning.partition(": ")[2] for warning in prepared.options.remarks] == [
        "other users may read it; chmod 600 makes it yours alone"
    ]
    with pytest.raises(UsageError, match="exclude each other"):
        prepare(asked(api_key_file=str(file), api_key="k"))
    with pytest.raises(UsageError, match="No such file"):
        prepare(asked(api_key_file=str(tmp_path / "none")))


@pytest.mark.parametrize(("field", "flag"), [("api_key", "--api-key"), ("model", "--model"), ("cwd", "--cwd")])
@pytest.mark.parametrize("empty", ["", " "])
def test_what_is_given_and_empty_is_not_replaced_by_the_default(field, flag, empty, tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of somebody else")
    with pytest.raises(UsageError, match=f"{flag} is empty"):
        prepare(RunRequest(home=tmp_path, **{field: empty}))


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "https://h/path?q", "http://[::1]:8080", "http://user:pw@h"])
def test_addresses_that_can_be_reached(asked, url):
    prepare(asked(base_url=url))


@pytest.mark.parametrize(
    "more",
    [
        {"model": "a\udcff"},
        {"system_prompt": "\udc80"},
        {"append_system_prompt": ("ok", "\udcff")},
        {"extensions": ("\udcff",)},
    ],
)
def test_text_that_json_cannot_hold_is_refused(asked, more):
    with pytest.raises(UsageError, match="not valid UTF-8"):
        prepare(asked(**more))


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_system_prompt_that_cannot_be_read_is_not_left_out(asked, tmp_path, make):
    (tmp_path / "home").mkdir()
    make(tmp_path / "home" / "SYSTEM.md")
    with pytest.raises(UsageError, match=r"SYSTEM.md: cannot be read: (Not a file|Is a directory)"):
        prepare(asked())
    prepare(asked(system_prompt="mine"))


def test_a_folder_name_that_json_cannot_hold_is_refused(asked, tmp_path):
    folder = tmp_path / "bad\udcff"
    folder.mkdir()
    with pytest.raises(UsageError, match="not valid UTF-8"):
        prepare(RunRequest(cwd=str(folder), home=Path(tmp_path)))
