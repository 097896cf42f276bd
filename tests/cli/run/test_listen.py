"""The flag `--listen`: which flags go with it, and which paths are refused. Nothing is started then."""

from __future__ import annotations

import os
import signal

import pytest

from supervisor.control.named_socket import listen_at
from tests.support.replay_script import Script
from tests.support.zot_process import wait_until
from wire.exit_codes import Status


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["rpc", "--listen", ""], "--listen: '' is not the path of a socket"),
        (["rpc", "--listen", "folder/"], "--listen: 'folder/' is not the path of a socket"),
        (["rpc", "--listen", "missing/s"], "there is no folder"),
        (["rpc", "--listen", "file"], "is a file, and no socket: choose another path"),
        (["rpc", "--listen", "."], "is a folder, and no socket"),
        (["rpc", "--listen", "link"], "is a link, and no socket"),
        (["rpc", "--listen", "everyones/s"], "others may write to the folder"),
        (["rpc", "--listen", "n" * 300], "cannot make the socket"),
        (["rpc", "--listen", "s", "hello"], "rpc takes no prompt: 'hello'; prompts come as lines on the socket"),
        (["rpc", "--listen", "s", "-c"], "with --listen each client has a conversation of its own"),
        (["rpc", "--listen", "s", "-r", "1f3c5a9e"], "a client goes on with a session by the request resume"),
        (["rpc", "--listen", "s", "--session", "x"], "leave out --continue, --resume, --session and --fork"),
        (["rpc", "--listen", "s", "--record", "x"], "--record names one file, and --listen serves many conversations"),
        (["rpc", "--listen", "s", "--stats", "x"], "--stats names one file"),
        (["rpc", "--listen", "s", "--metrics", "x"], "--metrics names one file"),
        (["rpc", "--listen", "s", "--api-key-file", "-"], "--api-key-file - has no effect with --listen"),
        (["rpc", "--listen", "s", "--image", "x.png"], "--image has no effect with --rpc"),
        (["rpc", "--listen", "s", "-o", "x"], "--output has no effect with --rpc"),
        (["rpc", "--listen", "s", "--replay", "missing"], "--replay: "),
        (["-p", "--listen", "s", "hello"], "--listen has no effect without --rpc"),
        (["--listen", "s"], "--listen has no effect without --rpc"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_what_is_refused(zot, flags, reason):
    (zot.cwd / "file").write_text("mine")
    (zot.cwd / "link").symlink_to("s")
    (zot.cwd / "everyones").mkdir()
    os.chmod(zot.cwd / "everyones", 0o777)
    before = sorted(zot.cwd.iterdir())
    refusal = zot.run(*flags).refusal()
    assert reason in refusal
    assert sorted(zot.cwd.iterdir()) == before
    assert (zot.cwd / "file").read_text() == "mine"


def test_a_path_that_is_in_use(zot):
    with listen_at(zot.cwd / "s"):
        outcome = zot.run("rpc", "--listen", "s")
        assert (outcome.status, outcome.leftovers) == (Status.ERROR.exit_code, [])
        assert "another process listens on" in outcome.stderr
        assert (zot.cwd / "s").is_socket()


def test_both_ways_to_say_it_serve(zot):
    cassette = Script(zot.cwd).answer("Hi.").write(zot.folder / "c.jsonl")
    for words in (["rpc"], ["--rpc"], ["--rpc", "--tools=read"]):
        with zot.start(*words, "--listen", "s", "--no-stdin", "--replay", cassette) as running:
            wait_until(lambda at=running: "serving" in at.errors() or at.process.poll() is not None)
            assert f"to stop: Ctrl-C, or zot stop {running.pid}" in running.errors()
            running.signal(signal.SIGTERM)
            outcome = running.finish()
        assert (outcome.status, outcome.stdout, outcome.leftovers) == (0, b"", [])
        assert not (zot.cwd / "s").exists()
