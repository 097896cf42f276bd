"""The clients in examples/rpc drive a real `zot rpc`."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from tests.examples.vendored import ROOT
from tests.support.messages_server import MessagesServer, stall_midway, text_reply
from tests.support.replay_script import Script
from tests.support.zot_process import Zot

CLIENTS = {"client.py": [sys.executable], "client.sh": ["/bin/sh"], "client.mjs": ["node"]}
NEEDED = {"client.sh": "jq", "client.mjs": "node"}


@pytest.fixture
def zot(tmp_path):
    """With a program `zot` on its path."""
    made = Zot(tmp_path)
    program = tmp_path / "bin" / "zot"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(made.command)} "$@"\n')
    program.chmod(0o755)
    made.env["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    return made


def command(client, *args):
    if (needed := NEEDED.get(client)) and shutil.which(needed) is None:
        pytest.skip(f"no {needed} here")
    return [*CLIENTS[client], str(ROOT / "examples" / "rpc" / client), *map(str, args)]


def run(zot, client, *args):
    done = subprocess.run(command(client, *args), env=zot.env, cwd=zot.cwd, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_prints_the_answer(zot, client):
    cassette = Script(zot.cwd).answer("It sums numbers.").write(zot.folder / "cassette.jsonl")
    assert run(zot, client, "go", "--replay", cassette) == (0, "It sums numbers.\n", "")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_says_why_there_is_no_answer(zot, client):
    status, out, _ = run(zot, client, "go", "--provider", "anthropic")
    assert "authentication: " in out
    assert client == "client.sh" or status == 1
    _, out, err = run(zot, client, "")
    assert "a prompt needs a text or an image" in out + err


def test_an_interrupt_of_the_python_client_aborts_the_prompt(zot):
    with MessagesServer(stall_midway(text_reply("Once upon a time"), after=4)) as server:
        flags = ["--base-url", server.base_url, "--api-key", "k"]
        client = subprocess.Popen(
            command("client.py", "go", *flags), env=zot.env, cwd=zot.cwd, stdout=subprocess.PIPE, text=True
        )
        server.wait_until_held()
        assert client.stdout.read(4) == "Once"
        client.send_signal(signal.SIGINT)
        out, _ = client.communicate(timeout=60)
    assert "interrupted: aborted by the client" in out
    assert client.returncode == 1
