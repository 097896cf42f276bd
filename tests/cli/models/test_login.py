"""`zot login` and `zot logout` with a server that takes the key, one that refuses it, and none."""

from __future__ import annotations

import json
import os
import pty
import socket
import stat
import subprocess

import pytest

from tests.support.messages_server import http_error, text_reply
from tests.support.patience import PATIENCE_S
from wire.exit_codes import Status

KEY = "sk-very-secret-1234"


@pytest.fixture
def login(zot):
    """Runs `zot login` with this on stdin."""

    def run(*args, stdin=f"{KEY}\n", **more):
        file = zot.folder / "stdin"
        file.write_text(stdin)
        with file.open() as given:
            outcome = zot.run("login", *args, stdin=given, **more)
        assert KEY not in outcome.text + outcome.stderr
        return outcome

    return run


def stored(zot):
    path = zot.home / "auth.json"
    return json.loads(path.read_text()) if path.exists() else None


@pytest.mark.slow
def test_a_key_that_the_server_takes_is_stored_and_used_and_forgotten(zot, login, server):
    server.add(text_reply("Hi"), text_reply("Hello"))
    outcome = login("--base-url", server.base_url)
    assert outcome.status == 0, outcome.stderr
    assert outcome.text == (
        f"anthropic: {server.base_url} accepts it: claude-haiku-5-5 has answered; stored in {zot.home / 'auth.json'}\n"
    )
    later = (
        f"it was tried with {server.base_url}, but a run sends it to https://api.anthropic.com: give each run the same"
    )
    assert f"zot login: {later} --base-url, or write that address to models.json\n" in outcome.stderr
    assert stored(zot) == {"anthropic": {"api_key": KEY}}
    assert stat.S_IMODE((zot.home / "auth.json").stat().st_mode) == 0o600
    (probe,) = server.requests
    assert (probe.body["max_tokens"], probe.body["model"]) == (1, "claude-haiku-5-5")
    assert zot.run("-p", "--base-url", server.base_url, "--no-session", "go").text == "Hello\n"
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    gone = zot.run("logout")
    assert (gone.status, gone.text) == (0, f"anthropic: removed its key from {zot.home / 'auth.json'}\n")
    assert stored(zot) == {}


def test_a_key_that_is_refused_is_not_stored_and_the_old_one_stays(zot, login, server):
    assert login("litellm", "--no-probe", stdin="old\n").status == 0
    server.add(http_error(401, f"invalid key {KEY}"))
    outcome = login("litellm", "--model", "m", env={"LITELLM_PROXY_URL": server.base_url})
    assert (outcome.status, outcome.text) == (Status.AUTHENTICATION.exit_code, "")
    assert f"{server.base_url} refuses it: litellm: HTTP 401" in outcome.stderr
    assert "nothing was stored" in outcome.stderr
    assert stored(zot) == {"additional_api_key_creds": {"litellm": {"api_key": "old"}}}


def test_without_a_server_nothing_is_learnt_and_nothing_is_stored(zot, login):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        outcome = login("--base-url", url)
    assert (outcome.status, outcome.text) == (1, "")
    assert "it could not be tried" in outcome.stderr
    assert "--no-probe stores it without a trial" in outcome.stderr
    assert stored(zot) is None


@pytest.mark.parametrize(
    ("args", "stdin", "status", "said"),
    [
        (("--no-probe",), "", 2, "stdin: is empty"),
        (("--no-probe",), "a\nb\n", 2, "stdin: has more than one line"),
        (("--no-probe",), "schlüssel\n", 2, "has characters that no HTTP header can carry"),
        (("olama",), "k\n", 2, "zot login: PROVIDER: 'olama' is not one of anthropic, ollama"),
        (("replay",), "k\n", 2, "replay is no server"),
        (("--base-url", "x"), "k\n", 2, "--base-url x: must start with http"),
    ],
)
def test_what_cannot_be_stored(zot, login, args, stdin, status, said):
    outcome = login(*args, stdin=stdin)
    assert (outcome.status, outcome.text) == (status, "")
    assert said in outcome.stderr
    assert stored(zot) is None


def test_a_faulty_file_stays_and_is_not_quoted(zot, login):
    zot.home.mkdir()
    (zot.home / "auth.json").write_text(f'{{"anthropic": {{"api_key": "{KEY}"')
    for outcome in (login("--no-probe"), zot.run("logout")):
        assert (outcome.status, outcome.text) == (1, "")
        assert f"{zot.home / 'auth.json'}:1:" in outcome.stderr
        assert KEY not in outcome.stderr


def test_logging_out_without_an_entry_is_no_fault_but_a_slip_is(zot):
    nothing = zot.run("logout", "ollama")
    assert (nothing.status, nothing.text) == (0, f"ollama: nothing is stored in {zot.home / 'auth.json'}\n")
    slip = zot.run("logout", "olama")
    assert slip.status == Status.USAGE.exit_code
    assert "did you mean 'ollama'?" in slip.stderr


def test_a_key_that_is_typed_is_not_shown(zot):
    master, slave = pty.openpty()
    try:
        with subprocess.Popen(
            [*zot.command, "login", "--no-probe"],
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**zot.env, "ANTHROPIC_API_KEY": "another"},
            cwd=zot.cwd,
            start_new_session=True,
        ) as process:
            assert process.stderr is not None
            prompt = b"Key of anthropic (it is not shown): "
            assert process.stderr.read(len(prompt)) == prompt
            os.write(master, f"{KEY}\n".encode())
            out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
        os.set_blocking(master, False)
        try:
            shown = os.read(master, 1000)
        except OSError:
            shown = b""
    finally:
        os.close(slave)
        os.close(master)
    assert KEY.encode() not in shown + out + err
    assert b"ANTHROPIC_API_KEY is set and comes before it" in err
    assert stored(zot) == {"anthropic": {"api_key": KEY}}
