"""examples/embedding/fastapi_stream.py, served by uvicorn."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from http.client import HTTPConnection, IncompleteRead
from importlib.util import find_spec

import psutil
import pytest

from tests.support.embedding_program import EXAMPLES, project
from tests.support.messages_server import http_error, stall_midway, text_reply
from tests.support.patience import PATIENCE_S

pytestmark = [pytest.mark.skipif(find_spec(name) is None, reason=f"no {name} here") for name in ("fastapi", "uvicorn")]
pytestmark.append(pytest.mark.slow)
STORY = text_reply("Once...Upon...")


@contextmanager
def serving(made, fault=""):
    """The address of a server with the example, and its process. Its log names this fault, if any."""
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(EXAMPLES), "--port", "0", "fastapi_stream:app"]
    with subprocess.Popen(command, cwd=made.folder, env=made.env, stderr=subprocess.PIPE, text=True) as server:
        try:
            for line in server.stderr:
                if "running on" in line:
                    break
            yield line.partition("http://")[2].split()[0], server
        finally:
            server.terminate()
            log = server.communicate(timeout=PATIENCE_S)[1]
    assert ("Traceback" in log) == bool(fault), log
    assert fault in log


@contextmanager
def asking(address, question="go"):
    client = HTTPConnection(address, timeout=PATIENCE_S)
    try:
        client.request("POST", "/ask", json.dumps({"question": question}), {"content-type": "application/json"})
        yield client
    finally:
        client.close()


def test_an_answer_comes_as_the_model_says_it(tmp_path):
    with (
        project(tmp_path, stall_midway(STORY, after=4)) as made,
        serving(made) as (address, _),
        asking(address) as client,
    ):
        response = client.getresponse()
        assert response.read1() == b"Once..."
        made.server.release()
        assert response.read() == b"Upon..."


def agents(server):
    return [child for child in psutil.Process(server.pid).children() if "rpc" in child.cmdline()]


def test_a_client_that_goes_away_ends_its_prompt(tmp_path):
    held = [stall_midway(STORY, after=4)] * 3
    pids = set()
    with project(tmp_path, *held, STORY) as made, serving(made) as (address, server):
        for _ in range(3):  # more than there are agents
            with asking(address) as client:
                assert client.getresponse().read1() == b"Once..."
                pids |= {agent.pid for agent in agents(server)}
        with asking(address) as client:
            assert client.getresponse().read() == b"Once...Upon..."
        assert {agent.pid for agent in agents(server)} == pids  # they go on, and none was started in their place
        assert len(pids) <= 2
        assert len(made.server.requests[-1].body["messages"]) == 1


def test_an_agent_answers_one_question_after_the_other_and_remembers_none(tmp_path):
    with project(tmp_path, STORY, STORY) as made, serving(made) as (address, server):
        for _ in range(2):
            with asking(address) as client:
                assert client.getresponse().read() == b"Once...Upon..."
        assert [len(request.body["messages"]) for request in made.server.requests] == [1, 1]
        assert len(agents(server)) == 1


def test_an_agent_that_is_killed_is_replaced(tmp_path):
    with (
        project(tmp_path, stall_midway(STORY, after=4), STORY) as made,
        serving(made, "RuntimeDied") as (address, server),
    ):
        with asking(address) as client:
            response = client.getresponse()
            assert response.read1() == b"Once..."
            agents(server)[0].kill()
            with pytest.raises(IncompleteRead):
                response.read()
        with asking(address) as client:
            assert client.getresponse().read() == b"Once...Upon..."


def test_a_failure_of_the_model_is_told(tmp_path):
    with project(tmp_path, http_error(401)) as made, serving(made) as (address, _), asking(address) as client:
        assert b"ANTHROPIC_API_KEY was refused" in client.getresponse().read()
