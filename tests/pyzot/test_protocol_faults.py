"""Programs that are no engine, or a faulty one: each is an exception, in time, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from functools import partial

import psutil
import pytest

from pyzot import (
    BusyError,
    ClosedError,
    Done,
    ProtocolError,
    RefusedError,
    Runtime,
    RuntimeDied,
    UnreadError,
    UserMessage,
)
from pyzot import runtime as runtime_module
from pyzot.connection import engine_process, prompt_stream
from tests.support.patience import PATIENCE_S


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Programs that ignore the end of their input get less time than engines."""
    monkeypatch.setattr(engine_process, "CLOSE_S", 0.2)
    monkeypatch.setattr(engine_process, "EXIT_S", 0.2)


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("garbage", "not a line of an engine: b'Usage: something else"),
        ("other_json", "its first line is not the response to hello: .*hello_there"),
        ("other_version", "protocol 2; this pyzot knows only 1"),
        ("no_version", "not a line of an engine"),
    ],
)
def test_another_program_is_a_protocol_error(fake, behaviour, said):
    with pytest.raises(ProtocolError, match=said):
        fake(behaviour)


def test_an_endless_line_is_not_kept(fake, monkeypatch):
    monkeypatch.setattr(engine_process, "STDOUT_LINE", 1_000_000)
    with pytest.raises(ProtocolError, match="the program is no engine"):
        fake("endless_line")


def test_a_program_that_never_answers_is_a_protocol_error(fake, monkeypatch):
    monkeypatch.setattr(runtime_module, "ANSWER_S", 0.2)
    with pytest.raises(ProtocolError, match=r"hello has not been answered for 0\.2 s"):
        fake("silent")


def test_garbage_in_the_middle_ends_the_runtime(fake):
    runtime = fake("garbage_later")
    with pytest.raises(ProtocolError, match="not a line of an engine"):
        runtime.state()
    with pytest.raises(ProtocolError, match="not a line of an engine"):
        runtime.run("go")


def test_a_program_that_closes_its_output_and_lives_on_is_ended(fake):
    runtime = fake("closes_stdout")
    with pytest.raises(ProtocolError, match="closed its standard output, but runs on"):
        runtime.state()
    assert not psutil.pid_exists(runtime.pid)


@pytest.mark.parametrize("behaviour", ["never_ends", "never_reads"])
def test_close_ends_a_program_that_does_not_end(fake, behaviour):
    runtime = fake(behaviour)
    runtime._client.send("set_messages", messages=["x" * 1_000_000])  # more than a pipe holds
    runtime.close()
    assert not psutil.pid_exists(runtime.pid)


def test_the_exception_has_the_exit_status_and_the_last_words(fake):
    runtime = fake("dies")
    with pytest.raises(RuntimeDied, match="exit status 3:\n  no more room") as caught:
        runtime.run("go")
    assert (caught.value.exit_status, caught.value.stderr) == (3, ("no more room",))
    with pytest.raises(RuntimeDied):
        runtime.state()


def test_a_process_that_holds_the_pipes_does_not_hide_the_end(fake):
    if not hasattr(os, "pidfd_open"):
        pytest.skip("only the end of the pipes tells of the exit here")
    runtime = fake("leaves_a_child")
    with pytest.raises(RuntimeDied) as caught:
        runtime.state()
    assert caught.value.exit_status == 4
    os.kill(int(caught.value.stderr[-1]), signal.SIGKILL)


def test_a_flood_on_stderr_is_read_and_its_last_lines_are_kept(fake):
    seen = []
    runtime = fake("stderr_flood", on_stderr=seen.append)
    assert runtime.run("quick").text == "Done."
    os.kill(runtime.pid, signal.SIGKILL)
    with pytest.raises(RuntimeDied) as caught:
        runtime.run("again")
    assert (len(caught.value.stderr), caught.value.stderr[-1]) == (50, "the end")
    assert max(map(len, caught.value.stderr)) == 4096
    assert len(seen) == 100_002


