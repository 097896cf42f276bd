"""Sessions of a `Runtime`, with a real engine whose model answers from a cassette."""

from __future__ import annotations

import asyncio
import json
import os
import signal

import pytest

from pyzot import Forked, RefusedError, RuntimeDied, SessionBusyError, SessionInfo


def ids(runtime):
    return [session.id for session in runtime.sessions()]


def test_a_conversation_goes_on_in_another_process_after_a_kill(start):
    first = start(save_session=True)
    first.run("go", check=True)
    kept, said = first.session, first.messages()
    assert ids(first) == [kept]
    with pytest.raises(SessionBusyError, match="another run"):
        start().resume(kept)
    os.kill(first.pid, signal.SIGKILL)
    with pytest.raises(RuntimeDied):
        first.state()
    second = start(continue_=True)
    assert (second.session, second.messages()) == (kept, said)
    third = start()
    assert third.session is None
    with pytest.raises(SessionBusyError):
        third.resume(kept)
    second.close()
    found = third.resume(kept[:8])
    assert (found.session, found.message_count, found.title, found.repairs) == (kept, 2, "go", 0)
    assert third.messages() == said
    assert third.cost.input == first_use(third)


def first_use(runtime):
    (session,) = runtime.sessions()
    assert isinstance(session, SessionInfo)
    return session.usage.input


def test_a_conversation_in_memory_gets_a_session_by_a_fork(start):
    runtime = start()
    with pytest.raises(RefusedError, match="no messages"):
        runtime.fork()
    runtime.run("go", check=True)
    assert (runtime.session, runtime.sessions()) == (None, [])
    made = runtime.fork()
    assert isinstance(made, Forked)
    assert (runtime.session, made.message_count, made.parent) == (made.session, 2, "")
    cut = runtime.fork(at=1)
    assert (runtime.session, cut.parent, runtime.state().message_count) == (cut.session, made.session, 2 - 1)
    with pytest.raises(RefusedError, match="no fork at 2"):
        runtime.fork(at=2)


def test_a_session_goes_to_another_home_and_back(start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = start(save_session=True)
    here.run("go", check=True)
    assert "Done." in here.export()
    assert json.loads(here.export("json"))["id"] == here.session
    exported = here.export("zotsession", "here")
    assert exported == str(tmp_path / "here.zotsession")
    there = start(env={"ZOT_HOME": str(tmp_path / "there")})
    assert there.sessions(all=True) == []
    made = there.import_session("here.zotsession")
    assert ids(there) == [made]
    there.resume(made)
    assert there.messages() == here.messages()


def test_the_same_with_asyncio(start_async, tmp_path):
    async def main():
        async with start_async(save_session=True) as runtime:
            await runtime.run("go", check=True)
            kept = await runtime.session()
            assert [session.id for session in await runtime.sessions(all=True)] == [kept]
            exported = await runtime.export("zotsession", tmp_path / "out")
            made = await runtime.import_session(exported)
            assert (await runtime.resume(made)).message_count == 2
            forked = await runtime.fork(at=2)
            assert await runtime.session() == forked.session != made

    asyncio.run(main())
