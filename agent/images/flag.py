"""Reads the files of --image, before anything of a run has started."""

from __future__ import annotations

import base64
import os
import stat
from typing import TYPE_CHECKING

from agent.images import limits, scaler
from agent.images.limits import UnfitImageError
from agent.transcript import Image
from supervisor.loop.loop import Loop, stop_signals
from wire.text import printable

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Sequence


class ImageFileError(ValueError):
    """A file cannot go with the prompt; the text names the flag, the file and the reason."""


def read_images(paths: Sequence[str], *, window: int | None) -> tuple[tuple[Image, ...], tuple[str, ...]]:
    """The images in these files, scaled where they are too large, and a line for the user about each that was. `window`
    is the model's, in tokens. Raises `ImageFileError`."""
    images: list[Image] = []
    remarks: list[str] = []
    sizes: list[int] = []
    for path in paths:
        try:
            fitted = _fitted(read_file(path), len(paths))
        except UnfitImageError as error:
            raise ImageFileError(f"--image {printable(path)}: {error}") from None
        if fitted.note:
            remarks.append(f"--image {printable(path)}: {fitted.note}")
        sizes.append(len(fitted.data))
        images.append(Image(fitted.mime_type, base64.b64encode(fitted.data).decode()))
    try:
        limits.check_all(sizes, window)
    except UnfitImageError as error:
        raise ImageFileError(f"--image: {error}; send fewer or smaller ones") from None
    return tuple(images), tuple(remarks)


def read_file(path: str) -> bytes:
    """The content of a regular file of at most `INPUT_LIMIT` bytes. Raises `UnfitImageError`."""
    if not path:
        raise UnfitImageError("the name is empty; give it a file, or leave it out")
    try:
        # O_NONBLOCK: a named pipe would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISDIR(status.st_mode):
                raise UnfitImageError("it is a directory")
            if not stat.S_ISREG(status.st_mode):
                raise UnfitImageError("it is not a regular file")
            if status.st_size > limits.INPUT_LIMIT:
                raise UnfitImageError(limits.oversize_reason(status.st_size))
            return file.read(limits.INPUT_LIMIT + 1)
    except IsADirectoryError:
        raise UnfitImageError("it is a directory") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name; UnfitImageError is one, too
        if isinstance(error, UnfitImageError):
            raise
        raise UnfitImageError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _fitted(data: bytes, count: int) -> scaler.Fitted:
    """Raises `KeyboardInterrupt` for a signal that ends the run: it comes when the process that scales has ended, and
    not between its start and the line that would end it."""
    limits.check_image(data)
    loop = Loop()
    stopped: list[signal.Signals] = []

    def wait(predicate: Callable[[], bool], deadline: float) -> bool:
        loop.run_until(lambda: predicate() or bool(stopped), deadline)
        return predicate()

    try:
        with loop.signals(stop_signals(), stopped.append):
            return scaler.fit(loop, data, wait, count=count)
    finally:
        loop.close()
        if stopped:
            raise KeyboardInterrupt