def test_what_is_never_read_is_bounded(fake, monkeypatch):
    monkeypatch.setattr(prompt_stream, "UNREAD_LIMIT", 5_000_000)
    runtime = fake()
    events = runtime.prompt("flood 20")
    runtime.state()  # by then all of it has come
    assert events._stream._bytes == 0
    with pytest.raises(UnreadError):
        next(events)
    events.close()
    assert runtime.run("quick").text == "Done."


def test_callbacks_that_raise_stop_nothing(fake, monkeypatch):
    shown = []
    monkeypatch.setattr("sys.excepthook", lambda *error: shown.append(str(error[1])))

    def fail(value):
        raise ValueError(f"{value!r:.20}")

    runtime = fake("stderr_flood", on_event=fail, on_stderr=fail)
    runtime._client.on_frame["mine"] = fail
    with runtime.prompt("event"):
        runtime._client.frame("mine", frame={"type": "x"})
        runtime.state()
    assert len(shown) == 100_002 + 2


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("hook", [lambda *_: None, lambda *_: 1 / 0, None])
def test_a_callback_that_ends_its_thread_or_cannot_be_shown_stops_nothing(fake, monkeypatch, error, hook):
    def fail(_value):
        monkeypatch.setattr("sys.excepthook", hook)
        raise error("from a callback")

    runtime = fake(on_event=fail)
    monkeypatch.setattr("pyzot.connection.pending_answer.ANSWER_S", 5)
    with runtime.prompt("event"):
        assert runtime.state().provider == "fake"
    runtime.close()
    assert not psutil.pid_exists(runtime.pid)


@pytest.mark.parametrize("is_async", [False, True])
def test_close_does_not_wait_for_a_callback_that_never_returns(fake, fake_async, monkeypatch, is_async):
    monkeypatch.setattr("pyzot.connection.async_waits.STUCK_S", 0.2)
    monkeypatch.setattr("pyzot.connection.engine_process.STUCK_S", 0.2)
    called, release = threading.Event(), threading.Event()

    def hang(_event):
        called.set()
        release.wait()

    async def use():
        runtime = await fake_async(on_event=hang)
        events = runtime.prompt("event")
        await anext(events)
        await asyncio.to_thread(called.wait)
        await runtime.close()
        return runtime

    try:
        if is_async:
            runtime = asyncio.run(use())
        else:
            runtime = fake(on_event=hang)
            events = runtime.prompt("event")
            called.wait()
            runtime.close()
            with pytest.raises(ClosedError):
                list(events)
        assert not psutil.pid_exists(runtime.pid)
    finally:
        release.set()


def test_a_blocking_call_in_a_callback_is_a_busy_error(fake):
    calls = {"state": (), "messages": (), "compact": (), **dict.fromkeys(("run", "prompt", "steer", "command"), ("x",))}
    raised, streams = [], []

    def on_event(_event):
        refused = [partial(getattr(runtime, name), *given) for name, given in calls.items()]
        for call in (lambda: next(streams[0]), *refused):
            with pytest.raises(BusyError, match="another thread") as caught:
                call()
            raised.append(caught.value)
        runtime.cancel()  # this one may be called

    runtime = fake(on_event=on_event)
    streams.append(runtime.prompt("quick"))
    assert list(streams[0])
    with runtime.prompt("event") as events:
        assert [type(event).__name__ for event in events][-1] == "Done"
    assert len(raised) == 1 + len(calls)


def test_a_callback_can_cancel_a_prompt_that_is_just_being_sent(fake, monkeypatch):
    """The engine answers, and the callback is called, before the thread that sends goes on."""
    told = threading.Event()

    def on_event(_event):
        runtime.cancel()
        told.set()

    runtime = fake(on_event=on_event)
    write = runtime._client.process.write

    def write_and_hear(line):
        write(line)
        assert b'"prompt"' not in line or b'"abort"' in line or told.wait(PATIENCE_S)

    monkeypatch.setattr(runtime._client.process, "write", write_and_hear)
    events = runtime.prompt("event")
    assert events._stream.is_cancelled
    assert isinstance(list(events)[-1], Done)


