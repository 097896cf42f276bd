"""Keys in auth.json: found, stored and removed, and nothing else of the file is touched."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.providers import auth_file
from agent.providers.auth_file import AuthFileError, Stored, read_stored, remove_entry, store_key
from tests.support.any_json import json_values
from tests.support.zot_process import ROOT

OAUTH = {"access_token": "at-secret", "refresh_token": "rt-secret", "expiry": "2026-01-02T03:04:05Z"}
FULL = {
    "anthropic": {"oauth": OAUTH},
    "openai": {"api_key": "sk-openai"},
    "unheard-of": [1, 2, 123456789012345678901234567890],
    "additional_api_key_creds": {
        "openrouter": {"api_key": " sk-or \n"},
        "litellm": {"api_key_command": {"program": "op", "args": ["read"]}},
    },
}


def content(home):
    return json.loads((home / "auth.json").read_text())


@pytest.fixture
def full(tmp_path):
    path = tmp_path / "auth.json"
    path.write_text(json.dumps(FULL))
    path.chmod(0o600)
    return tmp_path


def test_each_kind_of_entry_is_found(full):
    assert read_stored(full, "openrouter") == Stored("sk-or")
    assert read_stored(full, "anthropic") == Stored(None, "OAuth token")
    assert read_stored(full, "litellm") == Stored(None, "command for a key")
    assert read_stored(full, "ollama") == Stored()
    assert read_stored(full / "nowhere", "anthropic") == Stored()


def test_a_key_takes_the_place_of_what_was_there_and_all_else_stays(full):
    store_key(full, "litellm", "sk-new")
    store_key(full, "ollama", "k")
    more = {**FULL["additional_api_key_creds"], "litellm": {"api_key": "sk-new"}, "ollama": {"api_key": "k"}}
    assert content(full) == {**FULL, "additional_api_key_creds": more}
    store_key(full, "anthropic", "sk-ant")
    assert content(full)["anthropic"] == {"api_key": "sk-ant"}


def test_the_file_is_made_for_the_user_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        store_key(tmp_path / "home", "anthropic", "sk-ant")
    finally:
        os.umask(before)
    home = tmp_path / "home"
    assert content(home) == {"anthropic": {"api_key": "sk-ant"}}
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()} == {
        "auth.json": 0o600, "auth.json.lock": 0o600,
    }  # fmt: skip
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_file_that_others_may_read_is_said_and_made_private_by_the_next_change(full):
    (full / "auth.json").chmod(0o644)
    assert "other users may read it; chmod 600" in read_stored(full, "openrouter").warning
    store_key(full, "ollama", "k")
    assert read_stored(full, "openrouter").warning == ""


def test_removing_says_what_was_there(full):
    assert remove_entry(full, "anthropic") == "OAuth token"
    assert remove_entry(full, "openrouter") == "key"
    assert remove_entry(full, "openrouter") == ""
    assert remove_entry(full / "nowhere", "anthropic") == ""
    assert content(full) == {
        "openai": FULL["openai"],
        "unheard-of": FULL["unheard-of"],
        "additional_api_key_creds": {"litellm": FULL["additional_api_key_creds"]["litellm"]},
    }


def test_a_link_stays_a_link(full, tmp_path):
    real = tmp_path / "dotfiles.json"
    (full / "auth.json").rename(real)
    (full / "auth.json").symlink_to(real)
    store_key(full, "ollama", "k")
    assert (full / "auth.json").is_symlink()
    assert json.loads(real.read_text())["additional_api_key_creds"]["ollama"] == {"api_key": "k"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"anthropic": {"api_key": "sk-secret"', r"auth\.json:1:\d+: it ends in the middle"),
        ('["sk-secret"]', "must be an object"),
        ('{"anthropic": "sk-secret"}', "anthropic: must be an object"),
        ('{"anthropic": {"api_key": ["sk-secret"]}}', r"anthropic\.api_key: must be text"),
        ('{"additional_api_key_creds": "sk-secret"}', "additional_api_key_creds: must be an object"),
        ('{"anthropic": {"api_key": "sk-secret\\ud800"', "auth"),
        ("[" * 100_000, "nested too deeply"),
        ("sk-secret", "auth"),
    ],
)
def test_a_faulty_file_is_named_and_never_quoted_and_stays_as_it_is(tmp_path, text, fault):
    path = tmp_path / "auth.json"
    path.write_text(text)
    with pytest.raises(AuthFileError, match=fault) as raised:
        read_stored(tmp_path, "anthropic")
    assert "sk-secret" not in str(raised.value)
    if "api_key" not in fault:
        with pytest.raises(AuthFileError):
            store_key(tmp_path, "anthropic", "k")
        assert path.read_text() == text


@given(json_values)
def test_any_content_is_read_or_refused(tmp_path_factory, value):
    home = tmp_path_factory.mktemp("home")
    for text in (value, {"anthropic": value}, {"additional_api_key_creds": value}):
        (home / "auth.json").write_text(json.dumps(text))
        try:
            store_key(home, "anthropic", "k")
        except AuthFileError:
            assert (home / "auth.json").read_text() == json.dumps(text)
        else:
            assert read_stored(home, "anthropic").key == "k"


def test_a_full_disk_leaves_the_old_file(full, monkeypatch):
    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("supervisor.home.safe_files.sync", fails)
    with pytest.raises(AuthFileError, match="cannot be written: No space left on device; it is as it was"):
        store_key(full, "ollama", "k")
    assert content(full) == FULL


def test_a_kill_in_the_middle_of_the_write_leaves_the_old_file(full):
    program = (
        "import os, signal, sys, pathlib\n"
        "from agent.providers import auth_file\n"
        "from supervisor.home import safe_files\n"
        "safe_files.sync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)\n"
        "auth_file.store_key(pathlib.Path(sys.argv[1]), 'ollama', 'k')\n"
    )
    done = subprocess.run([sys.executable, "-c", program, full], env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == -9
    assert content(full) == FULL
    store_key(full, "ollama", "k")
    assert read_stored(full, "ollama").key == "k", "what the killed one left is in nobody's way"
    assert sorted(path.name for path in full.iterdir()) == ["auth.json", "auth.json.lock"]


def test_while_another_program_changes_the_file_it_is_waited_for(full, monkeypatch):
    import fcntl

    monkeypatch.setattr(auth_file, "LOCK_S", 0.0)
    with open(full / "auth.json.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(AuthFileError, match=r"another program has held auth\.json\.lock"):
            store_key(full, "ollama", "k")
    assert content(full) == FULL


def test_a_key_is_not_in_a_traceback():
    assert "sk-secret" not in repr(Stored("sk-secret"))


@given(st.text())
def test_every_key_comes_back_as_it_was_but_for_white_space_around_it(tmp_path_factory, key):
    home = tmp_path_factory.mktemp("home")
    try:
        key.encode()
    except UnicodeEncodeError:
        return
    store_key(home, "openrouter", key)
    assert read_stored(home, "openrouter").key == (key.strip() or None)
