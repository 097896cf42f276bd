"""`zot mcp serve` as its clients meet it: its own extensions, and those of a host that runs already."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.extension_folder import CHILDREN, extension, folder
from tests.support.host_process import hosting
from tests.support.mcp_files import write_servers
from tests.support.mcp_served_client import McpClient
from tests.support.patience import PATIENCE_S
from tests.support.sdk_program import PRELUDE, PYTHON
from tests.support.zot_process import wait_until

SDK_CLIENT = Path(__file__).parents[1] / "support" / "mcp_sdk_client.py"
SOON = {"restart": {"backoff_s": [0.01, 0.05], "max": 50}}


LOADER = f"""{PRELUDE}
@ext.tool
def load() -> Result:
    return Result("loaded", activate=["weather"])

@ext.tool(deferred=True)
def weather() -> str:
    return "fog"

ext.run()
"""


@pytest.fixture
def folders(zot):
    """A workbench with all kinds of tools, and a guard over them."""
    return [extension(zot.folder, "workbench", zot.folder / "cancels", **SOON), extension(zot.folder, "gatekeeper")]


def flags(folders, *more):
    return ["--no-ext", *[word for folder in folders for word in ("-e", folder)], *more]


def check_guards(client: McpClient) -> None:
    assert client.call("say", text="hi") == ("hi", False)
    refused = ("refused by the guard gatekeeper: that word is not said here", True)
    assert client.call("say", text="forbidden") == refused
    assert client.call("say", text="loud") == ("LOUD", False)
    withheld = "the call has run, but its result is withheld by the guard gatekeeper: it is a secret"
    assert client.call("say", text="secret") == (withheld, True)
    assert client.call("say", text="draft") == ("final", False)
    text, is_error = client.call("say", text="asked")
    assert (text.startswith("refused by the guard gatekeeper: it costs money"), is_error) == (True, True)
    noted = client.ask("tools/call", {"name": "say", "arguments": {"text": "noted"}})
    assert [block["text"] for block in noted["content"]] == ["noted", "before", "after"]
    assert client.call("say", text="flaky") == ("flaky", True), "the retry fails, too"


def check_calls(client: McpClient, cancels: Path) -> None:
    """Progress, images, a timeout, a cancel, and a command: the same for both sources."""
    counted = client.begin("tools/call", {"name": "count", "arguments": {"text": "done"}}, progressToken="p")
    assert client.result(counted) == ("done", False)
    reports = [client.notification("notifications/progress") for _ in range(2)]
    assert [(each["progressToken"], each["progress"], each["message"]) for each in reports] == [
        ("p", 1, "1/2"), ("p", 2, "2/2"),
    ]  # fmt: skip
    image, odd = client.ask("tools/call", {"name": "draw"})["content"]
    assert (image["type"], image["mimeType"], odd["type"]) == ("image", "image/png", "text")
    waits = client.begin("tools/call", {"name": "wait"})
    text, is_error = client.call("hang")
    assert (is_error, "timeout" in text) == (True, True)
    client.send({"method": "notifications/cancelled", "params": {"requestId": waits, "reason": "enough"}})
    wait_until(lambda: cancels.exists() and "enough" in cancels.read_text())
    planned = client.ask("prompts/get", {"name": "plan", "arguments": {"arguments": "a trip"}})
    assert planned["messages"][0]["content"]["text"] == "plan a trip"
    assert waits not in client._answers


def check_crash(client: McpClient) -> None:
    """The call of a tool that crashes fails at once, with the reason; then it is there again, and no list changed."""
    text, is_error = client.call("die")
    assert is_error
    assert "workbench" in text
    assert "out of nails" in text
    wait_until(lambda: client.call("say", text="back") == ("back", False))


def test_a_client_of_its_own_extensions(zot, folders):
    with McpClient(zot, *flags(folders, "--stats", "use.stats")) as client:
        assert client.tools() == ["say", "count", "draw", "die", "hang", "grow", "swell", "wait"]
        assert [each["name"] for each in client.ask("prompts/list")["prompts"]] == ["plan"]
        check_guards(client)
        check_calls(client, zot.folder / "cancels")
        check_crash(client)
        assert client.ask("logging/setLevel", {"level": "info"}) == {}
        assert client.call("grow") == ("", False)
        while (logged := client.notification("notifications/message"))["data"] != "one more tool":
            pass  # what was refused before, and the crash
        assert (logged["level"], logged["logger"]) == ("warning", "workbench")
        assert client.notification("notifications/tools/list_changed") is None
        assert "grown" in client.tools()
        (listed,) = zot.run("ps", "--json").json_lines
        assert (listed["pid"], listed["kind"]) == (client.pid, "mcp")
        stats = zot.run("top", "--once", "--json").json_lines[0]["extensions"]
        assert (stats["gatekeeper"]["blocks"], stats["workbench"]["restarts"]) == (3, 1)
        outcome = client.finish()
    assert (outcome.status, outcome.leftovers) == (0, [])
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in outcome.stdout.splitlines())
    assert "stopped" in outcome.stderr
    marks = (zot.cwd / "use.stats").read_text()
    assert '"tool_call"' in marks


def test_two_clients_of_one_host(zot, folders):
    with hosting(zot, *folders) as host:
        one = McpClient(zot, "--host", str(host.pid))
        two = McpClient(zot, "--host", ".", is_modern=True)
        with one, two:
            assert one.tools() == two.tools() == ["say", "count", "draw", "die", "hang", "grow", "swell", "wait"]
            check_guards(one)
            check_guards(two)
            check_calls(one, zot.folder / "cancels")
            subscribed = two.begin("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            two.notification("notifications/subscriptions/acknowledged")
            assert one.call("grow") == ("", False)
            one.notification("notifications/tools/list_changed")
            meta = two.notification("notifications/tools/list_changed")["_meta"]
            assert meta == {"io.modelcontextprotocol/subscriptionId": subscribed}
            check_crash(one)
            ended = one.finish()
            assert (ended.status, ended.leftovers) == (0, [])
            assert two.call("say", text="still here") == ("still here", False)
            pending = two.begin("tools/call", {"name": "wait"})
            two.call("say")  # the host has got the one before
            host.running.signal(signal.SIGTERM)
            _text, is_error = two.result(pending)
            assert is_error
            outcome = two.running.finish()
        assert outcome.status == 1
        assert f"host {host.pid} has ended" in outcome.stderr


def test_a_deferred_tool_can_be_called_once_its_loader_offers_it(zot):
    """Without that, a client could call what no list has shown to it."""
    source = zot.folder / "loader.py"
    source.write_text(LOADER)
    loader = folder(zot.folder, "child", [*PYTHON, str(source)])
    with hosting(zot, loader) as host:
        for words in (flags([loader]), ["--host", str(host.pid)]):
            with McpClient(zot, *words) as client:
                assert client.tools() == ["load"]
                refused = client.ask("tools/call", {"name": "weather"})["message"]
                assert refused.startswith('unknown tool "weather": extension child has it deferred; ')
                assert client.call("load") == ("loaded", False)
                client.notification("notifications/tools/list_changed")
                assert client.call("weather") == ("fog", False)


def test_what_a_guard_asks_may_be_allowed(zot, folders):
    with McpClient(zot, *flags(folders, "--allow-asked")) as client:
        assert client.call("say", text="asked") == ("asked", False)


@pytest.mark.slow
def test_servers_of_files(zot):
    """Servers of named files are served, within a host of ours too; an entry that is the server itself is left out."""
    shutil.copy(CHILDREN / "mcp" / "reference.sh", zot.cwd / "server.sh")
    command, *words = zot.command
    echo = {"command": "sh", "args": ["server.sh"]}
    write_servers(
        zot.cwd / ".mcp.json",
        other=echo,
        itself={"command": command, "args": [*words, "mcp", "serve", "-q"]},
        nested={"command": command, "args": [*words, "mcp", "serve", "--no-ext", "--mcp-config", "more.json"]},
    )
    write_servers(zot.cwd / "more.json", inner=echo)
    with McpClient(zot, "--trust-project") as client:
        assert sorted(client.tools()) == ["mcp__nested__mcp__inner__echo", "mcp__other__echo"]
        assert client.call("mcp__nested__mcp__inner__echo", text="deep") == ("deep", False)
        outcome = client.finish()
    assert (outcome.status, outcome.leftovers) == (0, [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_it_in_order(zot, folders, number):
    with McpClient(zot, *flags(folders)) as client:
        waits = client.begin("tools/call", {"name": "wait"})
        client.call("say")
        client.running.signal(number)
        text, is_error = client.result(waits)
        outcome = client.running.finish()
    assert (is_error, number.name in text) == (True, True)
    assert (outcome.status, outcome.leftovers) == (0, [])


def test_without_a_required_extension_it_ends_and_says_why(zot, folders):
    broken = extension(zot.folder, "exits_before_hello", required=True, restart={"policy": "temporary"})
    with zot.start("mcp", "serve", *flags([*folders, broken]), stdin=subprocess.PIPE) as running:
        asked = [
            {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
            {"id": 2, "method": "tools/list"},
        ]
        running.process.stdin.write("".join(json.dumps(each) + "\n" for each in asked).encode())
        running.process.stdin.flush()
        outcome = running.finish()
    assert (outcome.status, outcome.leftovers) == (9, [])
    started, refused = [line for line in outcome.json_lines if "id" in line]
    assert started["result"]["protocolVersion"] == "2025-11-25"
    assert "exits_before_hello" in refused["error"]["message"]


def test_the_first_list_has_what_starts_slowly(zot):
    slow = folder(
        zot.folder, "slow", ["/bin/sh", "-c", f"sleep 0.7; exec {sys.executable} -I -S {CHILDREN}/echo.py slow"]
    )
    with McpClient(zot, *flags([slow])) as client:
        assert client.tools() == ["echo"]
        client.finish()


def test_a_client_that_is_gone_ends_it(zot, folders):
    with McpClient(zot, *flags(folders)) as client:
        client.call("say")
        client.running.process.stdout.close()
        outcome = client.running.finish()
    assert (outcome.status, outcome.leftovers) == (0, [])


def test_a_client_that_leaves_early_is_no_error(zot, folders):
    """Extensions that had not said hello by then are not missed."""
    silent = extension(zot.folder, "silent")
    outcome = zot.run("mcp", "serve", "-q", *flags([*folders, silent]), stdin=subprocess.DEVNULL)
    assert (outcome.status, outcome.stderr, outcome.leftovers) == (0, "", [])


@pytest.mark.slow
def test_a_client_that_does_not_read_is_not_waited_for(zot, folders):
    """More answers than the server keeps: it ends, stops its extensions, and says why."""
    with McpClient(zot, *flags(folders)) as client:
        for _ in range(20):
            client.begin("tools/call", {"name": "swell"})
        status = client.running.process.wait(PATIENCE_S)
    assert status == 1
    assert "the client does not read: more than 64 MiB wait for it" in client.running.errors()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "1", "-e", "x"], "--ext has no effect with --host"),
        (["--host", "1", "--no-ext"], "--no-ext has no effect with --host"),
        (["--host", "nowhere"], "neither the pid of a host, see zot ps, nor a folder"),
        (["--stats-interval", "5"], "--stats-interval has no effect without --stats FILE"),
    ],
)
def test_flags_that_do_not_fit(zot, words, said):
    assert said in zot.run("mcp", "serve", *words).refusal()


def test_a_host_that_is_not_there(zot):
    outcome = zot.run("mcp", "serve", "--host", "4194300")
    assert (outcome.status, outcome.stdout) == (1, b"")
    assert "zot host" in outcome.stderr


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client(zot, folders, mode):
    """The SDK checks every message against its own models."""
    words = [str(word) for word in (*zot.command, "mcp", "serve", *flags(folders))]
    program = [sys.executable, str(SDK_CLIENT), mode, *words]
    ran = subprocess.run(program, capture_output=True, text=True, env=zot.env, cwd=zot.cwd)
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["version"] == ("2026-07-28" if mode == "auto" else "2025-11-25")
    assert said["tools"] == ["say", "count", "draw", "die", "hang", "grow", "swell", "wait"]
    assert said["prompts"] == ["plan"]
    assert said["say"] == [False, ["hi"]]
    assert said["forbidden"] == [True, ["refused by the guard gatekeeper: that word is not said here"]]
    assert said["count"] == [[1.0, "1/2"], [2.0, "2/2"]]
    assert said["draw"] == ["image", "text"]
    assert said["plan"] == ["plan a trip"]
    assert said["unknown"] == -32602
    assert os.listdir(zot.home / "run") == [], "the server has ended in order"