def test_a_prompt_that_was_not_sent_leaves_the_runtime_usable(fake):
    runtime = fake()
    with pytest.raises(ValueError, match="Out of range float"):
        runtime._client.begin("prompt", message="quick", x=float("nan"))
    assert runtime.run("quick").text == "Done."


def test_close_in_a_callback_waits_for_nothing(fake):
    runtime = fake(on_event=lambda _event: runtime.close())
    events = runtime.prompt("event")
    with pytest.raises(Exception, match="closed"):
        list(events)
    runtime._client.process.close()


def test_steer_reaches_the_prompt_that_runs(fake):
    runtime = fake()
    assert not runtime.steer("left")
    with pytest.raises(RefusedError, match="100 messages wait"):
        runtime.steer("unwelcome")
    events = runtime.prompt("go")
    assert runtime.steer("left")
    assert runtime.steer("right")
    runtime.clear()  # here it ends the prompt
    assert list(events)
    assert events.result.text == "left right"


def test_compact_returns_the_summary(fake):
    runtime = fake()
    assert runtime.compact("keep names") == "short: keep names"
    with pytest.raises(RefusedError, match="the model fails"):
        runtime.compact("fail")
    events = runtime.prompt("go")
    with pytest.raises(BusyError):
        runtime.compact()
    events.close()


def test_a_refused_prompt_is_an_error_where_it_is_sent_and_the_runtime_goes_on(fake):
    runtime = fake()
    with pytest.raises(RefusedError, match="needs text"):
        runtime.prompt("refused")
    assert runtime.run("quick").text == "Done."


def test_images_are_read_from_bytes_files_and_as_they_are(fake, tmp_path):
    runtime = fake()
    file = tmp_path / "a.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n....")
    given = {"mime_type": "image/x", "data": "AA=="}
    sent = json.loads(runtime.run("images", images=[b"GIF89a", file, str(file), given]).text)
    assert [image["mime_type"] for image in sent] == ["image/gif", "image/png", "image/png", "image/x"]
    assert sent[0]["data"] == "R0lGODlh"
    (tmp_path / "b.txt").write_text("text")
    with pytest.raises(ValueError, match=r"b\.txt: not an image"):
        runtime.prompt("images", images=[tmp_path / "b.txt"])
    with pytest.raises(ValueError, match=r"^not an image"):
        runtime.prompt("images", images=[b"RIFF\0\0\0\0WAVE"])
    os.mkfifo(tmp_path / "fifo.png")
    with pytest.raises(ValueError, match=r"fifo\.png: not a regular file"):
        runtime.prompt("images", images=[tmp_path / "fifo.png"])
    (tmp_path / "large.png").write_bytes(file.read_bytes())
    os.truncate(tmp_path / "large.png", 300 << 20)
    with pytest.raises(ValueError, match=r"large\.png: more than 16 MiB"):
        runtime.prompt("images", images=[tmp_path / "large.png"])
    with pytest.raises(TypeError, match="a list of images"):
        runtime.prompt("images", images=b"GIF89a")
    with pytest.raises(FileNotFoundError):
        runtime.prompt("images", images=["no-such-file"])
    assert runtime.run("quick").text == "Done."


def test_frames_of_extensions_go_both_ways(fake):
    runtime = fake()
    seen = []
    runtime._client.on_frame["mine"] = seen.append
    runtime._client.frame("mine", frame={"type": "hello"})
    runtime._client.frame("other", frame={"type": "hello"})
    runtime.state()
    assert [line["frame"] for line in seen] == [{"type": "hello"}]


def test_a_program_that_cannot_be_started_is_an_os_error():
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        Runtime(program=["./no-such-program"])


def test_records_of_two_prompts_are_kept_apart(fake):
    runtime = fake()
    first = runtime.prompt("one")
    runtime.cancel()
    second = runtime.prompt("two")
    runtime.cancel()
    for events, text in ((second, "two"), (first, "one")):
        assert [event.content[0].text for event in events if isinstance(event, UserMessage)] == [text]
