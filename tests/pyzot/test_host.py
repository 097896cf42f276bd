"""`Host` and `AsyncHost` with a real `zot host`."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import socket
import threading

import psutil
import pytest

from pyzot import (
    AsyncHost,
    AsyncWatch,
    BusyError,
    ClosedError,
    ExtensionNotice,
    Host,
    HostError,
    HostGoneError,
    HostRefusedError,
    NoHostError,
    ProtocolError,
    RefusedError,
    SeveralHostsError,
    Stats,
    Watch,
)
from pyzot.connection import host_client, host_places
from supervisor.home import runtime_dir, zot_home
from tests.support.extension_folder import extension, folder
from tests.support.host_process import hosting
from tests.support.zot_fixtures import zot
from tests.support.zot_process import Zot, wait_until

__all__ = ["zot"]

PROGRESS = """
import json, sys
def send(**frame):
    print(json.dumps(frame), flush=True)
send(type="hello", name="slow", capabilities=["cancel"])
send(type="register_tool", name="slow", schema={"type": "object"})
send(type="subscribe", events=["turn_start"])
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        send(type="tool_progress", id=frame["id"], text="half")
        if frame["args"].get("ends"):
            send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": "done"}], is_error=True)
    elif frame["type"] == "cancel":
        send(type="notify", level="info", message="cancelled")
    elif frame["type"] == "event":
        send(type="notify", level="info", message=f"step {frame['step']}")
    elif frame["type"] == "shutdown":
        break
