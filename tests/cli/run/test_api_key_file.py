"""`--api-key-file` on the command line."""

from __future__ import annotations

import os

import pytest

from tests.support.messages_server import text_reply
from wire.exit_codes import Status


def key_of(server) -> str:
    headers = server.requests[-1].headers
    return headers.get("authorization", "").removeprefix("Bearer ") or headers.get("x-api-key", "")


def test_the_key_comes_from_the_file_and_a_file_for_all_gives_one_warning(zot, server):
    server.add(text_reply("ok"))
    file = zot.folder / "key"
    file.write_text("sk-file\n")
    file.chmod(0o644)
    environment = {"ANTHROPIC_API_KEY": "sk-env", "ANTHROPIC_BASE_URL": server.base_url}
    outcome = zot.run("-p", "--api-key-file", file, "go", env=environment)
    assert (outcome.status, outcome.stdout) == (0, b"ok\n")
    assert key_of(server) == "sk-file"
    assert outcome.stderr == f"zot: --api-key-file {file}: other users may read it; chmod 600 makes it yours alone\n"


def test_the_key_comes_from_stdin_and_is_no_part_of_the_prompt(zot, server):
    server.add(text_reply("ok"))
    reader, writer = os.pipe()
    os.write(writer, b"sk-stdin\n")
    os.close(writer)
    outcome = zot.run("--json", "--api-key-file", "-", "--base-url", server.base_url, "go", stdin=reader)
    os.close(reader)
    outcome.check(Status.OK)
    assert key_of(server) == "sk-stdin"
    assert server.requests[0].body["messages"][0]["content"][0]["text"] == "go"


@pytest.mark.parametrize("words", [[], ["-"]])
def test_key_and_prompt_cannot_both_be_on_stdin(zot, words):
    text = zot.run("-p", "--api-key-file", "-", *words).refusal()
    assert "--api-key-file - reads the key from stdin: give the prompt as words, without -" in text


def test_two_keys_are_one_too_many(zot):
    text = zot.run("-p", "--api-key-file", "x", "--api-key", "k", "go").refusal()
    assert "--api-key and --api-key-file exclude each other" in text


def test_a_key_file_that_is_not_there_is_refused(zot):
    assert (
        "--api-key-file nowhere: cannot be read: No such file"
        in zot.run("-p", "--api-key-file", "nowhere", "go").refusal()
    )
