"""The worker as a fork of a process that has the SDK in memory."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.messages_server import MessagesServer, http_error, text_reply
from tests.support.model_worker_process import ROOT, configure

FORKING = """
import os, sys
sys.stdin.close()
from agent.model.worker import tls, worker_main
worker_main.preload()
loaded = set(sys.modules)
if os.fork() == 0:
    end = os._exit
    def say(status):
        print("added", sorted(set(sys.modules) - loaded), len(tls._loaded), file=sys.stderr, flush=True)
        end(status)
    os._exit = say
    os.dup2(3, 0)
    os.closerange(3, 10)
    worker_main.main()
os.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the template is for Linux")
def test_a_forked_worker_serves_requests_and_has_all_that_it_needs_in_memory():
    with MessagesServer(text_reply("hello"), http_error(429), text_reply("again")) as server:
        asked = {"report_limits": True, "retry_rate_limits": False, "provider": "anthropic"}
        lines = [{**configure(server.base_url, "sk-of-the-fork", 0, 20.0), **asked}]
        params = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]}
        lines += [{"type": "request", "id": f"a.{number}", "params": params} for number in range(3)]
        with subprocess.Popen(
            ["sh", "-c", 'exec 3<&0 </dev/null; exec "$@"', "sh", sys.executable, "-c", FORKING],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
        ) as process:  # fmt: skip
            process.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
            process.stdin.flush()
            said = []
            while [line["type"] for line in said].count("final") < 2:
                said.append(json.loads(process.stdout.readline()))
            process.stdin.close()
            errors = process.stderr.read().decode()
    assert [line["type"] for line in said if line["type"] in ("ready", "final", "error")] == [
        "ready", "final", "error", "final",
    ]  # fmt: skip
    assert server.requests[0].headers["authorization"] == "Bearer sk-of-the-fork"
    assert errors == "added [] 1\n"