"""


def serving(zot):
    """A `zot host` with the tools `echo` and `slow`, commands, and a guard."""
    script = zot.folder / "slow.py"
    script.write_text(PROGRESS)
    slow = folder(zot.folder, "slow", ["python3", str(script)])
    guard = extension(zot.folder, "blocker", "tool_call", "not today")
    return hosting(zot, extension(zot.folder, "echo"), extension(zot.folder, "commands"), slow, guard)


def lead_to(home, monkeypatch):
    """The variables of this process lead to the hosts of this home."""
    monkeypatch.setenv("ZOT_HOME", str(home))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """For all tests that leave the host as it is: its start takes longer than they do."""
    with serving(Zot(tmp_path_factory.mktemp("shared"))) as host:
        yield host


@pytest.fixture
def hosted(shared, monkeypatch):
    lead_to(shared.zot.home, monkeypatch)
    return shared


@pytest.fixture
def own(zot, monkeypatch):
    """A host that its test may end."""
    lead_to(zot.home, monkeypatch)
    with serving(zot) as host:
        yield host


@pytest.fixture
def host(hosted):
    with Host() as host:
        yield host


def test_what_the_extensions_offer_is_used(host, hosted):
    assert (host.info.pid, host.info.kind) == (hosted.pid, "host")
    answer = host.call("echo", {"text": "hi"})
    assert [(block.type, block.text) for block in answer.content] == [("text", "hi")]
    assert host.command("/display now").display == "see this"
    assert host.command("open_panel").open_panel.lines == ("one",)
    with pytest.raises(HostRefusedError, match="it cannot"):
        host.command("/fail")
    with pytest.raises(HostRefusedError, match="no such tool") as caught:
        host.call("ecko")
    assert isinstance(caught.value, RefusedError)


def test_guards_are_asked(host):
    verdict = host.judge("tool_call", tool_name="bash", tool_args={"command": "ls"})
    assert (verdict.block, verdict.reason) == (True, "not today")
    assert not host.judge("user_prompt", text="hello").block
    with pytest.raises(HostRefusedError, match="no such event"):
        host.judge("no_such_event")


def test_progress_of_a_call_is_told(host):
    seen = []
    answer = host.call("slow", {"ends": True}, on_progress=seen.append)
    assert (seen, answer.is_error, answer.content[0].text) == (["half"], True, "done")


def test_what_happens_is_watched(host):
    with host.watch(stats_s=0.1, notices=True, shown=True) as watch, host.watch(shown=True, notices=False) as shown:
        host.restart("echo")
        host.tell("turn_start", step=7)
        seen = []
        for item in watch:
            seen.append(item)
            kinds = {type(each).__name__ for each in seen}
            if kinds >= {"Stats", "ExtensionNotice", "ExtNotify"}:
                break
        assert next(shown).message == "step 7"
        assert isinstance(next(iter(each for each in seen if isinstance(each, ExtensionNotice))).event, str)
        assert watch.missed == 0
    assert list(shown) == []
    with pytest.raises(HostRefusedError, match="stats_s must be"):
        host.watch(stats_s=0.001)
    assert host._client._watches == []


def test_what_is_not_taken_is_dropped_and_counted(host, monkeypatch):
    monkeypatch.setattr(host_client, "UNREAD_LIMIT", 3)
    with host.watch(stats_s=0.1, notices=False) as watch:
        wait_until(lambda: watch.missed)
        assert len([next(watch) for _ in range(3)]) == 3


def test_many_requests_of_many_threads_are_under_way_at_once(host):
    answers = []

    def call(number):
        answers.append(host.call("echo", {"text": str(number)}).content[0].text == str(number))
        answers.append(set(host.stats().extensions) == {"echo", "commands", "slow", "blocker"})

    threads = [threading.Thread(target=call, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 60


def test_stop_waits_for_the_end(own):
    with Host() as host:
        pids = [pid for stats in host.stats().extensions.values() for pid in stats.pids]
        host.stop()
        assert len(pids) == 4
        assert not [pid for pid in pids if psutil.pid_exists(pid)]
        with pytest.raises(HostGoneError):
            host.stats()
        assert repr(host) == f"<Host pid={own.pid} kind='host' cwd={host.info.cwd!r} ended>"


def test_the_death_of_a_host_is_an_exception_for_all_who_wait(own):
    host, raised = Host(), []

    def wait(call):
        try:
            call()
        except HostGoneError as error:
            raised.append(error)

    watch = host.watch()
    calls = (lambda: host.call("slow"), lambda: list(watch))
    threads = [threading.Thread(target=wait, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    wait_until(lambda: host.stats().extensions["slow"].pending)
    os.kill(own.pid, signal.SIGKILL)
    for thread in threads:
        thread.join()
    assert len(raised) == 2
    own.running.process.wait()
    host.close()


def test_after_close_each_call_says_so_and_no_thread_is_left(host, hosted):
    of_host = f"pid={hosted.pid} kind='host' cwd={host.info.cwd!r}"
    assert repr(host) == f"<Host {of_host} open>"
    watch = host.watch()
    before = threading.active_count()
    host.close()
    host.close()
    assert threading.active_count() == before - 1
    for call in (host.stats, lambda: next(watch), lambda: host.tell("turn_start", step=1)):
        with pytest.raises(ClosedError):
            call()
    assert repr(host) == f"<Host {of_host} closed>"


def test_what_was_told_before_close_arrives(hosted):
    with Host(hosted.pid) as watching, watching.watch(shown=True, notices=False) as watch:
        with Host(hosted.pid) as telling:
            telling.tell("turn_start", step=3)
        assert next(watch).message == "step 3"


def test_a_blocking_call_in_a_callback_is_a_busy_error(host):
    raised = []

    def on_progress(_text):
        try:
            host.stats()
        except BusyError as error:
            raised.append(error)

    host.call("slow", {"ends": True}, on_progress=on_progress)
    assert len(raised) == 1


# --- which host ------------------------------------------------------------------------------------------------


def test_a_host_is_found_by_pid_by_path_and_as_the_only_one(hosted):
    for host in (Host(), Host(hosted.pid), Host(path=hosted.socket)):
        assert host.info.pid == hosted.pid
        host.close()
    assert [info.pid for info in Host.running()] == [hosted.pid]
    with pytest.raises(NoHostError, match="no host 1"):
        Host(1)
    with pytest.raises(TypeError, match="either"):
        Host(1, path="x")


def test_several_hosts_must_be_told_apart(hosted):
    with hosting(hosted.zot) as other:
        with pytest.raises(SeveralHostsError, match="2 hosts are running") as caught:
            Host()
        assert sorted(caught.value.pids) == sorted([hosted.pid, other.pid])


def test_no_host_is_an_error(tmp_path, monkeypatch):
    lead_to(tmp_path, monkeypatch)
    with pytest.raises(NoHostError, match="start one with zot host"):
        Host()
    assert Host.running() == []
    with pytest.raises(NoHostError, match="no host listens"):
        Host(path=tmp_path / "none.sock")
    with pytest.raises(HostError):
        Host(path=tmp_path / "x" / ("long" * 60))


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"hello\n", ProtocolError),
        (b'{"type":"error","message":"64 clients already"}\n', HostRefusedError),
        (b"", HostGoneError),
    ],
)
def test_something_else_that_listens_is_an_error(tmp_path, line, error):
    path = tmp_path / "s.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve():
            peer, _ = listener.accept()
            peer.recv(100)
            peer.sendall(line)
            peer.close()

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(error):
            Host(path=path)
        thread.join()


@pytest.mark.parametrize("name", ["ZOT_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"])
def test_sockets_are_looked_for_where_hosts_put_them(tmp_path, monkeypatch, name):
    for other in ("ZOT_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(other, raising=False)
    for value in (str(tmp_path), "~/x", "relative", "", "/", "/no-such-folder"):
        if name == "HOME" and not value.startswith("/"):
            continue  # a broken account, about which versions of platformdirs differ
        monkeypatch.setenv(name, value)
        assert host_places.zot_home() == str(zot_home.zot_home()), (name, value)
        assert host_places.folders() == [str(folder) for folder in runtime_dir.runtime_dirs()], (name, value)
    for file in ("7.sock", "12.sock", "x.sock", ".9.new", "8"):
        (tmp_path / file).touch()
    monkeypatch.setattr(host_places, "folders", lambda: [str(tmp_path)])
    assert list(host_places.sockets().items()) == [(pid, str(path)) for pid, path in runtime_dir.sockets_in(tmp_path)]


def test_a_long_path_is_reached(zot, monkeypatch):
    zot.home = zot.home / ("long" * 30)
    zot.env["ZOT_HOME"] = str(zot.home)
    lead_to(zot.home, monkeypatch)
    with hosting(zot), Host() as host:
        assert host.stats().extensions == {}


# --- AsyncHost -------------------------------------------------------------------------------------------------


def test_the_same_with_await(own):
    async def main():
        assert [info.pid for info in await AsyncHost.running()] == [own.pid]
        async with AsyncHost() as host:
            assert host.info.pid == own.pid
            answers = await asyncio.gather(*(host.call("echo", {"text": str(number)}) for number in range(20)))
            assert [answer.content[0].text for answer in answers] == [str(number) for number in range(20)]
            assert (await host.judge("tool_call", tool_name="bash", tool_args={})).block
            assert (await host.command("/display")).display == "see this"
            assert (len(await host.tools()), len(await host.commands())) == (3, 7)
            assert (await host.status("echo")).state == "ready"
            assert [outcome.outcome for outcome in await host.reload("echo")] == ["reloaded"]
            async with host.watch(stats_s=0.1) as watch:
                await host.restart("echo")
                seen = set()
                async for item in watch:
                    seen.add(type(item))
                    if seen >= {Stats, ExtensionNotice}:
                        break
            await host.tell("turn_start", step=1)
            await host.stop()
            with pytest.raises(HostGoneError):
                await host.stats()

    asyncio.run(main())


def test_a_cancelled_task_cancels_its_call(hosted):
    async def main():
        host = await AsyncHost()
        async with host.watch(shown=True, notices=False) as watch:
            begun = asyncio.Event()
            loop = asyncio.get_running_loop()
            call = asyncio.create_task(
                host.call("slow", on_progress=lambda _text: loop.call_soon_threadsafe(begun.set) and None)
            )
            await begun.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert (await anext(watch)).message == "cancelled"
        await host.close()
        with pytest.raises(ClosedError):
            await host.stats()

    asyncio.run(main())


def test_an_async_host_must_be_connected():
    with pytest.raises(ClosedError, match="not connected"):
        AsyncHost().watch()


@pytest.mark.parametrize(("sync", "asynchronous"), [(Host, AsyncHost), (Watch, AsyncWatch)], ids=["Host", "Watch"])
def test_both_have_the_same_methods_with_the_same_parameters(sync, asynchronous):
    ours = {name: member for name, member in vars(sync).items() if not name.startswith("_")}
    theirs = {name: member for name, member in vars(asynchronous).items() if not name.startswith("_")}
    assert list(ours) == list(theirs)
    for name, member in ours.items():
        if callable(member):
            found, other = inspect.signature(member), inspect.signature(theirs[name])
            assert found.parameters == other.parameters, name
            assert other.return_annotation in (found.return_annotation, f"Async{found.return_annotation}"), name
