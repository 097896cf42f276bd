"""The API key goes to the server only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.extension_folder import extension
from tests.support.messages_server import http_error, text_reply, tool_reply
from tests.support.replay_script import Script
from wire.exit_codes import Status

KEY = "sk-ant-very-secret-key"


def files_below(folder: Path):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("from_flag", [True, False])
def test_the_key_is_sent_and_shown_nowhere(zot, server, from_flag):
    server.add(
        tool_reply([("env", {}), ("bash", {"command": "env; cat /proc/self/environ"})]),
        tool_reply([("write", {"path": "environment", "content": "x"})]),
        http_error(401, f"invalid x-api-key {KEY}"),
    )
    ext = extension(zot.folder, "env_dump")
    flags = ["--base-url", server.base_url, "-e", ext, "--record", zot.folder / "cassette.jsonl"]
    if from_flag:
        with zot.start("--json", *flags, "--api-key", KEY, "go", cold=True) as running:
            worker = running.child("agent/tools/file_worker/main.py")
            assert KEY.encode() not in Path(f"/proc/{worker}/environ").read_bytes()
            outcome = running.finish().check(Status.AUTHENTICATION)
    else:
        outcome = zot.run("--json", *flags, "go", env={"ANTHROPIC_API_KEY": KEY}, cold=True).check(
            Status.AUTHENTICATION
        )
    assert len(server.requests) == 3
    assert all(KEY in str(request.headers) for request in server.requests)
    assert all(KEY not in str(request.body) for request in server.requests)
    assert "ANTHROPIC_API_KEY" not in outcome.tool_texts()[0] + outcome.tool_texts()[1]
    assert KEY not in outcome.text + outcome.stderr
    assert "[API key]" in outcome.stderr
    kept = [path for path in files_below(zot.folder) if KEY.encode() in path.read_bytes()]
    assert kept == []
    names = {path.name for path in files_below(zot.folder)}
    assert {"cassette.jsonl", "ext-env_dump.log", "environment"} <= names, "or the search would prove nothing"


def test_other_hosts_secrets_are_not_handed_on_either(zot):
    secrets = dict.fromkeys(
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "KIMI_API_KEY", "ZOTCORE_RPC_TOKEN"), KEY
    )
    script = Script(zot.cwd).call(("bash", {"command": "env"}))
    outcome = zot.replay(script, "--max-steps", "1", env={**secrets, "HARMLESS": "passes"}).check(Status.MAX_STEPS)
    assert KEY not in outcome.text
    assert "HARMLESS=passes" in outcome.text


def test_a_key_that_no_header_can_carry_is_not_printed(zot, server):
    server.add(text_reply("never"))
    key = "sk-ant-\udcff-secret"
    text = zot.run("--json", "--base-url", server.base_url, "--api-key", key, "go").refusal()
    assert text == "zot: the key from --api-key has characters that no HTTP header can carry"


def test_files_under_zot_home_are_for_their_owner_only(zot):
    zot.replay(Script(zot.cwd).answer("Hi"), "-e", extension(zot.folder, "recorder", zot.folder / "r")).check(Status.OK)
    assert files_below(zot.home)
    for path in files_below(zot.home):
        assert path.stat().st_mode & 0o077 == 0, path
