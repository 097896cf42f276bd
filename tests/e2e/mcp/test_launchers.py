"""A server behind a launcher, as npx is one: what dies, and what is ended with it."""

from __future__ import annotations

import shutil

import psutil
import pytest

from tests.support.host import Host
from tests.support.mcp_servers import add_server, server_argv

TIMES = {"hello": 30, "ready": 30, "tool_call": 30}


@pytest.fixture
def host(tmp_path):
    if not shutil.which("node"):
        pytest.skip("no node here")
    with Host(tmp_path) as host:
        add_server(
            host, "chain", "launcher.sh", *server_argv("reference.js"), timeouts=TIMES,
            restart={"policy": "permanent", "backoff_s": [0.01, 0.05]},
        )  # fmt: skip
        yield host.start()


def below(host):
    (worker,) = host.extension("chain").workers
    launcher = psutil.Process(worker.pid)
    return launcher, launcher.children(recursive=True)


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_it_is_spoken_to_through_its_launcher_and_ends_with_its_input(host):
    _, servers = below(host)
    assert host.text("mcp__chain__echo", text="here") == "here"
    host.stop()
    assert [server for server in servers if lives(server)] == []
    assert host.cost("chain").exit_status == "exit 0"


def test_a_server_whose_launcher_has_died_alone_is_ended_and_started_again(host):
    launcher, servers = below(host)
    launcher.terminate()
    host.until(lambda: host.is_restarted("chain"))
    host.until(lambda: not any(lives(server) for server in servers))
    assert host.text("mcp__chain__echo", text="again") == "again"
