"""The clients in examples/rpc drive a real `zot rpc`, and all do the same."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.examples.sdk_copies import ROOT
from tests.support.no_child_left import no_child_left
from tests.support.patience import PATIENCE_S
from tests.support.replay_script import Script, ok
from tests.support.zot_process import Zot, wait_until

FOLDER = ROOT / "examples" / "rpc"
CLIENTS = {"client.py": [sys.executable], "client.sh": ["/bin/sh"], "client.mjs": ["node"], "go": []}
NEEDED = {"client.sh": "jq", "client.mjs": "node", "go": "go"}
SLOW = {"go"}
"""The client in Go is built first."""
PARAMETERS = [pytest.param(client, marks=[pytest.mark.slow] * (client in SLOW)) for client in CLIENTS]
ENDLESS = "touch begun; sleep 1000"
SHOWN = {"client.py": f'[bash {{"command": "{ENDLESS}"}}]\n'}
"""The tool call of a prompt that never ends, on standard error, by clients that show tool calls."""
each_client = pytest.mark.parametrize("client", PARAMETERS)


@pytest.fixture
def zot(tmp_path):
    """With a program `zot` on its path, which writes its pid into the file `pid`."""
    made = Zot(tmp_path)
    program = tmp_path / "bin" / "zot"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho $$ > {tmp_path}/pid\nexec {shlex.join(made.command)} "$@"\n')
    program.chmod(0o755)
    made.env["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    return made


@pytest.fixture(scope="session")
def command(tmp_path_factory):
    """The command line of a client. Skips the test if the program that runs or builds it is missing."""
    built = {}

    def find(client, *args):
        if (needed := NEEDED.get(client)) and shutil.which(needed) is None:
            pytest.skip(f"no {needed} here")
        program = FOLDER / client
        if client == "go":
            if client not in built:
                built[client] = tmp_path_factory.mktemp("client") / "rpc-client"
                subprocess.run(["go", "build", "-o", built[client]], cwd=program, check=True)
            program = built[client]
        return [*CLIENTS[client], str(program), *map(str, args)]

    return find


@pytest.fixture
def run(zot, command):
    def run_to_its_end(client, *args):
        done = subprocess.run(command(client, *args), env=zot.env, cwd=zot.cwd, capture_output=True)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run_to_its_end


@pytest.fixture
def answering(zot, command):
    """A client that has got the first word of a prompt that never ends."""
    script = Script(zot.cwd).call(("bash", {"command": ENDLESS}), results=[ok("")], text="Once").answer("Never.")
    cassette = script.write(zot.folder / "cassette.jsonl")

    @contextmanager
    def start(client):
        with subprocess.Popen(
            command(client, "go", "--replay", cassette),
            env=zot.env,
            cwd=zot.cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as process:
            assert process.stdout.read(4) == "Once"
            wait_until((zot.cwd / "begun").exists)
            yield process, int((zot.folder / "pid").read_text())

    return start


def test_each_client_is_tested():
    assert {path.name for path in FOLDER.iterdir()} == set(CLIENTS)


@each_client
def test_a_client_says_the_token_and_prints_the_answer(zot, run, client):
    zot.env["ZOTCORE_RPC_TOKEN"] = 's3cret "of" $ours'
    answer = "It sums numbers.\u2028\u00e9 \U0001f600 \x85 \r\t\n" + "x" * 100_000
    cassette = Script(zot.cwd).answer(answer).write(zot.folder / "cassette.jsonl")
    assert run(client, "go", "--replay", cassette) == (0, f"{answer}\n", "")


@each_client
def test_a_client_without_a_prompt_says_how_to_use_it(run, client):
    status, output, said = run(client)
    assert status in (1, 2)
    assert output == ""
    assert "[FLAG...]" in said


@each_client
def test_a_client_says_why_a_prompt_is_refused(zot, run, client):
    cassette = Script(zot.cwd).answer("It sums.").write(zot.folder / "cassette.jsonl")
    status, out, err = run(client, "", "--replay", cassette)
    assert (status, out) == (1, "")
    assert err.splitlines()[-1].endswith("message: a prompt needs a text or an image")
    assert len(err.splitlines()) == 1


@each_client
def test_a_client_says_why_an_answer_ended_early(zot, run, client):
    broken = Script(zot.cwd).fail("api_error", "broken", text="Once", status=None)
    status, out, err = run(client, "go", "--replay", broken.write(zot.folder / "cassette.jsonl"))
    assert (status, out.count("broken")) == (1, 1)
    assert out.startswith("Once\nerror: ")
    assert err.count("broken") == 1


@each_client
def test_an_aborted_prompt_has_its_reason(answering, client):
    with answering(client) as (process, agent):
        os.kill(agent, signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (130, "\ninterrupted: interrupted by SIGTERM\n", SHOWN.get(client, ""))


@pytest.mark.parametrize("client", [each for each in PARAMETERS if each.values != ("client.sh",)])
def test_an_interrupt_aborts_the_prompt(answering, client):
    with answering(client) as (process, _agent):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (130, "\ninterrupted: aborted by the client\n", SHOWN.get(client, ""))


@each_client
def test_a_server_that_dies_is_an_error(answering, client):
    with no_child_left(), answering(client) as (process, agent):
        os.kill(agent, signal.SIGKILL)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (1, "")
    assert "zot rpc has ended" in err
    assert len(err.removeprefix(SHOWN.get(client, "")).splitlines()) <= 2, err  # some shells say that it was killed


@each_client
def test_a_server_that_does_not_start_is_an_error(run, client):
    status, out, err = run(client, "go", "--modle", "m")
    assert (status, out) == (1, "")
    assert "--modle" in err
    assert "zot rpc has ended" in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.slow
def test_the_go_source_is_tidy():
    if shutil.which("go") is None:
        pytest.skip("no go here")
    subprocess.run(["go", "vet"], cwd=FOLDER / "go", check=True)
    if shutil.which("gofmt") is not None:
        assert subprocess.run(["gofmt", "-l", "."], cwd=FOLDER / "go", capture_output=True, check=True).stdout == b""
