"""Makes the text of a black box from the frames of a worker that fell, and writes it."""

from __future__ import annotations

import base64
import os
import time
from typing import TYPE_CHECKING

from supervisor.cleanup.host_record import unlink
from supervisor.discovery.environment import is_secret
from supervisor.home.safe_files import write_all
from supervisor.traces.mask import MASK, Masking
from supervisor.traces.places import BLACK_BOX, beside
from wire.text import valid_text
from wire.traces import black_box
from wire.traces.black_box import BlackBox, BoxFrame, PendingCall
from wire.traces.frame_heads import OTHER_WORD, bodies, read_head

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from supervisor.accounting.fall import Fall
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.connection.black_box import KeptFrame
    from supervisor.extension.worker import Worker
    from supervisor.home.config import Config
    from wire.traces.black_box import Form

ATTEMPTS = 20
"""Numbers that are tried: the runs of a batch have one trace, and keep about as many black boxes of one extension."""
LAST_NUMBER = 999
WORD_LENGTH = 64
"""Maximum number of characters of a version, a type, an id, or a name."""
CUT_OFF = 4096
"""Number of characters at the end of a part of a frame that are left out: the part may end within a secret."""


def make_box(
    found: FoundExtension, worker: Worker, fall: Fall, *, run: str, version: str, now: float, masking: Masking,
    form: Form,
) -> bytes:  # fmt: skip
    """The text of the black box of a worker that has just fallen, at the time `now` of the loop's clock. Words that the
    extension has chosen (its version, types, ids) are short, and have no secret; contents are only in form `full`."""
    box = worker.requests.black_box
    entries = box.last()
    wall = time.time()
    frames = list(_frames(entries, wall - now, masking, form))
    hello = worker.said_hello
    header = BlackBox(
        run=run, time=round(wall, 6), zot=version,
        extension=valid_text(found.manifest.name), folder=valid_text(str(found.where)),
        dialect=found.manifest.dialect, version="" if hello is None else _plain_word(masking, hello.version or ""),
        pid=fall.pid, fall=fall.kind, cause=fall.cause, pending=fall.pending, last_call=_last_call(worker, fall, now),
        form=form, frames=len(frames), is_whole=box.is_whole,
        masked=sum(1 for frame in frames if form == "full" and _is_masked(frame)),
    )  # fmt: skip
    return black_box.encode(header, frames)


def make_masking(config: Config, found: FoundExtension | None = None) -> Masking:
    """Masks the secrets of this process's environment, and those that the entry or manifest of this extension gives to
    its process: variables, and the values of flags such as `--api-key=…`."""
    given = [
        *os.environ.items(),
        *(() if found is None else (*found.set_env.items(), *_flags(found.manifest.args or ()))),
    ]
    return Masking(value for name, value in given if is_secret(name, config, value))


def _flags(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The flags of a command as variables: `--api-key X` and `--api-key=X` are both `API_KEY` with the value X."""
    for word, following in zip(words, (*words[1:], ""), strict=False):
        if word.startswith("-"):
            name, joined, value = word.lstrip("-").partition("=")
            yield name.replace("-", "_").upper(), value if joined else following
        else:
            yield "", word


def _plain_word(masking: Masking, word: str) -> str:
    """The word, or `…` if it is long or has a secret."""
    return word if len(word) <= WORD_LENGTH and masking.mask(word) == word else OTHER_WORD


def _is_masked(frame: BoxFrame) -> bool:
    return MASK in (frame.text or "") or (frame.text is None and frame.base64 is None)


def _frames(entries: Iterable[KeptFrame], to_wall: float, masking: Masking, form: Form) -> Iterator[BoxFrame]:
    for entry in entries:
        parts = bodies(entry.data) if entry.is_sent else [entry.data]  # the extension's output is cut already
        is_part = entry.size > len(entry.data)
        for body in parts:
            is_cut = is_part and body is parts[-1]
            size = entry.size if is_cut else len(body)
            head = read_head(body, is_sent=entry.is_sent)
            kind, number, name = (_plain_word(masking, word) for word in head[:3])
            text, encoded = (None, None) if form == "types" else _contents(body, masking, is_cut=is_cut)
            yield BoxFrame(
                time=round(entry.at + to_wall, 6), side="host" if entry.is_sent else "extension", kind=kind, id=number,
                name=name, size=size, is_cut=is_cut, text=text, base64=encoded,
            )  # fmt: skip


def _contents(body: bytes, masking: Masking, *, is_cut: bool) -> tuple[str | None, str | None]:
    """The text, or the bytes in base64; both None if a secret in it cannot be masked."""
    masked = masking.mask(body.decode("utf-8", "surrogateescape"))
    if masked is None:
        return None, None
    if is_cut:
        masked = masked[: -max(CUT_OFF, masking.longest)]
    try:
        masked.encode()
    except UnicodeEncodeError:
        return None, base64.b64encode(masked.encode("utf-8", "surrogateescape")).decode()
    return masked, None


def _last_call(worker: Worker, fall: Fall, now: float) -> PendingCall | None:
    """The last request that the worker did not answer, if its fall left one."""
    requests = worker.requests
    if requests.last_failed is None or not (fall.pending or requests.timeouts_in_row or fall.kind == "no_verdict"):
        return None
    call_id, pending = requests.last_failed
    what = pending.what
    if fall.kind == "no_verdict" and what is not None:
        return None
    waited_s = round(max(0.0, now - pending.asked_at), 3)
    if what is None:
        return PendingCall("event_intercept", call_id, "", waited_s)
    if what.startswith("/"):
        return PendingCall("command_invoked", call_id, what[1:], waited_s)
    return PendingCall("tool_call", call_id, what, waited_s)


def write_box(trace: Path, extension: str, text: bytes, first: int) -> tuple[Path, int] | None:
    """Writes a new file beside the trace, with the first free number from `first` on. Returns it with its number; None
    if the `ATTEMPTS` next ones are taken. Raises `OSError`."""
    for number in range(first, min(first + ATTEMPTS, LAST_NUMBER + 1)):
        path = beside(trace, extension, number, BLACK_BOX)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        try:
            write_all(fd, text)
        except OSError:
            unlink(path)
            raise
        finally:
            os.close(fd)
        return path, number
    return None
