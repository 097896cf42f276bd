"""A host for the rehearsal of runs that share extensions: a fork of the template that answers as a host does."""

from __future__ import annotations

import json
import os
import select
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Raw
from msgspec.structs import replace

from supervisor.control import unix_socket
from supervisor.discovery.discover import MANIFEST, discover
from supervisor.home.runtime_dir import BATCH_SUFFIX
from supervisor.sharing.offers import plain_offer
from wire import frames
from wire.dialects import attach
from wire.framing import LineSplitter

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

    from wire.dialects.attach import FromRun, Offered

NAME = "rehearsed"
"""The name of the extension, and of its tool."""
READ = 65536
_FRAMES = (
    frames.Hello(NAME),
    frames.RegisterTool(NAME, NAME, Raw(b'{"type":"object"}')),
    frames.Subscribe(None, ["tool_call"]),
    frames.Ready(),
)
_ANSWERS: dict[str, dict[str, Any]] = {
    "event_intercept": {"type": "event_intercept_response"},
    "tool_call": {"type": "tool_result", "content": [{"type": "text", "text": "a"}]},
}


@contextmanager
def rehearsed_host(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields the path of an attach socket and the folder of the extension that is shared there."""
    extension = folder / NAME
    extension.mkdir()
    manifest = {"name": NAME, "exec": "true", "sessions": "shared"}
    (extension / MANIFEST).write_text(json.dumps(manifest))
    (found,) = discover((str(extension),), None, None).found
    offer = replace(plain_offer(found), sessions="shared")
    listener, path = unix_socket.listen(folder, os.getpid(), BATCH_SUFFIX)
    with listener:
        life, ours = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ours)
            _serve(listener, life, offer, str(folder))
        os.close(life)
        try:
            yield str(path), str(extension)
        finally:
            os.close(ours)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _serve(listener: socket.socket, life: int, offer: Offered, cwd: str) -> NoReturn:
    """Serves one run after another, until the template kills this process, or has died."""
    try:
        while _waits(life, listener):
            run, _ = listener.accept()
            splitter = LineSplitter()
            while _waits(life, run) and (data := run.recv(READ)):
                for line in splitter.feed(data):
                    run.sendall(_answer(attach.decode_from_run(bytes(line)), offer, cwd))  # type: ignore[arg-type]
    finally:
        os._exit(0)


def _waits(life: int, sock: socket.socket) -> bool:
    """Returns True when `sock` has input, and False when the template has died."""
    return life not in select.select([life, sock.fileno()], [], [])[0]


def _answer(line: FromRun, offer: Offered, cwd: str) -> bytes:
    if isinstance(line, attach.Attach):
        return attach.encode(attach.Attached(attach.PROTOCOL, line.version, 1, cwd, "", (offer,)))
    if isinstance(line, attach.Take):
        said = tuple(Raw(frames.encoder.encode(frame)) for frame in _FRAMES)
        return attach.encode(attach.Registered(NAME, said))
    if isinstance(line, attach.UseAsked):
        return attach.encode(attach.Use({}))
    if not isinstance(line, attach.Ext):
        return b""
    frame = json.loads(bytes(line.frame))
    answer = _ANSWERS.get(frame["type"])
    if answer is None:
        return b""
    return attach.ext_line(attach.ext_head(NAME), json.dumps({**answer, "id": frame["id"]}).encode() + b"\n")
