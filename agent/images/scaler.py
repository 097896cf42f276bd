"""Scales images, with a child and a deadline for each, and fits those of messages and results into the limits."""

from __future__ import annotations

import base64
import binascii
import importlib.util
import signal
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import orjson

from agent.images.limits import (
    BYTES_LIMIT,
    CROWD_SIDE,
    INPUT_LIMIT,
    INSTALL,
    UnfitImageError,
    check_image,
    exceeded_limit,
    needs_scaling,
    oversize_reason,
    pixels_text,
)
from agent.transcript import Image, Text
from supervisor.discovery.environment import child_environment
from supervisor.process.child import Child, SpawnError
from wire.image_types import image_type

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from supervisor.loop.loop import Loop
    from supervisor.process.child import ExitStatus

    class Wait(Protocol):
        """Waits until the predicate holds (True), or until the deadline or an abort (False)."""

        def __call__(self, predicate: Callable[[], bool], deadline: float) -> bool: ...

    from agent.transcript import ToolResult

PROGRAM = (sys.executable, "-P", str(Path(__file__).with_name("scale_main.py")))
"""The library that it imports may lie in the user's own folder of packages, which -I would leave out."""
LIBRARY = "PIL"
SCALE_S = 30.0
"""Seconds for one image."""
ENDS_S = 1.0
"""Seconds for a killed child to be gone."""
_NAMES = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}


class Fitted(msgspec.Struct, frozen=True):
    """An image within the limits."""

    mime_type: str
    data: bytes
    note: str = ""
    """The change in words: `scaled from 4032 x 3024 to 2000 x 1500 pixels`."""


@cache
def can_scale() -> bool:
    """Whether the library is installed. It is looked for once, and never imported here."""
    return importlib.util.find_spec(LIBRARY) is not None


def image_refusal(data: bytes, *, count: int = 1) -> str:
    """Why the image can neither be sent nor scaled, in a prompt with `count` images; "" if it may be either."""
    if len(data) > INPUT_LIMIT:
        return oversize_reason(len(data))
    if can_scale() or not (exceeded := exceeded_limit(data, count=count)):
        return ""
    return f"{exceeded}; {INSTALL} has it scaled down"


def fit(loop: Loop, data: bytes, wait: Wait, *, count: int = 1) -> Fitted:
    """Scales an image of a prompt with `count` images, if needed. Raises `UnfitImageError`, also if `wait` gives up."""
    kind = image_type(data)
    if why := image_refusal(data, count=count):
        raise UnfitImageError(why)
    if not needs_scaling(data) or not can_scale():
        return Fitted(kind, data)
    return _Scaling(loop, data).result(wait)


class _Scaling:
    """One child at work. Raises `UnfitImageError` if it cannot be started."""

    def __init__(self, loop: Loop, data: bytes) -> None:
        self._loop = loop
        self._answer = bytearray()
        self._exit: ExitStatus | None = None
        header = orjson.dumps({"kind": _NAMES[image_type(data)], "side": CROWD_SIDE, "bytes": BYTES_LIMIT})
        try:
            self._child = Child(
                loop,
                PROGRAM,
                cwd="/",
                env=child_environment(),
                on_stdout=self._take,
                on_stderr=lambda _data: None,
                on_exit=self._ended,
                outbox_limit=INPUT_LIMIT * 2,
            )
        except SpawnError as error:
            raise UnfitImageError(f"it cannot be scaled: {error}") from None
        self._child.send(header + b"\n")
        self._child.send(data)
        if self._child.stdin is not None:
            self._child.stdin.end()

    def result(self, wait: Wait) -> Fitted:
        """The answer of the child. Raises `UnfitImageError`. No child is left, even after an error."""
        deadline = self._loop.clock() + SCALE_S
        try:
            if not wait(lambda: self._exit is not None, deadline) and self._exit is None:
                is_late = self._loop.clock() >= deadline
                raise UnfitImageError(f"it was not scaled within {SCALE_S:g} s" if is_late else "it was not scaled")
        finally:
            self._end()
        assert self._exit is not None
        line, _, image = bytes(self._answer).partition(b"\n")
        if self._exit.code != 0 or not line:
            raise UnfitImageError(f"the process that scales it ended ({self._exit})")
        told = orjson.loads(line)
        if "error" in told:
            raise UnfitImageError(told["error"])
        note = f"scaled from {pixels_text(told['from'])} to {pixels_text(told['to'])}"
        if told["from"] == told["to"]:
            note = f"compressed to {len(image):,} bytes"
        return Fitted(told["mime_type"], image, note + (", its first frame" if told["first_frame"] else ""))

    def _end(self) -> None:
        if self._exit is None:
            self._child.kill_group(signal.SIGKILL)
            self._loop.run_until(lambda: self._exit is not None, self._loop.clock() + ENDS_S)

    def _take(self, data: bytes) -> None:
        if len(self._answer) <= 2 * BYTES_LIMIT:
            self._answer += data

    def _ended(self, status: ExitStatus) -> None:
        self._exit = status


# --- images of messages and of results ----------------------------------------------------------------------


def fit_message(loop: Loop, images: tuple[Image, ...], wait: Wait) -> tuple[Image, ...]:
    """The images of a message, scaled where they are too large. Raises `UnfitImageError`, whose text begins with the
    place: `images[0]: `."""
    fitted: list[Image] = []
    for number, image in enumerate(images):
        try:
            fitted.append(_fit(loop, image, wait, len(images))[0])
        except UnfitImageError as error:
            raise UnfitImageError(f"images[{number}]: {error}") from None
    return tuple(fitted)


def fit_result(loop: Loop, result: ToolResult, wait: Wait, *, is_error: bool) -> ToolResult:
    """The result with its images scaled where they are too large. A text after a scaled image says so, since the model
    may measure in it. A text stands in place of an image that cannot be scaled; with `is_error` the result is then an
    error."""
    parts: list[Text | Image] = []
    is_unfit = False
    for part in result.content:
        if not isinstance(part, Image):
            parts.append(part)
            continue
        try:
            image, note = _fit(loop, part, wait, 1)
        except UnfitImageError as error:
            parts.append(Text(f"[an image of type {part.mime_type} that models do not take: {error}]"))
            is_unfit = True
            continue
        parts.append(image)
        if note:
            parts.append(Text(f"[the image was {note}]"))
    if tuple(parts) == result.content:
        return result
    return msgspec.structs.replace(result, content=tuple(parts), is_error=result.is_error or (is_unfit and is_error))


def _fit(loop: Loop, image: Image, wait: Wait, count: int) -> tuple[Image, str]:
    """The image and the change in words. Data that is no image by its first bytes stays as it is: if the model's API
    refuses it, it says so."""
    try:
        data = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        return image, ""
    if not (kind := image_type(data)):
        return image, ""
    check_image(data)
    fitted = fit(loop, data, wait, count=count)
    if fitted.data is data:
        return (image if image.mime_type == kind else Image(kind, image.data)), ""
    return Image(fitted.mime_type, base64.b64encode(fitted.data).decode()), fitted.note
